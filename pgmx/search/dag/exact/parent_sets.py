"""The parent sets that each variable can have in a best network."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np

from pgmx._ext._parent_sets import ParentSets
from pgmx.scores.bounds import LIKELIHOOD, FamilyBounds
from pgmx.scores.gains import GainSource

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
            entropies[u, w] = -(source.family_score(u, parents) + bounds.cost * n_parameters)
    return entropies


def _find_ceiling(source: GainSource, bounds: FamilyBounds, child: int, candidates: np.ndarray) -> float:
    """Return an upper bound on a child's likelihood: with all candidates as parents, if that can be computed."""
    if bounds.kind != LIKELIHOOD:
        return inf
    if bounds.cards is not None:
        return 0.0
    try:
        return source.family_score(child, candidates.astype(np.int32)) + bounds.cost * len(candidates)
    except ValueError:  # collinear candidates
        return inf
