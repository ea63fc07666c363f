"""The log-likelihood score of linear Gaussian networks."""

from pgmx.scores.gaussian.base import GaussianScore


class LogLikelihoodGauss(GaussianScore):
    r"""Maximised log-likelihood of a linear Gaussian Bayesian network.

    .. math:: \ell(x \mid \Pi) = -\frac{N}{2} \left( \ln 2 \pi \hat\sigma^2_{x \mid \Pi} + 1 \right)

    in nats; the variance is the residual sum of squares of a regression of x on its parents, divided by N rows. It
    never falls when an arc is added: use it to measure, and a penalised score to learn.

    Parameters
    ----------
    data : DataFrame, array or DistributedNumericTable
        One column of finite numbers per variable, none constant.
    state_names : dict, optional
        Not used; pgmpy's scores have it.

    Attributes
    ----------
    variables : list
        Names of the columns.
    moments : Moments
        Means and cross-products.

    Raises
    ------
    ValueError
        If a column holds states, missing or infinite cells, or one value; the message names it.

    Notes
    -----
    All families are scored from one covariance matrix; a family of k parents costs k³ / 6 multiplications.

    If three or more columns determine each other to ten digits (totals, shares that sum to 1), all families are scored
    as if each column had independent noise of 1e-6 of its standard deviation. Two columns that determine each other are
    in no family together. Tables with no more rows than columns have no such noise: families in which the parents
    determine the child are not scored.

    References
    ----------
    .. [1] Geiger, D. and Heckerman, D. (1994). Learning Gaussian networks. UAI, 235-243.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"A": [0.0, 1.0, 2.0, 3.0], "B": [0.5, 0.5, 2.5, 2.5], "C": [1.0, 0.0, 1.0, 0.0]})
    >>> round(LogLikelihoodGauss(data).local_score("B", ("A",)), 3)
    -2.457
    """

    _tags = {"name": "ll-g", "supported_datatype": "continuous", "default_for": None, "is_parameteric": False}

    def parameter_cost(self, n_rows: float) -> float:
        """Return no cost."""
        return 0.0
