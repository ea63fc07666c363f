"""Greedy hill climbing over directed acyclic graphs."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import NamedTuple

import numpy as np

from pgmx._ext import _dag_moves

logger = logging.getLogger(__name__)


class Progress(NamedTuple):
    """What a callback is told after each move."""

    n_iter: int
    score: float
    n_edges: int
    seconds: float


@dataclass(frozen=True)
class ClimbLimits:
    """When a climb ends, and what it may try.

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
        Moves without a new best score before the climb ends; 0 ends it at the first local optimum.
    """

    epsilon: float
    max_iter: int | float
    max_time: float | None
    max_indegree: int
    tabu_length: int
    patience: int


@dataclass
class ClimbResult:
    """The best graph that a climb has seen."""

    edges: np.ndarray
    score: float
    n_iter: int
    converged: bool
    history: dict[str, np.ndarray]


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
            "score": np.array(self.scores),
            "n_edges": np.array(self.n_edges, dtype=np.int64),
            "seconds": np.array(self.seconds),
        }


def partners_first(gains: np.ndarray, permutation: np.ndarray) -> np.ndarray:
    """Return the order of ties: variables with more partners first, `permutation` among equals.

    A partner of x is a variable that gains as its only parent. Under a score-equivalent score the two directions of the
    first arc between two variables tie, and which wins decides between local optima that lie far apart. Arcs into the
    variable with more partners lead, on the networks of the benchmark, to better scores and fewer arcs than a random
    direction does.

    Parameters
    ----------
    gains : ndarray of shape (n, n)
        ``gains[child, u]`` in the graph without arcs.
    permutation : ndarray of shape (n,)
        Decides among variables with equally many partners.

    Returns
    -------
    ndarray of shape (n,), int64
        A permutation; smaller goes first.
    """
    n_partners = np.count_nonzero(gains > 0, axis=1)
    priority = np.empty(len(permutation), dtype=np.int64)
    priority[np.lexsort((permutation, -n_partners))] = np.arange(len(permutation))
    return priority


def hill_climb(
    source,
    n: int,
    limits: ClimbLimits,
    *,
    priority: np.ndarray | Callable[[np.ndarray], np.ndarray],
    start: np.ndarray | None = None,
    required: np.ndarray | None = None,
    bonus: tuple[float, float, float] = (0.0, 0.0, 0.0),
    offset: float = 0.0,
    callback: Callable[[Progress], object] | None = None,
    began: float | None = None,
) -> ClimbResult:
    """Climb from a graph by the best addition, deletion or reversal of an arc, as long as the score rises.

    Parameters
    ----------
    source : FamilyScorer or FunctionGains
        Where gains come from, see :mod:`pgmx.search.gains`.
    n : int
        Number of variables.
    limits : ClimbLimits
        When to end.
    priority : ndarray of shape (n,), or callable
        Permutation that orders equal gains: the head, then the tail of smaller value goes first. A callable is given
        the gains of the graph without arcs and returns it.
    start : ndarray of shape (m, 2), optional
        Arcs (tail, head) of the first graph, acyclic; none by default.
    required : ndarray of shape (k, 2), optional
        Arcs of the first graph that stay.
    bonus : tuple of float
        Structure prior: what an addition, a deletion and a reversal gain on top of the families.
    offset : float
        Structure prior of the first graph.
    callback : callable, optional
        Called with :class:`Progress` after each move; a true answer ends the climb.
    began : float, optional
        Reading of ``time.perf_counter`` from which `max_time` and seconds count; now by default.

    Returns
    -------
    ClimbResult
        The best graph seen, its score, and the course of the climb.

    Notes
    -----
    Cost: one row of gains for each move (two for a reversal) and O(n + arcs) to choose it.

    References
    ----------
    .. [1] Koller, D. and Friedman, N. (2009). Probabilistic Graphical Models, section 18.4.3.
    """
    began = perf_counter() if began is None else began
    gains = np.empty((n, n))
    scores = np.empty(n)
    source.start(gains, scores)
    moves = _dag_moves.DagMoves(
        gains,
        np.asarray(priority(gains) if callable(priority) else priority, dtype=np.int64),
        max_indegree=limits.max_indegree,
        floor=limits.epsilon if limits.patience == 0 else -np.inf,
        tabu_length=limits.tabu_length,
        required=required,
        bonus=bonus,
    )
    if start is not None:
        for tail, head in start.tolist():
            moves.insert_edge(tail, head)
        for child in sorted(set(start[:, 1].tolist())):
            scores[child] = source.rescore(child, moves.parents_of(child), gains)
    moves.refresh_all()

    history = _History()
    prior = offset
    best_score = float(scores.sum()) + prior
    # below the rounding of the sum a gain is none: without this, epsilon=0 would turn a neutral arc for ever
    least_gain = max(limits.epsilon, 1e-12 * abs(best_score))
    best_edges = None  # None while the graph of `moves` is the best one seen
    n_iter, idle, converged = 0, 0, False
    while n_iter < limits.max_iter and (limits.max_time is None or perf_counter() - began < limits.max_time):
        move = moves.best()
        if move is None or move[3] < least_gain:
            if best_edges is None and moves.clear_tabu():
                continue  # what only the tabu list bars may still improve
            if move is None or idle >= limits.patience:
                converged = True
                break
            if best_edges is None:
                best_edges = moves.edges()
        op, tail, head, _ = move
        moves.apply(op, tail, head)
        prior += bonus[op]
        for child in (head, tail) if op == _dag_moves.REVERSE else (head,):
            scores[child] = source.rescore(child, moves.parents_of(child), gains)
            moves.refresh(child)
        n_iter += 1
        score = float(scores.sum()) + prior
        if best_edges is None or score > best_score:
            best_score, best_edges, idle = score, None, 0
        else:
            idle += 1
        progress = Progress(n_iter, score, moves.n_edges, perf_counter() - began)
        history.add(progress)
        if callback is not None and callback(progress):
            break
    logger.debug("hill climbing ended after %d moves with score %.6f", n_iter, best_score)
    return ClimbResult(
        edges=moves.edges() if best_edges is None else best_edges,
        score=best_score,
        n_iter=n_iter,
        converged=converged,
        history=history.arrays(),
    )
