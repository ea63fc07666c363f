"""Components of correlations that are never formed as a whole, against those of the matrix."""

import numpy as np
import pytest

from pgmx.statistics import gaussian_sample
from pgmx.statistics.gaussian import correlations
from pgmx.statistics.gaussian.correlations import DenseCorrelations, FactoredCorrelations


@pytest.fixture
def factor(monkeypatch):
    monkeypatch.setattr(correlations, "_TILE", 16)
    monkeypatch.setattr(correlations, "_MOST_PAIRS", 100)
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(20, 70))
    rows[:, 10] = rows[:, 60]  # a correlation of 1
    rows[:, 30] = 2.0  # uncorrelated with all others
    return gaussian_sample(rows, constant="isolate").factor


def label_by_first(labels):
    first = {}
    return [first.setdefault(label, len(first)) for label in labels]


def grow_components(matrix, lam):
    """Label components by depth-first search."""
    labels = [-1] * len(matrix)
    for root in range(len(matrix)):
        stack = [root] if labels[root] < 0 else []
        while stack:
            node = stack.pop()
            labels[node] = root
            stack += [j for j in np.flatnonzero(np.abs(matrix[node]) > lam).tolist() if labels[j] < 0]
    return label_by_first(labels)


@pytest.mark.parametrize("scan", [{}, {"share": 0.4}, {"lam": 0.5}, {"lam": 0.3, "share": 0.5}])
def test_components_are_those_of_the_matrix(factor, scan):
    dense, factored = DenseCorrelations((factor.T @ factor).clip(-1, 1)), FactoredCorrelations(factor)
    factored.scan(**scan)
    assert factored.largest == pytest.approx(dense.largest, abs=1e-15) == 1.0
    for lam in [1.0, 0.7, 0.6, 0.55, 0.5, 0.45, 0.4, 0.3, 0.1, 0.0]:
        expected = grow_components(dense.matrix, lam)
        assert label_by_first(factored.find_components(lam)) == expected == label_by_first(dense.find_components(lam))


def test_a_scan_goes_no_further_than_it_must(factor, monkeypatch):
    factored = FactoredCorrelations(factor)
    factored.scan(share=0.4)
    monkeypatch.setattr(factored, "_read_tiles", lambda: pytest.fail("another scan"))
    factored.scan(0.4)
    factored.scan(np.inf)
    factored.find_components(0.45)
    factored.find_least_penalty(10, 0.5)


@pytest.mark.parametrize("make", [lambda A: FactoredCorrelations(A), lambda A: DenseCorrelations(A.T @ A)])
@pytest.mark.parametrize("size", [1, 2, 5, 20, 69, 70])
def test_the_least_penalty_under_which_components_are_small(factor, make, size):
    parts = make(factor)

    def count(lam):
        return np.bincount(parts.find_components(lam)).max()

    least = parts.find_least_penalty(size, 0.05)
    assert least >= 0.05
    assert count(least) <= size
    if least > 0.05:
        assert count(np.nextafter(least, 0.0)) > size


def test_the_matrix_of_a_component(factor):
    nodes = np.array([2, 10, 17, 30, 60])
    R = FactoredCorrelations(factor).select(nodes)
    assert np.array_equal(R, R.T)
    assert np.array_equal(R.diagonal(), np.ones(5))
    assert np.abs(R - (factor.T @ factor)[np.ix_(nodes, nodes)]).max() < 1e-14
    assert R[1, 4] == 1.0
    assert np.array_equal(R[3], [0, 0, 0, 1, 0])
