"""The search for the best score: the thorough search, equivalence classes, perturbed orders, and parent sets."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pgmx._ext._row_cache import RowStore
from pgmx.parallel.threads import count_threads
from pgmx.scores.gains import ROW_MEMORY
from pgmx.search.dag.equivalence import KINDS, search_classes
from pgmx.search.dag.exact import finish_exactly
from pgmx.search.dag.hill_climb import climb, climb_on_trial
from pgmx.search.dag.orders.gaussian import GaussianOrderSearch
from pgmx.search.dag.orders.kicks import OrderSearch, RandomStarts, draw_order, sort_topologically
from pgmx.search.dag.parent_pairs import climb_by_pairs
from pgmx.search.dag.reinsertion import Reinsertion
from pgmx.search.dag.state import DagProblem, DagState
from pgmx.search.dag.thorough import MOST_VARIABLES_TO_KICK, search_thoroughly
from pgmx.search.dag.thorough import N_STAGES as N_THOROUGH_STAGES
from pgmx.search.dag.tracker import SearchTracker

#: Searches of the portfolio, by their names in the history.
MEMBERS = (
    *("greedy", "thorough", "order of the best graph", "random order", "last climb", "equivalence classes"),
    *("all sets of parents", "pairs of parents", "order of a greedy graph", "order search"),
)
GREEDY, THOROUGH, BEST_ORDER, RANDOM_ORDER, LAST_CLIMB, CLASSES, ALL_SETS, PAIRS, GREEDY_ORDER, ORDER_SEARCH = range(
    len(MEMBERS)
)

#: Searches over orders from random orders; two further searches start at orders of a greedy and of the best graph. Over
#: ten data sets and eight column orders, four random orders and a greedy graph's order reached the highest score in 72
#: of 80 cases, five random orders in 66 (tests/benchmarks/README.md).
N_RANDOM_ORDERS = 4

#: Kicks without a better order that end a search over orders: a constant, and the number added per variable.
KICK_PATIENCE, KICK_PATIENCE_PER_VARIABLE = 100, 1

#: Largest number of variables whose equivalence classes are searched: 0.04 s for 56 variables, 14 s for 724.
MOST_VARIABLES_IN_CLASSES = 300

#: Cliques per variable that a search over equivalence classes lists at most. On sparse graphs it lists up to 15; on
#: dense ones their number has no bound, and the graphs found are worse than those of orders.
CLIQUES_PER_VARIABLE = 40

#: Moves without a better graph that end the last climb.
LAST_PATIENCE = 100

#: Number of stages: the thorough search, the classes from the first graph, the orders, the classes from the best graph,
#: the last climb, and the parent sets.
N_STAGES = N_THOROUGH_STAGES + 5


def search_for_best(
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

    The stages are the thorough search, equivalence classes, climbs over orders with kicks (from random orders and from
    the best graph's order), equivalence classes and a climb from the best graph, then all families or pairs of parents.
    Gaussian scores have an order search instead of the first classes and of the kicks. `tracker` keeps the best graph.
    """
    first_stage_of_orders = first_stage + N_THOROUGH_STAGES + 1
    orders = GaussianOrderSearch.make(problem, state, tracker, seed)

    def climb_greedily(n_threads: int) -> None:
        tracker.member = GREEDY
        climb_first(n_threads)
        tracker.member = THOROUGH

    options: dict[str, Any] = {"seed": seed, "first_stage": first_stage, "n_jobs": n_jobs}
    if orders is None:
        search_thoroughly(problem, state, tracker, climb_greedily, **options)
    else:
        _search_from_order(problem, state, tracker, orders, climb_greedily, **options)
    tracker.member = CLASSES
    if tracker.enter_stage(first_stage_of_orders - 1) and orders is None and problem.n <= MOST_VARIABLES_IN_CLASSES:
        if not tracker.memo:
            # this stage starts from the first graph, the second stage of classes from the best
            tracker.keep_best(state)
            state.reset(problem.start)
            state.moves.clear_tabu()
        _search_classes(problem, state, tracker)
    if tracker.enter_stage(first_stage_of_orders):
        if orders is None:
            _search_orders(problem, state, tracker, seed, n_jobs)
        else:
            tracker.member = ORDER_SEARCH
            orders.kick_starts()
    tracker.member = CLASSES
    if tracker.enter_stage(first_stage_of_orders + 1) and problem.n <= MOST_VARIABLES_IN_CLASSES:
        if not tracker.memo:
            tracker.return_to_best(state)
        _search_classes(problem, state, tracker)
    tracker.member = LAST_CLIMB
    if tracker.enter_stage(first_stage_of_orders + 2):
        if not tracker.memo:
            tracker.return_to_best(state)
        _climb_with_patience(problem, state, tracker)
    if tracker.enter_stage(first_stage_of_orders + 3):
        tracker.keep_best(state)
        tracker.member = ALL_SETS
        # pairs of parents are only needed where the exact search did not cover all families
        if not finish_exactly(problem, state, tracker):
            tracker.member = PAIRS
            if not tracker.memo:
                tracker.return_to_best(state)
            climb_by_pairs(state, tracker, problem.bounds)


def _search_from_order(
    problem: DagProblem,
    state: DagState,
    tracker: SearchTracker,
    orders: GaussianOrderSearch,
    climb_first: Callable[[int], None],
    *,
    seed: int,
    first_stage: int,
    n_jobs: int | None,
) -> None:
    """Climb over orders; reinsert blocks into the better of its graph and the graph of `climb_first`.

    Problems of few variables are first searched thoroughly, which costs little.
    """
    if problem.n <= MOST_VARIABLES_TO_KICK:
        search_thoroughly(problem, state, tracker, climb_first, seed=seed, first_stage=first_stage, n_jobs=n_jobs)
        return
    climb_first(count_threads(n_jobs))
    if tracker.enter_stage(first_stage):
        tracker.member = ORDER_SEARCH
        tracker.keep_best(state)
        tracker.mark_safe_point(state)
        orders.climb(0)
    tracker.member = THOROUGH
    reinsertion = Reinsertion(
        state,
        tracker,
        seed=seed,
        required=problem.required,
        make_source=problem.make_source,
        most_threads=lambda: count_threads(n_jobs) if tracker.run.checkpoint is None else 1,
    )
    for stage, reinsert in ((1, reinsertion.reinsert_small_blocks), (2, reinsertion.reinsert_regions)):
        if tracker.enter_stage(first_stage + stage):
            if not tracker.memo:
                tracker.return_to_best(state)
            reinsert()
    tracker.keep_best(state)


def _search_classes(problem: DagProblem, state: DagState, tracker: SearchTracker) -> None:
    search_classes(state, tracker, phases=list(KINDS), repeat=True, most_listed=CLIQUES_PER_VARIABLE * problem.n)


def _search_orders(problem: DagProblem, state: DagState, tracker: SearchTracker, seed: int, n_jobs: int | None) -> None:
    """Search from random orders, on threads unless a stage needs checkpoints; then from two other orders."""
    n = problem.n
    n_threads = count_threads(n_jobs) if state.is_compiled and tracker.run.checkpoint is None else 1
    patience = KICK_PATIENCE + KICK_PATIENCE_PER_VARIABLE * n
    first = tracker.memo.integer("start", 0, N_RANDOM_ORDERS + 1) if tracker.memo else 0
    tracker.keep_best(state)
    # searches on threads share the rows of gains that they compute
    store = RowStore(n, ROW_MEMORY) if n_threads > 1 else None
    orders = OrderSearch(state, tracker, required=problem.required, seed=seed, store=store)
    if store is not None:
        tracker.member, first = RANDOM_ORDER, N_RANDOM_ORDERS
        RandomStarts(problem, orders, store, patience=patience).search(N_RANDOM_ORDERS, n_threads)
    for number in range(first, N_RANDOM_ORDERS + 2):
        if not orders.may_kick:
            break
        if number < N_RANDOM_ORDERS:
            tracker.member, order = RANDOM_ORDER, draw_order(n, problem.required, seed, number)
        elif number == N_RANDOM_ORDERS:
            tracker.member, order = GREEDY_ORDER, _find_greedy_order(problem, state, tracker)
        else:
            tracker.member, order = BEST_ORDER, sort_topologically(n, tracker.best_edges(state), state.priority)
        orders.search(order, number, patience=patience)
        tracker.memo = None  # the memo belongs to the start that was resumed


def _find_greedy_order(problem: DagProblem, state: DagState, tracker: SearchTracker) -> np.ndarray:
    """Return the order of the graph at the end of a climb from the first graph, with the present tie-breaking.

    If a start is resumed, its order is in the memo.
    """
    if not tracker.memo:
        state.reset(problem.start)
        state.moves.clear_tabu()
        climb_on_trial(state, tracker)
    return sort_topologically(problem.n, state.edges(), state.priority)


def _climb_with_patience(problem: DagProblem, state: DagState, tracker: SearchTracker) -> None:
    """Climb past local optima if moves that lower the score can be listed, which needs a compiled score."""
    if not state.is_compiled:
        climb(state, tracker)
        return
    # a state lists only additions that gain unless all moves are asked for; a walk past a local optimum needs all
    walker = state if problem.all_moves else replace(problem, all_moves=True).make_state()
    if walker is not state:
        walker.reset(state.edges())
        walker.moves.clear_tabu()
        # a resumed climb continues with the tabu list of the checkpoint
        walker.moves.bar_moves(state.moves.tabu_moves())
    try:
        climb(walker, tracker, patience=LAST_PATIENCE)
    finally:
        tracker.keep_best(walker)
