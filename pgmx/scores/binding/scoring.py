"""What all scores bound to data share: the structure prior, row weights, and how they travel."""

from copy import copy
from typing import Any, Protocol

import numpy as np
from pgmpy.structure_score import BaseStructureScore

from pgmx.data import DiscreteTable
from pgmx.models import to_dag
from pgmx.scores.gains import FunctionGains
from pgmx.scores.priors import StructurePrior

#: Rows are repeated where integer weights add up to at most so many times their number, else weighted one by one.
MOST_REPETITIONS = 4


class Scoring(Protocol):
    """A score bound to data, as a search uses it. It can be sent to other processes."""

    names: list
    bonus: tuple[float, float, float]
    equivalent: bool

    def gains(self, *, allowed, max_indegree, deadline, n_jobs):
        """Return the source of gains."""

    def prior(self, edges: np.ndarray) -> float:
        """Return the log prior of the graph."""

    def model(self, edges):
        """Return the network of `edges` with fitted parameters."""

    def resampled(self, weights: np.ndarray) -> "Scoring":
        """Return the same score on the same rows with these weights, times those they have."""


class WithPrior:
    """The structure prior: the one given, else that of the score itself."""

    names: list
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

    def prior(self, edges) -> float:
        """Return the log prior of the graph, but for what its parameters cost."""
        if self.structure_prior is not None:
            return self.structure_prior.log_prior(len(edges))
        if type(self.score).structure_prior is BaseStructureScore.structure_prior:
            return 0.0
        return float(self.score.structure_prior(to_dag(self.names, np.asarray(edges).tolist())))


def weighted_rows(table: DiscreteTable, old: np.ndarray | None, new) -> tuple[DiscreteTable, np.ndarray | None]:
    """Return a table and the weights of its rows, None where they could be repeated."""
    weights = np.asarray(new) if old is None else old * np.asarray(new)
    whole = as_repetitions(weights)
    if whole is not None and whole.sum() <= MOST_REPETITIONS * len(whole):
        return (table if (whole == 1).all() else table.repeat_rows(whole)), None
    return table, np.ascontiguousarray(weights, dtype=np.float64)


def as_repetitions(weights) -> np.ndarray | None:
    """Return weights as integers, None where they are not whole."""
    weights = np.asarray(weights)
    if weights.dtype.kind == "f" and not ((weights == np.floor(weights)) & (weights < 2**53)).all():
        return None
    return weights.astype(np.int64)


def function_gains(scoring, allowed, max_indegree, deadline) -> FunctionGains:
    """Return the gains of a score that is called family by family."""
    return FunctionGains(
        len(scoring.names),
        scoring.local_score,
        allowed=allowed,
        max_indegree=max_indegree,
        deadline=deadline,
        names=scoring.names,
    )


def without_data(score):
    """Return a copy of one of pgmx's scores that knows its options but not its data."""
    bare = copy(score)
    for name in ("data", "table", "moments"):
        if hasattr(bare, name):
            setattr(bare, name, None)
    bare._known = {}
    return bare
