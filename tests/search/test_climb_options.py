"""The options of a climb: when it ends, what it starts from, what it must keep."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.bare_climb import hill_climb
from helpers.climb_problems import arcs, graph_score, integer_score, limits, problems
from helpers.examples import examples
from oracles.graphs import is_acyclic
from pgmx.runs.progress import SearchProgress
from pgmx.scores.gains import FunctionGains

# ---- ends before the end ----


def integer_climb(callback=None, max_time=None, **changes):
    gains = FunctionGains(5, integer_score(12))
    watch = {"callback": callback, "max_time": max_time}
    return hill_climb(gains, 5, limits(5, **changes), priority=np.arange(5), **watch)


@pytest.mark.parametrize("patience", [0, 6])
def test_max_iter(patience):
    full = integer_climb(patience=patience)
    assert full.n_iter >= 6 + patience
    empty = graph_score(integer_score(12), 5, [])
    for n_iter in range(full.n_iter + 1):
        part = integer_climb(max_iter=n_iter, patience=patience)
        assert part.n_iter == n_iter
        assert part.stopped_by == "max_iter"
        np.testing.assert_array_equal(part.history["score"], full.history["score"][:n_iter])
        assert part.score == max([empty, *full.history["score"][:n_iter]])
        assert part.score == graph_score(integer_score(12), 5, part.edges.tolist())


def test_no_time_at_all():
    result = integer_climb(max_time=0)
    assert (result.n_iter, result.stopped_by, result.edges.shape) == (0, "max_time", (0, 2))
    assert result.score == graph_score(integer_score(12), 5, [])


def test_callback_is_told_each_move_and_stops_the_climb():
    told = []
    full = integer_climb(callback=told.append)
    assert [progress.n_iter for progress in told] == list(range(1, full.n_iter + 1))
    assert all(isinstance(progress, SearchProgress) for progress in told)
    assert [progress.score for progress in told] == full.history["score"].tolist()
    assert [progress.n_edges for progress in told] == full.history["n_edges"].tolist()
    assert [progress.seconds for progress in told] == full.history["seconds"].tolist()
    assert full.history["seconds"].tolist() == sorted(full.history["seconds"])
    assert full.history["n_edges"][-1] == len(full.edges)
    stopped = integer_climb(callback=lambda progress: progress.n_iter == 3)
    assert (stopped.n_iter, stopped.stopped_by) == (3, "callback")
    assert stopped.score == full.history["score"][2]


# ---- what the climb starts from, and what it must keep ----


@given(problems(), st.sampled_from([0, 5]))
@examples(100)
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
    assert is_acyclic(edges)
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
