"""Large symmetric matrices changed and searched block by block, so that no second matrix is formed."""

from collections.abc import Iterator

import numpy as np

#: Rows and columns of a block. What is made of a block should fit into a cache: with 512 rows of 5,000 columns the work
#: takes up to twenty times as long.
_BLOCK = 128


def list_blocks(p: int) -> Iterator[slice]:
    """Yield the rows of a matrix of p rows, block by block."""
    for first in range(0, p, _BLOCK):
        yield slice(first, min(first + _BLOCK, p))


def average_with_transpose(matrix: np.ndarray) -> np.ndarray:
    """Make a matrix exactly symmetric, in place: (M + M') / 2."""
    for rows in list_blocks(len(matrix)):
        for columns in list_blocks(rows.stop):
            average = 0.5 * (matrix[rows, columns] + matrix[columns, rows].T)
            matrix[rows, columns] = average
            matrix[columns, rows] = average.T
    return matrix


def copy_upper(matrix: np.ndarray) -> None:
    """Write the triangle above the diagonal below it, in place."""
    for rows in list_blocks(len(matrix)):
        for columns in list_blocks(rows.stop):
            block = matrix[columns, rows]
            matrix[rows, columns] = np.triu(block).T + np.triu(block, 1) if columns == rows else block.T


def scale_to_correlation(matrix: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Return M_ij / sqrt(M_ii M_jj) with ones on the diagonal, written to `out` where given, which may be M."""
    scale, scaled = np.sqrt(matrix.diagonal()), np.empty(matrix.shape) if out is None else out
    for rows in list_blocks(len(matrix)):
        np.divide(matrix[rows], np.outer(scale[rows], scale), out=scaled[rows])
    return make_correlation(scaled)


def make_correlation(matrix: np.ndarray) -> np.ndarray:
    """Remove what rounding left in a matrix of correlations, in place: asymmetry, values beyond 1, other diagonals."""
    average_with_transpose(matrix)
    np.clip(matrix, -1.0, 1.0, out=matrix)
    np.fill_diagonal(matrix, 1.0)
    return matrix


def find_largest_off_diagonal(matrix: np.ndarray) -> float:
    """Return the largest absolute value off the diagonal, 0 where there is none."""
    largest = 0.0
    for rows in list_blocks(len(matrix)):
        block = np.abs(matrix[rows])
        np.fill_diagonal(block[:, rows.start :], 0.0)
        largest = max(largest, float(block.max(initial=0.0)))
    return largest
