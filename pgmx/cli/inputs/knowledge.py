"""What the user knows of the edges: files of edges and tiers, and names of variables."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_HEADERS = ({"from", "to"}, {"source", "target"}, {"tail", "head"})
_TIER_HEADERS = ({"variable", "tier"}, {"name", "tier"}, {"node", "tier"})


def learner_knowledge(options: dict, columns: Sequence) -> dict:
    """Read all that the options say of the columns, as arguments of a learner.

    Parameters
    ----------
    options : dict
        ``required``, ``forbidden``, ``tiers`` (paths or None), ``roots`` (text or None), and, for a forest, ``root``
        and ``class_node``.
    columns : sequence
        Names of the columns; those that are no strings are matched by their text.

    Returns
    -------
    dict
        Only what was said.

    Raises
    ------
    ValueError
        For unknown names and bad files; file and line, or the option, are named.
    """
    said: dict[str, Any] = {}
    if options["required"] is not None:
        said["required_edges"] = read_edges(options["required"], columns)
    if options["forbidden"] is not None:
        said["forbidden_edges"] = read_edges(options["forbidden"], columns)
    if options["tiers"] is not None:
        said["tiers"] = read_tiers(options["tiers"], columns)
    if options["roots"] is not None:
        names = next(csv.reader([options["roots"]], skipinitialspace=True), [])
        said["root_nodes"] = [_column(name.strip(), columns, "--roots") for name in names]
    for option in ("root", "class_node"):
        if options[option] is not None:
            said[option] = _column(options[option], columns, f"--{option.replace('_', '-')}")
    return said


def read_edges(path: Path, columns: Sequence) -> list[tuple]:
    """Read edges between columns of the table from a CSV file of two fields a line.

    Parameters
    ----------
    path : Path
        The file; empty lines are skipped, and so is a first line ``from,to`` (or source,target or tail,head).
    columns : sequence
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
    rows = _rows(path, "edge file")
    known = {str(name) for name in columns}
    if rows and {field.lower() for field in rows[0][1]} in _HEADERS and not set(rows[0][1]) <= known:
        del rows[0]
    edges = []
    for line, row in rows:
        if len(row) != 2:
            raise ValueError(f"{path}, line {line}: expected two names 'from,to', got {len(row)}: {','.join(row)!r}")
        edges.append(tuple(_column(name, columns, f"{path}, line {line}") for name in row))
    return edges


def read_tiers(path: Path, columns: Sequence) -> list[list]:
    """Read tiers of variables from a CSV file.

    Parameters
    ----------
    path : Path
        Either lines ``variable,tier`` with integer tiers, the smallest being the earliest (a first line
        ``variable,tier`` is skipped), or one tier a line, the earliest first, its variables separated by commas.
    columns : sequence
        Names of the columns; those that are no strings are matched by their text.

    Returns
    -------
    list of list
        Names of columns, the earliest tier first.

    Raises
    ------
    ValueError
        For an unknown name, a tier that is no integer, text that is not UTF-8, an empty file; the line is named.
    OSError
        If the file cannot be read.
    """
    rows = _rows(path, "tier file")
    known = {str(name) for name in columns}
    headed = bool(rows) and {field.lower() for field in rows[0][1]} in _TIER_HEADERS and not set(rows[0][1]) <= known
    if headed:
        del rows[0]
    if not rows:
        raise ValueError(f"tier file {path} is empty")
    if not headed and not all(len(row) == 2 and _is_integer(row[1]) and row[1] not in known for _, row in rows):
        return [[_column(name, columns, f"{path}, line {line}") for name in row if name] for line, row in rows]
    tiers: dict[int, list] = {}
    for line, row in rows:
        if len(row) != 2 or not _is_integer(row[1]):
            raise ValueError(f"{path}, line {line}: expected 'variable,tier' with an integer, got {','.join(row)!r}")
        tiers.setdefault(int(row[1]), []).append(_column(row[0], columns, f"{path}, line {line}"))
    return [tiers[number] for number in sorted(tiers)]


def _rows(path: Path, kind: str) -> list[tuple[int, list[str]]]:
    """Return the lines that are not empty, with their numbers."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, skipinitialspace=True)
            rows = [(reader.line_num, [field.strip() for field in row]) for row in reader]
    except FileNotFoundError:
        raise ValueError(f"no such {kind}: {path}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{kind} {path} is no UTF-8 CSV file: {error}") from None
    return [(line, row) for line, row in rows if any(row)]


def _is_integer(text: str) -> bool:
    return text.removeprefix("-").isdecimal()


def _column(name: str, columns: Sequence, where: str):
    """Return the column of a name, or raise and say where the name stands."""
    known = {str(column): column for column in columns}
    if name not in known:
        raise ValueError(f"{where}: {name!r} is no column of the table{_hint(name, known)}")
    return known[name]


def _hint(name, known):
    import difflib

    close = difflib.get_close_matches(name, known, n=1)
    return f", did you mean {close[0]!r}?" if close else ""
