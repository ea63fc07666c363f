"""Counts of families of a distributed table with so many rows that counts of 32 bits would not hold their sums.

Parts count as ever, in 32 bits; their sums are whole numbers of 64 bits, which the scorer of weighted rows scores as
float64: exact as long as there are at most 2**53 rows.
"""

from collections.abc import Iterator

import numpy as np

from pgmx.data import DistributedTable
from pgmx.statistics.counts import has_wide_counts, marginal_counts
from pgmx.statistics.families import FamilyCounts, FamilyRequest, add_families, count_families
from pgmx.statistics.weighted_families import WeightedFamilies


class WideFamilies(WeightedFamilies):
    """What a scorer of weighted rows asks for sums, when each of a great many rows counts as one."""

    def _sum_states(self) -> np.ndarray:
        return marginal_counts(self.table)

    def _ask(self, requests: list[FamilyRequest]) -> list[FamilyCounts]:
        """Return the cells of families and whole tables: parts count all states of a candidate but the last."""
        asked: list[FamilyRequest] = []
        none = np.empty(0, dtype=np.int32)
        for child, parents, wanted in requests:
            is_narrow = self._has_planes[wanted]
            asked.append((child, parents, wanted[is_narrow]))
            asked += [(child, np.sort(np.append(parents, u)), none) for u in wanted[~is_narrow]]
        counted = iter(self.table.reduce(count_families, asked, add=add_families))
        return [self._complete(next(counted), request, counted) for request in requests]

    def _complete(self, cells: FamilyCounts, request: FamilyRequest, counted: Iterator[FamilyCounts]) -> FamilyCounts:
        """Return a family with whole tables; `counted` yields those of candidates without planes as wider families."""
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
    """Write the rows of a family with one more parent by its states, and by the cells `keys` of the family without.

    `below` is the product of the cardinalities after the parent.
    """
    above, rest = np.divmod(wider.keys.astype(np.int64), n_states * below)
    states, low = np.divmod(rest, below)
    table[states, np.searchsorted(keys, above * below + low)] = wider.counts


def open_sums(table: DistributedTable, weights: np.ndarray | None = None) -> WeightedFamilies | None:
    """Return what a scorer asks where it needs sums in float64, None where counts of 32 bits will do."""
    if weights is not None:
        return WeightedFamilies(table.weigh_rows(weights))
    return WideFamilies(table) if has_wide_counts(table) else None
