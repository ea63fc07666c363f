"""Snapshots of a run in a file, from which a killed run can resume, and the fingerprint that identifies the run."""

import os
import warnings
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from hashlib import blake2b
from inspect import signature
from numbers import Integral, Real
from time import monotonic
from typing import Any

import numpy as np

from pgmx.archives import list_members, open_members
from pgmx.atomic import replace_file
from pgmx.checks import caller_level, check_path, raise_of_open_files
from pgmx.runs.snapshot import Snapshot, make_refusal

_FORMAT = 3

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


class Checkpoint:
    """A file that holds the latest snapshot of one run; `identity` is the fingerprint of its data and options.

    A run that is killed at any moment leaves a complete snapshot, the old or the new one. `every` is the number of
    seconds between snapshots; 0 means one per round.
    """

    def __init__(self, path: str | os.PathLike, every: float, identity: str):
        self.path = check_path(path)
        self.every = every
        self.identity = identity
        self._last, self._cost = monotonic(), 0.0
        if not self.path.parent.is_dir():
            raise ValueError(f"checkpoint={str(path)!r}: there is no folder {self.path.parent}, make it first")
        if self.path.is_dir():
            raise ValueError(f"checkpoint={str(path)!r} is a folder: name a file in it")
        self._failed = False

    def is_due(self) -> bool:
        """Return whether `every` seconds have passed since the last snapshot, and 20 times the time it took."""
        return monotonic() - self._last >= (max(self.every, 20 * self._cost) if self.every else 0)

    def save(self, snapshot: Mapping[str, Any]) -> None:
        """Write a snapshot: numbers, strings and arrays by name; warn once if the disk refuses it."""
        began = monotonic()
        try:
            with replace_file(self.path) as part, open(part, "wb") as file:
                arrays = {"format": _FORMAT, "fingerprint": self.identity, **snapshot}
                np.savez(file, digest=digest_arrays(arrays), **arrays)
        except OSError as error:
            if not self._failed:
                self._warn("written", error, "the run continues without it and tries again at the next snapshot")
            self._failed = True
        self._last = monotonic()
        self._cost = self._last - began

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
            raise make_refusal(self.path, f"cannot be read ({why})") from error
        digest, written = _text_of(arrays.pop("digest", None)), _text_of(arrays.get("format"))
        if written in map(str, range(1, _FORMAT)):
            raise make_refusal(self.path, "was written by an older version of pgmx")
        if written != str(_FORMAT):
            raise make_refusal(self.path, "is not a checkpoint of this version")
        if digest != digest_arrays(arrays):
            raise make_refusal(self.path, "is damaged (its digest differs)")
        del arrays["format"]
        if _text_of(arrays.pop("fingerprint", None)) != self.identity:
            raise make_refusal(self.path, "is of another search (other data or options)")
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


# ---- the identity of a run ----


def _text_of(array: np.ndarray | None) -> str:
    """Return a single number or text as text, "" for anything else."""
    return str(array.item()) if array is not None and array.shape == () else ""


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
            return str(int(number)) if number.is_integer() else repr(number)
        case os.PathLike():
            return repr(os.fspath(value))
        case Mapping():
            return "{" + ", ".join(sorted(f"{describe(key)}: {describe(value[key])}" for key in value)) + "}"
        case AbstractSet():
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
