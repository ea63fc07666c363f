"""Optimal reinsertion: remove all arcs of some nodes, and climb again.

A local optimum of single-arc moves often contains wrong arcs that only a joint change can correct: a node whose parents
matter only jointly, or siblings that are connected to each other instead of to their parents. Detaching a few nodes and
climbing again escapes such optima. A trial that does not raise the score is undone.

The operator is due to Moore and Wong (Optimal reinsertion, ICML 2003); a climb replaces their exhaustive step, and
blocks of several nodes are used. Between rounds covered arcs are reversed at random (Castelo and Kocka, On
inclusion-driven learning of Bayesian networks, JMLR 4, 2003, section 5).
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from itertools import accumulate, chain
from time import perf_counter, thread_time
from typing import Any

import numpy as np

from pgmx._ext._dag_moves import REVERSE
from pgmx.parallel.threads import THREAD_PAYS, call_in_parallel
from pgmx.runs.checkpoint import Snapshot
from pgmx.scores.gains import GainSource
from pgmx.search.dag.hill_climb import climb_on_trial
from pgmx.search.dag.state import DagState
from pgmx.search.dag.tracker import SearchTracker, StopSearch

#: Sizes of the small blocks, which are tried at every node.
BLOCK_SIZES = (1, 2)

#: Smallest and largest size of the larger blocks, which are drawn at random.
REGION_SIZES = (3, 6)

#: Further rounds of small blocks, each from another graph in the optimum's equivalence class.
N_MORE_ROUNDS = 1

#: Target seconds per call on a thread, and the smallest and largest number of trials per call.
_CALL_SECONDS, _FEWEST, _MOST = 0.02, 2, 128

#: Rows of gains per call, initially and at most; seconds per call above which this number is reduced.
_FIRST_ROWS, _MOST_ROWS, _LONG = 16, 1 << 10, 0.05


class Reinsertion:
    """Trials on one state, which is at the best graph before and after each of the two stages.

    `seed` determines the random order of the nodes, blocks and regions. The arcs in `required`, (k, 2), are never
    removed. `most_threads` returns the number of threads that may try blocks now. Cost: about two rows of gains per arc
    of a block. Most rows were computed before, so that the source of gains should cache them.
    """

    def __init__(
        self,
        state: DagState,
        tracker: SearchTracker,
        *,
        seed: int,
        required: np.ndarray | None = None,
        make_source: Callable[[], GainSource] | None = None,
        most_threads: Callable[[], int] = lambda: 1,
    ):
        self.state = state
        self.tracker = tracker
        self.seed = seed
        self._required = set() if required is None else {(int(tail), int(head)) for tail, head in required}
        self._trials: BlockTrials | None = None
        if state.is_compiled and make_source is not None:
            self._trials = BlockTrials(state, tracker, make_source, most_threads)
        self._regions: dict[int, list[int]] = {}  # regions drawn for the present graph, by number
        self._waiting = np.zeros((len(BLOCK_SIZES), state.n), dtype=bool)
        self._n_sweeps = self._position = 0
        self._size = 0  # block size of the present sweep, as a position in BLOCK_SIZES

    # ---- the two stages ----

    def reinsert_small_blocks(self) -> None:
        """Reinsert single nodes, then pairs of neighbours, until no trial improves the score.

        A node is tried again after an arc at it or at one of its neighbours changed. After all trials failed, covered
        arcs are reversed at random. This gives a Markov equivalent graph with other neighbours in the space of graphs.
        If a climb from it improves the score, the trials begin again.
        """
        memo = self._read_memo("rounds_left")
        rounds_left = memo.integer("rounds_left", 0, N_MORE_ROUNDS) if memo else N_MORE_ROUNDS
        if not memo:
            self._waiting[:] = True
        while True:
            self._sweep(rounds_left=rounds_left)
            if rounds_left == 0:
                return
            self._mark_safe(rounds_left=rounds_left)
            rounds_left -= 1
            self._try(partial(self._reverse_covered_arcs, np.random.default_rng([self.seed, 1, self._n_sweeps])))

    def reinsert_regions(self) -> None:
        """Reinsert connected blocks of three to six nodes, drawn at random.

        After each success the small blocks around it are tried. The stage ends after n consecutive failures, where n is
        the number of nodes.
        """
        memo = self._read_memo("n_tries", "idle_tries")
        n_tries = memo.integer("n_tries", 0) if memo else 0
        idle = memo.integer("idle_tries", 0, self.state.n) if memo else 0
        while True:
            self._sweep(n_tries=n_tries, idle_tries=idle)
            if idle >= self.state.n:
                return
            self._mark_safe(n_tries=n_tries, idle_tries=idle)
            n_blocks = min(self._n_at_once, self.state.n - idle)
            blocks = self._take_regions(n_tries, n_blocks)
            n_next = min(n_blocks, self.state.n - idle - n_blocks)
            draw_next = partial(self._draw_regions, n_tries + n_blocks, n_next)
            n_failed, is_better = self._try_blocks(blocks, meanwhile=draw_next)
            n_tries += n_failed + is_better
            idle = 0 if is_better else idle + n_failed

    # ---- trials ----

    def _sweep(self, **memo: Any) -> None:
        """Try all queued nodes, the smallest blocks first, in random orders."""
        n = self.state.n
        while self._waiting.any():
            # smallest blocks first: a trial costs about two rows of gains per arc of its block
            if self._position == 0:
                self._size = int(np.flatnonzero(self._waiting.any(axis=1))[0])
            size = self._size
            # a generator per sweep, so that a resumed search draws the same blocks
            # the second word separates the random numbers of the different parts of a search
            rng = np.random.default_rng([self.seed, 0, self._n_sweeps])
            order = rng.permutation(n)
            draws = rng.random((n, BLOCK_SIZES[size])).tolist()
            while self._position < n:
                is_waiting = self._waiting[size, order[self._position :]]
                places = (np.flatnonzero(is_waiting)[: self._n_at_once] + self._position).tolist()
                if not places:
                    break
                self._position = places[0]
                self._mark_safe(**memo)
                nodes = order[places].tolist()
                blocks = [self._draw_block(v, draws[i]) for v, i in zip(nodes, places, strict=True)]
                n_failed, is_better = self._try_blocks(blocks, size, nodes)
                self._position = places[n_failed + is_better - 1] + 1
            self._n_sweeps += 1
            self._position = 0

    @property
    def _n_at_once(self) -> int:
        """The number of blocks that are drawn before the first of them is tried."""
        return 1 if self._trials is None else self._trials.n_at_once

    def _try_blocks(
        self,
        blocks: list[list[int]],
        size: int = 0,
        nodes: Sequence[int] = (),
        meanwhile: Callable[[], None] = lambda: None,
    ) -> tuple[int, bool]:
        """Try blocks in order until one leads to a better graph; return the number of failures, and whether one did.

        The `nodes` of the blocks that were tried are no longer queued at `size`.
        """
        if self._trials is None:
            n_failed, end = 0, End.UNKNOWN
        else:
            n_failed, end = self._trials.try_blocks(blocks, meanwhile)
        n_tried = min(n_failed + 1, len(blocks))
        self._waiting[size, list(nodes[:n_tried])] = False
        if end is End.BETTER:
            self._accept()
        elif end is End.UNKNOWN and self._try(self._detach(blocks[n_failed])):
            end = End.BETTER
        if end is End.BETTER:
            return n_failed, True
        return n_tried, False

    def _try(self, change: Callable[[], int]) -> bool:
        """Change the graph and climb; keep the result if it is better than the best graph, else undo it."""
        state, tracker = self.state, self.tracker
        tracker.keep_best(state)
        state.mark()
        if change():
            try:
                climb_on_trial(state, tracker)
            except StopSearch:
                state.undo()
                state.moves.clear_tabu()
                raise
            if tracker.is_better(state.score):
                self._accept()
                return True
        state.undo()
        return False

    def _accept(self) -> None:
        """Keep the graph of a trial; the nodes near its changes are tried again."""
        self._regions.clear()
        variables = self.state.ends_since_mark()
        self.state.accept()
        self._enqueue_near(variables)
        self.tracker.record_graph(self.state)

    def _detach(self, block: list[int]) -> Callable[[], int]:
        return partial(self.state.detach, block, self._required)

    def _reverse_covered_arcs(self, rng: np.random.Generator) -> int:
        """Reverse random covered arcs, at most half the number of nodes; return the number of reversals."""
        n_reversed = 0
        # each reversal keeps the class, but changes which arcs are covered: the list is made again
        for _ in range(self.state.n // 2):
            covered = self.state.moves.covered_edges()
            if not len(covered):
                break
            tail, head = covered[rng.integers(len(covered))].tolist()
            if self.state.moves.is_legal(REVERSE, tail, head):
                self.state.make(REVERSE, tail, head)
                n_reversed += 1
        return n_reversed

    # ---- blocks ----

    def _neighbours(self, v: int) -> list[int]:
        return self.state.moves.neighbours_of(v)

    def _draw_block(self, v: int, draws: list[float]) -> list[int]:
        """Return a node and random neighbours of it, one fewer than the number of draws."""
        others = self._neighbours(v) if len(draws) > 1 else []
        block = [v]
        for draw in draws[1:]:
            if others:
                block.append(others.pop(int(draw * len(others))))
        return block

    def _draw_regions(self, first: int, n: int) -> None:
        """Draw regions of the present graph, which are used next unless the graph changes."""
        for number in range(first, first + n):
            self._regions[number] = self._draw_region(number)

    def _take_regions(self, first: int, n: int) -> list[list[int]]:
        """Return regions, each drawn once for the present graph."""
        missing = (number for number in range(first, first + n) if number not in self._regions)
        for number in list(missing):
            self._regions[number] = self._draw_region(number)
        return [self._regions.pop(number) for number in range(first, first + n)]

    def _draw_region(self, number: int) -> list[int]:
        """Grow a block of random size from a random node along random arcs."""
        rng = np.random.default_rng(np.array([self.seed, 2, number], dtype=np.uint32))  # faster than of a list
        size = int(rng.integers(REGION_SIZES[0], REGION_SIZES[1] + 1))
        block = [int(rng.integers(self.state.n))]
        rim = self._neighbours(block[0])
        while rim and len(block) < size:
            v = rim.pop(int(rng.integers(len(rim))))
            if v not in block:
                block.append(v)
                rim += [u for u in self._neighbours(v) if u not in block]
        return block

    # ---- queued nodes ----

    def _enqueue_near(self, variables: set[int]) -> None:
        near = variables.union(*map(self._neighbours, variables))
        self._waiting[:, list(near)] = True

    def _read_memo(self, *names: str) -> Snapshot | None:
        """Return the memo of the stage, and continue from its position among the nodes."""
        memo = self.tracker.read_memo("waiting", "n_sweeps", "position", "size", *names)
        if memo:
            self._waiting = memo.array("waiting", bool, self._waiting.shape)
            self._n_sweeps = memo.integer("n_sweeps", 0)
            self._position = memo.integer("position", 0, max(self.state.n - 1, 0))
            self._size = memo.integer("size", 0, len(BLOCK_SIZES) - 1)
        return memo

    def _mark_safe(self, **memo: Any) -> None:
        memo.update(n_sweeps=self._n_sweeps, position=self._position, size=self._size)
        self.tracker.mark_safe_point(self.state, waiting=self._waiting.copy(), **memo)


class End(Enum):
    """How the trials of a list ended: all failed, the next one succeeded, or the next one must be made alone."""

    FAILED, BETTER, UNKNOWN = range(3)


class BlockTrials:
    """Trials on a state whose source is compiled, and on copies of it, one per further thread.

    A trial removes all arcs at a block of nodes, except required ones, and climbs. It succeeds if the score exceeds the
    best score. Most trials fail, so that threads try later blocks before the result of earlier blocks is known.
    """

    def __init__(
        self,
        state: DagState,
        tracker: SearchTracker,
        make_source: Callable[[], GainSource],
        most_threads: Callable[[], int],
    ) -> None:
        self.state, self.tracker = state, tracker
        self._make_source, self._most_threads = make_source, most_threads
        self._copies: list[DagState] = []
        self._graphs: list[np.ndarray] = []  # graphs of the copies
        self._seconds, self._most_rows = 1e-3, _FIRST_ROWS

    @property
    def n_at_once(self) -> int:
        """The best number of blocks per call."""
        return self._count_threads() * self._n_per_thread

    @property
    def _n_per_thread(self) -> int:
        return int(min(max(_CALL_SECONDS / self._seconds, _FEWEST), _MOST))

    def _count_threads(self) -> int:
        # short calls are not worth a thread
        pays = self._seconds * self._n_per_thread > THREAD_PAYS
        return self._most_threads() if pays else 1

    def try_blocks(
        self, blocks: Sequence[Sequence[int]], meanwhile: Callable[[], None] = lambda: None
    ) -> tuple[int, End]:
        """Try blocks in order until one succeeds, and keep its graph; return the number of failures, and the end.

        The moves of all trials are counted, including those of the success. If other threads run trials, one thread
        first calls `meanwhile`, which may read the graph.
        """
        state, tracker = self.state, self.tracker
        if tracker.run.is_over():
            raise StopSearch
        tracker.keep_best(state)
        states = [state, *self._bring_up_to_date(min(self._count_threads(), len(blocks)) - 1)]
        nodes = np.array(list(chain.from_iterable(blocks)), dtype=np.int32)
        begins = np.array([0, *accumulate(map(len, blocks))], dtype=np.int64)
        n_moves, success = np.zeros(len(blocks), dtype=np.int64), np.array([len(blocks)])
        # half the margin of `is_better`, so that rounding in compiled code hides no success; `_conclude` decides
        better = tracker.best_score + 0.5e-12 * abs(tracker.best_score) - state.offset
        limits = (tracker.least_gain(), better, self._most_rows, n_moves, success)
        next_block = np.zeros(1, dtype=np.int64)

        def run(one: DagState) -> tuple[int, int, int, float]:
            if one is state and len(states) > 1:
                meanwhile()
            began = thread_time()
            return *one.moves.try_blocks(nodes, begins, next_block, *limits), thread_time() - began

        began = perf_counter()
        ends = call_in_parallel([partial(run, one) for one in states], self._seconds * len(blocks))
        seconds = perf_counter() - began
        stop = min([k for end in ends for k in end[:2] if k >= 0], default=len(blocks))
        # processor time, since other programs may use the processors too
        self._seconds = sum(end[3] for end in ends) / max(sum(end[2] for end in ends), 1)
        # fewer rows per call: between calls the time limit and Ctrl-C are checked
        if seconds > _LONG:
            self._most_rows = max(self._most_rows // 2, 1)
        else:
            self._most_rows = min(2 * self._most_rows, _MOST_ROWS)
        return self._conclude(states, [end[0] for end in ends], n_moves, stop)

    def _conclude(self, states: list[DagState], winners: list[int], n_moves: np.ndarray, stop: int) -> tuple[int, End]:
        """Keep the first success in the state that found it, and undo all other trials."""
        tracker = self.tracker
        # a success on a copy is undone; if it is the first, its trial is repeated on the state itself
        for one, winner in zip(states[1:], winners[1:], strict=True):
            if winner >= 0:
                one.undo()
        moves = n_moves[: stop + 1].tolist()
        left = tracker.limits.max_iter - tracker.n_iter
        cut = len(moves) if sum(moves) <= left else bisect_right(list(accumulate(moves)), left)  # by max_iter
        is_better = winners[0] == stop and cut > stop and tracker.is_better(states[0].score)
        if winners[0] >= 0 and not is_better:
            states[0].undo()
        stop = min(stop, cut)
        # moves of later trials do not count, so that the number does not depend on the threads
        tracker.n_iter += sum(moves[: stop + is_better])
        if is_better:
            return stop, End.BETTER
        return stop, End.FAILED if stop == len(n_moves) else End.UNKNOWN

    def _bring_up_to_date(self, n_copies: int) -> list[DagState]:
        """Return `n_copies` copies of the state."""
        if not n_copies:
            return []
        if len(self._copies) < n_copies:
            make = self.state.copy_maker(self._make_source)
            self._copies += [make() for _ in range(n_copies - len(self._copies))]
        edges = self.state.edges()
        self._graphs += [edges] * (len(self._copies) - len(self._graphs))
        for number, one in enumerate(self._copies[:n_copies]):
            if not np.array_equal(self._graphs[number], edges):
                one.reset(edges)
                one.moves.clear_tabu()
                self._graphs[number] = edges
        return self._copies[:n_copies]
