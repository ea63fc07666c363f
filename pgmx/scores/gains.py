"""Where a search gets its gains from: the interface, and two sources beside the compiled scorers."""

from collections.abc import Callable, Sequence
from math import ceil, inf, isfinite, log10
from sys import byteorder
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from pgmx._ext._row_cache import CachedScorer, RowStore
from pgmx._ext._scorer import Scorer

#: Bytes of rows that a search keeps where it returns to earlier graphs.
ROW_MEMORY = 1 << 27

#: Rows that are kept where a search does not return, but threads compute rows before it asks for them.
AHEAD_ROWS = 64


class GainSource(Protocol):
    """Scores of families, and what each change of one arc gains; variables are ids from 0 to n - 1.

    A gain of -inf stands for an arc that cannot be added: a self loop, an arc that is not allowed, a child with
    `max_indegree` parents. `parents` are ascending int32. A source serves one thread at a time.
    """

    def start(self, gains: np.ndarray, scores: np.ndarray) -> None:
        """Fill ``gains[child, u]``, what adding u to the parentless child gains, and ``scores[child]``; float64."""

    def rescore(self, child: int, parents: np.ndarray, gains: np.ndarray) -> float:
        """Fill ``gains[child]`` and return the family score of `child` with `parents`.

        ``gains[child, u]`` is the gain of deleting u where u is a parent, else of adding it.
        """
        ...

    def restrict(self, allowed: np.ndarray | None) -> None:
        """Replace the mask of arcs, uint8 (n, n), ``allowed[child, parent] == 0`` for none; None allows all."""

    def family_score(self, child: int, parents: np.ndarray) -> float:
        """Return the score of `child` with `parents`."""
        ...


class FunctionGains:
    """Gains from any decomposable score given as a function, each family scored once.

    ``local_score(child, parents)`` takes ids, `parents` an ascending tuple. No addition is scored after `deadline`, a
    reading of ``time.perf_counter``. Cost: n² scores to start, n for each child that a move changes. Gains are rounded
    to ten digits of the largest score, and to 1e-5 where that is finer, so that rounding errors break no ties.
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
        self._scores: dict[tuple[int, tuple[int, ...]], float] = {}
        sizes = [abs(self._score(v, ())) for v in range(n)]
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
        now = self._score(child, family)
        if not isfinite(now):
            raise ValueError(
                f"{self.names[child]!r} with the parents {[self.names[p] for p in family]!r} has the score {now}: a "
                "search cannot begin there; choose another start_dag or another score"
            )
        row = gains[child]
        row[:] = -np.inf
        for parent in family:
            row[parent] = self._score(child, tuple(p for p in family if p != parent)) - now
        if len(family) < self.max_indegree:
            for u in range(self.n):
                if perf_counter() > self.deadline:
                    break
                if u != child and u not in family and (self.allowed is None or self.allowed[child, u]):
                    row[u] = self._score(child, tuple(sorted((*family, u)))) - now
        np.round(row, self._decimals, out=row)
        return now

    def restrict(self, allowed: np.ndarray | None) -> None:
        """Replace the mask of allowed arcs; None allows all."""
        self.allowed = allowed

    def family_score(self, child: int, parents: np.ndarray) -> float:
        """Return the score of a family."""
        return self._score(child, tuple(parents.tolist()))

    def _score(self, child: int, parents: tuple[int, ...]) -> float:
        family = (child, parents)
        if family not in self._scores:
            self._scores[family] = float(self.local_score(child, parents))
        return self._scores[family]


class RowCache:
    """Gains of another source, each row kept for the next time the same child has the same parents.

    A search that deletes arcs and adds them again asks for most rows many times. At most `memory` bytes of rows are
    kept; the oldest are dropped. `rows` is by the bytes of child and parents as int32, and holds those of the gains and
    of the score, so that a kernel can ask it (`ScoredMoves`).
    """

    def __init__(self, source: GainSource, memory: int = ROW_MEMORY):
        self.source = source
        self.memory = memory
        self.rows: dict[bytes, bytes] = {}

    def start(self, gains: np.ndarray, scores: np.ndarray) -> None:
        """Fill the gains and scores of the graph without arcs."""
        self.source.start(gains, scores)

    def restrict(self, allowed: np.ndarray | None) -> None:
        """Replace the mask of allowed arcs."""
        self.rows.clear()
        self.source.restrict(allowed)

    def rescore(self, child: int, parents: np.ndarray, gains: np.ndarray) -> float:
        """Fill the gains of `child` and return its family score."""
        key = child.to_bytes(4, byteorder) + parents.tobytes()
        if key in self.rows:
            row = np.frombuffer(self.rows[key])
            gains[child] = row[:-1]
            return float(row[-1])
        score = self.source.rescore(child, parents, gains)
        while self.rows and len(self.rows) * 8 * gains.shape[1] >= self.memory:
            del self.rows[next(iter(self.rows))]
        self.rows[key] = gains[child].tobytes() + np.float64(score).tobytes()
        return score

    def family_score(self, child: int, parents: np.ndarray) -> float:
        """Return the score of a family."""
        return self.source.family_score(child, parents)


class CachedSources:
    """Makes sources of gains whose rows are kept; the compiled ones, one per thread, share what they keep."""

    def __init__(self, make_source: Callable[[], GainSource], memory: int = ROW_MEMORY):
        self.make_source, self.memory = make_source, memory
        self._store: RowStore | None = None

    def __call__(self) -> GainSource:
        """Return a new source."""
        source: Any = self.make_source()
        if not isinstance(source, Scorer):
            return RowCache(source, self.memory)
        if self._store is None:
            self._store = RowStore(source.n, self.memory)
        return CachedScorer(source, self._store)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_store": None}


def is_far(source: GainSource) -> bool:
    """Return whether counts come in messages, so that `expect_families` saves time."""
    return isinstance(source, Scorer) and source.is_far


def expect_families(
    source: GainSource, families: list[tuple[int, np.ndarray]], *, n_needed: int = 1, has_rows: bool = True
) -> None:
    """Have families asked for in one message where counts come in messages; the first `n_needed` are scored next.

    A family is a child and its ascending parents, int32, and the likeliest come first: there is no message where those
    needed are known, and none is longer than it should be. Rows of gains are computed of them, or scores alone.
    """
    if isinstance(source, Scorer):
        source.expect_families(families, n_needed, has_rows)


def source_of_rows(source: GainSource) -> GainSource:
    """Return a source of gains without the rows that are kept of it."""
    return source.source if isinstance(source, RowCache | CachedScorer) else source
