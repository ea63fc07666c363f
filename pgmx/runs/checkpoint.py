"""Snapshots of a run in a file, from which a killed run goes on."""

import os
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from pgmx.atomic import replace_file
from pgmx.checks import caller_level
from pgmx.runs.fingerprint import fingerprint

_FORMAT = 2

#: What numpy and zipfile raise for files that are no archives of arrays, or damaged ones.
_UNREADABLE = (OSError, ValueError, TypeError, KeyError, NotImplementedError, EOFError, zipfile.BadZipFile)


class Checkpoint:
    """A file that holds the latest snapshot of one run; `identity` is the fingerprint of its data and options.

    A run that is killed at any moment leaves a whole snapshot, the old or the new one. `every` is the seconds between
    snapshots; 0 takes one per round.
    """

    def __init__(self, path: str | os.PathLike, every: float, identity: str):
        self.path = Path(path)
        self.every = every
        self.identity = identity
        self._last = monotonic()
        if not self.path.parent.is_dir():
            raise ValueError(f"checkpoint={str(path)!r}: there is no folder {self.path.parent}, make it first")
        if self.path.is_dir():
            raise ValueError(f"checkpoint={str(path)!r} is a folder: name a file in it")
        self._failed = False

    def is_due(self) -> bool:
        """Return whether `every` seconds have passed since the last snapshot."""
        return monotonic() - self._last >= self.every

    def save(self, snapshot: Mapping[str, Any]) -> None:
        """Write a snapshot: numbers, strings and arrays by name; warn once where the disk does not take it."""
        try:
            with replace_file(self.path) as part, open(part, "wb") as file:
                np.savez(file, format=_FORMAT, fingerprint=self.identity, **snapshot)
        except OSError as error:
            if not self._failed:
                self._warn("written", error, "the run goes on without it and tries again at the next snapshot")
            self._failed = True
        self._last = monotonic()

    def load(self) -> dict[str, Any] | None:
        """Return the snapshot in the file, None where there is no file; refuse what is no snapshot of this run."""
        if not self.path.exists():
            return None
        remedy = "delete the file to begin anew, or name another one"
        try:
            # numpy leaves a file open that it opened itself and cannot read
            with open(self.path, "rb") as file, np.load(file, allow_pickle=False) as stored:
                snapshot = {name: stored[name] for name in stored.files}
        except _UNREADABLE as error:
            # What numpy says of other files is advice to unpickle them.
            why = error.strerror if isinstance(error, OSError) and error.strerror else "damaged, or no checkpoint"
            raise ValueError(f"checkpoint={str(self.path)!r} cannot be read ({why}): {remedy}") from None
        written = snapshot.pop("format", None)
        if np.array_equal(written, 1):
            raise ValueError(f"checkpoint={str(self.path)!r} was written by an older version of pgmx: {remedy}")
        if not np.array_equal(written, _FORMAT):
            raise ValueError(f"checkpoint={str(self.path)!r} is no checkpoint of this version: {remedy}")
        if str(snapshot.pop("fingerprint", "")) != self.identity:
            raise ValueError(f"checkpoint={str(self.path)!r} is of another search (other data or options): {remedy}")
        return {name: value.item() if value.ndim == 0 else value for name, value in snapshot.items()}

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
    if learner.random_state is None:
        raise ValueError(
            "a checkpoint needs the same draws again, but random_state=None draws anew each time: give a seed"
        )
    return Checkpoint(learner.checkpoint, learner.checkpoint_every, fingerprint(learner, *data, **resolved))
