"""What a fitted learner holds, and how a run is bounded, watched and stopped."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from pgmpy.models import DiscreteBayesianNetwork
from pgmpy.parameter_estimator import DiscreteMLE

from helpers.learning_tables import NAMES, codes_of, dependent_frame, edge_set
from oracles.family_scores import dag_score
from pgmx.estimators import HillClimbSearch


def learn(data=None, **options):
    return HillClimbSearch(**options).fit(dependent_frame(0) if data is None else data)


def engine_of(learner):
    from pgmpy.inference import VariableElimination  # warns of pgmpy.estimators unless pgmx.estimators came first

    return VariableElimination(learner.model_)


# ---- graphs ----


def test_edges_are_the_truth_and_graphs_follow(seed):
    learner = learn(dependent_frame(seed))
    assert learner.edges_.dtype == np.int64
    assert edge_set(learner.dag_) == {(NAMES[tail], NAMES[head]) for tail, head in learner.edges_}
    assert learner.graph_ is learner.causal_graph_
    assert learner.graph_ is learner.graph_
    assert list(learner.dag_.nodes()) == list(learner.graph_.nodes()) == list(NAMES)
    assert nx.is_directed_acyclic_graph(learner.dag_)


def test_adjacency_matrix_is_that_of_the_graph():
    learner = learn()
    for tail in NAMES:
        for head in NAMES:
            assert learner.adjacency_matrix_.loc[tail, head] == learner.graph_.has_edge(tail, head)


@pytest.mark.parametrize("score", ["ll", "aic", "bic", "k2", "bdeu"])
def test_score_is_that_of_the_dag(seed, score):
    data = dependent_frame(seed)
    learner = learn(data, scoring_method=score)
    assert isinstance(learner.score_, float)
    assert learner.score_ == pytest.approx(dag_score(*codes_of(data), learner.edges_, score), rel=1e-12)


def test_random_state_decides_between_equal_gains_only():
    data = dependent_frame(0)[["a", "b"]]
    runs = [learn(data, random_state=random_state) for random_state in range(10)]
    assert {tuple(run.edges_[0]) for run in runs} == {(0, 1), (1, 0)}
    assert [run.score_ for run in runs] == pytest.approx([runs[0].score_] * 10, rel=1e-12)
    assert {frozenset(edge_set(run.graph_)) for run in runs} == {frozenset({("a", "b"), ("b", "a")})}


def test_kinds_of_random_state():
    for make in (lambda: 3, lambda: np.random.default_rng(3), lambda: np.random.RandomState(3)):
        assert learn(random_state=make()).edges_.tolist() == learn(random_state=make()).edges_.tolist()
    assert learn(random_state=None).converged_


def test_a_second_fit_forgets_the_first():
    learner = learn()
    first = learner.model_, learner.graph_
    learner.fit(dependent_frame(1, 200, 3))
    assert learner.variables_ == list("abc")
    assert list(learner.graph_.nodes()) == list(learner.model_.nodes()) == list("abc")
    assert learner.graph_ is not first[1]


def test_arrays_of_another_width_may_be_fitted_next():
    rng = np.random.default_rng(0)
    learner = HillClimbSearch()
    for width in (3, 4, 2):
        assert learner.fit(rng.normal(size=(50, width))).n_features_in_ == width
    assert learner.fit(dependent_frame(0)).fit(rng.normal(size=(50, 2))).variables_ == ["x0", "x1"]


# ---- the model ----


def test_model_is_a_fitted_network(seed):
    data = dependent_frame(seed)
    learner = learn(data)
    model = learner.model_
    assert isinstance(model, DiscreteBayesianNetwork)
    assert model.check_model()
    assert model is learner.model_
    assert edge_set(model) == edge_set(learner.dag_)
    theirs = DiscreteBayesianNetwork(learner.dag_).fit(data, estimator=DiscreteMLE(state_names=model.states))
    assert all(model.get_cpds(name) == theirs.get_cpds(name) for name in NAMES)


@pytest.mark.parametrize(
    ("dtype", "kind"), [("int8", int), ("Int64", int), ("str", str), ("bool", bool), ("category", int), ("object", int)]
)
def test_states_are_python_scalars(dtype, kind):
    model = learn(dependent_frame(0)[["a", "c", "d"]].astype(dtype)).model_
    assert all(type(state) is kind for states in model.states.values() for state in states)
    for cpd in model.get_cpds():
        assert all(type(state) is kind for states in cpd.state_names.values() for state in states)


def renamed(data, names):
    return data.set_axis(pd.Index(list(names), tupleize_cols=False), axis=1)


@pytest.mark.parametrize("names", [range(5), "abcde", [0, "b", 2, 3, "e"]], ids=str)
def test_inference(names):
    learner = learn(renamed(dependent_frame(0), names))
    assert learner.variables_ == list(learner.feature_names_in_) == list(names)
    answer = engine_of(learner).query([names[4]], evidence={names[0]: 1, names[3]: 0}, show_progress=False)
    assert answer.values.sum() == pytest.approx(1.0)
    best = engine_of(learner).map_query([names[1]], evidence={names[0]: 1}, show_progress=False)
    assert set(best) == {names[1]}


def test_columns_named_by_tuples():
    """Learned as any other; pgmpy's own inference cannot take such names."""
    names = [("x", i) for i in range(5)]
    data = dependent_frame(0)
    for frame in (renamed(data, names), data.set_axis(pd.MultiIndex.from_tuples(names), axis=1)):
        learner = learn(frame)
        assert learner.variables_ == list(learner.feature_names_in_) == names
        assert learner.edges_.tolist() == learn().edges_.tolist()
        assert learner.model_.check_model()


def test_a_root_has_its_observed_frequencies(seed):
    data = dependent_frame(seed)
    learner = learn(data)
    root = next(name for name in NAMES if not learner.dag_.in_degree(name))
    answer = engine_of(learner).query([root], show_progress=False)
    assert answer.values == pytest.approx(np.bincount(data[root]) / len(data), rel=1e-12)


# ---- the course of a run ----


@pytest.mark.parametrize("score", ["bic", "k2", "bdeu"])
def test_history_rises_without_patience(seed, score):
    data = dependent_frame(seed)
    learner = learn(data, scoring_method=score)
    history = learner.history_
    assert set(history) == {"score", "n_edges", "seconds"}
    assert all(len(values) == learner.n_iter_ > 3 for values in history.values())
    steps = np.diff([dag_score(*codes_of(data), [], score), *history["score"]])
    assert (steps >= 1e-4 - 1e-9).all()
    assert (np.diff(history["seconds"]) >= 0).all()
    assert history["score"][-1] == pytest.approx(learner.score_, rel=1e-12)
    assert history["n_edges"][-1] == len(learner.edges_)
    assert learner.converged_


@pytest.mark.parametrize("score", ["bic", "k2", "bdeu"])
def test_patience_returns_the_best_graph_seen(seed, score):
    data = dependent_frame(seed)
    patient, hasty = learn(data, scoring_method=score, patience=30), learn(data, scoring_method=score)
    assert (np.diff(patient.history_["score"]) < 0).any()
    assert patient.score_ == patient.history_["score"].max()
    assert patient.score_ >= hasty.score_
    assert patient.score_ == pytest.approx(dag_score(*codes_of(data), patient.edges_, score), rel=1e-12)
    assert patient.n_iter_ >= hasty.n_iter_ + 30
    assert patient.converged_


def test_patience_finds_what_greed_misses():
    gained = [learn(dependent_frame(s), patience=60).score_ - learn(dependent_frame(s)).score_ for s in range(8)]
    assert min(gained) >= 0
    assert max(gained) > 1e-3


def test_max_iter_cuts_the_run():
    full, cut = learn(), learn(max_iter=3)
    assert cut.n_iter_ == 3
    assert (cut.converged_, cut.stopped_by_) == (False, "max_iter")
    assert (full.converged_, full.stopped_by_) == (True, "converged")
    assert cut.history_["score"].tolist() == full.history_["score"][:3].tolist()


class Clock:
    """A clock that a test advances: each reading takes a second."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1.0
        return self.now


@pytest.mark.filterwarnings("ignore:max_time=")
@pytest.mark.parametrize("max_time", [0, 4.0])
def test_max_time_returns_the_best_so_far(monkeypatch, max_time):
    full = learn()
    clock = Clock()
    monkeypatch.setattr("pgmx.runs.run.perf_counter", clock)
    data = dependent_frame(0)
    cut = learn(data, max_time=max_time)
    assert cut.n_iter_ < full.n_iter_
    assert (cut.converged_, cut.stopped_by_) == (False, "max_time")
    assert cut.history_["score"].tolist() == full.history_["score"][: cut.n_iter_].tolist()
    assert cut.score_ == pytest.approx(dag_score(*codes_of(data), cut.edges_, "bic"), rel=1e-12)


def test_callback_sees_every_move():
    seen = []
    learner = learn(callback=seen.append)
    assert all(isinstance(progress, tuple) for progress in seen)
    assert [progress._fields for progress in seen] == [("n_iter", "score", "n_edges", "seconds")] * learner.n_iter_
    assert [progress.n_iter for progress in seen] == list(range(1, learner.n_iter_ + 1))
    assert [progress.score for progress in seen] == learner.history_["score"].tolist()
    assert [progress.n_edges for progress in seen] == learner.history_["n_edges"].tolist()


def test_callback_stops_the_run():
    learner = learn(callback=lambda progress: progress.n_iter == 2)
    assert learner.n_iter_ == 2
    assert (learner.converged_, learner.stopped_by_) == (False, "callback")
    assert len(learner.edges_) == 2


def test_callback_error_reaches_the_caller():
    def fail(progress):
        raise RuntimeError(f"move {progress.n_iter}")

    with pytest.raises(RuntimeError, match="move 1"):
        learn(callback=fail)


@pytest.mark.parametrize("tabu_length", [0, 3, 100])
@pytest.mark.parametrize("score", ["bic", "k2"])
def test_epsilon_zero_ends(score, tabu_length):
    """Reversing an arc of an equivalence class gains exactly nothing, again and again."""
    learner = learn(scoring_method=score, epsilon=0.0, tabu_length=tabu_length, max_iter=2000)
    assert learner.converged_
    assert learner.score_ >= learn(scoring_method=score, tabu_length=tabu_length).score_ - 1e-9


def test_epsilon_is_the_least_gain():
    coarse = learn(epsilon=30.0)
    assert (np.diff(coarse.history_["score"]) >= 30.0).all()
    assert len(learn(epsilon=1e9).edges_) == 0
    assert learn(epsilon=1e9).converged_
