"""The thorough search: climbs with two orders of ties, reinsertion from their optima, and kicks."""

from collections.abc import Callable
from functools import partial

from pgmx.parallel.threads import call_beside, count_threads
from pgmx.search.dag.course import Course, SideCourse
from pgmx.search.dag.hill_climb import climb
from pgmx.search.dag.orders.first_orders import sort_topologically
from pgmx.search.dag.orders.kicks import OrderSearch
from pgmx.search.dag.reinsertion import Reinsertion
from pgmx.search.dag.state import DagProblem, DagState

#: Number of stages.
N_STAGES = 6

#: Kicks without a better order that end the kicks, and the largest number of variables for which kicks are cheap.
KICK_PATIENCE, MOST_VARIABLES_TO_KICK = 60, 24


def search_thoroughly(
    problem: DagProblem,
    state: DagState,
    course: Course,
    climb_first: Callable[[int], None] = lambda n_threads: None,
    *,
    seed: int,
    first_stage: int = 1,
    n_jobs: int | None = None,
) -> None:
    """Search in `N_STAGES` stages, from number `first_stage`, after `climb_first` has reached a local optimum.

    Small blocks are reinserted into the optimum. A second climb begins at the first graph, with ties broken in reverse;
    small blocks are reinserted into its optimum, larger blocks into the better of the two. For few variables, kicks of
    the order follow; then a climb. With threads, both optima are searched in parallel, unless there is a checkpoint.
    """
    optima = _Optima(problem, seed, first_stage, count_threads(n_jobs))
    if optima.n_threads > 1 and state.is_compiled and course.run.checkpoint is None:
        optima.search_together(state, course, climb_first)
    else:
        climb_first(optima.n_threads)
        optima.search_first(state, course)
        optima.search_second(state, course)
    if course.enter(first_stage + 3):
        if not course.memo:
            course.recall()
            course.return_to_best(state)
        optima.reinsertion(state, course, seed).reinsert_regions()
    if course.enter(first_stage + 4):
        course.keep_best(state)
        if problem.n <= MOST_VARIABLES_TO_KICK:
            order = sort_topologically(problem.n, course.best_edges(state), state.priority)
            OrderSearch(state, course, required=problem.required, seed=seed).search(order, 0, patience=KICK_PATIENCE)
    if course.enter(first_stage + 5):
        if not course.memo:
            course.return_to_best(state)
        climb(state, course)


class _Optima:
    """The searches from the two climbs, which share only the first graph."""

    def __init__(self, problem: DagProblem, seed: int, first_stage: int, n_threads: int):
        self.problem, self.seed, self.first_stage, self.n_threads = problem, seed, first_stage, n_threads
        self._n_running = 1

    def reinsertion(self, state: DagState, course: Course, seed: int) -> Reinsertion:
        """Return reinsertion on a state, on the threads that are not used by another search."""
        problem = self.problem
        return Reinsertion(
            state,
            course,
            seed=seed,
            required=problem.required,
            make_source=problem.make_source,
            most_threads=self.count_free_threads,
        )

    def count_free_threads(self) -> int:
        """Return the number of threads per running search."""
        return max(1, self.n_threads // self._n_running)

    def search_first(self, state: DagState, course: Course) -> None:
        """Reinsert small blocks into the optimum of the first climb."""
        if course.enter(self.first_stage):
            if not course.memo:
                course.return_to_best(state)
            self.reinsertion(state, course, self.seed).reinsert_small_blocks()
        elif course.stage > self.first_stage:
            state.reverse_ties()  # a resumed search has already completed the first climb

    def search_second(self, state: DagState, course: Course) -> None:
        """Climb from the first graph with ties broken in reverse, and reinsert small blocks into the optimum."""
        if course.enter(self.first_stage + 1):
            if not course.memo:
                course.set_aside(state)
                state.reverse_ties()
                state.reset(self.problem.start)
                state.moves.clear_tabu()
                course.set_best(state)
                course.mark_safe(state, idle=0)
            climb(state, course, make_source=self.problem.make_source, n_threads=self.count_free_threads())
        if course.enter(self.first_stage + 2):
            self.reinsertion(state, course, self.seed + 1).reinsert_small_blocks()

    def search_together(self, state: DagState, course: Course, climb_first: Callable[[int], None]) -> None:
        """Search both optima in parallel, the second on a copy of the state."""
        make_copy, side = state.copy_maker(self.problem.make_source), SideCourse(course)

        def search_first() -> None:
            climb_first(self.count_free_threads())
            self.search_first(state, course)
            self._n_running = 1

        def search_second() -> None:
            copy = make_copy()
            side.search(partial(self.search_second, copy, side), copy)
            self._n_running = 1

        self._n_running = 2
        try:
            call_beside(search_first, search_second)
        finally:
            self._n_running = 1
        if side.is_cut_by(course):
            self.search_second(state, course)
            return
        course.enter(self.first_stage + 2)
        course.set_aside(state)
        state.reverse_ties()
        side.hand_over(course)
