"""The progress of a search: its limits, its stages, the best graph so far, and checkpoints.

A part of a search on another thread has its own tracker. The main tracker adopts its results later, in a fixed order.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from pgmx._ext._dag_moves import REVERSE
from pgmx.graphs.cycles import find_cycle
from pgmx.runs.checkpoint import Snapshot
from pgmx.runs.progress import SearchProgress
from pgmx.runs.run import Run
from pgmx.search.dag.state import ClimbLimits, DagState


class StopSearch(Exception):
    """A limit or the callback ends the search; the best graph so far is the result."""


class _SafePoint(NamedTuple):
    """A point at which a tracker can be resumed, and the rows of the history until then."""

    snapshot: dict[str, Any]
    n_rows: int


class GraphChecker:
    """The graphs that a search can reach from the first graph, which `state` is at."""

    def __init__(self, state: DagState, max_indegree: int):
        self._state = state
        self._first = state.edges()
        self._most = np.maximum(max_indegree, np.bincount(self._first[:, 1], minlength=state.n))
        self._allowed = state.unpack_allowed()
        self._allowed[self._first[:, 1], self._first[:, 0]] = True

    def read(self, snapshot: Snapshot, name: str) -> np.ndarray:
        """Return the arcs, int64 (m, 2), of a graph in a snapshot."""
        edges = snapshot.pairs(name, self._state.n)
        self.check(snapshot, edges, name)
        return edges

    def check(self, snapshot: Snapshot, edges: np.ndarray, name: str) -> None:
        """Raise an error unless the arcs, with valid ids, are a graph that the search can reach."""
        n, heads, arcs = self._state.n, edges[:, 1], set(map(tuple, edges.tolist()))
        snapshot.check(len(arcs) == len(edges), f"an arc in {name!r} twice")
        snapshot.check(self._allowed[heads, edges[:, 0]].all(), f"an arc in {name!r} that is not allowed")
        crowded = np.bincount(heads, minlength=n) > self._most
        snapshot.check(not crowded.any(), f"more parents in {name!r} than max_indegree allows")
        required = set(map(tuple, self._state.required.tolist()))
        snapshot.check(required <= arcs, f"no arc in {name!r} that is required")
        snapshot.check(find_cycle(n, edges.tolist()) is None, f"a cycle in {name!r}")

    def read_score(self, snapshot: Snapshot, name: str, edges: np.ndarray) -> float:
        """Return the stored score of a graph, checked against the recomputed score; `state` is then at the graph."""
        self._state.reset(edges)
        score = snapshot.number(name)
        self.check_score(snapshot, score, name)
        return score

    def check_score(self, snapshot: Snapshot, score: float, name: str, rounding: float = 1e-9) -> None:
        """Raise an error unless a stored score equals the present graph's score, up to relative rounding."""
        slack = rounding * max(1.0, float(np.abs(self._state.scores).sum()))
        expected = self._state.score
        snapshot.check(abs(score - expected) <= slack, f"{name}={score}, but the graph has the score {expected}")


class SearchTracker:
    """The progress of one search from its first graph to its best graph.

    A search calls `check` before a move, which raises `StopSearch` if a limit or the callback ends the search, and
    `record_move` after it. It calls `mark_safe_point` with all data needed to resume there. A search consists of
    numbered stages. A resumed search begins in `stage`, with the data of the last `mark_safe_point` in `memo`.
    """

    def __init__(self, limits: ClimbLimits, run: Run | None = None):
        self.limits = limits
        self.run = Run(SearchProgress) if run is None else run
        self.n_iter = 0
        self.best_score = -np.inf
        #: An upper bound on the score of every graph; NaN if the search does not prove a bound.
        self.upper_bound = np.nan
        self.stage = 0
        #: The part of the search that finds the recorded graphs, as a number in the history; None leaves it out.
        self.member: int | None = None
        #: State of the stage from which the search was resumed; None at the beginning of a stage.
        self.memo: Snapshot | None = None
        #: Checks for graphs of the checkpoint; None if the search was not resumed.
        self.checker: GraphChecker | None = None
        #: Whether a search over equivalence classes has left out cliques.
        self.is_truncated = False
        self._best_edges: np.ndarray | None = None  # None while the present graph is the best
        self._aside: tuple[float, np.ndarray] | None = None
        self._last_safe_point: _SafePoint | None = None

    # ---- the best graph ----

    def set_best(self, state: DagState) -> None:
        """Set the present graph as the best graph."""
        self.best_score, self._best_edges = state.score, None

    def replace_best(self, edges: np.ndarray, score: float) -> None:
        """Set a graph as the best graph, regardless of the previous best."""
        self.best_score, self._best_edges = score, edges

    def keep_best(self, state: DagState) -> None:
        """Copy the present graph if it is the best, since the next moves change it."""
        if self._best_edges is None:
            self._best_edges = state.edges()

    def best_edges(self, state: DagState) -> np.ndarray:
        """Return the arcs of the best graph."""
        return state.edges() if self._best_edges is None else self._best_edges

    def return_to_best(self, state: DagState) -> None:
        """Set `state` to the best graph, with an empty tabu list."""
        edges = self.best_edges(state)
        if not np.array_equal(edges, state.edges()):
            state.reset(edges)
        state.moves.clear_tabu()
        self.set_best(state)

    def set_aside(self, state: DagState) -> None:
        """Set the best graph aside and restart the search, from the next graph passed to `set_best`."""
        self._aside = (self.best_score, self.best_edges(state))

    def recall(self) -> None:
        """Set the best graph to the better of the best graph and the graph that was set aside."""
        if self._aside is not None and not _exceeds(self.best_score, self._aside[0]):
            self.best_score, self._best_edges = self._aside
        self._aside = None

    def is_better(self, score: float) -> bool:
        """Return whether a score exceeds the best score by more than rounding."""
        return _exceeds(score, self.best_score)

    def least_gain(self) -> float:
        """Return the smallest gain that counts: the larger of `epsilon` and the rounding of the score."""
        # otherwise epsilon=0 would reverse a neutral arc endlessly
        return max(self.limits.epsilon, 1e-12 * abs(self.best_score))

    # ---- limits and moves ----

    def remaining_limits(self) -> ClimbLimits:
        """Return the limits with the moves that remain."""
        return replace(self.limits, max_iter=self.limits.max_iter - self.n_iter)

    def is_over(self) -> bool:
        """Return whether a limit allows no further move."""
        # a limit that ended the run before keeps its name
        if self.n_iter >= self.limits.max_iter and not self.run.stopped_by:
            self.run.end("max_iter")
        return self.run.is_over()

    def check(self) -> None:
        """Raise `StopSearch` if a limit allows no further move."""
        if self.is_over():
            raise StopSearch

    def record_move(self, state: DagState) -> bool:
        """Record a move, and return whether the graph is now the best."""
        self.n_iter += 1
        return self.record_graph(state)

    def can_climb_at_once(self, state: DagState) -> bool:
        """Return whether the present graph is the best and may be improved by moves that are recorded later."""
        if not state.is_compiled or self.run.has_callback or self._best_edges is not None:
            return False
        return self.limits.epsilon > 2e-12 * abs(self.best_score)  # the least gain stays the same

    def record_moves(self, scores: np.ndarray, n_edges: np.ndarray) -> None:
        """Record moves, each of which improved the best graph; all get the time of the last move."""
        if len(scores):
            self.n_iter += len(scores)
            self.best_score = float(scores[-1])
            self.record_rows(scores.tolist(), n_edges.tolist())

    def record_graph(self, state: DagState) -> bool:
        """Record a graph after trial moves, which are already counted; return whether it is the best."""
        score = state.score
        # while the present graph is the best, each accepted move improves it by its gain
        improved = self._best_edges is None or self.is_better(score)
        if improved:
            self.best_score, self._best_edges = score, None
        self.record(score, state.moves.n_edges)
        return improved

    def count_trial_move(self) -> None:
        """Count the next trial move, or raise `StopSearch` if a limit allows no further move."""
        self.check()
        self.n_iter += 1

    def offer(self, edges: np.ndarray, score: float, n_moves: int) -> None:
        """Adopt a graph that another tracker reached by `n_moves`, if it is better."""
        self.n_iter += n_moves
        if self.adopt(edges, score):
            self.record(score, len(edges))

    def record(self, score: float, n_edges: int) -> None:
        """Record a graph's score and number of arcs."""
        self.run.record(n_iter=self.n_iter, score=score, n_edges=n_edges, **self._member())

    def record_rows(self, scores: list[float], n_edges: list[int]) -> None:
        """Record several graphs, without a callback."""
        members = {name: [value] * len(scores) for name, value in self._member().items()}
        self.run.add_rows(score=scores, n_edges=n_edges, **members)

    def _member(self) -> dict[str, int]:
        return {} if self.member is None else {"member": self.member}

    def adopt(self, edges: np.ndarray, score: float) -> bool:
        """Adopt a graph if it is better than the best graph (equivalent graphs are equal); return whether it is."""
        better = _exceeds(score, self.best_score)
        if better:
            self.best_score, self._best_edges = score, edges
        return better

    # ---- stages and snapshots ----

    def enter_stage(self, stage: int) -> bool:
        """Begin a stage; return False if a resumed search has already completed it."""
        if stage < self.stage:
            return False
        self.run.stage = stage + 1
        if stage > self.stage:
            self.stage, self.memo, self._last_safe_point = stage, None, None
        return True

    def mark_safe_point(self, state: DagState, **memo: Any) -> None:
        """Mark a point at which the search can be resumed with `memo` (numbers, strings, arrays that do not change)."""
        if self.run.checkpoint is not None:
            self._last_safe_point = self._describe(state, memo)
        if self.run.is_snapshot_due():
            self.save()

    def _describe(self, state: DagState, memo: dict[str, Any]) -> _SafePoint:
        snapshot = {
            "stage": self.stage,
            "n_iter": self.n_iter,
            "edges": state.edges(),
            "tabu": state.moves.tabu_moves(),
            "best_score": self.best_score,
            "best_is_present": self._best_edges is None,
            "best_edges": self.best_edges(state),
            **({} if self._aside is None else {"aside_score": self._aside[0], "aside_edges": self._aside[1]}),
            **{f"memo_{name}": value for name, value in memo.items()},
        }
        return _SafePoint(snapshot, self.run.n_rows)

    def save(self, state: DagState | None = None) -> None:
        """Write a snapshot of the last safe point, or of `state` at the beginning of a stage if there is none.

        Later trials are repeated after a resume, and must not be counted twice.
        """
        place = self._last_safe_point
        # a stage without a safe point is repeated from its beginning
        if place is None and state is not None and self.run.checkpoint is not None:
            place = self._describe(state, {})
        if place is not None:
            self.run.save(place.snapshot, n_rows=place.n_rows)

    def restore(self, state: DagState, last_stage: int) -> bool:
        """Restore the state of the checkpoint's snapshot; return whether there is one."""
        snapshot = self.run.restore()
        if snapshot is None:
            return False
        self.memo = snapshot.take_part("memo_")
        memo = {name: self.memo.value(name) for name in self.memo.names}
        aside = snapshot.take_part("aside_")
        snapshot.check_names(("stage", "n_iter", "edges", "tabu", "best_score", "best_is_present", "best_edges"))
        self.stage = snapshot.integer("stage", 0, last_stage)
        self.n_iter = snapshot.integer("n_iter", self.run.n_rows)
        self.checker = GraphChecker(state, self.limits.max_indegree)
        # `read_score` moves the state to each graph; the present graph is restored last
        edges, best_edges = (self.checker.read(snapshot, name) for name in ("edges", "best_edges"))
        self.best_score = self.checker.read_score(snapshot, "best_score", best_edges)
        if aside:
            aside.check_names(("score", "edges"))
            aside_edges = self.checker.read(aside, "edges")
            self._aside = self.checker.read_score(aside, "score", aside_edges), aside_edges
        best_is_present = snapshot.flag("best_is_present")
        snapshot.check(not best_is_present or np.array_equal(edges, best_edges), "two best graphs")
        self._best_edges = None if best_is_present else best_edges
        tabu = self._read_tabu(snapshot, state.n)
        state.reset(edges)
        state.moves.clear_tabu()
        state.moves.bar_moves(tabu)
        self._last_safe_point = self._describe(state, memo)
        return True

    def _read_tabu(self, snapshot: Snapshot, n: int) -> np.ndarray:
        tabu = snapshot.array("tabu", np.int64, (None, 3), least=0, most=max(n - 1, REVERSE))
        is_move = (tabu[:, 0] <= REVERSE) & (tabu[:, 1:] < n).all(axis=1) & (tabu[:, 1] != tabu[:, 2])
        snapshot.check(is_move.all() and len(tabu) <= self.limits.tabu_length, "tabu moves that are none, or too many")
        return tabu

    def read_memo(self, *names: str) -> Snapshot | None:
        """Return the last memo of the stage, which has exactly these names; None or empty at its beginning."""
        if self.memo:
            self.memo.check_names(names)
        return self.memo


def _exceeds(score: float, best: float) -> bool:
    """Return whether a score exceeds the best by more than rounding."""
    # scores of equivalent graphs differ by rounding; for best = -inf the margin would give NaN
    return score > (best + 1e-12 * abs(best) if np.isfinite(best) else best)


class SideTracker(SearchTracker):
    """The tracker of a part of a search with its own first graph and the remaining limits of `tracker`.

    It does not depend on the graphs of `tracker`, so that both can run at the same time.
    """

    def __init__(self, tracker: SearchTracker):
        super().__init__(tracker.remaining_limits(), Run.from_wall_deadline(SearchProgress, tracker.run.wall_deadline))
        self.is_finished = False
        self._keeps_graphs = tracker.run.has_callback  # the callback may end the search at any graph
        self._graphs: list[tuple[int, np.ndarray]] = []  # moves until then, arcs

    def search(self, search: Callable[[], None], state: DagState) -> None:
        """Search to the end, or until the time limit or another thread of the group ends it."""
        try:
            search()
            self.is_finished = True
        except StopSearch:
            pass
        self.keep_best(state)

    def can_climb_at_once(self, state: DagState) -> bool:
        """Return whether moves may be made before they are recorded."""
        return not self._keeps_graphs and super().can_climb_at_once(state)

    def record_graph(self, state: DagState) -> bool:
        """Record a graph."""
        if self._keeps_graphs:
            self._graphs.append((self.n_iter, state.edges()))
        return super().record_graph(state)

    def is_cut_by(self, tracker: SearchTracker) -> bool:
        """Return whether `tracker` has fewer moves left than were made here; then the search must be repeated."""
        return self.n_iter >= tracker.remaining_limits().max_iter

    def hand_over(self, tracker: SearchTracker) -> None:
        """Let `tracker` continue where this one ended, with its best graph.

        History and callback calls are as if the parts had run one after the other.
        """
        before = tracker.n_iter
        history = self.run.history
        if self._keeps_graphs:
            rows = zip(self._graphs, history["score"].tolist(), strict=True)
            for (n_moves, edges), score in rows:
                tracker.n_iter = before + n_moves
                tracker.replace_best(edges, score)
                tracker.record(score, len(edges))
                tracker.check()
        else:
            tracker.record_rows(history["score"].tolist(), history["n_edges"].tolist())
        tracker.n_iter = before + self.n_iter
        assert self._best_edges is not None
        tracker.replace_best(self._best_edges, self.best_score)
        if not self.is_finished:
            tracker.check()
            tracker.run.end("max_time")  # the other thread noticed the time limit first
            raise StopSearch
