"""Where a grafting run takes its next edges from: all pairs, single features, a working set, or a stream."""

from typing import Any, Protocol

import numpy as np

from pgmx.runs.run import Run
from pgmx.search.edges.exhaustive import ExhaustiveEdges, ScoredLoss
from pgmx.search.edges.random_pairs import RandomPairs, id_of
from pgmx.search.edges.stream import EdgeStream
from pgmx.solvers.markov.penalised_loss import PenalisedLoss

#: A source that stores nothing quadratic scores so many pairs at most for the largest penalty.
MOST_PAIRS = 20_000_000
_BLOCK = 1 << 16


class EdgeSource(Protocol):
    """What chooses the next edges of a run; the penalty λ is that of the loss."""

    #: Whether all pairs are scored in any case.
    is_exhaustive: bool

    @property
    def n_tests(self) -> int:
        """Scores of inactive pairs computed."""
        ...

    def largest(self, loss: PenalisedLoss) -> float:
        """Return the largest s_e / c_e of a loss without edges: the smallest λ that leaves all edges out."""
        ...

    def restore(self, state: dict[str, Any], loss: PenalisedLoss) -> None:
        """Begin with the active edges of the loss, where `state` says that an earlier run was; it may be empty."""
        ...

    def next_round(self, loss: PenalisedLoss, limit: int, run: Run) -> int:
        """Activate at most `limit` edges and optimise around them; return how many, 0 if none passes or time is up."""
        ...

    def mark_changed(self, variables: np.ndarray) -> None:
        """Take note that a further optimisation changed the conditionals of variables."""
        ...

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint must hold besides the parameters."""
        ...


class _AllPairs:
    """What the sources that score all pairs have in common; subclasses choose from the scores."""

    is_exhaustive = True

    def __init__(self, edges: ExhaustiveEdges, tol: float):
        self._edges, self._tol = edges, tol

    @property
    def n_tests(self) -> int:
        """Scores of inactive pairs computed."""
        return self._edges.n_tests

    def largest(self, loss: PenalisedLoss) -> float:
        """Return the largest s_e / c_e of a loss without edges."""
        return self._largest(loss)

    def _largest(self, scored: ScoredLoss) -> float:
        _, ratios = self._edges.best(scored, 0.0)
        return float(ratios[0]) if len(ratios) else 0.0

    def mark_changed(self, variables: np.ndarray) -> None:
        """Do nothing: the drift of the loss bounds how far scores have moved."""

    def state(self) -> dict[str, Any]:
        """Return nothing: the active edges say where the run is."""
        return {}

    def restore(self, state: dict[str, Any], loss: PenalisedLoss) -> None:
        """Leave the active edges out."""
        self._edges.remove(loss.edges)

    def _activate(self, pairs: np.ndarray, loss: PenalisedLoss) -> None:
        loss.activate(pairs)
        self._edges.remove(pairs)


class BestEdge(_AllPairs):
    """The pair that violates its condition of optimality most, or a batch of pairs without common variables.

    A batch holds violators from (1 - alpha) mean + alpha max of the scores of all violators on; None means one edge.
    """

    def __init__(self, edges: ExhaustiveEdges, tol: float, alpha: float | None = None):
        super().__init__(edges, tol)
        self._alpha = alpha

    def next_round(self, loss: PenalisedLoss, limit: int, run: Run) -> int:
        """Activate the best edges and optimise around them."""
        if self._alpha is None:
            pairs, _ = self._edges.best(loss, loss.lam)
        else:
            pairs, _ = self._edges.batch(loss, loss.lam, self._alpha, limit)
        if len(pairs):
            self._activate(pairs, loss)
            loss.optimise(pairs, tol=loss.local_tol(self._tol), deadline=run.deadline)
        return len(pairs)


class BestFeature(_AllPairs):
    """The single parameter whose gradient violates its condition of optimality most.

    The edges are those of variables with one state each, for a feature's score is not divided by the size of its table.
    `max_sweeps` limits the steps of each block around the new feature; 1 is grafting-light.
    """

    def __init__(self, edges: ExhaustiveEdges, tol: float, max_sweeps: int | None = None):
        super().__init__(edges, tol)
        self._max_sweeps = max_sweeps
        self._active: dict[tuple[int, int], list[tuple[int, int]]] = {}

    def largest(self, loss: PenalisedLoss) -> float:
        """Return the largest derivative over c_e of a loss without edges."""
        return self._largest(FeatureScores(loss, self._active))

    def next_round(self, loss: PenalisedLoss, limit: int, run: Run) -> int:
        """Activate the best feature and optimise around it."""
        pairs, _ = self._edges.best(FeatureScores(loss, self._active), loss.lam)
        if not len(pairs):
            return 0
        pair = (int(pairs[0, 0]), int(pairs[0, 1]))
        sizes = np.abs(loss.gradients(pairs)[0])
        for cell in self._active.get(pair, ()):
            sizes[cell] = -1
        best = divmod(int(np.argmax(sizes)), sizes.shape[1])
        loss.activate_features(pairs, np.array([best]))
        cells = self._active.setdefault(pair, [])
        cells.append(best)
        if len(cells) == sizes.size:
            self._edges.remove(pairs)
        else:
            self._edges.forget(pairs)
        tol = loss.local_tol(self._tol)
        loss.optimise(pairs, tol=tol, max_sweeps=self._max_sweeps, deadline=run.deadline)
        return 1

    def restore(self, state: dict[str, Any], loss: PenalisedLoss) -> None:
        """Leave out the features that are not zero; others are candidates again."""
        potentials = loss.potentials()
        for (i, j), table in zip(potentials.edges.tolist(), potentials.tables(), strict=True):
            self._active[i, j] = [(int(a), int(b)) for a, b in np.argwhere(table)]
            if table.all():
                self._edges.remove(np.array([[i, j]]))


class FeatureScores:
    """A loss whose score of a pair is the largest absolute gradient among its inactive features."""

    def __init__(self, loss: PenalisedLoss, active: dict):
        self._loss, self._active = loss, active
        self.drift = loss.drift

    def scores(self, pairs: np.ndarray) -> np.ndarray:
        """Return the score of each pair."""
        scores = np.empty(len(pairs))
        for k, (pair, gradient) in enumerate(zip(map(tuple, pairs.tolist()), self._loss.gradients(pairs), strict=True)):
            sizes = np.abs(gradient)
            for cell in self._active.get(pair, ()):
                sizes[cell] = 0
            scores[k] = sizes.max()
        return scores


class WorkingSet(_AllPairs):
    """Violators by the batch, best first, each batch twice as large; all that is active is optimised.

    The tolerance holds once all violators were taken; it is ten times as large before.
    """

    def __init__(self, edges: ExhaustiveEdges, tol: float, first: int):
        super().__init__(edges, tol)
        self._size = first
        self._lam_before: float | None = None

    def next_round(self, loss: PenalisedLoss, limit: int, run: Run) -> int:
        """Activate a batch and optimise everything; λ may have become smaller since the round before."""
        before = loss.lam if self._lam_before is None else self._lam_before
        # after a smaller λ, the sequential strong rule: s_e > 2 λ_new - λ_old
        violators, _ = self._edges.violators(loss, max(2 * loss.lam - before, 0.0))
        self._lam_before = loss.lam
        pairs = violators[: min(self._size, limit)]
        self._size *= 2
        if len(pairs):
            self._activate(pairs, loss)
            loss.optimise(tol=self._tol if len(pairs) == len(violators) else 10 * self._tol, deadline=run.deadline)
        return len(pairs)


class StreamedEdges:
    """Edges from a stream, see `EdgeStream`."""

    is_exhaustive = False

    def __init__(self, stream: EdgeStream, tol: float):
        self.stream = stream
        self._tol = tol

    @property
    def n_tests(self) -> int:
        """Scores of inactive pairs computed, those of the reservoir and those scored ahead not counted."""
        return self.stream.n_tests

    def largest(self, loss: PenalisedLoss) -> float:
        """Return the largest s_e / c_e of a loss without edges; ValueError where there are too many pairs."""
        n, weight, excluded = self.stream.n_variables, self.stream.penalty_weight, self.stream.queue.excluded
        order = RandomPairs(n, 0)
        if len(order) > MOST_PAIRS:
            raise ValueError(
                f"lam_ratio is a share of the largest score of all pairs, but {n} variables have {len(order):,} pairs, "
                f"more than {MOST_PAIRS:,}: give the penalty itself, lam=..."
            )
        largest = 0.0
        for first in range(0, len(order), _BLOCK):  # nothing quadratic is stored
            pairs = order.pair(np.arange(first, min(first + _BLOCK, len(order))))
            pairs = pairs[~excluded.contains(id_of(pairs, n))]
            scores = loss.scores(pairs)
            largest = max(largest, float(np.max(scores if weight is None else scores / weight(pairs), initial=0.0)))
        return largest

    def restore(self, state: dict[str, Any], loss: PenalisedLoss) -> None:
        """Go on where the stream was, or begin with the active edges of the loss."""
        if state:
            self.stream.restore(state)
        elif len(loss.edges):
            self.stream.add_active(loss.edges)

    def next_round(self, loss: PenalisedLoss, limit: int, run: Run) -> int:
        """Activate edges from the stream and optimise around them."""
        pairs = self.stream.next_round(loss, limit=limit, deadline=run.deadline)
        if len(pairs):
            loss.activate(pairs)
            self.mark_changed(loss.optimise(pairs, tol=loss.local_tol(self._tol), deadline=run.deadline))
        return len(pairs)

    def mark_changed(self, variables: np.ndarray) -> None:
        """Let the edges of these variables in the reservoir be scored again."""
        self.stream.mark_changed(variables)

    def state(self) -> dict[str, Any]:
        """Return the state of the stream."""
        return self.stream.state()
