"""Rows of continuous variables with missing values: the expected moments of all columns.

Under a normal distribution of precision K the missing values M of a row are normal with the covariance K_MM⁻¹ and the
mean μ_M - K_MM⁻¹ (K z)_M, where z are the deviations of the row, 0 for missing values. This gives the expected moments
of all columns, from which every family of every graph can be fitted, so no plan per graph is needed.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from pgmx.models.bayesian.em import TOLERANCE, EMFit, IncompleteRows
from pgmx.runs.checkpoint import Snapshot
from pgmx.runs.run import OutOfTimeError, is_past
from pgmx.statistics import Moments
from pgmx.statistics.moments import find_constant_columns

#: Steps for the distribution without a graph, and their tolerance. It only provides the first graph, and each step
#: inverts matrices of all columns, so the limits are lower than those of a graph.
FIRST_STEPS, FIRST_TOLERANCE = 20, 100 * TOLERANCE
#: A conditional variance is at least this share of the variance of the observed values of its column.
LEAST_VARIANCE = 1e-10
#: Most multiplications of one pass over the rows (a few minutes).
MOST_PRODUCTS = 10**12
#: Number of values that are computed at a time.
_BLOCK = 1 << 21
_LOG_2_PI = float(np.log(2.0 * np.pi))


class Normal(NamedTuple):
    """A normal distribution of standardised columns: mean, precision, and the logarithm of its determinant."""

    mean: np.ndarray
    precision: np.ndarray
    log_det: float


class _Unrestricted(NamedTuple):
    """The fit of a normal distribution without a graph: expected moments of standardised columns."""

    log_likelihood: float
    expected: Moments


class IncompleteContinuousRows(IncompleteRows):
    """Weighted numeric rows, (n_rows, p), NaN for missing values; each column has two different observed values.

    Statistics are the moments of all columns in the units of the table. Parameters are the joint normal distribution of
    the standardised columns.
    """

    def __init__(self, numbers: np.ndarray, weights: np.ndarray | None = None):
        self.numbers = np.asarray(numbers, dtype=np.float64)
        n_rows, p = self.numbers.shape
        self.weights = np.ones(n_rows) if weights is None else np.asarray(weights, dtype=np.float64)
        super().__init__(p, float(self.weights.sum()))
        self._missing = np.isnan(self.numbers)
        shares = self.weights[:, None] * ~self._missing
        filled = np.where(self._missing, 0.0, self.numbers)
        self._totals = shares.sum(axis=0)
        seen = np.where(self._totals > 0, self._totals, 1.0)
        # standard units, in which tolerances mean the same for all columns
        self.location = (shares * filled).sum(axis=0) / seen
        centred = np.where(self._missing, 0.0, filled - self.location)
        self.scale = np.sqrt((shares * centred**2).sum(axis=0) / seen)
        low = np.where(shares > 0, filled, np.inf).min(axis=0, initial=np.inf)
        high = np.where(shares > 0, filled, -np.inf).max(axis=0, initial=-np.inf)
        #: Positions of columns without two different observed values: they prevent learning.
        self.constant = find_constant_columns(low, high, self.scale**2)
        self._standard = centred / np.where(self.scale > 0, self.scale, 1.0)
        # rows with the same missing columns share one inverse
        packed = np.packbits(self._missing, axis=1)
        patterns, of = np.unique(packed, axis=0, return_inverse=True)
        self._of = of.reshape(-1)  # NumPy 2.0 returns a column
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
        p = self.n_columns
        # makes the covariance of fewer rows than columns invertible, and vanishes as rows are added
        ridge = 0.1 * min(1.0, p / self.n) * np.eye(p)

        def step(fit: _Unrestricted) -> _Unrestricted:
            lower = np.linalg.cholesky(fit.expected.covariance + ridge)
            inverse = np.linalg.inv(lower)
            log_det = -2.0 * float(np.log(np.diagonal(lower)).sum())
            normal = Normal(fit.expected.mean, inverse.T @ inverse, log_det)
            return _Unrestricted(*self._expect_standard(normal, may_end=True))

        try:
            fit = _Unrestricted(*self._expect_standard(Normal(np.zeros(p), np.eye(p), 0.0), may_end=True))
            expected = self._iterate(fit, step, FIRST_STEPS - 1, tolerance=FIRST_TOLERANCE).expected
        except OutOfTimeError:
            expected = self._expect_independent()
        first = self._to_units(expected)
        known = ~self._missing * np.sqrt(self.weights)[:, None]
        share = float((known.T @ known).mean()) / self.n
        first.n, first.cross = share * first.n, share * first.cross
        return first

    # ---- EM ----

    def _start(self, families: list[tuple[int, ...]]) -> Moments:
        return self.first

    def _estimate(self, families: list[tuple[int, ...]], statistics: Moments) -> Normal:
        """Return the distribution of standardised columns from the regression of each column on its parents."""
        covariance = statistics.covariance / np.outer(self.scale, self.scale)
        equations, variances = np.eye(len(families)), np.empty(len(families))
        for v, *parents in families:
            # collinear parents have no unique slopes: least squares chooses the shortest
            slopes = np.linalg.lstsq(covariance[np.ix_(parents, parents)], covariance[parents, v], rcond=1e-14)[0]
            equations[v, parents] = -slopes
            variances[v] = max(covariance[v, v] - slopes @ covariance[parents, v], LEAST_VARIANCE)
        scaled = equations / np.sqrt(variances)[:, None]
        mean = (statistics.mean - self.location) / self.scale
        return Normal(mean, scaled.T @ scaled, -float(np.log(variances).sum()))

    def _expect(self, families: list[tuple[int, ...]], parameters: Normal, *, may_end: bool) -> tuple[float, Moments]:
        log_likelihood, expected = self._expect_standard(parameters, may_end=may_end)
        return log_likelihood, self._to_units(expected)

    def _expect_independent(self) -> Moments:
        """Return the expected moments of the standardised columns if these are independent with variance 1."""
        expected = Moments(self._standard.shape[1]).update(self._standard, self.weights)
        expected.cross += np.diag(self.weights @ self._missing)
        return expected

    def _expect_standard(self, normal: Normal, *, may_end: bool) -> tuple[float, Moments]:
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

    # ---- completed rows ----

    def complete(self, fit: EMFit, seed: int) -> Moments:
        """Return the expected moments; nothing is drawn."""
        return fit.expected

    def complete_at_random(self, seed: int) -> Moments:
        """Return the moments of the rows with missing values drawn from the observed values of their columns."""
        rng = np.random.default_rng(seed)
        rows = self._standard.copy()
        for v, missing in enumerate(self._missing.T):
            shares = self.weights * ~missing
            rows[missing, v] = rng.choice(rows[:, v], int(missing.sum()), p=shares / shares.sum())
        return self._to_units(Moments(self.n_columns).update(rows, self.weights))

    def count(self, edges: np.ndarray, completed: Moments) -> Moments:
        """Return the moments themselves: they contain the moments of all families."""
        return completed

    def impute(self, fit: EMFit) -> np.ndarray:
        """Return the rows of the table, (n_rows, p); a missing value becomes its conditional mean given the row."""
        rows = self._fill(fit.parameters)[0]
        return np.where(self._missing, self.location + self.scale * rows, self.numbers)

    # ---- checkpoints ----

    def describe(self, fit: EMFit) -> dict[str, np.ndarray]:
        """Return the arrays from which `fit` restores the parameters."""
        moments = fit.statistics
        ends = np.stack([moments.low, moments.high])
        return {"n": np.array(moments.n), "mean": moments.mean, "cross": moments.cross, "ends": ends}

    def read_statistics(self, snapshot: Snapshot, edges: np.ndarray) -> Moments:
        """Return the moments from the arrays of `describe`."""
        p = self.n_columns
        snapshot.check_names(("n", "mean", "cross", "ends"))
        moments = Moments(p)
        moments.n, moments.mean = snapshot.number("n", 1e-300), snapshot.array("mean", float, (p,))
        moments.n_rows = int(np.count_nonzero(self.weights))
        moments.cross = snapshot.array("cross", float, (p, p))
        moments.low, moments.high = snapshot.array("ends", float, (2, p))
        return moments
