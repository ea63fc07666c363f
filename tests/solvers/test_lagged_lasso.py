"""The lasso of many targets against scikit-learn's, by cross-products and screened."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import Lasso

from oracles.seeds import descend
from oracles.seeds import share_parents as share_densely
from pgmx._ext import _lagged_lasso
from pgmx.datasets import sparse_system
from pgmx.solvers.time_series.lagged_lasso import (
    Products,
    find_largest_penalty,
    fit_support,
    keep_largest,
    measure_violation,
    partial_out,
    solve_lasso,
)
from pgmx.solvers.time_series.screening import Rows, descend_lasso, fit_rows, solve_screened, sum_row_residuals
from pgmx.solvers.time_series.seeds import share_parents

NONE = np.empty(0, dtype=np.int64)
REQUIRED = {3: np.array([1, 9]), 5: np.array([0])}
FORBIDDEN = {2: np.arange(6), 3: np.array([4])}


def draw_rows(n=40, T=120, seed=0, forbidden=None, required=None):
    coef = sparse_system(n, 3, 0.9, random_state=seed)
    rng = np.random.default_rng(seed)
    X = np.zeros((T + 50, n))
    for t in range(1, len(X)):
        X[t] = coef @ X[t - 1] + rng.standard_normal(n)
    X = X[50:] / X[50:].std(axis=0)
    return Rows(np.ascontiguousarray(X[:-1].T), np.ascontiguousarray(X[1:].T), forbidden or {}, required or {})


def make_products(rows):
    X, Y = rows.predictors, rows.targets
    cross = Y @ X.T / X.shape[1]
    for target, predictors in rows.forbidden.items():
        cross[target, predictors] = np.nan
    return Products(X @ X.T / X.shape[1], cross, (Y**2).mean(axis=1))


def solve_slowly(rows, lam):
    """scikit-learn's lasso of each target, what is required projected out."""
    p = len(rows.predictors)
    coefs = np.zeros((len(rows.targets), p))
    for target, y in enumerate(rows.targets):
        free = rows.required.get(target, NONE)
        others = np.setdiff1d(np.arange(p), np.union1d(free, rows.forbidden.get(target, NONE)))
        Z, X = rows.predictors[free].T, rows.predictors[others].T
        project = np.eye(len(y)) - (Z @ np.linalg.pinv(Z) if len(free) else 0.0)
        lasso = Lasso(alpha=lam, fit_intercept=False, tol=1e-13, max_iter=10**6).fit(project @ X, project @ y)
        coefs[target, others] = lasso.coef_
        if len(free):
            coefs[target, free] = np.linalg.pinv(Z) @ (y - X @ lasso.coef_)
    return coefs


@pytest.mark.parametrize("knowledge", [{}, {"forbidden": FORBIDDEN, "required": REQUIRED}], ids=["free", "known"])
@pytest.mark.parametrize("lam", [0.05, 0.3])
def test_both_ways_equal_scikit_learns(lam, knowledge):
    rows = draw_rows(**knowledge)
    expected = solve_slowly(rows, lam)
    products = make_products(rows)
    coefs = solve_lasso(products, lam, rows.required)
    np.testing.assert_allclose(coefs.toarray(), expected, atol=1e-8)
    assert measure_violation(products, coefs, lam, rows.required) < 1e-9
    screened = solve_screened(rows, lam, 0.1, 4, None)
    np.testing.assert_allclose(screened.coefs.toarray(), expected, atol=1e-8)
    assert screened.violation < 1e-9
    assert (screened.lam, screened.lam_max) == (lam, pytest.approx(find_largest_penalty(products.cross, rows.required)))


def test_violation_is_that_of_the_definition():
    rows = draw_rows(forbidden=FORBIDDEN, required=REQUIRED)
    products, lam = make_products(rows), 0.1
    coefs = solve_lasso(products, 0.12, rows.required)
    gradients = np.nan_to_num(products.cross - coefs @ products.gram)
    dense = coefs.toarray()
    expected = 0.0
    for target in range(len(dense)):
        for j in range(dense.shape[1]):
            g, b = gradients[target, j], dense[target, j]
            if j in rows.required.get(target, ()):
                expected = max(expected, abs(g))
            elif b:
                expected = max(expected, abs(g - lam * np.sign(b)))
            else:
                expected = max(expected, abs(g) - lam)
    assert measure_violation(products, coefs, lam, rows.required) == pytest.approx(expected, rel=1e-9)


def test_largest_penalty():
    products = make_products(draw_rows(required=REQUIRED, forbidden=FORBIDDEN))
    largest = find_largest_penalty(products.cross, REQUIRED)
    penalised = np.setdiff1d(np.arange(40), list(REQUIRED))
    assert solve_lasso(products, 1.001 * largest, REQUIRED)[penalised].nnz == 0
    assert solve_lasso(products, 0.99 * largest, REQUIRED).nnz > 3


def test_what_is_not_penalised_is_projected_out():
    rows = draw_rows()
    rng = np.random.default_rng(1)
    Z = np.column_stack([np.ones(119), rng.standard_normal(119)])
    X, Y = rows.predictors.T + 3.0, rows.targets.T + Z @ rng.standard_normal((2, 40))
    P = np.hstack([X, Z])
    reduction = partial_out(P.T @ P / 119, Y.T @ P / 119, (Y**2).mean(axis=0), 40)
    coefs = solve_lasso(reduction.products, 0.1, {})
    project = np.eye(119) - Z @ np.linalg.pinv(Z)
    expected = solve_slowly(Rows((project @ X).T, (project @ Y).T, {}, {}), 0.1)
    np.testing.assert_allclose(coefs.toarray(), expected, atol=1e-8)
    beside = reduction.of_targets - reduction.of_predictors @ coefs.T
    np.testing.assert_allclose(beside, np.linalg.pinv(Z) @ (Y - X @ expected.T), atol=1e-7)


def test_k_largest_of_a_screened_lasso_are_those_of_all():
    rows = draw_rows(n=150, T=200)
    whole = keep_largest(solve_lasso(make_products(rows), 0.08, {}), 3, {})
    screened = keep_largest(solve_screened(rows, 0.08, 0.1, 8, 3).coefs, 3, {})
    same = [
        set(a) == set(b) for a, b in zip(*(np.split(c.indices, c.indptr[1:-1]) for c in (whole, screened)), strict=True)
    ]
    assert np.mean(same) > 0.95


def test_keep_largest():
    coefs = csr_array(np.array([[3.0, -4, 0, 1, 2], [1, 1, 1, 1, 0], [0, 0, 0, 0, 0]]))
    assert keep_largest(coefs, 2, {}).toarray().tolist() == [[3, -4, 0, 0, 0], [1, 1, 0, 0, 0], [0] * 5]
    assert keep_largest(coefs, 2, {0: np.array([3])}).toarray()[0].tolist() == [0, -4, 0, 1, 0]
    assert keep_largest(coefs, None, {}) is coefs


@pytest.mark.parametrize("double", [False, True])
def test_least_squares_on_the_support(double):
    """Also where two of the predictors are the same: of smallest norm then."""
    rows = draw_rows()
    if double:
        rows.predictors[1] = rows.predictors[0]
    support = solve_lasso(make_products(rows), 0.1, {}).toarray()
    support[:4, :2] = 1.0
    products = make_products(rows)
    for coefs in (fit_support(products, csr_array(support)), fit_rows(rows, csr_array(support))):
        for target, row in enumerate(coefs.toarray()):
            part = np.flatnonzero(support[target])
            expected = np.linalg.lstsq(rows.predictors[part].T, rows.targets[target], rcond=None)[0]
            np.testing.assert_allclose(row[part], expected, atol=1e-7)
        residuals = rows.targets - coefs @ rows.predictors
        np.testing.assert_allclose(sum_row_residuals(rows, coefs), (residuals**2).sum(axis=1), rtol=1e-10)


def test_steps_of_the_descent():
    rng = np.random.default_rng(0)
    X, Y, draws = rng.standard_normal((30, 7)), rng.standard_normal((3, 30)), rng.integers(30, size=200)
    coefs = np.zeros((3, 7))
    _lagged_lasso.descend(X, Y, draws, 0.05, 0.1, coefs)
    np.testing.assert_allclose(coefs, descend(X, Y, draws, 0.05, 0.1), rtol=1e-9)


def test_descent_finds_the_parents():
    rows = draw_rows(T=1000, required={3: np.array([1])}, forbidden={2: np.arange(6)})
    coefs = descend_lasso(rows, 1e-3, 0)
    assert not coefs[2, :6].any()
    expected = solve_slowly(rows, 1e-3)
    tops = [np.argsort(-np.abs(matrix), axis=1)[:, :3] for matrix in (coefs, expected)]
    assert np.mean([len(np.intersect1d(*pair)) for pair in zip(*tops, strict=True)]) > 2.6
    assert np.linalg.norm(coefs - expected) < 0.5 * np.linalg.norm(expected)


@pytest.mark.parametrize("draw", range(5))
def test_shared_parents_are_those_of_dense_matrices(draw):
    rng = np.random.default_rng(draw)
    n, seeds = 15, np.sort(rng.choice(15, 5, replace=False))
    one, two = rng.standard_normal((2, 5, n)) * (rng.random((2, 5, n)) < 0.4)
    scores = share_parents(csr_array(one), csr_array(two), seeds, n, 1, 3)
    assert [set(np.flatnonzero(row).tolist()) for row in scores.toarray()] == share_densely(one, two, seeds.tolist(), 3)


def test_shared_parents_of_several_lags():
    """A parent at lag 2 of a seed gets what the seed depends on two steps and more before, less those two."""
    one, two = np.zeros((1, 6)), np.zeros((1, 9))
    one[0, 3 + 1] = 1.0  # x1 at lag 2
    two[0, [2, 3 + 0, 6 + 2]] = 1.0, 2.0, 1.0  # x2 at lag 2, x0 at lag 3, x2 at lag 4
    scores = share_parents(csr_array(one), csr_array(two), np.array([0]), 3, 2, 5).toarray()
    assert scores[0].tolist() == [0, 0, 0, 0, 1, 0]
    assert scores[1].tolist() == [0.5, 0, 0, 0, 0, 0.25]  # x0 at lag 1, x2 at lag 2
    assert not scores[2].any()
