"""A solution of the graphical lasso with its certificate, and the solution without a penalty."""

from dataclasses import dataclass
from math import inf

import numpy as np
from scipy import sparse

from pgmx.solvers.gaussian.glasso.certificate import NEAR, compute_gap_bound, compute_log_determinant, invert


@dataclass(frozen=True, eq=False)
class GraphicalLassoSolution:
    """A solution of the graphical lasso with its certificate, on the correlation scale."""

    lam: float
    precision: sparse.csr_array  # symmetric, positive definite; its non-zeros off the diagonal are the edges
    objective: float  # −log det Θ + tr(RΘ) + λ Σ|Θ_ij|
    dual_gap: float  # bound on objective - optimum from a feasible dual point, a sum of nonnegative terms
    #: gap at most the tolerance times max(1, |objective|), and the edges join the components of |R_ij| > λ
    converged: bool
    n_iter: int  # sweeps over the variables, maximum over components
    n_components: int  # of the graph of |R_ij| > λ, each solved separately
    least_pivot: float = 0.0  # of the Cholesky factor of Θ scaled to unit diagonal; 0 if unknown


def solve_without_penalty(R: np.ndarray, tol: float) -> GraphicalLassoSolution | None:
    """Return the inverse of R; None if R has none, or only one of rounding errors."""
    inverted = invert(R)
    if inverted is None:
        return None
    theta = inverted[0]
    error = np.eye(len(theta)) - R @ theta
    distance, logdet = float(np.linalg.norm(error)), compute_log_determinant(theta)
    if logdet is None or not distance < NEAR:
        return None
    gap = compute_gap_bound(distance)
    objective = -logdet + len(theta) - float(np.trace(error))
    converged = gap <= tol * max(1.0, abs(objective))
    return GraphicalLassoSolution(0.0, sparse.csr_array(theta), objective, gap, converged, 0, 1)


def compute_objective(R: np.ndarray, precision: sparse.csr_array, lam: float) -> float:
    """Return −log det Θ + tr(RΘ) + λ Σ|Θ_ij|, infinite if Θ is not positive definite."""
    theta = precision.toarray()
    logdet = compute_log_determinant(theta)
    size = float(np.abs(theta).sum() - np.abs(theta.diagonal()).sum())
    return inf if logdet is None else -logdet + float(np.vdot(R, theta)) + lam * size
