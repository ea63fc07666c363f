"""Gaussian learners: certificates of optimality, computed by numpy and scipy from public attributes."""

import numpy as np
import pytest
from sklearn.covariance import graphical_lasso
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import Lasso

from helpers.gaussian_tables import (
    check_positive_definite,
    check_result,
    correlation_of,
    deviations,
    edges_of_entries,
    every_leaf,
    random_rows,
    standardised,
)
from oracles import clime as programme
from oracles import graphical_lasso as oracle
from pgmx.estimators import CLIME, GraphicalLasso, NeighborhoodLasso

ROWS = random_rows(10, 200, seed=1, units=True)
WIDE = random_rows(30, 15, seed=2, units=True)
both_tables = pytest.mark.parametrize("rows", [ROWS, WIDE], ids=["200 x 10", "15 x 30"])


# ---- the graphical lasso ----


@both_tables
@pytest.mark.parametrize("penalize_diagonal", [False, True])
@pytest.mark.parametrize("lam_ratio", [0.9, 0.3, 0.1])
def test_graphical_lasso_is_optimal_in_the_units_of_the_data(rows, penalize_diagonal, lam_ratio):
    learner = GraphicalLasso(lam_ratio=lam_ratio, penalize_diagonal=penalize_diagonal, tol=1e-11).fit(rows)
    check_result(learner)
    scale = deviations(rows)
    penalties = learner.lam_ * np.outer(scale, scale)
    if not penalize_diagonal:
        np.fill_diagonal(penalties, 0.0)
    S = np.cov(rows, rowvar=False, bias=True)
    # 0 lies in the subdifferential: W = S + penalty sign(Theta) on the support, |W - S| <= penalty off it.
    # A gap of 1e-11 leaves the gradient a rest of about its square root.
    theta, W = learner.precision_, np.linalg.inv(learner.precision_)
    off = (W - S) / np.outer(scale, scale)
    unit = penalties / np.outer(scale, scale)
    assert (np.abs(off) <= unit + 1e-5).all()
    np.testing.assert_allclose(off[theta != 0], (unit * np.sign(theta))[theta != 0], rtol=0, atol=1e-5)
    np.testing.assert_allclose(learner.covariance_ @ theta, np.eye(len(S)), rtol=0, atol=1e-8)
    assert learner.model_.estimated_by == "penalised"


@both_tables
@pytest.mark.parametrize("penalize_diagonal", [False, True])
def test_graphical_lasso_tells_objective_and_gap(rows, penalize_diagonal):
    learner = GraphicalLasso(lam_ratio=0.3, penalize_diagonal=penalize_diagonal).fit(rows)
    R, theta = correlation_of(rows), standardised(learner.precision_, deviations(rows))
    best = GraphicalLasso(lam_ratio=0.3, penalize_diagonal=penalize_diagonal, tol=1e-12).fit(rows)
    value = oracle.objective(theta, R, learner.lam_, penalize_diagonal)
    assert learner.objective_ == pytest.approx(value, rel=1e-10)
    assert 0 <= learner.dual_gap_ <= learner.tol * max(1.0, abs(value))
    # the gap bounds what is left to gain
    assert -1e-11 * abs(value) <= learner.objective_ - best.objective_ <= learner.dual_gap_ + 1e-11 * abs(value)
    # a dual point of our own, the inverse put into the box, proves nearly as much
    assert oracle.gap(theta, R, learner.lam_, penalize_diagonal) <= 1e-4
    np.testing.assert_allclose(learner.correlation_, R, rtol=0, atol=1e-12)


@pytest.mark.parametrize("lam", [0.3, 0.1, 0.03])
def test_graphical_lasso_is_that_of_scikit_learn(lam):
    R = correlation_of(ROWS)
    covariance, precision = graphical_lasso(R, alpha=lam, tol=1e-10, enet_tol=1e-10, max_iter=500)
    learner = GraphicalLasso(lam=lam, tol=1e-12).fit(ROWS)
    ours = standardised(learner.precision_, deviations(ROWS))
    # scikit-learn stops at a gap of 1e-10, so that its matrices are right to about 1e-5
    np.testing.assert_allclose(ours, precision, rtol=0, atol=2e-5)
    np.testing.assert_allclose(np.linalg.inv(ours), covariance, rtol=0, atol=2e-5)
    clear = np.abs(precision) > 1e-4
    assert (ours[clear] != 0).all()


def test_without_a_penalty_it_is_maximum_likelihood():
    learner = GraphicalLasso(lam=0).fit(ROWS)
    np.testing.assert_allclose(learner.covariance_, np.cov(ROWS, rowvar=False, bias=True), rtol=1e-8)


# ---- CLIME ----


@both_tables
@pytest.mark.parametrize("solver", ["auto", "homotopy", "admm"])
@pytest.mark.parametrize("lam_ratio", [0.8, 0.4])
@pytest.mark.slow
def test_clime_is_feasible_and_optimal(rows, solver, lam_ratio):
    learner = CLIME(lam_ratio=lam_ratio, solver=solver).fit(rows)
    check_result(learner)
    p, scale = rows.shape[1], deviations(rows)
    exact = solver != "admm"
    assert learner.ridge_ == (1 / np.sqrt(len(rows)) if len(rows) <= p else 0.0)
    S = programme.shifted(correlation_of(rows), learner.ridge_)
    Q = standardised(learner.precision_raw_, scale)
    excess = max(programme.excess(S, Q[:, j], j, learner.lam_) for j in range(p))
    assert excess <= (1e-9 if exact else learner.tol)
    assert learner.violation_ == pytest.approx(excess, abs=1e-9)
    sizes = np.abs(Q).sum(axis=0)
    assert learner.objective_ == pytest.approx(sizes.sum(), rel=1e-9)
    best = np.array([programme.solve_column(S, j, learner.lam_)[2] for j in range(p)])
    # a column that misses the constraint by little may be shorter than the best by little
    slack = 1e-8 if exact else learner.tol * p * 10
    assert (sizes >= best - slack).all()
    assert (sizes <= best + (1e-7 if exact else 2 * learner.tol * np.maximum(1.0, best))).all()
    # what the learner says of itself: its gap reaches down to the optimum
    assert learner.objective_ - learner.dual_gap_ <= best.sum() + 1e-8 * p


@both_tables
def test_two_solvers_of_clime_agree(rows):
    exact = CLIME(lam_ratio=0.5, solver="homotopy").fit(rows)
    by_steps = CLIME(lam_ratio=0.5, solver="admm", tol=1e-6, max_iter=50_000).fit(rows)
    assert by_steps.objective_ == pytest.approx(exact.objective_, rel=1e-5)
    scale = deviations(rows)
    np.testing.assert_allclose(
        standardised(by_steps.precision_raw_, scale), standardised(exact.precision_raw_, scale), rtol=0, atol=1e-3
    )


@pytest.mark.parametrize("load", [load_diabetes, load_breast_cancer])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # it may need more than 5,000 steps
@pytest.mark.filterwarnings("ignore::pgmx.data.FewValuesWarning")
def test_two_solvers_of_clime_agree_on_ill_conditioned_data(load):
    rows = load(as_frame=True).data
    exact = CLIME(lam_ratio=0.1, solver="homotopy").fit(rows)
    by_steps = CLIME(lam_ratio=0.1, solver="admm").fit(rows)
    assert exact.converged_
    assert exact.violation_ <= 1e-9
    if by_steps.converged_:
        assert by_steps.objective_ == pytest.approx(exact.objective_, rel=1e-3)
    else:  # near by all the same
        assert by_steps.objective_ <= 1.5 * exact.objective_
        assert by_steps.violation_ <= 0.1


@both_tables
def test_clime_takes_the_smaller_of_two_values(rows):
    learner = CLIME(lam_ratio=0.4).fit(rows)
    Q = standardised(learner.precision_raw_, deviations(rows))
    expected = np.where(np.abs(Q) <= np.abs(Q.T), Q, Q.T)
    found = standardised(learner.precision_, deviations(rows))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found, found.T, rtol=1e-12)
    roots = np.sqrt(np.abs(found.diagonal()))
    partial = found / np.outer(roots, roots)
    np.testing.assert_array_equal(learner.edges_, edges_of_entries(np.where(np.abs(partial) > 1e-10, partial, 0)))


def test_ridge():
    for ridge in (0.0, 0.25):
        learner = CLIME(lam_ratio=0.5, ridge=ridge).fit(ROWS)
        assert learner.ridge_ == ridge
        S = programme.shifted(correlation_of(ROWS), ridge)
        Q = standardised(learner.precision_raw_, deviations(ROWS))
        assert np.abs(S @ Q - np.eye(10)).max() == pytest.approx(learner.lam_, abs=1e-9)


# ---- neighbourhoods ----


@both_tables
@pytest.mark.parametrize("lam_ratio", [0.8, 0.3, 0.1])
def test_neighbourhoods_are_lassos(rows, lam_ratio):
    learner = NeighborhoodLasso(lam_ratio=lam_ratio, tol=1e-12).fit(rows)
    check_result(learner)
    R, scale, p = correlation_of(rows), deviations(rows), rows.shape[1]
    B = learner.coefficients_ / scale * scale[:, None]  # of standardised columns
    assert not B.diagonal().any()
    # the gradient of a column is right to about the square root of its gap
    assert max(oracle.column_violation(B[:, j], R, j, learner.lam_) for j in range(p)) <= 2e-6
    values = [0.5 + oracle.column_objective(B[:, j], R, j, learner.lam_) for j in range(p)]
    assert learner.objective_ == pytest.approx(sum(values), rel=1e-10)
    assert -1e-12 * sum(values) <= learner.dual_gap_ <= 1e-12 * p + 1e-12 * sum(values)


@pytest.mark.parametrize("lam", [0.3, 0.05])
def test_neighbourhoods_are_those_of_scikit_learn(lam):
    learner = NeighborhoodLasso(lam=lam, tol=1e-12).fit(ROWS)
    Z = ((ROWS - ROWS.mean()) / ROWS.std(ddof=0)).to_numpy()
    for j, name in enumerate(ROWS):
        others = np.delete(np.arange(Z.shape[1]), j)
        lasso = Lasso(alpha=lam, tol=1e-12, max_iter=100_000).fit(Z[:, others], Z[:, j])
        in_units = lasso.coef_ * ROWS[name].std(ddof=0) / ROWS.std(ddof=0).to_numpy()[others]
        # both end at gaps of some 1e-12
        np.testing.assert_allclose(
            learner.coefficients_[others, j], in_units, rtol=1e-4, atol=1e-5 * np.abs(in_units).max()
        )


@both_tables
def test_rules(rows):
    both, either = (NeighborhoodLasso(lam_ratio=0.3, rule=rule).fit(rows) for rule in ("and", "or"))
    np.testing.assert_array_equal(both.coefficients_, either.coefficients_)
    chosen = both.coefficients_ != 0
    np.testing.assert_array_equal(both.edges_, edges_of_entries(chosen & chosen.T))
    np.testing.assert_array_equal(either.edges_, edges_of_entries(chosen | chosen.T))
    assert len(both.edges_) < len(either.edges_)
    for learner in (both, either):
        assert learner.model_.estimated_by.startswith("maximum likelihood")
        np.testing.assert_array_equal(learner.precision_, learner.model_.precision)


# ---- the network of each ----


@every_leaf
@both_tables
@pytest.mark.parametrize("refit", [False, True])
def test_covariance_is_the_inverse_of_the_precision(make, rows, refit):
    learner = make(lam_ratio=0.5, refit=refit).fit(rows)
    check_positive_definite(learner.model_)
    np.testing.assert_array_equal(learner.covariance_, learner.model_.covariance)
    np.testing.assert_array_equal(edges_of_entries(learner.model_.precision.to_numpy()), learner.edges_)
    np.testing.assert_allclose(learner.location_, rows.mean(), rtol=1e-10)
    np.testing.assert_allclose(learner.model_.mean, rows.mean(), rtol=1e-10)


@every_leaf
def test_refit_is_maximum_likelihood_under_the_graph(make):
    learner = make(lam_ratio=0.5, refit=True).fit(ROWS)
    assert learner.model_.estimated_by == "maximum likelihood"
    scale = deviations(ROWS)
    W, theta = learner.covariance_ / np.outer(scale, scale), standardised(learner.model_.precision.to_numpy(), scale)
    kept = np.eye(len(W), dtype=bool)
    kept[tuple(learner.edges_.T)] = kept[tuple(learner.edges_.T[::-1])] = True
    # the covariance is that of the data on the edges, the precision zero off them
    np.testing.assert_allclose(W[kept], correlation_of(ROWS)[kept], rtol=0, atol=1e-6)
    assert not theta[~kept].any()
    assert learner.score(ROWS) >= make(lam_ratio=0.5).fit(ROWS).score(ROWS) - 1e-9
