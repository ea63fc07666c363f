"""Series of structural vector autoregressions with nonlinear influences, and responses to random inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pgmx.checks import check_natural, is_number
from pgmx.datasets.random_graphs import make_generator
from pgmx.solvers.time_series.kernel_blocks import NAMES, make_kernel

FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "even": lambda y: np.cos(1.5 * y),
    "linear": lambda y: 0.3 * y,
    "odd": lambda y: np.tanh(2.0 * y),
}
#: Rows before the first returned row.
BURN_IN = 100


class StructuralSeries(NamedTuple):
    """Series and their true influences.

    Parameters
    ----------
    series : ndarray of float64, shape (n_rows, n)
        Rows in the order of time, oldest first.
    coef : ndarray of float64, shape (2, n, n)
        True coefficients [lag, target, source], lag 0 instantaneous.

    Examples
    --------
    >>> from pgmx.datasets import structural_series
    >>> structural_series(4, 50).coef.shape
    (2, 4, 4)
    """

    series: np.ndarray
    coef: np.ndarray


class KernelResponses(NamedTuple):
    """Inputs and responses of nodes, and the true graph of responses.

    Parameters
    ----------
    inputs, responses : ndarray of float64, shape (n_rows, n)
        Standard normal inputs; responses with noise.
    truth : ndarray of bool, shape (n, n)
        Whether a node responds to another, [target, source].

    Examples
    --------
    >>> from pgmx.datasets import kernel_responses
    >>> kernel_responses(4, 50).responses.shape
    (50, 4)
    """

    inputs: np.ndarray
    responses: np.ndarray
    truth: np.ndarray


def structural_series(
    n: int = 10,
    n_rows: int = 200,
    *,
    function: str = "even",
    edge_probability: float = 0.15,
    noise: float = 0.5,
    random_state: int | None = 0,
) -> StructuralSeries:
    r"""Simulate a structural vector autoregression with one lag and one function for all edges.

    .. math:: y_t = A_0\, g(y_t) + A_1\, g(y_{t-1}) + \sigma e_t, \qquad e_t \sim N(0, I)

    with an acyclic A0 and coefficients 1. Nodes have a random order. Each ordered pair in A0, and each pair of
    different nodes in A1, is an edge with the same probability.

    Parameters
    ----------
    n : int, default=10
        Number of nodes, at least 2.
    n_rows : int, default=200
        Number of rows, at least 1; 100 rows before them are dropped.
    function : {"even", "odd", "linear"}, default="even"
        g(y): cos(1.5 y), tanh(2 y), or 0.3 y. With "linear", the series may diverge in dense graphs.
    edge_probability : float, default=0.15
        Probability of an edge, between 0 and 1.
    noise : float, default=0.5
        Standard deviation σ of the noise, above 0.
    random_state : int or None, default=0
        A non-negative seed; None uses fresh entropy.

    Returns
    -------
    StructuralSeries
        The rows and the true coefficients.

    Raises
    ------
    TypeError, ValueError
        If a number is out of range, the function is unknown, or the series diverge.

    Examples
    --------
    >>> from pgmx.datasets import structural_series
    >>> series, coef = structural_series(5, 300, random_state=1)
    >>> series.shape, int(coef[0].sum()), int(coef[1].sum())
    ((300, 5), 0, 4)
    """
    n, n_rows = check_natural(n, "n", 2), check_natural(n_rows, "n_rows", 1)
    _check_share(edge_probability, "edge_probability")
    if function not in FUNCTIONS:
        raise ValueError(f"function must be one of {', '.join(FUNCTIONS)}, got {function!r}")
    if not is_number(noise) or noise <= 0:
        raise ValueError(f"noise must be a number above 0, got {noise!r}")
    g = FUNCTIONS[function]
    rng = make_generator(random_state)
    order = rng.permutation(n)
    coef = (rng.random((2, n, n)) < edge_probability).astype(np.float64)
    # Instantaneous influences follow a random order of the nodes: they have no cycle.
    coef[0] = np.tril(coef[0], -1)[np.ix_(np.argsort(order), np.argsort(order))]
    np.fill_diagonal(coef[1], 0.0)
    series = np.zeros((BURN_IN + n_rows, n))
    with np.errstate(over="ignore", invalid="ignore"):  # explosive series are refused below
        for t in range(1, len(series)):
            row = coef[1] @ g(series[t - 1]) + noise * rng.standard_normal(n)
            for node in order:
                row[node] += coef[0, node] @ g(row)
            series[t] = row
    if not np.isfinite(series).all() or np.abs(series).max() > 1e6 * noise:
        raise ValueError(f"the series diverge with function={function!r}: use a smaller edge_probability or n")
    return StructuralSeries(series[BURN_IN:], coef)


def kernel_responses(
    n: int = 20,
    n_rows: int = 100,
    *,
    kernel: str = "poly2",
    edge_probability: float = 0.3,
    snr: float = 10.0,
    random_state: int | None = 0,
) -> KernelResponses:
    r"""Draw responses of nodes to random inputs through functions of a reproducing kernel Hilbert space.

    .. math:: y_j = \sum_{i \ne j} s_{ij} K_i \alpha_{ij} + e_j, \qquad \alpha_{ij} \sim N(0, I)

    with the kernel matrices :math:`K_i` of the standard normal inputs :math:`x_i`. The variance of the noise is the
    variance of the sum, divided by the signal-to-noise ratio.

    Parameters
    ----------
    n : int, default=20
        Number of nodes, at least 2.
    n_rows : int, default=100
        Number of rows, at least 2.
    kernel : {"poly2", "gaussian", "linear"}, default="poly2"
        (1 + uv)², exp(-(u - v)² / 2), or uv.
    edge_probability : float, default=0.3
        Probability that a node responds to another, between 0 and 1.
    snr : float, default=10.0
        Signal-to-noise ratio in decibels.
    random_state : int or None, default=0
        A non-negative seed; None uses fresh entropy.

    Returns
    -------
    KernelResponses
        Inputs, responses and the true graph. Nodes without a source are noise of variance 1.

    Raises
    ------
    TypeError, ValueError
        If a number is out of range, or the kernel is unknown.

    Notes
    -----
    O(n T²) time and O(T²) memory.

    References
    ----------
    .. [1] Shen, Y. (2019). Online, nonlinear and tensor-based learning over networks. Thesis, University of Minnesota,
       section 5.6.1.

    Examples
    --------
    >>> from pgmx.datasets import kernel_responses
    >>> inputs, responses, truth = kernel_responses(20, 100)
    >>> round(float(truth.mean()), 2)
    0.26
    """
    n, n_rows = check_natural(n, "n", 2), check_natural(n_rows, "n_rows", 2)
    _check_share(edge_probability, "edge_probability")
    if kernel not in NAMES:
        raise ValueError(f"kernel must be one of {', '.join(NAMES)}, got {kernel!r}")
    if not is_number(snr):
        raise ValueError(f"snr must be a number in decibels, got {snr!r}")
    rng = make_generator(random_state)
    truth = rng.random((n, n)) < edge_probability
    np.fill_diagonal(truth, False)
    inputs = rng.standard_normal((n_rows, n))
    evaluate = make_kernel(kernel, 1.0)
    signals = np.zeros((n_rows, n))
    for source in range(n):
        targets = np.flatnonzero(truth[:, source])
        matrix = evaluate(inputs[:, source][:, None], inputs[:, source][None, :])
        signals[:, targets] += matrix @ rng.standard_normal((n_rows, len(targets)))
    scales = signals.std(axis=0) / 10.0 ** (snr / 20.0)
    scales[scales == 0.0] = 1.0  # nodes without a parent are noise of variance 1
    return KernelResponses(inputs, signals + scales * rng.standard_normal((n_rows, n)), truth)


def _check_share(value: Any, name: str) -> None:
    if not is_number(value) or not 0 <= value <= 1:
        raise ValueError(f"{name} must be between 0 and 1, got {value!r}")
