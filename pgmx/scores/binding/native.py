"""pgmx's own scores bound to data.

Discrete scores run compiled on the coded table, with row weights or without; scores with a formula of their own (a
prior network, missing cells) on its counts; Gaussian ones on a covariance matrix.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pgmx.data import DiscreteTable
from pgmx.models import fit_discrete, fit_linear_gaussian, to_linear_gaussian
from pgmx.scores.binding.scoring import WithPrior, function_gains, weighted_rows, without_data
from pgmx.scores.discrete.base import DiscreteScore
from pgmx.scores.discrete.observed_cells import CountedFamilies, Formula
from pgmx.scores.discrete.terms import family_scorer
from pgmx.scores.gaussian.base import GaussianScore, check_varying, gaussian_scorer
from pgmx.scores.priors import StructurePrior
from pgmx.statistics import Moments, moments, pair_counts


class DiscreteScoring(WithPrior):
    """One of pgmx's scores over a coded table."""

    weights: np.ndarray | None = None

    def __init__(self, score: DiscreteScore, table: DiscreteTable, structure_prior: StructurePrior | None = None):
        self.score = score
        self.table = table
        self.names = list(table.columns)
        self.equivalent: bool = score.terms(table.n_rows).equivalent
        self._set_prior(structure_prior)

    @property
    def terms(self):
        """The score's terms, with what a parameter costs under the structure prior."""
        n_rows = self.table.n_rows if self.weights is None else float(self.weights.sum())
        terms = self.score.terms(n_rows)
        return replace(terms, penalty=terms.penalty + self.parameter_cost) if self.parameter_cost else terms

    def gains(self, *, allowed, max_indegree, deadline, n_jobs):
        """Return the compiled scorer, pairs counted by `n_jobs` threads; a row is too short to look at the clock."""
        pairs = pair_counts(self.table, n_jobs=n_jobs)
        return family_scorer(self.table, self.terms, pairs=pairs, allowed=allowed, max_indegree=max_indegree)

    def model(self, edges):
        """Return a discrete network, its parameters by maximum likelihood."""
        return fit_discrete(self.table, edges, self.weights)

    def resampled(self, weights) -> "DiscreteScoring":
        """Return the same score on the weighted rows, repeated where that is possible."""
        table, weights = weighted_rows(self.table, self.weights, weights)
        if weights is None:
            return DiscreteScoring(self.score, table, self.structure_prior)
        return WeightedScoring(self.score, table, weights, self.structure_prior)

    def __getstate__(self):
        # where the table goes, the data of the score need not
        return {**self.__dict__, "score": without_data(self.score)}


class WeightedScoring(DiscreteScoring):
    """The same with row weights that cannot be had by repeating rows."""

    def __init__(self, score: DiscreteScore, table: DiscreteTable, weights: np.ndarray, structure_prior=None):
        super().__init__(score, table, structure_prior)
        self.weights = weights

    def gains(self, *, allowed, max_indegree, deadline, n_jobs):
        """Return the compiled scorer of weighted rows; `n_jobs` does not apply."""
        return family_scorer(self.table, self.terms, weights=self.weights, allowed=allowed, max_indegree=max_indegree)


class CountedScoring(WithPrior):
    """A score with a formula over the counts of a family.

    `make_formula` is given the number of rows, or the sum of their weights.
    """

    def __init__(
        self,
        score: Any,
        make_formula: Callable[[float], Formula],
        table: DiscreteTable,
        structure_prior: StructurePrior | None = None,
        *,
        weights: np.ndarray | None = None,
        equivalent: bool = False,
    ):
        self.score = score
        self.make_formula = make_formula
        self.table = table
        self.weights = weights
        self.names = list(table.columns)
        self.equivalent = equivalent
        self._families: CountedFamilies | None = None
        self._set_prior(structure_prior)

    def local_score(self, child: int, parents: tuple[int, ...]) -> float:
        """Return the score of a family of ids, its parameters paid for."""
        if self._families is None:
            n_rows = self.table.n_rows if self.weights is None else float(self.weights.sum())
            self._families = CountedFamilies(self.table, self.make_formula(n_rows), self.weights)
        cards = self.table.cardinalities - (self.table.missing_codes >= 0)
        n_parameters = np.prod(cards[list(parents)], dtype=float) * (cards[child] - 1)
        value = self._families.family_score(child, np.array(parents, dtype=np.int32))
        return value - self.parameter_cost * float(n_parameters)

    def gains(self, *, allowed, max_indegree, deadline, n_jobs):
        """Return the remembered scores as a source of gains; `n_jobs` does not apply."""
        return function_gains(self, allowed, max_indegree, deadline)

    def model(self, edges):
        """Return a discrete network, its parameters by maximum likelihood."""
        return fit_discrete(self.table, edges, self.weights)

    def resampled(self, weights) -> "CountedScoring":
        """Return the same score on the weighted rows."""
        table, weights = weighted_rows(self.table, self.weights, weights)
        return CountedScoring(
            self.score, self.make_formula, table, self.structure_prior, weights=weights, equivalent=self.equivalent
        )

    def __getstate__(self):
        # compiled scorers do not travel
        return {**self.__dict__, "_families": None, "score": without_data(self.score)}


class GaussianScoring(WithPrior):
    """One of pgmx's scores of linear Gaussian networks over a frame of numbers."""

    equivalent = True

    def __init__(
        self,
        score: GaussianScore,
        frame,
        structure_prior: StructurePrior | None = None,
        *,
        weights: np.ndarray | None = None,
        found: Moments | None = None,
    ):
        self.score = score
        self.frame = frame
        self.weights = weights
        self.names = list(frame.columns)
        self.moments = moments(frame, weights) if found is None else found
        check_varying(self.moments, self.names)
        self._set_prior(structure_prior)

    def gains(self, *, allowed, max_indegree, deadline, n_jobs):
        """Return the compiled scorer; `n_jobs` does not apply."""
        cost = self.score.parameter_cost(self.moments.n) + self.parameter_cost
        options = {"allowed": allowed, "max_indegree": max_indegree, "names": self.names}
        return gaussian_scorer(self.moments, cost, **options)

    def model(self, edges):
        """Return a linear Gaussian network."""
        if self.weights is None:
            return to_linear_gaussian(self.frame.astype(float), self.names, edges)
        return fit_linear_gaussian(self.moments, self.names, edges)

    def resampled(self, weights) -> "GaussianScoring":
        """Return the same score on the weighted rows."""
        weights = weights if self.weights is None else self.weights * weights
        return GaussianScoring(self.score, self.frame, self.structure_prior, weights=np.asarray(weights, dtype=float))

    def __getstate__(self):
        return {**self.__dict__, "score": without_data(self.score)}
