"""Names that every reader of a network file takes as one word, and the way back.

A character that a format cannot hold is written as ``_x0020_``: its code point in four or more hexadecimal digits, as
SQL/XML (ISO 9075-14) has it. Only ASCII letters, digits and a few marks remain, which pgmpy's readers and others
read alike. A name which needs nothing of this is written as it is.
"""

import re
from collections.abc import Iterable, Set

__all__ = ["decode", "encode", "encode_all"]

_LOWER = "abcdefghijklmnopqrstuvwxyz"
_WORD = frozenset(_LOWER + _LOWER.upper() + "0123456789_")
_EMPTY = "_xempty_"
_ESCAPE = re.compile("_x(?:([0-9a-f]{4,6})|empty)_")
# What must not follow an underscore that is meant as one.
_LIKE_ESCAPE = re.compile("x(?:[0-9a-f]{4,6}|empty)_", re.IGNORECASE)
# pgmpy's BIF reader takes numbers right behind these two words for probabilities, also inside a name.
_KEYWORD = re.compile("(table|default)(?=[-+.eE0-9])")


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
