"""The climb against a slow one that scores every neighbour; patience; gains from a function and compiled ones."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helpers.bare_climb import hill_climb
from helpers.climb_problems import arcs, climb_integers, graph_score, integer_score, limits, problems
from helpers.coded_tables import SCORES, make_scorer, random_codes
from helpers.examples import examples
from oracles import family_scores as oracle
from oracles.graphs import is_acyclic
from pgmx.scores.gains import FunctionGains


@given(problems())
@examples(300)
def test_same_edges_as_the_slow_climb(problem):
    """Exact scores, so that ties are exact too and both must break them alike."""
    n, local_score, options = problem
    expected = oracle.climb(n, local_score, **options)
    result = hill_climb(
        FunctionGains(n, local_score, allowed=options["allowed"], max_indegree=options["max_indegree"]),
        n,
        limits(n, tabu_length=options["tabu_length"], max_indegree=options["max_indegree"]),
        priority=options["priority"],
        start=arcs(options["start"]),
        required=arcs(options["required"]),
        bonus=options["bonus"],
    )
    edges = [tuple(edge) for edge in result.edges.tolist()]
    assert sorted(edges) == expected
    assert edges == sorted(edges, key=lambda edge: (edge[1], edge[0]))
    assert result.converged
    n_added = len(edges) - len(options["start"])
    assert result.score == graph_score(local_score, n, edges) + options["bonus"][0] * n_added
    assert result.n_iter == len(result.history["score"])


def is_plain_tie(tied, edges):
    """Opposite arcs between two variables without parents: the compiled scorer gives them one and the same number."""
    heads = {head for _, head in edges}
    (first, (a, b)), (second, other) = tied
    return first == second == "add" and other == (b, a) and not heads & {a, b}


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("ordered", [False, True])
def test_same_graph_as_the_slow_climb_on_data(score, ordered, seed):
    """Where no two moves tie but by symmetry, the edges are the same; otherwise the end is a local optimum."""
    rng = np.random.default_rng([seed, 5])
    compared = 0
    for trial in range(12):
        n = int(rng.integers(2, 6))
        cards = rng.integers(2, 4, n).tolist()
        codes = random_codes(rng, cards, int(rng.choice([40, 200, 1000])))
        priority = rng.permutation(n)
        allowed = np.tril(np.ones((n, n), dtype=np.uint8), -1) if ordered else None
        start = [(0, 1)] if trial % 2 else []
        tabu_length = (0, 1, 100)[trial % 3]
        choices = []
        expected = oracle.hill_climb(
            codes,
            cards,
            score,
            allowed=allowed,
            start=start,
            priority=priority,
            tabu_length=tabu_length,
            choices=choices,
        )
        result = hill_climb(
            make_scorer(codes, cards, score, allowed=allowed),
            n,
            limits(n, tabu_length=tabu_length),
            priority=priority,
            start=arcs(start),
        )
        edges = [tuple(edge) for edge in result.edges.tolist()]
        np.testing.assert_allclose(result.score, oracle.dag_score(codes, cards, edges, score), rtol=1e-10)
        if all(len(tied) == 1 or (len(tied) == 2 and is_plain_tie(tied, seen)) for tied, seen in choices):
            compared += 1
            np.testing.assert_allclose(result.score, oracle.dag_score(codes, cards, expected, score), rtol=1e-10)
            assert sorted(edges) == expected
        again = oracle.hill_climb(codes, cards, score, allowed=allowed, start=edges, priority=priority)
        assert again == sorted(edges), "a move is left that improves"
    assert compared >= 4


@pytest.mark.parametrize("score", SCORES)
def test_function_and_compiled_gains_lead_to_the_same_graph(score, rng):
    cards, n = [3, 2, 4, 3, 2, 2], 6
    codes = random_codes(rng, cards, 600)
    allowed = np.tril(np.ones((n, n), dtype=np.uint8), -1)  # an order of the variables: no two moves tie
    compiled = make_scorer(codes, cards, score, allowed=allowed)
    scorer = make_scorer(codes, cards, score, pairs=False)
    source = FunctionGains(
        n, lambda child, parents: scorer.family_score(child, np.array(parents, dtype=np.int32)), allowed=allowed
    )
    priority = rng.permutation(n)
    a, b = (hill_climb(gains, n, limits(n), priority=priority) for gains in (compiled, source))
    assert a.edges.tolist() == b.edges.tolist()
    assert (a.n_iter, a.converged) == (b.n_iter, b.converged)
    np.testing.assert_allclose(a.score, b.score, rtol=1e-10)
    np.testing.assert_allclose(a.history["score"], b.history["score"], rtol=1e-10)


@given(st.integers(0, 2**20), st.integers(2, 4), st.sampled_from([0, 1, 3, 100]), st.sampled_from([1, 2, 8, 20]))
@example(207, 3, 100, 8)
@example(1435, 4, 3, 2)
@examples(300)
def test_patience_never_ends_lower(seed, n, tabu_length, patience):
    greedy = climb_integers(seed, n, tabu_length=tabu_length)
    patient = climb_integers(seed, n, tabu_length=tabu_length, patience=patience)
    assert patient.score >= greedy.score
    for result in (greedy, patient):
        assert result.score == graph_score(integer_score(seed), n, result.edges.tolist())
        assert is_acyclic({tuple(edge) for edge in result.edges.tolist()})
        assert result.score == max([graph_score(integer_score(seed), n, []), *result.history["score"]])


def test_patience_can_end_higher():
    gained = [climb_integers(seed, 4, patience=10).score - climb_integers(seed, 4).score for seed in range(20)]
    assert max(gained) >= 1


def test_patience_is_the_number_of_moves_without_a_new_best():
    result = climb_integers(3, 4, patience=4, tabu_length=1)
    best = [graph_score(integer_score(3), 4, []), *result.history["score"].tolist()]
    last = max(i for i in range(len(best)) if best[i] > max(best[:i], default=-math.inf))
    assert len(best) - 1 - last >= 4


@pytest.mark.parametrize("score", SCORES)
def test_a_climb_that_takes_every_gain_ends(score, rng):
    """Equivalent graphs differ by rounding at most: with epsilon 0 a climb may not walk among them for ever."""
    cards, n = [3, 3, 3, 3], 4
    codes = random_codes(rng, cards, 300)
    result = hill_climb(make_scorer(codes, cards, score), n, limits(n, epsilon=0.0), priority=np.arange(n))
    assert result.converged
    reference = hill_climb(make_scorer(codes, cards, score), n, limits(n), priority=np.arange(n))
    assert result.score >= reference.score - 1e-3
