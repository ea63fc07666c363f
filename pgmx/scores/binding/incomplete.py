"""A score of states bound to rows with missing cells, for structural expectation maximisation.

The searches of it ask the score bound to weighted complete rows, which `bind` returns.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from pgmpy.models import DiscreteBayesianNetwork

from pgmx.data import DiscreteTable
from pgmx.models.bayesian.incomplete_rows import ExpectedFit, IncompleteRows
from pgmx.models.bayesian.networks import make_network
from pgmx.scores.binding.discrete import DiscreteScoring, TableMixin
from pgmx.scores.binding.scoring import Scoring
from pgmx.scores.bounds import FamilyBounds
from pgmx.scores.discrete.base import ScoreTerms, family_scorer
from pgmx.scores.gains import GainSource

#: Binds the score to a table and the weights of its rows.
Bind = Callable[[DiscreteTable, np.ndarray | None], Any]


class IncompleteScoring(TableMixin):
    """A score by name over a table that marks missing cells.

    `bind` binds it to complete rows; `available` is the node average of the rows that are complete in each family, the
    score of the first graph, and what a search gets that knows of no expectations.
    """

    arc_mask = None

    def __init__(self, table: DiscreteTable, weights: np.ndarray | None, bind: Bind, available: Scoring):
        self.table, self.weights = table, weights
        self.bind, self.available = bind, available
        self.names = list(table.columns)
        self.bonus, self.equivalent = available.bonus, available.equivalent
        #: The parameters of the learned graph; other graphs get theirs when they are asked for.
        self.fit: ExpectedFit | None = None

    @property
    def bounds(self) -> FamilyBounds:
        """What the score of the first graph proves of families."""
        return self.available.bounds

    def gains(
        self, *, allowed: np.ndarray | None, max_indegree: int | None, deadline: float, n_jobs: int | None
    ) -> GainSource:
        """Return gains of the score of the first graph."""
        return self.available.gains(allowed=allowed, max_indegree=max_indegree, deadline=deadline, n_jobs=n_jobs)

    def prior(self, edges: np.ndarray) -> float:
        """Return the log prior of a graph."""
        return self.available.prior(edges)

    @cached_property
    def rows(self) -> IncompleteRows:
        """The distinct rows."""
        return IncompleteRows(self.table, self.weights)

    def score_fit(self, fit: ExpectedFit, table: DiscreteTable, weights: np.ndarray) -> float:
        r"""Return the log-likelihood of the observed cells, penalised as the score penalises complete rows.

        .. math:: \ell_\mathrm{obs}(\theta) + s(G; D^*) - \ell(\hat\theta; D^*)

        for the completions D*: less the penalty under BIC, AIC; Cheeseman and Stutz (1996) under a Dirichlet score.
        """
        scoring: DiscreteScoring = self.bind(table, weights)
        plain = family_scorer(scoring.table, ScoreTerms(), weights=_row_weights(scoring))
        own = family_scorer(scoring.table, scoring.terms, weights=_row_weights(scoring))
        families = [(family[0], np.array(family[1:], dtype=np.int32)) for family in fit.families]
        penalty = sum(own.family_score(*family) - plain.family_score(*family) for family in families)
        return fit.log_likelihood + penalty + scoring.prior(fit.edges)

    def model(self, edges: list, **prior: float | None) -> DiscreteBayesianNetwork:
        """Return the network of the expected counts, by maximum likelihood or with a Dirichlet prior."""
        arcs = np.array(edges, dtype=np.int64).reshape(-1, 2)
        fit = self.fit
        if fit is None or self.rows.families(arcs) != fit.families:
            fit = self.rows.fit(arcs)
        parents = [family[1:] for family in fit.families]
        return make_network(self.names, self.rows.states, parents, fit.counts, **prior)

    def reweight(self, weights: np.ndarray) -> "IncompleteScoring":
        """Return the same score on the weighted rows."""
        products = np.asarray(weights, dtype=float) * (1.0 if self.weights is None else self.weights)
        return IncompleteScoring(self.table, products, self.bind, self.available.reweight(weights))


def _row_weights(scoring: DiscreteScoring) -> np.ndarray:
    n_rows = scoring.table.n_rows
    return np.ones(n_rows) if scoring.weights is None else scoring.weights
