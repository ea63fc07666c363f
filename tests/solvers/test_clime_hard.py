"""CLIME columns by ADMM where S is ill-conditioned, or no point is feasible."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

import pgmx.solvers.gaussian.clime as clime
from pgmx.solvers.gaussian.clime import clime_columns, clime_lam_max
from pgmx.solvers.gaussian.clime_admm import Certificates, ProjectedSteps, ShiftedProduct, is_projection_cheaper


def correlation(rows):
    R = np.corrcoef(rows, rowvar=False)
    R = (R + R.T) / 2
    R.flags.writeable = False
    return R


def sizes(estimates):
    return np.array([abs(found).sum(axis=0) for found in estimates.coefficients])


@pytest.mark.slow
@pytest.mark.parametrize("load", [load_diabetes, pytest.param(load_breast_cancer, marks=pytest.mark.slow)])
def test_ill_conditioned_data_end_near_the_path(load):
    """Their conditions are 470 and 1e5."""
    R = correlation(load().data)
    top, columns = clime_lam_max(R), np.arange(len(R))
    for lams in (np.array([0.1 * top]), np.geomspace(top, 0.05 * top, 6)):
        exact = clime_columns(R, columns, lams, solver="homotopy")
        found = clime_columns(R, columns, lams, solver="admm")
        assert exact.converged.all()
        assert found.converged.mean() >= 0.9
        # a column that is stopped may still be some per cent away
        np.testing.assert_allclose(sizes(found), sizes(exact), rtol=0.05)
        assert found.violations.max() <= 0.05


def test_nearly_collinear_pair_ends_within_the_tolerance():
    """The smallest eigenvalue is 1e-7; solutions have norms of millions."""
    R = np.array([[1.0, 1 - 1e-7], [1 - 1e-7, 1.0]])
    lams = np.array([0.4, 0.1])
    found = clime_columns(R, np.arange(2), lams, solver="admm")
    assert (found.violations <= 1e-4).all()
    # |q|_1 at the excess found: from S^-1 = (1, -r; -r, 1) / (1 - r^2), for residuals at the ends of their range
    best = (1 - 2 * (lams[:, None] + np.maximum(found.violations, 0))) / 1e-7
    np.testing.assert_allclose(sizes(found), best, rtol=0.05)


@pytest.mark.parametrize("smallest", [0.0, 1e-12, 1e-8])
@pytest.mark.slow
def test_columns_without_a_feasible_point_end_as_their_best_iterate(rng, smallest):
    rows = rng.standard_normal((8, 12))
    R = correlation(rows)
    R = np.ascontiguousarray((1 - smallest) * R + smallest * np.eye(12))
    lams = np.geomspace(0.4, 0.01, 8)
    path = clime_columns(R, np.arange(12), lams, solver="homotopy")
    found = clime_columns(R, np.arange(12), lams, solver="admm", max_iter=800)
    hopeless = ~path.converged
    assert hopeless.any() and not found.converged[hopeless & (path.violations > 1e-2)].all()
    assert np.isfinite(found.violations).all() and np.isfinite(sizes(found)).all()
    assert (found.violations <= np.maximum(1 - lams, 1e-4)[:, None]).all()  # q = 0 misses the radius by 1 - lam
    assert (found.gaps >= -1e-9 * np.maximum(1.0, sizes(found))).all()
    if smallest == 0.0:
        assert sizes(found).max() <= 1e3 * max(1.0, sizes(path).max())


def test_what_the_path_hands_over_does_not_become_worse(monkeypatch):
    """Points of the path are exact where they were left; two iterations make them worse."""
    R = correlation(load_breast_cancer().data)
    columns, lams = np.arange(0, 30, 3), np.linspace(0.4, 0.05, 8)
    monkeypatch.setattr(clime, "ALLOWANCE", 30.0)
    kept = clime_columns(R, columns, lams, max_iter=2)
    monkeypatch.setattr(clime, "ALLOWANCE", 1e-9)
    nothing = clime_columns(R, columns, lams, max_iter=0)
    exact = clime_columns(R, columns, lams, solver="homotopy")
    assert not kept.converged.all()
    last = np.where(kept.converged, 0.0, kept.violations)
    for t in range(1, len(lams)):
        # what was good at the penalty before misses this one by the difference, and is kept unless there is better
        step = lams[t - 1] - lams[t]
        before = np.maximum(kept.violations[t - 1], 1e-4)
        assert (last[t] <= before + step + 1e-9).all()
    assert (nothing.violations >= -1e-12).all()
    assert (sizes(kept) <= 1.05 * sizes(exact) + 1e-6).all()


def test_projections_agree_with_the_path(rng):
    R = correlation(rng.standard_normal((60, 20)))
    product, lam, columns = ShiftedProduct(R, ridge=0.05), 0.15, np.array([0, 7, 19])
    exact = clime_columns(R, columns[[0, 2]], np.array([lam]), ridge=0.05, solver="homotopy")
    steps = ProjectedSteps(product, columns, lam, np.zeros((3, 20)), np.zeros((3, 20)))
    for iteration in range(1, 2001):
        steps.step(iteration)
        if iteration == 100:
            steps.select(np.array([0, 2]))
    certificates = Certificates.from_points(product, columns[[0, 2]], lam, steps.q, steps.multipliers)
    assert certificates.are_within(1e-3).all()  # it circles around the solution, slowly nearer
    np.testing.assert_allclose(abs(steps.q).sum(axis=1), sizes(exact)[0], rtol=1e-2)


def test_eigenvalues_are_those_of_the_shifted_matrix(rng):
    R = correlation(rng.standard_normal((30, 6)))
    product = ShiftedProduct(R, ridge=0.2)
    values, vectors = product.eigenvalues()
    np.testing.assert_allclose(vectors * values @ vectors.T, R + 0.2 * np.eye(6), atol=1e-12)
    assert is_projection_cheaper(product, 1, 4000)
    assert not is_projection_cheaper(product, 1, 5)
    assert is_projection_cheaper(ShiftedProduct(factor=rng.standard_normal((3, 6))), 6, 5000)
    assert not is_projection_cheaper(ShiftedProduct(factor=np.zeros((1, 6000))), 6000, 5000)  # R would take 288 MB
