"""Values of numeric tables: non-numeric, missing and infinite values, and the rest as float64 rows."""

import numpy as np
import pandas as pd
import pyarrow as pa

from pgmx.checks import join_names
from pgmx.data.columns.kinds import column_kind, float_cells
from pgmx.data.errors import COMPLEX_REMEDY, MissingCellsError
from pgmx.data.pieces.chunks import CHUNK_CELLS

#: Results of `pandas.api.types.infer_dtype` for numeric Python objects; "empty" if all are missing.
_NUMBERS = ("floating", "mixed-integer-float", "integer", "empty")


class MissingNumbersError(MissingCellsError):
    """Numeric columns with missing values that are not allowed; the arguments are the same as in the base class."""

    purposes = {
        "drop": "to leave out the rows that have them",
        "pairwise": "to use for each pair of columns the rows that are observed in both",
    }


class NotNumbersError(TypeError, ValueError):
    """Non-numeric columns: both a wrong type of an argument and a wrong value in it."""


def kinds_of_states(frame):
    """Return the kinds of the non-numeric columns, by name."""
    kinds = {}
    for name, values in zip(frame.names, frame.columns, strict=True):
        kind = column_kind(values)
        if kind == "object":
            kind = pd.api.types.infer_dtype(values, skipna=True)
            kind = "float" if kind in _NUMBERS else kind
        if name in frame.discrete:
            kind = "states"
        if kind not in ("integer", "float", "empty"):
            kinds[name] = "text" if kind == "string" else kind
            if kind.startswith("mixed"):
                kinds[name] += _conversion_error(values)
    return kinds


def _conversion_error(values):
    """Return Python's message about the first value of a type that cannot be converted to float."""
    for value in values[~pd.isna(values)]:
        try:
            float(value)
        except TypeError as error:
            return f": {error}"
        except ValueError:
            continue
    return ""


def float_rows(frame):
    """Return the values of a numeric frame as a new array, missing ones as NaN."""
    rows = np.empty((frame.n_rows, frame.n_columns))
    for v, values in enumerate(frame.columns):
        rows[:, v] = column_numbers(values)
    return rows


def column_numbers(values):
    """Return the values of a numeric column as an array, without a copy if it is one; missing ones as NaN."""
    if isinstance(values, pa.ChunkedArray):
        return values.cast(pa.float64(), safe=False).to_numpy()  # integers above 2**53 are rounded
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiu":
        return values
    return float_cells(values)


def _columns_with(rows, test):
    """Mark the columns in which some value passes a test, in blocks of rows."""
    found = np.zeros(rows.shape[1], dtype=bool)
    step = max(1, CHUNK_CELLS // max(1, rows.shape[1]))
    for first in range(0, len(rows), step):
        found |= test(rows[first : first + step]).any(axis=0)
    return found


def missing_columns(rows):
    """Mark the columns with missing values (NaN)."""
    return _columns_with(rows, np.isnan)


def infinite_columns(rows):
    """Mark the columns with infinite values."""
    return _columns_with(rows, np.isinf)


def raise_of_states(names, kinds):
    """Refuse non-numeric columns."""
    if not kinds:
        return
    complexes = [name for name in names if "complex" in str(kinds.get(name))]
    if complexes:
        raise NotNumbersError(f"column(s) {join_names(complexes)} hold complex numbers: {COMPLEX_REMEDY}")
    culprits = [name for name in names if name in kinds]
    contents = ", ".join(sorted(set(map(str, kinds.values()))))
    hint = (
        ". Values of a CSV file that are missing, such as '?', are named by na_values (--na)"
        if "text" in contents
        else ""
    )
    raise NotNumbersError(
        f"column(s) {join_names(culprits)} hold states or text, not numbers ({contents}): leave them out, or convert "
        f"them to numbers, for example with astype(float){hint}"
    )


def raise_of_cells(names, incomplete, infinite):
    """Refuse infinite values, and missing values if `incomplete` is given."""
    if infinite.any():
        culprits = join_names(select_names(names, infinite))
        raise ValueError(f"infinite values (inf) in column(s) {culprits}: replace them or drop their rows")
    if incomplete is not None and incomplete.any():
        raise MissingNumbersError(select_names(names, incomplete))


def select_names(names, mask):
    """Return the names of the columns that `mask` marks."""
    return [names[v] for v in np.flatnonzero(mask)]


class CellFaults:
    """Faults of the values in the chunks of a numeric table that were read so far.

    `kinds` holds the kinds of the non-numeric columns, by name; `infinite` and `incomplete` mark columns.
    """

    def __init__(self, names):
        self.names = names
        self.kinds: dict = {}
        self.infinite = np.zeros(len(names), dtype=bool)
        self.incomplete = np.zeros(len(names), dtype=bool)

    def read_rows(self, frame):
        """Return the rows of a chunk with these columns as float64, no rows if columns are non-numeric."""
        kinds = kinds_of_states(frame)
        rows = np.empty((0, len(self.names))) if kinds else float_rows(frame)
        self.kinds = {**kinds, **self.kinds}
        self.infinite |= infinite_columns(rows)
        self.incomplete |= missing_columns(rows)
        return rows

    def merge(self, other, positions):
        """Add the faults of other rows; their column ``positions[v]`` is column v here."""
        self.kinds = {**other.kinds, **self.kinds}
        self.infinite |= other.infinite[positions]
        self.incomplete |= other.incomplete[positions]

    def any(self, missing):
        """Return whether there are faults; missing values are one with missing="error"."""
        return bool(self.kinds) or self.infinite.any() or (missing == "error" and self.incomplete.any())

    def throw(self, missing):
        """Raise naming the columns with faults, if there are some."""
        raise_of_states(self.names, self.kinds)
        raise_of_cells(self.names, self.incomplete if missing == "error" else None, self.infinite)
