"""Floating-point columns that look like coded discrete variables: a warning that says how they are used."""

import warnings
from collections.abc import Collection, Hashable
from itertools import pairwise
from typing import Any

import numpy as np

from pgmx.checks import caller_level, join_names
from pgmx.data.columns import read_floats
from pgmx.data.errors import spell_discrete
from pgmx.data.files.readers import CHUNK_ROWS, is_iterator, is_path, open_chunks, read_csv_chunks
from pgmx.data.frame import Frame, open_rows

#: The warning names a floating-point column with at most this many distinct whole numbers, or other distinct values.
_MOST_WHOLE, _MOST_OTHERS = 10, 3

#: Columns with fewer observed values are never named: few distinct values are expected there.
_FEWEST_CELLS = 20

#: Rows whose distinct values are found at a time; most columns need only the first of them.
_FIRST, _STEP = 64, 65_536


class FewValuesWarning(UserWarning):
    """Floating-point columns with few values, which may be coded discrete variables, are used as continuous variables.

    The warning names columns with 2 to 10 distinct values that are all whole, or with 2 or 3 distinct values, if at
    least 20 values are observed. If they are discrete, declare them with ``discrete_columns``. If they are continuous,
    ``warnings.filterwarnings("ignore", category=pgmx.data.FewValuesWarning)`` ends the warning.
    """


def warn_of_few_values(
    X: Any, ignore: Collection[Hashable] = (), *, na_values: Any = None, can_declare: bool = True
) -> None:
    """Warn of the floating-point columns of a table with few values; of a file only the first rows are read.

    `can_declare` is whether the caller has an option for discrete columns, so that they can be declared. Iterators,
    which can be read once, and inputs that cannot be opened are ignored here: reading them raises the error.
    """
    if is_iterator(X):
        return
    try:
        frame = next(_open_texts(X, na_values)) if is_path(X) else open_rows(X)
    except (ValueError, TypeError, OSError, StopIteration):
        return
    names = [name for name in list_few_values(frame) if name not in ignore]
    if names:
        remedy = (
            f"declare them with {spell_discrete(names)}, or use pgmx.data.Discretizer in place of KBinsDiscretizer"
            if can_declare
            else "leave them out, or learn a network of mixed data, such as HillClimbSearch(discrete_columns=[...]) "
            "(command line: --drop, or --method hill-climb --discrete)"
        )
        warnings.warn(
            f"column(s) {join_names(names)} have at most {_MOST_WHOLE} distinct whole numbers or {_MOST_OTHERS} "
            f"distinct values, and are used as continuous variables. If they are discrete, {remedy}. If they are "
            "continuous, ignore pgmx.data.FewValuesWarning",
            FewValuesWarning,
            stacklevel=caller_level(),
        )


def list_few_values(frame: Frame) -> list[Hashable]:
    """Return the names of the floating-point columns with few values."""
    columns = dict(zip(frame.names, frame.columns, strict=True))
    return [name for name in _list_suspects(columns, frame.float_columns) if _has_few_values(columns[name])]


def _list_suspects(columns: dict, names: Collection[Hashable]) -> list[Hashable]:
    """Return the columns that may have few values by their first rows, all tested together."""
    plain = [name for name in names if isinstance(columns[name], np.ndarray) and columns[name].dtype == np.float64]
    if not plain:
        return list(names)
    first = np.sort([columns[name][:_FIRST] for name in plain])
    n_steps = (first[:, 1:] > first[:, :-1]).sum(axis=1)  # a comparison with NaN is False
    acquitted = {name for name, n in zip(plain, n_steps.tolist(), strict=True) if n >= _MOST_WHOLE}
    return [name for name in names if name not in acquitted]


def _has_few_values(values: Any) -> bool:
    seen, n_known = np.empty(0), 0
    steps = [0, *range(_FIRST, len(values), _STEP), len(values)]
    for first, stop in pairwise(steps):
        cells = read_floats(values[first:stop])
        cells = cells[~np.isnan(cells)]
        n_known += len(cells)
        seen = np.union1d(seen, cells)
        most = _MOST_WHOLE if (seen == np.floor(seen)).all() else _MOST_OTHERS
        if len(seen) > most:
            return False
    return len(seen) > 1 and n_known >= _FEWEST_CELLS and bool(np.isfinite(seen).all())


def _open_texts(path: Any, na_values: Any) -> Any:
    """Yield the first rows of a file as columns of their types."""
    chunks, are_texts = open_chunks(path, CHUNK_ROWS, 0, na_values)
    if not are_texts:
        yield from (chunk for chunk in chunks if chunk.n_rows)
        return
    yield from map(open_rows, read_csv_chunks(path, CHUNK_ROWS, na_values=na_values))
