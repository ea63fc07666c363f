"""Sparse factors of components answer as dense ones do, and refuse what is not positive definite."""

import numpy as np
import pytest
from scipy.linalg import LinAlgError
from scipy.sparse import csr_array, diags_array

from pgmx.statistics import cholesky
from pgmx.statistics.cholesky import (
    CholmodFactor,
    DenseFactor,
    SparseFactor,
    factorise,
    factorise_sparsely,
    has_cholmod,
)


def band(p, bandwidth=2, size=0.18, seed=0):
    """Return a matrix of unit diagonal joined along a shuffled chain; its rows are diagonally dominant."""
    rng = np.random.default_rng(seed)
    matrix = sum(diags_array(rng.uniform(-size, size, p - k), offsets=k) for k in range(1, bandwidth + 1))
    shuffled = rng.permutation(p)
    dense = (matrix + matrix.T).toarray()[np.ix_(shuffled, shuffled)]
    np.fill_diagonal(dense, 1.0)
    return dense


@pytest.fixture(
    params=["SuperLU", pytest.param("CHOLMOD", marks=pytest.mark.skipif(not has_cholmod(), reason="no scikit-sparse"))]
)
def library(request, monkeypatch):
    monkeypatch.setattr(cholesky, "has_cholmod", lambda: request.param == "CHOLMOD")
    return {"SuperLU": SparseFactor, "CHOLMOD": CholmodFactor}[request.param]


@pytest.fixture
def pair(library):
    dense = band(60)
    return dense, factorise_sparsely(csr_array(dense))


def test_answers_are_those_of_the_matrix(pair, rng):
    dense, factor = pair
    right = rng.standard_normal((60, 3))
    np.testing.assert_allclose(factor.solve(right), np.linalg.solve(dense, right), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(factor.invert(), np.linalg.inv(dense), rtol=1e-11, atol=1e-13)
    np.testing.assert_array_equal(factor.invert(), factor.invert().T)
    np.testing.assert_allclose(np.log(factor.pivots).sum(), np.linalg.slogdet(dense)[1], rtol=1e-12)
    np.testing.assert_allclose(factor.reduce(right), DenseFactor(dense.copy()).reduce(right), rtol=1e-11)


def test_rows_have_the_covariance(pair):
    dense, factor = pair
    root = factor.correlate(np.eye(60))
    np.testing.assert_allclose(root @ root.T, np.linalg.inv(dense), rtol=1e-11, atol=1e-13)


def test_what_is_not_positive_definite_is_refused(monkeypatch, library):
    monkeypatch.setattr(cholesky, "SPARSE_FROM", 10)
    dense = band(40)
    assert isinstance(factorise(csr_array(dense)), library)
    for pivot in (0.0, -0.5):
        one_is_wrong = dense.copy()
        one_is_wrong[[7, 7, 8], [8, 7, 7]] = [1.0, 1.0 + pivot, 1.0]
        with pytest.raises(LinAlgError):
            factorise(csr_array(one_is_wrong))


def test_large_sparse_components_alone_have_sparse_factors(library):
    assert isinstance(factorise(csr_array(band(cholesky.SPARSE_FROM))), library)
    assert isinstance(factorise(csr_array(band(cholesky.SPARSE_FROM - 1))), DenseFactor)
    assert isinstance(factorise(csr_array(band(cholesky.SPARSE_FROM, bandwidth=5, size=0.1))), DenseFactor)
