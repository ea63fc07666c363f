"""Structural expectation maximisation: graph search on the expected counts of the current best graph.

Friedman (1997), Learning belief networks in the presence of missing values and hidden variables, ICML. Rows with
missing values are completed by their exact distribution: by weighted complete rows, or by expected moments if all
columns are continuous. A search finds the best graph on these, and its parameters are fitted with exact expected
counts. A graph is accepted only if the penalised likelihood of the observed values increases.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pgmx.graphs.cycles import find_cycle
from pgmx.runs.checkpoint import Snapshot
from pgmx.runs.run import Run
from pgmx.scores.binding.incomplete import IncompleteScoring
from pgmx.scores.binding.scoring import Scoring
from pgmx.scores.mixed.source import UnscorableFamilyError
from pgmx.search.knowledge import EdgeConstraints

#: EM steps of the parameters for each new graph, before the rows are completed again.
STEPS_PER_GRAPH = 5
#: Largest number of graphs from one start.
MOST_ITERATIONS = 50

#: Search from the learner's start graph, or from given edges; returns edges and the number of moves.
Search = Callable[[Scoring, np.ndarray | None], tuple[np.ndarray, int]]

#: Function of the edges of a snapshot and their name there. It raises an error if the search cannot reach this graph.
CheckGraph = Callable[[Snapshot, np.ndarray, str], None]


class Candidate(NamedTuple):
    """A graph with its parameters, the rows completed by them, and its score.

    The types of the first two depend on `scoring.rows`.
    """

    fit: Any
    completed: Any
    score: float


class StructuralEM:
    """Structural EM of one table; `run` records a row for each graph that is better than all previous graphs.

    A climb ends if a graph gains less than `least_gain` nats. Restart r starts from the graph that the search finds
    after each missing value is drawn from its column, by the seed (`seed`, r). A run with a checkpoint can be resumed
    from each graph that a climb accepted.
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
        self._place: tuple[dict[str, Any], int] | None = None  # state to resume from, and rows of the history

    def learn(self) -> Candidate:
        """Return the best graph with maximum likelihood parameters."""
        climb, present, best = self._restore()
        if self.n_restarts:
            self.run.count_steps(1 + self.n_restarts, "starts", climb)
        while True:
            if present is None:
                fit = self._start(climb)
                present = None if fit is None else self._take(self._judge(fit), climb, best)
            if present is not None:
                present = self._climb(present, climb, best)
                best = present if best is None or present.score > best.score else best
            climb, present = climb + 1, None
            self.run.advance_to(climb)
            if climb > self.n_restarts or self.run.is_over():
                break
        assert best is not None
        if self.run.is_over() and self._place is not None:
            snapshot, n_rows = self._place
            self.run.save(snapshot, n_rows=n_rows)
        self.run.conclude(not self.run.is_over())
        fit = self.scoring.rows.resume(best.fit, deadline=self.run.deadline)
        best = best._replace(fit=fit, score=best.score + fit.log_likelihood - best.fit.log_likelihood)
        self.run.add_row(score=best.score, n_edges=len(fit.edges))
        return best

    def _climb(self, present: Candidate, climb: int, best: Candidate | None) -> Candidate:
        """Move to better graphs until there is none."""
        for _ in range(MOST_ITERATIONS):
            if self.run.is_over():
                break
            self.n_iter += 1
            better = self._improve(present)
            if better is None:
                break
            present = self._take(better, climb, best)
        return present

    def _take(self, candidate: Candidate, climb: int, best: Candidate | None) -> Candidate:
        """Record a graph and the state to resume from. A search that a limit ended early is not resumed."""
        is_whole = not self.run.is_over()
        if candidate.score > self._best_score:
            self._best_score = candidate.score
            self.run.record(n_iter=self.n_iter, score=candidate.score, n_edges=len(candidate.fit.edges))
        if is_whole and self.run.checkpoint is not None:
            snapshot = {"climb": climb, "n_iter": self.n_iter, "n_moves": self.n_moves, **self._describe(candidate, "")}
            if best is not None:
                snapshot.update(self._describe(best, "best_"))
            self._place = snapshot, self.run.n_rows
            if self.run.is_snapshot_due():
                self.run.save(snapshot)
        return candidate

    def _describe(self, candidate: Candidate, prefix: str) -> dict[str, np.ndarray]:
        parameters = self.scoring.rows.describe(candidate.fit)
        return {f"{prefix}edges": candidate.fit.edges} | {
            f"{prefix}parameters_{name}": value for name, value in parameters.items()
        }

    def _restore(self) -> tuple[int, Candidate | None, Candidate | None]:
        """Return the number of the climb, its graph, and the best earlier graph, from the checkpoint if any."""
        snapshot = self.run.restore()
        if snapshot is None:
            return 0, None, None
        best = snapshot.take_part("best_")
        climb = snapshot.integer("climb", 0, self.n_restarts)
        self.n_iter, self.n_moves = snapshot.integer("n_iter", 0), snapshot.integer("n_moves", 0)
        present = self._read(snapshot, ("climb", "n_iter", "n_moves"))
        snapshot.check(bool(best) == (climb > 0), "no best graph of the climbs before")
        of_best = self._read(best, ()) if best else None
        self._best_score = max(present.score, -np.inf if of_best is None else of_best.score)
        return climb, present, of_best

    def _read(self, snapshot: Snapshot, others: tuple[str, ...]) -> Candidate:
        parameters = snapshot.take_part("parameters_")
        snapshot.check_names(("edges", *others))
        edges = snapshot.pairs("edges", len(self.scoring.names))
        self.check_graph(snapshot, edges, "edges")
        counts = self.scoring.rows.read_statistics(parameters, edges)
        candidate = self._judge(self.scoring.rows.fit(edges, counts, max_steps=0))
        snapshot.check(np.isfinite(candidate.score), "parameters under which the rows are impossible")
        return candidate

    def _start(self, climb: int) -> Any:
        """Return the first fit of a climb, or None."""
        if not climb:
            return self._fit(self._count_moves(self.scoring.available, None))
        return self._start_at_random(climb - 1)

    def _count_moves(self, bound: Scoring, start: np.ndarray | None) -> np.ndarray:
        edges, n_moves = self.search(bound, start)
        self.n_moves += n_moves
        return edges

    def _search(self, completed: Any, start: np.ndarray | None) -> np.ndarray | None:
        """Return the best graph on completed rows; None if `start` or the required edges cannot be scored."""
        try:
            return self._count_moves(self.scoring.bind_completed(completed), start)
        except UnscorableFamilyError:  # a rare configuration of discrete parents has too few draws for a regression
            return None

    def _start_at_random(self, restart: int) -> Any:
        seed = int(np.random.default_rng([self.seed, restart]).integers(2**31))
        completed = self.scoring.rows.complete_at_random(seed)
        edges = self._search(completed, None)
        return None if edges is None else self._fit(edges, self.scoring.rows.count(edges, completed))

    def _fit(self, edges: np.ndarray, counts: Any = None) -> Any:
        return self.scoring.rows.fit(edges, counts, max_steps=STEPS_PER_GRAPH, deadline=self.run.deadline)

    def _improve(self, best: Candidate) -> Candidate | None:
        """Return a better graph; None if neither the search nor a search from the best graph finds one."""
        for start in (None, best.fit.edges):
            edges = self._search(best.completed, start)
            if self.run.is_over():
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
