"""Series of structural vector autoregressions, and responses to random inputs."""

import networkx as nx
import numpy as np
import pytest

from oracles.svarm import kernel_matrix
from pgmx.datasets import kernel_responses, structural_series


@pytest.mark.parametrize("function", ["even", "odd", "linear"])
def test_rows_follow_the_recursion(function):
    series, coef = structural_series(6, 400, function=function, edge_probability=0.2, noise=0.1, random_state=3)
    g = {"even": lambda y: np.cos(1.5 * y), "odd": lambda y: np.tanh(2 * y), "linear": lambda y: 0.3 * y}[function]
    noise = series[1:] - g(series[1:]) @ coef[0].T - g(series[:-1]) @ coef[1].T
    assert noise.std() == pytest.approx(0.1, rel=0.05)
    assert np.abs(np.corrcoef(noise, rowvar=False) - np.eye(6)).max() < 0.2
    assert nx.is_directed_acyclic_graph(nx.from_numpy_array(coef[0].T, create_using=nx.DiGraph))
    assert not coef[1].diagonal().any()
    assert coef[0].any()
    assert coef[1].any()


def test_number_of_edges():
    coef = structural_series(60, 1, edge_probability=0.1, random_state=1).coef
    assert coef[0].sum() == pytest.approx(0.1 * 60 * 59 / 2, rel=0.2)
    assert coef[1].sum() == pytest.approx(0.1 * 60 * 59, rel=0.2)
    again = structural_series(60, 1, edge_probability=0.1, random_state=1)
    np.testing.assert_array_equal(again.coef, coef)


@pytest.mark.parametrize("kernel", ["gaussian", "poly2", "linear"])
def test_responses_lie_in_the_span_of_their_parents(kernel):
    inputs, responses, truth = kernel_responses(6, 80, kernel=kernel, snr=60.0, random_state=2)
    assert not truth.diagonal().any()
    for target in range(6):
        parents = np.flatnonzero(truth[target])
        wide = np.hstack([np.zeros((80, 1)), *(kernel_matrix(inputs[:, source], kernel) for source in parents)])
        fit = wide @ np.linalg.lstsq(wide, responses[:, target], rcond=1e-9)[0]
        share = ((responses[:, target] - fit) ** 2).sum() / (responses[:, target] ** 2).sum()
        assert share < 1e-5 or not len(parents)


@pytest.mark.slow
def test_signal_to_noise_ratio():
    loud, quiet = (kernel_responses(5, 4000, kernel="linear", snr=snr, edge_probability=1.0) for snr in (10.0, 200.0))
    noise = loud.responses - quiet.responses
    np.testing.assert_allclose(quiet.responses.var(axis=0) / noise.var(axis=0), 10.0, rtol=0.1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: structural_series(1), "n must"),
        (lambda: structural_series(function="sine"), "'sine'"),
        (lambda: structural_series(edge_probability=2.0), "edge_probability"),
        (lambda: structural_series(noise=0.0), "noise"),
        (lambda: structural_series(40, function="linear", edge_probability=0.9), "diverge"),
        (lambda: kernel_responses(kernel="rbf"), "'rbf'"),
        (lambda: kernel_responses(snr=None), "snr"),
        (lambda: kernel_responses(n_rows=1), "n_rows"),
    ],
)
def test_errors(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()
