"""Strengths of edges as tables and matrices."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pgmx.graphs.consensus import PairCounts

#: Most variables for which a dense matrix of all pairs is made (128 MB).
MAX_MATRIX_VARIABLES = 4000


def make_strength_table(names: Sequence, counts: PairCounts) -> pd.DataFrame:
    """Return one row (from, to, strength, direction) for each pair that at least one graph joins, strongest first.

    Each pair is listed in its more frequent direction. So ``direction``, the share of from → to among the graphs that
    join the two variables, is at least a half.
    """
    share = counts.direction
    is_backward = share < 0.5
    direction = np.where(is_backward, 1.0 - share, share)
    ends = np.where(is_backward[:, None], counts.pairs[:, ::-1], counts.pairs)
    order = np.lexsort((ends[:, 1], ends[:, 0], -direction, -counts.n_joining))
    by_id = np.empty(counts.n, dtype=object)
    by_id[:] = list(names)
    columns = {
        "from": pd.Series(by_id[ends[order, 0]], dtype=object),
        "to": pd.Series(by_id[ends[order, 1]], dtype=object),
        "strength": counts.strength[order],
        "direction": direction[order],
    }
    return pd.DataFrame(columns)


def make_strength_matrix(names: Sequence, counts: PairCounts) -> pd.DataFrame:
    """Return the shares of the graphs that join two variables, symmetric with a zero diagonal."""
    return _make_matrix(names, counts, counts.strength, counts.strength, 0.0)


def make_direction_matrix(names: Sequence, counts: PairCounts) -> pd.DataFrame:
    """Return in row u, column v the share of u → v among the graphs that join u and v; NaN if no graph does.

    An undirected edge counts half.
    """
    return _make_matrix(names, counts, counts.direction, 1.0 - counts.direction, np.nan)


def make_arc_matrix(names: Sequence, values: np.ndarray) -> pd.DataFrame:
    """Return values of ordered pairs, float64 (n, n), with the names of the variables."""
    index = pd.Index(list(names), tupleize_cols=False)
    return pd.DataFrame(values.copy(), index=index, columns=index)


def _make_matrix(
    names: Sequence, counts: PairCounts, forward: np.ndarray, backward: np.ndarray, default: float
) -> pd.DataFrame:
    """Return a matrix from the values of the pairs (u, v), u < v, and of the pairs (v, u)."""
    if counts.n > MAX_MATRIX_VARIABLES:
        raise ValueError(
            f"a matrix of all pairs of {counts.n} variables would take {8 * counts.n**2 / 1e6:,.0f} MB: use the table "
            f"strengths_, which has a row for each edge (matrices are made up to {MAX_MATRIX_VARIABLES} variables)"
        )
    matrix = np.full((counts.n, counts.n), default)
    u, v = counts.pairs.T
    matrix[u, v], matrix[v, u] = forward, backward
    return make_arc_matrix(names, matrix)
