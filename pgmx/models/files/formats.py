"""Rules of all formats: suffixes, compressed files, encodings, XML, marks of a document, damaged files, safe names.

A safe name is read as one word by every reader. A character that a format cannot hold is written as ``_x0020_``: its
code point in four or more hexadecimal digits, as in SQL/XML (ISO 9075-14). The result has only ASCII letters, digits
and a few marks, which all readers, including pgmpy's, read in the same way. Other names are written unchanged.
"""

import codecs
import gzip
import json
import math
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Set
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NoReturn
from xml.etree import ElementTree

import numpy as np

from pgmx import archives, checks
from pgmx.checks import check_path

#: How every document begins.
MARKS = {"format": "pgmx", "version": 1}

#: Largest difference of a sum of probabilities from 1: files of other programs hold rounded values.
_ROUNDING = 0.01

#: Formats by additional suffixes of their files, and XML formats by the name of their root.
_FURTHER_SUFFIXES = {"bifxml": "xmlbif"}
_ROOTS = {"BIF": "xmlbif", "smile": "xdsl", "graphml": "graphml"}
_COMPRESSED = ".gz"

#: Suffixes of formats of Bayesian networks that are not supported, with their names.
_FOREIGN = {
    "dne": "Netica's DNE",
    "neta": "Netica's NETA",
    "dsc": "DSC (Microsoft and Netica)",
    "dsl": "DSL (GeNIe before XDSL)",
    "oobn": "Hugin's object-oriented networks",
}

#: Encodings by the byte-order mark of a text, the longer marks first.
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_DECLARES_ENCODING = re.compile(rb"<\?xml[^>]*encoding")

_LOWER = "abcdefghijklmnopqrstuvwxyz"
_WORD = frozenset(_LOWER + _LOWER.upper() + "0123456789_")
_EMPTY = "_xempty_"
# Prefix of an encoded text that must begin with a letter.
_LETTER_FIRST = "n_xempty_"
_UNSAFE = re.compile("[^A-Za-z0-9]")
_ESCAPE = re.compile("_x(?:([0-9a-f]{4,6})|empty)_")
# A literal underscore before this pattern must be escaped.
_LIKE_ESCAPE = re.compile("x(?:[0-9a-f]{4,6}|empty)_", re.IGNORECASE)
# pgmpy's BIF reader reads numbers directly after these two words as probabilities, even inside a name.
_KEYWORD = re.compile("(table|default)(?=[-+.eE0-9])")


def format_of(path: str | os.PathLike) -> str:
    """Return the format in the name of a file, unknown or empty ones too: the suffix, without ``.gz``."""
    name = Path(path)
    inner = Path(name.stem).suffix[1:].lower()
    suffix = inner if name.suffix.lower() == _COMPRESSED and inner != "npz" else name.suffix[1:].lower()
    return _FURTHER_SUFFIXES.get(suffix, suffix)


def choose_format(path: str | os.PathLike, format: str | None, formats: Collection[str]) -> tuple[Path, str]:
    """Return the path and its format (the suffix if `format` is None); raise for an unknown format."""
    path = check_path(path)
    name = format_of(path) if format is None else format
    if name in _FOREIGN:
        raise ValueError(
            f"{path.name}: {_FOREIGN[name]} is not supported: save the network as net, xdsl or bif with another program"
        )
    if name not in formats:
        seen = f"suffix {path.suffix!r} of {path.name!r}" if format is None else f"format {format!r}"
        remedy = "; for another suffix give format= (pgmx convert --format)" if format is None else ""
        raise ValueError(f"unknown {seen}; expected one of {', '.join(formats)}{remedy}")
    return path, name


def find_format(path: str | os.PathLike, format: str | None, formats: Collection[str]) -> tuple[Path, str]:
    """Return the path and its format as `choose_format`; the content determines the format of a .xml file."""
    path = check_path(path)
    if format is None and format_of(path) == "xml":
        raw = read_content(path)
        with explain_unreadable(path, "a network in XML"):
            format = find_xml_format(raw)
    return choose_format(path, format, formats)


def check_target(path: str | os.PathLike, format: str | None, formats: Collection[str]) -> tuple[Path, str]:
    """Return the path and its format as `choose_format`; raise if no file can be written there."""
    path, format = choose_format(path, format, formats)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file in it")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"cannot write {path.name}: there is no folder {path.parent}; make it first")
    return path, format


def read_content(path: Path) -> bytes:
    """Return the bytes of a file, decompressed if its suffix is ``.gz``."""
    raw = path.read_bytes()
    if path.suffix.lower() != _COMPRESSED:
        return raw
    with explain_unreadable(path, "a file compressed by gzip"):
        return archives.unpack_gzip(raw)


def pack_content(path: Path, raw: bytes) -> bytes:
    """Return the bytes to write to a file, compressed if its suffix is ``.gz``; the same for the same network."""
    if path.suffix.lower() != _COMPRESSED:
        return raw
    # Without a time the same network gives the same file.
    packed = gzip.compress(raw, mtime=0)
    # Readers refuse files that expand too much, as bombs do.
    if len(raw) > archives.most_unpacked(packed):
        raise ValueError(
            f"{path.name}: the content is compressed too much to be read again; write it without {_COMPRESSED}"
        )
    return packed


def explain_unreadable(path: Path, expected: str) -> AbstractContextManager[None]:
    """Convert any error over a damaged file into a ValueError that names the file and the reason."""
    return checks.explain_unreadable(path, f"is not {expected}", "repair the file, or save the model again")


def check_marks(document: object, kind: str | None = None) -> None:
    """Raise for a document that pgmx did not write, or not of the type `kind`."""
    if not isinstance(document, dict) or any(document.get(key) != value for key, value in MARKS.items()):
        raise ValueError("it is not marked as format 'pgmx', version 1")
    if kind is not None and document["type"] != kind:
        raise ValueError(f"its type is {document['type']!r}")


def load_json(text: str | bytes) -> Any:
    """Return the content of a JSON text; NaN, infinities and numbers that overflow are refused."""

    def refuse(word: str) -> NoReturn:
        raise ValueError(f"it holds {word:.60}, which is not a finite number")

    def read_number(word: str) -> float:
        number = float(word)
        if not math.isfinite(number):
            refuse(word)
        return number

    text = decode_text(text) if isinstance(text, bytes) else text
    return json.loads(text, parse_constant=refuse, parse_float=read_number)


def check_list(value: object, what: str) -> list:
    """Return a list of a document; raise for other types, including text."""
    if not isinstance(value, list):
        raise ValueError(f"{what} must be a list, got {value!r:.60}")
    return value


def check_name(value: object) -> str:
    """Return the name of a network, by default empty; raise if it is not text."""
    if not isinstance(value, str):
        raise ValueError(f"its name is {value!r:.60}")
    return value


def check_distinct(values: Iterable, what: str) -> None:
    """Raise if a value occurs twice."""
    twice = [value for value, count in Counter(values).items() if count > 1]
    if twice:
        raise ValueError(f"{what} occur more than once, such as {twice[0]!r}")


def check_labels(names: object, states: object) -> tuple[list, list[list]]:
    """Return names and states as lists, or raise."""
    names = check_list(names, "the names")
    check_distinct(names, "the names")
    pairs = zip(names, check_list(states, "the states"), strict=True)
    return names, [check_list(labels, f"the states of {name!r}") for name, labels in pairs]


def check_probabilities(table: np.ndarray, variable: object) -> None:
    """Raise unless each column of a table, shape (states, states of the parents), is a distribution."""
    if not (table >= 0.0).all():
        raise ValueError(f"the probabilities of {variable!r} hold {float(table[~(table >= 0.0)][0])!r}")
    sums = table.sum(axis=0)
    wrong = np.flatnonzero(~(abs(sums - 1.0) <= _ROUNDING))
    if len(wrong):
        raise ValueError(
            f"the probabilities of {variable!r} add up to {float(sums[wrong[0]]):.6g} in column {wrong[0]}, not to 1"
        )


# ---- text ----


def decode_text(raw: bytes) -> str:
    """Return a text in UTF-8, or in the encoding of its byte-order mark."""
    mark = next((mark for mark in _BYTE_ORDER_MARKS if raw.startswith(mark)), b"")
    encoding = _BYTE_ORDER_MARKS.get(mark, "utf-8")
    try:
        return raw[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, len(mark) + error.start) + 1
        raise ValueError(
            f"it is not text in {encoding.upper()}, as byte 0x{error.object[error.start]:02x} in line {line} shows: "
            "convert it to UTF-8"
        ) from None


def drop_comments(text: str, comments: str) -> str:
    r"""Return a text without its comments; each text in double quotes becomes one word that `decode` decodes.

    `comments` is a regular expression. Line numbers do not change. In quotes a backslash escapes a quote or itself.
    """

    def replace(match: re.Match) -> str:
        word = "" if match[1] is None else re.sub(r"\\([\\\"])", r"\1", match[1])
        safe = "" if match[1] is None else f" {_UNSAFE.sub(_escape, word) or _EMPTY} "
        return safe + "\n" * match[0].count("\n")

    # An unclosed text matches to the end: a failed search at every quote would take quadratic time.
    return re.sub(r'"([^"\\]*(?:\\.[^"\\]*)*)(?:"|\\?\Z)|' + comments, replace, text, flags=re.DOTALL)


def parse_xml(raw: bytes) -> ElementTree.Element:
    """Return the root of an XML document, in the encoding that it declares; blanks may precede it."""
    mark = next((mark for mark in _BYTE_ORDER_MARKS if raw.startswith(mark)), None)
    if mark is not None:  # for decoded text the parser ignores the declared encoding
        return ElementTree.fromstring(decode_text(raw).lstrip())
    raw = raw.lstrip()
    try:
        return ElementTree.fromstring(raw)
    except ElementTree.ParseError:
        if not _DECLARES_ENCODING.match(raw):
            decode_text(raw)
        raise


def find_xml_format(raw: bytes) -> str:
    """Return the format of a document in XML by the name of its root."""
    root = parse_xml(raw).tag.rpartition("}")[2]
    if root not in _ROOTS:
        raise ValueError(f"its root is {root!r:.60}; expected one of {', '.join(map(repr, _ROOTS))}")
    return _ROOTS[root]


def find_texts(element: ElementTree.Element, tag: str) -> list[str]:
    """Return the texts of the children with a name, without blanks around them."""
    return [(child.text or "").strip() for child in element.findall(tag)]


def find_text(element: ElementTree.Element, tag: str, what: str) -> str:
    """Return the text of the only child with a name; raise if there is none, or more than one."""
    texts = find_texts(element, tag)
    if len(texts) != 1 or not texts[0]:
        raise ValueError(f"{what} has {'more than one' if len(texts) > 1 else 'no'} {tag}")
    return texts[0]


# ---- safe names ----


def encode(text: str, extra: Set[str] = frozenset(), *, lower: bool = False, letter_first: bool = False) -> str:
    """Write a text with ASCII letters, digits, underscores and `extra` characters; with `lower` without capitals.

    The result is never empty and differs for different texts: "a b" becomes "a_x0020_b". `decode` is the inverse. With
    `letter_first` the result begins with a letter: "1" becomes "n_xempty_1".
    """
    if letter_first:
        escaped = encode(text, extra, lower=lower) if text else ""
        return escaped if escaped[:1].isalpha() else _LETTER_FIRST + escaped
    if not text:
        return _EMPTY
    keywords = {match.start() for match in _KEYWORD.finditer(text)}
    escaped = ""
    # From the right: an underscore must be escaped if the encoded text after it looks like an escape.
    for position in range(len(text) - 1, -1, -1):
        mark = text[position]
        plain = (mark in _WORD or mark in extra) and position not in keywords
        if plain and lower and mark != mark.lower():
            plain = False
        if plain and mark == "_" and _LIKE_ESCAPE.match(escaped):
            plain = False
        escaped = (mark if plain else f"_x{ord(mark):04x}_") + escaped
    return escaped


def _escape(match: re.Match) -> str:
    return f"_x{ord(match[0]):04x}_"


def decode(text: str) -> str:
    """Return the text that `encode` encoded."""
    if text == _EMPTY:
        return ""
    return _ESCAPE.sub(_decode_escape, text.removeprefix(_LETTER_FIRST))


def _decode_escape(match: re.Match) -> str:
    # `_xempty_` within a text has no code point and is kept: 110000 is above all of them.
    code = int(match[1] or "110000", 16)
    return chr(code) if code < 0x110000 else match[0]  # not a Unicode character: not written by `encode`


def list_distinct_texts(values: Iterable, what: str) -> dict:
    """Return the text of each name or state of any type; raise for two with the same text, such as 1 and "1".

    `what` describes them in the error.
    """
    texts: dict[str, object] = {}
    for value in values:
        other = texts.setdefault(str(value), value)
        if other is not value and other != value:
            raise ValueError(
                f"{what}: {other!r} and {value!r} are both written as {str(value)!r}; rename one, or use json"
            )
    return {value: text for text, value in texts.items()}


def encode_distinct_texts(
    values: Iterable, what: str, extra: Set[str] = frozenset(), *, ignore_case: bool = False, letter_first: bool = False
) -> dict:
    """Return the encoded text of each name or state of any type; raise as `list_distinct_texts`.

    With `ignore_case` the encoded texts differ by more than their case.
    """
    texts = list_distinct_texts(values, what)
    in_lower = Counter(text.lower() for text in texts.values())
    return {
        value: encode(text, extra, lower=ignore_case and in_lower[text.lower()] > 1, letter_first=letter_first)
        for value, text in texts.items()
    }
