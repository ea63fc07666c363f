"""Plane files: the layout of a coded table on disk, its writer, and its mapping into memory.

Layout, little-endian: a header of 64 bytes; from byte 4096 the codes, variable after variable; the bit planes, state
after state, from the next multiple of 4096; then the names, states and checksums as JSON, to the end of the file. The
header holds the shapes, the place of the JSON and checksums of it and of itself, and is written last. The codes of a
variable and each plane have a checksum of their own. Format 1, without the guarantee that checksums are compared before
the rows are used, is refused.
"""

import json
import mmap
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from pgmx._ext import _checksums, _rows
from pgmx._ext._checksums import Checksum
from pgmx.atomic import write_all
from pgmx.checks import check_path, join_names
from pgmx.data.columns import MAX_BYTE_STATES, MAX_STATES
from pgmx.data.table import DiscreteTable

PLANE_SUFFIX = ".pgmx"

VERSION = 2

#: Rows that a writer handles at a time, a multiple of 512.
BLOCK_ROWS = 1 << 18

_MAGIC = b"PGMXTAB\n"

#: Codes and planes begin at multiples of this, so that mapped planes are aligned to 64 bytes.
_PAGE = 4096

# magic, version, bytes a code, variables, rows, planes, start and length of the JSON, its checksum, the header's own
HEADER = struct.Struct("<8sIIQQQQQII")

_SCALARS = (str, int, bool, float, type(None))

_LARGEST_CHECKSUM = 2**64 - 1


class _Header(NamedTuple):
    """The fields of a header."""

    magic: bytes
    version: int
    itemsize: int
    n_variables: int
    n_rows: int
    n_planes: int
    names_at: int
    names_bytes: int
    names_checksum: int
    checksum: int


class SectionOffsets:
    """Offsets of the sections of a plane file."""

    def __init__(self, n_variables, n_rows, n_planes, itemsize):
        self.n_words = (n_rows + 511) // 512 * 8
        self.codes = _PAGE
        self.planes = -(-(self.codes + n_variables * n_rows * itemsize) // _PAGE) * _PAGE
        self.meta = self.planes + 8 * n_planes * self.n_words


# ---- writing ----


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
            "columns": [_make_storable(name, "column name", name) for name in columns],
            "states": [
                [_make_storable(state, "state", name) for state in names]
                for name, names in zip(columns, states, strict=True)
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
        places = SectionOffsets(*self._shape, int(self._n_planes.sum()), self.dtype.itemsize)
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
        places = SectionOffsets(*self._shape, n_planes, self.dtype.itemsize)
        text = json.dumps(self._meta, separators=(",", ":")).encode("ascii")
        self._write(places.meta, np.frombuffer(text, np.uint8))
        fields = (
            _MAGIC,
            VERSION,
            self.dtype.itemsize,
            *self._shape,
            n_planes,
            places.meta,
            len(text),
            zlib.crc32(text),
        )
        # the header's own checksum counts as 0; written last, it marks the file as complete
        bare = HEADER.pack(*fields, 0)
        self._write(0, np.frombuffer(HEADER.pack(*fields, zlib.crc32(bare)), np.uint8))


def write_coded(table, path):
    """Write a coded table to a plane file, block by block."""
    with PlaneWriter(path, table.columns, table.states, table.missing_codes, table.n_rows) as writer:
        for v, row in enumerate(table.codes):
            writer.write_column(v, (row[i : i + BLOCK_ROWS] for i in range(0, len(row), BLOCK_ROWS)))


def _make_storable(value, what, name):
    """Return a name or a state in the form in which JSON can keep it with its type."""
    if type(value) in _SCALARS:
        return value
    if type(value) is tuple:
        return {"tuple": [_make_storable(item, what, name) for item in value]}
    raise TypeError(
        f"the {what} {value!r} of column {name!r} is of type {type(value).__name__}, which a plane file cannot hold: "
        f"convert it to one of {join_names(kind.__name__ for kind in _SCALARS[:-1])}"
    )


# ---- mapping: header and names are checked first, the rows at their first use ----


def open_table(path: str | os.PathLike[str], *, verify: bool = False) -> DiscreteTable:
    """Open a plane file.

    Parameters
    ----------
    path : str or path-like
        A file written by `write_table`.
    verify : bool, default=False
        Whether to read the whole file at once, compare its checksums, and compare the codes with the planes. If False,
        only the header and the names are read; the checksums of codes and of planes are compared at their first use.

    Returns
    -------
    DiscreteTable
        Its codes and planes are read-only memory maps, which share the file cache of the system among all processes
        that open the file. It is pickled as the path of the file.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If it is not a plane file, was written by another version, is truncated, or its content was changed; changed
        codes and planes raise at their first use.

    Notes
    -----
    A first use reads all codes, or all planes, once: about 0.15 ns per byte.

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
    # absolute: the table is pickled as this path, and other processes may work elsewhere
    path = check_path(path).absolute()
    if not path.is_file():
        raise FileNotFoundError(f"no such file: {path}")
    with open(path, "rb") as file:
        header = _read_header(path, file.read(HEADER.size))
        places = _check_header(path, header, os.fstat(file.fileno()).st_size)
        file.seek(header.names_at)
        text = file.read(header.names_bytes)
        if zlib.crc32(text) != header.names_checksum:
            _refuse(path, "its names do not fit their checksum")
        names = _read_names(path, text, header)
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    shape = (header.n_variables, header.n_rows)
    codes = np.frombuffer(memory, f"<u{header.itemsize}", shape[0] * shape[1], places.codes).reshape(shape)
    planes = np.empty((0, places.n_words), dtype="<u8")
    if header.n_planes:
        planes = np.frombuffer(memory, "<u8", header.n_planes * places.n_words, places.planes)
        planes = planes.reshape(header.n_planes, -1)
    checksums = {"codes": names.code_checksums, "planes": names.plane_checksums}
    offsets = np.cumsum([0, *map(_count_planes, names.states)])
    mapping = MappedRows(
        path, (header.names_checksum, header.checksum), codes, planes, offsets, names.states, checksums
    )
    table = DiscreteTable._from_mapping(names.columns, names.states, names.missing_codes, mapping)
    if verify:
        mapping.verify_all()
    return table


def open_written_table(path: str | os.PathLike[str]) -> DiscreteTable:
    """Open a plane file that only this process has written: its rows are not verified."""
    table = open_table(path)
    assert table._mapping is not None
    table._mapping.verified.update(("codes", "planes"))
    return table


class MappedRows:
    """Codes and planes of a plane file, each verified at its first use.

    `codes` is (n_variables, n_rows), `planes` (n_planes, n_words), the planes of variable v begin at ``offsets[v]``;
    `stamp` identifies the content of the file, and `verified` names the verified arrays.
    """

    def __init__(self, path, stamp, codes, planes, offsets, states, checksums):
        self.path = path
        self.stamp = stamp
        self.codes = codes
        self.planes = planes
        self.offsets = offsets
        self.verified: set[str] = set()
        self._n_states = np.array([len(labels) for labels in states], dtype=np.uint32)
        self._checksums = {part: np.array(values, dtype=np.uint64) for part, values in checksums.items()}

    def verify(self, part: str) -> None:
        """Compare the codes, or the planes, with their checksums and their allowed values; once."""
        if part not in self.verified:
            (self._verify_codes if part == "codes" else self._verify_planes)()
            self.verified.add(part)

    def _verify_codes(self) -> None:
        checksums, largest = _checksums.summarise_codes(self.codes)
        if (checksums != self._checksums["codes"]).any():
            _refuse(self.path, "its codes do not fit their checksums")
        # kernels index by codes unchecked, and correct checksums do not prove that codes are states
        is_wrong = largest >= self._n_states
        if is_wrong.any():
            v = int(is_wrong.argmax())
            _refuse(self.path, f"it holds the code {largest[v]} of a variable with {self._n_states[v]} states")

    def _verify_planes(self) -> None:
        checksums, is_partition = _checksums.summarise_planes(self.planes, self.offsets, self.codes.shape[1])
        if (checksums != self._checksums["planes"]).any():
            _refuse(self.path, "its planes do not fit their checksums")
        if not is_partition:
            _refuse(self.path, "its planes do not hold one state of each variable per row")

    def verify_all(self) -> None:
        """Verify codes and planes, and that both hold the same states."""
        self.verify("codes")
        self.verify("planes")
        for row, first, end in zip(self.codes, self.offsets[:-1], self.offsets[1:], strict=True):
            for i in range(0, len(row) if end > first else 0, BLOCK_ROWS):
                block = row[i : i + BLOCK_ROWS].astype(np.uint8, copy=False)
                packed = np.empty((end - first, (len(block) + 511) // 512 * 8), dtype=np.uint64)
                _rows.pack_block(block, packed)
                if not np.array_equal(packed, self.planes[first:end, i // 64 : i // 64 + packed.shape[1]]):
                    _refuse(self.path, "its codes and its planes hold different states")

    def pickle_parts(self) -> tuple[Callable, tuple]:
        """Return the function and the arguments that open the file again in another process."""
        return _reopen, (str(self.path), self.stamp, tuple(sorted(self.verified)))


def _reopen(path: str, stamp: tuple, verified: tuple[str, ...]) -> DiscreteTable:
    """Open the plane file of a pickled table, which must be unchanged since it was mapped."""
    if not Path(path).is_file():
        raise FileNotFoundError(
            f"no such file: {path}. A table mapped from a plane file is sent to other processes as a path: keep the "
            "file, on a disk that all of them see, as long as they run"
        )
    table = open_table(path)
    mapping = table._mapping
    if mapping is None or mapping.stamp != stamp:
        raise ValueError(f"{path} was written again since the table was opened: open it again")
    mapping.verified.update(verified)  # by the process that sent the table
    return table


# ---- checks of the header and the names ----


def _refuse(path: Path, why: str) -> NoReturn:
    raise ValueError(f"{path} is damaged: {why}. Write it again with pgmx.data.write_table")


def _read_header(path: Path, raw: bytes) -> _Header:
    if len(raw) < HEADER.size or not raw.startswith(_MAGIC):
        raise ValueError(f"{path} is not a plane file: pgmx.data.write_table makes one")
    header = _Header(*HEADER.unpack(raw))
    if header.version != VERSION:
        raise ValueError(
            f"{path} is a plane file of version {header.version}, this pgmx reads version {VERSION}: write it again "
            "with pgmx.data.write_table"
        )
    if zlib.crc32(HEADER.pack(*header[:-1], 0)) != header.checksum:
        _refuse(path, "its header does not fit its checksum")
    return header


def _check_header(path: Path, header: _Header, n_bytes: int) -> SectionOffsets:
    """Return the offsets of the sections of the file, after checking that its fields and its length agree."""
    if header.itemsize not in (1, 2) or not header.n_variables or not header.n_rows:
        _refuse(path, f"it has {header.n_variables} variables, {header.n_rows} rows, {header.itemsize} bytes per code")
    places = SectionOffsets(header.n_variables, header.n_rows, header.n_planes, header.itemsize)
    if header.names_at != places.meta:
        _refuse(path, f"its names begin at byte {header.names_at}, not {places.meta}")
    if n_bytes != header.names_at + header.names_bytes:
        raise ValueError(
            f"{path} is truncated or was changed: {n_bytes} bytes, not {header.names_at + header.names_bytes}. "
            "Write it again with pgmx.data.write_table"
        )
    return places


class _Names(NamedTuple):
    """The content of the JSON at the end of a plane file."""

    columns: tuple
    states: tuple[tuple, ...]
    missing_codes: list[int]
    code_checksums: list[int]
    plane_checksums: list[int]


def _read_names(path: Path, text: bytes, header: _Header) -> _Names:
    """Return the names, states and checksums, each of the type and number that the header requires."""
    try:
        document = json.loads(text)
        columns, states, missing, checksums = (document[k] for k in ("columns", "states", "missing_codes", "checksums"))
        columns, states = tuple(map(_restore, columns)), tuple(tuple(map(_restore, names)) for names in states)
        names = _Names(columns, states, list(missing), list(checksums["codes"]), list(checksums["planes"]))
        distinct = len(set(columns)) == len(columns) and all(len(set(labels)) == len(labels) for labels in states)
    except (ValueError, KeyError, TypeError, RecursionError) as error:  # RecursionError: deeply nested JSON
        _refuse(path, f"its names cannot be read ({type(error).__name__})")
    cardinalities = [len(labels) for labels in states]
    lengths = [len(columns), len(states), len(names.missing_codes), len(names.code_checksums)]
    if lengths != [header.n_variables] * 4:
        _refuse(
            path,
            f"it holds {header.n_variables} variables, but names, states, codes of missing values and checksums "
            f"of {lengths}",
        )
    if not distinct or not 1 <= min(cardinalities) <= max(cardinalities) <= MAX_STATES:
        _refuse(path, f"names or states are not distinct, or a variable does not have 1 to {MAX_STATES} states")
    if header.itemsize != (1 if max(cardinalities) <= MAX_BYTE_STATES else 2):
        _refuse(path, f"codes of {header.itemsize} bytes do not fit variables of up to {max(cardinalities)} states")
    n_planes = sum(map(_count_planes, states))
    if not header.n_planes == n_planes == len(names.plane_checksums):
        _refuse(path, f"its states need {n_planes} planes, it has {header.n_planes}")
    wrong = [c for c in [*names.code_checksums, *names.plane_checksums] if not _is_integer(c, 0, _LARGEST_CHECKSUM)]
    wrong += [
        code
        for code, n_states in zip(names.missing_codes, cardinalities, strict=True)
        if not _is_integer(code, -1, n_states - 1) or code not in (-1, n_states - 1)
    ]
    if wrong:
        _refuse(path, f"{wrong[0]!r} is not a checksum or a code of missing values")
    return names


def _is_integer(value: Any, least: int, largest: int) -> bool:
    # true in JSON is a bool, which isinstance takes for an int
    return type(value) is int and least <= value <= largest


def _count_planes(states: tuple) -> int:
    return len(states) if len(states) <= MAX_BYTE_STATES else 0


def _restore(value: Any) -> Any:
    """Return a name or a state as it was before `plane_file._make_storable`."""
    if isinstance(value, dict):
        if list(value) != ["tuple"]:
            raise ValueError("a name is an object of another kind")
        return tuple(map(_restore, value["tuple"]))
    if isinstance(value, list):
        raise ValueError("a name is a list")
    return value
