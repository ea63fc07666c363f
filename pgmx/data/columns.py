"""Single columns: the kind of their values, and their coding as states.

A column is one of: a 1-D numpy array, a pandas extension array, an Arrow chunked array. `column_kind` returns the kind
of its values, `code_column` converts it to states and codes, and `code_columns` all columns of a table. Distinct values
are sorted here, so that the result depends neither on row order nor on the hash seed.
"""

import warnings
from typing import NamedTuple, NoReturn

import numpy as np
import pandas as pd
import pyarrow as pa

from pgmx._ext import _encode
from pgmx.checks import caller_level, count_workers
from pgmx.data.errors import COMPLEX_REMEDY

#: Largest number of states that a variable may have: codes are at most 16 bits wide.
MAX_STATES = 65535

#: Up to this many states, codes are bytes and a variable has bit planes.
MAX_BYTE_STATES = 255

#: Name of the state of missing values; "missing_1", ... if a column has a state of that name.
MISSING = "missing"

#: Kinds of columns that are discrete.
_DISCRETE_KINDS = ("category", "integer", "boolean", "string", "object", "empty")

#: Smaller tables are coded by one thread, since joblib needs 12 ms to start others.
THREADED_CELLS = 4_000_000

_KIND_OF_LETTER = {
    "i": "integer",
    "u": "integer",
    "b": "boolean",
    "f": "float",
    "O": "object",
    "U": "string",
    "T": "string",
}


class CodedColumn(NamedTuple):
    """One coded column."""

    states: tuple
    #: Codes of a column with more than 255 states; None if they were written to the byte row of the caller.
    codes: np.ndarray | None = None
    #: Why there are no codes: "missing" values, "float" values among objects, or None.
    obstacle: str | None = None


_INCOMPLETE = CodedColumn((), None, "missing")

_FLOAT = CodedColumn((), None, "float")


def python_scalar(value):
    """Return a numpy scalar as the equal Python object, anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


# ---- kinds of columns ----


def column_kind(values):
    """Return the kind of a column: one of `_DISCRETE_KINDS`, "float", or the name of a dtype that is none of them."""
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
    return kind == "float" or (kind == "object" and _objects_are_floats(values))


def unwrap_array(values):
    """Return the array inside a pandas wrapper that adds nothing to it."""
    if isinstance(values, pd.arrays.NumpyExtensionArray):
        return values.to_numpy()
    return values.__arrow_array__() if isinstance(values.dtype, pd.ArrowDtype) else values


def list_categories(values):
    """Return the states that a categorical column declares; none for other columns."""
    if column_kind(values) != "category":
        return ()
    if isinstance(values, pa.ChunkedArray):
        chunks = values.unify_dictionaries().chunks
        states = chunks[0].dictionary.drop_null().to_pylist() if chunks else []
        return tuple(dict.fromkeys(states))
    return tuple(_category_states(values.categories))


def _category_states(categories):
    """List the categories of a pandas column as Python objects."""
    if isinstance(categories.dtype, pd.StringDtype) and categories.dtype.storage == "pyarrow":
        return categories.array.__arrow_array__().to_pylist()  # a fifth of the time of tolist
    return [python_scalar(value) for value in categories.tolist()]


# ---- columns as floats, missing values ----


def copy_floats(values, out):
    """Copy a floating-point column (see `is_float_column`) into float64 `out`, missing values as NaN."""
    plain = isinstance(values, np.ndarray) and values.dtype.kind == "f"
    out[:] = values if plain else read_floats(values)


def read_floats(values):
    """Return a floating-point column (see `is_float_column`) as a new float64 array, missing values as NaN."""
    if isinstance(values, pa.ChunkedArray):
        return np.array(values.to_numpy(), dtype=np.float64)
    if not isinstance(values, np.ndarray):
        return np.array(values.to_numpy(dtype=np.float64, na_value=np.nan))
    if values.dtype == object:
        values = np.where(pd.isna(values), np.nan, values)
    return np.array(values, dtype=np.float64)


def find_missing(values):
    """Return which values of a column are missing, as a bool array; None for a dtype without missing values."""
    if isinstance(values, pa.ChunkedArray):
        if pa.types.is_dictionary(values.type):  # the dictionary itself may hold a null
            values = values.cast(values.type.value_type)
        return values.is_null(nan_is_null=True).to_numpy()
    # these types have no missing values, and need no mask
    if isinstance(values, np.ndarray) and values.dtype.kind in "iubU":
        return None
    return np.asarray(pd.isna(values))


def is_missing(cell):
    """Return whether a single object is None, NaN, NaT or pandas.NA."""
    # texts, the usual objects, need none of pandas' slower tests
    return type(cell) is not str and pd.api.types.is_scalar(cell) and bool(pd.isna(cell))


def take_rows(values, keep):
    """Return the rows of a column for which the mask `keep` is True."""
    return values.filter(pa.array(keep)) if isinstance(values, pa.ChunkedArray) else values[keep]


# ---- coding of one column ----


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
        return _FLOAT
    if kind not in _DISCRETE_KINDS:
        if kind.startswith("complex"):
            remedy = COMPLEX_REMEDY
        elif kind.startswith("Sparse"):
            remedy = "densify it with X.sparse.to_dense(), or leave it out"
        else:
            remedy = "convert it to str or category, or leave it out"
        raise TypeError(f"column {name!r} has dtype {kind}, which cannot hold states: {remedy}")
    if kind == "empty":
        return _INCOMPLETE
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
            return _INCOMPLETE
        values = values.to_numpy(dtype=values.dtype.numpy_dtype)
    return code_integers(values[:, None], out[None], [name])[0]


def _code_floats(values, out, name):
    """Code a floating-point column; each distinct value is a state."""
    cells = read_floats(values)
    if np.isnan(cells).any():
        return _INCOMPLETE
    check_no_infinite(cells, name)
    distinct, codes = np.unique(cells, return_inverse=True)
    if len(distinct) > MAX_STATES:
        raise_too_many(name)
    states = name_numbers(distinct.tolist())
    if len(states) > MAX_BYTE_STATES:
        return CodedColumn(states, codes.astype(np.uint16))
    out[:] = codes
    return CodedColumn(states)


def check_no_infinite(cells, name):
    """Refuse infinite values in a numeric column that is discrete."""
    if np.isinf(cells).any():
        raise ValueError(f"column {name!r} holds infinite values (inf), which cannot be states: replace them")


def name_numbers(values):
    """Return numeric values as states: integers if all of them are whole, else floating-point values."""
    is_whole = all(value == int(value) for value in values)
    return tuple(map(int if is_whole else float, values))


def code_integers(cells, out, names):
    """Code integer or boolean columns `cells`, shape (n_rows, n_columns) in any memory order; return one result each.

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
        coded.append(CodedColumn(tuple(map(bool, states)) if boolean else states, wide))
    return coded


def _code_spread_integers(values, out, name):
    """Code one integer column of a wide range."""
    raw = np.empty(len(values), dtype=np.uint16)
    return _sort_codes((_encode.code_spread_integers(values, raw), raw), out, name)


def _code_categories(codes, categories, out, name):
    """Code a column that has codes and declared states; a negative code means a missing value."""
    if len(categories) > MAX_STATES:
        raise_too_many(name)
    if len(categories) <= MAX_BYTE_STATES:
        missing = _encode.narrow_categories(_plain(codes), out)
        return _INCOMPLETE if missing else CodedColumn(tuple(categories))
    return _INCOMPLETE if codes.min() < 0 else CodedColumn(tuple(categories), codes.astype(np.uint16))


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
        return _INCOMPLETE
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
        return _INCOMPLETE if outcome == "missing" else _FLOAT
    states, raw = outcome
    if states is None:
        raise_too_many(name)
    order = order_states(states)
    rank = np.empty(len(order), dtype=np.uint16)
    rank[order] = np.arange(len(order), dtype=np.uint16)
    ordered = tuple(states[i] for i in order)
    if len(ordered) > MAX_BYTE_STATES:
        return CodedColumn(ordered, rank[raw])
    _encode.relabel(raw, rank.astype(np.uint8), out)
    return CodedColumn(ordered)


def order_states(states):
    """Return the positions of distinct states in order: by value if all have one type, else by type name and text."""
    if len(set(map(type, states))) == 1 and type(states[0]) in (str, int, bool, float):
        return sorted(range(len(states)), key=states.__getitem__)
    # values of different types cannot be compared
    return sorted(range(len(states)), key=lambda i: (type(states[i]).__name__, str(states[i])))


def raise_too_many(name) -> NoReturn:
    """Refuse a column with more states than codes can distinguish."""
    raise ValueError(
        f"column {name!r} has more than {MAX_STATES} distinct values: it looks like an identifier, drop it "
        "(or discretise it)"
    )


def _plain(values):
    """Return numeric or text values aligned and in the byte order of this machine: the kernels rely on both."""
    if values.flags.aligned and values.dtype.isnative:
        return values
    return values.astype(values.dtype.newbyteorder("="), order="A", copy=True)


# ---- Python objects: strings, integers and booleans, alone or mixed ----


def code_objects(values, name):
    """Code a column of Python objects by first occurrence.

    Return the distinct states in code order, None if there are more than 65535, and uint16 codes; or "missing" if a
    value is missing, or "float" if all are numeric, not all of them integers. Raise TypeError for values that are
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


def _objects_are_floats(values):
    """Return whether the observed values of an object column are numeric, not all integers; False if there are none."""
    raw = np.empty(len(values), dtype=np.uint16)
    rows = _encode.code_objects(values, raw)
    if rows is None:
        return pd.api.types.infer_dtype(values, skipna=True) in ("floating", "mixed-integer-float")
    return _are_floats([values[row] for row in rows if not is_missing(values[row])])


def _are_floats(cells):
    """Return whether values are numeric, not all integers."""
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


def _shorten(cell):
    text = repr(cell)
    return text if len(text) <= 60 else text[:57] + "..."


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


# ---- coding of columns with missing values ----


def code_observed(values, out, name, is_discrete=False):
    """Code a column that `code_column` finds incomplete; missing values get the code after the last state.

    Return the states of the observed values. The codes go to `out`, uint8 of shape (n_rows,), or, if there are more
    than 255 states, into the result.
    """
    missing = find_missing(values)
    known = np.ones(len(values), dtype=bool) if missing is None else ~missing
    n_known = int(known.sum())
    part = np.empty(n_known, dtype=np.uint8)
    if n_known:
        states, codes, _ = code_column(take_rows(values, known), part, name, is_discrete)
    else:
        states, codes = list_categories(values), None
    if len(states) > MAX_BYTE_STATES:
        wide = np.full(len(known), len(states), dtype=np.uint16)
        if codes is not None:
            wide[known] = codes
        return CodedColumn(states, wide)
    out[:] = len(states)
    out[known] = part
    return CodedColumn(states)


def add_missing_state(coded, row, name):
    """Return a column coded by `code_observed` with one more state, the last, for its missing values.

    `row` holds its codes if `coded` has none; the result has codes of its own if it now has more than 255 states.
    """
    states = (*coded.states, name_missing_state(coded.states))
    if len(states) > MAX_STATES:
        raise_too_many(name)
    if len(states) > MAX_BYTE_STATES and coded.codes is None:
        return CodedColumn(states, row.astype(np.uint16))
    return coded._replace(states=states)


def name_missing_state(states):
    """Return the name of the state of missing values: "missing", or "missing_1", ... if a state has that name."""
    names, name, k = set(states), MISSING, 0
    while name in names:
        k += 1
        name = f"{MISSING}_{k}"
    return name


# ---- all columns of a table ----


def code_columns(names, columns, codes, *, discrete=frozenset(), block=None, n_jobs=None):
    """Code every column into its row of `codes`; errors are raised in the order of the columns.

    `codes`, uint8 of shape (n_columns, n_rows) and C-contiguous, receives the codes of columns with at most 255 states;
    `discrete` names the numeric columns that are discrete; `block` has all columns as one integer array, if there is
    one; `n_jobs` threads share the columns.
    """

    def code_range(first, stop):
        """Code the columns from `first` to `stop`; return the coded ones and the error that ended it, if any."""
        coded = []
        try:
            if block is not None:
                return code_integers(block[:, first:stop], codes[first:stop], names[first:stop]), None
            for v in range(first, stop):
                coded.append(code_column(columns[v], codes[v], names[v], names[v] in discrete))
        except (TypeError, ValueError) as error:
            return coded, error
        return coded, None

    n_workers = 1
    if n_jobs is not None and n_jobs != 1:
        from joblib import Parallel, delayed

        n_workers = count_workers(n_jobs)
    if n_workers == 1 or codes.size < THREADED_CELLS:
        return _join_ranges([code_range(0, len(names))])
    # more ranges than threads, since columns of different kinds take different times
    n_ranges = min(4 * n_workers, len(names))
    bounds = [k * len(names) // n_ranges for k in range(n_ranges + 1)]
    tasks = (delayed(code_range)(bounds[k], bounds[k + 1]) for k in range(n_ranges))
    return _join_ranges(Parallel(n_jobs=n_jobs, require="sharedmem")(tasks))


def _join_ranges(ranges):
    """Join the coded ranges of columns, or raise the error of the first column that has one."""
    coded = []
    for part, error in ranges:
        if error is not None:
            raise error
        coded += part
    return coded


def widen_codes(codes, coded):
    """Widen the codes if some column has more than 255 states."""
    if all(c.codes is None for c in coded):
        return codes
    wide = codes.astype(np.uint16)
    for row, c in zip(wide, coded, strict=True):
        if c.codes is not None:
            row[:] = c.codes
    return wide


def warn_of_many_states(names, states, n_rows):
    """Warn the caller of pgmx of columns with more states than ``max(20, n_rows / 20)``."""
    # more states have fewer than 20 rows each on average; 20 states are plausible in any table
    limit = max(20, n_rows / 20)
    many = [f"{name!r} ({len(s)} states)" for name, s in zip(names, states, strict=True) if len(s) > limit]
    if many:
        shown = ", ".join(many[:10]) + (f" and {len(many) - 10} more" if len(many) > 10 else "")
        warnings.warn(
            f"implausibly many states for {n_rows} rows in column(s) {shown}: few rows are left for each state, and "
            "the tables of a network grow with them. Merge rare states, discretise continuous variables (with "
            "pgmx.data.discretize), or drop identifiers",
            UserWarning,
            stacklevel=caller_level(),
        )
