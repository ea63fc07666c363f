"""The Bayesian Dirichlet equivalent uniform score."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from pgmx.scores.discrete.base import DiscreteScore, ScoreTerms, check_sample_size


class BDeu(DiscreteScore):
    r"""Marginal log-likelihood under Dirichlet priors that share one equivalent sample size.

    .. math::
        \mathrm{BDeu}(x \mid \Pi) = \sum_{j=1}^{q} \left[ \ln \frac{\Gamma(\alpha_j)}{\Gamma(n_j + \alpha_j)}
        + \sum_{k=1}^{r} \ln \frac{\Gamma(n_{jk} + \alpha_{jk})}{\Gamma(\alpha_{jk})} \right],
        \qquad \alpha_j = \frac{\alpha}{q}, \quad \alpha_{jk} = \frac{\alpha}{q r}

    in nats; α is `equivalent_sample_size`, and :math:`n_{jk}` is the number of rows with state k of x and configuration
    j of its parents. There are r states and q configurations, including declared states that do not occur.

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable
        One discrete column per variable. Integers are states.
    equivalent_sample_size : float, default=10
        α > 0.
    state_names : dict, optional
        States of each variable; the observed ones by default.

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
        If a column is continuous, has missing values, or has states that `state_names` does not list, or if
        `equivalent_sample_size` is not a positive number. The message names the column or the argument.

    Notes
    -----
    pgmpy 1.1.2 departs from the formula when a declared state of the child never occurs. This class follows it.

    References
    ----------
    .. [1] Heckerman, D., Geiger, D. and Chickering, D. M. (1995). Learning Bayesian networks: the combination of
       knowledge and statistical data. Machine Learning 20, 197-243, equation 28.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"A": [0, 1, 1, 0], "B": [1, 0, 1, 0], "C": [1, 1, 1, 0]})
    >>> round(BDeu(data, equivalent_sample_size=5).local_score("B", ("A",)), 3)
    -3.446
    """

    _tags = {"name": "bdeu", "supported_datatype": "discrete", "default_for": None, "is_parameteric": True}

    def __init__(
        self,
        data: Any,
        equivalent_sample_size: float = 10,
        state_names: Mapping[Hashable, Sequence] | None = None,
    ):
        self.equivalent_sample_size = check_sample_size(equivalent_sample_size)
        super().__init__(data, state_names=state_names)

    def terms(self, n_rows: float) -> ScoreTerms:
        """Return the terms: α is divided among the cells of the family."""
        return ScoreTerms(dirichlet=True, per_cell=True, prior=float(self.equivalent_sample_size))
