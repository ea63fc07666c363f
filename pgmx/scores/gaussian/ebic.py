"""The extended Bayesian information criterion for linear Gaussian networks."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from pgmx.scores.compiled import check_gamma
from pgmx.scores.gaussian.bic import BICGauss


class EBICGauss(BICGauss):
    r"""Extended Gaussian BIC: BIC minus the logarithm of the number of sets from which the parents are chosen.

    .. math::
        \mathrm{EBIC}(x \mid \Pi) = -\frac{N}{2} \left( \ln 2 \pi \hat\sigma^2_{x \mid \Pi} + 1 \right)
        - \frac{\ln N}{2} (|\Pi| + 2) - \gamma \ln \binom{p - 1}{|\Pi|}

    in nats, for p variables. The variance is the residual sum of squares of a regression of x on its parents, divided
    by the number of rows N.

    Parameters
    ----------
    data : DataFrame, array or DistributedNumericTable
        One column of finite values per variable, none constant.
    state_names : dict, optional
        Not used; present for compatibility with pgmpy.
    penalty : float, default=1.0
        Multiplier of what a parameter costs, above 0.
    gamma : float, default=1.0
        Multiplier of the last term, 0 or more. With 0 the score is :class:`BICGauss`, with 1 all sizes of parent sets
        are equally probable a priori.

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
    The prior of [1]_ for regressions is applied to each variable. The last term depends on the number of parents only,
    so Markov equivalent graphs have the same score. Use it if variables are many and rows few: BIC then adds many edges
    between independent variables. The criterion of [2]_ for undirected graphs charges about twice as much per edge at
    the same `gamma`.

    See :class:`BICGauss` for columns that determine each other.

    References
    ----------
    .. [1] Chen, J. and Chen, Z. (2008). Extended Bayesian information criteria for model selection with large model
       spaces. Biometrika 95, 759-771.
    .. [2] Foygel, R. and Drton, M. (2010). Extended Bayesian information criteria for Gaussian graphical models. NIPS
       23, 604-612.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"A": [0.0, 1.0, 2.0, 3.0], "B": [0.5, 0.5, 2.5, 2.5], "C": [1.0, 0.0, 1.0, 0.0]})
    >>> round(EBICGauss(data).local_score("B", ("A",)), 3)  # BICGauss minus ln 2
    -5.229
    """

    _tags = {"name": "ebic-g", "supported_datatype": "continuous", "default_for": None, "is_parameteric": False}

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
