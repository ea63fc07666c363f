"""Structural vector autoregressions that change from row to row."""

import copy
from collections.abc import Callable, Hashable, Sequence
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array

from pgmx.checks import check_same_names, warn_of_target
from pgmx.data.files.readers import is_iterator, is_path
from pgmx.data.series import Panel, SeriesOptions
from pgmx.data.series.reading import SegmentReader, SeriesRows, list_tables, read_chunks, read_rows
from pgmx.estimators.base import Interval, StrOptions, adopt_fit, clone_learner
from pgmx.estimators.time_series.cost import SeriesSize
from pgmx.estimators.time_series.learner import TimeSeriesLearner
from pgmx.estimators.time_series.svarm.kernel_svarm import list_kernels, read_kernels
from pgmx.models import TimeSeriesGraph
from pgmx.solvers.time_series.group_lasso import GroupLassoProblem, solve_path
from pgmx.solvers.time_series.group_ridge import GroupRidge
from pgmx.solvers.time_series.kernel_features import KernelFeatures, make_features
from pgmx.solvers.time_series.svarm_tracking import BLOCK, Columns, FactorTracker

#: Number of first rows whose means and standard deviations are the units of the features.
N_FIRST = 100

#: Relative duality gap of the lasso, and its maximum number of passes.
TOL, MAX_ITER = 1e-6, 100_000

#: Options that the state depends on, which cannot change between two rows.
_STATE_OPTIONS = ("lags", "instantaneous", "kernels", "bandwidth", "max_rank", "forgetting", "detect")


class _Estimate(NamedTuple):
    """Strengths [lag, target, source], coefficients and intercepts in the user's units if linear, and the penalties."""

    strengths: np.ndarray
    coef: np.ndarray | None
    intercept: np.ndarray | None
    lam: float
    lam_max: float


class SVARMTracker(TimeSeriesLearner):
    r"""Structural vector autoregression that changes over time, updated row by row.

    The model is that of `LinearSVARM` or, with other kernels, of `KernelSVARM`. After row t its functions minimise

    .. math:: \sum_{s \le t} \beta^{t - s}\, \tfrac{1}{2} \sum_j \Big(y_{js} - c_j - \sum_b \phi_b(s)' w_{bj}\Big)^2
        + \lambda \sum_{b,j} \Omega(\|w_{bj}\|), \qquad \Omega(z) = z \text{ or } z^2

    over blocks b of one lag, series and kernel, with series of weighted variance 1 and features :math:`\phi_b` of
    weighted variance 1 in total. If the forecast errors of recent rows contradict the model, all rows before the change
    are forgotten.

    Parameters
    ----------
    data : frame, array, path, or list or dict of them, optional
        What ``estimate()`` learns from; ``fit(X)`` and ``partial_fit(X)`` need none.
    lags : int, default=1
        Largest lag L, at least 1.
    instantaneous : bool, default=True
        Whether series depend on present values of other series. Instantaneous edges have no direction.
    kernels : {"linear", "poly2", "gaussian"}, callable, or a sequence of these, default="linear"
        As for `KernelSVARM`. Each kernel but the linear one is replaced by its leading eigenfunctions under the
        standard normal distribution, computed on a fixed dictionary of 33 points.
    bandwidth : float, default=1.0
        σ of the Gaussian kernel, in standard deviations of each series.
    max_rank : int, default=8
        Maximum number of eigenfunctions of a kernel, at most 33.
    forgetting : float, default=0.995
        Weight β of a row relative to the next, above 0 and at most 1. The memory is about 1 / (1 − β) rows.
    detect : bool, default=True
        Whether the forecast errors of each row are tested for a change: cumulative sums of −ln p − 2, with p-values of
        F statistics, reach their limit in a row without a change with probability 10⁻⁶ (Gaussian noise of constant
        variance). With noise whose variance changes give False.
    penalty : {"lasso", "ridge"}, default="lasso"
        Ω: the group lasso, whose graph is sparse, or the closed form of ridge regression, with all edges.
    lam : float, default=None
        Penalty λ > 0, not divided by the sum of weights. None means `lam_ratio` times `lam_max_`.
    lam_ratio : float, default=0.1
        Penalty as a share of the smallest lasso penalty without edges, used if `lam` is None.
    time_column : hashable, default=None
        Column of the times.
    missing : {"error", "drop"}, default="error"
        How to treat missing values: raise an error, or leave out the rows whose lag window has a missing value.
    na_values : scalar, str, list-like or dict, default=None
        Additional markers of missing values in a CSV file, such as "?", per column if a dict, as in
        ``pandas.read_csv``. Any value, even an empty list, switches off the warning about possible markers.
    irregular : {"error", "ignore"}, default="error"
        How to treat irregular times: raise an error, or assume that rows are equidistant.
    n_jobs : int, default=None
        Number of threads for the targets of the lasso. The result does not depend on it.

    Attributes
    ----------
    strengths_ : ndarray of float64, shape (L + 1, N, N)
        Strengths [lag, target, source] as of `KernelSVARM`: the largest :math:`\|w_{bj}\|` over the kernels. Zero
        before two rows could be predicted. This and the following results are computed on first access after new rows.
    coef_ : ndarray of float64, shape (L + 1, N, N)
        Coefficients [lag, target, source] in the user's units; only with the linear kernel alone.
    intercept_ : ndarray of float64, shape (N,)
        Intercepts in the user's units; only with the linear kernel alone.
    graph_ : TimeSeriesGraph
        The current graph, with the attribute ``strength`` and, with the linear kernel alone, ``weight``.
    lam_, lam_max_ : float
        The penalty, and the smallest lasso penalty without edges.
    restarts_ : list of int
        Rows, counted from 0, at which the model changed.
    n_seen_ : int
        Rows so far.
    variables_, n_features_in_, feature_names_in_ : list, int, ndarray
        The series.

    Raises
    ------
    ValueError, TypeError
        If rows do not match the previous rows, an option is invalid, or an option of the state was changed between two
        rows. The learner is not changed then.

    Notes
    -----
    The state is the triangular factor of the weighted rows, p² values for p = 1 + N (L + 1) columns, or
    1 + N (L + 1) r + N with kernels of r functions; at most 256 rows of these columns; and the last L rows. Blocks of
    32 rows enter by one QR decomposition, O(p²) per row. The blocks are counted from the first row, so that the result
    is the same, to the last bit, for any chunks. Results take O(p³) time. The first 100 rows define the units in which
    the functions of kernels are fixed.

    References
    ----------
    .. [1] Shen, Y. (2019). Online, nonlinear and tensor-based learning over networks. Thesis, University of Minnesota,
       chapter 5: equations 5.11 to 5.13; section 5.7 names tracking as future work.
    .. [2] Page, E. S. (1954). Continuous inspection schemes. Biometrika 41, 100-115.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.estimators import SVARMTracker
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.standard_normal((800, 3))
    >>> rows[1:400, 1] += 2.0 * rows[:399, 0]
    >>> rows[400:, 2] += 2.0 * rows[399:-1, 0]
    >>> tracker = SVARMTracker(lam_ratio=0.3)
    >>> for chunk in np.split(rows, 8):
    ...     tracker = tracker.partial_fit(chunk)
    >>> list(tracker.graph_.edges())
    [(('x0', 1), ('x2', 0))]
    """

    _parameter_constraints = {
        **{
            name: constraint
            for name, constraint in TimeSeriesLearner._parameter_constraints.items()
            if name not in ("standardize", "fit_intercept")
        },
        "instantaneous": ["boolean"],
        "kernels": ["array-like", str, callable],
        "bandwidth": [Interval(Real, 0, None, closed="neither")],
        "max_rank": [Interval(Integral, 1, 33, closed="both")],
        "forgetting": [Interval(Real, 0, 1, closed="right")],
        "detect": ["boolean"],
        "penalty": [StrOptions({"lasso", "ridge"})],
        "lam": [Interval(Real, 0, None, closed="neither"), None],
        "lam_ratio": [Interval(Real, 0, None, closed="neither")],
    }

    n_seen_: int

    _reader: SegmentReader
    _pending: np.ndarray
    _places: np.ndarray
    _units: tuple[np.ndarray, np.ndarray] | None
    _features: list[KernelFeatures]
    _tracker: FactorTracker | None

    def __init__(
        self,
        data: Any = None,
        *,
        lags: int = 1,
        instantaneous: bool = True,
        kernels: str | Callable | Sequence[str | Callable] = "linear",
        bandwidth: float = 1.0,
        max_rank: int = 8,
        forgetting: float = 0.995,
        detect: bool = True,
        penalty: Literal["lasso", "ridge"] = "lasso",
        lam: float | None = None,
        lam_ratio: float = 0.1,
        time_column: Hashable | None = None,
        missing: Literal["error", "drop"] = "error",
        na_values: Any = None,
        irregular: Literal["error", "ignore"] = "error",
        n_jobs: int | None = None,
    ):
        self.data = data
        self.lags = lags
        self.instantaneous = instantaneous
        self.kernels = kernels
        self.bandwidth = bandwidth
        self.max_rank = max_rank
        self.forgetting = forgetting
        self.detect = detect
        self.penalty = penalty
        self.lam = lam
        self.lam_ratio = lam_ratio
        self.time_column = time_column
        self.missing = missing
        self.na_values = na_values
        self.irregular = irregular
        self.n_jobs = n_jobs

    # ---- rows ----

    def fit(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Track the model over series. Rows of earlier calls are forgotten.

        Parameters
        ----------
        X : DataFrame or array of shape (n_times, n_series), path, iterator of frames, or a list or dict of tables
            One row per time, oldest first, as for `LinearSVARM`. Files are read in chunks. Several tables follow each
            other, and no lag crosses their borders.
        y : None
            Ignored; scikit-learn's convention.
        sample_weight : None
            Must be None, since rows of a time series depend on previous rows.

        Returns
        -------
        self
            The fitted learner.
        """
        warn_of_target(self, X, y)
        self._validate()
        self._refuse_weights(sample_weight)
        # a rejected table must not change a learner that was fitted before
        fresh = clone_learner(self)
        for key, table in list_tables(X):
            fresh._reader = SegmentReader(fresh._list_options(), "" if key is None else f" of the series {key!r}")
            in_chunks = is_path(table) or is_iterator(table)
            chunks = read_chunks(table, fresh._list_options()) if in_chunks else [fresh._read(table)]
            for names, parts in chunks:
                fresh._add(names, parts[0])
            fresh._reader.check_length()
        adopt_fit(self, fresh)
        return self

    def partial_fit(self, X: Any, y: object = None) -> Self:
        """Update the model with the next rows.

        Parameters
        ----------
        X : DataFrame or array of shape (n_times, n_series)
            The rows that follow the previous ones, at least one, with the same series.
        y : None
            Ignored; scikit-learn's convention.

        Returns
        -------
        self
            The learner.

        Raises
        ------
        ValueError, TypeError
            As in the docstring of the class.
        """
        warn_of_target(self, X, y)
        self._validate()
        if not hasattr(self, "_reader"):
            # the table is checked before the learner has any state
            fresh = clone_learner(self)
            fresh._reader = SegmentReader(self._list_options(), "")
            fresh._add(*fresh._read_part(X))
            adopt_fit(self, fresh)
            return self
        for name, value in self._frozen.items():
            if getattr(self, name) is not value and getattr(self, name) != value:
                raise ValueError(
                    f"{name}={getattr(self, name)!r}, but {type(self).__name__} has learned {self.n_seen_:,} rows with "
                    f"{name}={value!r}: set it back, or restart by fit"
                )
        self._add(*self._read_part(X))
        return self

    def _list_options(self) -> SeriesOptions:
        return SeriesOptions(self.lags, self.time_column, None, self.missing, self.irregular, na_values=self.na_values)

    def _read(self, X: Any, *, is_chunk: bool = False) -> tuple[tuple, list]:
        if isinstance(X, np.ndarray) and X.dtype.kind == "f":
            if is_chunk and self._is_plain(X):  # the checks of other tables take longer than the update
                return tuple(self.variables_), [SeriesRows(None, X, np.empty((len(X), 0)), None)]
            check_array(X, ensure_all_finite=False, estimator=self)
            if is_chunk and hasattr(self, "n_features_in_"):
                self._check_n_features(X)
        return read_rows(X, self._list_options(), is_chunk=is_chunk)

    def _is_plain(self, X: np.ndarray) -> bool:
        """Return whether an array has complete rows of the series of a learner of arrays."""
        n = getattr(self, "n_features_in_", 0)
        is_fitting = X.ndim == 2 and len(X) > 0 and X.shape[1] == n and X.dtype == np.float64
        return is_fitting and self.variables_ == [f"x{v}" for v in range(n)] and bool(np.isfinite(X).all())

    def _read_part(self, X: Any) -> tuple[tuple, Any]:
        names, parts = self._read(X, is_chunk=True)
        return names, parts[0]

    def _add(self, names: tuple, part: Any) -> None:
        """Add the rows of a table; a table that is refused changes nothing."""
        is_first = not hasattr(self, "_features")
        if not is_first:
            check_same_names(self.variables_, names, "the rows before", "these rows", "series")
            if names != tuple(self.variables_):
                part.values = np.ascontiguousarray(part.values[:, [names.index(name) for name in self.variables_]])
        n_seen = 0 if is_first else self.n_seen_
        # the positions of the rows travel with them, as an exogenous column
        part.exogenous = np.arange(n_seen, n_seen + len(part.values), dtype=np.float64)[:, None]
        reader = copy.copy(self._reader)
        segments = reader.read(part)
        if is_first:
            kernels = read_kernels(self.kernels, self.bandwidth)
            self._features = [make_features(kernel, label, self.max_rank) for kernel, label in kernels]
            if not sum(one.n_columns for one in self._features):
                raise ValueError(f"kernels={self.kernels!r} are constant: give a kernel that varies")
            self._frozen = {name: getattr(self, name) for name in _STATE_OPTIONS}
            self._pending = np.zeros((0, self.lags + 1, len(names)))
            self._places = np.zeros(0, dtype=np.int64)
            self._units = self._tracker = None
            self._set_names(names)
        self._reader, self.n_seen_ = reader, n_seen + len(part.values)
        self._results: dict[str, Any] = {}
        for rows, places in segments:
            for begin in range(0, len(rows) - self.lags, 1024):
                end = min(begin + 1024, len(rows) - self.lags)
                # [row, lag, series]
                windows = [rows[begin + self.lags - lag : end + self.lags - lag] for lag in range(self.lags + 1)]
                self._pending = np.concatenate([self._pending, np.stack(windows, axis=1)])
                self._places = np.append(self._places, places[begin + self.lags : end + self.lags, 0].astype(np.int64))
                if len(self._pending) >= (N_FIRST if self._tracker is None else BLOCK):
                    with self._on_threads():
                        self._empty()

    def _empty(self) -> None:
        """Give the whole blocks of pending rows to the tracker."""
        if self._tracker is None:
            self._units, self._tracker = self._make_tracker(self._pending[:N_FIRST, 0])
        n_whole = len(self._pending) - len(self._pending) % BLOCK
        assert self._units is not None
        self._feed(self._tracker, self._units, n_whole)
        self._pending, self._places = self._pending[n_whole:].copy(), self._places[n_whole:].copy()

    def _make_tracker(self, rows: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray], FactorTracker]:
        """Return the units of some rows, and an empty tracker."""
        scales = rows.std(axis=0)
        n = rows.shape[1]
        sizes = [one.n_columns for one in self._features if one.n_columns]
        widths = np.tile(np.repeat(sizes, n), self.lags + (self.instantaneous and not self._is_linear))
        n_lagged = self.lags * n * len(sizes)
        if self.instantaneous and self._is_linear:
            widths = np.append(widths, np.ones(n, dtype=np.int64))
        starts = np.concatenate([[1], 1 + np.cumsum(widths)])
        columns = Columns(starts, n_lagged, n, self.instantaneous and self._is_linear)
        units = rows.mean(axis=0), np.where(scales > 0, scales, 1.0)
        return units, FactorTracker(columns, float(self.forgetting), self.detect)

    def _feed(self, tracker: FactorTracker, units: tuple[np.ndarray, np.ndarray], n_rows: int) -> None:
        """Give the first pending rows to a tracker, in blocks; the last block may be short."""
        for begin in range(0, n_rows, BLOCK):
            end = min(begin + BLOCK, n_rows)
            windows = (self._pending[begin:end] - units[0]) / units[1]
            parts = [np.ones((end - begin, 1))]
            for lag in [*range(1, self.lags + 1), *([0] if self.instantaneous and not self._is_linear else [])]:
                parts += [windows[:, lag]] if self._is_linear else self._evaluate(windows[:, lag])
            tracker.add(np.hstack([*parts, windows[:, 0]]), self._places[begin:end])

    def _evaluate(self, values: np.ndarray) -> list[np.ndarray]:
        """Return the features of one lag, per kernel the functions of each series in turn."""
        return [one.evaluate(values).reshape(len(values), -1) for one in self._features if one.n_columns]

    @property
    def _is_linear(self) -> bool:
        return list_kernels(self._frozen["kernels"]) == ["linear"]

    # ---- results ----

    def _estimate(self) -> _Estimate:
        self._require_fit()
        return self._make_once("estimate", self._solve)

    def _follow(self) -> tuple[tuple[np.ndarray, np.ndarray], FactorTracker]:
        """Return the units and a copy of the tracker that has all rows, also those of the unfinished block."""
        units, tracker = self._units, self._tracker
        if units is None or tracker is None:
            units, tracker = self._make_tracker(self._pending[:, 0])
        tracker = tracker.copy()
        self._feed(tracker, units, len(self._pending))
        return units, tracker

    def _solve(self) -> _Estimate:
        n = len(self.variables_)
        shape = (self.lags + 1, n, n)
        if self._tracker is None and len(self._pending) < 2:
            zeros = np.zeros(shape)
            return _Estimate(zeros, zeros if self._is_linear else None, np.zeros(n), 0.0, 0.0)
        with self._on_threads():
            (means, scales), tracker = self._follow()
            tracked = tracker.make_problem()
            problem = tracked.problem
            lam_max = problem.lam_max
            lam = float(self.lam_ratio * lam_max if self.lam is None else self.lam)
            weights = self._minimise(problem, lam) if lam else np.zeros((n, problem.columns.shape[1]))
        norms = problem.measure_blocks(weights)
        # [target, lag, kernel, source]; the present comes last in the columns
        by_lag = norms.reshape(n, -1, norms.shape[1] // n // (self.lags + self.instantaneous), n).max(axis=2)
        strengths = np.zeros(shape)
        strengths[1:] = by_lag[:, : self.lags].transpose(1, 0, 2)
        if self.instantaneous:
            strengths[0] = by_lag[:, -1]
        if not self._is_linear:
            return _Estimate(strengths, None, None, lam, lam_max)
        rotations = np.array([rotation[0, 0] for rotation in tracked.rotations])
        slopes = weights * rotations * tracked.scales[:, None]
        level = tracked.means[-n:] - slopes @ tracked.means[1 : len(rotations) + 1]
        coef = np.zeros(shape)
        coef[1:] = slopes.reshape(n, -1, n).transpose(1, 0, 2)[: self.lags]
        if self.instantaneous:
            coef[0] = slopes[:, -n:]
        coef = coef * scales[:, None] / scales
        intercept = means + scales * level - (coef @ means).sum(axis=0)
        return _Estimate(strengths, coef, intercept, lam, lam_max)

    def _minimise(self, problem: GroupLassoProblem, lam: float) -> np.ndarray:
        if self.penalty == "ridge":
            return GroupRidge(problem, lam).solve().coefficients
        (estimates,) = solve_path(problem, np.array([lam]), tol=TOL, max_iter=MAX_ITER)
        return estimates.coefficients

    @property
    def strengths_(self) -> np.ndarray:
        """Strengths [lag, target, source]."""
        return self._estimate().strengths

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients [lag, target, source] in the user's units."""
        return self._read_linear(self._estimate().coef, "coef_")

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts in the user's units."""
        return self._read_linear(self._estimate().intercept if self._is_linear else None, "intercept_")

    def _read_linear(self, values: np.ndarray | None, name: str) -> np.ndarray:
        if values is None:
            raise AttributeError(f"{name} needs kernels='linear' alone, got {self.kernels!r}: see strengths_")
        return values

    @property
    def lam_(self) -> float:
        """The penalty."""
        return self._estimate().lam

    @property
    def lam_max_(self) -> float:
        """The smallest lasso penalty without edges."""
        return self._estimate().lam_max

    @property
    def restarts_(self) -> list[int]:
        """Rows at which the model changed."""
        self._require_fit()
        with self._on_threads():
            return self._follow()[1].restarts if len(self._pending) or self._tracker else []

    def _make_graph(self) -> TimeSeriesGraph:
        estimate = self._estimate()
        options: dict[str, Any] = {"strengths": estimate.strengths, "undirected_instantaneous": self.instantaneous}
        return TimeSeriesGraph.from_coefficients(self.variables_, estimate.coef, **options)

    def _fit(self, opened: Panel, sample_weight: ArrayLike | None) -> None:
        raise NotImplementedError("rows are added by fit and partial_fit")

    def _estimate_solving(self, size: SeriesSize) -> int:
        n = size.n_series
        kernels = read_kernels(self.kernels, self.bandwidth)
        ranks = sum({"linear": 1, "poly2": 2}.get(label, self.max_rank) for _, label in kernels)
        width = 1 + n * (self.lags + self.instantaneous) * ranks + n
        return 8 * (8 * width**2 + 512 * width + 2048 * n * (self.lags + 1))
