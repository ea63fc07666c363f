"""Runs of the learners of Markov networks: history, callback, limits, checkpoints, warm starts."""

import os

import networkx as nx
import numpy as np
import pytest

from helpers.markov_tables import ALL, EDGE_WISE, parameters, planted_network, planted_rows
from pgmx.data import encode
from pgmx.estimators import (
    BestChoiceEdgeGrafting,
    EdgeGrafting,
    FirstHitEdgeGrafting,
    GraftingLight,
    GroupLassoMarkovNetwork,
    OnlineEdgeGrafting,
)

pytestmark = pytest.mark.slow

ROWS = planted_rows(1000, 12)
HELD_OUT = planted_rows(400, 12, seed=1)[200:]
every_learner = pytest.mark.parametrize("make", ALL.values(), ids=ALL)
every_edge_wise = pytest.mark.parametrize("make", EDGE_WISE.values(), ids=EDGE_WISE)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.ckpt"


# ---- history ----


@every_learner
def test_history(make):
    learner = make(lam=0.008, true_graph=planted_network(12), held_out=HELD_OUT).fit(ROWS)
    history = learner.history_
    names = {"n_edges", "n_tables", "n_tests", "objective", "cpu_seconds", "seconds", "recall", "held_out"}
    assert set(history) == names
    assert {len(values) for values in history.values()} == {learner.n_iter_ + 2}
    for name in ("n_edges", "n_tables", "n_tests", "seconds", "cpu_seconds", "recall"):
        assert (np.diff(history[name]) >= 0).all(), name
    assert (np.diff(history["objective"]) <= 1e-6).all()
    assert history["objective"][-1] == learner.objective_
    assert (history["n_edges"][0], history["n_edges"][-1]) == (0, learner.n_activated_)
    assert (history["n_tests"][-1], history["n_tables"][-1]) == (learner.n_tests_, learner.n_tables_)
    assert history["recall"][0] == 0
    assert history["recall"][-1] >= 0.8
    assert np.isfinite(history["held_out"][[0, -1]]).all()
    assert history["held_out"][-1] < history["held_out"][0]
    assert history["held_out"][-1] == pytest.approx(-learner.model_.pseudo_log_likelihood(HELD_OUT).mean(), abs=1e-6)


def test_what_is_measured_changes_nothing():
    plain = BestChoiceEdgeGrafting(lam=0.01).fit(ROWS)
    measured = BestChoiceEdgeGrafting(lam=0.01, true_graph=planted_network(12), held_out=encode(HELD_OUT)).fit(ROWS)
    assert measured.history_["objective"].tolist() == plain.history_["objective"].tolist()
    assert "recall" not in plain.history_
    assert "held_out" not in plain.history_


def test_true_graphs_of_all_kinds():
    network = planted_network(12)
    edges = list(network.edges())
    graphs = [network, nx.Graph(edges), nx.DiGraph(edges), edges, [edge[::-1] for edge in edges], set(edges)]
    recalls = [EdgeGrafting(lam=0.02, true_graph=graph).fit(ROWS).history_["recall"][-1] for graph in graphs]
    assert len(set(recalls)) == 1
    empty = EdgeGrafting(lam=0.02, true_graph=nx.empty_graph(0)).fit(ROWS)
    assert np.isnan(empty.history_["recall"]).all()


def test_first_hits_score_fewer_pairs_than_all():
    """With a limit of edges a stream leaves most pairs unscored."""
    data = planted_rows(500, 60)
    limit = {"lam": 0.005, "max_edges": 10}
    n_pairs = 60 * 59 // 2
    assert EdgeGrafting(**limit).fit(data).n_tables_ == n_pairs
    assert FirstHitEdgeGrafting(**limit).fit(data).n_tables_ < n_pairs / 2
    assert BestChoiceEdgeGrafting(reservoir_size=10, **limit).fit(data).n_tables_ < n_pairs / 2
    assert OnlineEdgeGrafting(reservoir_size=10, **limit).fit(data).n_tables_ < n_pairs / 2


# ---- callback and limits ----


@every_learner
@pytest.mark.parametrize("last", [0, 2])
def test_a_callback_ends_the_run(make, last):
    told = []
    learner = make(lam=0.002, callback=lambda progress: told.append(progress) or progress.n_iter == last).fit(ROWS)
    assert [progress.n_iter for progress in told] == list(range(len(told)))
    assert told[-1].n_edges == learner.n_activated_
    assert told[-1].objective == pytest.approx(learner.objective_)
    if learner.stopped_by_ == "callback":  # the working set may be done before
        assert learner.n_iter_ == last == told[-1].n_iter
        assert not learner.converged_
    else:
        assert learner.n_iter_ < last
    assert learner.model_.marginals()["x0"]


def test_a_callback_that_only_looks():
    told = []
    learner = EdgeGrafting(lam=0.01, callback=told.append).fit(ROWS)
    assert learner.converged_
    assert [progress.objective for progress in told] == learner.history_["objective"][:-1].tolist()
    assert all(progress.seconds >= 0 and progress.n_tests >= 0 for progress in told)


@every_learner
@pytest.mark.parametrize("loss", ["pseudolikelihood", "bethe"])
def test_max_edges(make, loss):
    for most in (0, 1, 5):
        learner = make(lam=0.002, l2=0.05, loss=loss, max_edges=most).fit(ROWS)
        assert learner.n_activated_ == most
        assert len(learner.edges_) <= most
        assert learner.stopped_by_ == "max_edges"
        assert learner.kkt_residual_ <= 2e-4  # the edges there are have come to their optimum


@pytest.mark.filterwarnings("ignore:max_time=")
@every_learner
def test_max_time(make):
    now = make(lam=0.002, max_time=0).fit(ROWS)
    assert (now.stopped_by_, now.converged_, len(now.edges_)) == ("max_time", False, 0)
    assert now.model_.marginals()["x0"]
    later = make(lam=0.01, max_time=1e6).fit(ROWS)
    assert later.converged_


# ---- checkpoints ----


def interrupted(make, path, n_rounds, **options):
    """Run with a checkpoint, a number of rounds at a time, until it converges; return the learner."""
    for _ in range(60):
        told = []
        watch = {"callback": lambda progress, told=told: told.append(progress) or len(told) == n_rounds}
        learner = make(checkpoint=path, checkpoint_every=0, show_progress=False, **watch, **options).fit(ROWS)
        if learner.converged_:
            return learner
        assert os.path.exists(path)
    raise AssertionError("it never ends")


@pytest.mark.parametrize(
    ("make", "loss"),
    [(make, "pseudolikelihood") for make in ALL.values()]
    + [pytest.param(make, "bethe", marks=pytest.mark.slow) for make in EDGE_WISE.values()],
    ids=[*ALL, *(f"{name}, bethe" for name in EDGE_WISE)],
)
@pytest.mark.slow
def test_resumed_runs_come_to_the_same_objective(make, loss, path):
    options = {"lam": 0.02, "l2": 0.1, "loss": loss}
    plain = make(**options).fit(ROWS)
    found = interrupted(make, path, max(2, plain.n_iter_ // 5), **options)
    assert found.objective_ == plain.objective_
    assert not path.exists()
    assert found.history_["n_edges"][0] == 0
    for name in ("seconds", "cpu_seconds", "n_edges"):
        assert (np.diff(found.history_[name]) >= 0).all(), name


@pytest.mark.parametrize(
    ("make", "loss", "n_rounds"),
    [
        *((EdgeGrafting, "pseudolikelihood", k) for k in (1, 4)),
        (OnlineEdgeGrafting, "pseudolikelihood", 3),
        (GraftingLight, "pseudolikelihood", 5),
        (EdgeGrafting, "exact", 2),
        *(
            pytest.param(make, loss, k, marks=pytest.mark.slow)
            for make in ALL.values()
            for loss in ("pseudolikelihood", "exact")
            for k in (1, 2, 3, 6)
        ),
    ],
)
def test_a_resumed_run_ends_in_the_same_network_to_the_last_bit(make, loss, n_rounds, path):
    rows = ROWS.iloc[:, :5] if loss == "exact" else ROWS
    options = {"lam": 0.01, "loss": loss}
    plain = make(**options).fit(rows)
    make(checkpoint=path, callback=lambda progress: progress.n_iter == n_rounds, **options).fit(rows)
    learner = make(checkpoint=str(path), **options).fit(rows)
    assert learner.edges_.tolist() == plain.edges_.tolist()
    assert learner.objective_ == plain.objective_
    for one, other in zip(parameters(learner), parameters(plain), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.filterwarnings("ignore:max_time=")
def test_a_run_out_of_time_is_taken_up(path):
    plain = BestChoiceEdgeGrafting(lam=0.01).fit(ROWS)
    for seconds in (0, 0.005, 0.02, None):
        found = BestChoiceEdgeGrafting(lam=0.01, checkpoint=path, max_time=seconds).fit(ROWS)
        assert path.exists() is not found.converged_
        if found.converged_:
            break
    assert found.objective_ == pytest.approx(plain.objective_, abs=1e-5)


def test_checkpoints_of_other_runs(path):
    stop = {"checkpoint": path, "callback": lambda progress: progress.n_iter == 2}
    BestChoiceEdgeGrafting(lam=0.01, **stop).fit(ROWS)
    for other in (
        BestChoiceEdgeGrafting(lam=0.02, checkpoint=path),
        BestChoiceEdgeGrafting(lam=0.01, checkpoint=path, random_state=3),
        BestChoiceEdgeGrafting(lam=0.01, checkpoint=path, forbidden_edges=[("x0", "x1")]),
        OnlineEdgeGrafting(lam=0.01, checkpoint=path),
    ):
        with pytest.raises(ValueError, match="another search"):
            other.fit(ROWS)
    with pytest.raises(ValueError, match="another search"):
        BestChoiceEdgeGrafting(lam=0.01, checkpoint=path).fit(ROWS[:-1])
    assert BestChoiceEdgeGrafting(lam=0.01, checkpoint=path, n_jobs=2).fit(ROWS).converged_


def test_a_checkpoint_knows_its_knowledge_by_value(path):
    """Sets have no order of their own, tables no short repr, generators an address: none of it matters."""
    known = {"required_edges": {("x0", "x9"), ("x3", "x2")}, "edge_weights": np.full((12, 12), 2.0)}
    stop = {"checkpoint": path, "callback": lambda progress: progress.n_iter == 2}
    EdgeGrafting(lam=0.01, random_state=np.random.RandomState(1), **known, **stop).fit(ROWS)
    spelled = {"required_edges": [("x2", "x3"), ("x9", "x0")], "edge_weights": np.full((12, 12), 2.0).tolist()}
    again = EdgeGrafting(lam=0.01, random_state=np.random.RandomState(1), checkpoint=path, **spelled).fit(ROWS)
    assert again.converged_
    assert again.objective_ == pytest.approx(EdgeGrafting(lam=0.01, **known).fit(ROWS).objective_, abs=2e-6)


# ---- warm starts ----


@every_edge_wise
def test_start_at_the_optimum(make):
    plain = make(lam=0.01).fit(ROWS)
    again = make(lam=0.01, start=plain.model_).fit(ROWS)
    assert again.objective_ == pytest.approx(plain.objective_, abs=1e-6)
    assert again.n_activated_ == len(plain.edges_)


@every_learner
def test_start_from_another_network(make):
    """The optimum does not depend on the start: other penalty, other rows, other order of columns and states."""
    other = make(lam=0.02).fit(ROWS[list(ROWS)[::-1]][:300]).model_
    expected = make(lam=0.01, tol=1e-5).fit(ROWS)
    found = make(lam=0.01, tol=1e-5, start=other).fit(ROWS)
    assert found.objective_ == pytest.approx(expected.objective_, abs=5e-6)
    names = {name: [2, 0, 1, 5] for name in ROWS}  # 5 is new to the start
    declared = make(lam=0.01, tol=1e-5, state_names=names).fit(ROWS)
    found = make(lam=0.01, tol=1e-5, state_names=names, start=expected.model_).fit(ROWS)
    assert found.objective_ == pytest.approx(declared.objective_, abs=5e-6)


def test_start_with_states_that_the_data_lack():
    start = GroupLassoMarkovNetwork(lam=0.02, state_names={"x0": [0, 1, 2, 9]}).fit(ROWS).model_
    with pytest.raises(ValueError, match=r"state 9 of 'x0'.*state_names"):
        GraftingLight(lam=0.02, start=start).fit(ROWS)


def test_start_with_edges_that_are_forbidden_now():
    start = EdgeGrafting(lam=0.01).fit(ROWS).model_
    gone = next(iter(start.edges()))
    found = EdgeGrafting(lam=0.01, start=start, forbidden_edges=[gone]).fit(ROWS)
    assert not found.graph_.has_edge(*gone)
    expected = EdgeGrafting(lam=0.01, forbidden_edges=[gone]).fit(ROWS)
    assert found.objective_ == pytest.approx(expected.objective_, abs=5e-6)


def test_start_with_more_edges_than_the_limit():
    start = EdgeGrafting(lam=0.01).fit(ROWS).model_
    n = start.number_of_edges()
    limited = EdgeGrafting(lam=0.01, start=start, max_edges=n - 1)
    message = f"max_edges={n - 1}, but {n} edges are required or in start: give max_edges of at least {n}, or give"
    with pytest.raises(ValueError, match=message):
        limited.fit(ROWS)
    with pytest.raises(ValueError, match=message):
        limited.set_params(required_edges=list(start.edges())[:1]).fit(ROWS)
    assert limited.set_params(max_edges=n).fit(ROWS).n_activated_ == n
    further = EdgeGrafting(lam=0.001, max_edges=3).partial_fit(ROWS)
    with pytest.raises(ValueError, match="max_edges=2, but 3 edges are required or in start"):
        further.set_params(max_edges=2).partial_fit(ROWS)
