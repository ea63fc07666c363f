"""Counts of families of a distributed table: parts are counted by their workers, sums go to the driver.

A request names a child, its parents and candidates for one more parent. A part answers with the cells of the family
that occur in it, and how the rows of each cell are spread over the states of each candidate; cells that occur in some
parts only are aligned by their numbers when answers are added.
"""

from typing import Any, NamedTuple

import numpy as np

from pgmx._ext._family_counts import FamilyCounter
from pgmx.data import DistributedTable
from pgmx.statistics.counts import marginal_counts, narrow_counts


class FamilyCounts(NamedTuple):
    """Counts of a family, in the smallest types that hold them.

    `keys` are the numbers of the cells that occur, ascending; `counts` their rows; ``tables[i]`` the rows of each cell
    with one state of a candidate, all candidates' states but their last, one after the other.
    """

    keys: np.ndarray
    counts: np.ndarray
    tables: np.ndarray


class DistributedFamilies:
    """What a family scorer asks for counts, when the rows lie with workers: one message to each part for a family."""

    def __init__(self, table: DistributedTable):
        self.table = table

    def __call__(self, child: int, parents: np.ndarray, wanted: np.ndarray) -> FamilyCounts:
        """Return the sums over all parts."""
        return self.table.reduce(count_family, child, parents, wanted, add=add_families)


def count_family(part: Any, child: int, parents: np.ndarray, wanted: np.ndarray) -> FamilyCounts:
    """Count a family in a part."""
    with part.lock:
        if "families" not in part.kept:
            table = part.table
            arrays = (table.codes, table.cardinalities, table.planes, table.plane_offsets, marginal_counts(table))
            part.kept["families"] = FamilyCounter(*arrays, pairs=part.kept.get("pair_counts"))
        counted = part.kept["families"].count(child, parents, wanted)
    return FamilyCounts(*map(narrow_counts, counted))


def add_families(parts: list[FamilyCounts]) -> FamilyCounts:
    """Add the counts of one family in some parts."""
    keys = np.unique(np.concatenate([part.keys.astype(np.uint64) for part in parts]))
    counts = np.zeros(len(keys), dtype=np.uint32)
    tables = np.zeros((len(parts[0].tables), len(keys)), dtype=np.uint32)
    for part in parts:
        place = np.searchsorted(keys, part.keys.astype(np.uint64))
        counts[place] += part.counts
        tables[:, place] += part.tables
    return FamilyCounts(narrow_counts(keys), narrow_counts(counts), narrow_counts(tables))
