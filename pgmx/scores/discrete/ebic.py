"""The extended Bayesian information criterion for discrete Bayesian networks."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from pgmx.scores.compiled import check_gamma
from pgmx.scores.discrete.bic import BIC


class EBIC(BIC):
    r"""Extended BIC: BIC minus the logarithm of the number of sets from which the parents are chosen.

    .. math::
        \mathrm{EBIC}(x \mid \Pi) = \ell(x \mid \Pi) - \frac{\ln N}{2} q (r - 1) - \gamma \ln \binom{p - 1}{|\Pi|}

    in nats, for N rows, p variables, r states of x and q configurations of its parents. Declared states are counted
    even if they do not occur.

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable
        One discrete column per variable. Integers are states.
    state_names : dict, optional
        States of each variable; the observed ones by default.
    penalty : float, default=1.0
        Multiplier of what a parameter costs, above 0.
    gamma : float, default=1.0
        Multiplier of the last term, 0 or more. With 0 the score is :class:`BIC`, with 1 all sizes of parent sets are
        equally probable a priori.

    Attributes
    ----------
    variables : list
        Names of the columns.
    state_names : dict
        States of every variable.
    table : DiscreteTable
        The coded data.

    Raises
    ------
    ValueError
        If a column is continuous, has missing values, or has states that `state_names` does not list; the message names
        the column.

    Notes
    -----
    The prior of [1]_ for regressions is applied to each variable. The last term depends on the number of parents only,
    so Markov equivalent graphs have the same score. Use it if variables are many and rows few: BIC then adds many edges
    between independent variables.

    References
    ----------
    .. [1] Chen, J. and Chen, Z. (2008). Extended Bayesian information criteria for model selection with large model
       spaces. Biometrika 95, 759-771.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"A": [0, 1, 1, 0], "B": [1, 0, 1, 0], "C": [1, 1, 1, 0]})
    >>> round(EBIC(data).local_score("B", ("A",)), 3)  # BIC minus ln 2
    -4.852
    """

    _tags = {"name": "ebic-d", "supported_datatype": "discrete", "default_for": None, "is_parameteric": False}

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
