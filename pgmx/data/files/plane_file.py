"""Plane files: the layout of a coded table on disk, and its writer; `plane_reader` opens them.

Layout, little-endian: a header of 64 bytes; from byte 4096 the codes, variable after variable; the bit planes, state
after state, from the next multiple of 4096; then the names, states and checksums as JSON, to the end of the file. The
header holds the shapes, the place of the JSON and checksums of it and of itself, and is written last. The codes of a
variable and each plane have a checksum of their own. Format 1, without the guarantee that checksums are compared before
the rows are used, is refused.
"""

import json
import struct
import zlib

import numpy as np

from pgmx._ext import _rows
from pgmx._ext._checksums import Checksum
from pgmx.atomic import write_all
from pgmx.checks import join_names
from pgmx.data.table import MAX_BYTE_STATES

PLANE_SUFFIX = ".pgmx"
VERSION = 2

#: Rows that a writer handles at a time, a multiple of 512.
BLOCK_ROWS = 1 << 18

MAGIC = b"PGMXTAB\n"
_PAGE = 4096
# magic, version, bytes a code, variables, rows, planes, start and length of the JSON, its checksum, the header's own
HEADER = struct.Struct("<8sIIQQQQQII")
SCALARS = (str, int, bool, float, type(None))


class PlaneWriter:
    """Writer of a plane file under an unused name; the arguments are the same as for `DiscreteTable`.

    Raises TypeError if a name or a state is not a string, number, boolean, None or a tuple of these.
    """

    def __init__(self, path, columns, states, missing_codes, n_rows):
        cardinalities = np.array([len(names) for names in states])
        self.dtype = np.dtype("<u1" if cardinalities.max() <= MAX_BYTE_STATES else "<u2")
        self._n_planes = np.where(cardinalities <= MAX_BYTE_STATES, cardinalities, 0)
        self._first_plane = np.cumsum(self._n_planes) - self._n_planes
        self._shape = (len(columns), n_rows)
        self._sums = {"codes": [0] * len(columns), "planes": [0] * int(self._n_planes.sum())}
        self._meta = {
            "columns": [storable(name, "column name", name) for name in columns],
            "states": [
                [storable(state, "state", name) for state in names] for name, names in zip(columns, states, strict=True)
            ],
            "missing_codes": [int(code) for code in missing_codes],
            "checksums": self._sums,
        }
        self._path = path
        self._file = open(path, "wb", buffering=0)  # noqa: SIM115, the context closes it

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        with self._file:
            if kind is None:
                self._write_ends()

    def write_column(self, v, blocks):
        """Write codes and planes of variable v from blocks of its codes, each of `BLOCK_ROWS` except for the last."""
        places = Places(*self._shape, int(self._n_planes.sum()), self.dtype.itemsize)
        first_plane, n_planes = int(self._first_plane[v]), int(self._n_planes[v])
        first = 0
        of_codes, of_planes = Checksum(), [Checksum() for _ in range(n_planes)]
        for codes in blocks:
            self._write(places.codes + (v * self._shape[1] + first) * self.dtype.itemsize, codes, of_codes)
            n_words = (len(codes) + 511) // 512 * 8
            planes = np.empty((n_planes, n_words), dtype=np.uint64)
            _rows.pack_block(codes.astype(np.uint8, copy=False), planes)
            for p, (plane, checksum) in enumerate(zip(planes, of_planes, strict=True), first_plane):
                self._write(places.planes + 8 * (p * places.n_words + first // 64), plane, checksum)
            first += len(codes)
        self._sums["codes"][v] = of_codes.value()
        self._sums["planes"][first_plane : first_plane + n_planes] = [checksum.value() for checksum in of_planes]

    def _write(self, at, array, checksum=None):
        """Write an array at a position, and continue a checksum with it."""
        rest = np.ascontiguousarray(array).data.cast("B")
        if checksum is not None:
            checksum.update(rest)
        self._file.seek(at)
        write_all(self._file, rest, self._path)

    def _write_ends(self):
        """Write the JSON after the planes and the header before the codes."""
        n_planes = int(self._n_planes.sum())
        places = Places(*self._shape, n_planes, self.dtype.itemsize)
        text = json.dumps(self._meta, separators=(",", ":")).encode("ascii")
        self._write(places.meta, np.frombuffer(text, np.uint8))
        fields = (MAGIC, VERSION, self.dtype.itemsize, *self._shape, n_planes, places.meta, len(text), zlib.crc32(text))
        bare = HEADER.pack(*fields, 0)
        self._write(0, np.frombuffer(HEADER.pack(*fields, zlib.crc32(bare)), np.uint8))


class Places:
    """Offsets of the sections of a plane file."""

    def __init__(self, n_variables, n_rows, n_planes, itemsize):
        self.n_words = (n_rows + 511) // 512 * 8
        self.codes = _PAGE
        self.planes = -(-(self.codes + n_variables * n_rows * itemsize) // _PAGE) * _PAGE
        self.meta = self.planes + 8 * n_planes * self.n_words


def write_coded(table, path):
    """Write a coded table to a plane file, block by block."""
    with PlaneWriter(path, table.columns, table.states, table.missing_codes, table.n_rows) as writer:
        for v, row in enumerate(table.codes):
            writer.write_column(v, (row[i : i + BLOCK_ROWS] for i in range(0, len(row), BLOCK_ROWS)))


def storable(value, what, name):
    """Return a name or a state in the form in which JSON can keep it with its type."""
    if type(value) in SCALARS:
        return value
    if type(value) is tuple:
        return {"tuple": [storable(item, what, name) for item in value]}
    raise TypeError(
        f"the {what} {value!r} of column {name!r} is of type {type(value).__name__}, which a plane file cannot hold: "
        f"convert it to one of {join_names(kind.__name__ for kind in SCALARS[:-1])}"
    )
