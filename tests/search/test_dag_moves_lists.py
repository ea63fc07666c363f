"""What the move queue lists, takes out, bars and draws, against its slow twin."""

from collections import Counter
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.climb_problems import integer_score
from helpers.examples import examples
from helpers.move_queues import drawn_gains, problems, random_dag
from oracles.graphs import is_acyclic
from oracles.splitmix import SplitMix64
from pgmx._ext._dag_moves import ADD, REVERSE, DagMoves


def tuples(array):
    return [tuple(row) for row in array.tolist()]


def ranks(pair):
    """Return {move: how many additions of the same child go before it}; other moves come first."""
    offered, places = pair.slow.offered_moves(), {}
    for op, tail, head in sorted(offered, key=lambda move: (-offered[move], pair.slow.priority[move[1]])):
        before = sum(other == ADD and to == head for other, _, to in places)
        places[op, tail, head] = before if op == ADD else -1
    return places


def check_lists(pair):
    moves, gains = pair.fast.legal_moves()
    assert (moves.dtype, gains.dtype) == (np.int64, np.float64)
    assert len(set(tuples(moves))) == len(moves)
    assert dict(zip(tuples(moves), gains.tolist(), strict=True)) == pair.slow.offered_moves()
    additions = {(head, gain) for (op, _, head), gain in pair.slow.offered_moves().items() if op == ADD}
    for least in (-1.0, 0.0, 2.0):
        heads = {head for head, gain in additions if gain >= least}
        assert pair.fast.count_improvable(least) == len(heads)
    for most in (0, 1, 3):
        chosen, _ = pair.fast.legal_moves(most)
        assert set(tuples(chosen)) == {move for move, place in ranks(pair).items() if place < most}
    assert tuples(pair.fast.covered_edges()) == pair.slow.covered_edges()
    assert tuples(pair.fast.tabu_moves()) == pair.slow.tabu_moves()
    for v in range(pair.n):
        assert pair.fast.children_of(v) == pair.slow.children_of(v)


@pytest.mark.slow
@given(problems())
@examples(150)
def test_lists_along_random_walks(problem):
    """Moves, arcs taken out and put in without a move, bars set and lifted, in any order."""
    pair, new_row = problem
    for _ in range(15):
        pair.check()
        check_lists(pair)
        what = pair.rng.integers(6)
        edges, legal = pair.slow.edges(), pair.slow.legal_moves()
        if what == 0 and edges:  # required arcs too: no constraint is asked
            edge = edges[pair.rng.integers(len(edges))]
            pair.fast.delete_edge(*edge)
            pair.slow.delete_edge(*edge)
        elif what == 1 and pair.n > 1:
            edge = tuple(pair.rng.choice(pair.n, 2, replace=False).tolist())
            if edge not in edges and is_acyclic({*edges, edge}):
                pair.fast.insert_edge(*edge)
                pair.slow.insert_edge(*edge)
        elif what == 2:
            barred = np.array([(*pair.rng.integers(0, (3, pair.n, pair.n)),) for _ in range(3)], dtype=np.int64)
            pair.fast.bar_moves(barred)
            pair.slow.bar_moves(tuples(barred))
        elif what == 3 and pair.rng.random() < 0.3:
            pair.clear_tabu()
        elif legal:
            pair.make(*legal[pair.rng.integers(len(legal))], new_row)
    pair.check_legality()


@given(problems(), st.integers(0, 2**64 - 1), st.sampled_from([0.05, 1.0, 7.3, 1e6]))
@examples(150)
def test_draws_of_the_same_word_are_those_of_the_twin(problem, word, temperature):
    pair, new_row = problem
    random, state = SplitMix64(word), np.array([word], dtype=np.uint64)
    for _ in range(12):
        n_draws = int(pair.rng.integers(0, 40))
        drawn = pair.fast.draw(temperature, n_draws, state)
        assert drawn == pair.slow.draw(temperature, n_draws, random)
        assert int(state[0]) == random.word
        assert drawn[4] <= n_draws
        if drawn[0] >= 0:
            assert pair.fast.is_legal(*drawn[:3])
            pair.make(*drawn[:3], new_row)
    pair.check()


@pytest.mark.parametrize("n", [64, 130])
def test_many_variables(n, rng):
    gains = drawn_gains(rng, n, 3, 0.2)
    moves = DagMoves(gains, np.arange(n), max_indegree=4, floor=-np.inf)
    edges = random_dag(rng, n, 2 * n)
    for edge in edges:
        moves.insert_edge(*edge)
    moves.refresh_all()
    state = np.array([7], dtype=np.uint64)
    for _ in range(300):
        op, tail, head, gain, _ = moves.draw(3.0, 1000, state)
        assert moves.is_legal(op, tail, head)
        assert gain == (gains[head, tail] + gains[tail, head] if op == REVERSE else gains[head, tail])
        moves.apply(op, tail, head)
    arcs = set(tuples(moves.edges()))
    assert is_acyclic(arcs)
    assert all(moves.children_of(v) == sorted(head for tail, head in arcs if tail == v) for v in range(n))
    assert all(moves.neighbours_of(v) == [*moves.parents_of(v), *moves.children_of(v)] for v in range(n))
    listed, _ = moves.legal_moves()
    assert all(moves.is_legal(*move) for move in listed.tolist())


@pytest.mark.parametrize("edge", [(1, 0), (0, 2), (1, 1)])
def test_an_arc_that_is_not_there_cannot_be_taken_out(edge):
    moves = DagMoves(np.zeros((3, 3)), np.arange(3), max_indegree=3)
    moves.insert_edge(0, 1)
    with pytest.raises(ValueError, match=f"no arc {edge[0]} -> {edge[1]}"):
        moves.delete_edge(*edge)


def test_taking_an_arc_out_bars_nothing():
    moves = DagMoves(np.zeros((3, 3)), np.arange(3), max_indegree=3, tabu_length=5)
    moves.refresh_all()
    moves.insert_edge(0, 1)
    moves.delete_edge(0, 1)
    assert moves.tabu_moves().shape == (0, 3)
    assert moves.is_legal(ADD, 0, 1)
    assert not moves.clear_tabu()


def test_bars_go_over_to_another_queue(rng):
    """What `tabu_moves` says, `bar_moves` takes: the two queues allow the same, now and later."""
    one, other = (DagMoves(np.zeros((5, 5)), np.arange(5), max_indegree=5, tabu_length=4) for _ in range(2))
    for queue in (one, other):
        queue.refresh_all()
    for _ in range(9):
        moves, _ = one.legal_moves()
        one.apply(*moves[rng.integers(len(moves))].tolist())
    for edge in one.edges().tolist():
        other.insert_edge(*edge)
    other.bar_moves(one.tabu_moves())
    for _ in range(6):
        np.testing.assert_array_equal(one.tabu_moves(), other.tabu_moves())
        np.testing.assert_array_equal(one.legal_moves()[0], other.legal_moves()[0])
        move = one.legal_moves()[0][-1].tolist()
        one.apply(*move)
        other.apply(*move)


# ---- random numbers ----


def test_published_words():
    """The first words from the seed 1234567, as the reference implementation in C prints them."""
    random = SplitMix64(1234567)
    assert [random.next_word() for _ in range(5)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_the_kernel_draws_from_these_words():
    """Without arcs and with gains of zero each draw is accepted: three words for a pair and a coin."""
    n = 5000
    moves = DagMoves(np.zeros((2, 2)), np.arange(2), max_indegree=2)
    random, state = SplitMix64(1234567), np.array([1234567], dtype=np.uint64)
    for _ in range(n):
        op, tail, head, _, made = moves.draw(1.0, 1, state)
        assert (op, made) == (ADD, 1)
        assert (tail, head) == ((0, 1) if random.uniform() < 0.5 else (1, 0))
        random.next_word()
        random.next_word()
        assert int(state[0]) == random.word


@pytest.mark.slow
def test_time_spent_at_a_graph_is_that_of_metropolis():
    """Proposals are symmetric, so graphs are visited in proportion to exp(score / temperature)."""
    n, temperature, n_draws = 3, 2.0, 150_000
    local_score = integer_score(5, spread=2)
    gains = np.empty((n, n))
    moves = DagMoves(gains, np.arange(n), max_indegree=n)

    def refresh(child):
        family = set(moves.parents_of(child).tolist())
        gains[child] = [local_score(child, family ^ {u}) - local_score(child, family) for u in range(n)]
        gains[child, child] = -np.inf
        moves.refresh(child)

    def score(edges):
        return sum(local_score(v, [tail for tail, head in edges if head == v]) for v in range(n))

    for child in range(n):
        refresh(child)
    visits, state, left = Counter(), np.array([11], dtype=np.uint64), n_draws
    while left > 0:
        op, tail, head, _, made = moves.draw(temperature, left, state)
        graph = tuple(tuples(moves.edges()))
        visits[graph] += made - (op >= 0)
        left -= made
        if op >= 0:
            moves.apply(op, tail, head)
            for child in (head, tail) if op == REVERSE else (head,):
                refresh(child)
            visits[tuple(tuples(moves.edges()))] += 1
    assert len(visits) == 25  # all directed acyclic graphs of three variables
    weights = {graph: exp(score(graph) / temperature) for graph in visits}
    total = sum(weights.values())
    assert max(weights.values()) > 20 * min(weights.values())  # far from uniform
    distance = sum(abs(visits[graph] / n_draws - weight / total) for graph, weight in weights.items()) / 2
    assert distance < 0.015  # chains of this length and other seeds come to 0.006 to 0.009
