"""Streams with target functions that change at known rows."""

from typing import NamedTuple

import numpy as np

from pgmx.checks import check_natural, is_number
from pgmx.datasets.random_graphs import make_generator

#: Waves of a function, the norm of their frequencies, and rows for the estimates of its mean and deviation.
WAVES, FREQUENCY, ROWS = 3, np.pi, 1000
#: Mean and standard deviation of the functions.
MEAN, DEVIATION = 0.5, 0.25


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
        directions = rng.standard_normal((n_features, WAVES))
        directions *= FREQUENCY / np.linalg.norm(directions, axis=0)
        phases, heights = rng.uniform(0.0, 2.0 * np.pi, WAVES), rng.standard_normal(WAVES)
        others = np.sin(rng.random((ROWS, n_features)) @ directions + phases) @ heights
        values = np.sin(X[start : start + every] @ directions + phases) @ heights
        y[start : start + every] += (values - others.mean()) / others.std()
    return DriftingStream(X, MEAN + DEVIATION * y, starts[1:])
