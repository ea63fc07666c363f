"""The move queue against a slow twin that lists every move, at each step of random walks."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.dag_moves import SlowDagMoves
from oracles.graphs import is_acyclic
from pgmx._ext._dag_moves import ADD, DELETE, REVERSE, DagMoves


def drawn_gains(rng, n, spread, share_barred):
    """Return small integers, so that many tie and sums are exact; a share of them is -inf."""
    gains = rng.integers(-spread, spread + 1, (n, n)).astype(float)
    gains[rng.random((n, n)) < share_barred] = -np.inf
    np.fill_diagonal(gains, -np.inf)
    return gains


def random_dag(rng, n, n_edges):
    """Return edges of a DAG whose order is not that of the ids."""
    order = rng.permutation(n)
    pairs = [(int(order[i]), int(order[j])) for i, j in itertools.combinations(range(n), 2)]
    return [pairs[i] for i in rng.permutation(len(pairs))[:n_edges]]


class Pair:
    """The compiled queue and its slow twin, moved together."""

    def __init__(self, rng, gains, *, start=(), required=(), **options):
        n = len(gains)
        self.rng, self.n, self.gains = rng, n, gains
        priority = rng.permutation(n)
        self.slow = SlowDagMoves(gains, priority.tolist(), required=required, **options)
        required = np.array(required, dtype=np.int64).reshape(-1, 2) if len(required) else None
        self.fast = DagMoves(gains, priority.astype(np.int64), required=required, **options)
        for tail, head in start:
            self.slow.insert_edge(tail, head)
            self.fast.insert_edge(tail, head)
        self.fast.refresh_all()

    def check(self):
        assert [tuple(edge) for edge in self.fast.edges().tolist()] == self.slow.edges()
        assert self.fast.n_edges == len(self.slow.edge_set)
        assert is_acyclic(self.slow.edge_set)
        for child in range(self.n):
            assert self.fast.parents_of(child).tolist() == self.slow.parents_of(child)
        assert self.fast.best() == self.slow.best()

    def check_legality(self):
        moves = itertools.product((ADD, DELETE, REVERSE), range(self.n), range(self.n))
        for op, tail, head in moves:
            assert self.fast.is_legal(op, tail, head) == self.slow.is_legal(op, tail, head), (op, tail, head)

    def make(self, op, tail, head, new_row):
        """Make the move; the children it changes get new gains."""
        self.slow.apply(op, tail, head)
        self.fast.apply(op, tail, head)
        for child in (head, tail) if op == REVERSE else (head,):
            self.gains[child] = new_row(child)
            self.fast.refresh(child)

    def clear_tabu(self):
        assert self.fast.clear_tabu() == self.slow.clear_tabu()


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**30), label="seed"))
    n = draw(st.integers(1, 7), label="n")
    spread = draw(st.sampled_from([0, 1, 2, 5]), label="spread")
    barred = draw(st.sampled_from([0.0, 0.1, 0.5]), label="barred")
    edges = random_dag(rng, n, draw(st.integers(0, n), label="edges"))
    options = {
        "start": edges,
        "required": edges[: draw(st.integers(0, len(edges)), label="required")],
        "max_indegree": draw(st.sampled_from([0, 1, 2, n]), label="max_indegree"),
        "floor": draw(st.sampled_from([-math.inf, 0.0, 1.0]), label="floor"),
        "tabu_length": draw(st.sampled_from([0, 1, 3, 40]), label="tabu_length"),
        "bonus": draw(st.sampled_from([(0.0, 0.0, 0.0), (-1.0, 1.0, 0.0), (2.0, -1.0, 0.5)]), label="bonus"),
    }
    pair = Pair(rng, drawn_gains(rng, n, spread, barred), **options)

    def new_row(child):
        return drawn_gains(rng, n, spread, barred)[child]

    return pair, new_row


@given(problems(), st.floats(0, 1))
@settings(max_examples=250)
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
@settings(max_examples=100)
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


@pytest.mark.parametrize("n", [64, 65, 130])
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
    with pytest.raises(ValueError, match=f"{edge[0]} -> {edge[1]} stands already or closes a cycle"):
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
