r"""Covariances of columns with missing values, from the rows in which both columns are observed.

With :math:`k_{ri}` 1 if value (r, i) is observed and else 0, the moments of the pair (i, j) are

.. math::

    n_{ij} = \sum_r w_r k_{ri} k_{rj}, \qquad
    c_{ij} = \frac{1}{n_{ij}} \sum_r w_r k_{ri} k_{rj} (x_{ri} - m_{ij}) (x_{rj} - m_{ji}), \qquad
    r_{ij} = \frac{c_{ij}}{s_{ij} s_{ji}},

where :math:`m_{ij}` and :math:`s_{ij}` are mean and standard deviation of column i over the rows of the pair. Variances
over these rows keep correlations within [-1, 1]. Reference: Little, R. J. A. and Rubin, D. B. (2019), Statistical
Analysis with Missing Data, third edition, Wiley, chapter 3, available-case analysis.
"""

from typing import Self

import numpy as np

from pgmx.statistics.moments import find_constant_columns

#: Number of values in a block of rows: four arrays of 32 MB of float64.
_BLOCK_CELLS = 1 << 22


class PairwiseMoments:
    """Weighted available-case moments of p columns.

    Rows are centred on the mean of the first block, so that columns with large means lose no digits. Cost: four
    products of N p² multiplications, and four p x p matrices.
    """

    def __init__(self, n_columns: int):
        #: n_ij, the weight of the rows in which both columns are observed; on the diagonal, of the observed rows of a
        #: column.
        self.pairs = np.zeros((n_columns, n_columns))
        self._sums = np.zeros((n_columns, n_columns))  # [i, j]: of column i over the rows in which j is observed
        self._squares = np.zeros((n_columns, n_columns))
        self._products = np.zeros((n_columns, n_columns))
        self._low, self._high = np.full(n_columns, np.inf), np.full(n_columns, -np.inf)
        self._shift = np.full(n_columns, np.nan)

    def update(self, rows: np.ndarray, weights: np.ndarray | None = None) -> Self:
        """Add rows of float64, shape (m, p), with NaN for missing values, and their weights if there are any."""
        step = max(1, _BLOCK_CELLS // rows.shape[1])
        for first in range(0, len(rows), step):
            part = slice(first, first + step)
            self._add(rows[part], None if weights is None else weights[part])
        return self

    def _add(self, rows: np.ndarray, weights: np.ndarray | None) -> None:
        if weights is not None:
            rows, weights = rows[weights > 0], weights[weights > 0]
        if not len(rows):
            return
        known = ~np.isnan(rows)
        self._low = np.fmin(self._low, np.fmin.reduce(rows, axis=0))
        self._high = np.fmax(self._high, np.fmax.reduce(rows, axis=0))
        new = np.isnan(self._shift) & known.any(axis=0)
        self._shift[new] = _compute_known_means(rows[:, new], known[:, new])
        centred = np.where(known, rows - self._shift, 0.0)
        shares = known.astype(np.float64)
        weighted = shares if weights is None else shares * weights[:, None]
        self.pairs += weighted.T @ shares
        self._sums += centred.T @ weighted
        self._squares += (centred * centred).T @ weighted
        self._products += centred.T @ (centred if weights is None else centred * weights[:, None])

    @property
    def mean(self) -> np.ndarray:
        """Means of the observed values of each column; NaN for a column without observed values."""
        with np.errstate(invalid="ignore"):
            return self._shift + self._sums.diagonal() / self.pairs.diagonal()

    @property
    def scale(self) -> np.ndarray:
        """Standard deviations of the observed values of each column, by maximum likelihood."""
        return np.sqrt(self._variances().diagonal())

    @property
    def constant_columns(self) -> np.ndarray:
        """Positions of the columns with at most one distinct value, or with variation below rounding error."""
        return find_constant_columns(self._low, self._high, self._variances().diagonal())

    @property
    def correlation(self) -> np.ndarray:
        """Correlations with unit diagonal; 0 if a column is constant over the rows of the pair."""
        variances = self._variances()
        pairs = np.maximum(self.pairs, np.finfo(np.float64).tiny)
        covariance = self._products / pairs - (self._sums / pairs) * (self._sums.T / pairs)
        # If a column is constant over the rows of a pair, its squares are rounding errors.
        varies = variances > 1e-14 * self._squares / pairs
        varies &= varies.T
        scale = np.sqrt(np.where(varies, variances, 1.0))
        correlation = np.where(varies, covariance / scale / scale.T, 0.0)
        correlation = 0.5 * (correlation + correlation.T)
        np.clip(correlation, -1.0, 1.0, out=correlation)
        np.fill_diagonal(correlation, 1.0)
        return correlation

    def _variances(self) -> np.ndarray:
        """Return in [i, j] the variance of column i over the rows in which j is also observed."""
        pairs = np.maximum(self.pairs, np.finfo(np.float64).tiny)
        return np.maximum(self._squares / pairs - (self._sums / pairs) ** 2, 0.0)


def _compute_known_means(rows: np.ndarray, known: np.ndarray) -> np.ndarray:
    first = rows[known.argmax(axis=0), np.arange(rows.shape[1])]
    return first + np.where(known, rows - first, 0.0).sum(axis=0) / known.sum(axis=0)
