"""Possible-d-sep sets: the variables that can separate a pair in graphs with hidden causes, and tests given them."""

from typing import Any

import numpy as np

from pgmx.graphs.partial_ancestral import ARROW, PartialAncestralGraph
from pgmx.runs.run import Run
from pgmx.search.constraint_based.pag_rules import find_colliders_by_sets, orient_colliders
from pgmx.search.constraint_based.skeleton import PairKnowledge, Skeleton, write_snapshot
from pgmx.statistics.independence.source import IndependenceSource, SetPools


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


def find_pools(graph: PartialAncestralGraph) -> SetPools:
    """Return the possible-d-sep set of each variable, and its neighbours, whose subsets the skeleton has tested."""
    members = np.zeros((graph.n, graph.n), dtype=bool)
    for x in range(graph.n):
        members[x, sorted(find_possible_d_sep(graph, x))] = True
    return SetPools(members, graph.to_adjacency())


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
    pools = find_pools(graph)
    max_size = min(max_size, int(pools.members.sum(axis=1).max(initial=0)) - 1)  # of a pool without one variable
    if is_new:
        skeleton.before, skeleton.n_later_tests = before, [0]  # the empty set is a subset of every neighbourhood
    with run.catch_interrupt():
        while len(skeleton.n_later_tests) <= max_size and not run.is_over():
            if max_tests is not None and sum(skeleton.count_tests()) > max_tests:
                run.end("max_tests")
                break
            size = len(skeleton.n_later_tests)
            options: dict[str, Any] = {"significance_level": significance_level, "evidence": skeleton.evidence}
            options |= {"tiers": knowledge.tiers, "should_stop": run.is_over}
            n_tests = source.run_level(skeleton.adjacent, size, pools=pools, **options)
            skeleton.remove(significance_level, knowledge.required)
            skeleton.n_later_tests.append(n_tests)
            if not run.is_over():
                run.record(n_tests=sum(skeleton.count_tests()), n_edges=len(skeleton.list_edges()))
                if run.checkpoint is not None:
                    run.save(write_snapshot(skeleton))
