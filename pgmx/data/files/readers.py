"""Reading a table from files."""

import os
from collections import Counter
from collections.abc import Hashable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pandas as pd

from pgmx import checks
from pgmx.checks import check_path, join_names
from pgmx.data.files.csv_layout import find_layout, is_text_table, point_words
from pgmx.data.files.csv_rows import open_rows, open_text, read_records
from pgmx.data.files.plane_file import PLANE_SUFFIX

TEXT_SUFFIXES = tuple(
    kind + packed for kind in (".csv", ".tsv", ".txt", ".dat", ".tab") for packed in ("", ".gz", ".bz2", ".xz", ".zip")
)
PARQUET_SUFFIXES = (".parquet", ".pq")


def read_table(
    path: str | os.PathLike[str],
    *,
    sep: str | None = None,
    decimal: str | None = None,
    columns: Sequence[Hashable] | None = None,
) -> pd.DataFrame:
    r"""Read a table from a CSV or Parquet file.

    Parameters
    ----------
    path : str or path-like
        The file: Parquet (.parquet or .pq), or text with a header line, called a CSV file here whatever its suffix:
        .csv, .tsv, .txt, .dat, .tab (also compressed: .csv.gz, .csv.bz2, .csv.xz, .csv.zip) and any other whose
        separator is given or found. Empty cells and the usual words for them (NA, NaN, null, ...) are missing.
    sep : str, optional
        What separates the columns of a CSV file: one character, or a regular expression such as ``\s+``. None means a
        comma (a tab for .tsv and .tab), or, if the header has none, the semicolon, tab, bar or comma that splits all of
        the first 200 lines alike.
    decimal : str, optional
        The decimal point of a CSV file. None means a comma where another separator than the comma is in force, numbers
        with a comma occur in these lines and none with a point.
    columns : sequence of column names, optional
        The columns to read, in the order of the file; None means all.

    Returns
    -------
    pandas.DataFrame
        The table, with nullable dtypes, so that integers with missing cells stay integers.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the suffix is unknown and no separator is found, the content cannot be read, a CSV header names two columns
        alike, a row has more fields than the header (see Notes), spaces seem to separate the columns, `columns` names
        one that is not there, or `sep` or `decimal` is given for a Parquet file.

    Warns
    -----
    UserWarning
        If the first column of a CSV file has no name and counts the rows from 0 or 1, or holds row names: it is left
        out.

    Notes
    -----
    Rows of a CSV file may have more fields than the header in two cases. Fields at the end that are empty in all rows
    come from trailing separators and are ignored, in the header as well. One field more in all rows, of which the first
    is filled, is a row name, as R's ``write.table`` writes it. The first 1,000 rows decide. Any other row with more
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
            table = _read_csv(path, find_layout(path, sep, decimal))
    else:
        if sep is not None or decimal is not None:
            raise ValueError(f"sep and decimal are for CSV files, and {path} is a Parquet file: leave them out")
        with explain_unreadable(path):
            table = _read_parquet(path)
    if columns is None:
        return table
    unknown = [name for name in columns if name not in table.columns]
    if unknown:
        raise ValueError(f"columns names {join_names(unknown)}, which {path} does not have")
    return table.loc[:, table.columns.isin(list(columns))]


def is_path(X):
    """Return whether an input is the path of a file or folder."""
    return isinstance(X, (str, os.PathLike))


def is_csv(path):
    """Return whether a path is that of a table as text: no folder, Parquet file or plane file."""
    return not path.name.lower().endswith((*PARQUET_SUFFIXES, PLANE_SUFFIX)) and not path.is_dir()


def table_files(path, sep=None):
    """List the files that a path stands for: the file itself, or the Parquet files right in a folder, sorted by name.

    Names that begin with "." or "_" are skipped. Raise FileNotFoundError where there is none, ValueError for an unknown
    suffix unless `sep` is given or a separator is found.
    """
    path = check_path(path)
    if path.is_dir():
        files = sorted(
            file
            for file in path.iterdir()
            if file.name.lower().endswith(PARQUET_SUFFIXES) and file.name[0] not in "._" and file.is_file()
        )
        if not files:
            raise FileNotFoundError(
                f"no Parquet file ({join_names(PARQUET_SUFFIXES)}) in the folder {path}; folders within it are not "
                f"searched"
            )
        return files
    _check_file(path, sep)
    return [path]


def read_whole(path, **options):
    """Read a table from a file, or from all Parquet files of a folder, into memory; `options` as `read_table` has."""
    files = table_files(path, options.get("sep"))
    if len(files) == 1:
        return read_table(files[0], **options)
    return pd.concat([read_table(file, **options) for file in files], ignore_index=True)


def explain_unreadable(path: Path) -> AbstractContextManager[None]:
    """Turn whatever a reader raises over a damaged file into a ValueError that names it."""
    return checks.explain_unreadable(path, "cannot be read", "mend the file, or write it anew")


def _check_file(path, sep):
    """Refuse a path that is not of a table."""
    is_known = path.name.lower().endswith(TEXT_SUFFIXES + PARQUET_SUFFIXES)
    suffixes = join_names((".csv", ".tsv", ".txt", ".dat", ".tab", *PARQUET_SUFFIXES))
    if not path.exists() and not is_known:
        raise FileNotFoundError(f"no such file or folder: {path}; a file of a table ends in one of {suffixes}")
    if not path.is_file():
        raise FileNotFoundError(f"no such file: {path}")
    if not is_known and (not is_csv(path) or (sep is None and not is_text_table(path))):
        raise ValueError(
            f"{path} has an unknown suffix: expected one of {suffixes}. Text of another suffix is read if a separator "
            "splits its lines alike, or with pgmx.data.read_table(path, sep=...) (command line: --sep)"
        )


#: What a missing cell of a CSV file may say: the words of pandas but "None", which many tables have for a state.
MISSING_WORDS = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"),
)

#: How every CSV file is read, whole or in pieces.
CSV_OPTIONS: dict[str, Any] = {"keep_default_na": False, "na_values": list(MISSING_WORDS), "low_memory": False}


def csv_header(path, layout=None):
    """Return the names of the columns of a CSV file, as pandas has them, refusing one that occurs twice."""
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


def _read_csv(path, layout):
    """Read a CSV file; the type of a column is inferred from all its cells."""
    csv_header(path, layout)
    with open_rows(path, layout.sep, layout.extra) as rows:
        table = pd.read_csv(rows, dtype_backend="numpy_nullable", **{**CSV_OPTIONS, **layout.options})
    return _leave_out(table, layout)


def read_csv_pieces(path, rows, dtype=None, layout=None):
    """Read a CSV file in pieces; without `dtype` the type of a column is inferred from the cells of each."""
    layout = find_layout(path) if layout is None else layout
    with (
        open_rows(path, layout.sep, layout.extra) as text,
        pd.read_csv(text, dtype=dtype, chunksize=rows, **{**CSV_OPTIONS, **layout.options}) as reader,
    ):
        for piece in reader:
            piece = _leave_out(piece, layout)
            yield piece.apply(point_words) if dtype is object and layout.decimal == "," else piece


def _leave_out(table, layout):
    """Return a table without a first column that counts its rows."""
    return table.iloc[:, 1:] if layout.counts_rows else table


def _read_parquet(path):
    """Read a Parquet file."""
    return pd.read_parquet(path, dtype_backend="numpy_nullable")
