"""Memory required for learning a Bayesian network, counted from a table or its shape.

Structural EM searches on completed rows, and passes over the rows to compute expected counts. The graphs are not known
in advance, so the estimates assume sparse graphs.
"""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from pgmx.data import DiscreteTable, Frame, encode, estimate_memory
from pgmx.data.memory import size_table
from pgmx.data.mixed import MixedTable, read_incomplete_mixed
from pgmx.estimators.bayesian.dag_learner import DagLearner
from pgmx.estimators.cost import LearningCost
from pgmx.models.bayesian.em import MAX_PLANS
from pgmx.models.bayesian.incomplete_discrete import N_DRAWS, PASS_BYTES, PLAN_BYTES

#: Bytes per row that has a weight: the index of its cell, and its key while cells are sorted.
CELL_NUMBER_BYTES = 28

#: Number of copies of the continuous columns while they are read and scored.
COPIES = 4

#: Bytes per variable of the edges that a thread keeps for a forest, and of its block of weights.
FOREST_BYTES, FOREST_BLOCK = 340, 1 << 19

#: Bytes per value of completed rows of mixed data, and number of additional copies of continuous columns.
COMPLETED_BYTES, FLOAT_COPIES = 72, 2

#: Values per block in which missing continuous values are computed, and bytes per squared number of missing values of a
#: row.
BLOCK_BYTES, SQUARE_BYTES = 5 << 23, 10

#: Bytes of elimination plans per missing value and configuration of three variables, and copies of the numbers of a
#: block of rows.
PLAN_CELL_BYTES, PASS_COPIES = 10, 3

#: Bytes per row of a table for finding equal rows, in addition to copies of its codes.
ROW_BYTES, ROW_COPIES = 40, 3

#: Rows of gains that a climb stores per variable. A row takes slightly more than 8 bytes per variable.
GAIN_ROWS, GAIN_BYTES = 16, 128


def estimate_discrete(
    n_rows: int, cardinalities: ArrayLike, *, row_memory: int = 0, weighted: bool = False, n_threads: int = 1
) -> LearningCost:
    """Return the cost of a search with a discrete score."""
    need = estimate_memory(n_rows, cardinalities, row_memory=row_memory, n_threads=n_threads)
    scratch = max(need.scratch, n_threads * CELL_NUMBER_BYTES * n_rows) if weighted else need.scratch
    entries = need._replace(scratch=scratch)._asdict()
    entries.pop("total")
    return LearningCost.from_bytes(**entries, numbers=8 * n_rows if weighted else 0)


def estimate_continuous(n_rows: int, n_floats: int, cardinalities: ArrayLike = ()) -> LearningCost:
    """Return the cost of a search over continuous variables, with or without discrete variables."""
    cards = np.asarray(cardinalities, dtype=np.int64)
    n = n_floats + len(cards)
    numbers = 8 * n_rows * n_floats * (1 + COPIES)
    gains, scratch = 32 * n * n, 24 * n_rows
    if not len(cards):  # gains come from partial covariances, so each row is read once
        return LearningCost.from_bytes(gains=gains, kept_counts=32 * n * n, scratch=scratch, numbers=numbers)
    codes, planes = size_table(n_rows, cards)
    kept = min(1 << 28, 8 * n * n_floats * (n_floats + 1) * int(max(cards, default=1)) ** 2)
    return LearningCost.from_bytes(
        codes=codes, planes=planes, gains=gains, kept_counts=kept, scratch=scratch, numbers=numbers
    )


def estimate_forest(
    n_rows: int, cardinalities: ArrayLike, *, n_threads: int = 1, at_once: bool = False
) -> LearningCost:
    """Return the cost of a forest from the counts of all pairs; `at_once` needs no waiting rows."""
    need = estimate_memory(n_rows, cardinalities, kept_memory=0)
    n = len(np.asarray(cardinalities))
    gains = 12 * n * n if not at_once else n_threads * (FOREST_BYTES * n + FOREST_BLOCK) + FOREST_BYTES * n
    return LearningCost.from_bytes(codes=need.codes, planes=need.planes, gains=gains, scratch=n_threads * need.scratch)


class MissingCounts(NamedTuple):
    """Counts of missing values that determine the memory. Equal rows of a discrete table count once."""

    #: Number of rows, of rows with missing values, and of completed rows in a search.
    n_rows: float
    n_incomplete: float
    n_completed: float
    #: Number of missing values per row, and its square, summed over rows.
    cells: float
    squares: float

    @classmethod
    def from_table(cls, table: MixedTable) -> Self:
        """Count the missing values of a table."""
        missing = np.zeros((len(table.columns), table.n_rows), dtype=bool)
        missing[table.is_continuous] = np.isnan(table.numbers)
        if table.table is not None:
            missing[~table.is_continuous] = table.table.codes == table.table.missing_codes[:, None]
        n_completions = np.full(table.n_rows, float(N_DRAWS))
        if table.table is not None and not table.is_continuous.any():
            rows = _find_distinct(table.table.codes)
            missing = missing[:, rows]
            cards = (table.table.cardinalities - (table.table.missing_codes >= 0)).astype(float)
            n_completions = np.where(missing, cards[:, None], 1.0).prod(axis=0)
        sizes = missing.sum(axis=0).astype(float)
        return cls(
            float(len(sizes)),
            float((sizes > 0).sum()),
            float(np.where(sizes > 0, np.minimum(n_completions, N_DRAWS), 1.0).sum()),
            float(sizes.sum()),
            float((sizes**2).sum()),
        )

    @classmethod
    def from_share(cls, n_rows: int, cards: Sequence[int], n_floats: int, share: float) -> Self:
        """Return the expected counts of a table in which a share of the values is missing at random."""
        n = len(cards) + n_floats
        distinct = float(n_rows)
        if not n_floats:
            distinct = min(distinct, float(np.prod(np.asarray(cards, dtype=float) + 1.0)))
        incomplete = distinct * (1.0 - (1.0 - share) ** n)
        mean, spread = n * share, n * share * (1.0 - share)
        return cls(
            distinct,
            incomplete,
            distinct + (N_DRAWS - 1) * incomplete,
            distinct * mean,
            distinct * (mean**2 + spread),
        )


class SearchSize(NamedTuple):
    """Number of rows, states of discrete columns, number of continuous columns, and missing values if EM is used."""

    n_rows: int
    cards: list[int]
    n_floats: int
    missing: MissingCounts | None

    @classmethod
    def from_shape(
        cls,
        n_rows: int | None,
        cardinalities: ArrayLike | None,
        n_floats: int,
        missing_share: float,
        missing: str,
    ) -> Self:
        """Return the size of a table from its shape; `missing` is the option of the learner."""
        if n_rows is None or (cardinalities is None and not n_floats):
            raise ValueError("estimate_cost needs the data, or n_rows=... and cardinalities=[...] or n_floats=...")
        if not 0.0 <= missing_share <= 1.0 or (missing_share and missing != "em"):
            raise ValueError(
                f"missing_share={missing_share!r} must be from 0 to 1, and 0 without missing='em' (missing is "
                f"{missing!r})"
            )
        cards = [] if cardinalities is None else np.asarray(cardinalities).tolist()
        counts = MissingCounts.from_share(n_rows, cards, n_floats, missing_share) if missing_share else None
        return cls(n_rows, cards, n_floats, counts)


def measure_size(learner: Any, opened: Any) -> SearchSize:
    """Return the size of a table that a learner has opened. States of files and iterators are coded."""
    if not isinstance(opened, DiscreteTable | Frame):  # a distributed numeric table; local ones are columns
        return SearchSize(opened.n_rows, [], opened.n_columns, None)
    if not isinstance(opened, DiscreteTable):
        floats = opened.list_known_floats()
        if floats and learner._reads_continuous(opened):
            return _measure_floats(learner, opened, floats)
    table = encode(opened, state_names=learner.state_names, missing=learner._coding, n_jobs=learner.n_jobs)
    cards = table.cardinalities
    if learner.missing != "em" or not (table.missing_codes >= 0).any():
        return SearchSize(table.n_rows, cards.tolist(), 0, None)
    is_continuous, numbers = np.zeros(table.n_variables, dtype=bool), np.empty((0, table.n_rows))
    missing = MissingCounts.from_table(MixedTable(table.columns, is_continuous, numbers, table))
    return SearchSize(table.n_rows, (cards - (table.missing_codes >= 0)).tolist(), 0, missing)


def _measure_floats(learner: DagLearner, opened: Any, floats: Sequence[Hashable]) -> SearchSize:
    if learner.missing != "em" or not opened.missing_columns():
        part = opened.take_columns([name for name in opened.names if name not in floats])
        cards = part.encode(missing="category").cardinalities.tolist() if part.names else []
        return SearchSize(opened.n_rows, cards, len(floats), None)
    mixed = read_incomplete_mixed(opened, state_names=learner.state_names)
    cards = [] if mixed.table is None else (mixed.table.cardinalities - (mixed.table.missing_codes >= 0)).tolist()
    return SearchSize(mixed.n_rows, cards, len(mixed.numbers), MissingCounts.from_table(mixed))


def estimate_expectations(
    missing: MissingCounts, n_rows: int, cards: Sequence[int], n_floats: int, *, climbs: float, row_memory: int = 0
) -> LearningCost:
    """Return the cost of structural EM, if each search stores as many rows of gains as `climbs` greedy searches.

    `n_rows` counts all rows, including equal rows.
    """
    if not n_floats:
        n = len(cards)
        row_memory = min(row_memory, round(climbs * GAIN_ROWS * n * (8 * n + GAIN_BYTES)))
        cost = _estimate_discrete(missing, cards, row_memory)
        return cost.add(scratch=n_rows * (ROW_COPIES * n + ROW_BYTES))
    if not len(cards):
        cost = estimate_continuous(round(missing.n_rows), n_floats)
        return cost.add(scratch=_size_continuous(missing, n_floats))
    n, n_completed = n_floats + len(cards), max(1, round(missing.n_completed))
    cost = estimate_continuous(n_completed, n_floats, cards)
    embedded = n_floats + int(np.sum(cards)) - len(cards)
    return cost.add(scratch=max(COMPLETED_BYTES * n * n_completed, _size_continuous(missing, embedded)))


def _estimate_discrete(missing: MissingCounts, cards: Sequence[int], row_memory: int) -> LearningCost:
    n_completed = max(1, round(missing.n_completed))
    cost = estimate_discrete(n_completed, cards, row_memory=row_memory, weighted=True)
    plans = MAX_PLANS * min(PLAN_BYTES, PLAN_CELL_BYTES * float(np.mean(cards)) ** 3 * missing.cells)
    numbers = min(PASS_BYTES, 8 * N_DRAWS * missing.n_incomplete * len(cards))
    scratch = plans + PASS_COPIES * numbers + 3 * cost.codes + 40 * n_completed
    return cost.add(scratch=round(scratch))


def _size_continuous(missing: MissingCounts, n_columns: int) -> int:
    blocks = min(BLOCK_BYTES, SQUARE_BYTES * int(missing.squares))
    return 8 * FLOAT_COPIES * round(missing.n_rows) * n_columns + 8 * int(missing.cells) + blocks


def _find_distinct(columns: np.ndarray) -> np.ndarray:
    """Return the positions of distinct rows of (n_columns, n_rows), by a hash of 64 bits."""
    keys = np.zeros(columns.shape[1], dtype=np.uint64)
    for column in columns:
        keys ^= keys >> np.uint64(29)
        keys = keys * np.uint64(0x9E3779B97F4A7C15) + column.astype(np.uint64) + np.uint64(1)
    return np.unique(keys, return_index=True)[1]
