"""Plane files: a coded table on disk, mapped into memory when it is opened.

Layout, little-endian: a header of 64 bytes; from byte 4096 the codes, variable after variable; the bit planes, state
after state, from the next multiple of 4096; then the names, states and checksums as JSON. The header holds the shapes,
the place of the JSON and checksums of it and of itself, and is written last.
"""

import json
import mmap
import os
import struct
import zlib
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from pgmx._ext import _rows
from pgmx.atomic import replace_file
from pgmx.checks import join_names
from pgmx.data.table import MAX_BYTE_STATES, DiscreteTable

PLANE_SUFFIX = ".pgmx"
VERSION = 1

#: Rows that a writer handles at a time, a multiple of 512.
BLOCK_ROWS = 1 << 18

_MAGIC = b"PGMXTAB\n"
_PAGE = 4096
# magic, version, bytes a code, variables, rows, planes, start and length of the JSON, its checksum, the header's own
_HEADER = struct.Struct("<8sIIQQQQQII")
_SCALARS = (str, int, bool, float, type(None))


class PlaneWriter:
    """Writer of a plane file; what is there under its name is replaced only when all is written.

    The arguments are as of `DiscreteTable`; `durable` makes it wait until the disk has the file. Raises TypeError if a
    name or a state is neither string, number, boolean, None nor a tuple of these.
    """

    def __init__(self, path, columns, states, missing_codes, n_rows, *, durable=True):
        cardinalities = np.array([len(names) for names in states])
        self.dtype = np.dtype("<u1" if cardinalities.max() <= MAX_BYTE_STATES else "<u2")
        self._n_planes = np.where(cardinalities <= MAX_BYTE_STATES, cardinalities, 0)
        self._first_plane = np.cumsum(self._n_planes) - self._n_planes
        self._shape = (len(columns), n_rows)
        self._sums: dict[str, list[int]] = {"codes": [0] * len(columns), "planes": [0] * int(self._n_planes.sum())}
        self._meta = {
            "columns": [_storable(name, "column name", name) for name in columns],
            "states": [
                [_storable(state, "state", name) for state in names]
                for name, names in zip(columns, states, strict=True)
            ],
            "missing_codes": [int(code) for code in missing_codes],
            "checksums": self._sums,
        }
        self._stack = ExitStack()
        part = self._stack.enter_context(replace_file(path, durable=durable))
        self._file = self._stack.enter_context(open(part, "r+b", buffering=0))  # noqa: SIM115, the stack closes it

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is not None:
            self._stack.__exit__(kind, error, trace)
            return
        with self._stack:
            self._write_ends()

    def write_column(self, v, blocks):
        """Write codes and planes of variable v from blocks of its codes, `BLOCK_ROWS` at a time but for the last."""
        places = _places(*self._shape, int(self._n_planes.sum()), self.dtype.itemsize)
        first_plane, n_planes = int(self._first_plane[v]), int(self._n_planes[v])
        first = 0
        for codes in blocks:
            at = places.codes + (v * self._shape[1] + first) * self.dtype.itemsize
            self._sums["codes"][v] = self._write(at, codes, self._sums["codes"][v])
            n_words = (len(codes) + 511) // 512 * 8
            planes = np.empty((n_planes, n_words), dtype=np.uint64)
            _rows.pack_block(codes.astype(np.uint8, copy=False), planes)
            for p, plane in enumerate(planes, first_plane):
                at = places.planes + 8 * (p * places.n_words + first // 64)
                self._sums["planes"][p] = self._write(at, plane, self._sums["planes"][p])
            first += len(codes)

    def _write(self, at, array, checksum):
        """Write an array from a position on; return the checksum continued by it."""
        rest = np.ascontiguousarray(array).data.cast("B")
        checksum = zlib.crc32(rest, checksum)
        self._file.seek(at)
        while rest:
            rest = rest[self._file.write(rest) :]
        return checksum

    def _write_ends(self):
        """Write the JSON behind the planes and the header before the codes."""
        n_planes = int(self._n_planes.sum())
        places = _places(*self._shape, n_planes, self.dtype.itemsize)
        text = json.dumps(self._meta, separators=(",", ":")).encode("ascii")
        checksum = self._write(places.meta, np.frombuffer(text, np.uint8), 0)
        fields = (_MAGIC, VERSION, self.dtype.itemsize, *self._shape, n_planes, places.meta, len(text), checksum)
        bare = _HEADER.pack(*fields, 0)
        self._write(0, np.frombuffer(_HEADER.pack(*fields, zlib.crc32(bare)), np.uint8), 0)


class _places:
    """Where the parts of a plane file begin."""

    def __init__(self, n_variables, n_rows, n_planes, itemsize):
        self.n_words = (n_rows + 511) // 512 * 8
        self.codes = _PAGE
        self.planes = -(-(self.codes + n_variables * n_rows * itemsize) // _PAGE) * _PAGE
        self.meta = self.planes + 8 * n_planes * self.n_words


def write_coded(table, path, *, durable=True):
    """Write a coded table to a plane file, block by block."""
    with PlaneWriter(path, table.columns, table.states, table.missing_codes, table.n_rows, durable=durable) as writer:
        for v, row in enumerate(table.codes):
            writer.write_column(v, (row[i : i + BLOCK_ROWS] for i in range(0, len(row), BLOCK_ROWS)))


def open_table(path: str | os.PathLike[str], *, verify: bool = False) -> DiscreteTable:
    """Open a plane file.

    Parameters
    ----------
    path : str or path-like
        A file written by `write_table`.
    verify : bool, default=False
        Whether to read the whole file and compare its checksums. Without, only the header, the names and the length are
        checked, and no row is read before it is needed.

    Returns
    -------
    DiscreteTable
        Its codes and planes are read-only memory maps, which share the memory of the system's file cache among all
        processes that open the file. It is pickled as the file's path.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is no plane file, was written by another version, is truncated, or its content was changed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pandas as pd
    >>> from pgmx.data import open_table, write_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "weather.pgmx")
    ...     _ = write_table(pd.DataFrame({"rain": [False, True], "sky": ["blue", "grey"]}), path)
    ...     open_table(path)
    DiscreteTable(2 variables, 2 rows, 4 states, uint8)
    """
    path = Path(path).absolute()
    if not path.is_file():
        raise FileNotFoundError(f"no such file: {path}")
    with open(path, "rb") as file:
        header = _read_header(path, file.read(_HEADER.size))
        _, _, itemsize, n_variables, n_rows, n_planes, meta_at, meta_bytes, meta_sum, header_sum = header
        size = os.fstat(file.fileno()).st_size
        if size != meta_at + meta_bytes:
            raise ValueError(f"{path} is truncated or was changed: {size} bytes, not {meta_at + meta_bytes}")
        file.seek(meta_at)
        text = file.read(meta_bytes)
        if zlib.crc32(text) != meta_sum:
            raise _corruption_error(path)
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    meta = json.loads(text)
    places = _places(n_variables, n_rows, n_planes, itemsize)
    codes = np.frombuffer(memory, f"<u{itemsize}", n_variables * n_rows, places.codes).reshape(n_variables, n_rows)
    planes = np.empty((0, places.n_words), dtype="<u8")
    if n_planes:
        planes = np.frombuffer(memory, "<u8", n_planes * places.n_words, places.planes).reshape(n_planes, -1)
    if verify:
        for part, rows in (("codes", codes), ("planes", planes)):
            if [zlib.crc32(row.data) for row in rows] != meta["checksums"][part]:
                raise _corruption_error(path)
    states = tuple(tuple(map(_restore, names)) for names in meta["states"])
    offsets = np.cumsum([0, *(len(names) if len(names) <= MAX_BYTE_STATES else 0 for names in states)])
    return DiscreteTable._from_file(
        tuple(map(_restore, meta["columns"])),
        states,
        codes,
        meta["missing_codes"],
        (planes, offsets),
        path,
        (_reopen, (str(path), (meta_sum, header_sum))),
    )


def _reopen(path, stamp):
    """Open the plane file of a pickled table, which must be the one that it was mapped from."""
    if not Path(path).is_file():
        raise FileNotFoundError(
            f"no such file: {path}. A table mapped from a plane file is sent to other processes as a path: keep the "
            "file, on a disk that all of them see, as long as they run"
        )
    table = open_table(path)
    if table._origin is None or table._origin[1][1] != stamp:
        raise ValueError(f"{path} was written anew since the table was opened: open it again")
    return table


def _read_header(path, raw):
    """Return the fields of a header, or raise."""
    if len(raw) < _HEADER.size or not raw.startswith(_MAGIC):
        raise ValueError(f"{path} is no plane file: pgmx.data.write_table makes one")
    header = _HEADER.unpack(raw)
    if header[1] != VERSION:
        raise ValueError(
            f"{path} is a plane file of version {header[1]}, this pgmx reads version {VERSION}: write it again with "
            "pgmx.data.write_table"
        )
    if zlib.crc32(_HEADER.pack(*header[:-1], 0)) != header[-1]:
        raise _corruption_error(path)
    return header


def _corruption_error(path):
    return ValueError(f"{path} is corrupted, its checksums do not fit: write it again with pgmx.data.write_table")


def _storable(value, what, name):
    """Return a name or a state as JSON can keep it with its type."""
    if type(value) in _SCALARS:
        return value
    if type(value) is tuple:
        return {"tuple": [_storable(item, what, name) for item in value]}
    raise TypeError(
        f"the {what} {value!r} of column {name!r} is of type {type(value).__name__}, which a plane file cannot hold: "
        f"convert it to one of {join_names(kind.__name__ for kind in _SCALARS[:-1])}"
    )


def _restore(value):
    """Undo `_storable`."""
    return tuple(map(_restore, value["tuple"])) if isinstance(value, dict) else value
