"""Akaike's information criterion for discrete Bayesian networks."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from pgmx.scores.compiled import check_penalty
from pgmx.scores.discrete.base import DiscreteScore, ScoreTerms


class AIC(DiscreteScore):
    r"""Log-likelihood minus the number of free parameters.

    .. math:: \mathrm{AIC}(x \mid \Pi) = \ell(x \mid \Pi) - q (r - 1)

    in nats (-1/2 times the textbook criterion, as in pgmpy), for r states of x and q configurations of its parents.
    Declared states are counted even if they do not occur.

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable
        One discrete column per variable. Integers are states.
    state_names : dict, optional
        States of each variable; the observed ones by default.
    penalty : float, default=1.0
        Multiplier of what a parameter costs, above 0; bnlearn's ``k``.

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

    References
    ----------
    .. [1] Akaike, H. (1974). A new look at the statistical model identification. IEEE Transactions on Automatic
       Control 19, 716-723.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"A": [0, 1, 1, 0], "B": [1, 0, 1, 0], "C": [1, 1, 1, 0]})
    >>> round(AIC(data).local_score("B", ("A",)), 3)
    -4.773
    """

    _tags = {"name": "aic-d", "supported_datatype": "discrete", "default_for": None, "is_parameteric": False}

    def __init__(
        self, data: Any, state_names: Mapping[Hashable, Sequence] | None = None, *, penalty: float = 1.0
    ) -> None:
        self.penalty = check_penalty(penalty)
        super().__init__(data, state_names)

    def terms(self, n_rows: float) -> ScoreTerms:
        """Return the terms: each free parameter costs `penalty`, for any number of rows."""
        return ScoreTerms(penalty=self.penalty)
