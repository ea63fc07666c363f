"""Searches from random orders on threads: the result, the history and the limits of one after the other."""

import threading
from functools import partial

import numpy as np
import pandas as pd
import pytest

from helpers.learning_tables import gaussian_frame, mixed_frame
from pgmx.estimators import HillClimbSearch
from pgmx.search.dag.orders import kicks as orders


def make_states(n=9, n_rows=400, seed=0):
    rng = np.random.default_rng([seed, 41])
    columns = []
    for v in range(n):
        parents = [columns[u] for u in rng.permutation(v)[:2]]
        noise = rng.integers(0, 2 + v % 2, n_rows)
        columns.append(np.where(rng.random(n_rows) < 0.7, sum(parents) % (2 + v % 2) if parents else noise, noise))
    return pd.DataFrame({f"v{i}": columns[u] for i, u in enumerate(rng.permutation(n))})


@pytest.fixture
def idents(monkeypatch):
    """Begin threads at once; the list of those that searched from an order."""
    idents = []
    draw = orders.draw_order
    monkeypatch.setattr(orders, "draw_order", lambda *a: idents.append(threading.get_ident()) or draw(*a))
    monkeypatch.setattr("pgmx.parallel.threads.GRACE", 0.0)
    monkeypatch.setattr("pgmx.search.dag.best.finish_exactly", lambda *arguments: False)
    return idents


def learn(data, **options):
    return HillClimbSearch(strategy="best", show_progress=False, **options).fit(data)


def ends_after(n_calls, seen, progress):
    seen.append(progress)
    return len(seen) == n_calls


def check_same(learner, other):
    assert learner.edges_.tolist() == other.edges_.tolist()
    assert (learner.score_, learner.n_iter_, learner.stopped_by_) == (other.score_, other.n_iter_, other.stopped_by_)
    for name in ("score", "n_edges", "member"):
        assert learner.history_[name].tolist() == other.history_[name].tolist()


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (make_states(), {"scoring_method": "bdeu"}),
        (make_states(seed=1), {"scoring_method": "bic", "max_indegree": 2, "required_edges": [("v3", "v0")]}),
        (make_states(seed=2), {"max_candidates": 3, "root_nodes": ["v1", "v4"]}),
        (gaussian_frame(0), {"scoring_method": "bic-g"}),
        (gaussian_frame(1), {"scoring_method": "bge"}),
        (mixed_frame(0), {"scoring_method": "bic-clg"}),
    ],
    ids=["bdeu", "knowledge", "candidates", "bic-g", "bge", "bic-clg"],
)
def test_the_same_for_any_number_of_threads(data, options, idents):
    alone = learn(data, n_jobs=1, **options)
    assert not idents
    for n_jobs in (2, 3):
        check_same(learn(data, n_jobs=n_jobs, **options), alone)
    # rows of bic-clg hold Python's lock, and the order search of bic-g uses one thread
    assert len(idents) == (8 if options.get("scoring_method") not in ("bic-clg", "bic-g") else 0)


def test_further_threads_take_starts(idents):
    data = make_states(14, 2000)
    check_same(learn(data, n_jobs=3), learn(data, n_jobs=1))
    assert len(set(idents)) > 1


@pytest.mark.slow
def test_limits_cut_where_they_would(idents):
    data = make_states()
    whole = learn(data)
    for most in np.linspace(1, whole.n_iter_, 6, dtype=int).tolist():
        check_same(learn(data, n_jobs=2, max_iter=most), learn(data, max_iter=most))
    rows = whole.history_["score"]
    for end in range(1, len(rows), 10):
        learners = []
        for n_jobs in (1, 2):
            learners.append(learn(data, n_jobs=n_jobs, callback=partial(ends_after, end, [])))
        check_same(*learners)


def test_few_kicks_are_left_to_the_first_starts(idents, monkeypatch):
    data, again = make_states(12, seed=4), False
    for most in (0, 2_000, 10_000, 30_000, 60_000):
        monkeypatch.setattr("pgmx.search.dag.orders.kicks.MOST_ROWS", most)
        idents.clear()
        check_same(learn(data, n_jobs=2), learn(data, n_jobs=1))
        again |= len(idents) > 4
    assert again  # a start that had made more kicks than were left


def test_what_fails_on_a_thread_is_raised(idents, monkeypatch):
    real = orders.OrderSearch

    def fail(state, tracker, **options):
        if threading.current_thread() is not threading.main_thread():
            raise MemoryError("no memory for a further search")
        return real(state, tracker, **options)

    monkeypatch.setattr(orders, "OrderSearch", fail)
    data = make_states(14, 2000)
    with pytest.raises(MemoryError, match="further search"):
        for _ in range(20):  # until a thread was given a start
            learn(data, n_jobs=2)


@pytest.mark.filterwarnings("ignore:max_time=")
def test_the_clock_ends_all_threads(idents):
    data = make_states(14, 2000, seed=3)
    whole = learn(data)
    before = set(threading.enumerate())
    learner = learn(data, n_jobs=2, max_time=0.02)
    assert learner.score_ <= whole.score_ + 1e-9
    assert learner.stopped_by_ in ("max_time", "converged")
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
        assert not thread.is_alive()
