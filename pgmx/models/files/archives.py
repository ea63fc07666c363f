"""Archives of arrays (npz) whose array `names` is a document, as networks are saved in."""

import json
import os
import zlib
from io import BytesIO
from typing import Any
from zipfile import BadZipFile

import numpy as np

from pgmx.models.files.formats import check_marks

#: What comes of files that are no archive, of damaged ones, and (a TypeError) of a single array.
_NOT_AN_ARCHIVE = (BadZipFile, zlib.error, NotImplementedError, AttributeError, TypeError)


def write_archive(document: dict, arrays: dict[str, Any]) -> bytes:
    """Return the archive of a document and arrays."""
    buffer = BytesIO()
    names = np.frombuffer(json.dumps(document, allow_nan=False).encode("ascii"), dtype=np.uint8)
    np.savez_compressed(buffer, names=names, **arrays)
    return buffer.getvalue()


def read_archive(raw: bytes) -> tuple[dict, dict[str, np.ndarray]]:
    """Return the document and all arrays of an archive; raise a ValueError or KeyError for anything else."""
    try:
        with np.load(BytesIO(raw), allow_pickle=False) as archive:
            arrays = dict(archive)
            document = json.loads(arrays["names"].tobytes())
    except _NOT_AN_ARCHIVE as error:
        raise ValueError(f"it is no archive of arrays: {error}") from error
    check_marks(document)
    return document, arrays


def has_type(path: str | os.PathLike, kind: str) -> bool:
    """Return whether a file is an archive whose document is of a type, without reading its other arrays."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return json.loads(archive["names"].tobytes()).get("type") == kind
    except FileNotFoundError:
        raise
    except (*_NOT_AN_ARCHIVE, KeyError, ValueError, OSError, EOFError):
        return False
