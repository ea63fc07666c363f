"""Gains of families of continuous and discrete variables."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf, isfinite, log10, prod
from time import perf_counter

import numpy as np
from numpy.typing import ArrayLike

from pgmx._ext import _mixed
from pgmx.scores.gains import GainSource
from pgmx.scores.mixed.sums import MixedSums
from pgmx.statistics.collinearity import NOISE, Collinearity

_NONE = np.empty(0, dtype=np.int32)


class UnscorableFamilyError(ValueError):
    """A family of the graph that a search starts from has no finite score."""


@dataclass(frozen=True)
class MixedTerms:
    """The terms of a conditional Gaussian score.

    `divisor` is the code in `pgmx._ext._mixed` for the divisor of a residual sum of squares. `penalty` is the cost of a
    free parameter. `discrete_children` says whether continuous variables may be parents of discrete variables.
    """

    divisor: int = _mixed.LIKELIHOOD
    penalty: float = 0.0
    discrete_children: bool = False


class MixedGains:
    """Scores of the families of a mixed table, and the gain of each change of one arc.

    `discrete`, a source of gains over the discrete columns, scores families of discrete variables. Other families are
    scored from sums over configurations, -inf if `pgmx._ext._mixed` refuses one. Columns of `collinearity` have noise.
    `size_costs` are those of a `CompiledScore`. No additions are scored after `deadline`. Gains are rounded.
    """

    def __init__(
        self,
        sums: MixedSums,
        terms: MixedTerms,
        is_continuous: np.ndarray,
        *,
        discrete: GainSource | None,
        allowed: np.ndarray | None = None,
        max_indegree: int | None = None,
        deadline: float = inf,
        names: Sequence | None = None,
        collinearity: Collinearity | None = None,
        size_costs: np.ndarray | None = None,
    ):
        self.sums = sums
        self.collinearity = collinearity
        self.terms = terms
        self.size_costs = size_costs
        self.discrete = discrete
        self.n = len(is_continuous)
        self.is_continuous = is_continuous
        self.positions = np.where(is_continuous, np.cumsum(is_continuous), np.cumsum(~is_continuous)) - 1
        self._places = list(zip(self.positions.tolist(), is_continuous.tolist(), strict=True))
        self.floats, self.states = np.flatnonzero(is_continuous), np.flatnonzero(~is_continuous)
        self.max_indegree = self.n if max_indegree is None else max_indegree
        self.deadline = deadline
        self.names = range(self.n) if names is None else names
        self.allowed: np.ndarray | None = None
        self.restrict(allowed)
        largest = 1.0
        for child in range(self.n):
            alone = abs(self.family_score(child, _NONE))
            largest = max(largest, alone if isfinite(alone) else 1.0)
        self._decimals = max(10 - ceil(log10(largest)), 5)

    # ---- the interface of a source of gains ----

    def start(self, gains: np.ndarray, scores: np.ndarray) -> None:
        """Fill the gains and scores of the graph without arcs."""
        for child in range(self.n):
            scores[child] = self.rescore(child, _NONE, gains)

    def restrict(self, allowed: np.ndarray | None) -> None:
        """Replace the mask of allowed arcs; None allows all."""
        self.allowed = allowed
        if self.discrete is not None:
            square = np.ix_(self.states, self.states)
            self.discrete.restrict(None if allowed is None else np.ascontiguousarray(allowed[square]))

    def family_score(self, child: int, parents: np.ndarray) -> float:
        """Return the score of a family."""
        score = self._score_family(child, parents)
        return score if self.size_costs is None else score - float(self.size_costs[len(parents)])

    def _score_family(self, child: int, parents: np.ndarray) -> float:
        """Return the score of a family without the cost of its size."""
        states, floats = self._split(parents)
        if not self.is_continuous[child] and not floats:
            return self._discrete().family_score(int(self.positions[child]), np.array(states, dtype=np.int32))
        if not self.is_continuous[child] and not self.terms.discrete_children:
            return -inf
        return self._score(child, states, floats)

    def rescore(self, child: int, parents: np.ndarray, gains: np.ndarray) -> float:
        """Fill the gains of `child` and return its family score."""
        row = gains[child]
        row[:] = -inf
        states, floats = self._split(parents)
        if self.is_continuous[child] or floats:  # before the family, so that its sums do not depend on earlier calls
            self.sums.sum_all(
                states if self.is_continuous[child] else tuple(sorted((*states, int(self.positions[child]))))
            )
        now = self._score_family(child, parents)
        if not isfinite(now):
            raise UnscorableFamilyError(
                f"{self.names[child]!r} with the parents {[self.names[p] for p in parents.tolist()]!r} has the score "
                f"{now}. A configuration of the states has too few rows for a regression, or a column that the others "
                "determine. Drop these edges from start_dag and the required edges, or merge rare states"
            )
        in_time = perf_counter() <= self.deadline
        candidates = self._candidates(child, parents) if in_time else np.zeros(self.n, dtype=bool)
        of_states = not self.is_continuous[child] and not floats
        if not of_states:
            self._fill_deletions(child, states, floats, row)
            self._fill_states(child, states, floats, row, candidates)
        if self.is_continuous[child] or self.terms.discrete_children:
            self._fill_floats(child, states, floats, row, candidates)
        row -= now
        np.round(row, self._decimals, out=row)
        if of_states:
            row[self.states] = self._discrete_gains(child, states, bool(candidates.any()))
        return now if self.size_costs is None else now - self._charge_sizes(row, parents, self.size_costs)

    def _charge_sizes(self, row: np.ndarray, parents: np.ndarray, costs: np.ndarray) -> float:
        """Subtract from gains what the changed number of parents costs; return what the present number costs."""
        k = len(parents)
        deletions = row[parents] + (costs[k] - costs[k - 1])
        if k + 1 < self.n:
            row -= costs[k + 1] - costs[k]
        row[parents] = deletions
        return float(costs[k])

    # ---- families ----

    def _split(self, parents: np.ndarray) -> tuple[tuple[int, ...], list[int]]:
        """Return the parents as positions among the discrete columns and among the continuous columns."""
        places = [self._places[p] for p in parents.tolist()]
        states = tuple(position for position, is_continuous in places if not is_continuous)
        return states, [position for position, is_continuous in places if is_continuous]

    def _discrete(self) -> GainSource:
        assert self.discrete is not None
        return self.discrete

    def _candidates(self, child: int, parents: np.ndarray) -> np.ndarray:
        allowed = np.full(self.n, len(parents) < self.max_indegree)
        if self.allowed is not None:
            allowed &= self.allowed[child] != 0
        allowed[child] = False
        allowed[parents] = False
        return allowed

    def _cost(self, child: int, states: tuple[int, ...], n_floats: int) -> float:
        """Return the penalty of a family."""
        n_cells = prod(float(self.sums.cards[d]) for d in states)
        if self.is_continuous[child]:
            return self.terms.penalty * n_cells * (n_floats + 2)
        free = self.sums.cards[self.positions[child]] - 1
        return self.terms.penalty * n_cells * free * (n_floats + 2 if n_floats else 1)

    def _score(self, child: int, states: tuple[int, ...], floats: list[int]) -> float:
        """Return the score of a continuous child, or of a discrete child with continuous parents."""
        v = int(self.positions[child])
        if self.is_continuous[child]:
            terms = self._regress([*floats, v], self.sums.moments(states, [*floats, v])[None])[0]
        else:
            joint = tuple(sorted((*states, v)))
            moments = self.sums.moments(joint, floats)
            terms = self._condense(floats, moments[None], self.sums.pool(moments, joint, v)[None])[0]
        return float(terms) - self._cost(child, states, len(floats))

    def _regress(self, columns: ArrayLike, moments: np.ndarray, starts: np.ndarray | None = None) -> np.ndarray:
        """Return the log-likelihoods of the last of the given continuous columns, (m,) or (K, m).

        `moments` are the packed moments of K families, (K, q, M), or of ranges of configurations that begin at
        `starts`.
        """
        ids = np.atleast_2d(np.asarray(columns, dtype=np.int64))
        flat, ends = _flatten(moments)
        ends = ends if starts is None else starts
        terms = _mixed.regression_terms(flat, ends, ids.shape[1], self.terms.divisor, *self._noise(ids, len(ends) - 1))
        return terms - self.sums.n * np.log(self.sums.scale[ids[0, -1]])

    def _condense(self, columns: ArrayLike, joint: np.ndarray, parents: np.ndarray) -> np.ndarray:
        """Return the log-likelihoods of a discrete child: joint term minus the term of the parents.

        `columns` are the continuous parents, (m,) or (K, m); the moments are (K, q, M).
        """
        ids = np.atleast_2d(np.asarray(columns, dtype=np.int64))
        divisor = _mixed.SAMPLE if self.terms.divisor == _mixed.SAMPLE else _mixed.LIKELIHOOD
        of_joint, of_parents = (
            _mixed.mixture_terms(*_flatten(moments), ids.shape[1], divisor, *self._noise(ids, len(moments)))
            for moments in (joint, parents)
        )
        of_joint[of_parents == -inf] = -inf
        return of_joint - np.where(of_joint == -inf, 0.0, of_parents)

    def _noise(self, ids: np.ndarray, n_ranges: int) -> tuple[np.ndarray | None, float]:
        """Return which columns of each family the others determine in all rows (None if none), and their noise."""
        if self.collinearity is None:
            return None, 0.0
        determined = self.collinearity.find_determined(ids)
        if not determined.any():
            return None, 0.0
        return np.ascontiguousarray(np.broadcast_to(determined, (n_ranges, ids.shape[1]))), NOISE

    # ---- the row of a child: scores of its families after each change ----

    def _discrete_gains(self, child: int, states: tuple[int, ...], additions: bool) -> np.ndarray:
        """Return the gains of a discrete child with discrete parents, from the discrete source."""
        source, v = self._discrete(), int(self.positions[child])
        gains = np.empty((len(self.states), len(self.states)))
        source.max_indegree = self.max_indegree if additions else 0  # type: ignore[attr-defined]
        source.rescore(v, np.array(states, dtype=np.int32), gains)
        return gains[v]

    def _fill_deletions(self, child: int, states: tuple[int, ...], floats: list[int], row: np.ndarray) -> None:
        v = int(self.positions[child])
        for u in floats:
            rest = [w for w in floats if w != u]
            parent = self.floats[u]
            if self.is_continuous[child] or rest:
                row[parent] = self._score(child, states, rest)
            else:
                row[parent] = self._discrete().family_score(v, np.array(states, dtype=np.int32))
        for d in states:
            rest_of_states = tuple(e for e in states if e != d)
            if self.is_continuous[child]:
                moments = self.sums.pool(self.sums.moments(states, [*floats, v]), states, d)
                terms = self._regress([*floats, v], moments[None])
                score = float(terms[0]) - self._cost(child, rest_of_states, len(floats))
            else:
                score = self._score(child, rest_of_states, floats)
            row[self.states[d]] = score

    def _fill_floats(
        self, child: int, states: tuple[int, ...], floats: list[int], row: np.ndarray, candidates: np.ndarray
    ) -> None:
        ids = np.flatnonzero(candidates & self.is_continuous)
        if not len(ids):
            return
        v, others = int(self.positions[child]), self.positions[ids]
        if self.is_continuous[child]:
            moments = self.sums.moments_with_floats(states, floats, others, v)
            terms = self._regress([[*floats, u, v] for u in others], moments)
        else:
            joint = tuple(sorted((*states, v)))
            moments = self.sums.moments_with_floats(joint, floats, others)
            pooled = self.sums.pool(np.ascontiguousarray(moments.transpose(1, 0, 2)), joint, v).transpose(1, 0, 2)
            terms = self._condense([[*floats, u] for u in others], moments, pooled)
        row[ids] = terms - self._cost(child, states, len(floats) + 1)

    def _fill_states(
        self, child: int, states: tuple[int, ...], floats: list[int], row: np.ndarray, candidates: np.ndarray
    ) -> None:
        ids = np.flatnonzero(candidates & ~self.is_continuous)
        if not len(ids):
            return
        v = int(self.positions[child])
        if self.is_continuous[child]:
            moments = self.sums.moments_by_state(states, [*floats, v])
            scores = self._regress([*floats, v], moments, self.sums.offsets * moments.shape[1])
        else:
            scores = np.full(len(self.states), -inf)
            joint = tuple(sorted((*states, v)))
            moments = self.sums.moments_by_state(joint, floats)
            for d in self.positions[ids]:
                part = np.ascontiguousarray(moments[self.sums.offsets[d] : self.sums.offsets[d + 1]].transpose(1, 0, 2))
                pooled = self.sums.pool(part, joint, v)
                width = part.shape[-1]
                scores[d] = self._condense(floats, part.reshape(1, -1, width), pooled.reshape(1, -1, width))[0]
        for u in ids:
            d = int(self.positions[u])
            row[u] = scores[d] - self._cost(child, (*states, d), len(floats))


def _flatten(moments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return packed moments (K, q, M) as rows, and the first row of each of the K ranges."""
    k, q, width = moments.shape
    return np.ascontiguousarray(moments).reshape(k * q, width), np.arange(k + 1, dtype=np.int64) * q
