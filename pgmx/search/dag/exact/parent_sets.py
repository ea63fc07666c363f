"""The sets of parents that each variable can have in a best network."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np

from pgmx._ext._parent_sets import ParentSets
from pgmx.scores.bounds import LIKELIHOOD, FamilyBounds
from pgmx.scores.gains import GainSource

#: Candidate parents whose sets have numbers.
MOST_CANDIDATES = 63
#: Live sets extended between two looks at the clock.
BATCH = 256


@dataclass(frozen=True, eq=False)
class ParentList:
    """The sets of parents of one variable that beat all their subsets: uint64 bits by variable, and their scores.

    No other set can be that of a best network, where `is_complete`; no set scores more than `upper_bound` anyway.
    Fewer parents come first.
    """

    sets: np.ndarray
    scores: np.ndarray
    upper_bound: float
    is_complete: bool = True


class FamilyLimit(Exception):
    """More families would have to be scored than the search may score."""


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
    """Return the list of each of at most 64 variables; what `make_limit` makes for a child says when it has to end.

    ``allowed[child, parent]`` is boolean (n, n); `required` are the arcs that every network has. Raises `FamilyLimit`
    once more than `most_families` families were scored.
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
    """Return the sets of a child with bits by variable in place of bits by candidate."""
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
    """Return an upper bound of the likelihood of a child: with all candidates where that can be computed."""
    if bounds.kind != LIKELIHOOD:
        return inf
    if bounds.cards is not None:
        return 0.0
    try:
        return source.family_score(child, candidates.astype(np.int32)) + bounds.cost * len(candidates)
    except ValueError:  # candidates that determine each other
        return inf
