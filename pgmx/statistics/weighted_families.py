"""Weights of families of a distributed table: workers sum the weights in their partitions and send the sums.

Requests are the same as in `statistics.families`. A table has all states of its candidate, since the last state, as a
difference of sums, would lose digits.
"""

from threading import Lock
from typing import Any

import numpy as np

from pgmx._ext._weighted import WeightedFamilyScorer
from pgmx.data import DistributedTable
from pgmx.statistics.counts import DISTRIBUTED_MEMORY, marginal_weights, narrow_counts
from pgmx.statistics.families import DistributedFamilies, FamilyCounts, FamilyRequest
from pgmx.statistics.pairs.cells import Triangle
from pgmx.statistics.pairs.distributed import DistributedPairs


class WeightedFamilies(DistributedFamilies):
    """Source of sums for a scorer of weighted rows when workers hold the rows and their weights.

    The sums of all pairs are requested together with the first table. Families without parents, and the cells of
    families with one parent, are computed from them. Scorers in several threads may share this object.
    """

    def __init__(self, table: DistributedTable):
        super().__init__(table)
        self._lock = Lock()
        self._marginals: list[np.ndarray] = []
        self._pairs: Triangle | None = None

    def __call__(self, requests: list[FamilyRequest]) -> list[FamilyCounts]:
        """Return the sums over all partitions; a family without parents has a cell per state and later candidates."""
        known = list(map(self._has, requests))  # only once: another thread may add the pairs
        asked = [request for request, is_known in zip(requests, known, strict=True) if not is_known]
        sums = iter(self._ask(asked) if asked else ())
        return [
            self._read(*request) if is_known else next(sums) for request, is_known in zip(requests, known, strict=True)
        ]

    def _ask(self, requests: list[FamilyRequest]) -> list[FamilyCounts]:
        """Return the sums of families with parents, with one message for all."""
        return self.table.reduce(weigh_families, requests, add=add_weights)

    def _sum_states(self) -> np.ndarray:
        """Return the sum of weights in each state."""
        return marginal_weights(self.table)

    def _has(self, request: FamilyRequest) -> bool:
        """Return whether a family is computed from the sums of all pairs."""
        _, parents, wanted = request
        return not len(parents) or (len(parents) == 1 and not len(wanted) and self._pairs is not None)

    def _read(self, child: int, parents: np.ndarray, wanted: np.ndarray) -> FamilyCounts:
        if len(parents):
            return self._read_pair(child, int(parents[0]))
        with self._lock:
            if not self._marginals:
                self._marginals = np.split(self._sum_states(), np.cumsum(self.table.cardinalities)[:-1])
            if len(wanted) and self._pairs is None:
                self._pairs = self._sum_pairs()
        keys = np.arange(self.table.cardinalities[child], dtype=np.uint64)
        return FamilyCounts(keys, self._marginals[child], self._take_tables(child, wanted))

    def _read_pair(self, child: int, parent: int) -> FamilyCounts:
        """Return the cells of a child with one parent; the states of the child vary fastest."""
        first, second = sorted((child, parent))
        table = self._take_tables(first, np.array([second]))  # (states of the second, states of the first)
        weights = np.ravel(table if parent == second else table.T)
        return FamilyCounts(np.arange(len(weights), dtype=np.uint64), weights, np.empty((0, len(weights))))

    def _take_tables(self, child: int, wanted: np.ndarray) -> np.ndarray:
        """Return the tables of a variable with later variables, of shape (their states, its states)."""
        if self._pairs is None or not len(wanted):
            return np.empty((0, self.table.cardinalities[child]))
        pairs, cards = self._pairs, self.table.cardinalities
        rows = pairs.values[pairs.begins[child] : pairs.begins[child + 1]].reshape(cards[child], -1)
        first = pairs.columns[wanted] - pairs.columns[child + 1]
        columns = np.concatenate([np.arange(at, at + cards[u]) for at, u in zip(first, wanted, strict=True)])
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


def weigh_families(part: Any, requests: list[FamilyRequest]) -> list[FamilyCounts]:
    """Sum the weights of families in a partition."""
    with part.lock:
        if "weighted_families" not in part.cache:
            table = part.table
            part.cache["weighted_families"] = WeightedFamilyScorer(table.codes, table.cardinalities, part.weights)
        counted = [part.cache["weighted_families"].count(*request) for request in requests]
    return [FamilyCounts(narrow_counts(keys), weights, tables) for keys, weights, tables in counted]


def add_weights(parts: list[list[FamilyCounts]]) -> list[FamilyCounts]:
    """Add the weights of the same families in some partitions, in their order."""
    return [_add_family(list(sums)) for sums in zip(*parts, strict=True)]


def _add_family(parts: list[FamilyCounts]) -> FamilyCounts:
    keys = np.unique(np.concatenate([part.keys.astype(np.uint64) for part in parts]))
    weights, tables = np.zeros(len(keys)), np.zeros((len(parts[0].tables), len(keys)))
    for part in parts:
        place = np.searchsorted(keys, part.keys.astype(np.uint64))
        weights[place] += part.counts
        tables[:, place] += part.tables
    return FamilyCounts(narrow_counts(keys), weights, tables)
