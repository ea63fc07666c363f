"""What a Gaussian learner finds for one penalty, and the network made of it."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cholesky
from scipy.sparse import csr_array, sparray

from pgmx.models import GaussianMarkovNetwork
from pgmx.solvers.gaussian.likelihood import maximum_likelihood_precision
from pgmx.statistics import GaussianSample

#: Partial correlations up to this size are rounding, not edges.
LEAST_PARTIAL = 1e-10

#: Least share of a variable's precision that the others must leave.
LEAST_PIVOT = 1e-13


@dataclass(frozen=True, eq=False)
class GaussianEstimate:
    """Estimate under one penalty, on the correlation scale.

    Attributes
    ----------
    lam : float
        Penalty.
    edges : ndarray of shape (m, 2), int64
        Pairs i < j in lexicographic order.
    precision : csr_array of shape (p, p) or None
        The method's own precision, symmetric; None where it has none.
    raw : sparse array of shape (p, p)
        What the method gives before symmetrisation, one column a variable.
    objective, dual_gap, violation : float
        At the solution; summed over columns, for the violation the largest.
    converged : bool
        Whether it was solved to its tolerance.
    n_iter : int
        Iterations, the most of any column.
    """

    lam: float
    edges: np.ndarray
    precision: csr_array | None
    raw: sparray
    objective: float
    dual_gap: float
    violation: float
    converged: bool
    n_iter: int

    @property
    def shortfall(self) -> str:
        """By how much constraints are missed, in words; empty where they are met."""
        return f", constraints missed by {self.violation:.3g}" if self.violation > 1e-9 else ""


def without_rounding(precision: sparray) -> csr_array:
    """Return a symmetric precision without the entries whose partial correlation is no more than rounding."""
    entries = precision.tocoo()
    scale = np.sqrt(np.abs(precision.diagonal()))
    i, j = entries.row, entries.col
    kept = (i == j) | (np.abs(entries.data) > LEAST_PARTIAL * scale[i] * scale[j])
    return csr_array((entries.data[kept], (i[kept], j[kept])), shape=precision.shape)


def edges_of(precision: sparray) -> np.ndarray:
    """Return the pairs i < j of a symmetric precision that are not zero."""
    entries = precision.tocoo()
    upper = entries.row < entries.col
    return sorted_pairs(entries.row[upper], entries.col[upper])


def sorted_pairs(i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Return pairs as an int64 array of shape (m, 2) in lexicographic order."""
    order = np.lexsort((j, i))
    return np.stack([i[order], j[order]], axis=1).astype(np.int64)


def likelihood_precision(sample: GaussianSample, found: GaussianEstimate, refit: bool) -> tuple[csr_array, str]:
    """Return a positive definite precision on the correlation scale, and how it was estimated.

    It is the method's own where it is positive definite and no refit is asked for; else that of maximum likelihood
    under the graph.
    """
    if found.precision is not None and not refit and is_positive_definite(found.precision.toarray()):
        return found.precision, "penalised"
    fitted = maximum_likelihood_precision(sample.correlation, found.edges, n_rows=sample.n_rows)
    how = "maximum likelihood"
    if fitted.regularised > 0:
        how += f" of correlations shrunk by {fitted.regularised:.3g}"
    return fitted.precision, how


def is_positive_definite(matrix: np.ndarray) -> bool:
    """Tell whether a symmetric matrix, scaled to unit diagonal, has Cholesky pivots that are more than rounding."""
    diagonal = matrix.diagonal()
    if not (diagonal > 0).all():
        return False
    scale = np.sqrt(diagonal)
    try:
        factor = cholesky(matrix / np.outer(scale, scale), lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return False
    return bool(factor.diagonal().min(initial=1.0) ** 2 > LEAST_PIVOT)


def units_of(sample: GaussianSample) -> tuple[np.ndarray, np.ndarray]:
    """Return the means and standard deviations that results are in: those of the data, or of normal scores."""
    if sample.transforms is None:
        return sample.mean, sample.scale
    return np.zeros(sample.n_columns), np.ones(sample.n_columns)


def network_of(sample: GaussianSample, found: GaussianEstimate, refit: bool) -> GaussianMarkovNetwork:
    """Return the network of an estimate."""
    precision, how = likelihood_precision(sample, found, refit)
    mean, scale = units_of(sample)
    return GaussianMarkovNetwork.from_precision(
        sample.names,
        precision,
        mean=mean,
        scale=scale,
        transforms=sample.transforms,
        estimated_by=how,
        n_samples=sample.n_rows,
    )


def gaussian_loss(precision: csr_array, covariance: np.ndarray) -> float:
    r"""Return :math:`\frac{1}{2} (-\ln|\Theta| + tr(\Theta S))`, negative log-likelihood a row less p ln(2π)/2."""
    factor = cholesky(precision.toarray(), lower=True, overwrite_a=True, check_finite=False)
    entries = precision.tocoo()
    trace = float(entries.data @ covariance[entries.row, entries.col])
    return 0.5 * trace - float(np.log(factor.diagonal()).sum())


def negative_log_likelihood(precision: csr_array, sample: GaussianSample, held_out: GaussianSample) -> float:
    """Return the `gaussian_loss` of held-out rows under a precision that was learned from a sample.

    Their covariances are taken about the mean of the sample and in its units; for normal scores they are the held-out
    correlations.
    """
    if sample.method != "pearson":
        return gaussian_loss(precision, held_out.correlation)
    ratio = held_out.scale / sample.scale
    ratio[held_out.constant] = 0.0  # no variance there
    shift = (held_out.mean - sample.mean) / sample.scale
    return gaussian_loss(precision, held_out.correlation * np.outer(ratio, ratio) + np.outer(shift, shift))
