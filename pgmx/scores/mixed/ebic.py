"""The extended Bayesian information criterion for networks of continuous and discrete variables."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal

from pgmx.scores.compiled import check_gamma
from pgmx.scores.mixed.conditional_linear import BICCondLinearGauss
from pgmx.scores.mixed.degenerate import BICDegenerateGauss


class EBICCondLinearGauss(BICCondLinearGauss):
    r"""Extended BIC of conditional linear Gaussian networks: BIC minus the logarithm of the number of parent sets.

    .. math::
        \mathrm{EBIC}(x \mid \Pi) = \mathrm{BIC}(x \mid \Pi) - \gamma \ln \binom{p - 1}{|\Pi|}

    in nats, for p variables, with BIC of :class:`BICCondLinearGauss`.

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
        Multiplier of what a parameter costs, above 0.
    gamma : float, default=1.0
        Multiplier of the last term, 0 or more. With 0 the score is :class:`BICCondLinearGauss`, with 1 all numbers of
        parents are equally probable a priori.

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
    The prior of [1]_ for regressions is applied to each variable; p counts all variables, also for a discrete variable,
    which has no continuous parents. The last term depends on the number of parents only, so Markov equivalent graphs
    have the same score.

    References
    ----------
    .. [1] Chen, J. and Chen, Z. (2008). Extended Bayesian information criteria for model selection with large model
       spaces. Biometrika 95, 759-771.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"k": ["a"] * 4 + ["b"] * 4, "x": [0.0, 1.0, 0.0, 1.0, 5.0, 5.5, 5.0, 5.5]})
    >>> data["l"] = list("cdcd") * 2
    >>> round(EBICCondLinearGauss(data).local_score("x", ("k",)), 3)  # BICCondLinearGauss minus ln 2
    -7.886
    """

    _tags = {"name": "ebic-clg", "supported_datatype": "mixed", "default_for": None, "is_parameteric": False}

    gamma = 1.0

    def __init__(
        self,
        data: Any,
        state_names: Mapping[Hashable, Sequence] | None = None,
        *,
        variance: Literal["likelihood", "unbiased"] = "likelihood",
        discrete_children: Literal["forbidden", "allowed"] = "forbidden",
        penalty: float = 1.0,
        gamma: float = 1.0,
    ):
        self.gamma = check_gamma(gamma)
        super().__init__(data, state_names, variance=variance, discrete_children=discrete_children, penalty=penalty)


class EBICDegenerateGauss(BICDegenerateGauss):
    r"""Extended degenerate Gaussian score: BIC minus the logarithm of the number of parent sets.

    .. math::
        \mathrm{EBIC}(x \mid \Pi) = \mathrm{DG}(x \mid \Pi) - \gamma \ln \binom{p - 1}{|\Pi|}

    in nats, for p variables, with DG of :class:`BICDegenerateGauss`. A discrete variable counts once, whatever the
    number of its indicators.

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable
        Continuous columns of finite values, none constant, and discrete columns. Integers are discrete.
    state_names : dict, optional
        States of some or all discrete columns, in order. States that do not occur have no indicator.
    penalty : float, default=1.0
        Multiplier of what a parameter costs, above 0.
    gamma : float, default=1.0
        Multiplier of the last term, 0 or more. With 0 the score is :class:`BICDegenerateGauss`, with 1 all numbers of
        parents are equally probable a priori.

    Attributes
    ----------
    variables : list
        Names of the columns.
    mixed : MixedTable
        The continuous and the discrete columns.

    Raises
    ------
    ValueError
        If a continuous column is constant, or values are missing or infinite; the message names the column.

    Notes
    -----
    The prior of [1]_ for regressions is applied to each variable. The last term depends on the number of parents only,
    so Markov equivalent graphs have the same score.

    References
    ----------
    .. [1] Chen, J. and Chen, Z. (2008). Extended Bayesian information criteria for model selection with large model
       spaces. Biometrika 95, 759-771.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"k": ["a"] * 4 + ["b"] * 4, "x": [0.0, 1.0, 0.0, 1.0, 5.0, 5.5, 5.0, 5.5]})
    >>> data["l"] = list("cdcd") * 2
    >>> score = EBICDegenerateGauss(data)
    >>> round(score.local_score("x", ("k",)) - score.local_score("x", ()), 3)  # BICDegenerateGauss minus ln 2
    12.722
    """

    _tags = {"name": "ebic-dg", "supported_datatype": "mixed", "default_for": None, "is_parameteric": False}

    gamma = 1.0

    def __init__(
        self,
        data: Any,
        state_names: Mapping[Hashable, Sequence] | None = None,
        *,
        penalty: float = 1.0,
        gamma: float = 1.0,
    ) -> None:
        self.gamma = check_gamma(gamma)
        super().__init__(data, state_names, penalty=penalty)
