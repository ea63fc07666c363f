"""What Gaussian graphical models need to know of a table: its correlation matrix, and how it came about."""

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pgmx.checks import join_names
from pgmx.data import DistributedNumericTable, NumericTable, open_numeric
from pgmx.statistics.gaussian.correlations import Correlations, DenseCorrelations, FactoredCorrelations
from pgmx.statistics.gaussian.distributed_moments import sum_moments
from pgmx.statistics.gaussian.nearest_correlation import is_definite
from pgmx.statistics.gaussian.passes import (
    CompletePass,
    PairwisePass,
    PassResult,
    repair,
    summarise_moments,
    summarise_ranks,
)
from pgmx.statistics.ranks.transforms import MarginalTransforms
from pgmx.statistics.symmetric import make_correlation

#: Most columns of which R is formed whole for a graphical lasso where a factor would do (512 MB).
MOST_FORMED = 8192

#: Ways to estimate a correlation from rows.
CORRELATIONS = ("pearson", "kendall", "spearman", "shrinkage", "truncation")

_CONSTANT = ("error", "isolate")

#: A matrix is singular to working precision where this, taken off its diagonal, makes it indefinite.
_SINGULAR = 1e-8


class GaussianSample:
    r"""A correlation matrix with its names, means, scales, and the rows it came from; made by `gaussian_sample`.

    Parameters
    ----------
    names, n_rows, mean, scale, method : tuple, float or None, ndarray, ndarray, str
        As the attributes.
    correlation, factor : ndarray of float64, optional
        As the attributes; one of them may be left out.
    transforms, repaired, constant, table, weights, n_table_rows : optional
        As the attributes.

    Attributes
    ----------
    names : tuple
        Names of the columns, in the order of the data.
    n_columns : int
        p, their number.
    n_rows : float or None
        Sum of the row weights, the number of rows where there are none. With missing="pairwise" the smallest such
        number behind a pair of columns, so that conclusions are never surer than the worst pair allows. None for a
        covariance that came without it.
    mean : ndarray of float64, shape (p,)
        Means, over the known cells; zeros for a covariance.
    scale : ndarray of float64, shape (p,)
        Standard deviations by maximum likelihood (over n), in the units of the data; 1.0 for a constant column.
    method : {"pearson", "kendall", "spearman", "shrinkage", "truncation", "precomputed"}
        How the correlation was estimated.
    correlation : ndarray of float64, shape (p, p)
        R: symmetric, ones on the diagonal, positive semidefinite to rounding. Where only `factor` was kept it is formed
        on first access, in m p² operations, and kept.
    factor : ndarray of float64, shape (m, p), or None
        A with R = A'A, of fewer rows than columns; kept for Pearson correlations where p > n. From a file it is mapped,
        read-only, from a temporary .npy file.
    transforms : MarginalTransforms or None
        The monotone maps between the data and the normal scores whose correlation R is, for rank methods.
    repaired : float
        Largest absolute change of a correlation that made R positive semidefinite; 0.0 where it was.
    constant : ndarray of int64
        Positions of the constant columns that were made uncorrelated with all others.
    table : NumericTable or None
        The rows; None where they lie at the workers of a cluster.
    weights : ndarray of float64, shape (n_rows_of_the_input,), or None
        Row weights as given.
    n_table_rows : int or None
        Number of rows of the table, which `parts` counts: those that missing="drop" leaves out are not among them.
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
            self.correlation = _freeze(correlation)  # in the place of the cached property

    def __repr__(self):
        rows = "unknown" if self.n_rows is None else f"{self.n_rows:g}"
        return f"GaussianSample({self.n_columns} columns, {rows} rows, {self.method})"

    @cached_property
    def correlation(self) -> np.ndarray:
        """R, formed from the factor."""
        factor = np.asarray(self.factor)
        return _freeze(make_correlation(factor.T @ factor))  # a product with its own transpose costs half

    @cached_property
    def correlations(self) -> Correlations:
        """R as a graphical lasso asks for it: of a factor of many columns only the parts that it needs are formed."""
        if self.factor is None or self.n_columns <= MOST_FORMED:
            return DenseCorrelations(self.correlation)
        return FactoredCorrelations(self.factor)

    @cached_property
    def singular(self) -> bool:
        """Whether R has no inverse: it was indefinite, of few rows, or R - 1e-8 I is not positive definite."""
        if self.repaired > 0 or (self.factor is not None and len(self.factor) <= self.n_columns):
            return True
        return not is_definite(self.correlation, -_SINGULAR)

    def parts(self, rows: Sequence[ArrayLike], n_jobs: int | None = None) -> "list[GaussianSample]":
        """Return samples of some of the rows, by the same method, in one pass over the table.

        Parameters
        ----------
        rows : list of array_like of int
            Row numbers of each part, from 0 to n_table_rows - 1, in any order; a row that is named twice counts twice.
        n_jobs : int, optional
            Threads, for rank methods.

        Returns
        -------
        list of GaussianSample
            One per part, without table and transforms. Columns that are constant or unknown in a part are made
            uncorrelated there and keep their scale in the whole; so are pairs that are never known together.

        Raises
        ------
        ValueError
            If the sample has no table, a row number is out of range, or the table was an iterator, which is used up.
        """
        if self.table is None:
            raise ValueError("there are no rows to divide: the sample was made of a covariance matrix, or is a part")
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
        """Return the same sample without its table and weights; it shares all other arrays, and has no `parts`."""
        twin = copy(self)
        twin.table = twin.weights = None
        return twin

    def _count_rows(self, rows: ArrayLike) -> np.ndarray:
        """Count how often each row of the table is in a part."""
        rows = np.asarray(rows)
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or not rows.size:
            raise ValueError(f"a part must be row numbers, got {rows!r}")
        n = self.n_table_rows or 0
        if rows.min() < 0 or rows.max() >= n:
            raise ValueError(f"row numbers must lie in 0..{n - 1}, got {rows.min()}..{rows.max()}")
        return np.bincount(rows, minlength=n)


def gaussian_sample(
    table: Any,
    *,
    weights: ArrayLike | None = None,
    correlation: str = "pearson",
    n_jobs: int | None = None,
    constant: str = "error",
) -> GaussianSample:
    r"""Return the correlation matrix of a table of numbers, and what else Gaussian learners need of it.

    .. math:: R_{ij} = \frac{\sum_r w_r (x_{ri} - \bar x_i)(x_{rj} - \bar x_j)}{n s_i s_j}, \qquad
              n = \sum_r w_r, \qquad s_i^2 = \frac{1}{n} \sum_r w_r (x_{ri} - \bar x_i)^2

    Parameters
    ----------
    table : NumericTable, or anything that `open_numeric` takes
        The rows. With missing="pairwise" each correlation is over the rows known in both columns. Of a
        DistributedNumericTable the workers compute the moments of their rows.
    weights : array_like of shape (n_rows_of_the_input,), optional
        Not negative; 1 each by default; for the rows that a DistributedNumericTable keeps. Rank methods take none.
    correlation : {"pearson", "kendall", "spearman", "shrinkage", "truncation"}, default="pearson"
        "pearson" is the formula above. The others estimate the correlation of normal scores behind the data by ranks,
        see `latent_correlation`; they read the whole table into memory.
    n_jobs : int, optional
        Threads, for rank methods.
    constant : {"error", "isolate"}, default="error"
        What to do with constant columns: raise, naming them, or make them uncorrelated with all others.

    Returns
    -------
    GaussianSample
        Its correlation is positive semidefinite: where ranks or missing cells made it indefinite it is replaced by
        the nearest correlation matrix, and `repaired` says by how much.

    Raises
    ------
    TypeError
        If ranks of a DistributedNumericTable are asked for: they are no sums over its parts.
    ValueError
        If an option is unknown, columns are constant, without known cells or of numbers above 1e150, two columns have
        no row in common, weights do not fit or come with ranks, or the table cannot be read; see `open_numeric`.

    Notes
    -----
    One pass over the table and n p² multiplications for "pearson", of 32 MB beside p² numbers. Where n < p the
    standardised rows are kept instead and nothing of size p² is formed; those of a file go to a temporary file. The
    result does not depend on the size of the pieces, nor on the order of the rows, but for rounding. Of a
    distributed table there is no thin factor: each part sends 8 p² bytes, and the driver keeps p² numbers.

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
            raise ValueError(f"correlation={correlation!r} works on ranks, which have no weights: use 'pearson'")
        weights = _freeze(table.check_weights(weights))
    with np.errstate(over="ignore", invalid="ignore"):  # raised below, with the names of the columns
        if isinstance(table, DistributedNumericTable):
            _refuse_ranks(table, correlation)
            result = summarise_moments(sum_moments(table, weights))
        elif correlation == "pearson":
            # rows of weight 0 do not count, so that the number is not known where there are weights
            one = _choose_pass(table, len(table.rows()) if table.in_memory and weights is None else None)
            n_table_rows = _feed(table, weights, [one], None)
            result = one.finish(table.names)
        else:
            rows = table.rows()
            n_table_rows = len(rows)
            result = summarise_ranks(rows, table.names, correlation, table.missing, n_jobs)
    beyond = [table.names[v] for v in np.flatnonzero(~np.isfinite(result.scale))]
    if beyond:
        raise ValueError(
            f"column(s) {join_names(beyond)} hold numbers whose squares are too large: give them another unit"
        )
    if len(result.constant) and constant == "error":
        culprits = [table.names[v] for v in result.constant]
        raise ValueError(f"column(s) {join_names(culprits)} are constant, which leaves them no correlation: drop them")
    if isinstance(table, DistributedNumericTable):
        return _make_sample(result, table.names, correlation)
    return _make_sample(result, table.names, correlation, table=table, weights=weights, n_table_rows=n_table_rows)


def _refuse_ranks(table: DistributedNumericTable, correlation: str) -> None:
    """Refuse correlations that are no function of sums over the parts."""
    if correlation == "pearson":
        return
    reason = (
        "compares each row with each other, and most pairs of rows lie at different workers"
        if correlation == "kendall"
        else "ranks each cell among all rows, and no worker has these"
    )
    raise TypeError(
        f"correlation={correlation!r} {reason}: {table!r} has means and cross-products alone. Learn from these "
        "without Nonparanormal, or give the rows in memory"
    )


def _choose_pass(table, n_expected):
    """Return the pass that fits a table with `n_expected` rows to come, None where the number is not known."""
    if table.missing == "pairwise" and table.has_missing is not False:
        return PairwisePass(table.n_columns)
    return CompletePass(table.n_columns, n_expected, on_disk=not table.in_memory)


def _feed(table, weights, passes, counts):
    """Send the rows through passes, row r of the table with its weight times ``counts[k][r]``; return their number."""
    n_rows = 0
    for numbers, rows in table.chunks_with_numbers():
        if weights is not None and numbers[-1] >= len(weights):
            raise ValueError(f"{len(weights)} weights for more rows: give one weight per row")
        weights_of_rows = None if weights is None else weights[numbers]
        if counts is None:
            passes[0].add(rows, weights_of_rows)
        else:
            for one, of_part in zip(passes, counts, strict=True):
                _add_repeated(one, rows, weights_of_rows, of_part[n_rows : n_rows + len(rows)])
        n_rows += len(rows)
    if weights is not None:
        table.check_weights(weights)  # the number of rows of a file is known at its end
    return n_rows


def _add_repeated(one, rows, weights, counts):
    """Add rows to a pass, each as often as it counts."""
    present = np.flatnonzero(counts)
    if not len(present):
        return
    times = counts[present]
    of_rows = None if times.max() == 1 else times.astype(np.float64)
    if weights is not None:
        of_rows = weights[present] * times
    one.add(rows if len(present) == len(rows) else rows[present], of_rows)


def _make_sample(result: PassResult, names: Sequence, method: str, **more: Any) -> GaussianSample:
    """Return the sample of a pass, its correlation repaired where necessary."""
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
