"""Archives of arrays (npz) whose array `names` is a json document."""

import json
import os
from collections.abc import Collection, Mapping
from io import BytesIO
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from pgmx.archives import list_members, open_members
from pgmx.checks import join_names
from pgmx.models.files.formats import check_marks, load_json

#: Most bytes of a document: a constant, plus bytes per entry of the arrays over variables, plus bytes per file byte.
_DOCUMENT = 1 << 20
_PER_ENTRY = 1024
_PER_BYTE = 100

#: Arrays with at least one entry per variable.
_PER_VARIABLE = ("node_values", "diagonal", "intercept")

#: Most bytes of the header of an array; names of the integer arrays.
_HEADER = 256
_INTEGERS = ("edges", "rows", "columns", "transform_starts")


def write_archive(document: dict, arrays: dict[str, Any]) -> bytes:
    """Return the archive of a document and arrays."""
    buffer = BytesIO()
    names = np.frombuffer(json.dumps(document, allow_nan=False).encode("ascii"), dtype=np.uint8)
    np.savez_compressed(buffer, names=names, **arrays)
    return buffer.getvalue()


def read_archived_document(raw: bytes) -> dict:
    """Return the document of an archive without decompressing its arrays."""
    sizes = list_members(raw)
    # The number of variables and the size of the file bound the document before it is decompressed.
    n_entries = next((sizes[key] // 8 for key in _PER_VARIABLE if key in sizes), 0)
    allowed: dict[str, float] = dict.fromkeys(sizes, inf)
    allowed["names"] = _DOCUMENT + min(_PER_ENTRY * n_entries, _PER_BYTE * len(raw))
    document = load_json(open_members(raw, allowed, ["names"])["names"].tobytes())
    check_marks(document)
    return document


def read_arrays(raw: bytes, most: Mapping[str, int], only: Collection[str] | None = None) -> dict[str, np.ndarray]:
    """Return the arrays of an archive, all or some; `most` gives the most entries that each can have."""
    sizes = {name: n * 8 + _HEADER for name, n in most.items()}
    arrays = open_members(raw, {"names": inf, **sizes}, most if only is None else only)
    absent = [name for name in (most if only is None else only) if name not in arrays]
    if absent:
        raise ValueError(f"it lacks the array(s) {join_names(absent)}")
    for name, array in arrays.items():
        if array.dtype.kind != ("i" if name in _INTEGERS else "f"):
            raise ValueError(f"its array {name!r} is of the type {array.dtype}")
    return arrays


def has_type(path: str | os.PathLike, kind: str) -> bool:
    """Return whether a file is an archive whose document is of a type, without reading its other arrays."""
    try:
        return read_archived_document(Path(path).read_bytes()).get("type") == kind
    except (KeyError, ValueError, RecursionError):
        return False
