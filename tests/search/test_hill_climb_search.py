"""The climb against a slow one that scores every neighbour, and the laws of its options."""

import itertools
import math
from time import perf_counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kernels.tables import SCORES, make_scorer, random_codes
from oracles import family_scores as oracle
from oracles.dag_moves import is_acyclic
from pgmx.search.gains import FunctionGains
from pgmx.search.hill_climb import ClimbLimits, Progress, hill_climb


def limits(n, **changes):
    default = {
        "epsilon": 1e-4,
        "max_iter": 5000,
        "max_time": None,
        "max_indegree": n,
        "tabu_length": 100,
        "patience": 0,
    }
    return ClimbLimits(**{**default, **changes})


def integer_score(seed, spread=6):
    """Return an arbitrary local score of small integers: many moves tie, and sums are exact."""
    known = {}

    def local_score(child, parents):
        family = (child, *sorted(parents))
        if family not in known:
            known[family] = int(np.random.default_rng([seed, *family, 9]).integers(-spread, spread + 1))
        return known[family]

    return local_score


def graph_score(local_score, n, edges):
    return sum(local_score(v, [tail for tail, head in edges if head == v]) for v in range(n))


def climb_integers(seed, n, **changes):
    return hill_climb(FunctionGains(n, integer_score(seed)), n, limits(n, **changes), priority=np.arange(n))


@st.composite
def problems(draw):
    """Return ``(n, local score, options of the climb)``."""
    seed = draw(st.integers(0, 2**20), label="seed")
    rng = np.random.default_rng(seed)
    n = draw(st.integers(1, 5), label="n")
    order = rng.permutation(n)
    pairs = [(int(order[i]), int(order[j])) for i, j in itertools.combinations(range(n), 2)]
    start = [pairs[i] for i in rng.permutation(len(pairs))[: draw(st.integers(0, n), label="start")]]
    allowed = (rng.random((n, n)) < 0.7).astype(np.uint8) if draw(st.booleans(), label="allowed") else None
    options = {
        "max_indegree": draw(st.sampled_from([1, 2, n]), label="max_indegree"),
        "tabu_length": draw(st.sampled_from([0, 1, 3, 100]), label="tabu_length"),
        "allowed": allowed,
        "start": start,
        "required": start[: draw(st.integers(0, len(start)), label="required")],
        "priority": rng.permutation(n),
        "bonus": draw(st.sampled_from([(0.0, 0.0, 0.0), (-1.0, 1.0, 0.0), (1.5, -1.5, 0.0)]), label="bonus"),
    }
    return n, integer_score(seed, draw(st.sampled_from([1, 6]), label="spread")), options


def arcs(edges):
    return np.array(edges, dtype=np.int64).reshape(-1, 2)


@given(problems())
@settings(max_examples=300)
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
@settings(max_examples=300)
def test_patience_never_ends_lower(seed, n, tabu_length, patience):
    greedy = climb_integers(seed, n, tabu_length=tabu_length)
    patient = climb_integers(seed, n, tabu_length=tabu_length, patience=patience)
    assert patient.score >= greedy.score
    for result in (greedy, patient):
        assert result.score == graph_score(integer_score(seed), n, result.edges.tolist())
        assert is_acyclic(n, {tuple(edge) for edge in result.edges.tolist()})
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


# ---- ends before the end ----


def integer_climb(callback=None, **changes):
    return hill_climb(
        FunctionGains(5, integer_score(12)), 5, limits(5, **changes), priority=np.arange(5), callback=callback
    )


@pytest.mark.parametrize("patience", [0, 6])
def test_max_iter(patience):
    full = integer_climb(patience=patience)
    assert full.n_iter >= 6 + patience
    empty = graph_score(integer_score(12), 5, [])
    for n_iter in range(full.n_iter + 1):
        part = integer_climb(max_iter=n_iter, patience=patience)
        assert part.n_iter == n_iter
        assert not part.converged
        np.testing.assert_array_equal(part.history["score"], full.history["score"][:n_iter])
        assert part.score == max([empty, *full.history["score"][:n_iter]])
        assert part.score == graph_score(integer_score(12), 5, part.edges.tolist())


def test_no_time_at_all():
    result = integer_climb(max_time=0)
    assert (result.n_iter, result.converged, result.edges.shape) == (0, False, (0, 2))
    assert result.score == graph_score(integer_score(12), 5, [])


def test_time_counts_from_when_the_search_began():
    result = hill_climb(
        FunctionGains(5, integer_score(12)),
        5,
        limits(5, max_time=1000.0),
        priority=np.arange(5),
        began=perf_counter() - 2000.0,
    )
    assert result.n_iter == 0


def test_callback_is_told_each_move_and_stops_the_climb():
    told = []
    full = integer_climb(callback=told.append)
    assert [progress.n_iter for progress in told] == list(range(1, full.n_iter + 1))
    assert all(isinstance(progress, Progress) for progress in told)
    assert [progress.score for progress in told] == full.history["score"].tolist()
    assert [progress.n_edges for progress in told] == full.history["n_edges"].tolist()
    assert [progress.seconds for progress in told] == full.history["seconds"].tolist()
    assert full.history["seconds"].tolist() == sorted(full.history["seconds"])
    assert full.history["n_edges"][-1] == len(full.edges)
    stopped = integer_climb(callback=lambda progress: progress.n_iter == 3)
    assert (stopped.n_iter, stopped.converged) == (3, False)
    assert stopped.score == full.history["score"][2]


# ---- what the climb starts from, and what it must keep ----


@given(problems(), st.sampled_from([0, 5]))
@settings(max_examples=100)
def test_required_edges_stay_and_constraints_hold(problem, patience):
    n, local_score, options = problem
    result = hill_climb(
        FunctionGains(n, local_score, allowed=options["allowed"], max_indegree=options["max_indegree"]),
        n,
        limits(n, max_indegree=options["max_indegree"], tabu_length=options["tabu_length"], patience=patience),
        priority=options["priority"],
        start=arcs(options["start"]),
        required=arcs(options["required"]),
    )
    edges = {tuple(edge) for edge in result.edges.tolist()}
    assert set(options["required"]) <= edges
    assert is_acyclic(n, edges)
    assert result.score >= graph_score(local_score, n, options["start"])
    for tail, head in edges - set(options["start"]):
        assert options["allowed"] is None or options["allowed"][head, tail]
    for child in range(n):
        given_parents = sum(head == child for _, head in options["start"])
        assert sum(head == child for _, head in edges) <= max(given_parents, options["max_indegree"])


@given(st.integers(0, 2**20), st.integers(2, 4), st.sampled_from([0.0, 1.0, 3.0, 20.0]))
def test_a_structure_prior_is_part_of_the_score(seed, n, price):
    """A price for each arc: the same as a local score that charges it."""
    local_score = integer_score(seed)
    start = [(0, 1)]
    priced = hill_climb(
        FunctionGains(n, local_score),
        n,
        limits(n),
        priority=np.arange(n),
        start=arcs(start),
        bonus=(-price, price, 0.0),
        offset=-price,
    )
    charged = hill_climb(
        FunctionGains(n, lambda child, parents: local_score(child, parents) - price * len(parents)),
        n,
        limits(n),
        priority=np.arange(n),
        start=arcs(start),
    )
    assert priced.edges.tolist() == charged.edges.tolist()
    assert priced.score == charged.score
    np.testing.assert_array_equal(priced.history["score"], charged.history["score"])
    if price == 20.0:
        assert len(priced.edges) == 0


def test_the_callers_arrays_are_not_changed():
    start, required, priority = arcs([(0, 1), (1, 2)]), arcs([(0, 1)]), np.array([2, 0, 1])
    kept = start.copy(), required.copy(), priority.copy()
    for array in (start, required, priority):
        array.setflags(write=False)
    hill_climb(FunctionGains(3, integer_score(4)), 3, limits(3), priority=priority, start=start, required=required)
    for array, copy in zip((start, required, priority), kept, strict=True):
        np.testing.assert_array_equal(array, copy)
