"""The conditional Gaussian scores of pgmpy, compiled: log-likelihood, AIC and BIC."""

from pgmx._ext import _families, _mixed
from pgmx.data.mixed import MixedTable
from pgmx.scores.mixed.base import ConditionalScore
from pgmx.scores.mixed.source import MixedTerms


class LogLikelihoodCondGauss(ConditionalScore):
    r"""Log-likelihood of conditional Gaussian families, floats among the parents of states too.

    .. math::
        \ell(x \mid D, C) = \sum_i \ln \frac{p(x_i, c_i \mid d_i)}{p(c_i \mid d_i)}, \qquad
        \ell(y \mid D, C) = \sum_i \ln \frac{p(c_i \mid y_i, d_i)\, p(y_i, d_i)}{p(c_i \mid d_i)\, p(d_i)}

    in nats, for a float x and for a state y with discrete parents D and floats C: p are relative frequencies, and
    Gaussian densities with the mean and the covariance (denominator n - 1) of the rows of a configuration. It follows
    the formula of pgmpy's class of this name.

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable
        Columns of finite floats, none constant, and columns of states; integers are states.
    state_names : dict, optional
        States of some or all columns of states, in order. Those that do not occur are left out, as pgmpy does.

    Attributes
    ----------
    variables : list
        Names of the columns.
    mixed : MixedTable
        The columns by kind.

    Raises
    ------
    ValueError
        If a column of floats is constant, or cells are missing or infinite; the message names it.

    Notes
    -----
    The second ratio is no probability: :math:`p(c \mid d)` is one Gaussian, not a mixture over y. It can exceed 1, so
    that the log-likelihood of a state can be above 0 and arcs from floats to states are rewarded without bound; learn
    with :class:`BICCondLinearGauss` instead.

    pgmpy 1.1.2 departs from the formula: densities of the parents are at least 1e-8 there, whatever their unit, and
    1e-6 is added to all cells of a covariance with an eigenvalue near 0. On columns of moderate scale both agree.

    A family scores minus infinity where a configuration that occurs has no more rows than floats, the child among
    them, or where a column has a variance, given the others, under 1e-10 of its variance in the table.

    If three or more continuous columns determine each other in all rows, each continuous column is scored with
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
        """Return the terms of the score for `n_rows` rows, or for weights that add up to it."""
        return MixedTerms(_mixed.SAMPLE, self.parameter_cost(n_rows), discrete_children=True)

    def parameter_cost(self, n_rows: float) -> float:
        """Return no cost."""
        return 0.0


class AICCondGauss(LogLikelihoodCondGauss):
    r"""Conditional Gaussian log-likelihood less the number of free parameters.

    .. math:: \mathrm{AIC}(x \mid D, C) = \ell(x \mid D, C) - k

    in nats, with :math:`\ell` of :class:`LogLikelihoodCondGauss`; with q configurations of the states of D that occur,
    a float has :math:`k = q (|C| + 2)` and a column of r states :math:`k = q (r - 1) (|C| + 2)`, or
    :math:`q (r - 1)` without floats among its parents.

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable
        Columns of finite floats, none constant, and columns of states; integers are states.
    state_names : dict, optional
        States of some or all columns of states, in order. Those that do not occur are left out, as pgmpy does.

    Attributes
    ----------
    variables : list
        Names of the columns.
    mixed : MixedTable
        The columns by kind.

    Raises
    ------
    ValueError
        If a column of floats is constant, or cells are missing or infinite; the message names it.

    Notes
    -----
    See :class:`LogLikelihoodCondGauss` for where pgmpy departs from the formula, for the families that score minus
    infinity, and for why arcs from floats to states are rewarded without bound: learn with
    :class:`AICCondLinearGauss` instead. A family costs one pass over the rows for each eight products of its floats,
    and k³ / 6 multiplications for each configuration.

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
    r"""Conditional Gaussian log-likelihood less half the logarithm of the sample size for each free parameter.

    .. math:: \mathrm{BIC}(x \mid D, C) = \ell(x \mid D, C) - \frac{\ln N}{2} k

    in nats, with :math:`\ell` of :class:`LogLikelihoodCondGauss` and k of :class:`AICCondGauss`.

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable
        Columns of finite floats, none constant, and columns of states; integers are states.
    state_names : dict, optional
        States of some or all columns of states, in order. Those that do not occur are left out, as pgmpy does.

    Attributes
    ----------
    variables : list
        Names of the columns.
    mixed : MixedTable
        The columns by kind.

    Raises
    ------
    ValueError
        If a column of floats is constant, or cells are missing or infinite; the message names it.

    Notes
    -----
    See :class:`LogLikelihoodCondGauss` for where pgmpy departs from the formula, for the families that score minus
    infinity, and for why arcs from floats to states are rewarded without bound: learn with
    :class:`BICCondLinearGauss` instead. A family costs one pass over the rows for each eight products of its floats,
    and k³ / 6 multiplications for each configuration.

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
