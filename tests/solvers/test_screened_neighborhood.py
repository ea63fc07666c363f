"""Neighbourhoods by screened candidates, against the whole matrix and the conditions of the optimum."""

import numpy as np
import pytest

from pgmx.estimators import NeighborhoodLasso
from pgmx.solvers.gaussian import screened_neighborhood
from pgmx.solvers.gaussian.neighborhood import neighborhood_columns
from pgmx.solvers.gaussian.screened_neighborhood import (
    compute_screened_objective,
    screen_neighborhood_columns,
)
from pgmx.statistics import GaussianSample, gaussian_sample
from pgmx.statistics.gaussian import sample


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
        monkeypatch.setattr(screened_neighborhood, name, size)


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
    assert estimates.converged.sum() == 7
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
