"""The graphical lasso on matrices that have no inverse, or on which other solvers fail."""

import numpy as np
import pytest

from helpers.correlation_matrices import correlation, normal_numbers_of_r, of_rows
from oracles import graphical_lasso as oracle
from pgmx.solvers.gaussian.graphical_lasso import graphical_lasso_path


def check(found, R, lam):
    """Assert what holds of every solution, converged or not."""
    theta = found.precision.toarray()
    np.testing.assert_array_equal(theta, theta.T)
    assert np.linalg.eigvalsh(theta)[0] > 0
    assert np.isfinite([found.objective, found.dual_gap]).all()
    assert found.dual_gap >= -1e-12 * max(1.0, abs(found.objective))
    assert found.objective == pytest.approx(oracle.objective(theta, R, lam), rel=1e-6, abs=1e-6)


# Appendix of Mazumder and Hastie (2012): in R, set.seed(2008), then rnorm(10) as five columns of two rows, and
# rnorm(500) as fifty columns of ten; penalties 0.009 and 0.02 times the largest covariance, warm starts.
NUMBERS = normal_numbers_of_r(2008, 500)
FAILS = {"5 of 2 rows": NUMBERS[:10].reshape(5, 2).T, "50 of 10 rows": NUMBERS.reshape(50, 10).T}


def test_numbers_of_r():
    assert normal_numbers_of_r(1, 3).round(7).tolist() == [-0.6264538, 0.1836433, -0.8356286]
    assert NUMBERS[:3].round(8).tolist() == [0.17925835, -0.08898228, 0.34210203]


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("name", FAILS)
@pytest.mark.slow
def test_where_warm_starts_fail(name, centred):
    """From the solution of a larger penalty, from that of a smaller one, and from nothing."""
    rows = FAILS[name]
    S = np.cov(rows, rowvar=False) if centred else rows.T @ rows / len(rows)
    largest = np.abs(S - np.diag(S.diagonal())).max()
    for share in (0.009, 0.02):
        lam = share * largest
        values = []
        for start in ([], [0.5 * largest], [1.01 * lam], [0.5 * lam]):
            *_, found = graphical_lasso_path(S, [*start, lam], max_iter=1000)
            check(found, S, lam)
            assert found.converged
            values.append(found.objective)
        assert np.ptp(values) <= 2e-6 * max(1.0, abs(values[0]))


@pytest.mark.parametrize("lam", [0.9, 0.5, 0.1, 0.01, 1e-4])
def test_two_rows(lam):
    """All correlations are 1 or -1."""
    R = of_rows(np.random.default_rng(0).standard_normal((2, 12)))
    (found,) = graphical_lasso_path(R, [lam])
    check(found, R, lam)
    assert found.converged
    # of equal correlations the solution is known: W has 1 - lam off the diagonal
    p, rho = len(R), 1.0 - lam
    expected = np.linalg.inv((1 - rho) * np.eye(p) + rho * np.ones((p, p)))
    np.testing.assert_allclose(found.precision.toarray() * R, expected, rtol=1e-3, atol=1e-3 / lam)


@pytest.mark.parametrize("name", ["collinear", "wide", "ones"])
def test_singular_matrices(name):
    rng = np.random.default_rng(3)
    R = {
        "collinear": of_rows(np.repeat(rng.standard_normal((40, 8)), 3, axis=1)),
        "wide": correlation(50, 8, 1),
        "ones": np.ones((9, 9)),
    }[name]
    lams = [0.8, 0.3, 0.1, 0.01, 1e-3]
    for lam, found in zip(lams, graphical_lasso_path(R, lams), strict=True):
        check(found, R, lam)
        if lam >= 0.1:
            assert found.converged


def test_no_penalty():
    R = correlation(20, 100, 1)
    (found,) = graphical_lasso_path(R, [0.0])
    np.testing.assert_allclose(found.precision.toarray(), np.linalg.inv(R), rtol=1e-8, atol=1e-10)
    assert found.converged and found.lam == 0.0
    wide = correlation(20, 8, 1)
    (found,) = graphical_lasso_path(wide, [0.0], max_iter=20)
    assert not found.converged and found.lam == 0.0
    assert np.linalg.eigvalsh(found.precision.toarray())[0] > 0


def test_smallest_problems():
    for p in (1, 2, 5):
        for found in graphical_lasso_path(np.eye(p), [1.0, 0.1, 0.0]):
            np.testing.assert_array_equal(found.precision.toarray(), np.eye(p))
            assert found.converged and found.dual_gap == 0.0
    (pair,) = graphical_lasso_path(np.array([[1.0, -0.8], [-0.8, 1.0]]), [0.3])
    np.testing.assert_allclose(pair.precision.toarray(), np.linalg.inv([[1.0, -0.5], [-0.5, 1.0]]), rtol=1e-9)


def test_scale():
    """Covariances in any units: nothing is taken for granted about the diagonal."""
    R = correlation(15, 60, 4)
    (one,) = graphical_lasso_path(R, [0.1], tol=1e-10)
    (large,) = graphical_lasso_path(1e6 * R, [1e5], tol=1e-10)
    np.testing.assert_allclose(1e6 * large.precision.toarray(), one.precision.toarray(), atol=1e-4)


@pytest.mark.parametrize("ridge", [1e-6, 1e-9, 1e-12, 3e-14, 1e-14, 3e-15])
def test_no_penalty_on_nearly_singular_correlations(ridge):
    """The gap does not suffer from the cancellation of two large determinants, which once made it negative."""
    factors = np.random.default_rng(0).standard_normal((20, 8, 3)) @ np.random.default_rng(1).standard_normal((3, 6))
    for rows in factors:
        R = (of_rows(rows) + ridge * np.eye(6)) / (1.0 + ridge)
        np.fill_diagonal(R, 1.0)
        (found,) = graphical_lasso_path(R, [0.0], max_iter=20)
        assert np.linalg.eigvalsh(found.precision.toarray())[0] > 0
        assert found.dual_gap >= -1e-12 * abs(found.objective)
        if found.converged:
            assert found.dual_gap <= 1e-6 * abs(found.objective)
        elif ridge > 1e-11:
            pytest.fail("it has an inverse")
