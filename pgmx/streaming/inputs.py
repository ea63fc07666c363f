"""Chunks of what `fit` and `partial_fit` take, and the row and column of a number that cannot be used."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from pgmx.data.files.readers import is_path
from pgmx.data.numbers.targets import iterate_pieces, split_target
from pgmx.data.pieces.chunks import is_iterator

#: Rows of a file that are read at a time; results do not depend on it.
CHUNK_ROWS = 8192


def iterate_chunks(X: Any, y: Any) -> Iterator[tuple[Any, Any]]:
    """Yield rows and targets of each chunk: of arrays and frames one, of files and iterators several.

    `y` is the targets, the name of a column of frames or files, or None where an iterator yields pairs (X, y).
    """
    if is_path(X):
        if not isinstance(y, str):
            raise ValueError(f"X is the path {X!r}, so y must be the name of its target column, got {y!r:.60}")
        yield from iterate_pieces(X, y, CHUNK_ROWS)
    elif is_iterator(X):
        yield from iterate_pieces(X, y, CHUNK_ROWS) if isinstance(y, str) else _iterate_pairs(X, y)
    elif isinstance(y, str):
        yield split_target(X, y)
    else:
        yield X, y


def _iterate_pairs(X: Any, y: Any) -> Iterator[tuple[Any, Any]]:
    if y is not None:
        raise ValueError(
            "X is an iterator, so y must be None, and the iterator yield pairs (X, y); or y the name of a column, and "
            "the iterator yield frames"
        )
    empty = True
    for chunk in X:
        if not isinstance(chunk, tuple) or len(chunk) != 2:
            raise TypeError(f"the iterator must yield pairs (X, y), got {type(chunk).__name__}")
        empty = False
        yield chunk
    if empty:
        raise ValueError("the iterator has yielded no chunk: give at least one pair (X, y)")


def check_finite(rows: Any, names: Any, n_seen: int) -> None:
    """Raise ValueError for the first NaN or infinity of rows, dense or CSR, naming its column and row."""
    numbers = rows.data if sparse.issparse(rows) else rows
    if np.isfinite(numbers).all():
        return
    place = np.argwhere(~np.isfinite(numbers))[0]
    number = numbers[tuple(place)]
    if sparse.issparse(rows):
        t, j = np.searchsorted(rows.indptr, place[0], side="right") - 1, rows.indices[place[0]]
    else:
        t, j = place
    what = "NaN" if np.isnan(number) else "infinity (inf)"
    name = repr(names[j]) if names is not None else str(j)
    raise ValueError(
        f"Input X contains {what} in column {name}, row {t} of the chunk (row {n_seen + t} of the stream), counted "
        "from 0: fill it in or leave the row out; nothing of the chunk was learned"
    )
