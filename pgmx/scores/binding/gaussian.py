"""pgmx's scores of linear Gaussian networks bound to a frame of numbers."""

from typing import TYPE_CHECKING, Any

import numpy as np
from pgmpy.models import LinearGaussianBayesianNetwork

from pgmx.models import fit_linear_gaussian, to_linear_gaussian
from pgmx.scores.binding.scoring import PriorMixin, strip_data
from pgmx.scores.bounds import FamilyBounds
from pgmx.scores.gains import GainSource
from pgmx.scores.gaussian.base import GaussianScore
from pgmx.scores.priors import StructurePrior
from pgmx.statistics import Moments, moments

if TYPE_CHECKING:
    import pandas as pd


class GaussianScoring(PriorMixin):
    """One of pgmx's scores of linear Gaussian networks over a frame of numbers, or over moments alone."""

    equivalent = True

    def __init__(
        self,
        score: GaussianScore,
        frame: "pd.DataFrame | None",
        structure_prior: StructurePrior | None = None,
        *,
        weights: np.ndarray | None = None,
        sample_moments: Moments | None = None,
    ):
        self.score = score
        self.frame = frame
        self.weights = weights
        if sample_moments is None:
            assert frame is not None
            sample_moments = moments(frame, weights)
        self.names = list(score.variables if frame is None else frame.columns)
        self.moments = sample_moments
        score.check_moments(self.moments, self.names)
        self._set_prior(structure_prior)

    @property
    def bounds(self) -> FamilyBounds:
        """What the score proves of families that are not scored yet."""
        return self.score.bounds(self.moments.n, self.parameter_cost)

    def gains(
        self, *, allowed: np.ndarray | None, max_indegree: int | None, deadline: float, n_jobs: int | None
    ) -> GainSource:
        """Return the compiled scorer; `n_jobs` does not apply."""
        return self.score.make_scorer(
            self.moments, self.parameter_cost, allowed=allowed, max_indegree=max_indegree, names=self.names
        )

    def model(self, edges: list, **prior: float | None) -> LinearGaussianBayesianNetwork:
        """Return a linear Gaussian network; `prior` is of discrete ones."""
        if self.frame is not None and self.weights is None:
            return to_linear_gaussian(self.frame.astype(float), self.names, edges)
        return fit_linear_gaussian(self.moments, self.names, edges)

    def reweight(self, weights: np.ndarray) -> "GaussianScoring":
        """Return the same score on the weighted rows."""
        weights = weights if self.weights is None else self.weights * weights
        return GaussianScoring(self.score, self.frame, self.structure_prior, weights=np.asarray(weights, dtype=float))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "score": strip_data(self.score)}
