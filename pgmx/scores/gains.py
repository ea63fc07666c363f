"""Sources of the gains of moves: their interface, upper bounds, scores in Python, stored and prefetched rows.

`FunctionGains` calls any score family by family. `RowCache` and `CachedSources` keep rows of gains for a search that
returns to earlier graphs. `RowPrefetcher` starts threads that compute rows before a climb needs them, or that count
some of the rows of the table for each row of gains.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import ceil, inf, isfinite, log10
from sys import byteorder
from time import perf_counter
from typing import Any, Protocol, Self

import numpy as np

from pgmx._ext._families import FamilyScorer
from pgmx._ext._row_cache import CachedScorer, RowsAhead, RowStore
from pgmx._ext._scorer import Scorer
from pgmx.parallel.threads import count_helpers, count_sharers, help_on_threads

#: Bytes of rows that a search keeps if it returns to earlier graphs.
ROW_MEMORY = 1 << 27

#: Rows that are kept if a search does not return to earlier graphs, but threads prefetch rows.
PREFETCHED_ROWS = 64

#: Kinds of upper bounds: the codes of `pgmx._ext._parent_sets`.
NO_BOUND, LIKELIHOOD, CELLS = 0, 1, 2


class GainSource(Protocol):
    """Scores of families, and the gain of each change of one arc; variables are ids from 0 to n - 1.

    A gain of -inf marks an arc that cannot be added: a self loop, an arc that is not allowed, an arc to a child with
    `max_indegree` parents. `parents` are ascending int32. Only one thread at a time may use a source.
    """

    def start(self, gains: np.ndarray, scores: np.ndarray) -> None:
        """Fill ``gains[child, u]``, the gain of adding u to the child without parents, and ``scores[child]``."""

    def rescore(self, child: int, parents: np.ndarray, gains: np.ndarray) -> float:
        """Fill ``gains[child]`` and return the family score of `child` with `parents`.

        ``gains[child, u]`` is the gain of deleting u if u is a parent, otherwise the gain of adding u.
        """
        ...

    def restrict(self, allowed: np.ndarray | None) -> None:
        """Replace the mask of arcs, uint8 (n, n); ``allowed[child, parent] == 0`` forbids an arc, None allows all."""

    def family_score(self, child: int, parents: np.ndarray) -> float:
        """Return the score of `child` with `parents`."""
        ...


@dataclass(frozen=True, eq=False)
class FamilyBounds:
    """Upper bounds of the families of a child with more parents, as the exact search uses them.

    `LIKELIHOOD`: the score is a log-likelihood, which parents never decrease (at most 0 for a discrete child), minus
    `cost` per parameter and ``size_costs[k]`` for k parents. `CELLS`: a Dirichlet score of unweighted rows, at most
    -ln r for each cell that occurs. `cards` are the cardinalities; None if each parent adds one parameter.
    """

    kind: int = NO_BOUND
    cost: float = 0.0
    cards: np.ndarray | None = None
    size_costs: np.ndarray | None = None

    def size_cost(self, k: int) -> float:
        """Return what k parents cost in addition to their parameters."""
        return 0.0 if self.size_costs is None else float(self.size_costs[k])


class FunctionGains:
    """Gains from any decomposable score given as a function; each family is scored once.

    ``local_score(child, parents)`` has ids as arguments, `parents` as an ascending tuple. No addition is scored after
    `deadline`, a time of ``time.perf_counter``. Cost: n² scores to start, n per child that a move changes. Gains are
    rounded to ten digits of the largest score, or to 1e-5 if that is finer: rounding errors do not break ties.
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
        # families of equivalent graphs sum the same terms in another order: without rounding they would not tie
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
                f"{self.names[child]!r} with the parents {[self.names[p] for p in family]!r} has the score {now}. A "
                "search cannot start from this graph: choose another start_dag or another score"
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
    """Gains of another source; each row is kept and reused when the same child has the same parents again.

    A search that deletes arcs and adds them again needs most rows many times. At most `memory` bytes of rows are kept;
    the oldest rows are dropped. The keys of `rows` are the bytes of child and parents as int32, the values the bytes of
    the gains and the score, so that a kernel can read them (`ScoredMoves`).
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
    """Factory of sources of gains whose rows are kept. Compiled sources, one per thread, share the kept rows."""

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


def expect_families(
    source: GainSource, families: list[tuple[int, np.ndarray]], *, n_needed: int = 1, has_rows: bool = True
) -> None:
    """Request the counts of families in one message if workers send counts; the first `n_needed` are scored next.

    A family is a child and its ascending parents, int32. The most probable families come first. No message is sent if
    the needed families are known, and the length of a message is limited. `has_rows` requests rows of gains; otherwise
    scores only are computed.
    """
    if isinstance(source, Scorer):
        source.expect_families(families, n_needed, has_rows)


#: Families, the number of them that are scored next, and whether rows of gains are needed: see `expect_families`.
FamilyMessage = tuple[list[tuple[int, np.ndarray]], int, bool]


def prefetch_families(source: GainSource, list_messages: Callable[[], Iterable[FamilyMessage]]) -> None:
    """Request families that a search will probably need, if workers send the counts in messages.

    A message costs more time than the counts of many families. Counts on this machine cost no message: then the
    families are not even listed.
    """
    if isinstance(source, Scorer) and source.is_far:
        for families, n_needed, has_rows in list_messages():
            source.expect_families(families, n_needed, has_rows)


def source_of_rows(source: GainSource) -> GainSource:
    """Return a source of gains without the cache of its rows."""
    return source.source if isinstance(source, RowCache | CachedScorer) else source


# ---- prefetched rows ----


class RowPrefetcher:
    """Helper threads of a climb, which start when they save time; the context manager ends them.

    `make_source` returns sources that keep their rows. Threads help only if the source of the climb keeps its rows too.
    `mask` is the mask of its arcs. The rows do not depend on the thread that computes them, nor does the climb.
    """

    def __init__(
        self,
        source: GainSource,
        make_source: Callable[[], GainSource] | None,
        n_threads: int,
        mask: np.ndarray | None = None,
    ):
        self._source, self._make_source, self._n_threads, self._mask = source, make_source, n_threads, mask
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    @property
    def may_begin(self) -> bool:
        """Whether threads may still be started."""
        return self._n_threads > 1 and self._make_source is not None and isinstance(self._source, CachedScorer)

    def begin(self, n_rows: float, seconds: float) -> None:
        """Start threads if they save time for `n_rows` rows of `seconds` each."""
        source: Any = self._source
        n_helpers = count_helpers(self._n_threads, n_rows, seconds)
        if not n_helpers or not self.may_begin or not isinstance(source, CachedScorer):
            return
        if self._share_rows(source_of_rows(source), n_helpers + 1):
            self._n_threads = 1  # the threads are in use: no others start later
            return
        prefetched = RowsAhead(source.store, n_helpers + 1)
        self._n_threads = 1
        if not source.follow(prefetched):
            return
        self._stack.callback(source.follow, None)
        self._stack.enter_context(
            help_on_threads(lambda number: prefetched.serve(number, self._make_rows()), prefetched.close, n_helpers)
        )

    def _share_rows(self, scorer: Any, n_threads: int) -> bool:
        """Start threads that count some of the rows of the table for each row of gains, if that is faster."""
        if not isinstance(scorer, FamilyScorer):
            return False
        n_threads = count_sharers(n_threads, scorer.n_rows)
        if n_threads == 1 or not scorer.share_rows(n_threads):
            return False
        self._stack.callback(scorer.share_rows, 1)
        self._stack.enter_context(help_on_threads(scorer.serve, scorer.close, n_threads - 1))
        return True

    def _make_rows(self) -> GainSource:
        """Return a source of the same rows for a thread."""
        assert self._make_source is not None
        source = source_of_rows(self._make_source())
        if self._mask is not None:
            source.restrict(self._mask)
        return source
