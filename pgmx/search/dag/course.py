"""The course of a search: its limits, the best graph so far, its history, and what a checkpoint holds."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import numpy as np

from pgmx.search.dag.state import DagState


class Progress(NamedTuple):
    """What a callback is told after each move, and after moves on trial that led to a better graph."""

    n_iter: int
    score: float
    n_edges: int
    seconds: float


@dataclass(frozen=True)
class ClimbLimits:
    """When a search ends, and what it may try.

    Attributes
    ----------
    epsilon : float
        A move that gains less is not an improvement.
    max_iter : int or float
        Most moves; may be infinite.
    max_time : float or None
        Most seconds from the start of the search, looked at between moves.
    max_indegree : int
        Most parents of a node.
    tabu_length : int
        The last moves that may not be undone. The list is emptied where no other move improves the best graph, so that
        a local optimum is one of all moves.
    patience : int
        Moves without a new best score before a climb ends; 0 ends it at the first local optimum.
    """

    epsilon: float
    max_iter: int | float
    max_time: float | None
    max_indegree: int
    tabu_length: int
    patience: int


@dataclass
class ClimbResult:
    """The best graph that a search has seen."""

    edges: np.ndarray
    score: float
    n_iter: int
    converged: bool
    history: dict[str, np.ndarray]


class Stopped(Exception):
    """A limit or the callback ends the search; the best graph so far is the result."""


class Saver(Protocol):
    """Where snapshots go, see :mod:`pgmx.runs.checkpoint`."""

    def due(self) -> bool:
        """Tell whether it is time for the next snapshot."""

    def save(self, snapshot: dict[str, Any]) -> None:
        """Write a snapshot."""


@dataclass
class _History:
    scores: list[float] = field(default_factory=list)
    n_edges: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def add(self, progress: Progress) -> None:
        self.scores.append(progress.score)
        self.n_edges.append(progress.n_edges)
        self.seconds.append(progress.seconds)

    def arrays(self) -> dict[str, np.ndarray]:
        return {
            "score": np.array(self.scores, dtype=np.float64),
            "n_edges": np.array(self.n_edges, dtype=np.int64),
            "seconds": np.array(self.seconds, dtype=np.float64),
        }


class Run:
    """One search from its start to its end.

    A search calls `check` before a move, which raises `Stopped` when a limit or the callback says so, `moved` after it,
    and `safe` wherever it could be taken up again with what it passes there.

    Parameters
    ----------
    limits : ClimbLimits
        When to end.
    callback : callable, optional
        Called with :class:`Progress` after each move; a true answer ends the search.
    began : float, optional
        Reading of ``time.perf_counter`` from which `max_time` and seconds count; now by default.
    saver : Saver, optional
        Where snapshots go.

    Attributes
    ----------
    n_iter : int
        Moves made.
    best_score : float
        Score of the best graph so far.
    stage : int
        Which stage of the search is running; a search taken up again begins there.
    memo : dict
        What the running stage had remembered at its last `safe`; empty in a stage that begins.
    """

    def __init__(
        self,
        limits: ClimbLimits,
        *,
        callback: Callable[[Progress], object] | None = None,
        began: float | None = None,
        saver: Saver | None = None,
    ):
        self.limits = limits
        self.n_iter = 0
        self.best_score = -np.inf
        self.stage = 0
        self.memo: dict[str, Any] = {}
        self._best_edges: np.ndarray | None = None  # None while the present graph is the best one
        self._aside: tuple[float, np.ndarray] | None = None
        self._callback = callback
        self._began = perf_counter() if began is None else began
        self._limited_from = self._began
        self._stop = False
        self._last_memo: dict[str, Any] = {}
        # n_iter, the best graph and the length of the history at the last `safe`
        self._then: tuple[int, float, np.ndarray | None, int] | None = None
        self._saver = saver
        self._history = _History()

    def present(self, state: DagState) -> None:
        """Tell that the graph of `state` is the best one."""
        self.best_score, self._best_edges = state.score, None

    def return_to_best(self, state: DagState) -> None:
        """Bring the best graph into `state`, nothing barred."""
        edges = self.best_edges(state)
        if not np.array_equal(edges, state.edges()):
            state.reset(edges)
        state.moves.clear_tabu()
        self.present(state)

    def set_aside(self, state: DagState) -> None:
        """Keep the best graph apart: the search begins a new course, from the next graph it tells by `present`."""
        self._aside = (self.best_score, self.best_edges(state))

    def recall(self) -> None:
        """Compare with the graph that was set aside: the better of the two is the best one from now on."""
        if self._aside is not None and self._aside[0] >= self.best_score:
            self.best_score, self._best_edges = self._aside
        self._aside = None

    def least_gain(self) -> float:
        """Return the smallest gain that is one: a gain below the rounding of the score is none."""
        # without this, epsilon=0 would turn a neutral arc for ever
        return max(self.limits.epsilon, 1e-12 * abs(self.best_score))

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return perf_counter() - self._began

    @property
    def seconds_left(self) -> float | None:
        """Seconds until `max_time`, None without a limit."""
        if self.limits.max_time is None:
            return None
        return max(self.limits.max_time - (perf_counter() - self._limited_from), 0.0)

    def is_over(self) -> bool:
        """Tell whether no further move may be made."""
        return self._stop or self.n_iter >= self.limits.max_iter or self.seconds_left == 0.0

    def check(self) -> None:
        """Raise `Stopped` when no further move may be made."""
        if self.is_over():
            raise Stopped

    def moved(self, state: DagState) -> bool:
        """Note a move; tell whether the graph is the best one now."""
        self.n_iter += 1
        return self.kept(state)

    def kept(self, state: DagState) -> bool:
        """Note a graph that moves on trial, which are counted already, have led to; tell whether it is the best one."""
        score = state.score
        # while the present graph counts as the best, a move that was made is an improvement by its gain
        improved = self._best_edges is None or self.betters(score)
        if improved:
            self.best_score, self._best_edges = score, None
        self._tell(score, state.moves.n_edges)
        return improved

    def tried(self) -> None:
        """Count a move that is made on trial, or raise `Stopped` where no further move may be made."""
        self.check()
        self.n_iter += 1

    def betters(self, score: float) -> bool:
        """Tell whether a score is higher than the best one by more than rounding."""
        return score > self.best_score + 1e-12 * abs(self.best_score)

    def leave(self, state: DagState) -> None:
        """Keep the present graph if it is the best one: the next moves lead away from it."""
        if self._best_edges is None:
            self._best_edges = state.edges()

    def offer(self, edges: np.ndarray, score: float, n_moves: int) -> None:
        """Take a graph that was found elsewhere, if it is better."""
        self.n_iter += n_moves
        if score > self.best_score:
            self.best_score, self._best_edges = score, edges
            self._tell(score, len(edges))

    def _tell(self, score: float, n_edges: int) -> None:
        progress = Progress(self.n_iter, score, n_edges, self.seconds)
        self._history.add(progress)
        if self._callback is not None and self._callback(progress):
            self._stop = True  # the next check ends the search, at a place where it could be taken up again

    def best_edges(self, state: DagState) -> np.ndarray:
        """Return the arcs of the best graph."""
        return state.edges() if self._best_edges is None else self._best_edges

    def result(self, state: DagState, converged: bool) -> ClimbResult:
        """Return the best graph and the course of the search."""
        self.recall()
        return ClimbResult(self.best_edges(state), self.best_score, self.n_iter, converged, self._history.arrays())

    # ---- snapshots ----

    def enter(self, stage: int) -> bool:
        """Begin a stage; False where a search that was taken up again is past it."""
        if stage < self.stage:
            return False
        if stage > self.stage:
            self.stage, self.memo, self._last_memo, self._then = stage, {}, {}, None
        return True

    def wants_snapshot(self) -> bool:
        """Tell whether the next `safe` will write one."""
        return self._saver is not None and self._saver.due()

    def safe(self, state: DagState, **memo: Any) -> None:
        """Say that the search could be taken up here, with `memo` (numbers, strings and arrays, not to be changed)."""
        self._last_memo = memo
        self._then = self._now()
        if self.wants_snapshot():
            self.save(state)

    def save(self, state: DagState) -> None:
        """Write a snapshot of the last safe place, where `state` still is."""
        if self._saver is not None:
            self._saver.save(self._snapshot(state, self._last_memo))

    def _now(self) -> tuple[int, float, np.ndarray | None, int]:
        return self.n_iter, self.best_score, self._best_edges, len(self._history.scores)

    def _snapshot(self, state: DagState, memo: dict[str, Any]) -> dict[str, Any]:
        # what was tried since then is tried again, and must not count twice
        n_iter, best_score, best_edges, n_told = self._then or self._now()
        history = {name: values[:n_told] for name, values in self._history.arrays().items()}
        return {
            "stage": self.stage,
            "n_iter": n_iter,
            "seconds": self.seconds,
            "edges": state.edges(),
            "tabu": state.moves.tabu_moves(),
            "best_score": best_score,
            "best_is_present": best_edges is None,
            "best_edges": state.edges() if best_edges is None else best_edges,
            **({} if self._aside is None else {"aside_score": self._aside[0], "aside_edges": self._aside[1]}),
            **{f"history_{name}": values for name, values in history.items()},
            **{f"memo_{name}": value for name, value in memo.items()},
        }

    def take_up(self, state: DagState, snapshot: dict[str, Any]) -> None:
        """Go to where a snapshot was taken; seconds go on from there."""
        state.reset(snapshot["edges"])
        state.moves.clear_tabu()
        state.moves.bar_moves(np.ascontiguousarray(snapshot["tabu"], dtype=np.int64))
        self.stage, self.n_iter = int(snapshot["stage"]), int(snapshot["n_iter"])
        self.best_score = float(snapshot["best_score"])
        self._best_edges = None if snapshot["best_is_present"] else snapshot["best_edges"]
        if "aside_score" in snapshot:
            self._aside = (float(snapshot["aside_score"]), snapshot["aside_edges"])
        self.memo = {name[5:]: value for name, value in snapshot.items() if name.startswith("memo_")}
        self._last_memo = self.memo
        self._began = perf_counter() - float(snapshot["seconds"])
        self._history = _History(
            snapshot["history_score"].tolist(),
            snapshot["history_n_edges"].tolist(),
            snapshot["history_seconds"].tolist(),
        )
