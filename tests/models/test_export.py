"""Files written and read back, also by pgmpy's and networkx's own readers."""

import json
import logging

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pgmpy.base import DAG, PDAG
from pgmpy.readwrite import BIFReader, XMLBIFReader

from pgmx.data.table import DiscreteTable
from pgmx.models import (
    DiscreteBayesianNetwork,
    fit_discrete,
    read_json,
    read_model,
    save_model,
    to_linear_gaussian,
    to_pdag,
)

READERS = {"bif": BIFReader, "xmlbif": XMLBIFReader}

# What means something in one of the formats, or to a reader of it.
AWKWARD = [*'(){}|";é&?1Aa \n\x00', "", "<b>", "-1", "1e5", "//", "/*", "x,y", "a b", "_x0020_"]
AWKWARD += ["type", "table5", "default 1", "variable", "probability", "network"]


def fitted(columns, states, edges, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, len(names), 50) for names in states])
    return fit_discrete(DiscreteTable(columns, states, codes), edges)


@pytest.fixture
def network():
    """Nodes whose order is not that of their names, one of them isolated, states of several types."""
    states = [("lo", "hi"), (0, 1, 2), (True, False), (0.5, 1.5)]
    return fitted(["wet", "month", "Rain", "alone"], states, [(1, 2), (2, 0), (1, 0)])


def assert_same(one, other, text=str):
    """Compare up to the order of nodes; ``text`` is applied to the names and states of the first."""
    assert {text(node) for node in one.nodes()} == set(other.nodes())
    assert {(text(u), text(v)) for u, v in one.edges()} == set(other.edges())
    for cpd in one.get_cpds():
        mate = other.get_cpds(text(cpd.variable))
        assert [text(name) for name in cpd.variables] == mate.variables
        for name, states in cpd.state_names.items():
            assert [text(state) for state in states] == mate.state_names[text(name)]
        np.testing.assert_array_equal(cpd.values, mate.values)


@pytest.mark.parametrize("format", ["bif", "xmlbif"])
class TestNetworkFiles:
    def test_plain_names_are_read_by_pgmpy(self, network, tmp_path, format):
        path = save_model(network, tmp_path / f"model.{format}")
        read = READERS[format](str(path)).get_model()
        assert read.check_model()
        if format == "bif":  # xmlbif has no dots in states
            assert_same(network, read)
        assert_same(network, read_model(path))

    def test_the_network_is_not_changed(self, network, tmp_path, format):
        order = [cpd.variable for cpd in network.get_cpds()]
        copy = network.copy()
        save_model(network, tmp_path / f"model.{format}")
        assert [cpd.variable for cpd in network.get_cpds()] == order
        assert network == copy

    @pytest.mark.slow
    def test_awkward_names_and_states_come_back(self, tmp_path, format):
        chain = [(v, v + 1) for v in range(len(AWKWARD) - 1)]
        model = fitted(AWKWARD, [AWKWARD[v:] + AWKWARD[:v] for v in range(len(AWKWARD))], chain)
        assert_same(model, read_model(save_model(model, tmp_path / f"model.{format}")))

    @given(data=st.data())
    @settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_any_name_and_state_comes_back(self, tmp_path, format, data):
        awkward = st.sampled_from(AWKWARD)
        words = awkward | st.text(max_size=6)
        names = data.draw(st.lists(words, min_size=3, max_size=3, unique=True))
        states = [data.draw(st.lists(words, min_size=1, max_size=3, unique=True)) for _ in names]
        model = fitted(names, states, [(0, 1), (0, 2), (1, 2)])
        assert_same(model, read_model(save_model(model, tmp_path / f"model.{format}")))

    def test_no_complaints_in_the_log(self, tmp_path, format, caplog):
        with caplog.at_level(logging.WARNING):
            save_model(fitted(["v"], [("a,b", "-1")], []), tmp_path / f"model.{format}")
        assert not caplog.records

    def test_attributes_do_no_harm(self, network, tmp_path, format):
        network.with_role("exposures", {"month"}, inplace=True)
        network.nodes["wet"]["note"] = "} // ;"
        network.name = "variable {"
        assert_same(network, read_model(save_model(network, tmp_path / f"model.{format}")))

    def test_texts_that_coincide_are_refused(self, tmp_path, format):
        path = tmp_path / f"model.{format}"
        with pytest.raises(ValueError, match="states of 'v': 1 and '1' are both written as '1'"):
            save_model(fitted(["v"], [(1, "1")], []), path)
        with pytest.raises(ValueError, match="names of variables: 1 and '1'"):
            save_model(fitted([1, "1"], [(0, 1)] * 2, []), path)
        assert not path.exists()

    def test_a_network_without_parameters_is_refused(self, tmp_path, format):
        bare = DiscreteBayesianNetwork([("a", "b")])
        with pytest.raises(ValueError, match="No CPD associated with a"):
            save_model(bare, tmp_path / f"model.{format}")
        with pytest.raises(ValueError, match="no nodes"):
            save_model(DiscreteBayesianNetwork(), tmp_path / f"model.{format}")

    @pytest.mark.parametrize("graph", [DAG([("a", "b")]), PDAG([("a", "b")]), nx.DiGraph()])
    def test_a_graph_is_refused(self, graph, tmp_path, format):
        with pytest.raises(TypeError, match=rf"{format} holds a fitted DiscreteBayesianNetwork, not a .*model_"):
            save_model(graph, tmp_path / f"model.{format}")


class TestJson:
    def test_network(self, network, tmp_path):
        network.name = "weather"
        read = read_json(save_model(network, tmp_path / "model.json"))
        assert type(read) is DiscreteBayesianNetwork
        assert_same(network, read, text=lambda value: value)
        assert list(read.nodes()) == list(network.nodes())
        assert list(read.edges(data=True)) == list(network.edges(data=True))
        assert read.name == "weather"
        kinds = [[type(s) for s in cpd.state_names[cpd.variable]] for cpd in read.get_cpds()]
        assert kinds == [[str, str], [int, int, int], [bool, bool], [float, float]]

    def test_numpy_states_become_python_ones(self, tmp_path):
        model = DiscreteBayesianNetwork([("a", "b")]).fit(pd.DataFrame({"a": [0, 1, 1], "b": [1, 1, 0]}))
        read = read_model(save_model(model, tmp_path / "model.json"))
        assert read.get_cpds("a").state_names == {"a": [0, 1]}
        assert type(read.get_cpds("a").state_names["a"][0]) is int

    def test_linear_gaussian(self, tmp_path):
        frame = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 2)), columns=["x", "y"])
        model = to_linear_gaussian(frame, ["x", "y"], [(1, 0)])
        read = read_json(save_model(model, tmp_path / "model.json"))
        assert type(read) is type(model)
        for name in "xy":
            one, other = model.get_cpds(name), read.get_cpds(name)
            assert (one.beta.tolist(), one.std, one.evidence) == (other.beta.tolist(), other.std, other.evidence)

    @pytest.mark.parametrize(
        "graph",
        [
            DAG([("b", "a"), (3, "a")]),
            PDAG([("b", "a")], [("c", "a"), ("a", "d")]),
            to_pdag(["z", "y", "x"], [(0, 1)], [(1, 2)]),
            nx.DiGraph([(1, 0), (0, 1)]),
            nx.Graph([("u", "v", {"weight": 0.25})]),
            DiscreteBayesianNetwork([("b", "a")]),
            nx.Graph(),
        ],
    )
    def test_graphs(self, graph, tmp_path):
        read = read_json(save_model(graph, tmp_path / "graph.json"))
        assert type(read) is type(graph)
        assert list(read.nodes()) == list(graph.nodes())
        assert list(read.edges(data=True)) == list(graph.edges(data=True))
        if isinstance(graph, PDAG):
            assert read == graph

    def test_networkx_reads_it_too(self, network, tmp_path):
        document = json.loads(save_model(network, tmp_path / "model.json").read_text(encoding="utf-8"))
        graph = nx.node_link_graph(document, edges="edges")
        assert set(graph.edges()) == set(network.edges())
        assert graph.nodes["month"]["states"] == [0, 1, 2]

    @pytest.mark.parametrize(
        ("graph", "words"),
        [
            (DAG([(("a", 1), "b")]), r"the name \('a', 1\) cannot be saved in json"),
            (fitted(["v"], [(pd.Timestamp(0), "x")], []), "a state of 'v': Timestamp"),
            (nx.Graph([("u", "v", {"weight": float("inf")})]), "the weight of 'u' -> 'v': inf"),
        ],
    )
    def test_what_json_does_not_hold(self, graph, words, tmp_path):
        with pytest.raises(TypeError, match=words):
            save_model(graph, tmp_path / "graph.json")
        assert not (tmp_path / "graph.json").exists()

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"format": "other"}, "not marked as format 'pgmx', version 1"),
            ({"type": "Magic"}, "its type is 'Magic'; expected one of"),
            ({"edges": [{"source": "month", "target": "nobody"}]}, "unknown nodes: 'nobody'"),
            ({"edges": [{"source": "a", "target": "wet"}]}, "unknown nodes: 'a'"),
            ({"edges": []}, "parents of its edges"),
            ({"nodes": [{"name": "wet"}]}, "it lacks 'id'"),
            ({"edges": [{"source": a, "target": b} for a, b in [("wet", "Rain"), ("Rain", "wet")]]}, "cycle"),
        ],
    )
    def test_damaged_files(self, network, tmp_path, change, words):
        path = save_model(network, tmp_path / "model.json")
        path.write_text(json.dumps(json.loads(path.read_text()) | change))
        with pytest.raises(ValueError, match=f"is not a model that pgmx saved as json: .*{words}"):
            read_json(path)

    @pytest.mark.parametrize("text", ["", "[1, 2]", "network unknown {\n}"])
    def test_other_files(self, tmp_path, text):
        path = tmp_path / "model.json"
        path.write_text(text)
        with pytest.raises(ValueError, match=r"model\.json is not a model that pgmx saved as json"):
            read_json(path)
