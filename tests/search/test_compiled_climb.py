"""Climbs in compiled code against the same moves made one by one, with rows of gains that threads share."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.coded_tables import SCORES, make_scorer, random_codes
from helpers.examples import examples
from pgmx._ext._row_cache import CachedScorer, RowStore
from pgmx.scores.gains import CachedSources, source_of_rows
from pgmx.search.dag.state import DagState

LEAST = 1e-4


def make_state(source, rng, tabu_length=5):
    n = source.n
    return DagState(source, n, priority=rng.permutation(n), max_indegree=3, least_gain=LEAST, tabu_length=tabu_length)


def climb_one_by_one(state, most):
    """Make the best moves from Python; return the scores and numbers of arcs after each."""
    scores, n_edges = [], []
    while len(scores) < most:
        move = state.moves.best()
        if move is None or move[3] < LEAST:
            if not state.moves.clear_tabu():
                break
            continue
        state.make(*move[:3])
        scores.append(state.score)
        n_edges.append(state.moves.n_edges)
    return scores, n_edges


def same_state(state, other):
    np.testing.assert_array_equal(state.edges(), other.edges())
    np.testing.assert_array_equal(state.gains, other.gains)
    np.testing.assert_array_equal(state.scores, other.scores)
    assert state.moves.best() == other.moves.best()


@pytest.mark.parametrize("score", SCORES)
@given(data=st.data())
@examples(20)
def test_as_one_by_one(score, data):
    seed = data.draw(st.integers(0, 2**20), label="seed")
    most = data.draw(st.sampled_from([0, 1, 3, 10_000]), label="most")
    rng = np.random.default_rng(seed)
    cards = rng.integers(2, 4, int(rng.integers(2, 8))).tolist()
    codes = random_codes(rng, cards, 200)
    store = RowStore(len(cards), int(rng.choice([1, 400, 1 << 20])))
    plain = make_state(make_scorer(codes, cards, score), np.random.default_rng(seed))
    cached = make_state(CachedScorer(make_scorer(codes, cards, score), store), np.random.default_rng(seed))
    for turn in range(3):
        on_record = (turn + seed) % 2 == 0
        cached.mark()
        before = cached.edges()
        scores, n_edges = climb_one_by_one(plain, most)
        recorded, n_recorded, n_made, left = [], [], 0, most
        while True:
            if on_record:
                values, counts, is_optimum = cached.climb_on_record(LEAST, left)
                recorded += values.tolist()
                n_recorded += counts.tolist()
                n_made += len(values)
            else:
                made, is_optimum = cached.climb(LEAST, left)
                n_made += made
            left = most - n_made
            if left == 0 or (is_optimum and not cached.moves.clear_tabu()):
                break
        assert n_made == len(scores)
        if on_record:
            assert recorded == scores  # to the last bit
            assert n_recorded == n_edges
        same_state(cached, plain)
        if turn == 1:  # and back again
            cached.undo()
            np.testing.assert_array_equal(cached.edges(), before)
            cached.reset(plain.edges())
            cached.moves.clear_tabu()
            plain.moves.clear_tabu()
        else:
            cached.accept()
        nodes = rng.choice(len(cards), size=2, replace=False).tolist()
        for state in (plain, cached):
            state.detach(nodes)
            state.moves.clear_tabu()
        same_state(cached, plain)


def test_rows_are_kept_and_the_oldest_dropped(rng):
    cards = [2, 3, 2, 4]
    codes = random_codes(rng, cards, 100)
    scorer = make_scorer(codes, cards, "bic")
    families = [
        (child, [u for u in range(4) if u != child and mask >> u & 1]) for child in range(4) for mask in range(16)
    ]
    for n_kept in (1, 3, 64):
        store = RowStore(4, 8 * 5 * n_kept)
        cached = CachedScorer(make_scorer(codes, cards, "bic"), store)
        for child, parents in [*families, *families[::-1], *families]:
            rows = np.zeros((2, 4, 4))
            ids = np.array(parents, dtype=np.int32)
            assert cached.rescore(child, ids, rows[0]) == scorer.rescore(child, ids, rows[1])
            np.testing.assert_array_equal(rows[0], rows[1])
        assert store.n_rows == min(n_kept, len({(child, tuple(parents)) for child, parents in families}))
        store.clear()
        assert store.n_rows == 0


def test_a_mask_forgets_the_rows(rng):
    codes = random_codes(rng, [2, 2, 2], 100)
    cached = CachedScorer(make_scorer(codes, [2, 2, 2], "bic"), RowStore(3, 1 << 20))
    gains, none = np.zeros((3, 3)), np.empty(0, dtype=np.int32)
    cached.rescore(0, none, gains)
    assert np.isfinite(gains[0, 1])
    allowed = np.ones((3, 3), dtype=np.uint8)
    allowed[0, 1] = 0
    cached.restrict(allowed)
    cached.rescore(0, none, gains)
    assert gains[0, 1] == -np.inf
    assert np.isfinite(gains[0, 2])


def test_threads_share_rows_and_copies_climb_alike(rng):
    cards = rng.integers(2, 4, 12).tolist()
    codes = random_codes(rng, cards, 500)
    sources = CachedSources(lambda: make_scorer(codes, cards, "bic"))
    state = make_state(sources(), rng)
    assert source_of_rows(state.source) is state.source.source
    make_copy = state.copy_maker(sources)
    state.make(0, 1, 2)  # the copies are of before

    def climb(_):
        mine = make_copy()
        assert mine.source.store is state.source.store
        while not mine.climb(LEAST, 10_000)[1] or mine.moves.clear_tabu():
            pass
        return mine

    with ThreadPoolExecutor(4) as pool:
        ends = list(pool.map(climb, range(12)))
    expected = make_state(make_scorer(codes, cards, "bic"), rng)
    expected.priority = state.priority
    expected.moves.set_priority(state.priority)
    climb_one_by_one(expected, 10_000)
    for end in ends:
        same_state(end, expected)
