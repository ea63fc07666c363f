"""Counts of families of a distributed table with so many rows that the sums do not fit in 32 bits.

Partitions count in 32 bits as usual. Their sums are 64-bit integers, which the scorer of weighted rows scores as
float64. This is exact up to 2**53 rows.
"""

from collections.abc import Iterator

import numpy as np

from pgmx.data import DistributedTable
from pgmx.statistics.counts import has_wide_counts, marginal_counts
from pgmx.statistics.families import FamilyCounts, FamilyRequest, add_families, count_families
from pgmx.statistics.weighted_families import WeightedFamilies


class WideFamilies(WeightedFamilies):
    """Source of sums for a scorer of weighted rows when there are very many rows with weight one."""

    def _sum_states(self) -> np.ndarray:
        return marginal_counts(self.table)

    def _ask(self, requests: list[FamilyRequest]) -> list[FamilyCounts]:
        """Return cells of families and complete tables; partitions count all states of a candidate except the last."""
        asked: list[FamilyRequest] = []
        none = np.empty(0, dtype=np.int32)
        for child, parents, wanted in requests:
            is_narrow = self._has_planes[wanted]
            asked.append((child, parents, wanted[is_narrow]))
            asked += [(child, np.sort(np.append(parents, u)), none) for u in wanted[~is_narrow]]
        counted = iter(self.table.reduce(count_families, asked, add=add_families))
        return [self._complete(next(counted), request, counted) for request in requests]

    def _complete(self, cells: FamilyCounts, request: FamilyRequest, counted: Iterator[FamilyCounts]) -> FamilyCounts:
        """Return a family with complete tables; `counted` yields candidates without planes as wider families."""
        child, parents, wanted = request
        cards, at = self.table.cardinalities, 0
        tables = np.zeros((int(cards[wanted].sum()), len(cells.keys)))
        rows = iter(cells.tables)
        for u in wanted:
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


def open_sums(table: DistributedTable, weights: np.ndarray | None = None) -> WeightedFamilies | None:
    """Return the source of sums for a scorer that needs them in float64; None if counts of 32 bits suffice."""
    if weights is not None:
        return WeightedFamilies(table.weigh_rows(weights))
    return WideFamilies(table) if has_wide_counts(table) else None
