"""The exact search: its limits, the optimum, and its upper bound when it ends early."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import comb, inf
from time import perf_counter
from typing import Any

import numpy as np

from pgmx._ext._dag_moves import ADD
from pgmx._ext._families import FamilyScorer
from pgmx.scores.bounds import NO_BOUND
from pgmx.scores.gains import GainSource, expect_families, source_of_rows
from pgmx.search.dag.course import Course
from pgmx.search.dag.exact.components import ComponentSearch, compute_group_bound, count_blocks, find_components
from pgmx.search.dag.exact.parent_sets import MOST_CANDIDATES, FamilyLimit, ParentList, find_parent_sets
from pgmx.search.dag.state import DagProblem, DagState

#: Largest component whose subsets are compared without a time limit: 2 GB of totals.
MOST_MEMBERS = 28
#: Largest number of families scored without a time limit: by a compiled score, and one by one.
MOST_FAMILIES, MOST_CALLS = 1 << 24, 1 << 20
#: Share of the remaining time for the lists of parents.
SHARE_OF_LISTS = 0.5
#: Largest number of families for `finish_exactly`: for discrete scores, other compiled scores, and Python functions;
#: then the limits on rows to count in all, on families if only small ones are scored, and on variables.
MOST_OF_STATES, MOST_OF_OTHERS, MOST_OF_FUNCTIONS = 1 << 19, 1 << 16, 1 << 12
MOST_ROWS_TO_COUNT, MOST_OF_SMALL, MOST_MEMBERS_TO_FINISH = 6_000_000_000, 1 << 15, 18

_REMEDY = (
    "give max_time for the best graph found and an upper bound, a smaller max_indegree, tiers or candidate_edges, or "
    "choose strategy='thorough'"
)


def search_exactly(problem: DagProblem, state: DagState, course: Course) -> bool:
    """Find the best graph and prove its optimality; return False if the time limit or the callback ended it early.

    `course.upper_bound` is the proven upper bound on the score of every graph. Raises a ValueError for a prior that
    does not decompose, and for problems that are too large unless the run has a deadline.
    """
    if not _prior_decomposes(problem):
        raise ValueError(
            f"strategy='exact' needs a structure prior that is a sum over arcs; this one changes by {problem.bonus} "
            "for an addition, a deletion and a reversal: choose another structure_prior or strategy"
        )
    course.upper_bound = inf
    course.check()
    course.run.count_steps(state.n, "lists of parents")
    allowed = _read_allowed(state)
    has_deadline = course.run.deadline < inf
    if not has_deadline:
        _refuse_large(problem, allowed)
    if state.n > MOST_CANDIDATES + 1:
        return False
    try:
        lists = _find_lists(
            problem,
            allowed,
            max_indegree=problem.limits.max_indegree,
            most_families=inf if has_deadline else MOST_FAMILIES,
            make_limit=partial(_begin_list, course, state.n),
        )
    except FamilyLimit:
        raise ValueError(
            f"strategy='exact' would score more than {MOST_FAMILIES:,} families of {state.n} variables: {_REMEDY}"
        ) from None
    course.run.advance_to(state.n)
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
    course.run.count_steps(sum(map(count_blocks, components)), "blocks of subsets")
    return _solve_components(lists, components, state, course)


def _solve_components(lists: list[ParentList], components: list[list[int]], state: DagState, course: Course) -> bool:
    arcs = []
    for members in components:
        component = ComponentSearch(lists, members)
        if not component.solve(course.is_over, course.run.advance):
            return False
        arcs += component.best_arcs()
    edges = np.array(sorted(arcs, key=lambda arc: arc[::-1]), dtype=np.int64).reshape(-1, 2)
    score = state.score_graph(edges)
    if course.is_better(score):
        course.keep_best(state)
        course.offer(edges, score, 0)
    course.upper_bound = course.best_score
    return True


def finish_exactly(problem: DagProblem, state: DagState, course: Course) -> bool:
    """Find the best graph of all if scoring all families takes only seconds; return whether that was done.

    Otherwise families with few parents are scored. The result is the best graph of these families and the families of
    the best graph so far. The number of families is known beforehand, so that no time is wasted.
    """
    if not _prior_decomposes(problem) or state.n > MOST_MEMBERS_TO_FINISH:
        return False
    allowed, most = _read_allowed(state), int(min(problem.limits.max_indegree, state.n))
    source: Any = source_of_rows(state.source)
    limit = MOST_OF_OTHERS if state.is_compiled else MOST_OF_FUNCTIONS
    if isinstance(source, FamilyScorer):
        limit = min(MOST_OF_STATES, MOST_ROWS_TO_COUNT // source.n_rows)
    size, small = most, min(limit, MOST_OF_SMALL)
    if _count_families(allowed, most) > limit:
        size = max((k for k in range(most) if _count_families(allowed, k) <= small), default=0)
    lists = _find_lists(problem, allowed, max_indegree=size, most_families=inf, make_limit=lambda child: course.is_over)
    course.check()
    edges = course.best_edges(state)
    families = [(v, np.sort(edges[edges[:, 1] == v, 0]).astype(np.int32)) for v in range(state.n)]
    expect_families(state.source, families, n_needed=state.n, has_rows=False)
    lists = [_extend_list(parents, *family, state) for parents, family in zip(lists, families, strict=True)]
    bound = course.upper_bound
    solved = _solve_components(lists, find_components(lists), state, course)
    course.upper_bound = bound  # only the exact search reports a bound
    course.check()
    return solved and size == most


def _extend_list(parents: ParentList, child: int, family: np.ndarray, state: DagState) -> ParentList:
    """Return a list with one more family of its variable."""
    score = state.source.family_score(child, family) + len(family) * state.bonus[ADD]
    bits = np.uint64(sum(1 << u for u in family.tolist()))
    return replace(parents, sets=np.append(parents.sets, bits), scores=np.append(parents.scores, score))


def _prior_decomposes(problem: DagProblem) -> bool:
    add, delete, reverse = problem.bonus
    return delete == -add and reverse == 0


def _read_allowed(state: DagState) -> np.ndarray:
    return np.unpackbits(state.allowed, axis=1, count=state.n).astype(bool)


def _count_families(allowed: np.ndarray, most: int) -> int:
    """Return the number of families with at most `most` parents."""
    return sum(comb(int(c), k) for c in allowed.sum(axis=1) for k in range(min(int(c), most) + 1))


def _find_lists(
    problem: DagProblem,
    allowed: np.ndarray,
    *,
    max_indegree: int,
    most_families: float,
    make_limit: Callable[[int], Callable[[], bool]],
) -> list[ParentList]:
    """Return the lists of parents; `make_limit` returns the function that ends the list of a child."""
    source: GainSource = problem.make_source()
    return find_parent_sets(
        source_of_rows(source),
        allowed,
        problem.required,
        max_indegree=max_indegree,
        bounds=problem.bounds,
        bonus=problem.bonus[0],
        most_families=most_families,
        make_limit=make_limit,
    )


def _begin_list(course: Course, n: int, child: int) -> Callable[[], bool]:
    """Count the lists before this child as done, and return the function that ends its list."""
    course.run.advance_to(child)
    now = perf_counter()
    end = now + SHARE_OF_LISTS * (course.run.deadline - now) / (n - child)
    return lambda: perf_counter() >= end or course.is_over()


def _refuse_large(problem: DagProblem, allowed: np.ndarray) -> None:
    """Raise a ValueError for a problem that is too large for any data."""
    n = problem.n
    if n > MOST_CANDIDATES + 1:
        raise ValueError(f"strategy='exact' proves the optimum of at most 64 variables, got {n}: {_REMEDY}")
    if problem.bounds.kind == NO_BOUND:
        n_families = _count_families(allowed, problem.limits.max_indegree)
        if n_families > MOST_CALLS:
            raise ValueError(
                f"strategy='exact' would score {n_families:,} families one by one, since this score has no bounds: "
                f"{_REMEDY}"
            )
