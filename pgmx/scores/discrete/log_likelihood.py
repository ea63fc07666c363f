"""The log-likelihood score of discrete Bayesian networks."""

from pgmx.scores.discrete.base import DiscreteScore, ScoreTerms


class LogLikelihood(DiscreteScore):
    r"""Maximised log-likelihood of a discrete Bayesian network.

    .. math:: \ell(x \mid \Pi) = \sum_{j=1}^{q} \sum_{k=1}^{r} n_{jk} \ln \frac{n_{jk}}{n_j}

    in nats, with :math:`0 \ln 0 = 0`; :math:`n_{jk}` is the number of rows with state k of x and configuration j of its
    parents. The score never decreases when an arc is added. Use it to evaluate a graph, and a penalised score to learn
    one.

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable
        One discrete column per variable. Integers are states.
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
        If a column is continuous, has missing values, or has states that `state_names` does not list; the message names
        the column.

    References
    ----------
    .. [1] Koller, D. and Friedman, N. (2009). Probabilistic Graphical Models, section 18.3.1.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"A": [0, 1, 1, 0], "B": [1, 0, 1, 0], "C": [1, 1, 1, 0]})
    >>> round(LogLikelihood(data).local_score("B", ("A",)), 3)
    -2.773
    """

    _tags = {"name": "ll-d", "supported_datatype": "discrete", "default_for": None, "is_parameteric": False}

    def terms(self, n_rows: float) -> ScoreTerms:
        """Return the terms: no penalty."""
        return ScoreTerms()
