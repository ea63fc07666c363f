"""Where a search gets its gains from.

A source of gains has two methods, which the compiled ``FamilyScorer`` and :class:`FunctionGains` share:

``start(gains, scores)``
    Fill ``gains[child, u]``, what adding u to the parentless child gains, and ``scores[child]``.
``rescore(child, parents, gains) -> float``
    Fill ``gains[child]`` for a child with `parents` (gain of deleting u where u is a parent, else of adding it, -inf
    where it cannot be added) and return its family score.
"""

from collections.abc import Callable, Sequence
from math import ceil, inf, isfinite, log10
from time import perf_counter
from typing import Any

import numpy as np

#: Bytes of rows that a search keeps which goes back to graphs it has left.
ROW_MEMORY = 1 << 27


class FunctionGains:
    """Gains from any decomposable score given as a function, each family scored once.

    Parameters
    ----------
    n : int
        Number of variables.
    local_score : callable
        ``local_score(child, parents) -> float`` on ids, `parents` an ascending tuple.
    allowed : uint8 ndarray of shape (n, n), optional
        ``allowed[child, parent] == 0`` keeps an arc out; its family is never scored.
    max_indegree : int, optional
        A child with so many parents gets no gains of additions.
    deadline : float, default=inf
        Reading of ``time.perf_counter`` after which no further addition is scored.
    names : sequence, optional
        Names of the variables, for messages.

    Notes
    -----
    Cost: n² scores to start, n for each child that a move changes; one float is kept for each family seen. Gains are
    rounded to ten digits of the largest score, and to 1e-5 where that is finer, so that ties which rounding errors
    break, by the order of the rows for one, stay ties.
    """

    def __init__(
        self,
        n: int,
        local_score: Callable[[int, tuple[int, ...]], float],
        *,
        allowed: np.ndarray | None = None,
        max_indegree: int | None = None,
        deadline: float = inf,
        names: Sequence | None = None,
    ):
        self.n = n
        self.local_score = local_score
        self.allowed = allowed
        self.max_indegree = n if max_indegree is None else max_indegree
        self._known: dict[tuple[int, tuple[int, ...]], float] = {}
        sizes = [abs(self.family_score(v, ())) for v in range(n)]
        largest = max([size for size in sizes if isfinite(size)], default=1.0)
        self._decimals = max(10 - ceil(log10(max(largest, 1.0))), 5)
        self.deadline = deadline
        self.names = range(n) if names is None else names

    def start(self, gains: np.ndarray, scores: np.ndarray) -> None:
        """Fill the gains and scores of the graph without arcs."""
        for child in range(self.n):
            scores[child] = self.rescore(child, np.empty(0, dtype=np.int32), gains)

    def rescore(self, child: int, parents: np.ndarray, gains: np.ndarray) -> float:
        """Fill the gains of `child` and return its family score."""
        family = tuple(parents.tolist())
        now = self.family_score(child, family)
        if not isfinite(now):
            raise ValueError(
                f"{self.names[child]!r} with the parents {[self.names[p] for p in family]!r} has the score {now}: a "
                "search cannot begin there; choose another start_dag or another score"
            )
        row = gains[child]
        row[:] = -np.inf
        for parent in family:
            row[parent] = self.family_score(child, tuple(p for p in family if p != parent)) - now
        if len(family) < self.max_indegree:
            for u in range(self.n):
                if perf_counter() > self.deadline:
                    break
                if u != child and u not in family and (self.allowed is None or self.allowed[child, u]):
                    row[u] = self.family_score(child, tuple(sorted((*family, u)))) - now
        np.round(row, self._decimals, out=row)
        return now

    def restrict(self, allowed: np.ndarray | None) -> None:
        """Replace the mask of allowed arcs; None allows all."""
        self.allowed = allowed

    def family_score(self, child: int, parents: tuple[int, ...]) -> float:
        """Return the remembered score of a family."""
        family = (child, parents)
        if family not in self._known:
            self._known[family] = float(self.local_score(child, parents))
        return self._known[family]


class RememberedRows:
    """Gains of another source, each row kept for the next time the same child has the same parents.

    A search that takes arcs out and puts them back asks for most rows many times.

    Parameters
    ----------
    source : FamilyScorer, FunctionGains or another source
        Where rows come from.
    memory : int, default=2**27
        Bytes of rows that are kept; beyond it the rows kept longest are dropped.
    """

    def __init__(self, source, memory: int = ROW_MEMORY):
        self.source = source
        self.memory = memory
        self._rows: dict[tuple[int, bytes], tuple[np.ndarray, float]] = {}

    def start(self, gains: np.ndarray, scores: np.ndarray) -> None:
        """Fill the gains and scores of the graph without arcs."""
        self.source.start(gains, scores)

    def restrict(self, allowed: np.ndarray | None) -> None:
        """Replace the mask of allowed arcs."""
        self._rows.clear()
        self.source.restrict(allowed)

    def rescore(self, child: int, parents: np.ndarray, gains: np.ndarray) -> float:
        """Fill the gains of `child` and return its family score."""
        key = (child, parents.tobytes())
        kept = self._rows.get(key)
        if kept is not None:
            gains[child] = kept[0]
            return kept[1]
        score = self.source.rescore(child, parents, gains)
        while self._rows and len(self._rows) * 8 * gains.shape[1] >= self.memory:
            del self._rows[next(iter(self._rows))]
        self._rows[key] = (gains[child].copy(), score)
        return score


def remembered(make_source: Callable[[], Any]) -> RememberedRows:
    """Return a new source whose rows are kept."""
    return RememberedRows(make_source())
