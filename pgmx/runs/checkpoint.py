"""Snapshots of a run in a file, from which a killed run can resume, and the fingerprint that identifies the run."""

import os
import warnings
from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from hashlib import blake2b
from inspect import signature
from math import isfinite
from numbers import Integral, Real
from time import monotonic
from typing import Any

import numpy as np

from pgmx.archives import list_members, open_members
from pgmx.atomic import replace_file
from pgmx.checks import caller_level, check_path, raise_of_open_files

#: Version of the format; files of other versions are refused.
_FORMAT = 3

_REMEDY = "delete the file to begin again, or name another one"

#: Up to here float64 holds every whole number.
_LARGEST_INTEGER = 2**53

#: Options that control how a learner runs, with the same meaning in all learners; they may change on resuming.
RUN_OPTIONS = ("max_time", "checkpoint", "checkpoint_every", "show_progress", "callback", "n_jobs")

#: Further options that may change when a run is resumed, and why.
FREE_OPTIONS = {
    "max_iter": "a limit: a search that it ended continues under a higher one",
    "return_type": "the form of the graph, which is made after the search",
    "true_graph": "the recall in the history, which does not affect the search",
    "held_out": "the held-out loss in the history, which does not affect the search",
    "start": "the first parameters, which a snapshot replaces by the present ones",
}


# ---- the values of a snapshot, each checked when it is read ----


def _make_checkpoint_error(path: Any, reason: str) -> ValueError:
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
        return _make_checkpoint_error(self._path, f"holds {what}")

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

    def integer(self, name: str, least: int, most: int = _LARGEST_INTEGER) -> int:
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
        # kernels take memoryviews of contiguous memory
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


# ---- the file ----


class Checkpoint:
    """A file that holds the latest snapshot of one run; `identity` is the fingerprint of its data and options.

    A run that is killed at any moment leaves a complete snapshot, the old or the new one. `every` is the number of
    seconds between snapshots; 0 means one per round.
    """

    def __init__(self, path: str | os.PathLike, every: float, identity: str):
        self.path = check_path(path)
        self.every = every
        self.identity = identity
        self._last, self._save_seconds = monotonic(), 0.0
        if not self.path.parent.is_dir():
            raise ValueError(f"checkpoint={str(path)!r}: there is no folder {self.path.parent}, make it first")
        if self.path.is_dir():
            raise ValueError(f"checkpoint={str(path)!r} is a folder: name a file in it")
        self._failed = False

    def is_due(self) -> bool:
        """Return whether `every` seconds have passed since the last snapshot, and 20 times the time it took."""
        # writing takes at most 5 % of the time; `every=0` asks for a snapshot per round whatever it takes
        return monotonic() - self._last >= (max(self.every, 20 * self._save_seconds) if self.every else 0)

    def save(self, snapshot: Mapping[str, Any]) -> None:
        """Write a snapshot: numbers, strings and arrays by name; warn once if the disk refuses it."""
        began = monotonic()
        try:
            # a complete file replaces the old one: a run that is killed here leaves the old snapshot
            with replace_file(self.path) as part, open(part, "wb") as file:
                arrays = {"format": _FORMAT, "fingerprint": self.identity, **snapshot}
                np.savez(file, digest=digest_arrays(arrays), **arrays)
        except OSError as error:
            if not self._failed:
                self._warn("written", error, "the run continues without it and tries again at the next snapshot")
            self._failed = True
        self._last = monotonic()
        self._save_seconds = self._last - began

    def load(self) -> Snapshot | None:
        """Return the snapshot in the file, None if there is no file; refuse a file that is not of this run."""
        try:
            with open(self.path, "rb") as file:  # once: another fit may replace or delete the file meanwhile
                sizes = list_members(file)
                # checkpoints are not compressed
                if sum(sizes.values()) > os.fstat(file.fileno()).st_size:
                    raise ValueError("it declares more than it holds")
                arrays = open_members(file, sizes)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            if isinstance(error, OSError):
                raise_of_open_files(error, self.path)
            why = error.strerror if isinstance(error, OSError) and error.strerror else "damaged, or not a checkpoint"
            raise _make_checkpoint_error(self.path, f"cannot be read ({why})") from error
        # the version is checked first, so that a file of another version is not reported as damaged
        digest, written = _text_of(arrays.pop("digest", None)), _text_of(arrays.get("format"))
        if written in map(str, range(1, _FORMAT)):
            raise _make_checkpoint_error(self.path, "was written by an older version of pgmx")
        if written != str(_FORMAT):
            raise _make_checkpoint_error(self.path, "is not a checkpoint of this version")
        if digest != digest_arrays(arrays):
            raise _make_checkpoint_error(self.path, "is damaged (its digest differs)")
        del arrays["format"]
        if _text_of(arrays.pop("fingerprint", None)) != self.identity:
            raise _make_checkpoint_error(self.path, "is of another search (other data or options)")
        return Snapshot(arrays, self.path)

    def remove(self) -> None:
        """Delete the file."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            self._warn("deleted", error, "delete it before the next fit, which would begin at its end")

    def _warn(self, action: str, error: OSError, consequence: str) -> None:
        text = f"checkpoint={str(self.path)!r} cannot be {action} ({error.strerror or error}): {consequence}"
        warnings.warn(text, RuntimeWarning, stacklevel=caller_level())


def open_checkpoint(learner: Any, *data: Any, **resolved: Any) -> Checkpoint:
    """Return the checkpoint that a learner's options name; see `fingerprint`."""
    if getattr(learner, "random_state", 0) is None:
        raise ValueError(
            "a checkpoint needs the same draws again, but random_state=None draws new ones each time: give a seed"
        )
    return Checkpoint(learner.checkpoint, learner.checkpoint_every, fingerprint(learner, *data, **resolved))


def _text_of(array: np.ndarray | None) -> str:
    """Return a single number or text as text, "" for anything else."""
    return str(array.item()) if array is not None and array.shape == () else ""


# ---- the identity of a run ----


def digest_arrays(arrays: Mapping[str, Any]) -> str:
    """Return a digest of the names, types, shapes and contents of arrays, independent of their order."""
    digest = blake2b(digest_size=16)
    for name in sorted(arrays):
        array = np.asarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode("utf-8", "surrogatepass"))
        digest.update(array.tobytes())
    return digest.hexdigest()


def fingerprint(learner: Any, *data: Any, **resolved: Any) -> str:
    """Return a digest of a learner's class, its data, and every option outside `RUN_OPTIONS` and `FREE_OPTIONS`.

    An option enters in the form of `describe`, or in the form given by `resolved` (edges as ids, a drawn seed), which
    may be equal for options that are written differently.
    """
    options = {**learner.get_params(deep=False), **resolved}
    decisive = {name: value for name, value in options.items() if name not in {*RUN_OPTIONS, *FREE_OPTIONS}}
    text = f"{type(learner).__name__} {describe(decisive)} {describe(data)}"
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def describe(value: Any) -> str:
    """Return a text of a value that is equal for equal values in every process, whatever the addresses and hash seeds.

    Objects are described by their class and the attributes named like the parameters of its constructor, except `data`.
    """
    match value:
        # bool before Integral, since True is an integer too
        case None | bool() | str() | bytes():
            return repr(value)
        case np.ndarray() if value.dtype != object:
            digest = blake2b(np.ascontiguousarray(value).data, digest_size=16).hexdigest() if value.size else ""
            return f"{value.dtype.str}{value.shape}{digest}"
        case np.ndarray() | np.generic():
            return describe(value.tolist())
        case Integral():
            return str(int(value))
        case Real():
            number = float(value)
            # 1 and 1.0 mean the same option
            return str(int(number)) if number.is_integer() else repr(number)
        case os.PathLike():
            return repr(os.fspath(value))
        case Mapping():
            return "{" + ", ".join(sorted(f"{describe(key)}: {describe(value[key])}" for key in value)) + "}"
        case AbstractSet():
            # sorted, because the order of sets depends on the hash seed
            return "{" + ", ".join(sorted(map(describe, value))) + "}"
        case tuple() | list():
            return "[" + ", ".join(map(describe, value)) + "]"
        case np.random.Generator():
            return describe(value.bit_generator.state)
        case np.random.RandomState():
            return describe(value.get_state())
    return _describe_object(value)


def _describe_object(value: Any) -> str:
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if hasattr(value, "nodes") and hasattr(value, "edges"):  # a graph; a Bayesian network has tables too
        tables = [(list(cpd.variables), cpd.get_values()) for cpd in getattr(value, "cpds", ())]
        edges = [[*edge] if value.is_directed() else {*edge} for edge in value.edges()]
        return f"{kind}{describe([sorted(map(describe, part)) for part in (value.nodes(), edges, tables)])}"
    if hasattr(value, "to_numpy"):  # a frame or a series
        labels = [list(getattr(value, axis, ())) for axis in ("columns", "index")]
        return f"{kind}{describe([*labels, value.to_numpy()])}"
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    try:
        names = set(signature(type(value).__init__).parameters) - {"self", "data"}
    except (TypeError, ValueError):  # a class without a signature
        names = set()
    attributes = {name: getattr(value, name) for name in names if hasattr(value, name)}
    if not attributes and type(value).__repr__ is not object.__repr__:  # a date, a fraction
        return f"{kind}{value!r}"
    return f"{kind}{describe(attributes)}"
