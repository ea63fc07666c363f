"""The graphical lasso: penalised Gaussian maximum likelihood."""

import warnings
from collections.abc import Callable
from contextlib import closing
from math import inf, isqrt
from numbers import Integral
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pgmx.checks import caller_level
from pgmx.estimators.base import Interval
from pgmx.estimators.gaussian.cost import GaussianSize
from pgmx.estimators.gaussian.estimate import GaussianEstimate, drop_rounding, list_edges
from pgmx.estimators.gaussian.learner import GaussianLearner
from pgmx.estimators.gaussian.snapshots import (
    ESTIMATE_FIGURES,
    pack_estimates,
    pack_state,
    read_estimates,
    restore_state,
)
from pgmx.parallel.threads import read_free_memory
from pgmx.runs.progress import SolverProgress
from pgmx.runs.run import Run, Store
from pgmx.solvers.gaussian.graphical_lasso import GraphicalLassoPath, GraphicalLassoSolution
from pgmx.statistics import GaussianSample
from pgmx.statistics.gaussian.correlations import FactoredCorrelations

#: Bytes per pair of variables of a component, at most: its correlations, W, two copies, and the certificate.
_BYTES_PER_PAIR = 5 * 8
#: Bytes that are assumed if the system does not report its free memory.
_UNKNOWN_MEMORY = 1 << 32


class GraphicalLasso(GaussianLearner):
    r"""Gaussian graphical model by penalised maximum likelihood.

    .. math::

        \min_{\Theta \succ 0} \; -\ln|\Theta| + tr(R\,\Theta) + \lambda \sum_{i \ne j} |\Theta_{ij}|

    with R the correlations of the data. The graph does not depend on the units of the data. The solution is converted
    to these units by :math:`\Theta_{ij} / (s_i s_j)`, with the standard deviations s.

    Parameters
    ----------
    data : DataFrame, array, path or covariance, optional
        What ``estimate()`` learns from; ``fit(X)`` needs none.
    penalize_diagonal : bool, default=False
        Whether the diagonal is also penalised.
    max_block : int, default=None
        Maximum number m of variables in a component of the graph :math:`|R_{ij}| > \lambda`, which takes 40 m² bytes.
        None sets it from the free memory. See the notes.
    lam : float, default=None
        Penalty λ on the correlation scale. None means `lam_ratio` times `lam_max_`. `SelectedGraph` chooses λ from the
        data.
    lam_ratio : float, default=0.3
        Penalty as a share of the smallest λ without edges, used if `lam` is None.
    refit : bool, default=False
        Whether the parameters of `model_` are estimated by maximum likelihood given the learned graph, without
        shrinkage.
    tol : float, default=1e-6
        Largest duality gap relative to the objective, max(1, \|objective\|).
    max_iter : int, default=200
        Maximum number of sweeps over all columns.
    max_time : float, default=None
        Time limit in seconds. The current estimate is returned then.
    checkpoint : path-like, default=None
        File with the work that is done so far. The same call of ``fit`` or ``path`` resumes from it, with the same
        result. It is deleted at the end.
    checkpoint_every : float, default=60.0
        Seconds between two snapshots. 0 writes one after each penalty (GraphicalLasso) or block of columns (other
        learners).
    covariance : {"empirical", "precomputed"}, default="empirical"
        Whether ``fit`` expects rows, or a covariance or correlation matrix as a frame or array of shape (p, p). An
        indefinite matrix is replaced by the nearest correlation matrix, with a warning; see `repaired_`.
    n_samples : float, default=None
        Number of rows from which the ``"precomputed"`` covariance was estimated. EBIC and the ridge of CLIME need it.
    missing : {"error", "drop", "pairwise"}, default="error"
        How to treat missing values: raise an error, drop rows with a missing value, or compute each covariance from the
        rows in which both variables are observed.
    na_values : scalar, str, list-like or dict, default=None
        Additional markers of missing values in a CSV file, such as "?", per column if a dict, as in
        ``pandas.read_csv``. Any value, even an empty list, switches off the warning about possible markers.
    show_progress : bool, default=True
        Whether runs of more than one second show a progress bar. ``pgmpy.config.SHOW_PROGRESS`` can switch it off too.
    callback : callable, default=None
        Function called with (n_iter, objective, n_edges, seconds) after each sweep or block of columns. The run ends if
        it returns True.
    n_jobs : int, default=None
        Number of workers, as in joblib. The result does not depend on it.

    Attributes
    ----------
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
    ConvergenceWarning
        If `max_iter`, `max_time` or the callback ended the run. The result is still feasible and positive definite.

    Notes
    -----
    Block coordinate ascent on the dual: each step solves an exact lasso for one column of the covariance W. Every step
    keeps W positive definite within :math:`|W - R| \le \lambda` and raises its determinant. Therefore the oscillation
    of [3]_ cannot occur, and :math:`\ln|W| + p` is a lower bound of the objective. Components of :math:`|R_{ij}| >
    \lambda` are solved separately, which is exact [2]_. If a component exceeds `max_block`, a fit raises an error with
    the smallest feasible λ. A path (also of `SelectedGraph`) ends before this penalty with a warning. Cost: about k p
    multiplications for a column with k neighbours in each of 5 to 10 sweeps, and two Cholesky factors per duality gap.
    Memory in addition to R: two matrices of the size of a component, or four if the precision is dense. If there are
    more than 8,192 columns and fewer rows than columns, R is never formed. The standardised rows are kept instead, and
    the components are found in tiles of their product.

    References
    ----------
    .. [1] Friedman, J., Hastie, T. and Tibshirani, R. (2008). Sparse inverse covariance estimation with the graphical
       lasso. Biostatistics 9, 432-441.
    .. [2] Witten, D., Friedman, J. and Simon, N. (2011). New insights and faster computations for the graphical lasso.
       Journal of Computational and Graphical Statistics 20, 892-900.
    .. [3] Mazumder, R. and Hastie, T. (2012). The graphical lasso: new insights and alternatives. Electronic Journal of
       Statistics 6, 2125-2149.

    Examples
    --------
    >>> from pgmx.datasets import gaussian_chain_network
    >>> rows = gaussian_chain_network(5, 0.6).simulate(500, random_state=1)
    >>> learner = GraphicalLasso(lam=0.35).fit(rows)
    >>> sorted(learner.graph_.edges())
    [('x0', 'x1'), ('x1', 'x2'), ('x2', 'x3'), ('x3', 'x4')]
    >>> 0 <= learner.dual_gap_ < 1e-5, learner.converged_
    (True, True)
    """

    _parameter_constraints = {
        **GaussianLearner._parameter_constraints,
        "penalize_diagonal": ["boolean"],
        "max_block": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        data: Any = None,
        *,
        penalize_diagonal: bool = False,
        max_block: int | None = None,
        lam: float | None = None,
        lam_ratio: float = 0.3,
        refit: bool = False,
        tol: float = 1e-6,
        max_iter: int = 200,
        max_time: float | None = None,
        checkpoint: str | Path | None = None,
        checkpoint_every: float = 60.0,
        covariance: Literal["empirical", "precomputed"] = "empirical",
        n_samples: float | None = None,
        missing: Literal["error", "drop", "pairwise"] = "error",
        na_values: Any = None,
        show_progress: bool = True,
        callback: Callable[[SolverProgress], bool | None] | None = None,
        n_jobs: int | None = None,
    ):
        self.data = data
        self.lam = lam
        self.lam_ratio = lam_ratio
        self.refit = refit
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.covariance = covariance
        self.n_samples = n_samples
        self.missing = missing
        self.na_values = na_values
        self.show_progress = show_progress
        self.callback = callback
        self.n_jobs = n_jobs
        self.penalize_diagonal = penalize_diagonal
        self.max_block = max_block

    _solves_in_turn = True

    def _estimate_solving(self, size: GaussianSize) -> int:
        largest = size.n_columns
        if size.is_wide:
            room = isqrt(read_free_memory(_UNKNOWN_MEMORY) // _BYTES_PER_PAIR)
            largest = min(largest, room if self.max_block is None else self.max_block)
        return (_BYTES_PER_PAIR if size.is_wide else _BYTES_PER_PAIR - 8) * largest**2

    def _largest_penalty(self, sample: GaussianSample, lam: float = inf, share: float = 0.0) -> float:
        sample.correlations.scan(lam, share)
        return sample.correlations.largest

    def _limit_penalties(self, sample: GaussianSample, lams: np.ndarray) -> np.ndarray:
        """Remove the penalties for which a component is too large."""
        correlations = sample.correlations
        if self.max_block is not None:
            most, rule = self.max_block, f"max_block={self.max_block}"
        # only wide data can have components that do not fit: other data have their whole matrix in memory already
        elif isinstance(correlations, FactoredCorrelations):
            most = isqrt(read_free_memory(_UNKNOWN_MEMORY) // _BYTES_PER_PAIR)
            rule = f"the {most:,} that free memory has room for (max_block sets another limit)"
        else:
            return lams
        sizes = np.bincount(correlations.find_components(float(lams[-1])))
        if sizes.max() <= most:
            return lams
        # components grow as the penalty falls: all penalties from `least` on have small ones
        least = correlations.find_least_penalty(most, float(lams[-1]))
        allowed = lams[lams >= least]
        lam = float(lams[len(allowed)])
        size = int(np.bincount(correlations.find_components(lam)).max())
        where = f"under lam={lam:.4g} a component of the correlations above it has {size:,} of {sample.n_columns:,}"
        bytes_needed = f"a component of m variables takes {_BYTES_PER_PAIR} m² bytes"
        remedy = f"take penalties of {least:.4g} or more, or a larger max_block ({bytes_needed})"
        if not len(allowed):
            raise ValueError(f"{where} variables, more than {rule}: {remedy}")
        warnings.warn(
            f"{len(allowed)} of {len(lams)} penalties are solved: {where} variables, more than {rule}; {remedy}",
            stacklevel=caller_level(),
        )
        return allowed

    def _solve(
        self,
        sample: GaussianSample,
        lams: np.ndarray,
        run: Run,
        store: Store | None = None,
        is_enough: Callable[[list[GaussianEstimate]], bool] = lambda estimates: False,
    ) -> list[GaussianEstimate]:
        path = GraphicalLassoPath(
            sample.correlations,
            penalize_diagonal=self.penalize_diagonal,
            tol=self.tol,
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
            deadline=run.deadline,
            callback=lambda lam, n_iter, objective, n_edges: run.record(objective=objective, n_edges=n_edges),
            on_interrupt=run.interrupt,
        )
        estimates = self._restore(sample, lams, path, store)
        run.advance(len(estimates))
        state: dict[str, Any] = {}
        n_rows = run.n_rows
        # closed here: an interrupt in a generator that the collector closes would be lost
        with run.catch_interrupt(), closing(path.solve(lams[len(estimates) :])) as solutions:
            for solution in solutions:
                estimates.append(self._make_estimate(solution, run))
                run.advance()
                if run.is_over():
                    break
                # packed now, since further penalties change the state of the path
                if store is not None and len(estimates) < len(lams):
                    state, n_rows = self._pack(estimates, path), run.n_rows
                    if store.is_due():
                        store.save(state, n_rows)
                if is_enough(estimates) or run.is_over():
                    break
        if store is not None and state and run.is_over():
            store.save(state, n_rows)
        if not estimates:
            run.raise_error()
        return estimates

    @staticmethod
    def _pack(estimates: list[GaussianEstimate], path: GraphicalLassoPath) -> dict[str, Any]:
        """Return the solved estimates and the start of the next penalty."""
        state = path.state()
        next_start = {} if state is None else {f"state_{name}": part for name, part in pack_state(state).items()}
        return {"n_solved": len(estimates), **pack_estimates(estimates), **next_start}

    @staticmethod
    def _restore(
        sample: GaussianSample, lams: np.ndarray, path: GraphicalLassoPath, store: Store | None
    ) -> list[GaussianEstimate]:
        """Return the estimates in the store, and let the path resume after them."""
        snapshot = None if store is None else store.snapshot
        if snapshot is None:
            return []
        state = snapshot.take_part("state_")
        n_solved = snapshot.integer("n_solved", 1, len(lams) - 1)
        estimates = read_estimates(snapshot, sample.n_columns, n_solved)
        snapshot.check_names(("n_solved", *ESTIMATE_FIGURES))
        snapshot.check(all(estimates[k].lam == lams[k] for k in range(n_solved)), "other penalties")
        if state:
            restore_state(state, path, sample.n_columns)
        return estimates

    def _make_estimate(self, solution: GraphicalLassoSolution, run: Run) -> GaussianEstimate:
        precision = drop_rounding(solution.precision)
        return GaussianEstimate(
            lam=solution.lam,
            edges=list_edges(precision),
            precision=precision,
            # before small entries were dropped
            raw=solution.precision,
            objective=solution.objective,
            dual_gap=solution.dual_gap,
            violation=0.0,
            stopped_by=self._stop_reason(solution.converged, solution.n_iter >= self.max_iter, run),
            n_iter=solution.n_iter,
            least_pivot=solution.least_pivot,
        )
