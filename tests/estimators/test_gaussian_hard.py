"""Gaussian learners on data that break others: there is a result, or a line that names the culprit."""

import warnings

import numpy as np
import pandas as pd
import pytest

from helpers.correlation_matrices import normal_numbers_of_r
from helpers.gaussian_tables import (
    chain_rows,
    check_positive_definite,
    check_result,
    every_leaf,
    fit_hard,
    random_rows,
)
from pgmx.data import FewValuesWarning
from pgmx.estimators import CLIME, GraphicalLasso, NeighborhoodLasso, Nonparanormal, SelectedGraph

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::pgmx.data.FewValuesWarning"),  # ties are the point
]

RNG = np.random.default_rng(7)
FEW = RNG.normal(size=(40, 4))
TABLES = {
    "two rows": RNG.normal(size=(2, 6)),
    "three rows": RNG.normal(size=(3, 9)),
    "more columns than rows": RNG.normal(size=(12, 40)),
    "as many columns as rows": RNG.normal(size=(10, 10)),
    "collinear": np.hstack([FEW, FEW[:, :1] - 2 * FEW[:, 1:2], FEW @ np.ones((4, 1))]),
    "duplicates": np.repeat(FEW, 3, axis=1),
    "duplicates turned round": np.hstack([FEW, -FEW]),
    "nearly collinear": np.hstack([FEW, FEW + 1e-9 * RNG.normal(size=FEW.shape)]),
    "tiny and huge": RNG.normal(size=(50, 5)) * 10.0 ** np.array([-12, 12, 0, 12, -12]),
    "large offsets": chain_rows(5, 60).to_numpy() + 1e8,
    "heavy ties": RNG.integers(0, 2, size=(60, 6)).astype(float),
    "nearly constant": np.hstack([FEW, (np.arange(40) == 3)[:, None] * 1.0]),
    "one outlier": np.vstack([FEW, np.full((1, 4), 1e6)]),
    "uncorrelated": np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T.astype(float),
    "two columns": FEW[:, :2],
    "equal columns alone": np.repeat(FEW[:, :1], 2, axis=1),
}
#: By default on the hard tables of `test_other_correlations_of_hard_tables` alone.
OTHER_CORRELATIONS = ("spearman", "shrinkage", "truncation")
every_table = pytest.mark.parametrize("rows", TABLES.values(), ids=TABLES)


@every_leaf
@every_table
@pytest.mark.parametrize("lam_ratio", [pytest.param(0.5, marks=pytest.mark.slow), 0.02])  # dense graphs are harder
def test_there_is_always_a_result(make, rows, lam_ratio):
    rows.flags.writeable = False
    fit_hard(make(lam_ratio=lam_ratio), rows)


@pytest.mark.parametrize("solver", ["homotopy", "admm"])
@every_table
def test_each_solver_of_clime_always_has_a_result(solver, rows):
    learner = fit_hard(CLIME(lam_ratio=0.3, solver=solver, max_iter=500), rows)
    if solver == "homotopy" and learner.converged_:
        assert learner.violation_ <= 1e-9


@every_leaf
@pytest.mark.parametrize(
    "name", ["two rows", "collinear", "duplicates", "more columns than rows", "equal columns alone"]
)
def test_no_penalty_on_singular_correlations(make, name):
    fit_hard(make(lam=0.0, max_time=5.0), TABLES[name])


@pytest.mark.parametrize("lam", [0.0, 1e-12, 1e-6])
@pytest.mark.parametrize("rho", [0.0, -0.3])
@every_leaf
def test_no_penalty_where_correlations_are_one_but_for_rounding(make, rho, lam):
    """Cholesky may succeed on these, with a pivot that is rounding."""
    one = 1 - 2.0**-53
    R = np.array([[1.0, one, rho], [one, 1.0, rho], [rho, rho, 1.0]])
    fit_hard(make(covariance="precomputed", n_samples=40, lam=lam), R)


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("correlation", ["kendall", "spearman"])
def test_no_penalty_on_ranks_of_duplicates(correlation, number):
    rows = np.random.default_rng(number).normal(size=(40, 2))[:, [0, 0, 1]]
    fit_hard(Nonparanormal(GraphicalLasso(lam=0.0), correlation=correlation), rows)


@pytest.mark.parametrize("rule", ["and", "or"])
def test_an_edge_of_partial_correlation_zero(rule):
    """Two variables that a lasso joined may be independent given the others under maximum likelihood."""
    rows = np.array([[1, 1, 0, 0, 1], [0, 0, 1, 0, 1], [0, 0, 1, 1, 0], [0, 1, 1, 0, 0]], dtype=float)
    fit_hard(NeighborhoodLasso(lam_ratio=0.01, rule=rule), rows)


def test_nearly_collinear_pair_by_admm():
    """The smallest eigenvalue is 4e-8."""
    left = [-1.86056488e-03, -1.01072134e-04, -1.30370934e-03, -2.16988548e-03]
    left += [-3.71406833e-03, -8.61367105e-03, 3.70212406e-03, 1.67759893e-03]
    right = [-2.40028077e-01, -1.30522264e-02, -1.68427726e-01, -2.80085428e-01]
    right += [-4.79198037e-01, -1.11169659e00, 4.77679749e-01, 2.16770143e-01]
    for lam_ratio in (0.5, 0.1, 0.01):
        fit_hard(CLIME(solver="admm", max_iter=500, lam_ratio=lam_ratio), np.column_stack([left, right]))
    fit_hard(SelectedGraph(CLIME(solver="admm", max_iter=500), n_lams=2), np.column_stack([left, right]))


@every_table
@pytest.mark.parametrize(
    "correlation", ["kendall", *(pytest.param(name, marks=pytest.mark.slow) for name in OTHER_CORRELATIONS)]
)
def test_ranks_always_have_a_result(rows, correlation):
    fit_hard(Nonparanormal(GraphicalLasso(), correlation=correlation), rows)


@pytest.mark.parametrize("name", ["two rows", "duplicates", "heavy ties", "nearly constant"])
@pytest.mark.parametrize("correlation", OTHER_CORRELATIONS)
def test_other_correlations_of_hard_tables(name, correlation):
    fit_hard(Nonparanormal(GraphicalLasso(), correlation=correlation), TABLES[name])


@every_table
@pytest.mark.parametrize("make", [GraphicalLasso, CLIME, NeighborhoodLasso])
def test_selection_always_has_a_result(make, rows):
    selections = {GraphicalLasso: "ebic", CLIME: "cv", NeighborhoodLasso: "stars"}
    selection = selections[make] if len(rows) >= 4 else "ebic"
    learner = SelectedGraph(make(), selection=selection, n_lams=6, n_folds=2, n_subsamples=4)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", FewValuesWarning)
        learner.fit(rows)
    for one in caught:
        assert "the smallest of" in str(one.message) or "ended before its tolerance" in str(one.message)
    check_result(learner, warned=True)


# Mazumder and Hastie (2012), "The graphical lasso: new insights and alternatives", Electronic Journal of Statistics 6,
# appendix: in R, set.seed(2008), then 5 columns of 2 rows and 50 columns of 10 rows, on which glasso from a warm start
# goes round in circles; penalties are 0.009 and 0.02 of the largest covariance.
NUMBERS = normal_numbers_of_r(2008, 500)
CIRCLES = {"5 of 2 rows": NUMBERS[:10].reshape(5, 2).T, "50 of 10 rows": NUMBERS.reshape(50, 10).T}


@pytest.mark.parametrize("rows", CIRCLES.values(), ids=CIRCLES)
@pytest.mark.parametrize("share", [0.009, 0.02])
def test_where_others_go_round_in_circles(rows, share):
    cold = fit_hard(GraphicalLasso(lam_ratio=share, max_iter=1000), rows)
    assert cold.converged_
    warm = GraphicalLasso(max_iter=1000).path(rows, lams=cold.lam_max_ * np.array([1.0, 0.5, 0.1, 1.01 * share, share]))
    assert all(found.converged for found in warm.estimates)
    assert warm.estimates[-1].objective == pytest.approx(cold.objective_, rel=2e-6)
    for k in range(len(warm)):
        check_positive_definite(warm.model(k))


# ---- repairs ----


def test_indefinite_covariances_are_repaired():
    S = np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])
    assert np.linalg.eigvalsh(S)[0] < 0
    for make in (GraphicalLasso, NeighborhoodLasso, CLIME):
        with pytest.warns(UserWarning, match=r"is indefinite: .* change of a correlation is 0\.4\. Check"):
            learner = make(covariance="precomputed", n_samples=50).fit(S)
        assert learner.repaired_ == pytest.approx(0.4, abs=0.005)
        assert np.linalg.eigvalsh(learner.correlation_)[0] >= -1e-10
        assert np.abs(learner.correlation_ - S).max() == pytest.approx(learner.repaired_, rel=1e-9)
        np.testing.assert_array_equal(learner.correlation_.diagonal(), 1.0)


@pytest.mark.parametrize("wrap", [lambda learner: learner, lambda learner: SelectedGraph(learner, n_lams=3)])
def test_an_indefinite_covariance_is_warned_of_once_with_the_largest_change(wrap):
    """Where all correlations are -0.8, the nearest correlation matrix of three columns has correlations of -0.5."""
    learner = wrap(GraphicalLasso(covariance="precomputed", n_samples=50))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learner.fit(100 * (1.8 * np.eye(3) - 0.8))
    assert len([one for one in caught if "change of a correlation is 0.3. Check" in str(one.message)]) == 1


@every_leaf
def test_pairwise_covariances_are_repaired(make):
    rng = np.random.default_rng(0)
    rows = np.where(rng.random((14, 8)) < 0.4, np.nan, rng.normal(size=(14, 1)) + 0.3 * rng.normal(size=(14, 8)))
    learner = fit_hard(make(missing="pairwise", lam_ratio=0.2), rows)
    assert learner.repaired_ > 1e-3
    assert np.linalg.eigvalsh(learner.correlation_)[0] >= -1e-10
    known = ~np.isnan(rows)
    assert learner.model_.n_samples == min((known[:, i] & known[:, j]).sum() for i in range(8) for j in range(i))


def test_indefinite_rank_correlations_are_repaired():
    """Kendall's tau of few rows: its sine is not a correlation matrix."""
    rows = np.random.default_rng(1).normal(size=(8, 20))
    for correlation in ("kendall", "spearman"):
        learner = fit_hard(Nonparanormal(GraphicalLasso(), correlation=correlation), rows)
        assert learner.repaired_ > 1e-3
        assert np.linalg.eigvalsh(learner.correlation_)[0] >= -1e-10
        assert Nonparanormal(correlation=correlation).fit(rows).repaired_ == learner.repaired_


def test_nothing_is_repaired_without_need():
    for X in (random_rows(6, 100), TABLES["more columns than rows"], TABLES["collinear"], TABLES["two rows"]):
        assert GraphicalLasso().fit(X).repaired_ == 0.0


@pytest.mark.parametrize("p", [1, 2])
@every_leaf
def test_one_and_two_columns(make, p):
    rows = chain_rows(2, 50).iloc[:, :p]
    learner = fit_hard(make(), rows)
    assert learner.graph_.number_of_edges() == p - 1
    if p == 1:
        assert learner.lam_max_ == 0
        np.testing.assert_allclose(learner.precision_, [[1 / rows["x0"].var(ddof=0)]], rtol=1e-9)


def test_clime_of_a_singular_covariance_needs_rows_for_its_ridge():
    S = pd.DataFrame(np.ones((3, 3)), index=list("abc"), columns=list("abc"))
    with pytest.raises(ValueError, match=r"ridge='auto' needs n_samples if the covariance is singular: give n_samples"):
        CLIME(covariance="precomputed").fit(S)
    assert fit_hard(CLIME(covariance="precomputed", n_samples=25), S).ridge_ == 0.2
    assert fit_hard(CLIME(covariance="precomputed", ridge=0.5), S).ridge_ == 0.5
