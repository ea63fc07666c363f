"""Parameters of a linear Gaussian network from rows with missing values, by expectation maximisation.

Under a normal distribution of precision K the missing values M of a row are normal with the covariance K_MM⁻¹ and the
mean μ_M - K_MM⁻¹ (K z)_M, where z are the deviations of the row, 0 for missing values. This gives the expected moments
of all columns, from which every family of every graph can be fitted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pgmx.models.bayesian.incomplete_rows import list_families
from pgmx.runs.checkpoint import Snapshot
from pgmx.runs.run import OutOfTimeError, is_past
from pgmx.statistics import Moments
from pgmx.statistics.moments import find_constant_columns

#: Steps that gain less than this share of the log-likelihood (or of the rows, in nats) end the iteration.
TOLERANCE, MOST_STEPS = 1e-7, 200
#: Steps for the distribution without a graph, from which the first graph is learned.
FIRST_STEPS = 20
#: A conditional variance is at least this share of the variance of the observed values of its column.
LEAST_VARIANCE = 1e-10
#: Most multiplications of one pass over the rows (a few minutes).
MOST_PRODUCTS = 10**12
#: Number of values that are computed at a time.
_BLOCK = 1 << 21
_LOG_2_PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True, eq=False)
class GaussianFit:
    """The parameters of a graph, fitted to `moments`, with the log-likelihood of the observed values in nats.

    `expected` are the expected moments of the rows under these parameters. Both moments are in the units of the table.
    """

    edges: np.ndarray
    families: list[tuple[int, ...]]
    moments: Moments
    log_likelihood: float
    expected: Moments


class Normal(NamedTuple):
    """A normal distribution of standardised columns: mean, precision, and the logarithm of its determinant."""

    mean: np.ndarray
    precision: np.ndarray
    log_det: float


class IncompleteNumbers:
    """Weighted numeric rows, (n_rows, p), NaN for missing values; each column has two different observed values."""

    def __init__(self, numbers: np.ndarray, weights: np.ndarray | None = None):
        self.numbers = np.asarray(numbers, dtype=np.float64)
        n_rows, p = self.numbers.shape
        self.weights = np.ones(n_rows) if weights is None else np.asarray(weights, dtype=np.float64)
        self.n = float(self.weights.sum())
        self._missing = np.isnan(self.numbers)
        shares = self.weights[:, None] * ~self._missing
        filled = np.where(self._missing, 0.0, self.numbers)
        self._totals = shares.sum(axis=0)
        seen = np.where(self._totals > 0, self._totals, 1.0)
        self.location = (shares * filled).sum(axis=0) / seen
        centred = np.where(self._missing, 0.0, filled - self.location)
        self.scale = np.sqrt((shares * centred**2).sum(axis=0) / seen)
        low = np.where(shares > 0, filled, np.inf).min(axis=0, initial=np.inf)
        high = np.where(shares > 0, filled, -np.inf).max(axis=0, initial=-np.inf)
        #: Positions of columns without two different observed values: they prevent learning.
        self.constant = find_constant_columns(low, high, self.scale**2)
        self._standard = centred / np.where(self.scale > 0, self.scale, 1.0)
        packed = np.packbits(self._missing, axis=1)
        patterns, of = np.unique(packed, axis=0, return_inverse=True)
        self._of = of.reshape(-1)
        self._patterns = np.unpackbits(patterns, axis=1, count=p).astype(bool)
        self._pattern_weights = np.bincount(self._of, self.weights, len(self._patterns))

    @property
    def n_products(self) -> float:
        """Multiplications of one pass over the rows."""
        k = self._patterns.sum(axis=1).astype(float)
        n_rows, p = self._standard.shape
        return float((k**3).sum() + (k[self._of] ** 2).sum() + n_rows * p**2)

    @cached_property
    def first(self) -> Moments:
        """The expected moments under a normal distribution without a graph, after some steps from independence.

        Their sample size is multiplied by the mean share of rows in which two columns are both observed. Otherwise the
        first graph would have too many edges, and the completions would keep them. The time limit may end the steps.
        """
        p = len(self.location)
        ridge = 0.1 * min(1.0, p / self.n) * np.eye(p)
        normal = Normal(np.zeros(p), np.eye(p), 0.0)
        before, expected = -np.inf, self._expect_independent()
        for _ in range(FIRST_STEPS):
            try:
                likelihood, expected = self._expect(normal, may_end=True)
            except OutOfTimeError:
                break
            if likelihood - before <= TOLERANCE * 100 * max(abs(likelihood), self.n):
                break
            before = likelihood
            lower = np.linalg.cholesky(expected.covariance + ridge)
            inverse = np.linalg.inv(lower)
            normal = Normal(expected.mean, inverse.T @ inverse, -2.0 * float(np.log(np.diagonal(lower)).sum()))
        first = self._to_units(expected)
        known = ~self._missing * np.sqrt(self.weights)[:, None]
        share = float((known.T @ known).mean()) / self.n
        first.n, first.cross = share * first.n, share * first.cross
        return first

    def families(self, edges: np.ndarray) -> list[tuple[int, ...]]:
        """Return (v, parents...) for each variable, parents ascending."""
        return list_families(edges, len(self.location))

    def fit(
        self,
        edges: np.ndarray,
        counts: Moments | None = None,
        *,
        max_steps: int = MOST_STEPS,
        deadline: float = np.inf,
    ) -> GaussianFit:
        """Return the parameters after at most `max_steps` steps, starting from the moments `counts` or `first`."""
        start = self._evaluate(edges, self.first if counts is None else counts)
        return self.go_on(start, max_steps=max_steps, deadline=deadline)

    def go_on(self, fit: GaussianFit, *, max_steps: int = MOST_STEPS, deadline: float = np.inf) -> GaussianFit:
        """Return the parameters after further steps, each of which raises the likelihood."""
        for _ in range(max_steps):
            if is_past(deadline):
                break
            try:
                following = self._evaluate(fit.edges, fit.expected, may_end=True)
            except OutOfTimeError:
                break
            gain = following.log_likelihood - fit.log_likelihood
            if gain > 0.0:
                fit = following
            if gain <= TOLERANCE * max(abs(fit.log_likelihood), self.n):
                break
        return fit

    def complete(self, fit: GaussianFit, seed: int) -> Moments:
        """Return the expected moments; nothing is drawn."""
        return fit.expected

    def complete_at_random(self, seed: int) -> Moments:
        """Return the moments of the rows with missing values drawn from the observed values of their columns."""
        rng = np.random.default_rng(seed)
        rows = self._standard.copy()
        for v, missing in enumerate(self._missing.T):
            shares = self.weights * ~missing
            rows[missing, v] = rng.choice(rows[:, v], int(missing.sum()), p=shares / shares.sum())
        return self._to_units(Moments(len(self.location)).update(rows, self.weights))

    def count(self, edges: np.ndarray, completed: Moments) -> Moments:
        """Return the moments themselves: they contain the moments of all families."""
        return completed

    def describe(self, fit: GaussianFit) -> dict[str, np.ndarray]:
        """Return the arrays from which `fit` restores the parameters."""
        moments = fit.moments
        ends = np.stack([moments.low, moments.high])
        return {"n": np.array(moments.n), "mean": moments.mean, "cross": moments.cross, "ends": ends}

    def read_counts(self, snapshot: Snapshot, edges: np.ndarray) -> Moments:
        """Return the moments from the arrays of `describe`."""
        p = len(self.location)
        snapshot.check_names(("n", "mean", "cross", "ends"))
        moments = Moments(p)
        moments.n, moments.mean = snapshot.number("n", 1e-300), snapshot.array("mean", float, (p,))
        moments.n_rows = int(np.count_nonzero(self.weights))
        moments.cross = snapshot.array("cross", float, (p, p))
        moments.low, moments.high = snapshot.array("ends", float, (2, p))
        return moments

    def impute(self, fit: GaussianFit) -> np.ndarray:
        """Return the rows of the table, (n_rows, p); a missing value becomes its conditional mean given the row."""
        rows = self._fill(self._regress(fit.families, fit.moments))[0]
        return np.where(self._missing, self.location + self.scale * rows, self.numbers)

    # ---- steps ----

    def _evaluate(self, edges: np.ndarray, moments: Moments, *, may_end: bool = False) -> GaussianFit:
        """Return the parameters fitted to the moments, and the expected moments under them."""
        families = self.families(edges)
        likelihood, expected = self._expect(self._regress(families, moments), may_end=may_end)
        return GaussianFit(edges, families, moments, likelihood, self._to_units(expected))

    def _regress(self, families: list[tuple[int, ...]], moments: Moments) -> Normal:
        """Return the distribution of standardised columns from the regression of each column on its parents."""
        covariance = moments.covariance / np.outer(self.scale, self.scale)
        equations, variances = np.eye(len(families)), np.empty(len(families))
        for v, *parents in families:
            slopes = np.linalg.lstsq(covariance[np.ix_(parents, parents)], covariance[parents, v], rcond=1e-14)[0]
            equations[v, parents] = -slopes
            variances[v] = max(covariance[v, v] - slopes @ covariance[parents, v], LEAST_VARIANCE)
        scaled = equations / np.sqrt(variances)[:, None]
        return Normal((moments.mean - self.location) / self.scale, scaled.T @ scaled, -float(np.log(variances).sum()))

    def _expect_independent(self) -> Moments:
        """Return the expected moments of the standardised columns if these are independent with variance 1."""
        expected = Moments(self._standard.shape[1]).update(self._standard, self.weights)
        expected.cross += np.diag(self.weights @ self._missing)
        return expected

    def _expect(self, normal: Normal, *, may_end: bool) -> tuple[float, Moments]:
        """Return the log-likelihood of the observed values, and expected moments of the standardised columns."""
        rows, logs, covariance = self._fill(normal, may_end=may_end)
        expected = Moments(rows.shape[1]).update(rows, self.weights)
        expected.cross += covariance
        logs += -0.5 * _LOG_2_PI * (~self._missing).sum(axis=1)
        return float(self.weights @ logs - self._totals @ np.log(self.scale)), expected

    def _fill(self, normal: Normal, *, may_end: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return rows with missing values replaced by means, log-densities without the constant, and covariances.

        The covariances of the missing values are summed over the weighted rows. With `may_end` OutOfTimeError is raised
        at the time limit of the run.
        """
        p = len(normal.mean)
        deviations = np.where(self._missing, 0.0, self._standard - normal.mean)
        products = deviations @ normal.precision
        logs = 0.5 * (normal.log_det - np.einsum("ij,ij->i", deviations, products))
        covariance = np.zeros(p * p)
        for patterns, ids, all_rows, all_places in self._groups:
            if may_end and is_past(np.inf):
                raise OutOfTimeError
            lower = np.linalg.cholesky(normal.precision[ids[:, :, None], ids[:, None, :]])
            inverse = np.linalg.inv(lower)
            inverse = inverse.swapaxes(1, 2) @ inverse
            halves = np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
            step = max(1, _BLOCK // ids.shape[1] ** 2)
            for first in range(0, len(all_rows), step):
                rows, places = all_rows[first : first + step], all_places[first : first + step]
                cells = ids[places]
                right = products[rows[:, None], cells]
                shifts = np.einsum("bij,bj->bi", inverse[places], right)
                logs[rows] += 0.5 * np.einsum("bi,bi->b", right, shifts) - halves[places]
                deviations[rows[:, None], cells] = -shifts
            at = ids[:, :, None] * p + ids[:, None, :]
            shares = inverse * self._pattern_weights[patterns][:, None, None]
            covariance += np.bincount(at.ravel(), shares.ravel(), p * p)
        return deviations + normal.mean, logs, covariance.reshape(p, p)

    @cached_property
    def _groups(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """Group patterns by the number of missing values; return patterns, missing columns, rows, places of rows."""
        n_missing = self._patterns.sum(axis=1)
        order = np.argsort(self._of, kind="stable")
        bounds = np.searchsorted(self._of[order], np.arange(len(self._patterns) + 1))
        groups = []
        for k in np.unique(n_missing[n_missing > 0]).tolist():
            alike = np.flatnonzero(n_missing == k)
            step = max(1, _BLOCK // k**2)
            for first in range(0, len(alike), step):
                patterns = alike[first : first + step]
                ids = np.nonzero(self._patterns[patterns])[1].reshape(len(patterns), k)
                rows = np.concatenate([order[bounds[v] : bounds[v + 1]] for v in patterns.tolist()])
                places = np.repeat(np.arange(len(patterns)), np.diff(bounds)[patterns])
                groups.append((patterns, ids, rows, places))
        return groups

    def _to_units(self, moments: Moments) -> Moments:
        """Return moments of standardised columns in the units of the table."""
        moments.mean = self.location + self.scale * moments.mean
        moments.cross = moments.cross * np.outer(self.scale, self.scale)
        moments.low, moments.high = (self.location + self.scale * end for end in (moments.low, moments.high))
        return moments
