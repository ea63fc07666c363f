import socket
import warnings

import pytest

from pgmx.datasets import list_networks, load_network


def test_the_repository_networks_are_listed_in_order():
    names = list_networks()
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
    assert list(model.edges()) == [
        ("Pollution", "Cancer"),
        ("Smoker", "Cancer"),
        ("Cancer", "Xray"),
        ("Cancer", "Dyspnoea"),
    ]


def test_an_unknown_name_is_refused_with_the_nearest_one_and_the_list():
    with pytest.raises(ValueError, match=r"'alarn', did you mean 'alarm'\?; bundled are: alarm, andes, asia"):
        load_network("alarn")
    with pytest.raises(ValueError, match=r"no bundled network is called '\.\./alarm'"):
        load_network("../alarm")
    with pytest.raises(TypeError, match="name must be a string such as 'alarm', got int"):
        load_network(7)


def test_without_bundled_files_the_message_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr("pgmx.datasets.bundled._find_folder", lambda: tmp_path / "nothing")
    assert list_networks() == []
    with pytest.raises(ValueError, match="the installed pgmpy carries no networks"):
        load_network("alarm")
