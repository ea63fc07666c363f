"""Partial ancestral graphs: marks, questions about causes, and other forms."""

import json
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from pgmx.models import PAG, read_model, save_model

SIGNS = {
    "-->": ("-", ">"),
    "<->": (">", ">"),
    "o->": ("o", ">"),
    "o-o": ("o", "o"),
    "---": ("-", "-"),
    "o--": ("o", "-"),
}


def read_pag(text):
    """Return a PAG of edges such as "a o-> b, b --> c"."""
    edges = [edge.split() for edge in text.split(", ")]
    return PAG([(u, v, *SIGNS[sign]) for u, sign, v in edges])


def read_edges(pag):
    return [(u, v, marks) for u, v, marks in pag.edges(data="marks")]


def test_edges_have_marks_as_in_pgmpy():
    pag = PAG([("a", "b", "o", ">"), ("b", "c")])
    assert read_edges(pag) == [("a", "b", {"a": "o", "b": ">"}), ("b", "c", {"b": "o", "c": "o"})]
    theirs = pag.to_pgmpy()
    assert type(theirs).__name__ == "AncestralBase"
    assert [*theirs.edges(data="marks")] == [*pag.edges(data="marks")]
    assert theirs.get_neighbors("b", u_type=">") == {"a"}
    assert PAG(theirs).edges["a", "b"]["marks"] == {"a": "o", "b": ">"}


def test_networkx_copies_keep_the_marks():
    pag = read_pag("a o-> b, b --> c")
    for other in (pag.copy(), PAG(pag), nx.relabel_nodes(pag, {"z": "y"}), pag.subgraph("abc").copy()):
        assert type(other) is PAG
        assert read_edges(other) == read_edges(pag)
    assert read_edges(pag.subgraph("ab")) == read_edges(pag)[:1]


def test_changed_edges_keep_other_marks():
    pag = read_pag("a o-> b")
    pag.add_edge("a", "b", p_value=0.25)
    pag.add_edge("b", "a", v_mark="-")
    assert pag.edges["a", "b"] == {"marks": {"a": "-", "b": ">"}, "p_value": 0.25}


@pytest.mark.parametrize(
    ("edge", "message"),
    [
        (("a", "a"), "joins 'a' with itself"),
        (("a", "b", "x", ">"), "mark at 'a' must be"),
        (("a", "b", {"marks": {"a": "o", "c": "o"}}), "marks of 'a' and 'b'"),
        (("a", "b", "o"), "expected"),
    ],
)
def test_wrong_edges(edge, message):
    with pytest.raises(ValueError, match=message):
        PAG([edge])


def test_possible_ancestors():
    pag = read_pag("a o-> b, b --> c, d <-> b, e o-o a, c --- f, g o-- c")
    assert pag.possible_ancestors("b") == {"a", "e"}
    assert pag.possible_ancestors("c") == {"a", "b", "e"}
    assert pag.possible_ancestors("d") == set()
    assert pag.possible_ancestors("g") == {"a", "b", "c", "e"}
    with pytest.raises(nx.NetworkXError, match="'z'"):
        pag.possible_ancestors("z")


def test_definite_parents():
    pag = read_pag("a o-> b, c --> b, d <-> b, b --> e")
    assert pag.definite_parents("b") == {"c"}
    assert pag.definite_parents("a") == set()
    with pytest.raises(nx.NetworkXError, match="'z'"):
        pag.definite_parents("z")


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("a --> b", False),
        ("c o-> a, a --> b", True),
        ("c o-> a, a --> b, c o-> b", False),
        ("c o-o a, a --> b", False),
        # a collider path c *-> d <-> a, d a parent of b
        ("c o-> d, d <-> a, a --> b, d --> b", True),
        ("c o-> d, d <-> a, a --> b, d <-> b", False),
        ("c --- d, d <-> a, a --> b, d --> b", False),
        ("c o-> d, d <-> e, e <-> a, a --> b, d --> b, e --> b", True),
        ("a o-> b", False),
    ],
)
def test_visible_edges(text, visible):
    assert read_pag(text).is_visible("a", "b") is visible


def test_visible_edges_need_an_edge():
    with pytest.raises(nx.NetworkXError, match="no edge"):
        read_pag("a --> b, b --> c").is_visible("a", "c")


def test_edges_as_text():
    for sign in SIGNS:
        assert read_pag(f"a {sign} b").describe_edge("a", "b") == f"a {sign} b"
    assert read_pag("a o-> b").describe_edge("b", "a") == "b <-o a"
    assert read_pag("a --> b").describe_edge("b", "a") == "b <-- a"


# ---- files ----


def test_json_keeps_the_marks(tmp_path):
    pag = read_pag("a o-> b, b --> c, c <-> d")
    pag.add_node("lone")
    again = read_model(save_model(pag, tmp_path / "pag.json"))
    assert type(again) is PAG
    assert list(again) == list(pag)
    assert read_edges(again) == read_edges(pag)


@pytest.mark.parametrize("marks", [["o", "x"], ["o"], "o>", None])
def test_damaged_marks(tmp_path, marks):
    path = save_model(read_pag("a o-> b"), tmp_path / "pag.json")
    document = json.loads(path.read_text())
    document["edges"][0]["marks"] = marks
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=r"pag\.json"):
        read_model(path)


def test_graphml_has_the_marks(tmp_path):
    graph = nx.read_graphml(save_model(read_pag("a o-> b"), tmp_path / "pag.graphml"))
    assert graph.edges["a", "b"] == {"source_mark": "o", "target_mark": ">"}


def test_possible_ancestors_by_all_paths(rng):
    for _ in range(20):
        n = 6
        pag = PAG()
        pag.add_nodes_from(range(n))
        for u in range(n):
            for v in range(u):
                if rng.random() < 0.4:
                    pag.add_edge(u, v, *rng.choice(["o", ">", "-"], 2).tolist())
        for v in range(n):
            expected = set()
            for u in set(range(n)) - {v}:
                for path in nx.all_simple_paths(pag, u, v):
                    marks = [(a, b, pag.edges[a, b]["marks"]) for a, b in pairwise(path)]
                    if all(of[a] != ">" and of[b] != "-" for a, b, of in marks):
                        expected.add(u)
            assert pag.possible_ancestors(v) == expected


def test_numpy_names():
    pag = PAG([(np.int64(0), np.int64(1), "-", ">")])
    assert pag.definite_parents(1) == {0}
