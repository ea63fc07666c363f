"""Moves over a scorer whose counts come in messages: what a message holds, and how many there are."""

import numpy as np
import pytest

from helpers.far_tables import Elsewhere, cut, far_scorer
from pgmx._ext._dag_moves import ADD, DELETE, REVERSE
from pgmx._ext._row_cache import CachedScorer, RowStore
from pgmx.data import encode
from pgmx.datasets import load_network, sample
from pgmx.scores import ScoreTerms, family_scorer
from pgmx.search.dag.state import DagState

TERMS = ScoreTerms(penalty=4.0)


@pytest.fixture(scope="module")
def table():
    return encode(sample(load_network("alarm"), 1500, random_state=0))


@pytest.fixture
def ask(table):
    return Elsewhere(cut(table, [400, 900]))


def make_state(source, **options):
    n = source.n
    return DagState(source, n, priority=np.arange(n), max_indegree=3, least_gain=0.01, **options)


def far_state(table, ask):
    return make_state(far_scorer(table, TERMS, ask, max_indegree=3))


def climb_by_single_moves(state):
    n_moves = 0
    while (move := state.moves.best())[3] >= 0.01:
        state.make(*move[:3], 0.01)
        n_moves += 1
    return n_moves


def climb(state):
    """Climb to the optimum and return how many moves that takes."""
    n_moves, is_optimum = 0, False
    while not is_optimum:
        made, is_optimum = state.climb(0.01, 1000)
        n_moves += made
    return n_moves


@pytest.mark.parametrize("climb_far", [climb, climb_by_single_moves])
@pytest.mark.parametrize("keeps_rows", [False, True])
def test_climb_asks_for_the_next_moves_too(table, ask, keeps_rows, climb_far):
    near = make_state(family_scorer(table, TERMS, max_indegree=3))
    far = far_scorer(table, TERMS, ask, max_indegree=3)
    far = make_state(CachedScorer(far, RowStore(far.n, 1 << 20)) if keeps_rows else far)
    n_moves = climb(near)
    assert climb_far(far) == n_moves > 40
    assert np.array_equal(far.edges(), near.edges()) and np.array_equal(far.gains, near.gains)
    families = [family for message in ask.messages for family in message]
    assert len(ask.messages) < 0.4 * n_moves
    assert len(families) == len(set(families)) < 1.15 * n_moves


def test_reversal_and_deletion(table, ask):
    state = far_state(table, ask)
    a, b, c, d = table.columns.index("LVFAILURE"), *map(table.columns.index, ("HISTORY", "CVP", "PCWP"))
    for tail, head in ((c, a), (a, b), (d, b)):
        state.make(ADD, tail, head)
    ask.messages.clear()
    state.make(REVERSE, a, b)  # b loses a parent, which needs no count: a gets one
    assert ask.messages == [[(a, *sorted((b, c)))]]
    state.make(DELETE, d, b)
    state.make(DELETE, b, a)
    assert len(ask.messages) == 1
    near = make_state(family_scorer(table, TERMS, max_indegree=3))
    near.reset(state.edges())
    assert np.array_equal(near.gains, state.gains) and np.array_equal(near.scores, state.scores)


def test_reversal_between_full_families_is_one_message(table, ask):
    state = far_state(table, ask)
    rng = np.random.default_rng(0)
    order = rng.permutation(state.n).tolist()
    a, b, others = order[0], order[1], order[2:]
    state.reset(np.array([(a, b), (others[0], b), (others[1], b), (others[2], a), (others[3], a)]))
    ask.messages.clear()
    state.make(REVERSE, a, b)
    assert [sorted(message) for message in ask.messages] == [
        sorted([(b, *sorted(others[:2])), (a, *sorted((b, *others[2:4])))])
    ]


def test_another_graph_is_one_message(table, ask):
    state = far_state(table, ask)
    edges = np.array([(v, v + step) for v in range(state.n - 2) for step in (1, 2)])
    ask.messages.clear()
    state.reset(edges)
    assert len(ask.messages) == 1 and len(ask.messages[0]) == state.n - 1
    near = make_state(family_scorer(table, TERMS, max_indegree=3))
    near.reset(edges)
    assert np.array_equal(near.gains, state.gains)
    ask.messages.clear()
    state.detach(range(0, state.n, 5))
    assert len(ask.messages) <= 1
