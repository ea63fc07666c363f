"""The network that learners return for mixed tables."""

import itertools
import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from pgmx.estimators import (
    BestFirstSearch,
    ChowLiuForest,
    GreedyEquivalenceSearch,
    HillClimbSearch,
    SimulatedAnnealing,
)
from pgmx.metrics import held_out_log_likelihood
from pgmx.models import ConditionalGaussianNetwork, read_model, save_model
from tests.helpers.mixed_tables import iris, six_columns
from tests.oracles import conditional_gaussian as oracle


def learners():
    return [
        HillClimbSearch(),
        HillClimbSearch(scoring_method="bic-clg", return_type="dag"),
        SimulatedAnnealing(random_state=0),
        BestFirstSearch(),
        GreedyEquivalenceSearch(),
    ]


def total(frame, network, **options):
    """Return the oracle's log-likelihood of the maximum of likelihood."""
    families = [(name, tuple(network.get_parents(name))) for name in frame]
    return sum(oracle.clg_log_likelihood(frame, child, parents, **options) for child, parents in families)


@pytest.mark.parametrize("learner", learners(), ids=lambda learner: type(learner).__name__)
def test_models_are_at_the_maximum_of_likelihood(learner):
    frame = six_columns()
    network = learner.fit(frame).model_
    assert isinstance(network, ConditionalGaussianNetwork)
    assert set(network.edges()) == set(learner.dag_.edges()) and list(network.nodes()) == list(frame)
    assert network.log_likelihood(frame).sum() == pytest.approx(total(frame, network), rel=1e-10)
    assert learner.model_ is network


@pytest.mark.parametrize(("weight", "cost"), [("bic", np.log(800) / 2), ("aic", 1.0), ("mutual_info", 0.0)])
def test_forests_are_the_best_with_a_network(weight, cost):
    frame = six_columns()[["R", "T", "X", "Y", "Z"]]
    score = {
        (child, parents): oracle.clg_log_likelihood(frame, child, parents)
        - cost * oracle.n_parameters(frame, child, parents)
        for child in frame
        for parents in [(), *((name,) for name in frame if name != child)]
        if parents == () or child in "XYZ" or parents[0] in "RT"
    }
    best = -np.inf
    families = [[key for key in score if key[0] == child] for child in frame]
    for choice in itertools.product(*families):
        edges = [(parents[0], child) for child, parents in choice if parents]
        if nx.is_directed_acyclic_graph(nx.DiGraph(edges)):
            best = max(best, sum(score[key] for key in choice))
    learner = ChowLiuForest(weight=weight).fit(frame)
    assert learner.score_ == pytest.approx(best, rel=1e-10)
    assert isinstance(learner.model_, ConditionalGaussianNetwork)


def test_augmented_naive_bayes_has_a_network():
    frame = iris()
    learner = ChowLiuForest(class_node="K", weight="bic").fit(frame)
    assert all(learner.dag_.has_edge("K", name) for name in frame if name != "K")
    assert (learner.model_.predict(frame, ["K"])["K"] == frame["K"]).mean() > 0.95


def test_variance_is_that_of_the_score():
    from pgmx.scores import BICCondLinearGauss

    frame = six_columns()
    learner = HillClimbSearch(scoring_method=BICCondLinearGauss(frame, variance="unbiased")).fit(frame)
    expected = total(frame, learner.model_, variance="unbiased")
    assert learner.model_.log_likelihood(frame).sum() == pytest.approx(expected, rel=1e-10)


def test_weights_are_repeated_rows():
    frame = six_columns()
    weights = np.arange(len(frame)) % 3
    weighted = HillClimbSearch().fit(frame, sample_weight=weights).model_
    repeated = HillClimbSearch().fit(frame.iloc[np.repeat(np.arange(len(frame)), weights)]).model_
    assert set(weighted.edges()) == set(repeated.edges())
    np.testing.assert_allclose(weighted.log_likelihood(frame), repeated.log_likelihood(frame), rtol=1e-9)


def test_scores_with_arcs_into_states_may_have_no_network():
    learner = HillClimbSearch(scoring_method="bic-cg", return_type="dag").fit(six_columns())
    is_float = set("XYZ")
    wrong = [f"{u} -> {v}" for u, v in learner.dag_.edges() if u in is_float and v not in is_float]
    assert wrong
    with pytest.raises(AttributeError, match="arcs from continuous to discrete variables.*scoring_method='bic-clg'"):
        _ = learner.model_
    assert not hasattr(learner, "model_")


def test_foreign_scores_have_the_same_network():
    from pgmpy.structure_score import AICCondGauss as ForeignAIC

    frame = six_columns()
    forbidden = [(u, v) for u in "XYZ" for v in "RST"]
    learner = HillClimbSearch(scoring_method=ForeignAIC(frame), forbidden_edges=forbidden, max_iter=3).fit(frame)
    assert learner.model_.log_likelihood(frame).sum() == pytest.approx(total(frame, learner.model_), rel=1e-10)


def test_priors_are_for_states_beside_floats():
    frame = six_columns()
    learner = HillClimbSearch(equivalent_sample_size=10).fit(frame)
    same = ConditionalGaussianNetwork()
    same.add_nodes_from(frame.columns)
    same.add_edges_from(learner.dag_.edges())
    assert learner.model_ == same.fit(frame, equivalent_sample_size=10)
    with pytest.raises(ValueError, match="equivalent_sample_size=10 is a prior"):
        HillClimbSearch(equivalent_sample_size=10).fit(frame[["X", "Y", "Z"]])


def test_score_of_rows_is_that_of_a_network_with_a_prior():
    frame = six_columns()
    learner = HillClimbSearch().fit(frame.iloc[:600])
    network = learner._make_model({"equivalent_sample_size": 1.0})
    assert learner.score(frame.iloc[600:]) == pytest.approx(network.score(frame.iloc[600:]), rel=1e-12)
    holes = frame.iloc[600:].copy()
    holes.loc[610, "X"] = np.nan
    with pytest.raises(ValueError, match="missing values.*'X'"):
        learner.score(holes)
    unknown = frame.iloc[600:].astype({"S": str})
    unknown.loc[700, "S"] = "9"
    with pytest.warns(UserWarning, match="1 of 200 rows have states of 'S'"):
        assert learner.score(unknown) == -np.inf
    result = held_out_log_likelihood(learner.model_, unknown)
    assert result.n_impossible == 1 and result.impossible == {"S": 1}
    assert held_out_log_likelihood(learner.model_, holes, missing="drop").n_rows == 199


def test_iris_is_recognised():
    frame = iris()
    learner = HillClimbSearch().fit(frame)
    assert (learner.model_.predict(frame, ["K"])["K"] == frame["K"]).mean() > 0.95
    shares = learner.model_.predict_proba({"PL": 1.4, "PW": 0.2})
    assert shares["K", "setosa"].iloc[0] > 0.99


def test_breast_cancer_has_a_network(tmp_path):
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer(as_frame=True)
    frame = bunch.data.assign(target=pd.Categorical(bunch.target_names[bunch.target]))
    learner = HillClimbSearch().fit(frame)
    network = learner.model_
    assert network.log_likelihood(frame).sum() == pytest.approx(total(frame, network), rel=1e-9)
    assert (network.predict(frame, ["target"])["target"] == frame["target"]).mean() > 0.95
    assert read_model(save_model(network, tmp_path / "cancer.json")) == network
    assert pickle.loads(pickle.dumps(learner)).model_ == network


def test_holes_are_filled_without_a_fit_per_pattern():
    frame = iris()
    network = HillClimbSearch().fit(frame).model_
    rng = np.random.default_rng(4)
    holes = frame.mask(rng.random(frame.shape) < 0.2)
    errors = network.predict(holes)["PL"] - frame["PL"]
    missing = holes["PL"].isna()
    assert (errors[~missing] == 0.0).all()
    assert errors[missing].std() < 0.35 * frame["PL"].std()
