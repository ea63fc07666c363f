import gzip
import socket
import warnings
from pathlib import Path

import pandas as pd
import pytest

from pgmx.datasets import bundled, list_networks, load_network, sample, sample_network
from pgmx.models import save_model


def test_the_repository_networks_are_listed_in_order():
    names = list(list_networks())
    assert names == sorted(names)
    assert {"alarm", "andes", "asia", "hailfinder", "link", "pigs", "win95pts"} <= set(names)


@pytest.mark.parametrize(
    ("name", "n_nodes", "n_edges", "n_parameters"),
    # Nodes, edges and free parameters as published at https://www.bnlearn.com/bnrepository
    [
        ("asia", 8, 8, 18),
        ("alarm", 37, 46, 509),
        pytest.param("hailfinder", 56, 66, 2656, marks=pytest.mark.slow),
        pytest.param("win95pts", 76, 112, 574, marks=pytest.mark.slow),
    ],
)
def test_sizes_are_the_published_ones(name, n_nodes, n_edges, n_parameters):
    model = load_network(name)
    assert model.name == name
    assert (model.number_of_nodes(), model.number_of_edges()) == (n_nodes, n_edges)
    assert sum(cpd.values.size * (cpd.variable_card - 1) // cpd.variable_card for cpd in model.cpds) == n_parameters
    assert model.check_model()


def test_reading_needs_no_network_and_warns_of_nothing(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = load_network("cancer")
    assert set(model.edges()) == {
        ("Pollution", "Cancer"),
        ("Smoker", "Cancer"),
        ("Cancer", "Xray"),
        ("Cancer", "Dyspnoea"),
    }


def test_an_unknown_name_is_refused_with_the_nearest_one_and_the_list():
    with pytest.raises(ValueError, match=r"'alarn', did you mean 'alarm'\?; bundled are: alarm, andes, asia"):
        load_network("alarn")
    with pytest.raises(ValueError, match=r"no bundled network is called '\.\./alarm'"):
        load_network("../alarm")
    with pytest.raises(ValueError, match=r"no bundled network is called 'alarm/'"):
        load_network("alarm/")
    with pytest.raises(TypeError, match="name must be a string such as 'alarm', or a path, got int"):
        load_network(7)


def test_without_pgmpys_files_ours_are_left(monkeypatch, tmp_path):
    folders = bundled._list_folders()
    monkeypatch.setattr(bundled, "_list_folders", lambda: folders[:1])
    assert list(list_networks()) == ["alarm", "asia", "cancer", "child", "insurance", "sachs", "survey"]
    assert load_network("insurance").number_of_nodes() == 27
    monkeypatch.setattr(bundled, "_list_folders", list)
    assert list_networks() == {}
    with pytest.raises(ValueError, match="neither pgmx nor pgmpy has any"):
        load_network("alarm")


def test_ours_are_the_files_of_pgmpy():
    ours, theirs = bundled._list_folders()
    for entry in ours.iterdir():
        if entry.name.endswith(".gz"):
            assert gzip.decompress(entry.read_bytes()) == gzip.decompress(theirs.joinpath(entry.name).read_bytes())


def read_by_pgmpy(name):
    from pgmpy.readwrite.BIF import BIFReader

    raw = bundled._list_files()[name].read_bytes()
    return BIFReader(string=gzip.decompress(raw).decode("utf-8")).get_model()


def check_against_pgmpy(name):
    ours, theirs = load_network(name), read_by_pgmpy(name)
    assert list(ours.nodes()) == list(theirs.nodes())
    assert set(ours.edges()) == set(theirs.edges())
    for node in ours:
        cpd, other = ours.get_cpds(node), theirs.get_cpds(node)
        assert (cpd.variables, cpd.state_names) == (other.variables, other.state_names)
        assert (cpd.get_values() == other.get_values()).all()


@pytest.mark.parametrize("name", ["asia", "alarm"])
def test_reads_what_pgmpy_reads(name):
    check_against_pgmpy(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(list_networks()))
def test_all_sizes_and_tables(name):
    assert bundled._SIZES[name] == bundled._measure(load_network(name))
    check_against_pgmpy(name)


def test_networks_from_files(tmp_path):
    model = load_network("asia")
    save_model(model, tmp_path / "mine.bif")
    save_model(model, tmp_path / "mine.xmlbif")
    (tmp_path / "packed.bif.gz").write_bytes(gzip.compress((tmp_path / "mine.bif").read_bytes()))
    for name in ("mine.bif", "mine.xmlbif", "packed.bif.gz"):
        for path in (tmp_path / name, str(tmp_path / name)):
            assert set(load_network(path).edges()) == set(model.edges())
    assert load_network(tmp_path / "packed.bif.gz").name == "packed"
    with pytest.raises(FileNotFoundError, match=r"nothing\.bif"):
        load_network("nothing.bif")
    with pytest.raises(ValueError, match="unknown suffix '' of 'alarm'"):
        load_network(Path("alarm"))  # a path is never a bundled name
    with pytest.raises(ValueError, match="holds a PairwiseMarkovNetwork, not a discrete Bayesian network"):
        from pgmx.datasets import chain_network

        chain_network(3, 2).save(tmp_path / "markov.uai")
        load_network(tmp_path / "markov.uai")


def test_rows_of_a_network_by_its_name(tmp_path):
    frame = sample_network("asia", 50, random_state=3)
    pd.testing.assert_frame_equal(frame, sample(load_network("asia"), 50, random_state=3))
    save_model(load_network("asia"), tmp_path / "asia.bif")
    assert sample_network(tmp_path / "asia.bif", 7).shape == (7, 8)
    with pytest.raises(ValueError, match="n_rows"):
        sample_network("asia", -1)
