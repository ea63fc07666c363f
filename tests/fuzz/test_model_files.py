"""Files of models with damage at random: refused by name, or a model that is valid."""

import json

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork, LinearGaussianBayesianNetwork

from pgmx.datasets import chain_network, gaussian_chain_network
from pgmx.models import (
    GaussianMarkovNetwork,
    PairwiseMarkovNetwork,
    load_gaussian_network,
    load_markov_network,
    read_model,
    save_model,
    to_linear_gaussian,
    to_pdag,
)
from pgmx.statistics import MarginalTransforms
from tests.fuzz.mutations import attack, try_one
from tests.fuzz.plane_fields import follow, list_paths, set_path

ROWS = np.random.default_rng(0).normal(size=(20, 3))


def discrete():
    states = {"rain": ["no", "yes"], "wet": ["dry", "wet", "soaked"]}
    model = DiscreteBayesianNetwork([("rain", "wet")])
    model.add_cpds(
        TabularCPD("rain", 2, [[0.25], [0.75]], state_names={"rain": states["rain"]}),
        TabularCPD("wet", 3, [[0.5, 0.125], [0.25, 0.375], [0.25, 0.5]], ["rain"], [2], states),
    )
    return model


def gaussian():
    base = gaussian_chain_network(3)
    return GaussianMarkovNetwork.from_precision(
        base.names, base.precision, transforms=MarginalTransforms.from_rows(ROWS), estimated_by="test", n_samples=20
    )


def linear():
    return to_linear_gaussian(pd.DataFrame(ROWS, columns=["x", "y", "z"]), ["x", "y", "z"], [(0, 1), (1, 2)])


def check_model(model):
    """Raise unless a model is valid."""
    if isinstance(model, DiscreteBayesianNetwork):
        assert nx.is_directed_acyclic_graph(model)
        for cpd in model.cpds:
            values = cpd.get_values()
            assert (values >= 0).all() and np.allclose(values.sum(axis=0), 1, atol=0.011), values
        assert len(model.cpds) < len(model) or model.check_model()
    elif isinstance(model, LinearGaussianBayesianNetwork):
        assert all(np.isfinite(cpd.beta).all() and 0 <= cpd.std < np.inf for cpd in model.cpds)
        assert len(model.cpds) < len(model) or model.check_model()
    elif isinstance(model, PairwiseMarkovNetwork):
        assert (model.potentials.node_values < np.inf).all() and (model.potentials.edge_values < np.inf).all()
    elif isinstance(model, GaussianMarkovNetwork):
        assert np.isfinite(model.standardized_precision.data).all() and np.isfinite(model.mean).all()
    else:
        assert isinstance(model, nx.Graph)


FILES = {
    "bif": (discrete, "a.bif", read_model),
    "xmlbif": (discrete, "a.xmlbif", read_model),
    "json": (discrete, "a.json", read_model),
    "json of a linear network": (linear, "a.json", read_model),
    "json of a graph": (lambda: to_pdag(["x", "y", "z"], [(0, 1)], [(1, 2)]), "a.json", read_model),
    "json of a Markov network": (lambda: chain_network(4), "a.json", read_model),
    "npz of a Markov network": (lambda: chain_network(4), "a.npz", read_model),
    "uai": (lambda: chain_network(4), "a.uai", read_model),
    "graphml of a Markov network": (lambda: chain_network(3), "a.graphml", load_markov_network),
    "json of a Gaussian network": (gaussian, "a.json", load_gaussian_network),
    "npz of a Gaussian network": (gaussian, "a.npz", load_gaussian_network),
    "graphml of a Gaussian network": (gaussian, "a.graphml", load_gaussian_network),
}


def attack_file(folder, kind, n_cases, seed):
    make, name, read = FILES[kind]
    outcomes = attack(save_model(make(), folder / name), read, check_model, n_cases, seed)
    assert outcomes.total() == n_cases
    assert set(outcomes) <= {"read", "ValueError"}
    return outcomes


@pytest.mark.parametrize("kind", FILES)
def test_a_few(tmp_path, kind):
    assert attack_file(tmp_path, kind, 30, 0)["ValueError"] > 3


@pytest.mark.slow
@pytest.mark.parametrize("kind", FILES)
def test_many(tmp_path, kind):
    print(kind, attack_file(tmp_path, kind, 500, 1))


VALUES = (None, -1, 2**70, 1.5, "x", "", [], {}, [[]], [1], True, 1e308)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in FILES if kind.startswith("json")])
def test_any_field_of_a_document(tmp_path, kind):
    make, name, read = FILES[kind]
    path = save_model(make(), tmp_path / name)
    sound = path.read_text()
    for field in list_paths(json.loads(sound)):
        value = follow(json.loads(sound), field.split("."))
        for other in (*VALUES, value + value if isinstance(value, list) else [value, value]):
            document = json.loads(sound)
            set_path(document, field, other)
            path.write_text(json.dumps(document))
            try_one(path, read, check_model)
