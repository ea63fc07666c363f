"""Reading a table from a file."""

import warnings
from pathlib import Path

import pandas as pd
import pyarrow as pa

from pgmx.data.messages import listed

CSV_SUFFIXES = (".csv", ".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zip")
PARQUET_SUFFIXES = (".parquet", ".pq")


def read_table(path):
    r"""Read a table from a CSV or Parquet file.

    Parameters
    ----------
    path : str or path-like
        The file; its suffix tells the format: .csv (also compressed: .csv.gz, .csv.bz2, .csv.xz, .csv.zip), .parquet or
        .pq. A CSV file has a header line; empty cells and the usual words for them (NA, NaN, null, None, ...)
        are missing.

    Returns
    -------
    pandas.DataFrame
        The table, with nullable dtypes, so that integers with missing cells stay integers.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the suffix is unknown, the content cannot be read, or a CSV header names two columns alike.

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
    path = Path(path)
    name = path.name.lower()
    if not name.endswith(CSV_SUFFIXES + PARQUET_SUFFIXES):
        raise ValueError(f"{path} has an unknown suffix: expected one of {listed(CSV_SUFFIXES + PARQUET_SUFFIXES)}")
    if not path.is_file():
        raise FileNotFoundError(f"no such file: {path}")
    try:
        return _read_csv(path) if name.endswith(CSV_SUFFIXES) else _read_parquet(path)
    except (OSError, EOFError, ValueError, pa.ArrowException) as error:
        reason = str(error).strip() or type(error).__name__
        raise ValueError(f"{path} cannot be read: {reason}") from error


def _read_csv(path):
    """Read a CSV file, refusing a header with a name twice."""
    header = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False)
    names = header.iloc[0].tolist()
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:  # pandas would rename the second silently
        raise ValueError(f"duplicate column name(s) {listed(twice)}: rename or drop the columns that repeat a name")
    with warnings.catch_warnings():
        # A column of mixed types in different chunks of the file: the door names it.
        warnings.simplefilter("ignore", pd.errors.DtypeWarning)
        return pd.read_csv(path, dtype_backend="numpy_nullable")


def _read_parquet(path):
    """Read a Parquet file."""
    return pd.read_parquet(path, dtype_backend="numpy_nullable")
