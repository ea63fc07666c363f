"""Where a grafting run takes its next edges from: all pairs, single features, a working set, or a stream."""

from math import inf
from typing import Any

import numpy as np

from pgmx.search.edges.exhaustive import ExhaustiveEdges
from pgmx.search.edges.grafting import MarkovLoss
from pgmx.search.edges.stream import EdgeStream

__all__ = ["BestEdge", "BestFeature", "FeatureScores", "StreamedEdges", "WorkingSet"]


class _Exhaustive:
    """What the sources that look at all pairs have in common."""

    interrupted = False

    def __init__(self, edges: ExhaustiveEdges, lam: float, local_tol: float, max_sweeps: int | None = None):
        self._edges = edges
        self.lam = lam
        self._local_tol, self._max_sweeps = local_tol, max_sweeps
        self._fresh = np.zeros((0, 2), dtype=np.int64)

    @property
    def n_tests(self) -> int:
        """Scores of inactive pairs computed."""
        return self._edges.n_tests

    def optimise(self, loss: MarkovLoss, deadline: float) -> np.ndarray:
        """Optimise around the pairs of the latest round, and return the variables that changed."""
        return loss.optimise(self._fresh, tol=self._local_tol, max_sweeps=self._max_sweeps, deadline=deadline)

    def changed(self, variables: np.ndarray) -> None:
        """The drift of the loss tells all."""

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint must hold besides the parameters."""
        return {}

    def restore(self, state: dict[str, Any], loss: MarkovLoss) -> None:
        """Go on where the active edges say that the run is."""
        self._edges.remove(loss.edges)


class BestEdge(_Exhaustive):
    """The pair that violates the condition of optimality most, or a batch of pairs without common variables.

    Parameters
    ----------
    edges : ExhaustiveEdges
        Scores of all pairs; active edges removed.
    lam : float
        λ.
    local_tol : float
        Tolerance of the optimisation around new edges.
    alpha : float, optional
        Threshold of a batch, (1 - alpha) mean + alpha max of all violators. Default: one edge a round.
    """

    def __init__(self, edges: ExhaustiveEdges, lam: float, local_tol: float, alpha: float | None = None):
        super().__init__(edges, lam, local_tol)
        self._alpha = alpha

    def next_round(self, loss: MarkovLoss, limit: int, deadline: float) -> int:
        """Activate the next pairs in the loss, and return how many."""
        if self._alpha is None:
            pairs, _ = self._edges.best(loss, self.lam)
        else:
            pairs, _ = self._edges.batch(loss, self.lam, self._alpha, limit)
        if len(pairs):
            loss.activate(pairs)
            self._edges.remove(pairs)
            self._fresh = pairs
        return len(pairs)


class BestFeature(_Exhaustive):
    """The single parameter whose gradient violates the condition of optimality most.

    Parameters
    ----------
    edges : ExhaustiveEdges
        Of variables with one state each, for a feature's score is not divided by the size of its table.
    lam : float
        λ.
    local_tol : float
        Tolerance of the optimisation around the new feature.
    max_sweeps : int, optional
        Most steps of each block in it; 1 is grafting-light.
    """

    def __init__(self, edges: ExhaustiveEdges, lam: float, local_tol: float, max_sweeps: int | None = None):
        super().__init__(edges, lam, local_tol, max_sweeps)
        self._active: dict[tuple[int, int], list[tuple[int, int]]] = {}

    def next_round(self, loss: MarkovLoss, limit: int, deadline: float) -> int:
        """Activate the next pairs in the loss, and return how many."""
        pairs, _ = self._edges.best(FeatureScores(loss, self._active), self.lam)
        if not len(pairs):
            return 0
        pair = (int(pairs[0, 0]), int(pairs[0, 1]))
        sizes = np.abs(loss.gradients(pairs)[0])
        for cell in self._active.get(pair, ()):
            sizes[cell] = -1
        best = divmod(int(np.argmax(sizes)), sizes.shape[1])
        loss.activate_features(pairs, np.array([best]))
        held = self._active.setdefault(pair, [])
        held.append(best)
        if len(held) == sizes.size:
            self._edges.remove(pairs)
        else:
            self._edges.forget(pairs)
        self._fresh = pairs
        return 1

    def restore(self, state: dict[str, Any], loss: MarkovLoss) -> None:
        """Go on where the parameters say that the run is; features that are zero are candidates again."""
        found = loss.potentials()
        for (i, j), table in zip(found.edges.tolist(), found.tables(), strict=True):
            self._active[i, j] = [(int(a), int(b)) for a, b in np.argwhere(table)]
            if table.all():
                self._edges.remove(np.array([[i, j]]))


class FeatureScores:
    """A loss whose score of a pair is the largest absolute gradient among its inactive features."""

    def __init__(self, loss: MarkovLoss, active: dict):
        self._loss, self._active = loss, active
        self.drift = loss.drift

    def scores(self, pairs: np.ndarray) -> np.ndarray:
        """Return the score of each pair."""
        found = np.empty(len(pairs))
        for k, (pair, gradient) in enumerate(zip(map(tuple, pairs.tolist()), self._loss.gradients(pairs), strict=True)):
            sizes = np.abs(gradient)
            for cell in self._active.get(pair, ()):
                sizes[cell] = 0
            found[k] = sizes.max()
        return found


class WorkingSet(_Exhaustive):
    """Violators by the batch, best first, the batches growing; optimisation is over all that is active.

    Parameters
    ----------
    edges : ExhaustiveEdges
        Scores of all pairs; active edges removed.
    lam : float
        λ.
    tol : float
        Tolerance when all violators were taken; ten times as much before.
    first : int
        Size of the first batch.
    """

    def __init__(self, edges: ExhaustiveEdges, lam: float, tol: float, first: int):
        super().__init__(edges, lam, tol)
        self._size = first
        self._threshold = lam
        self._whole = True

    def set_lam(self, lam: float) -> None:
        """Go on with a smaller λ: the next batch is chosen by the sequential strong rule, s_e > 2 λ_new - λ_old."""
        self._threshold, self.lam = max(2 * lam - self.lam, 0.0), lam

    def next_round(self, loss: MarkovLoss, limit: int, deadline: float) -> int:
        """Activate the next pairs in the loss, and return how many."""
        pairs, _ = self._edges.violators(loss, self._threshold)
        self._threshold = self.lam
        taken = pairs[: min(self._size, limit)]
        self._whole = len(taken) == len(pairs)
        self._size *= 2
        if len(taken):
            loss.activate(taken)
            self._edges.remove(taken)
        return len(taken)

    def optimise(self, loss: MarkovLoss, deadline: float) -> np.ndarray:
        """Optimise all that is active, and return the variables that changed."""
        return loss.optimise(tol=self._local_tol if self._whole else 10 * self._local_tol, deadline=deadline)


class StreamedEdges:
    """Edges from a stream, see :class:`pgmx.search.edges.stream.EdgeStream`."""

    def __init__(self, stream: EdgeStream, local_tol: float):
        self.stream = stream
        self._local_tol = local_tol
        self._fresh = np.zeros((0, 2), dtype=np.int64)

    @property
    def n_tests(self) -> int:
        """Scores of inactive pairs computed."""
        return self.stream.n_tests

    @property
    def interrupted(self) -> bool:
        """Whether the latest round was given up at the deadline."""
        return self.stream.interrupted

    def next_round(self, loss: MarkovLoss, limit: int, deadline: float) -> int:
        """Activate the next pairs in the loss, and return how many."""
        self._fresh = self.stream.next_round(loss.scores, limit=limit, deadline=deadline)
        loss.activate(self._fresh)
        return len(self._fresh)

    def optimise(self, loss: MarkovLoss, deadline: float = inf) -> np.ndarray:
        """Optimise around the pairs of the latest round, and return the variables that changed."""
        return loss.optimise(self._fresh, tol=self._local_tol, deadline=deadline)

    def changed(self, variables: np.ndarray) -> None:
        """Take note that the conditionals of variables changed."""
        self.stream.rescore(variables)

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint must hold besides the parameters."""
        return self.stream.state()

    def restore(self, state: dict[str, Any], loss: MarkovLoss) -> None:
        """Go on where the stream was."""
        self.stream.restore(state)
