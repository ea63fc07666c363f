"""The penalty of a model of time series, chosen from a path by EBIC or by forecast errors after a rolling origin."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from math import log, nan
from operator import add
from typing import Any, Self

import networkx as nx
import numpy as np
from scipy.sparse import csr_array

from pgmx.data.series import Panel
from pgmx.estimators.base import clone_learner
from pgmx.estimators.paths import PenaltyPath, find_smallest, is_past_best
from pgmx.estimators.time_series.problem import LDSProblem, LDSSolution
from pgmx.models import TimeSeriesGraph
from pgmx.runs.run import Run
from pgmx.solvers.time_series.least_squares import sum_squares
from pgmx.statistics.lagged_moments import LaggedMoments, compute_lagged_moments


@dataclass(frozen=True, eq=False, repr=False)
class SeriesPath(PenaltyPath):
    """Models along a path of descending penalties, edges (m, 3) as lag, target, source.

    `criterion` has the EBIC per penalty, or for linear dynamical systems the mean squared error of forecasts by one row
    in units of the solver, for structural equations minus the log-likelihood per row of held-out windows.
    """

    names: tuple
    lags: int
    lam_max: float
    lams: np.ndarray
    edges: tuple[np.ndarray, ...]
    criterion: np.ndarray
    selected: int
    stopped_early: bool = False

    def __len__(self) -> int:
        return len(self.lams)

    def _names(self) -> tuple:
        return self.names

    def _edges(self, k: int) -> np.ndarray:
        return self.edges[k]

    def graph(self, k: int) -> nx.Graph:
        """Return the graph over (name, lag) under the k-th penalty, without weights."""
        graph = TimeSeriesGraph()
        graph.add_nodes_from((name, lag) for lag in range(self.lags + 1) for name in self.names)
        graph.add_edges_from(
            ((self.names[source], lag), (self.names[target], 0)) for lag, target, source in self.edges[k].tolist()
        )
        return graph


class PathSolver(ABC):
    """Solver for one penalty after another, until the best value of the criterion is passed."""

    lam_max: float
    units: np.ndarray | None = None  # of the series in which the criterion is computed

    def __init__(self, names: tuple, lags: int, early_stopping: bool):
        self._names, self._order, self._early_stopping = names, lags, early_stopping
        self._edges: list[np.ndarray] = []
        self._criterion: list[float] = []
        self._lams: list[float] = []
        self._longest = 0.0  # seconds per solution

    @abstractmethod
    def _evaluate(self, lam: float, run: Run) -> tuple[np.ndarray, Callable[[], float]] | None:
        """Return the edges (m, 3) under a penalty, and how to compute its criterion; None if the run is over."""

    def prepare(self, learner: Any) -> None:  # noqa: B027 (most learners need nothing)
        """Give the learner of the chosen penalty what it needs in addition."""

    def extend(self, lams: np.ndarray, run: Run) -> SeriesPath:
        """Return the path with further penalties, smaller than those before."""
        n_penalties = len(self._lams) + len(lams)
        run.estimate_left = lambda: n_penalties - len(self._lams)
        stopped_early = False
        for lam in lams.tolist():
            stopped_early = self._early_stopping and self._is_past_best()
            if stopped_early or (self._lams and self._is_over(run)):
                break
            began = run.seconds
            found = self._evaluate(lam, run)
            if found is None:
                break
            # the final fit with the chosen penalty takes about as long as a solution of the path
            self._longest = max(self._longest, run.seconds - began)
            edges, compute = found
            self._lams.append(lam)
            self._edges.append(edges)
            self._criterion.append(compute())
            run.record(objective=self._criterion[-1], n_edges=len(edges))
        criterion = np.array(self._criterion)
        return SeriesPath(
            self._names, self._order, self.lam_max, np.array(self._lams), tuple(self._edges), criterion,
            find_smallest(criterion), stopped_early,
        )  # fmt: skip

    def _is_past_best(self) -> bool:
        return bool(self._lams) and is_past_best(np.array(self._criterion), [len(edges) for edges in self._edges])

    def _is_over(self, run: Run) -> bool:
        """Return whether the run should end, so that time remains to learn with the chosen penalty."""
        if run.seconds + self._longest > run.limit:
            run.end("max_time")
        return run.is_over()


class SeriesPathSolver(PathSolver):
    """Solver of linear dynamical systems, with comparison by `selection`, "ebic" or "cv", until the best is passed.

    Criteria are in `units` of the series, by default the units of the solver.
    """

    def __init__(
        self,
        learner: Any,
        panel: Panel,
        selection: str,
        gamma: float,
        n_folds: int,
        early_stopping: bool,
        units: np.ndarray | None = None,
    ):
        name = type(learner).__name__
        if "lam" not in learner.get_params():
            raise ValueError(f"{name} has no penalty to choose: use SparsityInducingLDS")
        if not learner._reads_chunks():
            raise ValueError(f"SelectedGraph needs {name} with solver='lasso' and screen=None")
        self._learner, self._gamma, self._selection = learner, gamma, selection
        self._problem: LDSProblem = learner._make_problem(panel)
        super().__init__(self._problem.names, self._problem.lags, early_stopping)
        # computed once here: each penalty uses them
        _ = self._problem.moments
        # several orders have the same units, so that their criteria can be compared
        self.units = self._problem.scales if units is None else units
        self._ratios = (self._problem.scales / self.units) ** 2
        self._folds = _make_folds(self._problem, n_folds) if selection == "cv" else []
        self.lam_max = self._find_largest()

    def _find_largest(self) -> float:
        # a solution at the largest penalty, which has no edges, only to find this penalty
        learner: Any = clone_learner(self._learner).set_params(lam=None, lam_ratio=1.0)
        learner._solve(self._problem)
        return learner.lam_max_

    def _evaluate(self, lam: float, run: Run) -> tuple[np.ndarray, Callable[[], float]] | None:
        solution = self._solve(self._problem, lam, self._selection == "ebic")
        if self._lams and run.is_over():  # the last solution may be incomplete
            return None
        edges = list_edges(solution)

        def compute() -> float:
            value = self._compute_ebic(solution, len(edges)) if not self._folds else self._compute_error(lam)
            return nan if self._folds and run.is_over() else value

        return edges, compute

    def _solve(self, problem: LDSProblem, lam: float, refit: bool) -> LDSSolution:
        options = {"lam": lam, "refit": True} if refit else {"lam": lam}
        return clone_learner(self._learner).set_params(**options)._solve(problem)

    def _compute_ebic(self, solution: LDSSolution, n_edges: int) -> float:
        """Return T' sum ln(RSS / T') + |E| ln T' + 2 γ |E| ln P, with least squares given the edges."""
        count, squares = self._problem.n_targets, solution.residual_gram
        squares = squares if squares.ndim == 1 else squares.diagonal()
        # 1e-300 for series that are predicted exactly
        fit = count * float(np.log(np.maximum(squares / count, 1e-300) * self._ratios).sum())
        return fit + n_edges * (log(count) + 2 * self._gamma * log(self._problem.n_lagged))

    def _compute_error(self, lam: float) -> float:
        total, count = 0.0, 0
        for before, after in self._folds:
            solution = self._solve(replace(self._problem, panel=None, summed=before), lam, False)
            stacked = _stack_coefficients(solution, self._problem.has_intercept)
            squares = sum_squares(after.gram, after.cross, after.target_gram, stacked)
            total += float((squares.diagonal() * self._ratios).sum())
            count += after.n_targets * len(squares)
        return total / count


def solve_series_path(
    choice: PathSolver,
    lams: np.ndarray,
    run: Run,
    extend: Callable[[np.ndarray], np.ndarray],
    most: int,
    least: float,
) -> SeriesPath:
    """Return a path, extended up to `most` times while its last graph is chosen; no penalty is below `least`."""
    path = choice.extend(lams, run)
    for _ in range(most):
        if not path.ends_in_chosen_graph or run.is_over():
            break
        longer = extend(path.lams)
        more = longer[longer >= least][len(path) :]
        if not len(more):
            break
        path = choice.extend(more, run)
    return path


def list_edges(solution: LDSSolution) -> np.ndarray:
    """Return the edges, int64 (m, 3): lag, target, source."""
    parts = []
    for lag, matrix in enumerate(solution.coefficients, start=1):
        targets, sources = csr_array(matrix).nonzero()
        parts.append(np.column_stack([np.full(len(targets), lag), targets, sources]))
    return np.concatenate(parts).astype(np.int64)


def _stack_coefficients(solution: LDSSolution, has_intercept: bool) -> np.ndarray:
    """Return all coefficients (P, N) as one dense array, predictors in rows, the constant last."""
    parts = [csr_array(matrix).toarray().T for matrix in solution.coefficients]
    return np.vstack([*parts, solution.exogenous.T, *([solution.intercept[None]] if has_intercept else [])])


# ---- folds of rows after a rolling origin ----


@dataclass(frozen=True, eq=False)
class PanelFolds:
    """A panel whose targets are divided: fold p holds the targets `cuts` [s, p] to `cuts` [s, p + 1] of segment s."""

    panel: Panel
    lags: int
    cuts: np.ndarray

    @classmethod
    def divide(cls, panel: Panel, lags: int, n_parts: int) -> Self:
        """Cut each segment into `n_parts` folds; segments with fewer targets (such as pairs) stay whole, in order.

        ValueError if a fold would have no target.
        """
        sizes = np.array([max(len(segment) - lags, 0) for segment in panel.segments])
        lengths = -(-sizes // n_parts)
        cuts = np.minimum(np.arange(n_parts + 1) * lengths[:, None], sizes[:, None])
        # panels of many short segments are divided between segments, not within them
        short = np.flatnonzero((sizes > 0) & (sizes < n_parts))
        parts = np.arange(len(short)) * n_parts // max(len(short), 1)
        cuts[short] = np.where(np.arange(n_parts + 1) > parts[:, None], sizes[short, None], 0)
        if (np.diff(cuts, axis=1).sum(axis=0) == 0).any():
            raise ValueError(
                f"n_folds={n_parts - 1} needs a series with at least {n_parts} predicted rows, or {n_parts} series: "
                "give fewer folds"
            )
        return cls(panel, lags, cuts)

    def take(self, first: int, stop: int) -> Panel:
        """Return the targets of the folds `first` to `stop` - 1, each with the rows of its lags."""
        pairs = [
            (rows[cuts[first] : cuts[stop] + self.lags], exogenous[cuts[first] : cuts[stop] + self.lags])
            for rows, exogenous, cuts in zip(self.panel.segments, self.panel.exogenous, self.cuts, strict=True)
            if cuts[stop] > cuts[first]
        ]
        segments, exogenous = zip(*pairs, strict=True)
        return replace(self.panel, segments=segments, exogenous=exogenous)


def _make_folds(problem: LDSProblem, n_folds: int) -> list[tuple[LaggedMoments, LaggedMoments]]:
    """Return, per fold, the moments of all rows before an origin and of the rows up to the next origin."""
    assert problem.panel is not None
    divided = PanelFolds.divide(problem.panel, problem.lags, n_folds + 1)
    parts = [
        compute_lagged_moments(divided.take(k, k + 1), problem.lags, intercept=problem.has_intercept)
        for k in range(n_folds + 1)
    ]
    # moments are sums over rows: those of the first folds together are the sum of the folds
    return [(reduce(add, parts[: k + 1]), parts[k + 1]) for k in range(n_folds)]
