"""Gaussian maximum likelihood with zeros for the missing edges of a graph."""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy import sparse

from pgmx._ext._gram_lasso import ColumnAscent
from pgmx.runs.run import OutOfTimeError
from pgmx.solvers.gaussian.graphical_lasso_certificate import compute_log_determinant
from pgmx.statistics.components import assemble_blocks, find_components
from pgmx.statistics.gaussian.correlations import Correlations, DenseCorrelations

#: Smallest allowed conditional variance of a variable given its neighbours, as a share of its variance. Below it the
#: variable counts as a function of its neighbours.
LEAST_VARIANCE = 1e-6
#: Number of columns of a sweep between two checks of the clock.
COLUMNS = 16
#: Shrinkage if the number of rows is unknown, and how often its distance from 1 is halved.
SHRINKAGE, HALVINGS = 0.1, 20


@dataclass(frozen=True, eq=False)
class MaximumLikelihood:
    """A precision matrix fitted to a graph."""

    precision: sparse.csr_array  # symmetric, positive definite, zero off the diagonal for pairs without an edge
    regularised: float  # the share t of the identity in the fitted matrix (1 − t)R + tI
    converged: bool  # whether its inverse agrees with the fitted matrix on edges and diagonal within the tolerance
    n_iter: int  # sweeps over the variables


def maximum_likelihood_precision(
    R: np.ndarray,
    edges: np.ndarray,
    *,
    n_rows: float | None = None,
    tol: float = 1e-8,
    max_iter: int = 500,
) -> MaximumLikelihood:
    r"""Maximise the Gaussian likelihood over precision matrices with zeros for the missing edges of a graph.

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
        Number of rows from which R was computed. If the likelihood has no maximum for R, (1 − t)R + tI with t =
        1/√n_rows is fitted instead (t = 0.1 if it is not given).
    tol : float, default=1e-8
        The run stops if the Frobenius norm of I − WΘ is below `tol`. W agrees with the fitted matrix on edges and
        diagonal.
    max_iter : int, default=500
        Maximum number of sweeps over the variables, for each tried matrix.

    Returns
    -------
    MaximumLikelihood
        Always with a positive definite precision (the identity if there are no edges).

    Raises
    ------
    ValueError
        If R is not square, or an edge joins a variable with itself or with a variable that does not exist.

    Notes
    -----
    One column of W = Θ⁻¹ after another is set to the regression of its variable on its neighbours. This raises log det
    W and keeps W positive definite. Components of the graph are solved separately, and `tol` applies to each component.
    Cost: ``O(Σ d³/6 + |E| p)`` per sweep for degrees d, and three m × m arrays for a component of m variables. If a
    conditional variance falls below 10⁻⁶ of the variance, or the sweeps do not converge, the likelihood has no maximum.
    Then t is raised until there is a maximum.

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
        raise ValueError(f"R must be a square matrix, got the shape {R.shape}")
    return fit_maximum_likelihood(DenseCorrelations(R), edges, n_rows=n_rows, tol=tol, max_iter=max_iter)


def fit_maximum_likelihood(
    correlations: Correlations,
    edges: np.ndarray,
    *,
    n_rows: float | None = None,
    tol: float = 1e-8,
    max_iter: int = 500,
    is_over: Callable[[], bool] = lambda: False,
) -> MaximumLikelihood:
    """Implement `maximum_likelihood_precision`, with the matrix of one component of the graph at a time.

    Once `is_over()` is true, `OutOfTimeError` is raised.
    """
    graph = _make_adjacency(np.asarray(edges, dtype=np.int64).reshape(-1, 2), correlations.n_columns)
    components, alone = find_components(graph)
    p, diagonal = correlations.n_columns, 1.0 / correlations.diagonal
    share, least = 0.0, min(1.0, 1.0 / sqrt(n_rows)) if n_rows else SHRINKAGE
    for _ in range(HALVINGS + 1):
        fits = []
        for nodes in components:
            fit = _fit(shrink(correlations.select(nodes), share), graph[nodes][:, nodes], tol, max_iter, is_over)
            if fit is None:
                break
            fits.append(fit)
        else:
            blocks = [(block.indptr, block.indices, block.data) for block, _ in fits]
            precision = assemble_blocks(p, components, blocks, alone, diagonal[alone])
            return MaximumLikelihood(precision, share, True, max((n_iter for _, n_iter in fits), default=0))
        share = share + 0.5 * (1.0 - share) if share else least
    return MaximumLikelihood(assemble_blocks(p, [], [], np.arange(p), diagonal), 1.0, False, 0)


def shrink(R: np.ndarray, share: float) -> np.ndarray:
    """Return (1 - t) R + t D of the diagonal D of R."""
    return (1.0 - share) * R + share * np.diag(R.diagonal()) if share else R


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


def _fit(
    R: np.ndarray, graph: sparse.csr_array, tol: float, max_iter: int, is_over: Callable[[], bool]
) -> tuple[sparse.csr_array, int] | None:
    """Return the fit to R and the number of sweeps; the fit is None if it is not positive definite."""
    indptr, indices = graph.indptr.astype(np.int32), graph.indices.astype(np.int32)
    ascent = ColumnAscent(R)
    ascent.start_shrunk(0.0)
    expected = 1.0
    for sweep in range(1, max_iter + 1):
        moved = 0.0
        for first in range(0, len(R), COLUMNS):
            stop = min(first + COLUMNS, len(R))
            moved, stuck = ascent.sweep_graph(indptr, indices, LEAST_VARIANCE, first, stop, moved)
            if stuck:
                return None
            if is_over():
                raise OutOfTimeError
        if sqrt(moved) > 10.0 * expected * tol and sweep < max_iter:
            continue
        ascent.precision()
        distance = sqrt(ascent.residual(0.0)[1])
        converged = distance <= tol
        if converged or sweep == max_iter:
            break
        expected = 0.5 * min(1.0, sqrt(moved) / distance)
    if not converged:
        return None
    precision = sparse.csr_array(ascent.triplets()[::-1], shape=R.shape)
    return None if compute_log_determinant(precision.toarray(), overwrite=True) is None else (precision, sweep)
