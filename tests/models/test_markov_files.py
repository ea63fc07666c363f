"""Markov networks written and read back, also by pgmpy's and networkx's own readers."""

import json

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

from helpers.examples import examples
from helpers.markov_networks import named, networks, ring
from helpers.network_files import check_files_of_any_model, check_targets, damaged_files
from pgmx.datasets import grid_network
from pgmx.inference import PairwisePotentials
from pgmx.models import (
    PairwiseMarkovNetwork,
    load_markov_network,
    read_model,
    save_markov_network,
    save_model,
)

FORMATS = ("npz", "json", "graphml", "uai")


def mixed():
    """Names and states of several types, a cell of probability zero, values of many sizes, an isolated variable."""
    tables = {(0, 1): [[1e-300, -np.inf, 0.1], [1 / 3, 1e5, -7.25]], (1, 3): np.pi * np.ones((3, 1))}
    potentials = PairwisePotentials.build([2, 3, 2, 1], [[0.1, -1e-9], None, [2.0, -np.inf], None], tables)
    states = [["no", "yes"], [False, 2, "x y"], [None, 0.5], ["ä\n#"]]
    network = PairwiseMarkovNetwork.from_potentials(["a b", 0, "#", -1], states, potentials)
    network.graph["name"] = "a network"
    return network


def same(one, other):
    assert one.names == other.names
    assert [type(name) for name in one.names] == [type(name) for name in other.names]
    assert repr(one.states) == repr(other.states)
    assert one.name == other.name
    assert np.array_equal(one.potentials.edges, other.potentials.edges)


@pytest.mark.parametrize("format", ["npz", "json"])
def test_lossless(format, tmp_path):
    network = mixed()
    path = network.save(tmp_path / f"network.{format}")
    for read in (PairwiseMarkovNetwork.load(path), load_markov_network(path), read_model(path)):
        same(read, network)
        assert read.potentials.node_values.tobytes() == network.potentials.node_values.tobytes()
        assert read.potentials.edge_values.tobytes() == network.potentials.edge_values.tobytes()


def test_graphml_keeps_potentials_and_texts(tmp_path):
    network = mixed()
    path = save_model(network, tmp_path / "network.graphml")
    read = load_markov_network(path)
    assert read.names == tuple(map(str, network.names))
    assert read.states["0"] == ["False", "2", "x y"]
    assert read.potentials.edge_values.tobytes() == network.potentials.edge_values.tobytes()
    plain = nx.read_graphml(path)
    assert plain.edges["a b", "0"]["weight"] == np.inf
    assert plain.nodes["-1"]["states"] == json.dumps(["ä\n#"])


@given(networks(impossible=(0.0, 0.1)))
@examples(30)
def test_uai_keeps_the_distribution(tmp_path_factory, network):
    names = [name for name in network.names if not isinstance(name, tuple)]
    if len(names) < len(network.names):
        return
    folder = tmp_path_factory.mktemp("uai")
    try:
        path = network.save(folder / "network.uai")
    except ValueError as error:
        assert "probability" in str(error)  # zero, of all configurations together
        return
    read = PairwiseMarkovNetwork.load(path)
    same(read, network)
    assert read.log_partition() == pytest.approx(0.0, abs=1e-9)
    for name in names:
        np.testing.assert_allclose(read.marginals().array(name), network.marginals().array(name), atol=1e-12)


@pytest.mark.filterwarnings("ignore:`pgmpy.estimators:FutureWarning")  # raised inside pgmpy, at its import
def test_pgmpy_reads_uai(tmp_path):
    from pgmpy.inference import VariableElimination
    from pgmpy.readwrite import UAIReader

    network = ring(4, scale=3.0, isolated=0)
    model = UAIReader(str(network.save(tmp_path / "network.uai"))).get_model()
    for v in range(4):
        found = VariableElimination(model).query([f"var_{v}"], show_progress=False)
        np.testing.assert_allclose(found.values, network.marginals().array(v), atol=1e-12)


def test_uai_of_others(tmp_path):
    path = tmp_path / "other.uai"
    path.write_text("MARKOV\n2\n2 3 # states\n3\n1 0\n2 1 0\n2 1 0\n2 1e0 2\n6 1 1 0.5 1 1 3\n\n6 1 1 1 1 1 1\n")
    network = load_markov_network(path)
    assert network.states == {"var_0": [0, 1], "var_1": [0, 1, 2]}
    np.testing.assert_allclose(np.exp(network.potentials.table(0)), [[1, 0.5, 1], [1, 1, 3]])
    np.testing.assert_allclose(np.exp(network.potentials.node(0)), [1, 2])


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        *damaged_files("PairwiseMarkovNetwork", "a pairwise Markov network"),
        ("a.uai", b"", "begins with 'nothing'"),
        ("a.uai", b"BAYES 1 2 1 1 0 2 .5 .5", "begins with 'BAYES'"),
        ("a.uai", b"MARKOV 2 2 2 1 2 0", "ends too early"),
        ("a.uai", b"MARKOV 2 2 2 1 2 0 1 4 1 1 1", "ends too early"),
        ("a.uai", b"MARKOV 2 2 2 1 2 0 1 4 1 1 1 -1", "must not be negative"),
        ("a.uai", b"MARKOV 3 2 2 2 1 3 0 1 2 8 1 1 1 1 1 1 1 1", "factor of .0, 1, 2."),
        ("a.uai", b"MARKOV 1 2 1 1 0 2 x 1", "could not convert"),
        ("a.bif", b"", "unknown suffix '.bif'"),
    ],
)
def test_damaged_files(tmp_path, name, content, what):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=what):
        load_markov_network(path)


def test_a_cut_archive(tmp_path):
    path = mixed().save(tmp_path / "network.npz")
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(ValueError, match="not a pairwise Markov network"):
        load_markov_network(path)
    np.savez(path, names=np.arange(3))
    with pytest.raises(ValueError, match="not a pairwise Markov network"):
        load_markov_network(path)


def test_places_that_cannot_be_written(tmp_path):
    check_targets(ring(4), save_markov_network, load_markov_network, tmp_path)


def test_names_that_files_do_not_hold(tmp_path):
    network = named(grid_network(2, 2).potentials)  # one name is a tuple
    for format in FORMATS:
        with pytest.raises(TypeError, match=r"the name \(1, 2\) cannot be saved in json"):
            network.save(tmp_path / f"a.{format}")
    potentials = grid_network(1, 2).potentials
    twins = PairwiseMarkovNetwork.from_potentials([1, "1"], [[0, 1]] * 2, potentials)
    with pytest.raises(ValueError, match="are both written as '1'"):
        save_markov_network(twins, tmp_path / "a.graphml")
    same(load_markov_network(save_markov_network(twins, tmp_path / "a.json")), twins)
    assert not (tmp_path / "a.graphml").exists()


def test_files_of_any_model(tmp_path):
    network = ring(4)
    check_files_of_any_model(network, FORMATS, same, tmp_path)
    with pytest.raises(TypeError, match="fitted DiscreteBayesianNetwork, not a PairwiseMarkovNetwork"):
        save_model(network, tmp_path / "network.bif")
    with pytest.raises(TypeError, match="npz holds a PairwiseMarkovNetwork, .*, not a Graph"):
        save_model(nx.path_graph(3), tmp_path / "graph.npz")
    with pytest.raises(ValueError, match="no potentials"):
        save_model(PairwiseMarkovNetwork([("a", "b")]), tmp_path / "bare.npz")
