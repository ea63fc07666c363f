"""What the learner of dynamic Bayesian networks keeps of the contract of all learners."""

import copy
import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from helpers.dynamic_panels import draw_panel
from pgmx.data.draws import count_draws
from pgmx.estimators import BaseStructureLearner, BlockBootstrap, DynamicBayesianNetworkSearch

# of the model of few series
pytestmark = pytest.mark.filterwarnings("ignore:fewer than 30 series")


def make_learner(data=None, **options):
    return DynamicBayesianNetworkSearch(data, groups="id", time_column="t", **options)


@pytest.mark.slow
@parametrize_with_checks([DynamicBayesianNetworkSearch()])
def test_scikit_learn(estimator, check):
    check(estimator)


def test_constructor():
    first, *others = inspect.signature(DynamicBayesianNetworkSearch).parameters.values()
    assert (first.name, first.default) == ("data", None)
    assert {parameter.kind for parameter in others} == {inspect.Parameter.KEYWORD_ONLY}
    assert set(vars(DynamicBayesianNetworkSearch())) == {"data", *(parameter.name for parameter in others)}
    assert issubclass(DynamicBayesianNetworkSearch, BaseStructureLearner)


def test_both_faces_clones_and_pickles_learn_the_same():
    panel = draw_panel()
    before = copy.deepcopy(panel)
    learner = make_learner(panel, lags=2)
    graph = learner.estimate()
    assert set(graph.nodes) == {(name, lag) for name in "abcs" for lag in range(3)}
    assert clone(learner).fit(panel).graph_.edges == graph.edges
    assert pickle.loads(pickle.dumps(learner)).graph_.edges == graph.edges
    assert learner.variables_ == list("abcs")
    pd.testing.assert_frame_equal(panel, before, check_exact=True)


def test_score_is_the_mean_log_density_of_a_row():
    panel = draw_panel()
    learner = make_learner(static_columns=["s"], pseudo_counts=0).fit(panel)
    # without a penalty, the score of the training data is the maximum log-likelihood
    cost = 0.5 * np.log(learner.n_rows_)
    sizes = [np.prod([len(learner.model_.states[u]) for u, _ in learner.graph_.predecessors((v, 0))]) for v in "abc"]
    likelihood = learner.score_ + cost * 2 * np.sum(sizes)
    assert learner.score(panel) == pytest.approx(likelihood / learner.n_rows_, rel=1e-10)


def test_threads_and_restarts_learn_the_same():
    panel = draw_panel()
    alone = make_learner(n_restarts=3, instantaneous=True).fit(panel)
    together = make_learner(n_restarts=3, instantaneous=True, n_jobs=2).fit(panel)
    np.testing.assert_array_equal(alone.edges_, together.edges_)
    assert alone.score_ == together.score_


def test_a_run_is_recorded_stopped_and_resumed(tmp_path):
    panel = draw_panel()
    whole = make_learner(instantaneous=True).fit(panel)
    assert whole.history_["score"][-1] == pytest.approx(whole.score_, rel=1e-12)
    options = {"instantaneous": True, "checkpoint": tmp_path / "run", "checkpoint_every": 0}
    assert make_learner(**options, max_iter=1).fit(panel).stopped_by_ == "max_iter"
    resumed = make_learner(**options).fit(panel)
    np.testing.assert_array_equal(resumed.edges_, whole.edges_)
    assert (resumed.score_, resumed.n_iter_) == (whole.score_, whole.n_iter_)


def test_files_arrow_tables_and_arrays(tmp_path):
    panel = draw_panel()
    learner = make_learner(static_columns=["s"]).fit(panel)
    panel.to_csv(tmp_path / "panel.csv", index=False)
    panel.to_parquet(tmp_path / "panel.parquet")
    for data in (tmp_path / "panel.csv", tmp_path / "panel.parquet", iter([panel[:100], panel[100:]])):
        assert make_learner(static_columns=["s"]).fit(data).score_ == learner.score_
    array = panel.loc[panel["id"] == "g0", list("abc")]
    of_array = DynamicBayesianNetworkSearch().fit(array.to_numpy())
    assert of_array.score_ == DynamicBayesianNetworkSearch().fit(array).score_
    assert of_array.variables_ == ["x0", "x1", "x2"]


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_block_bootstrap_counts_the_edges_of_resamples(n_jobs):
    panel = draw_panel(n_groups=4, n_times=20)
    learner = make_learner(static_columns=["s"], return_type="dag")
    bootstrap = BlockBootstrap(learner, n_resamples=5, block_length=5, n_jobs=n_jobs).fit(panel)
    assert (bootstrap.n_blocks_, bootstrap.estimator_.graph_.edges) == (16, learner.fit(panel).graph_.edges)
    rows = panel.index[panel["t"] > 0]
    shares = np.zeros_like(bootstrap.edge_probability_)
    for b in range(5):
        weights = np.zeros(len(panel), dtype=int)
        weights[rows] = count_draws(0, b, 16).repeat(np.tile([5, 5, 5, 4], 4))
        for (source, lag), (target, _) in make_learner(static_columns=["s"]).fit(panel, None, weights).graph_.edges:
            shares[lag, "abcs".index(target), "abcs".index(source)] += 0.2
    np.testing.assert_allclose(bootstrap.edge_probability_, shares, atol=1e-12)
    assert list(bootstrap.graph_.nodes) == bootstrap.estimator_.nodes_
    for u, v, confidence in bootstrap.consensus_graph(0.5).edges(data="confidence"):
        assert confidence == pytest.approx(shares[u[1], "abcs".index(v[0]), "abcs".index(u[0])])
    with pytest.raises(ValueError, match="sample_weight"):
        BlockBootstrap(learner).fit(panel, sample_weight=np.ones(len(panel)))


def test_pairs_of_a_row_are_undirected_in_a_consensus_graph():
    x = np.random.default_rng(0).integers(0, 2, 60)
    frame = pd.DataFrame({"x": x, "y": np.where(np.arange(60) % 9 > 0, x, 1 - x)})
    pair = [(("x", 0), ("y", 0)), (("y", 0), ("x", 0))]
    search = DynamicBayesianNetworkSearch(instantaneous=True, candidate_edges=pair)
    graph = BlockBootstrap(search, n_resamples=3).fit(frame).consensus_graph()
    assert dict(graph.edges[("x", 0), ("y", 0)], strength=0) == {"undirected": True, "confidence": 1.0, "strength": 0}
    search.set_params(required_edges=pair[1:])
    directed = BlockBootstrap(search, n_resamples=3).fit(frame).consensus_graph()
    assert list(directed.edges) == pair[1:] and "undirected" not in directed.edges[pair[1]]


def test_cost_is_that_of_all_columns_at_all_lags():
    panel = draw_panel()
    cost = make_learner(lags=2).estimate_cost(panel)
    assert cost.codes == 12 * (len(panel) - 12) > 0
    shape = make_learner(lags=2).estimate_cost(n_rows=len(panel) - 12, cardinalities=[3, 3, 3, 2])
    assert (shape.codes, shape.gains) == (cost.codes, cost.gains)
    numbers = DynamicBayesianNetworkSearch().estimate_cost(np.random.default_rng(0).standard_normal((50, 2)))
    assert numbers.total > 0
