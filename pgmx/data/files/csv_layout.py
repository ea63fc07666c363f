"""The layout of a CSV file, found from its first lines: separator, decimal point, and fields that are in no column."""

import csv
import lzma
import re
import warnings
import zipfile
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from pgmx.checks import caller_level
from pgmx.data.files.csv_rows import (
    SPACES,
    ExtraFields,
    find_declared,
    find_end,
    find_extra_fields,
    open_text,
    read_records,
    warn_of_left_out,
)

#: Separators that are recognised if the usual one of the file's suffix is not in its header.
_OTHERS = (";", "\t", "|", ",")

#: Separators that are suspected but not recognised, since names and values may contain them.
_UNUSUAL = "#:^~!&%@/\\\x1f\xa6"

#: First lines, not more, are read to find separator and decimal point: files may be large.
_SAMPLE = 200

#: Numbers with a decimal comma, with a decimal point, and with commas between thousands.
_COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+(e[+-]?\d+)?", re.IGNORECASE)
_POINT_NUMBER = re.compile(r"[+-]?\d*\.\d+(e[+-]?\d+)?", re.IGNORECASE)
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")


class LayoutError(ValueError):
    """The layout of a file is not recognised; the error says what to do."""

    has_remedy = True


class CsvLayout(NamedTuple):
    """How a file is read; `counts_rows` is whether its first column has no name and numbers the rows.

    `extra` are fields of rows outside the columns, None if there are none.
    """

    sep: str = ","
    decimal: str = "."
    counts_rows: bool = False
    extra: ExtraFields | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The options of pandas."""
        options: dict[str, Any] = {"sep": self.sep, "decimal": self.decimal}
        if len(self.sep) > 1 and self.sep != SPACES:  # the fast parser supports no other regular expression
            options |= {"engine": "python", "low_memory": True}
        return options


def find_layout(path: Any, sep: str | None = None, decimal: str | None = None) -> CsvLayout:
    """Return the layout of a file from its first lines; given options are used unchanged, for a stream only these.

    Raise ValueError if spaces separate the columns, which is not recognised since names may hold spaces, or if a row
    has more fields than the header. Warn of a column that counts rows, and of row names: readers leave them out.
    """
    if hasattr(path, "read"):
        return CsvLayout(sep or ",", decimal or ".")
    path = Path(path)
    lines, is_whole = _read_lines(path)
    usual = "\t" if {".tsv", ".tab"} & {suffix.lower() for suffix in path.suffixes} else ","
    sep = sep or (find_declared(lines[0]) if lines else None)
    if sep is None:
        sep = usual
        rows = _split(lines, usual, is_whole)
        if len(rows[0]) < 2 or len({len(row) for row in rows[1:]} - {len(rows[0]), len(rows[0]) + 1}) > 0:
            sep = next((other for other in _OTHERS if _is_table(_split(lines, other, is_whole))), usual)
            _refuse_spaces(path, lines, is_whole)
            _refuse_unusual(path, lines)
        if sep == usual == ",":  # a tab is stated by the suffix
            sep = _prefer_other(path, lines, usual, is_whole)
    rows = _split(lines, sep, is_whole)
    decimal = decimal or _find_decimal(rows, sep)
    extra = None
    with open_text(path, errors="replace") as file, suppress(csv.Error):
        extra = find_extra_fields(read_records(file, sep), sep, str(path))
    names_rows = extra is not None and extra.names_rows
    counts_rows = len(rows[0]) > 1 and not rows[0][0].strip() and not names_rows and _is_count(rows)
    if counts_rows or names_rows:
        warn_of_left_out(path.name, "counts the rows" if _is_count(rows) else "holds row names")
    return CsvLayout(sep, decimal, counts_rows, extra)


def is_text_table(path: Path) -> bool:
    """Return whether a file of an unknown suffix is text whose first lines have equal numbers of fields."""
    try:
        lines, is_whole = _read_lines(path, errors="strict")
    except (OSError, ValueError, EOFError, lzma.LZMAError, zipfile.BadZipFile):
        return False
    if len(lines) < 2 or lines[0].lstrip()[:1] in tuple("{[<") or any("\0" in line for line in lines):
        return False  # JSON and XML may have as many commas in all lines
    return any(_is_table(_split(lines, sep, is_whole)) for sep in (*_OTHERS, SPACES))


def use_decimal_points(column: Any) -> Any:
    """Return a pandas column of words; numbers with a decimal comma get a point."""
    return column.str.replace(r"^([+-]?\d*),(\d+(?:[eE][+-]?\d+)?)$", r"\1.\2", regex=True)


def _read_lines(path: Path, errors: str = "replace") -> tuple[list[str], bool]:
    """Return the first lines that are not empty, and whether these are all lines of the file."""
    with open_text(path, errors) as file:
        lines = list(islice(file, _SAMPLE + 1))
    return [line for line in lines[:_SAMPLE] if line.strip()], len(lines) <= _SAMPLE


def _split(lines: list[str], sep: str, is_whole: bool) -> list[list[str]]:
    """Return the fields of each row; if the lines are not all, the last row may be cut within quotes."""
    try:
        rows = [record.split(sep) for record in read_records(lines, sep)]
    except csv.Error:
        return [[]]
    return (rows if is_whole or len(rows) < 2 else rows[:-1]) or [[]]


def _is_table(rows: list[list[str]]) -> bool:
    """Return whether the header has several fields, and each row as many, one more, or more that are empty."""
    n_header, n_named = len(rows[0]), find_end(rows[0])
    lengths = {len(row) for row in rows[1:]}
    if n_header < 2 or min(lengths, default=n_header) < n_named:
        return False
    return lengths <= {n_header} or lengths == {n_header + 1} or not any(find_end(row) > n_named for row in rows)


def _prefer_other(path: Path, lines: list[str], usual: str, is_whole: bool) -> str:
    """Return the separator if another one in the header splits header and rows alike too.

    It is the one with more numeric fields, the usual one in a tie. A warning states the choice if both are possible.
    """
    rows = _split(lines, usual, is_whole)
    for other in _OTHERS:
        candidate = _split(lines, other, is_whole) if other != usual else [[]]
        if len(candidate) < 2 or len(candidate[0]) < 2 or len({len(row) for row in candidate}) > 1:
            continue
        if len({len(row) for row in rows}) > 1:
            return other
        chosen = other if _share_numbers(candidate, other) > _share_numbers(rows, usual) else usual
        left = usual if chosen == other else other
        warnings.warn(
            f"{chosen!r} and {left!r} both split all lines of {path.name} alike: {chosen!r} is read as the separator; "
            f"if it is not, give sep={left!r} (command line: --sep)",
            UserWarning,
            stacklevel=caller_level(),
        )
        return chosen
    return usual


def _share_numbers(rows: list[list[str]], sep: str) -> float:
    """Return the share of numeric fields below the header."""
    cells = [cell.strip() for row in rows[1:] for cell in row]
    kinds = [_POINT_NUMBER, re.compile(r"[+-]?\d+"), *([] if sep == "," else [_COMMA_NUMBER])]
    return sum(any(kind.fullmatch(cell) for kind in kinds) for cell in cells) / max(1, len(cells))


def _refuse_spaces(path: Path, lines: list[str], is_whole: bool) -> None:
    words = _split(lines, SPACES, is_whole)
    if len(words) > 1 and _is_table(words):
        if any(other in lines[0] for other in _OTHERS):
            return
        raise LayoutError(
            f"spaces seem to separate the columns of {path.name}: read it with "
            r"pgmx.data.read_table(path, sep=r'\s+') (command line: --sep ' ')"
        )


def _refuse_unusual(path: Path, lines: list[str]) -> None:
    """Raise if an unusual character separates all lines alike, and no usual one separates the first line."""
    if len(lines) < 2 or any(other in lines[0] for other in _OTHERS):
        return
    if lines[0].startswith("#"):
        raise LayoutError(
            f"the first line of {path.name} begins with '#', as a comment does: remove such lines, or give sep=',' if "
            "it is the header of one column (command line: --sep)"
        )
    for sep in _UNUSUAL:
        if len({line.count(sep) for line in lines} | {0}) == 2 and sep in lines[0]:
            raise LayoutError(
                f"{sep!r} seems to separate the columns of {path.name}: read it with "
                f"pgmx.data.read_table(path, sep={sep!r}), or sep=',' if it is one column (command line: --sep)"
            )


def _find_decimal(rows: list[list[str]], sep: str) -> str:
    """Return a comma if values are numbers with a comma, none has a point, and not all may be thousands."""
    if sep == ",":
        return "."
    cells = [cell.strip() for row in rows[1:] for cell in row]
    commas = [cell for cell in cells if _COMMA_NUMBER.fullmatch(cell)]
    is_comma = any(not _THOUSANDS.fullmatch(cell) for cell in commas)
    return "," if is_comma and not any(_POINT_NUMBER.fullmatch(cell) for cell in cells) else "."


def _is_count(rows: list[list[str]]) -> bool:
    """Return whether the first fields number the rows from 0 or 1."""
    numbers = [row[0] for row in rows[1:]]
    return len(numbers) > 1 and numbers in ([str(k) for k in range(a, a + len(numbers))] for a in (0, 1))
