"""What learning a Gaussian graphical model will cost: bytes by formula, and seconds from measured constants.

A fit reads rows into correlations R, p x p, and solves with R. The larger of the two scratches decides the peak.
"""

from math import log, log2, sqrt
from typing import Any, NamedTuple

import numpy as np

from pgmx.data import NumericTable
from pgmx.data.pieces.chunks import CHUNK_CELLS
from pgmx.estimators.cost import LearningCost, StepCost, sum_memory
from pgmx.statistics import GaussianSample
from pgmx.statistics.gaussian.sample import MOST_FORMED
from pgmx.statistics.moments import count_block_rows

#: Seconds per product of two cells and per cell of a pass over rows, on one core of 2022.
PRODUCT_SECONDS, CELL_SECONDS = 2e-11, 5e-9

#: Seconds per comparison of two rows of two columns by bits, per n log2 n by inversions, and per cell that is ranked.
COMPARISON_SECONDS, INVERSION_SECONDS, RANK_SECONDS = 3e-12, 7e-10, 2e-7

#: Seconds over p³ of a repair of R: eigenvalues for each of some steps; and matrices of that size it takes.
REPAIR_SECONDS, REPAIR_MATRICES = 7e-10, 11

#: Copies of rows that are ranked, bytes of comparisons of their rows, and of small objects.
RANKED_COPIES, PLANE_BYTES, SMALL_BYTES = 3, 1 << 24, 1 << 21

#: Penalties below this share of sqrt(ln p / n) are told as that one.
LEAST_PENALTY = 0.2

#: Matrices for criteria of a path, beside those of its estimates.
PATH_MATRICES = 8


class GaussianSize(NamedTuple):
    """Rows and columns of a table, and the bytes that a learner keeps of its rows beside the caller's."""

    n_rows: int
    n_columns: int
    row_bytes: int

    @property
    def matrix_bytes(self) -> int:
        """Bytes of p x p numbers."""
        return 8 * self.n_columns**2

    @property
    def is_thin(self) -> bool:
        """Whether there are fewer rows than columns."""
        return self.n_rows < self.n_columns

    @property
    def is_wide(self) -> bool:
        """Whether R is never formed."""
        return self.is_thin and self.n_columns > MOST_FORMED


def measure_table(X: Any, opened: NumericTable | GaussianSample) -> GaussianSize:
    """Return the size of an opened table, or of a covariance, whose rows cost nothing."""
    if isinstance(opened, GaussianSample):
        return GaussianSize(0, opened.n_columns, 0)
    n_rows = getattr(opened, "n_rows", None)  # those of a distributed table
    if n_rows is not None:
        return GaussianSize(int(n_rows), opened.n_columns, 0)
    if not opened.in_memory:
        n_rows = sum(len(rows) for rows in opened.chunks())
        return GaussianSize(n_rows, opened.n_columns, 24 * min(n_rows * opened.n_columns, CHUNK_CELLS))
    rows = opened.rows()
    is_shared = isinstance(X, np.ndarray) and np.shares_memory(X, rows)
    return GaussianSize(len(rows), opened.n_columns, 0 if is_shared else rows.nbytes)


def estimate_moments(size: GaussianSize, *, pairwise: bool = False) -> StepCost:
    """Return the cost of Pearson's correlations, pair by pair where cells are missing."""
    n, p, matrix = size.n_rows, size.n_columns, size.matrix_bytes
    seconds = PRODUCT_SECONDS * n * p * p + CELL_SECONDS * n * p
    block = 16 * min(n, count_block_rows(p)) * p + min(n * p, CHUNK_CELLS)
    if pairwise:
        return StepCost(REPAIR_MATRICES * matrix + 2 * block, 5 * seconds + REPAIR_SECONDS * p**3)
    if not size.is_thin:
        return StepCost(matrix + block, seconds)
    factor = 16 * n * p
    return StepCost(factor if size.is_wide else factor + 2 * matrix, seconds)


def estimate_ranks(size: GaussianSize, correlation: str) -> StepCost:
    """Return the cost of correlations behind ranks, repaired where they are indefinite."""
    n, p = size.n_rows, size.n_columns
    seconds = RANK_SECONDS * n * p
    if correlation == "kendall":
        seconds += p * p / 2 * min(COMPARISON_SECONDS * n * n / 2, INVERSION_SECONDS * n * log2(max(n, 2)))
    else:
        seconds += PRODUCT_SECONDS * n * p * p
    scratch = 8 * RANKED_COPIES * n * p + REPAIR_MATRICES * size.matrix_bytes
    planes = min(PLANE_BYTES, n * n * p // 16) if correlation == "kendall" else 0
    repair = REPAIR_SECONDS * p**3 if n < 4 * p else 0.0
    return StepCost(scratch + planes, seconds + repair)


def join_steps(size: GaussianSize, reading: StepCost, solving: StepCost) -> LearningCost:
    """Return the cost of a fit that reads, and then solves with R, which both have."""
    matrix = 0 if size.is_wide else size.matrix_bytes
    scratch = matrix + max(reading.scratch, solving.scratch) + SMALL_BYTES
    return sum_memory(scratch=scratch, numbers=size.row_bytes, seconds=reading.seconds + solving.seconds)


def count_noise(size: GaussianSize, lam: float | None, power: float) -> float:
    """Return how many times longer a penalty takes than one above the noise of the correlations, sqrt(ln p / n).

    Below it chance correlations become edges: the time grows with that power of their ratio.
    """
    if lam is None or not size.n_rows or size.n_columns < 2:
        return 1.0
    share = lam / sqrt(log(size.n_columns) / size.n_rows)
    return min(1.0, max(share, LEAST_PENALTY)) ** -power


def repeat_on_path(size: GaussianSize, step: StepCost, n_lams: int, n_parts: int) -> StepCost:
    """Return the cost of paths of `n_lams` penalties: of all rows, and of `n_parts` samples of them."""
    matrices = 0 if size.is_wide else PATH_MATRICES * size.matrix_bytes
    return keep_parts(size, StepCost(step.scratch + matrices, (1 + n_parts) * n_lams * step.seconds), n_parts)


def keep_parts(size: GaussianSize, step: StepCost, n_parts: int) -> StepCost:
    """Return a step with samples of parts of the rows, their correlations or thin factors, beside it."""
    part = min(size.matrix_bytes, 8 * max(size.n_rows, 1) * size.n_columns)
    return step._replace(scratch=step.scratch + n_parts * part)
