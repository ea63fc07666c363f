"""Simulated annealing: legal, repeatable, cold at the end, and right where all graphs can be tried."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.climb_problems import integer_score
from helpers.examples import examples
from helpers.whole_searches import annealed, greedy, random_problem, search_with
from oracles.all_dags import best_score
from pgmx.scores.gains import FunctionGains
from pgmx.search.dag.annealing import N_LEVELS, anneal, choose_temperature
from pgmx.search.dag.state import DagState
from pgmx.search.dag.tracker import SearchTracker


@given(st.integers(0, 2**20), st.integers(1, 5), st.booleans(), st.integers(0, 50))
@examples(60)
def test_legal_and_rightly_scored(seed, n, knowledge, draw_seed):
    asked = random_problem(seed, n, knowledge=knowledge)
    problem = asked.problem(all_moves=True, tabu_length=0)
    result = search_with(annealed, problem, seed=draw_seed, n_draws=150)
    asked.check_legal(result.edges)
    assert result.score == asked.score(result.edges)
    assert result.score == max([asked.score(problem.start), *result.history["score"]])
    assert result.n_iter == len(result.history["score"])
    again = search_with(annealed, problem, seed=draw_seed, n_draws=150)
    assert again.history["score"].tolist() == result.history["score"].tolist()
    assert again.edges.tolist() == result.edges.tolist()


@pytest.mark.parametrize("knowledge", [False, True])
@pytest.mark.slow
def test_finds_the_best_of_all_graphs(knowledge):
    for seed in range(12):
        asked = random_problem(seed, 4, knowledge=knowledge)._replace(start=(), required=())
        problem = asked.problem(all_moves=True, tabu_length=0)
        best = best_score(
            4,
            asked.local_score,
            allowed=asked.allowed,
            max_indegree=asked.max_indegree,
            price=-asked.bonus[0],
        )
        assert search_with(annealed, problem, seed=seed, n_draws=4000).score == best


def test_seeds_differ():
    problem = random_problem(1, 5).problem(all_moves=True, tabu_length=0)
    runs = {tuple(search_with(annealed, problem, seed=seed).history["score"]) for seed in range(4)}
    assert len(runs) == 4


def test_without_draws_it_is_a_climb():
    problem = random_problem(2, 5).problem(all_moves=True, tabu_length=0)
    one, other = search_with(annealed, problem, n_draws=0), search_with(greedy, problem)
    assert one.edges.tolist() == other.edges.tolist()
    assert one.history["score"].tolist() == other.history["score"].tolist()


def annealed_state(problem, **options):
    state = problem.make_state()
    tracker = SearchTracker(problem.limits)
    tracker.set_best(state)
    anneal(state, tracker, seed=5, **options)
    return tracker.run.history["score"]


def test_cold_no_move_loses_and_hot_every_second_does():
    problem = random_problem(3, 5).problem(all_moves=True, tabu_length=0)
    cold = annealed_state(problem, n_draws=3000, initial_temperature=1e-6, final_temperature=1e-6)
    assert (np.diff(cold) >= 0).all()
    hot = annealed_state(problem, n_draws=3000, initial_temperature=1e6, final_temperature=1e6)
    assert 0.3 < (np.diff(hot) < 0).mean() < 0.7
    assert len(hot) > 1500  # nearly all legal moves are accepted


def test_it_grows_colder():
    problem = random_problem(4, 5).problem(all_moves=True, tabu_length=0)
    scores = annealed_state(problem, n_draws=6000, initial_temperature=50.0, final_temperature=0.01)
    quarter = len(scores) // 4
    assert scores[:quarter].mean() < scores[-quarter:].mean()
    assert scores[-1] > scores[:quarter].max() - 3


@pytest.mark.parametrize("n_draws", [1, 7, 99, 100, 101, 250])
def test_all_draws_are_made(n_draws, monkeypatch):
    """Any number of draws is shared out over the levels, the temperatures falling by one factor."""
    problem = random_problem(5, 4).problem(all_moves=True, tabu_length=0)
    state, asked = problem.make_state(), []

    class Watched:
        def draw(self, temperature, n_draws, word):
            asked.append((temperature, n_draws))
            return -1, -1, -1, 0.0, n_draws

    state.moves = Watched()
    anneal(
        state, SearchTracker(problem.limits), seed=0, n_draws=n_draws, initial_temperature=8.0, final_temperature=2.0
    )
    assert sum(draws for _, draws in asked) == n_draws
    assert max(draws for _, draws in asked) <= -(-n_draws // N_LEVELS)
    temperatures = [temperature for temperature, _ in asked]
    assert temperatures == sorted(temperatures, reverse=True)
    if n_draws >= N_LEVELS:
        assert (temperatures[0], temperatures[-1]) == pytest.approx((8.0, 2.0))
        np.testing.assert_allclose(np.diff(np.log(temperatures)), np.log(0.25) / (N_LEVELS - 1))


def test_usual_temperature():
    def state(n, allowed=None):
        source = FunctionGains(n, integer_score(3), allowed=allowed)
        return DagState(source, n, priority=np.arange(n), max_indegree=n)

    for n in (1, 2, 6):
        first = state(n)
        before, best = choose_temperature(first), first.gains.max(axis=1)
        assert before == max(0.1 * np.median(best), 1.0)
        for _ in range(3):
            move = first.moves.best()
            if move is not None:
                first.make(*move[:3])
        assert choose_temperature(first) == before
    assert choose_temperature(state(3, np.zeros((3, 3), dtype=np.uint8))) == 1.0
