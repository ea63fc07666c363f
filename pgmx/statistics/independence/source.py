"""Sources of tests of conditional independence, and the evidence that searches collect from them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IdArray = NDArray[np.intp]
BoolMatrix = NDArray[np.bool_]


@dataclass(frozen=True)
class TestRow:
    """Tests of one variable x with several variables y given one set; each field has an entry per y.

    The p-value is NaN if the set cannot be tested, for example because there are too few rows.
    """

    __test__: ClassVar[bool] = False  # pytest collects other classes of this name

    statistic: FloatArray
    dof: FloatArray
    p_value: FloatArray
    effect_size: FloatArray


class Evidence:
    """The largest p-value of all tests of each pair, and the set that gave it.

    `p_values[x, y]`, with x < y, is 0 for a pair without tests. Of several sets with the largest p-value, the smallest
    one is kept, and the first one in the order of ids among sets of equal size.
    """

    def __init__(self, n: int) -> None:
        self.p_values: FloatArray = np.zeros((n, n))
        self._levels: list[tuple[IdArray, IdArray]] = []  # sorted keys x n + y of pairs, and their sets
        self._single: dict[tuple[int, int], tuple[int, ...]] = {}  # sets that replace those of the levels

    @property
    def sets(self) -> dict[tuple[int, int], tuple[int, ...]]:
        """The sets that are not empty, by pair (x, y) with x < y; made on each access."""
        n, found = len(self.p_values), {}
        for keys, sets in self._levels:
            for key, z in zip(keys.tolist(), sets.tolist(), strict=True):
                found[divmod(key, n)] = tuple(z)
        return {pair: z for pair, z in {**found, **self._single}.items() if z}

    @sets.setter
    def sets(self, sets: dict[tuple[int, int], tuple[int, ...]]) -> None:
        self._levels, self._single = [], dict(sets)

    def get_p_value(self, x: int, y: int) -> float:
        """Return the largest p-value of the tests of a pair."""
        return float(self.p_values[min(x, y), max(x, y)])

    def get_set(self, x: int, y: int) -> tuple[int, ...]:
        """Return the set with the largest p-value of a pair, as sorted ids."""
        pair = (min(x, y), max(x, y))
        if pair in self._single:
            return self._single[pair]
        key = pair[0] * len(self.p_values) + pair[1]
        for keys, sets in reversed(self._levels):
            place = int(keys.searchsorted(key))
            if place < len(keys) and keys[place] == key:
                return tuple(sets[place].tolist())
        return ()

    def list_sets(self, pairs: IdArray) -> list[tuple[int, ...]]:
        """Return the sets of pairs (m, 2) with x < y, as `get_set` does."""
        keys = pairs[:, 0] * len(self.p_values) + pairs[:, 1]
        found: list[tuple[int, ...]] = [()] * len(keys)
        for known, sets in self._levels:
            places = np.minimum(known.searchsorted(keys), max(len(known) - 1, 0))
            hits = np.flatnonzero(known[places] == keys) if len(known) else known
            for k, z in zip(hits.tolist(), sets[places[hits]].tolist(), strict=True):
                found[k] = tuple(z)
        if self._single:
            found = [self._single.get((x, y), z) for (x, y), z in zip(pairs.tolist(), found, strict=True)]
        return found

    def add(self, x: int, ys: IdArray, z: Sequence[int], p_values: FloatArray) -> None:
        """Add a row of tests; p-values that are NaN are ignored. `z` is sorted."""
        low, high = np.minimum(x, ys), np.maximum(x, ys)
        known = self.p_values[low, high]
        for k in np.flatnonzero((p_values >= known) & (p_values > 0)).tolist():
            pair = (int(low[k]), int(high[k]))
            current = self.get_set(*pair)
            if p_values[k] > known[k] or (len(z), tuple(z)) < (len(current), current):
                self.p_values[pair] = p_values[k]
                self._single[pair] = tuple(z)

    def add_level(self, pairs: IdArray, sets: IdArray, p_values: FloatArray) -> None:
        """Add the best test of each pair (x < y) in a level, with sets of equal size: the form of compiled sources."""
        low, high = pairs[:, 0], pairs[:, 1]
        known = self.p_values[low, high]
        better = p_values > known
        for k in np.flatnonzero((p_values == known) & (p_values > 0)).tolist():
            current, z = self.get_set(int(low[k]), int(high[k])), tuple(sets[k].tolist())
            better[k] = (len(z), z) < (len(current), current)
        self.p_values[low[better], high[better]] = p_values[better]
        for pair in zip(low[better].tolist(), high[better].tolist(), strict=True) if self._single else ():
            self._single.pop(pair, None)
        keys = low[better] * len(self.p_values) + high[better]
        order = np.argsort(keys, kind="stable")
        if sets.shape[1] or self._levels:
            self._levels.append((keys[order], sets[better][order]))


@dataclass(frozen=True)
class SetPools:
    """The variables that may condition tests, in place of the neighbours, and what was tested before; bool (n, n).

    From the side of x, sets are subsets of `members[x]`, among which are the neighbours of x. A set within `tested[x]`
    is not tested with x again.
    """

    members: BoolMatrix
    tested: BoolMatrix


class IndependenceSource:
    """Answers of tests of conditional independence among `n_variables` variables with the ids 0, 1, 2, ...

    A subclass gives `test_row`. Compiled sources override `run_level`, too; its result is the same.
    """

    n_variables: int

    def test_row(self, x: int, ys: Sequence[int] | IdArray, z: Sequence[int]) -> TestRow:
        """Test x with each of `ys` given the set `z`, which is sorted and contains none of them."""
        raise NotImplementedError

    def test_sets(self, x: int, ys: IdArray, sets: IdArray, wanted: BoolMatrix) -> tuple[FloatArray, FloatArray]:
        """Test x with each of `ys` given each of m sets (m, size): p-values and effect sizes, (m, len(ys)).

        Only the tests in `wanted`, bool of the same shape, are made; the others are NaN.
        """
        p_values, effects = np.full(wanted.shape, np.nan), np.full(wanted.shape, np.nan)
        for k in np.flatnonzero(wanted.any(axis=1)).tolist():
            row = self.test_row(x, ys[wanted[k]], tuple(sets[k].tolist()))
            p_values[k, wanted[k]], effects[k, wanted[k]] = row.p_value, row.effect_size
        return p_values, effects

    def run_level(
        self,
        adjacent: BoolMatrix,
        size: int,
        *,
        significance_level: float,
        evidence: Evidence,
        tiers: IdArray | None = None,
        should_stop: Callable[[], bool] | None = None,
        pools: SetPools | None = None,
    ) -> int:
        """Test each pair of the symmetric matrix `adjacent` given all sets of `size` neighbours; return the number.

        The sets are subsets of adj(x) without y and of adj(y) without x, or of `pools`; a subset of both is tested
        once. `tiers` (an integer per variable) restricts them to variables no later than the later of x and y. The
        tests go into `evidence`. `should_stop` is asked now and then; true ends the level early.
        """
        n_tests = 0
        for x, ys, z in list_rows(adjacent, size, tiers, pools):
            if should_stop is not None and should_stop():
                break
            p_values = self.test_row(x, ys, z).p_value
            n_tests += int(np.count_nonzero(~np.isnan(p_values)))
            evidence.add(x, ys, z, p_values)
        return n_tests


def list_rows(
    adjacent: BoolMatrix, size: int, tiers: IdArray | None = None, pools: SetPools | None = None
) -> Iterator[tuple[int, IdArray, tuple[int, ...]]]:
    """Yield the rows (x, ys, z) of a level of tests: each pair and set once, from the side of x < y if it has the set.

    The order is by x, then lexicographic in z.
    """
    members = adjacent if pools is None else pools.members
    for x in range(len(adjacent)):
        neighbours = np.flatnonzero(adjacent[x])
        if size == 0:
            later = neighbours[neighbours > x]
            if later.size and pools is None:
                yield x, later, ()
            continue
        for z in combinations(np.flatnonzero(members[x]).tolist() if neighbours.size else (), size):
            # a set among the variables of both ends was tested from the smaller end
            seen = (neighbours < x) & members[neighbours][:, z].all(axis=1)
            if pools is not None:
                seen |= pools.tested[neighbours][:, z].all(axis=1) | pools.tested[x, list(z)].all()
            wanted = ~seen & ~np.isin(neighbours, z)
            if tiers is not None:
                wanted &= np.maximum(tiers[x], tiers[neighbours]) >= tiers[list(z)].max()
            if wanted.any():
                yield x, neighbours[wanted], z
