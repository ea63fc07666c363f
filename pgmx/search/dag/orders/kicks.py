"""Climbs over orders, again and again from where some variables were moved to random places."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import Any

import numpy as np

from pgmx._ext._dag_moves import ADD
from pgmx._ext._families import FamilyScorer
from pgmx._ext._order_climb import OrderClimb
from pgmx._ext._row_cache import CachedScorer, RowStore
from pgmx.runs.snapshot import Snapshot
from pgmx.scores.gains import source_of_rows
from pgmx.search.dag.course import Course, Stopped
from pgmx.search.dag.state import DagState

#: Variables that a kick moves.
KICK_SIZE = 8

#: Bytes of grow-shrink trees that are kept.
TREE_MEMORY = 1 << 28


#: Kicks of all starts times the rows of gains that the first climb takes: where parents are many, a kick costs more.
MOST_ROWS = 5_000_000

#: Rows of gains of each variable whose counts are kept for further rows.
ROWS_PER_VARIABLE = 8

#: Moves of one call of the kernel where `max_iter` sets no limit.
_MOST_MOVES = 1 << 60


class OrderSearch:
    """Climbs over orders, whose grow-shrink trees are kept from one to the next; `state` stays at its graph.

    The best graph goes to `course`. Searches of several threads share the rows in a `store`. A kick costs about as many
    rows of gains as it leads to new sets of parents.
    """

    def __init__(
        self, state: DagState, course: Course, *, required: np.ndarray, seed: int, store: RowStore | None = None
    ):
        source = source_of_rows(state.source)
        self._scorer: Any = source if isinstance(source, FamilyScorer) else None
        if store is not None:
            source = CachedScorer(source, store)
        self.state, self.course, self.seed, self._required = state, course, seed, required
        #: Kicks that `MOST_ROWS` leaves, infinite until the first climb, whose rows `count_kicks` takes.
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
        """Whether `MOST_ROWS` leaves kicks."""
        return self.kicks_left > 0

    def search(self, order: np.ndarray, number: int, *, patience: int) -> int:
        """Climb from start `number`, kick until `patience` kicks in a row led to no better order; return their number.

        An order that is as good is taken too, since it leads elsewhere. `MOST_ROWS` may end all kicks before. Kick j
        draws from ``[seed, number]`` and j, so that a search that is resumed goes on as it would have.
        """
        with self._for_orders():
            return self._search(order, number, patience)

    @contextmanager
    def _for_orders(self) -> Iterator[None]:
        """Let the scorer leave out additions that provably gain nothing, which the moves of a state ask for.

        It also keeps more tables, since a search over orders goes to and fro.
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
        """Climb from the present order, and take its graph if it is the best one, also where a limit ends the climb."""
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
        """Take the graph of the order as the best one if it is better."""
        if self.course.is_better(self._climb.score + self.state.offset):
            edges = self._climb.edges()
            self.course.offer(edges, self.state.score_graph(edges), 0)
