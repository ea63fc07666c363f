"""Figures of R's glasso, with the commands that made them, and solutions known in closed form.

The figures of R are in the tests of scikit-learn 1.9 (covariance/tests/test_graphical_lasso.py): glasso on covariances,
with penalize.diagonal = FALSE, which is the problem of `graphical_lasso_path` on a covariance. The learner divides by
standard deviations first, so that a pair (i, j) has the penalty lam s_i s_j on the covariance.
"""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from helpers.gaussian_tables import every_leaf
from pgmx.estimators import CLIME, GraphicalLasso, NeighborhoodLasso
from pgmx.solvers.gaussian.graphical_lasso import graphical_lasso_path

IRIS = load_iris().data

# R> library(glasso)
# R> S <- cov(iris[, 1:4]) * 149 / 150
# R> glasso(S, 1.0, penalize.diagonal = FALSE)[c("w", "wi")]
IRIS_W = [
    [0.68112222, 0.0, 0.265820, 0.02464314],
    [0.0, 0.1887129, 0.0, 0.0],
    [0.265820, 0.0, 3.095503, 0.286972],
    [0.02464314, 0.0, 0.286972, 0.57713289],
]
IRIS_WI = [
    [1.5190747, 0.0, -0.1304475, 0.0],
    [0.0, 5.299055, 0.0, 0.0],
    [-0.1304475, 0.0, 0.3498624, -0.1683946],
    [0.0, 0.0, -0.1683946, 1.8164353],
]

# R> X <- t(array(c(5.4, 3.7, 1.5, 0.2, 4.8, 3.4, 1.6, 0.2, 4.8, 3.0, 1.4, 0.1), dim = c(4, 3)))
# R> glasso(cov(X) * 2 / 3, 0.01, penalize.diagonal = FALSE)[c("w", "wi")]
THREE_W = [
    [0.08, 0.056666662595, 0.00229729713223, 0.00153153142149],
    [0.056666662595, 0.082222222222, 0.00333333333333, 0.00222222222222],
    [0.002297297132, 0.003333333333, 0.00666666666667, 0.00009009009009],
    [0.001531531421, 0.002222222222, 0.00009009009009, 0.00222222222222],
]
THREE_WI = [
    [24.42244057, -16.831679593, 0.0, 0.0],
    [-16.83168201, 24.351841681, -6.206896552, -12.5],
    [0.0, -6.206896171, 153.103448276, 0.0],
    [0.0, -12.499999143, 0.0, 462.5],
]


@pytest.mark.parametrize(
    ("rows", "penalty", "W", "precision", "digits"),
    [(IRIS, 1.0, IRIS_W, IRIS_WI, 1e-6), (IRIS[10:13], 0.01, THREE_W, THREE_WI, 1e-5)],
    ids=["150 rows", "3 rows"],
)
def test_glasso_of_r(rows, penalty, W, precision, digits):
    S = np.cov(rows, rowvar=False, bias=True)
    (found,) = graphical_lasso_path(S, [penalty], tol=1e-12)
    theta = found.precision.toarray()
    np.testing.assert_allclose(theta, precision, rtol=0, atol=2 * digits)  # the digits that R prints
    np.testing.assert_allclose(np.linalg.inv(theta), W, rtol=0, atol=digits)
    assert (theta != 0).tolist() == (np.array(precision) != 0).tolist()


def test_quic_of_two_columns():
    """Of one pair the penalty on the covariance is that of the learner: skggm's ``quic(S, lam=0.1, tol=1e-8)``."""
    petals = IRIS[:, 2:]
    learner = GraphicalLasso(lam=0.1 / petals.std(axis=0).prod(), tol=1e-12).fit(petals)
    expected = [[1.52836773, -3.14334831], [-3.14334831, 8.19753385]]
    np.testing.assert_allclose(learner.precision_, expected, rtol=0, atol=1e-5)
    np.testing.assert_allclose(learner.covariance_, [[3.09550269, 1.186972], [1.186972, 0.57713289]], rtol=0, atol=1e-6)


@pytest.mark.parametrize("rho", [0.7, -0.7])
@pytest.mark.parametrize("lam", [0.1, 0.4])
def test_one_pair_in_closed_form(rho, lam):
    S = np.array([[1.0, rho], [rho, 1.0]])
    options = {"lam": lam, "covariance": "precomputed", "n_samples": 100}
    shrunk = np.sign(rho) * (abs(rho) - lam)
    glasso = GraphicalLasso(tol=1e-12, **options).fit(S)
    np.testing.assert_allclose(glasso.covariance_, [[1.0, shrunk], [shrunk, 1.0]], atol=1e-6)
    assert glasso.objective_ == pytest.approx(np.log(1 - shrunk**2) + 2, abs=1e-9)
    neighbours = NeighborhoodLasso(**options).fit(S)
    np.testing.assert_allclose(neighbours.coefficients_, [[0.0, shrunk], [shrunk, 0.0]], atol=1e-9)
    assert neighbours.objective_ == pytest.approx(2 * (0.5 - shrunk**2 / 2), abs=1e-9)
    # CLIME: q = (a, -b) with a + rho b' >= 1 - lam and |rho a - b| <= lam, both binding
    clime = CLIME(ridge=0.0, **options).fit(S)
    own, other = np.linalg.solve([[1.0, -abs(rho)], [abs(rho), -1.0]], [1 - lam, lam])
    if lam >= clime.lam_max_:
        own, other = 1 - lam, 0.0
    np.testing.assert_allclose(
        clime.precision_, [[own, -np.sign(rho) * other], [-np.sign(rho) * other, own]], atol=1e-9
    )


@every_leaf
def test_equal_correlations_in_closed_form(make):
    """By symmetry all edges are there or none, all of one weight."""
    p, rho = 6, 0.5
    S = np.full((p, p), rho) + (1 - rho) * np.eye(p)
    learner = make(covariance="precomputed", n_samples=100, lam=0.1, tol=1e-10).fit(S)
    assert len(learner.edges_) == p * (p - 1) // 2
    off = learner.precision_[np.triu_indices(p, 1)]
    np.testing.assert_allclose(off, off[0], rtol=1e-4)
    if make is GraphicalLasso:  # W has rho - lam off the diagonal
        expected = np.linalg.inv(np.full((p, p), rho - 0.1) + (1 - rho + 0.1) * np.eye(p))
        np.testing.assert_allclose(learner.precision_, expected, atol=1e-4)
