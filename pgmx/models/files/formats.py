"""What all formats share: the choice by suffix, the check of a target, the marks of a document, damaged files."""

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from networkx import NetworkXError

__all__ = ["MARKS", "check_marks", "check_target", "choose_format", "explain_unreadable"]

#: How every document begins.
MARKS = {"format": "pgmx", "version": 1}

#: What readers of any format make of a file that is damaged or something else.
_UNREADABLE = (
    KeyError,
    TypeError,
    ValueError,
    IndexError,
    AttributeError,
    OSError,
    EOFError,
    SyntaxError,
    NetworkXError,
)


def choose_format(path: str | os.PathLike, format: str | None, formats: Collection[str]) -> tuple[Path, str]:
    """Return the path and its format, which is the suffix where `format` is None; raise for an unknown one."""
    path = Path(path)
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


@contextmanager
def explain_unreadable(path: Path, expected: str) -> Iterator[None]:
    """Turn what is raised over a damaged file into a ValueError that says which file is not as expected, and why."""
    try:
        yield
    except _UNREADABLE as error:
        reason = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"{path} is not {expected}: {reason}") from error


def check_marks(document: object, kind: str | None = None) -> None:
    """Raise for a document that is not ours, or not of the type `kind`."""
    if not isinstance(document, dict) or any(document.get(key) != value for key, value in MARKS.items()):
        raise ValueError("it is not marked as format 'pgmx', version 1")
    if kind is not None and document["type"] != kind:
        raise ValueError(f"its type is {document['type']!r}")
