"""Scores bound to rows with missing values, for structural expectation maximisation.

Its searches use the score bound to completed rows, which `bind_completed` returns.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from pgmpy.models import DiscreteBayesianNetwork

from pgmx.data import DiscreteTable, Frame
from pgmx.models.bayesian.em import EMFit, IncompleteRows
from pgmx.models.bayesian.incomplete_discrete import CompletedRows, IncompleteDiscreteRows
from pgmx.models.bayesian.networks import make_network
from pgmx.scores.binding.discrete import DiscreteScoring, TableMixin
from pgmx.scores.binding.scoring import Scoring
from pgmx.scores.bounds import FamilyBounds
from pgmx.scores.discrete.base import ScoreTerms, family_scorer
from pgmx.scores.gains import GainSource

#: Binds the score to a table and the weights of its rows.
Bind = Callable[[DiscreteTable, np.ndarray | None], Any]


class IncompleteScoring(ABC):
    """A score by name over rows with missing values.

    `available` is the score of the first graph, and the score of searches without expectations. Completed rows are the
    result of `rows.complete`, of any type.
    """

    names: list
    available: Scoring
    rows: IncompleteRows
    bonus: tuple[float, float, float]
    equivalent: bool
    #: The parameters of the learned graph; parameters of other graphs are computed on demand.
    fit: EMFit | None = None

    def _set_available(self, available: Scoring) -> None:
        self.available = available
        self.names = list(available.names)
        self.bonus, self.equivalent = available.bonus, available.equivalent

    @property
    def arc_mask(self) -> np.ndarray | None:
        """The arcs that the score allows."""
        return self.available.arc_mask

    @property
    def bounds(self) -> FamilyBounds:
        """Bounds of families under the score of the first graph."""
        return self.available.bounds

    def gains(
        self, *, allowed: np.ndarray | None, max_indegree: int | None, deadline: float, n_jobs: int | None
    ) -> GainSource:
        """Return gains of the score of the first graph."""
        return self.available.gains(allowed=allowed, max_indegree=max_indegree, deadline=deadline, n_jobs=n_jobs)

    def prior(self, edges: np.ndarray) -> float:
        """Return the log prior of a graph."""
        return self.available.prior(edges)

    def score_fit(self, fit: EMFit, completed: Any) -> float:
        r"""Return the log-likelihood of the observed values, with the penalty of the score for complete rows.

        .. math:: \ell_\mathrm{obs}(\theta) + s(G; D^*) - \ell(\hat\theta; D^*)

        for completed rows D*: minus the penalty of BIC or AIC, or the approximation of Cheeseman and Stutz (1996).
        """
        return fit.log_likelihood - self._penalise(fit, completed) + self.prior(fit.edges)

    def fit_edges(self, edges: Any) -> EMFit:
        """Return the parameters of a graph; the stored ones if it is the learned graph."""
        arcs = np.array(edges, dtype=np.int64).reshape(-1, 2)
        if self.fit is None or self.rows.families(arcs) != self.fit.families:
            return self.rows.fit(arcs)
        return self.fit

    @property
    @abstractmethod
    def data(self) -> list:
        """The arrays that the score is bound to; a checkpoint identifies the data by them."""

    @abstractmethod
    def bind_completed(self, completed: Any) -> Scoring:
        """Return the score bound to completed rows."""

    @abstractmethod
    def _penalise(self, fit: EMFit, completed: Any) -> float:
        """Return the log-likelihood of completed rows minus their score."""

    @abstractmethod
    def model(self, edges: list, **prior: float | None) -> Any:
        """Return the network of the expected counts; `prior` as in `fit_discrete`."""

    @abstractmethod
    def impute(self) -> DiscreteTable | Frame:
        """Return the rows of the table with imputed missing values."""

    @abstractmethod
    def reweight(self, weights: np.ndarray) -> "IncompleteScoring":
        """Return the same score on the weighted rows."""


class IncompleteStates(IncompleteScoring, TableMixin):
    """A discrete score over a table that marks missing values.

    `bind` binds the score to complete rows. `available` is the node average on the rows that are complete in a family.
    """

    def __init__(self, table: DiscreteTable, weights: np.ndarray | None, bind: Bind, available: Scoring):
        self.table, self.weights, self.bind = table, weights, bind
        self._set_available(available)

    @cached_property
    def rows(self) -> IncompleteDiscreteRows:
        """The distinct rows."""
        return IncompleteDiscreteRows(self.table, self.weights)

    @property
    def data(self) -> list:
        """The arrays that the score is bound to."""
        return [self.table.codes, self.table.cardinalities, self.table.missing_codes, self.weights]

    def bind_completed(self, completed: CompletedRows) -> DiscreteScoring:
        """Return the score bound to completed rows."""
        return self.bind(*completed)

    def _penalise(self, fit: EMFit, completed: CompletedRows) -> float:
        scoring = self.bind_completed(completed)
        weights = np.ones(scoring.table.n_rows) if scoring.weights is None else scoring.weights
        own, plain = (family_scorer(scoring.table, terms, weights=weights) for terms in (scoring.terms, ScoreTerms()))
        return compare_scores(fit.families, own, plain)

    def model(self, edges: list, **prior: float | None) -> DiscreteBayesianNetwork:
        """Return the network of the expected counts, by maximum likelihood or with a Dirichlet prior."""
        fit = self.fit_edges(edges)
        parents = [family[1:] for family in fit.families]
        return make_network(self.names, self.rows.states, parents, fit.statistics, **prior)

    def impute(self) -> DiscreteTable:
        """Return the rows of the table; a missing value becomes the most probable state given its row."""
        return self.rows.impute(self.fit)

    def reweight(self, weights: np.ndarray) -> "IncompleteStates":
        """Return the same score on the weighted rows."""
        products = np.asarray(weights, dtype=float) * (1.0 if self.weights is None else self.weights)
        return IncompleteStates(self.table, products, self.bind, self.available.reweight(weights))


def compare_scores(families: Sequence[Sequence[int]], own: GainSource, plain: GainSource) -> float:
    """Return the total score of families (v, parents...) under the source `plain` minus that under `own`."""
    arrays = [(v, np.array(parents, dtype=np.int32)) for v, *parents in families]
    return float(sum(plain.family_score(*family) - own.family_score(*family) for family in arrays))
