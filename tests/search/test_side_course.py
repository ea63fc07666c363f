"""Both optima of a thorough search at the same time: the results, histories and callbacks of one after the other."""

import threading

import numpy as np
import pytest

from helpers.learning_tables import random_dag_table
from pgmx.estimators import HillClimbSearch
from pgmx.search.dag import thorough


def learn(table, **options):
    return HillClimbSearch(**{"strategy": "thorough", "show_progress": False, **options}).fit(table)


def check_same(learner, other):
    assert learner.edges_.tolist() == other.edges_.tolist()
    assert (learner.score_, learner.n_iter_, learner.stopped_by_) == (other.score_, other.n_iter_, other.stopped_by_)
    assert learner.history_.keys() == other.history_.keys()
    for name in learner.history_.keys() - {"seconds"}:
        assert learner.history_[name].tolist() == other.history_[name].tolist()


class Calls:
    """A callback that keeps its arguments, and ends the run at the call of a number."""

    def __init__(self, last=None):
        self.last, self.seen, self.threads = last, [], set()

    def __call__(self, progress):
        self.threads.add(threading.get_ident())
        self.seen.append((progress.n_iter, progress.score, progress.n_edges))
        return len(self.seen) == self.last


@pytest.mark.parametrize("n_jobs", [2, 3])
@pytest.mark.parametrize(
    "options",
    [
        {"scoring_method": "bic"},
        {"scoring_method": "bdeu", "required_edges": [("v1", "v0")], "tabu_length": 5},
        {"scoring_method": "k2", "start_dag": "random", "max_candidates": 4},
        {"scoring_method": "bic", "n_restarts": 3, "patience": 4},
        {"scoring_method": "bic", "strategy": "best", "max_indegree": 2},
    ],
    ids=["bic", "knowledge", "candidates", "restarts", "best"],
)
def test_the_same_for_any_number_of_threads(options, n_jobs):
    for seed in range(3):
        table = random_dag_table(seed, 6 + 3 * seed)
        calls, others = Calls(), Calls()
        alone = learn(table, random_state=seed, callback=calls, **options)
        check_same(learn(table, random_state=seed, n_jobs=n_jobs, callback=others, **options), alone)
        assert others.seen == calls.seen
        assert others.threads == {threading.get_ident()}
        check_same(learn(table, random_state=seed, n_jobs=n_jobs, **options), alone)


@pytest.mark.slow
def test_limits_cut_where_they_would():
    table = random_dag_table(3, 9)
    whole = learn(table)
    for most in range(1, whole.n_iter_ + 2, 7):
        check_same(learn(table, max_iter=most, n_jobs=2), learn(table, max_iter=most))
    for last in range(1, len(whole.history_["score"]) + 1, 3):
        calls, others = Calls(last), Calls(last)
        check_same(learn(table, callback=others, n_jobs=2), learn(table, callback=calls))
        assert others.seen == calls.seen


def test_the_second_optimum_has_a_thread_of_its_own(monkeypatch):
    idents, search = [], thorough._Optima.search_second

    def note(*arguments):
        idents.append(threading.get_ident())
        search(*arguments)

    monkeypatch.setattr(thorough._Optima, "search_second", note)
    learn(random_dag_table(0, 6), n_jobs=2)
    assert len(idents) == 1 and idents[0] != threading.get_ident()


def test_what_fails_on_the_thread_is_raised(monkeypatch):
    def fail(*arguments):
        raise MemoryError("no memory for a second climb")

    monkeypatch.setattr(thorough._Optima, "search_second", fail)
    before = threading.active_count()
    with pytest.raises(MemoryError, match="second climb"):
        learn(random_dag_table(0, 6), n_jobs=2)
    assert threading.active_count() == before


@pytest.mark.filterwarnings("ignore:max_time=")
def test_the_clock_ends_both():
    before = threading.active_count()
    table = random_dag_table(1, 40, n_rows=2000)
    for max_time in (0.0, 0.005, 0.02, 0.05):
        learner = learn(table, n_jobs=2, max_time=max_time)
        assert learner.stopped_by_ in ("max_time", "converged")
        assert learner.score_ >= learner.history_["score"][:1].max(initial=-np.inf)
    assert threading.active_count() == before
