"""Selectors that score all inactive pairs and rescore only where necessary: the best pair, feature, or working set."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from pgmx._ext._edge_heap import non_adjacent
from pgmx.runs.checkpoint import Snapshot
from pgmx.runs.run import Run
from pgmx.solvers.markov.penalised_loss import PenalisedLoss

#: Number of outdated pairs that are rescored at a time while the best pair is searched.
_BATCH = 256


class ScoredLoss(Protocol):
    """The methods of a loss that `ExhaustiveEdges` needs."""

    @property
    def drift(self) -> np.ndarray:
        """A non-decreasing value per variable: d_e s_e changes by at most half the total increase at its two ends."""
        ...

    def scores(self, pairs: np.ndarray) -> np.ndarray:
        """Return the score of each pair."""
        ...


class ExhaustiveEdges:
    """Scores of all pairs, stored with a bound on the change of each.

    If variable i has drifted by δ_i since pair e = {i, j} was scored, s_e is at most the old score plus
    (δ_i + δ_j) / (2 d_e). A pair whose bound is below the best score is not rescored. The result is exactly the same as
    if all pairs were rescored. Pairs (40 bytes each) are compared by s_e / c_e, with c_e from `weight`, or 1.
    """

    def __init__(
        self,
        cardinalities: np.ndarray,
        *,
        weight: Callable[[np.ndarray], np.ndarray] | None = None,
        allowed: Callable[[np.ndarray], np.ndarray] | None = None,
    ):
        n = len(cardinalities)
        pairs = np.stack(np.triu_indices(n, 1), axis=1).astype(np.int32)
        if allowed is not None:
            pairs = pairs[allowed(pairs.astype(np.int64))]
        self.n_tests = 0
        self._n = n
        self._pairs = pairs
        sizes = np.sqrt(cardinalities[pairs[:, 0]] * cardinalities[pairs[:, 1]].astype(float))
        self._weight = np.ones(len(pairs)) if weight is None else weight(pairs.astype(np.int64))
        self._reach = 0.5 / (sizes * self._weight)  # change of s_e / c_e per unit of drift
        # infinite: a pair without a score is never excluded by its bound
        self._scores = np.full(len(pairs), np.inf)
        self._seen = np.zeros(len(pairs))  # total drift of both ends when the pair was scored
        self._alive = np.ones(len(pairs), dtype=bool)

    def remove(self, pairs: np.ndarray) -> None:
        """Remove pairs (k, 2), for instance active ones; unknown pairs are ignored."""
        self._alive[self._positions(pairs)] = False

    def forget(self, pairs: np.ndarray) -> None:
        """Mark pairs (k, 2) to be rescored, regardless of the drift."""
        self._scores[self._positions(pairs)] = np.inf

    def _positions(self, pairs: np.ndarray) -> np.ndarray:
        ids = pairs[:, 0] * self._n + pairs[:, 1]
        numbers = self._pairs[:, 0].astype(np.int64) * self._n + self._pairs[:, 1]
        at = np.searchsorted(numbers, ids)
        known = at < len(numbers)
        known[known] = numbers[at[known]] == ids[known]
        return at[known]

    def find_violators(self, loss: ScoredLoss, lam: float) -> tuple[np.ndarray, np.ndarray]:
        """Return all pairs with s_e / c_e above `lam`, best first, and these ratios."""
        while True:
            bounds, stale = self._compute_bounds(loss)
            again = np.flatnonzero(stale & (bounds > lam))
            if not len(again):
                break
            self._score(loss, again)
        return self._list_above(lam)

    def find_best(self, loss: ScoredLoss, lam: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the pair with the largest s_e / c_e above `lam` and this ratio; empty arrays if there is none."""
        bounds, stale = self._compute_bounds(loss)
        known = max(lam, float(np.max(bounds[self._alive & ~stale], initial=lam)))
        again = np.flatnonzero(stale & (bounds > known))
        while len(again):
            now = again
            # pairs without a score are all scored at once: their bounds say nothing about the order
            if len(again) > _BATCH and np.isfinite(bounds[again]).all():
                now = again[np.argpartition(-bounds[again], _BATCH)[:_BATCH]]
            self._score(loss, now)
            bounds[now] = self._scores[now]
            stale[now] = False
            known = max(known, float(self._scores[now].max()))
            again = again[stale[again] & (bounds[again] > known)]
        bounds[stale] = -np.inf
        at = int(np.argmax(bounds)) if len(bounds) else 0
        if not len(bounds) or bounds[at] <= lam:
            return np.zeros((0, 2), dtype=np.int64), np.zeros(0)
        return self._pairs[at : at + 1].astype(np.int64), bounds[at : at + 1]

    def find_batch(self, loss: ScoredLoss, lam: float, alpha: float, limit: int) -> tuple[np.ndarray, np.ndarray]:
        """Return violators above (1 - alpha) mean + alpha max of all violators, no two of which share a variable."""
        pairs, ratios = self.find_violators(loss, lam)
        if not len(pairs):
            return pairs, ratios
        # rounding must not raise the threshold above the maximum: at least one pair is chosen
        least = min((1 - alpha) * ratios.mean() + alpha * ratios[0], ratios[0])
        n_above = int(np.searchsorted(-ratios, -least, side="right"))
        chosen = non_adjacent(pairs[:n_above], self._n, limit)
        return pairs[chosen], ratios[chosen]

    def _compute_bounds(self, loss: ScoredLoss) -> tuple[np.ndarray, np.ndarray]:
        """Return the bound of each pair, -inf if it was removed, and whether the score may have changed."""
        drift = np.asarray(loss.drift)
        moved = drift[self._pairs[:, 0]] + drift[self._pairs[:, 1]] - self._seen
        bounds = np.where(self._alive, self._scores + moved * self._reach, -np.inf)
        return bounds, self._alive & ((moved > 0) | ~np.isfinite(self._scores))

    def _score(self, loss: ScoredLoss, at: np.ndarray) -> None:
        pairs = self._pairs[at].astype(np.int64)
        drift = np.asarray(loss.drift)
        self._scores[at] = loss.scores(pairs) / self._weight[at]
        self._seen[at] = drift[pairs[:, 0]] + drift[pairs[:, 1]]
        self.n_tests += len(at)

    def _list_above(self, lam: float) -> tuple[np.ndarray, np.ndarray]:
        at = np.flatnonzero(self._alive & (self._scores > lam))
        at = at[np.lexsort((at, -self._scores[at]))]
        return self._pairs[at].astype(np.int64), self._scores[at]


class _PairSelector:
    """Base class of the selectors that score all pairs; subclasses choose from the scores."""

    is_exhaustive = True

    def __init__(self, edges: ExhaustiveEdges, tol: float):
        self._edges, self._tol = edges, tol

    @property
    def n_tests(self) -> int:
        """Scores of inactive pairs computed."""
        return self._edges.n_tests

    def find_largest_ratio(self, loss: PenalisedLoss) -> float:
        """Return the largest s_e / c_e of a loss without edges."""
        _, ratios = self._edges.find_best(self._scored(loss), 0.0)
        return float(ratios[0]) if len(ratios) else 0.0

    def _scored(self, loss: PenalisedLoss) -> ScoredLoss:
        return loss

    def mark_changed(self, variables: np.ndarray) -> None:
        """Do nothing: the drift of the loss bounds the change of the scores."""

    def state(self) -> dict[str, Any]:
        """Return the number of tests; the active edges determine the rest of the state."""
        return {"n_tests": self.n_tests}

    def restore(self, state: Snapshot | None, loss: PenalisedLoss) -> None:
        """Leave the active edges out."""
        self._restore_count(state)
        self._edges.remove(loss.edges)

    def _restore_count(self, state: Snapshot | None) -> None:
        if state is not None:
            state.check_names(self.state())
            self._edges.n_tests = state.integer("n_tests", 0)

    def _activate(self, pairs: np.ndarray, loss: PenalisedLoss) -> None:
        loss.activate(pairs)
        self._edges.remove(pairs)


class BestEdge(_PairSelector):
    """The pair that violates its optimality condition most, or a batch of pairs without common variables.

    A batch consists of violators above (1 - alpha) mean + alpha max of all violators' scores; None means one edge.
    """

    def __init__(self, edges: ExhaustiveEdges, tol: float, alpha: float | None = None):
        super().__init__(edges, tol)
        self._alpha = alpha

    def activate_next(self, loss: PenalisedLoss, limit: int, run: Run) -> int:
        """Activate the best edges and optimise around them."""
        if self._alpha is None:
            pairs, _ = self._edges.find_best(loss, loss.lam)
        else:
            pairs, _ = self._edges.find_batch(loss, loss.lam, self._alpha, limit)
        if len(pairs):
            self._activate(pairs, loss)
            loss.optimise(pairs, tol=loss.local_tol(self._tol), deadline=run.deadline)
        return len(pairs)


class BestFeature(_PairSelector):
    """The single parameter whose gradient violates its optimality condition most.

    The edges have variables of one state each, since a feature's score is not divided by the size of its table.
    `max_sweeps` limits the steps of each block around the new feature; 1 is grafting-light.
    """

    def __init__(self, edges: ExhaustiveEdges, tol: float, max_sweeps: int | None = None):
        super().__init__(edges, tol)
        self._max_sweeps = max_sweeps
        self._active: dict[tuple[int, int], list[tuple[int, int]]] = {}

    def _scored(self, loss: PenalisedLoss) -> ScoredLoss:
        return FeatureScores(loss, self._active)

    def activate_next(self, loss: PenalisedLoss, limit: int, run: Run) -> int:
        """Activate the best feature and optimise around it."""
        pairs, _ = self._edges.find_best(self._scored(loss), loss.lam)
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

    def restore(self, state: Snapshot | None, loss: PenalisedLoss) -> None:
        """Leave out the active features."""
        self._restore_count(state)
        for e, (i, j) in enumerate(loss.edges.tolist()):
            cells = loss.active_cells(e)
            self._active[i, j] = [(int(a), int(b)) for a, b in np.argwhere(cells)]
            if cells.all():
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


class WorkingSet(_PairSelector):
    """Violators in batches, best first, each batch twice as large; all active parameters are optimised.

    The tolerance is ten times as large until all violators are active.
    """

    def __init__(self, edges: ExhaustiveEdges, tol: float, first: int):
        super().__init__(edges, tol)
        self._size = first
        self._lam_before: float | None = None

    def activate_next(self, loss: PenalisedLoss, limit: int, run: Run) -> int:
        """Activate a batch and optimise everything; λ may have become smaller since the round before."""
        before = loss.lam if self._lam_before is None else self._lam_before
        # after a smaller λ, the sequential strong rule: s_e > 2 λ_new - λ_old
        violators, _ = self._edges.find_violators(loss, max(2 * loss.lam - before, 0.0))
        self._lam_before = loss.lam
        pairs = violators[: min(self._size, limit)]
        self._size *= 2
        if len(pairs):
            self._activate(pairs, loss)
            loss.optimise(tol=self._tol if len(pairs) == len(violators) else 10 * self._tol, deadline=run.deadline)
        return len(pairs)

    def state(self) -> dict[str, Any]:
        """Return the number of tests, and the size of the next batch."""
        # at most 2**62, since a checkpoint stores it as int64
        return {**super().state(), "size": min(self._size, 1 << 62)}

    def restore(self, state: Snapshot | None, loss: PenalisedLoss) -> None:
        """Leave the active edges out, and continue with the size of the next batch."""
        super().restore(state, loss)
        if state is not None:
            self._size = state.integer("size", 1)
            self._lam_before = loss.lam
