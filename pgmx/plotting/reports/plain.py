"""Values, names and tables in the types of JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite
from numbers import Integral, Real
from typing import Any, NamedTuple

_LONGEST_TEXT = 400


class Table(NamedTuple):
    """A small table of the page; `rows` may be only the first of `n_rows` rows."""

    caption: str
    columns: list[str]
    rows: list[list]
    n_rows: int


def to_cell(value: Any, digits: int = 5) -> Any:
    """Return a number with a few digits, None for a missing one, or text."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        number = float(value)
        if not isfinite(number):
            return None if number != number else "∞" if number > 0 else "-∞"
        return float(f"{number:.{digits}g}")
    return to_text(value)


def to_text(value: Any) -> str:
    """Return the text of a name, a state or an option, cut if it is long."""
    text = value if isinstance(value, str) else _spell(value)
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"


def _spell(value: Any) -> str:
    if hasattr(value, "shape") and hasattr(value, "dtype") and getattr(value, "size", 1) > 12:
        return f"{type(value).__name__} of shape {tuple(value.shape)}"
    if isinstance(value, tuple | list | dict | set | frozenset) and len(value) > 40:
        return f"{type(value).__name__} of {len(value)} elements"
    return str(value)


def make_table(caption: str, columns: Iterable, rows: Iterable[Sequence], n_rows: int, most: int) -> Table:
    """Return a table of at most `most` rows with cells in the types of JSON."""
    cells: list[list] = []
    for row in rows:
        if len(cells) == most:
            break
        cells.append([to_cell(cell, 4) for cell in row])
    return Table(caption, [to_text(name) for name in columns], cells, n_rows)
