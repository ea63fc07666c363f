"""Prior knowledge of the edges: files of edges and tiers, and names of variables."""

import csv
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from pgmx.lookup import suggest

_HEADERS = ({"from", "to"}, {"source", "target"}, {"tail", "head"})
_TIER_HEADERS = ({"variable", "tier"}, {"name", "tier"}, {"node", "tier"})


def learner_knowledge(options: dict, columns: Sequence) -> dict:
    """Return the options about columns as arguments of a learner; columns are matched by their text."""
    arguments: dict[str, Any] = {}
    if options["required"] is not None:
        arguments["required_edges"] = read_edges(options["required"], columns)
    if options["forbidden"] is not None:
        arguments["forbidden_edges"] = read_edges(options["forbidden"], columns)
    if options["tiers"] is not None:
        arguments["tiers"] = read_tiers(options["tiers"], columns)
    if options["roots"] is not None:
        arguments["root_nodes"] = [choose_column(name, columns, "--roots") for name in options["roots"]]
    for option in ("root", "class_node"):
        if options[option] is not None:
            arguments[option] = choose_column(options[option], columns, f"--{option.replace('_', '-')}")
    return arguments


def lagged_knowledge(options: dict, names: Sequence, lags: int) -> dict:
    """Return the edges in the options as arguments of a learner of series; ``a@t-1`` is a, one row before."""
    nodes = {lagged_name(name, lag): (name, lag) for lag in range(lags + 1) for name in names}
    files = {f"{option}_edges": options[option] for option in ("required", "forbidden")}
    return {argument: read_edges(path, nodes) for argument, path in files.items() if path is not None}


def lagged_name(name: Any, lag: int) -> str:
    """Return a node (name, lag) as commands print it: ``a@t-1`` is a, one row before."""
    return f"{name}@t-{lag}" if lag else str(name)


def read_edges(path: Path, columns: Sequence | Mapping) -> list[tuple]:
    """Read edges between columns from a CSV file of two fields per line, with or without a header ``from,to``.

    If `columns` is a mapping, each name is replaced by its value.
    """
    rows, _ = _rows(path, "edge file", _HEADERS, columns)
    edges = []
    for line, row in rows:
        if len(row) != 2:
            raise ValueError(f"{path}, line {line}: expected two names 'from,to', got {len(row)}: {','.join(row)!r}")
        edges.append(tuple(choose_column(name, columns, f"{path}, line {line}") for name in row))
    return edges


def read_tiers(path: Path, columns: Sequence) -> list[list]:
    """Read tiers, the earliest first, from a CSV file of lines ``variable,tier``, or of one tier per line."""
    rows, has_header = _rows(path, "tier file", _TIER_HEADERS, columns)
    known = {str(name) for name in columns}
    if not rows:
        raise ValueError(f"tier file {path} is empty")
    if not has_header and not all(len(row) == 2 and _is_integer(row[1]) and row[1] not in known for _, row in rows):
        return [[choose_column(name, columns, f"{path}, line {line}") for name in row if name] for line, row in rows]
    tiers: dict[int, list] = {}
    for line, row in rows:
        if len(row) != 2 or not _is_integer(row[1]):
            raise ValueError(f"{path}, line {line}: expected 'variable,tier' with an integer, got {','.join(row)!r}")
        tiers.setdefault(int(row[1]), []).append(choose_column(row[0], columns, f"{path}, line {line}"))
    return [tiers[number] for number in sorted(tiers)]


def _rows(path: Path, kind: str, headers: Sequence, columns: Collection) -> tuple[list[tuple[int, list[str]]], bool]:
    """Return the non-empty lines with their numbers, without a header, and whether there was one."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, skipinitialspace=True)
            rows = [(reader.line_num, [field.strip() for field in row]) for row in reader]
    except FileNotFoundError:
        raise ValueError(f"no such {kind}: {path}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{kind} {path} is not a UTF-8 CSV file: {error}") from None
    rows = [(line, row) for line, row in rows if any(row)]
    names = set(rows[0][1]) if rows else set()
    has_header = {name.lower() for name in names} in headers and not names <= {str(name) for name in columns}
    return rows[has_header:], has_header


def _is_integer(text: str) -> bool:
    return text.removeprefix("-").isdecimal()


def choose_column(name: str, columns: Sequence | Mapping, where: str):
    """Return the column of a name; the error begins with `where`, the place of the name."""
    known = columns if isinstance(columns, Mapping) else {str(column): column for column in columns}
    if name not in known:
        raise ValueError(f"{where}: {name!r} is not a column of the table{suggest(name, known)}")
    return known[name]
