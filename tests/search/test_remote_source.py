"""Searches over a scorer whose counts come in messages: what a message holds, and how many there are."""

from functools import partial

import numpy as np
import pytest

from helpers.far_tables import Elsewhere, WeightedElsewhere, cut, far_scorer
from pgmx._ext._dag_moves import ADD, DELETE, REVERSE
from pgmx._ext._row_cache import CachedScorer, RowStore
from pgmx._ext._weighted import WeightedFamilyScorer
from pgmx.data import DiscreteTable, encode
from pgmx.datasets import load_network, sample
from pgmx.scores import ScoreTerms, family_scorer
from pgmx.scores.gains import FamilyBounds
from pgmx.search.dag.annealing import anneal
from pgmx.search.dag.best_first import best_first
from pgmx.search.dag.equivalence import KINDS, search_classes
from pgmx.search.dag.orders.kicks import OrderSearch, draw_order
from pgmx.search.dag.parent_pairs import climb_by_pairs
from pgmx.search.dag.state import ClimbLimits, DagProblem, DagState
from pgmx.search.dag.tracker import SearchTracker

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


def test_climb_on_weighted_rows_asks_for_the_next_moves_too(table):
    """Weights that are whole numbers: sums are the same in any order."""
    weights = np.random.default_rng(0).integers(1, 5, table.n_rows).astype(float)
    near = make_state(family_scorer(table, TERMS, max_indegree=3, weights=weights))
    ask = WeightedElsewhere(table, cut(table, [400, 900], weights))
    codes = np.empty((table.n_variables, 0), dtype=np.uint8)
    options = {"penalty": TERMS.penalty, "max_indegree": 3, "ask": ask, "n_rows": table.n_rows}
    far = make_state(WeightedFamilyScorer(codes, table.cardinalities, np.empty(0), **options))
    assert climb(near) == climb(far) > 40
    assert np.array_equal(far.edges(), near.edges()) and np.array_equal(far.gains, near.gains)
    families = [family for message in ask.messages for family in message if len(family) > 1]
    n_messages = sum(any(len(family) > 1 for family in message) for message in ask.messages)
    assert n_messages < 0.4 * len(families)


# ---- other searches ----


def make_problem(make_source, table, **options):
    """Return the problem of a source: at most three parents."""
    limits = ClimbLimits(0.01, 10_000, 3, 0, 0)
    rng = np.random.default_rng(1)
    return DagProblem(table.n_variables, make_source, limits, rng.permutation(table.n_variables), **options)


def run(search, problem):
    """Return the best graph of a search and its score."""
    state, tracker = problem.make_state(), SearchTracker(problem.limits)
    tracker.set_best(state)
    search(state, tracker)
    return tracker.best_edges(state), tracker.best_score


def search_orders(state, tracker):
    orders = OrderSearch(state, tracker, required=state.required, seed=0)
    orders.search(draw_order(state.n, state.required, 0, 0), 0, patience=5)


def search_pairs(state, tracker):
    climb_by_pairs(state, tracker, FamilyBounds())


SEARCHES = {
    "annealing": partial(anneal, seed=3, n_draws=4000, initial_temperature=30.0, final_temperature=1.0),
    "best first": partial(best_first, width=10, patience=20, max_open=100),
    "classes": partial(search_classes, phases=list(KINDS), repeat=True),
    "orders": search_orders,
    "pairs": search_pairs,
}
#: Most messages for each family that they bring.
MOST_MESSAGES = {"annealing": 0.4, "best first": 0.4, "classes": 0.4, "orders": 0.4, "pairs": 0.2}


@pytest.mark.parametrize("name", SEARCHES)
def test_searches_ask_for_many_families_at_once(table, ask, name):
    columns = range(0, table.n_variables, 2)
    table = DiscreteTable(
        [table.columns[v] for v in columns], [table.states[v] for v in columns], table.codes[list(columns)]
    )
    ask = Elsewhere(cut(table, [400, 900]))
    all_moves = name in ("annealing", "best first")
    near = make_problem(lambda: family_scorer(table, TERMS, max_indegree=3), table, all_moves=all_moves)
    far = make_problem(lambda: far_scorer(table, TERMS, ask, max_indegree=3), table, all_moves=all_moves)
    edges, score = run(SEARCHES[name], near)
    far_edges, far_score = run(SEARCHES[name], far)
    assert np.array_equal(far_edges, edges) and far_score == score and len(edges) > 10
    families = [family for message in ask.messages for family in message]
    assert len(ask.messages) < MOST_MESSAGES[name] * len(families)
