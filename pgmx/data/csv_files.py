"""CSV files: their layout, rows with fields outside the columns, and words that are missing values.

`find_layout` finds the separator, the decimal point, and fields of rows that are in no column (row names, trailing
separators). `open_row_stream` gives pandas the rows without these fields. `choose_missing_words` lists the words that
are missing values, and `warn_of_markers` names others that look like them.
"""

import bz2
import csv
import gzip
import io
import lzma
import re
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import pandas as pd

from pgmx.checks import caller_level, join_names
from pgmx.data.errors import UnknownColumnsError

#: First rows, which decide whether rows have names or end in separators.
_DECIDING_ROWS = 1000

#: The regular expression of pandas for any white space, with quotes; it ignores quotes for all other expressions.
_SPACES = r"\s+"

#: Separators that are recognised if the usual one of the file's suffix is not in its header.
_OTHERS = (";", "\t", "|", ",")

#: Separators that are suspected but not recognised, since names and values may contain them.
_UNUSUAL = "#:^~!&%@/\\\x1f\xa6"

#: Lines that are read to find the layout.
_SAMPLE = 200

_COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+(e[+-]?\d+)?", re.IGNORECASE)

_POINT_NUMBER = re.compile(r"[+-]?\d*\.\d+(e[+-]?\d+)?", re.IGNORECASE)

_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")

#: Words that are missing values: as in pandas except for "None", which is a state in many tables.
MISSING_WORDS = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"),
)

#: Most distinct non-numeric values of a column with markers, and its least number of distinct numeric values.
_MOST_WORDS, _FEWEST_NUMBERS = 3, 3


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
        if len(self.sep) > 1 and self.sep != _SPACES:  # the fast parser supports no other regular expression
            options |= {"engine": "python", "low_memory": True}
        return options


# ---- layout: separator and decimal point ----


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
    if sep is None:
        sep = usual
        rows = _split(lines, usual, is_whole)
        if len(rows[0]) < 2 or len({len(row) for row in rows[1:]} - {len(rows[0]), len(rows[0]) + 1}) > 0:
            sep = next((other for other in _OTHERS if _is_table(_split(lines, other, is_whole))), usual)
            _refuse_spaces(path, lines, is_whole)
            _refuse_unusual(path, lines)
    rows = _split(lines, sep, is_whole)
    decimal = decimal or _find_decimal(rows, sep)
    extra = None
    with open_text(path, errors="replace") as file, suppress(csv.Error):
        extra = _find_extra_fields(read_records(file, sep), sep, str(path))
    names_rows = extra is not None and extra.names_rows
    counts_rows = len(rows[0]) > 1 and not rows[0][0].strip() and not names_rows and _is_count(rows)
    if counts_rows or names_rows:
        _warn_of_left_out(path.name, "counts the rows" if _is_count(rows) else "holds row names")
    return CsvLayout(sep, decimal, counts_rows, extra)


def is_text_table(path: Path) -> bool:
    """Return whether a file of an unknown suffix is text whose first lines have equal numbers of fields."""
    try:
        lines, is_whole = _read_lines(path, errors="strict")
    except (OSError, ValueError, EOFError, lzma.LZMAError, zipfile.BadZipFile):
        return False
    if len(lines) < 2 or lines[0].lstrip()[:1] in tuple("{[<") or any("\0" in line for line in lines):
        return False  # JSON and XML may have as many commas in all lines
    return any(_is_table(_split(lines, sep, is_whole)) for sep in (*_OTHERS, _SPACES))


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


def _refuse_spaces(path: Path, lines: list[str], is_whole: bool) -> None:
    words = _split(lines, _SPACES, is_whole)
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


# ---- the rows of a text ----


@contextmanager
def open_text(path: Path, errors: str = "strict") -> Iterator[io.TextIOBase]:
    """Open a file as text, decompressed as its suffix says."""
    openers = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    suffix = path.suffix.lower()
    options: dict[str, Any] = {"encoding": "utf-8-sig", "errors": errors, "newline": ""}
    if suffix == ".zip":
        with zipfile.ZipFile(path) as archive, archive.open(archive.namelist()[0]) as member:
            yield io.TextIOWrapper(member, **options)
    else:
        with openers.get(suffix, open)(path, "rt", **options) as file:  # type: ignore[operator]
            yield file


def read_records(lines: Iterable[str], sep: str) -> Iterator[CsvRecord]:
    """Yield the rows of a text that are not blank."""
    numbered = enumerate(lines, 1)
    has_quotes = len(sep) == 1 or sep == _SPACES
    for number, line in numbered:
        text = line.removeprefix("\ufeff") if number == 1 else line
        if not text.strip() and (len(sep) != 1 or sep not in text):
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
        yield line.strip().replace("\t", " ") if sep == _SPACES else line


def _dialect(sep: str) -> dict[str, Any]:
    return {"delimiter": " ", "skipinitialspace": True} if sep == _SPACES else {"delimiter": sep}


# ---- fields outside the columns: row names, trailing separators ----


def _find_extra_fields(records: Iterator[CsvRecord], sep: str, name: str = "") -> ExtraFields | None:
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


def _warn_of_left_out(name: str, what: str) -> None:
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
    elif extra is not None:
        with open_text(source) as file:
            yield _RowStream(file, sep, str(source), extra)
    else:
        try:
            yield source
        except pd.errors.ParserError:  # its message counts rows, not lines
            with open_text(source) as file, suppress(csv.Error):
                _check_rows(read_records(file, sep), sep, str(source))
            raise


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
            extra = _find_extra_fields(iter(first), sep)
            if extra is not None and extra.names_rows:
                _warn_of_left_out("the stream", "holds row names")
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


# ---- words that are missing values, and others that look like them ----


def choose_missing_words(na_values: Any, columns: Sequence | None) -> Any:
    """Return the missing values for pandas: the usual words, and the words given by the user.

    `columns` are the names in the file, which a mapping may refer to; None if they are not known.
    """
    if isinstance(na_values, Mapping):
        known = list(columns or ())
        unknown = [name for name in na_values if name not in known]
        if unknown:
            raise UnknownColumnsError(
                f"na_values has unknown column(s) {join_names(unknown)}: the columns are {join_names(known)}", unknown
            )
        return {name: [*MISSING_WORDS, *_list_values(na_values.get(name))] for name in known}
    return [*MISSING_WORDS, *_list_values(na_values)]


def _list_values(values: Any) -> list:
    if values is None:
        return []
    if isinstance(values, str) or not isinstance(values, Iterable):
        return [values]
    return list(values)


class MarkerCounts:
    """Counts the values of a column of words that may be markers of missing values.

    Markers are "?" and blanks in any column, and the other values that are not numeric, if the column has at most 3 of
    them and at least 3 distinct numeric values.
    """

    def __init__(self) -> None:
        self._markers: dict[str, int] = {}
        self._words: dict[str, int] = {}
        self._numbers: set[float] = set()

    def add(self, words: Iterable, counts: Iterable[int]) -> None:
        """Enter distinct values, and how often each occurs."""
        for word, count in zip(words, counts, strict=True):
            if not isinstance(word, str):
                continue
            if word.strip() in ("", "?"):
                self._markers[word] = self._markers.get(word, 0) + count
            elif not self._is_text:
                self._enter(word, count)

    def _enter(self, word: str, count: int) -> None:
        number = _read_number(word)
        if number is None:
            self._words[word] = self._words.get(word, 0) + count
        elif len(self._numbers) < _FEWEST_NUMBERS:
            self._numbers.add(number)

    @property
    def _is_text(self) -> bool:
        return len(self._markers) + len(self._words) > _MOST_WORDS

    def merge(self, other: "MarkerCounts") -> None:
        """Enter the values of further rows of the column."""
        for words in (other._markers, other._words):
            self.add(words, words.values())
        self.add(map(str, other._numbers), [0] * len(other._numbers))

    def list_markers(self) -> dict[str, int]:
        """Return the values that look like markers, with their counts."""
        if self._is_text or len(self._numbers) < _FEWEST_NUMBERS:
            return dict(self._markers)
        return self._markers | self._words


def _read_number(word: str) -> float | None:
    try:
        return None if "_" in word else float(word)
    except ValueError:
        return None


def count_markers(column: pd.Series) -> MarkerCounts:
    """Return the counts of a whole column."""
    counts = column.value_counts()
    found = MarkerCounts()
    found.add(counts.index.tolist(), counts.tolist())
    return found


def warn_of_markers(counts: Mapping[Any, MarkerCounts]) -> None:
    """Warn the caller of pgmx of values that look like markers of missing values, by column."""
    found = {name: markers for name, of_column in counts.items() if (markers := of_column.list_markers())}
    if not found:
        return
    cells = [
        f"{name!r} ({', '.join(f'{value!r}: {count:,}' for value, count in markers.items())})"
        for name, markers in list(found.items())[:10]
    ]
    more = f" and {len(found) - 10} more" if len(found) > 10 else ""
    values = list(dict.fromkeys(value for markers in found.values() for value in markers))
    shown = values[:10]
    options = " ".join(f"--na {value!r}" for value in shown)
    warnings.warn(
        f"column(s) {', '.join(cells)}{more} hold values that look like markers of missing values, with their counts, "
        f"and are read as discrete. If the values are missing, give the learner or pgmx.data.read_table "
        f"na_values={shown!r} (command line: {options}). If they are states, give na_values=[] (command line: --na '')",
        UserWarning,
        stacklevel=caller_level(),
    )
