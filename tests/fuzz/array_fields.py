"""Any array of an npz, value of a JSON document, or number and line of a text rewritten, a digest valid or not."""

import json
import re
from io import BytesIO
from typing import Any

import numpy as np

from pgmx.runs.checkpoint import digest_arrays
from tests.fuzz.plane_fields import follow, list_paths, set_path

DELETE = "delete"
NUMBER, LINE = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"), re.compile(r".+")


class ArrayFields:
    """The arrays of an npz: ``edges`` as a whole, ``edges.3.1`` a cell; ``names.a.b`` a value of a model's document.

    The value "delete" takes an array out; a name that is not there adds one.
    """

    def __init__(self, raw: bytes):
        with np.load(BytesIO(raw), allow_pickle=False) as stored:
            self.arrays = {name: stored[name] for name in stored.files}
        self.document = json.loads(self.arrays["names"].tobytes()) if "names" in self.arrays else None

    def list_fields(self) -> list[str]:
        """Return every array, its first and last cell, and the values of the document."""
        fields = []
        for name, array in self.arrays.items():
            fields.append(name)
            if array.size and array.ndim and name != "names":
                ends = [np.unravel_index(at, array.shape) for at in sorted({0, array.size // 2, array.size - 1})]
                fields += [".".join([name, *map(str, end)]) for end in ends]
        return fields + ([] if self.document is None else [f"names.{path}" for path in list_paths(self.document)])

    def value(self, field: str) -> Any:
        """Return an array, a cell or a value of the document."""
        name, *keys = field.split(".")
        if keys and name == "names" and self.document is not None:
            return follow(self.document, keys)
        return self.arrays[name][tuple(map(int, keys))] if keys else self.arrays[name]

    def set_value(self, field: str, value: Any) -> None:
        """Change an array, a cell (whose type stays) or a value of the document."""
        name, *keys = field.split(".")
        if keys and name == "names" and self.document is not None:
            set_path(self.document, ".".join(keys), value)
            self.arrays["names"] = np.frombuffer(json.dumps(self.document).encode(), dtype=np.uint8)
        elif keys:
            self.arrays[name] = self.arrays[name].copy()
            with np.errstate(over="ignore"):  # of single precision
                self.arrays[name][tuple(map(int, keys))] = value
        elif isinstance(value, str) and value == DELETE:
            del self.arrays[name]
        else:
            self.arrays[name] = np.asarray(value)

    def to_bytes(self, *, sign: bool, changed: str = "") -> bytes:
        """Return the file; with `sign` the digest of a checkpoint fits, unless it is the field `changed` itself."""
        if sign and "digest" in self.arrays and changed != "digest":
            others = {name: array for name, array in self.arrays.items() if name != "digest"}
            self.arrays["digest"] = np.array(digest_arrays(others))
        buffer = BytesIO()
        np.savez(buffer, **self.arrays)
        return buffer.getvalue()


class DocumentFields:
    """The values of a model's JSON document by paths such as ``edges.0.1``."""

    def __init__(self, raw: bytes):
        self.document = json.loads(raw)

    def list_fields(self) -> list[str]:
        """Return the paths of all values."""
        return list_paths(self.document)

    def value(self, field: str) -> Any:
        """Return a value."""
        return follow(self.document, field.split("."))

    def set_value(self, field: str, value: Any) -> None:
        """Change a value."""
        set_path(self.document, field, value)

    def to_bytes(self, *, sign: bool, changed: str = "") -> bytes:
        """Return the file; it has no checksums."""
        return json.dumps(self.document).encode()


class TextFields:
    """The numbers and lines of a model in a text format (BIF, XMLBIF, UAI, GraphML): ``number.3``, ``line.0``."""

    def __init__(self, raw: bytes):
        self.text = raw.decode()

    def _places(self, kind: str) -> list[tuple[int, int]]:
        pattern = NUMBER if kind == "number" else LINE
        return [match.span() for match in pattern.finditer(self.text)]

    def list_fields(self) -> list[str]:
        """Return all numbers and all lines."""
        return [f"{kind}.{at}" for kind in ("number", "line") for at in range(len(self._places(kind)))]

    def value(self, field: str) -> str:
        """Return the text of a number or line."""
        kind, at = field.split(".")
        start, stop = self._places(kind)[int(at)]
        return self.text[start:stop]

    def set_value(self, field: str, value: Any) -> None:
        """Put another text in the place of a number or line; "delete" takes it out."""
        kind, at = field.split(".")
        start, stop = self._places(kind)[int(at)]
        self.text = self.text[:start] + ("" if value == DELETE else str(value)) + self.text[stop:]

    def to_bytes(self, *, sign: bool, changed: str = "") -> bytes:
        """Return the file; it has no checksums."""
        return self.text.encode()
