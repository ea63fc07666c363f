"""Tests of continuous variables."""

from typing import Any, Literal

import numpy as np

from pgmx.ci_tests.base import CITest, order_names
from pgmx.data import NumericTable, open_numeric
from pgmx.statistics.gaussian.sample import gaussian_sample
from pgmx.statistics.independence.incomplete_correlation import IncompleteCorrelationTests
from pgmx.statistics.independence.partial_correlation import PartialCorrelationTests
from pgmx.statistics.independence.source import IndependenceSource, TestRow


def open_correlations(
    data: Any,
    statistic: Literal["z", "t"],
    *,
    missing: str = "error",
    weights: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> tuple[IndependenceSource, list, list]:
    """Return tests by partial correlations, the names of their variables, alphabetically, and of constant ones.

    `weights` are numbers of repetitions of the rows.
    """
    table = open_numeric(data, missing=missing)
    order = order_names(table.names)
    names = [table.names[v] for v in order]
    if missing == "pairwise" and not table.is_complete:
        rows = table.rows()[:, order]
        rows = rows if weights is None else np.repeat(rows, weights, axis=0)
        spread = np.nanmax(rows, axis=0) - np.nanmin(rows, axis=0)
        constant = [names[v] for v in np.flatnonzero(spread == 0)]
        return IncompleteCorrelationTests(rows, statistic), names, constant
    sample = gaussian_sample(table, weights=weights, constant="isolate")
    assert sample.n_rows is not None
    correlation = sample.correlation[np.ix_(order, order)]
    source = PartialCorrelationTests(correlation, sample.n_rows, statistic=statistic, n_jobs=n_jobs)
    return source, names, [table.names[v] for v in sample.constant]


class Pearsonr(CITest):
    r"""Test of a partial correlation of continuous variables by Student's t.

    .. math:: t = r \sqrt{\frac{N - |Z| - 2}{1 - r^2}}

    where r is the correlation of X and Y given Z; t has Student's distribution with N - \|Z\| - 2 degrees of freedom
    if the variables are normal and X and Y independent given Z. Dependence that is not linear may go unnoticed.

    Parameters
    ----------
    data : DataFrame, array or NumericTable
        One numeric column per variable. For missing values, give the result of
        ``pgmx.data.open_numeric(data, missing="pairwise")``: each test then leaves out the rows in which X, Y or a
        variable of Z is missing.

    Attributes
    ----------
    variables : list
        Names of the columns.
    statistic_ : float
        The partial correlation r of the last test, as in pgmpy.
    p_value_ : float
        Its two-sided p-value; NaN if there are fewer than \|Z\| + 3 rows, or Z determines X or Y.
    dof_ : int
        N - \|Z\| - 2.
    effect_size_ : float
        The absolute value of r.

    Raises
    ------
    ValueError
        If a column holds states, or values are missing or infinite.

    Notes
    -----
    The correlation matrix costs N p² operations, once; a test (\|Z\| + 1)³ / 3.

    References
    ----------
    .. [1] Fisher, R. A. (1924). The distribution of the partial correlation coefficient. Metron 3, 329-332.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from pgmx.ci_tests import Pearsonr
    >>> x = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    >>> test = Pearsonr(pd.DataFrame({"x": x, "y": x**2, "z": [1.0, 0.0, 0.0, 1.0, 0.0, 1.0]}))
    >>> test("x", "y", ["z"])
    False
    >>> round(test.statistic_, 3), test.dof_
    (0.984, 3)
    """

    _statistic: Literal["z", "t"] = "t"

    def __init__(self, data: Any):
        super().__init__(data)
        self._table = open_numeric(data, missing=data.missing if isinstance(data, NumericTable) else "error")
        self.variables = list(self._table.names)

    def _make_source(self, n_jobs: int | None) -> IndependenceSource:
        return open_correlations(self._table, self._statistic, missing=self._table.missing, n_jobs=n_jobs)[0]

    def _test(self, x: int, ys: list[int], z: list[int]) -> TestRow:
        row = super()._test(x, ys, z)
        if self._statistic == "z":
            return row
        return TestRow(np.copysign(row.effect_size, row.statistic), row.dof, row.p_value, row.effect_size)


class FisherZ(Pearsonr):
    r"""Test of a partial correlation of continuous variables by Fisher's z.

    .. math:: z = \sqrt{N - |Z| - 3} \, \operatorname{artanh} r

    where r is the correlation of X and Y given Z; z is about standard normal if the variables are normal and X and Y
    independent given Z. Dependence that is not linear may go unnoticed.

    Parameters
    ----------
    data : DataFrame, array or NumericTable
        As for :class:`Pearsonr`.

    Attributes
    ----------
    variables : list
        Names of the columns.
    statistic_ : float
        z of the last test.
    p_value_ : float
        Its two-sided p-value; NaN if there are fewer than \|Z\| + 4 rows, or Z determines X or Y.
    dof_ : int
        N - \|Z\| - 3.
    effect_size_ : float
        The absolute value of r.

    Raises
    ------
    ValueError
        If a column holds states, or values are missing or infinite.

    Notes
    -----
    The correlation matrix costs N p² operations, once; a test (\|Z\| + 1)³ / 3. pgmpy limits r to 0.999999; here r = 1
    has z = inf and p = 0.

    References
    ----------
    .. [1] Fisher, R. A. (1924). The distribution of the partial correlation coefficient. Metron 3, 329-332.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from pgmx.ci_tests import FisherZ
    >>> x = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    >>> test = FisherZ(pd.DataFrame({"x": x, "y": x**2, "z": [1.0, 0.0, 0.0, 1.0, 0.0, 1.0]}))
    >>> statistic, p_value = test.run_test("x", "y", ["z"])
    >>> round(statistic, 2)
    3.43
    """

    _statistic: Literal["z", "t"] = "z"
