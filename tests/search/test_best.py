"""The search for the best score: never below its members, the optimum of few variables, resumed wherever it stopped."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.examples import examples
from helpers.learning_tables import dependent_frame, gaussian_frame
from helpers.whole_searches import best, random_problem, search_with, thorough
from pgmx.estimators import GreedyEquivalenceSearch, HillClimbSearch
from pgmx.search.dag.best import MEMBERS
from pgmx.search.dag.orders.kicks import OrderSearch, draw_order
from pgmx.search.dag.tracker import SearchTracker


@given(st.integers(0, 2**20), st.integers(1, 4), st.booleans())
@examples(6)
def test_legal_repeatable_and_never_below_thorough(seed, n, knowledge):
    asked = random_problem(seed, n, knowledge=knowledge)
    result = search_with(best, asked.problem(), seed=seed)
    assert result.converged
    asked.check_legal(result.edges)
    assert result.score == asked.score(result.edges)
    assert result.score >= search_with(thorough, asked.problem(), seed=seed).score
    again = search_with(best, asked.problem(), seed=seed)
    assert again.edges.tolist() == result.edges.tolist()
    assert (again.n_iter, again.score) == (result.n_iter, result.score)


@pytest.mark.parametrize("data", [dependent_frame(0), gaussian_frame(0)], ids=["discrete", "gaussian"])
def test_members_of_the_learner(data):
    learners = [HillClimbSearch(strategy=name).fit(data) for name in ("thorough", "best")]
    assert learners[1].score_ >= learners[0].score_ - 1e-9
    assert learners[1].score_ >= GreedyEquivalenceSearch().fit(data).score_ - 1e-9
    assert learners[1].history_["score"].max() == pytest.approx(learners[1].score_, rel=1e-12)
    members = learners[1].history_["member"]
    assert members[0] == "greedy"
    assert set(members) <= set(MEMBERS)
    assert len(members) == len(learners[1].history_["score"])
    assert learners[1].history_["score"][-1] <= learners[1].score_  # the last climb continues past the optimum
    assert "member" not in learners[0].history_


def test_knowledge_and_limits():
    data = dependent_frame(1, 300, 5)
    options = {"required_edges": [("e", "a")], "forbidden_edges": [("a", "b")], "tiers": [list("ed"), list("cba")]}
    learner = HillClimbSearch(strategy="best", max_indegree=2, return_type="dag", **options).fit(data)
    assert ("e", "a") in learner.graph_.edges
    assert ("a", "b") not in learner.graph_.edges
    assert not any(tail in "cba" and head in "ed" for tail, head in learner.graph_.edges)
    assert max(dict(learner.graph_.in_degree).values()) <= 2
    short = HillClimbSearch(strategy="best", max_iter=learner.n_iter_ // 2, max_indegree=2, **options).fit(data)
    assert short.n_iter_ <= learner.n_iter_ // 2
    assert short.stopped_by_ == "max_iter"
    scores = [HillClimbSearch(strategy="best", n_jobs=n_jobs).fit(data).edges_.tolist() for n_jobs in (1, 2)]
    assert np.array_equal(*scores)


def count_kicks(asked, *, starts, patience=20):
    """Run starts of one search over orders; return the kicks of each and the best score."""
    problem = asked.problem()
    state, tracker = problem.make_state(), SearchTracker(problem.limits)
    tracker.set_best(state)
    tracker.keep_best(state)
    orders = OrderSearch(state, tracker, required=problem.required, seed=0)
    required = problem.required
    kicks = [orders.search(draw_order(asked.n, required, 0, i), i, patience=patience) for i in range(starts)]
    return kicks, tracker.best_score


def test_kicks_end_where_they_cost_too_much(monkeypatch):
    asked = random_problem(1, 5)
    kicks, score = count_kicks(asked, starts=4)
    assert min(kicks) >= 20
    monkeypatch.setattr("pgmx.search.dag.orders.kicks.MOST_ROWS", 0)
    none, lower = count_kicks(asked, starts=4)
    assert none == [0, 0, 0, 0]
    assert lower <= score
    learner = HillClimbSearch(strategy="best").fit(dependent_frame(0))
    assert learner.converged_
    assert learner.score_ >= HillClimbSearch(strategy="thorough").fit(dependent_frame(0)).score_
