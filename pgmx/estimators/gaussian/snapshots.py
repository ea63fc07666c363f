"""The content of a checkpoint of a Gaussian learner: estimates, columns, and the state of a path."""

from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array

from pgmx.estimators.gaussian.estimate import GaussianEstimate
from pgmx.runs.checkpoint import Snapshot
from pgmx.solvers.gaussian.column_estimates import ColumnEstimates
from pgmx.solvers.gaussian.graphical_lasso import GraphicalLassoPath, GraphicalLassoState

#: Arrays of `pack_estimates` with one value per estimate, and of `pack_columns` with one value per column.
ESTIMATE_FIGURES = ("n_iter", "ends", "figures")
COLUMN_FIGURES = ("columns", "gaps", "violations", "converged", "n_iter")
_FIGURES = ("lam", "objective", "dual_gap", "violation")
_ENDS = ("converged", "max_iter", "stalled")
_FORMATS = {"": None, "csc": csc_array, "csr": csr_array}

#: Larger entries cannot occur in a precision of correlations or in a regression.
_MOST = 1e15


# ---- estimates ----


def pack_estimates(estimates: list[GaussianEstimate]) -> dict[str, Any]:
    """Return estimates as arrays."""
    arrays: dict[str, Any] = {
        "n_iter": np.array([estimate.n_iter for estimate in estimates], dtype=np.int64),
        "ends": np.array([_ENDS.index(estimate.stopped_by) for estimate in estimates], dtype=np.int64),
        "figures": np.array([[getattr(estimate, name) for name in _FIGURES] for estimate in estimates]).reshape(
            -1, len(_FIGURES)
        ),
    }
    for k, estimate in enumerate(estimates):
        arrays[f"{k}_edges"] = estimate.edges
        arrays |= _pack_matrix(f"{k}_precision_", estimate.precision) | _pack_matrix(f"{k}_raw_", estimate.raw)
    return arrays


def read_estimates(snapshot: Snapshot, n: int, n_estimates: int) -> list[GaussianEstimate]:
    """Return the estimates over `n` variables that `pack_estimates` wrote to a snapshot."""
    shape = (n_estimates,)
    n_iter = snapshot.array("n_iter", np.int64, shape, least=0).tolist()
    ends = snapshot.array("ends", np.int64, shape, least=0, most=len(_ENDS) - 1).tolist()
    figures = snapshot.array("figures", float, (*shape, len(_FIGURES)), finite=False)
    # infinite figures are allowed: an unsolved estimate may have an infinite gap
    snapshot.check(not np.isnan(figures).any() and (figures[:, 0] >= 0).all(), "figures that are none")
    estimates = []
    for k in range(n_estimates):
        part = snapshot.take_part(f"{k}_")
        edges = part.pairs("edges", n)
        part.check((edges[:, 0] < edges[:, 1]).all(), "edges in another order")
        precision, raw = (_read_matrix(part.take_part(f"{name}_"), (n, n)) for name in ("precision", "raw"))
        part.check(raw is not None and (precision is None or precision.format == "csr"), "matrices of another format")
        part.check(precision is None or (precision.diagonal() > 0).all(), "a precision that is not positive")
        part.check_names(("edges",))
        numbers = dict(zip(_FIGURES, figures[k].tolist(), strict=True))
        estimates.append(
            GaussianEstimate(
                edges=edges, precision=precision, raw=raw, stopped_by=_ENDS[ends[k]], n_iter=n_iter[k], **numbers
            )
        )
    return estimates


def _pack_matrix(prefix: str, matrix: csr_array | csc_array | None) -> dict[str, Any]:
    if matrix is None:
        return {f"{prefix}format": ""}
    parts = {"format": matrix.format, "data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}
    return {f"{prefix}{name}": value for name, value in parts.items()}


def _read_matrix(part: Snapshot, shape: tuple[int, int]) -> Any:
    """Return a sparse matrix, or None if there is none."""
    name = str(part.value("format")) if "format" in part else "none"
    part.check(name in _FORMATS, "a matrix of an unknown format")
    make = _FORMATS[name]
    if make is None:
        part.check_names(("format",))
        return None
    part.check_names(("format", "data", "indices", "indptr"))
    data = part.array("data", float, (None,), least=-_MOST, most=_MOST)
    dtype = part.value("indices").dtype
    # scipy chooses the type of indices by the size of the matrix
    part.check(dtype in (np.int32, np.int64), "indices of another type")
    n_lines, n_places = shape if name == "csr" else shape[::-1]
    indices = part.array("indices", dtype, data.shape, least=0, most=n_places - 1)
    indptr = part.array("indptr", part.value("indptr").dtype, (n_lines + 1,), least=0, most=len(data))
    in_order = indptr.dtype.kind == "i" and indptr[0] == 0 and indptr[-1] == len(data) and (np.diff(indptr) >= 0).all()
    part.check(in_order, "a matrix whose row pointers do not ascend")
    return make((data, indices, indptr), shape=shape)


# ---- columns ----


def pack_columns(columns: ColumnEstimates) -> dict[str, Any]:
    """Return the estimates of some columns as arrays."""
    arrays = {name: getattr(columns, name) for name in COLUMN_FIGURES}
    for k, matrix in enumerate(columns.coefficients):
        arrays |= _pack_matrix(f"{k}_", matrix)
    return arrays


def read_columns(snapshot: Snapshot, lams: np.ndarray, n: int) -> ColumnEstimates:
    """Return the estimates of some of `n` columns that `pack_columns` wrote to a snapshot."""
    columns = snapshot.array("columns", np.int64, (None,), least=0, most=n - 1, distinct=True)
    shape = (len(lams), len(columns))
    matrices = [_read_matrix(snapshot.take_part(f"{k}_"), (n, len(columns))) for k in range(len(lams))]
    for matrix in matrices:
        snapshot.check(matrix is not None and matrix.format == "csc", "columns of another format")
        snapshot.check(_has_ascending_rows(matrix), "columns whose row indices do not ascend")
    snapshot.check_names(COLUMN_FIGURES)
    return ColumnEstimates(
        lams=lams,
        columns=columns,
        coefficients=matrices,
        gaps=snapshot.array("gaps", float, shape, finite=False),
        violations=snapshot.array("violations", float, shape, finite=False),
        converged=snapshot.array("converged", bool, shape),
        n_iter=snapshot.array("n_iter", np.int64, shape[1:], least=0),
    )


# ---- a graphical lasso ----


def pack_state(state: GraphicalLassoState) -> dict[str, Any]:
    """Return the start of the next penalty of a graphical lasso as arrays."""
    arrays = {"lam": state.lam, "dual": state.dual, "safe": state.safe}
    return arrays | _pack_matrix("columns_", state.columns) | _pack_matrix("precision_", state.precision)


def restore_state(snapshot: Snapshot, path: GraphicalLassoPath, n: int) -> None:
    """Let the path of a graphical lasso over `n` variables resume from a snapshot written by `pack_state`."""
    columns, precision = (_read_matrix(snapshot.take_part(f"{name}_"), (n, n)) for name in ("columns", "precision"))
    for matrix in (columns, precision):
        snapshot.check(matrix is not None and matrix.format == "csr", "coefficients of another format")
    snapshot.check(_has_ascending_rows(columns), "coefficients whose column indices do not ascend")
    snapshot.check(not _has_diagonal(columns), "coefficients of a variable itself")
    snapshot.check((precision.diagonal() > 0).all(), "a precision that is not positive")
    snapshot.check_names(("lam", "dual", "safe"))
    dual, safe = snapshot.array("dual", float, (None,)), snapshot.array("safe", bool, (None,))
    try:
        path.restore(GraphicalLassoState(snapshot.number("lam", 0), dual, safe, columns, precision))
    except ValueError as error:
        raise snapshot.error(str(error)) from error


def _has_ascending_rows(matrix: csr_array | csc_array) -> bool:
    """Return whether the indices within each row (or column) of a sparse matrix ascend."""
    rows = np.repeat(np.arange(len(matrix.indptr) - 1), np.diff(matrix.indptr))
    return bool(((np.diff(rows) > 0) | (np.diff(matrix.indices.astype(np.int64)) > 0)).all())


def _has_diagonal(matrix: csr_array) -> bool:
    rows = np.repeat(np.arange(len(matrix.indptr) - 1), np.diff(matrix.indptr))
    return bool((rows == matrix.indices).any())
