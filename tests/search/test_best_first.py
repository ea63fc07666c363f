"""Best-first search against a slow twin that keeps a plain list of graphs."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from helpers.examples import examples
from helpers.whole_searches import best_firsts, random_problem, search_with
from oracles.all_dags import best_score
from oracles.best_first import best_first as slow_best_first


@given(
    st.integers(0, 2**20),
    st.integers(1, 4),
    st.booleans(),
    st.sampled_from([1, 6]),
    st.sampled_from([1, 3, 100]),
    st.sampled_from([0, 2, 9]),
    st.sampled_from([1, 4, 50]),
)
@examples(80)
def test_same_graphs_in_the_same_order(seed, n, knowledge, spread, width, patience, max_open):
    asked = random_problem(seed, n, spread=spread, knowledge=knowledge)
    problem = asked.problem(all_moves=True, permutation=np.random.default_rng(seed).permutation(n))
    edges, seen = slow_best_first(
        n,
        asked.local_score,
        width=width,
        patience=patience,
        max_open=max_open,
        priority=problem.make_state().priority.tolist(),
        start=asked.start,
        required=asked.required,
        allowed=asked.allowed,
        max_indegree=asked.max_indegree,
        price=-asked.bonus[0],
    )
    result = search_with(best_firsts, problem, width=width, patience=patience, max_open=max_open)
    assert result.history["score"].tolist() == seen
    assert sorted(map(tuple, result.edges.tolist())) == edges
    assert result.score == asked.score(result.edges) == max(seen)
    assert result.n_iter == len(seen)
    assert result.converged
    asked.check_legal(result.edges)


@given(st.integers(0, 2**20), st.integers(1, 3))
@examples(25)
def test_with_room_and_patience_all_graphs_are_tried(seed, n):
    asked = random_problem(seed, n)
    options = {"width": 100, "patience": 1000, "max_open": 1000}
    result = search_with(best_firsts, asked.problem(all_moves=True), **options)
    assert result.n_iter == (1, 3, 25)[n - 1]
    assert result.score == best_score(n, asked.local_score)


def test_goes_on_where_a_climb_ends():
    gained = []
    for seed in range(20):
        problem = random_problem(seed, 4).problem(all_moves=True)
        one, other = (search_with(best_firsts, problem, width=5, patience=most, max_open=99) for most in (1, 60))
        gained.append(other.score - one.score)
    assert min(gained) >= 0
    assert max(gained) > 0


def test_a_family_without_a_score_is_never_entered():
    """Deleting an arc may lead to minus infinity: such graphs do not wait."""

    def local_score(child, parents):
        return -np.inf if (child, parents) == (1, (0,)) else -1.0 - 0.1 * len(parents) + (parents == (0, 2))

    asked = random_problem(0, 3)._replace(local_score=local_score)
    result = search_with(best_firsts, asked.problem(all_moves=True), width=50, patience=100, max_open=99)
    assert np.isfinite(result.history["score"]).all()
    assert result.score == best_score(3, local_score)
