"""Weights of families of a distributed table: parts sum those of their rows, sums of parts go to the driver.

The requests are those of `statistics.families`; a table has all states of its candidate, for the last one would lose
digits as a difference of sums.
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
    """What a scorer of weighted rows asks for sums, when the rows and their weights lie with workers.

    Families without parents are answered from the sums of all pairs, which are asked for together, when the first table
    is wanted; and from then on families of one parent whose cells alone are wanted. Scorers of several threads may
    share them.
    """

    def __init__(self, table: DistributedTable):
        super().__init__(table)
        self._lock = Lock()
        self._marginals: list[np.ndarray] = []
        self._pairs: Triangle | None = None

    def __call__(self, requests: list[FamilyRequest]) -> list[FamilyCounts]:
        """Return the sums over all parts; a family without parents has a cell for each state, and later candidates."""
        known = list(map(self._has, requests))  # once: another thread may bring the pairs
        asked = [request for request, is_known in zip(requests, known, strict=True) if not is_known]
        sums = iter(self._ask(asked) if asked else ())
        return [
            self._read(*request) if is_known else next(sums) for request, is_known in zip(requests, known, strict=True)
        ]

    def _ask(self, requests: list[FamilyRequest]) -> list[FamilyCounts]:
        """Return the sums of families with parents, a message for all of them."""
        return self.table.reduce(weigh_families, requests, add=add_weights)

    def _sum_states(self) -> np.ndarray:
        """Return the sums of the rows in each state."""
        return marginal_weights(self.table)

    def _has(self, request: FamilyRequest) -> bool:
        """Return whether a family is answered from the sums of all pairs."""
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
        """Return the cells of a child with one parent, the child's states fastest."""
        first, second = sorted((child, parent))
        table = self._take_tables(first, np.array([second]))  # (states of the second, states of the first)
        weights = np.ravel(table if parent == second else table.T)
        return FamilyCounts(np.arange(len(weights), dtype=np.uint64), weights, np.empty((0, len(weights))))

    def _take_tables(self, child: int, wanted: np.ndarray) -> np.ndarray:
        """Return the tables of a variable with later ones: the states of these, then its own."""
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
                f"the weights of all pairs of states take {size / 2**30:.0f} GiB, more than the "
                f"{DISTRIBUTED_MEMORY / 2**30:.0f} GiB that a distributed table may send: take fewer variables, or "
                "merge rare states"
            )
        pairs = Triangle(cards, np.dtype(np.float64))
        DistributedPairs(self.table, cards, pairs).add_all()
        return pairs


def weigh_families(part: Any, requests: list[FamilyRequest]) -> list[FamilyCounts]:
    """Sum the weights of families in a part."""
    with part.lock:
        if "weighted_families" not in part.kept:
            table = part.table
            part.kept["weighted_families"] = WeightedFamilyScorer(table.codes, table.cardinalities, part.weights)
        counted = [part.kept["weighted_families"].count(*request) for request in requests]
    return [FamilyCounts(narrow_counts(keys), weights, tables) for keys, weights, tables in counted]


def add_weights(parts: list[list[FamilyCounts]]) -> list[FamilyCounts]:
    """Add the weights of the same families in some parts, in their order."""
    return [_add_family(list(sums)) for sums in zip(*parts, strict=True)]


def _add_family(parts: list[FamilyCounts]) -> FamilyCounts:
    keys = np.unique(np.concatenate([part.keys.astype(np.uint64) for part in parts]))
    weights, tables = np.zeros(len(keys)), np.zeros((len(parts[0].tables), len(keys)))
    for part in parts:
        place = np.searchsorted(keys, part.keys.astype(np.uint64))
        weights[place] += part.counts
        tables[:, place] += part.tables
    return FamilyCounts(narrow_counts(keys), weights, tables)
