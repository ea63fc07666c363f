"""Confidence of edges over (name, lag): a learner of time series on many resamples of blocks of rows."""

from collections.abc import Callable
from contextlib import closing
from math import ceil, inf
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from pgmx.checks import as_reals
from pgmx.data.series import LaggedSeries, Panel
from pgmx.estimators.base import BaseStructureLearner, Interval, clone_learner, config, random_draws
from pgmx.estimators.time_series.blocks import BlockLearner, BlockProblem, BlockResampler
from pgmx.estimators.time_series.dense import DenseLDS
from pgmx.estimators.time_series.learner import learn_or_raise
from pgmx.models import TimeSeriesGraph
from pgmx.models.time_series.measures import make_lagged_strength_table
from pgmx.parallel.tasks import SharedArrays, run_tasks
from pgmx.parallel.threads import one_blas_thread
from pgmx.runs.progress import ProgressBar, ResamplingProgress
from pgmx.runs.run import Run, is_past

if TYPE_CHECKING:
    import pandas as pd


#: Resamples per task. The task reads the cross-products of all blocks once.
_RESAMPLES_PER_TASK = 16


class EdgeSums(NamedTuple):
    """Counts of edges and sums of their coefficients over some resamples, (lags, n, n), in solver units."""

    counts: np.ndarray
    sums: np.ndarray
    squares: np.ndarray
    n_resamples: int

    @classmethod
    def zeros(cls, shape: tuple[int, ...], n_resamples: int) -> Self:
        """Return sums that are zero."""
        return cls(np.zeros(shape), np.zeros(shape), np.zeros(shape), n_resamples)

    def add(self, edges: np.ndarray, values: np.ndarray) -> None:
        """Add the edges and coefficients of one resample."""
        self.counts[...] += edges
        self.sums[...] += values
        self.squares[...] += values**2


class _Task:
    """Task of a worker: sums over some resamples."""

    def __init__(self, resampler: BlockResampler, seed: int, n_resamples: int, shape: tuple[int, ...]) -> None:
        self._resampler, self._seed, self._n_resamples, self._shape = resampler, seed, n_resamples, shape

    def __call__(self, arrays: SharedArrays, number: int) -> EdgeSums:
        """Return the sums over the resamples of a task."""
        numbers = range(number * _RESAMPLES_PER_TASK, min((number + 1) * _RESAMPLES_PER_TASK, self._n_resamples))
        sums = EdgeSums.zeros(self._shape, len(numbers))
        for n_before, (edges, values) in enumerate(self._resampler.solve_all(arrays, self._seed, numbers)):
            if n_before and is_past(inf):  # its solver may have been interrupted
                return sums._replace(n_resamples=n_before)
            sums.add(edges, values)
        return sums


class BlockBootstrap(BaseStructureLearner):
    r"""Edge confidence for time series: a learner is run on resamples of blocks of rows.

    The predicted rows, each with its lag window, are divided into blocks of consecutive rows. Resample b draws blocks
    with replacement, as many as there are, and gives coefficients :math:`A^{(b)}`. The probability of an edge over
    (name, lag) is

    .. math:: p(j, t - l \to i, t) = \frac1B \sum_b [A^{(b)}_l[i, j] \ne 0].

    Parameters
    ----------
    estimator : learner of time series, default=None
        A linear dynamical system, LinearSVARM, KernelSVARM, TensorSEM, SparseTensorSEM or DynamicBayesianNetworkSearch.
        The learner with its options. It is cloned and never changed. The default is ``DenseLDS()``, which has all
        edges, so only its standard errors are useful. For KernelSVARM and dynamic Bayesian networks, strengths replace
        coefficients. A penalty not given by the options is chosen on each resample.
    block_length : int, default=None
        Rows per block. None means the cube root of the number of predicted rows (of the shortest window for structural
        equations), rounded up.
    n_resamples : int, default=100
        Number of resamples B.
    max_time : float, default=None
        Time limit in seconds, after which no new resample starts. The results use the finished resamples, at least one.
    show_progress : bool, default=True
        Whether runs of more than one second show a progress bar. ``pgmpy.config.SHOW_PROGRESS`` can switch it off too.
    callback : callable, default=None
        Called with (n_iter, seconds) after some resamples. True ends the run. Its own time is not counted.
    n_jobs : int, default=None
        Number of workers, as in joblib. The result does not depend on it.
    random_state : int, RandomState, Generator or None, default=0
        Seed or generator. Draw k of resample b is a function of (random_state, b, k), as in
        :class:`BootstrapStructure`. From a generator, a seed is drawn first.

    Attributes
    ----------
    edge_probability_ : ndarray of shape (lags + 1, n, n)
        Share of the resamples in which the coefficient ``[lag, target, source]`` is not zero. An undirected
        instantaneous edge counts in both directions, once per resample, if either strength is not zero.
    coef_mean_ : ndarray of shape (lags + 1, n, n)
        Means of the coefficients over the resamples that have the edge, in the units of the data. 0 if no resample has
        it.
    standard_errors_ : ndarray of shape (lags + 1, n, n)
        Standard deviations of the coefficients over all resamples, including zeros, in the units of the data.
    strengths_ : DataFrame
        ``from``, ``lag``, ``to``, ``strength``, ``direction`` of each edge of at least one resample, strongest first.
        ``strength`` is the share of the resamples with the edge. A pair at lag 0 has one row, in its more frequent
        direction; for structural equations, which may have both, one for each. ``direction`` is the share of this
        direction among the edges of the pair.
    estimator_ : learner
        The learner, fitted on all rows.
    graph_ : TimeSeriesGraph
        ``consensus_graph()``, made on first access.
    block_length_ : int
        Rows per block.
    n_blocks_ : int
        Number of blocks. The last block of each complete segment may be shorter.
    n_resamples_ : int
        Number of finished resamples.
    converged_, stopped_by_ : bool, str
        Whether all resamples were finished, and why the run ended: ``"converged"``, ``"max_time"``, ``"callback"`` or
        ``"interrupt"``.
    variables_, adjacency_matrix_ : list, DataFrame
        Names of the series, and the adjacency matrix of `graph_`, made on access.
    n_features_in_, feature_names_in_ : int, ndarray
        Number and names of the series, as in scikit-learn.

    Raises
    ------
    ValueError, TypeError
        If an option is out of range, or the learner does not accept the data. The message names the cause.

    Notes
    -----
    For linear dynamical systems, the cross-products of each block are computed once and summed for each resample. There
    is no second pass over the data, and the series are standardised once, by all rows. Memory: 8 (P² + P n + n²) bytes
    per block for P = L n predictors. For structural vector autoregressions, the columns of all kernels are computed
    once, from all rows. Each resample draws rows of them and centres them again. For structural equations, whose
    powers must be unknown (``exogenous="blind"``), each window draws as many of its own blocks as it has, and the
    resample starts at the estimate from all rows. Blocks should be longer than the time over which the noise is
    correlated.

    References
    ----------
    .. [1] Künsch, H. R. (1989). The jackknife and the bootstrap for general stationary observations. Annals of
       Statistics 17, 1217-1241, section 2; with blocks that do not overlap.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.estimators import BlockBootstrap, SparsityEnforcingLDS
    >>> rows = np.random.default_rng(0).standard_normal((200, 2))
    >>> rows[1:, 1] += rows[:-1, 0]
    >>> boot = BlockBootstrap(SparsityEnforcingLDS(structure=[[0, 0], [1, 0]])).fit(rows)
    >>> boot.edge_probability_[1].tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    >>> bool(0.05 < boot.standard_errors_[1, 1, 0] < 0.1)
    True
    """

    _parameter_constraints: dict[str, Any] = {
        "estimator": [BlockLearner, None],
        "block_length": [Interval(Integral, 1, None, closed="left"), None],
        "n_resamples": [Interval(Integral, 1, None, closed="left")],
        "max_time": [Interval(Real, 0, None, closed="left"), None],
        "show_progress": ["boolean"],
        "callback": [callable, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state", np.random.Generator],
    }

    state_names = None  # for discrete variables

    edge_probability_: np.ndarray
    coef_mean_: np.ndarray
    standard_errors_: np.ndarray
    estimator_: BlockLearner
    block_length_: int
    n_blocks_: int
    n_resamples_: int
    converged_: bool
    stopped_by_: str

    def __init__(
        self,
        estimator: BlockLearner | None = None,
        *,
        block_length: int | None = None,
        n_resamples: int = 100,
        max_time: float | None = None,
        show_progress: bool = True,
        callback: Callable[[ResamplingProgress], object] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
    ) -> None:
        self.estimator = estimator
        self.block_length = block_length
        self.n_resamples = n_resamples
        self.max_time = max_time
        self.show_progress = show_progress
        self.callback = callback
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def data(self) -> Any:
        """The data of the estimator, used by ``estimate()``."""
        return getattr(self.estimator, "data", None)

    @property
    def missing(self) -> str:  # type: ignore[override]  # the estimator holds it
        """The estimator's treatment of missing values."""
        return getattr(self.estimator, "missing", "error")

    @property
    def na_values(self) -> Any:
        """The estimator's additional markers of missing values in files."""
        return getattr(self.estimator, "na_values", None)

    def _open(self, X: Any) -> Panel | LaggedSeries:
        learner = self._make_learner()
        learner._validate()
        return learner._open_blocks(X)

    def _make_learner(self) -> Any:
        return DenseLDS() if self.estimator is None else clone_learner(self.estimator)

    def _fit(self, opened: Any, sample_weight: ArrayLike | None) -> Run:
        learner = self._make_learner()
        if sample_weight is not None:
            raise ValueError(
                f"{type(self).__name__} does not support sample_weight, since resamples are weights of blocks of rows: "
                "leave it out"
            )
        show, name = self.show_progress and config.SHOW_PROGRESS, type(self).__name__
        with ProgressBar(show, self.callback, name, unit="resamples", figure=None, total=self.n_resamples) as bar:
            run = Run(ResamplingProgress, max_time=self.max_time, callback=bar.callback, start=self._start)
            with run.limit_runs():
                with one_blas_thread():
                    learn_or_raise(learner, opened)
                    blocks = learner._divide_blocks(opened, self._choose_length)
                self._check_n_blocks(blocks.arrays.sizes)
                self._resample(blocks, learner.lags, run)
        self.estimator_, self._results = learner, {}
        return run

    def _choose_length(self, n_targets: int) -> int:
        # the cube root of the number of rows; 1e-9 keeps exact cubes from being rounded up
        length = ceil(n_targets ** (1 / 3) - 1e-9) if self.block_length is None else int(self.block_length)
        self.block_length_ = length
        return length

    def _check_n_blocks(self, sizes: np.ndarray) -> None:
        self.n_blocks_ = len(sizes)
        if self.n_blocks_ < 2:
            raise ValueError(
                f"block_length={self.block_length_} makes a single block of {sizes.sum()} predicted rows: give a "
                "smaller block_length"
            )

    def _resample(self, blocks: BlockProblem, lags: int, run: Run) -> None:
        """Run the resamples and set the results. The tasks do not depend on the number of workers."""
        given: Any = self.random_state
        seed = int(given if isinstance(given, Integral) else random_draws(1, given)[1])
        task = _Task(blocks.resampler, seed, self.n_resamples, (lags + 1, *blocks.units.shape))
        self._set_results(self._run_tasks(task, blocks.arrays, run), blocks.units)

    def _run_tasks(self, task: Any, arrays: SharedArrays, run: Run) -> list[EdgeSums]:
        """Return the sums of the tasks, in their order, and end the run."""
        n_tasks = -(-self.n_resamples // _RESAMPLES_PER_TASK)
        done: dict[int, EdgeSums] = {}
        with closing(run_tasks(task, arrays, n_tasks, n_jobs=self.n_jobs, deadline=run.wall_deadline)) as results:
            try:
                for number, edge_sums in results:
                    done[number] = edge_sums
                    if run.record(n_iter=sum(one.n_resamples for one in done.values())):
                        break
            except (Exception, KeyboardInterrupt) as error:  # error in one resample: the results of the others are kept
                run.interrupt(error)
        if not done:
            run.raise_error()
        ordered = [done[number] for number in sorted(done)]  # so that sums do not depend on the number of workers
        self.converged_ = sum(one.n_resamples for one in ordered) == self.n_resamples
        self.stopped_by_ = run.conclude(self.converged_, "max_time")
        return ordered

    def _set_results(self, parts: list[EdgeSums], units: np.ndarray) -> None:
        """Set the results in the user's units."""
        done = sum(part.n_resamples for part in parts)
        totals: Any = (sum(arrays) for arrays in zip(*(part[:3] for part in parts), strict=True))
        counts, sums, squares = totals
        self.edge_probability_ = counts / done
        self.coef_mean_ = units * sums / np.maximum(counts, 1)
        # rounding may make the variance of equal coefficients slightly negative
        self.standard_errors_ = units * np.sqrt(np.maximum(squares / done - (sums / done) ** 2, 0.0))
        self.n_resamples_ = done

    def consensus_graph(self, threshold: float = 0.9) -> TimeSeriesGraph:
        """Return the edges with a probability of at least `threshold`.

        Parameters
        ----------
        threshold : float, default=0.9
            Smallest probability of an edge, above 0 and at most 1.

        Returns
        -------
        TimeSeriesGraph
            ``confidence`` of an edge is its probability, ``weight`` its mean coefficient, ``strength`` the absolute
            mean coefficient of the standardised series.

        Raises
        ------
        ValueError
            If `threshold` is out of range.
        """
        self._require_fit()
        if not isinstance(threshold, Real) or not 0 < float(as_reals(threshold, "threshold")) <= 1:
            raise ValueError(f"threshold must be a share of resamples, above 0 and at most 1, got {threshold!r}")
        # 1e-12 keeps a share that equals the threshold but for rounding
        probable = self.edge_probability_ >= float(threshold) - 1e-12
        confidence = np.where(probable, self.edge_probability_, 0.0)
        weights = np.where(probable, self.coef_mean_, 0.0)
        return self.estimator_._graph_resamples(weights, confidence)

    @property
    def strengths_(self) -> "pd.DataFrame":
        """One row for each edge of at least one resample, strongest first."""
        return self._make_once("strengths", self._make_strengths)

    def _make_strengths(self) -> "pd.DataFrame":
        learner = self.estimator_
        return make_lagged_strength_table(
            self.variables_, self.edge_probability_, learner._is_skeleton(), learner._has_feedback
        )

    @property
    def graph_(self) -> TimeSeriesGraph:
        """The consensus graph at the probability 0.9."""
        return self._make_once("graph", self.consensus_graph)
