"""Penalties of zero, of rounding size, and just below the largest: what is claimed has to be so."""

import numpy as np
import pytest

from helpers.correlation_matrices import correlation, of_rows
from oracles import graphical_lasso as oracle
from pgmx.solvers.gaussian.graphical_lasso import graphical_lasso_path
from pgmx.solvers.gaussian.graphical_lasso_certificate import compute_gap, graphical_lasso_certificate
from pgmx.solvers.gaussian.neighborhood import neighborhood_columns

ONE = 1 - 2.0**-53
ROWS = np.random.default_rng(0).standard_normal((50, 6)) @ (np.eye(6) + np.diag([1.0, 1.0, 0, 0, 0], 1))
CODES = np.random.default_rng(9).integers(0, 2, (10, 10))
NEARLY = np.repeat(CODES, 3, axis=1) + 1e-7 * np.random.default_rng(10).standard_normal((10, 30))
SINGULAR = {
    "collinear": of_rows(np.column_stack([ROWS, ROWS[:, 0], -ROWS[:, 1], ROWS[:, :3].sum(axis=1)])),
    "one column": of_rows(np.repeat(ROWS[:, :1], 5, axis=1)),
    "duplicates": of_rows(np.repeat(ROWS[:30, :3], 3, axis=1)),
    "wide": of_rows(np.random.default_rng(2).standard_normal((8, 24))),
    "groups": of_rows(np.repeat(CODES, 3, axis=1)),
    "groups but for noise": of_rows(NEARLY),
}
BY_ROUNDING = {
    "pair": np.array([[1.0, ONE], [ONE, 1.0]]),
    "pair and another": np.array([[1.0, ONE, 0.1], [ONE, 1.0, 0.1], [0.1, 0.1, 1.0]]),
}
MATRICES = SINGULAR | BY_ROUNDING


def bare(R):
    return np.log(R.diagonal()).sum() + len(R)


@pytest.mark.parametrize("lam", [0.0, 1e-14, 1e-10, 1e-8, 1e-6])
@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.slow
def test_gaps_are_finite_and_not_negative(name, lam):
    R = MATRICES[name]
    (found,) = graphical_lasso_path(R, [lam])
    theta = found.precision.toarray()
    np.linalg.cholesky(theta)
    assert np.isfinite([found.objective, found.dual_gap]).all()
    assert found.dual_gap >= 0.0
    assert found.lam == lam
    assert found.objective <= bare(R) + 1e-9
    # rounding of tr(R T) in both
    slack = 1e-6 + 4e-16 * len(R) * np.abs(theta).sum()
    assert found.objective == pytest.approx(oracle.objective(theta, R, lam), rel=1e-6, abs=slack)
    if name in SINGULAR and lam == 0.0:
        assert not found.converged


@pytest.mark.parametrize("name", MATRICES)
def test_converged_means_as_good_as_any(name):
    """Small penalties: no solution found for another penalty is better than what is converged."""
    R = MATRICES[name]
    lams = [1e-4, 1e-6, 1e-8]
    solutions = list(graphical_lasso_path(R, lams))
    for found in solutions:
        if found.converged:
            values = [oracle.objective(other.precision.toarray(), R, found.lam) for other in solutions]
            rounding = 4e-16 * len(R) * np.abs(found.precision).sum()
            assert found.objective <= min(values) + 1e-6 * abs(found.objective) + rounding


@pytest.mark.slow
def test_the_better_of_small_penalties():
    """Where rounding spoils the least penalty, a larger one is taken: far better than no edges."""
    for R in SINGULAR.values():
        (found,) = graphical_lasso_path(R, [0.0])
        (small,) = graphical_lasso_path(R, [1e-5 * np.abs(R - np.eye(len(R))).max()])
        assert found.objective <= oracle.objective(small.precision.toarray(), R, 0.0) + 1e-6


@pytest.mark.parametrize("name", ["collinear", "one column", "duplicates", "wide"])
def test_few_sweeps_near_singular_matrices(name):
    """Errors left in columns must not undo what other columns gain."""
    R = SINGULAR[name]
    lams = np.abs(R - np.eye(len(R))).max() * np.array([1e-1, 1e-2, 1e-3])
    for found in [*graphical_lasso_path(R, lams), *graphical_lasso_path(R, lams[2:])]:
        assert found.converged and found.n_iter <= 100


def test_gap_is_a_sum_of_what_is_not_negative():
    R = correlation(12, 40, 3)
    theta, W = np.linalg.inv(0.6 * R + 0.4 * np.eye(12)), 0.9 * R + 0.1 * np.eye(12)
    lam = 0.4
    expected = oracle.objective(theta, R, lam) - np.linalg.slogdet(W)[1] - 12
    assert compute_gap(R, lam, theta, W) == pytest.approx(expected, rel=1e-10)
    assert compute_gap(R, lam, theta, -W) is None and compute_gap(R, lam, -theta, W) is None
    # far below what two determinants resolve
    pair, lam = BY_ROUNDING["pair"], 1e-8
    _, gap = graphical_lasso_certificate(pair, np.linalg.inv(pair - lam * (1 - np.eye(2))), lam)
    assert 0.0 <= gap < 1e-12


@pytest.mark.parametrize("tol", [1e-2, 1e-6])
@pytest.mark.parametrize("share", [0.9, 0.999, 1 - 1e-6, 1 - 1e-12])
@pytest.mark.parametrize("penalize_diagonal", [False, True])
def test_just_below_the_largest_penalty(share, tol, penalize_diagonal):
    """The solution has the components of |R_ij| > lam, whatever the tolerance."""
    for R in (correlation(12, 300, 3), correlation(60, 40, 2), np.array([[1.0, -0.5], [-0.5, 1.0]])):
        lam = share * np.abs(R - np.eye(len(R))).max()
        (found,) = graphical_lasso_path(R, [lam], tol=tol, penalize_diagonal=penalize_diagonal)
        off = found.precision.toarray() - np.diag(found.precision.diagonal())
        assert found.converged
        i, j = np.unravel_index(np.abs(R - np.eye(len(R))).argmax(), R.shape)
        assert off[i, j] * R[i, j] < 0
        if share >= 0.999:
            width = 1.0 + lam * penalize_diagonal
            excess = R[i, j] - lam * np.sign(R[i, j])
            assert off[i, j] == pytest.approx(-excess / (width**2 - excess**2), rel=1e-3)


def test_least_squares():
    R = correlation(20, 100, 1)
    found = neighborhood_columns(R, [3, 0], [0.2, 0.0])
    assert found.converged.all() and found.lams.tolist() == [0.2, 0.0]
    assert (found.gaps >= -1e-15).all() and (found.gaps[1] <= 1e-20).all()
    np.testing.assert_array_equal(
        found.coefficients[0].toarray(), neighborhood_columns(R, [3, 0], [0.2]).coefficients[0].toarray()
    )
    for c, j in enumerate([3, 0]):
        others = np.delete(np.arange(20), j)
        b = found.coefficients[1].toarray()[:, c]
        assert b[j] == 0.0
        np.testing.assert_allclose(b[others], np.linalg.solve(R[np.ix_(others, others)], R[others, j]), atol=1e-13)


@pytest.mark.parametrize("lam", [0.0, 1e-14, 1e-12, 1e-8])
@pytest.mark.parametrize("name", MATRICES)
def test_neighbourhoods_on_singular_matrices_end(name, lam):
    R = MATRICES[name]
    everything = np.arange(len(R))
    found = neighborhood_columns(R, everything, [lam], max_iter=10_000)
    b = found.coefficients[0].toarray()
    assert np.isfinite(b).all() and np.abs(b).max() < 1e3
    assert (found.gaps >= -1e-15).all() and (found.gaps <= 0.5).all()
    assert found.n_iter.max() <= 20_000
    if lam == 0.0:
        for j in everything:
            others = np.delete(everything, j)
            least = np.linalg.lstsq(R[np.ix_(others, others)], R[others, j], rcond=1e-12)[0]
            value = oracle.column_objective(np.insert(least, j, 0.0), R, j, 0.0)
            assert oracle.column_objective(b[:, j], R, j, 0.0) - value <= found.gaps[0, j] + 1e-10
        assert found.converged.all() or "noise" in name
