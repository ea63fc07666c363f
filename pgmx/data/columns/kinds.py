"""The kinds of columns, and the coding of one column of each kind.

A column is one of: a 1-D numpy array, a pandas extension array, an Arrow chunked array. `column_kind` returns the kind
of its values, `code_column` converts it to states and codes. Distinct values are sorted here, so that the result
depends neither on row order nor on the hash seed.
"""

from typing import NamedTuple, NoReturn

import numpy as np
import pandas as pd
import pyarrow as pa

from pgmx._ext import _encode
from pgmx.data.columns.objects import code_objects, objects_are_floats
from pgmx.data.errors import COMPLEX_REMEDY
from pgmx.data.table import MAX_BYTE_STATES, MAX_STATES, python_scalar

#: Kinds of columns that are discrete.
DISCRETE_KINDS = ("category", "integer", "boolean", "string", "object", "empty")

_KIND_OF_LETTER = {
    "i": "integer",
    "u": "integer",
    "b": "boolean",
    "f": "float",
    "O": "object",
    "U": "string",
    "T": "string",
}


class Coded(NamedTuple):
    """One coded column."""

    states: tuple
    #: Codes of a column with more than 255 states; None if they were written to the byte row of the caller.
    codes: np.ndarray | None = None
    #: Why there are no codes: "missing" values, "float" values among objects, or None.
    obstacle: str | None = None


INCOMPLETE = Coded((), None, "missing")
FLOAT = Coded((), None, "float")


def column_kind(values):
    """Return the kind of a column: one of `DISCRETE_KINDS`, "float", or the name of a dtype that is none of them."""
    if isinstance(values, np.ndarray):
        return _KIND_OF_LETTER.get(values.dtype.kind) or str(values.dtype)
    if isinstance(values, pa.ChunkedArray):
        return _arrow_kind(values.type)
    dtype = values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return "category"
    if isinstance(dtype, pd.StringDtype):
        return "string"
    if isinstance(values, (pd.arrays.IntegerArray, pd.arrays.BooleanArray, pd.arrays.FloatingArray)):
        return _KIND_OF_LETTER[dtype.kind]
    return str(dtype)


def _arrow_kind(dtype):
    """Kind of an Arrow column."""
    kinds = {
        "category": pa.types.is_dictionary,
        "integer": pa.types.is_integer,
        "boolean": pa.types.is_boolean,
        "string": _is_arrow_string,
        "float": pa.types.is_floating,
        "empty": pa.types.is_null,
    }
    return next((kind for kind, test in kinds.items() if test(dtype)), str(dtype))


def _is_arrow_string(dtype):
    return pa.types.is_string(dtype) or pa.types.is_large_string(dtype) or pa.types.is_string_view(dtype)


def is_float_column(values):
    """Return whether a column holds floating-point values, in a float dtype or as Python objects."""
    kind = column_kind(values)
    return kind == "float" or (kind == "object" and objects_are_floats(values))


def code_column(values, out, name, is_discrete=False):
    """Code one column in one to two sequential passes.

    Return its states in their stated order, or the obstacle to coding it. The codes go to `out`, uint8 of shape
    (n_rows,), or, if there are more than 255 states, into the result. Floating-point values are an obstacle unless the
    user declared the column discrete. Raise TypeError for values that cannot be states, ValueError beyond 65535 states.
    """
    coded = _code_kind(values, out, name)
    return _code_floats(values, out, name) if is_discrete and coded.obstacle == "float" else coded


def _code_kind(values, out, name):
    """Code a column by its kind."""
    kind = column_kind(values)
    if kind == "float":
        return FLOAT
    if kind not in DISCRETE_KINDS:
        if kind.startswith("complex"):
            remedy = COMPLEX_REMEDY
        elif kind.startswith("Sparse"):
            remedy = "densify it with X.sparse.to_dense(), or leave it out"
        else:
            remedy = "convert it to str or category, or leave it out"
        raise TypeError(f"column {name!r} has dtype {kind}, which cannot hold states: {remedy}")
    if kind == "empty":
        return INCOMPLETE
    if isinstance(values, pa.ChunkedArray):
        return _code_arrow(values, out, name)
    if kind == "category":
        return _code_categories(values.codes, _category_states(values.categories), out, name)
    if kind == "string":
        return _code_strings(values, out, name)
    if kind == "object":
        return _sort_codes(code_objects(values, name), out, name)
    if not isinstance(values, np.ndarray):  # nullable integers and booleans
        if values.isna().any():
            return INCOMPLETE
        values = values.to_numpy(dtype=values.dtype.numpy_dtype)
    return code_integers(values[:, None], out[None], [name])[0]


def _code_floats(values, out, name):
    """Code a floating-point column; each distinct value is a state."""
    cells = float_cells(values)
    if np.isnan(cells).any():
        return INCOMPLETE
    check_no_infinite(cells, name)
    distinct, codes = np.unique(cells, return_inverse=True)
    if len(distinct) > MAX_STATES:
        raise_too_many(name)
    states = name_numbers(distinct.tolist())
    if len(states) > MAX_BYTE_STATES:
        return Coded(states, codes.astype(np.uint16))
    out[:] = codes
    return Coded(states)


def check_no_infinite(cells, name):
    """Refuse infinite values in a numeric column that is discrete."""
    if np.isinf(cells).any():
        raise ValueError(f"column {name!r} holds infinite values (inf), which cannot be states: replace them")


def name_numbers(values):
    """Return numeric values as states: integers if all of them are whole, else floating-point values."""
    is_whole = all(value == int(value) for value in values)
    return tuple(map(int if is_whole else float, values))


def list_categories(values):
    """Return the states that a categorical column declares; none for other columns."""
    if column_kind(values) != "category":
        return ()
    if isinstance(values, pa.ChunkedArray):
        chunks = values.unify_dictionaries().chunks
        states = chunks[0].dictionary.drop_null().to_pylist() if chunks else []
        return tuple(dict.fromkeys(states))
    return tuple(_category_states(values.categories))


def code_integers(cells, out, names):
    """Code integer or boolean columns `cells`, shape (n_rows, n_columns) in any memory order; return a Coded for each.

    The codes of columns with at most 255 states go to `out`, uint8 of shape (n_columns, n_rows).
    """
    boolean = cells.dtype == bool
    cells = _plain(cells.view(np.uint8) if boolean else cells)
    coded = []
    for j, outcome in enumerate(_encode.code_integers(cells, out)):
        if outcome is None:
            coded.append(_code_spread_integers(cells[:, j], out[j], names[j]))
            continue
        low, present = outcome
        states = tuple(low + i for i, mark in enumerate(present) if mark)
        wide = out[j].astype(np.uint16) if len(states) > MAX_BYTE_STATES else None  # the bytes hold 256 of them
        coded.append(Coded(tuple(map(bool, states)) if boolean else states, wide))
    return coded


def _code_spread_integers(values, out, name):
    """Code one integer column of a wide range."""
    raw = np.empty(len(values), dtype=np.uint16)
    return _sort_codes((_encode.code_spread_integers(values, raw), raw), out, name)


def _category_states(categories):
    """List the categories of a pandas column as Python objects."""
    if isinstance(categories.dtype, pd.StringDtype) and categories.dtype.storage == "pyarrow":
        return categories.array.__arrow_array__().to_pylist()  # a fifth of the time of tolist
    return [python_scalar(value) for value in categories.tolist()]


def _code_categories(codes, categories, out, name):
    """Code a column that has codes and declared states; a negative code means a missing value."""
    if len(categories) > MAX_STATES:
        raise_too_many(name)
    if len(categories) <= MAX_BYTE_STATES:
        missing = _encode.narrow_categories(_plain(codes), out)
        return INCOMPLETE if missing else Coded(tuple(categories))
    return INCOMPLETE if codes.min() < 0 else Coded(tuple(categories), codes.astype(np.uint16))


def _code_strings(values, out, name):
    """Code a numpy or pandas string column."""
    if isinstance(values, np.ndarray):
        if values.dtype.kind == "T":
            return _sort_codes(code_objects(values.astype(object), name), out, name)
        # Values of fixed width, padded with zeros: equal texts are equal bytes.
        values = np.ascontiguousarray(_plain(values))
        starts = np.arange(len(values) + 1) * values.dtype.itemsize
        return _code_bytes(starts, values.view(np.uint8), lambda row: str(values[row]), out, name)
    if values.dtype.storage == "pyarrow":
        return _code_arrow(values.__arrow_array__(), out, name)
    return _sort_codes(code_objects(values.to_numpy(dtype=object, na_value=None), name), out, name)


def _code_bytes(offsets, text, decode, out, name):
    """Code strings in one buffer, the i-th from offsets[i] to offsets[i + 1]."""
    raw = np.empty(len(offsets) - 1, dtype=np.uint16)
    rows = _encode.code_strings(offsets, text, raw)
    return _sort_codes((None if rows is None else [decode(row) for row in rows], raw), out, name)


def _code_arrow(column, out, name):
    """Code an Arrow column."""
    if column.null_count:
        return INCOMPLETE
    dtype = column.type
    if pa.types.is_dictionary(dtype):
        array = column.chunk(0) if column.num_chunks == 1 else column.unify_dictionaries().combine_chunks()
        categories = array.dictionary.to_pylist()
        if array.dictionary.null_count == 0 and len(set(categories)) == len(categories):
            return _code_categories(array.indices.to_numpy(), categories, out, name)
        return _code_arrow(column.cast(dtype.value_type), out, name)
    if not _is_arrow_string(dtype):
        return code_integers(column.to_numpy()[:, None], out[None], [name])[0]
    if column.num_chunks > 1 or pa.types.is_string_view(dtype):
        try:
            column = column.cast(pa.large_string())  # chunks of 32-bit offsets may not fit in one
        except pa.ArrowNotImplementedError:  # string views in older versions of Arrow
            return _sort_codes(code_objects(np.array(column.to_pylist(), dtype=object), name), out, name)
    array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    _, offsets, text = array.buffers()
    width = np.int64 if pa.types.is_large_string(array.type) else np.int32
    offsets = _plain(np.frombuffer(offsets, width)[array.offset : array.offset + len(array) + 1])
    text = np.frombuffer(text, np.uint8) if text is not None and text.size else np.empty(0, np.uint8)
    return _code_bytes(offsets, text, lambda row: text[offsets[row] : offsets[row + 1]].tobytes().decode(), out, name)


def _sort_codes(outcome, out, name):
    """Renumber a column that was coded by first occurrence in the sorted order of its states."""
    if isinstance(outcome, str):
        return INCOMPLETE if outcome == "missing" else FLOAT
    states, raw = outcome
    if states is None:
        raise_too_many(name)
    order = order_states(states)
    rank = np.empty(len(order), dtype=np.uint16)
    rank[order] = np.arange(len(order), dtype=np.uint16)
    ordered = tuple(states[i] for i in order)
    if len(ordered) > MAX_BYTE_STATES:
        return Coded(ordered, rank[raw])
    _encode.relabel(raw, rank.astype(np.uint8), out)
    return Coded(ordered)


def order_states(states):
    """Return the positions of distinct states in order: by value if all have one type, else by type name and text."""
    if len(set(map(type, states))) == 1 and type(states[0]) in (str, int, bool, float):
        return sorted(range(len(states)), key=states.__getitem__)
    return sorted(range(len(states)), key=lambda i: (type(states[i]).__name__, str(states[i])))


def raise_too_many(name) -> NoReturn:
    """Refuse a column with more states than codes can distinguish."""
    raise ValueError(
        f"column {name!r} has more than {MAX_STATES} distinct values: it looks like an identifier, drop it "
        "(or discretise it)"
    )


def _plain(values):
    """Return numbers or text aligned and in the byte order of this machine: the kernels rely on both."""
    if values.flags.aligned and values.dtype.isnative:
        return values
    return values.astype(values.dtype.newbyteorder("="), order="A", copy=True)


def copy_floats(values, out):
    """Copy a floating-point column (see `is_float_column`) into float64 `out`, missing values as NaN."""
    plain = isinstance(values, np.ndarray) and values.dtype.kind == "f"
    out[:] = values if plain else float_cells(values)


def float_cells(values):
    """Return a floating-point column (see `is_float_column`) as a new float64 array, missing values as NaN."""
    if isinstance(values, pa.ChunkedArray):
        return np.array(values.to_numpy(), dtype=np.float64)
    if not isinstance(values, np.ndarray):
        return np.array(values.to_numpy(dtype=np.float64, na_value=np.nan))
    if values.dtype == object:
        values = np.where(pd.isna(values), np.nan, values)
    return np.array(values, dtype=np.float64)
