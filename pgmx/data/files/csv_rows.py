"""The rows of CSV files, and their fields that are in no column: row names, and empty fields at the end of rows.

`find_extra_fields` finds such fields in the first rows, `open_row_stream` gives pandas the rows without them.
"""

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import pandas as pd

from pgmx.checks import caller_level

#: First rows, which decide whether rows have names or end in separators.
_DECIDING_ROWS = 1000

#: The regular expression of pandas for any white space, with quotes; it ignores quotes for all other expressions.
SPACES = r"\s+"


#: The first line by which Excel states the separator.
_DECLARATION = re.compile(r"sep=([^\r\n])")


class CsvRecord(NamedTuple):
    """A row of a file: its text without the line end, the number of its first line, its fields if some are quoted."""

    text: str
    line: int
    fields: list[str] | None = None

    def count(self, sep: str) -> int:
        """Return the number of fields."""
        if self.fields is None and len(sep) == 1:
            return self.text.count(sep) + 1
        return len(self.split(sep))

    def split(self, sep: str) -> list[str]:
        """Return the fields."""
        if self.fields is not None:
            return self.fields
        return self.text.split(sep) if len(sep) == 1 else re.split(sep, self.text.strip())


class ExtraFields(NamedTuple):
    """Fields of rows outside the columns: a row name first, or empty fields after the first `n_kept`.

    `n_header` is the number of fields of the header, `n_most` the number of fields of the longest row.
    """

    n_header: int
    n_kept: int
    n_most: int
    names_rows: bool = False


# ---- the rows of a text ----


@contextmanager
def open_text(path: str | Path, errors: str = "strict") -> Iterator[io.TextIOBase]:
    """Open a file as text, decompressed as its suffix says: UTF-8, or UTF-16 with a byte-order mark."""
    with _open_bytes(path) as file:
        is_wide = file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    with _open_bytes(path) as file:
        yield io.TextIOWrapper(file, encoding="utf-16" if is_wide else "utf-8-sig", errors=errors, newline="")


@contextmanager
def _open_bytes(path: str | Path) -> Iterator[Any]:
    openers = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    suffix = Path(path).suffix.lower()
    if suffix == ".zip":
        with zipfile.ZipFile(path) as archive, archive.open(archive.namelist()[0]) as member:
            yield member
    else:
        with openers.get(suffix, open)(path, "rb") as file:  # type: ignore[operator]
            yield file


def find_declared(line: str) -> str | None:
    """Return the separator that the first line of a file states, as in ``sep=;``, None for any other line."""
    match = _DECLARATION.fullmatch(line.removeprefix("\ufeff").rstrip("\r\n"))
    return None if match is None else match[1]


def read_records(lines: Iterable[str], sep: str) -> Iterator[CsvRecord]:
    """Yield the rows of a text that are not blank, without a first line that states the separator."""
    numbered = enumerate(lines, 1)
    has_quotes = len(sep) == 1 or sep == SPACES
    for number, line in numbered:
        text = line.removeprefix("\ufeff") if number == 1 else line
        if not text.strip() and (len(sep) != 1 or sep not in text):
            continue
        if number == 1 and find_declared(text) is not None:
            continue
        if has_quotes and '"' in text:
            taken = [text]
            fields = next(csv.reader(_follow(taken, numbered, sep), **_dialect(sep)))
            yield CsvRecord("".join(taken).rstrip("\r\n"), number, fields)
        else:
            yield CsvRecord(text.rstrip("\r\n"), number)


def _follow(taken: list[str], numbered: Iterator[tuple[int, str]], sep: str) -> Iterator[str]:
    """Yield a line, and the following lines while a quote is open; these are appended to `taken`."""
    lines = chain(taken[:1], (line for _, line in numbered))
    for k, line in enumerate(lines):
        if k:
            taken.append(line)
        yield line.strip().replace("\t", " ") if sep == SPACES else line


def _dialect(sep: str) -> dict[str, Any]:
    return {"delimiter": " ", "skipinitialspace": True} if sep == SPACES else {"delimiter": sep}


# ---- fields outside the columns: row names, trailing separators ----


def find_extra_fields(records: Iterator[CsvRecord], sep: str, name: str = "") -> ExtraFields | None:
    """Return the fields of the first rows outside the columns of the header, None if there are none.

    `name` is the name of the file in errors. Raise ValueError if a row has more fields than the header, unless these
    are empty in all rows, or all rows have one more field and begin with a field that is not empty.
    """
    header = next(records, None)
    if header is None:
        return None
    names = header.split(sep)
    n_header, n_named = len(names), max(1, find_end(names))
    widest, last = n_header, 0
    are_named = True
    culprit = None
    for record in islice(records, _DECIDING_ROWS):
        n_fields = record.count(sep)
        widest = max(widest, n_fields)
        fields = record.split(sep) if n_fields > n_named else []
        last = max(last, find_end(fields))
        if last > n_header:
            culprit = culprit or (record, n_fields)
        are_named = are_named and n_fields == n_header + 1 and bool(fields[0].strip())
    n_kept = n_named if last <= n_named else n_header
    if culprit is None:
        return None if n_kept == widest else ExtraFields(n_header, n_kept, widest)
    if not are_named:
        _refuse_row(name, *culprit, n_header)
    return ExtraFields(n_header, n_header, widest, names_rows=True)


def warn_of_left_out(name: str, what: str) -> None:
    """Warn that the first column of a file is left out."""
    warnings.warn(
        f"the first column of {name} has no name and {what}: it is left out; give it a name to keep it",
        UserWarning,
        stacklevel=caller_level(),
    )


def find_end(fields: list[str]) -> int:
    """Return the number of fields up to the last one that is not empty."""
    return next((k for k in range(len(fields), 0, -1) if fields[k - 1].strip()), 0)


def _refuse_row(name: str, record: CsvRecord, n_fields: int, n_header: int, names_rows: bool = False) -> NoReturn:
    where = f"{name} cannot be read: line" if name else "line"
    also = ", and all rows before it a row name in addition" if names_rows else ""
    error = ValueError(
        f"{where} {record.line} has {n_fields} fields, the header has {n_header}{also}. Correct the line or header: "
        "only row names in all rows, or last fields that are empty in all rows, need no name"
    )
    error.has_remedy = True  # type: ignore[attr-defined]  # readers add nothing to such an error
    raise error


# ---- rows without these fields, for pandas ----


@contextmanager
def open_row_stream(source: Any, sep: str, extra: ExtraFields | None) -> Iterator[Any]:
    """Yield the input of pandas: the path of a file, or a stream of its rows without extra fields.

    A source with `read` is a stream, whose own first rows decide in place of `extra`. A row that contradicts the
    first ones raises ValueError when it is read.
    """
    if hasattr(source, "read"):
        yield _RowStream(source, sep)
    elif extra is not None or _needs_stream(source):
        with open_text(source) as file:
            yield _RowStream(file, sep, str(source), extra)
    else:
        try:
            yield source
        except pd.errors.ParserError:  # its message counts rows, not lines
            with open_text(source) as file, suppress(csv.Error):
                _check_rows(read_records(file, sep), sep, str(source))
            raise


def _needs_stream(path: str | Path) -> bool:
    """Return whether pandas cannot read the file itself: the first line states the separator, or it is in UTF-16."""
    with open_text(path, errors="replace") as file:
        return find_declared(file.readline(64)) is not None or file.encoding == "utf-16"


def _check_rows(records: Iterator[CsvRecord], sep: str, name: str) -> None:
    """Refuse the first row that has more fields than the header."""
    header = next(records, None)
    n_header = 0 if header is None else header.count(sep)
    for record in records:
        n_fields = record.count(sep)
        if n_fields > n_header:
            _refuse_row(name, record, n_fields, n_header)


class _RowStream(io.TextIOBase):
    """The text of a table without row names and without empty fields at the end of rows."""

    def __init__(self, lines: Iterable[str], sep: str, name: str = "", extra: ExtraFields | None = None):
        self._records = read_records(lines, sep)
        self._sep = sep
        self._name = name
        first: list[CsvRecord] = []
        if extra is None:
            first = list(islice(self._records, 1 + _DECIDING_ROWS))
            extra = find_extra_fields(iter(first), sep)
            if extra is not None and extra.names_rows:
                warn_of_left_out("the stream", "holds row names")
        self._records = chain(first, self._records)
        header = next(self._records, None)
        if extra is None:
            n_header = 0 if header is None else header.count(sep)
            extra = ExtraFields(n_header, n_header, n_header)
        self._extra = extra
        names = [] if header is None else [self._cut(header, 0, extra.n_kept) or '""']
        self._lines = chain(names, map(self._strip, self._records))

    def readable(self) -> bool:
        """Return True: this is text to read."""
        return True

    def readline(self, size: int | None = -1) -> str:  # type: ignore[override]
        """Return the next row; `size` is ignored."""
        line = next(self._lines, None)
        return "" if line is None else line + "\n"

    def read(self, size: int | None = -1) -> str:
        """Return the next rows, of at least `size` characters together, all of them by default."""
        least = float("inf") if size is None or size < 0 else size
        taken, length = [], 0
        while length < least and (line := self.readline()):
            taken.append(line)
            length += len(line)
        return "".join(taken)

    def _strip(self, record: CsvRecord) -> str:
        """Return the text of the fields of the columns."""
        text = self._strip_names(record) if self._extra.names_rows else self._strip_end(record)
        return text if self._extra.n_kept > 1 or text.strip() else '""'  # pandas would skip a blank line

    def _strip_names(self, record: CsvRecord) -> str:
        sep, n_fields = self._sep, record.count(self._sep)
        is_plain = record.fields is None and len(sep) == 1  # then the other fields need no parsing
        first = record.text.partition(sep)[0] if is_plain else record.split(sep)[0]
        if n_fields != self._extra.n_most or not first.strip():
            _refuse_row(self._name, record, n_fields, self._extra.n_header, names_rows=True)
        return record.text[len(first) + 1 :] if is_plain else self._cut(record, 1)

    def _strip_end(self, record: CsvRecord) -> str:
        sep, n_fields, n_kept = self._sep, record.count(self._sep), self._extra.n_kept
        if n_fields <= n_kept:
            return record.text
        is_plain = record.fields is None and len(sep) == 1
        kept, *rest = record.text.rsplit(sep, n_fields - n_kept) if is_plain else ["", *record.split(sep)[n_kept:]]
        if n_fields > self._extra.n_most or any(field.strip() for field in rest):
            _refuse_row(self._name, record, n_fields, n_kept)
        return kept if is_plain else self._cut(record, 0, n_kept)

    def _cut(self, record: CsvRecord, first: int, end: int | None = None) -> str:
        """Return the text of the fields from `first` up to `end`, quotes included."""
        text = record.text.strip() if len(self._sep) > 1 else record.text
        separators = _find_separators(text, self._sep, record.fields is not None)
        at = [(0, 0), *islice(separators, first if end is None else end)]
        return text[at[first][1] : at[end][0] if end is not None and end < len(at) else len(text)]


def _find_separators(text: str, sep: str, is_quoted: bool) -> Iterator[tuple[int, int]]:
    """Yield the begin and the end of each separator of the fields of a row."""
    pattern = re.escape(sep) if len(sep) == 1 else sep
    if not is_quoted:
        yield from (match.span() for match in re.finditer(pattern, text))
        return
    # A quote opens only at the start of a field, and two in a row do not close it.
    field = re.compile(r'(?:"(?:[^"]|"")*")?' + (rf"[^{pattern}]*" if len(sep) == 1 else r"\S*"))
    separator = re.compile(pattern)
    end = 0
    while (match := separator.match(text, field.match(text, end).end())) is not None:  # type: ignore[union-attr]
        yield match.span()
        end = match.end()
