"""Linear Gaussian Bayesian networks as arrays: densities of rows, and missing values by the sparse joint precision."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from graphlib import TopologicalSorter
from math import log, pi
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pgmx.checks import join_names

if TYPE_CHECKING:
    from pgmpy.models import LinearGaussianBayesianNetwork
    from scipy.sparse import csr_array

    from pgmx.statistics.precision import RowPrecision

#: Singular values of standardised variables up to this size are zero.
_SINGULAR = 1e-12
#: Relative deviation from a value that the other values determine, up to which it is a rounding error.
_IMPOSSIBLE = 1e-8


class Regression(NamedTuple):
    """A linear Gaussian variable given its parents, by position: intercept and slopes, and standard deviation."""

    variable: int
    parents: list[int]
    beta: np.ndarray
    std: float

    def log_density(self, columns: Sequence[np.ndarray], rows: slice) -> np.ndarray:
        """Return the log-density of some rows."""
        residual = columns[self.variable][rows] - self.beta[0]
        for parent, slope in zip(self.parents, self.beta[1:], strict=True):
            residual = residual - slope * columns[parent][rows]
        return -0.5 * (log(2.0 * pi) + (residual / self.std) ** 2) - log(self.std)


def read_regressions(
    model: LinearGaussianBayesianNetwork, names: Sequence[Hashable], least: float | None = None
) -> list[Regression]:
    """Return the parameters of all variables; raise if one has no parameters or no positive standard deviation.

    With ``least=0.0`` standard deviations may be 0.
    """
    place = {name: v for v, name in enumerate(names)}
    cpds = {cpd.variable: cpd for cpd in model.cpds}
    regressions = []
    for v, name in enumerate(names):
        cpd: Any = cpds.get(name)
        if cpd is None:
            raise ValueError(f"node {name!r} has no parameters: fit the model or add its CPD")
        if not (float(cpd.std) > 0.0 or (cpd.std == 0 and least == 0.0)):
            raise ValueError(
                f"the standard deviation of {name!r} is {cpd.std}: a density needs a positive one; give a small one if "
                "the parents determine the variable"
            )
        parents, beta = list(cpd.evidence), np.asarray(cpd.beta, dtype=np.float64)
        if set(parents) != set(model.predecessors(name)) or len(beta) != 1 + len(parents):
            raise ValueError(
                f"the CPD of {name!r} has {len(beta)} coefficients and the parents {join_names(parents)}, its parents "
                f"in the graph are {join_names(model.predecessors(name))}: add a CPD with these, after the intercept"
            )
        regressions.append(Regression(v, [place[parent] for parent in parents], beta, float(cpd.std)))
    return regressions


class LinearGaussianArrays:
    r"""Regressions of all variables, with their joint precision for missing values.

    .. math:: K = (I - B)^T D^{-2} (I - B)

    with the slopes B and the standard deviations D.
    """

    def __init__(
        self, names: Sequence[Hashable], regressions: Sequence[Regression], order: Sequence[int] | None = None
    ) -> None:
        self.names, self.regressions = tuple(names), list(regressions)
        parents = {one.variable: one.parents for one in self.regressions}
        self.order = list(TopologicalSorter(parents).static_order() if order is None else order)  # parents first

    def __getstate__(self) -> dict:
        return {"names": self.names, "regressions": self.regressions, "order": self.order}

    @cached_property
    def mean(self) -> np.ndarray:
        """Means of all variables, shape (p,)."""
        mean = np.zeros(len(self.names))
        for v in self.order:
            _, parents, beta, _ = self.regressions[v]
            mean[v] = beta[0] + sum(slope * mean[p] for p, slope in zip(parents, beta[1:], strict=True))
        return mean

    @cached_property
    def _precision(self) -> tuple[csr_array, RowPrecision, np.ndarray]:
        """The precision with unit diagonal, its solver, and the roots of its diagonal."""
        from scipy.sparse import csr_array

        from pgmx.statistics.precision import RowPrecision, scale_to_unit_diagonal

        sizes = [1 + len(one.parents) for one in self.regressions]
        columns = np.concatenate([[one.variable, *one.parents] for one in self.regressions])
        entries = np.concatenate([np.append(1.0, -one.beta[1:]) / one.std for one in self.regressions])
        shape = (len(sizes), len(sizes))
        root = csr_array((entries, columns, np.concatenate([[0], np.cumsum(sizes)])), shape=shape)
        root.sort_indices()
        precision = csr_array(root.T @ root)
        precision.sort_indices()
        scaled, roots = scale_to_unit_diagonal(precision)
        root.data = root.data / roots[root.indices]
        return scaled, RowPrecision(scaled, root), roots

    def compute_terms(self, values: np.ndarray) -> np.ndarray:
        """Return the log-density of each variable given its parents, (p, n), for rows (n, p)."""
        columns = np.ascontiguousarray(values.T)
        terms = np.empty(columns.shape)
        for one in self.regressions:
            terms[one.variable] = one.log_density(columns, slice(None))  # type: ignore[arg-type]
        return terms

    def fill(self, values: np.ndarray) -> np.ndarray:
        """Return rows (n, p) with conditional means in place of NaN."""
        return self._fill(values)[0]

    def describe_missing(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return filled rows, and standard deviations of missing values, 0 for observed values; both (n, p)."""
        filled, _, variances = self._fill(values, variances=True)
        return filled, np.sqrt(variances) / self._precision[2]

    def condition(self, positions: Sequence[int]) -> np.ndarray:
        """Return the covariance (k, k) of k variables given all others."""
        from pgmx.statistics.precision import Blocks

        scaled, _, roots = self._precision
        covariance = Blocks(scaled[positions][:, positions]).invert()
        return covariance / np.outer(roots[positions], roots[positions])

    def log_evidence(self, values: np.ndarray) -> np.ndarray:
        r"""Return the log-density of the observed values o of each row, of which k are missing.

        .. math:: \ln p(x_o) = \ln p(x_o, \hat x_m) + \tfrac{k}{2} \ln 2\pi - \tfrac12 \ln |K_{mm}|
        """
        missing = np.isnan(values)
        filled, log_dets, _ = self._fill(values)
        sums = 0.5 * (log(2.0 * pi) * missing.sum(axis=1) - log_dets)
        columns = np.ascontiguousarray(filled.T)
        # one variable after the other: how numpy sums depends on the number of rows
        for v, regression in enumerate(self.regressions):
            sums += regression.log_density(columns, slice(None))  # type: ignore[arg-type]
            if missing[:, v].any():
                sums -= np.where(missing[:, v], np.log(self._precision[2][v]), 0.0)
        sums[missing.all(axis=1)] = 0.0
        return sums

    def _fill(self, values: np.ndarray, variances: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        missing = np.isnan(values)
        if not missing.any():
            return values, np.zeros(len(values)), np.zeros(values.shape if variances else (0, 0))
        _, precision, roots = self._precision
        scores = np.where(missing, 0.0, (values - self.mean) * roots)
        scores, log_dets, spread = precision.fill(scores, missing, variances)
        return np.where(missing, self.mean + scores / roots, values), log_dets, spread


# ---- samples: all variables as linear functions of independent noise ----


class Noise(NamedTuple):
    """Variables x = mean + slopes e with m independent standard normal variables e: (k,) and (k, m).

    Rows have means (n, k).
    """

    mean: np.ndarray
    slopes: np.ndarray

    @property
    def covariance(self) -> np.ndarray:
        """The covariance (k, k), exactly symmetric."""
        product = self.slopes @ self.slopes.T
        return (product + product.T) / 2.0

    def take(self, positions: Sequence[int]) -> Noise:
        """Return some of the variables."""
        return Noise(self.mean[..., positions], self.slopes[positions])


def join_noise(regressions: Sequence[Regression], order: Sequence[int]) -> Noise:
    """Return all variables, in the order of their positions; `order` lists parents before children."""
    mean, slopes = np.zeros(len(regressions)), np.zeros((len(regressions), len(regressions)))
    for v in order:
        _, parents, beta, std = regressions[v]
        mean[v] = beta[0] + beta[1:] @ mean[parents]
        slopes[v] = beta[1:] @ slopes[parents]
        slopes[v, v] = std
    return Noise(mean, slopes)


def condition_noise(variables: Noise, observed: Sequence[int], values: np.ndarray) -> Noise:
    """Return all variables given the values of some, (k,), or of rows, (n, k); raise if values are impossible."""
    mean, slopes = variables.take(observed)
    units = np.sqrt(np.square(slopes).sum(axis=1))
    units = np.where(units > 0.0, units, 1.0)
    residuals = (values - mean) / units
    # a linear function of the noise has a value: the noise is normal around the shortest vector with this value
    left, sizes, right = np.linalg.svd(slopes / units[:, None], full_matrices=False)
    is_free = sizes > _SINGULAR * max(1.0, sizes.max(initial=0.0))
    left, sizes, right = left[:, is_free], sizes[is_free], right[is_free]
    coordinates = residuals @ left
    excess = np.abs(residuals - coordinates @ left.T)
    if (excess > _IMPOSSIBLE * (1.0 + np.abs(residuals) + np.abs(values) / units)).any():
        raise ValueError(
            "the observed values are impossible: standard deviations of 0 determine some of them by the others; leave "
            "out variables that others determine"
        )
    center = (coordinates / sizes) @ right
    across = variables.slopes @ right.T
    return Noise(variables.mean + center @ variables.slopes.T, variables.slopes - across @ right)
