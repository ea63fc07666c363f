"""Columns over candidates, against the whole matrix, linear programming and the conditions of the optimum."""

import numpy as np
import pytest

from pgmx.estimators import CLIME, NeighborhoodLasso
from pgmx.solvers.gaussian import screening
from pgmx.solvers.gaussian.clime import clime_columns
from pgmx.solvers.gaussian.neighborhood import neighborhood_columns
from pgmx.solvers.gaussian.screening import (
    compute_screened_objective,
    screen_clime_columns,
    screen_neighborhood_columns,
)
from pgmx.statistics import GaussianSample, gaussian_sample
from pgmx.statistics.gaussian import sample
from tests.oracles import clime


@pytest.fixture
def rows():
    rng = np.random.default_rng(8)
    rows = rng.normal(size=(40, 90))
    for j in range(1, 90):
        if j % 15:
            rows[:, j] = 0.8 * rows[:, j - 1] + 0.6 * rows[:, j]
    return rows


@pytest.fixture
def few_candidates(monkeypatch):
    for name, size in (("BLOCK", 7), ("FIRST", 2), ("MORE", 1)):
        monkeypatch.setattr(screening, name, size)


@pytest.mark.parametrize("lams", [[0.6], [0.2], [0.7, 0.5, 0.3, 0.15]])
def test_the_screened_columns_are_those_of_the_matrix(rows, few_candidates, lams):
    table = gaussian_sample(rows)
    A, R = table.factor, table.correlation
    estimates = screen_neighborhood_columns(A, np.arange(90), np.array(lams), tol=1e-13)
    expected = neighborhood_columns(R, np.arange(90), lams, tol=1e-13)
    assert estimates.converged.all()
    for t, lam in enumerate(lams):
        b = estimates.coefficients[t].toarray()
        assert np.abs(b - expected.coefficients[t].toarray()).max() < 1e-5
        assert not b.diagonal().any()
        gradient = R - R @ b
        np.fill_diagonal(gradient, 0.0)
        assert np.abs(gradient).max() <= lam + 1e-6
        assert np.abs(gradient[b != 0] - lam * np.sign(b[b != 0])).max(initial=0.0) < 1e-6
        residuals = A - A @ b
        objective = 0.5 * np.square(residuals).sum() + lam * np.abs(b).sum()
        assert compute_screened_objective(A, estimates.coefficients[t], lam) == pytest.approx(objective, rel=1e-12)
        scale = np.minimum(1.0, lam / np.maximum(np.abs(gradient).max(axis=0), lam))
        duals = scale * (A * residuals).sum(axis=0) - 0.5 * scale**2 * np.square(residuals).sum(axis=0)
        gaps = 0.5 * np.square(residuals).sum(axis=0) + lam * np.abs(b).sum(axis=0) - duals
        assert np.abs(gaps - estimates.gaps[t]).max() < 1e-14


def test_columns_after_the_deadline_are_zero(rows, few_candidates):
    A = gaussian_sample(rows).factor
    estimates = screen_neighborhood_columns(A, np.arange(90), np.array([0.3]), deadline=0.0)
    assert not estimates.converged[0, 7:].any()
    assert (estimates.gaps[0, :7] < 0.5).all()
    assert estimates.coefficients[0][:, 7:].nnz == 0
    assert (estimates.gaps[0, 7:] == 0.5).all()


def test_too_few_steps_leave_a_gap(rows):
    A = gaussian_sample(rows).factor
    estimates = screen_neighborhood_columns(A, np.arange(90), np.array([0.05]), tol=1e-12, max_iter=1)
    assert not estimates.converged.all()
    assert (estimates.gaps >= -1e-14).all()
    assert estimates.gaps.max() > 1e-12


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_learner_of_wide_tables_forms_no_matrix(rows, monkeypatch, n_jobs):
    expected = NeighborhoodLasso(lam_ratio=0.3, tol=1e-10, show_progress=False).fit(rows)
    monkeypatch.setattr(sample, "MOST_FORMED", 0)
    monkeypatch.setattr(GaussianSample, "correlation", property(lambda self: pytest.fail("R was formed")))
    learner = NeighborhoodLasso(lam_ratio=0.3, tol=1e-10, show_progress=False, n_jobs=n_jobs).fit(rows)
    assert learner.lam_max_ == pytest.approx(expected.lam_max_, abs=1e-15)
    assert np.array_equal(learner.edges_, expected.edges_)
    assert learner.objective_ == pytest.approx(expected.objective_, abs=1e-7)
    assert learner.converged_
    assert np.abs(learner.coefficients_ - expected.coefficients_).max() < 1e-4
    assert learner.graph_.number_of_edges() == len(learner.edges_)
    assert np.abs(learner.precision_ - expected.precision_).max() < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("ridge", [0.15, pytest.param(0.01, marks=pytest.mark.slow), 0.0])
def test_the_screened_clime_columns_are_those_of_the_matrix(rows, few_candidates, ridge):
    table = gaussian_sample(rows)
    A, S = table.factor, clime.shifted(table.correlation, ridge)
    lams = np.array([1.2, 0.6, 0.4, 0.2])  # without a ridge, some columns have no feasible point at the last
    estimates = screen_clime_columns(A, np.arange(90), lams, ridge=ridge)
    expected = clime_columns(table.correlation, np.arange(90), lams, ridge=ridge, solver="homotopy")
    assert np.array_equal(estimates.converged, expected.converged)
    assert estimates.converged[:3].all()
    assert estimates.converged[3].all() == (ridge > 0)
    assert np.abs(estimates.violations - expected.violations).max() < 1e-9
    for t, lam in enumerate(lams):
        q = estimates.coefficients[t].toarray()
        assert np.abs(q - expected.coefficients[t].toarray()).max() < 1e-7
        excess = np.abs(S @ q - np.eye(90)).max(axis=0) - lam
        assert np.abs(excess - estimates.violations[t]).max() < 1e-12
    for j in range(0, 90, 22):
        for t in (1, 2):
            value = clime.solve_column(S, j, lams[t])[2]
            assert np.abs(estimates.coefficients[t][:, [j]]).sum() == pytest.approx(value, abs=1e-7)
            assert estimates.gaps[t, j] == pytest.approx(0.0, abs=1e-7)


def test_clime_columns_after_the_deadline_are_zero(rows, few_candidates):
    A = gaussian_sample(rows).factor
    estimates = screen_clime_columns(A, np.arange(90), np.array([0.3]), ridge=0.15, deadline=0.0)
    assert not estimates.converged[0, 7:].any()
    assert estimates.coefficients[0][:, 7:].nnz == 0
    assert (estimates.violations[0, 7:] == 0.7).all()
    q = estimates.coefficients[0].toarray()
    S = clime.shifted(A.T @ A, 0.15)
    assert np.abs(np.abs(S @ q - np.eye(90)).max(axis=0) - 0.3 - estimates.violations[0]).max() < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("solver", ["auto", "homotopy", "admm"])
def test_clime_of_wide_tables_forms_no_matrix(rows, monkeypatch, solver, n_jobs):
    options = {"lam_ratio": 0.3, "tol": 1e-8, "max_iter": 20_000, "show_progress": False}
    expected = CLIME(**options).fit(rows)
    monkeypatch.setattr(sample, "MOST_FORMED", 0)
    monkeypatch.setattr(GaussianSample, "correlation", property(lambda self: pytest.fail("R was formed")))
    learner = CLIME(solver=solver, n_jobs=n_jobs, **options).fit(rows)
    assert learner.lam_max_ == pytest.approx(expected.lam_max_, abs=1e-15)
    assert np.array_equal(learner.edges_, expected.edges_)
    assert learner.objective_ == pytest.approx(expected.objective_, abs=1e-5)
    assert learner.converged_
    assert learner.violation_ < 1e-7
