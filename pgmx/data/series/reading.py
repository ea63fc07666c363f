"""Series in memory: frames, arrays, files and panels of them as complete segments."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from pgmx.checks import check_same_names, explain_unreadable
from pgmx.data.files.readers import csv_header, is_csv, is_path, read_csv_pieces, refuse_na_values, table_files
from pgmx.data.pieces.chunks import CHUNK_ROWS, is_iterator, rows_at_a_time
from pgmx.data.series.options import SeriesOptions
from pgmx.data.series.panel import Panel, check_variation
from pgmx.data.series.segments import SegmentReader
from pgmx.data.series.tables import SeriesRows, read_rows
from pgmx.data.series.time_index import TimeIndex


def open_series(X: Any, *, lags: int, origin: TimeIndex | None = None, **options: Any) -> Panel:
    """Read series into memory; ValueError or TypeError names the faulty input; `options` as in `SeriesOptions`."""
    settings = SeriesOptions(lags, **options)
    names: tuple | None = None
    parts: list[SeriesRows] = []
    for key, table in _list_tables(X):
        in_pieces = is_path(table) or is_iterator(table)
        part_names, rows = (_read_all if in_pieces else read_rows)(table, settings, key)
        if names is None:
            names = part_names
        parts += [align_names(part, part_names, names) for part in rows]
    assert names is not None
    readers = [SegmentReader(settings, part.where) for part in parts]
    segments = []
    for reader, part in zip(readers, parts, strict=True):
        first = readers[0].find_index() if readers[0].n_rows else None
        segments += reader.read(part, first if origin is None else origin)
        reader.check_length()
    panel = Panel(
        names,
        tuple(rows for rows, _ in segments),
        tuple(rows for _, rows in segments),
        settings.exogenous_names,
        n_rows=sum(reader.n_rows for reader in readers),
        n_left_out=sum(reader.count_left_out() for reader in readers),
        index=readers[0].find_index(),
    )
    check_variation(names, panel.columns, panel.count_targets(lags), panel.n_rows, lags)
    return panel


def _list_tables(X: Any) -> list[tuple[Any, Any]]:
    """Return the tables of a panel with their keys, None for a single one."""
    if isinstance(X, Mapping) and not hasattr(X, "shape"):  # some sparse matrices are mappings
        tables = list(X.items())
    elif isinstance(X, list | tuple) and (not len(X) or _is_table(X[0])):
        tables = list(enumerate(X))
    else:
        tables = [(None, X)]
    if not tables:
        raise ValueError("the panel holds no series: give at least one table")
    return tables


def _is_table(X: Any) -> bool:
    """Return whether a member of a sequence is a table; if not, the sequence is a list of rows."""
    return is_path(X) or len(getattr(X, "shape", ())) == 2


def align_names(part: SeriesRows, names: tuple, wanted: tuple) -> SeriesRows:
    """Return rows with their columns in another order, or raise if the names differ."""
    if names == wanted:
        return part
    check_same_names(wanted, names, "the first table", f"the next{part.where}", "series")
    order = [names.index(name) for name in wanted]
    return SeriesRows(part.key, np.ascontiguousarray(part.values[:, order]), part.exogenous, part.labels)


def read_pieces(X: Any, options: SeriesOptions, key: Any = None) -> Iterator[tuple[tuple, list[SeriesRows]]]:
    """Yield the names and rows of the chunks of a file, a folder of Parquet files or an iterator of tables."""
    names = None
    for piece in _list_pieces(X, options.na_values) if is_path(X) else X:
        part_names, rows = read_rows(piece, options, key, is_piece=True)
        names = part_names if names is None else names
        yield names, [align_names(part, part_names, names) for part in rows]
    if names is None:
        raise ValueError("the iterator gave no table: it is empty, or it was used up before")


def _list_pieces(path: Any, na_values: Any) -> Iterator[pd.DataFrame]:
    """Yield the frames of files, at most 65,536 rows each, with the index that pandas stored in a Parquet file."""
    for file in table_files(path):
        with explain_unreadable(file, "cannot be read", "mend the file, or write it again"):
            if is_csv(file):
                rows = rows_at_a_time(CHUNK_ROWS, len(csv_header(file)))
                yield from read_csv_pieces(file, rows, na_values=na_values)
                continue
            refuse_na_values(file, na_values)
            with pq.ParquetFile(file, memory_map=True, pre_buffer=False) as reader:
                for batch in reader.iter_batches(batch_size=rows_at_a_time(CHUNK_ROWS, len(reader.schema_arrow))):
                    yield pa.Table.from_batches([batch]).to_pandas()


def _read_all(X: Any, options: SeriesOptions, key: Any) -> tuple[tuple, list[SeriesRows]]:
    """Return all rows of a file or an iterator of tables, joined per group."""
    groups: dict[Any, list[SeriesRows]] = {}
    names: tuple = ()
    for names, rows in read_pieces(X, options, key):  # noqa: B007 (the names of the last chunk are the names of all)
        for part in rows:
            groups.setdefault(part.key, []).append(part)
    return names, [join_rows(parts) for parts in groups.values()]


def join_rows(parts: list[SeriesRows]) -> SeriesRows:
    """Return the rows of one series in chunks as one."""
    labels: list[pd.Index] = []
    if any(part.labels is not None for part in parts):
        starts = np.cumsum([0, *(len(part.values) for part in parts[:-1])]).tolist()
        labels = [part.number(start) for start, part in zip(starts, parts, strict=True)]
    return SeriesRows(
        parts[0].key,
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.exogenous for part in parts]),
        labels[0].append(labels[1:]) if labels else None,
    )
