"""Tests of RFCI: unshielded triples and discriminating paths are tested before they orient edges.

D. Colombo, M. H. Maathuis, M. Kalisch, T. S. Richardson. Learning high-dimensional directed acyclic graphs with latent
and selection variables. Annals of Statistics 40, 2012, lemmas 3.1 and 3.2, algorithms 4.4 and 4.5.
"""

from collections import deque
from collections.abc import Iterable, Sequence, Set
from itertools import combinations, pairwise

import numpy as np

from pgmx.graphs.partial_ancestral import PartialAncestralGraph
from pgmx.search.constraint_based.pag_rules import orient_colliders
from pgmx.statistics.independence.source import Evidence, IndependenceSource

Triple = tuple[int, int, int]


class TestedOrientations:
    """Colliders and discriminating paths of a graph that stand the tests of RFCI; edges that fail are removed.

    The separating sets of the pairs are in `evidence`; sets of removed edges are added. `required` pairs are never
    removed. `n_tests` counts the tests by the size of the set.
    """

    __test__ = False  # the name does not make it a class of tests

    def __init__(
        self,
        graph: PartialAncestralGraph,
        source: IndependenceSource,
        evidence: Evidence,
        *,
        significance_level: float,
        required: Set[frozenset[int]] = frozenset(),
    ) -> None:
        self._graph = graph
        self._source = source
        self._evidence = evidence
        self._significance_level = significance_level
        self._required = required
        self.n_tests: dict[int, int] = {}

    def orient_colliders(self, triples: Iterable[Triple]) -> None:
        """Test unshielded triples that are colliders by their separating sets, then draw their arrowheads.

        A triple (x, z, y) with z in the minimal separating set of x and y needs no test: if z were independent of x
        given the rest of the set, the rest alone would separate x and y.
        """
        graph = self._graph
        waiting = deque(triples)
        colliders: list[Triple] = []
        while waiting:
            x, z, y = triple = waiting.popleft()
            if not self._is_unshielded(triple):
                continue
            separating_set = self._evidence.get_set(x, y)
            removed = next((end for end in (x, y) if self._remove_if_independent(end, z, separating_set)), None)
            if removed is None:
                colliders.append(triple)
            else:
                waiting.extend(self._list_new_colliders(removed, z))
        orient_colliders(graph, [triple for triple in colliders if self._is_unshielded(triple)])

    def break_path(self, path: Sequence[int]) -> bool:
        """Test the edges of a discriminating path; remove the first one that fails, and return whether one did.

        Its edges must be dependent given all subsets of the separating set of the ends of the path.
        """
        separating_set = self._evidence.get_set(path[0], path[-1])
        for u, v in pairwise(path):
            others = [w for w in separating_set if w not in (u, v)]
            if self._remove_with_smallest_set(u, v, others):
                self.orient_colliders(self._list_new_colliders(u, v))
                return True
        return False

    def _is_unshielded(self, triple: Triple) -> bool:
        x, z, y = triple
        return z in self._graph.marks[x] and z in self._graph.marks[y] and y not in self._graph.marks[x]

    def _list_new_colliders(self, u: int, v: int) -> list[Triple]:
        """Return the colliders among the triples that became unshielded when the edge between u and v was removed."""
        x, y = sorted((u, v))
        middle = self._graph.marks[x].keys() & self._graph.marks[y].keys()
        return [(x, z, y) for z in sorted(middle.difference(self._evidence.get_set(x, y)))]

    def _remove_if_independent(self, u: int, v: int, given: Sequence[int]) -> bool:
        """Test an edge given a set; if independent, remove it with a smallest subset as its separating set."""
        others = [w for w in given if w not in (u, v)]
        if self._test(u, v, others) < self._significance_level:
            return False
        return self._remove_with_smallest_set(u, v, others)

    def _remove_with_smallest_set(self, u: int, v: int, given: Sequence[int]) -> bool:
        """Remove an edge if it is independent given a subset: the subset of largest p-value of the smallest size."""
        if frozenset((u, v)) in self._required:
            return False
        for size in range(len(given) + 1):
            results = [(self._test(u, v, z), z) for z in combinations(given, size)]
            for p_value, z in results:
                self._evidence.add(u, np.array([v]), z, np.array([p_value]))
            if max(p_value for p_value, _ in results) >= self._significance_level:
                self._graph.remove(u, v)
                return True
        return False

    def _test(self, u: int, v: int, z: Sequence[int]) -> float:
        """Return the p-value of a test, 0 if the set cannot be tested."""
        p_value = float(self._source.test_row(u, [v], z).p_value[0])
        if np.isnan(p_value):
            return 0.0
        self.n_tests[len(z)] = self.n_tests.get(len(z), 0) + 1
        return p_value
