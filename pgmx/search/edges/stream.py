"""The stream of edges that online edge grafting tests, and the rounds in which it activates some of them.

The best edges that passed their test wait in a reservoir.
"""

from collections.abc import Callable
from math import fsum, inf
from typing import Any

import numpy as np

from pgmx._ext._edge_heap import EdgeHeap, non_adjacent
from pgmx.runs.checkpoint import Snapshot
from pgmx.runs.run import Run, is_past
from pgmx.search.edges.pair_queue import EdgeQueue
from pgmx.search.edges.random_pairs import RandomPairs, ends_of, id_of
from pgmx.solvers.markov.penalised_loss import PenalisedLoss

#: Smallest number of edges of a graph with hubs.
LEAST_EDGES = 16

#: Largest number of pairs that are scored to find the largest penalty.
MOST_PAIRS = 20_000_000
_BLOCK = 1 << 16

#: Fields of a snapshot of a stream, in addition to its queue.
_STATE = (
    "n_tests",
    "flags",
    "degrees",
    "changed",
    "reservoir_edges",
    "reservoir_scores",
)

#: Replaces a penalty of zero in divisions: so small that its violations exceed all others.
SMALLEST_PENALTY = 2.0**-512


class Reservoir:
    """The best-scored edges of a stream, at most `capacity`; an edge {i, j}, i < j, has the id i n + j.

    A full reservoir replaces its edge of smallest score by an offered edge of larger score. Ties are broken by the id:
    smaller ids are kept longer and chosen sooner. Finding the smallest score costs O(1), a change O(log capacity), a
    choice O(capacity log capacity). See Chaabene and Huang, section 3.1.1 and algorithm 3.
    """

    def __init__(self, capacity: int, n_variables: int):
        self.capacity = capacity
        self.n_variables = n_variables
        self._heap = EdgeHeap()  # by score; ties by the largest id

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def room(self) -> int:
        """Number of edges that can still be added."""
        return self.capacity - len(self._heap)

    def offer(self, edge: int, score: float) -> tuple[int, float] | None:
        """Add a new edge if its score is large enough.

        Returns the rejected edge and its score: the former minimum or the offered edge; None if there was room.
        """
        heap = self._heap
        if len(heap) < self.capacity:
            heap.push(edge, score, -edge)
            return None
        if not heap.peek()[1] < score:
            return edge, score
        evicted = heap.pop()
        heap.push(edge, score, -edge)
        return evicted

    def update(self, edges: np.ndarray, scores: np.ndarray) -> None:
        """Set new scores of edges in the reservoir."""
        for edge, score in zip(edges.tolist(), scores.tolist(), strict=True):
            self._heap.change(edge, score)

    def discard(self, edges: np.ndarray) -> None:
        """Remove edges; missing edges are ignored."""
        for edge in edges.tolist():
            self._heap.discard(edge)

    def content(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the edges, int64, and their scores, largest score first, ties by id."""
        return _rank(*self.items(), slice(None))

    def items(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the edges, int64, and their scores, in no particular order."""
        return self._heap.items()[:2]

    def select(self, alpha: float, limit: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return edges to activate, at most `limit`, and their scores; they stay in the reservoir.

        They are chosen from the largest score down to `activation_threshold`, ties by id, such that no two share a
        variable.
        """
        edges, scores = self.items()
        if not len(edges):
            return edges, scores
        edges, scores = _rank(edges, scores, scores >= activation_threshold(scores, alpha))
        limit = len(edges) if limit is None else limit
        chosen = non_adjacent(ends_of(edges, self.n_variables), self.n_variables, limit)
        return edges[chosen], scores[chosen]


def _rank(edges: np.ndarray, scores: np.ndarray, which) -> tuple[np.ndarray, np.ndarray]:
    """Return some of the edges and their scores, largest score first, ties by id."""
    edges, scores = edges[which], scores[which]
    order = np.lexsort((edges, -scores))
    return edges[order], scores[order]


def activation_threshold(scores: np.ndarray, alpha: float) -> float:
    """Return (1 - alpha) mean + alpha max of the scores in a reservoir."""
    largest = float(scores.max())
    if alpha == 1.0:
        return largest
    mean = fsum(scores.tolist()) / len(scores)  # exact, so that it does not depend on the order of the heap
    # Rounding must not raise the threshold above the maximum: at least one edge is always chosen.
    return min((1.0 - alpha) * mean + alpha * largest, largest)


def violation_offsets(scores: np.ndarray, penalties: np.ndarray) -> np.ndarray:
    """Return the priorities v_e = 1 - s_e / (λ c_e) of edges with given scores and penalties for the next pass.

    They are in [0, 1] for an edge that fails its test, below 0 for an edge that passes; smaller values are tested
    sooner. A penalty of 0 is replaced by 2**-512: such edges come before all others, by decreasing scores, and steps of
    1 in the priorities have no effect on them.
    """
    return 1.0 - scores / np.maximum(penalties, SMALLEST_PENALTY)


class EdgeStream:
    """Tests edges in the order of their priorities, and activates the best edges that pass.

    An edge passes if s_e > λ c_e, and enters a reservoir. Edges that fail or leave the reservoir are frozen with the
    offsets v_e = 1 - s_e / (λ c_e). They return with these priorities when all edges were tested and the model has
    changed (Chaabene and Huang, algorithms 2 to 4). An empty round proves that all edges are optimal.
    """

    is_exhaustive = False

    # Priorities: the smallest is tested first. Untested edges have 0, in random order; refilled edges that failed have
    # up to 1, edges that passed below 0; minus 1 for each end that has become a hub. A batch of scores contains only
    # edges that sequential tests would reach. The exception are `lookahead` edges, which may be scored early while the
    # reservoir is empty and the tests of the round are used up.

    def __init__(
        self,
        n_variables: int,
        *,
        reservoir_size: int,
        max_tests: int,
        alpha: float,
        tol: float,
        penalty_weight: Callable[[np.ndarray], np.ndarray] | None = None,
        structure_heuristics: bool = True,
        hub_threshold: float | None = None,
        mode: str = "sampled",
        seed: int = 0,
        allowed: Callable[[np.ndarray], np.ndarray] | None = None,
        lookahead: int = 1,
    ):
        self.n_variables = n_variables
        self.max_tests, self.alpha, self.lookahead = max_tests, alpha, lookahead
        self.penalty_weight, self._tol = penalty_weight, tol
        self.n_tests = 0  # scores of inactive pairs, without those in the reservoir and those scored early
        self.degrees = np.zeros(n_variables, dtype=np.int64)
        self.queue = EdgeQueue(n_variables, mode=mode, seed=seed, allowed=allowed)
        self.reservoir = Reservoir(reservoir_size, n_variables)
        self.structure_heuristics, self.hub_threshold = structure_heuristics, hub_threshold
        self._filling, self._model_changed = True, False  # first filling; change since the last refill
        self._changed = np.zeros(n_variables, dtype=bool)  # ends of edges in the reservoir that need new scores

    def mark_changed(self, variables: np.ndarray) -> None:
        """Record that an optimisation changed the conditionals of variables, int64: their edges are rescored."""
        if len(variables):
            self._changed[variables] = True
            self._model_changed = True

    def add_active(self, pairs: np.ndarray) -> None:
        """Record that pairs, int64 (k, 2), became active elsewhere: they are no longer tested, and count for hubs."""
        ids = np.unique(id_of(pairs, self.n_variables))
        self.queue.exclude(ids)
        self.reservoir.discard(ids)
        self._count_edges(ends_of(ids, self.n_variables))

    def _count_edges(self, pairs: np.ndarray) -> None:
        if len(pairs):
            self.degrees += np.bincount(pairs.ravel(), minlength=self.n_variables)
            self._model_changed = True

    def find_largest_ratio(self, loss: PenalisedLoss) -> float:
        """Return the largest s_e / c_e of a loss without edges; raise a ValueError for too many pairs."""
        n, weight, excluded = self.n_variables, self.penalty_weight, self.queue.excluded
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

    # ---- rounds ----

    def activate_next(self, loss: PenalisedLoss, limit: int, run: Run) -> int:
        """Activate at most `limit` edges and optimise around them; return their number."""
        pairs = self.choose_edges(loss, limit=limit, deadline=run.deadline)
        if len(pairs):
            loss.activate(pairs)
            self.mark_changed(loss.optimise(pairs, tol=loss.local_tol(self._tol), deadline=run.deadline))
        return len(pairs)

    def choose_edges(self, loss: PenalisedLoss, *, limit: int | None = None, deadline: float = inf) -> np.ndarray:
        """Test edges, choose at most `limit` of them for activation, and return these, int64 (m, 2).

        No two share a variable, the largest score is first, and they count as active from now on. The result is empty
        if no inactive edge passes, or after `deadline`, a value of ``time.perf_counter``.
        """
        if limit is not None and limit <= 0:
            return np.empty((0, 2), dtype=np.int64)
        self._rescore_reservoir(loss)
        self._prioritise_hubs()
        n_tests, ahead = 0, 1
        while True:
            wanted = self.reservoir.room if self._filling else self.max_tests - n_tests
            # without any edge that passed, tests continue beyond `max_tests` until one passes
            one_by_one = wanted <= 0 and not len(self.reservoir)
            if one_by_one:
                wanted, ahead = ahead, min(2 * ahead, self.lookahead)
            elif wanted <= 0:
                break
            if is_past(deadline):
                return np.empty((0, 2), dtype=np.int64)
            tested = self._test_next(wanted, loss, one_by_one)
            n_tests += tested
            if not tested and not self._refill():
                break
        self._filling = False
        edges, _ = self.reservoir.select(self.alpha, limit)
        self.reservoir.discard(edges)
        pairs = ends_of(edges, self.n_variables)
        self._count_edges(pairs)
        return pairs

    def _test_next(self, wanted: int, loss: PenalisedLoss, one_by_one: bool) -> int:
        """Test up to `wanted` edges, or until one passes if `one_by_one`; return their number, 0 if none is left."""
        ids = self.queue.take(wanted)
        if not len(ids):
            return 0
        scores, penalties = self._scores(ids, loss), self._penalties(ids, loss.lam)
        passing = np.flatnonzero(scores > penalties)
        count = int(passing[0]) + 1 if one_by_one and len(passing) else len(ids)
        if count < len(ids):
            self.queue.put_back(len(ids) - count)
            ids, scores, penalties, passing = ids[:count], scores[:count], penalties[:count], passing[:1]
        self.n_tests += count
        self._store_tested(ids, scores, penalties, passing, loss.lam)
        return count

    def _store_tested(self, ids, scores, penalties, passing, lam: float) -> None:
        """Offer the edges that passed to the reservoir, and freeze all others and those that the reservoir rejects."""
        if len(passing):
            out, ids, scores, evicted = np.ones(len(ids), dtype=bool), ids.copy(), scores.copy(), []
            offers = zip(passing.tolist(), ids[passing].tolist(), scores[passing].tolist(), strict=True)
            for k, edge, score in offers:
                loser = self.reservoir.offer(edge, score)
                if loser is None:
                    out[k] = False
                elif loser[0] != edge:
                    ids[k], scores[k] = loser
                    evicted.append(k)
            if evicted and self.penalty_weight is not None:
                penalties[evicted] = self._penalties(ids[evicted], lam)
            ids, scores, penalties = ids[out], scores[out], penalties[out]
        self.queue.freeze(ids, violation_offsets(scores, penalties))

    def _rescore_reservoir(self, loss: PenalisedLoss) -> None:
        """Recompute the scores in the reservoir that may have changed, and drop edges that no longer pass."""
        if not self._changed.any():
            return
        ids, scores = self.reservoir.items()
        which = np.flatnonzero(self._changed[ends_of(ids, self.n_variables)].any(axis=1))
        # sorted, so that the order of scores does not depend on the heap
        ids = np.sort(ids[which])
        self._changed[:] = False
        if not len(ids):
            return
        scores, penalties = self._scores(ids, loss), self._penalties(ids, loss.lam)
        self.reservoir.update(ids, scores)
        failing = ~(scores > penalties)
        if failing.any():
            self.reservoir.discard(ids[failing])
            self.queue.freeze(ids[failing], violation_offsets(scores[failing], penalties[failing]))

    def _prioritise_hubs(self) -> None:
        """Raise the priority of the edges of new hubs (algorithm 2)."""
        if self.structure_heuristics:
            hubs = find_new_hubs(self.degrees, self.queue.partners.number >= 0, self.hub_threshold)
            if len(hubs):
                self.queue.prioritise(hubs)

    def _refill(self) -> bool:
        """Return the frozen edges to the queue, if that can have an effect."""
        if not self._model_changed or not self.queue.tested.n_frozen:
            return False
        self.queue.begin_pass()
        self._model_changed = False
        return True

    # ---- scores and penalties ----

    def _scores(self, ids: np.ndarray, loss: PenalisedLoss) -> np.ndarray:
        pairs = ends_of(ids, self.n_variables)
        scores = loss.scores(pairs)
        if not np.isfinite(scores).all():
            bad = int(np.flatnonzero(~np.isfinite(scores))[0])
            raise ValueError(f"the pair {tuple(pairs[bad].tolist())} has the score {scores[bad]}: it must be finite")
        return scores

    def _penalties(self, ids: np.ndarray, lam: float) -> np.ndarray:
        if self.penalty_weight is None:
            return np.full(len(ids), lam)
        weights = self.penalty_weight(ends_of(ids, self.n_variables))
        return np.where(np.isinf(weights), inf, lam * np.where(np.isinf(weights), 1.0, weights))

    # ---- checkpoints ----

    def state(self) -> dict[str, Any]:
        """Return the arrays for `restore`, in addition to the constructor's arguments."""
        reserved, scores = self.reservoir.content()
        return {
            "n_tests": self.n_tests,
            "flags": np.array([self._filling, self._model_changed]),
            "degrees": self.degrees.copy(),
            "changed": self._changed.copy(),
            "reservoir_edges": reserved,
            "reservoir_scores": scores,
            **{f"queue_{name}": value for name, value in self.queue.state().items()},
        }

    def restore(self, state: Snapshot | None, loss: PenalisedLoss) -> None:
        """Continue from the state of a stream with the same arguments, or begin with the active edges of the loss."""
        if state is None:
            self.add_active(loss.edges)
            return
        queue = state.take_part("queue_")
        state.check_names(_STATE)
        n, edges = self.n_variables, loss.edges
        self.n_tests = state.integer("n_tests", 0)
        self._filling, self._model_changed = state.array("flags", bool, (2,)).tolist()
        self.degrees = state.array("degrees", np.int64, (n,))
        state.check((self.degrees == np.bincount(edges.ravel(), minlength=n)).all(), "other degrees than its edges")
        self._changed = state.array("changed", bool, (n,))
        reserved = state.array("reservoir_edges", np.int64, (None,), least=0, most=n * n - 1, distinct=True)
        scores = state.array("reservoir_scores", float, reserved.shape, least=0.0)
        state.check(len(reserved) <= self.reservoir.capacity, "more edges in the reservoir than it may hold")
        self.reservoir = Reservoir(self.reservoir.capacity, n)
        for edge, score in zip(reserved.tolist(), scores.tolist(), strict=True):
            self.reservoir.offer(edge, score)
        self.queue.restore(queue, np.concatenate([id_of(edges, n), reserved]))


def find_new_hubs(
    degrees: np.ndarray, is_hub: np.ndarray, threshold: float | None, least_edges: int = LEAST_EDGES
) -> np.ndarray:
    """Return the nodes, ascending, whose degree centrality |N_i| / (n - 1) newly exceeds the threshold.

    None is the mean centrality (the papers leave it open). A hub remains a hub. There is no hub before the graph has
    `least_edges` edges.
    """
    n_variables, total = len(degrees), int(degrees.sum())
    if total < 2 * least_edges:
        return np.empty(0, dtype=np.int64)
    # the mean in integers, so that a graph of equal degrees has no hub
    above = degrees * n_variables > total if threshold is None else degrees > threshold * (n_variables - 1)
    return np.flatnonzero(above & ~is_hub)
