"""Structural expectation maximisation: a search over graphs on the expected counts of the best graph so far.

Friedman (1997), Learning belief networks in the presence of missing values and hidden variables, ICML. Rows with
missing cells are completed by their exact distribution: by weighted complete rows, or by expected moments where all
columns are floats. A search takes the best graph on these, and its parameters are fitted by exact expected counts. A
graph is taken only where the penalised likelihood of the observed cells is higher, so that it never falls.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pgmx.runs.run import Run
from pgmx.scores.binding.incomplete import IncompleteScoring
from pgmx.scores.binding.scoring import Scoring
from pgmx.scores.mixed.source import UnscorableFamilyError

#: Steps of the parameters for each new graph, before the rows are completed again.
STEPS_PER_GRAPH = 5
#: Most graphs from one start.
MOST_ITERATIONS = 50

#: Searches from the learner's first graph, or from some arcs; returns arcs.
Search = Callable[[Scoring, np.ndarray | None], np.ndarray]


class Candidate(NamedTuple):
    """A graph with its parameters, the rows completed by them, and its score.

    The types of the first two are those of `scoring.rows`.
    """

    fit: Any
    completed: Any
    score: float


class StructuralEM:
    """Structural EM of one table; `run` records a row for each graph that is better than those before.

    A graph that gains less than `least_gain` nats ends a climb. Restart r begins at the graph that the search finds
    where each missing cell is drawn from its column, by the seed (`seed`, r).
    """

    def __init__(
        self,
        scoring: IncompleteScoring,
        search: Search,
        run: Run,
        *,
        seed: int,
        least_gain: float,
        n_restarts: int = 0,
    ):
        self.scoring, self.search, self.run = scoring, search, run
        self.seed, self.least_gain, self.n_restarts = seed, least_gain, n_restarts
        self.n_iter = 0
        self._best_score = -np.inf

    def learn(self) -> Candidate:
        """Return the best graph, its parameters at a maximum of the likelihood."""
        best = self._climb(self._fit(self.search(self.scoring.available, None)))
        for restart in range(self.n_restarts):
            if self.run.is_over():
                break
            first = self._start_at_random(restart)
            other = best if first is None else self._climb(first)
            best = other if other.score > best.score else best
        self.run.conclude(not self.run.is_over())
        fit = self.scoring.rows.go_on(best.fit, deadline=self.run.deadline)
        best = best._replace(fit=fit, score=best.score + fit.log_likelihood - best.fit.log_likelihood)
        self.run.add_row(score=best.score, n_edges=len(fit.edges))
        return best

    def _climb(self, fit: Any) -> Candidate:
        """Go from graph to graph as long as one is better."""
        best = self._judge(fit)
        self._record(best)
        for _ in range(MOST_ITERATIONS):
            if self.run.is_over():
                break
            self.n_iter += 1
            better = self._improve(best)
            if better is None:
                break
            best = better
            self._record(best)
        return best

    def _record(self, candidate: Candidate) -> None:
        if candidate.score > self._best_score:
            self._best_score = candidate.score
            self.run.record(n_iter=self.n_iter, score=candidate.score, n_edges=len(candidate.fit.edges))

    def _search(self, completed: Any, start: np.ndarray | None) -> np.ndarray | None:
        """Return the best graph on completed rows; None where `start`, or what is required, cannot be scored there."""
        try:
            return self.search(self.scoring.bind_completed(completed), start)
        except UnscorableFamilyError:  # a rare configuration of states has too few draws for a regression
            return None

    def _start_at_random(self, restart: int) -> Any:
        seed = int(np.random.default_rng([self.seed, restart]).integers(2**31))
        completed = self.scoring.rows.complete_at_random(seed)
        edges = self._search(completed, None)
        return None if edges is None else self._fit(edges, self.scoring.rows.count(edges, completed))

    def _fit(self, edges: np.ndarray, counts: Any = None) -> Any:
        return self.scoring.rows.fit(edges, counts, max_steps=STEPS_PER_GRAPH, deadline=self.run.deadline)

    def _improve(self, best: Candidate) -> Candidate | None:
        """Return a better graph; None where neither the search nor one from the best graph finds any."""
        for start in (None, best.fit.edges):
            edges = self._search(best.completed, start)
            if self.run.is_stopped_by_user():
                return None
            if edges is None or same_edges(edges, best.fit.edges):
                continue
            candidate = self._judge(self._fit(edges, self.scoring.rows.count(edges, best.completed)))
            if candidate.score > best.score + self.least_gain:
                return candidate
        return None

    def _judge(self, fit: Any) -> Candidate:
        completed = self.scoring.rows.complete(fit, self.seed)
        return Candidate(fit, completed, self.scoring.score_fit(fit, completed))


def same_edges(edges: np.ndarray, others: np.ndarray) -> bool:
    """Return whether two arrays hold the same arcs."""
    return set(map(tuple, edges.tolist())) == set(map(tuple, others.tolist()))
