"""The Bayesian information criterion for discrete Bayesian networks."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from pgmx._ext import _families
from pgmx.scores.compiled import check_penalty
from pgmx.scores.discrete.base import DiscreteScore, ScoreTerms


class BIC(DiscreteScore):
    r"""Log-likelihood minus half the logarithm of the sample size per free parameter (also called MDL).

    .. math:: \mathrm{BIC}(x \mid \Pi) = \ell(x \mid \Pi) - \frac{\ln N}{2} q (r - 1)

    in nats, for N rows, r states of x and q configurations of its parents. Declared states are counted even if they do
    not occur.

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable
        One discrete column per variable. Integers are states.
    state_names : dict, optional
        States of each variable; the observed ones by default.
    penalty : float, default=1.0
        Multiplier of what a parameter costs, above 0. It is Tetrad's penalty discount; bnlearn's ``k`` is
        `penalty` · ln N / 2.

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
    .. [1] Schwarz, G. (1978). Estimating the dimension of a model. Annals of Statistics 6, 461-464.
    .. [2] Koller, D. and Friedman, N. (2009). Probabilistic Graphical Models, section 18.3.5.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"A": [0, 1, 1, 0], "B": [1, 0, 1, 0], "C": [1, 1, 1, 0]})
    >>> round(BIC(data).local_score("B", ("A",)), 3)
    -4.159
    """

    _tags = {"name": "bic-d", "supported_datatype": "discrete", "default_for": "discrete", "is_parameteric": False}

    def __init__(
        self, data: Any, state_names: Mapping[Hashable, Sequence] | None = None, *, penalty: float = 1.0
    ) -> None:
        self.penalty = check_penalty(penalty)
        super().__init__(data, state_names)

    def terms(self, n_rows: float) -> ScoreTerms:
        """Return the terms: each free parameter costs half of ln N, times `penalty`."""
        return ScoreTerms(penalty=self.penalty * 0.5 * _families.natural_log(n_rows))
