"""Words of text files that are missing values, or text although they have digits only; a warning about odd words."""

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from pgmx.checks import caller_level, join_names
from pgmx.data.errors import UnknownColumnsError

#: Words that are missing values: as in pandas except for "None", which is a state in many tables.
MISSING_WORDS = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"),
)

#: Most distinct non-numeric values of a column with markers, and its least number of distinct numeric values.
_MOST_WORDS, _FEWEST_NUMBERS = 3, 3


#: Digits after a zero, such as postal codes: a numeric column would lose the zeros.
_CODE = re.compile(r"\s*0\d+\s*")


def is_code(word: Any) -> bool:
    """Return whether a word is a code such as 01234; a column with one holds text."""
    return isinstance(word, str) and _CODE.fullmatch(word) is not None


def read_number(word: str) -> float | None:
    """Return the number that a word is, None for other words and for codes."""
    try:
        return None if "_" in word or is_code(word) else float(word)
    except ValueError:
        return None


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
        number = read_number(word)
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
