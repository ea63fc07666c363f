"""First graphs: the forest of largest gain against networkx, and random graphs."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.coded_tables import EQUIVALENT_SCORES, make_scorer, random_codes
from helpers.examples import examples
from helpers.whole_searches import random_problem
from oracles.forests import best_weight
from pgmx.search.dag.starts import grow_at_random, grow_tree
from pgmx.search.dag.state import DagState


def heads_of(state):
    return state.edges()[:, 1].tolist()


@pytest.mark.parametrize("score", EQUIVALENT_SCORES)
@pytest.mark.parametrize("price", [0.0, 12.0])
def test_tree_of_a_compiled_score(score, price, rng):
    """The maximum-weight spanning forest under what an arc gains, its prior included."""
    cards = [2, 3, 2, 4, 2, 3, 2, 3, 2, 2]
    codes, n = random_codes(rng, cards, 300), 10
    state = DagState(
        make_scorer(codes, cards, score), n, priority=rng.permutation(n), max_indegree=n, bonus=(-price, price, 0.0)
    )
    weights = state.gains - price
    empty = state.score
    grow_tree(state)
    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_weighted_edges_from((a, b, weights[a, b]) for a in range(n) for b in range(a) if weights[a, b] > 0)
    expected = nx.maximum_spanning_tree(graph)
    assert {frozenset(edge) for edge in state.edges().tolist()} == {frozenset(edge) for edge in expected.edges}
    assert len(set(heads_of(state))) == len(heads_of(state))
    assert state.score - empty == pytest.approx(expected.size(weight="weight"), rel=1e-9)
    assert not state.moves.clear_tabu()


@given(st.integers(0, 2**20), st.integers(1, 4), st.booleans())
@examples(60)
def test_tree_of_any_score_is_the_best_forest(seed, n, some_barred):
    rng = np.random.default_rng(seed)
    asked = random_problem(seed, n)
    allowed = (rng.random((n, n)) < 0.7).astype(np.uint8) if some_barred else np.ones((n, n), dtype=np.uint8)
    asked = asked._replace(allowed=allowed)
    state = asked.problem(all_moves=True).make_state()
    weights = np.where(np.isfinite(state.gains), state.gains, 0.0)
    best, empty = best_weight(weights.tolist(), allowed=(state.gains > -np.inf).tolist()), state.score
    grow_tree(state)
    asked.check_legal(state.edges())
    assert max(np.bincount(heads_of(state), minlength=1)) <= 1
    assert state.score - empty == best


@pytest.mark.parametrize("grow", [grow_tree, lambda state: grow_at_random(state, 4)], ids=["tree", "random"])
@given(seed=st.integers(0, 2**20), n=st.integers(1, 6))
@examples(60)
def test_legal_under_all_constraints(grow, seed, n):
    asked = random_problem(seed, n, knowledge=True)
    state, other = (asked.problem(all_moves=True).make_state() for _ in range(2))
    for one in (state, other):
        grow(one)
    asked.check_legal(state.edges())
    assert set(asked.start) <= {tuple(edge) for edge in state.edges().tolist()}
    assert state.score == asked.score(state.edges())
    np.testing.assert_array_equal(state.edges(), other.edges())


def test_random_graphs_differ_and_are_connected_trees_where_nothing_is_barred():
    graphs = set()
    for seed in range(30):
        state = random_problem(1, 6).problem(all_moves=True).make_state()
        grow_at_random(state, seed)
        assert nx.is_tree(nx.Graph(state.edges().tolist()))
        assert len(set(heads_of(state))) == 5
        graphs.add(tuple(map(tuple, state.edges().tolist())))
    assert len(graphs) > 25


@pytest.mark.parametrize("grow", [grow_tree, lambda state: grow_at_random(state, 4)], ids=["tree", "random"])
def test_no_parents_at_all(grow):
    state = random_problem(1, 5)._replace(max_indegree=0).problem(all_moves=True).make_state()
    grow(state)
    assert state.edges().shape == (0, 2)
