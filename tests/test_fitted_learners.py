"""Functions that take a graph or a model take a fitted learner as well: its ``graph_`` or its ``model_``."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from pgmpy.base import PDAG
from pgmpy.models import DiscreteBayesianNetwork

from pgmx import inference, metrics, plotting
from pgmx.datasets import load_network, sample, sample_markov_network
from pgmx.estimators import (
    BootstrapStructure,
    DenseLDS,
    GraphicalLasso,
    GreedyEquivalenceSearch,
    HillClimbSearch,
    LinearSVARM,
    OnlineEdgeGrafting,
)
from pgmx.fitted import get_graph, get_model
from pgmx.models import (
    ConditionalGaussianNetwork,
    GaussianMarkovNetwork,
    LinearDynamicalSystem,
    PairwiseMarkovNetwork,
    TimeSeriesGraph,
    junction_tree,
    load_gaussian_network,
    load_markov_network,
    read_evidence,
    read_model,
    save_gaussian_network,
    save_markov_network,
    save_model,
)

ASIA = load_network("asia")
ROWS = sample(ASIA, 300)
RNG = np.random.default_rng(0)
NUMBERS = pd.DataFrame(RNG.normal(size=(100, 3)) @ [[1, 1, 0], [0, 1, 0], [0, 0, 1]], columns=["a", "b", "c"])
MIXED = NUMBERS.assign(s=RNG.integers(0, 2, 100).astype(str))


@pytest.fixture(scope="module")
def search():
    return HillClimbSearch(scoring_method="bic", equivalent_sample_size=1).fit(ROWS)


@pytest.fixture(scope="module")
def markov():
    return OnlineEdgeGrafting(lam=0.05).fit(ROWS)


@pytest.fixture(scope="module")
def gaussian():
    return GraphicalLasso(lam=0.1).fit(NUMBERS)


def test_graphs_are_compared(search):
    graph = search.graph_
    assert metrics.shd(search, ASIA) == metrics.shd(graph, ASIA) > 0
    assert metrics.shd(ASIA, search) == metrics.shd(ASIA, graph)
    assert metrics.cpdag_shd(search, ASIA) == metrics.cpdag_shd(graph, ASIA)
    assert metrics.skeleton_scores(ASIA, search) == metrics.skeleton_scores(ASIA, graph)
    assert metrics.direction_scores(ASIA, search) == metrics.direction_scores(ASIA, graph)
    assert metrics.edge_differences(search, ASIA) == metrics.edge_differences(graph, ASIA)


def test_models_are_measured_and_sampled(search):
    model = search.model_
    assert metrics.kl_divergence(ASIA, search) == metrics.kl_divergence(ASIA, model)
    assert metrics.held_out_log_likelihood(search, ROWS) == metrics.held_out_log_likelihood(model, ROWS)
    learners = {"bic": HillClimbSearch(scoring_method="bic")}
    curves = [metrics.learning_curve(network, [20], learners, n_repeats=1) for network in (search, model)]
    pd.testing.assert_frame_equal(*curves)
    pd.testing.assert_frame_equal(sample(search, 20), sample(model, 20))


def test_models_answer(markov, tmp_path):
    model = markov.model_
    assert inference.marginals(markov) == inference.marginals(model)
    assert inference.map_assignment(markov) == inference.map_assignment(model)
    assert inference.log_partition(markov) == inference.log_partition(model)
    assert sample_markov_network(markov, 5).to_pandas().equals(sample_markov_network(model, 5).to_pandas())
    assert set(junction_tree(markov)) == set(junction_tree(model))
    (tmp_path / "two.evid").write_text("1 0 1")
    assert read_evidence(tmp_path / "two.evid", markov) == read_evidence(tmp_path / "two.evid", model)


def test_models_are_saved(search, markov, gaussian, tmp_path):
    assert isinstance(read_model(save_model(search, tmp_path / "a.bif")), DiscreteBayesianNetwork)
    assert isinstance(read_model(save_model(search, tmp_path / "a.json")), DiscreteBayesianNetwork)
    assert isinstance(read_model(save_model(markov, tmp_path / "m.uai")), PairwiseMarkovNetwork)
    assert isinstance(read_model(save_model(gaussian, tmp_path / "g.npz")), GaussianMarkovNetwork)
    assert isinstance(load_markov_network(save_markov_network(markov, tmp_path / "m.npz")), PairwiseMarkovNetwork)
    assert isinstance(
        load_gaussian_network(save_gaussian_network(gaussian, tmp_path / "g.json")), GaussianMarkovNetwork
    )
    mixed = HillClimbSearch().fit(MIXED)
    assert isinstance(read_model(save_model(mixed, tmp_path / "c.json")), ConditionalGaussianNetwork)
    system = DenseLDS().fit(NUMBERS)
    assert isinstance(read_model(save_model(system, tmp_path / "s.npz")), LinearDynamicalSystem)


def test_formats_without_parameters_hold_the_graph(markov, tmp_path):
    learner = GreedyEquivalenceSearch(scoring_method="bic").fit(ROWS)
    assert isinstance(learner.graph_, PDAG) and learner.graph_.undirected_edges
    read = nx.read_graphml(save_model(learner, tmp_path / "a.graphml"))
    assert sum(kind == "undirected" for *_, kind in read.edges(data="kind")) == 2 * len(learner.graph_.undirected_edges)
    assert isinstance(load_markov_network(save_model(markov, tmp_path / "m.graphml")), PairwiseMarkovNetwork)
    for learner in (DenseLDS().fit(NUMBERS), LinearSVARM(lam=0.1).fit(NUMBERS)):
        for suffix in ("json", "graphml"):
            graph = read_model(save_model(learner, tmp_path / f"s.{suffix}"))
            assert isinstance(graph, TimeSeriesGraph)
            assert list(graph.edges(data=True)) == list(learner.graph_.edges(data=True))
    bootstrap = BootstrapStructure(OnlineEdgeGrafting(lam=0.05), n_resamples=2).fit(ROWS)  # has no model_
    read = read_model(save_model(bootstrap, tmp_path / "b.json"))
    assert set(map(frozenset, read.edges)) == set(map(frozenset, bootstrap.graph_.edges))


def test_graphs_are_drawn(search, tmp_path):
    graph = search.graph_
    pictures = [
        plotting.save_picture(drawn, tmp_path / f"{k}.svg", reference=reference).read_bytes()
        for k, (drawn, reference) in enumerate([(search, None), (graph, None), (ASIA, search), (ASIA, graph)])
    ]
    assert pictures[0] == pictures[1]
    assert pictures[2] == pictures[3]
    bootstrap = BootstrapStructure(HillClimbSearch(scoring_method="bic"), n_resamples=3).fit(ROWS)
    axes = [plotting.plot_graph(search, strengths=strengths) for strengths in (bootstrap, bootstrap.strengths_)]
    widths = [[width for drawn in ax.collections for width in drawn.get_linewidths()] for ax in axes]
    assert widths[0] == widths[1]
    labels = [
        [label.get_text() for label in plotting.plot_strengths(strengths).get_yticklabels()]
        for strengths in (bootstrap, bootstrap.strengths_)
    ]
    assert labels[0] == labels[1]


def test_learners_that_are_not_fitted_say_so(tmp_path):
    for call in (
        lambda: metrics.shd(HillClimbSearch(), ASIA),
        lambda: plotting.plot_graph(HillClimbSearch()),
        lambda: save_model(HillClimbSearch(), tmp_path / "a.graphml"),
        lambda: save_model(HillClimbSearch(), tmp_path / "a.bif"),
        lambda: sample(HillClimbSearch(), 3),
        lambda: plotting.plot_strengths(BootstrapStructure(HillClimbSearch())),
    ):
        with pytest.raises(AttributeError, match=r"is not fitted yet: call fit or estimate first$"):
            call()


def test_other_objects_are_refused_as_ever():
    with pytest.raises(TypeError, match="networkx graph or a fitted learner; got DataFrame"):
        metrics.shd(ROWS, ASIA)
    with pytest.raises(TypeError, match="got ABCMeta"):
        metrics.shd(HillClimbSearch, ASIA)
    assert get_graph(ASIA) is get_model(ASIA) is ASIA
