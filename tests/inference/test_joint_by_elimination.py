"""Joint distributions of a few variables of networks whose junction tree takes too much memory."""

import warnings

import numpy as np
import pytest

from pgmx.datasets import grid_network
from pgmx.inference import ApproximationWarning, LogFactors, PairwisePotentials, joint

LITTLE = 2**13  # bytes: elimination fits, the tree does not


@pytest.fixture(scope="module")
def grid():
    return grid_network(7, 7, edge_scale=1.0, random_state=1)


@pytest.mark.parametrize("evidence", [{}, {"x3": 1, "x40": 0}])
def test_little_memory_gives_the_same_answer(grid, evidence):
    expected = joint(grid, ["x8", "x48", "x0"], evidence)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer = joint(grid, ["x8", "x48", "x0"], evidence, memory=LITTLE)
    assert answer.shape == expected.shape == (2, 2, 2)
    np.testing.assert_allclose(answer, expected, rtol=1e-10)


def test_many_configurations_are_approximate(grid):
    with pytest.warns(ApproximationWarning):
        answer = joint(grid, ["x0"], memory=64, n_sweeps=200)
    assert answer.sum() == pytest.approx(1.0)


def test_impossible_configurations():
    table = [[0.0, -np.inf], [-np.inf, 0.0]]
    ring = PairwisePotentials.build([2] * 3, tables={(0, 1): table, (1, 2): table, (0, 2): np.zeros((2, 2))})
    answer = joint(LogFactors.from_potentials(ring), [0, 2], memory=16)
    np.testing.assert_allclose(answer, [[0.5, 0.0], [0.0, 0.5]], atol=1e-15)
