"""Structural vector autoregressions with functions of reproducing kernel Hilbert spaces."""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np

from pgmx.checks import check_same_names
from pgmx.estimators.base import Interval
from pgmx.estimators.time_series.svarm.learner import SVARMLearner
from pgmx.runs.progress import SolverProgress
from pgmx.solvers.time_series.kernel_blocks import NAMES, Kernel, make_kernel

Kernels = str | Callable | Sequence[str | Callable]


class KernelSVARM(SVARMLearner):
    r"""Structural vector autoregression with effects that are functions in reproducing kernel Hilbert spaces.

    .. math:: y_{jt} = c_j + \sum_{i \ne j} f^0_{ij}(y_{it}) + \sum_{l=1}^{L} \sum_i f^l_{ij}(y_{i,t-l}) + e_{jt}

    with series centred and scaled to variance 1 over all T rows. The targets are the rows after the first L. The
    functions minimise

    .. math:: \tfrac{1}{2} \sum_j \Big\|Y_j - \sum_b \Phi_b w_{bj}\Big\|^2 + \lambda \sum_{b,j} \|w_{bj}\|

    over blocks b of one lag, series and kernel, with :math:`\Phi_b \Phi_b'` the kernel matrix K of its rows, centred
    (HKH) and scaled to trace T - L. A function that the data do not support is zero, and the graph does not have its
    edge.

    Parameters
    ----------
    data : frame, array, path, or list or dict of them, optional
        What ``estimate()`` learns from; ``fit(X)`` needs none.
    lags : int, default=1
        Largest lag L, at least 1.
    instantaneous : bool, default=True
        Whether series depend on present values of other series. `predict` needs False.
    kernels : {"gaussian", "poly2", "linear"}, callable, a sequence or a dict of these, default=("gaussian",)
        ``"gaussian"``: exp(-(u - v)² / 2σ²). ``"poly2"``: (1 + uv)². ``"linear"``: uv. A callable is a symmetric,
        positive semidefinite, elementwise function of two arrays. Each of several kernels has its own block, and a
        strength is the largest over the kernels. A dict from the names of all series to kernels gives each series its
        own, for its effects on all series.
    bandwidth : float, default=1.0
        σ of the Gaussian kernel, in standard deviations of each series.
    max_rank : int, default=None
        Maximum rank of the factor of a kernel matrix. By default the factorisation ends when 1e-9 of the trace remains.
    orient : {"nonlinear"}, default=None
        How to direct instantaneous edges. "nonlinear" keeps the direction of the larger strength, which is valid only
        if the functions are not linear. By default the edges have no direction, since the present of an effect also
        helps to predict its cause.
    lam : float, default=None
        Penalty λ > 0, not divided by T. None means `lam_ratio` times `lam_max_`.
    lam_ratio : float, default=0.1
        Penalty as a share of the smallest penalty without edges, used if `lam` is None.
    tol : float, default=1e-6
        Largest duality gap of a target, relative to its objective.
    max_iter : int, default=100000
        Maximum number of passes of block descent per target, or of iterations of ADMM.
    solver : {"descent", "admm"}, default="descent"
        Block coordinate descent with working sets, or the alternating direction method of multipliers. For the squared
        loss with the lasso only.
    loss : {"squared", "absolute", "epsilon_insensitive"}, default="squared"
        Loss of a residual r: r² / 2, abs(r), or max(abs(r) − ε, 0). The latter two are robust against outliers.
    epsilon : float, default=0.1
        ε of the ε-insensitive loss, in standard deviations of each series, at least 0.
    penalty : {"lasso", "ridge"}, default="lasso"
        λ times the sum of the norms, or of the squared norms, of the coefficients of each edge. With "ridge" all
        allowed edges are present; see `test_edges`.
    exogenous_columns : list of hashable, default=None
        Exogenous columns, which are not series. They enter at the time of the target and are not penalised.
    seasonal_period : int, default=None
        Number of rows of a season. The means of its phases enter unpenalised. In forecasts a history without times (an
        array, a default index) is assumed to end with the last training row.
    required_edges, forbidden_edges : collection of ((source, lag), (target, 0)), default=None
        Edges without a penalty, and edges that are excluded.
    time_column, groups : hashable, default=None
        Columns with the times of the rows, and with the series of a panel.
    missing : {"error", "drop"}, default="error"
        How to treat missing values: raise an error, or leave out the rows whose lag window has a missing value.
    na_values : scalar, str, list-like or dict, default=None
        Additional markers of missing values in a CSV file, such as "?", per column if a dict, as in
        ``pandas.read_csv``. Any value, even an empty list, switches off the warning about possible markers.
    irregular : {"error", "ignore"}, default="error"
        How to treat irregular times: raise an error, or assume that rows are equidistant.
    max_time : float, default=None
        Time limit in seconds. The current estimate is returned then.
    show_progress : bool, default=True
        Whether runs of more than one second show a progress bar. ``pgmpy.config.SHOW_PROGRESS`` can switch it off too.
    callback : callable, default=None
        Function called with (n_iter, objective, n_edges, seconds) after each round over all targets. The run ends if it
        returns True.
    n_jobs : int, default=None
        Number of threads for blocks of series or windows. The result does not depend on it.

    Attributes
    ----------
    strengths_ : ndarray of float64, shape (L + 1, N, N)
        Strengths [lag, target, source], the norms of the functions: the largest :math:`\|w_{bj}\|` over the kernels.
        Entries of lags that are not learned, and lag 0 of a series to itself, are zero.
    graph_ : TimeSeriesGraph
        The learned graph, with the attribute ``strength``; computed on first access.
    objective_, dual_gap_ : float
        The objective, and an upper bound on its distance from the optimum.
    lam_, lam_max_ : float
        The penalty, and the smallest penalty without edges: the largest :math:`\|\Phi_b' y_j\|` of the allowed edges.
    converged_, stopped_by_, n_iter_ : bool, str, int
        Whether `tol` was reached; why the run ended ("converged", "max_iter", "max_time", "callback" or "interrupt");
        and the maximum number of passes or iterations of a target.
    history_ : dict of ndarray
        ``"objective"``, ``"n_edges"``, ``"seconds"`` at each call of `callback`. If edges are required, they refer to
        the targets with the same required edges.
    noise_variance_ : ndarray of float64, shape (N,)
        Mean squared residuals, in the user's units.
    exogenous_coef_ : ndarray of float64, shape (N, K)
        Coefficients of exogenous and seasonal columns, in the user's units.
    means_, scales_ : ndarray of float64, shape (N,)
        Means and population standard deviations of the series.
    n_targets_, n_left_out_ : int
        Number of predicted rows, and number of rows left out because of missing values.
    variables_, n_features_in_, feature_names_in_ : list, int, ndarray
        The series.

    Raises
    ------
    ValueError, TypeError
        If the series, an option or a kernel is invalid. The message names it.

    Warns
    -----
    ConvergenceWarning
        If `tol` was not reached.

    Notes
    -----
    Other losses replace ½‖·‖², and the ridge replaces the sum of norms by the sum of squared norms. The squared loss
    with the ridge has a closed form, with one factorisation for all series: O(F T min(F, T)) time for F columns. The
    absolute and the ε-insensitive loss are minimised by the alternating direction method of multipliers or, with the
    lasso and linear functions, by linear programmes; `n_iter_` is 1 then.

    ``fit`` also accepts the inputs and responses of `pgmx.datasets.kernel_responses`, or any object with these two
    attributes. Rows are independent trials then: the response of a node depends on the inputs of other nodes in the
    same row, and edges are directed, at lag 0. `lags` and `instantaneous` are not used.

    The kernel matrices are replaced by thin factors of rank r (12 to 15 for the Gaussian kernel). The problem of [1]_
    then becomes a group lasso with the same minimum. Constraints exclude the effect of a series on its own present, so
    that all targets share one Gram matrix or factorisation. Cost: O(N L T r²) time for the factors, and O(T F N) for a
    round of descent or an iteration of ADMM, with F = N (L + 1) r columns. The Gram matrix needs F² memory if F is at
    most 12,500.

    References
    ----------
    .. [1] Shen, Y. (2019). Online, nonlinear and tensor-based learning over networks. Thesis, University of Minnesota,
       chapter 5, equations 5.4, 5.11 to 5.13 and 5.16, algorithm 6b.
    .. [2] Yuan, M. and Lin, Y. (2006). Model selection and estimation in regression with grouped variables. Journal of
       the Royal Statistical Society B 68, 49-67.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.estimators import KernelSVARM
    >>> rng = np.random.default_rng(0)
    >>> series = rng.standard_normal((200, 3))
    >>> series[1:, 1] = np.cos(1.5 * series[:-1, 0]) + 0.3 * series[1:, 1]
    >>> learner = KernelSVARM(lam_ratio=0.4).fit(series)
    >>> list(learner.graph_.edges())
    [(('x0', 1), ('x1', 0))]
    """

    _parameter_constraints = {
        **SVARMLearner._parameter_constraints,
        "kernels": ["array-like", str, callable, dict],
        "bandwidth": [Interval(Real, 0, None, closed="neither")],
        "max_rank": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        data: Any = None,
        *,
        lags: int = 1,
        instantaneous: bool = True,
        kernels: Kernels | Mapping[Hashable, Kernels] = ("gaussian",),
        bandwidth: float = 1.0,
        max_rank: int | None = None,
        orient: Literal["nonlinear"] | None = None,
        lam: float | None = None,
        lam_ratio: float = 0.1,
        tol: float = 1e-6,
        max_iter: int = 100_000,
        solver: Literal["descent", "admm"] = "descent",
        loss: Literal["squared", "absolute", "epsilon_insensitive"] = "squared",
        epsilon: float = 0.1,
        penalty: Literal["lasso", "ridge"] = "lasso",
        exogenous_columns: Collection[Hashable] | None = None,
        seasonal_period: int | None = None,
        required_edges: Collection | None = None,
        forbidden_edges: Collection | None = None,
        time_column: Hashable | None = None,
        groups: Hashable | None = None,
        missing: Literal["error", "drop"] = "error",
        na_values: Any = None,
        irregular: Literal["error", "ignore"] = "error",
        max_time: float | None = None,
        show_progress: bool = True,
        callback: Callable[[SolverProgress], bool | None] | None = None,
        n_jobs: int | None = None,
    ):
        self.data = data
        self.lags = lags
        self.instantaneous = instantaneous
        self.kernels = kernels
        self.bandwidth = bandwidth
        self.max_rank = max_rank
        self.orient = orient
        self.lam = lam
        self.lam_ratio = lam_ratio
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.loss = loss
        self.epsilon = epsilon
        self.penalty = penalty
        self.exogenous_columns = exogenous_columns
        self.seasonal_period = seasonal_period
        self.required_edges = required_edges
        self.forbidden_edges = forbidden_edges
        self.time_column = time_column
        self.groups = groups
        self.missing = missing
        self.na_values = na_values
        self.irregular = irregular
        self.max_time = max_time
        self.show_progress = show_progress
        self.callback = callback
        self.n_jobs = n_jobs

    def _list_kernels(self) -> list[tuple[Kernel, str]]:
        return read_kernels(self._list_all(), self.bandwidth)

    def _list_all(self) -> list[str | Callable]:
        """Return the kernels of any series, each once."""
        if not isinstance(self.kernels, Mapping):
            return list_kernels(self.kernels)
        every: list[str | Callable] = []
        for one in self.kernels.values():
            read_kernels(one, self.bandwidth)  # names the kernels of the series in its error
            every += [kernel for kernel in list_kernels(one) if kernel not in every]
        return every

    def _has_linear_kernels(self) -> bool:
        return all(kernel == "linear" for kernel in self._list_all())

    def _read_used(self, names: tuple) -> np.ndarray | None:
        if not isinstance(self.kernels, Mapping):
            return None
        check_same_names(names, self.kernels, "the series", "kernels", "series")
        every = self._list_all()
        return np.array([[kernel in list_kernels(self.kernels[name]) for name in names] for kernel in every])


def list_kernels(kernels: Kernels) -> list[str | Callable]:
    """Return the kernels as a list."""
    if isinstance(kernels, str) or callable(kernels):
        return [kernels]
    return list(kernels)


def read_kernels(kernels: Kernels, bandwidth: float) -> list[tuple[Kernel, str]]:
    """Return the kernels as functions, each with its name; ValueError for invalid ones."""
    listed = list_kernels(kernels)
    if not listed:
        raise ValueError(f"kernels must name at least one kernel, got {kernels!r}")
    for kernel in listed:
        if not callable(kernel) and kernel not in NAMES:
            raise ValueError(f"kernels must be of {', '.join(NAMES)} or functions of two arrays, got {kernel!r}")
    names = [kernel for kernel in listed if isinstance(kernel, str)]
    # two equal kernels would share their effect in an arbitrary way
    if len(set(names)) < len(names):
        raise ValueError(f"kernels has a duplicate name, got {kernels!r}: give each name once")
    return [(make_kernel(kernel, bandwidth), kernel if isinstance(kernel, str) else _name(kernel)) for kernel in listed]


def _name(kernel: Callable) -> str:
    return getattr(kernel, "__name__", type(kernel).__name__)
