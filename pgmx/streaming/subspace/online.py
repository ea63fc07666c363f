"""Learning of a subspace row by row: state, checks of values and levels, calls of the compiled loops."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from pgmx._ext import _subspace
from pgmx.data.readers import is_path
from pgmx.streaming.base import StreamLearner
from pgmx.streaming.inputs import check_finite
from pgmx.streaming.subspace.cells import Cells, check_format, code_cells, find_levels, list_cells

_KINDS = {"probit": 0, "tobit": 1, "logit": 2}
_SPREAD = 0.1  # standard deviation of the initial random subspace


class OnlineSubspace(StreamLearner):
    """State of a subspace and its updates, with the options of `CategoricalSubspace`."""

    _state_names = ("levels_", "_subspace", "_offsets", "_counts", "_centre", "_thresholds", "_progress")
    _first_names = ("levels_",)
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

    def _count_numbers(self, n_features: int) -> int:
        return n_features * self._count_predictors(self.levels_) * self.n_components

    def _start(self, n_features: int) -> None:
        c = self._count_predictors(self.levels_)
        if self.learn_thresholds and self.model != "probit":
            raise ValueError(f"learn_thresholds=True is for model='probit', got model={self.model!r}")
        if self.thresholds is not None and self.model != "probit":
            raise ValueError(f"thresholds are for model='probit', got model={self.model!r}")
        thresholds = self._list_thresholds()
        rng = check_random_state(self.random_state)
        self._subspace = _SPREAD * rng.standard_normal((n_features, c, self.n_components))
        self._offsets, self._counts, self._centre = np.zeros((n_features, c)), np.zeros(n_features), np.zeros(c)
        self._thresholds = np.r_[-np.inf, (thresholds - self._middle) / self._unit, np.inf]
        self._progress = np.array([1.0, 0.0, 0.0])

    def _count_predictors(self, levels: np.ndarray) -> int:
        """Return the number of predictors per cell."""
        return len(levels) - 1 if self.model == "logit" else 1

    def _list_thresholds(self) -> np.ndarray:
        """Return the initial thresholds, or the bounds, in units of the levels."""
        levels = self.levels_
        if self.model == "tobit":
            return levels
        if self.thresholds is None:
            return (levels[1:] + levels[:-1]) / 2
        thresholds = self._read_numbers("thresholds")
        if thresholds.shape != (len(levels) - 1,):
            raise ValueError(
                f"thresholds has the shape {thresholds.shape}, but {len(levels)} levels need {len(levels) - 1}"
            )
        if not np.isfinite(thresholds).all() or (np.diff(thresholds) <= 0).any():
            raise ValueError(f"thresholds={self.thresholds!r}: they must be finite and ascending")
        return thresholds

    @property
    def _middle(self) -> float:
        """Value with the predictor 0."""
        ends = self.levels_[[0, -1]]
        ends = ends[np.isfinite(ends)]
        return float(ends.mean()) if len(ends) else 0.0

    @property
    def _unit(self) -> float:
        """Standard deviation of the noise in units of the levels."""
        if self.model == "tobit":
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
        """Thresholds or bounds in the units of the levels."""
        return self._middle + self._unit * self._thresholds[1:-1]

    def _check_rows(self, X: Any, y: Any, *, restart: bool) -> Any:
        """Return the checked values of rows, and None for the targets."""
        if is_path(X):
            raise TypeError(f"X must be numeric rows, got the path {str(X)!r:.60}: only fit and partial_fit read files")
        if issparse(X):
            check_format(X)
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
        return cells._replace(codes=code_cells(cells, self.levels_, self.model == "tobit", names)), None

    def _list_levels(self, cells: Cells) -> np.ndarray:
        """Return the declared or the observed levels."""
        is_tobit = self.model == "tobit"
        if self.levels is None:
            return find_levels(cells, is_tobit)
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
        is_tobit = self.model == "tobit"
        if levels.ndim != 1 or len(levels) < 2 or (is_tobit and len(levels) != 2):
            raise ValueError(
                f"levels={levels.tolist()!r:.80}: give {'two bounds' if is_tobit else 'at least two levels'}"
            )
        if not (levels[1:] > levels[:-1]).all() or not (is_tobit or np.isfinite(levels).all()):
            raise ValueError(f"levels={levels.tolist()!r:.80}: they must ascend" + (" and be finite" * (not is_tobit)))

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
        """Return starts of rows, columns, codes, and values (for a tobit in units of the noise)."""
        values = (cells.values - self._middle) / self._unit if self.model == "tobit" else cells.values
        return cells.starts, cells.columns, cells.codes, values

    # ---- files ----

    def _take_first(self, arrays: dict[str, np.ndarray]) -> None:
        levels = arrays["levels_"]
        if levels.dtype != np.float64:
            raise ValueError(f"its levels are of the type {levels.dtype}")
        self._check_levels(levels)
        if self.levels is not None and not np.array_equal(levels, self._read_numbers("levels")):
            raise ValueError("its levels differ from the levels in its options")
        self.levels_ = levels

    def _check_state(self, arrays: dict[str, np.ndarray]) -> None:
        super()._check_state(arrays)
        edges, progress = arrays["_thresholds"], arrays["_progress"]
        if not self.learn_thresholds and not np.array_equal(edges, self._thresholds):
            raise ValueError("its thresholds do not match its levels and options")
        if self.learn_thresholds and ((edges[1:] <= edges[:-1]).any() or np.isfinite(edges).sum() != len(edges) - 2):
            raise ValueError("its thresholds do not ascend from -inf to inf")
        if not (0 < progress[0] <= 1 and (progress[1:] >= 0).all() and (arrays["_counts"] >= 0).all()):
            raise ValueError("its counts of rows and cells, or the scale of the subspace, are out of range")
        for name in ("_subspace", "_offsets", "_counts", "_centre", "_progress"):
            if not np.isfinite(arrays[name]).all():
                raise ValueError(f"its array {name!r} holds infinite values")
