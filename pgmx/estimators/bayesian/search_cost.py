"""The memory that a search takes: of a table or of its shape, by the kind of search."""

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
    """Rows, numbers of states of discrete columns, continuous columns, and missing values if EM fills them in."""

    n_rows: int
    cards: list[int]
    n_floats: int
    missing: MissingCounts | None


class SearchCost(DagLearner):
    """Base of the learners that estimate the memory of a search before it begins."""

    def _revisits_graphs(self) -> bool:
        """Return whether the search comes back to earlier graphs, so that rows of gains are worth storing."""
        return True

    def _uses_workers(self) -> bool:
        """Return whether the search sends its problem to other workers."""
        return False

    def _uses_threads(self) -> bool:
        """Return whether `n_jobs` threads search on graphs of their own."""
        return self._uses_workers()

    def _climbs_ahead(self) -> bool:
        """Return whether `n_jobs` threads compute the rows of one climb, which the first of them makes."""
        return False

    def _limit_rows(self, n: int) -> int:
        """Return how many bytes of rows of n gains the search keeps at most."""
        if self._revisits_graphs():
            return ROW_MEMORY
        return AHEAD_ROWS * 8 * (n + 1) if self._climbs_ahead() and count_threads(self.n_jobs) > 1 else 0

    def _limit_trees(self) -> int:
        """Return how many bytes each thread keeps beside rows of gains at most."""
        return 0

    def _count_climbs(self) -> float:
        """Return how many greedy climbs visit about as many graphs as this search."""
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
        """Estimate the memory that learning takes.

        Parameters
        ----------
        X : DataFrame, array, DiscreteTable or path, optional
            The data; states are coded to count them. An iterator would be used up.
        n_rows : int, optional
            Number of rows, in place of `X`.
        cardinalities : array-like of int, optional
            Number of states of each discrete variable, in place of `X`.
        n_floats : int, default=0
            Number of continuous variables, in place of `X`.
        weighted : bool, default=False
            Whether the rows will have non-integer weights.
        missing_share : float, default=0.0
            Share of the values that are missing, 0 to 1, in place of `X`; only for ``missing="em"``.

        Returns
        -------
        LearningCost
            Bytes by part and their sum; :func:`pgmx.data.estimate_memory` has the formula for discrete variables.

        Raises
        ------
        ValueError
            If neither `X` nor the numbers are given, or `missing_share` is out of range or given without
            ``missing="em"``.

        Notes
        -----
        On ten tables, from alarm (37 variables x 10,000 rows) to 100 variables x 5,000,000 rows in a plane file, the
        bytes are between the peak that was measured and three times as much. For structural EM (``missing="em"``)
        they assume sparse graphs, since those that it visits are not known beforehand.
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
        if n_threads == 1 and self._climbs_ahead():  # those that help have no graph
            n_helpers = min(count_threads(self.n_jobs), MOST_HELPED) - 1
            cost = cost.add(scratch=n_helpers * (cost.kept_counts + cost.scratch))
        return cost

    def _describe(
        self, n_rows: int | None, cardinalities: ArrayLike | None, n_floats: int, missing_share: float
    ) -> _Size:
        """Return the size of a table that is given by its numbers."""
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
        """Return the size of a table; of files and iterators states are coded."""
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
