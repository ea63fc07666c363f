"""Checks of what the user gave, before any work: the source, edge files, and the files to write."""

import csv
import os
from pathlib import Path
from typing import NamedTuple

from pgmx.plotting.draw import check_picture_path

NETWORK_SUFFIXES = (".bif", ".xmlbif")
GRAPH_SUFFIXES = (".graphml", ".json")
_HEADERS = ({"from", "to"}, {"source", "target"}, {"tail", "head"})


class Source(NamedTuple):
    """A table or a bundled network: `path` is None for the latter."""

    name: str
    path: Path | None


def find_source(text: str) -> Source:
    """Tell a bundled network from a file.

    Parameters
    ----------
    text : str
        What the user typed. A bundled name wins; ``./alarm`` is always a file.

    Returns
    -------
    Source
        The name of the network, or the path of the file and its stem.

    Raises
    ------
    ValueError
        If it is neither a bundled network nor an existing file.
    """
    from pgmx.datasets import list_networks

    names = list_networks()
    if text in names:
        return Source(text, None)
    path = Path(text)
    if path.is_file():
        return Source(path.stem, path)
    if path.is_dir():
        raise ValueError(f"{text} is a folder: give a CSV or Parquet file")
    if path.suffix or len(path.parts) > 1:
        raise ValueError(f"no such file: {text}")
    raise ValueError(f"{text!r} is neither a file nor a bundled network ({', '.join(names)})")


def check_targets(out: Path | None, plot: Path | None) -> None:
    """Refuse files that could not be written, before the learning.

    Parameters
    ----------
    out, plot : Path or None
        Where the user wants the model and the picture.

    Raises
    ------
    ValueError
        For a wrong suffix, a folder that does not exist, or a place without permission to write.
    """
    if out is not None:
        allowed = NETWORK_SUFFIXES + GRAPH_SUFFIXES
        if out.suffix.lower() not in allowed:
            raise ValueError(f"--out {out}: the suffix must be one of {', '.join(allowed)}")
        _check_writable(out, "--out")
    if plot is not None:
        try:
            check_picture_path(plot)
        except ValueError as error:
            raise ValueError(f"--plot {plot}: {error}") from None
        _check_writable(plot, "--plot")
    if out is not None and plot is not None and out.absolute() == plot.absolute():
        raise ValueError(f"--out and --plot name the same file {out}")


def _check_writable(path: Path, option: str) -> None:
    if path.is_dir():
        raise ValueError(f"{option} {path}: this is a folder, name a file in it")
    if not path.parent.is_dir():
        raise ValueError(f"{option} {path}: there is no folder {path.parent}, make it first")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ValueError(f"{option} {path}: no permission to write there")


def read_edges(path: Path, columns: tuple) -> list[tuple]:
    """Read edges between columns of the table from a CSV file of two fields a line.

    Parameters
    ----------
    path : Path
        The file; empty lines are skipped, and so is a first line ``from,to`` (or source,target or tail,head).
    columns : tuple
        Names of the columns; those that are no strings are matched by their text.

    Returns
    -------
    list of tuple
        Pairs of column names, as the table has them.

    Raises
    ------
    ValueError
        For a line without exactly two fields, with an unknown name, or text that is not UTF-8; the line is named.
    OSError
        If the file cannot be read.
    """
    known = {str(name): name for name in columns}
    edges = []
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, skipinitialspace=True)
            rows = [(reader.line_num, [field.strip() for field in row]) for row in reader]
    except FileNotFoundError:
        raise ValueError(f"no such edge file: {path}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"edge file {path} is no UTF-8 CSV file: {error}") from None
    rows = [(line, row) for line, row in rows if any(row)]
    if rows and {field.lower() for field in rows[0][1]} in _HEADERS and not set(rows[0][1]) <= known.keys():
        del rows[0]
    for line, row in rows:
        if len(row) != 2:
            raise ValueError(f"{path}, line {line}: expected two names 'from,to', got {len(row)}: {','.join(row)!r}")
        unknown = [name for name in row if name not in known]
        if unknown:
            raise ValueError(f"{path}, line {line}: {unknown[0]!r} is no column of the table{_hint(unknown[0], known)}")
        edges.append((known[row[0]], known[row[1]]))
    return edges


def _hint(name, known):
    import difflib

    close = difflib.get_close_matches(name, known, n=1)
    return f", did you mean {close[0]!r}?" if close else ""
