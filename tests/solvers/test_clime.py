"""CLIME columns by ADMM, and the choice between it and the exact path."""

from math import sqrt
from time import perf_counter

import numpy as np
import pytest

import pgmx.solvers.gaussian.clime as clime
from oracles.clime import excess, shifted
from pgmx.solvers.gaussian.clime import clime_columns, clime_lam_max
from pgmx.solvers.gaussian.clime_admm import Certificates, ShiftedProduct, find_vertices


def sample(rng, p, n):
    """Return a correlation matrix and its factor, both read-only."""
    rows = rng.standard_normal((n, p))
    rows[:, 1:] += 0.6 * rows[:, :-1]
    rows -= rows.mean(axis=0)
    factor = rows / np.sqrt((rows**2).sum(axis=0))
    R = factor.T @ factor
    R = (R + R.T) / 2
    np.fill_diagonal(R, 1.0)
    R.flags.writeable = factor.flags.writeable = False
    return R, factor


def check(estimates, S, lams, tol):
    """Assert that what an estimate says of itself is true, and is within `tol`."""
    assert estimates.converged.all()
    for t, lam in enumerate(lams):
        for c, j in enumerate(estimates.columns):
            q = estimates.coefficients[t][:, [c]].toarray().ravel()
            assert estimates.violations[t, c] == pytest.approx(excess(S, q, j, lam), abs=1e-10)
            assert estimates.violations[t, c] <= tol
            assert -1e-12 <= estimates.gaps[t, c] <= tol * max(1.0, abs(q).sum())


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_admm_agrees_with_the_path(rng, tol):
    R, _ = sample(rng, 30, 90)
    lams, columns = np.array([0.5, 0.25, 0.15]), np.array([0, 7, 8, 29])
    iterated = clime_columns(R, columns, lams, ridge=0.1, solver="admm", tol=tol)
    exact = clime_columns(R, columns, lams, ridge=0.1, solver="homotopy")
    S = shifted(R, 0.1)
    check(iterated, S, lams, tol)
    check(exact, S, lams, 1e-9)
    for ours, theirs in zip(iterated.coefficients, exact.coefficients, strict=True):
        # norms at radii that differ by the excess differ by that times |y|_1, some units here
        np.testing.assert_allclose(abs(ours).sum(axis=0), abs(theirs).sum(axis=0), atol=100 * tol)
    assert (iterated.violations <= 1e-9).mean() > 0.8  # most end at an exact vertex


def test_a_factor_stands_for_the_matrix(rng, tmp_path):
    R, factor = sample(rng, 60, 20)
    np.save(tmp_path / "factor.npy", factor)
    mapped = np.load(tmp_path / "factor.npy", mmap_mode="r")
    lams, ridge = np.array([0.5, 0.4]), 1 / sqrt(20)
    thin = clime_columns(None, np.arange(60), lams, factor=mapped, ridge=ridge)
    check(thin, shifted(R, ridge), lams, 1e-4)
    exact = clime_columns(R, np.arange(60), lams, ridge=ridge)
    for ours, theirs in zip(thin.coefficients, exact.coefficients, strict=True):
        np.testing.assert_allclose(abs(ours).sum(axis=0), abs(theirs).sum(axis=0), atol=1e-2)


def test_columns_too_dense_for_the_path_are_iterated_on(rng, monkeypatch):
    R, _ = sample(rng, 40, 100)
    lams = np.array([0.6, 0.2, 0.1])
    exact = clime_columns(R, np.arange(40), lams, ridge=0.1)
    monkeypatch.setattr(clime, "ALLOWANCE", 15.0)
    mixed = clime_columns(R, np.arange(40), lams, ridge=0.1, tol=1e-5)
    assert (mixed.n_iter > exact.n_iter + 20).any()
    check(mixed, shifted(R, 0.1), lams, 1e-5)
    assert abs(mixed.coefficients[0] - exact.coefficients[0]).max() == 0  # reached before the work was spent
    for ours, theirs in zip(mixed.coefficients, exact.coefficients, strict=True):
        np.testing.assert_allclose(abs(ours).sum(axis=0), abs(theirs).sum(axis=0), atol=1e-3)


@pytest.mark.parametrize("solver", ["homotopy", "admm"])
def test_the_largest_penalty_is_the_smallest_without_neighbours(rng, solver):
    R, _ = sample(rng, 12, 30)
    for ridge in (0.0, 0.4):
        top = clime_lam_max(R, ridge)
        lams = np.array([1.0001 * top, 0.999 * top])
        above, below = clime_columns(R, np.arange(12), lams, ridge=ridge, solver=solver).coefficients
        assert (above - above.multiply(np.eye(12))).nnz == 0
        assert (below - below.multiply(np.eye(12))).nnz > 0


@pytest.mark.parametrize("p", [1, 5])
def test_no_correlation_at_all(p):
    assert clime_lam_max(np.eye(p)) == 0.0
    for solver in clime.SOLVERS:
        (found,) = clime_columns(np.eye(p), np.arange(p), np.array([0.25]), solver=solver, tol=1e-6).coefficients
        np.testing.assert_allclose(found.toarray(), 0.75 * np.eye(p), atol=1e-5)


def test_columns_are_the_same_in_any_block(rng):
    R, _ = sample(rng, 30, 60)
    lams = np.array([0.4, 0.2])
    whole = clime_columns(R, np.arange(30), lams)
    for columns in np.array_split(np.arange(30), 4):
        part = clime_columns(R, columns, lams)
        for ours, theirs in zip(part.coefficients, whole.coefficients, strict=True):
            assert (ours.toarray() == theirs.toarray()[:, columns]).all()


@pytest.mark.parametrize("solver", ["homotopy", "admm"])
def test_infeasible_radii_are_told(solver):
    R = np.ones((4, 4))  # |R q - e| cannot fall below 1/2
    estimates = clime_columns(R, np.arange(4), np.array([0.6, 0.2]), solver=solver, max_iter=200)
    assert estimates.converged[0].all()
    assert not estimates.converged[1].any()
    assert (estimates.violations[1] >= 0.3 - 1e-9).all()
    assert (estimates.gaps >= -1e-9).all()


def test_a_deadline_that_has_passed(rng):
    R, _ = sample(rng, 20, 40)
    for solver in clime.SOLVERS:
        estimates = clime_columns(R, np.arange(20), np.array([0.1]), solver=solver, deadline=perf_counter())
        assert estimates.coefficients[0].shape == (20, 20)
        assert not estimates.converged.all()


def test_vertices_from_rough_points(rng):
    R, _ = sample(rng, 25, 80)
    exact = clime_columns(R, np.array([3]), np.array([0.2]), solver="homotopy")
    q = exact.coefficients[0].toarray().T
    product = ShiftedProduct(R)
    y = np.zeros((1, 25))
    bound = np.flatnonzero(abs(abs(R @ q[0] - np.eye(25)[3]) - 0.2) < 1e-9)
    part = product.part(bound, np.flatnonzero(q[0]))
    y[0, bound] = np.linalg.solve(part.T, np.sign(q[0][q[0] != 0]))
    found, points, multipliers = find_vertices(product, np.array([3]), 0.2, 1.3 * q, 0.7 * y)
    assert found.all()
    np.testing.assert_allclose(points, q, atol=1e-9)
    assert Certificates.from_points(product, np.array([3]), 0.2, points, multipliers).are_within(1e-9).all()


def test_wrong_options(rng):
    R, _ = sample(rng, 4, 20)
    with pytest.raises(ValueError, match=r"solver='simplex' is unknown: choose one of 'auto', 'homotopy', 'admm'"):
        clime_columns(R, np.arange(4), np.array([0.1]), solver="simplex")
    with pytest.raises(ValueError, match="needs the correlation matrix R"):
        clime_columns(None, np.arange(4), np.array([0.1]), factor=np.eye(4), solver="homotopy")
    with pytest.raises(ValueError, match="neither R nor a factor of it was given"):
        ShiftedProduct()


def test_wrong_problems():
    """Positions outside the matrix, and penalties in the wrong order, which the compiled path does not check."""
    R = np.eye(4)
    for columns in ([4], [-1]):
        with pytest.raises(ValueError, match=rf"columns must be from 0 to 3, got {columns[0]}"):
            clime_columns(R, np.array(columns), np.array([0.1]))
    for lams in ([0.1, 0.3], [0.1, -0.1], [np.nan]):
        with pytest.raises(ValueError, match="lams must be at least 0 and in descending order"):
            clime_columns(R, np.arange(4), np.array(lams))
    with pytest.raises(ValueError, match=r"square matrix, got the shape \(2, 4\)"):
        clime_columns(np.ones((2, 4)), np.arange(2), np.array([0.1]))


@pytest.mark.parametrize(
    "number", [0, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)]
)
@pytest.mark.slow
def test_steps_do_not_run_away_where_no_point_is_feasible(number):
    """Multipliers go off along a ray, penalty after penalty: without a bound their steps end in infinity."""
    R = np.corrcoef(np.random.default_rng(number).standard_normal((3, 6)).T)
    R = (R + R.T + 1e-8 * np.eye(6)) / 2
    estimates = clime_columns(R, np.arange(2), np.geomspace(0.3, 0.01, 20), solver="admm", max_iter=1000)
    assert not estimates.converged[-1].any()
    assert np.isfinite(estimates.violations).all() and (estimates.gaps >= -1e-9).all()


@pytest.mark.parametrize("p", [1, 2, 30, 400])
def test_the_norm_is_approached_and_passed(p):
    """Also where few eigenvalues lie at the upper end, as those of few rows do, and with a ridge."""
    eigenvalues = 1 - (np.arange(p) / p) ** (2 / 3)
    axes = np.linalg.qr(np.random.default_rng(p).standard_normal((p, p)))[0]
    R = (axes * eigenvalues) @ axes.T
    for ridge in (0.0, 0.5):
        assert 1.0 <= ShiftedProduct(R, ridge=ridge).norm() / (1.0 + ridge) <= 1.0201
    assert ShiftedProduct(np.eye(p)).norm() == pytest.approx(1.02)


def test_the_norm_is_found_from_a_start_far_from_it():
    """Power iteration from cos(1), cos(2), ... does not find the eleventh axis in time: cos(11) is 0.004."""
    assert ShiftedProduct(np.diag(np.where(np.arange(30) == 10, 1.05, 1.0))).norm() >= 1.05
