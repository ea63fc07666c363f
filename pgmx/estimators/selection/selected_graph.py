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
from pgmx.estimators.base import Interval, StrOptions, clone_learner, config, random_draws
from pgmx.estimators.cost import LearningCost
from pgmx.estimators.gaussian.cost import GaussianSize, keep_parts, repeat_on_path
from pgmx.estimators.gaussian.estimate import GaussianEstimate
from pgmx.estimators.gaussian.graphical_lasso import GraphicalLasso
from pgmx.estimators.gaussian.learner import N_JOBS, ContinuousLearner, GaussianLearner
from pgmx.estimators.gaussian.path import GaussianPath
from pgmx.estimators.gaussian.wrapping import WrappingLearner
from pgmx.estimators.paths import extend_penalties, path_of_penalties
from pgmx.estimators.selection.criteria import CRITERIA, Criterion
from pgmx.estimators.selection.series_path import SeriesChoice, SeriesPath, select_penalty
from pgmx.estimators.selection.solved_paths import SolvedPaths
from pgmx.estimators.time_series.learner import TimeSeriesLearner
from pgmx.estimators.time_series.linear import LDSLearner
from pgmx.estimators.time_series.runs import learn_whole
from pgmx.estimators.time_series.svarm.learner import SELECTIONS, SVARMLearner
from pgmx.estimators.time_series.svarm.path import SVARMPath
from pgmx.runs.checkpoint import RUN_OPTIONS, Checkpoint, open_checkpoint
from pgmx.runs.progress import SolverProgress
from pgmx.runs.run import ProgressBar, Run
from pgmx.statistics import GaussianSample

#: How often a path is extended at most, and its smallest penalty as a share of the largest.
MAX_EXTENSIONS, MIN_RATIO = 4, 1e-3


class SelectedGraph(WrappingLearner):
    r"""Gaussian graphical model by any learner, its penalty chosen from a path.

    .. math:: \hat\lambda = \arg\min_\lambda \; 2 n L(\lambda) + |E_\lambda| \ln n + 4 \gamma |E_\lambda| \ln p

    for the extended Bayesian information criterion, with L the negative log-likelihood per row; or the smallest L on
    held-out folds; or the smallest penalty whose edges are stable over subsamples.

    Parameters
    ----------
    estimator : learner, default=None
        GraphicalLasso, CLIME, NeighborhoodLasso, or Nonparanormal around one of them; GraphicalLasso() by default. Or
        SparsityInducingLDS, LinearSVARM or KernelSVARM, of series. Its `lam` and `lam_ratio` are not used.
    selection : {"ebic", "cv", "stars", "aic", "bic"}, default="ebic"
        What is compared; see above. Of series ``"ebic"`` is :math:`T \sum_i \ln(RSS_i / T) + |E| (\ln T + 2 \gamma
        \ln P)` under least squares, and ``"cv"`` the error of forecasts by one row of the part behind each of
        `n_folds` origins, learned from all rows before it; of structural vector autoregressions given the present of
        the others, where they have instantaneous relations, and with the penalty of as many rows. They have ``"cv"``
        and, for themselves alone, ``"aic"`` and ``"bic"``; see their method `select`.
    n_lams : int, default=20
        Penalties of the path, in equal ratios from `lam_max_` down.
    lam_min_ratio : float, default=0.1
        The last, as a share of `lam_max_`. Where its graph is chosen, the path is made longer by half, up to 4 times.
    gamma : float, default=0.5
        Of ``"ebic"``: weight of the number of possible edges; 0 is the BIC.
    n_folds : int, default=5
        Of ``"cv"``. Series of at most `n_folds` predicted rows, such as pairs, are not cut: they are divided in their
        order.
    n_subsamples : int, default=20
        Of ``"stars"``: subsamples of 10 √n rows, without replacement.
    stability : float, default=0.05
        Largest instability of the edges, for ``"stars"``.
    lags : sequence of int, default=None
        Of series: orders to compare, in place of that of the estimator, by how they explain the same rows.
    early_stopping : bool, default=True
        Whether the path ends where smaller penalties are hardly ever chosen: see the notes. `path_.stopped_early` says
        whether it did; False solves all penalties, which takes long where their graphs are dense.
    max_time : float, default=None
        Seconds after which the choice is made from the estimates so far. A `max_time` of the estimator limits the whole
        fit too.
    checkpoint : path-like, default=None
        File with what is solved so far, from which ``fit`` goes on to the same result: of all rows within the path, as
        that of the estimator; of folds or subsamples after each four penalties of one. It is deleted at the end. That
        of the estimator is not used.
    checkpoint_every : float, default=60.0
        Seconds between two snapshots; 0 takes one per penalty, block of columns, and four penalties of a part.
    show_progress : bool, default=True
        Whether runs of more than one second show a progress bar. ``pgmpy.config.SHOW_PROGRESS`` can switch it off too.
    callback : callable, default=None
        Called with (n_iter, objective, n_edges, seconds) as that of the estimator would be; True ends the path.
    n_jobs : int, default=None
        Workers over folds or subsamples; the estimator has its own for columns. The result is the same for any number.
    random_state : int, RandomState, Generator or None, default=0
        Seed of folds and subsamples.

    Attributes
    ----------
    path_ : GaussianPath
        All estimates, the criterion of each, and the chosen one.
    estimator_ : learner
        The estimator, fitted with the chosen penalty.
    graph_ : networkx.Graph
        The learned graph; ``weight`` of an edge is its partial correlation in `model_`.
    model_ : GaussianMarkovNetwork
        The learned network, always positive definite; `model_.estimated_by` says how it was estimated.
    precision_, covariance_ : ndarray of shape (p, p)
        The method's own precision, in the units of the data, else that of `model_`; the covariance of `model_`.
    location_ : ndarray of shape (p,)
        Means.
    correlation_ : ndarray of shape (p, p)
        Correlations that were learned from.
    repaired_ : float
        Largest change of a correlation that made them positive semidefinite; 0.0 where none was needed.
    edges_ : ndarray of shape (n_edges, 2), int64
        Edges as positions in `variables_`.
    lam_, lam_max_ : float
        The penalty, and the smallest one without edges (for CLIME: with all columns diagonal).
    objective_, dual_gap_ : float
        The objective, of correlations, and an upper bound on how far it is above the optimum.
    converged_, stopped_by_ : bool, str
        Whether `tol` was reached; ``"converged"``, ``"max_iter"``, ``"max_time"``, ``"callback"``, ``"interrupt"`` or
        ``"stalled"``.
    n_iter_ : int
        Sweeps of coordinate descent, exchanges of the path or iterations, the most of any column over its penalties.
    history_ : dict of ndarray
        ``"objective"``, ``"n_edges"``, ``"seconds"`` at each call of `callback`.
    variables_, adjacency_matrix_ : list, DataFrame
        Names of the columns, and the adjacency matrix of `graph_`, made on access.
    n_features_in_, feature_names_in_ : int, ndarray
        Number and names of the columns, as in scikit-learn.

    Raises
    ------
    ValueError, TypeError
        For unusable data and unknown options. The message names the culprit.

    Warns
    -----
    UserWarning
        If the chosen penalty is the smallest of the longest path.
    ConvergenceWarning
        If the chosen estimate is not converged.

    Notes
    -----
    EBIC takes the maximum of the likelihood under each graph. Graphs without a maximum (dense ones, for p >= n) are
    left out; where the correlations R were repaired, all graphs are compared on :math:`(1 - t) R + t I`,
    :math:`t = 1 / \sqrt n`. ``"cv"`` compares the estimates themselves, which predict well, but have too many edges for
    the graphical lasso without ``refit=True``; for CLIME and NeighborhoodLasso it takes maximum likelihood under the
    graph. ``"cv"`` and ``"stars"`` need rows, and read a file once more; for ``"ebic"`` a covariance is enough. Cost:
    one path, and n_folds or n_subsamples more of them. For prediction take ``GraphicalLasso(refit=True)``, or ``"cv"``.

    With `early_stopping` the path ends: for ``"ebic"`` at the first penalty at which the criterion has risen three
    times in a row and the graph has more than four times the edges of the best one; for ``"cv"`` where the loss rises
    and has been above its minimum for four penalties; for ``"stars"`` at the first penalty whose edges are unstable. A
    criterion that cannot be computed, since the likelihood has no maximum, counts as risen. The path of
    SparsityInducingLDS ends by the rule of ``"ebic"``, those of structural vector autoregressions are whole. The last
    row of `history_` is the chosen estimate, at the end of the fit.

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
        "estimator": [ContinuousLearner, LDSLearner, SVARMLearner, None],
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
        estimator: ContinuousLearner | LDSLearner | SVARMLearner | None = None,
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
        """Further values of files that are missing to the estimator."""
        return getattr(self.estimator, "na_values", None)

    def _open(self, X):
        learner = self._inner_learner()
        is_structural = isinstance(learner, SVARMLearner)
        allowed: Any = SELECTIONS if is_structural else CRITERIA
        if self.selection not in allowed:
            names = ", ".join(allowed)
            raise ValueError(f"selection={self.selection!r} is not for {type(learner).__name__}: choose one of {names}")
        if isinstance(learner, TimeSeriesLearner):
            return clone_learner(learner).set_params(lags=learner._read_orders(self.lags)[-1])._open_panel(X)
        if self.lags is not None:
            raise ValueError(f"lags is for learners of series, not for {type(learner).__name__}: leave it out")
        return learner._open(X)

    def _estimate_fit(self, X: Any, n_rows: int | None, n_floats: int | None) -> LearningCost:
        learner = self._inner_learner()
        if not isinstance(learner, TimeSeriesLearner):
            return super()._estimate_fit(X, n_rows, n_floats)
        orders = learner._read_orders(self.lags)
        longest = clone_learner(learner).set_params(lags=orders[-1])
        return longest.estimate_cost(X, n_rows=n_rows, n_floats=n_floats)

    def _count_parts(self) -> int:
        """Return how many samples of the rows get a path of their own."""
        return {"cv": self.n_folds, "stars": self.n_subsamples}.get(self.selection, 0)

    def _estimate_reading(self, size: GaussianSize) -> int:
        return keep_parts(size, super()._estimate_reading(size), self._count_parts())

    def _estimate_solving(self, size: GaussianSize) -> int:
        return repeat_on_path(size, super()._estimate_solving(size), self._count_parts())

    def _fit(self, opened: Any, sample_weight: ArrayLike | None) -> Run | None:
        if isinstance(opened, Panel):
            return self._fit_series(opened, sample_weight)
        return super()._fit(opened, sample_weight)

    def _fit_series(self, panel: Panel, sample_weight: ArrayLike | None) -> Run:
        """Choose the penalty and the order of a linear dynamical system, and learn it with these."""
        learner = clone_learner(self._inner_learner())
        learner._refuse_weights(sample_weight)
        if isinstance(learner, SVARMLearner):
            return self._fit_structural(learner, panel)
        if self.checkpoint is not None:
            raise ValueError("checkpoint is for Gaussian graphical models, and not for series: leave it out")
        show = self.show_progress and config.SHOW_PROGRESS
        with ProgressBar(show, self.callback, type(self).__name__, unit="penalties", figure="objective") as bar:
            run = Run(SolverProgress, max_time=self._limit_time(), callback=bar.callback, start=self._start)
            bar.follow(run)
            orders, units = learner._read_orders(self.lags), None
            choices: list[tuple[float, LDSLearner, SeriesPath, Panel]] = []
            with learner._on_threads(), run.limiting():
                for order in orders:
                    if choices and run.is_over():
                        break
                    rows = panel.crop(orders[-1] - order)  # all orders explain the same rows
                    learner = clone_learner(learner).set_params(lags=order)
                    options = (self.selection, self.gamma, self.n_folds, self.early_stopping)
                    choice = SeriesChoice(learner, rows, *options, units)
                    units, largest = choice.units, choice.lam_max
                    lams = path_of_penalties(largest, self.lam_min_ratio * largest, self.n_lams)
                    path = select_penalty(choice, lams, run, extend_penalties, MAX_EXTENSIONS, MIN_RATIO * largest)
                    choices.append((float(path.criterion[path.selected]), learner, path, rows))
            if not run.is_over():
                run.estimate_left = lambda: 0
        _, learner, path, rows = min(choices, key=lambda one: one[0])
        self._warn_of_end(path, run)
        learner.set_params(lam=float(path.lams[path.selected]))
        learn_whole(learner, rows)
        run.add_row(objective=float(path.criterion[path.selected]), n_edges=len(path._edges(path.selected)))
        self.estimator_, self.path_, self._results = learner, path, {}
        self.lam_, self.lam_max_ = learner.lam_, path.lam_max
        self.stopped_by_ = run.stopped_by or "converged"
        self.converged_, self.history_ = self.stopped_by_ == "converged", run.history
        return run

    def _fit_structural(self, learner: SVARMLearner, panel: Panel) -> Run:
        """Choose the penalty and the order of a structural vector autoregression, and learn it with these."""
        for name in ("checkpoint", "callback"):
            if getattr(self, name) is not None:
                raise ValueError(f"{name} is not for {type(learner).__name__}: leave it out")
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
        """The learned graph: over (name, lag) for series, else with partial correlations as ``weight``."""
        return self.estimator_.graph_ if self._is_of_series() else super().graph_

    @property
    def model_(self) -> Any:
        """The learned system of series, else the Gaussian network."""
        return self.estimator_.model_ if self._is_of_series() else super().model_

    def score(self, X: Any, y: object = None) -> float:
        """Return the mean log-likelihood of rows, in nats; of series each row given the rows before it.

        Parameters
        ----------
        X : DataFrame or array of shape (n_samples, n_features)
            Rows with the columns that were learned from.
        y : None
            Ignored; scikit-learn's convention.

        Returns
        -------
        float
            That of the estimator.
        """
        return self.estimator_.score(X) if self._is_of_series() else super().score(X)

    def _choice_of_missing(self) -> str:
        return self._inner_learner().missing

    def _is_of_series(self) -> bool:
        return isinstance(getattr(self, "estimator_", None), TimeSeriesLearner)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there are results, for scikit-learn."""
        return hasattr(self, "_estimate") or self._is_of_series()

    def _read(self, opened, sample_weight) -> GaussianSample:
        return self._inner_learner()._read(opened, sample_weight)

    def _learn(self, sample: GaussianSample) -> Run:
        leaf = self._leaf()
        self.lam_max_ = leaf._largest_penalty(sample, 0.0, self.lam_min_ratio)
        _, seed = random_draws(1, self.random_state)
        show = self.show_progress and config.SHOW_PROGRESS
        with ProgressBar(show, self.callback, type(self).__name__, unit=leaf._unit, figure="objective") as bar:
            run = Run(SolverProgress, max_time=self._limit_time(), callback=bar.callback, start=self._start)
            bar.follow(run)
            criterion = CRITERIA[self.selection](self, leaf, sample, run, seed)
            if self.checkpoint is not None:
                run.checkpoint = self._open_checkpoint(sample, criterion, seed)
            solved = SolvedPaths(run, sample.n_columns)
            criterion.solved = solved
            try:
                path = self._choose(leaf, sample, criterion, run, solved)
            finally:
                if run.is_over():
                    solved.save()
            if not run.is_over() and run.checkpoint is not None:
                run.checkpoint.remove()
        self.path_ = path
        chosen = path.estimates[path.selected]
        self._accept(sample, chosen)
        run.add_row(objective=chosen.objective, n_edges=len(chosen.edges))
        if run.is_over():  # a better penalty may be among those not tried
            self.converged_, self.stopped_by_ = False, run.stopped_by
        self.history_ = run.history
        self._warn_unless_converged()
        return run

    def _open_checkpoint(self, sample: GaussianSample, criterion: Criterion, seed: int) -> Checkpoint:
        """Return the checkpoint; the estimator counts by its options but those of running."""
        options = self._inner_learner().get_params(deep=True).items()
        decisive = {name: value for name, value in options if name.split("__")[-1] not in RUN_OPTIONS}
        estimator = [type(self._inner_learner()).__name__, decisive]
        samples = [sample, *getattr(criterion, "_parts", ())]
        matrices = [[one.n_rows, one.mean, one.scale, one.correlation] for one in samples]
        return open_checkpoint(self, sample.names, matrices, estimator=estimator, random_state=seed)

    def _choose(
        self, leaf: GaussianLearner, sample: GaussianSample, criterion: Criterion, run: Run, solved: SolvedPaths
    ) -> GaussianPath:
        """Return a path with a chosen penalty, extended while the choice falls on its end."""
        lams = path_of_penalties(self.lam_max_, self.lam_min_ratio * self.lam_max_, self.n_lams)
        allowed = leaf._limit_penalties(sample, lams)
        if leaf._solves_in_turn:
            self._count_penalties(run, solved, len(allowed))
        path = leaf._path(sample, lambda: self._solve(leaf, sample, criterion, run, solved, [], allowed))
        if self._count_parts() and not leaf._solves_in_turn:
            self._count_penalties(run, solved, len(allowed))
        path.selected = len(path) - 1
        if run.error is None:
            with run.catch_interrupt():
                self._end_early(path, criterion, len(allowed))
                path.criterion, path.selected = criterion.choose(path.estimates)
                if len(allowed) == len(lams):  # else a warning has said why no smaller penalty can be tried
                    self._extend(path, leaf, sample, criterion, run, solved)
        if not run.is_over():
            run.finish_steps()
        return path

    def _count_penalties(self, run: Run, solved: SolvedPaths, n_lams: int) -> None:
        """Let the run count the penalties of all paths, fewer of which may be needed."""
        run.count_steps(n_lams * (1 + self._count_parts()), "penalties", solved.n_estimates)

    def _solve(
        self,
        leaf: GaussianLearner,
        sample: GaussianSample,
        criterion: Criterion,
        run: Run,
        solved: SolvedPaths,
        before: list[GaussianEstimate],
        lams: np.ndarray,
    ) -> list[GaussianEstimate]:
        """Return the estimates of penalties that follow those `before`, until these are enough for the choice."""

        def is_enough(estimates: list[GaussianEstimate]) -> bool:
            return self.early_stopping and criterion.find_end([*before, *estimates]) is not None

        key = f"path from {len(before)}" if before else "path"
        return solved.solve(key, lams, lambda lams, store: leaf._solve(sample, lams, run, store, is_enough))

    def _end_early(self, path: GaussianPath, criterion: Criterion, n_lams: int) -> None:
        """Leave out those of `n_lams` penalties that the choice does not need."""
        end = criterion.find_end(path.estimates) if self.early_stopping else None
        if end is not None and end < n_lams:
            path.stopped_early = True
            del path.estimates[end:]

    def _extend(
        self,
        path: GaussianPath,
        leaf: GaussianLearner,
        sample: GaussianSample,
        criterion: Criterion,
        run: Run,
        solved: SolvedPaths,
    ) -> None:
        """Choose from a path that is made longer while its last graph is the chosen one."""
        n_pairs = sample.n_columns * (sample.n_columns - 1) // 2
        for _ in range(MAX_EXTENSIONS):
            if path.stopped_early or len(path) < 2 or not path.ends_in_chosen_graph or run.is_over():
                break
            lams = extend_penalties(path.lams)
            more = leaf._limit_penalties(sample, lams[lams >= MIN_RATIO * self.lam_max_])[len(path) :]
            if not len(more) or path.n_edges[-1] == n_pairs:
                break
            run.expect_steps(len(more) * (1 + self._count_parts()))
            n_lams = len(path) + len(more)
            path.estimates.extend(self._solve(leaf, sample, criterion, run, solved, list(path.estimates), more))
            self._end_early(path, criterion, n_lams)
            path.criterion, path.selected = criterion.choose(path.estimates)
        if path.n_edges[-1] < n_pairs:
            self._warn_of_end(path, run)

    def _warn_of_end(self, path: GaussianPath | SeriesPath | SVARMPath, run: Run) -> None:
        """Warn where the smallest penalty of a path was chosen, and not for lack of time."""
        if path.at_end and not run.is_over():
            warnings.warn(
                f"the smallest of {len(path)} penalties was chosen, {path.lams[-1]:.3g}: a smaller one may be better. "
                f"Give a smaller lam_min_ratio than {self.lam_min_ratio:g}, or more rows",
                stacklevel=caller_level(),
            )
