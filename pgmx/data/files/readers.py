"""Readers of files and iterators: whole tables as pandas frames, or chunks as `Frame`.

`read_table` and `read_whole` read a file into memory. `open_chunks` reads files and iterators in chunks that all have
the columns of the first.
"""

import os
import re
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from pgmx import checks
from pgmx.checks import check_path, check_rows, check_same_names, join_names
from pgmx.data.columns import check_no_infinite, read_floats
from pgmx.data.declared_states import check_discrete_columns
from pgmx.data.files.csv_layout import find_layout, is_text_table, use_decimal_points
from pgmx.data.files.csv_rows import open_row_stream, open_text, read_records
from pgmx.data.files.missing_words import (
    MISSING_WORDS,
    choose_missing_words,
    count_markers,
    is_code,
    warn_of_markers,
)
from pgmx.data.files.plane_file import PLANE_SUFFIX
from pgmx.data.frame import Frame, open_chunk, open_columns

_TEXT_SUFFIXES = tuple(
    kind + packed for kind in (".csv", ".tsv", ".txt", ".dat", ".tab") for packed in ("", ".gz", ".bz2", ".xz", ".zip")
)

_PARQUET_SUFFIXES = (".parquet", ".pq")

#: Options for reading every CSV file, whole or in chunks.
CSV_OPTIONS: dict[str, Any] = {"keep_default_na": False, "na_values": list(MISSING_WORDS), "low_memory": False}

#: Rows of a file that are read at a time; fewer if they would hold more values than the second constant.
CHUNK_ROWS = 65_536

CHUNK_CELLS = 1 << 23


def is_path(X):
    """Return whether an input is the path of a file or folder."""
    return isinstance(X, (str, os.PathLike))


def is_iterator(X):
    """Return whether an input yields frames one after the other."""
    # not `__iter__`, which lists, frames and arrays have too
    return hasattr(X, "__next__")


def is_chunked(X):
    """Return whether an input arrives in chunks: a file, a folder of files, or an iterator of frames."""
    return is_path(X) or is_iterator(X)


# ---- files ----


def is_csv(path):
    """Return whether a path is a table as text: not a folder, Parquet file or plane file."""
    return not path.name.lower().endswith((*_PARQUET_SUFFIXES, PLANE_SUFFIX)) and not path.is_dir()


def list_table_files(path, sep=None):
    """List the files of a path: the file itself, or the Parquet files of a folder without its subfolders, by name.

    Names that begin with "." or "_" are skipped. Raise FileNotFoundError if there is none, ValueError for an unknown
    suffix unless `sep` is given or a separator is found.
    """
    path = check_path(path)
    if path.is_dir():
        # sorted: the order in which a system lists files must not become the order of rows
        files = sorted(
            file
            for file in path.iterdir()
            if file.name.lower().endswith(_PARQUET_SUFFIXES) and file.name[0] not in "._" and file.is_file()
        )
        if not files:
            raise FileNotFoundError(
                f"no Parquet file ({join_names(_PARQUET_SUFFIXES)}) in the folder {path}; folders within it are not "
                f"searched"
            )
        return files
    _check_file(path, sep)
    return [path]


def _check_file(path, sep):
    """Refuse a path that is not a table."""
    is_known = path.name.lower().endswith(_TEXT_SUFFIXES + _PARQUET_SUFFIXES)
    suffixes = join_names((".csv", ".tsv", ".txt", ".dat", ".tab", *_PARQUET_SUFFIXES))
    if not path.exists() and not is_known:
        raise FileNotFoundError(f"no such file or folder: {path}; a file of a table ends in one of {suffixes}")
    if not path.is_file():
        raise FileNotFoundError(f"no such file: {path}")
    if not is_known and (not is_csv(path) or (sep is None and not is_text_table(path))):
        raise ValueError(
            f"{path} has an unknown suffix: expected one of {suffixes}. Text of another suffix is read if a separator "
            "splits its lines alike, or with pgmx.data.read_table(path, sep=...) (command line: --sep)"
        )


def read_table(
    path: str | os.PathLike[str],
    *,
    sep: str | None = None,
    decimal: str | None = None,
    columns: Sequence[Hashable] | None = None,
    na_values: Any = None,
    discrete_columns: Sequence[Hashable] | None = None,
) -> pd.DataFrame:
    r"""Read a table from a CSV or Parquet file.

    Parameters
    ----------
    path : str or path-like
        The file: Parquet (.parquet or .pq), or text with a header line, called a CSV file here whatever its suffix:
        .csv, .tsv, .txt, .dat, .tab (also compressed: .csv.gz, .csv.bz2, .csv.xz, .csv.zip) and any other whose
        separator is given or found. Empty fields and the usual words for missing values (NA, NaN, null, ...) are
        missing, except "None", which is a state.
    sep : str, optional
        The separator of the columns of a CSV file: one character, or a regular expression such as ``\s+``. None means a
        comma (a tab for .tsv and .tab), or, if the header has none, the semicolon, tab, bar or comma that splits the
        first 200 lines into equal numbers of fields.
    decimal : str, optional
        The decimal point of a CSV file. None means a comma if the separator is not a comma, values with a comma occur
        in these lines and none with a point.
    columns : sequence of column names, optional
        The columns to read, in the order of the file; None means all.
    na_values : scalar, str, list-like or dict, optional
        Further values of a CSV file that are missing, such as "?", as in ``pandas.read_csv``: a dict gives them for
        some columns. Any value, even an empty list, ends the warning about values that look like markers.
    discrete_columns : sequence of column names, optional
        Columns that are discrete although they hold numbers: whole numbers become integers, and others categories.

    Returns
    -------
    pandas.DataFrame
        The table, with nullable dtypes, so that integers with missing values stay integers.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If the suffix is unknown and no separator is found, the content cannot be read, two columns of a CSV header have
        the same name, a row has more fields than the header (see Notes), spaces seem to separate the columns,
        `columns`, `na_values` or `discrete_columns` names one that does not exist, or `sep`, `decimal` or `na_values`
        is given for a Parquet file.

    Warns
    -----
    UserWarning
        If the first column of a CSV file has no name and counts the rows from 0 or 1, or holds row names: it is left
        out. If a column has the value "?" or a blank, or at most 3 distinct values that are not numeric and at least 3
        distinct numeric values.

    Notes
    -----
    Rows of a CSV file may have more fields than the header in two cases. Fields at the end that are empty in all rows
    come from trailing separators and are ignored, in the header as well. One more field in all rows, the first of them
    not empty, is a row name, as R's ``write.table`` writes it. The first 1,000 rows decide. Any other row with more
    fields, and a later row that contradicts the first ones, is an error that names its line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from pgmx.data import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "weather.csv")
    ...     _ = path.write_text("rain,days\nyes,3\nno,\n")
    ...     read_table(path).dtypes["days"]
    Int64Dtype()
    """
    path = check_path(path)
    _check_file(path, sep)
    if is_csv(path):
        with explain_unreadable(path):
            table = _read_csv(path, find_layout(path, sep, decimal), na_values)
    else:
        if sep is not None or decimal is not None:
            raise ValueError(f"sep and decimal are for CSV files, and {path} is a Parquet file: leave them out")
        refuse_na_values(path, na_values)
        with explain_unreadable(path):
            table = _read_parquet(path)
    table = declare_discrete(table, discrete_columns)
    if columns is None:
        return table
    unknown = [name for name in columns if name not in table.columns]
    if unknown:
        raise ValueError(f"columns names {join_names(unknown)}, which {path} does not have")
    return table.loc[:, table.columns.isin(list(columns))]


def read_whole(path, discrete_columns=None, **options):
    """Read a table from a file, or from all Parquet files of a folder, into memory; `options` as for `read_table`."""
    files = list_table_files(path, options.get("sep"))
    if len(files) == 1:
        return read_table(files[0], discrete_columns=discrete_columns, **options)
    table = pd.concat([read_table(file, **options) for file in files], ignore_index=True)
    # after the files were joined: in one of them all values of a column may be whole
    return declare_discrete(table, discrete_columns)


def _read_csv(path, layout, na_values=None):
    """Read a CSV file; the type of a column is inferred from all its values."""
    options = {**CSV_OPTIONS, **layout.options}
    options["na_values"] = choose_missing_words(na_values, read_csv_header(path, layout))
    codes = _list_codes(path, layout, na_values)
    with open_row_stream(path, layout.sep, layout.extra) as rows:
        options["dtype"] = dict.fromkeys(codes, "string")
        table = _leave_out(pd.read_csv(rows, dtype_backend="numpy_nullable", **options), layout)
    if na_values is None:
        words = {name: column for name, column in table.items() if isinstance(column.dtype, pd.StringDtype)}
        is_comma = layout.decimal == ","
        warn_of_markers({name: count_markers(use_decimal_points(w) if is_comma else w) for name, w in words.items()})
    return table


def _list_codes(path, layout, na_values):
    """Return the columns of a CSV file that hold a code such as 01234, which is text."""
    if len(layout.sep) == 1 and not _may_have_codes(path, layout.sep):
        return []
    found: dict = {}
    for chunk in read_csv_chunks(path, CHUNK_ROWS, dtype=object, layout=layout, na_values=na_values):
        found.update((name, True) for name, column in chunk.items() if any(map(is_code, column.unique())))
    return list(found)


def _may_have_codes(path, sep):
    """Return whether the text of a file has a field that begins with a zero and has digits only."""
    ends = r"\s\"" + re.escape(sep)
    code = re.compile(rf"0(?<![^{ends}]0)\d+(?![^{ends}])")
    with open_text(path, errors="replace") as file:
        return any(code.search("".join(lines)) for lines in iter(partial(file.readlines, 1 << 20), []))


def _read_parquet(path):
    """Read a Parquet file."""
    return pd.read_parquet(path, dtype_backend="numpy_nullable")


def read_csv_header(path, layout=None):
    """Return the column names of a CSV file, as pandas would, refusing a name that occurs twice."""
    layout = find_layout(path) if layout is None else layout
    with open_text(path) as file:
        header = next(read_records(file, layout.sep), None)
    if header is None:
        raise ValueError("No columns to parse: the file is empty")
    names = header.split(layout.sep)
    if layout.extra is not None:
        names = names[: layout.extra.n_kept]
    twice = sorted(name for name, n in Counter(names).items() if n > 1)
    if twice:  # pandas would rename the second silently
        raise ValueError(f"duplicate column name(s) {join_names(twice)}: rename or drop the columns that repeat a name")
    names = [name or f"Unnamed: {number}" for number, name in enumerate(names)]
    return names[layout.counts_rows :]


def refuse_na_values(path, na_values):
    """Refuse words for missing values if the file is not a CSV file."""
    if na_values is not None:
        raise ValueError(
            f"na_values is for CSV files, and {path} is not a CSV file: leave it out, and replace the values in the "
            "table that you read, for example with X.replace('?', None)"
        )


def declare_discrete(table, discrete_columns):
    """Return a table in which floating-point columns that are declared discrete are integers or categories."""
    declared = check_discrete_columns(discrete_columns, table.columns)
    columns = {v: table.iloc[:, v] for v, name in enumerate(table.columns) if name in declared}
    states = {v: _make_states(column) for v, column in columns.items() if column.dtype.kind == "f"}
    if not states:
        return table
    table = table.copy(deep=False)
    for v, column in states.items():
        table.isetitem(v, column)
    return table


def _make_states(column):
    """Return a floating-point column as integers if its values are whole, else as categories."""
    numbers = read_floats(column.array)
    check_no_infinite(numbers, column.name)
    is_whole = np.isnan(numbers) | (np.floor(numbers) == numbers)
    # larger values do not fit into an Int64
    is_integer = is_whole & ~(np.abs(numbers) >= 2**63)
    return column.astype("Int64" if is_integer.all() else "category")


def explain_unreadable(path: Path) -> AbstractContextManager[None]:
    """Convert any error of a reader about a damaged file to a ValueError that names the file."""
    return checks.explain_unreadable(path, "cannot be read", "mend the file, or write it again")


# ---- chunks of files and iterators ----


def open_chunks(
    X, chunk_rows: int, fewest: int = 2, na_values: Any = None, layout: Mapping[str, str] = MappingProxyType({})
) -> tuple[Iterator[Frame], bool]:
    """Open a file, a folder of Parquet files or an iterator of frames in chunks of at most `chunk_rows` rows of a file.

    Return Frames with the columns of the first, and whether all values are words, to be parsed. They raise ValueError
    if a chunk cannot be read or has other columns, there is no chunk, or a path has fewer than two rows (unless
    `fewest` is 0), and TypeError if a chunk is not a table. `na_values` and `layout` (sep, decimal) are for CSV files.
    """
    if not is_path(X):
        return align_columns(X), False
    files = list_table_files(Path(X), layout.get("sep"))
    are_texts = is_csv(files[0])
    if not are_texts:
        refuse_na_values(X, na_values)
    read_chunks = partial(_read_csv_words, na_values=na_values, layout=layout) if are_texts else _read_parquet_chunks
    named = (chunk for file in files for chunk in name_path_in_errors(file, read_chunks(file, chunk_rows)))
    return align_columns(named, X if fewest else None), are_texts


def join_frames(first, rest, open_joined=open_columns) -> Frame:
    """Return the rows of frames of one kind, read one by one, as one Frame; `first` is None if there is no frame."""
    if first is None:
        raise _no_frame()
    # arrays and pandas frames are joined as they are, so that Arrow changes no type of their values
    if isinstance(first, np.ndarray):
        return open_joined(np.concatenate([first, *rest]))
    if isinstance(first, pd.DataFrame):
        return open_joined(pd.concat([first, *rest], ignore_index=True))
    return open_joined(pa.concat_tables([_as_arrow(first), *map(_as_arrow, rest)]))


def _as_arrow(chunk):
    frame = open_chunk(chunk)
    return pa.table(dict(zip(frame.names, frame.columns, strict=True)))


def align_columns(chunks, path=None) -> Iterator[Frame]:
    """Yield the chunks as frames with the columns of the first; the chunks of a path must have two rows in all."""
    names = None
    n_rows = 0
    for number, chunk in enumerate(chunks, 1):
        frame = open_chunk(chunk)
        if names is None:
            names = frame.names
        elif frame.names != names:
            frame = _reorder_columns(frame, names, number)
        n_rows += frame.n_rows
        yield frame
    if names is None:
        raise _no_frame()
    if path is not None:
        check_rows(n_rows, len(names), path)


def _no_frame():
    return ValueError("the iterator gave no frame: it is empty, or it was used up before")


def _reorder_columns(frame, names, number):
    """Return a chunk with its columns in the order of the first chunk, or raise if the columns differ."""
    check_same_names(names, frame.names, "the first chunk", f"chunk {number}", "columns")
    place = {name: v for v, name in enumerate(frame.names)}
    return Frame(names, [frame.columns[place[name]] for name in names], frame.n_rows)


def name_path_in_errors(path, chunks):
    """Yield the frames of a reader; its errors name the path."""
    with explain_unreadable(path):
        yield from map(open_chunk, chunks)


def limit_chunk_rows(chunk_rows: int, n_columns: int) -> int:
    """Return how many rows of a table are read at a time: `chunk_rows`, fewer if it is wide."""
    return max(1, min(chunk_rows, CHUNK_CELLS // max(1, n_columns)))


def read_csv_chunks(path, rows, dtype=None, layout=None, na_values=None):
    """Read a CSV file in chunks; without `dtype` the type of a column is inferred from the values of each chunk."""
    layout = find_layout(path) if layout is None else layout
    names = read_csv_header(path, layout) if isinstance(na_values, Mapping) else None
    options = {**CSV_OPTIONS, **layout.options, "na_values": choose_missing_words(na_values, names)}
    with (
        open_row_stream(path, layout.sep, layout.extra) as text,
        pd.read_csv(text, dtype=dtype, chunksize=rows, **options) as reader,
    ):
        for chunk in reader:
            chunk = _leave_out(chunk, layout)
            yield chunk.apply(use_decimal_points) if dtype is object and layout.decimal == "," else chunk


def _leave_out(table, layout):
    """Return a table without a first column that counts its rows."""
    return table.iloc[:, 1:] if layout.counts_rows else table


def _read_csv_words(path, chunk_rows, na_values, layout):
    """Read a CSV file as words; the parser makes one object for equal words of a column."""
    found = find_layout(path, **layout)
    rows = limit_chunk_rows(chunk_rows, len(read_csv_header(path, found)))
    yield from read_csv_chunks(path, rows, dtype=object, layout=found, na_values=na_values)


def _read_parquet_chunks(path, chunk_rows):
    """Read a Parquet file; columns that pandas stored as its index are left out."""
    # A mapped file keeps compressed columns out of the memory of the process.
    with pq.ParquetFile(path, memory_map=True, pre_buffer=False) as file:
        schema = file.schema_arrow
        stored = (schema.pandas_metadata or {}).get("index_columns", [])
        kept = [i for i, name in enumerate(schema.names) if name not in stored]
        names = _restore_names(schema, kept)
        # a file without rows has columns and categories too
        yield Frame(names, [pa.chunked_array([], schema.field(i).type) for i in kept], 0)
        for batch in file.iter_batches(batch_size=limit_chunk_rows(chunk_rows, len(kept))):
            yield Frame(names, [pa.chunked_array([batch.column(i)]) for i in kept], batch.num_rows)


def _restore_names(schema, kept):
    """Names of the columns of a Parquet file, in the types that pandas had for them."""
    if schema.pandas_metadata and len(set(schema.names)) == len(schema.names):
        restored = tuple(schema.empty_table().to_pandas().columns)
        if len(restored) == len(kept):
            return restored
    return tuple(schema.names[i] for i in kept)


def has_continuous_columns(path, discrete_columns=()):
    """Return whether a column of a Parquet file, or of a folder, is floating-point and not declared discrete."""
    fields = (field for file in list_table_files(path) for field in _read_schema(file))
    return any(pa.types.is_floating(field.type) and field.name not in discrete_columns for field in fields)


def _read_schema(path):
    with explain_unreadable(path):
        return pq.read_schema(path)
