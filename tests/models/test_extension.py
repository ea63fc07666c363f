"""Consistent extensions against all directions of the undirected edges."""

from itertools import combinations, product

import numpy as np
import pytest

from oracles.graphs import is_acyclic
from pgmx.graphs.consensus import make_marks
from pgmx.graphs.extension import extend_to_dag, find_extension


def list_colliders(edges):
    """Return the colliders (x, z, y) of directed edges, x < y, which are not adjacent in `edges`."""
    joined = {frozenset(edge) for edge in edges}
    heads = {head for _, head in edges}
    return {
        (x, z, y)
        for z in heads
        for x, y in combinations(sorted(tail for tail, head in edges if head == z), 2)
        if frozenset((x, y)) not in joined
    }


def draw_partial_graph(rng, n):
    """Return directed edges without a cycle, and undirected edges."""
    order = rng.permutation(n).tolist()
    kinds = rng.choice(["none", "arc", "line"], n * (n - 1) // 2, p=[0.3, 0.15, 0.55])
    pairs = list(zip(combinations(order, 2), kinds.tolist(), strict=True))
    return [pair for pair, kind in pairs if kind == "arc"], [pair for pair, kind in pairs if kind == "line"]


def test_no_collider_is_new_if_there_is_such_a_dag():
    rng, n_consistent = np.random.default_rng(0), 0
    for _ in range(40):
        directed, undirected = draw_partial_graph(rng, 5)
        joined = {frozenset(edge) for edge in directed + undirected}
        given = {one for one in list_colliders(directed) if frozenset(one[::2]) not in joined}
        arcs, n_new = find_extension(5, make_marks(directed, undirected))
        arcs = list(map(tuple, arcs.tolist()))
        assert set(directed) <= set(arcs) and is_acyclic(arcs)
        assert {frozenset(arc) for arc in arcs} == joined and len(arcs) == len(joined)
        assert len(list_colliders(arcs) - given) == n_new
        exists = any(
            is_acyclic(edges) and list_colliders(edges) == given
            for turned in product(*((edge, edge[::-1]) for edge in undirected))
            for edges in [[*directed, *turned]]
        )
        assert exists == (n_new == 0)
        n_consistent += exists
    assert 10 < n_consistent < 35


@pytest.mark.parametrize(
    ("undirected", "expected"),
    [
        ([(0, 1), (1, 2)], [[0, 1], [1, 2]]),  # the last variable is the first sink
        ([(0, 1), (1, 2), (2, 3), (0, 3)], [[0, 1], [0, 3], [1, 2], [2, 3]]),  # a cycle has a collider in any DAG
    ],
)
def test_ties_go_to_the_last_variable(undirected, expected):
    arcs = extend_to_dag(4, make_marks([], undirected)).tolist()
    assert arcs == expected


@pytest.mark.parametrize(("sizes", "n_expected"), [((3, 2), 2), ((3, 3), 5)])
def test_the_fewest_colliders_are_new(sizes, n_expected):
    # in (3, 2) the last variables have three pairs of neighbours, the first ones one pair
    undirected = list(product(range(sizes[0]), range(sizes[0], sum(sizes))))
    assert find_extension(sum(sizes), make_marks([], undirected))[1] == n_expected
