"""The exact search: the network of highest score, with a proof of optimality.

1. List the parent sets that each variable can have in a best network (`find_parent_sets`).
2. Split the variables into components that cannot share a cycle (`find_components`).
3. Find the best network of each component by dynamic programming over its subsets (`ComponentSearch`).

If the time limit ends the search early, `compute_group_bound` still gives an upper bound on the score of all networks.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import comb, inf
from time import perf_counter
from typing import Any

import numpy as np

from pgmx._ext._dag_moves import ADD
from pgmx._ext._families import FamilyScorer
from pgmx._ext._parent_sets import ParentSets
from pgmx._ext._subsets import SubsetTotals
from pgmx.scores.gains import LIKELIHOOD, NO_BOUND, FamilyBounds, GainSource, expect_families, source_of_rows
from pgmx.search.dag.state import DagProblem, DagState
from pgmx.search.dag.tracker import SearchTracker

#: Largest component whose subsets are compared without a time limit: 2 GB of totals.
MOST_MEMBERS = 28

#: Largest number of families scored without a time limit: by a compiled score, and one by one.
MOST_FAMILIES, MOST_CALLS = 1 << 24, 1 << 20

#: Share of the remaining time for the lists of parents.
SHARE_OF_LISTS = 0.5

#: Largest number of families for `finish_exactly`: for discrete scores, other compiled scores, and Python functions;
#: then the limits on rows to count in all, on families if only small ones are scored, and on variables.
MOST_DISCRETE_FAMILIES, MOST_COMPILED_FAMILIES, MOST_PYTHON_FAMILIES = 1 << 19, 1 << 16, 1 << 12
MOST_ROWS_TO_COUNT, MOST_SMALL_FAMILIES, MOST_MEMBERS_TO_FINISH = 6_000_000_000, 1 << 15, 18
_REMEDY = (
    "give max_time for the best graph found and an upper bound, a smaller max_indegree, tiers or candidate_edges, or "
    "choose strategy='thorough'"
)

#: Size of the groups within which an upper bound excludes cycles.
GROUP_SIZE = 14

#: Number of variables whose subsets form one block, see ``search/_subsets.pyx``.
BLOCK_SIZE = 14

#: Largest number of candidate parents, whose sets are bits of one integer.
MOST_CANDIDATES = 63

#: Live sets extended between two checks of the time limit.
BATCH = 256


@dataclass(frozen=True, eq=False)
class ParentList:
    """The parent sets of one variable that score higher than all their subsets: uint64 bits by variable, and scores.

    If `is_complete`, a best network uses one of these sets. No set scores more than `upper_bound` in any case. Fewer
    parents come first.
    """

    sets: np.ndarray
    scores: np.ndarray
    upper_bound: float
    is_complete: bool = True


class FamilyLimit(Exception):
    """The search would have to score more families than allowed."""


def search_exactly(problem: DagProblem, state: DagState, tracker: SearchTracker) -> bool:
    """Find the best graph and prove its optimality; return False if the time limit or the callback ended it early.

    `tracker.upper_bound` is the proven upper bound on the score of every graph. Raises a ValueError for a prior that
    does not decompose, and for problems that are too large unless the run has a deadline.
    """
    if not _prior_decomposes(problem):
        raise ValueError(
            f"strategy='exact' needs a structure prior that is a sum over arcs; this one changes by {problem.bonus} "
            "for an addition, a deletion and a reversal: choose another structure_prior or strategy"
        )
    # the bound that holds if a limit ends the search before it has computed any other
    tracker.upper_bound = inf
    tracker.check()
    tracker.run.count_steps(state.n, "lists of parents")
    allowed = state.unpack_allowed()
    has_deadline = tracker.run.deadline < inf
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
            make_limit=partial(_begin_list, tracker, state.n),
        )
    except FamilyLimit:
        raise ValueError(
            f"strategy='exact' would score more than {MOST_FAMILIES:,} families of {state.n} variables: {_REMEDY}"
        ) from None
    tracker.run.advance_to(state.n)
    components = find_components(lists)
    size = max(map(len, components), default=0)
    complete = all(parents.is_complete for parents in lists)
    if size > MOST_MEMBERS and not has_deadline:
        raise ValueError(
            f"strategy='exact' would compare all subsets of the {size} variables that can be in a cycle: "
            f"{2.0 ** (size - 27):,.0f} GB and about {size * 2.0 ** (size - 28):,.0f} s; {_REMEDY}"
        )
    tracker.upper_bound = compute_group_bound(lists, components) + state.offset
    if not complete or size > MOST_MEMBERS:
        return False
    tracker.run.count_steps(sum(map(count_blocks, components)), "blocks of subsets")
    return _solve_components(lists, components, state, tracker)


def finish_exactly(problem: DagProblem, state: DagState, tracker: SearchTracker) -> bool:
    """Find the best graph of all if scoring all families takes only seconds; return whether that was done.

    Otherwise families with few parents are scored. The result is the best graph of these families and the families of
    the best graph so far. The number of families is known beforehand, so that no time is wasted.
    """
    if not _prior_decomposes(problem) or state.n > MOST_MEMBERS_TO_FINISH:
        return False
    allowed, most = state.unpack_allowed(), int(min(problem.limits.max_indegree, state.n))
    source: Any = source_of_rows(state.source)
    limit = MOST_COMPILED_FAMILIES if state.is_compiled else MOST_PYTHON_FAMILIES
    if isinstance(source, FamilyScorer):
        limit = min(MOST_DISCRETE_FAMILIES, MOST_ROWS_TO_COUNT // source.n_rows)
    size, small = most, min(limit, MOST_SMALL_FAMILIES)
    if _count_families(allowed, most) > limit:
        # all families are too many: as many parents as the smaller limit allows
        size = max((k for k in range(most) if _count_families(allowed, k) <= small), default=0)
    lists = _find_lists(
        problem, allowed, max_indegree=size, most_families=inf, make_limit=lambda child: tracker.is_over
    )
    tracker.check()
    edges = tracker.best_edges(state)
    families = [(v, np.sort(edges[edges[:, 1] == v, 0]).astype(np.int32)) for v in range(state.n)]
    expect_families(state.source, families, n_needed=state.n, has_rows=False)
    # with the families of the best graph the result cannot be worse
    lists = [_extend_list(parents, *family, state) for parents, family in zip(lists, families, strict=True)]
    bound = tracker.upper_bound
    solved = _solve_components(lists, find_components(lists), state, tracker)
    tracker.upper_bound = bound  # only the exact search reports a bound
    tracker.check()
    return solved and size == most


def _solve_components(
    lists: list[ParentList], components: list[list[int]], state: DagState, tracker: SearchTracker
) -> bool:
    arcs = []
    for members in components:
        component = ComponentSearch(lists, members)
        if not component.solve(tracker.is_over, tracker.run.advance):
            return False
        arcs += component.best_arcs()
    # by head and tail, as in all searches
    edges = np.array(sorted(arcs, key=lambda arc: arc[::-1]), dtype=np.int64).reshape(-1, 2)
    score = state.score_graph(edges)
    if tracker.is_better(score):
        tracker.keep_best(state)
        tracker.offer(edges, score, 0)
    tracker.upper_bound = tracker.best_score
    return True


def _prior_decomposes(problem: DagProblem) -> bool:
    add, delete, reverse = problem.bonus
    return delete == -add and reverse == 0


def _count_families(allowed: np.ndarray, most: int) -> int:
    """Return the number of families with at most `most` parents."""
    return sum(comb(int(c), k) for c in allowed.sum(axis=1) for k in range(min(int(c), most) + 1))


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


def _begin_list(tracker: SearchTracker, n: int, child: int) -> Callable[[], bool]:
    """Count the lists before this child as done, and return the function that ends its list."""
    tracker.run.advance_to(child)
    now = perf_counter()
    # an equal share of the time that is left for each remaining list
    end = now + SHARE_OF_LISTS * (tracker.run.deadline - now) / (n - child)
    return lambda: perf_counter() >= end or tracker.is_over()


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


def find_parent_sets(
    source: GainSource,
    allowed: np.ndarray,
    required: np.ndarray,
    *,
    max_indegree: int,
    bounds: FamilyBounds,
    bonus: float = 0.0,
    most_families: float = inf,
    make_limit: Callable[[int], Callable[[], bool]] = lambda child: lambda: False,
) -> list[ParentList]:
    """Return the list of each of at most 64 variables; `make_limit` returns the function that ends a child's list.

    ``allowed[child, parent]`` is boolean (n, n); `required` are the arcs that every network has. Raises `FamilyLimit`
    if more than `most_families` families were scored.
    """
    n = len(allowed)
    entropies = _compute_entropies(source, bounds, n)
    lists, n_scored = [], 0
    for child in range(n):
        parents = np.sort(required[required[:, 1] == child, 0]).astype(np.int32)
        others = allowed[child].copy()
        others[parents] = False
        candidates = np.flatnonzero(others).astype(np.int32)
        search = ParentSets(
            source,
            child,
            parents,
            candidates,
            max_size=max_indegree - len(parents),
            kind=bounds.kind,
            cost=bounds.cost,
            cards=bounds.cards,
            entropies=entropies,
            ceiling=_find_ceiling(source, bounds, child, np.sort(np.concatenate([parents, candidates]))),
            bonus=bonus,
            size_costs=bounds.size_costs,
        )
        is_over, more = make_limit(child), True
        while more and not is_over():
            more = search.extend(BATCH)
            if n_scored + search.n_scored > most_families:
                raise FamilyLimit
        n_scored += search.n_scored
        lists.append(_read_list(search, parents, candidates, is_complete=not more))
    return lists


def _read_list(search: ParentSets, parents: np.ndarray, candidates: np.ndarray, *, is_complete: bool) -> ParentList:
    """Return the sets of a child with bits by variable instead of bits by candidate."""
    local, scores = search.results()
    sets = np.full(len(local), sum(1 << int(u) for u in parents), dtype=np.uint64)
    for i, u in enumerate(candidates.tolist()):
        sets |= ((local >> np.uint64(i)) & np.uint64(1)) << np.uint64(u)
    return ParentList(sets, scores, search.upper_bound(), is_complete)


def _compute_entropies(source: GainSource, bounds: FamilyBounds, n: int) -> np.ndarray | None:
    """Return N H(u | w), N H(u) on the diagonal, from the families of one parent; None for scores without them."""
    if bounds.kind != LIKELIHOOD or bounds.cards is None:
        return None
    entropies = np.empty((n, n))
    for u in range(n):
        for w in range(n):
            parents = np.array([] if u == w else [w], dtype=np.int32)
            n_parameters = (1 if u == w else bounds.cards[w]) * (bounds.cards[u] - 1)
            entropies[u, w] = -(
                source.family_score(u, parents) + bounds.cost * n_parameters + bounds.size_cost(len(parents))
            )
    return entropies


def _find_ceiling(source: GainSource, bounds: FamilyBounds, child: int, candidates: np.ndarray) -> float:
    """Return an upper bound on a child's likelihood: with all candidates as parents, if that can be computed."""
    if bounds.kind != LIKELIHOOD:
        return inf
    if bounds.cards is not None:
        return 0.0
    try:
        cost = bounds.cost * len(candidates) + bounds.size_cost(len(candidates))
        return source.family_score(child, candidates.astype(np.int32)) + cost
    except ValueError:  # collinear candidates
        return inf


def _extend_list(parents: ParentList, child: int, family: np.ndarray, state: DagState) -> ParentList:
    """Return a list with one more family of its variable."""
    score = state.source.family_score(child, family) + len(family) * state.bonus[ADD]
    bits = np.uint64(sum(1 << u for u in family.tolist()))
    return replace(parents, sets=np.append(parents.sets, bits), scores=np.append(parents.scores, score))


def find_components(lists: list[ParentList]) -> list[list[int]]:
    """Return the strongly connected components of the graph with an arc from each possible parent to its child.

    A cycle lies within one component, so that components are solved separately (Fan, Malone and Yuan, 2014, Finding
    optimal Bayesian network structures with constraints learned from data, UAI).
    """
    n = len(lists)
    # sets of variables are bits of Python integers; the loops form the transitive closure (Warshall)
    ancestors = [int(np.bitwise_or.reduce(parents.sets)) | 1 << v for v, parents in enumerate(lists)]
    for w in range(n):
        for v in range(n):
            if ancestors[v] >> w & 1:
                ancestors[v] |= ancestors[w]
    return [
        [w for w in range(n) if ancestors[v] >> w & 1 and ancestors[w] >> v & 1]
        for v in range(n)
        if not any(ancestors[v] >> w & 1 and ancestors[w] >> v & 1 for w in range(v))
    ]


class ComponentSearch:
    """The best parents of some variables without cycles among them; other variables may be parents without limits."""

    def __init__(self, lists: list[ParentList], members: list[int]):
        self.members = members
        self._lists = [lists[v] for v in members]
        self._projections = [_project_sets(parents.sets, members) for parents in self._lists]
        choices = [_choose_best(inside, p.scores) for inside, p in zip(self._projections, self._lists, strict=True)]
        self._totals = SubsetTotals([sets for sets, _ in choices], [scores for _, scores in choices])

    def solve(self, is_over: Callable[[], bool], count: Callable[[], None] = lambda: None) -> bool:
        """Return whether all totals were computed before `is_over` returned True; `count` is called per block."""
        while self._totals.advance():
            count()
            if is_over():
                return False
        count()
        return True

    def best_score(self) -> float:
        """Return the highest sum of scores."""
        return self._totals.best_score()

    def best_arcs(self) -> list[tuple[int, int]]:
        """Return the arcs (tail, head) into the members in a best network."""
        arcs = []
        for v, inside, projection, parents in zip(
            self.members, self._totals.best_parents(), self._projections, self._lists, strict=True
        ):
            matches = np.flatnonzero(projection == inside)
            best = int(parents.sets[matches[np.argmax(parents.scores[matches])]])
            arcs += [(u, v) for u in range(best.bit_length()) if best >> u & 1]
        return arcs


def _project_sets(sets: np.ndarray, members: list[int]) -> np.ndarray:
    """Return the sets of parents within the members, bit i for member i."""
    inside = np.zeros(len(sets), dtype=np.uint64)
    for i, u in enumerate(members):
        inside |= ((sets >> np.uint64(u)) & np.uint64(1)) << np.uint64(i)
    return inside


def _choose_best(inside: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct projections with their best scores, fewer parents first."""
    order = np.lexsort((-scores, inside))
    first = np.unique(inside[order], return_index=True)[1]
    best = order[first]
    best = best[np.argsort(np.bitwise_count(inside[best]), kind="stable")]
    return inside[best], scores[best]


def count_blocks(members: list[int]) -> int:
    """Return the number of blocks in which the subsets of a component are solved."""
    return 1 << max(0, len(members) - BLOCK_SIZE)


def compute_group_bound(lists: list[ParentList], components: list[list[int]]) -> float:
    """Return an upper bound on the score of all networks, which excludes cycles only within groups of variables.

    A variable whose list is incomplete contributes its own bound (Yuan and Malone, 2013, Learning optimal Bayesian
    networks: a shortest path perspective, JAIR 48, section 5.2: static pattern databases).
    """
    # an incomplete list has no best set: its variable takes part in no group
    total = sum(parents.upper_bound for parents in lists if not parents.is_complete)
    for component in components:
        members = [v for v in component if lists[v].is_complete]
        for first in range(0, len(members), GROUP_SIZE):
            group = ComponentSearch(lists, members[first : first + GROUP_SIZE])
            group.solve(lambda: False)
            total += group.best_score()
    return total
