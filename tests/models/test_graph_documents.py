"""Graphs and networks in json that contradict themselves: refused when they are read and when they are written."""

import json

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from pgmpy.base import DAG, PDAG
from pgmpy.factors.discrete import DiscreteFactor, TabularCPD
from pgmpy.models import DiscreteBayesianNetwork, DiscreteMarkovNetwork

from pgmx.datasets import chain_network, gaussian_chain_network
from pgmx.models import (
    PairwiseMarkovNetwork,
    TimeSeriesGraph,
    read_model,
    save_model,
    to_linear_gaussian,
    to_pdag,
)


def edge(u, v, **attributes):
    return {"source": u, "target": v, **attributes}


def arrow(u, v):
    return edge(u, v, kind="directed")


def line(u, v):
    return [edge(u, v, kind="undirected"), edge(v, u, kind="undirected", opposite=True)]


def discrete():
    states = {"rain": ["no", "yes"], "wet": ["dry", "wet"]}
    model = DiscreteBayesianNetwork([("rain", "wet")])
    model.add_cpds(
        TabularCPD("rain", 2, [[0.25], [0.75]], state_names={"rain": states["rain"]}),
        TabularCPD("wet", 2, [[0.5, 0.125], [0.5, 0.875]], ["rain"], [2], states),
    )
    return model


def of_three():
    model = DiscreteMarkovNetwork([("a", "b"), ("b", "c"), ("a", "c")])
    model.add_factors(DiscreteFactor(["a", "b", "c"], [2, 2, 2], np.arange(8.0)))
    return model


def linear():
    rows = np.random.default_rng(0).normal(size=(20, 3))
    return to_linear_gaussian(pd.DataFrame(rows, columns=["x", "y", "z"]), ["x", "y", "z"], [(0, 1), (1, 2)])


def pdag():
    return to_pdag(["x", "y", "z"], [(0, 1)], [(1, 2)])


PDAG_FAULTS = {
    "a directed loop": ([arrow("x", "x")], "an edge joins 'x' to itself"),
    "an undirected loop": ([edge("x", "x", kind="undirected")], "an edge joins 'x' to itself"),
    "two directions": (
        [arrow("x", "y"), arrow("y", "x")],
        "'x' and 'y' must be joined by one directed or by one undir",
    ),
    "a directed and an undirected edge": ([arrow("x", "y"), line("y", "x")[0]], "'x' and 'y' must be joined by one"),
    "a line of one direction": ([line("x", "y")[0]], "'x' and 'y' must be joined by one"),
    "a line of opposites": ([line("x", "y")[1], line("y", "x")[1]], "'x' and 'y' must be joined by one"),
    "a cycle": ([arrow("x", "y"), arrow("y", "z"), arrow("z", "x")], "its directed edges form a cycle"),
    "another kind": ([edge("x", "y", kind="bidirected")], "the kind of 'x' -> 'y' is 'bidirected'"),
    "no kind": ([edge("x", "y")], "it lacks 'kind'"),
    "an edge twice": ([arrow("x", "y"), arrow("x", "y")], "its edges occur more than once"),
}


def refuse(tmp_path, model, change, words):
    path = save_model(model, tmp_path / "a.json")
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=f"is not a model that pgmx saved as json: .*{words}"):
        read_model(path)


@pytest.mark.parametrize("fault", PDAG_FAULTS)
def test_pdags(tmp_path, fault):
    edges, words = PDAG_FAULTS[fault]
    refuse(tmp_path, pdag(), lambda document: document.update(edges=edges), words)


def test_a_sound_pdag_with_a_semidirected_cycle(tmp_path):
    """An edge from x to y and the lines y - z - x are not a contradiction: such graphs are saved as they are."""
    graph = PDAG([("x", "y")], [("y", "z"), ("z", "x")])
    assert read_model(save_model(graph, tmp_path / "a.json")) == graph
    both = PDAG([], [("x", "y"), ("y", "x")])
    assert read_model(save_model(both, tmp_path / "b.json")) == both


FAULTS = {
    "a loop": (lambda: nx.Graph([("a", "b")]), {"edges": [edge("a", "a")]}, "an edge joins 'a' to itself"),
    "a loop of a DAG": (lambda: DAG([("a", "b")]), {"edges": [edge("a", "a")]}, "an edge joins 'a' to itself"),
    "a cycle of a DAG": (
        lambda: DAG([("a", "b")]),
        {"edges": [edge("a", "b"), edge("b", "a")]},
        "its directed edges form a cycle",
    ),
    "an edge with two weights": (
        lambda: nx.Graph([("a", "b")]),
        {"edges": [edge("a", "b", weight=1.0), edge("b", "a", weight=2.0)]},
        "its edges occur more than once",
    ),
    "a weight beyond floats": (
        lambda: nx.Graph([("a", "b")]),
        {"edges": [edge("a", "b", weight=10**400)]},
        "the weight of 'a' -> 'b' is 1000",
    ),
    "a table without its arc": (
        discrete,
        lambda document: document.update(edges=[], cpds=document["cpds"][1:]),
        "the CPD of 'wet' does not have the parents of its edges",
    ),
    "an arc without its table": (
        discrete,
        lambda document: document.update(edges=[edge("wet", "rain")], cpds=document["cpds"][:1]),
        "the CPD of 'rain' does not have the parents of its edges",
    ),
    "a regression without its arc": (
        linear,
        lambda document: document.update(edges=[edge("x", "y")], cpds=document["cpds"][2:]),
        "the CPD of 'z' does not have the parents of its edges",
    ),
    "a deviation that is no number": (
        linear,
        lambda document: document["cpds"][0].update(std=True),
        "the standard deviation of 'x' is True",
    ),
    "a factor without an edge": (
        of_three,
        lambda document: document["edges"].pop(),
        "a factor has the variables '.' and '.', which no edge joins",
    ),
    "a variable without a factor": (
        of_three,
        lambda document: document["nodes"].append({"id": "d", "states": [0, 1]}),
        "'d' is in no factor: add a factor of ones",
    ),
    "a name of numbers": (discrete, {"graph": {"name": [1]}}, r"its name is \[1\]"),
    "a name of a Markov network": (lambda: chain_network(3), {"graph": {"name": 1}}, "its name is 1"),
    "a name of a Gaussian network": (
        lambda: gaussian_chain_network(3),
        lambda document: document["graph"].update(name=1),
        "its name is 1",
    ),
    "an origin of a Gaussian network": (
        lambda: gaussian_chain_network(3),
        lambda document: document["graph"].update(estimated_by=1),
        "its field 'estimated_by' is 1",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_contradictions(tmp_path, fault):
    make, change, words = FAULTS[fault]
    refuse(tmp_path, make(), change if callable(change) else lambda document: document.update(change), words)


@pytest.mark.parametrize("word", [b"1e999", b"-1e999", b"NaN", b"Infinity"])
def test_numbers_that_are_not_finite(tmp_path, word):
    path = save_model(nx.Graph([("a", "b", {"weight": 0.25})]), tmp_path / "a.json")
    path.write_bytes(path.read_bytes().replace(b"0.25", word))
    with pytest.raises(ValueError, match=f"it holds {word.decode()}, which is not a finite number"):
        read_model(path)


def two_sided():
    graph = TimeSeriesGraph([(("x", 0), ("y", 0))])
    graph.edges[("x", 0), ("y", 0)]["undirected"] = True
    return graph


def lone_table():
    model = discrete()
    model.remove_edge("rain", "wet")
    return model


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: PDAG([("x", "y"), ("y", "x")]), "'[xy]' and '[xy]' must be joined by one"),
        (lambda: PDAG([("x", "y"), ("y", "z"), ("z", "x")]), "its directed edges form a cycle"),
        (lambda: PDAG([("x", "x")]), "an edge joins 'x' to itself"),
        (lambda: nx.Graph([("x", "x")]), "an edge joins 'x' to itself"),
        (lambda: nx.Graph([("x", "y", {"weight": 10**400})]), "the weight of 'x' -> 'y' is 1000"),
        (lone_table, "the CPD of 'wet' does not have the parents of its edges"),
        (two_sided, r"the undirected edge \('x', 0\) -> \('y', 0\) must be instantaneous and occur in both directions"),
    ],
)
def test_what_could_not_be_read_is_not_written(tmp_path, make, words):
    with pytest.raises(ValueError, match=words):
        save_model(make(), tmp_path / "a.json")
    assert not list(tmp_path.iterdir())


def test_loops_of_plain_directed_graphs_are_kept(tmp_path):
    """Summary graphs of time series have them: a variable depends on its own past."""
    graph = TimeSeriesGraph([(("x", 1), ("x", 0)), (("x", 1), ("y", 0))]).summary_graph()
    assert list(read_model(save_model(graph, tmp_path / "a.json")).edges()) == [("x", "x"), ("x", "y")]


def test_variables_without_a_factor_in_uai(tmp_path):
    """They are uniform: the network is one that pgmpy accepts, too."""
    (tmp_path / "a.uai").write_text("MARKOV 4 2 2 2 3 1 3 0 1 2 8 1 2 3 4 5 6 7 8")
    model = read_model(tmp_path / "a.uai")
    assert type(model) is DiscreteMarkovNetwork and model.check_model()
    assert [factor.values.tolist() for factor in model.factors if factor.scope() == ["var_3"]] == [[1, 1, 1]]
    (tmp_path / "b.uai").write_text("MARKOV 2 2 3 1 1 0 2 1 3")
    pairwise = read_model(tmp_path / "b.uai")
    assert type(pairwise) is PairwiseMarkovNetwork
    assert pairwise.marginals()["var_1"] == pytest.approx(dict.fromkeys(range(3), 1 / 3))
