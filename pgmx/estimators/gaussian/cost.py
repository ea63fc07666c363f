"""The memory for learning a Gaussian graphical model, computed from shapes.

A fit reads rows into correlations R, p x p, and solves with R. The step with the larger scratch decides the peak.
"""

from typing import Any, NamedTuple

import numpy as np

from pgmx.data import NumericTable
from pgmx.data.files.readers import CHUNK_CELLS
from pgmx.estimators.cost import LearningCost
from pgmx.statistics import GaussianSample
from pgmx.statistics.gaussian.sample import MOST_FORMED
from pgmx.statistics.moments import count_block_rows

#: Number of matrices of the size of R for a repair of R.
_REPAIR_MATRICES = 11

#: Copies of ranked rows, bytes of comparisons between rows, and bytes of small objects.
RANKED_COPIES, PLANE_BYTES, SMALL_BYTES = 3, 1 << 24, 1 << 21

#: Matrices for the criteria of a path, in addition to the matrices of its estimates.
_PATH_MATRICES = 8


class GaussianSize(NamedTuple):
    """Rows and columns of a table, and the bytes of the learner's own copy of the rows."""

    n_rows: int
    n_columns: int
    row_bytes: int

    @property
    def matrix_bytes(self) -> int:
        """Bytes of a p x p matrix."""
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
    """Return the size of an opened table or of a covariance (which has no rows)."""
    if isinstance(opened, GaussianSample):
        return GaussianSize(0, opened.n_columns, 0)
    n_rows = getattr(opened, "n_rows", None)  # of a distributed table
    if n_rows is not None:
        return GaussianSize(int(n_rows), opened.n_columns, 0)
    if not opened.in_memory:
        n_rows = sum(len(rows) for rows in opened.chunks())
        return GaussianSize(n_rows, opened.n_columns, 24 * min(n_rows * opened.n_columns, CHUNK_CELLS))
    rows = opened.rows()
    is_shared = isinstance(X, np.ndarray) and np.shares_memory(X, rows)
    return GaussianSize(len(rows), opened.n_columns, 0 if is_shared else rows.nbytes)


def estimate_moments(size: GaussianSize, *, pairwise: bool = False) -> int:
    """Return the bytes for Pearson's correlations, pair by pair if values are missing."""
    n, p, matrix = size.n_rows, size.n_columns, size.matrix_bytes
    block = 16 * min(n, count_block_rows(p)) * p + min(n * p, CHUNK_CELLS)
    if pairwise:
        return _REPAIR_MATRICES * matrix + 2 * block
    if not size.is_thin:
        return matrix + block
    factor = 16 * n * p
    return factor if size.is_wide else factor + 2 * matrix


def estimate_ranks(size: GaussianSize, correlation: str) -> int:
    """Return the bytes for rank correlations and their repair."""
    n, p = size.n_rows, size.n_columns
    planes = min(PLANE_BYTES, n * n * p // 16) if correlation == "kendall" else 0
    return 8 * RANKED_COPIES * n * p + _REPAIR_MATRICES * size.matrix_bytes + planes


def join_steps(size: GaussianSize, reading: int, solving: int) -> LearningCost:
    """Return the cost of a fit from the bytes of its two steps, which share only R."""
    matrix = 0 if size.is_wide else size.matrix_bytes
    return LearningCost.from_bytes(scratch=matrix + max(reading, solving) + SMALL_BYTES, numbers=size.row_bytes)


def estimate_paths(size: GaussianSize, solving: int, n_parts: int) -> int:
    """Return the bytes for the paths of penalties of all rows and of `n_parts` samples of the rows."""
    matrices = 0 if size.is_wide else _PATH_MATRICES * size.matrix_bytes
    return estimate_subsamples(size, solving + matrices, n_parts)


def estimate_subsamples(size: GaussianSize, step: int, n_parts: int) -> int:
    """Return the bytes of a step that keeps the correlations or thin factors of samples of the rows."""
    part = min(size.matrix_bytes, 8 * max(size.n_rows, 1) * size.n_columns)
    return step + n_parts * part
