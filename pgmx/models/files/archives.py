"""Archives of arrays (npz) whose array `names` is a document, as networks are saved in."""

from __future__ import annotations

import json
import zlib
from io import BytesIO
from zipfile import BadZipFile

import numpy as np
from networkx import NetworkXError

__all__ = ["NOT_AN_ARCHIVE", "UNREADABLE", "read_archive"]

#: What comes of files that are no archive, of damaged ones, and (a TypeError) of a single array.
NOT_AN_ARCHIVE = (BadZipFile, zlib.error, NotImplementedError, AttributeError, TypeError)

#: What readers of any format make of a file that is damaged or something else.
UNREADABLE = (
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


def read_archive(raw: bytes) -> tuple[dict, dict[str, np.ndarray]]:
    """Return the document and all arrays of an archive.

    Parameters
    ----------
    raw : bytes
        The file.

    Returns
    -------
    tuple of (dict, dict of str to ndarray)
        Document, marked as of pgmx, version 1, and arrays by name.

    Raises
    ------
    ValueError
        If the file is no such archive, or damaged.
    KeyError
        If it has no array `names`.
    """
    try:
        with np.load(BytesIO(raw), allow_pickle=False) as archive:
            arrays = dict(archive)
            told = json.loads(arrays["names"].tobytes())
            marks = told.get("format"), told.get("version")
    except NOT_AN_ARCHIVE as error:
        raise ValueError(f"it is no archive of arrays: {error}") from error
    if marks != ("pgmx", 1):
        raise ValueError("it is not marked as format 'pgmx', version 1")
    return told, arrays
