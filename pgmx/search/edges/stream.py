"""The stream of edges that online edge grafting tests, and the rounds in which it activates some of them."""

from collections.abc import Callable, Collection
from math import inf
from time import perf_counter
from typing import Any

import numpy as np

from pgmx.search.edges.events import EdgeEvents
from pgmx.search.edges.frozen import SMALLEST_PENALTY, FrozenEdges, violation_offsets
from pgmx.search.edges.hubs import HubRule
from pgmx.search.edges.pair_queue import EdgeQueue
from pgmx.search.edges.random_pairs import ends_of, id_of
from pgmx.search.edges.reservoir import Reservoir

__all__ = ["EdgeStream"]

_Score = Callable[[np.ndarray], np.ndarray]


class EdgeStream:
    r"""Tests edges in the order of their priorities, and offers the best of those that pass for activation.

    An edge e = {i, j} passes its test when :math:`s_e > \lambda c_e`. Edges that pass go into a reservoir of bounded
    size, which keeps the largest scores; the others, those that the reservoir gives up, and those of it that no longer
    pass after an optimisation are frozen with the offsets :math:`v_e = 1 - s_e / (\lambda c_e)`. When every edge was
    tested and the model has changed since, the frozen edges return with their offsets as priorities.

    Parameters
    ----------
    n_variables : int
        Number of variables n.
    reservoir_size : int
        Most edges in the reservoir, at least 1.
    max_tests : int
        Tests between two activations, at least 1. The first activation waits for a full reservoir instead, and a round
        goes on while the reservoir is empty.
    alpha : float
        From 0 (all edges of the reservoir that score at least the mean may be activated together) to 1 (the best one).
    lam : float
        The penalty λ >= 0, to be changed by :meth:`set_lam` alone.
    penalty_weight : callable, optional
        ``penalty_weight(pairs)`` -> c_e >= 0 of pairs, int64 (k, 2); None takes 1, infinity lets no edge pass.
    structure_heuristics : bool, default=True
        Whether the edges of a node get the priority -1 more when the node becomes a hub.
    hub_threshold : float, optional
        See :class:`pgmx.search.edges.hubs.HubRule`.
    mode : {"sampled", "all"}, default="sampled"
        Whether untested edges are worked out when they are wanted, so that nothing quadratic is stored, or all of them
        wait in the queue from the start; the results are the same.
    seed : int, default=0
        Chooses the random order of equal priorities.
    skip, candidates : callable or collection of (i, j), optional
        Pairs never to be tested, and the only ones to be: see :class:`pgmx.search.edges.pair_queue.EdgeQueue`.
    lookahead : int, default=1
        Most edges to be scored together while the reservoir is empty and the tests of the round are used up. The
        result is the same; a larger number costs scores that are not used, and saves calls.
    log : list, optional
        Gets the events that :class:`pgmx.search.edges.events.EdgeEvents` lists.

    Attributes
    ----------
    n_tests, n_tables, n_scores, n_refills : int
        Tests; different pairs tested; scores computed, those of the reservoir and of `lookahead` included; refills.
    exhausted : bool
        Whether the latest round was empty as no edge that it may test passes in the present model.
    interrupted : bool
        Whether the latest round was given up at its deadline.

    Notes
    -----
    The smallest priority goes first: 0 for untested edges, in random order; up to 1 for refilled ones that had failed,
    below 0 for those that had passed; 1 less for each end that became a hub meanwhile.
    See :class:`pgmx.search.edges.pair_queue.EdgeQueue`.
    The papers leave open when to stop: a refill would repeat tests of known outcome unless an activation, an
    optimisation or another penalty came after the last one, so only then there is one. An empty round therefore proves
    that no edge violates the condition of optimality. Edges are scored in batches that never hold an edge which one
    test after another would not reach.
    Cost: O(log m) a test with m edges in the queue, beside the score 1 to 4 microseconds in batches and some 15 alone;
    16 bytes an edge frozen, 50 an edge in the queue, nothing an edge untested in the mode "sampled".

    References
    ----------
    .. [1] Chaabene, W. & Huang, B. Best-choice edge grafting for efficient structure learning of Markov random fields,
       algorithms 2 to 4.
    .. [2] Chaabene, W. (2017). Thesis, Virginia Tech, algorithms 7 to 9 (all edges in the queue).

    Examples
    --------
    >>> strength = np.array([[0, 0.9, 0.1, 0.2], [0, 0, 0.8, 0.1], [0, 0, 0, 0.7], [0, 0, 0, 0]])
    >>> stream = EdgeStream(4, reservoir_size=4, max_tests=2, alpha=0.0, lam=0.15)
    >>> score = lambda pairs: strength[pairs[:, 0], pairs[:, 1]]
    >>> stream.next_round(score).tolist()
    [[0, 1], [2, 3]]
    >>> stream.rescore(np.arange(4))
    >>> stream.next_round(score).tolist(), stream.n_tables
    ([[1, 2]], 6)
    """

    def __init__(
        self,
        n_variables: int,
        *,
        reservoir_size: int,
        max_tests: int,
        alpha: float,
        lam: float,
        penalty_weight: Callable[[np.ndarray], np.ndarray] | None = None,
        structure_heuristics: bool = True,
        hub_threshold: float | None = None,
        mode: str = "sampled",
        seed: int = 0,
        skip: Callable[[np.ndarray], np.ndarray] | Collection | None = None,
        candidates: Collection | None = None,
        lookahead: int = 1,
        log: list | None = None,
    ):
        _check(max_tests=max_tests, alpha=alpha, lam=lam, lookahead=lookahead)
        self.n_variables = n_variables
        self.max_tests, self.alpha, self.lookahead = max_tests, alpha, lookahead
        self.lam = float(lam)
        self.penalty_weight = penalty_weight
        self.events = EdgeEvents(n_variables, log) if log is not None else None
        self.n_tests = self.n_tables = self.n_scores = self.n_refills = 0
        self.exhausted = self.interrupted = False
        self.degrees = np.zeros(n_variables, dtype=np.int64)
        self.queue = EdgeQueue(n_variables, mode=mode, seed=seed, skip=skip, candidates=candidates)
        self.reservoir = Reservoir(reservoir_size, n_variables)
        self.frozen = FrozenEdges()
        self.hub_rule = HubRule(n_variables, hub_threshold) if structure_heuristics else None
        self._filling, self._model_changed = True, False  # for the first time; since the last refill
        self._changed = np.zeros(n_variables, dtype=bool)  # ends of which edges in the reservoir are to be rescored
        self._recheck = False  # whether all of the reservoir still passes: the penalty has changed

    # ---- what the learner tells ----

    def set_lam(self, lam: float) -> None:
        """Go on with another penalty: offsets are converted, and every inactive edge may be tested again.

        Priorities of edges already in the queue stay as they are, as do activations.
        """
        _check(lam=lam)
        self.frozen.rescale(max(self.lam, SMALLEST_PENALTY) / max(lam, SMALLEST_PENALTY))
        self.lam = float(lam)
        self._model_changed, self._recheck, self.exhausted = True, True, False

    def rescore(self, changed: np.ndarray) -> None:
        """Tell which variables' conditionals an optimisation has changed.

        The next round computes the scores of the edges in the reservoir which have such an end, and drops edges that no
        longer pass.

        Parameters
        ----------
        changed : ndarray of int64, or bool of shape (n,)
            The variables.
        """
        changed = np.asarray(changed)
        if changed.dtype != bool:
            changed = changed.astype(np.int64, copy=False)
        if self._changed[changed].size:
            self._changed[changed] = True
            self._model_changed, self.exhausted = True, False

    def add_active(self, pairs: np.ndarray) -> None:
        """Tell that pairs, int64 (k, 2), became active otherwise: they are tested no more, and count for the hubs."""
        ids = np.unique(id_of(pairs, self.n_variables))
        self.queue.pass_over(ids)
        self.reservoir.discard(ids)
        self.frozen.discard(ids)
        self._count_edges(ends_of(ids, self.n_variables))

    def _count_edges(self, pairs: np.ndarray) -> None:
        if len(pairs):
            self.degrees += np.bincount(pairs.ravel(), minlength=self.n_variables)
            self._model_changed, self.exhausted = True, False

    # ---- a round ----

    def next_round(self, score: _Score, *, limit: int | None = None, deadline: float = inf) -> np.ndarray:
        """Test edges, and choose those to activate; they are taken as active from now on.

        Parameters
        ----------
        score : callable
            ``score(pairs)`` -> s_e of pairs int64 (k, 2), i < j, in the present model; float64 (k,), finite.
        limit : int, optional
            Most edges to activate; with 0 nothing is tested.
        deadline : float, default=inf
            Reading of ``time.perf_counter`` after which no further batch is scored; the round is then `interrupted`.

        Returns
        -------
        ndarray of shape (m, 2), int64
            Edges of which no two share a variable, largest score first; empty when the stream is `exhausted`, when the
            round was `interrupted`, or for ``limit=0``.

        Raises
        ------
        ValueError
            If a score is not finite, or there are not as many scores as pairs.
        """
        self.interrupted = False
        if limit is not None and limit <= 0:
            return np.empty((0, 2), dtype=np.int64)
        self._rescore_reservoir(score)
        self._prefer_hubs()
        n_tests, ahead = 0, 1
        while True:
            wanted = self.reservoir.room if self._filling else self.max_tests - n_tests
            one_by_one = wanted <= 0 and not len(self.reservoir)
            if one_by_one:
                wanted, ahead = ahead, min(2 * ahead, self.lookahead)
            elif wanted <= 0:
                break
            self.interrupted = perf_counter() > deadline
            if self.interrupted:
                return np.empty((0, 2), dtype=np.int64)
            tested = self._test_next(wanted, score, one_by_one)
            n_tests += tested
            if not tested and not self._refill():
                break
        self._filling = False
        edges, scores = self.reservoir.select(self.alpha, limit)
        self.reservoir.discard(edges)
        pairs = ends_of(edges, self.n_variables)
        self.exhausted = not len(pairs)
        self._count_edges(pairs)
        if self.events is not None:
            self.events.edges("activate", edges, scores)
        return pairs

    def _test_next(self, wanted: int, score: _Score, one_by_one: bool) -> int:
        """Test up to `wanted` edges, to the first that passes if `one_by_one`; return how many, 0 when none is left."""
        ids = self.queue.take(wanted)
        if not len(ids):
            return 0
        scores, penalties = self._scores(ids, score), self._penalties(ids)
        passed = np.flatnonzero(scores > penalties)
        count = int(passed[0]) + 1 if one_by_one and len(passed) else len(ids)
        if count < len(ids):
            self.queue.give_back(len(ids) - count)
            ids, scores, penalties, passed = ids[:count], scores[:count], penalties[:count], passed[:1]
        self.n_tests += count
        self.n_tables += count if not self.n_refills else 0
        self._sort_out(ids, scores, penalties, passed)
        return count

    def _sort_out(self, ids: np.ndarray, scores: np.ndarray, penalties: np.ndarray, passed: np.ndarray) -> None:
        """Offer the edges that passed to the reservoir, and freeze the others and those it gives up."""
        out, out_ids, out_scores = np.ones(len(ids), dtype=bool), ids, scores
        if len(passed):
            out_ids, out_scores, evicted, offer = ids.copy(), scores.copy(), [], self.reservoir.offer
            for k, edge, value in zip(passed.tolist(), ids[passed].tolist(), scores[passed].tolist(), strict=True):
                loser = offer(edge, value)
                if loser is None:
                    out[k] = False
                elif loser[0] != edge:
                    out_ids[k], out_scores[k] = loser
                    evicted.append(k)
            if evicted and self.penalty_weight is not None:
                penalties[evicted] = self._penalties(out_ids[evicted])
            out_ids, out_scores, penalties = out_ids[out], out_scores[out], penalties[out]
        offsets = violation_offsets(out_scores, penalties)
        self.frozen.add(out_ids, offsets)
        if self.events is not None:
            self.events.tests((ids, scores), out, (out_ids, out_scores, offsets))

    def _rescore_reservoir(self, score: _Score) -> None:
        """Bring the scores of the reservoir up to date and drop edges that no longer pass."""
        if not (self._recheck or self._changed.any()):
            return
        ids, scores = self.reservoir.items()
        touched = self._changed[ends_of(ids, self.n_variables)].any(axis=1)
        which = np.flatnonzero(touched | self._recheck)
        which = which[np.argsort(ids[which])]
        ids, scores, touched = ids[which], scores[which], touched[which]
        self._recheck = False
        self._changed[:] = False
        if touched.any():
            scores[touched] = self._scores(ids[touched], score)
            self.reservoir.update(ids[touched], scores[touched])
        penalties = self._penalties(ids)
        failed = ~(scores > penalties)
        if failed.any():
            ids, offsets = ids[failed], violation_offsets(scores[failed], penalties[failed])
            self.reservoir.discard(ids)
            self.frozen.add(ids, offsets)
            if self.events is not None:
                self.events.edges("drop", ids, scores[failed])
                self.events.edges("freeze", ids, offsets)

    def _prefer_hubs(self) -> None:
        """Let the edges of new hubs be tested sooner (algorithm 2)."""
        hubs = np.empty(0, np.int64) if self.hub_rule is None else self.hub_rule.new_hubs(self.degrees)
        if len(hubs):
            numbers = self.queue.prefer(hubs)
            if self.events is not None:
                self.events.hubs(hubs, numbers)

    def _refill(self) -> bool:
        """Put the frozen edges back into the queue, if that can change anything."""
        if not self._model_changed or not len(self.frozen):
            return False
        ids, offsets = self.frozen.drain()
        self.queue.refill(ids, offsets)
        self._model_changed, self.n_refills = False, self.n_refills + 1
        if self.events is not None:
            self.events.refill(len(ids))
        return True

    # ---- scores and penalties ----

    def _scores(self, ids: np.ndarray, score: _Score) -> np.ndarray:
        pairs = ends_of(ids, self.n_variables)
        scores = np.asarray(score(pairs), dtype=np.float64)
        self.n_scores += len(ids)
        if scores.shape != (len(ids),):
            raise ValueError(f"the score of {len(ids)} pairs has shape {scores.shape}: return one number a pair")
        if not np.isfinite(scores).all():
            bad = int(np.flatnonzero(~np.isfinite(scores))[0])
            raise ValueError(f"the pair {tuple(pairs[bad].tolist())} has the score {scores[bad]}: it must be finite")
        return scores

    def _penalties(self, ids: np.ndarray) -> np.ndarray:
        if self.penalty_weight is None:
            return np.full(len(ids), self.lam)
        weights = np.asarray(self.penalty_weight(ends_of(ids, self.n_variables)), dtype=np.float64)
        return np.where(np.isinf(weights), inf, self.lam * np.where(np.isinf(weights), 1.0, weights))

    # ---- checkpoints ----

    def state(self) -> dict[str, Any]:
        """Return all that :meth:`restore` needs beside the constructor's arguments, as arrays."""
        reserved, scores = self.reservoir.content()
        frozen, offsets = self.frozen.content()
        return {
            "options": self._options(),
            "lam": np.array(self.lam),
            "counters": np.array([self.n_tests, self.n_tables, self.n_scores, self.n_refills]),
            "flags": np.array([self._filling, self._model_changed, self._recheck, self.exhausted]),
            "degrees": self.degrees.copy(),
            "changed": self._changed.copy(),
            "reservoir_edges": reserved,
            "reservoir_scores": scores,
            "frozen_edges": frozen,
            "frozen_offsets": offsets,
            **self.queue.state(),
        }

    def restore(self, state: Any) -> None:
        """Go on from a state of a stream that was made with the same arguments.

        Raises
        ------
        ValueError
            If the state is of another stream.
        """
        if str(state["options"]) != str(self._options()):
            raise ValueError(
                f"the state is of the stream {state['options']}, this is {self._options()}: give it the same options"
            )
        self.lam = float(state["lam"])
        self.n_tests, self.n_tables, self.n_scores, self.n_refills = np.asarray(state["counters"]).tolist()
        self._filling, self._model_changed, self._recheck, self.exhausted = np.asarray(state["flags"]).tolist()
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

    def _options(self) -> np.ndarray:
        heuristics = "hubs" if self.hub_rule is not None else "no hubs"
        options = (
            self.n_variables,
            self.queue.mode,
            self.queue.seed,
            self.reservoir.capacity,
            self.max_tests,
            heuristics,
        )
        return np.array(" ".join(map(str, options)))


def _check(**options) -> None:
    """Refuse options out of range."""
    for name, value in options.items():
        if name in ("max_tests", "lookahead") and not value >= 1:
            raise ValueError(f"{name}={value} leaves nothing to test: 1 is the least")
        if name == "alpha" and not 0.0 <= value <= 1.0:
            raise ValueError(f"alpha={value} is out of range: give a number from 0 to 1")
        if name == "lam" and not 0.0 <= value < inf:
            raise ValueError(f"lam={value} is no penalty: give a finite number, 0 or more")
