"""Distances between graphs."""

from itertools import combinations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pgmpy.base import DAG, PDAG
from pgmpy.metrics import SHD

from oracles import equivalence as oracle
from pgmx.metrics import cpdag_shd, shd, skeleton_scores
from pgmx.models import cpdag, to_dag, to_pdag

NODES = "abcde"


@st.composite
def edge_lists(draw):
    order = draw(st.permutations(range(len(NODES))))
    return [pair for pair in combinations(order, 2) if draw(st.booleans())]


def dag(edges):
    return to_dag(NODES, edges)


def mark(graph, u, v):
    return graph.has_edge(u, v), graph.has_edge(v, u)


@given(edge_lists(), edge_lists())
def test_shd_is_the_number_of_pairs_whose_mark_differs(first, second):
    a, b = dag(first), to_pdag(NODES, *cpdag(len(NODES), second))
    assert shd(a, b) == shd(b, a) == sum(mark(a, u, v) != mark(b, u, v) for u, v in combinations(NODES, 2))
    assert shd(b, b) == 0


@given(edge_lists(), edge_lists())
def test_shd_equals_pgmpys_on_dags(first, second):
    assert shd(dag(first), dag(second)) == SHD()(dag(first), dag(second))


@given(edge_lists(), edge_lists(), edge_lists())
def test_shd_obeys_the_triangle_inequality(first, second, third):
    a, b, c = dag(first), dag(second), dag(third)
    assert shd(a, c) <= shd(a, b) + shd(b, c)


@given(edge_lists(), edge_lists())
def test_cpdag_shd_is_zero_only_inside_a_class(first, second):
    equivalent = {frozenset(e) for e in first} == {frozenset(e) for e in second} and (
        oracle.v_structures(first) == oracle.v_structures(second)
    )
    assert (cpdag_shd(dag(first), dag(second)) == 0) == equivalent


@given(edge_lists(), edge_lists())
def test_cpdag_shd_takes_dags_and_cpdags(first, second):
    a, b = dag(first), dag(second)
    expected = shd(a.to_pdag(), b.to_pdag())
    plain = nx.DiGraph()
    plain.add_nodes_from(NODES)
    plain.add_edges_from(b.edges())
    assert cpdag_shd(a, b) == cpdag_shd(a.to_pdag(), b) == cpdag_shd(a, plain) == expected


def test_a_pdag_keeps_the_directions_that_its_author_knows():
    known = PDAG([("a", "b")], [])
    assert cpdag_shd(known, DAG([("a", "b")])) == 1
    assert cpdag_shd(known, known) == 0


def test_marks_by_hand():
    none, right, left, line = (PDAG(), PDAG([("a", "b")]), PDAG([("b", "a")]), PDAG([], [("a", "b")]))
    none.add_nodes_from("ab")
    graphs = [none, right, left, line]
    assert [[shd(x, y) for y in graphs] for x in graphs] == [[int(x is not y) for y in graphs] for x in graphs]
    assert shd(line, nx.Graph([("a", "b")])) == 0


def test_skeleton_scores():
    truth = DAG([("a", "b"), ("b", "c"), ("c", "d")])
    learned = DAG([("b", "a"), ("c", "b"), ("c", "a"), ("d", "a")])
    scores = skeleton_scores(truth, learned)
    assert scores == (2 / 4, 2 / 3, 4 / 7)
    assert (scores.precision, scores.recall, scores.f1) == scores


def test_skeleton_scores_without_edges():
    empty = DAG()
    empty.add_nodes_from("ab")
    one = DAG([("a", "b")])
    assert skeleton_scores(empty, empty) == (1, 1, 1)
    assert skeleton_scores(one, empty) == (1, 0, 0)
    assert skeleton_scores(empty, one) == (0, 1, 0)


@pytest.mark.parametrize("measure", [shd, cpdag_shd, skeleton_scores])
class TestBadInput:
    def test_other_nodes(self, measure):
        words = "only in the first graph: 'b'; only in the second: 'c', 3"
        second = DAG([("a", "c")])
        second.add_node(3)
        with pytest.raises(ValueError, match=words):
            measure(DAG([("a", "b")]), second)

    @pytest.mark.parametrize("other", [[("a", "b")], None, nx.MultiDiGraph([("a", "b")])])
    def test_no_graph(self, measure, other):
        with pytest.raises(TypeError, match=f"got {type(other).__name__}"):
            measure(DAG([("a", "b")]), other)

    def test_self_loop(self, measure):
        with pytest.raises(ValueError, match="joins the node 'a' with itself"):
            measure(nx.DiGraph([("a", "a")]), nx.DiGraph([("a", "a")]))


def test_a_cycle_has_no_class():
    ring = nx.DiGraph([("a", "b"), ("b", "c"), ("c", "a")])
    with pytest.raises(ValueError, match="cycle 'a' -> 'b' -> 'c' -> 'a'"):
        cpdag_shd(ring, ring)
    assert shd(ring, ring) == 0
