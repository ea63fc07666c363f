"""pgmx's scores of linear Gaussian networks bound to continuous data."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from pgmpy.models import LinearGaussianBayesianNetwork

from pgmx.data import DistributedNumericTable
from pgmx.models import fit_linear_gaussian, to_linear_gaussian
from pgmx.scores.binding.scoring import PriorMixin, strip_data
from pgmx.scores.bounds import FamilyBounds
from pgmx.scores.gains import GainSource
from pgmx.scores.gaussian.base import GaussianScore, compute_moments, list_names
from pgmx.scores.priors import StructurePrior
from pgmx.statistics import Moments
from pgmx.statistics.collinearity import Collinearity

if TYPE_CHECKING:
    import pandas as pd


class GaussianScoring(PriorMixin):
    """One of pgmx's scores of linear Gaussian networks over rows, or over moments only."""

    equivalent = True

    def __init__(
        self,
        score: GaussianScore,
        rows: "pd.DataFrame | DistributedNumericTable | None",
        structure_prior: StructurePrior | None = None,
        *,
        weights: np.ndarray | None = None,
        sample_moments: Moments | None = None,
    ):
        self.score = score
        self.rows = rows
        self.weights = weights
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
        if self.weights is None and self.rows is not None and not isinstance(self.rows, DistributedNumericTable):
            return to_linear_gaussian(self.rows.astype(float), self.names, edges)
        return fit_linear_gaussian(self.moments, self.names, edges)

    def reweight(self, weights: np.ndarray) -> "GaussianScoring":
        """Return the same score on the weighted rows."""
        weights = weights if self.weights is None else self.weights * weights
        return GaussianScoring(self.score, self.rows, self.structure_prior, weights=np.asarray(weights, dtype=float))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "score": strip_data(self.score)}
