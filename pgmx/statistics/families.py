"""Counts of families of a distributed table: parts are counted by their workers, sums go to the driver.

A request names a child, its parents and candidates for one more parent. A part answers with the cells of the family
that occur in it, and how the rows of each cell are spread over the states of each candidate; cells that occur in some
parts only are aligned by their numbers when answers are added. A message holds any number of requests.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from pgmx._ext._family_counts import FamilyCounter
from pgmx.data import DistributedTable
from pgmx.parallel.threads import count_sharers, help_on_threads
from pgmx.statistics.counts import marginal_counts, narrow_counts

#: Most cells that the families of one message may have, if one has not more.
_MESSAGE_CELLS = 1 << 22

#: A child, its parents, and candidates for one more.
FamilyRequest = tuple[int, np.ndarray, np.ndarray]


class FamilyCounts(NamedTuple):
    """Counts of a family, in the smallest types that hold them.

    `keys` are the numbers of the cells that occur, ascending; `counts` their rows; ``tables[i]`` the rows of each cell
    with one state of a candidate, all candidates' states but their last, one after the other.
    """

    keys: np.ndarray
    counts: np.ndarray
    tables: np.ndarray


class DistributedFamilies:
    """What a family scorer asks for counts, when the rows lie with workers: a message to each for any families."""

    def __init__(self, table: DistributedTable):
        self.table = table

    def __call__(self, requests: list[FamilyRequest]) -> list[FamilyCounts]:
        """Return the sums over all parts, ids as int32 arrays."""
        return self.table.reduce(count_families, requests, add=add_families)

    def count_cells(self, families: Sequence[tuple[int, Sequence[int]]]) -> Iterator[FamilyCounts]:
        """Yield the cells of families, each a child and its parents, in as few messages as memory allows."""
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
    """Count families in a part."""
    with part.lock:
        if "families" not in part.kept:
            table = part.table
            arrays = (table.codes, table.cardinalities, table.planes, table.plane_offsets, marginal_counts(table))
            part.kept["families"] = FamilyCounter(*arrays, pairs=part.kept.get("pair_counts"))
        counter = part.kept["families"]
        with _share_rows(counter, count_sharers(part.n_threads, part.table.n_rows)):
            return [FamilyCounts(*map(narrow_counts, counter.count(*request))) for request in requests]


@contextmanager
def _share_rows(counter: FamilyCounter, n_threads: int) -> Iterator[None]:
    """Have the segments of a part counted by so many threads; one is this one."""
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
    """Add the counts of the same families in some parts."""
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
