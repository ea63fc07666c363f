"""The estimates of a Gaussian learner, for one penalty or along a path: their edges, networks and losses."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from pgmx.estimators.paths import PenaltyPath
from pgmx.statistics import GaussianSample

if TYPE_CHECKING:
    from pgmx.models import GaussianMarkovNetwork

from collections.abc import Callable

from scipy.linalg import LinAlgError
from scipy.sparse import csc_array

from pgmx.models.gaussian_network import GaussianMarkovNetwork, make_definite_network
from pgmx.solvers.gaussian.likelihood import fit_maximum_likelihood
from pgmx.statistics.precision import Blocks, scale_to_unit_diagonal

#: Partial correlations up to this size are rounding, not edges.
_LEAST_PARTIAL = 1e-10

#: Smallest allowed Cholesky pivot of a precision scaled to unit diagonal, and the pivot from which a solver's own
#: report is accepted without a check (rounding changes a pivot by much less).
LEAST_PIVOT, CERTAIN_PIVOT = 1e-13, 1e-6


@dataclass(frozen=True, eq=False)
class GaussianEstimate:
    """Estimate under one penalty, on the correlation scale."""

    lam: float
    edges: np.ndarray  # pairs i < j in lexicographic order, int64 of shape (m, 2)
    precision: csr_array | None  # the method's own, symmetric; None if it has none
    raw: csc_array | csr_array  # the estimate before symmetrisation, one column per variable
    objective: float  # like the gap, summed over columns that are solved separately
    dual_gap: float
    violation: float  # the largest excess over a constraint
    stopped_by: str
    n_iter: int  # maximum over columns
    least_pivot: float = 0.0  # of the Cholesky factor of the precision scaled to unit diagonal; 0 if unknown

    @property
    def converged(self) -> bool:
        """Whether it was solved to its tolerance."""
        return self.stopped_by == "converged"

    @property
    def shortfall(self) -> str:
        """Text on the violation of the constraints; empty if they are satisfied."""
        return f", constraints violated by {self.violation:.3g}" if self.violation > 1e-9 else ""


@dataclass(repr=False)
class GaussianPath(PenaltyPath):
    """Estimates for a decreasing sequence of penalties, the chosen one, and the criterion of the choice."""

    sample: GaussianSample
    lam_max: float  # the smallest penalty without edges
    refit: bool = False  # whether `model` estimates the parameters of a graph by maximum likelihood
    estimates: list[GaussianEstimate] = field(default_factory=list)  # the largest penalty first
    #: EBIC, held-out loss or instability of each penalty, NaN after the last compared penalty
    criterion: np.ndarray | None = None
    selected: int = -1  # position of the chosen penalty, -1 if none
    stopped_early: bool = False  # whether smaller penalties were left out because they could no longer be chosen

    def __len__(self) -> int:
        return len(self.estimates)

    def _names(self) -> tuple:
        return self.sample.names

    def _edges(self, k: int) -> np.ndarray:
        return self.estimates[k].edges

    @property
    def lams(self) -> np.ndarray:
        """Penalties, the largest first."""
        return np.array([estimate.lam for estimate in self.estimates])

    def precision(self, k: int) -> csr_array | None:
        """Return the method's own precision under the k-th penalty, on the correlation scale; None if it has none."""
        return self.estimates[k].precision

    def model(self, k: int) -> "GaussianMarkovNetwork":
        """Return the network under the k-th penalty, in the units of the data."""
        return make_network(self.sample, self.estimates[k], self.refit)


# ---- edges ----


def drop_rounding(precision: csr_array) -> csr_array:
    """Return a symmetric precision without the entries whose partial correlation is rounding error."""
    i, j = _list_rows(precision), precision.indices
    scale = np.sqrt(np.abs(precision.diagonal()))
    large = (i == j) | (np.abs(precision.data) > _LEAST_PARTIAL * scale[i] * scale[j])
    if large.all():
        return precision
    return csr_array((precision.data[large], (i[large], j[large])), shape=precision.shape)


def list_edges(precision: csr_array) -> np.ndarray:
    """Return the pairs i < j of a symmetric precision that are not zero."""
    i, j = _list_rows(precision), precision.indices
    upper = (i < j) & (precision.data != 0)
    return sort_pairs(i[upper], j[upper])


def _list_rows(matrix: csr_array) -> np.ndarray:
    """Return the row of each entry."""
    return np.repeat(np.arange(len(matrix.indptr) - 1), np.diff(matrix.indptr))


def sort_pairs(i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Return pairs as an int64 array of shape (m, 2) in lexicographic order."""
    order = np.lexsort((j, i))
    return np.stack([i[order], j[order]], axis=1).astype(np.int64)


# ---- networks ----


def choose_precision(
    sample: GaussianSample, estimate: GaussianEstimate, refit: bool, is_over: Callable[[], bool] = lambda: False
) -> tuple[csr_array, str]:
    """Return a positive definite precision and its estimation method: the method's own if possible and not `refit`.

    OutOfTimeError is raised once `is_over()` is true.
    """
    own = estimate.precision
    if own is not None and not refit and (estimate.least_pivot > CERTAIN_PIVOT or _is_positive_definite(own)):
        return own, "penalised"
    likelihood = fit_maximum_likelihood(sample.correlations, estimate.edges, n_rows=sample.n_rows, is_over=is_over)
    how = "maximum likelihood"
    if likelihood.regularised > 0:
        how += f" of correlations shrunk by {likelihood.regularised:.3g}"
    return likelihood.precision, how


def _is_positive_definite(precision: csr_array) -> bool:
    """Return whether a symmetric matrix, scaled to unit diagonal, has Cholesky pivots above rounding."""
    if not (precision.diagonal() > 0).all():
        return False
    try:
        return Blocks(scale_to_unit_diagonal(precision)[0]).least_pivot > LEAST_PIVOT
    except LinAlgError:
        return False


def get_units(sample: GaussianSample) -> tuple[np.ndarray, np.ndarray]:
    """Return the means and standard deviations that define the units of the results (data or normal scores)."""
    if sample.transforms is None:
        return sample.mean, sample.scale
    return np.zeros(sample.n_columns), np.ones(sample.n_columns)


def make_network(sample: GaussianSample, estimate: GaussianEstimate, refit: bool) -> GaussianMarkovNetwork:
    """Return the network of an estimate."""
    precision, how = choose_precision(sample, estimate, refit)
    mean, scale = get_units(sample)
    is_certain = precision is estimate.precision and estimate.least_pivot > CERTAIN_PIVOT
    make = make_definite_network if is_certain else GaussianMarkovNetwork.from_precision
    return make(
        sample.names,
        precision,
        mean=mean,
        scale=scale,
        transforms=sample.transforms,
        estimated_by=how,
        n_samples=sample.n_rows,
    )


# ---- losses ----


def compute_loss(precision: csr_array, read_pairs: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> float:
    r"""Return :math:`\frac{1}{2} (-\ln|\Theta| + tr(\Theta S))`, negative log-likelihood per row minus p ln(2π)/2.

    `read_pairs` returns S_ij of pairs (i, j).
    """
    scaled, roots = scale_to_unit_diagonal(precision)
    entries = precision.tocoo()
    trace = float(entries.data @ read_pairs(entries.row, entries.col))
    return 0.5 * (trace - Blocks(scaled).log_det) - float(np.log(roots).sum())


def compute_held_out_loss(precision: csr_array, sample: GaussianSample, held_out: GaussianSample) -> float:
    """Return the loss of held-out rows under a precision, with the mean and units of the training sample."""
    if sample.method != "pearson":
        return compute_loss(precision, held_out.correlations.read_pairs)
    ratio = held_out.scale / sample.scale
    ratio[held_out.constant] = 0.0  # no variance there
    shift = (held_out.mean - sample.mean) / sample.scale

    def read_pairs(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return held_out.correlations.read_pairs(i, j) * (ratio[i] * ratio[j]) + shift[i] * shift[j]

    return compute_loss(precision, read_pairs)
