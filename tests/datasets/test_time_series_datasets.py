"""Sparse linear dynamical systems, and counts on a grid."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from pgmx.datasets import gridded_counts, sparse_system, system_transitions
from pgmx.datasets.time_series import _draw_log_intensities

KINDS = ["random", "block", "hub", "small-world", "uniform"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("n", "degree", "radius"), [(60, 4, 0.9), (37, 3, 0.5), (2, 2, 1.3), (5, 5, 0.9), (21, 4, 0.7), (6, 2, 0.9)]
)
def test_radius_and_degree(n, degree, radius, kind):
    coef = sparse_system(n, degree, radius, kind)
    assert np.abs(np.linalg.eigvals(coef.toarray())).max() == pytest.approx(radius, rel=1e-8)
    assert coef.nnz == n * degree and (kind == "uniform" or (np.diff(coef.indptr) == degree).all())
    assert coef.has_canonical_format
    sizes = np.abs(coef.data)
    assert sizes.max() <= 2 * sizes.min()
    assert n < 30 or np.unique(np.sign(coef.data)).tolist() == [-1.0, 1.0]


@pytest.mark.parametrize("kind", KINDS)
def test_same_seed_same_system(kind):
    one, other, third = (sparse_system(40, kind=kind, random_state=seed) for seed in (4, 4, 5))
    np.testing.assert_array_equal(one.toarray(), other.toarray())
    assert (one != third).nnz
    assert sparse_system(4, kind=kind, random_state=None).shape == (4, 4)


def test_kinds():
    block = sparse_system(60, 4, kind="block")
    parents = block.indices.reshape(60, 4)
    for start in (0, 20, 40):
        assert (parents[start : start + 20] == parents[start]).all()
        assert start <= parents[start].min() <= parents[start].max() < start + 20
    hub = sparse_system(200, 4, kind="hub")
    assert hub.indices.max() < 10
    ring = sparse_system(400, 3, kind="small-world").indices.reshape(400, 3)
    near = (np.arange(400)[:, None] - ring) % 400 < 3
    assert 0.87 < near.mean() < 0.93


def test_positions_of_uniform_systems():
    """Rows and columns of the positions have binomial counts, and positions are distinct."""
    coef = sparse_system(100, 10, kind="uniform", random_state=3)
    assert len(set(zip(*coef.nonzero(), strict=True))) == coef.nnz == 1000
    for counts in (np.diff(coef.indptr), np.bincount(coef.indices, minlength=100)):
        assert 6 < counts.var() < 13  # 9 expected


def test_transitions():
    """The coefficients are recovered from exact transitions; the level of noise is that of the residuals."""
    coef = sparse_system(8, 2, 1.0, "uniform").toarray()
    train, test, targets = system_transitions(coef, 400, noise=0.5, n_test=30)
    rows = train.drop(columns="series").to_numpy().reshape(400, 3, 8)
    residuals = rows[:, 1:] - rows[:, :2] @ coef.T
    assert residuals.std() / (test @ coef.T).std() == pytest.approx(0.5, rel=0.1)
    assert rows[:, 0].std() == pytest.approx(1, rel=0.05)
    np.testing.assert_allclose(targets, test @ coef.T, rtol=1e-12)
    assert train["series"].tolist() == np.repeat(np.arange(400), 3).tolist()
    exact = system_transitions(coef, 30, n_test=1).train
    rows = exact.drop(columns="series").to_numpy().reshape(30, 3, 8)
    np.testing.assert_allclose(rows[:, 1:], rows[:, :2] @ coef.T, atol=1e-12)
    pd.testing.assert_frame_equal(exact, system_transitions(csr_array(coef), 30, n_test=1).train)


@pytest.mark.slow
def test_radius_of_a_large_component():
    """Beyond the dense limit: Arnoldi iterations against all eigenvalues."""
    coef = sparse_system(350, 3, 0.9)
    assert np.abs(np.linalg.eigvals(coef.toarray())).max() == pytest.approx(0.9, rel=1e-7)


def test_without_a_cycle():
    """A graph without a cycle has the radius 0, and its largest row sum is set."""
    acyclic = [
        coef for seed in range(40) if not np.diag(coef := sparse_system(3, 1, 0.8, random_state=seed).toarray()).any()
    ]
    nilpotent = [coef for coef in acyclic if not np.linalg.matrix_power(coef, 3).any()]
    assert all(np.abs(coef).sum(axis=1).max() == pytest.approx(0.8) for coef in nilpotent)


def test_intensities_of_a_cell_follow_its_neighbours():
    """The map of a grid of 2 x 4 cells written cell by cell, with the same draws of three distant sources for each."""
    rows, columns = np.divmod(np.arange(8), 4)
    found = _draw_log_intensities(rows, columns, 30, np.random.default_rng(5))
    rng = np.random.default_rng(5)
    drive = np.eye(8)
    for a in range(8):
        for b in range(8):
            if abs(rows[a] - rows[b]) + abs(columns[a] - columns[b]) == 1:
                drive[a, b] = 0.3
    sources = rng.integers(8, size=(3, 8))
    for weights, one in zip(rng.uniform(0.2, 0.5, (3, 8)), sources, strict=True):
        drive[np.arange(8), one] += weights
    drive *= 0.9 / drive.sum(axis=1).max()
    state, expected = np.zeros(8), []
    for _ in range(24 + 30):
        state = drive @ state + 0.15 * rng.standard_normal(8)
        expected.append(state)
    np.testing.assert_allclose(found, expected[24:], rtol=1e-10)


def test_counts():
    counts = gridded_counts(8, 9, 504, random_state=2, min_count=1000)
    assert isinstance(counts.index, pd.DatetimeIndex)
    assert counts.index.freqstr == "h"
    assert (counts.max() == 1).all()
    assert (counts >= 0).all(axis=None)
    assert 0 < counts.shape[1] < 72
    # counts are whole numbers: multiples of the smallest step of a cell
    steps = [np.unique(values[values > 0]).min() for values in counts.to_numpy().T]
    multiples = counts.to_numpy() / steps
    assert (np.abs(multiples - multiples.round()) < 0.5).mean() == 1
    # the week shows: a cell is closer to itself a week later than half a week later
    values = counts.to_numpy()
    week, half = (np.corrcoef(values[:-lag].ravel(), values[lag:].ravel())[0, 1] for lag in (168, 84))
    assert week > half + 0.1
    pd.testing.assert_frame_equal(counts, gridded_counts(8, 9, 504, random_state=2, min_count=1000))
    assert gridded_counts(8, 9, 504, random_state=2, min_count=0).shape[1] == 72


@pytest.mark.parametrize(
    ("make", "error", "what"),
    [
        (lambda: sparse_system(0), ValueError, "n must be at least 1"),
        (lambda: sparse_system(3, 4), ValueError, "degree must be at most n = 3"),
        (lambda: sparse_system(3, 0), ValueError, "degree must be at least 1"),
        (lambda: sparse_system(3, 2, 0.0), ValueError, r"radius must be a number above 0, got 0\.0"),
        (lambda: sparse_system(3, 2, kind="ring"), ValueError, "kind must be one of random, block"),
        (lambda: sparse_system(3, 2, random_state=-1), ValueError, "random_state must not be negative"),
        (lambda: system_transitions(np.ones((2, 3))), ValueError, r"coef must be square, got the shape \(2, 3\)"),
        (lambda: system_transitions([[np.nan]]), ValueError, "coef must be finite"),
        (lambda: system_transitions([[0.5]], 0), ValueError, "n_series must be at least 1"),
        (lambda: system_transitions([[0.5]], noise=-1), ValueError, "noise must be a number of at least 0, got -1"),
        (lambda: system_transitions([[0.5]], n_test=0), ValueError, "n_test must be at least 1"),
        (lambda: gridded_counts(0), ValueError, "n_rows must be at least 1"),
        (lambda: gridded_counts(3, 3, 1), ValueError, "n_hours must be at least 2"),
        (lambda: gridded_counts(3, 3, 24, mean_count=0), ValueError, "mean_count must be a number above 0"),
        (lambda: gridded_counts(2, 2, 24, min_count=10**6), ValueError, "no cell has 1000000 counts in 24 hours"),
    ],
)
def test_errors(make, error, what):
    with pytest.raises(error, match=what):
        make()
