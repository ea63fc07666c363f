"""The Bayesian Dirichlet sparse score."""

from collections.abc import Hashable, Mapping, Sequence
from math import log
from typing import Any, Literal

import networkx as nx

from pgmx.scores.discrete.base import DiscreteScore, ScoreTerms, check_sample_size


class BDs(DiscreteScore):
    r"""Marginal log-likelihood under Dirichlet priors shared among the parent configurations that occur.

    .. math::
        \mathrm{BDs}(x \mid \Pi) = \sum_{j : n_j > 0} \left[ \ln \frac{\Gamma(\alpha_j)}{\Gamma(n_j + \alpha_j)}
        + \sum_{k=1}^{r} \ln \frac{\Gamma(n_{jk} + \alpha_{jk})}{\Gamma(\alpha_{jk})} \right],
        \qquad \alpha_j = \frac{\alpha}{\tilde q}, \quad \alpha_{jk} = \frac{\alpha}{\tilde q r}

    in nats; α is `equivalent_sample_size`, and :math:`n_{jk}` is the number of rows with state k of x (of r states) and
    configuration j of its parents. :math:`\tilde q` configurations occur in the data. If all configurations occur, the
    score is :class:`BDeu`. It is not score equivalent in general.

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
    The structure prior is the marginal uniform prior of [1]_, as in pgmpy: each arc costs ln 2. If configurations do
    not occur, pgmpy 1.1.2 departs from the formula: it divides α among all cells for :math:`\alpha_{jk}`, but among
    the configurations that occur for :math:`\alpha_j`. This class follows the formula.

    References
    ----------
    .. [1] Scutari, M. (2016). An empirical-Bayes score for discrete Bayesian networks. PGM, PMLR 52, 438-448.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"A": [0, 1, 1, 0], "B": [1, 0, 1, 0], "C": [1, 1, 1, 0]})
    >>> round(BDs(data, equivalent_sample_size=5).local_score("B", ("A",)), 3)
    -3.446
    """

    _tags = {"name": "bds", "supported_datatype": "discrete", "default_for": None, "is_parameteric": True}

    def __init__(
        self,
        data: Any,
        equivalent_sample_size: float = 10,
        state_names: Mapping[Hashable, Sequence] | None = None,
    ):
        self.equivalent_sample_size = check_sample_size(equivalent_sample_size)
        super().__init__(data, state_names=state_names)

    def terms(self, n_rows: float) -> ScoreTerms:
        """Return the terms: α is divided among the cells of the configurations that occur."""
        return ScoreTerms(
            dirichlet=True,
            per_cell=True,
            prior=float(self.equivalent_sample_size),
            equivalent=False,
            observed_configs=True,
        )

    def structure_prior(self, model: nx.DiGraph) -> float:
        """Return the log prior of a graph: no arc between two variables has probability 1/2, either arc 1/4."""
        n = model.number_of_nodes()
        return -(model.number_of_edges() + n * (n - 1) / 2) * log(2.0)

    def structure_prior_ratio(self, operation: Literal["+", "-", "flip"]) -> float:
        """Return the change of the log prior by an addition "+", deletion "-" or reversal "flip" of an arc."""
        return {"+": -log(2.0), "-": log(2.0)}.get(operation, 0.0)
