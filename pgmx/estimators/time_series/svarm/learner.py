"""The base class of the learners of structural vector autoregressions, and the results along a path of penalties."""

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Any, TypeVar

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from pgmx.checks import as_reals, caller_level, check_natural, check_same_names, is_number, join_names
from pgmx.data.series import Panel, continue_labels, open_series
from pgmx.estimators.base import Interval, StrOptions, clone_learner
from pgmx.estimators.paths import PenaltyPath, find_smallest, space_penalties
from pgmx.estimators.time_series.cost import SeriesSize, estimate_additive
from pgmx.estimators.time_series.learner import (
    RUN_CONSTRAINTS,
    IterativeLearner,
    TimeSeriesLearner,
    clone_silent,
    learn_or_raise,
)
from pgmx.estimators.time_series.series_path import PanelFolds
from pgmx.estimators.time_series.svarm.edge_tests import (
    EdgeTests,
    compare_functions,
    compare_means,
    divide_segments,
    gather_tests,
    tabulate_functions,
)
from pgmx.estimators.time_series.svarm.problem import (
    LOSSES,
    PENALTIES,
    AdditiveTerms,
    Objective,
    SVARMEstimate,
    SVARMProblem,
    Trials,
    list_targets,
)
from pgmx.estimators.time_series.svarm.resampler import ResampledSVARM
from pgmx.models import TimeSeriesGraph
from pgmx.models.time_series.forecasts import compute_log_densities
from pgmx.models.time_series.history import label_forecasts, label_targets, read_exogenous, read_series
from pgmx.runs.run import Run, StartTime
from pgmx.solvers.time_series.kernel_blocks import Kernel

CRITERIA = ("aic", "bic")

#: Criteria for the choice from a path within `SelectedGraph`.
SELECTIONS = (*CRITERIA, "cv")

#: Number of columns per series of each kernel, and of other kernels (about as many as of the Gaussian kernel).
KERNEL_RANKS, MOST_RANK = {"linear": 1, "poly2": 2}, 16

Learner = TypeVar("Learner", bound="SVARMLearner")  # for Self, jedi returns the base class


@dataclass(frozen=True, eq=False)
class SVARMPath(PenaltyPath):
    r"""Structural vector autoregressions along a path of penalties.

    Parameters
    ----------
    names : tuple
        Names of the N series.
    lams : ndarray of float64, shape (k,)
        Penalties, descending.
    lam_max : float
        Smallest penalty without edges.
    strengths : ndarray of float64, shape (k, L + 1, N, N)
        Strengths [lag, target, source] under each penalty.
    objectives, dual_gaps : ndarray of float64, shape (k,)
        Objectives, summed over the targets, and upper bounds on their distance from the optimum.
    aic, bic : ndarray of float64, shape (k,)
        :math:`T' \sum_j \ln(\|r_j\|^2 / T')` plus 2 or :math:`\ln T'` times the degrees of freedom; NaN unless a
        criterion was given.
    errors : ndarray of float64, shape (k,)
        Mean squared forecast errors after a rolling origin, of series of variance 1; NaN if not computed.
    selected : int
        Position of the penalty with the smallest criterion; the last penalty if no criterion was given.
    """

    names: tuple
    lams: np.ndarray
    lam_max: float
    strengths: np.ndarray
    objectives: np.ndarray
    dual_gaps: np.ndarray
    aic: np.ndarray
    bic: np.ndarray
    errors: np.ndarray
    selected: int

    def __len__(self) -> int:
        return len(self.lams)

    def __repr__(self) -> str:
        sizes = f", {self.n_edges.min()} to {self.n_edges.max()} edges" if len(self) else ""
        return f"{type(self).__name__}({len(self)} penalties{sizes}, selected {self.selected})"

    def _names(self) -> tuple:
        return self.names

    def _edges(self, k: int) -> np.ndarray:
        return np.argwhere(self.strengths[k])

    @property
    def ranking(self) -> np.ndarray:
        """Share of `lam_max` at which each edge [lag, target, source] enters, float64 (L + 1, N, N); 0 if never.

        ``pgmx.metrics.edge_curve(path.ranking, truth)`` is the receiver operating characteristic along the path.
        """
        shares = (self.lams / self.lam_max if self.lam_max else self.lams)[:, None, None, None]
        return np.max(np.where(self.strengths > 0, shares, 0.0), axis=0)

    def graph(self, k: int) -> nx.Graph:
        """Return the graph under the k-th penalty.

        Parameters
        ----------
        k : int
            Position in `lams`.

        Returns
        -------
        TimeSeriesGraph
            Edges with their strengths; instantaneous relations have no direction.
        """
        return TimeSeriesGraph.from_coefficients(
            self.names, None, strengths=self.strengths[k], undirected_instantaneous=True
        )


class SVARMLearner(ResampledSVARM, IterativeLearner, TimeSeriesLearner):
    """Base of the learners of structural vector autoregressions. A subclass implements `_list_kernels`."""

    _parameter_constraints = {
        **{
            name: constraint
            for name, constraint in TimeSeriesLearner._parameter_constraints.items()
            if name not in ("standardize", "fit_intercept")
        },
        "instantaneous": ["boolean"],
        "orient": [StrOptions({"nonlinear"}), None],
        "lam": [Interval(Real, 0, None, closed="neither"), None],
        "lam_ratio": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "solver": [StrOptions({"descent", "admm"})],
        "loss": [StrOptions(set(LOSSES))],
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "penalty": [StrOptions(set(PENALTIES))],
        **RUN_CONSTRAINTS,
    }

    instantaneous: bool
    orient: str | None
    lam: float | None
    lam_ratio: float
    tol: float
    max_iter: int
    solver: str
    loss: str
    epsilon: float
    penalty: str
    max_rank: int | None = None
    _selections = SELECTIONS

    strengths_: np.ndarray
    exogenous_coef_: np.ndarray
    means_: np.ndarray
    scales_: np.ndarray
    noise_variance_: np.ndarray
    path_: SVARMPath

    _terms: AdditiveTerms
    _exogenous_names: tuple

    @abstractmethod
    def _list_kernels(self) -> list[tuple[Kernel, str]]:
        """Return the kernels as functions, each with its name."""

    def _has_linear_kernels(self) -> bool:
        return True

    def _read_used(self, names: tuple) -> np.ndarray | None:
        """Return which kernels each series has, bool (K, N), None if all series have all."""
        return None

    def _make_objective(self) -> Objective:
        return Objective.from_options(self.loss, self.epsilon, self.penalty)

    # ---- learning ----

    def _estimate_solving(self, size: SeriesSize) -> int:
        ranks = [min(KERNEL_RANKS.get(name, MOST_RANK), size.n_rows) for _, name in self._list_kernels()]
        rank = sum(ranks if self.max_rank is None else [min(one, self.max_rank) for one in ranks])
        n_columns = size.n_series * (self.lags + self.instantaneous) * rank
        return estimate_additive(size, n_columns, has_gram=self.solver == "descent")

    def _fit(self, opened: Panel, sample_weight: ArrayLike | None) -> Run | None:
        self._refuse_weights(sample_weight)
        with self._open_run() as run, self._on_threads():
            problem = self._make_problem(opened)
            lam = self.lam_ratio * problem.lam_max if self.lam is None else self.lam
            (estimate,) = self._solve(problem, np.array([lam]), run)
            self._terms = problem.make_terms(estimate)
            residuals = problem.targets - self._terms.evaluate(problem.panel)
        self.lam_, self.lam_max_ = float(lam), problem.lam_max
        self.strengths_ = estimate.strengths
        self.objective_, self.dual_gap_ = estimate.objective, estimate.dual_gap
        self.n_iter_ = estimate.n_iter
        self._end_run(run, estimate.converged)
        self.noise_variance_ = (residuals**2).mean(axis=0) * self.scales_**2
        self.exogenous_coef_ = self._terms.exogenous * self.scales_[:, None]
        self.n_targets_ = problem.n_targets
        self._store_series(opened)
        self._set_names(opened.names)
        self._results = {}
        self._warn_unless_converged([estimate])
        return run

    def _make_problem(self, panel: Panel) -> SVARMProblem:
        """Return the problem of a panel, and store the units of the series."""
        if self.orient is not None and self._has_linear_kernels():
            raise ValueError(
                f"orient={self.orient!r} needs nonlinear kernels: with linear kernels both directions of an "
                "instantaneous relation fit equally well. Use orient=None for a skeleton"
            )
        self._has_trials = isinstance(panel, Trials)
        if self.orient is not None and not self.instantaneous:
            raise ValueError(f"orient={self.orient!r} needs instantaneous=True: there are no edges to direct")
        self.means_, self.scales_ = panel.means(), panel.scales()
        first, units = 0 if self.instantaneous else 1, (self.means_, self.scales_)
        if isinstance(panel, Trials):
            first, units = 0, (panel.columns.mean, panel.columns.scales())
        self._source_means, self._source_scales = units
        return SVARMProblem(
            self._standardise(panel),
            self.lags,
            self._list_kernels(),
            self._read_knowledge(panel.names, range(first, self.lags + 1)),
            instantaneous=self.instantaneous,
            max_rank=self.max_rank,
            objective=self._make_objective(),
            used=self._read_used(panel.names),
        )

    def _standardise(self, panel: Panel) -> Panel:
        """Return a panel in the units of the learner."""
        panel = panel.rescale(self._source_scales, self._source_means)
        if isinstance(panel, Trials):
            panel = replace(panel, responses=(panel.responses - self.means_) / self.scales_)
        return panel

    def _solve(self, problem: SVARMProblem, lams: np.ndarray, run: Run) -> list[SVARMEstimate]:
        options: dict[str, Any] = {"solver": self.solver, "tol": self.tol, "max_iter": self.max_iter}
        return list(problem.solve(lams, deadline=run.deadline, record=partial(_record, run), **options))

    def _warn_unless_converged(self, estimates: Sequence[SVARMEstimate]) -> None:
        worst = max(estimates, key=lambda estimate: estimate.dual_gap / max(estimate.objective, 1e-300))
        if all(estimate.converged for estimate in estimates):
            return
        warnings.warn(
            f"{type(self).__name__} stopped at a duality gap of {worst.dual_gap:.3g}, above tol={self.tol} times the "
            f"objective {worst.objective:.6g}: give a larger max_iter, max_time or tol",
            ConvergenceWarning,
            stacklevel=caller_level(),
        )

    def path(
        self,
        X: Any,
        *,
        lams: Sequence[float] | None = None,
        n_lams: int = 10,
        lam_min_ratio: float = 0.1,
        criterion: str | None = None,
    ) -> SVARMPath:
        """Return the strengths for a decreasing sequence of penalties, each started from the previous solution.

        The learner is not changed.

        Parameters
        ----------
        X : frame, array, path, or list or dict of them
            As for ``fit``.
        lams : sequence of float, optional
            Penalties, in any order. By default `n_lams` values in equal ratios from `lam_max` to `lam_min_ratio` of it.
        n_lams : int, default=10
            Number of penalties, used if `lams` is not given.
        lam_min_ratio : float, default=0.1
            The smallest penalty as a share of `lam_max`.
        criterion : {"aic", "bic"}, default=None
            Criterion for the selection. It needs the degrees of freedom, O(m³) time for m columns in use.

        Returns
        -------
        SVARMPath
            The largest penalty first.

        Raises
        ------
        ValueError, TypeError
            If the data, an option or a penalty is invalid.
        """
        self._validate()
        if criterion not in (None, *CRITERIA):
            raise ValueError(f"criterion must be 'aic', 'bic' or None, got {criterion!r}")
        return self._learn_path(self._open(X), lams, n_lams, lam_min_ratio, criterion)

    def _learn_path(
        self,
        panel: Panel,
        lams: Sequence[float] | None,
        n_lams: int,
        lam_min_ratio: float,
        criterion: str | None,
        n_folds: int = 0,
    ) -> SVARMPath:
        """Return the path of a panel; `n_folds` is for the criterion "cv"."""
        if not is_number(lam_min_ratio) or not 0 < lam_min_ratio < 1:
            raise ValueError(f"lam_min_ratio must be a number between 0 and 1, got {lam_min_ratio!r}")
        n_lams = check_natural(n_lams, "n_lams", 1)
        if criterion == "cv" and isinstance(panel, Trials):
            raise ValueError("selection='cv' is for series, whose origins roll: use 'aic' or 'bic' for responses")
        if criterion in CRITERIA and self.loss != "squared":
            raise ValueError(
                f"criterion={criterion!r} needs loss='squared', got loss={self.loss!r}: use selection='cv'"
            )
        with self._open_run() as run, self._on_threads():
            learner = clone_learner(self)
            problem = learner._make_problem(panel)
            largest = problem.lam_max
            if lams is None:
                penalties = space_penalties(largest, lam_min_ratio * largest, n_lams)
            else:
                penalties = np.sort(as_reals(lams, "lams").astype(np.float64).ravel())[::-1]
                if not len(penalties) or not (np.isfinite(penalties) & (penalties > 0)).all():
                    raise ValueError(f"lams must be one or more finite numbers above 0, got {lams!r}")
            estimates = self._solve(problem, np.ascontiguousarray(penalties), run)
            criteria = np.full((len(estimates), 3), np.nan)
            if criterion == "cv":
                criteria[:, 2] = self._compute_errors(panel, penalties, n_folds, run)
            elif criterion is not None:
                criteria[:, :2] = [problem.compute_criteria(estimate) for estimate in estimates]
                # in the user's units, so that orders with other rows and scales can be compared
                criteria[:, :2] += 2.0 * problem.n_targets * np.log(learner.scales_).sum()
        run.raise_error()
        self._warn_unless_converged(estimates)
        chosen = criteria[:, SELECTIONS.index(criterion)] if criterion else np.arange(len(estimates), 0, -1.0)
        return SVARMPath(
            names=tuple(panel.names),
            lams=penalties,
            lam_max=largest,
            strengths=np.stack([estimate.strengths for estimate in estimates]),
            objectives=np.array([estimate.objective for estimate in estimates]),
            dual_gaps=np.array([estimate.dual_gap for estimate in estimates]),
            aic=criteria[:, 0],
            bic=criteria[:, 1],
            errors=criteria[:, 2],
            selected=find_smallest(chosen),
        )

    def select(
        self: Learner,
        X: Any,
        *,
        criterion: str = "bic",
        lags: Sequence[int] | None = None,
        n_lams: int = 10,
        lam_min_ratio: float = 0.1,
    ) -> Learner:
        r"""Return a learner fitted with the penalty and the order that a criterion chooses.

        .. math:: T' \sum_j \ln(\|r_j\|^2 / T') + c \sum_j \mathrm{df}_j, \qquad c = 2 \text{ or } \ln T'

        with the residuals r of the T' targets of the largest order, and the degrees of freedom df of the group lasso.
        The learner itself is not changed. `SelectedGraph` does the same.

        Parameters
        ----------
        X : frame, array, path, or list or dict of them
            As for ``fit``.
        criterion : {"bic", "aic"}, default="bic"
            The criterion that is minimised.
        lags : sequence of int, optional
            Orders to compare; by default the order of the learner.
        n_lams : int, default=10
            Number of penalties of the path of each order, in equal ratios from `lam_max` down.
        lam_min_ratio : float, default=0.1
            The smallest penalty as a share of `lam_max`.

        Returns
        -------
        learner
            Of the same class, fitted, with the chosen `lags` and `lam`, and the attribute `path_` of its order.

        Raises
        ------
        ValueError, TypeError
            If the data or an option is invalid.

        References
        ----------
        .. [1] Vaiter, S., Deledalle, C., Peyré, G., Fadili, J. and Dossal, C. (2012). The degrees of freedom of the
           group lasso. ICML workshop on sparsity, dictionaries and projections.
        """
        self._validate()
        if criterion not in CRITERIA:
            raise ValueError(f"criterion must be 'aic' or 'bic', got {criterion!r}")
        orders = self._read_orders(lags)
        panel = clone_learner(self).set_params(lags=orders[-1])._open(X)
        return self._select(panel, criterion, orders, n_lams, lam_min_ratio)

    def _compute_errors(self, panel: Panel, lams: np.ndarray, n_folds: int, run: Run) -> np.ndarray:
        """Return the mean squared error of each penalty on the fold after each origin, learned from all rows before.

        Series are in units of the whole panel. Penalties refer to sums over rows, so they are scaled by the number of
        rows.
        """
        divided, scales = PanelFolds.divide(panel, self.lags, n_folds + 1), panel.scales()
        n_targets, total, count = panel.count_targets(self.lags), np.zeros(len(lams)), 0
        for k in range(n_folds):
            learner, before = clone_learner(self), divided.take(0, k + 1)
            constant = [panel.names[v] for v in before.columns.find_constants()]
            if constant:
                raise ValueError(f"constant series {join_names(constant)} before origin {k + 1}: give fewer folds")
            problem = learner._make_problem(before)
            after = divided.take(k + 1, k + 2).rescale(learner.scales_, learner.means_)
            targets = np.concatenate([segment[self.lags :] for segment in after.segments])
            # the loss is a sum over rows, so that a penalty for fewer rows is smaller
            share = before.count_targets(self.lags) / n_targets
            for place, estimate in enumerate(self._solve(problem, share * lams, run)):
                errors = (targets - problem.make_terms(estimate).evaluate(after)) * (learner.scales_ / scales)
                total[place] += float((errors**2).sum())
            count += targets.size
        return total / count

    def _select(
        self: Learner,
        panel: Panel,
        criterion: str,
        orders: list[int],
        n_lams: int,
        lam_min_ratio: float,
        n_folds: int = 0,
    ) -> Learner:
        """Return the fitted learner of the best order, for a panel that was opened for the largest order."""
        choices, began = [], StartTime.now().wall
        if len(orders) > 1 and isinstance(panel, Trials):
            raise ValueError("lags=... is for series: responses to inputs have no lags")

        def limit(learner: Learner, n_left: int) -> Learner:
            """Set a learner's time limit to its share of the remaining time, which includes the final fit."""
            if self.max_time is None:
                return learner
            return learner.set_params(max_time=max(0.0, self.max_time - (StartTime.now().wall - began)) / n_left)

        for place, order in enumerate(orders):
            # all orders explain the same rows
            learner = limit(clone_learner(self).set_params(lags=order), len(orders) + 1 - place)
            path = learner._learn_path(panel.crop(orders[-1] - order), None, n_lams, lam_min_ratio, criterion, n_folds)
            values = path.errors if criterion == "cv" else getattr(path, criterion)
            choices.append((float(values[path.selected]), learner, path))
        _, learner, path = min(choices, key=lambda choice: choice[0])
        limit(learner.set_params(lam=float(path.lams[path.selected])), 1)
        learn_or_raise(learner, panel.crop(orders[-1] - learner.lags))  # the rows on which the penalty was chosen
        # the user's limit again, in place of the shares
        learner.set_params(max_time=self.max_time)
        learner.path_ = path
        return learner

    def test_edges(self, X: Any, *, n_segments: int | None = 20) -> EdgeTests:
        """Test each edge by t-tests over the estimates of segments.

        The learner is not changed. For linear functions the p-values are those of two-sided t-tests that the mean
        coefficient is zero. Nonlinear functions are compared across segments: every other segment chooses the
        direction of a function, the others are projected on it, and the means of the projections are tested.

        Parameters
        ----------
        X : frame, array, path, or list or dict of them
            As for ``fit``.
        n_segments : int or None, default=20
            Number S of segments of successive rows, at least 4. None takes each table of a list or dict as a segment.

        Returns
        -------
        EdgeTests
            p-values of the edges, and the edges at a level or a rate of false discoveries.

        Raises
        ------
        ValueError, TypeError
            If the data or an option is invalid, or the segments are too few or too short.

        Notes
        -----
        The estimates of segments are nearly independent if the segments are long compared with the memory of the
        series. The lasso shrinks most estimates to zero, which makes tests conservative; ``penalty="ridge"`` gives more
        power. Cost: S fits of T / S rows.

        References
        ----------
        .. [1] Shen, Y. (2019). Online, nonlinear and tensor-based learning over networks. Thesis, University of
           Minnesota, section 5.6.2: t-tests over 20 segments with a level of .1.
        """
        self._validate()
        panel = self._open(X)
        parts = divide_segments(panel, self.lags, n_segments)
        values, strengths = [], []
        scales = panel.scales()
        for number, part in enumerate(parts):
            learner = clone_silent(self)
            constant = [panel.names[v] for v in part.columns.find_constants()]
            if constant or not part.scales().all():
                raise ValueError(f"constant series {join_names(constant)} in segment {number}: give longer segments")
            learn_or_raise(learner, part)
            values.append(tabulate_functions(learner, panel, scales))
            strengths.append(learner.strengths_)
        compare = compare_means if self._has_linear_kernels() else compare_functions
        functions = np.array(values)
        p_values = compare(functions[..., 0] if self._has_linear_kernels() else functions)
        allowed, is_skeleton = learner._list_allowed(panel), learner._is_skeleton()
        return gather_tests(panel.names, p_values, np.array(strengths), allowed, is_skeleton=is_skeleton)

    def _list_allowed(self, panel: Panel) -> np.ndarray:
        """Return the allowed edges [lag, target, source]."""
        n = panel.n_series
        allowed = np.ones((self.lags + 1, n, n), dtype=bool)
        allowed[0] = ~np.eye(n, dtype=bool) & (self.instantaneous or self._has_trials)
        allowed[1:] &= not self._has_trials
        first = 0 if self.instantaneous or self._has_trials else 1
        forbidden = self._read_knowledge(panel.names, range(first, self.lags + 1)).forbidden
        allowed[tuple(forbidden.T)] = False
        return allowed

    def _is_skeleton(self) -> bool:
        """Return whether relations at lag 0 are undirected."""
        return self.instantaneous and self.orient is None and not self._has_trials

    # ---- results ----

    def _make_graph(self) -> TimeSeriesGraph:
        strengths = np.where(self._find_edges(self.strengths_), self.strengths_, 0.0)
        coef, is_skeleton = getattr(self, "coef_", None), self._is_skeleton()
        options: dict[str, Any] = {"strengths": strengths, "undirected_instantaneous": is_skeleton}
        return TimeSeriesGraph.from_coefficients(self.variables_, coef, **options)

    def _find_edges(self, strengths: np.ndarray) -> np.ndarray:
        """Return the edges [lag, target, source] of the graph; at lag 0 both directions or, if oriented, one."""
        edges, present = strengths > 0, strengths[0]
        if self._has_trials:
            return edges
        # without orientation an instantaneous edge is undirected; with it the stronger direction is kept
        edges[0] = edges[0] | edges[0].T if self.orient is None else present > present.T
        return edges

    def _open_panel(self, X: Any) -> Panel:
        if not (hasattr(X, "inputs") and hasattr(X, "responses")):
            return super()._open_panel(X)
        options = {**self._list_series_options(), "lags": 0, "missing": "error"}
        panels = [open_series(table, **options) for table in (X.inputs, X.responses)]
        check_same_names(panels[0].names, panels[1].names, "the inputs", "the responses", "series")
        if any(len(panel.segments) > 1 or panel.exogenous_names for panel in panels):
            raise ValueError("inputs and responses must be one table each, without exogenous or seasonal columns")
        if len({panel.n_rows for panel in panels}) > 1:
            raise ValueError(f"there are {panels[0].n_rows} rows of inputs, but {panels[1].n_rows} rows of responses")
        return Trials.pair(*panels)

    def _read_panel(self, X: Any) -> Panel:
        """Return other rows of the same series in standardised units."""
        check_is_fitted(self)
        if self._has_trials != (hasattr(X, "inputs") and hasattr(X, "responses")):
            needed = "inputs and responses" if self._has_trials else "series"
            raise ValueError(f"{type(self).__name__} has learned from {needed}: give the same kind of rows")
        if not self._has_trials:
            return self._standardise(self._read_same_series(X))
        panel = self._open_panel(X)
        check_same_names(self.variables_, panel.names, "the learner", "X", "series")
        if panel.names != tuple(self.variables_):
            raise ValueError("the columns of the inputs must have the order of the training rows")
        return self._standardise(panel)

    def fitted_values(self, X: Any) -> Any:
        """Return the fitted values of rows L to T - 1, given the past and, if instantaneous, the others' present.

        Parameters
        ----------
        X : frame, array, path, or list or dict of them
            Rows of the training series, as for ``fit``.

        Returns
        -------
        ndarray or pandas.DataFrame of shape (n_targets, n_series)
            Fitted values in the user's units; the series of a panel are concatenated. For a pandas frame without gaps a
            frame with the labels of the rows.

        Raises
        ------
        ValueError, TypeError
            If the series are not the training series, or have fewer than `lags` + 2 rows.
        """
        panel = self._read_panel(X)
        values = self._terms.evaluate(panel) * self.scales_ + self.means_
        names = tuple(self.variables_)
        is_plain = self.time_column is not None or self._has_trials
        return values if is_plain else label_targets(values, names, X, self.lags)

    def score(self, X: Any, y: object = None) -> float:
        """Return the mean Gaussian log-likelihood of a row given its past, in nats.

        With ``instantaneous=True`` the present of the other series is also given (a pseudo-likelihood).

        Parameters
        ----------
        X : frame, array, path, or list or dict of them
            Rows of the training series, as for ``fit``.
        y : None
            Ignored; scikit-learn's convention.

        Returns
        -------
        float
            Sum over the series, mean over rows L to T - 1.
        """
        panel = self._read_panel(X)
        residuals = (list_targets(panel, self.lags) - self._terms.evaluate(panel)) * self.scales_
        return float(compute_log_densities(residuals, self.noise_variance_).mean())

    def predict(self, history: Any, steps: int = 1, *, exogenous: Any = None) -> Any:
        """Return forecasts of the next rows, step by step; only for ``instantaneous=False``.

        Parameters
        ----------
        history : array_like or frame of shape (n_rows, n_series)
            The last rows, oldest first, at least `lags` of them; a single row is allowed for one lag. With
            `seasonal_period`, rows without times (an array, a default index) are assumed to end with the last training
            row.
        steps : int, default=1
            Number of rows to forecast, at least 1.
        exogenous : array_like or frame of shape (steps, n_exogenous), optional
            Exogenous columns of the forecast times, if the learner has such columns.

        Returns
        -------
        ndarray or pandas.DataFrame of shape (steps, n_series)
            The forecasts; a frame for a frame, with an index that continues a regular index of the history. With
            nonlinear functions, forecasts over more than one step are not conditional means, since noise is ignored.

        Raises
        ------
        ValueError, TypeError
            If the learner has instantaneous edges, a series or a value is missing, or there are too few rows.
        """
        check_is_fitted(self)
        if self._has_trials:
            raise ValueError("predict is for series: use fitted_values for the responses to inputs")
        if self.instantaneous:
            raise ValueError(
                "predict needs instantaneous=False: with instantaneous edges a forecast would need the present of "
                "the other series. Use fitted_values(X) for rows whose present is observed"
            )
        history, steps, exogenous = self._read_history(history, steps, exogenous)
        steps = check_natural(steps, "steps", 1)
        rows = read_series(history, tuple(self.variables_), self.lags, "history")
        inputs = read_exogenous(exogenous, self._exogenous_names, steps)
        # only the last rows matter, in the units of the functions
        values = (rows.values[len(rows.values) - self.lags :] - self.means_) / self.scales_
        inputs = np.zeros((steps, 0)) if inputs is None else inputs
        # exogenous columns act without a lag: their earlier rows are not used
        inputs = np.vstack([np.zeros((self.lags, inputs.shape[1])), inputs])
        for step in range(steps):
            # the last row is the one to forecast: its values are not used, since there are no instantaneous terms
            window = np.vstack([values[step:], np.zeros((1, values.shape[1]))])
            values = np.vstack([values, self._terms.evaluate_segment(window, inputs[step : step + self.lags + 1])])
        result = values[self.lags :] * self.scales_ + self.means_
        return continue_labels(label_forecasts(result, tuple(self.variables_), rows.labels), history, self._index)


def _record(run: Run, objective: float, n_edges: int) -> bool:
    return run.record(objective=objective, n_edges=n_edges)
