"""Trials of blocks of nodes, many in one call of compiled code and on threads: find the first improvement."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from itertools import accumulate, chain
from time import perf_counter, thread_time

import numpy as np

from pgmx.parallel.threads import THREAD_PAYS, call_side_by_side
from pgmx.scores.gains import GainSource
from pgmx.search.dag.course import Course, Stopped
from pgmx.search.dag.state import DagState

#: Target seconds per call on a thread, and the smallest and largest number of trials per call.
_CALL_SECONDS, _FEWEST, _MOST = 0.02, 2, 128

#: Rows of gains per call, initially and at most; seconds per call above which this number is reduced.
_FIRST_ROWS, _MOST_ROWS, _LONG = 16, 1 << 10, 0.05


class End(Enum):
    """How the trials of a list ended: all failed, the next one succeeded, or the next one must be made alone."""

    FAILED, BETTER, UNKNOWN = range(3)


class BlockTrials:
    """Trials on a state whose source is compiled, and on copies of it, one per further thread.

    A trial removes all arcs at a block of nodes, except required ones, and climbs. It succeeds if the score exceeds the
    best score. Most trials fail, so that threads try later blocks before the result of earlier blocks is known.
    """

    def __init__(
        self, state: DagState, course: Course, make_source: Callable[[], GainSource], most_threads: Callable[[], int]
    ) -> None:
        self.state, self.course = state, course
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
        pays = self._seconds * self._n_per_thread > THREAD_PAYS
        return self._most_threads() if pays else 1

    def try_blocks(
        self, blocks: Sequence[Sequence[int]], meanwhile: Callable[[], None] = lambda: None
    ) -> tuple[int, End]:
        """Try blocks in order until one succeeds, and keep its graph; return the number of failures, and the end.

        The moves of all trials are counted, including those of the success. If other threads run trials, one thread
        first calls `meanwhile`, which may read the graph.
        """
        state, course = self.state, self.course
        if course.run.is_over():
            raise Stopped
        course.keep_best(state)
        states = [state, *self._bring_up_to_date(min(self._count_threads(), len(blocks)) - 1)]
        nodes = np.array(list(chain.from_iterable(blocks)), dtype=np.int32)
        begins = np.array([0, *accumulate(map(len, blocks))], dtype=np.int64)
        n_moves, success = np.zeros(len(blocks), dtype=np.int64), np.array([len(blocks)])
        better = course.best_score + 0.5e-12 * abs(course.best_score) - state.offset
        limits = (course.least_gain(), better, self._most_rows, n_moves, success)
        next_block = np.zeros(1, dtype=np.int64)

        def run(one: DagState) -> tuple[int, int, int, float]:
            if one is state and len(states) > 1:
                meanwhile()
            began = thread_time()
            return *one.moves.try_blocks(nodes, begins, next_block, *limits), thread_time() - began

        began = perf_counter()
        ends = call_side_by_side([partial(run, one) for one in states], self._seconds * len(blocks))
        seconds = perf_counter() - began
        stop = min([k for end in ends for k in end[:2] if k >= 0], default=len(blocks))
        # processor time, since other programs may use the processors too
        self._seconds = sum(end[3] for end in ends) / max(sum(end[2] for end in ends), 1)
        if seconds > _LONG:
            self._most_rows = max(self._most_rows // 2, 1)
        else:
            self._most_rows = min(2 * self._most_rows, _MOST_ROWS)
        return self._conclude(states, [end[0] for end in ends], n_moves, stop)

    def _conclude(self, states: list[DagState], winners: list[int], n_moves: np.ndarray, stop: int) -> tuple[int, End]:
        """Keep the first success in the state that found it, and undo all other trials."""
        course = self.course
        for one, winner in zip(states[1:], winners[1:], strict=True):
            if winner >= 0:
                one.undo()
        moves = n_moves[: stop + 1].tolist()
        left = course.limits.max_iter - course.n_iter
        cut = len(moves) if sum(moves) <= left else bisect_right(list(accumulate(moves)), left)  # by max_iter
        is_better = winners[0] == stop and cut > stop and course.is_better(states[0].score)
        if winners[0] >= 0 and not is_better:
            states[0].undo()
        stop = min(stop, cut)
        course.n_iter += sum(moves[: stop + is_better])
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
