"""The forest of largest weight, against all forests and against networkx."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.forests import best_weight
from pgmx.search.forest_weights import StoredWeights
from pgmx.search.knowledge import EdgeConstraints
from pgmx.search.spanning_forest import check_forest_constraints, find_maximum_branching, find_spanning_forest


@st.composite
def matrices(draw, symmetric, largest=5):
    """Small whole numbers, so that ties are common and sums exact."""
    n = draw(st.integers(1, largest))
    weights = np.array(draw(st.lists(st.integers(-2, 5), min_size=n * n, max_size=n * n)), dtype=float).reshape(n, n)
    np.fill_diagonal(weights, 0.0)
    return np.triu(weights) + np.triu(weights).T if symmetric else weights


@st.composite
def problems(draw):
    """Weights in two directions, allowed arcs, and required arcs that form a rooted forest."""
    weights = draw(matrices(symmetric=draw(st.booleans())))
    n = len(weights)
    allowed = np.array(draw(st.lists(st.integers(0, 3), min_size=n * n, max_size=n * n)), dtype=np.uint8) > 0
    allowed = allowed.reshape(n, n).astype(np.uint8)
    np.fill_diagonal(allowed, 0)
    order = draw(st.permutations(range(n)))
    required = []
    for place in range(1, n):
        if draw(st.integers(0, 4)) == 0:
            required.append((order[draw(st.integers(0, place - 1))], order[place]))
    for tail, head in required:
        allowed[head, tail] = 1
    return weights, allowed, required


def total(weights, edges):
    return sum(weights[head, tail] for tail, head in edges.tolist())


def check_is_forest(n, edges):
    heads = edges[:, 1].tolist()
    assert len(set(heads)) == len(heads)
    graph = nx.DiGraph(edges.tolist())
    graph.add_nodes_from(range(n))
    assert nx.is_directed_acyclic_graph(graph)


@given(matrices(symmetric=True, largest=6), st.randoms(use_true_random=False))
def test_no_forest_is_better(weights, random):
    n = len(weights)
    priority = np.array(random.sample(range(n), n))
    found = find_spanning_forest(StoredWeights(weights, 1.0), priority=priority)
    check_is_forest(n, found.edges)
    assert found.weights.tolist() == [weights[head, tail] for tail, head in found.edges.tolist()]
    if n < 6:
        assert found.weights.sum() == best_weight(weights.tolist())
    assert found.weights.sum() == tree_of_networkx(weights).size(weight="weight")


@given(problems())
def test_no_forest_under_the_constraints_is_better(problem):
    weights, allowed, required = problem
    n = len(weights)
    constraints = EdgeConstraints(n, required, allowed)
    found = find_spanning_forest(
        StoredWeights(weights, 1.0), priority=np.arange(n), constraints=constraints, symmetric=False
    )
    check_is_forest(n, found.edges)
    assert set(required) <= set(map(tuple, found.edges.tolist()))
    assert all(allowed[head, tail] for tail, head in found.edges.tolist())
    assert total(weights, found.edges) == best_weight(weights.tolist(), required, allowed.tolist())


@given(matrices(symmetric=True, largest=6))
def test_branching_and_prim_agree(weights):
    parents = find_maximum_branching(weights)
    edges = np.array([(tail, head) for head, tail in enumerate(parents) if tail >= 0]).reshape(-1, 2)
    prim = find_spanning_forest(StoredWeights(weights, 1.0), priority=np.arange(len(weights)))
    assert total(weights, edges) == prim.weights.sum()


def tree_of_networkx(weights):
    graph = nx.Graph()
    graph.add_nodes_from(range(len(weights)))
    graph.add_weighted_edges_from((i, j, weights[i, j]) for j in range(len(weights)) for i in range(j))
    graph.remove_edges_from([(i, j) for i, j, weight in graph.edges(data="weight") if weight <= 0])
    return nx.maximum_spanning_tree(graph)


def test_many_variables_against_networkx(rng):
    for n in (1, 2, 17, 120):
        weights = rng.normal(size=(n, n))
        weights = weights + weights.T
        found = find_spanning_forest(StoredWeights(weights, 1.0), priority=rng.permutation(n))
        expected = tree_of_networkx(weights)
        assert {frozenset(edge) for edge in found.edges.tolist()} == {frozenset(edge) for edge in expected.edges()}


def test_many_variables_against_edmonds_of_networkx(rng):
    for n in (2, 15, 40):
        weights = rng.integers(-20, 80, size=(n, n)).astype(float)
        parents = find_maximum_branching(weights)
        graph = nx.DiGraph()
        graph.add_weighted_edges_from((t, h, weights[h, t]) for t in range(n) for h in range(n) if t != h)
        expected = nx.maximum_branching(graph).size(weight="weight")
        assert sum(weights[head, tail] for head, tail in enumerate(parents) if tail >= 0) == expected


# ---- ties ----


def test_equal_weights_follow_the_priority():
    weights = np.ones((4, 4))
    edges = find_spanning_forest(StoredWeights(weights, 1.0), priority=np.array([3, 0, 2, 1])).edges
    assert edges.tolist() == [[1, 0], [1, 2], [1, 3]]  # 1 is first in the order: every edge at it goes first


@given(matrices(symmetric=True, largest=6), st.randoms(use_true_random=False))
def test_the_forest_does_not_depend_on_the_order_of_variables(weights, random):
    n = len(weights)
    priority = np.array(random.sample(range(n), n))
    moved = np.array(random.sample(range(n), n))  # position -> old id
    found = find_spanning_forest(StoredWeights(weights, 1.0), priority=priority).edges
    again = find_spanning_forest(StoredWeights(weights[np.ix_(moved, moved)], 1.0), priority=priority[moved]).edges
    assert set(map(tuple, moved[again].tolist())) == set(map(tuple, found.tolist()))


def test_rounding_errors_make_no_edge_and_break_no_tie():
    weights = np.array([[0, 1e-14, 2.0], [1e-14, 0, 2.0 + 4e-15], [2.0, 2.0 + 4e-15, 0]])
    edges = find_spanning_forest(StoredWeights(weights, 10.0), priority=np.arange(3)).edges
    assert {frozenset(edge) for edge in edges.tolist()} == {frozenset((0, 2)), frozenset((1, 2))}
    weights[2, :2] = weights[:2, 2] = -np.inf
    assert not len(find_spanning_forest(StoredWeights(weights, 10.0), priority=np.arange(3)).edges)


# ---- roots ----

CHAIN = np.array([[0, 5, 0, 0], [5, 0, 4, 0], [0, 4, 0, 3], [0, 0, 3, 0]], dtype=float)


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        (None, [[1, 0], [1, 2], [2, 3]]),  # 1 and 2 have two neighbours each, 1 is first
        (0, [[0, 1], [1, 2], [2, 3]]),
        (3, [[1, 0], [2, 1], [3, 2]]),
    ],
)
def test_root(root, expected):
    assert find_spanning_forest(StoredWeights(CHAIN, 1.0), priority=np.arange(4), root=root).edges.tolist() == expected


def test_root_of_a_branching_has_no_parent():
    constraints = EdgeConstraints(4, required=[(2, 1)])
    edges = find_spanning_forest(
        StoredWeights(CHAIN, 1.0), priority=np.arange(4), constraints=constraints, root=3
    ).edges
    assert edges.tolist() == [[1, 0], [2, 1], [3, 2]]


def test_two_required_parents_are_refused():
    constraints = EdgeConstraints(3, required=[(0, 2), (1, 2)])
    with pytest.raises(ValueError, match=r"'c' has the required parents 'a' and 'b'.*one parent"):
        check_forest_constraints(constraints, "abc")
    with pytest.raises(ValueError, match=r"one parent"):
        find_spanning_forest(StoredWeights(np.ones((3, 3)), 1.0), priority=np.arange(3), constraints=constraints)


def test_a_root_with_a_required_parent_is_refused():
    with pytest.raises(ValueError, match=r"root='b' has the required parent 'a'"):
        check_forest_constraints(EdgeConstraints(2, required=[(0, 1)]), "ab", root=1)
