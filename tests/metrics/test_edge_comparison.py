"""Arrows and edge lists compared."""

from itertools import combinations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pgmpy.base import DAG, PDAG

from pgmx.metrics import cpdag_shd, direction_scores, edge_differences, shd, skeleton_scores
from pgmx.models import cpdag, to_dag, to_pdag

NODES = "abcde"


@st.composite
def graphs(draw):
    """A DAG, or the graph of its class."""
    order = draw(st.permutations(range(len(NODES))))
    edges = [pair for pair in combinations(order, 2) if draw(st.booleans())]
    return to_dag(NODES, edges) if draw(st.booleans()) else to_pdag(NODES, *cpdag(len(NODES), edges))


def marks(graph):
    return {
        (u, v): (graph.has_edge(u, v), graph.has_edge(v, u))
        for u, v in combinations(NODES, 2)
        if graph.has_edge(u, v) or graph.has_edge(v, u)
    }


@given(graphs(), graphs())
def test_differences_are_as_many_as_the_distance(a, b):
    assert sum(map(len, edge_differences(a, b))) == shd(a, b)
    assert sum(map(len, edge_differences(a, b, equivalence_class=True))) == cpdag_shd(a, b)


@given(graphs(), graphs())
def test_differences_turn_the_reference_into_the_graph(a, b):
    changed = nx.DiGraph()
    changed.add_nodes_from(NODES)
    changed.add_edges_from(a.edges())
    differences = edge_differences(a, b)
    for u, _, v in (*differences.missing, *differences.reversed, *differences.directed, *differences.undirected):
        changed.remove_edges_from([(u, v), (v, u)])
    for u, mark, v in (*differences.added, *differences.reversed, *differences.directed, *differences.undirected):
        changed.add_edges_from([(u, v)] if mark == "->" else [(u, v), (v, u)])
    assert marks(changed) == marks(b)


@given(graphs(), graphs())
def test_lists_change_places_with_the_arguments(a, b):
    there, back = edge_differences(a, b), edge_differences(b, a)
    assert there.added == back.missing
    assert there.missing == back.added
    assert sorted((v, mark, u) for u, mark, v in there.reversed) == sorted(back.reversed)
    assert {frozenset(edge[::2]) for edge in there.directed} == {frozenset(edge[::2]) for edge in back.undirected}


@given(graphs(), graphs())
def test_direction_scores_count_arrows(a, b):
    true, learned = ({e for e in g.edges() if not g.has_edge(*e[::-1])} for g in (a, b))
    both = len(true & learned)
    scores = direction_scores(a, b)
    assert scores.precision * len(learned) == pytest.approx(both if learned else 0)
    assert scores.recall * len(true) == pytest.approx(both if true else 0)
    assert direction_scores(b, a) == (scores.recall, scores.precision, scores.f1)
    assert direction_scores(a, a) == (1, 1, 1)


def test_kinds_of_differences_by_hand():
    a, b, c, d, e = range(5)
    reference = to_pdag(NODES, [(a, b), (b, c), (d, e)], [(c, d), (a, e)])
    graph = to_pdag(NODES, [(b, a), (c, d), (a, c)], [(b, c), (b, d)])
    assert edge_differences(reference, graph) == (
        [("a", "->", "c"), ("b", "--", "d")],
        [("a", "--", "e"), ("d", "->", "e")],
        [("b", "->", "a")],
        [("c", "->", "d")],
        [("b", "--", "c")],
    )


def test_an_undirected_edge_costs_recall_where_learned_and_precision_where_true():
    arrows, lines = DAG([("a", "b"), ("b", "c")]), PDAG([], [("a", "b"), ("b", "c")])
    assert direction_scores(arrows, lines) == (1, 0, 0)
    assert direction_scores(lines, arrows) == (0, 1, 0)
    assert direction_scores(arrows, lines, equivalence_class=True) == (1, 1, 1)
    assert skeleton_scores(arrows, lines) == (1, 1, 1)


def test_class_members_do_not_differ():
    chain, fork = DAG([("a", "b"), ("b", "c")]), DAG([("b", "a"), ("b", "c")])
    assert edge_differences(chain, fork).reversed == [("b", "->", "a")]
    assert not any(edge_differences(chain, fork, equivalence_class=True))


@pytest.mark.parametrize("measure", [direction_scores, edge_differences])
class TestBadInput:
    def test_other_nodes(self, measure):
        with pytest.raises(ValueError, match="only in the first graph: 'b'; only in the second: 'c'"):
            measure(DAG([("a", "b")]), DAG([("a", "c")]))

    def test_no_graph(self, measure):
        with pytest.raises(TypeError, match="got list"):
            measure(DAG([("a", "b")]), [("a", "b")])

    def test_a_cycle_has_no_class(self, measure):
        ring = nx.DiGraph([("a", "b"), ("b", "c"), ("c", "a")])
        with pytest.raises(ValueError, match="cycle 'a' -> 'b' -> 'c' -> 'a'"):
            measure(ring, ring, equivalence_class=True)
