"""The test of discrete and continuous variables."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pgmx.checks import check_missing_option
from pgmx.ci_tests.base import CITest, spell_missing
from pgmx.data import DiscreteTable, Frame, open_any
from pgmx.data.mixed import MixedTable, read_incomplete_mixed, read_mixed
from pgmx.statistics.independence.mixed import MixedTests


def read_mixed_rows(
    data: Frame | DiscreteTable,
    *,
    state_names: Mapping[Hashable, Sequence] | None = None,
    missing: str = "error",
    repetitions: np.ndarray | None = None,
) -> MixedTable:
    """Return the rows of a table, each repeated as often as `repetitions` says."""
    if isinstance(data, Frame) and data.float_columns:
        check_missing_option(missing, ("error", "drop", "pairwise"), " for tests with continuous columns")
    if missing == "pairwise" and isinstance(data, Frame):
        mixed = read_incomplete_mixed(data, state_names=state_names)
    elif missing == "category" and isinstance(data, Frame) and not data.float_columns:
        mixed = read_mixed(data.encode(state_names=state_names, missing=missing))
    else:
        mixed = read_mixed(data, state_names=state_names, missing=missing)
    if repetitions is None:
        return mixed
    table = None if mixed.table is None else mixed.table.repeat_rows(repetitions)
    return replace(mixed, numbers=np.repeat(mixed.numbers, repetitions, axis=1), table=table)


class MixedRegression(CITest):
    r"""Test of conditional independence of discrete and continuous variables by regressions.

    The strata s are the configurations of the discrete variables of Z that occur. In each of them the continuous
    variables of Z are regressors with coefficients of their own, so that the two kinds may interact.

    - All variables discrete: :class:`ChiSquare` with ``calibration="moments"``.
    - X or Y continuous: linear regressions of this variable without and with the other one, with residual sums of
      squares :math:`R_{0s}, R_{1s}` on :math:`f_{0s}, f_{1s}` degrees of freedom, and :math:`q_s = 1 - R_{1s}/R_{0s}`:

      .. math:: F = \frac{\sum_s f_{0s} q_s / \sum_s (f_{0s} - f_{1s})}
          {\sum_s f_{0s} (1 - q_s) / \sum_s f_{1s}}

    - X and Y discrete, Z with a continuous variable: Rao's score test of a multinomial logistic regression of the one
      with fewer states, then of the one whose states are less even. If these are alike too, the larger p-value of both
      regressions counts.

    Parameters
    ----------
    data : DataFrame, array or table
        Continuous (floating-point) and discrete columns; integers are states.

    Attributes
    ----------
    variables : list
        Names of the columns.
    statistic_ : float
        F, or a statistic with a chi-square distribution, of the last test.
    p_value_ : float
        Its p-value. It is 1 if no stratum has enough rows.
    dof_ : int or float
        Degrees of freedom of the chi-square distribution, or of the numerator of F.
    effect_size_ : float
        The root of the explained share of the variance, :math:`\sum f_{0s} q_s / \sum f_{0s}`; for two continuous
        variables in one stratum the absolute partial correlation. For two discrete variables Cramér's V.

    Raises
    ------
    ValueError
        If values are missing or infinite.

    Notes
    -----
    Continuous variables are assumed to be normal given the others, with linear regressions in each stratum. Dependence
    that is not linear in the continuous variables of Z can appear as dependence of X and Y. The variances of strata may
    differ. A test costs N (\|Z\| + 1)² operations, times the number of states squared for a logistic regression.

    References
    ----------
    .. [1] Edwards, D. (2000). Introduction to Graphical Modelling, 2nd edition, chapter 4.
    .. [2] Rao, C. R. (1948). Large sample tests of statistical hypotheses concerning several parameters with
       applications to problems of estimation. Proceedings of the Cambridge Philosophical Society 44, 50-57.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from pgmx.ci_tests import MixedRegression
    >>> height = np.linspace(150, 190, 40)
    >>> data = pd.DataFrame({"height": height, "weight": 0.5 * height + np.tile([2.0, -2, -1, 1], 10)})
    >>> data["sex"] = np.tile(["f", "f", "m", "m"], 10)
    >>> test = MixedRegression(data)
    >>> test("height", "weight", ["sex"]), test("height", "sex", ["weight"])
    (False, True)
    """

    def __init__(self, data: Any):
        super().__init__(data)
        with spell_missing("data.dropna()"):
            self._mixed = read_mixed_rows(open_any(data))
        self.variables = list(self._mixed.columns)

    def _make_source(self, order: np.ndarray, n_jobs: int | None) -> MixedTests:
        return MixedTests(self._mixed, kind="moments", order=order, n_jobs=n_jobs)
