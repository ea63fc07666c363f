"""The solved paths of penalties of a selection, in memory and as arrays of a checkpoint."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from pgmx.estimators.gaussian.estimate import GaussianEstimate
from pgmx.estimators.gaussian.stored import ESTIMATE_FIGURES, pack_estimates, read_estimates
from pgmx.runs.checkpoint import Snapshot
from pgmx.runs.run import PartStore, Run, Store


class SolvedPaths:
    """Paths by key, each solved once, and the path in progress, with the checkpoint of the run."""

    def __init__(self, run: Run, n: int):
        self._run = run
        self._paths: dict[str, list[GaussianEstimate]] = {}
        self._begun: dict[str, Any] = {}  # as arrays, with the key of the path
        self._part = Snapshot({})
        snapshot = run.restore()
        if snapshot is not None:
            self._part = snapshot.take_part("begun_")
            self._begun = {name: self._part.value(name) for name in self._part.names}
            self._paths = read_paths(snapshot, n)
            snapshot.check(self._paths or self._begun, "no paths")
        self._n_rows = run.n_rows

    @property
    def n_estimates(self) -> int:
        """Number of the estimates of all solved paths."""
        return sum(map(len, self._paths.values()))

    def find(self, key: str, lams: np.ndarray) -> list[GaussianEstimate] | None:
        """Return the estimates of a solved path, or None if it is not solved."""
        path = self._paths.get(key)
        if path is not None and not np.array_equal([estimate.lam for estimate in path], lams):
            raise ValueError(f"the checkpoint holds other penalties for {key!r}: delete the file to start again")
        return path

    def add(self, key: str, lams: np.ndarray, path: list[GaussianEstimate]) -> bool:
        """Store a path, unless it is incomplete; return whether it was stored."""
        is_whole = len(path) == len(lams) and not self._run.is_over()
        if is_whole:
            self._paths[key] = path
            if self._run.is_snapshot_due():
                self.save()
        return is_whole

    def solve(
        self, key: str, lams: np.ndarray, solve: Callable[[np.ndarray, Store], list[GaussianEstimate]]
    ) -> list[GaussianEstimate]:
        """Return the estimates of a path; `solve` resumes it if it was started."""
        path = self.find(key, lams)
        if path is None:
            path = solve(lams, PartStore(self._run, self._take_begun(key, lams), partial(self._save_begun, key, lams)))
            if len(path) == len(lams) and not self._run.is_over():
                self._begun, self._n_rows = {}, self._run.n_rows
            self.add(key, lams, path)
        return list(path)

    def save(self) -> None:
        """Write a snapshot, if there is anything to write."""
        if (self._paths or self._begun) and self._run.checkpoint is not None:
            begun = {f"begun_{name}": value for name, value in self._begun.items()}
            self._run.save({**pack_paths(self._paths), **begun}, n_rows=self._n_rows)

    def _take_begun(self, key: str, lams: np.ndarray) -> Snapshot | None:
        """Return the last state of a path, or None if it was not started."""
        part = self._part
        if "key" not in part or str(part.value("key")) != key:
            return None
        self._part = Snapshot({})
        part.check(np.array_equal(part.array("lams", float, (None,)), lams), f"other penalties for {key!r}")
        state = part.take_part("state_")
        part.check_names(("key", "lams"))
        return state

    def _save_begun(self, key: str, lams: np.ndarray, state: dict[str, Any], n_rows: int | None) -> None:
        self._begun = {"key": key, "lams": lams, **{f"state_{name}": value for name, value in state.items()}}
        self._n_rows = self._run.n_rows if n_rows is None else n_rows
        self.save()


def pack_paths(paths: dict[str, list[GaussianEstimate]]) -> dict[str, Any]:
    """Return paths by key as arrays."""
    lengths = np.array([len(path) for path in paths.values()], dtype=np.int64)
    estimates = [estimate for path in paths.values() for estimate in path]
    return {"keys": np.array(list(paths), dtype=str), "lengths": lengths, **pack_estimates(estimates)}


def read_paths(snapshot: Snapshot, n: int) -> dict[str, list[GaussianEstimate]]:
    """Return the paths over `n` variables that `pack_paths` wrote to a snapshot."""
    keys = [str(key) for key in snapshot.value("keys")] if "keys" in snapshot else []
    lengths = snapshot.array("lengths", np.int64, (len(keys),), least=1)
    snapshot.check(len(set(keys)) == len(keys) and lengths.sum() < 10**6, "one path twice, or too many estimates")
    estimates = read_estimates(snapshot, n, int(lengths.sum()))
    snapshot.check_names(("keys", "lengths", *ESTIMATE_FIGURES))
    cuts = np.cumsum([0, *lengths]).tolist()
    return {key: estimates[first:end] for key, first, end in zip(keys, cuts[:-1], cuts[1:], strict=True)}
