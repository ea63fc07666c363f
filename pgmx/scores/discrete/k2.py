"""The K2 score."""

from pgmx.scores.discrete.base import DiscreteScore, ScoreTerms


class K2(DiscreteScore):
    r"""Marginal log-likelihood under Dirichlet priors whose pseudo-counts are all 1.

    .. math::
        \mathrm{K2}(x \mid \Pi) = \sum_{j=1}^{q} \left[ \ln \frac{\Gamma(r)}{\Gamma(n_j + r)}
        + \sum_{k=1}^{r} \ln \Gamma(n_{jk} + 1) \right]

    in nats; :math:`n_{jk}` is the number of rows with state k of x (of r states) and configuration j of its parents (of
    q configurations). The score is not score equivalent: Markov equivalent graphs may have different scores.

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

    Notes
    -----
    A configuration that never occurs contributes 0, as in the formula. pgmpy 1.1.2 adds ln Γ(r) for each of them.

    References
    ----------
    .. [1] Cooper, G. F. and Herskovits, E. (1992). A Bayesian method for the induction of probabilistic networks from
       data. Machine Learning 9, 309-347, equation 8.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"A": [0, 1, 1, 0], "B": [1, 0, 1, 0], "C": [1, 1, 1, 0]})
    >>> round(K2(data).local_score("B", ("A",)), 3)
    -3.584
    """

    _tags = {"name": "k2", "supported_datatype": "discrete", "default_for": None, "is_parameteric": False}

    def terms(self, n_rows: float) -> ScoreTerms:
        """Return the terms: pseudo-count 1 in every cell."""
        return ScoreTerms(dirichlet=True, prior=1.0, equivalent=False)
