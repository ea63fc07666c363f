"""Archives of arrays (npz) and compressed texts, with checks of all sizes before anything is decompressed."""

import os
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from gzip import GzipFile
from io import BytesIO
from math import prod
from tokenize import TokenError
from typing import IO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np

#: An archive: its bytes, its path, or an open file.
Source = bytes | str | os.PathLike[str] | IO[bytes]

#: Errors of zipfile and numpy for damaged files and files that are not archives of arrays.
_UNREADABLE = (BadZipFile, zlib.error, NotImplementedError, EOFError, RuntimeError, OverflowError, KeyError)
_BAD_HEADER = (ValueError, TypeError, SyntaxError, TokenError, EOFError, MemoryError, RecursionError, OverflowError)

_DEFLATE = 1032  # most bytes that one byte of deflate can expand to


def list_members(source: Source) -> dict[str, int]:
    """Return the size in bytes that each member of an archive declares; nothing is decompressed."""
    with _open(source) as archive:
        return {name: info.file_size for name, info in _list_infos(archive).items()}


def open_members(
    source: Source, allowed: Mapping[str, float], only: Collection[str] | None = None
) -> dict[str, np.ndarray]:
    """Return the arrays of an archive; ValueError if it is not valid, and OSError of the path.

    `allowed` gives the most bytes of each member, its header of 128 or more bytes included. An unknown or larger
    member is refused before anything is decompressed. `only` names the members that are read, all by default.
    """
    with _open(source) as archive:
        infos = _list_infos(archive)
        for name, info in infos.items():
            if name not in allowed:
                raise ValueError(f"it has the member {name[:80]!r}, which such a file does not have")
            if info.file_size > allowed[name]:
                raise ValueError(
                    f"its member {name!r} declares {info.file_size:,} bytes, but {int(allowed[name]):,} are allowed"
                )
        return {name: _read_array(archive, name, info) for name, info in infos.items() if only is None or name in only}


@contextmanager
def _open(source: Source) -> Iterator[ZipFile]:
    try:
        with ZipFile(BytesIO(source) if isinstance(source, bytes) else source) as archive:
            yield archive
    except _UNREADABLE as error:
        raise ValueError(f"it is damaged, or not an archive of arrays ({error})") from error


def _list_infos(archive: ZipFile) -> dict[str, ZipInfo]:
    """Return the entry of each member by its name; refuse members that numpy does not write."""
    infos: dict[str, ZipInfo] = {}
    for info in archive.infolist():
        name = info.filename.removesuffix(".npy")
        if name == info.filename or name in infos:
            raise ValueError(f"its member {info.filename[:80]!r} is not an array, or occurs twice")
        if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED) or info.flag_bits & 1:
            raise ValueError(f"its member {name[:80]!r} has an unknown compression")
        packed = min(info.compress_size, archive.start_dir)
        if info.file_size > (packed if info.compress_type == ZIP_STORED else _DEFLATE * (packed + 1)):
            raise ValueError(
                f"its member {name[:80]!r} declares {info.file_size:,} bytes, too many for {packed:,} packed bytes"
            )
        infos[name] = info
    return infos


def _read_array(archive: ZipFile, name: str, info: ZipInfo) -> np.ndarray:
    """Return the array of a member whose declared size was checked; no more bytes than that are decompressed."""
    longer = copy(info)
    longer.file_size += 1  # if the member holds more bytes than declared, one more is returned
    with archive.open(longer) as member:
        content = member.read(longer.file_size)
    if len(content) != info.file_size:
        raise ValueError(f"its member {name!r} does not have the {info.file_size:,} bytes that it declares")
    file = BytesIO(content)
    try:
        read_header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[np.lib.format.read_magic(file)]
        shape, in_columns, dtype = read_header(file)
    except (*_BAD_HEADER, KeyError) as error:
        raise ValueError(f"its member {name!r} does not begin like an array") from error
    data = memoryview(content)[file.tell() :]
    if dtype.kind not in "biufcSU" or dtype.subdtype is not None:
        raise ValueError(f"its member {name!r} holds {dtype.str}, not numbers or text")
    if not dtype.itemsize and 0 not in shape:
        raise ValueError(f"its member {name!r} declares the shape {shape!r:.80} of entries without bytes")
    if any(size < 0 for size in shape) or prod(shape) * dtype.itemsize != len(data):
        raise ValueError(f"its member {name!r} has {len(data):,} bytes, which do not fit its shape {shape!r:.80}")
    if not len(data):
        return np.empty(shape, dtype)
    return np.frombuffer(data, dtype).reshape(shape, order="F" if in_columns else "C").copy(order="K")


# ---- compressed texts ----

#: Most bytes of any compressed text, and most additional bytes per byte of its file.
_TEXT = 1 << 26
_PER_BYTE = 100


def most_unpacked(packed: bytes) -> int:
    """Return the most bytes that a compressed text may have."""
    return _TEXT + _PER_BYTE * len(packed)


def unpack_gzip(packed: bytes) -> bytes:
    """Return a text that gzip compressed; raise ValueError for another file, a damaged or too large one.

    No more than `most_unpacked` bytes are decompressed.
    """
    most = most_unpacked(packed)
    try:
        with GzipFile(fileobj=BytesIO(packed)) as file:
            text = file.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"it is damaged, or not compressed by gzip ({error})") from error
    if len(text) > most:
        raise ValueError(f"it unpacks to more than the {most:,} bytes that a file of {len(packed):,} bytes may have")
    return text
