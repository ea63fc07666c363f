"""The input of Gaussian graphical models: the correlation matrix of a table, and its origin."""

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pgmx.checks import as_reals, check_known_names, is_number, join_names
from pgmx.data import NumericTable, open_numeric
from pgmx.statistics.gaussian.correlations import Correlations, DenseCorrelations, FactoredCorrelations
from pgmx.statistics.gaussian.nearest_correlation import is_definite
from pgmx.statistics.gaussian.passes import (
    CompletePass,
    PairwisePass,
    PassResult,
    repair,
    summarise_moments,
    summarise_ranks,
)
from pgmx.statistics.marginal_transforms import MarginalTransforms
from pgmx.statistics.moments import sum_moments
from pgmx.statistics.symmetric import (
    divide_by_deviations,
    locate_largest_asymmetry,
    locate_largest_off_diagonal,
    make_correlation,
)

#: Maximum number of columns for which R is formed for a graphical lasso although there is a factor (512 MB).
MOST_FORMED = 8192

#: Ways to estimate a correlation from rows.
CORRELATIONS = ("pearson", "kendall", "spearman", "shrinkage", "truncation")

_CONSTANT = ("error", "isolate")

#: A matrix is singular to working precision if it is indefinite after this is subtracted from its diagonal.
_SINGULAR = 1e-8

_ASYMMETRIC = (
    "the covariance is not symmetric: its two entries of {!r} and {!r} differ. Give (C + C.T) / 2 if this is intended"
)
_BEYOND = "not a covariance matrix: the correlation of {!r} and {!r} is beyond 1"


class GaussianSample:
    r"""A correlation matrix with names, means, scales, and the rows of its table; returned by `gaussian_sample`.

    Parameters
    ----------
    names, n_rows, mean, scale, method : tuple, float or None, ndarray, ndarray, str
        See the attributes.
    correlation, factor : ndarray of float64, optional
        See the attributes. One of the two may be left out.
    transforms, repaired, constant, table, weights, n_table_rows : optional
        See the attributes.

    Attributes
    ----------
    names : tuple
        Names of the columns, in the order of the data.
    n_columns : int
        Number of columns p.
    n_rows : float or None
        Sum of the row weights; without weights the number of rows. With missing="pairwise" the minimum over pairs of
        columns (a conservative choice). None for a covariance without a number of rows.
    mean : ndarray of float64, shape (p,)
        Means of the observed values; zeros for a covariance.
    scale : ndarray of float64, shape (p,)
        Standard deviations by maximum likelihood (over n), in the units of the data; 1.0 for a constant column.
    method : {"pearson", "kendall", "spearman", "shrinkage", "truncation", "precomputed"}
        Estimator of the correlation.
    correlation : ndarray of float64, shape (p, p)
        R: symmetric, unit diagonal, positive semidefinite up to rounding. If only `factor` is stored, R is computed on
        first access, in m p² operations, and kept.
    factor : ndarray of float64, shape (m, p), or None
        A with R = A'A, with fewer rows than columns; stored for Pearson correlations if p > n. For data from a file it
        is mapped, read-only, from a temporary .npy file.
    transforms : MarginalTransforms or None
        For rank methods: the monotone maps between the data and the normal scores with correlation R.
    repaired : float
        Largest absolute change of a correlation when R was made positive semidefinite; 0.0 if no change was needed.
    constant : ndarray of int64
        Positions of the constant columns, which were made uncorrelated with all others.
    table : NumericTable or None
        The rows; None for a distributed table.
    weights : ndarray of float64, shape (n_rows_of_the_input,), or None
        Row weights as given.
    n_table_rows : int or None
        Number of rows of the table, to which `parts` refers. Rows left out by missing="drop" are not counted.
    singular : bool
        Whether R has no inverse to working precision.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.data import open_numeric
    >>> from pgmx.statistics import gaussian_sample
    >>> sample = gaussian_sample(open_numeric(np.array([[1.0, 5.0], [3.0, 5.0], [1.0, 9.0], [3.0, 9.0]])))
    >>> sample.n_rows, sample.mean.tolist(), sample.scale.tolist()
    (4.0, [2.0, 7.0], [1.0, 2.0])
    >>> sample.correlation.tolist(), sample.singular
    ([[1.0, 0.0], [0.0, 1.0]], False)
    """

    def __init__(
        self,
        names: Sequence,
        n_rows: float | None,
        mean: np.ndarray,
        scale: np.ndarray,
        method: str,
        *,
        correlation: np.ndarray | None = None,
        factor: np.ndarray | None = None,
        transforms: MarginalTransforms | None = None,
        repaired: float = 0.0,
        constant: ArrayLike = (),
        table: NumericTable | None = None,
        weights: np.ndarray | None = None,
        n_table_rows: int | None = None,
    ):
        self.names = tuple(names)
        self.n_columns = len(self.names)
        self.n_rows = n_rows
        self.mean, self.scale = _freeze(mean), _freeze(scale)
        self.method = method
        self.factor = factor
        self.transforms = transforms
        self.repaired = repaired
        self.constant = _freeze(np.array(constant, dtype=np.int64))
        self.table = table
        self.weights = weights
        self.n_table_rows = n_table_rows
        if correlation is not None:
            self.correlation = _freeze(correlation)  # in place of the cached property

    def __repr__(self):
        rows = "unknown" if self.n_rows is None else f"{self.n_rows:g}"
        return f"GaussianSample({self.n_columns} columns, {rows} rows, {self.method})"

    @cached_property
    def correlation(self) -> np.ndarray:
        """R, formed from the factor."""
        factor = np.asarray(self.factor)
        return _freeze(make_correlation(factor.T @ factor))  # a product with its own transpose has half the cost

    @cached_property
    def correlations(self) -> Correlations:
        """R for a graphical lasso; from a factor with many columns only the needed blocks are computed."""
        if self.factor is None or self.n_columns <= MOST_FORMED:
            return DenseCorrelations(self.correlation)
        return FactoredCorrelations(self.factor)

    @cached_property
    def singular(self) -> bool:
        """Whether R has no inverse: it was indefinite, has too few rows, or R - 1e-8 I is not positive definite."""
        if self.repaired > 0 or (self.factor is not None and len(self.factor) <= self.n_columns):
            return True
        return not is_definite(self.correlation, -_SINGULAR)

    def parts(self, rows: Sequence[ArrayLike], n_jobs: int | None = None) -> "list[GaussianSample]":
        """Return samples of subsets of the rows, by the same method, in one pass over the table.

        Parameters
        ----------
        rows : list of array_like of int
            Row numbers of each subset, from 0 to n_table_rows - 1, in any order. A repeated row number counts
            repeatedly.
        n_jobs : int, optional
            Number of threads, for rank methods.

        Returns
        -------
        list of GaussianSample
            One per subset, without table and transforms. Columns that are constant or unobserved in a subset are made
            uncorrelated there, with the scale of the whole table. Pairs of columns that are never observed together are
            also made uncorrelated.

        Raises
        ------
        ValueError
            If the sample has no table, a row number is out of range, or the table was an iterator, which is consumed.
        """
        if self.table is None:
            raise ValueError(
                "the sample has no rows: it was made from a covariance matrix, or is a subset of another sample"
            )
        counts = [self._count_rows(part) for part in rows]
        if self.method != "pearson":
            table_rows, missing = self.table.rows(), self.table.missing
            results = [
                summarise_ranks(
                    table_rows[np.repeat(np.arange(len(c)), c)], self.names, self.method, missing, n_jobs, True
                )
                for c in counts
            ]
        else:
            passes = [_choose_pass(self.table, int((c > 0).sum()) if self.weights is None else None) for c in counts]
            _feed(self.table, self.weights, passes, counts)
            results = [one.finish(self.names, isolate=True) for one in passes]
        for result in results:
            result.scale[result.constant] = self.scale[result.constant]
            result.mean[np.isnan(result.mean)] = self.mean[np.isnan(result.mean)]
        return [
            _make_sample(result, self.names, self.method, n_table_rows=int(c.sum()))
            for result, c in zip(results, counts, strict=True)
        ]

    def without_rows(self) -> "GaussianSample":
        """Return the same sample without table and weights; it shares all other arrays and does not support `parts`."""
        twin = copy(self)
        twin.table = twin.weights = None
        return twin

    def _count_rows(self, rows: ArrayLike) -> np.ndarray:
        """Count how often a subset contains each row of the table."""
        rows = np.asarray(rows)
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or not rows.size:
            raise ValueError(f"a subset must consist of row numbers, got {rows!r}")
        n = self.n_table_rows or 0
        if rows.min() < 0 or rows.max() >= n:
            raise ValueError(f"row numbers must be in 0..{n - 1}, got {rows.min()}..{rows.max()}")
        return np.bincount(rows, minlength=n)


def gaussian_sample(
    table: Any,
    *,
    weights: ArrayLike | None = None,
    correlation: str = "pearson",
    n_jobs: int | None = None,
    constant: str = "error",
) -> GaussianSample:
    r"""Return the correlation matrix of a numeric table, and further statistics for Gaussian learners.

    .. math:: R_{ij} = \frac{\sum_r w_r (x_{ri} - \bar x_i)(x_{rj} - \bar x_j)}{n s_i s_j}, \qquad
              n = \sum_r w_r, \qquad s_i^2 = \frac{1}{n} \sum_r w_r (x_{ri} - \bar x_i)^2

    Parameters
    ----------
    table : NumericTable, or anything that `open_numeric` takes
        The rows. With missing="pairwise" each correlation uses the rows in which both columns are observed. The workers
        of a DistributedNumericTable compute the moments of their rows.
    weights : array_like of shape (n_rows_of_the_input,), optional
        Nonnegative; 1 for each row by default. For a DistributedNumericTable: weights of the rows that it keeps. Rank
        methods do not support weights.
    correlation : {"pearson", "kendall", "spearman", "shrinkage", "truncation"}, default="pearson"
        "pearson" is the formula above. The others estimate the correlation of latent normal scores from ranks, see
        `latent_correlation`. They read the whole table into memory.
    n_jobs : int, optional
        Number of threads, for rank methods.
    constant : {"error", "isolate"}, default="error"
        How to treat constant columns: raise an error, or make them uncorrelated with all others.

    Returns
    -------
    GaussianSample
        Its correlation is positive semidefinite. If it is indefinite because of ranks or missing values, it is replaced
        by the nearest correlation matrix, and `repaired` is the largest change.

    Raises
    ------
    TypeError
        If a rank method is used with a DistributedNumericTable: ranks are not sums over its partitions.
    ValueError
        If an option is unknown, a column is constant, has no observed value or has values above 1e150, two columns have
        no common row, weights do not match or are used with ranks, or the table cannot be read; see `open_numeric`.

    Notes
    -----
    "pearson" needs one pass over the table, n p² multiplications, and 8 p² bytes plus 32 MB of memory. If n < p, the
    standardised rows are stored instead (for a file, in a temporary file), and no p x p matrix is formed. Up to
    rounding, the result does not depend on the size of the chunks or the order of the rows. A distributed table has no
    thin factor: each partition sends 8 p² bytes, and the driver keeps 8 p² bytes.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.statistics import gaussian_sample
    >>> sample = gaussian_sample(np.array([[1.0, 2.0, 3.0], [2.0, 1.0, 6.0]]))
    >>> sample.factor.shape, sample.correlation.round(12).tolist()
    ((2, 3), [[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0], [1.0, -1.0, 1.0]])
    """
    for option, value, known in (("correlation", correlation, CORRELATIONS), ("constant", constant, _CONSTANT)):
        if value not in known:
            raise ValueError(f"{option} must be one of {join_names(known)}, got {value!r}")
    if not isinstance(table, NumericTable):
        table = open_numeric(table)
    if weights is not None:
        if correlation != "pearson":
            raise ValueError(f"correlation={correlation!r} uses ranks, which do not support weights: use 'pearson'")
        weights = _freeze(table.check_weights(weights))
    with np.errstate(over="ignore", invalid="ignore"):  # an error with the names of the columns follows
        rows: dict[str, Any] = {"table": table, "weights": weights}
        if table.is_remote:  # partitions are summed where they are: no thin factor, and no rows for `parts`
            _refuse_ranks(table, correlation)
            result, rows = summarise_moments(sum_moments(table, weights)), {}
        elif correlation == "pearson":
            # rows of weight 0 do not count, so the number is unknown if there are weights
            one = _choose_pass(table, len(table.rows()) if table.in_memory and weights is None else None)
            rows["n_table_rows"] = _feed(table, weights, [one], None)
            result = one.finish(table.names)
        else:
            values = table.rows()
            rows["n_table_rows"] = len(values)
            result = summarise_ranks(values, table.names, correlation, table.missing, n_jobs)
    beyond = [table.names[v] for v in np.flatnonzero(~np.isfinite(result.scale))]
    if beyond:
        raise ValueError(
            f"column(s) {join_names(beyond)} hold numbers whose squares are too large: give them another unit"
        )
    if len(result.constant) and constant == "error":
        culprits = [table.names[v] for v in result.constant]
        raise ValueError(f"column(s) {join_names(culprits)} are constant, so they have no correlation: drop them")
    return _make_sample(result, table.names, correlation, **rows)


def _refuse_ranks(table: NumericTable, correlation: str) -> None:
    """Refuse correlations that are not a function of sums over the partitions."""
    if correlation == "pearson":
        return
    reason = (
        "compares all pairs of rows, and most pairs are on different workers"
        if correlation == "kendall"
        else "ranks each value among all rows, which no worker has"
    )
    raise TypeError(
        f"correlation={correlation!r} {reason}: {table!r} provides only means and cross-products. Learn without "
        "Nonparanormal, or give the rows in memory"
    )


def _choose_pass(table, n_expected):
    """Return the suitable pass for a table with `n_expected` rows; None if the number is unknown."""
    if table.missing == "pairwise" and table.has_missing is not False:
        return PairwisePass(table.n_columns)
    return CompletePass(table.n_columns, n_expected, on_disk=not table.in_memory)


def _feed(table, weights, passes, counts):
    """Send the rows through passes, row r with its weight times ``counts[k][r]``; return the number of rows."""
    n_rows = 0
    for numbers, rows in table.chunks_with_numbers():
        if weights is not None and numbers[-1] >= len(weights):
            raise ValueError(f"{len(weights)} weights are fewer than the rows: give one weight per row")
        weights_of_rows = None if weights is None else weights[numbers]
        if counts is None:
            passes[0].add(rows, weights_of_rows)
        else:
            for one, of_part in zip(passes, counts, strict=True):
                _add_repeated(one, rows, weights_of_rows, of_part[n_rows : n_rows + len(rows)])
        n_rows += len(rows)
    if weights is not None:
        table.check_weights(weights)  # the number of rows of a file is only known at its end
    return n_rows


def _add_repeated(one, rows, weights, counts):
    """Add rows to a pass, each with its count."""
    present = np.flatnonzero(counts)
    if not len(present):
        return
    times = counts[present]
    # weights of 1 would only cost multiplications
    of_rows = None if times.max() == 1 else times.astype(np.float64)
    if weights is not None:
        of_rows = weights[present] * times
    one.add(rows if len(present) == len(rows) else rows[present], of_rows)


def _make_sample(result: PassResult, names: Sequence, method: str, **more: Any) -> GaussianSample:
    """Return the sample of a pass, with its correlation repaired if necessary."""
    correlation, repaired = result.correlation, 0.0
    if correlation is not None and result.uncertain:
        correlation, repaired = repair(correlation)
    return GaussianSample(
        names,
        result.n_rows,
        result.mean,
        result.scale,
        method,
        correlation=correlation,
        factor=result.factor,
        transforms=result.transforms,
        repaired=repaired,
        constant=result.constant,
        **more,
    )


def _freeze(array: np.ndarray) -> np.ndarray:
    """Return a read-only view."""
    array = np.ascontiguousarray(array)[...]
    array.flags.writeable = False
    return array


# ---- a sample given only by a covariance matrix ----


def sample_of_covariance(
    covariance: Any, n_samples: float | None = None, *, names: Sequence | None = None
) -> GaussianSample:
    """Return a sample that is given only by its covariance matrix.

    Parameters
    ----------
    covariance : array_like or frame of shape (p, p)
        Covariances or correlations, symmetric. Never changed.
    n_samples : float, optional
        Number of rows from which it was estimated.
    names : sequence of length p, optional
        Names of the columns; by default the names of a frame, or x0, x1, ...

    Returns
    -------
    GaussianSample
        With method "precomputed" and means 0. If the matrix is indefinite, the nearest correlation matrix is used, and
        `repaired` is the largest change.

    Raises
    ------
    ValueError
        If the matrix is not square, finite and symmetric (to 1e-6 of the scales), has a nonpositive variance or a
        correlation beyond 1, or if names or n_samples do not match.

    Examples
    --------
    >>> from pgmx.statistics import sample_of_covariance
    >>> sample = sample_of_covariance([[4.0, 1.0], [1.0, 1.0]], n_samples=50)
    >>> sample.names, sample.scale.tolist(), sample.correlation.tolist()
    (('x0', 'x1'), [2.0, 1.0], [[1.0, 0.5], [0.5, 1.0]])
    """
    matrix, names = _read_matrix(covariance, names)
    if n_samples is not None and (not is_number(n_samples) or n_samples < 2):
        raise ValueError(f"n_samples must be a number of at least 2, or None, got {n_samples!r}")
    bad = [names[v] for v in np.flatnonzero(~np.isfinite(matrix).all(axis=0)).tolist()]
    if bad:
        raise ValueError(
            f"the covariance has missing or infinite values in column(s) {join_names(bad)}: leave these columns out"
        )
    variances = matrix.diagonal()
    bad = [names[v] for v in np.flatnonzero(variances <= 0).tolist()]
    if bad:
        raise ValueError(f"the variance of column(s) {join_names(bad)} is not positive: leave constant columns out")
    scale = np.sqrt(variances)
    correlation = divide_by_deviations(matrix, out=matrix)
    _refuse_worst(locate_largest_asymmetry(correlation), 1e-6, names, _ASYMMETRIC)
    _refuse_worst(locate_largest_off_diagonal(correlation), 1 + 1e-6, names, _BEYOND)
    correlation, repaired = repair(make_correlation(correlation))
    n_rows = None if n_samples is None else float(n_samples)
    mean = np.zeros(len(names))
    return GaussianSample(names, n_rows, mean, scale, "precomputed", correlation=correlation, repaired=repaired)


def _read_matrix(covariance: Any, names: Sequence | None) -> tuple[np.ndarray, tuple]:
    """Return a float64 copy of a matrix and the names of its columns."""
    columns = getattr(covariance, "columns", None)
    index = getattr(covariance, "index", None)
    try:
        matrix = as_reals(covariance, "the covariance").astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"the covariance must be a matrix of numbers: {error}") from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ValueError(f"the covariance must be a square matrix, got the shape {matrix.shape}")
    if (
        columns is not None
        and index is not None
        and list(index) != list(columns)
        and list(index) != [*range(len(index))]
    ):
        raise ValueError("the rows and columns of the covariance have different names: give both in the same order")
    if names is None:
        names = [f"x{v}" for v in range(len(matrix))] if columns is None else list(columns)
    names = tuple(names)
    check_known_names(names)
    if len(names) != len(matrix) or len(set(names)) != len(names):
        raise ValueError(f"names must be {len(matrix)} different names, got {join_names(names)}")
    return matrix, names


def _refuse_worst(found: tuple[float, int, int], limit: float, names: Sequence, message: str) -> None:
    """Raise an error that names the pair if its value is above the limit."""
    value, i, j = found
    if value > limit:
        raise ValueError(message.format(names[min(i, j)], names[max(i, j)]))
