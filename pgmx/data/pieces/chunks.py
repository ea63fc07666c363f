"""Tables in chunks: files, folders of files and iterators of frames, as frames of one set of columns."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from pgmx.checks import check_same_names
from pgmx.data.files.readers import (
    csv_header,
    explain_unreadable,
    is_csv,
    is_path,
    read_csv_pieces,
    refuse_na_values,
    table_files,
)
from pgmx.data.frame import Frame, check_rows
from pgmx.data.sources import open_piece, open_source

#: Rows of a file that are read at a time; fewer if they would hold more values than the second constant.
CHUNK_ROWS = 65_536
CHUNK_CELLS = 1 << 23


def is_iterator(X):
    """Return whether an input yields frames one after the other."""
    return hasattr(X, "__next__")


def open_chunks(X, chunk_rows: int, fewest: int = 2, na_values: Any = None) -> tuple[Iterator[Frame], bool]:
    """Open a file, a folder of Parquet files or an iterator of frames in chunks of at most `chunk_rows` rows of a file.

    Return an iterator of Frames, all with the columns of the first, and whether all values are words, to be parsed. The
    iterator raises ValueError if a chunk cannot be read or has other columns, there is no chunk, or a path has fewer
    than two rows (unless `fewest` is 0), and TypeError if a chunk is not a table. `na_values` are for CSV files.
    """
    if not is_path(X):
        return align_columns(X), False
    files = table_files(Path(X))
    are_texts = is_csv(files[0])
    if not are_texts:
        refuse_na_values(X, na_values)
    pieces = partial(_csv_pieces, na_values=na_values) if are_texts else _parquet_pieces
    named = (piece for file in files for piece in name_path_in_errors(file, pieces(file, chunk_rows)))
    return align_columns(named, X if fewest else None), are_texts


def parquet_has_floats(path, discrete_columns=()):
    """Return whether a column of a Parquet file, or of a folder, is floating-point and not declared discrete."""
    fields = (field for file in table_files(path) for field in _read_schema(file))
    return any(pa.types.is_floating(field.type) and field.name not in discrete_columns for field in fields)


def join_frames(first, rest) -> Frame:
    """Return the rows of frames of one kind, read one by one, as one Frame; `first` is None if there is no frame."""
    if first is None:
        raise _no_frame()
    if isinstance(first, np.ndarray):
        return open_source(np.concatenate([first, *rest]))
    if isinstance(first, pd.DataFrame):
        return open_source(pd.concat([first, *rest], ignore_index=True))
    return open_source(pa.concat_tables([_as_arrow(first), *map(_as_arrow, rest)]))


def _as_arrow(piece):
    source = open_piece(piece)
    return pa.table(dict(zip(source.names, source.columns, strict=True)))


def align_columns(pieces, path=None) -> Iterator[Frame]:
    """Yield the chunks as frames with the columns of the first; the chunks of a path must have two rows in all."""
    names = None
    n_rows = 0
    for number, piece in enumerate(pieces, 1):
        frame = open_piece(piece)
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


def name_path_in_errors(path, pieces):
    """Yield the frames of a reader; its errors name the path."""
    with explain_unreadable(path):
        yield from map(open_piece, pieces)


def _read_schema(path):
    with explain_unreadable(path):
        return pq.read_schema(path)


def rows_at_a_time(chunk_rows: int, n_columns: int) -> int:
    """Return how many rows of a table are read at a time: `chunk_rows`, fewer if it is wide."""
    return max(1, min(chunk_rows, CHUNK_CELLS // max(1, n_columns)))


def _csv_pieces(path, chunk_rows, na_values):
    """Read a CSV file as words; the parser makes one object for equal words of a column."""
    rows = rows_at_a_time(chunk_rows, len(csv_header(path)))
    yield from read_csv_pieces(path, rows, dtype=object, na_values=na_values)


def _parquet_pieces(path, chunk_rows):
    """Read a Parquet file; columns that pandas stored as its index are left out."""
    # A mapped file keeps compressed columns out of the memory of the process.
    with pq.ParquetFile(path, memory_map=True, pre_buffer=False) as file:
        schema = file.schema_arrow
        stored = (schema.pandas_metadata or {}).get("index_columns", [])
        kept = [i for i, name in enumerate(schema.names) if name not in stored]
        names = _names(schema, kept)
        yield Frame(names, [pa.chunked_array([], schema.field(i).type) for i in kept], 0)
        for batch in file.iter_batches(batch_size=rows_at_a_time(chunk_rows, len(kept))):
            yield Frame(names, [pa.chunked_array([batch.column(i)]) for i in kept], batch.num_rows)


def _names(schema, kept):
    """Names of the columns of a Parquet file, in the types that pandas had for them."""
    if schema.pandas_metadata and len(set(schema.names)) == len(schema.names):
        restored = tuple(schema.empty_table().to_pandas().columns)
        if len(restored) == len(kept):
            return restored
    return tuple(schema.names[i] for i in kept)
