"""Resamples of the rows of a dynamic Bayesian network: the same score with other weights of the rows."""

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from pgmx.data.draws import count_draws
from pgmx.data.series import LaggedSeries
from pgmx.estimators.time_series.blocks import BlockLearner, BlockProblem, BlockResampler, cut_blocks
from pgmx.estimators.time_series.learner import clone_silent
from pgmx.models import TimeSeriesGraph
from pgmx.parallel.tasks import SharedArrays
from pgmx.runs.progress import SearchProgress
from pgmx.runs.run import Run
from pgmx.scores.binding.scoring import Scoring
from pgmx.search.knowledge import EdgeConstraints


@dataclass(frozen=True, eq=False)
class DynamicResampler(BlockResampler):
    """The common input of all resamples: a fitted learner without its results, its score and its knowledge."""

    learner: Any
    scoring: Scoring
    constraints: EdgeConstraints
    names: tuple

    @classmethod
    def from_fitted(cls, fitted: Any) -> Self:
        """Return the resampler of a fitted learner."""
        learner = clone_silent(fitted).set_params(n_jobs=None, checkpoint=None)
        learner.nodes_, learner._n_series = fitted.nodes_, fitted._n_series
        scoring = fitted._scoring.get()
        return cls(learner, scoring, fitted._constraints, tuple(fitted.variables_))

    def solve_all(self, arrays: SharedArrays, seed: int, numbers: range) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the edges of each resample, and their strengths."""
        for number in numbers:
            yield self.solve(np.repeat(count_draws(seed, number, len(arrays.sizes)), arrays.sizes))

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
    return cut_blocks(runs.tolist(), length)


class ResampledNetwork(BlockLearner):
    """Mixin: resamples of the search for dynamic Bayesian networks, which count rows several times or not at all."""

    def _open_blocks(self: Any, X: Any) -> LaggedSeries:
        return self._open(X)

    def _divide_blocks(self: Any, opened: LaggedSeries, choose_length: Callable[[int], int]) -> BlockProblem:
        self._set_names(opened.names)
        sizes = measure_blocks(opened, choose_length(len(opened.targets)))
        n = len(opened.names)
        return BlockProblem(DynamicResampler.from_fitted(self), SharedArrays(sizes=sizes), np.ones((n, n)))

    def _graph_resamples(self: Any, means: np.ndarray, confidence: np.ndarray) -> TimeSeriesGraph:
        names, graph = self.variables_, TimeSeriesGraph()
        graph.add_nodes_from(self.nodes_)
        for lag, target, source in np.argwhere(confidence).tolist():
            # a pair of a row that is probable both ways is undirected
            mark = {"undirected": True} if lag == 0 and confidence[0, source, target] else {}
            entry = lag, target, source
            numbers = {"strength": float(means[entry]), "confidence": float(confidence[entry])}
            graph.add_edge((names[source], lag), (names[target], 0), **numbers, **mark)
        return graph
