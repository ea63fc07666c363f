"""Ctrl-C, or a callback that raises: it is raised, and the learner holds the best graph so far."""

import networkx as nx
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from helpers.gaussian_tables import LEAVES, random_rows
from helpers.interrupts import interrupt_at_call
from helpers.learning_tables import dependent_frame
from helpers.markov_tables import ALL, planted_rows
from pgmx.data import encode
from pgmx.datasets import load_network, sample
from pgmx.estimators import (
    BestFirstSearch,
    BootstrapStructure,
    ChowLiuForest,
    EdgeGrafting,
    GraphicalLasso,
    GreedyEquivalenceSearch,
    GroupLassoMarkovNetwork,
    HillClimbSearch,
    Nonparanormal,
    SelectedGraph,
    SimulatedAnnealing,
)
from pgmx.scores import BDeu
from pgmx.search.dag import reinsertion

SEARCHES = {
    "greedy": lambda **options: HillClimbSearch(**options),
    "tabu": lambda **options: HillClimbSearch(patience=8, tabu_length=3, **options),
    "restarts": lambda **options: HillClimbSearch(n_restarts=3, **options),
    "thorough": lambda **options: HillClimbSearch(strategy="thorough", **options),
    "annealing": lambda **options: SimulatedAnnealing(n_draws=200, **options),
    "best first": lambda **options: BestFirstSearch(patience=10, **options),
    "classes": lambda **options: GreedyEquivalenceSearch(**options),
}
DATA = dependent_frame(0)
ROWS = planted_rows(400)
NUMBERS = random_rows(130, 60, seed=3)
ALARM = sample(load_network("alarm"), 2000, random_state=0)


class Failure(Exception):
    """What the callback of a test raises."""


@pytest.fixture(autouse=True)
def as_many_calls_each_time(monkeypatch):
    """Let no clock decide how many blocks the thorough strategy tries at once, so that calls can be counted."""
    monkeypatch.setattr(reinsertion, "_CALL_SECONDS", 0.0)
    monkeypatch.setattr(reinsertion, "THREAD_PAYS", np.inf)


def over(makes, *quick):
    """Parametrize a test by learners, of which only the named ones belong to the default run."""
    return pytest.mark.parametrize(
        "make", [pytest.param(make, id=k, marks=() if k in quick else pytest.mark.slow) for k, make in makes.items()]
    )


def fail_at(n_iter, error=Failure):
    def callback(progress):
        if progress.n_iter >= n_iter:
            raise error

    return callback


def check_dag(learner):
    assert (learner.stopped_by_, learner.converged_) == ("interrupt", False)
    assert nx.is_directed_acyclic_graph(learner.dag_)
    assert learner.variables_ == list(DATA)
    score = BDeu(encode(DATA))
    assert learner.score_ == pytest.approx(score.score(learner.dag_), abs=1e-6)


def interrupt_everywhere(make, data, check, n_moments, **where):
    """Fit again and again, Ctrl-C coming ever later; return how many results were held."""
    make().fit(data)  # what is imported late is imported now
    with interrupt_at_call(**where) as calls:
        make().fit(data)
    n_held = 0
    for at in np.linspace(1, calls.n, n_moments).astype(int).tolist():
        learner = make()
        with pytest.raises(KeyboardInterrupt), interrupt_at_call(at, **where):
            learner.fit(data)
        if hasattr(learner, "stopped_by_"):
            n_held += 1
            check(learner)
    return n_held


@over(SEARCHES, "greedy", "thorough")
def test_searches_hold_their_best_graph(make):
    n_held = interrupt_everywhere(lambda: make(scoring_method="bdeu"), DATA, check_dag, 12)
    assert n_held >= 6  # the others came before the first graph


@over(SEARCHES, "thorough")
def test_searches_go_on_from_their_checkpoint(make, tmp_path):
    path = tmp_path / "search.ckpt"
    whole = make().fit(DATA)
    with interrupt_at_call() as calls:
        make().fit(DATA)
    every, n_saved = 0 if make is SEARCHES["best first"] else 1e9, 0  # its list of graphs is too long to keep twice
    for at in np.linspace(1, calls.n, 10).astype(int).tolist():
        with pytest.raises(KeyboardInterrupt), interrupt_at_call(at):
            make(checkpoint=path, checkpoint_every=every).fit(DATA)
        n_saved += path.exists()
        resumed = make(checkpoint=path).fit(DATA)
        assert resumed.edges_.tolist() == whole.edges_.tolist()
        assert (resumed.score_, resumed.n_iter_) == (whole.score_, whole.n_iter_)
        path.unlink(missing_ok=True)
    assert n_saved >= 4


@pytest.mark.parametrize("error", [Failure, KeyboardInterrupt])
def test_a_callback_that_raises(error, tmp_path):
    path = tmp_path / "search.ckpt"
    learner = HillClimbSearch(callback=fail_at(2, error), checkpoint=path, checkpoint_every=1e9)
    with pytest.raises(error):
        learner.fit(DATA)
    assert (learner.stopped_by_, learner.n_iter_, len(learner.edges_)) == ("interrupt", 2, 2)
    assert learner.history_["n_edges"].tolist() == [1, 2]
    resumed = HillClimbSearch(checkpoint=path).fit(DATA)
    assert resumed.score_ == HillClimbSearch().fit(DATA).score_


def test_before_there_is_a_graph_nothing_is_held(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pgmx.estimators.bayesian.search_learner.DagProblem.make_state", interrupt)
    learner = HillClimbSearch()
    with pytest.raises(KeyboardInterrupt):
        learner.fit(DATA)
    assert not hasattr(learner, "edges_")
    assert not hasattr(learner, "variables_")


@pytest.mark.parametrize("options", [{}, {"forbidden_edges": [("HR", "CO")]}, {"class_node": "HR"}])
def test_forests_hold_the_edges_so_far(options):
    def check(learner):
        assert (learner.stopped_by_, learner.converged_) == ("interrupt", False)
        assert nx.is_directed_acyclic_graph(learner.dag_)

    where = {"packages": "pgmx.search.forest_weights"}
    assert interrupt_everywhere(lambda: ChowLiuForest(**options), ALARM.iloc[:400], check, 48, **where) >= 1


# ---- undirected networks ----


def check_markov(learner):
    assert (learner.stopped_by_, learner.converged_) == ("interrupt", False)
    assert np.isfinite(learner.objective_)
    codes = np.array([[learner.model_.states[name].index(v) for v in ROWS[name]] for name in learner.model_.names])
    parameters = learner._potentials
    if learner.loss == "pseudolikelihood" and getattr(learner, "path_", None) is None:
        smooth = 0.0005 * float((parameters.node_values**2).sum() + (parameters.edge_values**2).sum())
        assert learner.objective_ >= -0.5 * float(parameters.pseudo_log_likelihood(codes).mean()) + smooth - 1e-5


@over(ALL, "edge")
def test_markov_learners_hold_their_network(make):
    assert interrupt_everywhere(lambda: make(lam=0.02), ROWS, check_markov, 8) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["bethe", "exact"])
def test_other_losses_hold_their_network(loss):
    rows = ROWS.iloc[:, :5] if loss == "exact" else ROWS

    def check(learner):
        assert learner.stopped_by_ == "interrupt"
        assert np.isfinite(learner.objective_)

    assert interrupt_everywhere(lambda: EdgeGrafting(lam=0.02, loss=loss), rows, check, 8) >= 4


@pytest.mark.slow
def test_markov_paths_hold_what_was_solved():
    make = lambda: GroupLassoMarkovNetwork(selection="ebic", n_lams=5)  # noqa: E731

    def check(learner):
        check_markov(learner)
        assert 1 <= len(learner.path_) <= 5
        assert learner.lam_ == learner.path_.lams[learner.path_.selected]

    assert interrupt_everywhere(make, ROWS, check, 8) >= 4


def test_a_markov_callback_that_raises(tmp_path):
    path = tmp_path / "edges.ckpt"
    learner = EdgeGrafting(lam=0.02, callback=fail_at(3), checkpoint=path)
    with pytest.raises(Failure):
        learner.fit(ROWS)
    assert (learner.stopped_by_, learner.n_iter_) == ("interrupt", 3)
    assert path.exists()
    again = EdgeGrafting(lam=0.02)
    with pytest.raises(Failure):
        again.set_params(callback=fail_at(3)).partial_fit(ROWS)
    assert again.variables_ == list(ROWS)


# ---- Gaussian networks ----


@over(LEAVES, "glasso")
def test_gaussian_learners_hold_their_estimate(make):
    def check(learner):
        assert (learner.stopped_by_, learner.converged_) == ("interrupt", False)
        assert np.isfinite(learner.model_.log_likelihood(NUMBERS)).all()

    assert interrupt_everywhere(lambda: make(lam_ratio=0.5), NUMBERS, check, 8) >= 2


@pytest.mark.slow
def test_selected_graphs_and_wrappers_hold_their_estimate():
    def check(learner):
        assert (learner.stopped_by_, learner.converged_) == ("interrupt", False)
        assert learner.lam_ > 0

    assert interrupt_everywhere(lambda: SelectedGraph(GraphicalLasso(), n_lams=5), NUMBERS, check, 8) >= 3
    assert interrupt_everywhere(lambda: Nonparanormal(GraphicalLasso()), NUMBERS, check, 6) >= 2


def test_gaussian_callbacks_that_raise():
    for learner in (GraphicalLasso(callback=fail_at(1)), SelectedGraph(GraphicalLasso(), callback=fail_at(1))):
        with pytest.raises(Failure):
            learner.fit(NUMBERS)
        assert learner.stopped_by_ == "interrupt"
    with pytest.raises(Failure):
        GraphicalLasso(callback=fail_at(1)).path(NUMBERS)


# ---- resamples ----


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_bootstrap_keeps_its_finished_resamples(n_jobs):
    boot = BootstrapStructure(HillClimbSearch(), n_resamples=40, n_jobs=n_jobs, callback=fail_at(3))
    with pytest.raises(Failure):
        boot.fit(DATA)
    assert (boot.n_resamples_, boot.converged_, boot.stopped_by_) == (3, False, "interrupt")
    assert boot.strengths_["strength"].max() <= 1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_callback_of_the_learner_keeps_the_finished_resamples(n_jobs, tmp_path):
    calls, path = [], tmp_path / "boot.ckpt"

    def fail_at_call(progress):
        calls.append(progress)
        if len(calls) == n_calls:
            raise Failure

    n_calls = 0
    BootstrapStructure(HillClimbSearch(callback=fail_at_call), n_resamples=1).fit(DATA)
    n_calls = 5 * len(calls)
    learner = HillClimbSearch(callback=fail_at_call)
    boot = BootstrapStructure(learner, n_resamples=12, n_jobs=n_jobs, checkpoint=path)
    with pytest.raises(Failure):
        boot.fit(DATA)
    assert 1 <= boot.n_resamples_ < 12
    assert (boot.converged_, boot.stopped_by_) == (False, "interrupt")
    resumed = BootstrapStructure(learner, n_resamples=12, checkpoint=path).fit(DATA)
    whole = BootstrapStructure(HillClimbSearch(), n_resamples=12).fit(DATA)
    assert resumed.pair_counts_.tolist() == whole.pair_counts_.tolist()


# ---- no time ----


@pytest.mark.parametrize(
    "learner",
    [
        HillClimbSearch(max_time=0),
        BestFirstSearch(max_time=0),
        GreedyEquivalenceSearch(max_time=0),
        SimulatedAnnealing(max_time=0, start_dag=None),
    ],
    ids=["greedy", "best first", "classes", "annealing"],
)
def test_without_time_the_pairs_that_were_scored_make_a_forest(learner):
    with pytest.warns(ConvergenceWarning, match="max_time=0 ended .* before its first complete pass"):
        learner.fit(DATA)
    assert learner.stopped_by_ == "max_time"
    forest = ChowLiuForest(weight="bdeu").fit(DATA)
    assert len(learner.edges_) >= 1
    assert learner.score_ <= forest.score_ + 1e-6
    assert nx.is_forest(learner.dag_.to_undirected())


def test_networks_without_edges_say_so():
    with pytest.warns(ConvergenceWarning, match="max_time=0 ended EdgeGrafting before"):
        EdgeGrafting(max_time=0).fit(ROWS)
    with pytest.warns(ConvergenceWarning, match="max_time=0 ended ChowLiuForest before"):
        ChowLiuForest(max_time=0).fit(DATA)
