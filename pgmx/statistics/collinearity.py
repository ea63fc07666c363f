"""Columns that determine each other: their correlations without rounding errors, and the warnings about them."""

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, get_lapack_funcs

from pgmx.checks import caller_level, is_silent, join_names

#: A column is determined by others if they leave less than this share of its variance.
LEAST_RESIDUAL = 1e-10
#: Variance of the noise, relative to its column, with which columns that determine each other are scored.
NOISE = 1e-12
#: The residual variances are computed one by one if the estimate of the smallest is below its bound divided by this.
_DOUBTFUL = 1e-3
#: A residual variance is rounding error if it is below the residual variance under noise divided by this.
_ROUNDING = 32
#: Entries of a null vector below this share of its largest entry are rounding errors.
_NEGLIGIBLE = 1e-5
#: Maximum number of multiplications in the search for a smallest set.
_MOST_WORK = 1 << 28


@dataclass(frozen=True, eq=False)
class Collinearity:
    """Three or more columns that determine each other linearly.

    `correlation`, (p, p), does not contain the residual variances below `LEAST_RESIDUAL`, so it is singular up to
    rounding. `copies`, bool (p, p), marks pairs of columns that determine each other. `smallest` are the positions of a
    smallest set, without copies. `n_determined` columns are combinations of the others.
    """

    correlation: np.ndarray
    copies: np.ndarray
    smallest: tuple[int, ...]
    n_determined: int

    def find_determined(self, columns: np.ndarray) -> np.ndarray:
        """Return the columns that are combinations of previous columns, but not copies; both (k, m), uint8.

        `columns` are k lists of m positions.
        """
        result = find_small_pivots(self.correlation, columns)
        for i in range(1, columns.shape[1]):
            result[:, i] &= ~self.copies[columns[:, :i], columns[:, i, None]].any(axis=1)
        return result.view(np.uint8)


def find_small_pivots(correlation: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the columns that previous columns determine, bool (k, m), for k lists of m positions.

    A column is determined if its residual variance is below `LEAST_RESIDUAL` or below the rounding error, which grows
    with the coefficients. See `_dual.pxd` for the factors of the correlations and of the noise term.
    """
    values = correlation[columns[:, :, None], columns[:, None, :]]
    slopes = np.broadcast_to(NOISE * np.eye(columns.shape[1]), values.shape).copy()
    is_small = np.zeros(columns.shape, dtype=bool)
    for i in range(columns.shape[1]):
        value, slope = values[:, i, i].copy(), np.maximum(slopes[:, i, i], NOISE)
        is_small[:, i] = small = value < np.maximum(LEAST_RESIDUAL, slope / _ROUNDING)
        a, b = np.where(small[:, None], 0.0, values[:, i]), slopes[:, i].copy()
        value[small] = np.inf
        total = np.where(small, slope, value + slope)[:, None, None]
        products = _multiply(a, a) / value[:, None, None]
        values -= products
        slopes -= (_multiply(a, b) + _multiply(b, a) + _multiply(b, b) - slope[:, None, None] * products) / total
    return is_small


def _multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the outer products of rows, (k, m, m)."""
    return a[:, :, None] * b[:, None, :]


def find_copies(correlation: np.ndarray) -> np.ndarray:
    """Return whether two columns determine each other, symmetric bool (p, p), False on the diagonal."""
    copies = 1.0 - np.square(correlation) < LEAST_RESIDUAL
    np.fill_diagonal(copies, False)
    return copies


def find_collinearity(correlation: np.ndarray, n_rows: float) -> Collinearity | None:
    """Return which columns determine each other, or None if no three do; copies count as one column.

    None is also returned if there are too few rows: any set of columns with as many columns as distinct rows is
    dependent. In a resample, which has fewer distinct rows, several sets with more than a third of the rows are treated
    like this if there are no smaller sets. Cost: p³ / 3 multiplications if no columns are close to collinear.
    """
    p = len(correlation)
    if p < 3 or n_rows <= p or not np.isfinite(correlation).all():
        return None
    copies = find_copies(correlation)
    first = np.where(copies.any(axis=1), np.minimum(np.arange(p), np.argmax(copies, axis=1)), np.arange(p))
    while (first[first] != first).any():  # copies of copies
        first = first[first]
    kept = np.flatnonzero(first == np.arange(p))
    matrix = correlation if len(kept) == p else correlation[np.ix_(kept, kept)]
    if _least_residual(matrix) >= LEAST_RESIDUAL:
        return None
    values, vectors = eigh(matrix, subset_by_value=(-np.inf, LEAST_RESIDUAL))
    rest = matrix - (vectors * values) @ vectors.T
    error = rest @ vectors  # of the eigenvectors: removed, up to the rounding of each element
    rest -= error @ vectors.T + vectors @ (error - vectors @ (vectors.T @ error)).T
    rest = (rest + rest.T) / 2
    if len(kept) < p:
        place = np.searchsorted(kept, first)
        signs = np.where(correlation[first, np.arange(p)] < 0, -1.0, 1.0)
        rest = rest[np.ix_(place, place)] * np.outer(signs, signs)
    smallest = kept[_find_smallest_set(vectors)]
    n_determined = vectors.shape[1]
    if n_determined > 1 and len(smallest) == len(kept) - n_determined + 1 and len(smallest) > n_rows / 3:
        return None
    return Collinearity(np.ascontiguousarray(rest), copies, tuple(smallest.tolist()), n_determined)


def _least_residual(matrix: np.ndarray) -> float:
    """Return the smallest residual variance of a column given all others, 0 if the matrix is singular.

    It is 1 over the largest diagonal element of the inverse matrix. A bound on the norm of the inverse is estimated
    first. If it shows that the residual variance is large, the estimate is returned.
    """
    potrf, pocon, trtri = get_lapack_funcs(("potrf", "pocon", "trtri"), (matrix,))
    upper, info = potrf(matrix.T)  # symmetric; transposed, it has the memory order of LAPACK
    if info != 0 or np.square(upper.diagonal()).min() < LEAST_RESIDUAL:
        return 0.0
    norm = float(np.abs(matrix).sum(axis=0).max())
    reciprocal, _ = pocon(upper, norm)
    if reciprocal * norm >= LEAST_RESIDUAL / _DOUBTFUL:  # 1 / norm of the inverse
        return float(reciprocal * norm)
    inverse, _ = trtri(upper, overwrite_c=True)
    return float(1.0 / np.square(np.triu(inverse)).sum(axis=1).max())


def _find_smallest_set(vectors: np.ndarray) -> np.ndarray:
    """Return the positions of a smallest set of columns that determine each other, from their null vectors (p, d).

    The rows of a reduced echelon form of the null vectors have minimal supports. Pivots are exchanged until no exchange
    gives a smaller support. With one or two null vectors this tries all minimal supports.
    """
    used = np.flatnonzero(np.abs(vectors).max(axis=1) > _NEGLIGIBLE)
    form = _reduce(vectors[used].T)
    best = _smallest_row(form)
    work = form.size**2
    is_better = True
    while is_better and len(form) > 1 and work < _MOST_WORK:
        is_better, start = False, form
        for i in range(len(start)):
            for j in np.flatnonzero(np.abs(start[i]) > _NEGLIGIBLE):
                other = _exchange(start, i, int(j))
                found = _smallest_row(other)
                if len(found) < len(best):
                    best, form, is_better = found, other, True
        work += start.size**2
    return used[best]


def _reduce(rows: np.ndarray) -> np.ndarray:
    """Return the reduced echelon form of independent rows, (d, p), by complete pivoting."""
    rows = rows.copy()
    for i in range(len(rows)):
        best = i + int(np.argmax(np.abs(rows[i:]).max(axis=1)))
        rows[[i, best]] = rows[[best, i]]
        rows = _exchange(rows, i, int(np.argmax(np.abs(rows[i]))))
    return rows


def _exchange(rows: np.ndarray, i: int, j: int) -> np.ndarray:
    """Return the rows after elimination of column j from all rows except row i, in which it is 1."""
    pivot = rows[i] / rows[i, j]
    result = rows - np.outer(rows[:, j], pivot)
    result[i] = pivot
    return result


def _smallest_row(rows: np.ndarray) -> np.ndarray:
    """Return the positions of the nonzero elements (above rounding) of the first row with the fewest of them."""
    is_used = np.abs(rows) > _NEGLIGIBLE * np.abs(rows).max(axis=1, keepdims=True)
    best = min(range(len(rows)), key=lambda i: (is_used[i].sum(), np.flatnonzero(is_used[i]).tolist()))
    return np.flatnonzero(is_used[best])


# ---- warnings: one per fit ----


def warn_of_columns(correlation: np.ndarray, names: Sequence[Hashable], collinearity: Collinearity | None) -> None:
    """Warn of the pairs of columns that determine each other, and of a smallest set of three or more."""
    pairs = np.argwhere(np.triu(find_copies(correlation)))
    messages = []
    if len(pairs):
        shown = ", ".join(f"{names[i]!r} and {names[j]!r}" for i, j in pairs[:5].tolist())
        more = f" and {len(pairs) - 5} more pairs" if len(pairs) > 5 else ""
        messages.append(
            f"columns that determine each other linearly: {shown}{more}. Their density is unbounded, so no edge joins "
            "them: drop one of each pair"
        )
    if collinearity is not None:
        messages.append(_describe_set([names[v] for v in collinearity.smallest], collinearity.n_determined))
    _warn(messages)


def warn_of_set(members: Sequence[Hashable], n_determined: int) -> None:
    """Warn of a smallest set of variables that determine each other; `n_determined` columns are combinations."""
    _warn([_describe_set(members, n_determined)])


def _describe_set(members: Sequence[Hashable], n_determined: int) -> str:
    more = f" (in all, {n_determined} columns are combinations of others)" if n_determined > 1 else ""
    return (
        f"columns that determine each other linearly: {join_names(members[:-1], len(members))} and {members[-1]!r}"
        f"{more}. The graph is learned as if each column had independent noise of 1e-6 of its standard deviation. Drop "
        "one of the columns to learn without noise"
    )


def _warn(messages: list[str]) -> None:
    if messages and not is_silent():
        warnings.warn(". Other ".join(messages), stacklevel=caller_level())
