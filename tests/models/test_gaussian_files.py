"""Gaussian networks written and read back, also by networkx's own reader."""

import json
from contextlib import suppress

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

from helpers.examples import examples
from helpers.gaussian_networks import named, networks
from helpers.network_files import check_files_of_any_model, check_targets, damaged_files
from pgmx.datasets import gaussian_chain_network
from pgmx.models import (
    GaussianMarkovNetwork,
    PairwiseMarkovNetwork,
    load_gaussian_network,
    read_model,
    save_gaussian_network,
    save_model,
)

FORMATS = ("npz", "json", "graphml")


def mixed():
    """Names of several types, awkward numbers, an isolated variable."""
    precision = [[1 / 3, -1e-17, 0, 0], [-1e-17, np.pi, 0.1, 0], [0, 0.1, 1e5, 0], [0, 0, 0, 7.0]]
    options = {"mean": [0.1, -1e300, 1e-300, 0], "scale": [1e-12, 1e12, 1 / 3, 1], "n_samples": 12.5}
    network = GaussianMarkovNetwork.from_precision(
        ["a b", 0, "ä", -1.5], precision, estimated_by="us & them", **options
    )
    network.graph["name"] = "a network"
    return network


def same(one, other, names=None):
    names = other.names if names is None else names
    assert one.names == names
    assert [type(name) for name in one.names] == [type(name) for name in names]
    assert (one.standardized_precision != other.standardized_precision).nnz == 0
    for column in ("mean", "scale"):
        assert getattr(one, column).to_numpy().tobytes() == getattr(other, column).to_numpy().tobytes()
    assert (one.estimated_by, one.n_samples, one.name) == (other.estimated_by, other.n_samples, other.name)
    assert [own for _, _, own in one.edges(data=True)] == [own for _, _, own in other.edges(data=True)]


@pytest.mark.parametrize("format", FORMATS)
def test_lossless(format, tmp_path):
    network = mixed()
    path = network.save(tmp_path / f"network.{format}")
    names = tuple(map(str, network.names)) if format == "graphml" else None
    same(GaussianMarkovNetwork.load(path), network, names)
    same(load_gaussian_network(path), network, names)
    if format != "graphml":
        same(read_model(path), network)


@given(networks())
@examples(20)
def test_lossless_of_any_network(tmp_path_factory, network):
    if any(isinstance(name, tuple) for name in network.names):
        return
    folder = tmp_path_factory.mktemp("files")
    for format in FORMATS:
        names = tuple(map(str, network.names)) if format == "graphml" else None
        same(load_gaussian_network(save_model(network, folder / f"n.{format}")), network, names)


def test_graphml_for_others(tmp_path):
    network = mixed()
    plain = nx.read_graphml(save_gaussian_network(network, tmp_path / "network.graphml"))
    assert plain.nodes["0"] == {"mean": -1e300, "scale": 1e12, "precision": np.pi}
    assert plain.edges["0", "ä"]["weight"] == network.edges[0, "ä"]["weight"]
    nx.write_graphml(network.to_networkx(), tmp_path / "plain.graphml")
    again = nx.read_graphml(tmp_path / "plain.graphml", node_type=str)
    assert again.edges["0", "ä"] == network.edges[0, "ä"]


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        *damaged_files("GaussianMarkovNetwork", "a Gaussian Markov network"),
        ("a.uai", b"", "unknown suffix '.uai'"),
    ],
)
def test_damaged_files(tmp_path, name, content, what):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=what):
        load_gaussian_network(path)


def test_flipped_bits(tmp_path):
    """Wherever an archive is damaged, the error says so, or the damage is to what nobody reads."""
    path = gaussian_chain_network(30).save(tmp_path / "chain.npz")
    sound, read = path.read_bytes(), 0
    for at in range(0, len(sound), 13):
        path.write_bytes(sound[:at] + bytes([sound[at] ^ 0xFF]) + sound[at + 1 :])
        with suppress(ValueError):
            load_gaussian_network(path)
            read += 1
    assert read < len(sound) / 13 / 2


def test_contradictory_files(tmp_path):
    path = gaussian_chain_network(3).save(tmp_path / "chain.json")
    document = json.loads(path.read_text())
    for edge in document["edges"]:
        edge["precision"] *= 5.0
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match="smallest eigenvalue"):
        load_gaussian_network(path)


def test_what_cannot_be_written(tmp_path):
    check_targets(gaussian_chain_network(2), save_gaussian_network, load_gaussian_network, tmp_path)
    twins = GaussianMarkovNetwork.from_precision([1, "1"], np.eye(2))
    with pytest.raises(ValueError, match="'1'"):
        twins.save(tmp_path / "a.graphml")
    with pytest.raises(TypeError, match=r"the name \(1, 2\) cannot be saved"):
        named(8).save(tmp_path / "a.npz")
    with pytest.raises(ValueError, match="has no precision"):
        GaussianMarkovNetwork([("a", "b")]).save(tmp_path / "a.json")
    assert not list(tmp_path.iterdir())


def test_files_of_any_model(tmp_path):
    network = gaussian_chain_network(4)
    check_files_of_any_model(network, FORMATS, same, tmp_path)
    with pytest.raises(TypeError, match="uai holds a DiscreteMarkovNetwork or a DiscreteBayesianNetwork, not a Gauss"):
        save_model(network, tmp_path / "network.uai")
    with pytest.raises(ValueError, match="not a pairwise Markov network"):
        PairwiseMarkovNetwork.load(tmp_path / "network.npz")
    with pytest.raises(FileNotFoundError):
        read_model(tmp_path / "none.npz")
