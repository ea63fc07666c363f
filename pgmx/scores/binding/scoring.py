"""What all scores bound to data share: the interface that a search asks, and the structure prior."""

from collections.abc import Hashable
from typing import Any, Protocol

import numpy as np
from pgmpy.structure_score import BaseStructureScore

from pgmx.models import to_dag
from pgmx.scores.gains import FunctionGains, GainSource
from pgmx.scores.priors import StructurePrior


class Scoring(Protocol):
    """A score bound to data, as a search uses it. It can be sent to other processes."""

    names: list[Hashable]
    bonus: tuple[float, float, float]  # what an addition, a deletion and a reversal change in the log prior
    equivalent: bool  # whether Markov equivalent graphs have the same score

    def gains(
        self, *, allowed: np.ndarray | None, max_indegree: int | None, deadline: float, n_jobs: int | None
    ) -> GainSource:
        """Return a new source of gains."""
        ...

    def prior(self, edges: np.ndarray) -> float:
        """Return the log prior of the graph."""
        ...

    def model(self, edges: list) -> Any:
        """Return the network of `edges` with fitted parameters."""
        ...

    def reweight(self, weights: np.ndarray) -> "Scoring":
        """Return the same score on the same rows with these weights, times those they have."""
        ...


class PriorMixin:
    """The structure prior: the one passed, else that of the score itself."""

    names: list[Hashable]
    score: Any

    def _set_prior(self, structure_prior: StructurePrior | None) -> None:
        self.structure_prior = structure_prior
        if structure_prior is not None:
            self.bonus = structure_prior.bonus
            return
        add, delete, flip = (float(self.score.structure_prior_ratio(operation)) for operation in ("+", "-", "flip"))
        self.bonus = add, delete, flip

    @property
    def parameter_cost(self) -> float:
        """What the structure prior takes for a free parameter."""
        return 0.0 if self.structure_prior is None else self.structure_prior.parameter_cost

    def prior(self, edges: np.ndarray) -> float:
        """Return the log prior of the graph, but for the cost of its parameters."""
        if self.structure_prior is not None:
            return self.structure_prior.log_prior(len(edges))
        if type(self.score).structure_prior is BaseStructureScore.structure_prior:
            return 0.0
        return float(self.score.structure_prior(to_dag(self.names, np.asarray(edges).tolist())))


class FunctionMixin(PriorMixin):
    """Gains of a score that is called family by family."""

    def local_score(self, child: int, parents: tuple[int, ...]) -> float:
        """Return the score of a family of ids."""
        raise NotImplementedError

    def gains(
        self, *, allowed: np.ndarray | None, max_indegree: int | None, deadline: float, n_jobs: int | None
    ) -> GainSource:
        """Return a source of gains that scores each family once; `n_jobs` does not apply."""
        return FunctionGains(
            len(self.names),
            self.local_score,
            allowed=allowed,
            max_indegree=max_indegree,
            deadline=deadline,
            names=self.names,
        )
