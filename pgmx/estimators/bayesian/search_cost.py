"""Memory required for a search, from a table or its shape."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pgmx.data import DiscreteTable, DistributedNumericTable, encode
from pgmx.data.mixed import MixedTable, read_incomplete_mixed
from pgmx.estimators.bayesian.cost import MissingCounts, estimate_continuous, estimate_discrete, estimate_expectations
from pgmx.estimators.bayesian.dag_learner import DagLearner
from pgmx.estimators.cost import LearningCost
from pgmx.parallel.threads import MOST_HELPED, count_threads
from pgmx.scores.gains import AHEAD_ROWS, ROW_MEMORY


class _Size(NamedTuple):
    """Number of rows, states of discrete columns, number of continuous columns, and missing values if EM is used."""

    n_rows: int
    cards: list[int]
    n_floats: int
    missing: MissingCounts | None


class SearchCost(DagLearner):
    """Base of the learners that estimate the memory of a search before it starts."""

    def _revisits_graphs(self) -> bool:
        """Return whether the search returns to earlier graphs, so that storing rows of gains is useful."""
        return True

    def _uses_workers(self) -> bool:
        """Return whether the search sends its problem to workers."""
        return False

    def _uses_threads(self) -> bool:
        """Return whether each of `n_jobs` threads searches on its own graph."""
        return self._uses_workers()

    def _climbs_ahead(self) -> bool:
        """Return whether `n_jobs` threads compute the rows of gains of one climb."""
        return False

    def _limit_rows(self, n: int) -> int:
        """Return the largest number of bytes for the rows of n gains that the search keeps."""
        if self._revisits_graphs():
            return ROW_MEMORY
        return AHEAD_ROWS * 8 * (n + 1) if self._climbs_ahead() and count_threads(self.n_jobs) > 1 else 0

    def _limit_trees(self) -> int:
        """Return the largest number of bytes that each thread keeps in addition to rows of gains."""
        return 0

    def _count_climbs(self) -> float:
        """Return the number of greedy climbs that visit about as many graphs as this search."""
        return 1.0

    def estimate_cost(
        self,
        X: Any = None,
        *,
        n_rows: int | None = None,
        cardinalities: ArrayLike | None = None,
        n_floats: int = 0,
        weighted: bool = False,
        missing_share: float = 0.0,
    ) -> LearningCost:
        """Estimate the memory required for learning.

        Parameters
        ----------
        X : DataFrame, array, DiscreteTable or path, optional
            The data. States are coded to count them. Iterators are not accepted, because reading would exhaust them.
        n_rows : int, optional
            Number of rows, in place of `X`.
        cardinalities : array-like of int, optional
            Number of states of each discrete variable, in place of `X`.
        n_floats : int, default=0
            Number of continuous variables, in place of `X`.
        weighted : bool, default=False
            Whether the rows will have non-integer weights.
        missing_share : float, default=0.0
            Share of missing values, from 0 to 1, in place of `X`. Only for ``missing="em"``.

        Returns
        -------
        LearningCost
            Bytes per component and their sum. See :func:`pgmx.data.estimate_memory` for the formula for discrete
            variables.

        Raises
        ------
        ValueError
            If neither `X` nor its shape is given, or `missing_share` is out of range or given without ``missing="em"``.

        Notes
        -----
        On ten tables, from alarm (37 variables x 10,000 rows) to 100 variables x 5,000,000 rows in a plane file, the
        estimate is between one and three times the measured peak. For structural EM (``missing="em"``) it assumes
        sparse graphs, because the graphs are not known in advance.
        """
        numbers = n_rows, cardinalities, n_floats, missing_share
        size = self._describe(*numbers) if X is None else self._measure(X)
        n_threads = count_threads(self.n_jobs) if self._uses_threads() else 1
        rows = self._limit_rows(len(size.cards) + size.n_floats) + n_threads * self._limit_trees()
        if size.missing is not None:
            return estimate_expectations(
                size.missing, size.n_rows, size.cards, size.n_floats, climbs=self._count_climbs(), row_memory=rows
            )
        if size.n_floats:
            return estimate_continuous(size.n_rows, size.n_floats, size.cards)
        cost = estimate_discrete(size.n_rows, size.cards, row_memory=rows, weighted=weighted, n_threads=n_threads)
        if n_threads == 1 and self._climbs_ahead():  # the helping threads have no graph
            n_helpers = min(count_threads(self.n_jobs), MOST_HELPED) - 1
            cost = cost.add(scratch=n_helpers * (cost.kept_counts + cost.scratch))
        return cost

    def _describe(
        self, n_rows: int | None, cardinalities: ArrayLike | None, n_floats: int, missing_share: float
    ) -> _Size:
        """Return the size of a table from its shape."""
        if n_rows is None or (cardinalities is None and not n_floats):
            raise ValueError("estimate_cost needs the data, or n_rows=... and cardinalities=[...] or n_floats=...")
        if not 0.0 <= missing_share <= 1.0 or (missing_share and self.missing != "em"):
            raise ValueError(
                f"missing_share={missing_share!r} must be from 0 to 1, and 0 without missing='em' (missing is "
                f"{self.missing!r})"
            )
        cards = [] if cardinalities is None else np.asarray(cardinalities).tolist()
        missing = MissingCounts.from_share(n_rows, cards, n_floats, missing_share) if missing_share else None
        return _Size(n_rows, cards, n_floats, missing)

    def _measure(self, X: Any) -> _Size:
        """Return the size of a table. States of files and iterators are coded."""
        opened = self._open(X)
        if isinstance(opened, DistributedNumericTable):
            return _Size(opened.n_rows, [], opened.n_columns, None)
        if not isinstance(opened, DiscreteTable):
            floats = opened.list_known_floats()
            if floats and self._holds_numbers(opened):
                return self._measure_floats(opened, len(floats))
        table = encode(opened, state_names=self.state_names, missing=self._coding, n_jobs=self.n_jobs)
        cards = table.cardinalities
        if self.missing != "em" or not (table.missing_codes >= 0).any():
            return _Size(table.n_rows, cards.tolist(), 0, None)
        is_float, numbers = np.zeros(table.n_variables, dtype=bool), np.empty((0, table.n_rows))
        missing = MissingCounts.from_table(MixedTable(table.columns, is_float, numbers, table))
        return _Size(table.n_rows, (cards - (table.missing_codes >= 0)).tolist(), 0, missing)

    def _measure_floats(self, opened: Any, n_floats: int) -> _Size:
        if self.missing != "em" or not opened.missing_columns():
            floats = opened.list_known_floats()
            part = opened.take_columns([name for name in opened.names if name not in floats])
            cards = part.encode(missing="category").cardinalities.tolist() if part.names else []
            return _Size(opened.n_rows, cards, n_floats, None)
        mixed = read_incomplete_mixed(opened, state_names=self.state_names)
        cards = [] if mixed.table is None else (mixed.table.cardinalities - (mixed.table.missing_codes >= 0)).tolist()
        return _Size(mixed.n_rows, cards, len(mixed.numbers), MissingCounts.from_table(mixed))
