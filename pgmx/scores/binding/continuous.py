"""pgmx's scores of continuous and of mixed data, bound to rows, moments or a mixed table."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pgmx.data import NumericTable
from pgmx.data.mixed import MixedTable
from pgmx.data.weights import combine_weights
from pgmx.models import fit_discrete, fit_linear_gaussian, to_linear_gaussian
from pgmx.models.bayesian.linear_gaussian_network import LinearGaussianBayesianNetwork
from pgmx.scores.binding.scoring import PriorMixin, make_mixed_model, strip_data
from pgmx.scores.chance_edges import EdgePrice
from pgmx.scores.gains import FamilyBounds, GainSource
from pgmx.scores.gaussian.base import GaussianScore, compute_moments, list_names
from pgmx.scores.mixed.base import MixedScore, RowSummary
from pgmx.scores.priors import StructurePrior
from pgmx.statistics import Moments, moments
from pgmx.statistics.collinearity import Collinearity
from pgmx.statistics.moments import SetSums

if TYPE_CHECKING:
    import pandas as pd


class GaussianScoring(PriorMixin):
    """One of pgmx's scores of linear Gaussian networks over rows, or over moments only."""

    equivalent = True

    def __init__(
        self,
        score: GaussianScore,
        rows: "pd.DataFrame | NumericTable | None",
        structure_prior: StructurePrior | None = None,
        *,
        weights: np.ndarray | None = None,
        sample_moments: Moments | None = None,
        set_sums: SetSums | None = None,
    ):
        self.score = score
        self.rows = rows
        self.weights = weights
        #: Sums over the sets of rows in which the same variables were set, if they were computed with the moments.
        self.set_sums = set_sums
        if sample_moments is None:
            assert rows is not None
            sample_moments = compute_moments(rows, weights)
        self.names = list(score.variables) if rows is None else list_names(rows)
        self.moments = sample_moments
        score.check_moments(self.moments, self.names)
        self._set_prior(structure_prior)

    @property
    def bounds(self) -> FamilyBounds:
        """Bounds of families that are not scored yet."""
        return self.score.bounds(self.moments.n, self.parameter_cost)

    def _price_parameters(self) -> EdgePrice | None:
        """Return what the parameters of an edge cost; None for BGe and for the likelihood."""
        cost = self.score.parameter_cost(self.moments.n)
        widths = np.ones(len(self.names))
        return EdgePrice(cost + self.parameter_cost, widths, self.moments.n) if cost else None

    def gains(
        self, *, allowed: np.ndarray | None, max_indegree: int | None, deadline: float, n_jobs: int | None
    ) -> GainSource:
        """Return the compiled scorer; `n_jobs` does not apply."""
        return self.score.make_scorer(
            self.moments,
            self.parameter_cost,
            collinearity=self.collinearity,
            allowed=allowed,
            max_indegree=max_indegree,
            names=self.names,
        )

    @cached_property
    def collinearity(self) -> Collinearity | None:
        """Three or more columns that determine each other."""
        return self.score.find_collinearity(self.moments)

    def warn_of_collinearity(self) -> None:
        """Warn of columns that determine each other."""
        self.score.warn_of_collinearity(self.moments, self.collinearity)

    def model(self, edges: list, **prior: float | None) -> LinearGaussianBayesianNetwork:
        """Return a linear Gaussian network; `prior` applies to discrete networks only."""
        if self.weights is None and self.rows is not None and not isinstance(self.rows, NumericTable):
            return to_linear_gaussian(self.rows.astype(float), self.names, edges)
        return fit_linear_gaussian(self.moments, self.names, edges)

    def reweight(self, weights: np.ndarray) -> "GaussianScoring":
        """Return the same score on the weighted rows."""
        weights = weights if self.weights is None else self.weights * weights
        return GaussianScoring(self.score, self.rows, self.structure_prior, weights=np.asarray(weights, dtype=float))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "score": strip_data(self.score)}


class MixedScoring(PriorMixin):
    """One of pgmx's scores over a mixed table."""

    def __init__(
        self,
        score: MixedScore,
        mixed: MixedTable,
        structure_prior: StructurePrior | None = None,
        *,
        weights: np.ndarray | None = None,
    ):
        mixed.refuse_constant(weights)
        self.score = score
        self.mixed = mixed
        self.weights = weights
        self.names = list(mixed.columns)
        self.equivalent: bool = score.equivalent
        self._set_prior(structure_prior)

    def _price_parameters(self) -> EdgePrice | None:
        """Return what the parameters of an edge cost; None if the score has no fixed price."""
        price = self.score.edge_price(self.mixed, self.summary, self.weights)
        return price and price._replace(cost=price.cost + self.parameter_cost)

    @property
    def arc_mask(self) -> np.ndarray | None:
        """The allowed arcs, ``allowed[child, parent]``: none from continuous to discrete variables; None allows all."""
        is_continuous = self.mixed.is_continuous
        if self.score.scores_discrete_children or is_continuous.all() or not is_continuous.any():
            return None
        return (is_continuous[:, None] | ~is_continuous[None, :]).astype(np.uint8)

    def gains(
        self, *, allowed: np.ndarray | None, max_indegree: int | None, deadline: float, n_jobs: int | None
    ) -> GainSource:
        """Return the source of gains of the score."""
        return self.score.make_source(
            self.mixed,
            self.weights,
            self.parameter_cost,
            summary=self.summary,
            allowed=allowed,
            max_indegree=max_indegree,
            deadline=deadline,
            n_jobs=n_jobs,
        )

    @cached_property
    def summary(self) -> RowSummary:
        """The summary of all rows that the score needs."""
        return self.score.summarise(self.mixed, self.weights)

    def warn_of_collinearity(self) -> None:
        """Warn of three or more columns that determine each other."""
        self.summary.warn_of_collinearity()

    def model(self, edges: list, **prior: float | None) -> Any:
        """Return a conditional Gaussian, discrete or linear Gaussian network; `prior` is for discrete variables."""
        if not self.mixed.is_continuous.any() and self.mixed.table is not None:
            table, weights = self.mixed.table, self.weights
            if weights is not None:
                table, weights = combine_weights(table, None, weights)
            return fit_discrete(table, edges, weights, **prior)
        if self.mixed.table is None:
            return fit_linear_gaussian(moments(self.mixed.numbers.T, self.weights), self.names, edges)
        unbiased = getattr(self.score, "variance", "likelihood") == "unbiased"
        return make_mixed_model(self.mixed, edges, prior, self.weights, unbiased=unbiased)

    def reweight(self, weights: np.ndarray) -> "MixedScoring":
        """Return the same score on the weighted rows."""
        weights = np.asarray(weights, dtype=float) if self.weights is None else self.weights * weights
        return MixedScoring(self.score, self.mixed, self.structure_prior, weights=weights)

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name != "summary"}  # computed again
        return {**state, "score": strip_data(self.score)}
