"""Counts of edges over graphs, the threshold of their strengths, and the averaged graph."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.bootstrap import shares, threshold
from pgmx.graphs.consensus import Marks, average_edges, count_pairs, estimate_threshold, make_marks
from pgmx.graphs.extension import extend_to_dag
from pgmx.models import cpdag
from pgmx.models.bayesian.strengths import make_direction_matrix, make_strength_matrix, make_strength_table

NONE = np.empty((0, 2), dtype=np.int32)
SOME = st.integers(1, 8)


@st.composite
def graphs(draw, n_graphs=SOME):
    """Return n and Marks of acyclic arcs and undirected edges."""
    n, found = draw(st.integers(2, 6)), []
    for _ in range(draw(n_graphs)):
        order = draw(st.permutations(range(n)))
        arcs, lines = [], []
        for i in range(n):
            for j in range(i + 1, n):
                kind = draw(st.sampled_from(["none", "none", "arc", "line"]))
                if kind == "arc":
                    arcs.append((order[i], order[j]))
                elif kind == "line":
                    lines.append((order[i], order[j]))
        found.append(make_marks(arcs, lines))
    return n, found


def as_networkx(n, marks):
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(marks.directed.tolist())
    graph.add_edges_from(marks.undirected.tolist() + marks.undirected[:, ::-1].tolist())
    return graph


@pytest.mark.slow
@given(graphs())
def test_shares_are_those_of_the_slow_count(given_graphs):
    n, found = given_graphs
    counts = count_pairs(n, found)
    strength, direction = shares(range(n), [as_networkx(n, marks) for marks in found])
    assert {tuple(pair) for pair in counts.pairs.tolist()} == {pair for pair, share in strength.items() if share}
    matrix, directions = make_strength_matrix(range(n), counts), make_direction_matrix(range(n), counts)
    for (u, v), share in strength.items():
        assert matrix.loc[u, v] == matrix.loc[v, u] == share
        if share:
            assert directions.loc[u, v] == pytest.approx(direction[u, v], rel=1e-12)
            assert directions.loc[u, v] + directions.loc[v, u] == 1.0
        else:
            assert np.isnan(directions.loc[u, v])
    assert (np.diag(matrix) == 0).all()
    assert np.isnan(np.diag(directions)).all()


@given(graphs())
def test_threshold_is_that_of_the_slow_search(given_graphs):
    n, found = given_graphs
    strength, _ = shares(range(n), [as_networkx(n, marks) for marks in found])
    slow = threshold(list(strength.values()), len(found))
    assert estimate_threshold(count_pairs(n, found)) == pytest.approx(slow, rel=1e-12)


def test_threshold_of_clear_strengths():
    """Two edges in nearly all graphs, noise in few: the threshold separates them."""
    arcs = [[(0, 1), (1, 2)]] * 9 + [[(0, 1)]]
    noisy = [[*edges, (i % 3, 5)] if i < 3 else edges for i, edges in enumerate(arcs)]
    counts = count_pairs(8, [make_marks(edges) for edges in noisy])
    assert estimate_threshold(counts) == 0.9
    assert average_edges(counts, 0.9).directed.tolist() == [[0, 1], [1, 2]]


def test_threshold_where_no_edge_was_found():
    assert estimate_threshold(count_pairs(4, [Marks(NONE, NONE)] * 3)) == 1.0
    assert estimate_threshold(count_pairs(1, [Marks(NONE, NONE)])) == 1.0


@given(graphs(n_graphs=st.just(1)))
def test_average_of_one_graph_is_that_graph(given_graphs):
    n, (marks,) = given_graphs
    found = average_edges(count_pairs(n, [marks]), 1.0)
    assert found.directed.tolist() == marks.directed.tolist()
    assert {frozenset(e) for e in found.undirected.tolist()} == {frozenset(e) for e in marks.undirected.tolist()}


@given(graphs(), st.sampled_from([0.0, 0.25, 0.5, 1.0]))
def test_averaged_arcs_are_strong_and_acyclic(given_graphs, least):
    n, found = given_graphs
    counts = count_pairs(n, found)
    marks = average_edges(counts, least)
    dag = nx.DiGraph(marks.directed.tolist())
    assert nx.is_directed_acyclic_graph(dag)
    strength, direction = shares(range(n), [as_networkx(n, one) for one in found])
    for u, v in marks.directed.tolist():
        assert strength[min(u, v), max(u, v)] >= least
        assert direction[u, v] > 0.5
    strong = {pair for pair, share in strength.items() if share >= least and share > 0}
    kept = {(min(e), max(e)) for e in marks.directed.tolist() + marks.undirected.tolist()}
    for u, v in strong - kept:  # only what would close a cycle is left out
        ends = (u, v) if direction[u, v] > 0.5 else (v, u)
        assert nx.has_path(dag, ends[1], ends[0])


def test_weakest_arc_of_a_cycle_is_left_out():
    arcs = [[(0, 1), (1, 2)]] * 3 + [[(1, 2), (2, 0)]] * 2 + [[(0, 1)]]
    counts = count_pairs(3, [make_marks(edges) for edges in arcs])
    assert average_edges(counts, 0.0).directed.tolist() == [[0, 1], [1, 2]]


@given(graphs(n_graphs=st.just(1)))
def test_extension_of_an_equivalence_class_is_a_member(given_graphs):
    n, (marks,) = given_graphs
    dag = [tuple(arc) for arc in marks.directed.tolist()]
    one_class = cpdag(n, dag)
    member = [tuple(arc) for arc in extend_to_dag(n, make_marks(*one_class)).tolist()]
    assert cpdag(n, member) == one_class


def test_strength_table_is_sorted_and_keeps_names_of_any_kind():
    names = [("a", 1), 2, "c"]
    found = [make_marks([(0, 1), (2, 1)]), make_marks([(1, 0)], [(1, 2)]), make_marks([(1, 0)])]
    table = make_strength_table(names, count_pairs(3, found))
    assert table.columns.tolist() == ["from", "to", "strength", "direction"]
    assert table["from"].tolist() == [2, "c"]
    assert table["to"].tolist() == [("a", 1), 2]
    assert table["strength"].tolist() == [1.0, pytest.approx(2 / 3)]
    assert table["direction"].tolist() == [pytest.approx(2 / 3), 0.75]


def test_no_matrix_of_very_many_variables():
    counts = count_pairs(10_000, [make_marks([(0, 9_999)])])
    assert estimate_threshold(counts) == 1.0
    assert len(make_strength_table(range(10_000), counts)) == 1
    for make in (make_strength_matrix, make_direction_matrix):
        with pytest.raises(ValueError, match=r"10000 variables would take 800 MB: use the table strengths_"):
            make(range(10_000), counts)
