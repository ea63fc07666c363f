"""Moments of continuous columns within the configurations of discrete columns, summed once and kept for reuse."""

from functools import cache
from math import prod

import numpy as np

from pgmx._ext import _grams, _mixed
from pgmx.data import DiscreteTable

#: Bytes of sums that are kept; the least recently used are dropped.
SUM_MEMORY = 1 << 28

#: Discrete columns are coded together if they have at most this number of joint configurations.
GROUP_CELLS = 256

#: If the parents have more configurations than this, only the configurations that occur are numbered.
MOST_GRID_CELLS = 4096

#: All products of the continuous columns are summed at once if there are at most this number of columns.
MOST_GRAM_FLOATS = 64

#: Up to this number of sums for a single family, rows are added under masks; above it, cell by cell.
MOST_MASKED_SUMS = 128

_ONE = np.ones(1, dtype=np.int64)


class ConfigurationSums:
    """Sums over the rows of each configuration of a set of discrete columns; made by `MixedSums`.

    If only the configurations that occur are numbered, `cells` holds the configuration of each row, and `digits`, int64
    (q, number of columns), the states of each configuration. Otherwise both are None.
    """

    def __init__(
        self, states: tuple[int, ...], n_cells: int, cells: np.ndarray | None = None, digits: np.ndarray | None = None
    ):
        self.members = np.array(states, dtype=np.int64)
        self.cells = cells
        self.digits = digits
        self.n_cells = n_cells
        self.packed: dict[tuple[int, ...], np.ndarray] = {}  # (q, M) of a list of continuous columns
        self.rows: dict[int, np.ndarray] = {}  # (q, p) of a column with all others; -1 of ones
        self.squares: np.ndarray | None = None  # (q, p)
        self.gram: np.ndarray | None = None  # (q, p + 1, p + 1) of all pairs, the ones last
        self.states: dict[tuple[int, int], np.ndarray] = {}  # (q, S) by state of every discrete column

    @property
    def n_bytes(self) -> int:
        """Memory of the kept sums."""
        sums = [*self.packed.values(), *self.rows.values(), *self.states.values()]
        others = (self.cells, self.digits, self.squares, self.gram)
        return sum(array.nbytes for array in sums) + sum(array.nbytes for array in others if array is not None)


class MixedSums:
    """Weighted sums of products of standardised continuous columns, per configuration of discrete columns.

    `numbers`, (p, N), are the continuous columns, which are standardised here. `table` holds the discrete columns of
    the same rows. `weights`, (N,), are the row weights. At most `memory` bytes of sums are kept.
    """

    #: Largest number of joint configurations of discrete columns that are coded together.
    group_cells = GROUP_CELLS

    def __init__(
        self,
        numbers: np.ndarray,
        table: DiscreteTable | None,
        weights: np.ndarray | None = None,
        memory: int = SUM_MEMORY,
    ):
        self.weights = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        self.n = float(numbers.shape[1] if self.weights is None else self.weights.sum())
        self.p = len(numbers)
        self.numbers = np.empty(numbers.shape)
        self.scale = np.empty(self.p)
        squares = np.empty(numbers.shape[1])
        for v, column in enumerate(self.numbers):  # one after the other: a column stays in the cache
            mean = np.average(numbers[v], weights=self.weights)
            np.subtract(numbers[v], mean, out=column)
            self.scale[v] = np.sqrt(np.average(np.square(column, out=squares), weights=self.weights))
            column /= self.scale[v]
        self.cards = [] if table is None else table.cardinalities.tolist()
        self.codes = np.empty((0, numbers.shape[1]), np.uint16) if table is None else table.codes.astype(np.uint16)
        self.offsets = np.concatenate([[0], np.cumsum(self.cards, dtype=np.int64)])
        self._forget_all(memory)

    def share_columns(self, other: "MixedSums", n: float, memory: int) -> None:
        """Take the units and states of the columns of other sums; `n` is the number of rows, or their weight."""
        self.n, self.p, self.scale, self.cards, self.offsets = n, other.p, other.scale, other.cards, other.offsets
        self._forget_all(memory)

    def _forget_all(self, memory: int) -> None:
        self.memory = memory
        self._n_new = 0
        self._kept: dict[tuple[int, ...], ConfigurationSums] = {}
        self._groups: dict[int, tuple[list[list[int]], np.ndarray, np.ndarray]] = {}
        self._by_state: np.ndarray | None = None
        self._cross: np.ndarray | None = None

    def configurations(self, states: tuple[int, ...]) -> ConfigurationSums:
        """Return the kept sums of a set of discrete columns, given by ascending positions."""
        sums = self._kept.pop(states, None)
        if sums is None:
            sums = self._number_cells(states)
            self._forget(sums.n_bytes)
        self._kept[states] = sums
        return sums

    def sum_all(self, states: tuple[int, ...]) -> np.ndarray | None:
        """Sum all products of continuous columns per configuration for later calls; None if they are too many."""
        sums = self.configurations(states)
        if sums.gram is None and sums.cells is None and self._has_space(sums.n_cells):
            if len(states) == 1 and self._has_space(int(self.offsets[-1])):
                sums.gram = self._grams_by_state()[self.offsets[states[0]] : self.offsets[states[0] + 1]]
            elif states:
                code = np.zeros(self.codes.shape[1], dtype=np.uint16)
                for d in states:
                    code = code * np.uint16(self.cards[d]) + self.codes[d]
                sums.gram = _grams.sum_grams(self.numbers, self.weights, code[None], np.array([sums.n_cells]))
            else:
                sums.gram = self._sum_all_rows()[None]
        return sums.gram

    def moments(self, states: tuple[int, ...], floats: list[int]) -> np.ndarray:
        """Return the packed moments of continuous columns per configuration, in the order of the kernel."""
        sums = self.configurations(states)
        if sums.gram is not None:
            return _pack(sums.gram, np.array([floats], dtype=np.int64))[0]
        key = tuple(floats)
        if key not in sums.packed:
            sums.packed[key] = self._sum_packed(sums, floats)
        return sums.packed[key]

    def moments_with_floats(
        self, states: tuple[int, ...], floats: list[int], candidates: np.ndarray, last: int | None = None
    ) -> np.ndarray:
        """Return the packed moments of `floats`, one candidate each and the `last` column, (candidates, q, M)."""
        after = [] if last is None else [last]
        gram = self.sum_all(states)
        if gram is not None:
            return _pack(gram, np.array([[*floats, u, *after] for u in candidates], dtype=np.int64))
        sums = self.configurations(states)
        missing = [v for v in (-1, *floats, *after) if v not in sums.rows]
        squares = sums.squares
        if squares is None:
            squares = sums.squares = self._sum(sums, [(u, u) for u in range(self.p)])
        if missing:
            rows = self._sum(sums, [(v, u) for v in missing for u in range(self.p)])
            sums.rows.update(zip(missing, np.split(rows, len(missing), axis=1), strict=True))
        family = [*floats, None, *after]
        columns = []
        for left, right in list_pairs(family):
            if left is None:
                values = squares[:, candidates] if right is None else sums.rows[right][:, candidates]
            elif right is None:
                values = sums.rows[left][:, candidates]
            elif (left, right) == (-1, -1):
                values = self.moments(states, [])
            else:
                values = sums.rows[left][:, right, None]
            columns.append(np.broadcast_to(values, (sums.n_cells, len(candidates))))
        return np.ascontiguousarray(np.stack(columns, axis=2).transpose(1, 0, 2))

    def moments_by_state(self, states: tuple[int, ...], floats: list[int]) -> np.ndarray:
        """Return the packed moments per state of each discrete column in addition, (S, q, M), for S states in total."""
        if not states and self._has_space(int(self.offsets[-1])):
            return _pack(self._grams_by_state(), np.array([floats], dtype=np.int64)).transpose(1, 0, 2)
        sums = self.configurations(states)
        pairs = [_order(pair) for pair in list_pairs(floats)]
        missing = [pair for pair in pairs if pair not in sums.states]
        if missing:
            self._sum_by_state(sums, missing)
        return np.ascontiguousarray(np.stack([sums.states[pair] for pair in pairs], axis=2).transpose(1, 0, 2))

    def pool(self, moments: np.ndarray, states: tuple[int, ...], dropped: int) -> np.ndarray:
        """Return moments (q, ...) of the configurations without one of their columns."""
        sums = self.configurations(states)
        if sums.digits is None:
            table = moments.reshape(*(self.cards[d] for d in states), *moments.shape[1:])
            return table.sum(axis=states.index(dropped)).reshape(-1, *moments.shape[1:])
        digits = np.delete(sums.digits, states.index(dropped), axis=1)
        key = np.zeros(len(digits), dtype=np.int64)
        for column in digits.T:  # the configurations are few, and numbered in the order of their digits
            key = np.unique(key * (int(column.max()) + 1) + column, return_inverse=True)[1]
        pooled = np.zeros((int(key.max()) + 1, *moments.shape[1:]))
        np.add.at(pooled, key, moments)
        return pooled

    def _forget(self, n_bytes: int) -> None:
        """Drop the least recently used sums if memory is exceeded; bytes are counted at every 16th call only."""
        self._n_new += 1
        if self._n_new % 16 and n_bytes < self.memory // 16:
            return
        total = n_bytes + sum(kept.n_bytes for kept in self._kept.values())
        while self._kept and total > self.memory:
            total -= self._kept.pop(next(iter(self._kept))).n_bytes

    # ---- passes over the rows ----

    def _number_cells(self, states: tuple[int, ...]) -> ConfigurationSums:
        cards = [self.cards[d] for d in states]
        if prod(cards) <= MOST_GRID_CELLS:
            return ConfigurationSums(states, prod(cards))
        cells: np.ndarray | None = None
        digits = np.empty((1, 0), dtype=np.int64)
        for d in states:
            column = self.codes[d].astype(np.uint32)
            key = column if cells is None else cells * np.uint32(self.cards[d]) + column
            digits = np.column_stack([np.repeat(digits, self.cards[d], axis=0), _tile(self.cards[d], len(digits))])
            if len(digits) > MOST_GRID_CELLS:
                occurs = np.bincount(key, minlength=len(digits)) > 0
                key = (np.cumsum(occurs, dtype=np.uint32) - np.uint32(1))[key]
                digits = digits[occurs]
            cells = key
        return ConfigurationSums(states, len(digits), cells, digits)

    def _sum(self, sums: ConfigurationSums, pairs: list[tuple[int, int]]) -> np.ndarray:
        """Return the sums of products of pairs of columns, (q, pairs)."""
        if not len(sums.members) and self.p and len(pairs) > 1:
            ids = np.array(pairs, dtype=np.int64)
            return self._sum_all_rows()[ids[:, 0], ids[:, 1]][None, :]
        return self._pass(sums, None, _ONE, pairs)

    def _pass(self, sums: ConfigurationSums, codes: np.ndarray | None, sizes: np.ndarray, pairs: list) -> np.ndarray:
        cards = np.array([self.cards[d] for d in sums.members.tolist()], dtype=np.int64)
        ids = np.array(pairs, dtype=np.int32).reshape(-1, 2)
        return _mixed.sum_products(
            self.numbers,
            self.weights,
            sums.cells,
            self.codes,
            sums.members,
            cards,
            sums.n_cells,
            codes,
            sizes,
            ids,
        )

    def _sum_all_rows(self) -> np.ndarray:
        """Return the sums over all rows of all products of continuous columns and of ones, the last column."""
        if self._cross is None:
            weighted = self.numbers if self.weights is None else self.numbers * self.weights
            self._cross = np.empty((self.p + 1, self.p + 1))
            self._cross[:-1, :-1] = weighted @ self.numbers.T
            self._cross[-1] = self._cross[:, -1] = [*weighted.sum(axis=1), self.n]
        return self._cross

    def _has_space(self, n_cells: int) -> bool:
        n_bytes = 8 * n_cells * (self.p + 1) ** 2
        return 0 < self.p <= MOST_GRAM_FLOATS and n_cells <= MOST_GRID_CELLS and n_bytes <= self.memory // 8

    def _grams_by_state(self) -> np.ndarray:
        """Return the sums of all products in each state of each discrete column, (S, p + 1, p + 1)."""
        if self._by_state is None:
            members, codes, sizes = self._group(self.group_cells)
            most = max(1, self.memory // 8 // (8 * self.group_cells * (self.p + 1) ** 2))  # groups at a time
            parts = [np.empty((0, self.p + 1, self.p + 1))]
            for first in range(0, len(members), most):
                part = slice(first, first + most)
                joint = _grams.sum_grams(self.numbers, self.weights, codes[part], sizes[part])
                for gram, group in zip(np.split(joint, np.cumsum(sizes[part])[:-1]), members[part], strict=True):
                    parts += _sum_margins(gram, [self.cards[d] for d in group])
            self._by_state = np.concatenate(parts)
        return self._by_state

    def _sum_packed(self, sums: ConfigurationSums, floats: list[int]) -> np.ndarray:
        """Return the packed moments of some continuous columns, from the sums of rows if all of them are kept."""
        n_pairs = (len(floats) + 1) * (len(floats) + 2) // 2
        if -1 in sums.rows and all(v in sums.rows for v in floats):
            columns = [self.moments(tuple(sums.members.tolist()), []) if floats else self._sum(sums, [(-1, -1)])]
            columns += [sums.rows[left][:, right, None] for left, right in list_pairs(floats)[1:]]
            return np.concatenate(columns, axis=1)
        if sums.cells is None and sums.n_cells * n_pairs <= MOST_MASKED_SUMS and len(sums.members):
            cards = np.array([self.cards[d] for d in sums.members.tolist()], dtype=np.int64)
            ids = np.array(floats, dtype=np.int64)
            return _grams.sum_few(self.numbers, self.weights, self.codes, sums.members, cards, ids)
        return self._sum(sums, list_pairs(floats))

    def _sum_by_state(self, sums: ConfigurationSums, pairs: list[tuple[int, int]]) -> None:
        members, codes, sizes = self._group(max(1, self.group_cells // sums.n_cells))
        totals = self._pass(sums, codes, sizes, pairs)
        by_state = np.empty((sums.n_cells, int(self.offsets[-1]), len(pairs)))
        start = 0
        for group, size in zip(members, sizes.tolist(), strict=True):
            cards = [self.cards[d] for d in group]
            part = totals[start : start + sums.n_cells * size].reshape(sums.n_cells, size, len(pairs)).swapaxes(0, 1)
            start += sums.n_cells * size
            for d, margin in zip(group, _sum_margins(part, cards), strict=True):
                by_state[:, self.offsets[d] : self.offsets[d + 1]] = margin.swapaxes(0, 1)
        for k, pair in enumerate(pairs):
            sums.states[pair] = np.ascontiguousarray(by_state[:, :, k])

    def _group(self, most: int) -> tuple[list[list[int]], np.ndarray, np.ndarray]:
        """Return groups of discrete columns of at most `most` joint configurations, their codes and their sizes."""
        members: list[list[int]] = []
        for d, card in enumerate(self.cards):
            if members and prod(self.cards[e] for e in members[-1]) * card <= most:
                members[-1].append(d)
            else:
                members.append([d])
        key = len(members)
        if key not in self._groups:
            codes = np.empty((len(members), self.codes.shape[1]), dtype=np.uint16)
            for row, group in zip(codes, members, strict=True):
                row[:] = self.codes[group[0]]
                for d in group[1:]:
                    row *= np.uint16(self.cards[d])
                    row += self.codes[d]
            sizes = np.array([prod(self.cards[d] for d in group) for group in members], dtype=np.int64)
            self._groups[key] = members, codes, sizes
        return self._groups[key]


def list_pairs(floats: list) -> list[tuple]:
    """Return the pairs of columns of packed moments: ones with themselves, with each column, then column by column."""
    ones = [(-1, -1), *((-1, v) for v in floats)]
    return ones + [(v, w) for i, v in enumerate(floats) for w in floats[i:]]


@cache
def _list_positions(m: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the two columns of each of the packed moments of m columns, 0 for the ones."""
    pairs = np.array(list_pairs(list(range(m)))) + 1
    return pairs[:, 0], pairs[:, 1]


def _pack(grams: np.ndarray, floats: np.ndarray) -> np.ndarray:
    """Return the packed moments (K, q, M) of K lists of columns, (K, m), from matrices (q, p + 1, p + 1)."""
    left, right = _list_positions(floats.shape[1])
    columns = np.concatenate([np.full((len(floats), 1), -1), floats], axis=1)
    return np.ascontiguousarray(grams[:, columns[:, left], columns[:, right]].transpose(1, 0, 2))


def _sum_margins(joint: np.ndarray, cards: list[int]) -> list[np.ndarray]:
    """Return the sums per state of each column, from the sums of their joint configurations, (q, ...)."""
    table = joint.reshape(*cards, *joint.shape[1:])
    axes = range(len(cards))
    return [table.sum(axis=tuple(other for other in axes if other != axis)) for axis in axes]


def _order(pair: tuple[int, int]) -> tuple[int, int]:
    return pair if pair[0] <= pair[1] else (pair[1], pair[0])


def _tile(card: int, repeats: int) -> np.ndarray:
    return np.tile(np.arange(card), repeats)
