"""Data that change over time: series with switching input powers, and streams with drifting target functions."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pgmx.checks import as_reals, check_natural, is_number
from pgmx.datasets.random_graphs import make_generator

#: Rows are targets. The scan of the source is damaged; this matrix has the same density.
SEED_MATRIX = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 0, 1], [1, 0, 1, 0]])
#: Waves of a function, the norm of their frequencies, and rows for the estimates of its mean and deviation.
_N_WAVES, _FREQUENCY, _N_SAMPLED = 3, np.pi, 1000
#: Mean and standard deviation of the functions.
_MEAN, _DEVIATION = 0.5, 0.25


class SwitchingSeries(NamedTuple):
    """Rows of structural equations, with the powers and gains of the inputs."""

    #: Rows (M L, N), float64.
    series: np.ndarray
    #: Mean squares of the inputs in each window, (M, N).
    exogenous_power: np.ndarray
    #: Diagonal of B, (N,).
    gain: np.ndarray


def kronecker_coefficients(
    n_factors: int = 3, *, weights: tuple[float, float] = (0.2, 0.5), random_state: int | None = 0
) -> np.ndarray:
    r"""Draw the coefficients of a Kronecker graph, the repeated product of a binary matrix of four nodes.

    .. math:: S = S_0 \otimes \dots \otimes S_0, \qquad a_{ij} \sim U(w_1 s_{ij}, w_2 s_{ij})

    Parameters
    ----------
    n_factors : int, default=3
        Number k of factors, from 1 to 5; there are N = 4ᵏ nodes.
    weights : tuple of (float, float), default=(0.2, 0.5)
        Smallest and largest coefficient of an edge, above 0.
    random_state : int or None, default=0
        A non-negative seed; None uses fresh entropy.

    Returns
    -------
    ndarray of float64, shape (N, N)
        A, ``[target, source]``, zero diagonal, density 2⁻ᵏ.

    Raises
    ------
    TypeError, ValueError
        If a number is out of its range.

    Notes
    -----
    The matrix in the scan of the source is damaged. The matrix used here, 0011/0011/0101/1010, gives the same density.

    References
    ----------
    Y. Shen (2019), Online and nonlinear learning over networks, thesis, section 4.6.1.

    Examples
    --------
    >>> from pgmx.datasets import kronecker_coefficients
    >>> A = kronecker_coefficients()
    >>> A.shape, int((A != 0).sum())
    ((64, 64), 512)
    """
    k = check_natural(n_factors, "n_factors", 1)
    if k > 5:
        raise ValueError(f"n_factors must be at most 5, for 4**n_factors nodes, got {k}")
    low, high = _read_range(weights, "weights")
    matrix = np.ones((1, 1))
    for _ in range(k):
        matrix = np.kron(matrix, SEED_MATRIX)
    return matrix * make_generator(random_state).uniform(low, high, matrix.shape)


def switching_series(
    coef: ArrayLike,
    n_windows: int,
    window: int,
    *,
    gains: tuple[float, float] = (2.0, 3.0),
    deviations: tuple[float, float] = (0.5, 3.0),
    noise: float = 0.1,
    same_power: bool = False,
    random_state: int | None = 0,
) -> SwitchingSeries:
    r"""Draw series of structural equations with Gaussian inputs whose powers change from window to window.

    .. math:: y_t = A_m y_t + B x_t + e_t, \qquad x_t \sim N(0, \operatorname{diag}(\sigma_m^2)),
        \quad e_t \sim N(0, \sigma_e^2 I)

    Parameters
    ----------
    coef : array_like of float, shape (N, N) or (M, N, N)
        A, ``[target, source]``, with a zero diagonal: one matrix for all windows, or one per window.
    n_windows : int
        Number of windows M, at least 1.
    window : int
        Number of rows L per window, at least 1.
    gains : tuple of (float, float), default=(2.0, 3.0)
        Limits of the diagonal of B, which is drawn uniformly.
    deviations : tuple of (float, float), default=(0.5, 3.0)
        Limits of the standard deviations of the inputs, drawn uniformly, one per input and window.
    noise : float, default=0.1
        Standard deviation of e, at least 0.
    same_power : bool, default=False
        If True, all inputs of a window have the same standard deviation, as in the source. Edges are then not
        identified.
    random_state : int or None, default=0
        A non-negative seed; None uses fresh entropy.

    Returns
    -------
    SwitchingSeries
        Rows, mean squares of the drawn inputs, and gains.

    Raises
    ------
    TypeError, ValueError
        If a number is out of its range, or I − A has no inverse.

    References
    ----------
    Y. Shen (2019), Online and nonlinear learning over networks, thesis, sections 4.6.1 and 4.6.2.

    Examples
    --------
    >>> from pgmx.datasets import kronecker_coefficients, switching_series
    >>> drawn = switching_series(kronecker_coefficients(2), 5, 200)
    >>> drawn.series.shape, drawn.exogenous_power.shape
    ((1000, 16), (5, 16))
    """
    n_windows, window = check_natural(n_windows, "n_windows", 1), check_natural(window, "window", 1)
    matrices = _read_matrices(coef, n_windows)
    low, high = _read_range(gains, "gains")
    least, most = _read_range(deviations, "deviations")
    if not is_number(noise) or noise < 0:
        raise ValueError(f"noise must be a number of at least 0, got {noise!r}")
    n = int(matrices.shape[-1])
    rng = make_generator(random_state)
    gain = rng.uniform(low, high, n)
    sigmas = rng.uniform(least, most, (n_windows, 1 if same_power else n)) * np.ones(n)
    series, powers = np.empty((n_windows, window, n)), np.empty((n_windows, n))
    for m, sigma in enumerate(sigmas):
        inputs = rng.standard_normal((window, n)) * sigma
        # of the drawn inputs, not sigma²: this is what an observer of the inputs computes
        powers[m] = (inputs**2).mean(axis=0)
        driven = inputs * gain + noise * rng.standard_normal((window, n))
        series[m] = np.linalg.solve(np.eye(n) - matrices[m if len(matrices) > 1 else 0], driven.T).T
    return SwitchingSeries(series.reshape(-1, n), powers, gain)


def _read_range(values: tuple[float, float], name: str) -> tuple[float, float]:
    ends = np.asarray(values)
    if ends.shape != (2,) or ends.dtype.kind not in "iuf" or not 0.0 < ends[0] <= ends[1] < np.inf:
        raise ValueError(f"{name} must be two numbers, 0 < smallest <= largest, got {values!r}")
    return float(ends[0]), float(ends[1])


def _read_matrices(coef: ArrayLike, n_windows: int) -> np.ndarray:
    """Return A as (1, N, N) or (M, N, N)."""
    matrices = as_reals(coef, "coef").astype(np.float64)
    matrices = matrices[None] if matrices.ndim == 2 else matrices
    if matrices.ndim != 3 or matrices.shape[1] != matrices.shape[2] or len(matrices) not in (1, n_windows):
        raise ValueError(
            f"coef must have the shape (N, N), or ({n_windows}, N, N) with one matrix per window, got {np.shape(coef)}"
        )
    n = matrices.shape[1]
    if not n or not np.isfinite(matrices).all() or np.einsum("mii->mi", matrices).any():
        raise ValueError("coef must be finite, for at least one series, with zeros on the diagonal")
    for m, matrix in enumerate(matrices):
        # above 1e12 the solution of the equations has fewer than four correct digits
        if np.linalg.cond(np.eye(n) - matrix) > 1e12:
            raise ValueError(f"I - coef has no inverse in window {m}: give other coefficients")
    return matrices


class DriftingStream(NamedTuple):
    """A stream with a changing target function, returned by `drifting_stream`.

    Attributes
    ----------
    X : ndarray of float64, shape (n_rows, n_features)
        Rows, uniform in [0, 1].
    y : ndarray of float64, shape (n_rows,)
        Targets with their noise.
    changes : ndarray of int64
        First rows of the new functions, counted from 0.
    """

    X: np.ndarray
    y: np.ndarray
    changes: np.ndarray


def drifting_stream(
    n_rows: int, every: int | None = 2000, *, n_features: int = 4, noise: float = 0.1, random_state: int | None = 0
) -> DriftingStream:
    r"""Draw a stream whose target is a smooth function of the row; the function changes at regular intervals.

    .. math:: y_t = \tfrac12 + \tfrac14 (f_k(x_t) + \text{noise} \cdot e_t), \qquad
              f_k(x) \propto \sum_{i=1}^{3} a_{ki} \sin(v_{ki}' x + b_{ki}) - c_k

    with normal a, directions v of norm π, phases b uniform on the circle, and normal e. The functions f_k have mean 0
    and variance 1 over the rows.

    Parameters
    ----------
    n_rows : int
        Number of rows, at least 1.
    every : int or None, default=2000
        Number of rows per function, at least 1; None: all rows.
    n_features : int, default=4
        Number of columns, at least 1.
    noise : float, default=0.1
        Standard deviation of the noise relative to the standard deviation of the functions, at least 0.
    random_state : int or None, default=0
        A non-negative seed; None uses fresh entropy.

    Returns
    -------
    DriftingStream
        Rows ``X``, targets ``y``, and ``changes``, the first rows of new functions.

    Raises
    ------
    TypeError, ValueError
        If a number is not an integer or too small, or the noise is negative or not finite.

    Notes
    -----
    O(n_rows n_features) time and memory.

    Examples
    --------
    >>> from pgmx.datasets import drifting_stream
    >>> X, y, changes = drifting_stream(5000)
    >>> X.shape, changes.tolist()
    ((5000, 4), [2000, 4000])
    """
    n_rows, n_features = check_natural(n_rows, "n_rows", 1), check_natural(n_features, "n_features", 1)
    every = n_rows if every is None else check_natural(every, "every", 1)
    if not is_number(noise):
        raise TypeError(f"noise must be a number, got {noise!r}")
    if not 0.0 <= noise < np.inf:
        raise ValueError(f"noise must be finite and at least 0, got {noise!r}")
    rng = make_generator(random_state)
    X = rng.random((n_rows, n_features))
    y = noise * rng.standard_normal(n_rows)
    starts = np.arange(0, n_rows, every)
    for start in starts:
        directions = rng.standard_normal((n_features, _N_WAVES))
        directions *= _FREQUENCY / np.linalg.norm(directions, axis=0)
        phases, heights = rng.uniform(0.0, 2.0 * np.pi, _N_WAVES), rng.standard_normal(_N_WAVES)
        # other rows, so that the scale of a function does not depend on the number of rows of the stream
        others = np.sin(rng.random((_N_SAMPLED, n_features)) @ directions + phases) @ heights
        values = np.sin(X[start : start + every] @ directions + phases) @ heights
        y[start : start + every] += (values - others.mean()) / others.std()
    return DriftingStream(X, _MEAN + _DEVIATION * y, starts[1:])
