"""Any field of a plane file rewritten, with or without valid checksums."""

import json
import struct
import zlib
from typing import Any

import numpy as np

HEADER = struct.Struct("<8sIIQQQQQII")
NAMES = (
    "magic",
    "version",
    "itemsize",
    "n_variables",
    "n_rows",
    "n_planes",
    "names_at",
    "names_bytes",
    "names_checksum",
    "checksum",
)
PAGE = 4096


class PlaneFields:
    """The fields of a plane file: the header by name, codes, planes and the JSON by paths such as ``states.0.1``.

    ``codes.2.17`` is the code of variable 2 in row 17, ``planes.3.0`` word 0 of plane 3.
    """

    def __init__(self, raw: bytes):
        self.header: dict[str, Any] = dict(zip(NAMES, HEADER.unpack(raw[: HEADER.size]), strict=True))
        self.raw = bytearray(raw[: self.header["names_at"]])
        self.document = json.loads(raw[self.header["names_at"] :])

    def list_fields(self) -> list[str]:
        """Return every field of the header and the JSON, and the first and last of the codes and planes."""
        shape = [self.header[name] for name in ("n_variables", "n_rows", "n_planes")]
        rows = [f"codes.{v}.{i}" for v in (0, shape[0] - 1) for i in (0, shape[1] - 1)]
        words = [f"planes.{p}.{w}" for p in (0, shape[2] - 1) for w in (0, self._n_words() - 1)]
        return [*NAMES, *rows, *words, *list_paths(self.document)]

    def value(self, field: str) -> Any:
        """Return the value of a field."""
        if field in self.header:
            return self.header[field]
        if field.startswith(("codes.", "planes.")):
            kind, at = self._place(field)
            return struct.unpack_from(kind, self.raw, at)[0]
        return follow(self.document, field.split("."))

    def set_value(self, field: str, value: Any) -> None:
        """Change a field; a cell or a word keeps its width."""
        if field in self.header:
            self.header[field] = value
        elif field.startswith(("codes.", "planes.")):
            kind, at = self._place(field)
            struct.pack_into(kind, self.raw, at, value)
        else:
            set_path(self.document, field, value)

    def to_bytes(self, *, sign: bool, changed: str = "") -> bytes:
        """Return the file; with `sign` all checksums fit, but for one that is the field `changed` itself."""
        if sign and not changed.startswith("checksums"):
            self._sign_rows()
        text = json.dumps(self.document, separators=(",", ":")).encode("ascii")
        header = dict(self.header)
        if sign and changed != "names_at" and not changed.startswith("n"):
            header["names_at"] = len(self.raw)
        if changed != "names_bytes":
            header["names_bytes"] = len(text)
        if sign and changed != "names_checksum":
            header["names_checksum"] = zlib.crc32(text)
        fields = [header[name] for name in NAMES]
        if sign and changed != "checksum":
            fields[-1] = zlib.crc32(HEADER.pack(*fields[:-1], 0))
        raw = bytearray(self.raw)
        raw[: HEADER.size] = HEADER.pack(*fields)
        return bytes(raw) + text

    def _sign_rows(self) -> None:
        _, _, itemsize, n_variables, n_rows, n_planes, *_ = HEADER.unpack(self.raw[: HEADER.size])
        codes = [self.raw[PAGE + v * n_rows * itemsize :][: n_rows * itemsize] for v in range(n_variables)]
        n_bytes, at = 8 * self._n_words(), self._planes_at()
        planes = [self.raw[at + p * n_bytes :][:n_bytes] for p in range(n_planes)]
        self.document["checksums"] = {"codes": list(map(add_up, codes)), "planes": list(map(add_up, planes))}

    def _n_words(self) -> int:
        return (struct.unpack_from("<Q", self.raw, 24)[0] + 511) // 512 * 8

    def _planes_at(self) -> int:
        itemsize, n_variables, n_rows = struct.unpack_from("<IQQ", self.raw, 12)
        return -(-(PAGE + n_variables * n_rows * itemsize) // PAGE) * PAGE

    def _place(self, field: str) -> tuple[str, int]:
        part, first, second = field.split(".")
        itemsize, _, n_rows = struct.unpack_from("<IQQ", self.raw, 12)
        if part == "codes":
            return "<B" if itemsize == 1 else "<H", PAGE + (int(first) * n_rows + int(second)) * itemsize
        return "<Q", self._planes_at() + 8 * (int(first) * self._n_words() + int(second))


def add_up(row: bytes) -> int:
    """Return the checksum of a row of codes, or of a plane, in the plainest way."""
    words = np.frombuffer(row + bytes(-len(row) % 64), dtype="<u8").reshape(-1, 8)
    sums = words.cumsum(axis=0, dtype=np.uint64)
    lanes = [int(x) for x in (*words.sum(axis=0, dtype=np.uint64), *sums.sum(axis=0, dtype=np.uint64))]
    value = len(row)
    for lane in lanes:
        value = (value ^ lane) * 0x9E3779B97F4A7C15 % 2**64
        value ^= value >> 29
    return value


def list_paths(document: Any, prefix: str = "") -> list[str]:
    """Return the dotted paths of all values of a JSON document, containers included."""
    items: list[tuple[Any, Any]] = []
    if isinstance(document, dict):
        items = list(document.items())
    elif isinstance(document, list):
        items = list(enumerate(document))
    paths = []
    for key, value in items:
        path = f"{prefix}{key}"
        paths += [path, *list_paths(value, f"{path}.")]
    return paths


def follow(document: Any, keys: list[str]) -> Any:
    """Return the value of a JSON document under a path."""
    for key in keys:
        document = document[int(key) if isinstance(document, list) else key]
    return document


def set_path(document: Any, path: str, value: Any) -> None:
    """Change the value of a JSON document under a path."""
    *keys, last = path.split(".")
    parent = follow(document, keys)
    parent[int(last) if isinstance(parent, list) else last] = value
