"""Coding of columns of Python objects: strings, integers and booleans, alone or mixed."""

import numpy as np
import pandas as pd

from pgmx._ext import _encode
from pgmx.data.table import MAX_STATES, python_scalar


def code_objects(values, name):
    """Code a column of Python objects by first occurrence.

    Return the distinct states in code order, None if there are more than 65535, and uint16 codes; or "missing" if a
    value is missing, or "float" if all are numbers, not all of them integers. Raise TypeError for values that are
    unhashable or cannot be states, ValueError for equal states of different types, such as 1 and True.
    """
    cells, codes = _distinct_cells(values, name)
    known = [cell for cell in cells if not is_missing(cell)]
    if _are_floats(known):
        return "float"
    for check in (_check_hashable, _check_cell):
        for cell in known:
            check(cell, name)
    if len(known) < len(cells):
        return "missing"
    if len(cells) > MAX_STATES:
        return None, codes
    # Equal values may be different objects, and both numpy scalars and Python objects.
    places: dict = {}
    place = [places.setdefault((type(cell), cell), len(places)) for cell in map(python_scalar, cells)]
    states = [cell for _, cell in places]
    check_distinct(states, name)
    return states, codes if len(states) == len(cells) else np.array(place, dtype=np.uint16)[codes]


def objects_are_floats(values):
    """Return whether the observed values of an object column are numbers, not all integers; False if there are none."""
    raw = np.empty(len(values), dtype=np.uint16)
    rows = _encode.code_objects(values, raw)
    if rows is None:
        return pd.api.types.infer_dtype(values, skipna=True) in ("floating", "mixed-integer-float")
    return _are_floats([values[row] for row in rows if not is_missing(values[row])])


def is_missing(cell):
    """Return whether a single object is None, NaN, NaT or pandas.NA."""
    return type(cell) is not str and pd.api.types.is_scalar(cell) and bool(pd.isna(cell))


def _are_floats(cells):
    """Return whether values are numbers, not all integers."""
    floats = any(isinstance(cell, (float, np.floating)) for cell in cells)
    return floats and all(
        isinstance(cell, (float, int, np.floating, np.integer)) and not isinstance(cell, bool) for cell in cells
    )


def _distinct_cells(values, name):
    """Return the distinct values, at most one more than there may be states, and the code of each row."""
    codes = np.empty(len(values), dtype=np.uint16)
    rows = _encode.code_objects(values, codes)
    if rows is not None:
        return [values[row] for row in rows], codes
    # Too many different objects for the kernel: compare them by type and value.
    missing = pd.isna(values)
    cells: list = []
    seen: dict = {}
    for i, cell in enumerate(values):
        try:
            code = seen.setdefault(None if missing[i] else (type(cell), cell), len(cells))
        except TypeError:
            _check_hashable(cell, name)
            raise
        if code == len(cells):
            cells.append(cell)
            if len(cells) > MAX_STATES:
                break
        codes[i] = code
    return cells, codes


def _check_hashable(cell, name):
    """Refuse a value that has no hash."""
    try:
        hash(cell)
    except TypeError:
        raise TypeError(
            f"column {name!r} holds an unhashable value of type {type(cell).__name__}, {_shorten(cell)}: every value "
            "of the argument must be a string, a boolean or an integer number"
        ) from None


def _check_cell(cell, name):
    """Refuse a value that cannot be a state."""
    if not isinstance(cell, (str, int, np.integer, np.bool_)):
        raise TypeError(
            f"column {name!r} holds a value of type {type(cell).__name__}, {_shorten(cell)}, among its objects: states "
            "must be strings, booleans or integers; convert the column to str or to category, or leave it out"
        )


def _shorten(cell, limit=60):
    text = repr(cell)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def check_distinct(states, name):
    """Refuse states of different types that Python considers equal: no model can distinguish them."""
    first: dict = {}
    for state in states:
        other = first.setdefault(state, state)
        if other is not state:
            raise ValueError(
                f"column {name!r} holds both {other!r} and {state!r}, which Python considers equal: convert the column "
                "to one type, for example str"
            )
