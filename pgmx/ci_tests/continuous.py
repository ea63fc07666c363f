"""Tests of continuous variables."""

from typing import Any, Literal, NamedTuple

import numpy as np

from pgmx.checks import check_missing_option, join_names
from pgmx.ci_tests.base import CITest, order_names, spell_missing
from pgmx.data import DiscreteTable, NumericTable, open_numeric
from pgmx.data.frame import Frame
from pgmx.data.numeric import NUMERIC_MISSING
from pgmx.statistics.independence.correlations import SampleCorrelations, read_correlations
from pgmx.statistics.independence.incomplete_correlation import IncompleteCorrelationTests
from pgmx.statistics.independence.partial_correlation import PartialCorrelationTests
from pgmx.statistics.independence.source import IndependenceSource


def read_numbers(
    data: Frame | NumericTable | DiscreteTable, missing: str = "error", weights: np.ndarray | None = None
) -> SampleCorrelations:
    """Return the correlations of data; variables have ids in the order of their names."""
    if isinstance(data, DiscreteTable):
        raise TypeError(f"{data!r} holds states, and this test needs continuous variables: choose 'chi_square'")
    check_missing_option(missing, NUMERIC_MISSING, " for a test of continuous variables")
    sample = read_correlations(data, order_names(data.names), missing=missing, weights=weights)
    if len(sample.huge):
        names = join_names([sample.names[v] for v in sample.huge.tolist()])
        raise ValueError(f"column(s) {names} have values above 1e150: scale them")
    return sample


class OpenNumbers(NamedTuple):
    """Tests by ids, the names in their order, the names of constant columns, and the rows."""

    source: IndependenceSource
    names: list
    constant: list
    table: NumericTable


def open_numbers(
    data: Frame | NumericTable | DiscreteTable,
    statistic: Literal["z", "t"],
    *,
    missing: str = "error",
    weights: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> OpenNumbers:
    """Return the tests of partial correlations of data; with "pairwise" each test has its own rows."""
    check_missing_option(missing, ("error", "drop", "pairwise"), " for continuous variables")
    if missing == "pairwise" and not isinstance(data, DiscreteTable):
        table = open_numeric(data, missing=missing)
        if not table.is_complete:
            order = order_names(table.names)
            rows = table.rows()[:, order]
            names = [table.names[v] for v in order]
            constant = [names[v] for v in np.flatnonzero(np.nanmax(rows, axis=0) == np.nanmin(rows, axis=0))]
            rows = rows if weights is None else np.repeat(rows, weights, axis=0)
            return OpenNumbers(IncompleteCorrelationTests(rows, statistic), names, constant, table)
    sample = read_numbers(data, missing, weights)
    source = PartialCorrelationTests(sample.correlation, sample.n_rows, statistic=statistic, n_jobs=n_jobs)
    return OpenNumbers(source, sample.names, [sample.names[v] for v in sample.constant.tolist()], sample.table)


class Pearsonr(CITest):
    r"""Student's t test of partial correlations of continuous variables.

    .. math:: t = r_{XY \cdot Z} \sqrt{\frac{N - |Z| - 2}{1 - r_{XY \cdot Z}^2}}

    has Student's distribution with N - \|Z\| - 2 degrees of freedom if X and Y are independent given Z and the
    variables are jointly normal.

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
        The partial correlation of the last test, as in pgmpy.
    p_value_ : float
        Its two-sided p-value. NaN if there are fewer than \|Z\| + 3 rows, or if Z determines X or Y.
    dof_ : int
        N - \|Z\| - 2.
    effect_size_ : float
        The absolute value of the partial correlation.

    Raises
    ------
    TypeError
        If the data are discrete.
    ValueError
        If a column is not numeric, or a value is missing or infinite.

    Notes
    -----
    Only linear dependence is tested. Cost: see :class:`FisherZ`.

    References
    ----------
    .. [1] Fisher, R. A. (1924). The distribution of the partial correlation coefficient. Metron 3, 329-332.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.ci_tests import Pearsonr
    >>> test = Pearsonr(np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]]))
    >>> statistic, p_value = test.run_test("x0", "x1")
    >>> round(p_value, 6)
    0.292893
    """

    _statistic: Literal["z", "t"] = "t"

    def __init__(self, data: Any):
        super().__init__(data)
        with spell_missing("pgmx.data.open_numeric(data, missing={!r})"):
            self._table = open_numeric(data, missing=data.missing if isinstance(data, NumericTable) else "error")
        self.variables = list(self._table.names)

    def _make_source(self, order: np.ndarray, n_jobs: int | None) -> IndependenceSource:
        return open_numbers(self._table, self._statistic, missing=self._table.missing, n_jobs=n_jobs).source


class FisherZ(Pearsonr):
    r"""Fisher's z test of partial correlations of continuous variables.

    .. math:: z = \sqrt{N - |Z| - 3}\; \operatorname{artanh} r_{XY \cdot Z}

    is about standard normal if X and Y are independent given Z and the variables are jointly normal.

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
        z of the last test.
    p_value_ : float
        Its two-sided p-value. NaN if there are fewer than \|Z\| + 4 rows, or if Z determines X or Y.
    dof_ : int
        N - \|Z\| - 3.
    effect_size_ : float
        The absolute value of the partial correlation.

    Raises
    ------
    TypeError
        If the data are discrete.
    ValueError
        If a column is not numeric, or a value is missing or infinite.

    Notes
    -----
    Only linear dependence is tested. A constant column is independent of all others. Cost: N p² / 2 multiplications for
    the correlations of p columns, and \|Z\|³ per test.

    References
    ----------
    .. [1] Fisher, R. A. (1924). The distribution of the partial correlation coefficient. Metron 3, 329-332.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from pgmx.ci_tests import FisherZ
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=200)
    >>> y = x + rng.normal(size=200)
    >>> test = FisherZ(pd.DataFrame({"x": x, "y": y, "z": y + rng.normal(size=200)}))
    >>> test("x", "z", significance_level=0.01), test("x", "z", ["y"], significance_level=0.01)
    (False, True)
    """

    _statistic: Literal["z", "t"] = "z"
