"""Sound files of models of every format, and what every model that is read must be."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
from pgmpy.base import DAG, PDAG
from pgmpy.factors.discrete import DiscreteFactor, TabularCPD
from pgmpy.models import DiscreteBayesianNetwork, DiscreteMarkovNetwork, LinearGaussianBayesianNetwork
from scipy.sparse import csr_array

from pgmx.datasets import chain_network, gaussian_chain_network
from pgmx.models import (
    ConditionalGaussianCPD,
    ConditionalGaussianNetwork,
    DynamicBayesianNetwork,
    GaussianMarkovNetwork,
    LinearDynamicalSystem,
    PairwiseMarkovNetwork,
    TimeSeriesGraph,
    load_gaussian_network,
    load_markov_network,
    read_model,
    to_linear_gaussian,
    to_pdag,
)
from pgmx.statistics import MarginalTransforms
from tests.helpers.dynamic_networks import draw_dynamic_network

ROWS = np.random.default_rng(0).normal(size=(20, 3))


class ModelFile(NamedTuple):
    """A model, the name of its file, and the function that reads it."""

    make: Callable[[], nx.Graph]
    name: str
    read: Callable[[Path], Any]


def discrete():
    states = {"rain": ["no", "yes"], "wet": ["dry", "wet", "soaked"]}
    model = DiscreteBayesianNetwork([("rain", "wet")])
    model.add_cpds(
        TabularCPD("rain", 2, [[0.25], [0.75]], state_names={"rain": states["rain"]}),
        TabularCPD("wet", 3, [[0.5, 0.125], [0.25, 0.375], [0.25, 0.5]], ["rain"], [2], states),
    )
    return model


def of_three():
    values, states = np.arange(12.0), {"a": ["no", "yes"], "b": [0, 1, 2], "c": [False, True]}
    model = DiscreteMarkovNetwork([("a", "b"), ("b", "c"), ("a", "c")])
    model.add_factors(DiscreteFactor(["a", "b", "c"], [2, 3, 2], values, states))
    return model


def gaussian():
    base = gaussian_chain_network(3)
    return GaussianMarkovNetwork.from_precision(
        base.names, base.precision, transforms=MarginalTransforms.from_rows(ROWS), estimated_by="test", n_samples=20
    )


def linear():
    return to_linear_gaussian(pd.DataFrame(ROWS, columns=["x", "y", "z"]), ["x", "y", "z"], [(0, 1), (1, 2)])


def mixed():
    """Return a network of two discrete and two continuous variables, one with parents of both kinds."""
    states = {"rain": ["no", "yes"], "wet": ["dry", "wet", "soaked"]}
    both = ConditionalGaussianCPD("y", ROWS[:6, :2].reshape(2, 3, 2), np.ones((2, 3)), ["rain", "wet"], ["x"], states)
    return ConditionalGaussianNetwork.from_cpds([*discrete().cpds, ConditionalGaussianCPD("x", [0.5], 2.0), both])


def lagged():
    coefs = np.round(ROWS[:9].reshape(3, 3, 3), 3)
    coefs[0] = np.tril(coefs[0], -1)
    confidence = np.full((3, 3, 3), 0.5)
    return TimeSeriesGraph.from_coefficients(["x", "y", 3], coefs, confidence=confidence, undirected_instantaneous=True)


def system(sparse):
    coefs = np.concatenate([np.zeros((1, 3, 3)), ROWS[:6].reshape(2, 3, 3)])
    options = {"exogenous_coef": ROWS[:3, :2], "exogenous_names": ["u", "v"], "noise_covariance": np.eye(3)}
    return LinearDynamicalSystem(
        ["x", "y", 3], [csr_array(np.round(c)) for c in coefs] if sparse else coefs, ROWS[0], **options
    )


def dynamic():
    return draw_dynamic_network(np.random.default_rng(0), {"x": 2}, groups="id")


def check_model(model):
    """Raise unless a model is valid."""
    if isinstance(model, nx.Graph):
        check_graph(model)
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
    elif isinstance(model, DiscreteMarkovNetwork):
        assert all(((factor.values >= 0) & (factor.values < np.inf)).all() for factor in model.factors)
        assert not model.factors or model.check_model()
    elif isinstance(model, GaussianMarkovNetwork):
        assert np.isfinite(model.standardized_precision.data).all() and np.isfinite(model.mean).all()
    elif isinstance(model, ConditionalGaussianNetwork):
        assert np.isfinite(model.log_likelihood(model.simulate(20))).all()
    elif isinstance(model, LinearDynamicalSystem):
        assert np.isfinite(model.predict(np.ones((model.lags, len(model.names))), 2, exogenous=np.ones((2, 2)))).all()
    elif isinstance(model, DynamicBayesianNetwork):
        check_model(model.to_bayesian_network())
    elif isinstance(model, TimeSeriesGraph):
        assert all(v[1] == 0 <= u[1] for u, v in model.edges()) and np.isfinite(model.to_arrays()).all()
    else:
        assert isinstance(model, nx.Graph)


def check_graph(graph):
    """Raise unless the edges of a graph are those of its kind."""
    assert isinstance(graph.name, str)
    weights = [weight for _, _, weight in graph.edges(data="weight") if weight is not None]
    if not isinstance(graph, PairwiseMarkovNetwork):  # its weights follow from the potentials, and may be infinite
        assert np.isfinite(np.array(weights, dtype=float)).all()
    if type(graph) is not nx.DiGraph:
        assert all(u != v for u, v in graph.edges())
    if isinstance(graph, DAG | PDAG):
        pairs = graph.directed_edges if isinstance(graph, PDAG) else graph.edges()
        assert nx.is_directed_acyclic_graph(nx.DiGraph(pairs))
    if isinstance(graph, PDAG):
        lines = {frozenset(pair) for pair in graph.undirected_edges}
        assert len({frozenset(pair) for pair in graph.directed_edges} | lines) == len(graph.directed_edges) + len(lines)
        assert set(graph.edges()) == graph.directed_edges | {(u, v) for u in graph for v in graph if {u, v} in lines}
    for cpd in graph.cpds if isinstance(graph, DiscreteBayesianNetwork | LinearGaussianBayesianNetwork) else []:
        parents = cpd.variables[1:] if isinstance(cpd, TabularCPD) else cpd.evidence
        assert set(parents) == set(graph.predecessors(cpd.variable))
    if isinstance(graph, TimeSeriesGraph):
        lines = {(u, v) for u, v, mark in graph.edges(data="undirected") if mark}
        assert lines == {(v, u) for u, v in lines}


FILES = {
    "bif": ModelFile(discrete, "a.bif", read_model),
    "xmlbif": ModelFile(discrete, "a.xmlbif", read_model),
    "net": ModelFile(discrete, "a.net", read_model),
    "xdsl": ModelFile(discrete, "a.xdsl", read_model),
    "compressed bif": ModelFile(discrete, "a.bif.gz", read_model),
    "json": ModelFile(discrete, "a.json", read_model),
    "json of a linear network": ModelFile(linear, "a.json", read_model),
    "json of a graph": ModelFile(lambda: to_pdag(["x", "y", "z"], [(0, 1)], [(1, 2)]), "a.json", read_model),
    "json of a Markov network": ModelFile(lambda: chain_network(4), "a.json", read_model),
    "npz of a Markov network": ModelFile(lambda: chain_network(4), "a.npz", read_model),
    "uai": ModelFile(lambda: chain_network(4), "a.uai", read_model),
    "uai of a factor of three variables": ModelFile(of_three, "a.uai", read_model),
    "json of a factor of three variables": ModelFile(of_three, "a.json", read_model),
    "graphml of a Markov network": ModelFile(lambda: chain_network(3), "a.graphml", load_markov_network),
    "json of a Gaussian network": ModelFile(gaussian, "a.json", load_gaussian_network),
    "npz of a Gaussian network": ModelFile(gaussian, "a.npz", load_gaussian_network),
    "json of a network of floats beside states": ModelFile(mixed, "a.json", read_model),
    "json of a graph over lags": ModelFile(lagged, "a.json", read_model),
    "dynamic network in json": ModelFile(dynamic, "a.json", read_model),
    "graphml of a graph over lags": ModelFile(lagged, "a.graphml", TimeSeriesGraph.load),
    "npz of a dense system": ModelFile(lambda: system(False), "a.npz", read_model),
    "npz of a sparse system": ModelFile(lambda: system(True), "a.npz", LinearDynamicalSystem.load),
    "graphml of a Gaussian network": ModelFile(gaussian, "a.graphml", load_gaussian_network),
}
