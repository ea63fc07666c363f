"""The graphical lasso against a slow twin, its certificate, and its path."""

from time import perf_counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.covariance import graphical_lasso as foreign

from helpers.correlation_matrices import correlation
from helpers.examples import examples
from oracles import graphical_lasso as oracle
from pgmx.solvers.gaussian import dual_ascent
from pgmx.solvers.gaussian.graphical_lasso import graphical_lasso_path
from pgmx.solvers.gaussian.graphical_lasso_certificate import graphical_lasso_certificate
from pgmx.statistics import cholesky


def solve(R, lam, **options):
    return next(graphical_lasso_path(R, [lam], **options))


@examples(30)
@given(
    p=st.integers(1, 7),
    n=st.sampled_from([2, 5, 50]),
    lam=st.floats(0.02, 1.0),
    penalize_diagonal=st.booleans(),
    number=st.integers(0, 999),
)
def test_the_optimum_is_that_of_the_twin(p, n, lam, penalize_diagonal, number):
    R = correlation(p, n, number)
    found = solve(R, lam, penalize_diagonal=penalize_diagonal, tol=1e-9)
    theta = found.precision.toarray()
    assert found.converged
    assert found.objective == pytest.approx(oracle.objective(theta, R, lam, penalize_diagonal), rel=1e-9, abs=1e-9)
    twin = oracle.graphical_lasso(R, lam, penalize_diagonal, tol=1e-8, max_iter=3000)
    value = oracle.objective(twin, R, lam, penalize_diagonal)
    # the twin need not have converged on singular matrices: its own gap bounds by how much it is above
    slack = max(oracle.gap(twin, R, lam, penalize_diagonal), 0.0) + 1e-8 * max(1.0, abs(value))
    assert value - slack <= found.objective <= value + 1e-8 * max(1.0, abs(value))


@examples(25)
@given(
    p=st.integers(2, 60),
    n=st.sampled_from([10, 40, 200]),
    share=st.floats(0.05, 1.2),
    tol=st.sampled_from([1e-4, 1e-6, 1e-8]),
    number=st.integers(0, 99),
)
def test_certificate(p, n, share, tol, number):
    """Symmetric, positive definite, and as near the optimum as the gap says, by an outside account."""
    R = correlation(p, n, number)
    lam = share * np.abs(R - np.eye(p)).max()
    found = solve(R, lam, tol=tol, max_iter=1000)
    theta = found.precision.toarray()
    np.testing.assert_array_equal(theta, theta.T)
    objective, gap = graphical_lasso_certificate(R, theta, lam)
    size = max(1.0, abs(objective))
    assert found.objective == pytest.approx(objective, abs=1e-10 * size)
    assert found.converged and found.dual_gap <= tol * size
    assert found.dual_gap >= -1e-12 * size
    better = solve(R, lam, tol=1e-11, max_iter=3000)
    assert found.objective - better.objective <= found.dual_gap + 1e-10 * size
    assert np.isfinite(gap)


@pytest.mark.parametrize(("p", "n"), [(40, 200), (60, 300)])
def test_the_inverse_of_the_precision_proves_it_too(p, n):
    R = correlation(p, n, 2)
    for lam in (0.3, 0.1, 0.05):
        found = solve(R, lam)
        objective, gap = graphical_lasso_certificate(R, found.precision, lam)
        assert gap <= 1e-6 * objective


def test_certificate_of_others():
    R = correlation(20, 100, 4)
    _, precision = foreign(np.array(R), 0.2, tol=1e-8, enet_tol=1e-10)
    precision = 0.5 * (precision + precision.T)
    objective, gap = graphical_lasso_certificate(R, precision, 0.2)
    assert objective == pytest.approx(oracle.objective(precision, R, 0.2), rel=1e-12)
    assert gap == pytest.approx(oracle.gap(precision, R, 0.2), abs=1e-10)
    assert solve(R, 0.2).objective == pytest.approx(objective, rel=1e-6)
    assert graphical_lasso_certificate(R, -np.eye(20), 0.2) == (np.inf, np.inf)


def test_a_path_is_the_same_as_its_problems_alone():
    R = correlation(50, 120, 6)
    lams = np.geomspace(0.9, 0.02, 12)
    for lam, found in zip(lams, graphical_lasso_path(R, lams, tol=1e-9), strict=True):
        alone = solve(R, lam, tol=1e-9)
        assert found.lam == lam
        assert found.converged and alone.converged
        assert found.objective == pytest.approx(alone.objective, rel=1e-8)
        # the objective is strongly convex only by the square of the precision's size
        np.testing.assert_allclose(found.precision.toarray(), alone.precision.toarray(), atol=1e-3)


def test_penalties_may_rise():
    R = correlation(40, 100, 7)
    for found in graphical_lasso_path(R, [0.1, 0.4, 0.05, 0.0, 0.2]):
        assert found.converged
        assert found.objective == pytest.approx(solve(R, found.lam).objective, rel=2e-6)


@given(p=st.integers(1, 12), number=st.integers(0, 99))
def test_above_the_largest_correlation_nothing_is_joined(p, number):
    R = correlation(p, 20, number)
    largest = np.abs(R - np.eye(p)).max(initial=0.0)
    found = solve(R, max(largest, 1e-3))
    np.testing.assert_array_equal(found.precision.toarray(), np.eye(p))
    assert (found.n_components, found.dual_gap, found.converged, found.objective) == (p, 0.0, True, p)


def test_components_are_solved_alone():
    parts = [correlation(p, 60, p) for p in (9, 1, 4, 7)]
    whole = sparse.block_diag(parts).toarray()
    order = np.random.default_rng(0).permutation(len(whole))
    R = np.ascontiguousarray(whole[np.ix_(order, order)])
    found = solve(R, 0.15, tol=1e-9)
    expected = sparse.block_diag([solve(part, 0.15, tol=1e-9).precision for part in parts]).toarray()
    np.testing.assert_allclose(found.precision.toarray(), expected[np.ix_(order, order)], atol=1e-5)
    threads = solve(R, 0.15, tol=1e-9, n_jobs=3)
    np.testing.assert_array_equal(found.precision.toarray(), threads.precision.toarray())
    assert (found.objective, found.dual_gap, found.n_iter) == (threads.objective, threads.dual_gap, threads.n_iter)
    assert found.n_components == sum(solve(part, 0.15).n_components for part in parts)


def test_order_of_variables():
    R = correlation(30, 80, 8)
    order = np.random.default_rng(1).permutation(30)
    found = solve(R, 0.1, tol=1e-10).precision.toarray()[np.ix_(order, order)]
    other = solve(np.ascontiguousarray(R[np.ix_(order, order)]), 0.1, tol=1e-10).precision.toarray()
    np.testing.assert_allclose(found, other, atol=1e-4)


def test_watched_and_stopped():
    R = correlation(30, 60, 9)
    seen = []
    whole = list(graphical_lasso_path(R, [0.3, 0.1], callback=lambda *told: seen.append(told)))
    ends = [told for told in seen if not np.isnan(told[2])]
    assert [told[:3] for told in ends] == [(found.lam, found.n_iter, found.objective) for found in whole]
    assert [told[3] for told in ends] == [(found.precision.nnz - 30) // 2 for found in whole]
    stopped = list(graphical_lasso_path(R, [0.3, 0.1], callback=lambda *told: True))
    assert len(stopped) == 1 and stopped[0].n_iter == 1
    assert np.linalg.eigvalsh(stopped[0].precision.toarray())[0] > 0


def test_out_of_time_and_out_of_sweeps():
    R = correlation(60, 30, 9)
    for options in ({"deadline": perf_counter()}, {"max_iter": 1}):
        found = solve(R, 0.01, **options)
        assert not found.converged and found.n_iter == 1
        assert np.linalg.eigvalsh(found.precision.toarray())[0] > 0
        assert found.dual_gap >= found.objective - solve(R, 0.01, max_iter=2000).objective - 1e-6


@pytest.mark.parametrize(
    ("R", "lams", "words"),
    [
        (np.ones((2, 3)), [0.1], r"square matrix .* \(2, 3\)"),
        (np.ones((0, 0)), [0.1], "at least one row"),
        (np.eye(2), [0.1, -0.5], "at least 0, got -0.5"),
        (np.eye(2), [np.nan], "at least 0, got nan"),
    ],
)
def test_refused(R, lams, words):
    with pytest.raises(ValueError, match=words):
        graphical_lasso_path(R, lams)


def test_sparse_factors_certify_what_dense_ones_do(monkeypatch):
    R = correlation(40, 200, 5)
    lams = np.abs(R - np.eye(40)).max() * np.array([0.9, 0.6, 0.4])
    dense = list(graphical_lasso_path(R, lams, tol=1e-8))
    monkeypatch.setattr(cholesky, "SPARSE_FROM", 2)
    monkeypatch.setattr(cholesky, "SPARSE_ROW", 40)
    seen = []
    monkeypatch.setattr(
        dual_ascent, "factorise_sparsely", lambda matrix: seen.append(matrix) or cholesky.factorise_sparsely(matrix)
    )
    for found, expected in zip(graphical_lasso_path(R, lams, tol=1e-8), dense, strict=True):
        assert np.array_equal(found.precision.toarray(), expected.precision.toarray())
        assert found.objective == pytest.approx(expected.objective, rel=1e-13)
        theta = found.precision.toarray()
        roots = np.sqrt(theta.diagonal())
        smallest = np.linalg.eigvalsh(theta / np.outer(roots, roots))[0]
        assert smallest <= found.least_pivot <= 1.0  # a pivot is never below the smallest eigenvalue
    assert seen


def test_a_sweep_ends_after_the_columns_at_hand():
    """Only the first columns of a component are solved without time; the gap is still a bound."""
    R = correlation(200, 400, 3)
    steps = []

    class Ascent(dual_ascent.ColumnAscent):
        def sweep(self, lam, slack, max_rounds, first, stop, moved):
            steps.append((first, stop))
            return super().sweep(lam, slack, max_rounds, first, stop, moved)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dual_ascent, "ColumnAscent", Ascent)
        found = solve(R, 0.02, deadline=0.0)
    assert steps == [(0, dual_ascent.COLUMNS)]
    assert not found.converged
    assert found.objective - found.dual_gap <= solve(R, 0.02).objective <= found.objective
    assert np.linalg.eigvalsh(found.precision.toarray())[0] > 0


def test_parts_of_a_sweep_are_a_sweep(monkeypatch):
    R = correlation(70, 100, 5)
    found = []
    for columns in (8, 16, 72):
        monkeypatch.setattr(dual_ascent, "COLUMNS", columns)
        found.append(solve(R, 0.05).precision.toarray())
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
