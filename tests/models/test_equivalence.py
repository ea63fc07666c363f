"""The graph of an equivalence class against enumeration, pgmpy and the definition."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pgmpy.base import DAG

from helpers.examples import examples
from oracles import equivalence as oracle
from pgmx.graphs.equivalence import cpdag
from pgmx.graphs.partial_dag import PartialDag


@st.composite
def dags(draw, max_nodes=5):
    """A DAG on shuffled ids, so that id order is not a topological order."""
    n = draw(st.integers(1, max_nodes))
    order = draw(st.permutations(range(n)))
    pairs = list(combinations(order, 2))
    chosen = draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    return n, [pair for pair, keep in zip(pairs, chosen, strict=True) if keep]


@given(dags(), st.data())
@examples(400)
def test_equals_enumeration(dag, data):
    n, edges = dag
    compelled = data.draw(st.lists(st.sampled_from(edges), unique=True)) if edges else []
    assert cpdag(n, edges, compelled=compelled) == oracle.cpdag(n, edges, compelled)


def random_dag(n, n_edges, rng):
    order = rng.permutation(n)
    pairs = {tuple(sorted(rng.choice(n, 2, replace=False))) for _ in range(n_edges)}
    return sorted((int(order[u]), int(order[v])) for u, v in pairs)


@pytest.mark.parametrize(("n", "n_edges"), [(6, 9), (12, 20), (30, 45), (30, 120)])
def test_equals_pgmpy(n, n_edges):
    rng = np.random.default_rng(n * n_edges)
    for _ in range(5):
        edges = random_dag(n, n_edges, rng)
        theirs = DAG(edges).to_pdag()
        directed, undirected = cpdag(n, edges)
        assert set(directed) == theirs.directed_edges
        assert set(undirected) == {tuple(sorted(edge)) for edge in theirs.undirected_edges}


@given(dags(max_nodes=9), st.data())
def test_every_member_gives_the_same_class(dag, data):
    """Reversing a covered edge (same other parents at both ends) leads to an equivalent DAG (Chickering 1995)."""
    n, edges = dag
    here = set(edges)
    for _ in range(5):
        covered = [
            (u, v) for u, v in sorted(here) if {a for a, b in here if b == u} == {a for a, b in here if b == v} - {u}
        ]
        if not covered:
            break
        u, v = data.draw(st.sampled_from(covered))
        here = here - {(u, v)} | {(v, u)}
        assert cpdag(n, sorted(here)) == cpdag(n, edges)


@given(dags(max_nodes=8))
def test_skeleton_and_v_structures_are_kept(dag):
    n, edges = dag
    directed, undirected = cpdag(n, edges)
    assert sorted(map(sorted, directed + undirected)) == sorted(map(sorted, edges))
    assert set(directed) <= set(edges)  # a directed edge points as in every member, so as in this one
    collisions = oracle.v_structures(edges)
    assert {(a, c) for a, c, _ in collisions} | {(b, c) for _, c, b in collisions} <= set(directed)


@given(dags(max_nodes=8))
def test_all_edges_compelled_gives_the_dag_back(dag):
    n, edges = dag
    assert cpdag(n, edges, compelled=edges) == (sorted(edges), [])


@pytest.mark.parametrize("n", [1, 5, 30, 120])
def test_one_pass_is_what_the_rules_give(rng, n):
    for density in (0.02, 0.1, 0.4):
        order = rng.permutation(n).tolist()
        edges = [(order[i], order[j]) for i, j in combinations(range(n), 2) if rng.random() < density]
        rules = PartialDag.from_dag(n, edges)
        directed = sorted((tail, head) for tail in range(n) for head in rules.children[tail])
        undirected = sorted((u, v) for u in range(n) for v in rules.neighbours[u] if u < v)
        assert cpdag(n, edges) == (directed, undirected)


def test_fourth_rule_needs_knowledge():
    # d -> c -> b and a next to all three; b and d are not adjacent.
    a, b, c, d = range(4)
    edges = [(d, a), (d, c), (c, b), (a, b), (c, a)]
    assert cpdag(4, edges)[0] == []
    directed, undirected = cpdag(4, edges, compelled=[(d, c), (c, b)])
    assert (a, b) in directed
    assert (directed, undirected) == oracle.cpdag(4, edges, [(d, c), (c, b)])


def test_edges_may_be_an_array_and_the_answer_is_python_integers():
    directed, _ = cpdag(3, np.array([[0, 2], [1, 2]]))
    assert directed == [(0, 2), (1, 2)]
    assert {type(node) for edge in directed for node in edge} == {int}


def test_no_edges():
    assert cpdag(0, []) == ([], [])
    assert cpdag(3, []) == ([], [])


@pytest.mark.parametrize(
    ("edges", "compelled", "words"),
    [
        ([(0, 3)], [], r"\(0, 3\) has an id outside 0\.\.2"),
        ([(0, 1), (1, 2), (2, 0)], [], r"cycle \[0, 1, 2, 0\]"),
        ([(1, 1)], [], r"cycle \[1, 1\]"),
        ([(0, 1)], [(1, 0)], r"compelled edge \(1, 0\) is not an edge"),
    ],
)
def test_bad_input(edges, compelled, words):
    with pytest.raises(ValueError, match=words):
        cpdag(3, edges, compelled=compelled)
