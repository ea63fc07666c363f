"""The stream of edges that online edge grafting tests, and the rounds in which it activates some of them."""

from collections.abc import Callable
from math import inf
from time import perf_counter
from typing import Any

import numpy as np

from pgmx.search.edges.frozen import FrozenEdges, violation_offsets
from pgmx.search.edges.hubs import HubRule
from pgmx.search.edges.pair_queue import EdgeQueue
from pgmx.search.edges.random_pairs import ends_of, id_of
from pgmx.search.edges.reservoir import Reservoir
from pgmx.solvers.markov.penalised_loss import PenalisedLoss


class EdgeStream:
    """Tests edges in the order of their priorities, and offers the best of those that pass for activation.

    An edge passes when s_e > λ c_e, and goes into a reservoir; those that fail or leave it are frozen with the offsets
    v_e = 1 - s_e / (λ c_e), and return with these as priorities once all were tested and the model has changed
    (Chaabene and Huang, algorithms 2 to 4). An empty round proves that no edge violates its condition of optimality.
    """

    # Priorities: the smallest goes first, 0 for untested edges, in random order; up to 1 for refilled ones that failed,
    # below 0 for those that passed; 1 less for each end that became a hub meanwhile. Edges are scored in batches that
    # never hold an edge which one test after another would not reach; only `lookahead` edges, while the reservoir is
    # empty and the tests of the round are used up, may be scored ahead.

    def __init__(
        self,
        n_variables: int,
        *,
        reservoir_size: int,
        max_tests: int,
        alpha: float,
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
        self.penalty_weight = penalty_weight
        self.n_tests = 0
        self.degrees = np.zeros(n_variables, dtype=np.int64)
        self.queue = EdgeQueue(n_variables, mode=mode, seed=seed, allowed=allowed)
        self.reservoir = Reservoir(reservoir_size, n_variables)
        self.frozen = FrozenEdges()
        self.hub_rule = HubRule(n_variables, hub_threshold) if structure_heuristics else None
        self._filling, self._model_changed = True, False  # for the first time; since the last refill
        self._changed = np.zeros(n_variables, dtype=bool)  # ends of edges in the reservoir that need new scores

    def mark_changed(self, variables: np.ndarray) -> None:
        """Take note that an optimisation changed the conditionals of variables, int64: their edges get new scores."""
        if len(variables):
            self._changed[variables] = True
            self._model_changed = True

    def add_active(self, pairs: np.ndarray) -> None:
        """Take note that pairs, int64 (k, 2), became active otherwise: they are tested no more, and count for hubs."""
        ids = np.unique(id_of(pairs, self.n_variables))
        self.queue.exclude(ids)
        self.reservoir.discard(ids)
        self.frozen.discard(ids)
        self._count_edges(ends_of(ids, self.n_variables))

    def _count_edges(self, pairs: np.ndarray) -> None:
        if len(pairs):
            self.degrees += np.bincount(pairs.ravel(), minlength=self.n_variables)
            self._model_changed = True

    # ---- rounds ----

    def next_round(self, loss: PenalisedLoss, *, limit: int | None = None, deadline: float = inf) -> np.ndarray:
        """Test edges, choose at most `limit` of them for activation, and return these, int64 (m, 2).

        No two share a variable, the largest score is first, and they count as active from now on. There are none where
        no inactive edge passes, or after `deadline`, a reading of ``time.perf_counter``.
        """
        if limit is not None and limit <= 0:
            return np.empty((0, 2), dtype=np.int64)
        self._rescore_reservoir(loss)
        self._prefer_hubs()
        n_tests, ahead = 0, 1
        while True:
            wanted = self.reservoir.room if self._filling else self.max_tests - n_tests
            one_by_one = wanted <= 0 and not len(self.reservoir)
            if one_by_one:
                wanted, ahead = ahead, min(2 * ahead, self.lookahead)
            elif wanted <= 0:
                break
            if perf_counter() > deadline:
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
        """Test up to `wanted` edges, to the first that passes if `one_by_one`; return how many, 0 when none is left."""
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
        self._sort_out(ids, scores, penalties, passing, loss.lam)
        return count

    def _sort_out(self, ids, scores, penalties, passing, lam: float) -> None:
        """Offer the edges that passed to the reservoir, and freeze the others and those it gives up."""
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
        self.frozen.add(ids, violation_offsets(scores, penalties))

    def _rescore_reservoir(self, loss: PenalisedLoss) -> None:
        """Compute the scores in the reservoir that may have changed, and drop edges that no longer pass."""
        if not self._changed.any():
            return
        ids, scores = self.reservoir.items()
        which = np.flatnonzero(self._changed[ends_of(ids, self.n_variables)].any(axis=1))
        ids = np.sort(ids[which])
        self._changed[:] = False
        if not len(ids):
            return
        scores, penalties = self._scores(ids, loss), self._penalties(ids, loss.lam)
        self.reservoir.update(ids, scores)
        failing = ~(scores > penalties)
        if failing.any():
            self.reservoir.discard(ids[failing])
            self.frozen.add(ids[failing], violation_offsets(scores[failing], penalties[failing]))

    def _prefer_hubs(self) -> None:
        """Let the edges of new hubs be tested sooner (algorithm 2)."""
        hubs = np.empty(0, np.int64) if self.hub_rule is None else self.hub_rule.new_hubs(self.degrees)
        if len(hubs):
            self.queue.prefer(hubs)

    def _refill(self) -> bool:
        """Put the frozen edges back into the queue, if that can change anything."""
        if not self._model_changed or not len(self.frozen):
            return False
        self.queue.refill(*self.frozen.drain())
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
        """Return what `restore` needs beside the constructor's arguments, as arrays."""
        reserved, scores = self.reservoir.content()
        frozen, offsets = self.frozen.content()
        return {
            "n_tests": self.n_tests,
            "flags": np.array([self._filling, self._model_changed]),
            "degrees": self.degrees.copy(),
            "changed": self._changed.copy(),
            "reservoir_edges": reserved,
            "reservoir_scores": scores,
            "frozen_edges": frozen,
            "frozen_offsets": offsets,
            **self.queue.state(),
        }

    def restore(self, state: Any) -> None:
        """Go on from a state of a stream that was made with the same arguments."""
        self.n_tests = int(state["n_tests"])
        self._filling, self._model_changed = np.asarray(state["flags"]).tolist()
        self.degrees = np.array(state["degrees"], dtype=np.int64)
        self._changed = np.array(state["changed"], dtype=bool)
        self.reservoir = Reservoir(self.reservoir.capacity, self.n_variables)
        for edge, score in zip(state["reservoir_edges"].tolist(), state["reservoir_scores"].tolist(), strict=True):
            self.reservoir.offer(edge, score)
        self.frozen = FrozenEdges()
        self.frozen.add(state["frozen_edges"], state["frozen_offsets"])
        self.queue.restore(state)
        if self.hub_rule is not None:
            self.hub_rule.is_hub[:] = self.queue.partners.number >= 0
