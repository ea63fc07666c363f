r"""Spectral radius, stationary moments and impulse responses from coefficients.

A system of L lags is a system of one lag for the stacked state (x_t, ..., x_{t-L+1}). Its matrix, (L n, L n), is the
companion matrix. Sparse coefficients stay sparse: the nonzero eigenvalues come from strongly connected components.
"""

from math import log
from typing import Any, cast

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs

from pgmx.models.time_series.coefficients import Matrix

#: Largest number of rows of a companion matrix whose eigenvalues are computed densely.
_DENSE = 600
#: Share of entries above which responses are dense arrays.
_FULL = 0.05
#: Targets whose responses are computed together.
_WIDTH = 256
#: Number of products with the companion matrix after which their growth estimates the spectral radius.
_POWERS = 2000


def make_companion(matrices: tuple[Matrix, ...]) -> np.ndarray:
    """Return the companion matrix (L n, L n) of the matrices of the lags 1 to L."""
    n, lags = len(matrices[0].diagonal()), len(matrices)
    companion = np.eye(n * lags, k=-n)
    for lag, matrix in enumerate(matrices):
        companion[:n, lag * n : (lag + 1) * n] = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    return companion


def compute_spectral_radius(matrices: tuple[Matrix, ...]) -> float:
    """Return the largest absolute eigenvalue of the companion matrix.

    The eigenvalues are computed separately for each strongly connected component of the graph.
    """
    if not matrices:
        return 0.0
    # Absolute values: coefficients of several lags must not cancel.
    pattern = sum(abs(csr_array(matrix)) for matrix in matrices)
    n_components, labels = connected_components(pattern, connection="strong")
    order = np.argsort(labels, kind="stable")
    bounds = np.concatenate([[0], np.cumsum(np.bincount(labels, minlength=n_components))])
    alone = order[bounds[:-1][np.diff(bounds) == 1]]
    radius = _compute_radius_of_scalars(np.stack([matrix.diagonal()[alone] for matrix in matrices], axis=1))
    for component in np.flatnonzero(np.diff(bounds) > 1):
        nodes = np.sort(order[bounds[component] : bounds[component + 1]])
        blocks = tuple(matrix[nodes][:, nodes] for matrix in matrices)
        radius = max(radius, _compute_radius_of_component(blocks))
    return radius


def _compute_radius_of_scalars(coefficients: np.ndarray) -> float:
    """Return the largest spectral radius of series that depend only on themselves, coefficients (n, lags)."""
    n, lags = coefficients.shape
    if not n:
        return 0.0
    if lags == 1:
        return float(np.abs(coefficients).max())
    companions = np.zeros((n, lags, lags))
    companions[:, 0] = coefficients
    companions[:, np.arange(1, lags), np.arange(lags - 1)] = 1.0
    return float(np.abs(np.linalg.eigvals(companions)).max())


def _compute_radius_of_component(matrices: tuple[Matrix, ...]) -> float:
    n, lags = len(matrices[0].diagonal()), len(matrices)
    if n * lags <= _DENSE:
        return float(np.abs(np.linalg.eigvals(make_companion(matrices))).max())

    def multiply(state: np.ndarray) -> np.ndarray:
        blocks = state.reshape(lags, n)
        newest = sum(matrix @ block for matrix, block in zip(matrices, blocks, strict=True))
        return np.concatenate([newest, state[: (lags - 1) * n]])

    make: Any = LinearOperator
    operator = make((n * lags, n * lags), matvec=multiply, dtype=np.float64)
    # A fixed seed: the same system always has the same radius.
    start = np.random.default_rng(0).standard_normal(n * lags)
    try:
        # Ten eigenvalues in a wide basis: in large random graphs they are so close that a search for two misses the
        # largest.
        largest = eigs(operator, k=10, ncv=80, v0=start, maxiter=60, tol=cast(Any, 1e-6), return_eigenvectors=False)
        return float(np.abs(largest).max())
    except ArpackNoConvergence as error:
        return float(max(_estimate_growth(multiply, start), np.abs(error.eigenvalues).max(initial=0.0)))


def _estimate_growth(multiply, state: np.ndarray) -> float:
    """Return the growth per product over the second half of many products, accurate to a few digits."""
    total = 0.0
    for step in range(_POWERS):
        state = multiply(state)
        norm = float(np.linalg.norm(state))
        if norm == 0.0:
            return 0.0
        state = state / norm
        total += log(norm) if step >= _POWERS // 2 else 0.0
    return float(np.exp(total / (_POWERS - _POWERS // 2)))


def compute_stationary_covariance(companion: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Return P = C P C' + Q for a stable companion matrix, by doubling: P <- P + C P C', C <- C C.

    Q is the covariance of the noise in the first block, zero elsewhere.
    """
    covariance = np.zeros_like(companion)
    covariance[: len(noise), : len(noise)] = noise
    power = companion
    # After 64 doublings the sum has 2^64 terms; stable systems converge long before.
    for _ in range(64):
        change = power @ covariance @ power.T
        covariance = covariance + change
        if not np.abs(change).max() > 1e-17 * np.abs(covariance).max():
            break
        power = power @ power
    # Rounding makes the sum slightly asymmetric.
    return (covariance + covariance.T) / 2.0


def compute_responses(matrices: tuple[Matrix, ...], steps: int, impulses: np.ndarray) -> np.ndarray:
    """Return the responses (steps + 1, n, k), 0 to `steps` steps after impulses (n, k), without further noise."""
    responses = np.zeros((steps + 1, *impulses.shape))
    responses[0] = impulses
    for step in range(1, steps + 1):
        for lag, matrix in enumerate(matrices[:step], start=1):
            responses[step] += matrix @ responses[step - lag]
    return responses


def compute_forecast_variances(matrices: tuple[Matrix, ...], noise: np.ndarray, steps: int) -> np.ndarray:
    """Return the error variances (steps, n) of forecasts for horizons 1 to `steps`, ``diag(sum_j R_j Q R_j')``.

    The responses R_j are computed for `_WIDTH` targets at a time from the transposes. They are sparse as long as most
    entries are zero. The noise is a covariance (n, n) or variances (n,).
    """
    n, lags = len(matrices[0].diagonal()), len(matrices)
    transposes = tuple(matrix.T if isinstance(matrix, np.ndarray) else csr_array(matrix.T) for matrix in matrices)
    increments = np.empty((steps, n))
    for start in range(0, n, _WIDTH):
        stop = min(start + _WIDTH, n)
        targets = np.arange(start, stop)
        entries = (np.ones(len(targets)), (targets, targets - start))
        rows: list[Any] = [csr_array(entries, shape=(n, len(targets)))]
        if isinstance(matrices[0], np.ndarray):
            rows = [rows[0].toarray()]
        for step in range(steps):
            increments[step, start:stop] = _weigh_columns(rows[-1], noise)
            if step + 1 < steps:
                # Older responses have no effect any more.
                rows = rows[-lags:]
                following = transposes[0] @ rows[-1]
                for transpose, row in zip(transposes[1:], reversed(rows[:-1]), strict=False):
                    following = following + transpose @ row
                rows.append(_make_dense_if_full(following))
    return np.cumsum(increments, axis=0)


def _weigh_columns(columns: Any, noise: np.ndarray) -> np.ndarray:
    """Return c' Q c for each column c."""
    if noise.ndim == 1:
        return noise @ (columns**2 if isinstance(columns, np.ndarray) else columns.power(2))
    columns = columns if isinstance(columns, np.ndarray) else columns.toarray()
    return np.einsum("ij,ij->j", columns, noise @ columns)


def _make_dense_if_full(columns: Any) -> Any:
    if isinstance(columns, np.ndarray) or columns.nnz <= _FULL * columns.shape[0] * columns.shape[1]:
        return columns
    return columns.toarray()
