"""Graphs over (variable, lag) and linear dynamical systems in files."""

import json
import zipfile
from io import BytesIO

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array

from pgmx.models import LinearDynamicalSystem, TimeSeriesGraph, read_json, read_model, save_model


def make_graph(names=("a b", "c", "d")):
    coefs = np.zeros((3, 3, 3))
    coefs[0, 0, 1], coefs[1, 1, 0], coefs[2, 2, 2] = 0.1, -1 / 3, 1e-300
    confidence = np.full(coefs.shape, 0.75)
    graph = TimeSeriesGraph.from_coefficients(names, coefs, confidence=confidence, undirected_instantaneous=True)
    graph.graph["name"] = "rivers"
    return graph


def make_system(*, sparse, lags=2, noise="matrix"):
    rng = np.random.default_rng(lags)
    coefs = rng.normal(size=(lags + 1, 3, 3)) * (rng.random((lags + 1, 3, 3)) < 0.6)
    coefs[0] = 0.0
    covariance = {"matrix": np.eye(3) + 0.1, "variances": np.arange(3.0), "none": None}[noise]
    return LinearDynamicalSystem(
        ["a", 2, "c"],
        [csr_array(matrix) for matrix in coefs] if sparse else coefs,
        rng.normal(size=3),
        covariance,
        exogenous_coef=rng.normal(size=(3, 2)),
        exogenous_names=["heat", "rain"],
    )


@pytest.mark.parametrize("suffix", ["json", "graphml"])
def test_a_graph_comes_back(tmp_path, suffix):
    graph = make_graph()
    path = save_model(graph, tmp_path / f"graph.{suffix}")
    for same in (read_model(path), TimeSeriesGraph.load(path)):
        assert type(same) is TimeSeriesGraph and nx.utils.graphs_equal(same, graph)
        assert list(same.nodes()) == list(graph.nodes()) and list(same.edges()) == list(graph.edges())
        assert same.name == "rivers"
    if suffix == "json":
        assert nx.utils.graphs_equal(read_json(path), graph)
        plain = nx.node_link_graph(json.loads(path.read_text()), edges="edges")
        assert set(plain.edges()) == set(graph.edges())


def test_names_of_other_kinds(tmp_path):
    graph = make_graph([1, 2.5, "x"])
    assert nx.utils.graphs_equal(read_model(save_model(graph, tmp_path / "a.json")), graph)
    assert read_model(save_model(graph, tmp_path / "a.graphml")).names == ("1", "2.5", "x")
    for names, words in (([1, "1", "x"], "are both written"), (["\x00", "b", "c"], "XML forbids")):
        with pytest.raises(ValueError, match=words):
            save_model(make_graph(names), tmp_path / "b.graphml")
    with pytest.raises(TypeError, match="cannot be saved in json"):
        save_model(make_graph([("a", "b"), "b", "c"]), tmp_path / "b.json")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.graphml", "a.json"]


@pytest.mark.parametrize("noise", ["matrix", "variances", "none"])
@pytest.mark.parametrize("lags", [1, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_system_comes_back(tmp_path, sparse, lags, noise):
    system = make_system(sparse=sparse, lags=lags, noise=noise)
    path = save_model(system, tmp_path / "system.npz")
    for same in (read_model(path), LinearDynamicalSystem.load(path), LinearDynamicalSystem.load(system.save(path))):
        assert (same.names, same.exogenous_names, same.lags) == (system.names, system.exogenous_names, lags)
        for one, other in zip(same._matrices, system._matrices, strict=True):
            assert type(one) is type(other) and np.array_equal(csr_array(one).toarray(), csr_array(other).toarray())
        for key in ("intercept", "noise_covariance", "exogenous_coef"):
            assert np.array_equal(getattr(same, key), getattr(system, key)), key


def test_other_formats_are_refused(tmp_path):
    with pytest.raises(TypeError, match="json holds no LinearDynamicalSystem"):
        save_model(make_system(sparse=False), tmp_path / "a.json")
    with pytest.raises(TypeError, match="npz holds"):
        save_model(make_graph(), tmp_path / "a.npz")
    nx.write_graphml(nx.DiGraph([("a", "b")]), tmp_path / "plain.graphml")
    with pytest.raises(ValueError, match=r"read it with networkx\.read_graphml"):
        read_model(tmp_path / "plain.graphml")


JSON = {
    "an edge that ends in the past": (
        b'["d", 2], "target": ["d", 0]',
        b'["d", 2], "target": ["d", 1]',
        "must end at lag 0",
    ),
    "an undirected edge with a lag": (
        b'["d", 2], "target"',
        b'["d", 2], "undirected": true, "target"',
        "instantaneous",
    ),
    "an undirected edge without an opposite": (b', "undirected": true', b"", "occur in both directions"),
    "a node that is not": (b'"source": ["d", 2]', b'"source": ["e", 2]', "joins unknown nodes"),
    "a negative lag": (b'["d", 2]', b'["d", -2]', r"a node must be \[name, lag\]"),
    "a lag of text": (b'["d", 2]', b'["d", "2"]', r"a node must be \[name, lag\]"),
    "a huge lag": (b'["d", 2]', b'["d", 99999999]', r"a node must be \[name, lag\]"),
    "two nodes of a name": (b'{"id": ["d", 2]}', b'{"id": ["c", 2]}', "the nodes occur more than once"),
    "a weight of text": (b'"weight": 0.1', b'"weight": "0.1"', "the weight of .* is '0.1'"),
    "a weight that is infinite": (b'"weight": 0.1', b'"weight": 1e999', "it holds 1e999"),
    "a mark of another kind": (b'"undirected": true', b'"undirected": 2', "the mark 'undirected'"),
    "no nodes": (b'"nodes"', b'"knots"', "it lacks 'nodes'"),
    "another version": (b'"version": 1', b'"version": 9', "format 'pgmx', version 1"),
}


@pytest.mark.parametrize("fault", JSON)
def test_damaged_graphs(tmp_path, fault):
    old, new, words = JSON[fault]
    path = save_model(make_graph(), tmp_path / "a.json")
    raw = path.read_bytes()
    assert old in raw
    path.write_bytes(raw.replace(old, new, 1))
    with pytest.raises(ValueError, match=words) as caught:
        read_model(path)
    assert "a.json" in str(caught.value) and "save the model again" in str(caught.value)


def repack(path, **arrays):
    """Write an archive again with some of its arrays replaced, None for none."""
    with np.load(path) as archive:
        parts = {**{key: archive[key] for key in archive.files}, **arrays}
    buffer = BytesIO()
    np.savez(buffer, **{key: array for key, array in parts.items() if array is not None})
    path.write_bytes(buffer.getvalue())


def rename(path, **fields):
    """Return the document of an archive with some fields replaced, as an array."""
    with np.load(path) as archive:
        document = {**json.loads(archive["names"].tobytes()), **fields}
    return np.frombuffer(json.dumps(document).encode(), dtype=np.uint8)


@pytest.mark.parametrize(
    ("sparse", "change", "words"),
    [
        (False, lambda path: {"coef": np.zeros((2, 3, 9))}, "bytes"),
        (False, lambda path: {"coef": np.zeros((3, 2, 3))}, "'coef' has the shape"),
        (False, lambda path: {"coef": np.full((2, 3, 3), np.nan)}, "finite"),
        (False, lambda path: {"intercept": None}, "lacks the array"),
        (False, lambda path: {"noise": -np.eye(3)}, "positive semidefinite"),
        (False, lambda path: {"noise": np.zeros(3)}, "'noise' has the shape"),
        (False, lambda path: {"another": np.zeros(3)}, "'another'"),
        (False, lambda path: {"names": rename(path, lags=-1)}, "number of lags is -1"),
        (False, lambda path: {"names": rename(path, lags=10**9)}, "number of lags"),
        (False, lambda path: {"names": rename(path, names=["a", "a", "b"])}, "more than once"),
        (False, lambda path: {"names": rename(path, noise=7)}, "its noise has 7"),
        (True, lambda path: {"rows": np.full(99, 5, np.int64)}, "bytes"),
        (True, lambda path: {"names": rename(path, counts=[1])}, "counts of entries"),
        (True, lambda path: {"names": rename(path, counts=[9, 10**12])}, "counts of entries"),
        (True, lambda path: {"entries": np.zeros(0)}, "do not have the length"),
    ],
)
def test_forged_systems(tmp_path, sparse, change, words):
    path = save_model(make_system(sparse=sparse), tmp_path / "a.npz")
    repack(path, **change(path))
    with pytest.raises(ValueError, match=words) as caught:
        read_model(path)
    assert "a.npz" in str(caught.value)


def test_entries_out_of_range_or_twice(tmp_path):
    path = save_model(make_system(sparse=True), tmp_path / "a.npz")
    with np.load(path) as archive:
        rows, columns = archive["rows"], archive["columns"]
    for change, words in (
        ({"rows": np.where(np.arange(len(rows)) == 0, 3, rows)}, "join two of its 3 series"),
        ({"columns": columns - 1}, "join two of its 3 series"),
        ({"rows": np.zeros_like(rows), "columns": np.zeros_like(columns)}, "occurs twice"),
    ):
        save_model(make_system(sparse=True), path)
        repack(path, **change)
        with pytest.raises(ValueError, match=words):
            read_model(path)
    with zipfile.ZipFile(path) as archive:
        assert "rows.npy" in archive.namelist()
