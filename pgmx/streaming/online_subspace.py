"""Learning of a subspace row by row: observed values and their levels, the state, calls of the compiled loops."""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from pgmx._ext import _subspace
from pgmx.checks import check_natural
from pgmx.data.files.readers import is_path
from pgmx.streaming.base import StreamLearner
from pgmx.streaming.inputs import check_finite

_KINDS = {"probit": 0, "tobit": 1, "logit": 2, "tobit2": 3}

_SPREAD = 0.1  # standard deviation of the initial random subspace


# ---- observed values of arrays, frames, sparse matrices and triples ----


class Cells(NamedTuple):
    """Observed values, row by row and in ascending columns; `starts` (n_rows + 1,) has the start of each row."""

    starts: np.ndarray  # int64
    columns: np.ndarray  # int32
    values: np.ndarray  # float64
    shape: tuple[int, int]
    codes: np.ndarray = np.empty(0, np.int32)  # int32, of the levels

    @property
    def rows(self) -> np.ndarray:
        """Row of each cell."""
        return np.repeat(np.arange(self.shape[0]), np.diff(self.starts))


def _check_format(matrix: Any) -> None:
    """Raise ValueError for a sparse matrix whose format stores zeros between its entries."""
    if matrix.format in ("bsr", "dia"):
        raise ValueError(
            f"the sparse matrix X has the format {matrix.format!r}, which cannot distinguish 0 from missing values: "
            "give CSR, CSC or COO"
        )


def list_cells(rows: Any, n_entries: int | None = None) -> Cells:
    """Return the observed values of checked rows: an array without its NaN, or the explicit entries of a CSR matrix.

    ValueError for duplicate entries; `n_entries` is the number of entries before the conversion to CSR.
    """
    if isinstance(rows, np.ndarray):
        observed = ~np.isnan(rows)
        columns, values, counts = np.nonzero(observed)[1], rows[observed], observed.sum(axis=1)
    else:
        # the conversion to CSR has summed duplicates already if the number of entries has changed
        if not rows.has_canonical_format or rows.nnz != n_entries:
            rows = rows.copy()
            rows.sum_duplicates()
            if rows.nnz != n_entries:
                raise ValueError("the sparse matrix X has two entries for one cell: give each cell once")
        observed = ~np.isnan(rows.data)
        columns, values = rows.indices[observed], rows.data[observed]
        counts = np.diff(np.r_[0, np.cumsum(observed)][rows.indptr])
    starts = np.r_[0, np.cumsum(counts)].astype(np.int64)
    return Cells(starts, columns.astype(np.int32), np.ascontiguousarray(values, np.float64), rows.shape)


def read_triples(rows: Any, columns: Any, levels: Any, n_columns: int | None) -> csr_matrix:
    """Return triples as a CSR matrix; ValueError for negative positions and for duplicate cells."""
    places = {"rows": np.asarray(rows), "columns": np.asarray(columns)}
    numbers = np.asarray(levels, dtype=np.float64)
    for name, array in places.items():
        if array.ndim != 1 or array.shape != numbers.shape:
            raise ValueError(
                f"{name} has the shape {array.shape} and levels {numbers.shape}: give three arrays of one length"
            )
        if array.dtype.kind not in "iu":
            raise ValueError(f"{name} must hold positions from 0 on, got {array.dtype}: convert names to integers")
        if array.size and array.min() < 0:
            raise ValueError(f"{name} holds {array.min()}: positions begin at 0")
    if not numbers.size:
        raise ValueError("there are no triples: give at least one row, column and level")
    width = int(places["columns"].max()) + 1 if n_columns is None else check_natural(n_columns, "n_columns", 1)
    if places["columns"].max() >= width:
        raise ValueError(f"columns holds {places['columns'].max()}, beyond n_columns={n_columns}")
    order = np.lexsort((places["columns"], places["rows"]))
    row, column = places["rows"][order].astype(np.int64), places["columns"][order].astype(np.int64)
    twice = np.flatnonzero((np.diff(row) == 0) & (np.diff(column) == 0))
    if len(twice):
        raise ValueError(f"row {row[twice[0]]} and column {column[twice[0]]} occur twice: give each cell once")
    # rows without values are rows too
    starts = np.searchsorted(row, np.arange(row[-1] + 2))
    return csr_matrix((numbers[order], column, starts), shape=(int(row[-1]) + 1, width))


def _find_levels(cells: Cells, is_tobit: bool) -> np.ndarray:
    """Return the observed levels, ascending, or the minimum and maximum; a single level gets a second one.

    ValueError if there are no observed values.
    """
    # adding zero turns -0.0 into 0.0
    levels = np.unique(cells.values) + 0.0
    if not len(levels):
        raise ValueError(f"X has no observed value in {cells.shape[0]} sample(s): give some, or declare levels=")
    if is_tobit:
        levels = levels[[0, -1]]
    if levels[0] == levels[-1]:
        # models need two levels, and large values a distance that is above their rounding
        return np.array([levels[0], levels[0] + max(1.0, abs(levels[0]))])
    return levels


def code_cells(cells: Cells, levels: np.ndarray, model: str, names: Any = None) -> np.ndarray:
    """Return the position of each value's level, int32; for tobits 0, 1, 2 for below, inside and above the bounds.

    Values at a bound are censored: they lie beyond the bounds for type I, and inside for type II.
    """
    low, high = levels[[0, -1]]
    if model == "tobit":
        return ((cells.values > low).astype(np.int32) + (cells.values >= high)).astype(np.int32)
    if model == "tobit2":
        return ((cells.values >= low).astype(np.int32) + (cells.values > high)).astype(np.int32)
    codes = np.minimum(np.searchsorted(levels, cells.values), len(levels) - 1)
    wrong = np.flatnonzero(levels[codes] != cells.values)
    if len(wrong):
        column = cells.columns[wrong[0]]
        name = repr(names[column]) if names is not None else str(column)
        known = ", ".join(f"{level:g}" for level in levels[:10]) + (", ..." if len(levels) > 10 else "")
        raise ValueError(
            f"column {name}, row {cells.rows[wrong[0]]} of the chunk holds {cells.values[wrong[0]]:g}, which is not "
            f"among the levels {known}: declare all of them by levels="
        )
    return codes.astype(np.int32)


def read_cell_positions(cells: Any, shape: tuple[int, int]) -> np.ndarray:
    """Return row * n_columns + column of cells given as rows and columns; ValueError outside the shape."""
    if len(cells) != 2:
        raise ValueError(f"cells must be a pair of rows and columns, got {len(cells)} entries")
    rows, columns = (np.asarray(places) if len(places) else np.empty(0, np.int64) for places in cells)
    if rows.ndim != 1 or rows.shape != columns.shape:
        raise ValueError(
            f"cells has rows of the shape {rows.shape} and columns of {columns.shape}: give two equal lists"
        )
    for name, array, size in (("row", rows, shape[0]), ("column", columns, shape[1])):
        if array.size and (array.dtype.kind not in "iu" or array.min() < 0 or array.max() >= size):
            raise ValueError(f"cells names a {name} that is not from 0 to {size - 1}")
    return rows.astype(np.int64) * shape[1] + columns


# ---- learning ----


class OnlineSubspace(StreamLearner):
    """State of a subspace and its updates, with the options of `CategoricalSubspace`."""

    _state_names = ("levels_", "_subspace", "_offsets", "_counts", "_centre", "_thresholds", "_progress", "_limits")
    # the number of levels decides the sizes of the other arrays
    _first_names = ("levels_",)
    # they affect how rows are read, not the state
    _free_options = ("max_iter", "na_values")
    _accepts_sparse = True

    model: str
    n_components: int
    lam: float
    offsets: bool
    sketch: str
    learn_thresholds: bool
    levels: Any
    thresholds: Any
    noise: float
    lam_offsets: float
    step: float
    decay: float
    na_values: Any
    random_state: Any
    levels_: np.ndarray

    def _count_values(self, n_features: int) -> int:
        return n_features * self._count_predictors(self.levels_) * self.n_components

    def _start(self, n_features: int) -> None:
        c = self._count_predictors(self.levels_)
        thresholds = self._list_thresholds()
        rng = check_random_state(self.random_state)
        self._subspace = _SPREAD * rng.standard_normal((n_features, c, self.n_components))
        self._offsets, self._counts, self._centre = np.zeros((n_features, c)), np.zeros(n_features), np.zeros(c)
        if self.model == "logit":
            # the threshold of a logit is minus the common offset of its level
            self._centre, thresholds = -thresholds, (self.levels_[1:] + self.levels_[:-1]) / 2
        self._thresholds = np.r_[-np.inf, (thresholds - self._middle) / self._unit, np.inf]
        self._progress = np.array([1.0, 0.0, 0.0])
        # the bounds of type I move inwards, those of type II outwards, each up to the nearest exact value
        self._limits = np.array([np.inf, -np.inf]) * (1.0 if self.model == "tobit" else -1.0)

    def _count_predictors(self, levels: np.ndarray) -> int:
        """Return the number of predictors per cell."""
        return len(levels) - 1 if self.model == "logit" else 1

    def _list_thresholds(self) -> np.ndarray:
        """Return the initial thresholds, or the bounds, in units of the levels; for a logit of the predictors."""
        levels = self.levels_
        if self._is_tobit:
            if self.thresholds is not None:
                raise ValueError(f"model={self.model!r} takes its bounds from levels: leave thresholds out")
            return levels
        if self.thresholds is None:
            return np.zeros(len(levels) - 1) if self.model == "logit" else (levels[1:] + levels[:-1]) / 2
        thresholds = self._read_numbers("thresholds")
        if thresholds.shape != (len(levels) - 1,):
            raise ValueError(
                f"thresholds has the shape {thresholds.shape}, but {len(levels)} levels need {len(levels) - 1}"
            )
        is_logit = self.model == "logit"
        if not np.isfinite(thresholds).all() or (not is_logit and (np.diff(thresholds) <= 0).any()):
            raise ValueError(f"thresholds={self.thresholds!r}: they must be finite" + " and ascending" * (not is_logit))
        return thresholds

    @property
    def _is_tobit(self) -> bool:
        return self.model in ("tobit", "tobit2")

    @property
    def _middle(self) -> float:
        """Value with the predictor 0."""
        ends = self.levels_[[0, -1]]
        # a tobit may be bounded on one side only
        ends = ends[np.isfinite(ends)]
        return float(ends.mean()) if len(ends) else 0.0

    @property
    def _unit(self) -> float:
        """Standard deviation of the noise in units of the levels."""
        if self._is_tobit:
            return float(self.noise)
        return float(self.noise) * float(self.levels_[-1] - self.levels_[0]) / (len(self.levels_) - 1)

    @property
    def components_(self) -> np.ndarray:
        """Directions of the columns."""
        directions = np.moveaxis(self._progress[0] * self._subspace, 0, 2)
        return directions[0] if len(directions) == 1 else directions

    @property
    def column_offsets_(self) -> np.ndarray:
        """Sums of the common offset and the offsets of the columns."""
        offsets = (self._centre + self._offsets).T
        return offsets[0] if len(offsets) == 1 else offsets

    @property
    def thresholds_(self) -> np.ndarray:
        """Thresholds or bounds in the units of the levels; for a logit minus the common offsets."""
        if self.model == "logit":
            return -self._centre
        return self._middle + self._unit * self._thresholds[1:-1]

    def _check_rows(self, X: Any, y: Any, *, restart: bool) -> Any:
        """Return the checked values of rows, and None for the targets."""
        if is_path(X):
            raise TypeError(f"X must be numeric rows, got the path {str(X)!r:.60}: only fit and partial_fit read files")
        if issparse(X):
            _check_format(X)
        rows = validate_data(
            self,
            X,
            reset=restart,
            dtype=np.float64,
            order="C",
            accept_sparse="csr",
            ensure_all_finite=False,
        )
        names = getattr(self, "feature_names_in_", None)
        check_finite(rows, names, None, allow_nan=True)
        cells = list_cells(rows, X.nnz if issparse(X) else None)
        if restart:
            self.levels_ = self._list_levels(cells)
        return cells._replace(codes=code_cells(cells, self.levels_, self.model, names)), None

    def _list_levels(self, cells: Cells) -> np.ndarray:
        """Return the declared or the observed levels."""
        if self.levels is None:
            if self.model == "tobit2":
                raise ValueError("model='tobit2' needs levels=(low, high): values between them are censored")
            return _find_levels(cells, self._is_tobit)
        levels = self._read_numbers("levels")
        self._check_levels(levels)
        return levels

    def _read_numbers(self, option: str) -> np.ndarray:
        """Return an option as a numeric array; ValueError for other values."""
        try:
            return np.array(getattr(self, option), dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{option}={getattr(self, option)!r:.60} must be numeric: code text first") from None

    def _check_levels(self, levels: np.ndarray) -> None:
        is_tobit = self._is_tobit
        if levels.ndim != 1 or len(levels) < 2 or (is_tobit and len(levels) != 2):
            raise ValueError(
                f"levels={levels.tolist()!r:.80}: give {'two bounds' if is_tobit else 'at least two levels'}"
            )
        if not (levels[1:] > levels[:-1]).all() or not (is_tobit or np.isfinite(levels).all()):
            raise ValueError(f"levels={levels.tolist()!r:.80}: they must ascend" + (" and be finite" * (not is_tobit)))

    def _open_cells(self, X: Any) -> Cells:
        """Check rows, and make the state of a new learner for them, without learning them."""
        restart = not hasattr(self, "n_seen_")
        self._validate_params()
        cells, _ = self._check_rows(X, None, restart=restart)
        if restart:
            self._start(self.n_features_in_)
            self.n_seen_ = 0
            self._freeze_options()
        return cells

    def _update(self, rows: Cells, targets: Any, predictions: Any) -> None:
        sketches = self._make_sketches(rows)
        _subspace.learn_rows(
            *self._pack_cells(rows),
            self._subspace,
            self._offsets,
            self._counts,
            self._centre,
            self._thresholds,
            self._progress,
            _KINDS[self.model],
            self.offsets,
            self.sketch == "newton",
            self.learn_thresholds,
            self.lam,
            self.lam_offsets,
            self.step,
            self.decay,
            sketches,
            self._limits,
        )

    def _predict(self, rows: Cells) -> np.ndarray:
        sketches = self._make_sketches(rows)
        _subspace.sketch_rows(
            *self._pack_cells(rows),
            self._subspace,
            self._offsets,
            self._centre,
            self._thresholds,
            self._progress,
            _KINDS[self.model],
            self.offsets,
            self.sketch == "newton",
            self.lam,
            self.lam_offsets,
            sketches,
        )
        return sketches

    def _make_sketches(self, cells: Cells) -> np.ndarray:
        return np.empty((cells.shape[0], self.n_components + (len(self._centre) if self.offsets else 0)))

    def _pack_cells(self, cells: Cells) -> tuple[np.ndarray, ...]:
        """Return starts of rows, columns, codes, and values (for tobits in units of the noise)."""
        values = (cells.values - self._middle) / self._unit if self._is_tobit else cells.values
        return cells.starts, cells.columns, cells.codes, values

    def _record_values(self, values: np.ndarray) -> np.ndarray:
        """Return the values as the model records them: those of a tobit are censored at its bounds."""
        if not self._is_tobit:
            return values
        low, high = self.levels_
        if self.model == "tobit":
            return np.clip(values, low, high)
        return np.where((low <= values) & (values <= high), self._middle, values)

    # ---- files ----

    def _unpack_first(self, arrays: dict[str, np.ndarray]) -> None:
        levels = arrays["levels_"]
        if levels.dtype != np.float64:
            raise ValueError(f"its levels are of the type {levels.dtype}")
        self._check_levels(levels)
        if self.levels is not None and not np.array_equal(levels, self._read_numbers("levels")):
            raise ValueError("its levels differ from the levels in its options")
        self.levels_ = levels

    def _check_state(self, arrays: dict[str, np.ndarray]) -> None:
        super()._check_state(arrays)
        edges, progress, inner = arrays["_thresholds"], arrays["_progress"], arrays["_thresholds"][1:-1]
        # the bounds of type I may meet at the only exact value
        gaps = np.diff(inner) > (-1e-300 if self.model == "tobit" else 0)
        if not (self.learn_thresholds and self.model != "logit"):
            if not np.array_equal(edges, self._thresholds):
                raise ValueError("its thresholds do not match its levels and options")
        elif not (gaps.all() and (np.isfinite(edges) == np.isfinite(self._thresholds)).all()):
            raise ValueError("its thresholds do not ascend from -inf to inf")
        if not (0 < progress[0] <= 1 and (progress[1:] >= 0).all() and (arrays["_counts"] >= 0).all()):
            raise ValueError("its counts of rows and cells, or the scale of the subspace, are out of range")
        for name in ("_subspace", "_offsets", "_counts", "_centre", "_progress"):
            if not np.isfinite(arrays[name]).all():
                raise ValueError(f"its array {name!r} holds infinite values")
