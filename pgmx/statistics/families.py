"""Counts of families of a distributed table: workers count their partitions and send sums to the driver.

A request consists of a child, its parents, and candidates for one more parent. The answer of a partition has the
nonempty cells of the family, and the counts of each cell by the states of each candidate. When answers are added, cells
are aligned by their indices, since a cell may be empty in some partitions. A message can hold any number of requests.

There are three sources of counts. `DistributedFamilies` has counts of 32 bits, in tables without the last state of each
candidate, which follows from the cells. `WeightedFamilies` has sums of row weights, in tables with all states: the last
state, as a difference of sums, would lose digits. `WideFamilies` is for tables whose sums do not fit in 32 bits:
partitions count in 32 bits as usual, and their 64-bit sums are scored as float64, which is exact up to 2**53 rows.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from pgmx._ext._family_counts import FamilyCounter
from pgmx._ext._weighted import WeightedFamilyScorer
from pgmx.data import DiscreteTable
from pgmx.parallel.threads import count_sharers, help_on_threads
from pgmx.statistics.counts import DISTRIBUTED_MEMORY, marginal_counts, marginal_weights, narrow_counts
from pgmx.statistics.pair_cells import DistributedPairs, Triangle

#: Maximum number of cells of all families of one message (a single family may have more).
_MESSAGE_CELLS = 1 << 22

#: A child, its parents, and candidates for one more parent.
FamilyRequest = tuple[int, np.ndarray, np.ndarray]


class FamilyCounts(NamedTuple):
    """Counts of a family, in the smallest sufficient types.

    `keys` are the indices of the nonempty cells, ascending, and `counts` their rows. ``tables[i]`` are the rows of each
    cell with one state of a candidate, for all states of all candidates except their last states.
    """

    keys: np.ndarray
    counts: np.ndarray
    tables: np.ndarray


class DistributedFamilies:
    """Source of counts for a family scorer when workers hold the rows: one message per worker for any families."""

    def __init__(self, table: DiscreteTable):
        self.table = table

    def __call__(self, requests: list[FamilyRequest]) -> list[FamilyCounts]:
        """Return the sums over all partitions, ids as int32 arrays."""
        return self.table.reduce(count_families, requests, add=add_families)

    def count_cells(self, families: Sequence[tuple[int, Sequence[int]]]) -> Iterator[FamilyCounts]:
        """Yield the cells of families (a child and its parents), in as few messages as memory allows."""
        requests: list[FamilyRequest] = []
        n_cells, none = 0.0, np.empty(0, dtype=np.int32)
        for child, parents in families:
            more = float(np.prod(self.table.cardinalities[[child, *parents]], dtype=float))
            # a bound on the memory for the answer; a single family may exceed it
            if requests and n_cells + more > _MESSAGE_CELLS:
                yield from self(requests)
                requests, n_cells = [], 0.0
            requests.append((child, np.array(parents, dtype=np.int32), none))
            n_cells += more
        if requests:
            yield from self(requests)


class WeightedFamilies(DistributedFamilies):
    """Source of sums for a scorer of weighted rows when workers hold the rows and their weights.

    The sums of all pairs are requested together with the first table. Families without parents, and the cells of
    families with one parent, are computed from them. Scorers in several threads may share this object.
    """

    def __init__(self, table: DiscreteTable):
        super().__init__(table)
        self._lock = Lock()
        self._marginals: list[np.ndarray] = []
        self._pairs: Triangle | None = None

    def __call__(self, requests: list[FamilyRequest]) -> list[FamilyCounts]:
        """Return the sums over all partitions; a family without parents has a cell per state and later candidates."""
        known = list(map(self._has, requests))  # only once: another thread may add the pairs
        requested = [request for request, is_known in zip(requests, known, strict=True) if not is_known]
        sums = iter(self._ask(requested) if requested else ())
        return [
            self._read(*request) if is_known else next(sums) for request, is_known in zip(requests, known, strict=True)
        ]

    def _ask(self, requests: list[FamilyRequest]) -> list[FamilyCounts]:
        """Return the sums of families with parents, with one message for all."""
        return self.table.reduce(weigh_families, requests, add=add_family_weights)

    def _sum_states(self) -> np.ndarray:
        """Return the sum of weights in each state."""
        return marginal_weights(self.table)

    def _has(self, request: FamilyRequest) -> bool:
        """Return whether a family is computed from the sums of all pairs."""
        _, parents, candidates = request
        return not len(parents) or (len(parents) == 1 and not len(candidates) and self._pairs is not None)

    def _read(self, child: int, parents: np.ndarray, candidates: np.ndarray) -> FamilyCounts:
        if len(parents):
            return self._read_pair(child, int(parents[0]))
        with self._lock:
            if not self._marginals:
                self._marginals = np.split(self._sum_states(), np.cumsum(self.table.cardinalities)[:-1])
            if len(candidates) and self._pairs is None:
                self._pairs = self._sum_pairs()
        keys = np.arange(self.table.cardinalities[child], dtype=np.uint64)
        return FamilyCounts(keys, self._marginals[child], self._take_tables(child, candidates))

    def _read_pair(self, child: int, parent: int) -> FamilyCounts:
        """Return the cells of a child with one parent; the states of the child vary fastest."""
        first, second = sorted((child, parent))
        table = self._take_tables(first, np.array([second]))  # (states of the second, states of the first)
        weights = np.ravel(table if parent == second else table.T)
        return FamilyCounts(np.arange(len(weights), dtype=np.uint64), weights, np.empty((0, len(weights))))

    def _take_tables(self, child: int, candidates: np.ndarray) -> np.ndarray:
        """Return the tables of a variable with later variables, of shape (their states, its states)."""
        if self._pairs is None or not len(candidates):
            return np.empty((0, self.table.cardinalities[child]))
        pairs, cards = self._pairs, self.table.cardinalities
        rows = pairs.values[pairs.begins[child] : pairs.begins[child + 1]].reshape(cards[child], -1)
        first = pairs.columns[candidates] - pairs.columns[child + 1]
        columns = np.concatenate([np.arange(at, at + cards[u]) for at, u in zip(first, candidates, strict=True)])
        return rows.T[columns]

    def _sum_pairs(self) -> Triangle:
        cards = self.table.cardinalities
        size = Triangle.size(cards, 8)
        if size > DISTRIBUTED_MEMORY:
            raise ValueError(
                f"the weights of all pairs of states need {size / 2**30:.0f} GiB, more than the limit of "
                f"{DISTRIBUTED_MEMORY / 2**30:.0f} GiB of a distributed table: use fewer variables, or merge rare "
                "states"
            )
        pairs = Triangle(cards, np.dtype(np.float64))
        DistributedPairs(self.table, cards, pairs).add_all()
        return pairs


class WideFamilies(WeightedFamilies):
    """Source of sums for a scorer of weighted rows when there are very many rows with weight one."""

    def _sum_states(self) -> np.ndarray:
        return marginal_counts(self.table)

    def _ask(self, requests: list[FamilyRequest]) -> list[FamilyCounts]:
        """Return cells of families and complete tables; partitions count all states of a candidate except the last."""
        requested: list[FamilyRequest] = []
        none = np.empty(0, dtype=np.int32)
        for child, parents, candidates in requests:
            is_narrow = self._has_planes[candidates]
            requested.append((child, parents, candidates[is_narrow]))
            requested += [(child, np.sort(np.append(parents, u)), none) for u in candidates[~is_narrow]]
        counted = iter(self.table.reduce(count_families, requested, add=add_families))
        return [self._complete(next(counted), request, counted) for request in requests]

    def _complete(self, cells: FamilyCounts, request: FamilyRequest, counted: Iterator[FamilyCounts]) -> FamilyCounts:
        """Return a family with complete tables; `counted` yields candidates without planes as wider families."""
        child, parents, candidates = request
        cards, at = self.table.cardinalities, 0
        tables = np.zeros((int(cards[candidates].sum()), len(cells.keys)))
        rows = iter(cells.tables)
        for u in candidates:
            table = tables[at : at + cards[u]]
            at += cards[u]
            if self._has_planes[u]:
                for state in range(cards[u] - 1):
                    table[state] = next(rows)
                table[-1] = cells.counts - table[:-1].sum(axis=0)
            else:
                below = int(np.prod(cards[parents[parents > u]], dtype=np.int64)) * int(cards[child])
                split_wider(next(counted), cells.keys.astype(np.int64), int(cards[u]), below, table)
        return FamilyCounts(cells.keys, cells.counts.astype(np.float64), tables)

    @property
    def _has_planes(self) -> np.ndarray:
        return np.diff(self.table.plane_offsets) > 0


def split_wider(wider: FamilyCounts, keys: np.ndarray, n_states: int, below: int, table: np.ndarray) -> None:
    """Write the counts of a family with one more parent by its states and by the cells `keys` of the smaller family.

    `below` is the product of the cardinalities after the parent.
    """
    above, rest = np.divmod(wider.keys.astype(np.int64), n_states * below)
    states, low = np.divmod(rest, below)
    table[states, np.searchsorted(keys, above * below + low)] = wider.counts


def open_families(table: DiscreteTable, weights: np.ndarray | None = None) -> DistributedFamilies | None:
    """Return the source of counts for a family scorer; None if the rows are on this machine: it counts them itself."""
    if not table.is_remote:  # a scorer counts local rows; workers count many families per message
        return None
    if weights is not None:
        return WeightedFamilies(table.keep_weights(weights)[0])
    return WideFamilies(table) if table.has_wide_counts else DistributedFamilies(table)


# ---- functions that workers call ----


def count_families(partition: Any, requests: list[FamilyRequest]) -> list[FamilyCounts]:
    """Count families in a partition."""
    # requests of several scorers may reach a partition at once, and a counter has scratch memory
    with partition.lock:
        if "families" not in partition.cache:
            table = partition.table
            arrays = (table.codes, table.cardinalities, table.planes, table.plane_offsets, marginal_counts(table))
            partition.cache["families"] = FamilyCounter(*arrays, pairs=partition.cache.get("pair_counts"))
        counter = partition.cache["families"]
        with _share_rows(counter, count_sharers(partition.n_threads, partition.table.n_rows)):
            return [FamilyCounts(*map(narrow_counts, counter.count(*request))) for request in requests]


@contextmanager
def _share_rows(counter: FamilyCounter, n_threads: int) -> Iterator[None]:
    """Count the segments of a partition with the given number of threads, including this thread."""
    if n_threads < 2:
        yield
        return
    n_threads = counter.share_rows(n_threads)
    try:
        with help_on_threads(counter.serve, counter.close, n_threads - 1):
            yield
    finally:
        counter.share_rows(1)  # the next request may find other partitions on the threads of the worker


def add_families(answers: list[list[FamilyCounts]]) -> list[FamilyCounts]:
    """Add the counts of the same families in some partitions."""
    return [_add_family(list(counts)) for counts in zip(*answers, strict=True)]


def _add_family(answers: list[FamilyCounts]) -> FamilyCounts:
    most = sum(int(answer.counts.max(initial=0)) for answer in answers)  # no cell of a table has more
    sums = _align_cells(answers, np.dtype(np.uint32 if most < 2**32 else np.uint64))
    return FamilyCounts(*map(narrow_counts, sums))


def _align_cells(answers: list[FamilyCounts], dtype: np.dtype) -> FamilyCounts:
    """Add the counts of one family in some partitions, in their order; the cells of all answers are in the result."""
    keys = np.unique(np.concatenate([answer.keys.astype(np.uint64) for answer in answers]))
    counts, tables = np.zeros(len(keys), dtype), np.zeros((len(answers[0].tables), len(keys)), dtype)
    for answer in answers:
        place = np.searchsorted(keys, answer.keys.astype(np.uint64))
        counts[place] += answer.counts
        tables[:, place] += answer.tables
    return FamilyCounts(keys, counts, tables)


def weigh_families(partition: Any, requests: list[FamilyRequest]) -> list[FamilyCounts]:
    """Sum the weights of families in a partition."""
    with partition.lock:
        if "weighted_families" not in partition.cache:
            table = partition.table
            partition.cache["weighted_families"] = WeightedFamilyScorer(
                table.codes, table.cardinalities, partition.weights
            )
        counted = [partition.cache["weighted_families"].count(*request) for request in requests]
    return [FamilyCounts(narrow_counts(keys), weights, tables) for keys, weights, tables in counted]


def add_family_weights(answers: list[list[FamilyCounts]]) -> list[FamilyCounts]:
    """Add the weights of the same families in some partitions, in their order."""
    return [_add_family_weights(list(sums)) for sums in zip(*answers, strict=True)]


def _add_family_weights(answers: list[FamilyCounts]) -> FamilyCounts:
    keys, weights, tables = _align_cells(answers, np.dtype(np.float64))
    return FamilyCounts(narrow_counts(keys), weights, tables)
