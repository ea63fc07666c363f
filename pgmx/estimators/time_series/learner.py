"""The base class of the learners of time series: options, reading of series, runs of iterative learners."""

from abc import abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from contextlib import contextmanager
from math import inf, nan
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
from joblib import parallel_config
from numpy.typing import ArrayLike
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, check_is_fitted

from pgmx.checks import check_natural, check_same_names
from pgmx.data.files.readers import is_chunked
from pgmx.data.series import (
    Panel,
    SeriesChunks,
    SeriesOptions,
    TimeIndex,
    check_last_rows,
    forecast_seasons,
    open_series,
    read_history,
)
from pgmx.estimators.base import N_JOBS, NA_VALUES, BaseStructureLearner, Interval, StrOptions, clone_learner, config
from pgmx.estimators.cost import LearningCost
from pgmx.estimators.time_series.cost import SeriesSize, estimate_reading
from pgmx.estimators.time_series.knowledge import LaggedKnowledge, read_lagged_knowledge
from pgmx.models import TimeSeriesGraph
from pgmx.models.time_series.history import read_exogenous
from pgmx.parallel.threads import count_threads, one_blas_thread
from pgmx.runs.progress import ProgressBar, SolverProgress
from pgmx.runs.run import Run, StartTime, is_past

RUN_CONSTRAINTS: dict[str, Any] = {
    "max_time": [Interval(Real, 0, None, closed="left"), None],
    "show_progress": ["boolean"],
    "callback": [callable, None],
}

Learner = TypeVar("Learner", bound="TimeSeriesLearner")  # for Self, jedi returns the base class


class TimeSeriesLearner(BaseStructureLearner):
    """Base of the learners of time series. A subclass implements `_fit` (of a `Panel`) and `_make_graph`.

    Its constructor stores its options, and it adds its own options to `_parameter_constraints`. Options of
    `_list_series_options` that a subclass does not have keep their defaults.
    """

    _parameter_constraints: dict[str, Any] = {
        "lags": [Interval(Integral, 1, None, closed="left")],
        "standardize": ["boolean"],
        "fit_intercept": ["boolean"],
        "time_column": "no_validation",
        "groups": "no_validation",
        "missing": [StrOptions({"error", "drop"})],
        "na_values": NA_VALUES,
        "irregular": [StrOptions({"error", "ignore"})],
        "exogenous_columns": ["array-like", set, None],
        "seasonal_period": [Interval(Integral, 2, None, closed="left"), None],
        "required_edges": "no_validation",
        "forbidden_edges": "no_validation",
        "n_jobs": N_JOBS,
    }

    lags: int
    time_column: Hashable | None = None
    groups: Hashable | None = None
    irregular: str = "error"
    missing: str = "error"
    exogenous_columns: Collection[Hashable] | None = None
    seasonal_period: int | None = None
    required_edges: Collection | None = None
    forbidden_edges: Collection | None = None
    state_names = None  # of discrete variables
    n_jobs: int | None

    n_targets_: int
    n_left_out_: int

    #: Criteria by which `SelectedGraph` can choose the penalty.
    _selections: tuple[str, ...] = ("ebic", "cv")

    _exogenous_names: tuple
    _index: TimeIndex | None
    _n_rows: int

    @abstractmethod
    def _fit(self, opened: Any, sample_weight: ArrayLike | None) -> Run | None:
        """Learn from a panel and set the fitted attributes and `_results`, after `_begin`."""

    @contextmanager
    def _on_threads(self) -> Iterator[None]:
        """Let solvers distribute blocks of series over `n_jobs` threads with one BLAS thread each."""
        with one_blas_thread(), parallel_config("threading", n_jobs=count_threads(self.n_jobs)):
            yield

    @abstractmethod
    def _make_graph(self) -> TimeSeriesGraph:
        """Return the graph of the fitted coefficients."""

    @property
    def graph_(self) -> TimeSeriesGraph:
        """The learned graph over (name, lag), computed on first access."""
        return self._make_once("graph", self._make_graph)

    def fit(self: Learner, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Learner:
        """Learn from series.

        Parameters
        ----------
        X : DataFrame or array of shape (n_times, n_series), path, iterator of frames, or a list or dict of tables
            One row per time, oldest first, and one numeric column per series: tables of pandas, polars or Arrow, numpy
            arrays (columns ``x0``, ``x1``, ...), CSV or Parquet files. Several tables are series of the same variables,
            and no lag crosses their borders. The data are never changed.
        y : None
            Ignored; scikit-learn's convention.
        sample_weight : None
            Must be None, since rows of a time series depend on previous rows.

        Returns
        -------
        self
            The fitted learner.
        """
        return super().fit(X, y, sample_weight)

    def estimate_cost(self, X: Any = None, *, n_rows: int | None = None, n_floats: int | None = None) -> LearningCost:
        """Estimate the memory that learning needs.

        Parameters
        ----------
        X : anything that ``fit`` takes, optional
            The series, which are not changed. An iterator is consumed, and the rows of a file are counted.
        n_rows, n_floats : int, optional
            Number of rows and number of series, in place of `X`.

        Returns
        -------
        LearningCost
            Bytes in addition to the caller's table: for copies of the rows (`numbers`), for everything else
            (`scratch`), and their sum. The estimate is at most three times the peak if the peak is over 10 MB and no
            kernel is a function.

        Raises
        ------
        ValueError
            If neither `X` nor the number of rows and series are given.
        """
        self._validate()
        size = self._read_shape(n_rows, n_floats) if X is None else self._measure(X)
        scratch = estimate_reading(size) + self._estimate_solving(size)
        return LearningCost.from_bytes(scratch=scratch, numbers=size.row_bytes)

    def _read_shape(self, n_rows: int | None, n_floats: int | None) -> SeriesSize:
        """Return the size of series with the given number of rows and series."""
        if n_rows is None or n_floats is None:
            raise ValueError("estimate_cost needs the data, or n_rows=... and n_floats=...")
        return SeriesSize(check_natural(n_rows, "n_rows", 2), check_natural(n_floats, "n_floats", 1))

    def _measure(self, X: Any) -> SeriesSize:
        """Return the size of series; series in chunks are read once."""
        opened = self._open(X)
        if isinstance(opened, SeriesChunks):
            # the numbers of rows and columns are known at the end of the stream only
            for _ in opened.read():
                pass
            return SeriesSize(opened.n_rows, len(opened.names), len(opened.exogenous_names), in_chunks=True)
        return SeriesSize(opened.n_rows, opened.n_series, len(opened.exogenous_names))

    @abstractmethod
    def _estimate_solving(self, size: SeriesSize) -> int:
        """Return the bytes for learning, in addition to the bytes for reading."""

    def _open(self, X: Any) -> Any:
        if is_chunked(X) and self._reads_chunks():
            return SeriesChunks(X, **self._list_series_options())
        return self._open_panel(X)

    def _open_panel(self, X: Any) -> Panel:
        """Return the series in memory."""
        if isinstance(X, np.ndarray) and X.dtype.kind == "f":
            check_array(
                X, ensure_all_finite=False, estimator=self
            )  # `open_series` names the columns with missing values
        return open_series(X, **self._list_series_options())

    def _reads_chunks(self) -> bool:
        """Return whether `_fit` also accepts `SeriesChunks`; otherwise files and iterators are read into memory."""
        return False

    def _list_series_options(self) -> dict[str, Any]:
        names = ("lags", "time_column", "groups", "missing", "na_values", "irregular")
        return {name: getattr(self, name) for name in (*names, "exogenous_columns", "seasonal_period")}

    def _store_series(self, series: Panel | SeriesChunks) -> None:
        """Store the information on the series that forecasts need, and the number of rows left out."""
        self.n_left_out_ = series.n_left_out
        self._exogenous_names = series.exogenous_names
        self._index, self._n_rows = series.index, series.n_rows

    def _read_history(self, history: Any, steps: int, exogenous: Any) -> tuple[Any, int, Any]:
        """Return the rows that a forecast continues, its steps, and exogenous rows with seasonal columns."""
        check_is_fitted(self)
        if isinstance(history, np.ndarray) and history.dtype.kind == "f" and history.ndim == 2:
            check_array(history, estimator=self, ensure_min_samples=self.lags)
            if not {self.time_column, self.groups, *(self.exogenous_columns or ())} - {None}:
                self._check_n_features(history)
        rows = read_history(history, tuple(self.variables_), SeriesOptions(**self._list_series_options()))
        if self.irregular == "error":
            check_last_rows(rows, self.lags, self._index)
        if self.seasonal_period is not None:
            steps = check_natural(steps, "steps", 1)
            seasons = forecast_seasons(rows, steps, self.seasonal_period, self._index, self._n_rows)
            exogenous = self._append_seasons(exogenous, seasons)
        return rows, steps, exogenous

    def _append_seasons(self, exogenous: Any, seasons: np.ndarray) -> np.ndarray:
        # the last exogenous columns are the seasons, which the user does not give
        names = self._exogenous_names[: len(self._exogenous_names) - seasons.shape[1]]
        values = read_exogenous(exogenous, names, len(seasons))
        return seasons if values is None else np.hstack([values, seasons])

    def _read_same_series(self, X: Any) -> Panel:
        """Return other rows of the training series, in the same column order."""
        check_is_fitted(self)
        # the origin continues the seasons of the training series
        panel = open_series(X, origin=self._index, **self._list_series_options())
        if isinstance(X, np.ndarray) and panel.n_series != self.n_features_in_:
            self._check_n_features(np.empty((0, panel.n_series)))
        check_same_names(self.variables_, panel.names, "the learner", "X", "series")
        return panel.select(tuple(self.variables_))

    def _refuse_weights(self, sample_weight: ArrayLike | None) -> None:
        if sample_weight is not None:
            raise ValueError(
                f"{type(self).__name__} does not support sample_weight, since rows of a series depend on previous "
                "rows: leave it out"
            )

    def _read_orders(self, lags: Sequence[int] | None) -> list[int]:
        """Return the orders to compare, ascending."""
        orders = sorted({check_natural(order, "each of lags", 1) for order in ([self.lags] if lags is None else lags)})
        if not orders:
            raise ValueError("lags is empty: give at least one order")
        return orders

    def _read_knowledge(self, names: tuple, lags: range) -> LaggedKnowledge:
        """Return the required and forbidden edges of these lags as ids."""
        edges = {"required_edges": self.required_edges, "forbidden_edges": self.forbidden_edges}
        return read_lagged_knowledge(names, lags, **edges)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there are results, for scikit-learn."""
        return hasattr(self, "_results")

    def __sklearn_tags__(self) -> Tags:
        """Return the tags of a learner of numeric columns."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = False
        tags.input_tags.string = False
        tags.input_tags.allow_nan = self.missing == "drop"
        return tags


# ---- runs of iterative learners ----


class IterativeLearner:
    """Mixin of a learner whose solver records its steps on a run. The learner includes `RUN_CONSTRAINTS` in its own."""

    max_time: float | None
    show_progress: bool
    callback: Callable[[SolverProgress], bool | None] | None
    _start: StartTime | None

    converged_: bool
    stopped_by_: str
    history_: dict[str, np.ndarray]

    #: Unit of work after which the callback is called.
    _unit = "rounds"

    @contextmanager
    def _open_run(self) -> Iterator[Run]:
        """Return a run with its progress bar."""
        show = self.show_progress and config.SHOW_PROGRESS
        with ProgressBar(show, self.callback, type(self).__name__, unit=self._unit, figure="objective") as bar:
            run = Run(SolverProgress, max_time=self.max_time, callback=bar.callback, start=self._start)
            bar.follow(run)
            yield run

    def _end_run(self, run: Run, converged: bool) -> Run:
        """End a run, and set the attributes of the run."""
        self.converged_, self.stopped_by_ = converged, run.conclude(converged)
        self.history_ = run.history
        return run


class TargetCounter:
    """Counter of the solved targets and their edges, which records each block of targets on a run, if there is one."""

    def __init__(self, run: Run | None, n_all: int):
        self.n_targets = self.n_edges = self._n_blocks = 0
        self._run, self._n_all = run, n_all
        if run is not None:
            run.estimate_left = self._estimate_left

    def _estimate_left(self) -> float | None:
        """Return the number of remaining blocks, assuming the size of the previous blocks."""
        return (self._n_all - self.n_targets) * self._n_blocks / self.n_targets if self.n_targets else None

    def __call__(self, n_targets: int, n_edges: int) -> bool:
        """Add a block, and return whether to stop."""
        self.n_targets += n_targets
        self._n_blocks += 1
        self.n_edges += n_edges
        is_over = self._run is not None and self._run.record(objective=nan, n_edges=self.n_edges)
        return is_over or is_past(inf)


def clone_silent(learner: Any) -> Any:
    """Return a clone without callback and progress bar, for use within the run of another learner."""
    params = learner.get_params(deep=False)
    options = {name: value for name, value in (("callback", None), ("show_progress", False)) if name in params}
    return clone_learner(learner).set_params(**options)


def learn_or_raise(learner: Any, panel: Any) -> None:
    """Let a learner learn from a panel, and raise the exception that interrupted its run, if any."""
    run = learner._fit(panel, None)
    if run is not None:
        run.raise_error()
