"""Components of variables that are solved separately, their best networks, and upper bounds by groups."""

from collections.abc import Callable

import numpy as np

from pgmx._ext._subsets import SubsetTotals
from pgmx.search.dag.exact.parent_sets import ParentList

#: Size of the groups within which an upper bound excludes cycles.
GROUP_SIZE = 14

#: Number of variables whose subsets form one block, see ``search/_subsets.pyx``.
BLOCK_SIZE = 14


def find_components(lists: list[ParentList]) -> list[list[int]]:
    """Return the strongly connected components of the graph with an arc from each possible parent to its child.

    A cycle lies within one component, so that components are solved separately (Fan, Malone and Yuan, 2014, Finding
    optimal Bayesian network structures with constraints learned from data, UAI).
    """
    n = len(lists)
    ancestors = [int(np.bitwise_or.reduce(parents.sets)) | 1 << v for v, parents in enumerate(lists)]
    for w in range(n):
        for v in range(n):
            if ancestors[v] >> w & 1:
                ancestors[v] |= ancestors[w]
    return [
        [w for w in range(n) if ancestors[v] >> w & 1 and ancestors[w] >> v & 1]
        for v in range(n)
        if not any(ancestors[v] >> w & 1 and ancestors[w] >> v & 1 for w in range(v))
    ]


def count_blocks(members: list[int]) -> int:
    """Return the number of blocks in which the subsets of a component are solved."""
    return 1 << max(0, len(members) - BLOCK_SIZE)


class ComponentSearch:
    """The best parents of some variables without cycles among them; other variables may be parents without limits."""

    def __init__(self, lists: list[ParentList], members: list[int]):
        self.members = members
        self._lists = [lists[v] for v in members]
        self._projections = [_project_sets(parents.sets, members) for parents in self._lists]
        choices = [_choose_best(inside, p.scores) for inside, p in zip(self._projections, self._lists, strict=True)]
        self._totals = SubsetTotals([sets for sets, _ in choices], [scores for _, scores in choices])

    def solve(self, is_over: Callable[[], bool], count: Callable[[], None] = lambda: None) -> bool:
        """Return whether all totals were computed before `is_over` returned True; `count` is called per block."""
        while self._totals.advance():
            count()
            if is_over():
                return False
        count()
        return True

    def best_score(self) -> float:
        """Return the highest sum of scores."""
        return self._totals.best_score()

    def best_arcs(self) -> list[tuple[int, int]]:
        """Return the arcs (tail, head) into the members in a best network."""
        arcs = []
        for v, inside, projection, parents in zip(
            self.members, self._totals.best_parents(), self._projections, self._lists, strict=True
        ):
            matches = np.flatnonzero(projection == inside)
            best = int(parents.sets[matches[np.argmax(parents.scores[matches])]])
            arcs += [(u, v) for u in range(best.bit_length()) if best >> u & 1]
        return arcs


def compute_group_bound(lists: list[ParentList], components: list[list[int]]) -> float:
    """Return an upper bound on the score of all networks, which excludes cycles only within groups of variables.

    A variable whose list is incomplete contributes its own bound (Yuan and Malone, 2013, Learning optimal Bayesian
    networks: a shortest path perspective, JAIR 48, section 5.2: static pattern databases).
    """
    total = sum(parents.upper_bound for parents in lists if not parents.is_complete)
    for component in components:
        members = [v for v in component if lists[v].is_complete]
        for first in range(0, len(members), GROUP_SIZE):
            group = ComponentSearch(lists, members[first : first + GROUP_SIZE])
            group.solve(lambda: False)
            total += group.best_score()
    return total


def _project_sets(sets: np.ndarray, members: list[int]) -> np.ndarray:
    """Return the sets of parents within the members, bit i for member i."""
    inside = np.zeros(len(sets), dtype=np.uint64)
    for i, u in enumerate(members):
        inside |= ((sets >> np.uint64(u)) & np.uint64(1)) << np.uint64(i)
    return inside


def _choose_best(inside: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct projections with their best scores, fewer parents first."""
    order = np.lexsort((-scores, inside))
    first = np.unique(inside[order], return_index=True)[1]
    best = order[first]
    best = best[np.argsort(np.bitwise_count(inside[best]), kind="stable")]
    return inside[best], scores[best]
