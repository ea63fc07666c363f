"""The conditional Gaussian scores of pgmpy, compiled: log-likelihood, AIC and BIC."""

from pgmx._ext import _families, _mixed
from pgmx.data.mixed import MixedTable
from pgmx.scores.mixed.base import ConditionalScore
from pgmx.scores.mixed.source import MixedTerms


class LogLikelihoodCondGauss(ConditionalScore):
    r"""Log-likelihood of conditional Gaussian families; discrete variables may have continuous parents.

    .. math::
        \ell(x \mid D, C) = \sum_i \ln \frac{p(x_i, c_i \mid d_i)}{p(c_i \mid d_i)}, \qquad
        \ell(y \mid D, C) = \sum_i \ln \frac{p(c_i \mid y_i, d_i)\, p(y_i, d_i)}{p(c_i \mid d_i)\, p(d_i)}

    in nats, for a continuous variable x and a discrete variable y with discrete parents D and continuous parents C. p
    are relative frequencies, and Gaussian densities with the mean and the covariance (denominator n - 1) of the rows of
    a configuration. The formula is the same as in the pgmpy class of this name.

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable
        Continuous columns of finite values, none constant, and discrete columns. Integers are discrete.
    state_names : dict, optional
        States of some or all discrete columns, in order. States that do not occur are left out, as in pgmpy.

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
    The second ratio is not a probability: :math:`p(c \mid d)` is one Gaussian, not a mixture over y. It can exceed 1.
    So the log-likelihood of a discrete variable can be above 0, and the reward of arcs from continuous to discrete
    variables is unbounded. To learn graphs, use :class:`BICCondLinearGauss`.

    pgmpy 1.1.2 departs from the formula: it raises densities of the parents to at least 1e-8, independent of their
    unit, and adds 1e-6 to all elements of a covariance matrix with an eigenvalue near 0. On columns of moderate scale
    both agree.

    A family has the score minus infinity in two cases: a configuration that occurs has at most as many rows as the
    family has continuous variables, or the variance of a column given the others is below 1e-10 of its variance in the
    table.

    If three or more continuous columns determine each other in all rows, each continuous column is scored as if it had
    independent noise of 1e-6 of its standard deviation, see :class:`BICGauss`.

    References
    ----------
    .. [1] Andrews, B., Ramsey, J. and Cooper, G. F. (2018). Scoring Bayesian networks of mixed variables. International
       Journal of Data Science and Analytics 6, 3-18.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"k": ["a"] * 4 + ["b"] * 4, "x": [0.0, 1.0, 0.0, 1.0, 5.0, 5.5, 5.0, 5.5]})
    >>> score = LogLikelihoodCondGauss(data)
    >>> round(score.local_score("x", ("k",)), 3), round(score.local_score("k", ("x",)), 3)
    (-3.184, 9.685)
    """

    _tags = {"name": "ll-cg", "supported_datatype": "mixed", "default_for": None, "is_parameteric": False}

    def prepare(self, mixed: MixedTable) -> MixedTable:
        """Return the table without states that do not occur."""
        return mixed.drop_unseen_states()

    def terms(self, n_rows: float) -> MixedTerms:
        """Return the terms of the score for `n_rows` rows, or for weights with this sum."""
        return MixedTerms(_mixed.SAMPLE, self.parameter_cost(n_rows), discrete_children=True)

    def parameter_cost(self, n_rows: float) -> float:
        """Return 0: parameters have no cost."""
        return 0.0


class AICCondGauss(LogLikelihoodCondGauss):
    r"""Conditional Gaussian log-likelihood minus the number of free parameters.

    .. math:: \mathrm{AIC}(x \mid D, C) = \ell(x \mid D, C) - k

    in nats, with :math:`\ell` of :class:`LogLikelihoodCondGauss` and q configurations of the states of D that occur. A
    continuous variable has :math:`k = q (|C| + 2)`. A discrete variable with r states has
    :math:`k = q (r - 1) (|C| + 2)`, or :math:`q (r - 1)` without continuous parents.

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable
        Continuous columns of finite values, none constant, and discrete columns. Integers are discrete.
    state_names : dict, optional
        States of some or all discrete columns, in order. States that do not occur are left out, as in pgmpy.

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
    See :class:`LogLikelihoodCondGauss` for the differences from pgmpy, for the families with the score minus infinity,
    and for the unbounded reward of arcs from continuous to discrete variables. To learn graphs, use
    :class:`AICCondLinearGauss`. A family costs one pass over the rows per eight products of its continuous variables,
    and k³ / 6 multiplications per configuration.

    References
    ----------
    .. [1] Andrews, B., Ramsey, J. and Cooper, G. F. (2018). Scoring Bayesian networks of mixed variables. International
       Journal of Data Science and Analytics 6, 3-18.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"k": ["a"] * 4 + ["b"] * 4, "x": [0.0, 1.0, 0.0, 1.0, 5.0, 5.5, 5.0, 5.5]})
    >>> round(AICCondGauss(data).local_score("x", ("k",)), 3)
    -7.184
    """

    _tags = {"name": "aic-cg", "supported_datatype": "mixed", "default_for": None, "is_parameteric": False}

    def parameter_cost(self, n_rows: float) -> float:
        """Return 1."""
        return 1.0


class BICCondGauss(LogLikelihoodCondGauss):
    r"""Conditional Gaussian log-likelihood minus half the logarithm of the sample size per free parameter.

    .. math:: \mathrm{BIC}(x \mid D, C) = \ell(x \mid D, C) - \frac{\ln N}{2} k

    in nats, with :math:`\ell` of :class:`LogLikelihoodCondGauss` and k of :class:`AICCondGauss`.

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable
        Continuous columns of finite values, none constant, and discrete columns. Integers are discrete.
    state_names : dict, optional
        States of some or all discrete columns, in order. States that do not occur are left out, as in pgmpy.

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
    See :class:`LogLikelihoodCondGauss` for the differences from pgmpy, for the families with the score minus infinity,
    and for the unbounded reward of arcs from continuous to discrete variables. To learn graphs, use
    :class:`BICCondLinearGauss`. A family costs one pass over the rows per eight products of its continuous variables,
    and k³ / 6 multiplications per configuration.

    References
    ----------
    .. [1] Andrews, B., Ramsey, J. and Cooper, G. F. (2018). Scoring Bayesian networks of mixed variables. International
       Journal of Data Science and Analytics 6, 3-18.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"k": ["a"] * 4 + ["b"] * 4, "x": [0.0, 1.0, 0.0, 1.0, 5.0, 5.5, 5.0, 5.5]})
    >>> round(BICCondGauss(data).local_score("x", ("k",)), 3)
    -7.343
    """

    _tags = {"name": "bic-cg", "supported_datatype": "mixed", "default_for": None, "is_parameteric": False}

    def parameter_cost(self, n_rows: float) -> float:
        """Return half of ln N."""
        return 0.5 * _families.natural_log(n_rows)
