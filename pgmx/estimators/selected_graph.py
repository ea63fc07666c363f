"""A Gaussian graphical model whose penalty is chosen from a path."""

import warnings
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike

from pgmx.checks import caller_level
from pgmx.data.series import Panel
from pgmx.estimators.base import N_JOBS, Interval, StrOptions, clone_learner, config, random_draws
from pgmx.estimators.cost import LearningCost
from pgmx.estimators.gaussian.cost import GaussianSize, estimate_paths, estimate_subsamples
from pgmx.estimators.gaussian.criteria import CRITERIA, Criterion, PathCache
from pgmx.estimators.gaussian.estimate import GaussianEstimate, GaussianPath
from pgmx.estimators.gaussian.graphical_lasso import GraphicalLasso
from pgmx.estimators.gaussian.learner import ContinuousLearner, GaussianLearner, WrappingLearner
from pgmx.estimators.paths import extend_penalties, space_penalties
from pgmx.estimators.time_series.equations.sparse_tensor_sem import SparseTensorSEM
from pgmx.estimators.time_series.learner import TimeSeriesLearner, learn_or_raise
from pgmx.estimators.time_series.linear import LDSLearner
from pgmx.estimators.time_series.series_path import PathSolver, SeriesPath, solve_series_path
from pgmx.estimators.time_series.svarm.learner import SELECTIONS, SVARMLearner, SVARMPath
from pgmx.runs.checkpoint import RUN_OPTIONS, Checkpoint, open_checkpoint
from pgmx.runs.progress import ProgressBar, SolverProgress
from pgmx.runs.run import Run
from pgmx.statistics import GaussianSample

#: Maximum number of extensions of a path, and its smallest allowed penalty as a share of the largest.
_MAX_EXTENSIONS, _MIN_RATIO = 4, 1e-3


class SelectedGraph(WrappingLearner):
    r"""Gaussian graphical model by any learner, its penalty chosen from a path.

    .. math:: \hat\lambda = \arg\min_\lambda \; 2 n L(\lambda) + |E_\lambda| \ln n + 4 \gamma |E_\lambda| \ln p

    for the extended Bayesian information criterion (EBIC), with L the negative log-likelihood per row. Other criteria
    are L on held-out folds (the smallest L is chosen) and the stability of the edges over subsamples (the smallest
    stable penalty is chosen).

    Parameters
    ----------
    estimator : learner, default=None
        GraphicalLasso (default), CLIME, NeighborhoodLasso, or Nonparanormal around one of them; for time series
        SparsityInducingLDS, SparseTensorSEM, LinearSVARM or KernelSVARM. Its `lam` and `lam_ratio` are not used.
    selection : {"ebic", "cv", "stars", "aic", "bic"}, default="ebic"
        The criterion. ``"aic"`` and ``"bic"`` are for structural vector autoregressions only, ``"stars"`` is not for
        time series, and ``"ebic"`` is not for structural vector autoregressions. See the notes.
    n_lams : int, default=20
        Number of penalties of the path, in equal ratios from `lam_max_` down.
    lam_min_ratio : float, default=0.1
        Smallest penalty as a share of `lam_max_`. If it is chosen, the path is extended by half, up to 4 times.
    gamma : float, default=0.5
        Weight γ of ``"ebic"``; 0 gives the BIC.
    n_folds : int, default=5
        Number of folds of ``"cv"``. Time series with at most `n_folds` predicted rows (such as pairs) are not cut;
        whole series are then assigned to folds in their order.
    n_subsamples : int, default=20
        Number of subsamples of ``"stars"``, with 10 √n rows each, drawn without replacement.
    stability : float, default=0.05
        Largest instability of the edges, for ``"stars"``.
    lags : sequence of int, default=None
        Orders of a time series model to compare, in place of the order of the estimator. All orders are compared on the
        same rows.
    early_stopping : bool, default=True
        Whether the path ends when smaller penalties are very unlikely to be chosen (see the notes and
        `path_.stopped_early`). False solves all penalties, which is slow if their graphs are dense.
    max_time : float, default=None
        Time limit in seconds. The penalty is then chosen from the estimates so far. `max_time` of the estimator also
        limits the whole fit.
    checkpoint : path-like, default=None
        File with the work that is done so far. ``fit`` resumes from it, with the same result. It is deleted at the end.
        The checkpoint of the estimator is not used.
    checkpoint_every : float, default=60.0
        Seconds between two snapshots. 0 writes one after each penalty or block of columns, and after four penalties of
        a fold or subsample.
    show_progress : bool, default=True
        Whether runs of more than one second show a progress bar. ``pgmpy.config.SHOW_PROGRESS`` can switch it off too.
    callback : callable, default=None
        Function called with (n_iter, objective, n_edges, seconds) like the callback of the estimator. The path ends if
        it returns True.
    n_jobs : int, default=None
        Number of workers for folds or subsamples. The estimator has its own option. The result does not depend on it.
    random_state : int, RandomState, Generator or None, default=0
        Seed of folds and subsamples.

    Attributes
    ----------
    path_ : GaussianPath
        All estimates, their criterion, and the chosen one.
    estimator_ : learner
        The estimator, fitted with the chosen penalty.
    graph_ : networkx.Graph
        The learned graph; ``weight`` of an edge is its partial correlation in `model_`.
    model_ : GaussianMarkovNetwork
        The learned network, always positive definite. `model_.estimated_by` is the estimation method.
    precision_, covariance_ : ndarray of shape (p, p)
        The precision estimated by the method, in the units of the data (if the method has none: the precision of
        `model_`), and the covariance of `model_`.
    location_ : ndarray of shape (p,)
        Means.
    correlation_ : ndarray of shape (p, p)
        Correlations from which the graph was learned.
    repaired_ : float
        Largest change of a correlation when the matrix was made positive semidefinite; 0.0 if no change was needed.
    edges_ : ndarray of shape (n_edges, 2), int64
        Edges as positions in `variables_`.
    lam_, lam_max_ : float
        The penalty, and the smallest penalty without edges (for CLIME: with a diagonal estimate).
    objective_, dual_gap_ : float
        The objective on the correlation scale, and an upper bound on its distance from the optimum.
    converged_, stopped_by_ : bool, str
        Whether `tol` was reached, and why the run ended: ``"converged"``, ``"max_iter"``, ``"max_time"``,
        ``"callback"``, ``"interrupt"`` or ``"stalled"``.
    n_iter_ : int
        Number of sweeps, pivots of the path, or iterations; the maximum over columns if columns are solved separately.
    history_ : dict of ndarray
        ``"objective"``, ``"n_edges"``, ``"seconds"`` at each call of `callback`.
    variables_, adjacency_matrix_ : list, DataFrame
        Names of the columns, and the adjacency matrix of `graph_`, made on access.
    n_features_in_, feature_names_in_ : int, ndarray
        Number and names of the columns, as in scikit-learn.

    Raises
    ------
    ValueError, TypeError
        If the data or an option is invalid. The message names the option or column.

    Warns
    -----
    UserWarning
        If the chosen penalty is the smallest of the longest path.
    ConvergenceWarning
        If the chosen estimate has not converged.

    Notes
    -----
    EBIC uses the maximum of the likelihood given each graph. Graphs without a maximum (dense graphs if p >= n) are left
    out. If the correlations R were repaired, all graphs are compared on :math:`(1 - t) R + t I`, :math:`t = 1 / \sqrt
    n`. ``"cv"`` compares the estimates themselves. For the graphical lasso without ``refit=True`` the chosen estimate
    predicts well but has too many edges. For CLIME and NeighborhoodLasso ``"cv"`` uses maximum likelihood estimates
    given the graph. ``"cv"`` and ``"stars"`` need rows, and read a file a second time. ``"ebic"`` also accepts a
    covariance. Cost: one path, plus n_folds or n_subsamples further paths. For prediction use
    ``GraphicalLasso(refit=True)`` or ``"cv"``.

    For time series ``"ebic"`` is :math:`T \sum_i \ln(RSS_i / T) + |E| (\ln T + 2 \gamma \ln P)` with least squares
    given the edges. ``"cv"`` is the error of forecasts by one row after each of `n_folds` origins, learned from all
    rows before the origin. The forecast of a structural vector autoregression with instantaneous relations also uses
    the present values of the other series, and its penalty is rescaled to the number of rows. For SparseTensorSEM
    ``"ebic"`` is :math:`-2 T \ell + |E| (\ln T + 2 \gamma \ln(N - 1))` with the maximum of the likelihood given the
    edges, and ``"cv"`` is minus the log-likelihood per row of held-out windows: a fold has every n_folds-th window. For
    ``"aic"`` and ``"bic"`` see the method `select` of structural vector autoregressions.

    With `early_stopping` the path ends at the following penalty. ``"ebic"``: the criterion has risen three times in a
    row, and the graph has more than four times the edges of the best graph. ``"cv"``: the loss rises and has been above
    its minimum for four penalties. ``"stars"``: the edges are unstable. A criterion that cannot be computed, because
    the likelihood has no maximum, counts as risen. The path of SparsityInducingLDS ends by the rule of ``"ebic"``.
    Paths of structural vector autoregressions are always complete. The last row of `history_` is the chosen estimate,
    at the end of the fit.

    References
    ----------
    .. [1] Foygel, R. and Drton, M. (2010). Extended Bayesian information criteria for Gaussian graphical models.
       Advances in Neural Information Processing Systems 23, 604-612, equation 1.
    .. [2] Liu, H., Roeder, K. and Wasserman, L. (2010). Stability approach to regularization selection (StARS) for high
       dimensional graphical models. Advances in Neural Information Processing Systems 23, 1432-1440, section 3.

    Examples
    --------
    >>> from pgmx.datasets import gaussian_chain_network
    >>> rows = gaussian_chain_network(5, 0.6).simulate(500, random_state=1)
    >>> learner = SelectedGraph(GraphicalLasso()).fit(rows)
    >>> sorted(learner.graph_.edges())
    [('x0', 'x1'), ('x1', 'x2'), ('x2', 'x3'), ('x3', 'x4')]
    >>> learner.path_.at_end
    False
    """

    path_: GaussianPath | SeriesPath | SVARMPath

    _parameter_constraints: dict[str, Any] = {
        "estimator": [ContinuousLearner, LDSLearner, SVARMLearner, SparseTensorSEM, None],
        "selection": [StrOptions({*CRITERIA, *SELECTIONS})],
        "n_lams": [Interval(Integral, 2, None, closed="left")],
        "lam_min_ratio": [Interval(Real, 0, 1, closed="neither")],
        "gamma": [Interval(Real, 0, None, closed="left")],
        "n_folds": [Interval(Integral, 2, None, closed="left")],
        "n_subsamples": [Interval(Integral, 2, None, closed="left")],
        "stability": [Interval(Real, 0, 0.5, closed="both")],
        "lags": ["array-like", None],
        "early_stopping": ["boolean"],
        "max_time": [Interval(Real, 0, None, closed="left"), None],
        "checkpoint": [str, Path, None],
        "checkpoint_every": [Interval(Real, 0, None, closed="left")],
        "show_progress": ["boolean"],
        "callback": [callable, None],
        "n_jobs": N_JOBS,
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        estimator: ContinuousLearner | LDSLearner | SVARMLearner | SparseTensorSEM | None = None,
        *,
        selection: Literal["ebic", "cv", "stars", "aic", "bic"] = "ebic",
        n_lams: int = 20,
        lam_min_ratio: float = 0.1,
        gamma: float = 0.5,
        n_folds: int = 5,
        n_subsamples: int = 20,
        stability: float = 0.05,
        lags: Sequence[int] | None = None,
        early_stopping: bool = True,
        max_time: float | None = None,
        checkpoint: str | Path | None = None,
        checkpoint_every: float = 60.0,
        show_progress: bool = True,
        callback: Callable[[SolverProgress], bool | None] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
    ):
        self.estimator: Any = estimator
        self.selection = selection
        self.n_lams = n_lams
        self.lam_min_ratio = lam_min_ratio
        self.gamma = gamma
        self.n_folds = n_folds
        self.n_subsamples = n_subsamples
        self.stability = stability
        self.lags = lags
        self.early_stopping = early_stopping
        self.max_time = max_time
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.show_progress = show_progress
        self.callback = callback
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _inner_learner(self) -> Any:
        return GraphicalLasso() if self.estimator is None else self.estimator

    @property
    def na_values(self) -> Any:
        """The estimator's `na_values`."""
        return getattr(self.estimator, "na_values", None)

    def _open(self, X):
        learner = self._inner_learner()
        allowed = learner._selections if isinstance(learner, TimeSeriesLearner) else tuple(CRITERIA)
        if self.selection not in allowed:
            names = ", ".join(allowed)
            raise ValueError(
                f"selection={self.selection!r} is not supported for {type(learner).__name__}: choose one of {names}"
            )
        if isinstance(learner, TimeSeriesLearner):
            # one panel for all orders, which are compared on the same rows
            return _set_order(learner, learner._read_orders(self.lags)[-1])._open_panel(X)
        if self.lags is not None:
            raise ValueError(f"lags is only for learners of time series, got {type(learner).__name__}: leave it out")
        return learner._open(X)

    def _estimate_fit(self, X: Any, n_rows: int | None, n_floats: int | None) -> LearningCost:
        learner = self._inner_learner()
        if not isinstance(learner, TimeSeriesLearner):
            return super()._estimate_fit(X, n_rows, n_floats)
        orders = learner._read_orders(self.lags)
        return _set_order(learner, orders[-1]).estimate_cost(X, n_rows=n_rows, n_floats=n_floats)

    def _count_subsets(self) -> int:
        """Return the number of folds or subsamples."""
        return {"cv": self.n_folds, "stars": self.n_subsamples}.get(self.selection, 0)

    def _estimate_reading(self, size: GaussianSize) -> int:
        return estimate_subsamples(size, super()._estimate_reading(size), self._count_subsets())

    def _estimate_solving(self, size: GaussianSize) -> int:
        return estimate_paths(size, super()._estimate_solving(size), self._count_subsets())

    def _fit(self, opened: Any, sample_weight: ArrayLike | None) -> Run | None:
        if isinstance(opened, Panel):
            return self._fit_series(opened, sample_weight)
        return super()._fit(opened, sample_weight)

    def _fit_series(self, panel: Panel, sample_weight: ArrayLike | None) -> Run:
        """Choose the penalty and the order of a linear dynamical system, and learn with the chosen values."""
        learner = clone_learner(self._inner_learner())
        learner._refuse_weights(sample_weight)
        if isinstance(learner, SVARMLearner):
            return self._fit_structural(learner, panel)
        if self.checkpoint is not None:
            raise ValueError("checkpoint is only for Gaussian graphical models, not for time series: leave it out")
        show = self.show_progress and config.SHOW_PROGRESS
        with ProgressBar(show, self.callback, type(self).__name__, unit="penalties", figure="objective") as bar:
            run = Run(SolverProgress, max_time=self._limit_time(), callback=bar.callback, start=self._start)
            bar.follow(run)
            orders, units = learner._read_orders(self.lags), None
            names = ("selection", "gamma", "n_folds", "early_stopping")
            options = {name: getattr(self, name) for name in names}
            choice: PathSolver
            choices: list[tuple[float, Any, SeriesPath, Panel, PathSolver]] = []
            with learner._on_threads(), run.limit_runs():
                for order in orders:
                    # the first order is always compared, so that there is a result
                    if choices and run.is_over():
                        break
                    rows = panel.crop(orders[-1] - order)  # all orders explain the same rows
                    learner = _set_order(learner, order)
                    choice = learner._make_path_solver(rows, units, **options)
                    units, largest = choice.units, choice.lam_max
                    lams = space_penalties(largest, self.lam_min_ratio * largest, self.n_lams)
                    path = solve_series_path(choice, lams, run, extend_penalties, _MAX_EXTENSIONS, _MIN_RATIO * largest)
                    choices.append((float(path.criterion[path.selected]), learner, path, rows, choice))
            if not run.is_over():
                run.estimate_left = lambda: 0
        # of equal criteria the smaller order, which comes first
        _, learner, path, rows, choice = min(choices, key=lambda one: one[0])
        self._warn_of_end(path, run)
        choice.prepare(learner.set_params(lam=float(path.lams[path.selected])))
        learn_or_raise(learner, rows)
        run.add_row(objective=float(path.criterion[path.selected]), n_edges=len(path._edges(path.selected)))
        self.estimator_, self.path_, self._results = learner, path, {}
        self.lam_, self.lam_max_ = learner.lam_, path.lam_max
        self.stopped_by_ = run.stopped_by or "converged"
        self.converged_, self.history_ = self.stopped_by_ == "converged", run.history
        return run

    def _fit_structural(self, learner: SVARMLearner, panel: Panel) -> Run:
        """Choose the penalty and the order of a structural vector autoregression, and learn with the chosen values."""
        for name in ("checkpoint", "callback"):
            if getattr(self, name) is not None:
                raise ValueError(f"{name} is not supported for {type(learner).__name__}: leave it out")
        run = Run(SolverProgress, start=self._start)
        learner.set_params(max_time=self._limit_time())
        orders = learner._read_orders(self.lags)
        chosen: Any = learner._select(panel, self.selection, orders, self.n_lams, self.lam_min_ratio, self.n_folds)
        self.estimator_, self.path_, self._results = chosen, chosen.path_, {}
        self.lam_, self.lam_max_ = chosen.lam_, chosen.lam_max_
        self._warn_of_end(chosen.path_, run)
        self.stopped_by_, self.converged_ = run.conclude(chosen.converged_, chosen.stopped_by_), chosen.converged_
        run.add_row(objective=chosen.objective_, n_edges=int(chosen.path_.n_edges[chosen.path_.selected]))
        self.history_ = run.history
        return run

    @property
    def graph_(self) -> nx.Graph:
        """The learned graph: over (name, lag) for time series, else with partial correlations as ``weight``."""
        return self.estimator_.graph_ if self._is_time_series() else super().graph_

    @property
    def model_(self) -> Any:
        """The learned system for time series, else the Gaussian network."""
        return self.estimator_.model_ if self._is_time_series() else super().model_

    def score(self, X: Any, y: object = None) -> float:
        """Return the mean log-likelihood of rows, in nats (for time series: of each row given the rows before it).

        Parameters
        ----------
        X : DataFrame or array of shape (n_samples, n_features)
            Rows with the training columns.
        y : None
            Ignored; scikit-learn's convention.

        Returns
        -------
        float
            The score of the estimator.
        """
        return self.estimator_.score(X) if self._is_time_series() else super().score(X)

    def _resolve_missing(self) -> str:
        return self._inner_learner().missing

    def _is_time_series(self) -> bool:
        return isinstance(getattr(self, "estimator_", None), TimeSeriesLearner)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there are results, for scikit-learn."""
        return hasattr(self, "_estimate") or self._is_time_series()

    def _read(self, opened, sample_weight) -> GaussianSample:
        return self._inner_learner()._read(opened, sample_weight)

    def _learn(self, sample: GaussianSample) -> Run:
        solver = self._innermost()
        self.lam_max_ = solver._largest_penalty(sample, 0.0, self.lam_min_ratio)
        _, seed = random_draws(1, self.random_state)
        show = self.show_progress and config.SHOW_PROGRESS
        with ProgressBar(show, self.callback, type(self).__name__, unit=solver._unit, figure="objective") as bar:
            run = Run(SolverProgress, max_time=self._limit_time(), callback=bar.callback, start=self._start)
            bar.follow(run)
            criterion = CRITERIA[self.selection](self, solver, sample, run, seed)
            if self.checkpoint is not None:
                run.checkpoint = self._open_checkpoint(sample, criterion, seed)
            solved = PathCache(run, sample.n_columns)
            criterion.solved = solved
            try:
                path = self._choose(solver, sample, criterion, run, solved)
            finally:
                if run.is_over():
                    solved.save()
            if not run.is_over() and run.checkpoint is not None:
                run.checkpoint.remove()
        self.path_ = path
        chosen = path.estimates[path.selected]
        self._set_results(sample, chosen)
        run.add_row(objective=chosen.objective, n_edges=len(chosen.edges))
        if run.is_over():  # an untried penalty may be better
            self.converged_, self.stopped_by_ = False, run.stopped_by
        self.history_ = run.history
        self._warn_unless_converged()
        return run

    def _open_checkpoint(self, sample: GaussianSample, criterion: Criterion, seed: int) -> Checkpoint:
        """Return the checkpoint. It depends on the estimator's options, except the options of the run."""
        options = self._inner_learner().get_params(deep=True).items()
        decisive = {name: value for name, value in options if name.split("__")[-1] not in RUN_OPTIONS}
        estimator = [type(self._inner_learner()).__name__, decisive]
        samples = [sample, *getattr(criterion, "_parts", ())]
        # with the folds or subsamples, since their draws decide the choice
        matrices = [[one.n_rows, one.mean, one.scale, one.correlation] for one in samples]
        return open_checkpoint(self, sample.names, matrices, estimator=estimator, random_state=seed)

    def _choose(
        self, solver: GaussianLearner, sample: GaussianSample, criterion: Criterion, run: Run, solved: PathCache
    ) -> GaussianPath:
        """Return a path with a chosen penalty, extended while its last penalty is chosen."""
        lams = space_penalties(self.lam_max_, self.lam_min_ratio * self.lam_max_, self.n_lams)
        allowed = solver._limit_penalties(sample, lams)
        if solver._solves_in_turn:
            self._count_penalties(run, solved, len(allowed))
        path = solver._path(sample, lambda: self._solve(solver, sample, criterion, run, solved, [], allowed))
        if self._count_subsets() and not solver._solves_in_turn:
            self._count_penalties(run, solved, len(allowed))
        # the choice for a run that ends before the criterion is known
        path.selected = len(path) - 1
        if run.error is None:
            with run.catch_interrupt():
                self._end_early(path, criterion, len(allowed))
                path.criterion, path.selected = criterion.choose(path.estimates)
                if len(allowed) == len(
                    lams
                ):  # otherwise a warning has already explained why smaller penalties cannot be tried
                    self._extend(path, solver, sample, criterion, run, solved)
        if not run.is_over():
            run.finish_steps()
        return path

    def _count_penalties(self, run: Run, solved: PathCache, n_lams: int) -> None:
        """Set the total of the progress bar: the penalties of all paths, of which fewer may be needed."""
        run.count_steps(n_lams * (1 + self._count_subsets()), "penalties", solved.n_estimates)

    def _solve(
        self,
        solver: GaussianLearner,
        sample: GaussianSample,
        criterion: Criterion,
        run: Run,
        solved: PathCache,
        before: list[GaussianEstimate],
        lams: np.ndarray,
    ) -> list[GaussianEstimate]:
        """Return the estimates of penalties after the estimates `before`, until they suffice for the choice."""

        def is_enough(estimates: list[GaussianEstimate]) -> bool:
            return self.early_stopping and criterion.find_end([*before, *estimates]) is not None

        key = f"path from {len(before)}" if before else "path"
        return solved.solve(key, lams, lambda lams, store: solver._solve(sample, lams, run, store, is_enough))

    def _end_early(self, path: GaussianPath, criterion: Criterion, n_lams: int) -> None:
        """Subtract from the total the penalties (of `n_lams`) that the choice does not need."""
        end = criterion.find_end(path.estimates) if self.early_stopping else None
        if end is not None and end < n_lams:
            path.stopped_early = True
            del path.estimates[end:]

    def _extend(
        self,
        path: GaussianPath,
        solver: GaussianLearner,
        sample: GaussianSample,
        criterion: Criterion,
        run: Run,
        solved: PathCache,
    ) -> None:
        """Choose from a path that is extended while its last graph is chosen."""
        n_pairs = sample.n_columns * (sample.n_columns - 1) // 2
        for _ in range(_MAX_EXTENSIONS):
            # the same graph under a smaller penalty means that denser graphs have not been compared
            if path.stopped_early or len(path) < 2 or not path.ends_in_chosen_graph or run.is_over():
                break
            lams = extend_penalties(path.lams)
            more = solver._limit_penalties(sample, lams[lams >= _MIN_RATIO * self.lam_max_])[len(path) :]
            # the complete graph cannot get denser
            if not len(more) or path.n_edges[-1] == n_pairs:
                break
            run.expect_steps(len(more) * (1 + self._count_subsets()))
            n_lams = len(path) + len(more)
            path.estimates.extend(self._solve(solver, sample, criterion, run, solved, list(path.estimates), more))
            self._end_early(path, criterion, n_lams)
            path.criterion, path.selected = criterion.choose(path.estimates)
        if path.n_edges[-1] < n_pairs:
            self._warn_of_end(path, run)

    def _warn_of_end(self, path: GaussianPath | SeriesPath | SVARMPath, run: Run) -> None:
        """Warn if the smallest penalty of a path was chosen, unless time ran out."""
        if path.at_end and not run.is_over():
            warnings.warn(
                f"the smallest of {len(path)} penalties was chosen, {path.lams[-1]:.3g}: a smaller penalty may be "
                f"better. Give a smaller lam_min_ratio than {self.lam_min_ratio:g}, or more rows",
                stacklevel=caller_level(),
            )


def _set_order(learner: Any, order: int) -> Any:
    """Return a clone with a number of lags; learners of instantaneous edges have none."""
    clone = clone_learner(learner)
    return clone.set_params(lags=order) if order else clone
