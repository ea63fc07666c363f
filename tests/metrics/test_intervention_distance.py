"""The structural intervention distance of the benchmarks: effects that regression on the parents gets wrong."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
from intervention_distance import intervention_distance


def wrong_effects(n, true_edges, edges, rng):
    """Count the pairs whose effect, in a linear system of random weights, is not the coefficient of the regression."""
    weights = np.zeros((n, n))
    for tail, head in true_edges:
        weights[tail, head] = rng.uniform(0.5, 1.5) * rng.choice([-1, 1])
    total = np.linalg.inv(np.eye(n) - weights)
    covariance = total.T @ np.diag(rng.uniform(0.5, 2, n)) @ total
    wrong = 0
    for i in range(n):
        given = [tail for tail, head in edges if head == i]
        for j in range(n):
            if j in given:
                wrong += abs(total[i, j]) > 1e-9
            elif j != i:
                on = [i, *given]
                slope = np.linalg.solve(covariance[np.ix_(on, on)], covariance[on, j])[0]
                wrong += abs(slope - total[i, j]) > 1e-9
    return wrong


@pytest.mark.parametrize("number", range(30))
def test_pairs_whose_regression_is_off(number):
    rng = np.random.default_rng(number)
    n = int(rng.integers(2, 8))
    graphs = []
    for _ in range(2):
        order = rng.permutation(n)
        graphs.append([(int(order[i]), int(order[j])) for i in range(n) for j in range(i + 1, n) if rng.random() < 0.4])
    assert intervention_distance(n, *graphs) == wrong_effects(n, *graphs, rng)
    assert intervention_distance(n, graphs[0], graphs[0]) == 0
