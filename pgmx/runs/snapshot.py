"""The values of a snapshot, read back one by one: each is checked for its type, shape and range."""

from collections.abc import Collection, Mapping
from math import isfinite
from typing import Any

import numpy as np

_REMEDY = "delete the file to begin again, or name another one"
_LARGEST = 2**53


def make_refusal(path: Any, reason: str) -> ValueError:
    """Return the error that refuses a checkpoint for a reason."""
    return ValueError(f"checkpoint={str(path)!r} {reason}: {_REMEDY}")


class Snapshot:
    """Arrays by name from the checkpoint `path`; an invalid one raises a ValueError that names the file.

    It is false if it holds nothing. A digest finds accidents; these checks are for files that were changed on purpose:
    none may lead to a crash, an endless search, or a wrong score.
    """

    def __init__(self, arrays: Mapping[str, Any], path: Any = "", prefix: str = ""):
        self._arrays = {name: np.asarray(value) for name, value in arrays.items()}
        self._path, self._prefix = path, prefix

    def __bool__(self) -> bool:
        return bool(self._arrays)

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    @property
    def names(self) -> list[str]:
        """Names of the values."""
        return list(self._arrays)

    def value(self, name: str) -> np.ndarray:
        """Return an array as it is in the file, unchecked."""
        return self._arrays[name]

    def take_part(self, prefix: str) -> "Snapshot":
        """Take out the values whose names begin with `prefix`, and return them under the rest of their names."""
        names = [name for name in self._arrays if name.startswith(prefix)]
        part = {name.removeprefix(prefix): self._arrays.pop(name) for name in names}
        return Snapshot(part, self._path, self._prefix + prefix)

    def error(self, what: str) -> ValueError:
        """Return an error with the invalid content of the checkpoint."""
        return make_refusal(self._path, f"holds {what}")

    def check(self, condition: Any, what: str) -> None:
        """Raise an error with the invalid content of the checkpoint, unless the condition is true."""
        if not condition:
            raise self.error(what)

    def check_names(self, required: Collection[str], optional: Collection[str] = ()) -> None:
        """Raise an error unless all required names have values, and all other names are optional ones."""
        for name in required:
            self._array(name)
        for name in self._arrays:
            self.check(name in required or name in optional, f"an unknown array {self._prefix + name!r:.80}")

    # ---- single values ----

    def integer(self, name: str, least: int, most: int = _LARGEST) -> int:
        """Return a whole number from `least` to `most`."""
        array = self._array(name)
        self.check(array.shape == () and array.dtype.kind in "iu", f"no whole number as {self._prefix + name!r}")
        value = int(array)
        self.check(least <= value <= most, f"{self._prefix}{name}={value}, expected {least} to {most}")
        return value

    def number(self, name: str, least: float = -np.inf, most: float = np.inf) -> float:
        """Return a finite number from `least` to `most`."""
        array = self._array(name)
        self.check(array.shape == () and array.dtype == float, f"no number as {self._prefix + name!r}")
        value = float(array)
        self.check(
            isfinite(value) and least <= value <= most,
            f"{self._prefix}{name}={value}, expected a number from {least} to {most}",
        )
        return value

    def flag(self, name: str) -> bool:
        """Return a truth value."""
        array = self._array(name)
        self.check(array.shape == () and array.dtype == bool, f"neither True nor False as {self._prefix + name!r}")
        return bool(array)

    # ---- arrays ----

    def array(
        self,
        name: str,
        dtype: Any,
        shape: tuple[int | None, ...],
        *,
        least: float | None = None,
        most: float | None = None,
        distinct: bool = False,
        finite: bool = True,
    ) -> np.ndarray:
        """Return an array of a type and shape, None for any length, with values in a range."""
        array, name = self._array(name), f"{self._prefix}{name}"
        self.check(array.dtype == np.dtype(dtype), f"{array.dtype} in {name!r}, expected {np.dtype(dtype)}")
        fits = array.ndim == len(shape) and all(n in (None, m) for m, n in zip(array.shape, shape, strict=True))
        self.check(fits, f"{name!r} of shape {array.shape}, expected {shape} (None means any length)")
        finite = finite and array.dtype.kind == "f"
        self.check(not finite or np.isfinite(array).all(), f"values in {name!r} that are not finite")
        in_range = (least is None or (array >= least).all()) and (most is None or (array <= most).all())
        self.check(in_range, f"values in {name!r} outside {least} to {most}")
        self.check(not distinct or len(np.unique(array)) == array.size, f"a value in {name!r} twice")
        return np.ascontiguousarray(array)

    def pairs(self, name: str, n: int) -> np.ndarray:
        """Return pairs of two of n ids, int64 (k, 2), no pair twice."""
        pairs = self.array(name, np.int64, (None, 2), least=0, most=n - 1)
        self.check((pairs[:, 0] != pairs[:, 1]).all(), f"an edge from a variable to itself in {self._prefix + name!r}")
        ids = pairs[:, 0] * n + pairs[:, 1]
        self.check(len(np.unique(ids)) == len(ids), f"an edge in {self._prefix + name!r} twice")
        return pairs

    def _array(self, name: str) -> np.ndarray:
        self.check(name in self._arrays, f"no {self._prefix + name!r}")
        return self._arrays[name]
