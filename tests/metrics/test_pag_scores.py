"""Scores of the marks of PAGs, and their distance."""

import networkx as nx
import numpy as np
import pytest
from pgmpy.base import DAG

from pgmx.metrics import (
    arrowhead_scores,
    cpdag_shd,
    direction_scores,
    edge_differences,
    shd,
    skeleton_scores,
    tail_scores,
)
from pgmx.models import PAG

MARKS = ["o", ">", "-"]


def draw_pag(rng, n=6):
    pag = PAG()
    pag.add_nodes_from(range(n))
    for u in range(n):
        for v in range(u):
            if rng.random() < 0.5:
                pag.add_edge(u, v, *rng.choice(MARKS, 2).tolist())
    return pag


def mark_at(pag, u, v):
    return pag.edges[u, v]["marks"][v] if pag.has_edge(u, v) else None


def test_scores_by_definition(rng):
    for _ in range(20):
        true, learned = draw_pag(rng), draw_pag(rng)
        ends = [(u, v) for u in range(6) for v in range(6) if u != v]
        for mark, compute in ((">", arrowhead_scores), ("-", tail_scores)):
            both = sum(mark_at(true, *end) == mark == mark_at(learned, *end) for end in ends)
            n_true, n_learned = (sum(mark_at(pag, *end) == mark for end in ends) for pag in (true, learned))
            assert compute(true, learned) == pytest.approx(
                (both / n_learned if n_learned else 1, both / n_true if n_true else 1, 2 * both / (n_true + n_learned))
            )
        differing = {
            frozenset((u, v))
            for u, v in ends
            if (mark_at(true, u, v), mark_at(true, v, u)) != (mark_at(learned, u, v), mark_at(learned, v, u))
        }
        assert shd(true, learned) == shd(learned, true) == len(differing)
        assert shd(true, true) == 0


def test_scores_of_pgmpys_graphs():
    a, b = PAG([("a", "b", "o", ">")]), PAG([("a", "b", "-", ">")])
    assert shd(a.to_pgmpy(), b) == 1
    assert arrowhead_scores(a, b.to_pgmpy()) == (1, 1, 1)
    assert tail_scores(a, b) == (0, 1, 0)


def test_skeletons_are_compared_with_all_graphs():
    assert skeleton_scores(DAG([("a", "b")]), PAG([("a", "b", "o", ">")])) == (1, 1, 1)


@pytest.mark.parametrize("compare", [shd, arrowhead_scores, tail_scores])
def test_a_pag_needs_a_pag(compare):
    with pytest.raises(TypeError, match="compared with a PAG only, got DAG"):
        compare(DAG([("a", "b")]), PAG([("a", "b")]))


@pytest.mark.parametrize("compare", [direction_scores, cpdag_shd, edge_differences])
def test_functions_for_dags_refuse_pags(compare):
    with pytest.raises(TypeError, match="arrowhead_scores"):
        compare(PAG([("a", "b")]), PAG([("a", "b")]))


def test_marks_of_other_graphs():
    with pytest.raises(TypeError, match="direction_scores"):
        arrowhead_scores(DAG([("a", "b")]), DAG([("a", "b")]))


def test_graphs_without_edges():
    empty = nx.Graph()
    empty.add_nodes_from("ab")
    pag = PAG()
    pag.add_nodes_from("ab")
    assert shd(pag, pag) == 0
    assert arrowhead_scores(pag, pag) == (1, 1, 1)
    assert shd(empty, empty) == 0
    assert np.isfinite(tail_scores(pag, pag)).all()
