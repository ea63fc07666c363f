"""The Gaussian maximum likelihood with zeros where a graph has no edges."""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy import sparse

from pgmx._ext._gram_lasso import ColumnAscent
from pgmx.solvers.gaussian.glasso.certificate import compute_log_determinant

#: Smallest share of a variable's variance that its neighbours must leave; below it the variable counts as their
#: function.
LEAST_VARIANCE = 1e-6
#: Shrinkage where the number of rows is not known, and how often its distance from 1 is halved.
SHRINKAGE, HALVINGS = 0.1, 20


@dataclass(frozen=True, eq=False)
class MaximumLikelihood:
    """A precision matrix fitted to a graph."""

    precision: sparse.csr_array  # symmetric, positive definite, zero off the diagonal where the graph has no edge
    regularised: float  # the share t of the identity in the matrix (1 − t)R + tI that was fitted
    converged: bool  # whether its inverse agrees with that matrix on edges and diagonal to the tolerance
    n_iter: int  # sweeps over the variables


def maximum_likelihood_precision(
    R: np.ndarray,
    edges: np.ndarray,
    *,
    n_rows: float | None = None,
    tol: float = 1e-8,
    max_iter: int = 500,
) -> MaximumLikelihood:
    r"""Maximise the Gaussian likelihood over precision matrices with zeros off the edges of a graph.

    .. math::

        \max_{\Theta \succ 0} \; \log\det\Theta - \operatorname{tr}(R\Theta) \quad \text{with }
        \Theta_{ij} = 0 \text{ for } i \ne j \text{ not joined by an edge}

    Parameters
    ----------
    R : ndarray of float64, shape (p, p)
        Correlation matrix: symmetric, positive semidefinite, unit diagonal.
    edges : ndarray of int64, shape (m, 2)
        Pairs of variables, in any order.
    n_rows : float, optional
        Number of rows behind R: where R has no maximum of the likelihood, (1 − t)R + tI with t = 1/√n_rows is fitted
        instead (t = 0.1 where it is not given).
    tol : float, default=1e-8
        Frobenius norm of I − WΘ at which to stop; W agrees with the matrix fitted on edges and diagonal.
    max_iter : int, default=500
        Most sweeps over the variables, for each matrix tried.

    Returns
    -------
    MaximumLikelihood
        Always with a positive definite precision; the identity where there is no edge.

    Raises
    ------
    ValueError
        If R is not square or an edge joins a variable with itself or with one that does not exist.

    Notes
    -----
    Every column of W = Θ⁻¹ in turn is set to the regression of its variable on its neighbours, which raises log det W
    and keeps W positive definite: O(Σ d³/6 + |E| p) per sweep for degrees d. Where a conditional variance falls below
    10⁻⁶ of the variance, or the sweeps do not converge, there is no maximum, and t is raised until there is.

    References
    ----------
    .. [1] Speed, T. and Kiiveri, H. (1986). Gaussian Markov distributions over finite graphs. Annals of Statistics 14,
       138-150, section 4.
    .. [2] Hastie, T., Tibshirani, R. and Friedman, J. (2009). The elements of statistical learning, algorithm 17.1.

    Examples
    --------
    >>> R = np.array([[1.0, 0.5, 0.4], [0.5, 1.0, 0.5], [0.4, 0.5, 1.0]])
    >>> fit = maximum_likelihood_precision(R, np.array([[0, 1], [1, 2]]))
    >>> np.linalg.inv(fit.precision.toarray()).round(6).tolist()
    [[1.0, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 1.0]]
    >>> fit.regularised, fit.converged
    (0.0, True)
    """
    R = np.ascontiguousarray(R, dtype=np.float64)
    if R.ndim != 2 or R.shape[0] != R.shape[1]:
        raise ValueError(f"R must be a square matrix, its shape is {R.shape}")
    graph = _make_adjacency(np.asarray(edges, dtype=np.int64).reshape(-1, 2), len(R))
    if not graph.nnz:
        return MaximumLikelihood(sparse.csr_array(np.diag(1.0 / R.diagonal())), 0.0, True, 0)
    fit = _fit(R, graph, tol, max_iter, 0.0)
    share = min(1.0, 1.0 / sqrt(n_rows)) if n_rows else SHRINKAGE
    for _ in range(HALVINGS):
        if fit is not None and fit.converged:
            return fit
        shrunk = (1.0 - share) * R + share * np.diag(R.diagonal())
        fit = _fit(shrunk, graph, tol, max_iter, share)
        share += 0.5 * (1.0 - share)
    if fit is None or not fit.converged:
        fit = MaximumLikelihood(sparse.csr_array(np.diag(1.0 / R.diagonal())), 1.0, False, 0)
    return fit


def _make_adjacency(edges: np.ndarray, p: int) -> sparse.csr_array:
    outside = edges[((edges < 0) | (edges >= p)).any(axis=1)]
    if len(outside):
        raise ValueError(f"edges must join variables from 0 to {p - 1}, got {tuple(outside[0].tolist())}")
    loops = edges[edges[:, 0] == edges[:, 1]]
    if len(loops):
        raise ValueError(f"an edge joins variable {loops[0, 0]} with itself: leave it out")
    both = np.concatenate([edges, edges[:, ::-1]])
    graph = sparse.csr_array((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=(p, p))
    graph.sort_indices()
    return graph


def _fit(R: np.ndarray, graph: sparse.csr_array, tol: float, max_iter: int, share: float) -> MaximumLikelihood | None:
    """Return the fit to R itself, None where a column has no variance left or the precision is indefinite."""
    indptr, indices = graph.indptr.astype(np.int32), graph.indices.astype(np.int32)
    ascent = ColumnAscent(R)
    ascent.start_shrunk(0.0)
    dense = np.empty_like(R)
    expected = 1.0
    for sweep in range(1, max_iter + 1):
        moved, stuck = ascent.sweep_graph(indptr, indices, LEAST_VARIANCE)
        if stuck:
            return None
        if sqrt(moved) > 10.0 * expected * tol and sweep < max_iter:
            continue
        ascent.precision(dense)
        distance = sqrt(ascent.residual(0.0, dense)[1])
        converged = distance <= tol
        if converged or sweep == max_iter:
            break
        expected = 0.5 * min(1.0, sqrt(moved) / distance)
    if compute_log_determinant(dense, overwrite=True) is None:
        return None
    precision = sparse.csr_array(ascent.triplets(1.0, dense)[::-1], shape=R.shape)
    return MaximumLikelihood(precision, share, converged, sweep)
