"""Possible-d-sep sets: the variables that can separate a pair in graphs with hidden causes, and tests given them."""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from pgmx.graphs.partial_ancestral import ARROW, PartialAncestralGraph
from pgmx.runs.run import Run
from pgmx.search.constraint_based.pag_rules import find_colliders_by_sets, orient_colliders
from pgmx.search.constraint_based.skeleton import PairKnowledge, Skeleton, write_snapshot
from pgmx.statistics.independence.source import Evidence, IndependenceSource


def find_possible_d_sep(graph: PartialAncestralGraph, x: int) -> set[int]:
    """Return the variables on paths from x whose inner vertices are colliders or in a triangle with their neighbours.

    P. Spirtes, C. Glymour, R. Scheines. Causation, Prediction, and Search. 2nd edition, 2000, section 6.7. The search
    visits each edge once in each direction.
    """
    marks = graph.marks
    waiting = [(x, v) for v in marks[x]]
    seen = set(waiting)
    for a, b in waiting:  # grows meanwhile
        for c in marks[b]:
            if c in (a, x) or (b, c) in seen:
                continue
            if c in marks[a] or (marks[a][b] == ARROW and marks[c][b] == ARROW):
                seen.add((b, c))
                waiting.append((b, c))
    return {v for _, v in seen}


class PossibleDSepTests:
    """Tests of the edges of a skeleton given subsets of the possible-d-sep sets of their ends, a size at a time.

    The pools are fixed at the start, and so are the neighbourhoods, whose subsets were tested before. `tiers` (an
    integer per variable) restricts the sets to variables no later than the later one of the pair.
    """

    def __init__(self, graph: PartialAncestralGraph, tiers: Sequence[int] | None = None) -> None:
        self.pools = [sorted(find_possible_d_sep(graph, x)) for x in range(graph.n)]
        self._pool_masks = [_to_mask(pool) for pool in self.pools]
        self._neighbour_masks = [_to_mask(of_x) for of_x in graph.marks]
        self._tiers = tiers

    @property
    def largest(self) -> int:
        """The largest size of a set: the size of the largest pool without one variable."""
        return max((len(pool) - 1 for pool in self.pools), default=0)

    def run_level(
        self,
        source: IndependenceSource,
        adjacent: NDArray[np.bool_],
        size: int,
        evidence: Evidence,
        should_stop: Callable[[], bool] | None = None,
    ) -> int:
        """Test the pairs of `adjacent` given all sets of a size that were not tested before; return the number."""
        n_tests = 0
        known = (evidence.p_values + evidence.p_values.T).tolist()  # lists are faster than arrays, one value at a time
        for x, ys, z in self._list_rows(adjacent, size):
            if should_stop is not None and should_stop():
                break
            p_values = source.find_p_values(x, ys, z)
            values = p_values.tolist()
            n_tests += sum(p == p for p in values)  # NaN: the set cannot be tested
            if any(p >= known[x][y] for p, y in zip(values, ys.tolist(), strict=True)):
                evidence.add(x, ys, z, p_values)
                for y in ys.tolist():
                    known[x][y] = known[y][x] = evidence.get_p_value(x, y)
        return n_tests

    def _list_rows(
        self, adjacent: NDArray[np.bool_], size: int
    ) -> Iterator[tuple[int, NDArray[np.intp], tuple[int, ...]]]:
        """Yield the rows (x, ys, z) by x, then lexicographic in z; each pair and set once."""
        for x, pool in enumerate(self.pools):
            ends = np.flatnonzero(adjacent[x]).tolist()
            if not ends or len(pool) < size:
                continue
            for z in combinations(pool, size):
                mask = _to_mask(z)
                if not mask & ~self._neighbour_masks[x]:
                    continue  # subsets of a neighbourhood were tested for the skeleton
                ys = [y for y in ends if self._is_wanted(x, y, mask)]
                if ys and self._tiers is not None:
                    last = max(self._tiers[v] for v in z)
                    ys = [y for y in ys if max(self._tiers[x], self._tiers[y]) >= last]
                if ys:
                    yield x, np.array(ys, dtype=np.intp), z

    def _is_wanted(self, x: int, y: int, mask: int) -> bool:
        """Return whether a set without y was neither tested for the skeleton nor is tested from the end y < x."""
        if mask >> y & 1 or not mask & ~self._neighbour_masks[y]:
            return False
        return y > x or bool(mask & ~self._pool_masks[y]) or bool(mask >> x & 1)


def _to_mask(variables: Sequence[int] | dict[int, int]) -> int:
    """Return a set of ids as the bits of an integer."""
    mask = 0
    for v in variables:
        mask |= 1 << v
    return mask


def refine_skeleton(
    skeleton: Skeleton,
    source: IndependenceSource,
    run: Run,
    *,
    significance_level: float,
    max_size: int,
    knowledge: PairKnowledge,
    max_tests: float | None = None,
) -> None:
    """Test the edges of a skeleton given subsets of possible-d-sep sets: the second stage of FCI, a size at a time.

    The colliders of the sets are those of the skeleton. The limits, the history and the checkpoint are as in
    `find_skeleton`.
    """
    is_new = skeleton.before is None
    before = skeleton.adjacent.copy() if skeleton.before is None else skeleton.before
    graph = PartialAncestralGraph.from_adjacency(before)
    orient_colliders(graph, find_colliders_by_sets(graph, skeleton.evidence.get_set))
    tests = PossibleDSepTests(graph, None if knowledge.tiers is None else knowledge.tiers.tolist())
    if is_new:
        skeleton.before, skeleton.n_later_tests = before, [0]  # the empty set is a subset of every neighbourhood
    with run.catch_interrupt():
        while len(skeleton.n_later_tests) <= min(max_size, tests.largest) and not run.is_over():
            if max_tests is not None and sum(skeleton.count_tests()) > max_tests:
                run.end("max_tests")
                break
            size = len(skeleton.n_later_tests)
            n_tests = tests.run_level(source, skeleton.adjacent, size, skeleton.evidence, run.is_over)
            skeleton.remove(significance_level, knowledge.required)
            skeleton.n_later_tests.append(n_tests)
            if not run.is_over():
                run.record(n_tests=sum(skeleton.count_tests()), n_edges=len(skeleton.list_edges()))
                if run.checkpoint is not None:
                    run.save(write_snapshot(skeleton))
