"""Trials in compiled code and on threads against trials one by one: the same graphs, scores, moves and histories."""

import numpy as np
import pytest

from helpers.learning_tables import random_dag_table
from pgmx.datasets import load_network, sample
from pgmx.estimators import HillClimbSearch
from pgmx.parallel import threads
from pgmx.search.dag import reinsertion
from pgmx.search.dag.reinsertion import BlockTrials


def learn(table, **options):
    return HillClimbSearch(strategy="thorough", show_progress=False, **options).fit(table)


def same(one, other):
    np.testing.assert_array_equal(one.edges_, other.edges_)
    assert one.score_ == other.score_
    assert one.n_iter_ == other.n_iter_
    assert one.stopped_by_ == other.stopped_by_
    np.testing.assert_array_equal(one.history_["score"], other.history_["score"])
    np.testing.assert_array_equal(one.history_["n_edges"], other.history_["n_edges"])


@pytest.fixture
def one_by_one(monkeypatch):
    """Learn with trials from Python."""

    def fit(table, **options):
        with monkeypatch.context() as patch:
            patch.setattr(reinsertion, "BlockTrials", lambda *_: None)
            return learn(table, **options)

    return fit


@pytest.fixture
def always_threads(monkeypatch):
    """Let threads pay for any work, few rows in a call; count the calls on several threads."""
    monkeypatch.setattr(threads, "THREAD_PAYS", 1e-9)
    monkeypatch.setattr(reinsertion, "THREAD_PAYS", 0.0)
    n_states, make = [], BlockTrials._bring_up_to_date

    def count(self, n_copies):
        n_states.append(1 + n_copies)
        return make(self, n_copies)

    monkeypatch.setattr(BlockTrials, "_bring_up_to_date", count)
    return n_states


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("score", ["bic", "bdeu", "k2"])
def test_as_one_by_one(n_jobs, score, one_by_one, always_threads):
    for seed in range(4):
        table, options = random_dag_table(seed, 4 + 3 * seed), {"scoring_method": score, "random_state": seed}
        options |= {"tabu_length": [0, 100][seed % 2], "required_edges": [("v1", "v0")] if seed > 1 else None}
        same(learn(table, n_jobs=n_jobs, **options), one_by_one(table, **options))
    assert max(always_threads) == n_jobs


def test_a_limit_of_moves_ends_at_the_same_move(one_by_one, always_threads):
    table = random_dag_table(5, 9)
    n_moves = one_by_one(table).n_iter_
    for max_iter in np.unique(np.linspace(1, n_moves + 1, 30).astype(int)).tolist():
        expected = one_by_one(table, max_iter=max_iter)
        same(learn(table, max_iter=max_iter), expected)
        same(learn(table, max_iter=max_iter, n_jobs=2), expected)


def test_few_rows_at_once(one_by_one, always_threads, monkeypatch):
    monkeypatch.setattr(reinsertion, "_FIRST_ROWS", 1)
    monkeypatch.setattr(reinsertion, "_MOST_ROWS", 3)
    table = random_dag_table(6, 12)
    same(learn(table, n_jobs=2), one_by_one(table))


def test_a_real_network(one_by_one):
    table = sample(load_network("alarm"), 500, random_state=0)
    expected = one_by_one(table, scoring_method="bic")
    for n_jobs in (1, 2):
        same(learn(table, scoring_method="bic", n_jobs=n_jobs), expected)
