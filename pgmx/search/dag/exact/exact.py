"""The exact search: its limits, the optimum, and what is proven when it ends early."""

from functools import partial
from math import comb, inf
from time import perf_counter

import numpy as np

from pgmx.scores.bounds import NO_BOUND
from pgmx.scores.gains import GainSource, source_of_rows
from pgmx.search.dag.course import Course
from pgmx.search.dag.exact.components import ComponentSearch, compute_group_bound, find_components
from pgmx.search.dag.exact.parent_sets import MOST_CANDIDATES, FamilyLimit, ParentList, find_parent_sets
from pgmx.search.dag.state import DagProblem, DagState

#: Variables that no bound parts, whose subsets are compared without a limit of time: 2 GB of totals.
MOST_MEMBERS = 28
#: Families that are scored without a limit of time: by a compiled score, and one by one.
MOST_FAMILIES, MOST_CALLS = 1 << 24, 1 << 20
#: Part of the remaining time that the lists of parents may take.
SHARE_OF_LISTS = 0.5

_REMEDY = (
    "give max_time for the best graph found and an upper bound, a smaller max_indegree, tiers or candidate_edges, or "
    "choose strategy='thorough'"
)


def search_exactly(problem: DagProblem, state: DagState, course: Course) -> bool:
    """Find the best graph of all and prove it; return whether that was done before the clock or the callback said so.

    `course.upper_bound` is what is proven: no graph has a higher score. Raises ValueError for a prior that does not
    decompose, and for problems that are too large unless the run has a deadline.
    """
    add, delete, reverse = problem.bonus
    if delete != -add or reverse != 0:
        raise ValueError(
            f"strategy='exact' needs a prior of graphs that goes by their arcs; this one changes by {problem.bonus} "
            "for an addition, a deletion and a reversal: choose another structure_prior or strategy"
        )
    course.upper_bound = inf
    course.check()
    allowed = np.unpackbits(state.allowed, axis=1, count=state.n).astype(bool)
    has_deadline = course.run.deadline < inf
    if not has_deadline:
        _refuse_large(problem, allowed)
    if state.n > MOST_CANDIDATES + 1:
        return False
    try:
        lists = _find_lists(problem, state, course, allowed)
    except FamilyLimit:
        raise ValueError(
            f"strategy='exact' would score more than {MOST_FAMILIES:,} families of {state.n} variables: {_REMEDY}"
        ) from None
    components = find_components(lists)
    size = max(map(len, components), default=0)
    complete = all(parents.is_complete for parents in lists)
    if size > MOST_MEMBERS and not has_deadline:
        raise ValueError(
            f"strategy='exact' would compare all subsets of the {size} variables that can be in a cycle: "
            f"{2.0 ** (size - 27):,.0f} GB and about {size * 2.0 ** (size - 28):,.0f} s; {_REMEDY}"
        )
    course.upper_bound = compute_group_bound(lists, components) + state.offset
    if not complete or size > MOST_MEMBERS:
        return False
    return _solve_components(lists, components, state, course)


def _solve_components(lists: list[ParentList], components: list[list[int]], state: DagState, course: Course) -> bool:
    arcs = []
    for members in components:
        component = ComponentSearch(lists, members)
        if not component.solve(course.is_over):
            return False
        arcs += component.best_arcs()
    edges = np.array(sorted(arcs, key=lambda arc: arc[::-1]), dtype=np.int64).reshape(-1, 2)
    score = state.score_graph(edges)
    if course.is_better(score):
        course.keep_best(state)
        course.offer(edges, score, 0)
    course.upper_bound = course.best_score
    return True


def _find_lists(problem: DagProblem, state: DagState, course: Course, allowed: np.ndarray) -> list[ParentList]:
    """Return the lists of parents; under a deadline each variable may take its share of the time."""
    source: GainSource = problem.make_source()
    return find_parent_sets(
        source_of_rows(source),
        allowed,
        problem.required,
        max_indegree=problem.limits.max_indegree,
        bounds=problem.bounds,
        bonus=problem.bonus[0],
        most_families=inf if course.run.deadline < inf else MOST_FAMILIES,
        make_limit=partial(_share_time, course, state.n),
    )


def _share_time(course: Course, n: int, child: int):
    """Return what says when the list of a child has to end."""
    now = perf_counter()
    end = now + SHARE_OF_LISTS * (course.run.deadline - now) / (n - child)
    return lambda: perf_counter() >= end or course.is_over()


def _refuse_large(problem: DagProblem, allowed: np.ndarray) -> None:
    """Raise ValueError for a problem that is too large whatever the data say."""
    n = problem.n
    n_candidates = allowed.sum(axis=1)
    if n > MOST_CANDIDATES + 1:
        raise ValueError(f"strategy='exact' proves the optimum of at most 64 variables, got {n}: {_REMEDY}")
    if problem.bounds.kind == NO_BOUND:
        most = problem.limits.max_indegree
        n_families = sum(comb(int(c), k) for c in n_candidates for k in range(min(int(c), most) + 1))
        if n_families > MOST_CALLS:
            raise ValueError(
                f"strategy='exact' would score {n_families:,} families one by one, since nothing bounds this score: "
                f"{_REMEDY}"
            )
