"""The move queue against a slow twin that lists every move, at each step of random walks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.examples import examples
from helpers.move_queues import Pair, drawn_gains, problems, random_dag
from oracles.graphs import is_acyclic
from pgmx._ext._dag_moves import ADD, DELETE, REVERSE, DagMoves


@given(problems(), st.floats(0, 1))
@examples(250)
def test_same_best_move_at_each_step(problem, share_of_best):
    pair, new_row = problem
    for _ in range(15):
        pair.check()
        pair.check_legality()
        move = pair.slow.best()
        if move is None or pair.rng.random() >= share_of_best:  # any legal move, also one that is not offered
            legal = pair.slow.legal_moves()
            if not legal:
                pair.clear_tabu()
                continue
            move = (*legal[pair.rng.integers(len(legal))], None)
        pair.make(*move[:3], new_row)
        if pair.rng.random() < 0.05:
            pair.clear_tabu()
    pair.check()


@given(problems())
@examples(100)
def test_required_edges_and_the_largest_indegree_hold(problem):
    pair, new_row = problem
    required = set(pair.slow.required)
    before = [len(pair.fast.parents_of(child)) for child in range(pair.n)]
    for _ in range(20):
        move = pair.fast.best()
        if move is None:
            break
        pair.make(*move[:3], new_row)
        assert required <= {tuple(edge) for edge in pair.fast.edges().tolist()}
        for child in range(pair.n):  # a start graph may exceed the limit; moves may not add to it
            assert len(pair.fast.parents_of(child)) <= max(before[child], pair.slow.max_indegree)


@pytest.mark.parametrize("n", [pytest.param(64, marks=pytest.mark.slow), 65, pytest.param(130, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_more_variables_than_bits_in_a_word(n, rng):
    start = random_dag(rng, n, n)
    pair = Pair(rng, drawn_gains(rng, n, 3, 0.2), start=start, max_indegree=4, tabu_length=5)
    for _ in range(40):
        assert [tuple(edge) for edge in pair.fast.edges().tolist()] == pair.slow.edges()
        assert is_acyclic(pair.slow.edge_set)
        move = pair.fast.best()
        gain = pair.slow.gain(*move[:3])
        assert move[3] == gain
        assert pair.slow.is_legal(*move[:3])
        for op, tail, head in rng.integers(0, (3, n, n), (60, 3)).tolist():
            legal = pair.slow.is_legal(op, tail, head)
            assert pair.fast.is_legal(op, tail, head) == legal
            offered = legal and not (op == ADD and pair.gains[head, tail] < 0)
            assert not offered or pair.slow.gain(op, tail, head) <= gain
        pair.make(*move[:3], lambda child: drawn_gains(rng, n, 3, 0.2)[child])


def test_ties_go_to_addition_then_deletion_then_reversal_then_priority():
    gains = np.zeros((3, 3))
    np.fill_diagonal(gains, -np.inf)
    moves = DagMoves(gains, np.array([2, 0, 1]), max_indegree=3)
    moves.refresh_all()
    assert moves.best() == (ADD, 2, 1, 0.0)  # the head that comes first in priority, then the tail
    moves.insert_edge(0, 1)
    gains[:] = -np.inf
    gains[1, 0] = 0.0
    moves.refresh_all()
    assert moves.best() == (DELETE, 0, 1, 0.0)
    gains[0, 1] = 0.0
    assert moves.best() == (DELETE, 0, 1, 0.0)
    gains[0, 1] = 0.5
    assert moves.best() == (REVERSE, 0, 1, 0.5)


def test_no_move_is_legal():
    assert DagMoves(np.full((1, 1), -np.inf), np.zeros(1, dtype=np.int64), max_indegree=5).best() is None
    moves = DagMoves(np.full((3, 3), -np.inf), np.arange(3), max_indegree=5)
    moves.refresh_all()
    assert moves.best() is None
    assert moves.edges().shape == (0, 2)


def test_tabu_bars_the_inverse_for_as_many_moves_as_it_is_long():
    gains = np.zeros((4, 4))
    moves = DagMoves(gains, np.arange(4), max_indegree=4, tabu_length=2)
    moves.refresh_all()
    moves.apply(ADD, 0, 1)
    assert not moves.is_legal(DELETE, 0, 1)
    assert moves.is_legal(REVERSE, 0, 1)
    moves.apply(REVERSE, 0, 1)
    assert not moves.is_legal(REVERSE, 1, 0)
    assert moves.is_legal(DELETE, 1, 0)
    moves.apply(ADD, 2, 3)
    assert not moves.is_legal(REVERSE, 1, 0)
    moves.apply(ADD, 2, 1)
    assert moves.is_legal(REVERSE, 1, 0)
    assert moves.clear_tabu()
    assert moves.is_legal(DELETE, 2, 1)
    assert not moves.clear_tabu()


@pytest.mark.parametrize("edge", [(0, 1), (2, 0), (1, 1), (1, 0)])
def test_edges_that_cannot_be_inserted(edge):
    moves = DagMoves(np.zeros((3, 3)), np.arange(3), max_indegree=3)
    moves.insert_edge(0, 1)
    moves.insert_edge(1, 2)
    with pytest.raises(ValueError, match=f"{edge[0]} -> {edge[1]} is in the graph already, or closes a cycle"):
        moves.insert_edge(*edge)


def test_what_is_handed_out_is_a_copy():
    moves = DagMoves(np.zeros((3, 3)), np.arange(3), max_indegree=3)
    moves.insert_edge(0, 2)
    moves.edges()[:] = 7
    moves.parents_of(2)[:] = 7
    assert moves.edges().tolist() == [[0, 2]]
    assert moves.parents_of(2).tolist() == [0]
    assert moves.edges().dtype == np.int64
    assert moves.parents_of(2).dtype == np.int32


@pytest.mark.parametrize(("price", "expected"), [(1.0, (DELETE, 0, 1, 0.5)), (0.25, None)])
def test_an_arc_is_deleted_where_its_prior_outweighs_its_gain(price, expected):
    """The arc is worth .5: it stays at a price of .25 and is deleted at 1. Its reversal is worth as much."""
    gains = np.full((3, 3), -np.inf)
    gains[1, 0], gains[0, 1] = -0.5, 0.5
    moves = DagMoves(gains, np.arange(3), max_indegree=3, bonus=(-price, price, 0.0), floor=0.1)
    moves.insert_edge(0, 1)
    moves.refresh_all()
    best = moves.best()
    if expected is None:
        assert best[:3] == (REVERSE, 0, 1) and best[3] == 0.0  # below the floor: the search stops
    else:
        assert best == expected
