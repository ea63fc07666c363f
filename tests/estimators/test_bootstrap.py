"""BootstrapStructure: probabilities, consensus, determinism, and a slow twin."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pgmpy.base import DAG, PDAG
from sklearn.base import clone

from helpers.bootstraps import boot, same
from helpers.examples import examples
from helpers.learning_tables import dependent_frame, gaussian_frame, mixed_frame
from oracles.bootstrap import resampled_frames, shares, threshold
from pgmx.data import encode
from pgmx.estimators import (
    BaseStructureLearner,
    BestFirstSearch,
    ChowLiuForest,
    HillClimbSearch,
    SimulatedAnnealing,
    bootstrap,
)
from pgmx.models import cpdag
from pgmx.parallel import tasks
from pgmx.scores import BDeu

DAGS = HillClimbSearch(scoring_method="bic", return_type="dag")


# ---- against the slow twin ----


@pytest.mark.parametrize(
    ("make", "table"),
    [
        (HillClimbSearch, dependent_frame),
        (lambda **options: HillClimbSearch(return_type="dag", scoring_method="bdeu", **options), dependent_frame),
        (ChowLiuForest, dependent_frame),
        (HillClimbSearch, gaussian_frame),
        (lambda **options: HillClimbSearch(scoring_method="bic-g", **options), dependent_frame),
        pytest.param(lambda **options: HillClimbSearch(max_indegree=1, **options), mixed_frame, marks=pytest.mark.slow),
    ],
    ids=["pdag", "dag", "forest", "gaussian", "integers as numbers", "mixed"],
)
def test_same_as_learning_from_frames_with_repeated_rows(make, table):
    data = table(0)
    names = {} if table is not dependent_frame else {name: sorted(data[name].unique()) for name in data}
    n_resamples = 3 if table is mixed_frame else 15
    fitted = boot(make(), n_resamples, random_state=7).fit(data)
    quiet = {} if make is ChowLiuForest else {"show_progress": False}
    graphs = [
        make(state_names=names or None, **quiet).fit(frame).graph_ for frame in resampled_frames(data, n_resamples, 7)
    ]
    strength, direction = shares(list(data), graphs)
    found = fitted.edge_probability_, fitted.direction_probability_
    for (u, v), share in strength.items():
        assert found[0].loc[u, v] == share
        if share:
            assert found[1].loc[u, v] == pytest.approx(direction[u, v], rel=1e-12)
    assert fitted.threshold_ == pytest.approx(threshold(list(strength.values()), n_resamples))


# ---- laws ----


@examples(10)
@given(st.integers(0, 1000), st.integers(1, 6), st.booleans())
def test_probabilities(seed, n_resamples, as_dag):
    data = dependent_frame(seed, n_rows=60)
    fitted = boot(DAGS if as_dag else None, n_resamples, random_state=seed).fit(data)
    strength, direction = fitted.edge_probability_.to_numpy(), fitted.direction_probability_.to_numpy()
    assert ((strength >= 0) & (strength <= 1)).all()
    assert np.array_equal(strength, strength.T)
    joined = strength > 0
    assert np.array_equal(joined, ~np.isnan(direction))
    assert (direction[joined] + direction.T[joined] == 1).all()
    assert np.array_equal(strength * n_resamples, np.round(strength * n_resamples, 9))
    assert 0 < fitted.threshold_ <= 1
    assert nx.is_directed_acyclic_graph(fitted.dag_)
    table = fitted.strengths_
    assert (table["direction"] >= 0.5).all()
    assert table["strength"].is_monotonic_decreasing
    place = {name: v for v, name in enumerate(data)}
    rows = zip(table["from"], table["to"], table["strength"], strict=True)
    assert all(strength[place[u], place[v]] == share for u, v, share in rows)


@pytest.mark.parametrize("return_type", ["dag", "pdag"])
def test_one_resample_agrees_with_itself(return_type):
    data = dependent_frame(3)
    learner = HillClimbSearch(return_type=return_type, scoring_method="bic", show_progress=False)
    fitted = boot(learner, 1).fit(data)
    names = {name: sorted(data[name].unique()) for name in data}
    alone = clone(learner).set_params(state_names=names).fit(resampled_frames(data, 1, 0)[0])
    assert type(fitted.graph_) is type(alone.graph_)
    assert set(fitted.graph_.edges()) == set(alone.graph_.edges())
    n = len(fitted.variables_)
    assert cpdag(n, fitted.edges_.tolist()) == cpdag(n, alone.edges_.tolist())


def test_more_resamples_begin_with_the_same_ones():
    data = dependent_frame(1)
    few, many = boot(n_resamples=4).fit(data), boot(n_resamples=9).fit(data)
    of = {tuple(pair): counts for pair, counts in zip(many.pairs_.tolist(), many.pair_counts_, strict=True)}
    for pair, counts in zip(few.pairs_.tolist(), few.pair_counts_, strict=True):
        assert (of[tuple(pair)] >= counts).all()


def test_renamed_columns_are_the_same_columns():
    data = dependent_frame(2)
    renamed = data.set_axis([("v", k) for k in range(data.shape[1])], axis=1)
    one, other = boot().fit(data), boot().fit(renamed)
    assert np.array_equal(one.pair_counts_, other.pair_counts_)
    assert list(other.edge_probability_.columns) == list(renamed.columns)
    assert list(other.graph_.nodes()) == list(renamed.columns)


@pytest.mark.parametrize("options", [{"n_jobs": 2}, {"n_jobs": -1}, {"random_state": 0}])
@pytest.mark.parametrize("table", [dependent_frame, gaussian_frame])
def test_same_result_for_any_number_of_workers(table, options):
    data = table(0)
    assert same(boot(**options).fit(data), boot().fit(data))


def test_long_resamples_begin_on_all_threads_at_once(monkeypatch):
    began, run = [], tasks.run_on_threads

    def record(make, n, n_threads, **options):
        began.append(options["at_once"])
        return run(make, n, n_threads, **options)

    monkeypatch.setattr(tasks, "run_on_threads", record)
    data = dependent_frame(0)
    expected = boot().fit(data)
    assert same(boot(n_jobs=2).fit(data), expected)
    monkeypatch.setattr(bootstrap, "LONG_RESAMPLE", 0)
    assert same(boot(n_jobs=2).fit(data), expected)
    assert same(boot(CorrelationGraph(), n_jobs=2).fit(data), boot(CorrelationGraph()).fit(data))
    assert began == [False, True, False]


def test_other_seed_other_resamples():
    data = dependent_frame(0, n_rows=80)
    assert not np.array_equal(boot(random_state=1).fit(data).pair_counts_, boot().fit(data).pair_counts_)


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_generators_are_seeds(make):
    data = dependent_frame(0)
    assert same(boot(random_state=make(5)).fit(data), boot(random_state=make(5)).fit(data))
    assert boot(random_state=None).fit(data).n_resamples_ == 12


def test_learner_without_a_seed_gets_one():
    data = dependent_frame(0)
    learner = SimulatedAnnealing(random_state=None, scoring_method="bic")
    assert same(boot(learner, 4).fit(data), boot(learner, 4, n_jobs=2).fit(data))
    assert learner.random_state is None


# ---- row weights ----


def test_integer_weights_are_repeated_rows():
    data = dependent_frame(0)
    weights = np.random.default_rng(0).integers(0, 4, len(data))
    repeated = data.loc[data.index.repeat(weights)]
    names = {name: sorted(data[name].unique()) for name in data}
    by_weight = boot(HillClimbSearch(state_names=names)).fit(data, sample_weight=weights)
    assert same(by_weight, boot(HillClimbSearch(state_names=names)).fit(repeated))
    for name in data:
        rows = boot(HillClimbSearch(state_names=names)).fit(repeated).model_.get_cpds(name).get_values()
        assert by_weight.model_.get_cpds(name).get_values() == pytest.approx(rows, rel=1e-12)


def test_rows_are_drawn_in_proportion_to_their_weights():
    data = dependent_frame(0)
    ones = np.ones(len(data))
    assert same(boot().fit(data, sample_weight=ones), boot().fit(data))
    weights = np.where(np.arange(len(data)) < 150, 1.5, 0.0)
    upper = boot().fit(data, sample_weight=weights)
    changed = data.copy()
    changed.iloc[150:] = data.iloc[:150].to_numpy()[::-1]
    assert same(upper, boot().fit(changed, sample_weight=weights))


def test_very_large_weights_need_no_very_large_tables():
    data = dependent_frame(0)
    fitted = boot(n_resamples=3).fit(data, sample_weight=np.full(len(data), 10**7))
    assert fitted.n_resamples_ == 3
    assert (fitted.strengths_["strength"] == 1).sum() >= 4


# ---- every learner, and nothing of it is changed ----


@pytest.mark.parametrize(
    "learner",
    [
        HillClimbSearch(n_restarts=2, start_dag="random"),
        HillClimbSearch(strategy="thorough"),
        ChowLiuForest(weight="bic"),
        ChowLiuForest(class_node="a"),
        SimulatedAnnealing(random_state=3),
        BestFirstSearch(),
        HillClimbSearch(required_edges=[("e", "a")]),
    ],
    ids=["restarts", "thorough", "forest", "naive Bayes", "annealing", "best first", "knowledge"],
)
def test_any_learner_fits_in(learner):
    data = dependent_frame(0)
    before = repr(learner.get_params()), set(vars(learner))
    fitted = boot(learner, 4).fit(data)
    assert (repr(learner.get_params()), set(vars(learner))) == before
    assert fitted.model_.check_model()
    assert fitted.graph_ is fitted.causal_graph_
    assert list(fitted.graph_.nodes()) == list(data)
    if isinstance(learner, HillClimbSearch) and learner.required_edges:
        assert fitted.edge_probability_.loc["e", "a"] == fitted.direction_probability_.loc["e", "a"] == 1.0
        assert ("e", "a") in fitted.graph_.edges()


class CorrelationGraph(BaseStructureLearner):
    """A learner of an undirected graph, for the test."""

    def __init__(self, data=None, *, least=0.3, state_names=None, missing="error", n_jobs=None):
        self.data, self.least = data, least
        self.state_names, self.missing, self.n_jobs = state_names, missing, n_jobs

    _parameter_constraints = dict.fromkeys(("least", "state_names", "missing", "n_jobs"), "no_validation")

    def _fit(self, opened, sample_weight):
        frame = opened.to_pandas()
        self.graph_ = nx.Graph()
        self.graph_.add_nodes_from(frame)
        matrix = np.abs(frame.corr().to_numpy())
        pairs = np.argwhere(np.triu(matrix, 1) > self.least)
        self.graph_.add_edges_from((frame.columns[u], frame.columns[v]) for u, v in pairs)


def test_undirected_graphs():
    data = gaussian_frame(0)
    fitted = boot(CorrelationGraph(), 8, n_jobs=2).fit(data)
    assert type(fitted.graph_) is nx.Graph
    strength, _ = shares(list(data), [CorrelationGraph().fit(f).graph_ for f in resampled_frames(data, 8, 0)])
    assert all(fitted.edge_probability_.loc[pair] == share for pair, share in strength.items())
    assert (fitted.strengths_["direction"] == 0.5).all()
    assert {frozenset(edge) for edge in fitted.consensus_graph(0.0).edges} == {
        frozenset(pair) for pair, share in strength.items() if share
    }
    for attribute in ("dag_", "model_"):
        with pytest.raises(AttributeError, match=f"no {attribute}: CorrelationGraph"):
            getattr(fitted, attribute)


def test_score_instance_of_the_data():
    data = dependent_frame(0)
    named = boot(HillClimbSearch(scoring_method="bdeu")).fit(data)
    bound = boot(HillClimbSearch(scoring_method=BDeu(data)))
    assert same(bound.fit(data), named)
    table = encode(data)
    assert same(boot(HillClimbSearch(scoring_method=BDeu(table))).fit(table), named)


# ---- consensus ----


def test_consensus_graphs():
    data = dependent_frame(0, n_rows=100)
    fitted = boot(n_resamples=20).fit(data)
    assert isinstance(fitted.graph_, PDAG)
    assert isinstance(boot(DAGS).fit(data).graph_, DAG)
    everything = fitted.consensus_graph(0)
    assert len({frozenset(edge) for edge in everything.edges()}) <= len(fitted.strengths_)
    previous = None
    for least in (0.9, 0.5, 0.1):
        edges = {frozenset(edge) for edge in fitted.consensus_graph(least).edges()}
        strong = fitted.strengths_.query("strength >= @least")
        assert edges <= {frozenset(pair) for pair in zip(strong["from"], strong["to"], strict=True)}
        previous = edges
    assert previous
    assert set(fitted.consensus_graph(fitted.threshold_).edges()) == set(fitted.graph_.edges())
    assert fitted.adjacency_matrix_.shape == (5, 5)
