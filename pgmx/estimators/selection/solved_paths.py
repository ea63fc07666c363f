"""The paths of penalties that a selection has solved so far, in memory and as arrays of a checkpoint."""

from collections.abc import Callable
from typing import Any

import numpy as np

from pgmx.estimators.gaussian.estimate import GaussianEstimate
from pgmx.estimators.gaussian.stored import ESTIMATE_FIGURES, pack_estimates, read_estimates
from pgmx.runs.run import Run
from pgmx.runs.snapshot import Snapshot


class SolvedPaths:
    """Paths by key, each solved once, and written to the checkpoint of the run when that is due."""

    def __init__(self, run: Run, n: int):
        self._run, self._n = run, n
        self._paths: dict[str, list[GaussianEstimate]] = {}
        snapshot = run.restore()
        if snapshot is not None:
            self._paths = read_paths(snapshot, n)
        self._n_rows = run.n_rows

    def find(self, key: str, lams: np.ndarray) -> list[GaussianEstimate] | None:
        """Return the estimates of a path that was solved, None where it was not."""
        path = self._paths.get(key)
        if path is not None and not np.array_equal([estimate.lam for estimate in path], lams):
            raise ValueError(f"the checkpoint holds other penalties for {key!r}: delete the file to begin anew")
        return path

    def add(self, key: str, lams: np.ndarray, path: list[GaussianEstimate]) -> None:
        """Take a path, unless it was cut short."""
        if len(path) == len(lams) and not self._run.is_over():
            self._paths[key], self._n_rows = path, self._run.n_rows
            if self._run.is_snapshot_due():
                self.save()

    def solve(
        self, key: str, lams: np.ndarray, solve: Callable[[np.ndarray], list[GaussianEstimate]]
    ) -> list[GaussianEstimate]:
        """Return the estimates of a path."""
        path = self.find(key, lams)
        if path is None:
            path = solve(lams)
            self.add(key, lams, path)
        return list(path)

    def save(self) -> None:
        """Write a snapshot, if there is anything to write."""
        if self._paths and self._run.checkpoint is not None:
            self._run.save(pack_paths(self._paths), n_rows=self._n_rows)


def pack_paths(paths: dict[str, list[GaussianEstimate]]) -> dict[str, Any]:
    """Return paths by key as arrays."""
    lengths = np.array([len(path) for path in paths.values()], dtype=np.int64)
    estimates = [estimate for path in paths.values() for estimate in path]
    return {"keys": np.array(list(paths)), "lengths": lengths, **pack_estimates(estimates)}


def read_paths(snapshot: Snapshot, n: int) -> dict[str, list[GaussianEstimate]]:
    """Return the paths over `n` variables that `pack_paths` has put into a snapshot."""
    keys = [str(key) for key in snapshot.value("keys")] if "keys" in snapshot else []
    lengths = snapshot.array("lengths", np.int64, (len(keys),), least=1)
    snapshot.check(0 < len(set(keys)) == len(keys) and lengths.sum() < 10**6, "no paths, or one path twice")
    estimates = read_estimates(snapshot, n, int(lengths.sum()))
    snapshot.check_names(("keys", "lengths", *ESTIMATE_FIGURES))
    cuts = np.cumsum([0, *lengths]).tolist()
    return {key: estimates[first:end] for key, first, end in zip(keys, cuts[:-1], cuts[1:], strict=True)}
