r"""Means and cross-products of numeric columns, mergeable over partitions of the rows.

`moments` reads rows in memory, `sum_moments` a numeric table: workers sum their partitions of a distributed one.

`PairwiseMoments` is for columns with missing values. With :math:`k_{ri}` 1 if value (r, i) is observed and else 0, the
moments of the pair (i, j), from the rows in which both columns are observed, are

.. math::

    n_{ij} = \sum_r w_r k_{ri} k_{rj}, \qquad
    c_{ij} = \frac{1}{n_{ij}} \sum_r w_r k_{ri} k_{rj} (x_{ri} - m_{ij}) (x_{rj} - m_{ji}), \qquad
    r_{ij} = \frac{c_{ij}}{s_{ij} s_{ji}},

where :math:`m_{ij}` and :math:`s_{ij}` are mean and standard deviation of column i over the rows of the pair. Variances
over these rows keep correlations within [-1, 1]. Reference: Little, R. J. A. and Rubin, D. B. (2019), Statistical
Analysis with Missing Data, third edition, Wiley, chapter 3, available-case analysis.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import get_blas_funcs

from pgmx.checks import as_reals, check_weights
from pgmx.data import NumericTable
from pgmx.statistics.symmetric import copy_upper, list_blocks, scale_to_correlation

#: Number of values that are centred at a time: 1 MB of float64, which fits in a cache. For wide tables up to 32 MB, so
#: that a block has this number of rows per column: with fewer rows, adding a product would be slower than computing it.
_BLOCK_CELLS, _WIDE_CELLS, _ROWS_PER_COLUMN = 1 << 17, 1 << 22, 16

#: Number of values in a block of rows with missing values: four arrays of 32 MB of float64.
_PAIRWISE_CELLS = 1 << 22


def count_block_rows(n_columns: int) -> int:
    """Return the number of rows that are centred at a time."""
    p = max(n_columns, 1)
    return max(_BLOCK_CELLS // p, min(_WIDE_CELLS // p, _ROWS_PER_COLUMN * p), 1)


#: BLAS routine for A A' + C that writes one triangle.
(_add_square,) = get_blas_funcs(("syrk",), dtype=np.float64)


class Moments:
    r"""Weighted first and second moments of p columns.

    .. math:: n = \sum_i w_i, \qquad \bar x = \frac{1}{n} \sum_i w_i x_i,
              \qquad C = \sum_i w_i (x_i - \bar x)(x_i - \bar x)^T

    Parameters
    ----------
    n_columns : int
        p, the number of columns.

    Attributes
    ----------
    n : float
        Sum of the weights; the number of rows without weights.
    n_rows : int
        Number of rows of positive weight.
    mean : ndarray of shape (p,)
        Means.
    cross : ndarray of shape (p, p)
        Cross-products about the means, symmetric.
    low, high : ndarray of shape (p,)
        Smallest and largest values among rows of positive weight.

    Notes
    -----
    Every block of rows is centred on its own mean before products are computed. Blocks are merged with the difference
    of their means, which are stored in double-double precision. Therefore columns with large means lose no digits.
    Cost: N p² / 2 multiplications, one pass. Memory: `cross`.

    References
    ----------
    .. [1] Chan, T. F., Golub, G. H. and LeVeque, R. J. (1983). Algorithms for computing the sample variance. The
       American Statistician 37, 242-247, equation 2.1.

    Examples
    --------
    >>> import numpy as np
    >>> part = Moments(1).update(np.array([[1.0], [2.0]]))
    >>> whole = part.merge(Moments(1).update(np.array([[6.0]])))
    >>> whole.n, whole.mean.tolist(), whole.cross.tolist()
    (3.0, [3.0], [[14.0]])
    """

    def __init__(self, n_columns: int):
        self.n, self.n_rows = 0.0, 0
        self.mean = np.zeros(n_columns)
        self._rest = np.zeros(n_columns)  # rounding error of the mean
        self.cross = np.zeros((n_columns, n_columns))
        self.low = np.full(n_columns, np.inf)
        self.high = np.full(n_columns, -np.inf)

    def update(self, rows: ArrayLike, weights: ArrayLike | None = None) -> Self:
        """Add rows and return self.

        Parameters
        ----------
        rows : array_like of shape (m, p)
            Finite values.
        weights : array_like of shape (m,), optional
            Nonnegative; 1 for each row by default.

        Returns
        -------
        Moments
            self.
        """
        rows = as_reals(rows, "rows")
        if rows.ndim != 2 or rows.shape[1] != len(self.mean):
            raise ValueError(f"rows must have the shape (m, {len(self.mean)}), got {rows.shape}")
        row_weights = None if weights is None else as_reals(weights, "weights")
        step = count_block_rows(rows.shape[1])
        products = np.empty((min(step, len(rows)) + 1, rows.shape[1]))
        for first in range(0, len(rows), step):
            block = np.asarray(rows[first : first + step], dtype=np.float64)
            part = None if row_weights is None else row_weights[first : first + step].astype(np.float64)
            with np.errstate(over="ignore", invalid="ignore"):  # the caller reports the columns
                self._add(block, part, products)
        copy_upper(self.cross)
        return self

    def _add(self, rows: np.ndarray, weights: np.ndarray | None, products: np.ndarray) -> None:
        """Add rows to all except the lower triangle: products of the centred rows and of the difference of the means.

        `products` is scratch, with at least one row more and p columns.
        """
        if weights is not None:
            rows, weights = rows[weights > 0], weights[weights > 0]
        if not len(rows):
            return
        n = float(len(rows) if weights is None else weights.sum())
        mean = rows.mean(axis=0) if weights is None else weights @ rows / n
        products = products[: len(rows) + 1]
        centred = np.subtract(rows, mean, out=products[:-1])
        rest = centred.mean(axis=0) if weights is None else weights @ centred / n  # rounding error of the mean
        centred -= rest
        if weights is not None:
            centred *= np.sqrt(weights)[:, None]
        shift = self._find_shift(mean, rest)
        products[-1] = shift * np.sqrt(self.n * n / (self.n + n))
        # BLAS uses column-major order: it reads `products.T` without a copy, and this triangle is its lower triangle.
        self.cross = _add_square(1.0, products.T, beta=1.0, c=self.cross.T, lower=1, overwrite_c=1).T
        self._move(n, len(rows), shift, rows.min(axis=0), rows.max(axis=0))

    def _find_shift(self, mean: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """Return the difference of other means (value and rounding error) from these, which adopt them without rows."""
        if self.n == 0:
            self.mean, self._rest = _add_exactly(mean, rest)
        return (mean - self.mean) + (rest - self._rest)

    def _move(self, n: float, n_rows: int, shift: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
        """Add to the count rows of total weight n whose means differ by `shift`."""
        self.mean, self._rest = _add_exactly(self.mean, self._rest + shift * (n / (self.n + n)))
        self.n += n
        self.n_rows += n_rows
        self.low, self.high = np.minimum(self.low, low), np.maximum(self.high, high)

    def merge(self, other: "Moments") -> Self:
        """Add the moments of other rows of the same columns and return self.

        Parameters
        ----------
        other : Moments
            Not changed.

        Returns
        -------
        Moments
            self.
        """
        total = self.n + other.n
        if other.n > 0:
            shift = self._find_shift(other.mean, other._rest)
            for rows in list_blocks(len(shift)):
                self.cross[rows] += other.cross[rows]
                self.cross[rows] += np.outer(shift[rows], shift) * (self.n * other.n / total)
            self._move(other.n, other.n_rows, shift, other.low, other.high)
        return self

    @property
    def covariance(self) -> np.ndarray:
        """Covariances by maximum likelihood, cross-products over n."""
        return self.cross / self.n

    @property
    def correlation(self) -> np.ndarray:
        """Correlations with unit diagonal; no column may be constant."""
        return scale_to_correlation(self.cross)

    @property
    def constant_columns(self) -> np.ndarray:
        """Positions of the columns with a single value, or with variation below rounding error."""
        return find_constant_columns(self.low, self.high, self.cross.diagonal() / self.n)


def _add_exactly(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a + b and its rounding error (Knuth's two-sum)."""
    total = a + b
    of_b = total - a
    return total, (a - (total - of_b)) + (b - of_b)


def find_constant_columns(low: np.ndarray, high: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return the positions of the columns with at most one distinct value, or with variation below rounding error.

    Columns whose squares overflow have no finite variance, and are not constant.
    """
    rounding = np.maximum(np.abs(low), np.abs(high)) * 1e-15
    with np.errstate(over="ignore"):
        return np.flatnonzero(~(high > low) | ((variance <= rounding**2) & np.isfinite(variance)))


def moments(data: ArrayLike, weights: ArrayLike | None = None) -> Moments:
    """Return the moments of all columns of a numeric table.

    Parameters
    ----------
    data : array_like or frame of numbers, shape (N, p)
        Finite values, one column per variable.
    weights : array_like of shape (N,), optional
        Nonnegative row weights; 1 for each row by default.

    Returns
    -------
    Moments
        ``n``, ``mean``, ``cross``, covariances and correlations.

    Notes
    -----
    Cost: N p² / 2 multiplications. Memory in addition to the data: 8 p² bytes and 32 MB.

    Examples
    --------
    >>> import numpy as np
    >>> whole = moments(np.array([[1.0, 2.0], [3.0, 6.0]]))
    >>> whole.mean.tolist(), whole.covariance.tolist()
    ([2.0, 4.0], [[1.0, 2.0], [2.0, 4.0]])
    """
    rows = np.asarray(data)
    if rows.ndim != 2:
        raise ValueError(f"data must be a table of shape (N, p), got the shape {rows.shape}")
    if weights is not None:
        weights = check_weights(weights, "weights", len(rows))
    return Moments(rows.shape[1]).update(rows, weights)


# ---- sets of rows ----


class SetSums(NamedTuple):
    """Sizes of K sets of rows, and sums of the columns and of their products, (K, p) and (K, p, p).

    Columns are centred on their means over all rows, up to the rounding errors of the means.
    """

    counts: np.ndarray
    sums: np.ndarray
    products: np.ndarray


def sum_sets(data: ArrayLike, set_of_row: np.ndarray, n_sets: int) -> tuple[Moments, SetSums]:
    """Return the moments of all rows, and sums over each set of rows; `set_of_row`, (N,), has the set of each.

    Cost: as `moments`, since these are sums over the sets. Memory: 8 K p² bytes and 32 MB.
    """
    columns = as_reals(np.asarray(data), "rows").T
    p, n_rows = columns.shape
    order, counts = np.argsort(set_of_row, kind="stable"), np.bincount(set_of_row, minlength=n_sets)
    ends = np.cumsum(counts)
    sums, products = np.zeros((p, n_sets)), np.zeros((n_sets, p, p))
    whole, step = Moments(p), count_block_rows(p)
    with np.errstate(over="ignore", invalid="ignore"):  # the caller reports the columns
        mean = columns.mean(axis=1, dtype=np.float64)
        for first in range(0, n_rows, step):
            block = columns.take(order[first : first + step], axis=1).astype(np.float64, copy=False)
            np.minimum(whole.low, block.min(axis=1), out=whole.low)
            np.maximum(whole.high, block.max(axis=1), out=whole.high)
            block -= mean[:, None]
            last = first + block.shape[1]
            of_block = np.flatnonzero((ends > first) & (ends - counts < last) & (counts > 0))
            bounds = np.append(np.maximum((ends - counts)[of_block], first), last) - first
            sums[:, of_block] += np.add.reduceat(block, bounds[:-1], axis=1)
            for k, start, stop in zip(of_block.tolist(), bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
                part = block[:, start:stop]
                products[k] += part @ part.T
        sums = sums.T
        whole.n, whole.n_rows = float(n_rows), n_rows
        rest = sums.sum(axis=0) / n_rows  # rounding error of the mean
        whole.mean, whole._rest = _add_exactly(mean, rest)
        whole.cross = products.sum(axis=0) - n_rows * np.outer(rest, rest)
    return whole, SetSums(counts, sums, products)


# ---- partitions of a table ----


def sum_moments(table: NumericTable, weights: np.ndarray | None = None) -> Moments:
    """Return the moments of all rows of a table: moments of its partitions, merged in order in a binary tree."""
    if weights is None:
        return table.reduce(_compute_moments, add=merge_moments)
    return table.reduce(_compute_weighted_moments, add=merge_moments, weights=weights)


def _compute_moments(partition: Any, weights: np.ndarray | None = None) -> Moments:
    """Return the moments of the rows of a partition; weights that it keeps do not count."""
    total, first = Moments(len(partition.names)), 0
    for block in partition.blocks:
        stop = first + len(block)
        total.update(block, None if weights is None else weights[first:stop])
        first = stop
    return total


def _compute_weighted_moments(partition: Any) -> Moments:
    """Return the moments of the rows of a partition, with its weights."""
    return _compute_moments(partition, partition.weights)


def merge_moments(of_partitions: list[Moments]) -> Moments:
    """Return the moments of the rows of some partitions, which are not changed."""
    merged = Moments(len(of_partitions[0].mean))
    with np.errstate(over="ignore", invalid="ignore"):  # the caller reports the columns
        for one in of_partitions:
            merged.merge(one)
    return merged


# ---- missing values ----


class PairwiseMoments:
    """Weighted moments of p columns with missing values, see the module.

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
        step = max(1, _PAIRWISE_CELLS // rows.shape[1])
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
