"""Counts of families of a distributed table: workers count their partitions and send sums to the driver.

A request consists of a child, its parents, and candidates for one more parent. The answer of a partition has the
nonempty cells of the family, and the counts of each cell by the states of each candidate. When answers are added, cells
are aligned by their numbers, since a cell may be empty in some partitions. A message can hold any number of requests.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from pgmx._ext._family_counts import FamilyCounter
from pgmx.data import DistributedTable
from pgmx.parallel.threads import count_sharers, help_on_threads
from pgmx.statistics.counts import marginal_counts, narrow_counts

#: Maximum number of cells of all families of one message (a single family may have more).
_MESSAGE_CELLS = 1 << 22

#: A child, its parents, and candidates for one more parent.
FamilyRequest = tuple[int, np.ndarray, np.ndarray]


class FamilyCounts(NamedTuple):
    """Counts of a family, in the smallest sufficient types.

    `keys` are the numbers of the nonempty cells, ascending, and `counts` their rows. ``tables[i]`` are the rows of each
    cell with one state of a candidate, for all states of all candidates except their last states.
    """

    keys: np.ndarray
    counts: np.ndarray
    tables: np.ndarray


class DistributedFamilies:
    """Source of counts for a family scorer when workers hold the rows: one message per worker for any families."""

    def __init__(self, table: DistributedTable):
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
            if requests and n_cells + more > _MESSAGE_CELLS:
                yield from self(requests)
                requests, n_cells = [], 0.0
            requests.append((child, np.array(parents, dtype=np.int32), none))
            n_cells += more
        if requests:
            yield from self(requests)


def count_families(part: Any, requests: list[FamilyRequest]) -> list[FamilyCounts]:
    """Count families in a partition."""
    with part.lock:
        if "families" not in part.cache:
            table = part.table
            arrays = (table.codes, table.cardinalities, table.planes, table.plane_offsets, marginal_counts(table))
            part.cache["families"] = FamilyCounter(*arrays, pairs=part.cache.get("pair_counts"))
        counter = part.cache["families"]
        with _share_rows(counter, count_sharers(part.n_threads, part.table.n_rows)):
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
        counter.share_rows(1)


def add_families(parts: list[list[FamilyCounts]]) -> list[FamilyCounts]:
    """Add the counts of the same families in some partitions."""
    return [_add_family(list(counts)) for counts in zip(*parts, strict=True)]


def _add_family(parts: list[FamilyCounts]) -> FamilyCounts:
    keys = np.unique(np.concatenate([part.keys.astype(np.uint64) for part in parts]))
    most = sum(int(part.counts.max(initial=0)) for part in parts)  # no cell of a table has more
    dtype = np.dtype(np.uint32 if most < 2**32 else np.uint64)
    counts = np.zeros(len(keys), dtype=dtype)
    tables = np.zeros((len(parts[0].tables), len(keys)), dtype=dtype)
    for part in parts:
        place = np.searchsorted(keys, part.keys.astype(np.uint64))
        counts[place] += part.counts
        tables[:, place] += part.tables
    return FamilyCounts(narrow_counts(keys), narrow_counts(counts), narrow_counts(tables))
