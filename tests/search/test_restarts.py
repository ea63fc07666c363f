"""Random restarts: never below the optimum they begin from, the same for any number of workers."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joblib import parallel_config

from helpers.examples import examples
from helpers.whole_searches import greedy, random_problem, restarted, search_with
from oracles.all_dags import best_score
from pgmx.search.dag.restarts import perturb
from pgmx.search.dag.tracker import SearchTracker


def same(one, other):
    assert one.edges.tolist() == other.edges.tolist()
    assert one.score == other.score
    assert one.n_iter == other.n_iter
    assert one.history["score"].tolist() == other.history["score"].tolist()
    assert one.converged == other.converged


@given(st.integers(0, 2**20), st.integers(1, 5), st.booleans(), st.integers(1, 12))
@examples(50)
def test_legal_and_never_lower(seed, n, knowledge, n_moves):
    asked = random_problem(seed, n, knowledge=knowledge)
    result = search_with(restarted, asked.problem(), seed=seed, n_moves=n_moves)
    asked.check_legal(result.edges)
    assert result.score == asked.score(result.edges)
    climbed = search_with(greedy, asked.problem())
    assert result.score >= climbed.score
    scores, n_climbed = result.history["score"].tolist(), climbed.n_iter
    assert scores[:n_climbed] == climbed.history["score"].tolist()
    assert [climbed.score, *scores[n_climbed:]] == sorted({climbed.score, *scores[n_climbed:]})  # each better one
    assert result.score == max([climbed.score, *scores])
    same(search_with(restarted, asked.problem(), seed=seed, n_moves=n_moves), result)


@pytest.mark.slow
def test_many_restarts_find_the_best_of_all_graphs():
    for seed in range(10):
        asked = random_problem(seed, 4)
        result = search_with(restarted, asked.problem(), n_restarts=100, n_moves=4)
        assert result.score == best_score(4, asked.local_score)


def test_more_restarts_are_never_worse():
    for seed in range(5):
        problem = random_problem(seed, 5).problem()
        scores = [search_with(restarted, problem, n_restarts=k).score for k in (0, 1, 3, 9, 20)]
        assert scores == sorted(scores)


@pytest.mark.parametrize("max_iter", [5000, 3, 17, 40, 90])
def test_any_number_of_threads(max_iter):
    """A limit of moves cuts at the same move, whichever thread would have made it."""
    for seed in range(6):
        problem = random_problem(seed, 5, knowledge=seed % 2 == 0).problem(max_iter=max_iter)
        one, *others = (search_with(restarted, problem, n_restarts=17, n_jobs=n_jobs) for n_jobs in (1, 2, 3, None))
        for other in others:
            same(one, other)


@pytest.mark.slow
def test_processes():
    problem = random_problem(4, 5).problem()
    expected = search_with(restarted, problem, n_restarts=9)
    with parallel_config(backend="loky", n_jobs=2):
        same(search_with(restarted, problem, n_restarts=9, n_jobs=None), expected)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_prior_of_the_graph_without_arcs_counts_in_every_worker(n_jobs):
    asked = random_problem(6, 5)._replace(bonus=(-0.3, 0.3, 0.0))
    problem = asked.problem()
    plain = search_with(restarted, problem, n_restarts=9, n_jobs=n_jobs)
    lifted = search_with(
        restarted, problem.__class__(**{**vars(problem), "offset": -100.0}), n_restarts=9, n_jobs=n_jobs
    )
    assert lifted.edges.tolist() == plain.edges.tolist()
    assert lifted.score == pytest.approx(plain.score - 100.0, rel=1e-12)


def test_no_time_left_for_them():
    result = search_with(restarted, random_problem(4, 5).problem(), n_restarts=9, max_time=0)
    assert (result.n_iter, result.stopped_by) == (0, "max_time")


# ---- what moves away from the optimum ----


def perturbed_state(problem, n_moves, seed):
    state, tracker = problem.make_state(), SearchTracker(problem.limits)
    tracker.set_best(state)
    perturb(state, tracker, n_moves, np.random.default_rng(seed))
    return state, tracker


@given(st.integers(0, 2**20), st.integers(1, 6), st.booleans(), st.integers(0, 15))
@examples(60)
def test_shaking_makes_legal_moves(seed, n, knowledge, n_moves):
    asked = random_problem(seed, n, knowledge=knowledge)
    state, tracker = perturbed_state(asked.problem(tabu_length=0, all_moves=True), n_moves, seed)
    asked.check_legal(state.edges())
    assert tracker.n_iter <= n_moves
    if n > 1 and not knowledge:
        assert tracker.n_iter == n_moves


def test_shaking_reaches_all_graphs():
    problem = partial(random_problem, 1, 3)().problem(tabu_length=0, all_moves=True)
    assert len({tuple(map(tuple, perturbed_state(problem, 9, seed)[0].edges().tolist())) for seed in range(400)}) == 25


def test_shaking_keeps_out_of_families_without_a_score():
    def local_score(child, parents):
        return -np.inf if (child, parents) == (1, (0,)) else -0.1 * len(parents)

    problem = random_problem(0, 3)._replace(local_score=local_score).problem(tabu_length=0, all_moves=True)
    for seed in range(100):
        state, _ = perturbed_state(problem, 9, seed)
        assert np.isfinite(state.score)
