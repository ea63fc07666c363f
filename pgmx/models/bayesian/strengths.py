"""Strengths of edges as tables and matrices."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pgmx.graphs.consensus import PairCounts

__all__ = ["MAX_MATRIX_VARIABLES", "direction_matrix", "strength_matrix", "strength_table"]

#: Most variables for which a dense matrix of all pairs is made (128 MB).
MAX_MATRIX_VARIABLES = 4000


def strength_table(names: Sequence, found: PairCounts) -> pd.DataFrame:
    """Return one row for each pair that was ever joined, strongest first.

    Parameters
    ----------
    names : sequence of hashable
        Names of the variables.
    found : PairCounts
        The counts.

    Returns
    -------
    pandas.DataFrame
        ``from``, ``to``, ``strength``, ``direction``; each pair in its more frequent direction, so that ``direction``,
        the share of from → to among the graphs that join the two, is at least a half.

    Examples
    --------
    >>> from pgmx.graphs.consensus import Marks, count_pairs
    >>> none = np.empty((0, 2), dtype=int)
    >>> strength_table("ab", count_pairs(2, [Marks(np.array([[1, 0]]), none), Marks(none, none)]))
      from to  strength  direction
    0    b  a       0.5        1.0
    """
    share = found.direction
    turned = share < 0.5
    direction = np.where(turned, 1.0 - share, share)
    ends = np.where(turned[:, None], found.pairs[:, ::-1], found.pairs)
    order = np.lexsort((ends[:, 1], ends[:, 0], -direction, -found.joined))
    by_id = np.empty(found.n, dtype=object)
    by_id[:] = list(names)
    columns = {
        "from": pd.Series(by_id[ends[order, 0]], dtype=object),
        "to": pd.Series(by_id[ends[order, 1]], dtype=object),
        "strength": found.strength[order],
        "direction": direction[order],
    }
    return pd.DataFrame(columns)


def strength_matrix(names: Sequence, found: PairCounts) -> pd.DataFrame:
    """Return the strengths of all pairs as a symmetric matrix with a zero diagonal.

    Parameters
    ----------
    names : sequence of hashable
        Names of the variables.
    found : PairCounts
        The counts.

    Returns
    -------
    pandas.DataFrame of shape (n, n)
        The share of the graphs that join two variables.

    Raises
    ------
    ValueError
        For more than `MAX_MATRIX_VARIABLES` variables.

    Examples
    --------
    >>> from pgmx.graphs.consensus import Marks, count_pairs
    >>> none = np.empty((0, 2), dtype=int)
    >>> strength_matrix("ab", count_pairs(2, [Marks(np.array([[1, 0]]), none), Marks(none, none)]))
         a    b
    a  0.0  0.5
    b  0.5  0.0
    """
    matrix = _matrix(found, 0.0)
    u, v = found.pairs.T
    matrix[u, v] = matrix[v, u] = found.strength
    return _framed(names, matrix)


def direction_matrix(names: Sequence, found: PairCounts) -> pd.DataFrame:
    """Return for all pairs the share of each direction.

    Parameters
    ----------
    names : sequence of hashable
        Names of the variables.
    found : PairCounts
        The counts.

    Returns
    -------
    pandas.DataFrame of shape (n, n)
        In row u, column v: of the graphs that join u and v the share with u → v, an undirected edge counting half; NaN
        where none joins them.

    Raises
    ------
    ValueError
        For more than `MAX_MATRIX_VARIABLES` variables.

    Examples
    --------
    >>> from pgmx.graphs.consensus import Marks, count_pairs
    >>> none = np.empty((0, 2), dtype=int)
    >>> direction_matrix("ab", count_pairs(2, [Marks(np.array([[1, 0]]), none), Marks(none, none)]))
         a    b
    a  NaN  0.0
    b  1.0  NaN
    """
    matrix = _matrix(found, np.nan)
    u, v = found.pairs.T
    matrix[u, v] = found.direction
    matrix[v, u] = 1.0 - found.direction
    return _framed(names, matrix)


def _matrix(found: PairCounts, value: float) -> np.ndarray:
    if found.n > MAX_MATRIX_VARIABLES:
        raise ValueError(
            f"a matrix of all pairs of {found.n} variables would take {8 * found.n**2 / 1e6:,.0f} MB: use the table "
            f"strengths_, which has a row for each edge (matrices are made up to {MAX_MATRIX_VARIABLES} variables)"
        )
    return np.full((found.n, found.n), value)


def _framed(names: Sequence, matrix: np.ndarray) -> pd.DataFrame:
    index = pd.Index(list(names), tupleize_cols=False)
    return pd.DataFrame(matrix, index=index, columns=index)
