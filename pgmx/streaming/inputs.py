"""Chunks of what `fit` and `partial_fit` take, and the row and column of a number that cannot be used."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from pgmx.data.pieces.chunks import is_iterator


def iterate_chunks(X: Any, y: Any) -> Iterator[tuple[Any, Any]]:
    """Yield rows and targets of each chunk; an iterator yields them as pairs (X, y), and `y` is None then."""
    if not is_iterator(X):
        yield X, y
        return
    if y is not None:
        raise ValueError("X is an iterator, so y must be None: let the iterator yield pairs (X, y)")
    empty = True
    for chunk in X:
        if not isinstance(chunk, tuple) or len(chunk) != 2:
            raise TypeError(f"the iterator must yield pairs (X, y), got {type(chunk).__name__}")
        empty = False
        yield chunk
    if empty:
        raise ValueError("the iterator has yielded no chunk: give at least one pair (X, y)")


def check_finite(rows: np.ndarray, names: Any, n_seen: int) -> None:
    """Raise ValueError for the first NaN or infinity, naming its column and row."""
    if np.isfinite(rows.sum()) or np.isfinite(rows).all():
        return
    t, j = np.argwhere(~np.isfinite(rows))[0]
    what = "NaN" if np.isnan(rows[t, j]) else "infinity (inf)"
    name = repr(names[j]) if names is not None else str(j)
    raise ValueError(
        f"Input X contains {what} in column {name}, row {t} of the chunk (row {n_seen + t} of the stream), counted "
        "from 0: fill it in or leave the row out; nothing of the chunk was learned"
    )
