"""ChowLiuForest with prior networks, other scores, row weights and missing values."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork

from helpers.learning_tables import dependent_frame, gaussian_frame
from pgmx.estimators import ChowLiuForest
from pgmx.scores import BGe, BICDegenerateGauss


def uniform_network(frame):
    network = DiscreteBayesianNetwork()
    network.add_nodes_from(frame)
    for name in frame:
        states = sorted(frame[name].unique().tolist())
        share = [[1 / len(states)]] * len(states)
        network.add_cpds(TabularCPD(name, len(states), share, state_names={name: states}))
    return network


@pytest.mark.parametrize("options", [{}, {"class_node": "b"}, {"tiers": [["e"], ["a"]]}])
def test_a_uniform_prior_network_gives_the_uniform_weights(options):
    frame = dependent_frame(0)
    bde = ChowLiuForest(weight="bde", prior_network=uniform_network(frame), **options).fit(frame)
    bdeu = ChowLiuForest(weight="bdeu", **options).fit(frame)
    assert np.array_equal(bde.edges_, bdeu.edges_)
    assert bde.edge_weights_ == pytest.approx(bdeu.edge_weights_, rel=1e-6)
    assert bde.score_ == pytest.approx(bdeu.score_, rel=1e-8)


def test_equivalent_sample_size():
    frame = dependent_frame(0)
    small, large = (ChowLiuForest(weight="bdeu", equivalent_sample_size=size).fit(frame) for size in (1, 100))
    assert small.score_ != large.score_


@pytest.mark.parametrize("options", [{}, {"weight": "bic"}, {"weight": "bdeu"}, {"class_node": "c"}])
def test_weights_are_repetitions_of_rows(options):
    frame = dependent_frame(0)
    weights = np.random.default_rng(0).integers(0, 3, len(frame))
    weighted = ChowLiuForest(**options).fit(frame, sample_weight=weights)
    repeated = ChowLiuForest(**options).fit(frame.loc[frame.index.repeat(weights)])
    assert np.array_equal(weighted.edges_, repeated.edges_)
    assert np.array_equal(weighted.edge_weights_, repeated.edge_weights_)
    assert weighted.score_ == repeated.score_


def test_weights_scale_mutual_information():
    frame = dependent_frame(0)
    whole, half = (ChowLiuForest().fit(frame, sample_weight=np.full(len(frame), weight)) for weight in (1, 0.5))
    assert half.edge_weights_ == pytest.approx(whole.edge_weights_ / 2, rel=1e-9)


@pytest.mark.parametrize("missing", ["drop", "category", "pairwise"])
@pytest.mark.parametrize("class_node", [None, "c"])
def test_missing_values(missing, class_node):
    frame = dependent_frame(0)
    holes = frame.astype(object).mask(np.random.default_rng(0).random(frame.shape) < 0.03)
    found = ChowLiuForest(missing=missing, class_node=class_node).fit(holes)
    full = ChowLiuForest(class_node=class_node).fit(frame)
    assert found.graph_.number_of_edges() == full.graph_.number_of_edges()
    with pytest.raises(ValueError, match="missing"):
        ChowLiuForest(class_node=class_node).fit(holes)


def test_gaussian_class():
    learner = ChowLiuForest(class_node="a").fit(gaussian_frame(0))
    assert set(learner.graph_.successors("a")) == {"b", "c", "d"}
    assert learner.graph_.number_of_edges() == 5


@pytest.mark.parametrize(("weight", "score"), [("bge", BGe), ("bic-dg", BICDegenerateGauss)])
def test_weights_of_the_other_scores(weight, score):
    frame = gaussian_frame(0)
    if weight == "bic-dg":
        frame["k"] = np.where(frame["a"] + frame["c"] > 0, "u", "v")
    learner, judge = ChowLiuForest(weight=weight).fit(frame), score(frame)
    families = {name: tuple(learner.dag_.predecessors(name)) for name in frame}
    assert learner.score_ == pytest.approx(sum(judge.local_score(*family) for family in families.items()), abs=1e-6)
    pairs = nx.Graph()
    for a, b in combinations(frame, 2):
        gain = judge.local_score(b, (a,)) - judge.local_score(b, ())
        if gain > 0:
            pairs.add_edge(a, b, weight=gain)
    best = nx.maximum_spanning_tree(pairs)
    assert set(map(frozenset, learner.graph_.edges())) == set(map(frozenset, best.edges()))
    tree = ChowLiuForest(weight=weight, class_node="a").fit(frame)
    total = sum(judge.local_score(name, tuple(tree.dag_.predecessors(name))) for name in frame)
    assert tree.score_ == pytest.approx(total, abs=1e-6)


def test_bge_refuses_states_and_em_names_the_search_that_does_it():
    frame = dependent_frame(0).astype(str)
    with pytest.raises(ValueError, match="'bge' needs continuous variables"):
        ChowLiuForest(weight="bge").fit(frame)
    with pytest.raises(
        ValueError, match=r"ChowLiuForest does not support.*HillClimbSearch\(max_indegree=1, missing='em'\)"
    ):
        ChowLiuForest(missing="em").fit(frame)
