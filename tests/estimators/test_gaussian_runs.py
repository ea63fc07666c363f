"""Runs of the Gaussian learners: limits, callback, history, workers."""

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.exceptions import ConvergenceWarning

from helpers.gaussian_tables import check_result, every_leaf, fit_hard, random_rows
from pgmx.datasets import gaussian_chain_network
from pgmx.estimators import CLIME, GraphicalLasso, NeighborhoodLasso, Nonparanormal, SelectedGraph
from pgmx.estimators.gaussian import estimate
from pgmx.models import gaussian_network as network
from pgmx.parallel.tasks import MOST_SENT_BYTES

ROWS = random_rows(40, 100, seed=1)


# ---- a run that is ended early has a result, and says so ----


def early(learner, X):
    with pytest.warns(ConvergenceWarning, match=rf"{leaf_name(learner)} ended before its tolerance: duality gap"):
        learner.fit(X)
    assert not learner.converged_
    check_result(learner, warned=True)
    return learner


def leaf_name(learner):
    return type(learner).__name__ if not hasattr(learner, "estimator") else leaf_name(learner.estimator)


@pytest.mark.parametrize(
    "learner",
    [
        GraphicalLasso(lam_ratio=0.05, max_iter=1),
        CLIME(lam_ratio=0.05, solver="admm", max_iter=1),
        NeighborhoodLasso(lam_ratio=0.01, max_iter=1),
        Nonparanormal(GraphicalLasso(lam_ratio=0.05, max_iter=1)),
    ],
    ids=leaf_name,
)
def test_one_iteration(learner):
    early(learner, ROWS)
    assert learner.stopped_by_ == "max_iter"
    # where a column of CLIME is not feasible yet, its objective lies below the optimum
    assert learner.dual_gap_ > 0 or learner.violation_ > learner.tol


def test_one_sweep_of_the_graphical_lasso_is_feasible():
    learner = early(GraphicalLasso(lam_ratio=0.05, max_iter=1), ROWS)
    best = GraphicalLasso(lam_ratio=0.05, tol=1e-10).fit(ROWS)
    assert learner.objective_ > best.objective_
    assert learner.objective_ - learner.dual_gap_ <= best.objective_


@pytest.mark.parametrize("make", [GraphicalLasso, CLIME])
def test_no_time(make):
    assert early(make(lam_ratio=0.05, max_time=0), ROWS).stopped_by_ == "max_time"
    assert make(lam_ratio=0.05, max_time=1000).fit(ROWS).stopped_by_ == "converged"


def test_a_penalty_below_what_the_constraint_allows():
    wide = random_rows(20, 8, seed=1)
    learner = early(CLIME(lam=0.0, ridge=0, solver="homotopy"), wide)
    assert learner.stopped_by_ == "stalled"
    assert learner.violation_ > 0


@every_leaf
def test_figures_of_a_run_without_time_are_finite(make):
    """The clock is looked at between blocks of columns: some are solved, others not."""
    fit_hard(make(lam_ratio=0.3, max_time=0), random_rows(300, 100, seed=1))


@pytest.mark.slow
@every_leaf
def test_callback_that_stops(make):
    wide = random_rows(140, 60, seed=3)
    calls = []
    learner = make(lam_ratio=0.05, tol=1e-10, callback=lambda progress: calls.append(progress) or True)
    assert early(learner, wide).stopped_by_ == "callback"
    assert len(calls) == 1
    assert calls[0]._fields == ("n_iter", "objective", "n_edges", "seconds")


@pytest.mark.parametrize("selection", ["ebic", "cv", "stars"])
@pytest.mark.filterwarnings("ignore:the smallest of", "ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("make", [GraphicalLasso, CLIME, NeighborhoodLasso])
def test_selection_without_time(make, selection):
    options = {"selection": selection, "n_folds": 2, "n_subsamples": 3}
    n_calls = 2 if make is GraphicalLasso else 1  # the others solve the path in one block of columns
    for reason, learner in (
        ("max_time", SelectedGraph(make(), max_time=0, **options)),
        ("callback", SelectedGraph(make(), callback=lambda progress: progress.n_iter >= n_calls, **options)),
    ):
        learner.fit(ROWS)
        assert learner.stopped_by_ == reason
        check_result(learner, warned=True)
        assert 1 <= len(learner.path_) <= 20
        assert learner.lam_ == learner.path_.lams[learner.path_.selected]


# ---- history and progress ----


@every_leaf
def test_history(make):
    told = []
    learner = make(lam_ratio=0.1, callback=told.append).fit(ROWS)
    assert set(learner.history_) == {"objective", "n_edges", "seconds"}
    assert len(told) >= 1
    for name, values in learner.history_.items():
        np.testing.assert_array_equal(values, [getattr(one, name) for one in told])
    assert [one.n_iter for one in told] == list(range(1, len(told) + 1))
    assert (np.diff(learner.history_["seconds"]) >= 0).all()
    if make is GraphicalLasso:
        values = learner.history_["objective"][~np.isnan(learner.history_["objective"])]
        assert values[-1] == pytest.approx(learner.objective_, rel=1e-9)
    plain = make(lam_ratio=0.1).fit(ROWS)
    np.testing.assert_array_equal(plain.precision_, learner.precision_)
    assert len(plain.history_["seconds"]) == len(told)


def test_nothing_is_printed(capfd):
    for make in (GraphicalLasso, CLIME, NeighborhoodLasso):
        SelectedGraph(make(), n_lams=4, show_progress=False).fit(ROWS)  # a bar appears after a second
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("name", "wrong"), [("max_time", -1), ("callback", "print"), ("show_progress", "no")])
@every_leaf
def test_wrong_options_of_runs(make, name, wrong):
    with pytest.raises(ValueError, match=name):
        make(**{name: wrong}).fit(ROWS)


# ---- workers ----


LEARNERS = {
    "glasso": GraphicalLasso(lam_ratio=0.3),
    "homotopy": CLIME(lam_ratio=0.3, solver="homotopy"),
    "admm": CLIME(lam_ratio=0.5, solver="admm"),
    "neighborhood": NeighborhoodLasso(lam_ratio=0.2, rule="or"),
    "cv": SelectedGraph(CLIME(), selection="cv", n_folds=3, n_lams=4, lam_min_ratio=0.4),
    "stars": SelectedGraph(NeighborhoodLasso(), selection="stars", n_subsamples=4, n_lams=4),
}
every_learner = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
TALL, WIDE = random_rows(40, 100, seed=1), random_rows(60, 30, seed=2)


def result(learner, X, **options):
    fitted = learner.__sklearn_clone__().set_params(**options).fit(X)
    return [fitted.precision_, fitted.edges_, fitted.objective_, fitted.dual_gap_, fitted.lam_]


def same(one, other):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.slow
@every_learner
@pytest.mark.parametrize(
    "rows", [pytest.param(TALL, id="100 x 40"), pytest.param(WIDE, id="30 x 60", marks=pytest.mark.slow)]
)
@pytest.mark.filterwarnings("ignore:the smallest of")
def test_any_number_of_threads(learner, rows):
    expected = result(learner, rows)
    for n_jobs in (1, 2, 3, -1):
        found = result(learner, rows, n_jobs=n_jobs)
        np.testing.assert_array_equal(found[1], expected[1])
        # blocks of columns are of another size, and so may be the order of sums in a product of matrices
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-9, atol=1e-11)
        assert found[2] == pytest.approx(expected[2], rel=1e-11)
    with parallel_config("threading", n_jobs=2):
        same(result(learner, rows), result(learner, rows, n_jobs=2))


@pytest.mark.slow
@every_learner
@pytest.mark.parametrize("backend", ["dask", "loky"])
@pytest.mark.filterwarnings("ignore:the smallest of")
def test_processes_and_a_cluster(client, learner, backend):
    for rows in (TALL, WIDE):
        expected = result(learner, rows, n_jobs=2)
        with parallel_config(backend, n_jobs=2):
            same(result(learner, rows), expected)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["homotopy", "admm"])
def test_columns_on_a_cluster_from_mapped_files(client, solver, tmp_path, monkeypatch):
    """Correlations of more than a megabyte, and the factor of a file of fewer rows than columns."""
    monkeypatch.setenv("JOBLIB_TEMP_FOLDER", str(tmp_path))
    learner = CLIME(lam_ratio=0.95, solver=solver)
    wide = random_rows(400, 30, seed=5)
    assert MOST_SENT_BYTES < 8 * 400**2
    wide.to_parquet(tmp_path / "rows.parquet")
    expected = result(learner, wide, n_jobs=2)
    assert len(expected[1])
    with parallel_config("dask"):
        same(result(learner, wide), expected)
        found = result(learner, tmp_path / "rows.parquet")
    np.testing.assert_array_equal(found[1], expected[1])
    np.testing.assert_allclose(found[0], expected[0], rtol=0, atol=1e-6 * np.abs(expected[0]).max())
    assert not list(tmp_path.glob("pgmx-*"))


def test_the_graph_of_a_proved_solution_needs_no_second_factor(monkeypatch):
    rows = gaussian_chain_network(12, 0.5).simulate(300, random_state=2)
    expected = GraphicalLasso(lam=0.1).fit(rows)
    for place in (estimate, network):
        monkeypatch.setattr(place, "Blocks", lambda matrix: pytest.fail("a matrix was factorised"))
    learner = GraphicalLasso(lam=0.1).fit(rows)
    assert dict(learner.graph_.edges) == dict(expected.graph_.edges)
    assert learner.model_.estimated_by == "penalised"
