"""Skeletons and directions under an oracle, with knowledge, and from tests that contradict each other."""

from itertools import combinations

import numpy as np
import pytest

from oracles.equivalence import cpdag
from oracles.graphs import is_acyclic
from oracles.separation import SeparationSource, are_d_separated, random_parents
from pgmx.runs.progress import SkeletonProgress
from pgmx.runs.run import Run
from pgmx.search.constraint_based.colliders import orient_skeleton
from pgmx.search.constraint_based.skeleton import find_skeleton, read_pairs, run_level_in_order
from pgmx.search.knowledge import EdgeConstraints
from pgmx.statistics.independence.partial_correlation import PartialCorrelationTests

RULES = (None, "pvalue", "effect", "majority", "conservative")


def learn(source, constraints=None, *, rule=None, tiers=None, max_size=9, level=0.05, in_order=False, run=None):
    """Return the skeleton and its directions."""
    constraints = EdgeConstraints(source.n_variables) if constraints is None else constraints
    skeleton = find_skeleton(
        source,
        Run(SkeletonProgress) if run is None else run,
        significance_level=level,
        max_size=max_size,
        knowledge=read_pairs(constraints, tiers),
        run_level=run_level_in_order(source, np.arange(source.n_variables)[::-1]) if in_order else None,
    )
    directions = orient_skeleton(
        skeleton, source, constraints, rule=rule, significance_level=level, max_size=max_size, tiers=tiers
    )
    return skeleton, directions


def list_edges(parents):
    return [(tail, head) for head, of_head in enumerate(parents) for tail in sorted(of_head)]


def draw_knowledge(parents, rng):
    """Return true knowledge: some required edges, and some edges that the DAG does not have forbidden."""
    n, edges = len(parents), list_edges(parents)
    allowed = np.ones((n, n), dtype=np.uint8)
    np.fill_diagonal(allowed, 0)
    for head, tail in combinations(range(n), 2):
        for a, b in ((head, tail), (tail, head)):
            if (a, b) not in edges and rng.random() < 0.3:
                allowed[b, a] = 0
    required = [edge for edge in edges if rng.random() < 0.3]
    return EdgeConstraints(n, np.array(required, dtype=np.int64).reshape(-1, 2), allowed)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("in_order", [False, True])
def test_an_oracle_gives_the_class(rule, in_order, rng):
    for _ in range(12):
        parents = random_parents(6, 2.5, rng)
        _, directions = learn(SeparationSource(parents), rule=rule, in_order=in_order)
        directed, undirected = cpdag(6, list_edges(parents))
        assert directions.pattern.list_directed() == directed
        assert directions.pattern.list_undirected() == undirected
        assert not directions.ambiguous and not directions.conflicts


@pytest.mark.parametrize("rule", RULES)
def test_an_oracle_with_knowledge_gives_the_restricted_class(rule, rng):
    for _ in range(10):
        parents = random_parents(6, 2.5, rng)
        constraints = draw_knowledge(parents, rng)
        skeleton, directions = learn(SeparationSource(parents), constraints, rule=rule)
        edges = list_edges(parents)
        compelled = constraints.forces_direction(edges)
        assert (directions.pattern.list_directed(), directions.pattern.list_undirected()) == cpdag(6, edges, compelled)
        assert all(skeleton.evidence.get_p_value(*edge) == 0 for edge in edges)


def test_tiers_restrict_the_sets(rng):
    for _ in range(20):
        parents = random_parents(6, 2.5, rng)
        order = sorted(range(6), key=lambda v: len(list_below(parents, v)))
        tiers = np.empty(6, dtype=np.int64)
        tiers[order] = [0, 0, 1, 1, 2, 2]
        allowed = (tiers[None, :] <= tiers[:, None]).astype(np.uint8)
        np.fill_diagonal(allowed, 0)
        source = SeparationSource(parents)
        _, directions = learn(source, EdgeConstraints(6, allowed=allowed), tiers=tiers, rule="majority")
        assert all(tiers[list(z)].max() <= max(tiers[x], tiers[y]) for x, y, z in source.asked if z)
        edges = list_edges(parents)
        compelled = [(tail, head) for tail, head in edges if tiers[tail] < tiers[head]]
        assert (directions.pattern.list_directed(), directions.pattern.list_undirected()) == cpdag(6, edges, compelled)


def list_below(parents, v):
    """Return the ancestors of a variable and itself."""
    found = {v}
    for u in parents[v]:
        found |= list_below(parents, u)
    return found


def test_the_sets_separate(rng):
    for _ in range(10):
        parents = random_parents(7, 3, rng)
        skeleton, _ = learn(SeparationSource(parents))
        for x, y in combinations(range(7), 2):
            if not skeleton.adjacent[x, y]:
                assert are_d_separated(parents, x, y, skeleton.evidence.get_set(x, y))


def random_tests(n, rng):
    """Return tests of few rows, so that they contradict each other."""
    rows = rng.normal(size=(40, n)) @ (np.eye(n) + 0.6 * rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.4))
    return PartialCorrelationTests(np.corrcoef(rows.T), 40)


@pytest.mark.parametrize("rule", RULES)
def test_contradictions_leave_no_cycle_and_keep_knowledge(rule, rng):
    n_conflicts = 0
    for _ in range(20):
        source = random_tests(9, rng)
        parents = random_parents(9, 3, rng)
        constraints = draw_knowledge(parents, rng)
        skeleton, directions = learn(source, constraints, rule=rule, max_size=3)
        pattern = directions.pattern
        directed, undirected = pattern.list_directed(), pattern.list_undirected()
        assert is_acyclic(directed)
        assert set(map(tuple, constraints.required.tolist())) <= set(directed)
        assert all(constraints.allows(*edge) for edge in directed)
        assert all(constraints.allows(u, v) and constraints.allows(v, u) for u, v in undirected)
        assert len(directed) + len(undirected) == len(skeleton.list_edges())
        edges, _ = pattern.find_dag()
        assert is_acyclic(edges) and set(directed) <= set(edges) and len(edges) == len(skeleton.list_edges())
        n_conflicts += len(directions.conflicts)
    assert n_conflicts > 0
