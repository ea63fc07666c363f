"""Interventional essential graphs against enumeration of the classes of all DAGs with four and five variables."""

from itertools import combinations, product

import numpy as np
import pytest

from oracles.all_dags import all_dags
from oracles.graphs import is_acyclic
from oracles.interventional import join, list_classes
from pgmx.graphs.consensus import make_marks
from pgmx.graphs.equivalence import cpdag
from pgmx.graphs.extension import extend_to_dag

DAGS = list(all_dags(4))


@pytest.mark.parametrize(
    ("targets", "n_classes"),
    [
        ([[]], 185),
        ([[0, 1], [1, 2], [3]], None),  # without observational rows
        ([[0], [1], [2], [3]], 543),
    ],
)
def test_all_classes_of_four_variables(targets, n_classes):
    classes = list_classes(DAGS, targets)
    assert n_classes is None or len(classes) == n_classes
    for members in classes:
        graph = join(members)
        for edges in members[-1:]:
            assert cpdag(4, edges, targets=targets) == graph
        check_graph(4, graph, members)


def check_graph(n, graph, members):
    """Check that an extension is a member, and that the graph is a chain graph (theorem 18)."""
    arcs = [tuple(arc) for arc in extend_to_dag(n, make_marks(*graph)).tolist()]
    assert sorted(arcs) in map(sorted, members)
    directed, undirected = map(set, graph)
    for tail, head in directed:
        for v in set(range(n)) - {tail, head}:
            if (min(head, v), max(head, v)) in undirected:
                assert (tail, v) in directed


@pytest.mark.slow
def test_classes_of_five_variables():
    """A variable is outside of some target, so that members of a class join the same pairs."""
    rng, pairs = np.random.default_rng(0), list(combinations(range(5), 2))
    for targets in ([[], [4]], [[1, 2], [0], [3, 4, 1]]):
        for _ in range(40):
            order, chosen = rng.permutation(5), rng.random(10) < 0.7
            edges = [(int(order[a]), int(order[b])) for (a, b), is_in in zip(pairs, chosen, strict=True) if is_in]
            others = orient(edges)
            (members,) = (one for one in list_classes(others, targets) if edges in one)
            graph = join(members)
            assert cpdag(5, edges, targets=targets) == graph
            check_graph(5, graph, members)


def orient(edges):
    """Return all DAGs that join the same pairs."""
    graphs = product(*(((tail, head), (head, tail)) for tail, head in edges))
    return [list(graph) for graph in graphs if is_acyclic(graph)]


def test_targets_join_what_is_known():
    edges = [(0, 1), (1, 2), (2, 3)]
    assert cpdag(4, edges, targets=[{3}]) == ([(2, 3)], [(0, 1), (1, 2)])
    assert cpdag(4, edges, targets=[(0, 1), (1, 0)]) == ([(1, 2), (2, 3)], [(0, 1)])
    assert cpdag(4, edges, targets=[{3}], compelled=[(0, 1)]) == (edges, [])
    # set together, and both set or none
    assert cpdag(4, edges, targets=[{0, 1, 2, 3}]) == ([], edges)
    with pytest.raises(ValueError, match=r"target \[4\] has an id outside 0\.\.3"):
        cpdag(4, edges, targets=[[], [4]])
