"""The kernel that fills missing values of rows under a sparse precision, against dense matrices."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import LinAlgError
from scipy.sparse import csr_array

from helpers.examples import examples
from pgmx.statistics.precision import RowPrecision, scale_to_unit_diagonal


def draw_root(n, share, rng):
    """Return a square matrix with unit-diagonal product: the rows are scaled regressions in a random order."""
    root = np.triu(rng.normal(size=(n, n)) * (rng.random((n, n)) < share), 1) + np.diag(rng.uniform(0.5, 2.0, n))
    root = root[rng.permutation(n)][:, rng.permutation(n)]
    return root / np.sqrt(np.square(root).sum(axis=0))


@pytest.mark.parametrize("kind", ["chain", "grid", "random", "clique"])
@pytest.mark.parametrize("with_root", [False, True])
def test_large_components_have_sparse_factors(kind, with_root):
    """More variables than have dense factors; the clique has one in spite of its size."""
    rng = np.random.default_rng(11)
    n = 240
    graph = {"chain": nx.path_graph(n), "grid": nx.grid_2d_graph(16, 15), "clique": nx.complete_graph(n)}.get(kind)
    edges = np.array([] if graph is None else list(nx.convert_node_labels_to_integers(graph).edges()))
    if graph is None:
        edges = rng.integers(0, n, size=(300, 2))
        edges = edges[edges[:, 0] != edges[:, 1]]
    root = np.diag(rng.uniform(1.0, 2.0, n))
    root[edges.max(axis=1), edges.min(axis=1)] = rng.normal(size=len(edges)) / np.sqrt(len(edges) / n)
    order = rng.permutation(n)
    root = root[:, order] / np.sqrt(np.square(root[:, order]).sum(axis=0))
    dense = root.T @ root
    matrix = scale_to_unit_diagonal(csr_array(np.where(np.abs(dense) > 1e-300, dense, 0.0)))[0]
    precision = RowPrecision(matrix, csr_array(root) if with_root else None)
    missing = np.ones((11, n), dtype=bool)
    missing[:, ::7] = rng.random((11, len(range(0, n, 7)))) < 0.5
    missing[3:] = missing[2]
    scores = np.where(missing, 0.0, rng.normal(size=(11, n)))
    filled, log_dets, variances = precision.fill(scores, missing, variances=True)
    for k in (0, 1, 2, 10):
        hidden, seen = np.flatnonzero(missing[k]), np.flatnonzero(~missing[k])
        own = dense[np.ix_(hidden, hidden)]
        expected = np.linalg.solve(own, -dense[np.ix_(hidden, seen)] @ scores[k, seen])
        np.testing.assert_allclose(filled[k, hidden], expected, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(variances[k, hidden], np.linalg.inv(own).diagonal(), rtol=1e-8)
        assert log_dets[k] == pytest.approx(np.linalg.slogdet(own)[1], abs=1e-8)
        alone = precision.fill(scores[[k]], missing[[k]], variances=True)
        np.testing.assert_array_equal(alone[0][0], filled[k])
        np.testing.assert_array_equal(alone[2][0], variances[k])


@given(st.integers(1, 12), st.sampled_from([0.0, 0.2, 0.5, 1.0]), st.integers(0, 10_000), st.booleans())
@examples(60)
def test_means_variances_and_determinants(n, share, seed, with_root):
    rng = np.random.default_rng(seed)
    root = draw_root(n, share, rng)
    dense = root.T @ root
    matrix = scale_to_unit_diagonal(csr_array(dense))[0]
    precision = RowPrecision(matrix, csr_array(root) if with_root else None)
    rows = int(rng.integers(1, 40))
    missing = rng.random((rows, n)) < rng.choice([0.1, 0.5, 0.9])
    missing[rows // 2 :] = missing[rows // 2]
    scores = np.where(missing, 0.0, rng.normal(size=(rows, n)))
    before = scores.copy()
    filled, log_dets, variances = precision.fill(scores, missing, variances=True)
    np.testing.assert_array_equal(scores, before)
    for k in range(rows):
        hidden, seen = np.flatnonzero(missing[k]), np.flatnonzero(~missing[k])
        own = dense[np.ix_(hidden, hidden)]
        expected = np.linalg.solve(own, -dense[np.ix_(hidden, seen)] @ scores[k, seen])
        np.testing.assert_allclose(filled[k, hidden], expected, rtol=1e-8, atol=1e-8)
        np.testing.assert_array_equal(filled[k, seen], scores[k, seen])
        np.testing.assert_allclose(variances[k, hidden], np.linalg.inv(own).diagonal(), rtol=1e-8)
        assert not variances[k, seen].any()
        assert log_dets[k] == pytest.approx(np.linalg.slogdet(own)[1], abs=1e-8)


def test_rows_do_not_depend_on_each_other():
    rng = np.random.default_rng(7)
    root = draw_root(30, 0.15, rng)
    precision = RowPrecision(scale_to_unit_diagonal(csr_array(root.T @ root))[0], csr_array(root))
    missing = rng.random((50, 30)) < 0.4
    missing[20:] = missing[3]
    scores = np.where(missing, 0.0, rng.normal(size=(50, 30)))
    whole = precision.fill(scores, missing, variances=True)
    order = rng.permutation(50)
    for found, expected in zip(precision.fill(scores[order], missing[order], variances=True), whole, strict=True):
        np.testing.assert_array_equal(found, expected[order])
    for k in range(0, 50, 7):
        for found, expected in zip(precision.fill(scores[[k]], missing[[k]], variances=True), whole, strict=True):
            np.testing.assert_array_equal(found[0], expected[k])


def test_a_singular_precision_needs_its_root():
    """Two variables whose sum is known to 1e-9: the precision of both has lost all digits, its root has not."""
    root = np.array([[1e9, 1e9], [1.0, 0.0]])
    units = np.sqrt(np.square(root).sum(axis=0))
    root = root / units
    matrix = scale_to_unit_diagonal(csr_array(root.T @ root))[0]
    missing = np.ones((1, 2), dtype=bool)
    with pytest.raises(LinAlgError):
        RowPrecision(matrix).fill(np.zeros((1, 2)), missing)
    _, log_dets, variances = RowPrecision(matrix, csr_array(root)).fill(np.zeros((1, 2)), missing, variances=True)
    np.testing.assert_allclose(variances[0] / units**2, [1.0, 1.0], rtol=1e-7)
    assert log_dets[0] + 2.0 * np.log(units).sum() == pytest.approx(2.0 * np.log(1e9), rel=1e-12)
