"""Tables of the parent sets of each variable: their log weights, and the log sums of the weights of their subsets.

A parent set of variable v holds the required parents of v and some of its candidates: set m holds candidate b if bit b
of m is 1. The weight of a family is the exponential of its score and of the log prior of its number of parents.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import comb, inf
from typing import NamedTuple

import numpy as np

from pgmx._ext._family_sums import FamilyRows, find_live_sets, sum_subsets
from pgmx._ext._scorer import Scorer
from pgmx.scores.gains import GainSource, expect_families

#: Most candidates of a variable, apart from its required parents: a table of 2^K values.
MOST_CANDIDATES = 30

#: Families of a table that are requested from workers in one message.
EXPECTED = 256


class Refusal(NamedTuple):
    """A family that has no score: ids, and the message of the score."""

    child: int
    parents: list[int]
    message: str


@dataclass(frozen=True, eq=False)
class ParentChoices:
    """The parents that each variable has in any case, and its candidates: ascending int32 arrays by variable."""

    required: list[np.ndarray]
    candidates: list[np.ndarray]

    @classmethod
    def from_masks(cls, allowed: np.ndarray, required: np.ndarray) -> "ParentChoices":
        """Return the choices under a mask ``allowed[child, parent]`` and required arcs (tail, head)."""
        n = len(allowed)
        forced = np.zeros((n, n), dtype=bool)
        forced[required[:, 1], required[:, 0]] = True
        free = (allowed != 0) & ~forced & ~np.eye(n, dtype=bool)
        rows = [[np.flatnonzero(row).astype(np.int32) for row in mask] for mask in (forced, free)]
        return cls(*rows)

    @property
    def n(self) -> int:
        """Number of variables."""
        return len(self.candidates)

    @property
    def sizes(self) -> np.ndarray:
        """Number of candidates of each variable, int64 (n,)."""
        return np.array([len(ids) for ids in self.candidates], dtype=np.int64)

    def restrict(self, source: GainSource, most: int) -> "ParentChoices":
        """Return the choices with at most `most` parents each, those of the largest gains as only parents."""
        gains, scores = np.empty((self.n, self.n)), np.empty(self.n)
        source.start(gains, scores)
        kept = []
        for v, free in enumerate(self.candidates):
            best = np.argsort(-gains[v, free], kind="stable")[: max(most - len(self.required[v]), 0)]
            kept.append(np.sort(free[best]))
        return ParentChoices(self.required, kept)

    def mask(self) -> np.ndarray:
        """Return the candidates as a mask, uint8 (n, n), ``mask[child, parent]``."""
        mask = np.zeros((self.n, self.n), dtype=np.uint8)
        for v, free in enumerate(self.candidates):
            mask[v, free] = 1
        return mask

    @property
    def n_bytes(self) -> int:
        """Bytes of the table of all sets of candidates."""
        return sum(8 << int(size) for size in self.sizes.tolist())

    def count_families(self, max_indegree: int) -> int:
        """Return the number of families with at most `max_indegree` parents."""
        limits = zip(self.required, self.candidates, strict=True)
        return sum(
            comb(len(free), k) for forced, free in limits for k in range(min(max_indegree - len(forced), len(free)) + 1)
        )


@dataclass(frozen=True, eq=False)
class FamilyTables:
    """Log weights of parent sets, and of their sums over subsets.

    The sets of variable v are ``sets[start[v] : start[v + 1]]``, uint32, with log weights `weights` in descending
    order; sets of weight 0 are left out. ``sums[first[v] + m]`` is the log sum over the subsets of m, for all 2^K sets.
    Both are relative to the largest log weight ``offsets[v]``.
    """

    choices: ParentChoices
    start: np.ndarray
    sets: np.ndarray
    weights: np.ndarray
    first: np.ndarray
    sums: np.ndarray
    offsets: np.ndarray
    refusals: list[Refusal]

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.choices.n

    def of(self, v: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the sets of a variable, uint32, and their relative log weights, the largest first."""
        return self.sets[self.start[v] : self.start[v + 1]], self.weights[self.start[v] : self.start[v + 1]]

    def sums_of(self, v: int) -> np.ndarray:
        """Return the log sums over subsets of a variable, float64 (2^K,)."""
        return self.sums[self.first[v] : self.first[v + 1]]

    def parents(self, v: int, m: int) -> np.ndarray:
        """Return the ascending parents of variable v in its set m, int32."""
        free = self.choices.candidates[v]
        chosen = free[(m >> np.arange(len(free)) & 1).astype(bool)]
        return np.sort(np.concatenate([self.choices.required[v], chosen])).astype(np.int32)


class TableBuilder:
    """Scores the families of tables level by level: first the sets without candidates, then with one, and so on.

    ``score_level`` scores the sets of the next size for all variables; ``finish`` makes the tables of the levels that
    are complete. `max_indegree` counts all parents, required ones too.
    """

    def __init__(self, source: GainSource | None, choices: ParentChoices, *, max_indegree: int):
        most = int(choices.sizes.max(initial=0))
        if most > MOST_CANDIDATES:
            raise ValueError(f"tables hold all sets of at most {MOST_CANDIDATES} candidates, got {most}")
        self.source, self.choices, self.max_indegree = source, choices, max_indegree
        #: Number of candidates of the largest sets that are scored for all variables; -1 before the first level.
        self.level = -1
        limits = zip(choices.required, choices.candidates, strict=True)
        self._most = [min(max_indegree - len(forced), len(free)) for forced, free in limits]
        self.first = np.concatenate([[0], np.cumsum(1 << choices.sizes)]).astype(np.int64)
        self.scores = np.full(self.first[-1], -np.inf)
        self._rows = FamilyRows(source, choices.mask()) if isinstance(source, Scorer) else None

    @property
    def is_complete(self) -> bool:
        """Whether all families are scored."""
        return self.level >= max(self._most, default=-1)

    @property
    def n_levels(self) -> int:
        """Number of levels of all families."""
        return max(self._most, default=-1) + 1

    def score_level(self, is_over: Callable[[], bool] = lambda: False) -> bool:
        """Score the next level; return False if `is_over` ended it, which forgets its scores."""
        size = self.level + 1
        for v in range(self.choices.n):
            if is_over():
                self._forget(size)
                return False
            if size <= self._most[v]:
                self._score_variable(v, size)
        self.level = size
        return True

    def score_nothing(self) -> None:
        """Give all families the score 0."""
        for v, most in enumerate(self._most):
            table = self._of(v)
            table[np.bitwise_count(np.arange(len(table))) <= most] = 0.0
        self.level = max(self._most, default=-1)

    def finish(self, log_prior: np.ndarray) -> FamilyTables:
        """Return the tables with ``log_prior[k]`` added to the score of k parents; the builder's scores are replaced.

        Raises a ValueError if no family of a variable has a score.
        """
        choices = self.choices
        self._forget(self.level + 1)
        sets, weights, offsets = [], [], []
        for v in range(choices.n):
            table = self._of(v)
            finite = np.flatnonzero(table > -inf)
            if not len(finite):
                raise ValueError(self._explain(v))
            table[finite] += log_prior[np.bitwise_count(finite) + len(choices.required[v])]
            finite = finite[table[finite] > -inf]
            order = finite[np.argsort(-table[finite], kind="stable")]
            offsets.append(table[order[0]])
            table[finite] -= offsets[-1]
            sets.append(order.astype(np.uint32))
            weights.append(table[order])
            sum_subsets(table)
        start = np.concatenate([[0], np.cumsum([len(part) for part in sets])]).astype(np.int64)
        no_sets, no_weights = np.empty(0, dtype=np.uint32), np.empty(0)
        return FamilyTables(
            choices,
            start,
            np.concatenate([no_sets, *sets]),
            np.concatenate([no_weights, *weights]),
            self.first,
            self.scores,
            np.array(offsets),
            self._refusals(),
        )

    def _of(self, v: int) -> np.ndarray:
        return self.scores[self.first[v] : self.first[v + 1]]

    def _score_variable(self, v: int, size: int) -> None:
        """Score the sets of `size` candidates of one variable."""
        forced, free, table = self.choices.required[v], self.choices.candidates[v], self._of(v)
        if self._rows is None:
            assert self.source is not None
            for m in list_sets(len(free), size):
                table[m] = self.source.family_score(v, self._join(v, m))
        elif size == 0:
            table[0] = self._rows.score_required(v, forced)
        else:
            if self._rows.is_far:
                self._expect(v, size)
            self._rows.score_level(v, forced, free, size - 1, table)

    def _expect(self, v: int, size: int) -> None:
        """Request the counts of a level in messages, if workers count."""
        rows = list_sets(max(len(self.choices.candidates[v]) - 1, 0), size - 1)
        families = [(v, self._join(v, m)) for m in rows]
        for at in range(0, len(families), EXPECTED):
            assert self.source is not None
            expect_families(self.source, families[at:], n_needed=1)

    def _join(self, v: int, m: int) -> np.ndarray:
        free = self.choices.candidates[v]
        chosen = free[[b for b in range(len(free)) if m >> b & 1]]
        return np.sort(np.concatenate([self.choices.required[v], chosen])).astype(np.int32)

    def _forget(self, size: int) -> None:
        """Forget the scores of sets of `size` candidates and more."""
        if size > max(self._most, default=-1):
            return
        for v in range(self.choices.n):
            for m in list_sets(len(self.choices.candidates[v]), size):
                self._of(v)[m] = -inf

    def _explain(self, v: int) -> str:
        """Return why a variable has no family with a score."""
        refusals = [refusal.message for refusal in self._refusals() if refusal.child == v]
        return refusals[0] if refusals else f"no family of variable {v} with its required parents has a finite score"

    def _refusals(self) -> list[Refusal]:
        return [] if self._rows is None else [Refusal(*refused) for refused in self._rows.refused]


def make_tables(
    source: GainSource, choices: ParentChoices, log_prior: np.ndarray, *, max_indegree: int
) -> FamilyTables:
    """Return the tables of all families with at most `max_indegree` parents.

    ``log_prior[k]`` is the log prior of k parents, for k up to the number of variables.
    """
    builder = TableBuilder(source, choices, max_indegree=max_indegree)
    while not builder.is_complete:
        builder.score_level()
    return builder.finish(log_prior)


def make_prior_tables(choices: ParentChoices, log_prior: np.ndarray, *, max_indegree: int) -> FamilyTables:
    """Return the tables of the prior alone: all families have the score 0."""
    builder = TableBuilder(None, choices, max_indegree=max_indegree)
    builder.score_nothing()
    return builder.finish(log_prior)


def list_sets(n_candidates: int, size: int) -> list[int]:
    """Return the sets of `size` candidates as bits, ascending."""
    if size > n_candidates:
        return []
    m, sets, end = (1 << size) - 1, [], 1 << n_candidates
    while m < end:
        sets.append(m)
        if not m:
            break
        bit = m & -m
        following = m + bit
        m = following | ((m ^ following) >> 2) // bit
    return sets


def find_best_sets(tables: FamilyTables) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return for each variable the sets that weigh more than all their subsets, with bits by variable, and log weights.

    Fewer parents come first. The weights are relative to `offsets`.
    """
    all_sets, all_weights = [], []
    for v in range(tables.n):
        masks, weights = tables.of(v)
        table = np.full(tables.first[v + 1] - tables.first[v], -np.inf)
        table[masks] = weights
        live = find_live_sets(table)
        live = live[np.argsort(np.bitwise_count(live), kind="stable")]
        all_sets.append(to_variables(live, tables.choices.candidates[v], tables.choices.required[v]))
        all_weights.append(table[live])
    return all_sets, all_weights


def to_variables(masks: np.ndarray, candidates: np.ndarray, required: np.ndarray) -> np.ndarray:
    """Return sets of candidates with the required parents as bits of variables, uint64; at most 64 variables."""
    sets = np.full(len(masks), sum(1 << u for u in required.tolist()), dtype=np.uint64)
    for b, u in enumerate(candidates.tolist()):
        sets |= ((masks.astype(np.uint64) >> np.uint64(b)) & np.uint64(1)) << np.uint64(u)
    return sets
