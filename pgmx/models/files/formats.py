"""What all formats share: the choice by suffix, the check of a target, marks of a document, damaged files, safe names.

A safe name is one that every reader takes as one word. A character that a format cannot hold is written as ``_x0020_``:
its code point in four or more hexadecimal digits, as SQL/XML (ISO 9075-14) has it. Only ASCII letters, digits and a few
marks remain, which pgmpy's readers and others read alike. A name which needs nothing of this is written as it is.
"""

import json
import os
import re
from collections.abc import Collection, Iterable, Set
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from pgmx import checks
from pgmx.checks import check_path

#: How every document begins.
MARKS = {"format": "pgmx", "version": 1}

#: Largest difference from 1 of a sum of probabilities: files of other programs hold rounded numbers.
_ROUNDING = 0.01

_LOWER = "abcdefghijklmnopqrstuvwxyz"
_WORD = frozenset(_LOWER + _LOWER.upper() + "0123456789_")
_EMPTY = "_xempty_"
_ESCAPE = re.compile("_x(?:([0-9a-f]{4,6})|empty)_")
# What must not follow an underscore that is meant as one.
_LIKE_ESCAPE = re.compile("x(?:[0-9a-f]{4,6}|empty)_", re.IGNORECASE)
# pgmpy's BIF reader takes numbers right behind these two words for probabilities, also inside a name.
_KEYWORD = re.compile("(table|default)(?=[-+.eE0-9])")


def choose_format(path: str | os.PathLike, format: str | None, formats: Collection[str]) -> tuple[Path, str]:
    """Return the path and its format, which is the suffix where `format` is None; raise for an unknown one."""
    path = check_path(path)
    name = path.suffix[1:].lower() if format is None else format
    if name not in formats:
        seen = f"suffix {path.suffix!r} of {path.name!r}" if format is None else f"format {format!r}"
        raise ValueError(f"unknown {seen}; expected one of {', '.join(formats)}")
    return path, name


def check_target(path: str | os.PathLike, format: str | None, formats: Collection[str]) -> tuple[Path, str]:
    """Return what `choose_format` does; raise where no file can be written, before anything is computed."""
    path, format = choose_format(path, format, formats)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file in it")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"cannot write {path.name}: there is no folder {path.parent}; make it first")
    return path, format


def explain_unreadable(path: Path, expected: str) -> AbstractContextManager[None]:
    """Turn whatever is raised over a damaged file into a ValueError: which file is not as expected, and why."""
    return checks.explain_unreadable(path, f"is not {expected}", "mend the file, or save the model again")


def check_marks(document: object, kind: str | None = None) -> None:
    """Raise for a document that is not ours, or not of the type `kind`."""
    if not isinstance(document, dict) or any(document.get(key) != value for key, value in MARKS.items()):
        raise ValueError("it is not marked as format 'pgmx', version 1")
    if kind is not None and document["type"] != kind:
        raise ValueError(f"its type is {document['type']!r}")


def load_json(text: str | bytes) -> Any:
    """Return what a JSON text holds; NaN and infinities, which Python's reader knows, are refused."""

    def refuse(word: str) -> None:
        raise ValueError(f"it holds {word}, which is no number")

    return json.loads(text.decode("utf-8") if isinstance(text, bytes) else text, parse_constant=refuse)


def check_list(value: object, what: str) -> list:
    """Return a list of a document, refusing all else: a text is no list of its letters."""
    if not isinstance(value, list):
        raise ValueError(f"{what} must be a list, got {value!r:.60}")
    return value


def check_distinct(values: Iterable, what: str) -> None:
    """Raise where a value occurs twice."""
    values = list(values)
    if len(set(values)) < len(values):
        twice = next(value for value in values if values.count(value) > 1)
        raise ValueError(f"{what} occur more than once, {twice!r} is one")


def check_labels(names: object, states: object) -> tuple[list, list[list]]:
    """Return names and states as lists, or raise."""
    names = check_list(names, "the names")
    check_distinct(names, "the names")
    pairs = zip(names, check_list(states, "the states"), strict=True)
    return names, [check_list(labels, f"the states of {name!r}") for name, labels in pairs]


def check_probabilities(table: np.ndarray, variable: object) -> None:
    """Raise where a table, shape (states, states of the parents), holds no distribution in each column."""
    if not (table >= 0.0).all():
        raise ValueError(f"the probabilities of {variable!r} hold {float(table[~(table >= 0.0)][0])!r}")
    sums = table.sum(axis=0)
    wrong = np.flatnonzero(~(abs(sums - 1.0) <= _ROUNDING))
    if len(wrong):
        raise ValueError(
            f"the probabilities of {variable!r} add up to {float(sums[wrong[0]]):.6g} in column {wrong[0]}, not to 1"
        )


# ---- safe names ----


def encode(text: str, extra: Set[str] = frozenset(), *, lower: bool = False) -> str:
    """Write a text with ASCII letters, digits, underscores and `extra` characters; with `lower` no capitals.

    The result is never empty, differs for different texts, and `decode` turns it back: "a b" becomes "a_x0020_b".
    """
    if not text:
        return _EMPTY
    keywords = {match.start() for match in _KEYWORD.finditer(text)}
    escaped = ""
    # From the right, because an underscore must be escaped when what follows it, as written, looks like an escape.
    for position in range(len(text) - 1, -1, -1):
        mark = text[position]
        plain = (mark in _WORD or mark in extra) and position not in keywords
        if plain and lower and mark != mark.lower():
            plain = False
        if plain and mark == "_" and _LIKE_ESCAPE.match(escaped):
            plain = False
        escaped = (mark if plain else f"_x{ord(mark):04x}_") + escaped
    return escaped


def decode(text: str) -> str:
    """Turn the result of `encode` back."""
    if text == _EMPTY:
        return ""
    return _ESCAPE.sub(_decode_escape, text)


def _decode_escape(match: re.Match) -> str:
    code = int(match[1] or "110000", 16)
    return chr(code) if code < 0x110000 else match[0]  # beyond Unicode: written by somebody else


def encode_all(values: Iterable, what: str, extra: Set[str] = frozenset(), *, ignore_case: bool = False) -> dict:
    """Return the written form of each name or state of any type; raise for two with the same text, such as 1 and "1".

    `what` says what they are, for the error; with `ignore_case` the forms differ also where ``A`` is read as ``a``.
    """
    texts: dict[str, object] = {}
    in_lower: dict[str, int] = {}
    values = list(values)
    for value in values:
        other = texts.setdefault(str(value), value)
        if other is not value and other != value:
            raise ValueError(
                f"{what}: {other!r} and {value!r} are both written {str(value)!r}; rename one, or use json"
            )
        in_lower[str(value).lower()] = in_lower.get(str(value).lower(), 0) + 1
    return {
        value: encode(str(value), extra, lower=ignore_case and in_lower[str(value).lower()] > 1) for value in values
    }
