"""The thorough search: a local optimum, never below the climb, across barriers that a climb cannot cross."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.examples import examples
from helpers.whole_searches import Asked, greedy, random_problem, search_with, thorough
from oracles import family_scores as oracle
from oracles.all_dags import best_score


@given(st.integers(0, 2**20), st.integers(1, 5), st.booleans(), st.sampled_from([1, 6]), st.sampled_from([0, 2, 100]))
@examples(50)
def test_legal_repeatable_and_a_local_optimum(seed, n, knowledge, spread, tabu_length):
    asked = random_problem(seed, n, spread=spread, knowledge=knowledge)
    problem = asked.problem(tabu_length=tabu_length, permutation=np.random.default_rng(seed).permutation(n))
    result = search_with(thorough, problem, seed=seed)
    assert result.converged
    asked.check_legal(result.edges)
    assert result.score == asked.score(result.edges)
    assert result.score >= search_with(greedy, problem).score
    edges = [tuple(edge) for edge in result.edges.tolist()]
    options = {"required": asked.required, "allowed": asked.allowed, "max_indegree": asked.max_indegree}
    again = oracle.climb(n, asked.local_score, start=edges, bonus=asked.bonus, **options)
    assert asked.score(np.array(again).reshape(-1, 2)) == result.score, "a single move is left that improves"
    twice = search_with(thorough, problem, seed=seed)
    assert twice.edges.tolist() == result.edges.tolist()
    assert twice.n_iter == result.n_iter
    assert twice.history["score"].tolist() == result.history["score"].tolist()


def test_each_kept_graph_is_better_than_the_last():
    """But where the second climb begins again; the end is the best of all."""
    for seed in range(10):
        result = search_with(thorough, random_problem(seed, 5).problem())
        scores = result.history["score"]
        assert (np.diff(scores) <= 0).sum() <= 1
        assert result.score >= scores.max()


@pytest.mark.slow
def test_more_often_the_best_of_all_graphs_than_a_climb():
    found, climbed = 0, 0
    for seed in range(40):
        asked = random_problem(seed, 4)
        best = best_score(4, asked.local_score)
        found += search_with(thorough, asked.problem()).score == best
        climbed += search_with(greedy, asked.problem()).score == best
    assert found >= climbed + 8


A, B, C, D = range(4)


def barrier(child, parents):
    """C is decided by A and B together; B follows A; A follows D, and C a little.

    A climb takes A -> B, C -> A, D -> A; then B -> C would close a cycle, and deleting or reversing C -> A loses.
    Once C is out of the graph with its arcs, B -> C is the best arc to put it back, and A -> C the next one.
    """
    known = {
        B: {(): 0, (A,): 10},
        C: {(): 0, (A,): -1, (B,): 6, (A, B): 20},
        A: {(): 0, (C,): 8, (D,): 7, (C, D): 12},
        D: {(): 0},
    }[child]
    return known.get(parents, -20 * len(parents))


@pytest.mark.parametrize("names", [(0, 1, 2, 3), (3, 1, 0, 2), (2, 3, 1, 0)], ids=str)
def test_a_barrier_that_a_climb_cannot_cross(names):
    """Under any order of the variables."""

    def local_score(child, parents):
        return barrier(names[child], tuple(sorted(names[p] for p in parents)))

    asked = Asked(4, local_score)
    climbed = search_with(greedy, asked.problem())
    assert climbed.score == 22
    assert search_with(thorough, asked.problem()).score == best_score(4, local_score) == 37


def test_required_arcs_stay_when_their_nodes_are_taken_out():
    asked = Asked(4, barrier, start=((C, A),), required=((C, A),))
    result = search_with(thorough, asked.problem())
    assert (C, A) in {tuple(edge) for edge in result.edges.tolist()}
    assert result.score == best_score(4, barrier, required=[(C, A)])
