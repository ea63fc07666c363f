"""Kernels of the graphical lasso: invariants of every sweep, optimality, threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from helpers.correlation_matrices import correlation
from helpers.examples import examples
from helpers.lasso_kernels import neighborhoods, start_ascent
from oracles import graphical_lasso as oracle
from pgmx._ext import _gram_lasso


def read_precision(block):
    indptr, indices, values = block.triplets()
    return sparse.csr_array((values, indices, indptr), shape=(block.size, block.size)).toarray()


@given(p=st.integers(1, 30), lam=st.floats(0.0, 1.0), number=st.integers(0, 99))
def test_components_are_those_of_the_graph(p, lam, number):
    R = correlation(p, 20, number)
    labels = _gram_lasso.components(R, lam)
    _, expected = sparse.csgraph.connected_components(np.abs(R) > lam)
    for members in (np.flatnonzero(expected == label) for label in np.unique(expected)):
        assert (labels[members] == members[0]).all()


@examples(60)
@given(
    p=st.integers(2, 40),
    n=st.sampled_from([3, 10, 100]),
    lam=st.sampled_from([0.02, 0.1, 0.3, 0.6]),
    slack=st.sampled_from([1e-2, 1e-9]),
    number=st.integers(0, 9),
)
def test_a_sweep_stays_feasible_and_raises_the_determinant(p, n, lam, slack, number):
    R = correlation(p, n, number)
    block = start_ascent(R, lam)
    last = np.linalg.slogdet(block.dual)[1]
    for _ in range(4):
        block.sweep(lam, slack * lam, 10, 0, len(block.dual), 0.0)
        W = np.array(block.dual)
        np.testing.assert_array_equal(W, W.T)
        np.testing.assert_array_equal(W.diagonal(), R.diagonal())
        assert (np.maximum(R - lam, W) == W)[~np.eye(p, dtype=bool)].all()
        assert (np.minimum(R + lam, W) == W)[~np.eye(p, dtype=bool)].all()
        sign, logdet = np.linalg.slogdet(W)
        assert sign == 1
        # coarse steps may lose what they are inexact by, to first order in the slack
        assert logdet >= last - 1e-9 - (0 if slack < 1e-6 else p * p * slack * lam)
        last = logdet


@pytest.mark.parametrize("p", [2, 7, 8, 9, 16, 33, 64])
def test_the_limit_is_optimal(p):
    """Also where columns are stored in incomplete blocks, and where rows are padded."""
    R, lam = correlation(p, 50, 1), 0.15
    block = start_ascent(R, lam, "soft")
    for _ in range(40):
        block.sweep(lam, 1e-12, 20, 0, len(block.dual), 0.0)
    trace, size, entries = block.precision()
    dense = read_precision(block)
    assert oracle.kkt_violation(dense, R, lam) < 1e-9
    assert trace == pytest.approx(np.trace(R @ dense), rel=1e-12)
    off = dense - np.diag(dense.diagonal())
    assert size == pytest.approx(np.abs(off).sum(), rel=1e-12)
    assert entries == np.count_nonzero(off)
    slack, squares, _ = block.residual(lam)
    assert squares == pytest.approx(np.linalg.norm(np.eye(p) - block.dual @ dense) ** 2, abs=1e-20)
    assert slack == pytest.approx((lam * np.abs(off) - (block.dual - R) * off).sum(), abs=1e-12)
    np.testing.assert_array_equal(dense, dense.T)


def test_a_precision_is_that_of_the_columns_now():
    R = correlation(6, 50, 1)
    block = start_ascent(R, 0.1, "soft")
    indptr, indices = np.array([0, 1, 2, 2, 2, 2, 2], dtype=np.int32), np.array([1, 0], dtype=np.int32)
    for read in (lambda: block.residual(0.1), block.triplets):
        block.precision()
        block.start_columns(indptr, indices, np.ones(2))
        with pytest.raises(RuntimeError, match="call `precision` first"):
            read()
        block.start_soft(0.1)


def test_a_zero_in_one_column_of_a_pair_is_a_zero_of_the_precision():
    R = np.eye(4)
    block = start_ascent(R, 0.1, "soft")
    indptr, indices = np.array([0, 2, 3, 4, 4], dtype=np.int32), np.array([1, 2, 0, 3], dtype=np.int32)
    block.start_columns(indptr, indices, np.array([0.3, 0.2, 0.1, 0.5]))
    assert block.precision()[2] == 2
    expected = np.eye(4)
    expected[0, 1] = expected[1, 0] = -0.2
    np.testing.assert_allclose(read_precision(block), expected, atol=1e-16)


def test_a_start_that_is_not_definite_is_told():
    R = np.full((3, 3), -0.9)
    np.fill_diagonal(R, 1.0)
    block = start_ascent(R, 0.1, "soft")
    assert np.linalg.eigvalsh(block.dual)[0] < 0
    assert sum(block.sweep(0.1, 1e-9, 10, 0, len(block.dual), 0.0)[2] for _ in range(3)) > 0


def test_given_neighbours():
    R = correlation(12, 60, 3)
    graph = sparse.csr_array(np.abs(R) > 0.25).astype(float)
    graph.setdiag(0.0)
    graph.eliminate_zeros()
    graph.sort_indices()
    block = start_ascent(R, 0.0)
    block.start_shrunk(0.0)
    for _ in range(200):
        moved, stuck = block.sweep_graph(
            graph.indptr.astype(np.int32), graph.indices.astype(np.int32), 1e-6, 0, len(block.dual), 0.0
        )
        assert stuck == 0
    assert moved < 1e-20
    block.precision()
    dense = read_precision(block)
    assert (dense[(graph.toarray() == 0) & ~np.eye(12, dtype=bool)] == 0).all()
    inverse = np.linalg.inv(dense)
    np.testing.assert_allclose(inverse[graph.toarray() != 0], R[graph.toarray() != 0], atol=1e-10)


def test_threads_do_not_disturb_each_other():
    problems = [correlation(40, 60, number) for number in range(8)]
    alone = [neighborhoods(R, [0.2, 0.05]) for R in problems]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda R: neighborhoods(R, [0.2, 0.05]), problems))
    for one, other in zip(alone, together, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)
