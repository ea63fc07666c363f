"""The paths of penalties that a selection has solved so far, in memory and as arrays of a checkpoint."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array

from pgmx.estimators.gaussian.estimate import GaussianEstimate
from pgmx.runs.run import Run
from pgmx.runs.snapshot import Snapshot

_FIGURES = ("lam", "objective", "dual_gap", "violation")
_ENDS = ("converged", "max_iter", "stalled")
_FORMATS = {"": None, "csc": csc_array, "csr": csr_array}


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
    estimates = [estimate for path in paths.values() for estimate in path]
    arrays: dict[str, Any] = {
        "keys": np.array(list(paths)),
        "lengths": np.array([len(path) for path in paths.values()], dtype=np.int64),
        "n_iter": np.array([estimate.n_iter for estimate in estimates], dtype=np.int64),
        "ends": np.array([_ENDS.index(estimate.stopped_by) for estimate in estimates], dtype=np.int64),
        "figures": np.array([[getattr(estimate, name) for name in _FIGURES] for estimate in estimates]),
    }
    for k, estimate in enumerate(estimates):
        arrays[f"{k}_edges"] = estimate.edges
        for name, matrix in (("precision", estimate.precision), ("raw", estimate.raw)):
            arrays[f"{k}_{name}_format"] = "" if matrix is None else matrix.format
            if matrix is not None:
                parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}
                arrays.update({f"{k}_{name}_{part}": values for part, values in parts.items()})
    return arrays


def read_paths(snapshot: Snapshot, n: int) -> dict[str, list[GaussianEstimate]]:
    """Return the paths over `n` variables that `pack_paths` has put into a snapshot."""
    keys = [str(key) for key in snapshot.value("keys")] if "keys" in snapshot else []
    lengths = snapshot.array("lengths", np.int64, (len(keys),), least=1)
    snapshot.check(0 < len(set(keys)) == len(keys) and lengths.sum() < 10**6, "no paths, or one path twice")
    shape = (int(lengths.sum()),)
    n_iter = snapshot.array("n_iter", np.int64, shape, least=0).tolist()
    ends = snapshot.array("ends", np.int64, shape, least=0, most=len(_ENDS) - 1).tolist()
    figures = snapshot.array("figures", float, (*shape, len(_FIGURES)), finite=False)
    snapshot.check(not np.isnan(figures).any() and (figures[:, 0] >= 0).all(), "figures that are none")
    estimates = []
    for k in range(shape[0]):
        part = snapshot.take_part(f"{k}_")
        edges = part.pairs("edges", n)
        part.check((edges[:, 0] < edges[:, 1]).all(), "edges in another order")
        precision, raw = _read_matrix(part.take_part("precision_"), n), _read_matrix(part.take_part("raw_"), n)
        part.check(raw is not None and (precision is None or precision.format == "csr"), "matrices of another format")
        part.check(precision is None or (precision.diagonal() > 0).all(), "a precision that is not positive")
        numbers = dict(zip(_FIGURES, figures[k].tolist(), strict=True))
        estimates.append(
            GaussianEstimate(
                edges=edges, precision=precision, raw=raw, stopped_by=_ENDS[ends[k]], n_iter=n_iter[k], **numbers
            )
        )
    snapshot.check_names(("keys", "lengths", "n_iter", "ends", "figures"))
    cuts = np.cumsum([0, *lengths]).tolist()
    return {key: estimates[first:end] for key, first, end in zip(keys, cuts[:-1], cuts[1:], strict=True)}


def _read_matrix(part: Snapshot, n: int) -> Any:
    """Return a square sparse matrix, None where there is none."""
    name = str(part.value("format")) if "format" in part else "none"
    part.check(name in _FORMATS, "a matrix of an unknown format")
    make = _FORMATS[name]
    if make is None:
        part.check_names(("format",))
        return None
    part.check_names(("format", "data", "indices", "indptr"))
    data = part.array("data", float, (None,))
    dtype = part.value("indices").dtype
    part.check(dtype in (np.int32, np.int64), "indices of another type")
    indices = part.array("indices", dtype, data.shape, least=0, most=n - 1)
    indptr = part.array("indptr", part.value("indptr").dtype, (n + 1,), least=0, most=len(data))
    in_order = indptr.dtype.kind == "i" and indptr[0] == 0 and indptr[-1] == len(data) and (np.diff(indptr) >= 0).all()
    part.check(in_order, "a matrix whose rows do not follow one another")
    return make((data, indices, indptr), shape=(n, n))
