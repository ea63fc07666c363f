"""Block-wise changes of and searches in large symmetric matrices, without a second matrix."""

from collections.abc import Iterator

import numpy as np

#: Rows and columns of a block. The results of a block should fit into a cache: blocks of 512 rows and 5,000 columns are
#: up to twenty times slower.
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


def divide_by_deviations(matrix: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Return M_ij / sqrt(M_ii M_jj), written to `out` if given (it may be M)."""
    scale, divided = np.sqrt(matrix.diagonal()), np.empty(matrix.shape) if out is None else out
    for rows in list_blocks(len(matrix)):
        np.divide(matrix[rows], np.outer(scale[rows], scale), out=divided[rows])
    return divided


def scale_to_correlation(matrix: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Return M_ij / sqrt(M_ii M_jj) with unit diagonal, written to `out` if given (it may be M)."""
    return make_correlation(divide_by_deviations(matrix, out))


def make_correlation(matrix: np.ndarray) -> np.ndarray:
    """Remove rounding errors from a correlation matrix, in place: asymmetry, values beyond 1, diagonal."""
    average_with_transpose(matrix)
    np.clip(matrix, -1.0, 1.0, out=matrix)
    np.fill_diagonal(matrix, 1.0)
    return matrix


def find_largest_off_diagonal(matrix: np.ndarray) -> float:
    """Return the largest absolute value off the diagonal, 0 if there is none."""
    return locate_largest_off_diagonal(matrix)[0]


def locate_largest_off_diagonal(matrix: np.ndarray) -> tuple[float, int, int]:
    """Return the largest absolute value off the diagonal and its row and column; zeros if there is none."""
    found = (0.0, 0, 0)
    for rows in list_blocks(len(matrix)):
        block = np.abs(matrix[rows])
        np.fill_diagonal(block[:, rows.start :], 0.0)
        found = _choose_larger(found, block, rows.start, 0)
    return found


def locate_largest_asymmetry(matrix: np.ndarray) -> tuple[float, int, int]:
    """Return the largest |M_ij - M_ji| and its row i and column j, i > j; zeros if there is none."""
    found = (0.0, 0, 0)
    for rows in list_blocks(len(matrix)):
        for columns in list_blocks(rows.stop):
            difference = np.abs(matrix[rows, columns] - matrix[columns, rows].T)
            found = _choose_larger(found, difference, rows.start, columns.start)
    return found


def _choose_larger(found: tuple[float, int, int], block: np.ndarray, row: int, column: int) -> tuple[float, int, int]:
    value = float(block.max())
    if value <= found[0]:
        return found
    i, j = divmod(int(block.argmax()), block.shape[1])
    return value, row + i, column + j
