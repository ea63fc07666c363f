"""The thorough search: climbs with two orders of ties, reinsertion from their optima, and perturbed orders (kicks)."""

from collections.abc import Callable
from functools import partial

from pgmx.parallel.threads import call_both, count_threads
from pgmx.search.dag.hill_climb import climb
from pgmx.search.dag.orders.kicks import OrderSearch, sort_topologically
from pgmx.search.dag.reinsertion import Reinsertion
from pgmx.search.dag.state import DagProblem, DagState
from pgmx.search.dag.tracker import SearchTracker, SideTracker

#: Number of stages.
N_STAGES = 6

#: Kicks without a better order that end the kicks, and the largest number of variables for which kicks are cheap. Of
#: 100 problems with a proven optimum, the search solved 92 with this patience and 89 with 20 (see
#: tests/benchmarks/README.md).
KICK_PATIENCE, MOST_VARIABLES_TO_KICK = 60, 24


def search_thoroughly(
    problem: DagProblem,
    state: DagState,
    tracker: SearchTracker,
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
    if optima.n_threads > 1 and state.is_compiled and tracker.run.checkpoint is None:
        optima.search_together(state, tracker, climb_first)
    else:
        climb_first(optima.n_threads)
        optima.search_first(state, tracker)
        optima.search_second(state, tracker)
    if tracker.enter_stage(first_stage + 3):
        if not tracker.memo:
            tracker.recall()
            tracker.return_to_best(state)
        optima.reinsertion(state, tracker, seed).reinsert_regions()
    if tracker.enter_stage(first_stage + 4):
        tracker.keep_best(state)
        if problem.n <= MOST_VARIABLES_TO_KICK:
            order = sort_topologically(problem.n, tracker.best_edges(state), state.priority)
            OrderSearch(state, tracker, required=problem.required, seed=seed).search(order, 0, patience=KICK_PATIENCE)
    if tracker.enter_stage(first_stage + 5):
        if not tracker.memo:
            tracker.return_to_best(state)
        climb(state, tracker)


class _Optima:
    """The searches from the two climbs, which share only the first graph."""

    def __init__(self, problem: DagProblem, seed: int, first_stage: int, n_threads: int):
        self.problem, self.seed, self.first_stage, self.n_threads = problem, seed, first_stage, n_threads
        self._n_running = 1

    def reinsertion(self, state: DagState, tracker: SearchTracker, seed: int) -> Reinsertion:
        """Return reinsertion on a state, on the threads that are not used by another search."""
        problem = self.problem
        return Reinsertion(
            state,
            tracker,
            seed=seed,
            required=problem.required,
            make_source=problem.make_source,
            most_threads=self.count_free_threads,
        )

    def count_free_threads(self) -> int:
        """Return the number of threads per running search."""
        return max(1, self.n_threads // self._n_running)

    def search_first(self, state: DagState, tracker: SearchTracker) -> None:
        """Reinsert small blocks into the optimum of the first climb."""
        if tracker.enter_stage(self.first_stage):
            if not tracker.memo:
                tracker.return_to_best(state)
            self.reinsertion(state, tracker, self.seed).reinsert_small_blocks()
        elif tracker.stage > self.first_stage:
            state.reverse_ties()  # a resumed search has already completed the first climb

    def search_second(self, state: DagState, tracker: SearchTracker) -> None:
        """Climb from the first graph with ties broken in reverse, and reinsert small blocks into the optimum."""
        if tracker.enter_stage(self.first_stage + 1):
            if not tracker.memo:
                tracker.set_aside(state)
                state.reverse_ties()
                state.reset(self.problem.start)
                state.moves.clear_tabu()
                tracker.set_best(state)
                tracker.mark_safe_point(state, idle=0)
            climb(state, tracker, make_source=self.problem.make_source, n_threads=self.count_free_threads())
        if tracker.enter_stage(self.first_stage + 2):
            # another seed: the second optimum gets other orders of nodes than the first
            self.reinsertion(state, tracker, self.seed + 1).reinsert_small_blocks()

    def search_together(self, state: DagState, tracker: SearchTracker, climb_first: Callable[[int], None]) -> None:
        """Search both optima in parallel, the second on a copy of the state."""
        make_copy, side = state.copy_maker(self.problem.make_source), SideTracker(tracker)

        def search_first() -> None:
            climb_first(self.count_free_threads())
            self.search_first(state, tracker)
            self._n_running = 1

        def search_second() -> None:
            copy = make_copy()
            side.search(partial(self.search_second, copy, side), copy)
            self._n_running = 1

        self._n_running = 2
        try:
            call_both(search_first, search_second)
        finally:
            self._n_running = 1
        # the first search used moves that the second one assumed: repeat the second in sequence
        if side.is_cut_by(tracker):
            self.search_second(state, tracker)
            return
        # from here on as in a sequential search: the first optimum is set aside, then the second is recorded
        tracker.enter_stage(self.first_stage + 2)
        tracker.set_aside(state)
        state.reverse_ties()
        side.hand_over(tracker)
