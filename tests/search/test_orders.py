"""Climbs over orders: the families are those of grow, shrink and swap, and no variable has a better place."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.examples import examples
from helpers.whole_searches import random_problem
from oracles.graphs import is_acyclic
from pgmx._ext._order_climb import OrderClimb
from pgmx.search.dag.orders.kicks import draw_order, sort_topologically

LEAST = 1e-4


def score_family(asked, child, parents):
    return asked.local_score(child, tuple(sorted(parents))) + asked.bonus[0] * len(parents)


def find_parents(asked, child, before, swaps):
    """Grow, shrink and swap as published, all families scored afresh; equal scores go to the smaller id."""
    allowed = [u for u in range(asked.n) if u != child and (asked.allowed is None or asked.allowed[child, u])]
    most = asked.n if asked.max_indegree is None else asked.max_indegree
    required = {tail for tail, head in asked.required if head == child}
    parents = set(required)

    def additions(family):
        return [family | {u} for u in allowed if u in before and u not in family and len(family) < most]

    def best_of(families, least):
        families = [family for family in families if score_family(asked, child, family) > least]
        return max(families, key=lambda family: score_family(asked, child, family), default=None)

    while True:
        for step in (additions, lambda family: [family - {u} for u in sorted(family - required)]):
            while (better := best_of(step(parents), score_family(asked, child, parents) + LEAST)) is not None:
                parents = better
        smaller = [parents - {u} for u in sorted(parents - required)] if swaps else []
        exchanged = [
            one
            for less in smaller
            for one in additions(less)
            if score_family(asked, child, one) > score_family(asked, child, less) + LEAST
        ]
        better = best_of(exchanged, score_family(asked, child, parents) + LEAST)
        if better is None:
            return parents
        parents = better


def reference_score(asked, order, swaps):
    families = {v: find_parents(asked, v, set(order[:i]), swaps) for i, v in enumerate(order)}
    return sum(score_family(asked, v, family) for v, family in families.items())


def make_climb(asked, *, swaps=True, memory=1 << 27):
    problem = asked.problem()
    source = problem.make_source()
    gains = np.zeros((asked.n, asked.n))
    arguments = {"required": problem.required, "bonus": asked.bonus[0], "least_gain": LEAST}
    return OrderClimb(source, gains, np.arange(asked.n), swaps=swaps, memory=memory, **arguments)


def without_ties(asked, seed):
    """Return the problem with scores that differ, so that no rule of ties decides."""

    @cache
    def scored(child, parents):
        return asked.local_score(child, parents) + np.random.default_rng([seed, child, *parents, 5]).random() / 4

    def local_score(child, parents):
        return scored(child, tuple(sorted(parents)))

    return asked._replace(local_score=local_score, start=asked.required)


@given(st.integers(0, 2**20), st.integers(1, 6), st.booleans(), st.booleans())
@examples(15)
def test_families_and_places_are_those_of_the_definition(seed, n, knowledge, swaps):
    asked = without_ties(random_problem(seed, n, knowledge=knowledge), seed)
    climb = make_climb(asked, swaps=swaps)
    climb.set_order(draw_order(n, asked.problem().required, seed, 0))
    assert climb.score == pytest.approx(reference_score(asked, climb.order().tolist(), swaps), abs=1e-3)
    climb.improve(1000, lambda: None)
    climb.kick(3, seed)
    climb.improve(1000, lambda: None)
    order = climb.order().tolist()
    score = reference_score(asked, order, swaps)
    assert climb.score == pytest.approx(score, abs=1e-3)
    edges = climb.edges()
    assert asked.score(edges) == pytest.approx(score, abs=1e-3)
    assert is_acyclic({tuple(edge) for edge in edges.tolist()})
    asked.check_legal(edges)
    for x in order:
        others = [v for v in order if v != x]
        for place in range(n):
            moved = [*others[:place], x, *others[place:]]
            if all(moved.index(tail) < moved.index(head) for tail, head in asked.required):
                assert reference_score(asked, moved, swaps) <= score + 2e-3


def test_memory_decides_nothing_but_the_rows():
    asked = without_ties(random_problem(3, 8), 3)
    wide, narrow = make_climb(asked), make_climb(asked, memory=0)
    for climb in (wide, narrow):
        climb.set_order(np.arange(8))
        for seed in range(12):
            climb.save()
            climb.improve(1000, lambda: None)
            climb.kick(4, seed)
            if seed % 2:
                climb.restore()
    assert wide.order().tolist() == narrow.order().tolist()
    assert wide.edges().tolist() == narrow.edges().tolist()
    assert wide.n_rows < narrow.n_rows


def test_what_stops_a_climb_leaves_a_graph_of_its_order():
    asked = without_ties(random_problem(5, 8), 5)
    climb = make_climb(asked)
    climb.set_order(np.arange(8))
    assert climb.improve(1, lambda: None) == 1

    def stop():
        raise InterruptedError

    climb.kick(8, 1)
    with pytest.raises(InterruptedError):
        climb.improve(1000, stop)
    assert climb.score == pytest.approx(reference_score(asked, climb.order().tolist(), True), abs=1e-3)


def test_orders_of_graphs():
    edges = np.array([[3, 1], [1, 0], [2, 0]])
    assert sort_topologically(4, edges, np.array([0, 1, 2, 3])).tolist() == [2, 3, 1, 0]
    assert sort_topologically(4, edges, np.array([3, 2, 1, 0])).tolist() == [3, 2, 1, 0]
    orders = {tuple(draw_order(6, edges, 0, number).tolist()) for number in range(20)}
    assert len(orders) > 15
    assert all(order.index(t) < order.index(h) for order in orders for t, h in edges.tolist())
