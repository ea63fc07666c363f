"""Climbs whose rows of gains are prefetched by other threads, against the same climb on one thread."""

import threading
from time import monotonic, sleep

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from helpers.coded_tables import SCORES, make_scorer, random_codes
from helpers.examples import examples
from pgmx._ext._row_cache import CachedScorer, RowsAhead, RowStore
from pgmx.data import encode
from pgmx.datasets import load_network, sample
from pgmx.estimators import HillClimbSearch
from pgmx.parallel import threads
from pgmx.parallel.threads import count_helpers, help_on_threads
from pgmx.scores import gains
from pgmx.search.dag.state import DagState

LEAST = 1e-4


@pytest.fixture(scope="module")
def table():
    return encode(sample(load_network("alarm"), 2000, random_state=0))


@pytest.fixture
def always(monkeypatch):
    """Let threads help wherever they may; return the threads of each time that they did."""
    monkeypatch.setattr(threads, "HELPER_CALL", 0.0)
    monkeypatch.setattr(threads, "HELPER_PAYS", 0.0)
    began = []

    class Recorded(RowsAhead):
        def __init__(self, store, n_threads):
            began.append(n_threads)

    monkeypatch.setattr(gains, "RowsAhead", Recorded)
    return began


def make_state(source, seed):
    priority = np.random.default_rng(seed).permutation(source.n)
    return DagState(source, source.n, priority=priority, max_indegree=3, least_gain=LEAST, tabu_length=5)


def climb(state):
    n_moves = 0
    while True:
        made, is_optimum = state.climb(LEAST, 7)
        n_moves += made
        if is_optimum and not state.moves.clear_tabu():
            return n_moves


@pytest.mark.parametrize("score", SCORES)
@given(seed=st.integers(0, 2**20), n_threads=st.integers(2, 4), memory=st.sampled_from([1, 400, 1 << 20]))
@examples(10)
def test_as_on_one_thread(score, seed, n_threads, memory):
    rng = np.random.default_rng(seed)
    cards = rng.integers(2, 4, int(rng.integers(2, 12))).tolist()
    codes = random_codes(rng, cards, 200)
    plain = make_state(make_scorer(codes, cards, score), seed)
    source = CachedScorer(make_scorer(codes, cards, score), RowStore(len(cards), memory))
    helped = make_state(source, seed)
    ahead = RowsAhead(source.store, n_threads)
    assert source.follow(ahead)
    with help_on_threads(lambda i: ahead.serve(i, make_scorer(codes, cards, score)), ahead.close, n_threads - 1):
        for _ in range(2):
            assert climb(helped) == climb(plain)
            for state in (plain, helped):
                state.detach([0])
                state.reverse_ties()
    source.follow(None)
    np.testing.assert_array_equal(helped.edges(), plain.edges())
    np.testing.assert_array_equal(helped.gains, plain.gains)
    np.testing.assert_array_equal(helped.scores, plain.scores)


@pytest.mark.parametrize(
    "options",
    [{}, {"max_candidates": 6}, {"n_restarts": 3}, {"strategy": "thorough"}, {"max_iter": 17}, {"max_indegree": 2}],
    ids=str,
)
def test_learner(table, always, options):
    before = threading.active_count()
    one, two = (
        HillClimbSearch(scoring_method="bic", show_progress=False, n_jobs=n_jobs, **options).fit(table)
        for n_jobs in (1, 2)
    )
    assert one.score_ == two.score_ and one.n_iter_ == two.n_iter_ and one.stopped_by_ == two.stopped_by_
    np.testing.assert_array_equal(one.edges_, two.edges_)
    np.testing.assert_array_equal(one.history_["score"], two.history_["score"])
    if options.get("strategy"):  # both threads of the thorough search climb, or one after the other on a slow machine
        assert always in ([], [2])
    else:
        assert always == [2]
    assert threading.active_count() <= before


def test_threads_compute_what_the_climb_needs(table):
    codes, cards = table.codes, table.cardinalities
    source = CachedScorer(make_scorer(codes, cards, "bic"), RowStore(len(cards), 1 << 24))
    state = make_state(source, 0)
    ahead = RowsAhead(source.store, 2)
    source.follow(ahead)
    with help_on_threads(lambda i: ahead.serve(i, make_scorer(codes, cards, "bic")), ahead.close, 1):
        assert state.climb(LEAST, 1) == (1, False)
        ends = monotonic() + 60
        while source.store.n_rows < 10 and monotonic() < ends:
            sleep(0.001)
    n_ahead = source.store.n_rows - source.n_asked
    assert n_ahead >= 8
    source.follow(None)
    n_moves = climb(state)
    assert source.n_asked <= 2 + n_moves - 0.8 * n_ahead


def test_climb_goes_on_alone_where_a_thread_is_short_of_memory(table, always, monkeypatch):
    def fail(self):
        raise MemoryError

    plain = HillClimbSearch(scoring_method="bic", show_progress=False).fit(table)
    monkeypatch.setattr(gains.RowPrefetcher, "_make_rows", fail)
    alone = HillClimbSearch(scoring_method="bic", show_progress=False, n_jobs=3).fit(table)
    assert always == [3] and alone.score_ == plain.score_
    np.testing.assert_array_equal(alone.edges_, plain.edges_)


def test_other_errors_of_a_thread_are_raised(table, always, monkeypatch):
    before = threading.active_count()

    def fail(self):
        raise RuntimeError("no source")

    monkeypatch.setattr(gains.RowPrefetcher, "_make_rows", fail)
    with pytest.raises(RuntimeError, match="no source"):
        HillClimbSearch(scoring_method="bic", show_progress=False, n_jobs=2).fit(table)
    assert threading.active_count() <= before


def test_limits_and_callback(table, always):
    with pytest.warns(ConvergenceWarning):
        ended = HillClimbSearch(scoring_method="bic", show_progress=False, max_time=0, n_jobs=2).fit(table)
    assert ended.stopped_by_ == "max_time" and always == []
    calls = []
    called = HillClimbSearch(scoring_method="bic", show_progress=False, callback=calls.append, n_jobs=2).fit(table)
    assert len(calls) == called.n_iter_ and always == []


def test_threads_pay_for_long_rows_alone():
    assert count_helpers(2, 1000, 1e-4) == 1 and count_helpers(16, 1000, 1e-4) == 3
    assert count_helpers(1, 1000, 1e-4) == count_helpers(2, 10, 1e-4) == count_helpers(2, 10**6, 1e-5) == 0
