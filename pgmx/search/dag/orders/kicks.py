"""Climbs over orders, repeated after moving some variables to random positions (kicks)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import Any

import numpy as np

from pgmx._ext._dag_moves import ADD
from pgmx._ext._families import FamilyScorer
from pgmx._ext._order_climb import OrderClimb
from pgmx._ext._row_cache import CachedScorer, RowStore
from pgmx.runs.checkpoint import Snapshot
from pgmx.scores.gains import source_of_rows
from pgmx.search.dag.course import Course, Stopped
from pgmx.search.dag.state import DagState

#: Number of variables that a kick moves.
KICK_SIZE = 8

#: Largest size of the cached grow-shrink trees in bytes.
TREE_MEMORY = 1 << 28


#: Limit on the kicks of all starts times the rows of gains of the first climb: with many parents a kick costs more.
MOST_ROWS = 5_000_000

#: Rows of gains per variable whose counts are cached for further rows.
ROWS_PER_VARIABLE = 8

#: Moves per call of the kernel if `max_iter` is infinite.
_MOST_MOVES = 1 << 60


class OrderSearch:
    """Climbs over orders, which share their grow-shrink trees; `state` stays at its graph.

    `course` gets the best graph. Searches on several threads share the rows in a `store`. A kick costs about one row of
    gains per new parent set.
    """

    def __init__(
        self, state: DagState, course: Course, *, required: np.ndarray, seed: int, store: RowStore | None = None
    ):
        source = source_of_rows(state.source)
        self._scorer: Any = source if isinstance(source, FamilyScorer) else None
        if store is not None:
            source = CachedScorer(source, store)
        self.state, self.course, self.seed, self._required = state, course, seed, required
        #: Number of kicks that `MOST_ROWS` allows; infinite until `count_kicks` gets the rows of the first climb.
        self.kicks_left: float = inf
        self.count_kicks: Callable[[int], float] = lambda n_rows: MOST_ROWS // max(n_rows, 1)
        if not course.memo:
            course.mark_safe(state)  # moves of the first climb must not count twice
        self._climb = OrderClimb(
            source,
            state.gains,
            state.priority,
            required=required,
            bonus=state.bonus[ADD],
            least_gain=course.least_gain(),
            memory=TREE_MEMORY,
        )

    @property
    def may_kick(self) -> bool:
        """Whether `MOST_ROWS` allows further kicks."""
        return self.kicks_left > 0

    def search(self, order: np.ndarray, number: int, *, patience: int) -> int:
        """Climb from start `number`, and kick until `patience` consecutive kicks failed; return the number of kicks.

        An equally good order is accepted too, since it leads to new orders. `MOST_ROWS` may end the kicks earlier. Kick
        j draws from ``[seed, number]`` and j, so that a resumed search gives the same result.
        """
        with self._for_orders():
            return self._search(order, number, patience)

    @contextmanager
    def _for_orders(self) -> Iterator[None]:
        """Let the scorer skip additions that provably do not gain; only the moves of a state need them.

        It also caches more tables, since a search over orders returns to earlier families.
        """
        if self._scorer is None:
            yield
            return
        self._scorer.least_gain = self.course.least_gain() - self.state.bonus[ADD]
        self._scorer.keep_rows(ROWS_PER_VARIABLE)
        try:
            yield
        finally:
            self._scorer.least_gain = -inf
            self._scorer.keep_rows(1)

    def _search(self, order: np.ndarray, number: int, patience: int) -> int:
        course, climb = self.course, self._climb
        memo = course.read_memo("start", "order", "n_kicks", "idle", "best", "kicks_left")
        seed = int(np.random.SeedSequence([self.seed, 4, number]).generate_state(1, np.uint64)[0])
        n_kicks = idle = 0
        if memo:
            order = self._read_order(memo)
            n_kicks, idle = memo.integer("n_kicks", 0), memo.integer("idle", 0, patience)
            self.kicks_left = memo.integer("kicks_left", 0)
        climb.set_order(order)
        best = memo.number("best") if memo else -inf
        if not memo:
            self._improve()
            best = climb.score
            if self.kicks_left == inf:
                self.kicks_left = self.count_kicks(climb.n_rows)
        while idle < patience and self.may_kick and self.state.n > 2:
            if course.run.checkpoint is not None:
                course.mark_safe(
                    self.state,
                    start=number,
                    order=climb.order(),
                    n_kicks=n_kicks,
                    idle=idle,
                    best=best,
                    kicks_left=self.kicks_left,
                )
            course.check()
            climb.save()
            climb.kick(KICK_SIZE, (seed + n_kicks) % 2**64)
            self._improve()
            n_kicks += 1
            self.kicks_left -= 1
            idle = 0 if climb.score > best + course.least_gain() else idle + 1
            if climb.score < best - course.least_gain():
                climb.restore()
            best = max(best, climb.score)
        return n_kicks

    def _read_order(self, memo: Snapshot) -> np.ndarray:
        n = self.state.n
        order = memo.array("order", np.int64, (n,), least=0, most=n - 1)
        memo.check(len(set(order.tolist())) == n, "an order with a variable twice")
        rank = np.argsort(order)
        memo.check((rank[self._required[:, 0]] < rank[self._required[:, 1]]).all(), "an order against required arcs")
        return order

    def _improve(self) -> None:
        """Climb from the present order, and adopt its graph if it is the best, even if a limit ends the climb."""
        course = self.course
        limit = course.limits.max_iter - course.n_iter
        try:
            course.n_iter += self._climb.improve(_MOST_MOVES if limit == inf else max(int(limit), 0), course.check)
        except Stopped:
            self._offer()
            raise
        self._offer()
        course.check()

    def _offer(self) -> None:
        """Adopt the graph of the order if it is better than the best graph."""
        if self.course.is_better(self._climb.score + self.state.offset):
            edges = self._climb.edges()
            self.course.offer(edges, self.state.score_graph(edges), 0)
