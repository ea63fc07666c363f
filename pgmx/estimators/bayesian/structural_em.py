"""Structural expectation maximisation: graph search on the expected statistics of the current best graph.

Friedman (1997), Learning belief networks in the presence of missing values and hidden variables, ICML. One iteration:

1. E-step: rows with missing values are completed by their distribution under the current graph and parameters. The
   result is weighted complete rows, or expected moments if all columns are continuous.
2. A search finds the best graph on the completed rows.
3. A few steps of `pgmx.models.bayesian.em` fit the parameters of this graph by exact expected statistics.
4. The graph is accepted only if the score, the penalised log-likelihood of the observed values, increases.

So the score never falls. A run from one start ends if no graph gains more than `least_gain`, the option `epsilon` of
the learner. The tolerance of the parameters is `pgmx.models.bayesian.em.TOLERANCE`. All three kinds of rows share this
loop; `IncompleteScoring` binds the score to each kind.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pgmx.graphs.cycles import find_cycle
from pgmx.models.bayesian.em import EMFit
from pgmx.runs.checkpoint import Snapshot
from pgmx.runs.run import Run
from pgmx.scores.binding.incomplete import IncompleteScoring
from pgmx.scores.binding.scoring import Scoring
from pgmx.scores.mixed.source import UnscorableFamilyError
from pgmx.search.knowledge import EdgeConstraints

#: EM steps of the parameters for each new graph, before the rows are completed again. The first steps gain most, and
#: the parameters of a graph that is not the last need not converge.
STEPS_PER_GRAPH = 5
#: Largest number of graphs from one start. A bound for data on which the score keeps increasing by little.
MAX_ITERATIONS = 50

#: Search from the learner's start graph, or from given edges; returns edges and the number of moves.
Search = Callable[[Scoring, np.ndarray | None], tuple[np.ndarray, int]]

#: Function of the edges of a snapshot and their name there. It raises an error if the search cannot reach this graph.
CheckGraph = Callable[[Snapshot, np.ndarray, str], None]


class Candidate(NamedTuple):
    """A graph with its parameters, the rows completed by them (their type depends on the data), and its score."""

    fit: EMFit
    completed: Any
    score: float


class StructuralEM:
    """Structural EM of one table; `run` records a row for each graph that is better than all previous graphs.

    The first start is the graph that the search finds by the score of the observed values. Restart r starts from the
    graph that the search finds after each missing value is drawn from its column, by the seed (`seed`, r). A run with a
    checkpoint can be resumed from each accepted graph.
    """

    def __init__(
        self,
        scoring: IncompleteScoring,
        search: Search,
        run: Run,
        check_graph: CheckGraph,
        *,
        seed: int,
        least_gain: float,
        n_restarts: int = 0,
    ):
        self.scoring, self.search, self.run, self.check_graph = scoring, search, run, check_graph
        self.seed, self.least_gain, self.n_restarts = seed, least_gain, n_restarts
        self.n_iter = self.n_moves = 0
        self._best_score = -np.inf
        self._last_snapshot: tuple[dict[str, Any], int] | None = None  # the state, and the rows of the history

    def learn(self) -> Candidate:
        """Return the best graph with maximum likelihood parameters."""
        restart, current, best = self._restore()  # the first start is number 0
        if self.n_restarts:
            self.run.count_steps(1 + self.n_restarts, "starts", restart)
        while True:
            if current is None:
                fit = self._start(restart)
                current = None if fit is None else self._accept(self._evaluate(fit), restart, best)
            if current is not None:
                current = self._improve_until_converged(current, restart, best)
                best = current if best is None or current.score > best.score else best
            restart, current = restart + 1, None
            self.run.advance_to(restart)
            if restart > self.n_restarts or self.run.is_over():
                break
        assert best is not None  # the first start always has a fit
        if self.run.is_over() and self._last_snapshot is not None:
            snapshot, n_rows = self._last_snapshot
            self.run.save(snapshot, n_rows=n_rows)
        self.run.conclude(not self.run.is_over())
        fit = self.scoring.rows.resume(best.fit, deadline=self.run.deadline)
        # keeps the penalty, which Bayesian scores compute from the completed rows
        best = best._replace(fit=fit, score=best.score + fit.log_likelihood - best.fit.log_likelihood)
        self.run.add_row(score=best.score, n_edges=len(fit.edges))
        return best

    # ---- one start ----

    def _start(self, restart: int) -> EMFit | None:
        """Return the first fit of a start; None if the search cannot score the drawn rows of a restart."""
        if restart == 0:
            return self._fit(self._count_moves(self.scoring.available, None))
        seed = int(np.random.default_rng([self.seed, restart - 1]).integers(2**31))
        completed = self.scoring.rows.complete_at_random(seed)
        edges = self._search(completed, None)
        return None if edges is None else self._fit(edges, self.scoring.rows.count(edges, completed))

    def _improve_until_converged(self, current: Candidate, restart: int, best: Candidate | None) -> Candidate:
        for _ in range(MAX_ITERATIONS):
            if self.run.is_over():
                break
            self.n_iter += 1
            better = self._improve(current)
            if better is None:
                break
            current = self._accept(better, restart, best)
        return current

    def _improve(self, current: Candidate) -> Candidate | None:
        """Return a better graph; None if no search on the completed rows finds one.

        The second search starts from the current graph: the first one may end in a worse local optimum.
        """
        for start in (None, current.fit.edges):
            edges = self._search(current.completed, start)
            if self.run.is_over():
                return None  # the search may have ended early
            if edges is None or same_edges(edges, current.fit.edges):
                continue
            candidate = self._evaluate(self._fit(edges, self.scoring.rows.count(edges, current.completed)))
            if candidate.score > current.score + self.least_gain:
                return candidate
        return None

    def _search(self, completed: Any, start: np.ndarray | None) -> np.ndarray | None:
        """Return the best graph on completed rows; None if `start` or the required edges cannot be scored."""
        try:
            return self._count_moves(self.scoring.bind_completed(completed), start)
        except UnscorableFamilyError:  # a rare configuration of discrete parents has too few draws for a regression
            return None

    def _count_moves(self, scoring: Scoring, start: np.ndarray | None) -> np.ndarray:
        edges, n_moves = self.search(scoring, start)
        self.n_moves += n_moves
        return edges

    def _fit(self, edges: np.ndarray, statistics: Any = None) -> EMFit:
        return self.scoring.rows.fit(edges, statistics, max_steps=STEPS_PER_GRAPH, deadline=self.run.deadline)

    def _evaluate(self, fit: EMFit) -> Candidate:
        # one seed for all graphs: different draws would add noise to the comparison
        completed = self.scoring.rows.complete(fit, self.seed)
        return Candidate(fit, completed, self.scoring.score_fit(fit, completed))

    # ---- history and checkpoint ----

    def _accept(self, candidate: Candidate, restart: int, best: Candidate | None) -> Candidate:
        """Record a graph and the state to resume from. A search that a limit ended early is not resumed."""
        is_whole = not self.run.is_over()  # asked first, because the callback may end the run
        if candidate.score > self._best_score:
            self._best_score = candidate.score
            self.run.record(n_iter=self.n_iter, score=candidate.score, n_edges=len(candidate.fit.edges))
        if is_whole and self.run.checkpoint is not None:
            snapshot = {"restart": restart, "n_iter": self.n_iter, "n_moves": self.n_moves}
            snapshot |= self._describe(candidate, "")
            if best is not None:
                snapshot |= self._describe(best, "best_")
            self._last_snapshot = snapshot, self.run.n_rows
            if self.run.is_snapshot_due():
                self.run.save(snapshot)
        return candidate

    def _describe(self, candidate: Candidate, prefix: str) -> dict[str, Any]:
        statistics = self.scoring.rows.describe(candidate.fit)
        return {f"{prefix}edges": candidate.fit.edges} | {
            f"{prefix}parameters_{name}": value for name, value in statistics.items()
        }

    def _restore(self) -> tuple[int, Candidate | None, Candidate | None]:
        """Return the number of the restart, its graph, and the best graph of earlier starts, from the checkpoint."""
        snapshot = self.run.restore()
        if snapshot is None:
            return 0, None, None
        best = snapshot.take_part("best_")
        restart = snapshot.integer("restart", 0, self.n_restarts)
        self.n_iter, self.n_moves = snapshot.integer("n_iter", 0), snapshot.integer("n_moves", 0)
        current = self._read(snapshot, ("restart", "n_iter", "n_moves"))
        snapshot.check(bool(best) == (restart > 0), "no best graph of the earlier starts")
        best_graph = self._read(best, ()) if best else None
        self._best_score = max(current.score, -np.inf if best_graph is None else best_graph.score)
        return restart, current, best_graph

    def _read(self, snapshot: Snapshot, others: tuple[str, ...]) -> Candidate:
        """Return a candidate from its edges and statistics; `others` names the other values of the snapshot."""
        parameters = snapshot.take_part("parameters_")
        snapshot.check_names(("edges", *others))
        edges = snapshot.pairs("edges", len(self.scoring.names))
        self.check_graph(snapshot, edges, "edges")
        statistics = self.scoring.rows.read_statistics(parameters, edges)
        candidate = self._evaluate(self.scoring.rows.fit(edges, statistics, max_steps=0))
        snapshot.check(np.isfinite(candidate.score), "parameters under which the rows are impossible")
        return candidate


def same_edges(edges: np.ndarray, others: np.ndarray) -> bool:
    """Return whether two arrays hold the same edges."""
    return set(map(tuple, edges.tolist())) == set(map(tuple, others.tolist()))


def check_graph(
    snapshot: Snapshot, edges: np.ndarray, name: str, constraints: EdgeConstraints, most_parents: np.ndarray
) -> None:
    """Raise an error unless a search can reach the graph of a snapshot."""
    arcs = [(int(tail), int(head)) for tail, head in edges.tolist()]
    snapshot.check(all(constraints.allows(*arc) for arc in arcs), f"an arc in {name!r} that is not allowed")
    crowded = np.bincount(edges[:, 1], minlength=len(most_parents)) > most_parents
    snapshot.check(not crowded.any(), f"more parents in {name!r} than max_indegree allows")
    required = set(map(tuple, constraints.required.tolist()))
    snapshot.check(required <= set(arcs), f"no arc in {name!r} that is required")
    snapshot.check(find_cycle(len(most_parents), arcs) is None, f"a cycle in {name!r}")
