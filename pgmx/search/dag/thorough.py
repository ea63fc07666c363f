"""The thorough search: climbs under two orders of ties, reinsertion into the optima they end in, and kicks."""

from typing import Any

from pgmx.search.dag.course import Course
from pgmx.search.dag.hill_climb import climb
from pgmx.search.dag.orders.first_orders import sort_topologically
from pgmx.search.dag.orders.kicks import OrderSearch
from pgmx.search.dag.reinsertion import Reinsertion
from pgmx.search.dag.state import DagProblem, DagState

#: Stages from the first one.
N_STAGES = 6

#: Kicks of the order without a better one that end them, and the most variables for which they are cheap.
KICK_PATIENCE, MOST_VARIABLES_TO_KICK = 60, 24


def search_thoroughly(
    problem: DagProblem,
    state: DagState,
    course: Course,
    *,
    seed: int,
    first_stage: int = 1,
    n_jobs: int | None = None,
) -> None:
    """Search on from a local optimum in `N_STAGES` stages, from number `first_stage`; the source should cache rows.

    Small blocks are reinserted into the optimum; a second climb begins at the first graph, equal gains decided the
    other way round, since neither way is better on all data; small blocks are reinserted there, larger ones into the
    better of the two. The order of few variables is kicked besides (`OrderSearch`), and a climb ends the search.
    """
    required = problem.required
    trials: dict[str, Any] = {"required": required, "make_source": problem.make_source, "n_jobs": n_jobs}
    if course.enter(first_stage):
        if not course.memo:
            course.return_to_best(state)
        Reinsertion(state, course, seed=seed, **trials).reinsert_small_blocks()
    elif course.stage > first_stage:
        state.reverse_ties()  # a resumed search is past the first climb
    if course.enter(first_stage + 1):
        if not course.memo:
            course.set_aside(state)
            state.reverse_ties()
            state.reset(problem.start)
            state.moves.clear_tabu()
            course.set_best(state)
            course.mark_safe(state, idle=0)
        climb(state, course)
    if course.enter(first_stage + 2):
        Reinsertion(state, course, seed=seed + 1, **trials).reinsert_small_blocks()
    if course.enter(first_stage + 3):
        if not course.memo:
            course.recall()
            course.return_to_best(state)
        Reinsertion(state, course, seed=seed, **trials).reinsert_regions()
    if course.enter(first_stage + 4):
        course.keep_best(state)
        if problem.n <= MOST_VARIABLES_TO_KICK:
            order = sort_topologically(problem.n, course.best_edges(state), state.priority)
            OrderSearch(state, course, required=required, seed=seed).search(order, 0, patience=KICK_PATIENCE)
    if course.enter(first_stage + 5):
        if not course.memo:
            course.return_to_best(state)
        climb(state, course)
