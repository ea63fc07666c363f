"""Base classes of the learners of Gaussian graphical models.

`GaussianResults` computes graph, network and matrices from an estimate. `ContinuousLearner` has what is common to all:
`fit` in three steps, and its cost. `GaussianLearner` is the base of the learners that solve (options, reading of data,
runs, paths), and `WrappingLearner` of those that use another learner, such as the nonparanormal.
"""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import inf
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from pgmx.checks import as_reals, caller_level, check_natural, is_number
from pgmx.data import DiscreteTable, NumericTable, open_numeric
from pgmx.data.distributed.tables import refuse_remote
from pgmx.data.errors import check_rows_left
from pgmx.data.files.readers import is_path
from pgmx.estimators.base import N_JOBS, NA_VALUES, BaseStructureLearner, Interval, StrOptions, config
from pgmx.estimators.cost import LearningCost
from pgmx.estimators.gaussian.cost import GaussianSize, estimate_moments, join_steps, measure_table
from pgmx.estimators.gaussian.estimate import GaussianEstimate, GaussianPath, get_units, make_network
from pgmx.estimators.paths import space_penalties
from pgmx.models.distributed_rows import average_answers
from pgmx.parallel.threads import one_blas_thread
from pgmx.runs.checkpoint import open_checkpoint
from pgmx.runs.progress import ProgressBar, SolverProgress
from pgmx.runs.run import Run, RunStore, Store
from pgmx.statistics import GaussianSample, gaussian_sample, sample_of_covariance
from pgmx.statistics.gaussian.correlations import FactoredCorrelations

if TYPE_CHECKING:
    from pgmx.models import GaussianMarkovNetwork


# not Self: for it jedi, which completes code in notebooks, shows the base class
Learner = TypeVar("Learner", bound="ContinuousLearner")


class GaussianResults(BaseStructureLearner):
    """Graph, network and matrices of a learner, computed from a sample and an estimate on first access.

    `_set_results` sets `_sample`, `_estimate`, and an empty `_results`.

    Notes
    -----
    `model_` has the method's own precision if it is positive definite. Otherwise, and with `refit`, the precision is
    the maximum likelihood estimate given the graph. If the likelihood has no maximum, the correlations are shrunk
    towards zero. `dual_gap_` is computed from a feasible dual point (summed over columns that are solved separately),
    and is never below -1e-12 of the objective. ``"stalled"`` in `stopped_by_` means that the constraint cannot be
    satisfied, or that rounding errors prevent a better solution.
    """

    lam_: float
    lam_max_: float
    objective_: float
    dual_gap_: float
    converged_: bool
    stopped_by_: str
    n_iter_: int
    repaired_: float
    history_: dict[str, np.ndarray]

    _sample: GaussianSample
    _estimate: GaussianEstimate

    @abstractmethod
    def _should_refit(self) -> bool:
        """Return whether `model_` estimates the parameters of the graph by maximum likelihood."""

    @property
    def graph_(self) -> nx.Graph:
        """The learned graph; ``weight`` is the partial correlation."""
        return self._make_once("graph", self._make_graph)

    @property
    def model_(self) -> "GaussianMarkovNetwork":
        """The learned network, positive definite; `estimated_by` is the estimation method."""
        return self._make_once("model", lambda: make_network(self._sample, self._estimate, self._should_refit()))

    @property
    def precision_(self) -> np.ndarray:
        """Precision of shape (p, p) in the units of the data: the method's own or, if it has none, of `model_`."""
        return self._make_once("precision", self._make_precision)

    @property
    def covariance_(self) -> np.ndarray:
        """Covariance of shape (p, p) of `model_`, the inverse of its precision."""
        return self._make_once("covariance", lambda: self.model_.covariance.to_numpy(copy=True))

    @property
    def location_(self) -> np.ndarray:
        """Means of shape (p,)."""
        return self._make_once("location", lambda: np.array(get_units(self._sample)[0]))

    @property
    def correlation_(self) -> np.ndarray:
        """Correlations of shape (p, p) from which the graph was learned, after repair."""
        return self._make_once("correlation", lambda: np.array(self._sample.correlation))

    @property
    def edges_(self) -> np.ndarray:
        """Edges as positions in `variables_`, int64 of shape (n_edges, 2), i < j."""
        return self._make_once("edges", lambda: self._estimate.edges)

    def _make_graph(self) -> nx.Graph:
        graph = self.model_.to_networkx()
        names = self._sample.names
        for i, j in self._estimate.edges.tolist():
            if not graph.has_edge(names[i], names[j]):  # chosen by the method, but zero in the model
                graph.add_edge(names[i], names[j], weight=0.0, strength=0.0)
        return graph

    def _make_precision(self) -> np.ndarray:
        precision = self._estimate.precision
        if precision is None:
            return self.model_.precision.to_numpy(copy=True)
        return precision.toarray() / self._products_of_scales()

    def _products_of_scales(self) -> np.ndarray:
        _, scale = get_units(self._sample)
        return np.outer(scale, scale)

    def _set_results(self, sample: GaussianSample, estimate: GaussianEstimate) -> None:
        """Set an estimate as the result."""
        self._sample, self._estimate, self._results = sample.without_rows(), estimate, {}
        self.lam_ = float(estimate.lam)
        self.objective_ = float(estimate.objective)
        self.dual_gap_ = float(estimate.dual_gap)
        self.converged_ = estimate.converged
        self.stopped_by_ = estimate.stopped_by
        self.n_iter_ = int(estimate.n_iter)
        self.repaired_ = float(sample.repaired)
        self._set_names(sample.names)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there are results, for scikit-learn."""
        return hasattr(self, "_estimate")

    def score(self, X: Any, y: object = None) -> float:
        """Return the mean log-likelihood of rows under `model_`, in nats; higher is better.

        Parameters
        ----------
        X : DataFrame or array of shape (n_samples, n_features), or DistributedNumericTable
            Rows with the training columns. Rows of a distributed table are summed by its workers. The option `missing`
            of the learner decides about missing values: an error, or the row is left out ("drop", with a warning). With
            "pairwise" a row has the density of its observed values, and counts in the mean.
        y : None
            Ignored; scikit-learn's convention.

        Returns
        -------
        float
            (1 / n) Σ_m log p(x_m). For the nonparanormal p is the density of the normal scores.
        """
        check_is_fitted(self)
        self._check_n_features(X)
        network, missing = self.model_, self._resolve_missing()
        if is_path(X):
            X = open_numeric(X, missing="pairwise", na_values=self.na_values)
        if missing == "pairwise":
            return average_answers(network, "log_likelihood", X, self._read_numbers, "log_evidence")
        return average_answers(network, "log_likelihood", X, None if missing == "error" else self._read_complete)

    def _read_numbers(self, X: Any) -> np.ndarray:
        """Return rows as numbers, NaN for missing values."""
        return self.model_.read_rows(X).values

    def _read_complete(self, X: Any) -> np.ndarray:
        """Return the rows without missing values as numbers; warn of rows that are left out."""
        rows = self._read_numbers(X)
        is_missing = np.isnan(rows)
        if not is_missing.any():
            return rows
        complete = ~is_missing.any(axis=1)
        names = [self._sample.names[v] for v in np.flatnonzero(is_missing.any(axis=0)).tolist()]
        check_rows_left(int(complete.sum()), len(rows), lambda: names)
        return rows[complete]

    def _resolve_missing(self) -> str:
        """Return the treatment of missing values."""
        return self.missing

    def state_counts(self, variable, parents=(), weighted=False, reindex=True):
        """Raise: continuous variables have no states.

        Parameters
        ----------
        variable, parents, weighted, reindex
            As in pgmpy.
        """
        raise TypeError(f"{type(self).__name__} learns from continuous variables, which have no states to count")


class ContinuousLearner(GaussianResults):
    """Base of all learners of Gaussian graphical models, which learn from data or from the sample of another learner.

    Fitting has three steps, so that learners can wrap one another: `_open` and `_read` make a sample of the data,
    `_learn` learns from a sample, and `_set_results` sets the result. `_innermost` returns the learner that solves.
    """

    def fit(self: Learner, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Learner:
        """Learn the model from `X`.

        Parameters
        ----------
        X : DataFrame or array of shape (n_samples, n_features), path, or iterator of frames
            One numeric column per variable: tables of pandas, polars or Arrow, numpy arrays (columns ``x0``, ``x1``,
            ...), or the path of a CSV or Parquet file or of a folder of Parquet files. With
            ``covariance="precomputed"``, a frame or an array of shape (n_features, n_features). A
            DistributedNumericTable is summed by its workers. The data are never changed.
        y : None
            Ignored; scikit-learn's convention.
        sample_weight : array of shape (n_samples,), optional
            Non-negative weights of the rows, with a sum of at most 2**62. A row of weight 2 counts as two rows.

        Returns
        -------
        self
            The fitted learner.
        """
        return super().fit(X, y, sample_weight)

    @abstractmethod
    def _open(self, X: Any) -> NumericTable | GaussianSample:
        """Return the rows of `X`, or the sample of a covariance."""

    def _reads_continuous(self, opened: Any) -> bool:
        return not isinstance(opened, GaussianSample)

    @abstractmethod
    def _read(self, opened: NumericTable | GaussianSample, sample_weight: ArrayLike | None) -> GaussianSample:
        """Return the sample of the result of `_open`."""

    @abstractmethod
    def _learn(self, sample: GaussianSample) -> Run | None:
        """Learn from a sample and set the fitted attributes. Return the run, or None if there is none."""

    @abstractmethod
    def _innermost(self) -> "GaussianLearner":
        """Return the innermost learner."""

    def estimate_cost(self, X: Any = None, *, n_rows: int | None = None, n_floats: int | None = None) -> LearningCost:
        """Estimate the memory that learning needs.

        Parameters
        ----------
        X : anything that ``fit`` takes, optional
            The data, which are not changed. An iterator is consumed, and the rows of a file are counted.
        n_rows, n_floats : int, optional
            Number of rows and number of columns, in place of `X`. With ``covariance="precomputed"`` there are no rows.

        Returns
        -------
        LearningCost
            Bytes in addition to the caller's table: for copies of the rows (`numbers`), for everything else
            (`scratch`), and their sum. The estimate is at most three times the peak if the peak is over 10 MB.

        Raises
        ------
        ValueError
            If neither `X` nor the number of rows and columns are given.

        Notes
        -----
        Correlations R of p columns need 8 p² bytes. A graphical lasso needs four times as much in addition, if all
        variables are in one component. If there are more than 8,192 columns and fewer rows than columns, R is never
        formed. A graphical lasso then needs 40 m² bytes for its largest component of m variables. Since m is not known
        beforehand, the estimate uses the smallest of p, `max_block` and the size that fits in free memory. The memory
        of results that are computed on access is not counted.
        """
        self._validate()
        return self._estimate_fit(X, n_rows, n_floats)

    def _estimate_fit(self, X: Any, n_rows: int | None, n_floats: int | None) -> LearningCost:
        """Return the cost of a fit to data or to a table of the given shape."""
        size = self._read_shape(n_rows, n_floats) if X is None else measure_table(X, self._open(X))
        return join_steps(size, self._estimate_reading(size), self._estimate_solving(size))

    def _read_shape(self, n_rows: int | None, n_floats: int | None) -> GaussianSize:
        """Return the size of a table with the given number of rows and columns; its rows are copied."""
        has_rows = self._needs_rows()
        if n_floats is None or (n_rows is None and has_rows):
            raise ValueError("estimate_cost needs the data, or n_rows=... and n_floats=...")
        n_columns, n = check_natural(n_floats, "n_floats", 1), 0
        if has_rows:
            n = check_natural(n_rows, "n_rows", 2)
        return GaussianSize(n, n_columns, 8 * n * n_columns)

    @abstractmethod
    def _needs_rows(self) -> bool:
        """Return whether the data are rows, not a covariance."""

    @abstractmethod
    def _estimate_reading(self, size: GaussianSize) -> int:
        """Return the bytes for making a sample."""

    @abstractmethod
    def _estimate_solving(self, size: GaussianSize) -> int:
        """Return the bytes for learning from a sample."""

    def _fit(self, opened: NumericTable | GaussianSample, sample_weight: ArrayLike | None) -> Run | None:
        sample = self._read(opened, sample_weight)
        with one_blas_thread():
            return self._learn(sample)

    def _warn_unless_converged(self) -> None:
        is_callers = self.stopped_by_ == "max_time" and self._limit_time() is None
        if not self.converged_ and self.stopped_by_ != "interrupt" and not is_callers:
            name = type(self._innermost()).__name__
            warnings.warn(
                f"{name} ended before its tolerance: duality gap {self.dual_gap_:.3g} at the objective "
                f"{self.objective_:.6g}{self._estimate.shortfall}. The last estimate is returned; "
                f"{self._innermost().remedy}",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )

    def __sklearn_tags__(self) -> Tags:
        """Return the tags of a learner of numeric columns."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = False
        tags.input_tags.string = False
        return tags


class GaussianLearner(ContinuousLearner):
    """Base of the learners that solve. A subclass implements `_solve` and `_largest_penalty`.

    Notes
    -----
    With ``missing="pairwise"`` each covariance is computed from the rows in which both variables are observed. The
    matrix is then replaced by the nearest positive definite one (see `repaired_`).
    """

    _parameter_constraints: dict[str, Any] = {
        "lam": [Interval(Real, 0, None, closed="left"), None],
        "lam_ratio": [Interval(Real, 0, None, closed="left")],
        "refit": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_time": [Interval(Real, 0, None, closed="left"), None],
        "checkpoint": [str, Path, None],
        "checkpoint_every": [Interval(Real, 0, None, closed="left")],
        "covariance": [StrOptions({"empirical", "precomputed"})],
        "n_samples": [Interval(Real, 2, None, closed="left"), None],
        "missing": [StrOptions({"error", "drop", "pairwise"})],
        "na_values": NA_VALUES,
        "show_progress": ["boolean"],
        "callback": [callable, None],
        "n_jobs": N_JOBS,
    }

    data: Any
    lam: float | None
    lam_ratio: float
    refit: bool
    tol: float
    max_iter: int
    max_time: float | None
    checkpoint: str | Path | None
    checkpoint_every: float
    covariance: str
    n_samples: float | None
    missing: str
    show_progress: bool
    callback: Callable[[SolverProgress], bool | None] | None
    n_jobs: int | None

    #: Unit of work after which the callback is called.
    _unit = "sweeps"
    #: Whether a path is solved penalty by penalty, not column by column.
    _solves_in_turn = False

    #: Advice if the tolerance was not reached.
    remedy = "raise max_iter or max_time, or use a larger penalty"

    def _should_select_by_refit(self) -> bool:
        """Return whether the held-out likelihood uses maximum likelihood estimates given the graph."""
        return self.refit

    @abstractmethod
    def _solve(
        self,
        sample: GaussianSample,
        lams: np.ndarray,
        run: Run,
        store: Store | None = None,
        is_enough: Callable[[list[GaussianEstimate]], bool] = lambda estimates: False,
    ) -> list[GaussianEstimate]:
        """Return the estimates of descending penalties; fewer if the run ended early, but at least the first.

        It resumes from the store, and saves solved estimates there when a snapshot is due and when the run ends. A
        learner that solves penalty by penalty ends the path once `is_enough(estimates)` is true.
        """

    @abstractmethod
    def _largest_penalty(self, sample: GaussianSample, lam: float = inf, share: float = 0.0) -> float:
        """Return the smallest penalty without edges. No penalty below `lam` or below this share of it will be used."""

    def _limit_penalties(self, sample: GaussianSample, lams: np.ndarray) -> np.ndarray:
        """Return as many of the descending penalties as memory allows; ValueError if there is none."""
        return lams

    def _innermost(self) -> "GaussianLearner":
        return self

    def _needs_rows(self) -> bool:
        return self.covariance == "empirical"

    def _estimate_reading(self, size: GaussianSize) -> int:
        if not self._needs_rows():
            return 2 * size.matrix_bytes
        return estimate_moments(size, pairwise=self.missing == "pairwise")

    def _should_refit(self) -> bool:
        return self.refit

    def _stop_reason(self, converged: bool, at_limit: bool, run: Run) -> str:
        """Return `stopped_by_` of an estimate; `at_limit`: whether `max_iter` was reached."""
        if converged:
            return "converged"
        if run.is_over():
            return run.stopped_by
        return "max_iter" if at_limit else "stalled"

    # ---- from data to a sample ----

    def _open(self, X: Any) -> NumericTable | GaussianSample:
        if self.covariance == "precomputed":
            return sample_of_covariance(X, self.n_samples)
        if self.n_samples is not None:
            raise ValueError(
                f"n_samples={self.n_samples} is only for covariance='precomputed': leave it out, since rows are counted"
            )
        refuse_remote(
            X,
            lambda table: (
                f"{table!r} has discrete columns, but {type(self).__name__} needs continuous variables: distribute a "
                "table of numeric columns"
            ),
            DiscreteTable,
        )
        return open_numeric(X, missing=self.missing, na_values=self.na_values)

    def _read(self, opened: NumericTable | GaussianSample, sample_weight: ArrayLike | None) -> GaussianSample:
        if isinstance(opened, NumericTable):
            weights = None if sample_weight is None else opened.check_weights(sample_weight, "sample_weight")
            return gaussian_sample(opened, weights=weights, n_jobs=self.n_jobs)
        if sample_weight is not None:
            raise ValueError(
                "sample_weight cannot be used with covariance='precomputed', which has no rows: leave it out"
            )
        if opened.repaired > 0:
            warnings.warn(
                "the covariance is indefinite: the nearest correlation matrix is used. The largest change of a "
                f"correlation is {opened.repaired:.2g}. Check how the matrix was computed, or give rows",
                stacklevel=caller_level(),
            )
        return opened

    # ---- from a sample to results ----

    def _learn(self, sample: GaussianSample) -> Run:
        # correlations below the penalty are not needed: `_largest_penalty` may skip them
        least, share = (0.0, self.lam_ratio) if self.lam is None else (float(self.lam), 0.0)
        self.lam_max_ = self._largest_penalty(sample, least, share)
        lam = max(least, share * self.lam_max_)
        lams = self._limit_penalties(sample, np.array([lam]))
        with self._open_run(sample, lams) as (run, store):
            estimate = self._solve(sample, lams, run, store)[0]
        # an estimate does not know of errors of the callback
        if run.error is not None:
            estimate = replace(estimate, stopped_by=run.stopped_by)
        self._set_results(sample, estimate)
        self.history_ = run.history
        self._warn_unless_converged()
        return run

    @contextmanager
    def _open_run(self, sample: GaussianSample, lams: np.ndarray) -> Iterator[tuple[Run, Store | None]]:
        """Return a run with its progress bar and the content of its checkpoint; a completed run deletes the file."""
        checkpoint = None
        if self.checkpoint is not None:
            matrix = sample.correlation if sample.factor is None else sample.factor
            # max_iter is part of the identity: stored estimates that reached it would be others under a higher limit
            data = (sample.names, sample.n_rows, sample.mean, sample.scale, matrix, lams, self.max_iter)
            # the penalties identify the run, however they were given
            checkpoint = open_checkpoint(self, *data, lam=None, lam_ratio=None)
        show = self.show_progress and config.SHOW_PROGRESS
        with ProgressBar(show, self.callback, type(self).__name__, unit=self._unit, figure="objective") as bar:
            run = Run(
                SolverProgress, max_time=self.max_time, callback=bar.callback, checkpoint=checkpoint, start=self._start
            )
            bar.follow(run)
            yield run, None if checkpoint is None else RunStore(run)
        if checkpoint is not None and not run.is_over():
            checkpoint.remove()

    def _path(self, sample: GaussianSample, solve: Callable[[], list[GaussianEstimate]]) -> GaussianPath:
        """Return a path with its solved estimates."""
        path = GaussianPath(sample.without_rows(), self._largest_penalty(sample), self.refit)
        path.estimates.extend(solve())
        return path

    def path(
        self,
        X: Any,
        sample_weight: ArrayLike | None = None,
        *,
        lams: Sequence[float] | None = None,
        n_lams: int = 20,
        lam_min_ratio: float = 0.1,
    ) -> GaussianPath:
        """Return the estimates for a decreasing sequence of penalties, each started from the previous estimate.

        The learner is not changed. `SelectedGraph` computes such a path and chooses a penalty from it.

        Parameters
        ----------
        X : DataFrame or array of shape (n_samples, n_features), path, iterator of frames, or covariance
            As for ``fit``.
        sample_weight : array of shape (n_samples,), optional
            As for ``fit``.
        lams : sequence of float, optional
            Penalties, in any order. By default `n_lams` values in equal ratios from `lam_max` to `lam_min_ratio` of it.
        n_lams : int, default=20
            Number of penalties, used if `lams` is not given.
        lam_min_ratio : float, default=0.1
            The smallest penalty as a share of `lam_max`.

        Returns
        -------
        GaussianPath
            One estimate per penalty, the largest penalty first, with sparse matrices.

        Raises
        ------
        ValueError, TypeError
            If the data, an option or a penalty is invalid.
        """
        self._validate()
        if not is_number(lam_min_ratio) or not 0 < lam_min_ratio < 1:
            raise ValueError(f"lam_min_ratio must be a number between 0 and 1, got {lam_min_ratio!r}")
        n_lams = check_natural(n_lams, "n_lams", 1)
        sample = self._read(self._open(X), sample_weight)
        if lams is None:
            largest = self._largest_penalty(sample, 0.0, lam_min_ratio)
            penalties = space_penalties(largest, lam_min_ratio * largest, n_lams)
        else:
            penalties = np.sort(as_reals(lams, "lams").astype(np.float64).ravel())[::-1]
            if not len(penalties) or not (np.isfinite(penalties) & (penalties >= 0)).all():
                raise ValueError(f"lams must be one or more finite numbers of at least 0, got {lams!r}")
            self._largest_penalty(sample, penalties[-1])
        penalties = self._limit_penalties(sample, np.ascontiguousarray(penalties))
        with self._open_run(sample, penalties) as (run, store):
            if self._solves_in_turn:
                run.count_steps(len(penalties), "penalties")
            path = self._path(sample, lambda: self._solve(sample, penalties, run, store))
        run.raise_error()
        return path


class WrappingLearner(ContinuousLearner):
    """Base of the learners that wrap an `estimator` and take over its results.

    Attributes that only the estimator has (such as `precision_raw_` of CLIME) are attributes of `estimator_`, its
    fitted copy.
    """

    estimator: ContinuousLearner | None
    estimator_: ContinuousLearner

    @abstractmethod
    def _inner_learner(self) -> ContinuousLearner:
        """Return the wrapped learner, unfitted."""

    @property
    def data(self):
        """The data given to the wrapped learner; ``estimate()`` learns from them."""
        return getattr(self.estimator, "data", None)

    def _should_refit(self) -> bool:
        return self._innermost()._should_refit()

    def _innermost(self) -> GaussianLearner:
        return self._inner_learner()._innermost()

    def _needs_rows(self) -> bool:
        return self._inner_learner()._needs_rows()

    def _estimate_reading(self, size: GaussianSize) -> int:
        return self._inner_learner()._estimate_reading(size)

    def _estimate_solving(self, size: GaussianSize) -> int:
        return self._inner_learner()._estimate_solving(size)

    def _validate(self) -> None:
        super()._validate()
        self._inner_learner()._validate()

    def _set_results(self, sample: GaussianSample, estimate: GaussianEstimate) -> None:
        # a copy of the wrapped learner gets the same estimate, without a fit of its own
        learner: Any = clone(self._inner_learner())
        learner.lam_max_ = self.lam_max_
        learner._set_results(sample, estimate)
        self.estimator_ = learner
        super()._set_results(sample, estimate)


def find_largest_correlation(sample: GaussianSample) -> float:
    """Return the largest absolute correlation of two different variables. The matrix of a thin sample is not formed."""
    # a factor is enough for the maximum: it holds n p numbers, the matrix p²
    correlations = sample.correlations if sample.factor is None else FactoredCorrelations(sample.factor)
    correlations.scan(inf)
    return correlations.largest
