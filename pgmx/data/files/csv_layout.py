"""How a CSV file is laid out: its separator, its decimal point, and a first column that only counts rows."""

import bz2
import csv
import gzip
import io
import lzma
import re
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from pgmx.checks import caller_level

#: Separators that are recognised where the usual one of the file's suffix is not in its header.
_OTHERS = (";", "\t", "|", ",")

#: Separators that are not recognised, since names and cells may hold them, but suspected.
_UNUSUAL = "#:^~!&%@/\\\x1f\xa6"

#: Lines that are looked at.
_SAMPLE = 200

_COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+(e[+-]?\d+)?", re.IGNORECASE)
_POINT_NUMBER = re.compile(r"[+-]?\d*\.\d+(e[+-]?\d+)?", re.IGNORECASE)
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")


class LayoutError(ValueError):
    """The layout of a file is not recognised; the error says what to do."""

    has_remedy = True


class CsvLayout(NamedTuple):
    """How a file is read; `counts_rows` says that its first column has no name and numbers the rows."""

    sep: str = ","
    decimal: str = "."
    counts_rows: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """The options of pandas."""
        return {"sep": self.sep, "decimal": self.decimal}


def find_layout(path: Any, sep: str | None = None, decimal: str | None = None) -> CsvLayout:
    """Return the layout of a file from its first lines, what is given as it is; of a stream only what is given.

    Raise ValueError where spaces separate the columns, which is not recognised since names may hold spaces. Warn of a
    column that counts rows: readers leave it out.
    """
    if hasattr(path, "read"):
        return CsvLayout(sep or ",", decimal or ".")
    lines, is_whole = _read_lines(Path(path))
    usual = "\t" if ".tsv" in Path(path).suffixes else ","
    if sep is None:
        sep = usual
        rows = _split(lines, usual, is_whole)
        if len(rows[0]) < 2 or len({len(row) for row in rows[1:]} - {len(rows[0]), len(rows[0]) + 1}) > 0:
            sep = next((other for other in _OTHERS if _is_table(_split(lines, other, is_whole))), usual)
            _refuse_spaces(path, lines)
            _refuse_unusual(path, lines)
    rows = _split(lines, sep, is_whole)
    decimal = decimal or _find_decimal(rows, sep)
    counts_rows = _counts_rows(rows)
    if counts_rows:
        warnings.warn(
            f"the first column of {Path(path).name} has no name and counts the rows: it is left out; give it a name to "
            "keep it",
            UserWarning,
            stacklevel=caller_level(),
        )
    return CsvLayout(sep, decimal, counts_rows)


def point_words(column: Any) -> Any:
    """Return a pandas column of words in which numbers with a decimal comma have a point."""
    return column.str.replace(r"^([+-]?\d*),(\d+(?:[eE][+-]?\d+)?)$", r"\1.\2", regex=True)


def _read_lines(path: Path) -> tuple[list[str], bool]:
    """Return the first lines that are not empty, and whether these are all."""
    with _open_text(path) as file:
        lines = list(islice(file, _SAMPLE + 1))
    return [line for line in lines[:_SAMPLE] if line.strip()], len(lines) <= _SAMPLE


@contextmanager
def _open_text(path: Path) -> Iterator[io.TextIOBase]:
    openers = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    suffix = path.suffix.lower()
    options: dict[str, Any] = {"encoding": "utf-8-sig", "errors": "replace", "newline": ""}
    if suffix == ".zip":
        with zipfile.ZipFile(path) as archive, archive.open(archive.namelist()[0]) as member:
            yield io.TextIOWrapper(member, **options)
    else:
        with openers.get(suffix, open)(path, "rt", **options) as file:  # type: ignore[operator]
            yield file


def _split(lines: list[str], sep: str, is_whole: bool) -> list[list[str]]:
    """Return the fields of each row; the last row of a part of a file may be cut within quotes."""
    if len(sep) != 1:
        return [re.split(sep, line.strip()) for line in lines] or [[]]
    try:
        rows = [row for row in csv.reader(lines, delimiter=sep) if row]
    except csv.Error:
        return [[]]
    return (rows if is_whole or len(rows) < 2 else rows[:-1]) or [[]]


def _is_table(rows: list[list[str]]) -> bool:
    """Return whether all rows have as many fields as the header, which has more than one."""
    return len(rows[0]) > 1 and all(len(row) == len(rows[0]) for row in rows)


def _refuse_spaces(path: Any, lines: list[str]) -> None:
    words = [line.split() for line in lines]
    if len(lines) > 1 and len(words[0]) > 1 and all(len(row) == len(words[0]) for row in words):
        if any(other in lines[0] for other in _OTHERS):
            return
        raise LayoutError(
            f"spaces seem to separate the columns of {Path(path).name}: read it with "
            r"pgmx.data.read_table(path, sep=r'\s+') (command line: --sep ' ')"
        )


def _refuse_unusual(path: Any, lines: list[str]) -> None:
    """Raise where an unusual character parts all lines alike, and nothing usual parts the first one."""
    if len(lines) < 2 or any(other in lines[0] for other in _OTHERS):
        return
    for sep in _UNUSUAL:
        if len({line.count(sep) for line in lines} | {0}) == 2 and sep in lines[0]:
            raise LayoutError(
                f"{sep!r} seems to separate the columns of {Path(path).name}: read it with "
                f"pgmx.data.read_table(path, sep={sep!r}), or sep=',' if it is one column (command line: --sep)"
            )


def _find_decimal(rows: list[list[str]], sep: str) -> str:
    """Return a comma where cells are numbers with a comma, none has a point, and not all may be thousands."""
    if sep == ",":
        return "."
    cells = [cell.strip() for row in rows[1:] for cell in row]
    commas = [cell for cell in cells if _COMMA_NUMBER.fullmatch(cell)]
    is_comma = any(not _THOUSANDS.fullmatch(cell) for cell in commas)
    return "," if is_comma and not any(_POINT_NUMBER.fullmatch(cell) for cell in cells) else "."


def _counts_rows(rows: list[list[str]]) -> bool:
    """Return whether the first column has no name and numbers the rows from 0 or 1."""
    header, *cells = rows
    if len(header) < 2 or header[0].strip() or len(cells) < 2:
        return False
    numbers = [row[0] for row in cells]
    return any(numbers == [str(k) for k in range(first, first + len(numbers))] for first in (0, 1))
