"""Distributions of the missing values of many rows under one discrete Bayesian network.

Columns without missing values are evidence: their tables are indexed by the states of each row, and the junction tree
contains the other variables only. Every clique has a table per row, in the layout of `junction_tree`. A pass to the
roots computes the probability of each row, a pass back the expected counts of families, or draws. Rows are processed in
chunks (`RowPosteriors`).

If the tree of a group of rows is large, the group is split by whether one variable of the largest clique is missing:
the tree of the rows in which it is observed does not contain it (`RowGroups`). `RowCompleter` returns rows with missing
values as weighted complete rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from pgmx.inference.exact.elimination_order import CELL_BYTES, TreewidthError, format_bytes, search_order
from pgmx.inference.exact.junction_tree import JunctionTree
from pgmx.inference.networks import take_logs

#: Bytes of the clique tables of one chunk of rows.
CHUNK_BYTES = 2**25
#: Bytes of the distributions from which one clique is drawn at a time.
DRAW_BYTES = 2**23

#: Cells of the clique tables of all rows of a group above which the group is split.
MOST_CELLS = 2**26
#: Largest size in bytes of the clique tables of one row.
ROW_BYTES = 2**27

#: For each chunk: its rows, and the conditional tables (rows, states of the sepset, states of the rest) of all cliques.
Chunk = tuple[slice, list[np.ndarray]]


class RowPosteriors:
    """The N rows of a table under networks of one graph; the code of a missing value of v is its number of states.

    `families[v]` is (v, parents...). A row has `row_cells` cells of clique tables.
    """

    def __init__(self, cards: Sequence[int], families: Sequence[Sequence[int]], codes: np.ndarray) -> None:
        self.cards = list(map(int, cards))
        self.families = [tuple(family) for family in families]
        self.codes = codes
        self.n_rows = codes.shape[1]
        missing = codes == np.array(self.cards)[:, None]
        self.free = np.flatnonzero(missing.any(axis=1)).tolist()
        place = {v: k for k, v in enumerate(self.free)}
        self._scopes = [[place[u] for u in family if u in place] for family in self.families]
        cards_of_free = [self.cards[v] for v in self.free]
        plan = search_order(cards_of_free, [scope for scope in self._scopes if scope])
        self.tree = JunctionTree(plan, cards_of_free, [])
        # By code: a state allows itself only, a missing value (the code after the last state) allows all.
        self._evidence = [np.vstack([np.eye(card), np.ones(card)]) for card in cards_of_free]
        self._missing = missing[self.free]
        self._chunk = max(1, CHUNK_BYTES // (CELL_BYTES * max(plan.cells, 1)))
        homes: list[list[int]] = [[] for _ in plan.cliques]
        for v, scope in enumerate(self._scopes):
            if scope:
                homes[int(plan.homes[min(scope, key=self.tree.rank.__getitem__)])].append(v)
        self._homes = homes
        self.row_cells = plan.cells

    def find_split(self) -> int | None:
        """Return the variable of the largest clique whose missingness splits the rows best, None if there is none."""
        largest = max(self.tree.plan.cliques, key=lambda clique: prod(self.tree.cards[k] for k in clique), default=())
        n_missing = self._missing.sum(axis=1)
        smaller = {k: int(min(n_missing[k], self.n_rows - n_missing[k])) for k in largest}
        best = max(smaller, key=smaller.__getitem__, default=None)
        return None if best is None or smaller[best] == 0 else self.free[best]

    # ---- passes over the rows ----

    def log_likelihoods(self, tables: Sequence[np.ndarray]) -> np.ndarray:
        """Return the log-probability of the observed values of each row, (N,); ``tables[v]`` has its family's axes."""
        logs = np.empty(self.n_rows)
        for _ in self._chunks(tables, logs):
            pass
        return logs

    def compute_expected_counts(
        self, tables: Sequence[np.ndarray], weights: np.ndarray
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the log-probabilities of the rows, and the expected counts of each family, in the shape of its table.

        `weights`, (N,), are the weights of the rows.
        """
        logs = np.empty(self.n_rows)
        counts = [np.zeros(table.shape) for table in tables]
        for v, scope in enumerate(self._scopes):
            if not scope:
                counts[v] = self._count(v, np.ones((self.n_rows, 1)), slice(None), weights)
        for rows, conditionals in self._chunks(tables, logs):
            for clique, belief in self._beliefs(conditionals):
                for v in self._homes[clique]:
                    counts[v] += self._count(v, self._marginal(clique, belief, v), rows, weights)
        return logs, counts

    def draw(self, tables: Sequence[np.ndarray], n_draws: int, seed: Sequence[int]) -> np.ndarray:
        """Return draws of all variables given each row, (n, N, n_draws).

        The draws of a clique are stratified: one per stratum of `n_draws` equal strata of (0, 1), in random order.
        """
        draws = np.repeat(self.codes[:, :, None], n_draws, axis=2)
        for rows, conditionals in self._chunks(tables, np.empty(self.n_rows)):
            states = draws[self.free, rows]
            # A stream per chunk: its draws do not depend on the chunks before it.
            rng = np.random.default_rng([*seed, rows.start])
            for clique, conditional in enumerate(conditionals):
                uniforms = draw_strata(rng, len(conditional), n_draws)
                self._draw_clique(clique, conditional, uniforms, self._missing[:, rows], states)
            draws[self.free, rows] = states
        return draws

    def modes(self, tables: Sequence[np.ndarray]) -> np.ndarray:
        """Return the rows, (n, N), each missing value replaced by its most probable state given the row."""
        filled = self.codes.copy()
        for rows, conditionals in self._chunks(tables, np.empty(self.n_rows)):
            for clique, belief in self._beliefs(conditionals):
                for k in self.tree.rest(clique):
                    unknown = np.flatnonzero(self._missing[k, rows])
                    best = self._sum(clique, belief, [k])[unknown].argmax(axis=1)
                    filled[self.free[k], rows.start + unknown] = best
        return filled

    # ---- the tree ----

    def _chunks(self, tables: Sequence[np.ndarray], logs: np.ndarray) -> Iterator[Chunk]:
        """Pass from the leaves to the roots for each chunk of rows, and write their log-probabilities."""
        fixed = [self._index(v, tables[v], slice(0, 1)) for v in range(len(tables))]
        is_fixed = [len(scope) == len(family) for scope, family in zip(self._scopes, self.families, strict=True)]
        with np.errstate(divide="ignore"):
            for start in range(0, self.n_rows, self._chunk):
                rows = slice(start, min(start + self._chunk, self.n_rows))
                factors = [fixed[v] if is_fixed[v] else self._index(v, table, rows) for v, table in enumerate(tables)]
                logs[rows] = sum(
                    (np.log(factors[v]) for v, scope in enumerate(self._scopes) if not scope),
                    np.zeros(rows.stop - rows.start),
                )
                yield rows, self._condition(factors, rows, logs)

    def _condition(self, factors: Sequence[np.ndarray], rows: slice, logs: np.ndarray) -> list[np.ndarray]:
        tree, n = self.tree, rows.stop - rows.start
        messages: dict[int, np.ndarray] = {}
        conditionals: list[np.ndarray] = [np.empty(0)] * len(tree.parents)
        for clique in tree.list_upward():
            table = np.ones((n, *tree.shapes[clique]))
            for v in self._homes[clique]:
                table *= self._broadcast(clique, self._scopes[v], factors[v])
            for k in tree.rest(clique):
                table *= self._broadcast(clique, [k], self._evidence[k][self.codes[self.free[k], rows]])
            for child in tree.children[clique]:
                table *= self._broadcast(clique, tree.plan.sepsets[child], messages.pop(child))
            table = table.reshape(n, tree.split[clique], -1)
            sums = table.sum(axis=2)
            scale = sums.max(axis=1)
            logs[rows] += np.log(scale)
            # Impossible rows: their logarithm is minus infinity, and their tables stay zero.
            scale[scale == 0.0] = 1.0
            table /= np.where(sums == 0.0, 1.0, sums)[:, :, None]
            conditionals[clique] = table
            if tree.parents[clique] >= 0:
                shape = [tree.cards[k] for k in tree.plan.sepsets[clique]]
                messages[clique] = (sums / scale[:, None]).reshape(n, *shape)
        return conditionals

    def _beliefs(self, conditionals: Sequence[np.ndarray]) -> Iterator[tuple[int, np.ndarray]]:
        """Yield each clique, parents first, with the distributions of its variables, (rows, one axis per variable)."""
        tree, waiting = self.tree, dict[int, np.ndarray]()
        for clique, conditional in enumerate(conditionals):
            belief = conditional
            if tree.parents[clique] >= 0:
                belief = conditional * waiting.pop(clique)[:, :, None]
            belief = belief.reshape(len(conditional), *tree.shapes[clique])
            for child in tree.children[clique]:
                waiting[child] = self._sum(clique, belief, tree.plan.sepsets[child]).reshape(len(conditional), -1)
            yield clique, belief

    def _draw_clique(
        self, clique: int, conditional: np.ndarray, uniforms: np.ndarray, missing: np.ndarray, states: np.ndarray
    ) -> None:
        """Draw the missing values of the variables that the clique's parent does not contain."""
        rest = self.tree.rest(clique)
        rows = np.flatnonzero(missing[list(rest)].any(axis=0))
        if not len(rows):
            return
        step = max(1, DRAW_BYTES // (CELL_BYTES * uniforms.shape[1] * conditional.shape[2]))
        for first in range(0, len(rows), step):
            self._draw_rows(clique, conditional, uniforms, rows[first : first + step], states)

    def _draw_rows(
        self, clique: int, conditional: np.ndarray, uniforms: np.ndarray, rows: np.ndarray, states: np.ndarray
    ) -> None:
        at = np.zeros((len(rows), uniforms.shape[1]), dtype=np.int64)
        for k in self.tree.plan.sepsets[clique]:
            # The parent's clique is drawn first, so the states of the sepset are known.
            at = at * self.tree.cards[k] + states[k][rows]
        sums = conditional[rows[:, None], at].cumsum(axis=2)
        # u < 1, so that some cell passes u times the total
        cell = (sums <= (uniforms[rows] * sums[:, :, -1])[:, :, None]).sum(axis=2)
        for k in reversed(self.tree.rest(clique)):
            cell, state = np.divmod(cell, self.tree.cards[k])
            states[k][rows] = state

    # ---- tables ----

    def _axes(self, v: int) -> tuple[list[int], list[int]]:
        """Return the axes of a family whose variables are observed in all rows, and the other axes."""
        free = set(self.free)
        family = self.families[v]
        known = [axis for axis, u in enumerate(family) if u not in free]
        return known, [axis for axis, u in enumerate(family) if u in free]

    def _index(self, v: int, table: np.ndarray, rows: slice) -> np.ndarray:
        """Return each row's table of a family given the variables that all rows observe, (rows, other states...)."""
        known, others = self._axes(v)
        if not known:
            return table[None]
        codes = tuple(self.codes[self.families[v][axis], rows] for axis in known)
        return table.transpose(known + others)[codes]

    def _broadcast(self, clique: int, scope: Sequence[int], table: np.ndarray) -> np.ndarray:
        """Return a view of a table (rows, states of `scope`...) that broadcasts against the clique's tables."""
        axes = sorted(range(len(scope)), key=lambda axis: -self.tree.rank[scope[axis]])
        held = set(scope)
        shape = [self.tree.cards[k] if k in held else 1 for k in self.tree.plan.cliques[clique]]
        return table.transpose(0, *(axis + 1 for axis in axes)).reshape(len(table), *shape)

    def _sum(self, clique: int, belief: np.ndarray, scope: Sequence[int]) -> np.ndarray:
        """Sum over all but some variables of a clique, axes in its order."""
        axes = tuple(axis + 1 for axis, k in enumerate(self.tree.plan.cliques[clique]) if k not in set(scope))
        return belief.sum(axis=axes) if axes else belief

    def _marginal(self, clique: int, belief: np.ndarray, v: int) -> np.ndarray:
        """Return the joint of a family's variables that may be missing, (rows, states), in the family's order."""
        scope = self._scopes[v]
        order = sorted(range(len(scope)), key=lambda axis: -self.tree.rank[scope[axis]])
        marginal = self._sum(clique, belief, scope)
        return marginal.transpose(0, *(1 + order.index(axis) for axis in range(len(scope)))).reshape(len(belief), -1)

    def _count(self, v: int, marginal: np.ndarray, rows: slice, weights: np.ndarray) -> np.ndarray:
        """Sum the distributions of a family's cells over rows."""
        known, others = self._axes(v)
        sizes = [self.cards[u] for u in self.families[v]]
        weighted = marginal * weights[rows, None]
        if not known:
            counts = weighted.sum(axis=0)
        else:
            codes = [self.codes[self.families[v][axis], rows].astype(np.int64) for axis in known]
            at = np.ravel_multi_index(codes, [sizes[axis] for axis in known])
            n = prod(sizes[axis] for axis in known)
            # counts of no rows are integers
            counts = np.stack([np.bincount(at, column, n).astype(float) for column in weighted.T], axis=1)
        order = known + others
        return counts.reshape([sizes[axis] for axis in order]).transpose(np.argsort(order))


def draw_strata(rng: np.random.Generator, n_rows: int, n_draws: int) -> np.ndarray:
    """Return per row one uniform number in each of `n_draws` equal strata of [0, 1), shuffled: (n_rows, n_draws)."""
    strata = rng.permuted(np.broadcast_to(np.arange(float(n_draws)), (n_rows, n_draws)), axis=1)
    # (k + u) / n_draws may round up to 1, but a draw needs a number below 1.
    return np.minimum((strata + rng.random(strata.shape)) / n_draws, 1 - 2.0**-53)


class RowGroups:
    """The rows of a table in groups that share a junction tree; arguments and results are as in `RowPosteriors`.

    Raises a TreewidthError if a single row would need more than `ROW_BYTES`.
    """

    def __init__(self, cards: Sequence[int], families: Sequence[Sequence[int]], codes: np.ndarray) -> None:
        self._codes = codes
        self._groups: list[tuple[np.ndarray, RowPosteriors]] = []
        waiting = [np.arange(codes.shape[1])]
        while waiting:
            rows = waiting.pop()
            group = RowPosteriors(cards, families, np.ascontiguousarray(codes[:, rows]))
            column = group.find_split() if group.row_cells * len(rows) > MOST_CELLS else None
            if column is not None:
                missing = codes[column, rows] == cards[column]
                waiting += [rows[missing], rows[~missing]]
                continue
            needed = CELL_BYTES * group.row_cells
            if needed > ROW_BYTES:
                raise TreewidthError(
                    f"the expected counts of a row with missing values need {format_bytes(needed)} "
                    f"(width {group.tree.plan.width}), more than {format_bytes(ROW_BYTES)}",
                    "limit the parents with max_indegree, or {}",
                    "learn with missing='pairwise' or 'category'",
                )
            self._groups.append((rows, group))

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self._groups)

    def log_likelihoods(self, tables: Sequence[np.ndarray]) -> np.ndarray:
        """Return the log-probability of the observed values of each row, (N,)."""
        logs = np.empty(self._codes.shape[1])
        self._fill(logs, lambda group, _: group.log_likelihoods(tables))
        return logs

    def compute_expected_counts(
        self, tables: Sequence[np.ndarray], weights: np.ndarray
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the log-probabilities of the rows, and the expected counts of each family."""
        logs, counts = np.empty(self._codes.shape[1]), [np.zeros(table.shape) for table in tables]
        for rows, group in self._groups:
            logs[rows], counts_of_group = group.compute_expected_counts(tables, weights[rows])
            for total, count in zip(counts, counts_of_group, strict=True):
                total += count
        return logs, counts

    def draw(self, tables: Sequence[np.ndarray], n_draws: int, seed: int) -> np.ndarray:
        """Return draws of all variables given each row, (n, N, n_draws)."""
        draws = np.empty((*self._codes.shape, n_draws), dtype=self._codes.dtype)
        for number, (rows, group) in enumerate(self._groups):
            draws[:, rows] = group.draw(tables, n_draws, (seed, number))
        return draws

    def modes(self, tables: Sequence[np.ndarray]) -> np.ndarray:
        """Return the rows, (n, N), each missing value replaced by its most probable state given the row."""
        filled = np.empty_like(self._codes)
        self._fill(filled, lambda group, _: group.modes(tables))
        return filled

    def _fill(self, out: np.ndarray, compute: Callable[[RowPosteriors, np.ndarray], Any]) -> None:
        for rows, group in self._groups:
            out[..., rows] = compute(group, rows)


class Completions(NamedTuple):
    """Complete rows ``codes`` (n, M), their ``weights`` (M,), and the incomplete row ``rows`` (M,) of each."""

    codes: np.ndarray
    weights: np.ndarray
    rows: np.ndarray


class RowCompleter:
    """The weighted rows of a table under networks of one graph, with the arguments of `RowGroups`.

    A row with at most `n_draws` completions is replaced by all of them, weighted by their probabilities. Any other row
    is replaced by `n_draws` draws from its distribution.
    """

    def __init__(
        self,
        cards: Sequence[int],
        families: Sequence[Sequence[int]],
        codes: np.ndarray,
        weights: np.ndarray,
        n_draws: int,
    ) -> None:
        self.n_draws = n_draws
        self.weights = weights
        self._families = [tuple(family) for family in families]
        missing = codes == np.asarray(cards)[:, None]
        # As floats, since the numbers may exceed 64 bits.
        n_completions = np.where(missing, np.asarray(cards, dtype=float)[:, None], 1.0).prod(axis=0)
        self._few = np.flatnonzero(n_completions <= n_draws)
        self._many = np.flatnonzero(n_completions > n_draws)
        self._posteriors = RowGroups(cards, families, np.ascontiguousarray(codes[:, self._many]))
        self._filled, self._of = list_completions(cards, codes[:, self._few], missing[:, self._few])

    def log_likelihood(self, tables: Sequence[np.ndarray]) -> float:
        """Return the log-likelihood of the observed values."""
        logs, _ = self._weigh(tables)
        return self._sum(logs, self._posteriors.log_likelihoods(tables))

    def compute_expected_counts(self, tables: Sequence[np.ndarray]) -> tuple[float, list[np.ndarray]]:
        """Return the exact log-likelihood of the observed values and the exact expected counts of each family."""
        logs, weights = self._weigh(tables)
        logs_of_many, counts = self._posteriors.compute_expected_counts(tables, self.weights[self._many])
        for table, family in zip(counts, self._families, strict=True):
            at = np.ravel_multi_index(tuple(self._filled[list(family)].astype(np.int64)), table.shape)
            table += np.bincount(at, weights, table.size).reshape(table.shape)
        return self._sum(logs, logs_of_many), counts

    def complete(self, tables: Sequence[np.ndarray], seed: int) -> Completions:
        """Return the weighted complete rows; the same for the same seed and tables."""
        _, weights = self._weigh(tables)
        draws = self._posteriors.draw(tables, self.n_draws, seed)
        n_draws = np.repeat(self.weights[self._many] / self.n_draws, self.n_draws)
        return Completions(
            np.concatenate([self._filled, draws.reshape(len(draws), -1)], axis=1),
            np.concatenate([weights, n_draws]),
            np.concatenate([self._few[self._of], np.repeat(self._many, self.n_draws)]),
        )

    def _sum(self, logs_of_few: np.ndarray, logs_of_many: np.ndarray) -> float:
        return float(self.weights[self._few] @ logs_of_few + self.weights[self._many] @ logs_of_many)

    def _weigh(self, tables: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return the log-probabilities of the rows with few completions, and the weights of the completions."""
        joint = np.zeros(self._filled.shape[1])
        for table, family in zip(tables, self._families, strict=True):
            joint += take_logs(table)[tuple(self._filled[list(family)])]
        n = len(self._few)
        top = np.full(n, -np.inf)
        np.maximum.at(top, self._of, joint)
        top[top == -np.inf] = 0.0
        weights = np.exp(joint - top[self._of])
        sums = np.bincount(self._of, weights, n)
        weights *= self.weights[self._few][self._of] / np.where(sums == 0.0, 1.0, sums)[self._of]
        return top + take_logs(sums), weights


def list_completions(cards: Sequence[int], codes: np.ndarray, missing: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return all completions (n, M) of the rows, and the index (M,) of the incomplete row of each."""
    counts = np.where(missing, np.asarray(cards, dtype=np.int64)[:, None], 1).prod(axis=0)
    rows = np.repeat(np.arange(codes.shape[1]), counts)
    place = np.arange(len(rows)) - np.repeat(counts.cumsum() - counts, counts)
    filled = codes[:, rows]
    for v, card in enumerate(cards):
        unknown = np.flatnonzero(missing[v, rows])
        place[unknown], filled[v, unknown] = np.divmod(place[unknown], card)
    return filled, rows
