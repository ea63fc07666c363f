"""The state of a search: whatever was done to it, it is what a new state at the same graph would be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.climb_problems import arcs, integer_score
from helpers.coded_tables import SCORES, make_scorer, random_codes
from helpers.examples import examples
from helpers.move_queues import random_dag
from oracles.graphs import is_acyclic
from pgmx.scores.gains import FunctionGains, RowCache
from pgmx.search.dag.state import DagState, choose_candidates


def fresh(make_source, n, edges):
    """Return the gains and scores of a graph, each child scored once, in another order than a walk's."""
    source, gains, scores = make_source(), np.empty((n, n)), np.empty(n)
    source.start(gains, scores)
    for child in reversed(range(n)):
        parents = sorted(tail for tail, head in edges if head == child)
        if parents:
            scores[child] = source.rescore(child, np.array(parents, dtype=np.int32), gains)
    return gains, scores


def check(state, make_source, options):
    edges = [tuple(edge) for edge in state.edges().tolist()]
    assert is_acyclic(edges)
    gains, scores = fresh(make_source, state.n, edges)
    np.testing.assert_array_equal(state.gains, gains)
    np.testing.assert_array_equal(state.scores, scores)
    prior = options["offset"] + len(edges) * options["bonus"][0]
    assert state.prior == prior
    assert state.score == float(scores.sum()) + prior
    other = DagState(make_source(), state.n, **options)
    other.reset(arcs(edges))
    state.moves.clear_tabu()
    for mine, theirs in zip(state.moves.legal_moves(), other.moves.legal_moves(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert state.moves.best() == other.moves.best()


def climb_beside_single_moves(state, make_source, options, most_moves):
    """Climb, and make as many best moves one by one on another state at the same graph."""
    other = DagState(make_source(), state.n, **options)
    other.reset(state.edges())
    other.moves.bar_moves(state.moves.tabu_moves())
    n_moves, is_optimum = state.climb(0.5, most_moves)
    assert n_moves <= most_moves
    for _ in range(n_moves):
        op, tail, head, gain = other.moves.best()
        assert gain >= 0.5
        other.make(op, tail, head)
    np.testing.assert_array_equal(state.edges(), other.edges())
    best = other.moves.best()
    assert is_optimum == (best is None or best[3] < 0.5)


def stir(state, rng, make_source, options, n_steps):
    """Do anything that can be done to a state; after an `undo` the graph is that of the last `mark`."""
    marked = None
    for _ in range(n_steps):
        what = rng.integers(9)
        moves, gains = state.moves.legal_moves()
        moves = moves[gains > -np.inf]
        if what <= 2 and len(moves):
            state.make(*moves[rng.integers(len(moves))].tolist())
        elif what == 3:
            nodes = rng.choice(state.n, size=min(2, state.n), replace=False).tolist()
            before = {tuple(edge) for edge in state.edges().tolist()}
            keep = {edge for edge in before if rng.random() < 0.3}
            n_cut = state.detach(nodes, keep)
            after = {tuple(edge) for edge in state.edges().tolist()}
            assert after == {edge for edge in before if edge in keep or not set(edge) & set(nodes)}
            assert n_cut == len(before) - len(after)
        elif what == 4:
            state.reset(arcs(random_dag(rng, state.n, int(rng.integers(state.n + 1)))))
        elif what == 5:
            state.mark()
            marked = state.edges()
            assert state.ends_since_mark() == set()
        elif what == 6 and marked is not None:
            state.undo()
            np.testing.assert_array_equal(state.edges(), marked)
            marked = None
        elif what == 7:
            state.accept()
            marked = None
        elif what == 8:
            climb_beside_single_moves(state, make_source, options, most_moves=int(rng.integers(4)))
        if rng.random() < 0.5:
            check(state, make_source, options)
    check(state, make_source, options)


@st.composite
def options_of(draw, n, rng):
    return {
        "priority": rng.permutation(n),
        "max_indegree": n,
        "tabu_length": draw(st.sampled_from([0, 2, 50]), label="tabu_length"),
        "bonus": draw(st.sampled_from([(0.0, 0.0, 0.0), (-0.3, 0.3, 0.0), (1.7, -1.7, 0.0)]), label="bonus"),
        "offset": draw(st.sampled_from([0.0, -2.1]), label="offset"),
    }


@given(st.data())
@examples(80)
def test_integer_scores(data):
    seed = data.draw(st.integers(0, 2**20), label="seed")
    n = data.draw(st.integers(1, 6), label="n")
    rng = np.random.default_rng(seed)
    remember = data.draw(st.booleans(), label="remembered")

    def make_source():
        source = FunctionGains(n, integer_score(seed))
        return RowCache(source, memory=400) if remember else source

    options = data.draw(options_of(n, rng))
    stir(DagState(make_source(), n, **options), rng, make_source, options, 25)


@pytest.mark.parametrize("score", SCORES)
@given(data=st.data())
@examples(30)
def test_compiled_scores_bit_by_bit(score, data):
    seed = data.draw(st.integers(0, 2**20), label="seed")
    rng = np.random.default_rng(seed)
    cards = rng.integers(2, 5, int(rng.integers(2, 7))).tolist()
    codes = random_codes(rng, cards, int(rng.choice([50, 700])))
    options = data.draw(options_of(len(cards), rng))

    def make_source():
        return make_scorer(codes, cards, score)

    stir(DagState(make_source(), len(cards), **options), rng, make_source, options, 25)


def test_changed_names_the_ends_of_what_was_touched():
    state = DagState(FunctionGains(5, integer_score(1)), 5, priority=np.arange(5), max_indegree=5)
    state.make(0, 0, 1)
    state.mark()
    assert state.ends_since_mark() == set()
    state.make(2, 0, 1)
    state.make(0, 3, 4)
    assert state.ends_since_mark() == {0, 1, 3, 4}
    state.accept()
    assert state.ends_since_mark() == set()


def test_ties_turned_round():
    state = DagState(
        FunctionGains(3, lambda child, parents: float(len(parents))), 3, priority=np.array([1, 0, 2]), max_indegree=3
    )
    assert state.moves.best()[:3] == (0, 0, 1)
    state.reverse_ties()
    assert state.moves.best()[:3] == (0, 0, 2)
    state.reverse_ties()
    assert state.moves.best()[:3] == (0, 0, 1)


# ---- candidate parents ----


def slow_candidates(gains, priority, k):
    n = len(gains)
    chosen = set()
    for child in range(n):
        others = [u for u in range(n) if u != child and gains[child, u] > -np.inf]
        for u in sorted(others, key=lambda u: (-gains[child, u], priority[u]))[:k]:
            chosen |= {(child, u), (u, child)}
    return [[int((child, u) in chosen) for u in range(n)] for child in range(n)]


@given(st.integers(0, 2**20), st.integers(2, 7), st.integers(0, 6), st.sampled_from([0, 1, 5]))
@examples(200)
def test_candidate_parents(seed, n, k, spread):
    rng = np.random.default_rng(seed)
    gains = rng.integers(-spread, spread + 1, (n, n)).astype(float)
    gains[rng.random((n, n)) < 0.2] = -np.inf
    np.fill_diagonal(gains, -np.inf)
    priority = rng.permutation(n)
    allowed = choose_candidates(gains, priority, k)
    assert allowed.dtype == np.uint8
    assert allowed.tolist() == slow_candidates(gains, priority, k)


def test_a_state_offers_candidates_only_and_what_is_required(rng):
    n, k = 7, 2
    allowed = np.ones((n, n), dtype=np.uint8)
    allowed[3] = 0
    allowed[3, 6] = 1
    required = arcs([(6, 3), (0, 5)])

    def make_source():
        return FunctionGains(n, integer_score(8), allowed=allowed)

    gains, scores = np.empty((n, n)), np.empty(n)
    make_source().start(gains, scores)
    kept = np.array(slow_candidates(gains, np.arange(n), k))
    kept[required[:, 1], required[:, 0]] = 1
    kept &= gains > -np.inf
    state = DagState(make_source(), n, priority=np.arange(n), max_indegree=n, required=required, max_candidates=k)
    for _ in range(60):
        present = {tuple(edge) for edge in state.edges().tolist()}
        for child in range(n):
            for u in np.flatnonzero(state.gains[child] > -np.inf).tolist():
                assert kept[child, u]
        if {(6, 3), (0, 5)} - present:
            for tail, head in {(6, 3), (0, 5)} - present:
                if state.moves.is_legal(0, tail, head):
                    state.make(0, tail, head)
        moves, _ = state.moves.legal_moves()
        state.make(*moves[rng.integers(len(moves))].tolist())
    assert {(6, 3), (0, 5)} <= {tuple(edge) for edge in state.edges().tolist()}


@pytest.mark.parametrize("score", ["bic", "k2"])
def test_candidates_of_the_compiled_scorer_are_those_of_its_pair_scores(score, rng):
    cards = [2, 3, 2, 4, 2, 3, 2, 2]
    codes, n = random_codes(rng, cards, 400), 8
    scorer = make_scorer(codes, cards, score)
    gains, scores = np.empty((n, n)), np.empty(n)
    scorer.start(gains, scores)
    allowed = np.array(slow_candidates(gains, np.arange(n), 2), dtype=np.uint8)
    state = DagState(scorer, n, priority=np.arange(n), max_indegree=n, max_candidates=2)
    whole = make_scorer(codes, cards, score, allowed=allowed)
    for _ in range(30):
        for child in range(n):
            row = np.empty((n, n))
            whole.rescore(child, state.moves.parents_of(child), row)
            np.testing.assert_array_equal(state.gains[child], row[child])
        moves, _ = state.moves.legal_moves()
        state.make(*moves[rng.integers(len(moves))].tolist())


def test_a_climb_ends_early_where_the_source_was_asked():
    n_asked = 0

    class Counted(FunctionGains):
        def rescore(self, child, parents, gains):
            nonlocal n_asked
            n_asked += 1
            return super().rescore(child, parents, gains)

    state = DagState(
        RowCache(Counted(6, lambda child, parents: float(len(parents)))), 6, priority=np.arange(6), max_indegree=6
    )
    for i in range(15):
        n_asked = 0
        assert state.climb(1.0, 100) == (1, i == 14)
        assert n_asked == 1
    assert state.climb(1.0, 100) == (0, True)
    state.reset(arcs([]))
    n_asked = 0
    assert state.climb(1.0, 7) == (7, False)
    assert state.climb(1.0, 100) == (8, True)
    assert n_asked == 0


def test_an_error_of_the_source_leaves_a_state_that_can_go_back():
    class Interrupted(FunctionGains):
        is_broken = False

        def rescore(self, child, parents, gains):
            if self.is_broken:
                raise KeyboardInterrupt
            return super().rescore(child, parents, gains)

    source = Interrupted(5, integer_score(3))
    options = {"priority": np.arange(5), "max_indegree": 5, "offset": 0.0, "bonus": (0.0, 0.0, 0.0)}
    state = DagState(source, 5, **options)
    state.make(0, 0, 1)
    state.mark()
    source.is_broken = True
    with pytest.raises(KeyboardInterrupt):
        state.make(2, 0, 1)
    source.is_broken = False
    state.undo()
    check(state, lambda: FunctionGains(5, integer_score(3)), options)
