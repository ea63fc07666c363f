"""Structural expectation maximisation: a search over graphs on the expected counts of the best graph so far.

Friedman (1997), Learning belief networks in the presence of missing values and hidden variables, ICML. Rows with
missing cells are replaced by weighted complete rows from their exact distribution (`pgmx.inference.exact.completions`),
a search takes the best graph on these, and its parameters are fitted by exact expected counts. A graph is taken only
where the penalised likelihood of the observed cells is higher, so that it never falls.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pgmx.data import DiscreteTable
from pgmx.models.bayesian.incomplete_rows import ExpectedFit
from pgmx.runs.run import Run
from pgmx.scores.binding.incomplete import IncompleteScoring
from pgmx.scores.binding.scoring import Scoring

#: Steps of the parameters for each new graph, before the rows are completed again.
STEPS_PER_GRAPH = 5
#: Most graphs of one learner.
MOST_ITERATIONS = 50

#: Searches from the learner's first graph, or from some arcs; returns arcs.
Search = Callable[[Scoring, np.ndarray | None], np.ndarray]


class Candidate(NamedTuple):
    """A graph with its parameters, the rows completed by them, and its score."""

    fit: ExpectedFit
    table: DiscreteTable
    weights: np.ndarray
    score: float


class StructuralEM:
    """Structural EM of one table; `run` records a row for each graph that was tried.

    A graph that gains less than `least_gain` nats ends it.
    """

    def __init__(self, scoring: IncompleteScoring, search: Search, run: Run, *, seed: int, least_gain: float):
        self.scoring, self.search, self.run = scoring, search, run
        self.seed, self.least_gain = seed, least_gain
        self.n_iter = 0

    def learn(self) -> Candidate:
        """Return the best graph, its parameters at a maximum of the likelihood."""
        rows = self.scoring.rows
        first = self.search(self.scoring.available, None)
        best = self._judge(rows.fit(first, max_steps=STEPS_PER_GRAPH, deadline=self.run.deadline))
        self._record(best)
        while not self.run.is_over():
            if self.n_iter == MOST_ITERATIONS:
                self.run.end("max_iter")
                break
            self.n_iter += 1
            better = self._improve(best)
            if better is None:
                self.run.conclude(not self.run.is_over())
                break
            best = better
            self._record(best)
        fit = rows.go_on(best.fit, deadline=self.run.deadline)
        best = best._replace(fit=fit, score=best.score + fit.log_likelihood - best.fit.log_likelihood)
        self.run.add_row(score=best.score, n_edges=len(fit.edges))
        return best

    def _record(self, best: Candidate) -> None:
        self.run.record(n_iter=self.n_iter, score=best.score, n_edges=len(best.fit.edges))

    def _improve(self, best: Candidate) -> Candidate | None:
        """Return a better graph; None where neither the search nor one from the best graph finds any."""
        bound = self.scoring.bind(best.table, best.weights)
        for start in (None, best.fit.edges):
            edges = self.search(bound, start)
            if self.run.is_stopped_by_user():
                return None
            if same_edges(edges, best.fit.edges):
                continue
            counts = self.scoring.rows.count(edges, best.table, best.weights)
            fit = self.scoring.rows.fit(edges, counts, max_steps=STEPS_PER_GRAPH, deadline=self.run.deadline)
            candidate = self._judge(fit)
            if candidate.score > best.score + self.least_gain:
                return candidate
        return None

    def _judge(self, fit: ExpectedFit) -> Candidate:
        table, weights = self.scoring.rows.complete(fit, self.seed)
        return Candidate(fit, table, weights, self.scoring.score_fit(fit, table, weights))


def same_edges(edges: np.ndarray, others: np.ndarray) -> bool:
    """Return whether two arrays hold the same arcs."""
    return set(map(tuple, edges.tolist())) == set(map(tuple, others.tolist()))
