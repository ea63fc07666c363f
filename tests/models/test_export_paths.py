"""GraphML files, and where files go."""

import json

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pgmpy.base import DAG, PDAG
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork

from pgmx.inference import PairwisePotentials
from pgmx.models import (
    GaussianMarkovNetwork,
    PairwiseMarkovNetwork,
    TimeSeriesGraph,
    load_gaussian_network,
    load_markov_network,
    read_model,
    save_model,
)


def coin():
    model = DiscreteBayesianNetwork()
    model.add_node("coin")
    model.add_cpds(TabularCPD("coin", 2, [[0.5], [0.5]], state_names={"coin": ["head", 1]}))
    return model


def test_graphml_of_a_dag(tmp_path):
    dag = DAG([("a", "b"), (3, "b")])
    read = nx.read_graphml(save_model(dag, tmp_path / "graph.graphml"))
    assert type(read) is nx.DiGraph
    assert list(read.nodes()) == ["a", "b", "3"]
    assert list(read.edges(data=True)) == [("a", "b", {}), ("3", "b", {})]
    assert dag.edges["a", "b"] == {"weight": None}


def test_graphml_of_a_pdag(tmp_path):
    read = nx.read_graphml(save_model(PDAG([("a", "b")], [("b", "c")]), tmp_path / "graph.graphml"))
    kinds = {edge: read.edges[edge]["kind"] for edge in read.edges()}
    assert kinds == {("a", "b"): "directed", ("b", "c"): "undirected", ("c", "b"): "undirected"}


def test_graphml_keeps_weights_and_undirected_graphs(tmp_path):
    graph = nx.Graph([("a", "b", {"weight": 2, "other": object()})])
    read = nx.read_graphml(save_model(graph, tmp_path / "graph.graphml"))
    assert not read.is_directed()
    assert list(read.edges(data=True)) == [("a", "b", {"weight": 2.0})]


def test_graphml_holds_states(tmp_path):
    read = nx.read_graphml(save_model(coin(), tmp_path / "graph.graphml"))
    assert json.loads(read.nodes["coin"]["states"]) == ["head", "1"]


@pytest.mark.slow
@given(st.lists(st.text(st.characters(codec="utf-8", exclude_categories=("Cc",)), min_size=1), min_size=2, unique=True))
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_graphml_names_come_back(tmp_path, names):
    try:
        path = save_model(DAG([tuple(names[:2])]), tmp_path / "graph.graphml")
    except ValueError as error:
        assert "forbids" in str(error)
        assert any("\ufffe" in name or "\uffff" in name for name in names[:2])
    else:
        assert list(nx.read_graphml(path).nodes()) == names[:2]


CONTROL = ["\x00", "\x01", "\x0b", "\r", "\x1f"]  # five of the 30 control characters that are refused


@pytest.mark.parametrize("mark", [*CONTROL, "\x7f", "\t", "\n", "\ud800", "\ufffe", "é", ""])
@pytest.mark.parametrize("kind", ["graph", "Markov", "Gaussian", "lagged"])
def test_what_is_written_as_graphml_is_read(tmp_path, kind, mark):
    names = [f"a{mark}", "b"]
    potentials = PairwisePotentials.build([2, 2], tables={(0, 1): [[1.0, 0.0], [0.0, 1.0]]})
    make, read = {
        "graph": (lambda: DAG([tuple(names)]), nx.read_graphml),
        "Markov": (
            lambda: PairwiseMarkovNetwork.from_potentials(names, [[0, f"x{mark}"]] * 2, potentials),
            load_markov_network,
        ),
        "Gaussian": (
            lambda: GaussianMarkovNetwork.from_covariance(names, [[2.0, 1.0], [1.0, 2.0]]),
            load_gaussian_network,
        ),
        "lagged": (lambda: TimeSeriesGraph([((names[0], 1), (names[1], 0))]), TimeSeriesGraph.load),
    }[kind]
    path = tmp_path / "a.graphml"
    if mark in (*CONTROL, "\ud800", "\ufffe"):
        with pytest.raises(ValueError, match="holds a character that XML forbids or changes; .* use json"):
            save_model(make(), path)
        assert not path.exists()
        return
    read_back = read(save_model(make(), path))
    assert list(getattr(read_back, "names", read_back.nodes())) == names
    assert kind != "Markov" or list(read_back.states[names[0]]) == ["0", f"x{mark}"]


def test_graphml_bad_names(tmp_path):
    path = tmp_path / "graph.graphml"
    network = GaussianMarkovNetwork.from_covariance(["a", "b"], [[2.0, 1.0], [1.0, 2.0]])
    network.graph["name"] = "\x1b[2J"
    with pytest.raises(ValueError, match=r"'\\x1b\[2J' holds a character that XML forbids"):
        save_model(network, path)
    with pytest.raises(ValueError, match="1 and '1' are both written as '1'"):
        save_model(DAG([(1, "1")]), path)
    assert not path.exists()


@pytest.mark.parametrize("name", ["model.BIF", "model.xmlbif", "a.b.json", "model.GraphML"])
def test_the_suffix_gives_the_format(tmp_path, name):
    path = save_model(coin(), str(tmp_path / name))
    assert path == tmp_path / name
    assert path.stat().st_size > 0


def test_the_argument_goes_before_the_suffix(tmp_path):
    path = save_model(coin(), tmp_path / "model.txt", format="bif")
    assert path.read_text().startswith("network unknown {")
    assert read_model(path, format="bif").get_cpds("coin").state_names == {"coin": ["head", "1"]}


@pytest.mark.parametrize("call", [lambda path, **k: save_model(coin(), path, **k), read_model])
def test_unknown_formats(tmp_path, call):
    known = "bif, xmlbif, net, xdsl, graphml, json, npz, uai"
    remedy = r"for another suffix give format= \(pgmx convert --format\)"
    for name, suffix in (("m.txt", ".txt"), ("m.npz.gz", ".gz")):
        with pytest.raises(
            ValueError, match=f"unknown suffix '{suffix}' of '{name}'; expected one of {known}; {remedy}"
        ):
            call(tmp_path / name)
    for name, words in (("m.dne", "Netica's DNE"), ("m.DSC", "DSC"), ("m.oobn", "object-oriented")):
        with pytest.raises(ValueError, match=f"{name}: .*{words}.* is not supported"):
            call(tmp_path / name)
    with pytest.raises(ValueError, match="unknown suffix '' of 'model'"):
        call(tmp_path / "model")
    with pytest.raises(ValueError, match="unknown format 'BIF'; expected one of"):
        call(tmp_path / "model.bif", format="BIF")


def test_missing_folder(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"cannot write model\.bif: there is no folder .*nowhere; make it first"
    ):
        save_model(coin(), tmp_path / "nowhere" / "model.bif")


def test_a_folder_is_no_file(tmp_path):
    (tmp_path / "model.bif").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder"):
        save_model(coin(), tmp_path / "model.bif")


@pytest.mark.parametrize("thing", [None, [("a", "b")], nx.MultiDiGraph()])
@pytest.mark.parametrize("suffix", ["bif", "graphml", "json"])
def test_no_graph(tmp_path, thing, suffix):
    with pytest.raises(
        TypeError,
        match=f"expected a pgmpy network, DAG, PDAG, networkx graph or fitted learner; got {type(thing).__name__}",
    ):
        save_model(thing, tmp_path / f"model.{suffix}")


def test_reading_what_is_not_there(tmp_path):
    for name in ("model.bif", "model.xmlbif", "model.json"):
        with pytest.raises(FileNotFoundError):
            read_model(tmp_path / name)


@pytest.mark.parametrize("suffix", ["bif", "xmlbif"])
def test_files_cut_short_are_refused(tmp_path, suffix):
    path = save_model(coin(), tmp_path / f"model.{suffix}")
    text = path.read_text()
    for end in range(0, len(text) - 10, 7):
        path.write_text(text[:end])
        with pytest.raises(ValueError, match=rf"model\.{suffix} is not a Bayesian network in {suffix} form"):
            read_model(path)


def test_graphml_is_read_by_networkx(tmp_path):
    with pytest.raises(ValueError, match=r"networkx\.read_graphml"):
        read_model(save_model(coin(), tmp_path / "model.graphml"))
