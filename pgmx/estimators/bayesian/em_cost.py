"""What structural EM will cost: bytes by formula, and seconds from measured constants.

It searches on complete rows that stand for those of the table, and passes over the rows for expected counts. The graphs
by which a pass goes are not known before: the figures are those of sparse ones.
"""

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple, Self

import numpy as np

from pgmx.data.mixed import MixedTable
from pgmx.estimators.cost import LearningCost, estimate_numbers, estimate_states
from pgmx.inference.exact.row_posteriors import CHUNK_BYTES, DRAW_BYTES
from pgmx.models.bayesian.incomplete_rows import N_DRAWS

#: From one first graph: searches on completed rows, and passes over tables of states, of floats and of both.
SEARCHES, PASSES_OF_STATES, PASSES_OF_FLOATS, PASSES_OF_BOTH = 4, 24, 18, 13

#: Passes over floats for the first graph of a table of both kinds, and times that its pieces are planned.
FIRST_PASSES, PLANS = 10, 3

#: Seconds per family of the first graph of states, per cell of the junction tree of a row, per product of floats and
#: per cell of them, per missing cell of a table of both kinds in a pass, and for plans.
FAMILY_SECONDS, TREE_SECONDS, PRODUCT_SECONDS, FLOAT_SECONDS = 1e-4, 3.2e-8, 7e-10, 2e-8
MISSING_SECONDS, PLAN_SECONDS = 1e-6, 4e-6

#: Bytes per cell of completed rows of both kinds, and further copies of a table of floats.
COMPLETED_BYTES, FLOAT_COPIES = 72, 2

#: Numbers of the blocks in which missing floats are taken, some arrays of each, and bytes per square of missing cells.
BLOCK_BYTES, SQUARE_BYTES = 5 << 23, 10

#: Copies of the clique tables of a chunk of rows, and of the distributions that draws are taken from at a time.
CHUNK_COPIES, DRAW_COPIES = 2.5, 3

#: Bytes for each row of a table, beside copies of its codes, in which rows that are equal are found.
ROW_BYTES, ROW_COPIES = 40, 3

#: Rows of gains that a climb stores per variable; a row takes 8 bytes per variable, and some more.
GAIN_ROWS, GAIN_BYTES = 16, 128


class MissingCells(NamedTuple):
    """What a table lacks, in the figures that decide the cost; rows of states alone that are equal count once."""

    #: Rows, those that lack cells, and the complete rows that stand for all of them in a search.
    n_rows: float
    n_incomplete: float
    n_completed: float
    #: Missing cells of a row, and their squares, summed over rows.
    cells: float
    squares: float
    #: Missing cells, and their cubes, summed over rows that lack unlike cells.
    pattern_cells: float
    cubes: float

    @classmethod
    def from_table(cls, table: MixedTable) -> Self:
        """Count the missing cells of a table."""
        missing = np.zeros((len(table.columns), table.n_rows), dtype=bool)
        missing[table.is_float] = np.isnan(table.numbers)
        if table.table is not None:
            missing[~table.is_float] = table.table.codes == table.table.missing_codes[:, None]
        n_completions = np.full(table.n_rows, float(N_DRAWS))
        if table.table is not None and not table.is_float.any():
            rows = _find_distinct(table.table.codes)
            missing = missing[:, rows]
            cards = (table.table.cardinalities - (table.table.missing_codes >= 0)).astype(float)
            n_completions = np.where(missing, cards[:, None], 1.0).prod(axis=0)
        sizes = missing.sum(axis=0).astype(float)
        sizes_of_patterns = sizes[_find_distinct(missing)]
        return cls(
            float(len(sizes)),
            float((sizes > 0).sum()),
            float(np.where(sizes > 0, np.minimum(n_completions, N_DRAWS), 1.0).sum()),
            float(sizes.sum()),
            float((sizes**2).sum()),
            float(sizes_of_patterns.sum()),
            float((sizes_of_patterns**3).sum()),
        )

    @classmethod
    def from_share(cls, n_rows: int, cards: Sequence[int], n_floats: int, share: float) -> Self:
        """Return what is expected of a table of which a share of the cells is missing at random."""
        n = len(cards) + n_floats
        distinct = float(n_rows)
        if not n_floats:
            distinct = min(distinct, float(np.prod(np.asarray(cards, dtype=float) + 1.0)))
        incomplete = distinct * (1.0 - (1.0 - share) ** n)
        n_patterns = min(distinct, 2.0 ** min(n, 64))
        mean, spread = n * share, n * share * (1.0 - share)
        square, cube = mean**2 + spread, mean**3 + 3.0 * mean * spread
        return cls(
            distinct,
            incomplete,
            distinct + (N_DRAWS - 1) * incomplete,
            distinct * mean,
            distinct * square,
            n_patterns * mean,
            n_patterns * cube,
        )


def estimate_expectations(
    missing: MissingCells,
    n_rows: int,
    cards: Sequence[int],
    n_floats: int,
    *,
    climbs: float,
    starts: int,
    row_memory: int = 0,
) -> LearningCost:
    """Return the cost of structural EM from `starts` first graphs, each search as long as `climbs` greedy ones.

    `n_rows` counts all rows, also those that are equal.
    """
    if not n_floats:
        n = len(cards)
        row_memory = min(row_memory, round(climbs * GAIN_ROWS * n * (8 * n + GAIN_BYTES)))
        cost = _estimate_states(missing, cards, sqrt(climbs), starts, row_memory)  # many rows of gains are kept
        return cost.add(scratch=n_rows * (ROW_COPIES * n + ROW_BYTES))
    if not len(cards):
        return _estimate_floats(missing, n_floats, climbs, starts)
    return _estimate_both(missing, cards, n_floats, climbs, starts)


def _estimate_states(
    missing: MissingCells, cards: Sequence[int], climbs: float, starts: int, row_memory: int
) -> LearningCost:
    n = len(cards)
    n_completed = max(1, round(missing.n_completed))
    cost = estimate_states(n_completed, cards, climbs=climbs, row_memory=row_memory, weighted=True)
    tree = n * float(np.mean(cards)) ** 3
    first = 2.3 * n * n * sqrt(climbs) * FAMILY_SECONDS
    seconds = first + starts * (SEARCHES * cost.seconds + PASSES_OF_STATES * missing.n_incomplete * tree * TREE_SECONDS)
    chunk = min(CHUNK_BYTES, 8 * tree * missing.n_incomplete)
    draws = min(DRAW_BYTES, 8 * N_DRAWS * missing.n_incomplete * float(np.mean(cards)))
    scratch = CHUNK_COPIES * chunk + DRAW_COPIES * draws + 3 * cost.codes + 40 * n_completed
    return cost.add(scratch=round(scratch))._replace(seconds=seconds)


def _estimate_floats(missing: MissingCells, n_floats: int, climbs: float, starts: int) -> LearningCost:
    n_rows = round(missing.n_rows)
    cost = estimate_numbers(n_rows, n_floats, climbs=climbs)
    seconds = starts * (SEARCHES * cost.seconds + PASSES_OF_FLOATS * _time_pass(missing, n_rows, n_floats, 1.0))
    return cost.add(scratch=_size_floats(missing, n_rows, n_floats))._replace(seconds=seconds)


def _estimate_both(
    missing: MissingCells, cards: Sequence[int], n_floats: int, climbs: float, starts: int
) -> LearningCost:
    n, n_completed = n_floats + len(cards), max(1, round(missing.n_completed))
    cost = estimate_numbers(n_completed, n_floats, cards, climbs=climbs)
    embedded = n_floats + int(np.sum(cards)) - len(cards)
    first = FIRST_PASSES * _time_pass(missing, round(missing.n_rows), embedded, embedded / n)
    passes = PASSES_OF_BOTH * missing.cells * MISSING_SECONDS + PLANS * missing.pattern_cells * PLAN_SECONDS
    seconds = first + starts * (SEARCHES * cost.seconds + passes)
    scratch = max(COMPLETED_BYTES * n * n_completed, _size_floats(missing, round(missing.n_rows), embedded))
    return cost.add(scratch=scratch)._replace(seconds=seconds)


def _time_pass(missing: MissingCells, n_rows: int, n_columns: int, factor: float) -> float:
    """Return the seconds of a pass over floats; each missing cell stands for `factor` of them."""
    products = factor**3 * missing.cubes + factor**2 * missing.squares + float(n_rows) * n_columns**2
    return products * PRODUCT_SECONDS + n_rows * n_columns * FLOAT_SECONDS


def _size_floats(missing: MissingCells, n_rows: int, n_columns: int) -> int:
    blocks = min(BLOCK_BYTES, SQUARE_BYTES * int(missing.squares))
    return 8 * FLOAT_COPIES * n_rows * n_columns + 8 * int(missing.cells) + blocks


def _find_distinct(columns: np.ndarray) -> np.ndarray:
    """Return the places of distinct rows of (n_columns, n_rows), by a hash of 64 bits."""
    keys = np.zeros(columns.shape[1], dtype=np.uint64)
    for column in columns:
        keys ^= keys >> np.uint64(29)
        keys = keys * np.uint64(0x9E3779B97F4A7C15) + column.astype(np.uint64) + np.uint64(1)
    return np.unique(keys, return_index=True)[1]
