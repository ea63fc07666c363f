"""What all learners of Gaussian graphical models share: options, the way from data to a sample, paths."""

import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array

from pgmx.checks import caller_level
from pgmx.data import NumericTable, open_numeric
from pgmx.estimators.base import Interval, StrOptions, config
from pgmx.estimators.gaussian.estimate import GaussianEstimate
from pgmx.estimators.gaussian.path import GaussianPath
from pgmx.estimators.gaussian.results import GaussianResults
from pgmx.estimators.paths import path_of_penalties
from pgmx.parallel.spread import one_blas_thread
from pgmx.runs.progress import ProgressBar, SolverProgress
from pgmx.runs.run import Run
from pgmx.statistics import GaussianSample, gaussian_sample, sample_of_covariance

#: Values that joblib takes for a number of workers.
N_JOBS = [Interval(Integral, None, -1, closed="right"), Interval(Integral, 1, None, closed="left"), None]

#: Rows of a correlation matrix that are looked at together.
_ROWS_AT_A_TIME = 512


class ContinuousLearner(GaussianResults):
    """Base of everything that learns a Gaussian graphical model, from data or from a sample that another one made.

    The way from data to results has three parts, so that learners can be wrapped in one another: `_open` and `_read`
    make a sample of the data, `_learn` learns from a sample, `_accept` takes an estimate as the result. `_leaf` is the
    learner whose method solves.
    """

    def fit(self, X, y=None, sample_weight=None):
        """Learn the model from `X`.

        Parameters
        ----------
        X : DataFrame or array of shape (n_samples, n_features), path, or iterator of frames
            One column of numbers a variable; pandas, polars and Arrow tables and numpy arrays (columns ``x0``, ``x1``,
            ...) are taken. A path names a CSV or Parquet file or a folder of Parquet files. With
            ``covariance="precomputed"``, a frame or an array of shape (n_features, n_features). It is never changed.
        y : None
            Ignored; scikit-learn's convention.
        sample_weight : array of shape (n_samples,), optional
            Weights of the rows, not negative; a row of weight 2 counts as two rows. Ranks take none.

        Returns
        -------
        self
            The fitted learner.
        """
        return super().fit(X, y, sample_weight)

    def _open(self, X) -> NumericTable | GaussianSample:
        raise TypeError(f"{type(self).__name__} does not implement _open")

    def _read(self, opened: NumericTable | GaussianSample, sample_weight) -> GaussianSample:
        raise TypeError(f"{type(self).__name__} does not implement _read")

    def _learn(self, sample: GaussianSample) -> None:
        raise TypeError(f"{type(self).__name__} does not implement _learn")

    def _leaf(self) -> "GaussianLearner":
        raise TypeError(f"{type(self).__name__} does not implement _leaf")

    def _fit(self, opened, sample_weight) -> None:
        sample = self._read(opened, sample_weight)
        with one_blas_thread():
            self._learn(sample)

    def _warn_unless_converged(self) -> None:
        if not self.converged_:
            name = type(self._leaf()).__name__
            warnings.warn(
                f"{name} ended before its tolerance: duality gap {self.dual_gap_:.3g} at the objective "
                f"{self.objective_:.6g}{self._found.shortfall}. What it had is returned; {self._leaf().remedy}",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )

    def __sklearn_tags__(self):
        """Say what input is taken: numbers."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = False
        tags.input_tags.string = False
        return tags


class GaussianLearner(ContinuousLearner):
    """Base of the learners that solve; a subclass implements `_solve` and `_largest_penalty`."""

    _parameter_constraints: dict[str, Any] = {
        "lam": [Interval(Real, 0, None, closed="left"), None],
        "lam_ratio": [Interval(Real, 0, None, closed="left")],
        "refit": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_time": [Interval(Real, 0, None, closed="left"), None],
        "covariance": [StrOptions({"empirical", "precomputed"})],
        "n_samples": [Interval(Real, 2, None, closed="left"), None],
        "missing": [StrOptions({"error", "drop", "pairwise"})],
        "show_progress": ["boolean"],
        "callback": [callable, None],
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        data=None,
        *,
        lam=None,
        lam_ratio=0.3,
        refit=False,
        tol=1e-6,
        max_iter=200,
        max_time=None,
        covariance="empirical",
        n_samples=None,
        missing="error",
        show_progress=True,
        callback=None,
        n_jobs=None,
    ):
        self.data = data
        self.lam = lam
        self.lam_ratio = lam_ratio
        self.refit = refit
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.covariance = covariance
        self.n_samples = n_samples
        self.missing = missing
        self.show_progress = show_progress
        self.callback = callback
        self.n_jobs = n_jobs

    #: What a call of the callback stands for.
    _unit = "sweeps"

    #: What may help where the tolerance was not reached.
    remedy = "raise max_iter or max_time, or take a larger penalty"

    @property
    def selects_by_refit(self) -> bool:
        """Whether held-out likelihood is that of maximum likelihood under the graph."""
        return self.refit

    def _solve(self, sample: GaussianSample, lams: np.ndarray, run: Run) -> list[GaussianEstimate]:
        """Return the estimates of descending penalties; fewer where the run was ended, but the first at least."""
        raise TypeError(f"{type(self).__name__} does not implement _solve")

    def _largest_penalty(self, sample: GaussianSample) -> float:
        """Return the smallest penalty without edges."""
        raise TypeError(f"{type(self).__name__} does not implement _largest_penalty")

    def _leaf(self) -> "GaussianLearner":
        return self

    def _refits(self) -> bool:
        return self.refit

    # ---- from data to a sample ----

    def _open(self, X) -> NumericTable | GaussianSample:
        if isinstance(X, np.ndarray) and X.dtype.kind == "c":
            check_array(X, estimator=self)  # scikit-learn's own words for complex numbers
        if self.covariance == "precomputed":
            return sample_of_covariance(X, self.n_samples)
        if self.n_samples is not None:
            raise ValueError(
                f"n_samples={self.n_samples} goes with covariance='precomputed': rows are counted where there are rows"
            )
        return open_numeric(X, missing=self.missing)

    def _read(self, opened: NumericTable | GaussianSample, sample_weight) -> GaussianSample:
        if isinstance(opened, NumericTable):
            return gaussian_sample(opened, weights=sample_weight, n_jobs=self.n_jobs)
        if sample_weight is not None:
            raise ValueError("sample_weight is for rows, and covariance='precomputed' has none: leave it out")
        return opened

    # ---- from a sample to results ----

    def _learn(self, sample: GaussianSample) -> None:
        self.lam_max_ = self._largest_penalty(sample)
        lam = self.lam_ratio * self.lam_max_ if self.lam is None else float(self.lam)
        with self._bar() as bar:
            run = Run(SolverProgress, max_time=self.max_time, callback=bar.callback)
            found = self._solve(sample, np.array([lam]), run)[0]
        self._accept(sample, found)
        self.stopped_by_ = run.conclude(self.converged_)
        self.history_ = run.history
        self._warn_unless_converged()

    def _bar(self) -> ProgressBar:
        show = self.show_progress and config.SHOW_PROGRESS
        return ProgressBar(show, self.callback, type(self).__name__, unit=self._unit, figure="objective")

    def _path(self, sample: GaussianSample, lams: np.ndarray, run: Run) -> GaussianPath:
        path = GaussianPath(sample.without_rows(), self._largest_penalty(sample), self.refit)
        path.estimates.extend(self._solve(sample, lams, run))
        return path

    def path(
        self,
        X,
        sample_weight=None,
        *,
        lams: Sequence[float] | None = None,
        n_lams: int = 20,
        lam_min_ratio: float = 0.1,
    ) -> GaussianPath:
        """Return the estimates for a decreasing sequence of penalties, each started from the one before.

        The learner itself is not changed. `SelectedGraph` makes a path and chooses from it.

        Parameters
        ----------
        X : DataFrame or array of shape (n_samples, n_features), path, iterator of frames, or covariance
            As for ``fit``.
        sample_weight : array of shape (n_samples,), optional
            As for ``fit``.
        lams : sequence of float, optional
            Penalties, in any order; by default `n_lams` values in equal ratios from `lam_max` to `lam_min_ratio` of it.
        n_lams : int, default=20
            How many, where `lams` are not given.
        lam_min_ratio : float, default=0.1
            The last, as a share of `lam_max`.

        Returns
        -------
        GaussianPath
            One estimate a penalty, the largest penalty first, with sparse matrices.

        Raises
        ------
        ValueError, TypeError
            For unusable data, options and penalties.
        """
        self._validate()
        sample = self._read(self._open(X), sample_weight)
        if lams is None:
            wanted = path_of_penalties(
                self._largest_penalty(sample), lam_min_ratio * self._largest_penalty(sample), n_lams
            )
        else:
            wanted = np.sort(np.asarray(list(lams), dtype=np.float64))[::-1]
            if not len(wanted) or not (np.isfinite(wanted) & (wanted >= 0)).all():
                raise ValueError(f"lams must be finite numbers, 0 or more, at least one; got {list(lams)!r}")
        with self._bar() as bar:
            return self._path(
                sample, np.ascontiguousarray(wanted), Run(SolverProgress, max_time=self.max_time, callback=bar.callback)
            )

    def _adopt(self: Self, path: GaussianPath, k: int, sample: GaussianSample) -> Self:
        """Take the k-th estimate of a path as what was learned."""
        self.lam_max_ = path.lam_max
        self._accept(sample, path.estimates[k])
        return self


def largest_correlation(sample: GaussianSample) -> float:
    """Return the largest absolute correlation of two different variables; a thin sample's matrix is not formed."""
    p, largest = sample.n_columns, 0.0
    for first in range(0, p if p > 1 else 0, _ROWS_AT_A_TIME):
        rows = slice(first, first + _ROWS_AT_A_TIME)
        block = np.abs(sample.correlation[rows] if sample.factor is None else sample.factor[:, rows].T @ sample.factor)
        own = np.arange(len(block))
        block[own, first + own] = 0.0
        largest = max(largest, float(block.max()))
    return largest
