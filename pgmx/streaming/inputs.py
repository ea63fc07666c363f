"""Chunks of the input of `fit` and `partial_fit`, and the row and column of an invalid value."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from pgmx.data.files.readers import is_iterator, is_path
from pgmx.data.targets import iterate_rows, iterate_targets, read_rows

#: Rows per chunk of a file; results do not depend on it.
CHUNK_ROWS = 8192


def iterate_chunks(X: Any, y: Any) -> Iterator[tuple[Any, Any]]:
    """Yield rows and targets of each chunk: one chunk for arrays and frames, several for files and iterators.

    `y` is the targets, the name of a column of frames or files, or None if an iterator yields pairs (X, y).
    """
    if isinstance(y, str):
        yield from iterate_targets(X, y, CHUNK_ROWS)
    elif is_path(X):
        raise ValueError(f"X is the path {X!r}, so y must be the name of its target column, got {y!r:.60}")
    elif is_iterator(X):
        yield from _iterate_pairs(X, y)
    else:
        yield X, y


def _iterate_pairs(X: Any, y: Any) -> Iterator[tuple[Any, Any]]:
    if y is not None:
        raise ValueError(
            "X is an iterator: give y=None if it yields pairs (X, y), or the name of the target column if it yields "
            "frames"
        )
    empty = True
    for chunk in X:
        if not isinstance(chunk, tuple) or len(chunk) != 2:
            raise TypeError(f"the iterator must yield pairs (X, y), got {type(chunk).__name__}")
        empty = False
        yield chunk
    if empty:
        raise ValueError("the iterator has yielded no chunk: give at least one pair (X, y)")


def collect_rows(X: Any, na_values: Any = None) -> Any:
    """Return rows that can be read again: a frame for a file, others unchanged."""
    return read_rows(X, CHUNK_ROWS, na_values) if is_path(X) else X


def iterate_row_chunks(X: Any, na_values: Any = None) -> Iterator[Any]:
    """Yield the rows of each chunk, without targets; arrays, frames and sparse matrices are one chunk."""
    if is_path(X):
        yield from iterate_rows(X, CHUNK_ROWS, na_values)
    elif is_iterator(X):
        empty = True
        for chunk in X:
            empty = False
            yield chunk
        if empty:
            raise ValueError("the iterator has yielded no chunk: give at least one with rows")
    else:
        yield X


def check_finite(rows: Any, names: Any, n_seen: int | None, allow_nan: bool = False) -> None:
    """Raise ValueError with column and row for the first NaN or infinity of dense or CSR rows.

    `n_seen` is the number of rows learned before; None if nothing is learned.
    """
    numbers = rows.data if sparse.issparse(rows) else rows
    wrong = np.isinf(numbers) if allow_nan else ~np.isfinite(numbers)
    if not wrong.any():
        return
    place = np.argwhere(wrong)[0]
    number = numbers[tuple(place)]
    if sparse.issparse(rows):
        t, j = np.searchsorted(rows.indptr, place[0], side="right") - 1, rows.indices[place[0]]
    else:
        t, j = place
    what = "NaN" if np.isnan(number) else "infinity (inf)"
    name = repr(names[j]) if names is not None else str(j)
    if n_seen is None:
        raise ValueError(f"Input X contains {what} in column {name}, row {t}, counted from 0: fill it in")
    raise ValueError(
        f"Input X contains {what} in column {name}, row {t} of the chunk (row {n_seen + t} of the stream), counted "
        "from 0: fill it in or leave the row out. Nothing of the chunk was learned"
    )
