"""Tests of conditional independence of discrete variables: Pearson's chi-square and the G-square statistic."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from pgmx._ext._ci_rows import DiscreteRows
from pgmx.checks import caller_level, is_silent
from pgmx.data import DiscreteTable
from pgmx.parallel.threads import count_threads, run_on_threads
from pgmx.statistics.counts import marginal_counts, pair_counts
from pgmx.statistics.families import DistributedFamilies, FamilyCounts, WideFamilies, split_wider
from pgmx.statistics.independence.source import (
    BoolMatrix,
    Evidence,
    IdArray,
    IndependenceSource,
    SetPools,
    TestRow,
    list_rows,
)

#: The statistics: Pearson's, with Yates' correction, the likelihood ratio, and Pearson's with exact moments.
KINDS = ("pearson", "yates", "g_square", "moments")

#: Rows of a table on this machine above which it is counted in segments, like a partition of a distributed table.
MOST_ROWS = 1 << 22

#: Bytes of the counts of all pairs, at most.
_PAIRS_MEMORY = 1 << 26

#: Bytes of the counts that one message requests.
_MESSAGE_MEMORY = 1 << 24


class DiscreteTests(IndependenceSource):
    """Tests of the variables of a coded table.

    `kind` is one of `KINDS`. Variable ``order[i]`` of the table has the id i, by default i. Rows in which a tested
    variable is missing are left out of the test. `n_jobs` threads share the variables of a level; results are the same.
    """

    def __init__(
        self,
        table: DiscreteTable,
        kind: str = "pearson",
        *,
        order: Sequence[int] | np.ndarray | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.table, self.kind, self.n_jobs = table, kind, n_jobs
        self.n_variables = table.n_variables
        self.order = np.arange(self.n_variables) if order is None else np.array(order, dtype=np.int64)
        self.marginals = split_marginals(table)
        self._families: DistributedFamilies | None = None
        if table.has_wide_counts:
            self._families = WideFamilies(table)
        elif table.is_remote or table.n_rows > MOST_ROWS:
            self._families = DistributedFamilies(table)
        self._rows = self._open()

    def _open(self) -> DiscreteRows:
        table = self.table
        if self._families is None:
            codes, planes = table.codes, table.planes
        else:
            codes, planes = np.empty((self.n_variables, 0), np.uint8), np.empty((0, 0), np.uint64)
        counts = np.concatenate(self.marginals).astype(np.uint32)
        arrays = (codes, table.cardinalities, planes, table.plane_offsets, counts, table.missing_codes)
        return DiscreteRows(*arrays, self.order, self.kind, self._pairs, self.table.n_rows)

    @cached_property
    def _pairs(self) -> np.ndarray | None:
        """Counts of all pairs, from which tests given few variables follow; None if they need much memory."""
        n_planes = np.diff(self.table.plane_offsets)
        n_states = np.maximum(n_planes - 1, 0).sum()
        # rows that are counted elsewhere have no other way to a count
        is_partial = self._families is not None and not n_planes.all()
        if self.table.has_wide_counts or is_partial or 4 * n_states**2 > _PAIRS_MEMORY:
            return None
        pairs = pair_counts(self.table, n_jobs=self.n_jobs, memory=_PAIRS_MEMORY)
        if pairs is not None:
            lower = np.tril_indices(len(pairs), -1)
            pairs[lower] = pairs.T[lower]
        return pairs

    # ---- rows ----

    def test_row(self, x: int, ys: Sequence[int] | IdArray, z: Sequence[int]) -> TestRow:
        """Test x with each of `ys` given the set `z`; the p-value is NaN if there are more than 2**62 cells."""
        ys, given = np.asarray(ys, dtype=np.int64), np.asarray(z, dtype=np.int64)
        results = self._test(x, ys, given)
        return TestRow(results[0], results[1], results[2], self._find_effects(x, ys, given, results[3]))

    def _test(self, x: int, ys: np.ndarray, z: np.ndarray) -> Any:
        """Return statistics, degrees of freedom, p-values, and the statistics that give the effect sizes."""
        if self._counts_here(len(z)):
            return self._rows.test_row(x, ys, z)
        return next(self._test_counts([(x, ys, tuple(z.tolist()))]))

    def _counts_here(self, size: int) -> bool:
        """Return whether tests given `size` variables need no counts from elsewhere."""
        return self._families is None or (size == 0 and self._pairs is not None)

    def _find_effects(self, x: int, ys: np.ndarray, z: np.ndarray, statistics: np.ndarray) -> np.ndarray:
        """Return Cramér's V: the root of the statistic, over the rows times the smaller number of states less one."""
        n_states = self._count_seen(x)
        least = np.array([max(min(n_states, self._count_seen(y)) - 1, 1) for y in ys.tolist()], dtype=float)
        return np.sqrt(np.maximum(statistics, 0.0) / (self._count_rows(x, ys, z) * least))

    def _count_seen(self, v: int) -> int:
        """Return the number of states of an id that occur."""
        v = self.order[v]
        return int(np.count_nonzero(self.marginals[v])) - int(self.table.missing_codes[v] >= 0)

    def _count_rows(self, x: int, ys: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return the number of rows of each test, without rows with missing values."""
        missing = self.table.missing_codes
        marked = [v for v in self.order[[x, *z]].tolist() if missing[v] >= 0]
        n_rows = np.full(len(ys), float(self.table.n_rows))
        if self.table.is_remote or not (marked or (missing[self.order[ys]] >= 0).any()):
            return n_rows
        codes = self.table.codes
        known = np.ones(self.table.n_rows, dtype=bool)
        for v in marked:
            known &= codes[v] != missing[v]
        for i, v in enumerate(self.order[ys].tolist()):
            n_rows[i] = np.count_nonzero(known & (codes[v] != missing[v])) if missing[v] >= 0 else known.sum()
        return np.maximum(n_rows, 1.0)

    # ---- a level ----

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
        """Test each pair given all sets of `size` neighbours, as the base class does, in compiled code."""
        if not self._counts_here(size):
            return self._run_counted(list_rows(adjacent, size, tiers, pools), evidence, should_stop)
        matrix = np.ascontiguousarray(adjacent, dtype=np.uint8)
        limits = () if pools is None else (pools.members.view(np.uint8), pools.tested.view(np.uint8))
        starts = np.concatenate(([0], np.cumsum(matrix.sum(axis=1, dtype=np.int64))))
        p_values, sets = np.full(int(starts[-1]), -1.0), np.zeros((int(starts[-1]), size), dtype=np.int32)
        levels = None if tiers is None else np.ascontiguousarray(tiers, dtype=np.int64)

        def run(rows: DiscreteRows, first: int, stop: int) -> tuple[int, int]:
            part = slice(starts[first], starts[stop])
            return rows.run_rows(first, stop, matrix, size, levels, p_values[part], sets[part], should_stop, *limits)

        n_threads = count_threads(self.n_jobs)
        if n_threads == 1 or size == 0:
            done = [run(self._rows, 0, self.n_variables)]
        else:
            done = self._run_on_threads(run, n_threads)
        n_tests, n_refused = np.sum(done, axis=0).tolist()
        _warn_of_sets(n_refused, size)
        evidence.add_level(*_merge_sides(matrix, p_values, sets))
        return n_tests

    def _run_on_threads(self, run: Callable[..., tuple[int, int]], n_threads: int) -> list[tuple[int, int]]:
        def make() -> Callable[[int], tuple[int, int]]:
            rows = self._open()  # with scratch memory of its own
            return lambda x: run(rows, x, x + 1)

        return [result for _, result in run_on_threads(make, self.n_variables, n_threads)]

    # ---- counts of workers, or of segments of many rows ----

    def _run_counted(
        self, rows: Iterator[tuple[int, IdArray, tuple[int, ...]]], evidence: Evidence, should_stop: Any
    ) -> int:
        """Test rows whose counts are requested, many of them with one message; return the number of tests."""
        n_tests, n_refused, size = 0, 0, 0
        for batch in self._cut_batches(rows):
            if should_stop is not None and should_stop():
                break
            for (x, ys, z), results in zip(batch, self._test_counts(batch), strict=True):
                size = len(z)
                n_known = int(np.count_nonzero(~np.isnan(results[2])))
                n_tests, n_refused = n_tests + n_known, n_refused + len(ys) - n_known
                evidence.add(x, ys, z, results[2])
        _warn_of_sets(n_refused, size)
        return n_tests

    def _cut_batches(self, rows: Iterable[tuple[int, IdArray, tuple[int, ...]]]) -> Iterator[list]:
        """Yield rows in lists whose counts fit in a message."""
        batch: list = []
        n_bytes, cards = 0.0, self.table.cardinalities[self.order]
        for x, ys, z in rows:
            n_cells = min(float(np.prod(cards[[x, *z]], dtype=float)), self.table.n_rows)
            more = 8.0 * n_cells * (2 + float(cards[ys].sum()))
            if batch and n_bytes + more > _MESSAGE_MEMORY:
                yield batch
                batch, n_bytes = [], 0.0
            batch.append((x, ys, z))
            n_bytes += more
        if batch:
            yield batch

    def _test_counts(self, rows: Sequence[tuple[int, Any, tuple[int, ...]]]) -> Iterator[np.ndarray]:
        """Yield the results of rows of tests, counted with one message."""
        assert self._families is not None
        can_count = [self._can_number(x, z) for x, _, z in rows]
        requests = [self._list_requests(*row) for row, can in zip(rows, can_count, strict=True) if can]
        answers = iter(self._families([request for some in requests for request in some]) if requests else ())
        for (x, ys, z), can in zip(rows, can_count, strict=True):
            if not can:
                yield np.full((4, len(ys)), np.nan)
            elif z:
                given = np.array(sorted(z, key=self.order.__getitem__), dtype=np.int64)
                cells = next(answers)
                tables = self._complete_tables(cells, x, ys, z, answers)
                yield self._rows.test_counts(
                    x, given, cells.keys.astype(np.uint64), cells.counts.astype(float), ys, tables
                )
            else:
                counts = self.marginals[self.order[x]].astype(float)
                keys = np.flatnonzero(counts)
                tables = np.concatenate([self._read_pair(next(answers), x, y) for y in ys])[:, keys]
                yield self._rows.test_counts(
                    x, np.empty(0, np.int64), keys.astype(np.uint64), counts[keys], ys, np.ascontiguousarray(tables)
                )

    def _can_number(self, x: int, z: tuple[int, ...]) -> bool:
        return float(np.prod(self.table.cardinalities[self.order[[x, *z]]], dtype=float)) <= 2.0**62

    def _list_requests(self, x: int, ys: np.ndarray, z: tuple[int, ...]) -> list:
        """Return the families of a row: x with the set and candidates, or with each y alone."""
        child, none = int(self.order[x]), np.empty(0, dtype=np.int32)
        if not z:
            return [(child, self.order[[y]].astype(np.int32), none) for y in ys]
        parents, wanted = np.sort(self.order[list(z)]).astype(np.int32), self.order[ys].astype(np.int32)
        narrow = self._has_planes(wanted)
        wider = [(child, np.sort(np.append(parents, v)).astype(np.int32), none) for v in wanted[~narrow]]
        return [(child, parents, wanted[narrow]), *wider]

    def _has_planes(self, columns: np.ndarray) -> np.ndarray:
        """Return whether workers count the columns as candidates; wide counts come with all candidates."""
        return (np.diff(self.table.plane_offsets)[columns] > 0) | isinstance(self._families, WideFamilies)

    def _complete_tables(
        self, cells: FamilyCounts, x: int, ys: np.ndarray, z: tuple[int, ...], answers: Iterator[FamilyCounts]
    ) -> np.ndarray:
        """Return the counts by all states of each y and by cell."""
        cards, parents = self.table.cardinalities, np.sort(self.order[list(z)])
        wanted = self.order[ys]
        tables = np.zeros((int(cards[wanted].sum()), len(cells.keys)))
        n_counted = 0 if isinstance(self._families, WideFamilies) else 1
        at = row = 0
        for v, is_narrow in zip(wanted.tolist(), self._has_planes(wanted).tolist(), strict=True):
            table = tables[at : at + cards[v]]
            if is_narrow:
                n = cards[v] - n_counted
                table[:n] = cells.tables[row : row + n]
                row += n
                if n_counted:
                    table[-1] = cells.counts - table[:-1].sum(axis=0)
            else:
                below = int(np.prod(cards[parents[parents > v]], dtype=np.int64)) * int(cards[self.order[x]])
                split_wider(next(answers), cells.keys.astype(np.int64), int(cards[v]), below, table)
            at += cards[v]
        return tables

    def _read_pair(self, cells: FamilyCounts, x: int, y: int) -> np.ndarray:
        """Return the counts of x with the parent y, by states of y and states of x."""
        shape = tuple(self.table.cardinalities[self.order[[y, x]]].tolist())
        table = np.zeros(shape)
        table.flat[cells.keys.astype(np.int64)] = cells.counts
        return table


def split_marginals(table: DiscreteTable) -> list[np.ndarray]:
    """Return the number of rows in each state of each variable."""
    return np.split(marginal_counts(table), np.cumsum(table.cardinalities)[:-1])


def _merge_sides(matrix: np.ndarray, p_values: np.ndarray, sets: np.ndarray) -> tuple[IdArray, IdArray, np.ndarray]:
    """Return the tested pairs, the better of the sets from both sides, and its p-value."""
    sides = np.argwhere(matrix)
    known = p_values >= 0.0
    pairs, p_values, sets = np.sort(sides[known], axis=1), p_values[known], sets[known]
    # of equal p-values the first set in the order of ids comes first
    order = np.lexsort((*sets.T[::-1], -p_values, pairs[:, 1], pairs[:, 0]))
    pairs, p_values, sets = pairs[order], p_values[order], sets[order]
    first = np.ones(len(pairs), dtype=bool)
    first[1:] = (pairs[1:] != pairs[:-1]).any(axis=1)
    return pairs[first], sets[first].astype(np.intp), p_values[first]


def _warn_of_sets(n_refused: int, size: int) -> None:
    if n_refused and not is_silent():
        warnings.warn(
            f"{n_refused} tests given {size} variables were left out, because their variables have more than 2**62 "
            "combinations of states: merge rare states, or test given fewer variables",
            stacklevel=caller_level(),
        )
