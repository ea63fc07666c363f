"""Threads that help a climb: they prefetch rows of gains, or count some of the rows of the table for each of them."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Self

import numpy as np

from pgmx._ext._families import FamilyScorer
from pgmx._ext._row_cache import CachedScorer, RowsAhead
from pgmx.parallel.threads import count_helpers, count_sharers, help_on_threads
from pgmx.scores.gains import GainSource, source_of_rows


class RowHelpers:
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
            self._n_threads = 1
            return
        ahead = RowsAhead(source.store, n_helpers + 1)
        self._n_threads = 1
        if not source.follow(ahead):
            return
        self._stack.callback(source.follow, None)
        self._stack.enter_context(
            help_on_threads(lambda number: ahead.serve(number, self._make_rows()), ahead.close, n_helpers)
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
