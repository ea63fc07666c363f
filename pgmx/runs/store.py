"""Storage for the state of long computations: the checkpoint of a run, or a section of it."""

from collections.abc import Callable
from typing import Any, Protocol

from pgmx.runs.run import Run
from pgmx.runs.snapshot import Snapshot


class Store(Protocol):
    """Storage for the results of a solver so far."""

    snapshot: Snapshot | None

    def can_save(self) -> bool:
        """Return whether saving is possible."""
        ...

    def is_due(self) -> bool:
        """Return whether it is time to save."""
        ...

    def save(self, state: dict[str, Any], n_rows: int | None = None) -> None:
        """Write a state, and the first rows of the history, all by default."""
        ...


class PartStore:
    """The store of one section of a run, such as a path of a selection: `write` adds its state to the rest."""

    def __init__(self, run: Run, snapshot: Snapshot | None, write: Callable[[dict[str, Any], int | None], None]):
        self._run, self._write = run, write
        self.snapshot = snapshot

    def can_save(self) -> bool:
        """Return whether the run has a checkpoint."""
        return self._run.checkpoint is not None

    def is_due(self) -> bool:
        """Return whether it is time for the next snapshot of the run."""
        return self._run.is_snapshot_due()

    def save(self, state: dict[str, Any], n_rows: int | None = None) -> None:
        """Write a snapshot of the run."""
        if self.can_save():
            self._write(state, n_rows)


class RunStore(PartStore):
    """The checkpoint of a run as the store of the whole run."""

    def __init__(self, run: Run):
        super().__init__(run, run.restore(), lambda state, n_rows: run.save(state, n_rows=n_rows))
