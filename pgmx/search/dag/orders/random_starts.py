"""Searches from random orders on threads, with the same result and history as a sequential search."""

from collections.abc import Callable, Generator
from contextlib import closing
from functools import partial
from math import inf
from threading import Event
from typing import NamedTuple, cast

import numpy as np

from pgmx._ext._row_cache import RowStore
from pgmx.parallel.spread import in_order
from pgmx.parallel.threads import run_on_threads
from pgmx.runs.progress import SearchProgress
from pgmx.runs.run import Run
from pgmx.search.dag.course import Course, Stopped
from pgmx.search.dag.orders.first_orders import draw_order
from pgmx.search.dag.orders.kicks import OrderSearch
from pgmx.search.dag.state import ClimbLimits, DagProblem

#: Times the patience, the kicks of all starts from which later ones are searched before the earlier ones have ended.
FEWEST_KICKS = 8


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


class _StartCourse(Course):
    """The course of one start, which begins with the best score of another course and lists its improvements."""

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
        course = orders.course
        self.problem, self.course, self.orders, self.patience = problem, course, orders, patience
        self._begin = course.remaining_limits(), course.best_score, course.run.wall_deadline
        self._store, self._copy = store, orders.state.copy_maker(problem.make_source)
        self._most_kicks, self._is_known, self._count_first = 0.0, Event(), orders.count_kicks

    def search(self, n_starts: int, n_threads: int) -> None:
        """Search from the first `n_starts` orders, and adopt their results in the order of a sequential search."""
        orders, kicks_left = self.orders, 1.0
        try:
            starts = run_on_threads(self._make_task, n_starts, n_threads, here=self._make_starts(lambda: orders))
            results = cast(Generator[tuple[int, Start], None, None], starts)
            with closing(in_order(results)) as ordered:
                for number, start in enumerate(ordered):
                    kicks_left = self._most_kicks if number == 0 else kicks_left
                    if number > 0 and kicks_left <= 0:
                        break
                    kicks_left -= self._offer(start, number, kicks_left)
        finally:
            self._is_known.set()
            orders.course, orders.kicks_left = self.course, kicks_left

    def _offer(self, start: Start, number: int, kicks_left: float) -> float:
        """Adopt the result of a start; return its number of kicks."""
        course, orders = self.course, self.orders
        before = course.n_iter
        if start.n_moves > course.limits.max_iter - before or start.n_kicks > kicks_left:
            orders.course, orders.kicks_left = course, kicks_left  # a sequential search would have stopped there
            return orders.search(self._draw(number), number, patience=self.patience)
        for one in start.improvements:
            if course.is_better(one.climb_score):
                course.n_iter = before + one.n_moves
                course.offer(one.edges, one.score, 0)
                course.check()
        course.n_iter = before + start.n_moves
        if not start.finished:
            course.check()
            course.run.end("max_time")  # another thread noticed the time limit first
            raise Stopped
        return start.n_kicks

    def _draw(self, number: int) -> np.ndarray:
        return draw_order(self.problem.n, self.problem.required, self.orders.seed, number)

    def _make_task(self) -> Callable[[int], Start]:
        options = {"required": self.problem.required, "seed": self.orders.seed, "store": self._store}
        return self._make_starts(lambda: OrderSearch(self._copy(), _StartCourse(*self._begin), **options))

    def _make_starts(self, make_search: Callable[[], OrderSearch]) -> Callable[[int], Start]:
        """Return a function that searches from the order of an index, reusing one search for all its calls."""
        searches: list[OrderSearch] = []

        def run(number: int) -> Start:
            course = _StartCourse(*self._begin)
            n_kicks, finished = 0.0, True
            try:
                if not searches:
                    searches.append(make_search())
                search = searches[0]
                course.keep_best(search.state)
                search.course, search.kicks_left = course, inf
                search.count_kicks = partial(self._count_kicks, course, number)
                n_kicks = search.search(self._draw(number), number, patience=self.patience)
            except Stopped:
                finished = False
            except _TooFewKicks:
                n_kicks = inf
            finally:
                if number == 0:
                    self._is_known.set()  # also if the start ended with an error
            return Start(course.improvements, course.n_iter, n_kicks, finished)

        return run

    def _count_kicks(self, course: Course, number: int, n_rows: int) -> float:
        """Return the allowed number of kicks; all starts but the first wait until it is known."""
        if number == 0:
            self._most_kicks = self._count_first(n_rows)
            self._is_known.set()
        while not self._is_known.wait(0.05):
            course.check()
        if number > 0 and self._most_kicks < FEWEST_KICKS * self.patience:
            raise _TooFewKicks
        return self._most_kicks
