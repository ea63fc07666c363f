"""Tests of discrete variables."""

from typing import Any

import numpy as np

from pgmx.checks import join_names
from pgmx.ci_tests.base import CITest, spell_missing
from pgmx.data import DiscreteTable, encode
from pgmx.data.errors import DISCRETIZE, ContinuousColumnsError
from pgmx.statistics.independence.discrete import DiscreteTests


class _DiscreteTest(CITest):
    """A test of the variables of a coded table."""

    kind: str

    def __init__(self, data: Any):
        super().__init__(data)
        with spell_missing("pgmx.data.encode(data, missing={!r})"):
            self.table: DiscreteTable = read_states(data, type(self).__name__)
        self.variables = list(self.table.columns)

    def _make_source(self, order: np.ndarray, n_jobs: int | None) -> DiscreteTests:
        return DiscreteTests(self.table, self.kind, order=order, n_jobs=n_jobs)


class ContinuousInTestError(ContinuousColumnsError):
    """Continuous columns in the data of a test of discrete variables."""

    test: str

    def __str__(self):
        return (
            f"column(s) {join_names(self.names)} are continuous, and {self.test} is a test of discrete variables: use "
            "'fisher_z' (FisherZ) if all variables are continuous, or 'mixed' (MixedRegression) for both kinds, or "
            f"discretise the columns with {DISCRETIZE}.{self.hints}"
        )


def read_states(data: Any, test: str, **options: Any) -> DiscreteTable:
    """Return data as a coded table, with a message for continuous columns that names the tests of such columns."""
    try:
        return encode(data, **options)
    except ContinuousColumnsError as error:
        refusal = ContinuousInTestError(error.names, error.hints, scores=False)
        refusal.test = test
        raise refusal from None


class ChiSquare(_DiscreteTest):
    r"""Pearson's chi-square test of conditional independence of discrete variables.

    .. math:: X^2 = \sum_s \sum_{a, b} \frac{(n_{sab} - e_{sab})^2}{e_{sab}},
        \qquad e_{sab} = \frac{n_{sa} n_{sb}}{n_s}

    over the strata s (the configurations of Z that occur). The degrees of freedom are the sum over strata of (number of
    states of X that occur - 1) (number of states of Y that occur - 1).

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable
        One discrete column per variable. Integers are states. For missing values, give the result of
        ``pgmx.data.encode(data, missing="pairwise")``: each test then leaves out the rows in which X, Y or a variable
        of Z is missing.
    calibration : {"asymptotic", "moments"}, default="asymptotic"
        What the statistic is compared with. "asymptotic": the chi-square distribution with the degrees of freedom
        above. "moments": a chi-square distribution that is scaled to the exact mean and variance of the statistic given
        the margins of all strata. It holds its level if strata have few rows, where the other rejects too often.
    yates : bool, default=False
        Whether Yates' continuity correction applies in strata with one degree of freedom, as in pgmpy. With many
        strata the corrected test has almost no power. Only for the asymptotic calibration.

    Attributes
    ----------
    variables : list
        Names of the columns.
    table : DiscreteTable
        The coded data.
    statistic_ : float
        The statistic of the last test. With moments M (mean) and V (variance), X² 2 M / V.
    p_value_ : float
        Its p-value, from the chi-square distribution with `dof_` degrees of freedom. It is 1 without degrees of
        freedom.
    dof_ : int or float
        Degrees of freedom; with moments 2 M² / V, not a whole number.
    effect_size_ : float
        Cramér's V, the root of X² / (N (k - 1)), where k is the smaller number of states of X and Y.

    Raises
    ------
    TypeError
        If `yates` is not a bool.
    ValueError
        If a column is continuous or has missing values, `calibration` is unknown, or `yates` is given with moments.

    Notes
    -----
    A test costs about cells · (states of Y - 1) · N / 512 vector operations with AVX-512, where the cells are the
    combinations of states of Z and X that occur. :meth:`test_many` finds these cells once for all Y.

    If no stratum has degrees of freedom, the data contain no evidence and p is 1. pgmpy returns NaN, which it counts as
    dependence.

    References
    ----------
    .. [1] Haldane, J. B. S. (1940). The mean and variance of chi-squared, when used as a test of homogeneity, when
       expectations are small. Biometrika 31, 346-355.
    .. [2] Dawson, R. B. (1954). A simplified expression for the variance of the chi-squared function on a contingency
       table. Biometrika 41, 280.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmx.ci_tests import ChiSquare
    >>> data = pd.DataFrame({"smoke": [0, 0, 1, 1] * 25, "cancer": [0, 0, 1, 0] * 25})
    >>> test = ChiSquare(data)
    >>> test("smoke", "cancer", significance_level=0.01)
    False
    >>> round(test.statistic_, 2), test.dof_, round(test.effect_size_, 2)
    (33.33, 1, 0.58)
    """

    def __init__(self, data: Any, *, calibration: str = "asymptotic", yates: bool = False):
        self.calibration = calibration
        self.yates = yates
        self.kind = choose_kind(calibration, yates)
        super().__init__(data)

    def _list_options(self) -> list[str]:
        return [f"calibration={self.calibration!r}"] * (self.calibration != "asymptotic") + ["yates=True"] * self.yates


def choose_kind(calibration: str, yates: bool) -> str:
    """Return the kind of Pearson's statistic for the kernel."""
    if calibration not in ("asymptotic", "moments"):
        raise ValueError(f"calibration must be 'asymptotic' or 'moments', got {calibration!r}")
    if not isinstance(yates, bool | np.bool_):
        raise TypeError(f"yates must be True or False, got {yates!r}")
    if yates and calibration == "moments":
        raise ValueError("yates=True corrects the asymptotic test: use calibration='asymptotic', or yates=False")
    return "moments" if calibration == "moments" else "yates" if yates else "pearson"


class GSquare(_DiscreteTest):
    r"""Likelihood-ratio test (G-square) of conditional independence of discrete variables.

    .. math:: G^2 = 2 \sum_s \sum_{a, b} n_{sab} \ln \frac{n_{sab} n_s}{n_{sa} n_{sb}}

    over the strata s (the configurations of Z that occur), in nats. The degrees of freedom are those of
    :class:`ChiSquare`. If strata have few rows, this test rejects even more often than the chi-square test:
    ``ChiSquare(data, calibration="moments")`` holds its level.

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable
        As for :class:`ChiSquare`.

    Attributes
    ----------
    variables : list
        Names of the columns.
    table : DiscreteTable
        The coded data.
    statistic_, p_value_, dof_, effect_size_
        Of the last test, as in :class:`ChiSquare`.

    Raises
    ------
    ValueError
        If a column is continuous or has missing values.

    Notes
    -----
    The cost is that of :class:`ChiSquare`, and a logarithm per cell.

    References
    ----------
    .. [1] Agresti, A. (2013). Categorical Data Analysis, 3rd edition, section 3.2.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmx.ci_tests import GSquare
    >>> data = pd.DataFrame({"smoke": [0, 0, 1, 1] * 25, "cancer": [0, 0, 1, 0] * 25})
    >>> statistic, p_value = GSquare(data).run_test("smoke", "cancer", [])
    >>> round(statistic, 2)
    43.15
    """

    kind = "g_square"


#: pgmpy's name of the class.
GSq = GSquare
