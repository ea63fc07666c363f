"""Resamples of the rows of a dynamic Bayesian network: the same score with other weights of the rows."""

from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from pgmx.data.series import LaggedSeries
from pgmx.estimators.time_series.dynamic.search import DynamicBayesianNetworkSearch
from pgmx.runs.progress import SearchProgress
from pgmx.runs.run import Run
from pgmx.scores.binding.scoring import Scoring
from pgmx.search.knowledge import EdgeConstraints


@dataclass(frozen=True, eq=False)
class DynamicResampler:
    """The common input of all resamples: a fitted learner without its results, its score and its knowledge."""

    learner: DynamicBayesianNetworkSearch
    scoring: Scoring
    constraints: EdgeConstraints
    names: tuple

    @classmethod
    def from_fitted(cls, fitted: DynamicBayesianNetworkSearch, learner: DynamicBayesianNetworkSearch) -> Self:
        """Return the resampler of a fitted learner; `learner` has its options."""
        learner.nodes_, learner._n_series = fitted.nodes_, fitted._n_series
        scoring = fitted._scoring.get()
        return cls(learner, scoring, fitted._constraints, tuple(fitted.variables_))

    def solve(self, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the edges [lag, target, source] of the rows with these counts, bool, and their strengths."""
        learner = copy(self.learner)  # threads share it
        run = Run(SearchProgress, max_time=learner.max_time)
        with run.limit_runs():
            edges = learner._search_for(self.scoring.reweight(counts), self.constraints, run, resumable=False)
        run.raise_error()
        learner.edges_, learner._names, learner._kind = edges, self.scoring.names, learner.return_type.lower()
        learner._compelled = self.constraints.forces_direction([(tail, head) for tail, head in edges.tolist()])
        learner._results = {}
        graph = learner._make_graph()
        place = {name: v for v, name in enumerate(self.names)}
        strengths = np.zeros((learner.lags + 1, len(place), len(place)))
        found = np.zeros(strengths.shape, dtype=bool)
        entries: Any = graph.edges(data="strength")
        for (source, lag), (target, _), strength in entries:
            found[lag, place[target], place[source]] = True
            strengths[lag, place[target], place[source]] = strength
        return found, strengths


def measure_blocks(series: LaggedSeries, length: int) -> np.ndarray:
    """Return the sizes of blocks of at most `length` consecutive targets, which no gap or border of series divides."""
    rows = series.targets
    is_first = np.append(True, (np.diff(rows) != 1) | (np.diff(series.group_of[rows]) != 0))
    runs = np.diff(np.append(np.flatnonzero(is_first), len(rows)))
    sizes = [min(length, int(size) - begin) for size in runs for begin in range(0, int(size), length)]
    return np.array(sizes)
