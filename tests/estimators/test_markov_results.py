"""What learners of Markov networks hand back: graph, model, figures, and their use by other tools."""

import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from helpers.markov_tables import ALL, pairs_of, planted_network, planted_rows
from pgmx.estimators import BestChoiceEdgeGrafting, BootstrapStructure, EdgeGrafting, GroupLassoMarkovNetwork
from pgmx.models import PairwiseMarkovNetwork

ROWS = planted_rows(600, 6)
every_learner = pytest.mark.parametrize("make", ALL.values(), ids=ALL)


@every_learner
def test_graph_edges_and_model_are_one(make):
    learner = make(lam=0.02).fit(ROWS.assign(alone=np.arange(600) % 2))
    graph, model = learner.graph_, learner.model_
    assert type(graph) is nx.Graph
    assert isinstance(model, PairwiseMarkovNetwork)
    assert list(graph) == list(model.nodes()) == learner.variables_ == [*ROWS, "alone"]
    assert pairs_of(graph) == pairs_of(model)
    assert pairs_of(graph) == {frozenset(learner.variables_[v] for v in pair) for pair in learner.edges_.tolist()}
    assert learner.edges_.dtype == np.int64
    assert (learner.edges_[:, 0] < learner.edges_[:, 1]).all()
    assert sorted(learner.edges_.tolist()) == learner.edges_.tolist()
    for a, b, weight in graph.edges(data="weight"):
        assert weight == pytest.approx(model[a][b]["strength"])
        assert weight > 0
    adjacency = learner.adjacency_matrix_
    assert list(adjacency) == list(adjacency.index) == learner.variables_
    assert adjacency.to_numpy().sum() == 2 * len(learner.edges_)
    assert learner.graph_ is graph
    assert learner.model_ is model


@every_learner
def test_the_model_answers(make):
    from pgmpy.inference import BeliefPropagation, VariableElimination

    model = make(lam=0.01).fit(ROWS).model_
    assert model.check_model()
    shares = model.marginals()
    for name in ROWS:
        assert sum(shares[name].values()) == pytest.approx(1)
        assert [shares[name][k] for k in range(3)] == pytest.approx(
            [(ROWS[name] == k).mean() for k in range(3)], abs=0.06
        )
    by_elimination = VariableElimination(model).query(["x1"], show_progress=False)
    assert by_elimination.values == pytest.approx(shares.array("x1"), abs=1e-9)
    given = BeliefPropagation(model).query(["x1"], evidence={"x0": 2}, show_progress=False)
    assert given.values == pytest.approx(model.marginals({"x0": 2}).array("x1"), abs=1e-9)
    assert set(model.map({"x0": 1})) == set(ROWS) - {"x0"}
    assert (model.predict(ROWS.drop(columns="x2"))["x2"] == ROWS["x2"]).mean() > 0.4
    assert model.log_likelihood(ROWS).mean() > -6 * np.log(3)
    assert model.simulate(50, seed=1).shape == (50, 6)


@every_learner
def test_score_is_the_mean_log_likelihood(make):
    learner = make(lam=0.02).fit(ROWS)
    more = planted_rows(800, 6)[600:]
    assert learner.score(more) == pytest.approx(learner.model_.log_likelihood(more).mean())
    assert learner.score(more) > make(max_edges=0, lam=0.02).fit(ROWS).score(more)
    assert learner.score(more[list(more)[::-1]]) == pytest.approx(learner.score(more))
    with pytest.raises(ValueError, match="5 features.*expecting 6"):
        learner.score(more.drop(columns="x3"))
    with pytest.raises(ValueError, match="'x9'"):
        learner.score(more.rename(columns={"x3": "x9"}))
    with pytest.raises(ValueError, match="'x3'.*7"):
        learner.score(more.assign(x3=7))


@every_learner
def test_names_and_states_come_back_as_given(make):
    data = ROWS.set_axis([3, "b", (1, 2), 0.5, True, "f"], axis=1)
    data["b"] = data["b"].map({0: "low", 1: "mid", 2: "high"}).astype("category")
    data["f"] = data["f"] == 1
    names = {"b": ["low", "mid", "high"]}
    learner = make(lam=0.02, state_names=names).fit(data)
    assert list(learner.graph_) == list(data)
    assert learner.model_.states["b"] == ["low", "mid", "high"]
    assert [type(state) for state in learner.model_.states[3]] == [int] * 3
    assert learner.model_.states["f"] == [False, True]
    assert learner.model_.marginals({"b": "mid"})[(1, 2)].keys() == {0, 1, 2}


@pytest.mark.parametrize("name", ["graph_", "model_", "adjacency_matrix_", "edges_", "history_", "objective_", "path_"])
def test_results_before_fit(name):
    with pytest.raises(AttributeError):
        getattr(GroupLassoMarkovNetwork(), name)


def test_figures_are_plain_numbers():
    learner = BestChoiceEdgeGrafting(lam_ratio=0.1).fit(ROWS)
    for name in ("lam_", "lam_max_", "objective_", "kkt_residual_"):
        assert type(getattr(learner, name)) is float, name
    for name in ("n_iter_", "n_activated_", "n_tests_", "n_tables_"):
        assert type(getattr(learner, name)) is int, name
    assert type(learner.converged_) is bool
    assert learner.lam_ == pytest.approx(0.1 * learner.lam_max_)


def test_pickle_without_the_rows():
    learner = EdgeGrafting(lam=0.02)
    size = len(pickle.dumps(learner.fit(ROWS)))
    twice = len(pickle.dumps(learner.fit(pd.concat([ROWS] * 20))))
    assert twice < size + 1000


# ---- bootstrap ----


@every_learner
@pytest.mark.slow
def test_bootstrap(make):
    learner = make(lam=0.03, show_progress=False)
    boot = BootstrapStructure(learner, n_resamples=8, show_progress=False).fit(ROWS)
    assert type(boot.graph_) is nx.Graph
    assert list(boot.graph_) == list(ROWS)
    shares = boot.edge_probability_
    plain = pairs_of(learner.fit(ROWS).graph_)
    strong = {frozenset((a, b)) for a in ROWS for b in ROWS if a < b and shares.loc[a, b] == 1}
    assert strong
    assert strong & pairs_of(planted_network(6))
    assert strong <= plain
    again = BootstrapStructure(make(lam=0.03), n_resamples=8, n_jobs=2, show_progress=False).fit(ROWS)
    pd.testing.assert_frame_equal(again.edge_probability_, shares)
    with pytest.raises(AttributeError, match="there is no model_"):
        _ = boot.model_


def test_bootstrap_of_weighted_and_incomplete_rows():
    data = ROWS.astype("Int64")
    data.iloc[::9, 2] = pd.NA
    learner = BestChoiceEdgeGrafting(lam=0.03, missing="drop", show_progress=False)
    boot = BootstrapStructure(learner, n_resamples=4, show_progress=False)
    boot.fit(data, sample_weight=np.arange(600) % 3)
    assert boot.graph_.number_of_edges() > 0
