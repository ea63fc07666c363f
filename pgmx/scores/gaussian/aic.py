"""Akaike's information criterion for linear Gaussian networks."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from pgmx.scores.compiled import check_penalty
from pgmx.scores.gaussian.base import GaussianScore


class AICGauss(GaussianScore):
    r"""Gaussian log-likelihood minus the number of free parameters.

    .. math::
        \mathrm{AIC}(x \mid \Pi) = -\frac{N}{2} \left( \ln 2 \pi \hat\sigma^2_{x \mid \Pi} + 1 \right)
        - (|\Pi| + 2)

    in nats (-1/2 times the textbook criterion, as in pgmpy). The variance is the residual sum of squares of a
    regression of x on its parents, divided by the number of rows N.

    Parameters
    ----------
    data : DataFrame, array or DistributedNumericTable
        One column of finite values per variable, none constant.
    state_names : dict, optional
        Not used; present for compatibility with pgmpy.
    penalty : float, default=1.0
        Multiplier of what a parameter costs, above 0; bnlearn's ``k``.

    Attributes
    ----------
    variables : list
        Names of the columns.
    moments : Moments
        Means and cross-products.

    Raises
    ------
    ValueError
        If a column is discrete, is constant, or has missing or infinite values; the message names the column.

    Notes
    -----
    All families are scored from one covariance matrix. A family with k parents costs k³ / 6 multiplications.

    If three or more columns determine each other to ten digits (totals, shares that sum to 1), all families are scored
    as if each column had independent noise of 1e-6 of its standard deviation. Two columns that determine each other are
    never in the same family. No noise is used for tables with at most as many rows as columns: families in which the
    parents determine the child are not scored.

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

    def __init__(
        self, data: Any, state_names: Mapping[Hashable, Sequence] | None = None, *, penalty: float = 1.0
    ) -> None:
        self.penalty = check_penalty(penalty)
        super().__init__(data, state_names)

    def parameter_cost(self, n_rows: float) -> float:
        """Return `penalty`."""
        return self.penalty
