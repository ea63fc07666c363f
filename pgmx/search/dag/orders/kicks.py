"""Search over the orders of the variables: each variable gets its best parents among its predecessors.

A climb over orders is repeated after moving some variables to random positions (kicks). `RandomStarts` searches from
several random orders on threads, with the same result and history as a sequential search.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from functools import partial
from heapq import heapify, heappop, heappush
from math import inf
from threading import Event
from typing import Any, NamedTuple, cast

import numpy as np

from pgmx._ext._dag_moves import ADD
from pgmx._ext._families import FamilyScorer
from pgmx._ext._order_climb import OrderClimb
from pgmx._ext._row_cache import CachedScorer, RowStore
from pgmx.parallel.tasks import in_order
from pgmx.parallel.threads import run_on_threads
from pgmx.runs.checkpoint import Snapshot
from pgmx.runs.progress import SearchProgress
from pgmx.runs.run import Run
from pgmx.scores.gains import source_of_rows
from pgmx.search.dag.state import ClimbLimits, DagProblem, DagState
from pgmx.search.dag.tracker import SearchTracker, StopSearch

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

#: Times the patience, the kicks of all starts from which later ones are searched before the earlier ones have ended.
FEWEST_KICKS = 8


def sort_topologically(n: int, edges: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """Return the order of the variables, int64 (n,), in which arcs lead forward and the smallest `rank` is first."""
    n_parents = np.bincount(edges[:, 1], minlength=n).tolist()
    children: list[list[int]] = [[] for _ in range(n)]
    for tail, head in edges.tolist():
        children[tail].append(head)
    ready = [(int(rank[v]), v) for v in range(n) if n_parents[v] == 0]
    heapify(ready)
    order = []
    while ready:
        _, v = heappop(ready)
        order.append(v)
        for child in children[v]:
            n_parents[child] -= 1
            if n_parents[child] == 0:
                heappush(ready, (int(rank[child]), child))
    return np.array(order, dtype=np.int64)


def draw_order(n: int, required: np.ndarray, seed: int, number: int) -> np.ndarray:
    """Return the random order with index `number`, in which the arcs in `required` lead forward."""
    return sort_topologically(n, required, np.random.default_rng([seed, 3, number]).permutation(n))


class OrderSearch:
    """Climbs over orders, which share their grow-shrink trees; `state` stays at its graph.

    `tracker` gets the best graph. Searches on several threads share the rows in a `store`. A kick costs about one row
    of gains per new parent set.
    """

    def __init__(
        self, state: DagState, tracker: SearchTracker, *, required: np.ndarray, seed: int, store: RowStore | None = None
    ):
        source = source_of_rows(state.source)
        self._scorer: Any = source if isinstance(source, FamilyScorer) else None
        if store is not None:
            source = CachedScorer(source, store)
        self.state, self.tracker, self.seed, self._required = state, tracker, seed, required
        #: Number of kicks that `MOST_ROWS` allows; infinite until `count_kicks` gets the rows of the first climb.
        self.kicks_left: float = inf
        self.count_kicks: Callable[[int], float] = lambda n_rows: MOST_ROWS // max(n_rows, 1)
        if not tracker.memo:
            tracker.mark_safe_point(state)  # moves of the first climb must not count twice
        self._climb = OrderClimb(
            source,
            state.gains,
            state.priority,
            required=required,
            bonus=state.bonus[ADD],
            least_gain=tracker.least_gain(),
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
        self._scorer.least_gain = self.tracker.least_gain() - self.state.bonus[ADD]
        self._scorer.keep_rows(ROWS_PER_VARIABLE)
        try:
            yield
        finally:
            self._scorer.least_gain = -inf
            self._scorer.keep_rows(1)

    def _search(self, order: np.ndarray, number: int, patience: int) -> int:
        tracker, climb = self.tracker, self._climb
        memo = tracker.read_memo("start", "order", "n_kicks", "idle", "best", "kicks_left")
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
        # two variables have only two orders, which the first climb compares
        while idle < patience and self.may_kick and self.state.n > 2:
            if tracker.run.checkpoint is not None:
                tracker.mark_safe_point(
                    self.state,
                    start=number,
                    order=climb.order(),
                    n_kicks=n_kicks,
                    idle=idle,
                    best=best,
                    kicks_left=self.kicks_left,
                )
            tracker.check()
            climb.save()
            # one word per kick, so that a resumed search makes the same kicks
            climb.kick(KICK_SIZE, (seed + n_kicks) % 2**64)
            self._improve()
            n_kicks += 1
            self.kicks_left -= 1
            idle = 0 if climb.score > best + tracker.least_gain() else idle + 1
            if climb.score < best - tracker.least_gain():
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
        tracker = self.tracker
        limit = tracker.limits.max_iter - tracker.n_iter
        try:
            tracker.n_iter += self._climb.improve(_MOST_MOVES if limit == inf else max(int(limit), 0), tracker.check)
        except StopSearch:
            self._offer()
            raise
        self._offer()
        tracker.check()

    def _offer(self) -> None:
        """Adopt the graph of the order if it is better than the best graph."""
        if self.tracker.is_better(self._climb.score + self.state.offset):
            # scored again by the state: the sum of the climb has other rounding errors
            edges = self._climb.edges()
            self.tracker.offer(edges, self.state.score_graph(edges), 0)


class Improvement(NamedTuple):
    """A graph that improved the best score of a start, and the number of moves until then."""

    climb_score: float
    score: float
    edges: np.ndarray
    n_moves: int


class Start(NamedTuple):
    """The result of the search from one random order; the number of kicks is infinite if it was given up."""

    improvements: list[Improvement]
    n_moves: int
    n_kicks: float
    finished: bool


class _TooFewKicks(Exception):
    """Earlier starts may need all kicks."""


class _StartTracker(SearchTracker):
    """The tracker of one start, which begins with the best score of another tracker and lists its improvements."""

    def __init__(self, limits: ClimbLimits, best_score: float, wall_deadline: float):
        super().__init__(limits, Run.from_wall_deadline(SearchProgress, wall_deadline))
        self.best_score = best_score
        self.improvements: list[Improvement] = []
        self._climb_score = -inf

    def is_better(self, score: float) -> bool:
        self._climb_score = score
        return super().is_better(score)

    def offer(self, edges: np.ndarray, score: float, n_moves: int) -> None:
        self.n_iter += n_moves
        if self.adopt(edges, score):
            self.improvements.append(Improvement(self._climb_score, score, edges, self.n_iter))


class RandomStarts:
    """Searches from random orders: `orders` on this thread, and a further search per additional thread.

    All share the rows of gains in `store`. The first climb of start 0 determines the number of kicks.
    """

    def __init__(self, problem: DagProblem, orders: OrderSearch, store: RowStore, *, patience: int):
        tracker = orders.tracker
        self.problem, self.tracker, self.orders, self.patience = problem, tracker, orders, patience
        self._begin = tracker.remaining_limits(), tracker.best_score, tracker.run.wall_deadline
        self._store, self._copy = store, orders.state.copy_maker(problem.make_source)
        self._most_kicks, self._is_known, self._count_first = 0.0, Event(), orders.count_kicks

    def search(self, n_starts: int, n_threads: int) -> None:
        """Search from the first `n_starts` orders, and adopt their results in the order of a sequential search."""
        orders, kicks_left = self.orders, 1.0
        try:
            starts = run_on_threads(self._make_task, n_starts, n_threads, local_task=self._make_starts(lambda: orders))
            results = cast(Generator[tuple[int, Start], None, None], starts)
            with closing(in_order(results)) as ordered:
                for number, start in enumerate(ordered):
                    kicks_left = self._most_kicks if number == 0 else kicks_left
                    # later starts may have been searched in vain: a sequential search would not have begun them
                    if number > 0 and kicks_left <= 0:
                        break
                    kicks_left -= self._offer(start, number, kicks_left)
        finally:
            self._is_known.set()
            orders.tracker, orders.kicks_left = self.tracker, kicks_left

    def _offer(self, start: Start, number: int, kicks_left: float) -> float:
        """Adopt the result of a start; return its number of kicks."""
        tracker, orders = self.tracker, self.orders
        before = tracker.n_iter
        if start.n_moves > tracker.limits.max_iter - before or start.n_kicks > kicks_left:
            orders.tracker, orders.kicks_left = tracker, kicks_left  # a sequential search would have stopped there
            return orders.search(self._draw(number), number, patience=self.patience)
        for one in start.improvements:
            if tracker.is_better(one.climb_score):
                tracker.n_iter = before + one.n_moves
                tracker.offer(one.edges, one.score, 0)
                tracker.check()
        tracker.n_iter = before + start.n_moves
        if not start.finished:
            tracker.check()
            tracker.run.end("max_time")  # another thread noticed the time limit first
            raise StopSearch
        return start.n_kicks

    def _draw(self, number: int) -> np.ndarray:
        return draw_order(self.problem.n, self.problem.required, self.orders.seed, number)

    def _make_task(self) -> Callable[[int], Start]:
        options = {"required": self.problem.required, "seed": self.orders.seed, "store": self._store}
        return self._make_starts(lambda: OrderSearch(self._copy(), _StartTracker(*self._begin), **options))

    def _make_starts(self, make_search: Callable[[], OrderSearch]) -> Callable[[int], Start]:
        """Return a function that searches from the order of an index, reusing one search for all its calls."""
        searches: list[OrderSearch] = []

        def run(number: int) -> Start:
            tracker = _StartTracker(*self._begin)
            n_kicks, finished = 0.0, True
            try:
                if not searches:
                    searches.append(make_search())
                search = searches[0]
                tracker.keep_best(search.state)
                search.tracker, search.kicks_left = tracker, inf
                search.count_kicks = partial(self._count_kicks, tracker, number)
                n_kicks = search.search(self._draw(number), number, patience=self.patience)
            except StopSearch:
                finished = False
            except _TooFewKicks:
                n_kicks = inf
            finally:
                if number == 0:
                    self._is_known.set()  # also if the start ended with an error
            return Start(tracker.improvements, tracker.n_iter, n_kicks, finished)

        return run

    def _count_kicks(self, tracker: SearchTracker, number: int, n_rows: int) -> float:
        """Return the allowed number of kicks; all starts but the first wait until it is known."""
        if number == 0:
            self._most_kicks = self._count_first(n_rows)
            self._is_known.set()
        # waits in short steps, so that limits and Ctrl-C end it
        while not self._is_known.wait(0.05):
            tracker.check()
        if number > 0 and self._most_kicks < FEWEST_KICKS * self.patience:
            raise _TooFewKicks
        return self._most_kicks
