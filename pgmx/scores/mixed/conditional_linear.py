"""The scores of conditional linear Gaussian networks: BIC, AIC and log-likelihood."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from pgmx._ext import _families, _mixed
from pgmx.data.mixed import MixedTable
from pgmx.scores.chance_edges import EdgePrice
from pgmx.scores.compiled import check_penalty
from pgmx.scores.mixed.base import ConditionalScore, RowSummary
from pgmx.scores.mixed.source import MixedTerms


class BICCondLinearGauss(ConditionalScore):
    r"""BIC of conditional linear Gaussian networks: a regression per configuration of the discrete parents.

    .. math::
        \mathrm{BIC}(x \mid D, C) = \sum_d \left[ -\frac{N_d}{2} \ln 2 \pi \frac{\mathrm{SSE}_d}{m_d}
        - \frac{m_d}{2} \right] - \frac{\ln N}{2}\, q\, (|C| + 2)

    in nats, for a continuous variable x with discrete parents D and continuous parents C. :math:`\mathrm{SSE}_d` is
    the residual sum of squares of a regression of x on C with intercept in the :math:`N_d` rows of configuration d; q
    is the number of configurations of declared states; :math:`m_d = N_d`, or :math:`N_d - |C| - 1` for
    ``variance="unbiased"``. A discrete variable has the discrete :class:`BIC` and no continuous parents.

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable
        Continuous columns of finite values, none constant, and discrete columns. Integers are discrete.
    state_names : dict, optional
        States of some or all discrete columns, in order, including states that never occur.
    variance : {"likelihood", "unbiased"}, default="likelihood"
        Divisor of the residual sum of squares: the number of rows (maximum likelihood), or the number of rows minus the
        number of coefficients, as in bnlearn and pybnesian.
    discrete_children : {"forbidden", "allowed"}, default="forbidden"
        Whether continuous variables may be parents of discrete variables. Conditional linear Gaussian networks do not
        have such arcs. If allowed, they are scored by the unbounded ratio of :class:`LogLikelihoodCondGauss`.
    penalty : float, default=1.0
        Multiplier of what a parameter costs, above 0. It is Tetrad's penalty discount; bnlearn's ``k`` is
        `penalty` · ln N / 2.

    Attributes
    ----------
    variables : list
        Names of the columns.
    mixed : MixedTable
        The continuous and the discrete columns.

    Raises
    ------
    ValueError
        If a continuous column is constant, values are missing or infinite, or an option is unknown.

    Notes
    -----
    A family has the score minus infinity if its likelihood has no maximum. This is so in two cases: a configuration
    that occurs has at most as many rows as coefficients (continuous parents plus one), or the residual variance of a
    column given the others is below 1e-10 of its variance in the table. Configurations without rows only add the cost
    of their parameters.

    If three or more continuous columns determine each other in all rows, each continuous column is scored as if it had
    independent noise of 1e-6 of its standard deviation, see :class:`BICGauss`.

    A family costs one pass over the rows per eight products of its continuous variables, and k³ / 6 multiplications per
    configuration.

    References
    ----------
    .. [1] Lauritzen, S. L. and Wermuth, N. (1989). Graphical models for associations between variables, some of which
       are qualitative and some quantitative. Annals of Statistics 17, 31-57.
    .. [2] Scutari, M. (2010). Learning Bayesian networks with the bnlearn R package. Journal of Statistical Software
       35(3).

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"k": ["a"] * 4 + ["b"] * 4, "x": [0.0, 1.0, 0.0, 1.0, 5.0, 5.5, 5.0, 5.5]})
    >>> score = BICCondLinearGauss(data)
    >>> round(score.local_score("x", ("k",)), 3), round(score.local_score("x", ()), 3)
    (-7.193, -20.46)
    >>> score.local_score("k", ("x",))
    -inf
    """

    variance: str = "likelihood"
    discrete_children: str = "forbidden"

    _tags = {"name": "bic-clg", "supported_datatype": "mixed", "default_for": None, "is_parameteric": False}

    def __init__(
        self,
        data: Any,
        state_names: Mapping[Hashable, Sequence] | None = None,
        *,
        variance: Literal["likelihood", "unbiased"] = "likelihood",
        discrete_children: Literal["forbidden", "allowed"] = "forbidden",
        penalty: float = 1.0,
    ):
        self.penalty = check_penalty(penalty)
        if variance not in ("likelihood", "unbiased"):
            raise ValueError(f"variance must be 'likelihood' or 'unbiased', got {variance!r}")
        if discrete_children not in ("forbidden", "allowed"):
            raise ValueError(f"discrete_children must be 'forbidden' or 'allowed', got {discrete_children!r}")
        self.variance = variance
        self.discrete_children = discrete_children
        super().__init__(data, state_names)

    def terms(self, n_rows: float) -> MixedTerms:
        """Return the terms of the score for `n_rows` rows, or for weights with this sum."""
        return MixedTerms(
            divisor=_mixed.UNBIASED if self.variance == "unbiased" else _mixed.LIKELIHOOD,
            penalty=self.parameter_cost(n_rows),
            discrete_children=self.discrete_children == "allowed",
        )

    def edge_price(self, mixed: MixedTable, summary: RowSummary, weights: np.ndarray | None = None) -> EdgePrice | None:
        """Return what an edge between two variables costs: (r - 1) (s - 1), 2 (r - 1) or 1 parameters."""
        n_rows = mixed.n_rows if weights is None else float(weights.sum())
        widths = np.ones(len(mixed.columns))
        if mixed.table is not None:
            widths[~mixed.is_continuous] = mixed.table.cardinalities - 1
        cost = self.parameter_cost(n_rows)
        return EdgePrice(cost, widths, n_rows, mixed.is_continuous) if cost else None

    def parameter_cost(self, n_rows: float) -> float:
        """Return half of ln N, times `penalty`."""
        return self.penalty * 0.5 * _families.natural_log(n_rows)


class AICCondLinearGauss(BICCondLinearGauss):
    r"""AIC of conditional linear Gaussian networks: a regression per configuration of the discrete parents.

    .. math:: \mathrm{AIC}(x \mid D, C) = \ell(x \mid D, C) - q\,(|C| + 2)

    in nats, for a continuous variable x with continuous parents C and q configurations of the declared states of its
    discrete parents D, and with :math:`\ell` of :class:`LogLikelihoodCondLinearGauss`. A discrete variable with r
    states has the discrete :class:`AIC`, with the penalty q (r - 1).

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable
        Continuous columns of finite values, none constant, and discrete columns. Integers are discrete.
    state_names : dict, optional
        States of some or all discrete columns, in order, including states that never occur.
    variance : {"likelihood", "unbiased"}, default="likelihood"
        Divisor of the residual sum of squares, as for :class:`BICCondLinearGauss`.
    discrete_children : {"forbidden", "allowed"}, default="forbidden"
        Whether continuous variables may be parents of discrete variables, as for :class:`BICCondLinearGauss`.
    penalty : float, default=1.0
        Multiplier of what a parameter costs, above 0; bnlearn's ``k``.

    Attributes
    ----------
    variables : list
        Names of the columns.
    mixed : MixedTable
        The continuous and the discrete columns.

    Raises
    ------
    ValueError
        If a continuous column is constant, values are missing or infinite, or an option is unknown.

    Notes
    -----
    A family has the score minus infinity if its likelihood has no maximum, see :class:`BICCondLinearGauss`. The cost
    of computation is the same. For N > 7 AIC selects larger families than BIC.

    References
    ----------
    .. [1] Lauritzen, S. L. and Wermuth, N. (1989). Graphical models for associations between variables, some of which
       are qualitative and some quantitative. Annals of Statistics 17, 31-57.
    .. [2] Akaike, H. (1974). A new look at the statistical model identification. IEEE Transactions on Automatic
       Control 19, 716-723.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"k": ["a"] * 4 + ["b"] * 4, "x": [0.0, 1.0, 0.0, 1.0, 5.0, 5.5, 5.0, 5.5]})
    >>> round(AICCondLinearGauss(data).local_score("x", ("k",)), 3)
    -7.034
    """

    _tags = {"name": "aic-clg", "supported_datatype": "mixed", "default_for": None, "is_parameteric": False}

    def parameter_cost(self, n_rows: float) -> float:
        """Return `penalty`."""
        return self.penalty


class LogLikelihoodCondLinearGauss(BICCondLinearGauss):
    r"""Log-likelihood of conditional linear Gaussian networks: a regression per configuration of the discrete parents.

    .. math::
        \ell(x \mid D, C) = \sum_d \left[ -\frac{N_d}{2} \ln 2 \pi \frac{\mathrm{SSE}_d}{m_d} - \frac{m_d}{2} \right]

    in nats, for a continuous variable x with discrete parents D and continuous parents C, and the symbols of
    :class:`BICCondLinearGauss`. A discrete variable has the discrete :class:`LogLikelihood`.

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable
        Continuous columns of finite values, none constant, and discrete columns. Integers are discrete.
    state_names : dict, optional
        States of some or all discrete columns, in order, including states that never occur.
    variance : {"likelihood", "unbiased"}, default="likelihood"
        Divisor of the residual sum of squares, as for :class:`BICCondLinearGauss`.
    discrete_children : {"forbidden", "allowed"}, default="forbidden"
        Whether continuous variables may be parents of discrete variables, as for :class:`BICCondLinearGauss`.

    Attributes
    ----------
    variables : list
        Names of the columns.
    mixed : MixedTable
        The continuous and the discrete columns.

    Raises
    ------
    ValueError
        If a continuous column is constant, values are missing or infinite, or an option is unknown.

    Notes
    -----
    With ``variance="likelihood"`` the score never decreases when an arc is added. Use it to evaluate a graph, and a
    penalised score to learn one. A family has the score minus infinity if its likelihood has no maximum, see
    :class:`BICCondLinearGauss`. The cost of computation is the same.

    References
    ----------
    .. [1] Lauritzen, S. L. and Wermuth, N. (1989). Graphical models for associations between variables, some of which
       are qualitative and some quantitative. Annals of Statistics 17, 31-57.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"k": ["a"] * 4 + ["b"] * 4, "x": [0.0, 1.0, 0.0, 1.0, 5.0, 5.5, 5.0, 5.5]})
    >>> round(LogLikelihoodCondLinearGauss(data).local_score("x", ("k",)), 3)
    -3.034
    """

    _tags = {"name": "ll-clg", "supported_datatype": "mixed", "default_for": None, "is_parameteric": False}

    def __init__(
        self,
        data: Any,
        state_names: Mapping[Hashable, Sequence] | None = None,
        *,
        variance: Literal["likelihood", "unbiased"] = "likelihood",
        discrete_children: Literal["forbidden", "allowed"] = "forbidden",
    ):
        super().__init__(data, state_names, variance=variance, discrete_children=discrete_children)

    def parameter_cost(self, n_rows: float) -> float:
        """Return 0: parameters have no cost."""
        return 0.0
