"""What learning will cost: bytes by formula, and seconds from measured constants."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pgmx.data import estimate_memory
from pgmx.data.memory import size_table
from pgmx.data.table import MAX_BYTE_STATES

#: Words of 64 rows that are counted per second, of planes of states by plain climbs; measured on one core of 2022.
WORDS_PER_SECOND = 3e9

#: Cells that a family is split into when a parent is added, in the mean over climbs on networks of 37 to 724 variables
#: with 10,000 rows. More rows allow more parents: with their power, which is between that of such networks (0) and that
#: of columns which all depend on a hidden one.
CELLS_PER_MOVE, FEW_ROWS, CELL_GROWTH = 8, 10_000, 0.3

#: Seconds of a fit whatever its size, and per row of a family of a variable without planes, which is counted by rows.
FIT_SECONDS, ROW_SECONDS = 2e-3, 2e-8

#: Products of floats that are summed per second, and cells of weighted rows that are.
PRODUCTS_PER_SECOND, WEIGHTED_CELLS_PER_SECOND = 1e9, 1e9

#: Seconds per product of a covariance and per float that is read, and of a climb over floats alone over n³.
COVARIANCE_SECONDS, FLOAT_SECONDS, UPDATE_SECONDS = 2e-10, 5e-9, 3e-10

#: Rows times cells of a pair that are scored per second, and seconds of a round of grafting for each of them.
SCORED_CELLS_PER_SECOND, SECONDS_PER_ROUND = 1.25e10, 4e-7

#: Bytes per pair that is stored with its score, and per pair that waits in a heap; bytes per cell that is being scored.
PAIR_BYTES, HEAP_BYTES, CELL_BYTES = 64, 60, 48

#: Pairs that wait in a heap at most, bytes of one that failed its test, see search.edges.tested_pairs, and its seconds.
HEAP_PAIRS, FROZEN_BYTES, TEST_SECONDS = 1 << 22, 12, 1.7e-6

#: Tests of a pair in a stream that goes on until none is violated, and seconds of one between variables with edges.
TESTS_PER_PAIR, RETEST_SECONDS = 3, 8e-6

#: Seconds per pair that is scored by beliefs, and cells that are scored at a time.
BELIEF_SECONDS, SCORED_CELLS = 4e-6, 1 << 20

#: Rounds per variable in which a stream finds its first edges, several in each; bytes of the parameters that a run on a
#: loss which is not convex has passed through, see search.edges.iterates, and what thinning them out leaves unused.
FIRST_ROUNDS, ITERATE_BYTES = 0.1, 1 << 27

#: Bytes per variable of the edges that a thread keeps for a forest, and of the block of weights that it looks at.
FOREST_BYTES, FOREST_BLOCK = 340, 1 << 19

#: Bytes per row that has a weight: the number of its cell, and its key while cells are sorted.
CELL_NUMBER_BYTES = 28

#: Copies of the floats that are made while they are read and scored.
COPIES = 4


class LearningCost(NamedTuple):
    """Bytes and seconds that a learner takes.

    Attributes
    ----------
    codes, planes : int
        The coded table. Of a table that is mapped from a plane file they are the system's file cache.
    gains, pair_counts, kept_counts, kept_rows, scratch : int
        The working memory of a learner; learners of Gaussian graphs and of time series have it all in `scratch`.
    numbers : int
        Columns of floats, and their copies.
    total : int
        The sum of all these.
    seconds : float
        CPU seconds of one core: an order of magnitude.
    """

    codes: int
    planes: int
    gains: int
    pair_counts: int
    kept_counts: int
    kept_rows: int
    scratch: int
    numbers: int
    total: int
    seconds: float

    def add(self, *, scratch: int) -> "LearningCost":
        """Return the cost with more working memory."""
        return self._replace(scratch=self.scratch + scratch, total=self.total + scratch)


class StepCost(NamedTuple):
    """Bytes of working memory, and seconds, of one step of a fit."""

    scratch: int
    seconds: float


def estimate_states(
    n_rows: int,
    cardinalities: ArrayLike,
    *,
    row_memory: int = 0,
    climbs: float = 1.0,
    weighted: bool = False,
    n_threads: int = 1,
) -> LearningCost:
    """Return the cost of a search with a discrete score; `climbs` is how many greedy ones take as long."""
    need = estimate_memory(n_rows, cardinalities, row_memory=row_memory, n_threads=n_threads)
    cards = np.asarray(cardinalities, dtype=float)
    n, n_planes, words = len(cards), _count_planes(cards), -(-n_rows // 64)
    cells_per_move = CELLS_PER_MOVE * max(1.0, n_rows / FEW_ROWS) ** CELL_GROWTH
    pairs, moves = n_planes**2 / 2, 1.3 * n * n_planes * cells_per_move
    seconds = FIT_SECONDS + (pairs + climbs * moves) * words / WORDS_PER_SECOND
    wide = int(np.count_nonzero(cards > MAX_BYTE_STATES))  # of a child or a candidate
    families = wide * (n - (wide + 1) / 2) + climbs * 1.3 * n * wide * (2 - wide / n)
    seconds += families * n_rows * ROW_SECONDS
    weights = 0
    if weighted:
        seconds = 2.3 * climbs * n * n * n_rows / WEIGHTED_CELLS_PER_SECOND
        weights = 8 * n_rows
        need = need._replace(scratch=max(need.scratch, n_threads * CELL_NUMBER_BYTES * n_rows))
    return _sum_parts((*need[:-1], weights), seconds)


def estimate_numbers(n_rows: int, n_floats: int, cardinalities: ArrayLike = (), *, climbs: float = 1.0) -> LearningCost:
    """Return the cost of a search over floats, alone or beside columns of states."""
    cards = np.asarray(cardinalities, dtype=np.int64)
    n = n_floats + len(cards)
    numbers = 8 * n_rows * n_floats * (1 + COPIES)
    if not len(cards):  # gains come from partial covariances, and no row is looked at twice
        seconds = n_rows * n_floats * (n_floats * COVARIANCE_SECONDS + FLOAT_SECONDS) + climbs * n**3 * UPDATE_SECONDS
        return _sum_parts((0, 0, 32 * n * n, 0, 32 * n * n, 0, 24 * n_rows, numbers), seconds)
    codes, planes = size_table(n_rows, cards)
    kept = min(1 << 28, 8 * n * n_floats * (n_floats + 1) * int(max(cards, default=1)) ** 2)
    parts = (codes, planes, 32 * n * n, 0, kept, 0, 24 * n_rows, numbers)
    seconds = n_rows * n_floats * n_floats / PRODUCTS_PER_SECOND + climbs * 1.3 * n * n * n_floats**2 / 1e10
    seconds += climbs * 1.3 * n * n_rows * (n + n_floats**2 / 8) / PRODUCTS_PER_SECOND
    return _sum_parts(parts, seconds)


def estimate_forest(
    n_rows: int, cardinalities: ArrayLike, *, n_threads: int = 1, at_once: bool = False
) -> LearningCost:
    """Return the cost of a forest from the counts of all pairs, `at_once` without rows that wait."""
    need = estimate_memory(n_rows, cardinalities, kept_memory=0)
    n, n_planes = len(np.asarray(cardinalities)), _count_planes(np.asarray(cardinalities))
    wide = int(np.count_nonzero(np.asarray(cardinalities) > MAX_BYTE_STATES))
    by_rows = wide * (n - (wide + 1) / 2) * n_rows * ROW_SECONDS
    gains = 12 * n * n if not at_once else n_threads * (FOREST_BYTES * n + FOREST_BLOCK) + FOREST_BYTES * n
    parts = (need.codes, need.planes, gains, 0, 0, 0, n_threads * need.scratch, 0)
    return _sum_parts(parts, by_rows + n_planes**2 / 2 * -(-n_rows // 64) / WORDS_PER_SECOND)


def estimate_markov(
    n_rows: int,
    cardinalities: ArrayLike,
    *,
    loss: str,
    is_stream: bool,
    table_memory: int,
    stream_table_memory: int,
    side_memory: int,
    weighted: bool = False,
    fits: float = 1.0,
    max_edges: float | None = None,
) -> LearningCost:
    """Return the cost of grafting a Markov network of two edges per variable, at most, `fits` times one after another.

    With fewer edges a stream is taken to test half of the pairs once, most of them between variables without edges.
    """
    cards = np.asarray(cardinalities, dtype=np.int64)
    n, states = len(cards), int(cards.sum())
    codes, planes = size_table(n_rows, cards)
    pairs = n * (n - 1) // 2
    cells, inner = (float(k.sum() ** 2 - (k**2).sum()) / 2 for k in (cards.astype(float), cards - 1.0))
    edges = 2 * n if max_edges is None else min(2 * n, max_edges)
    tables = int(8 * cells if weighted else 4 * inner) + pairs
    tables = tables if tables <= table_memory else stream_table_memory if is_stream else table_memory
    waiting = PAIR_BYTES * pairs
    if is_stream:
        frozen = FROZEN_BYTES * max(HEAP_PAIRS, pairs // 16)
        again = min(1.0, max(0.0, edges / n - 1.0))  # a run to few edges ends in the first pass, and none waits again
        waiting = int((again * HEAP_BYTES + FROZEN_BYTES) * pairs) if pairs <= HEAP_PAIRS else pairs + frozen
    scored = min(cells, SCORED_CELLS / 8 if is_stream else SCORED_CELLS)
    parameters = int(48 * edges * (cells / max(pairs, 1)))
    sides, rows = 4 * states**2 + 8 * n * n, int(4 * n_rows * states * min(1.0, 2 * edges / max(n, 1))) + codes
    work = n_rows * inner / max(pairs, 1)
    if loss == "pseudolikelihood":
        seconds = 2 * pairs * work / SCORED_CELLS_PER_SECOND
    else:
        sides, rows, seconds = 0, 0, 2 * pairs * BELIEF_SECONDS
        work = n * inner / max(pairs, 1)
    if loss == "bethe" and is_stream:
        rounds = FIRST_ROUNDS * n + max(0.0, edges - n)
        parameters += int(min(ITERATE_BYTES, 8 * rounds * (edges / 2 * cells / max(pairs, 1) + states)))
    if loss == "exact":
        parameters += int(min(32 * np.prod(cards.astype(float)), 1 << 27))
    if is_stream:
        seconds = pairs * TEST_SECONDS / 2 if edges < 2 * n else seconds
        seconds = 1.5 * (seconds + edges * work * SECONDS_PER_ROUND / 2)
        if loss == "pseudolikelihood" and edges == 2 * n:
            seconds += TESTS_PER_PAIR * pairs * RETEST_SECONDS
        sides = 0
    weights = 8 * n_rows if weighted else 0
    kept_sides = sides if sides <= side_memory else 0
    scratch = int(CELL_BYTES * scored) + weights
    count = (cards - 1.0).sum() ** 2 / 2 * -(-n_rows // 64) / WORDS_PER_SECOND
    parts = (codes, planes, waiting, tables, rows + parameters, kept_sides, scratch, 0)
    return _sum_parts(parts, float(count + fits * seconds))


def sum_memory(*, scratch: int, numbers: int, seconds: float) -> LearningCost:
    """Return the cost of learning from numbers alone, by their copies and the working memory beside them."""
    return _sum_parts((0, 0, 0, 0, 0, 0, int(scratch), int(numbers)), float(seconds))


def repeat_cost(cost: LearningCost, times: int, workers: int) -> LearningCost:
    """Return the cost of learning `times` times, on as many workers at a time, beside one table that they share."""
    shared = cost.codes + cost.planes + cost.numbers
    parts = [cost.codes, cost.planes, *(workers * part for part in cost[2:7]), cost.numbers]
    parts[6] += workers * shared  # the rows that a worker has drawn
    return _sum_parts(parts, times * cost.seconds / workers)


def _count_planes(cardinalities: np.ndarray) -> float:
    """Return how many planes are counted: one for each state but the last of variables that have planes."""
    return float((cardinalities[cardinalities <= MAX_BYTE_STATES] - 1).sum())


def _sum_parts(parts: Sequence[int], seconds: float) -> LearningCost:
    codes, planes, gains, pair_counts, kept_counts, kept_rows, scratch, numbers = parts
    return LearningCost(
        codes, planes, gains, pair_counts, kept_counts, kept_rows, scratch, numbers, sum(parts), seconds
    )
