"""Akaike's information criterion for linear Gaussian networks."""

from pgmx.scores.gaussian.base import GaussianScore


class AICGauss(GaussianScore):
    r"""Gaussian log-likelihood less the number of free parameters.

    .. math::
        \mathrm{AIC}(x \mid \Pi) = -\frac{N}{2} \left( \ln 2 \pi \hat\sigma^2_{x \mid \Pi} + 1 \right)
        - (|\Pi| + 2)

    in nats; half of the negative of the textbook criterion, as pgmpy has it. The variance is the residual sum of
    squares of a regression of x on its parents, divided by N rows.

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
    .. [1] Akaike, H. (1974). A new look at the statistical model identification. IEEE Transactions on Automatic
       Control 19, 716-723.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"A": [0.0, 1.0, 2.0, 3.0], "B": [0.5, 0.5, 2.5, 2.5], "C": [1.0, 0.0, 1.0, 0.0]})
    >>> round(AICGauss(data).local_score("B", ("A",)), 3)
    -5.457
    """

    _tags = {"name": "aic-g", "supported_datatype": "continuous", "default_for": None, "is_parameteric": False}

    def parameter_cost(self, n_rows: float) -> float:
        """Return 1."""
        return 1.0
