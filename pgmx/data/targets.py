"""Rows of numeric columns and the column to predict from them, whole or in chunks: the input of stream learners."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from pgmx.checks import join_names
from pgmx.data.columns import column_kind
from pgmx.data.files.csv_layout import find_layout
from pgmx.data.files.readers import (
    align_columns,
    is_chunked,
    is_csv,
    is_iterator,
    is_path,
    list_table_files,
    open_chunks,
    read_csv_chunks,
)
from pgmx.data.frame import Frame, open_chunk
from pgmx.data.numeric import list_nonnumeric_kinds, make_rows, refuse_nonnumeric


def split_target(table: Any, target: Hashable) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the other columns of a table as float64, and the target: float64, integers, or labels as objects."""
    frame = table if isinstance(table, Frame) else open_chunk(table)
    if target not in frame.names:
        raise ValueError(f"{target!r} is not a column of the table: its columns are {join_names(frame.names)}")
    at = frame.names.index(target)
    others = Frame(
        (*frame.names[:at], *frame.names[at + 1 :]), [*frame.columns[:at], *frame.columns[at + 1 :]], frame.n_rows
    )
    if not others.names:
        raise ValueError(f"the table has no column besides {target!r}: there is nothing to predict it from")
    return _read_numbers(others), _read_target(frame.columns[at], target, frame.n_rows)


def _read_numbers(frame: Frame) -> pd.DataFrame:
    refuse_nonnumeric(frame.names, list_nonnumeric_kinds(frame))
    return pd.DataFrame(make_rows(frame), columns=pd.Index(frame.names, dtype=object))


def _read_target(values: Any, target: Hashable, n_rows: int) -> np.ndarray:
    column = Frame((target,), [values], n_rows)
    if list_nonnumeric_kinds(column):
        labels = np.array(values.to_pylist() if hasattr(values, "to_pylist") else list(values), dtype=object)
        if pd.isna(labels).any():
            raise ValueError(f"the target {target!r} has missing values: drop their rows")
        return labels
    numbers = make_rows(column)[:, 0]
    if not np.isfinite(numbers).all():
        raise ValueError(f"the target {target!r} has missing or infinite values: drop their rows")
    return numbers.astype(np.int64) if column_kind(values) == "integer" else numbers


def iterate_targets(
    source: Any,
    target: Hashable,
    chunk_rows: int,
    labels: bool = False,
    layout: Mapping[str, str] | None = None,
    choose: Callable[[Sequence], Sequence] | None = None,
    na_values: Any = None,
) -> Iterator[tuple]:
    """Yield rows and targets of any input, or of an open CSV file, chunk by chunk; `labels`: the targets are text.

    `layout` gives sep and decimal of CSV, `na_values` further words for missing values, `choose` the columns to read.
    ValueError if there is no row.
    """
    if not is_chunked(source) and not hasattr(source, "read"):
        yield split_target(source, target)
        return
    for chunk in _iterate_frames(source, chunk_rows, {target: str} if labels else None, layout or {}, na_values):
        if choose is not None:
            chunk = chunk.take_columns(choose(chunk.names))
        rows, targets = split_target(chunk, target)
        yield rows, np.array([str(value) for value in targets], dtype=object) if labels else targets


def iterate_rows(path: Any, chunk_rows: int, na_values: Any = None) -> Iterator[pd.DataFrame]:
    """Yield the rows of a path as float64, missing values as NaN; ValueError for other values, or without rows."""
    for chunk in _iterate_frames(path, chunk_rows, na_values=na_values):
        yield _read_numbers(chunk)


def read_rows(path: Any, chunk_rows: int, na_values: Any = None) -> pd.DataFrame:
    """Return all rows that `iterate_rows` yields."""
    return pd.concat(list(iterate_rows(path, chunk_rows, na_values)), ignore_index=True)


def _iterate_frames(
    source: Any,
    chunk_rows: int,
    types: dict | None = None,
    layout: Mapping[str, str] = MappingProxyType({}),
    na_values: Any = None,
) -> Iterator[Frame]:
    """Yield the chunks that have rows; ValueError if there is none."""
    chunks: Iterable[Any]
    if is_path(source) and not is_csv(list_table_files(source, layout.get("sep"))[0]):
        chunks, _ = open_chunks(source, chunk_rows, 0, na_values)
    elif is_iterator(source) and not hasattr(source, "read"):
        chunks = align_columns(source)
    else:  # numeric values are parsed from each chunk, the labels of all chunks have one type
        chunks = align_columns(_parse(source, chunk_rows, types, layout, na_values))
    empty = True
    for chunk in chunks:
        if chunk.n_rows:
            empty = False
            yield chunk
    if empty:
        holder = f"{source}" if is_path(source) else "the stream"
        raise ValueError(f"{holder} has columns but no row (0 samples): give at least one row")


def _parse(
    source: Any, chunk_rows: int, types: dict | None, layout: Mapping[str, str], na_values: Any
) -> Iterator[pd.DataFrame]:
    options = {"layout": find_layout(source, **layout), "na_values": na_values}
    yield from read_csv_chunks(source, chunk_rows, dtype=types, **options)
