"""Structural equations from windows with different powers of the inputs."""

import warnings
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from math import inf, nan
from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from pgmx.checks import caller_level
from pgmx.data.series import Panel
from pgmx.estimators.base import Interval, StrOptions, random_draws
from pgmx.estimators.time_series.equations.learner import (
    WindowsLearner,
    warn_of_proportional_powers,
)
from pgmx.runs.progress import SolverProgress
from pgmx.runs.run import Run, is_past
from pgmx.solvers.time_series.sem_factors import alternate_least_squares, solve_khatri_rao
from pgmx.solvers.time_series.sem_likelihood import (
    ROW_SWEEPS,
    Coefficients,
    SecondMoments,
    Separation,
    compute_gradient,
    compute_identifiability,
    compute_standard_errors,
    evaluate,
    find_proportional,
    maximise_likelihood,
    read_coefficients,
    sweep_rows,
)


class TensorSEM(WindowsLearner):
    r"""Structural equations of series with unobserved inputs whose powers change from window to window.

    .. math:: y_t = A y_t + B x_t, \qquad E\, x_t x_t' = \operatorname{diag}(r_m) \text{ in window } m

    with a zero diagonal of A, and B diagonal. If no two inputs have proportional powers over the windows, the
    directions of instantaneous edges are identified, also in cycles. The inputs need not be observed.

    Parameters
    ----------
    data : DataFrame, array, path, or list of them, optional
        Data for ``estimate()``, rows in time order.
    exogenous : {"known", "partial", "blind"}, default="known"
        Whether all, some or none of the powers of the inputs are given to ``fit``. If no power of an input is given,
        its gain is 1.
    method : {"likelihood", "khatri-rao", "als"}, default="likelihood"
        ``"likelihood"``: Gaussian maximum likelihood. The others are the methods of the thesis, least squares on the
        tensor of second moments: ``"khatri-rao"`` in closed form (needs all powers, and at least as many windows as
        series), ``"als"`` by alternating steps with tied factors.
    window : int, default=None
        Number of rows of a window, at least 2. Rows after the last complete window belong to that window.
    boundaries : sequence of int, default=None
        First row of each window after the first, counted from 0 over all series of a panel. Give `window` or
        `boundaries`. Without both, each series of a panel is one window.
    threshold : float or "relative", default=0.1
        Edges of ``graph_`` have a statistic above this threshold. ``coef_`` is not thresholded. ``"relative"`` means a
        tenth of the largest statistic, the rule of the thesis.
    edge_statistic : {"scaled", "z"}, default="scaled"
        ``"scaled"``: :math:`|a_{ij}| s_j / s_i` with the standard deviations s of the series, which has no unit.
        ``"z"``: :math:`|a_{ij}|` divided by its standard error (``method="likelihood"`` only).
    required_edges : collection of ((source, 0), (target, 0)), default=None
        Edges that ``graph_`` has for any value of their statistic.
    forbidden_edges : collection of ((source, 0), (target, 0)), default=None
        Edges whose coefficients are zero (``method="likelihood"`` only).
    n_starts : int, default=1
        Number of starts. More than one are random starts, and the set of edges that most of them have is chosen: the
        majority vote of the thesis. The result is the start with this set and the best objective. Not for
        ``method="khatri-rao"``, which has no start.
    standardize : bool, default=True
        Whether least squares use the series divided by their standard deviations. The likelihood does not depend on it.
    fit_intercept : bool, default=False
        Whether the means of the series are subtracted. The thesis assumes inputs of mean zero.
    time_column, groups : hashable, default=None
        Columns with the times of the rows, and with the series of a panel.
    missing : {"error", "drop"}, default="error"
        How to treat rows with missing values: raise an error, or leave them out. No window crosses such a gap.
    na_values : scalar, str, list-like or dict, default=None
        Additional markers of missing values in a CSV file, such as "?", per column if a dict, as in
        ``pandas.read_csv``. Any value, even an empty list, switches off the warning about possible markers.
    irregular : {"error", "ignore"}, default="error"
        Whether an index without a regular step raises an error.
    tol : float, default=1e-12
        The run stops if the expected gain of the log-likelihood per row (for ``"als"``: the relative decrease of the
        residual) is below `tol`.
    max_iter : int, default=200
        Maximum number of Newton sweeps, or of rounds of ``"als"``.
    max_time : float, default=None
        Time limit in seconds. The current estimate is returned then.
    show_progress : bool, default=True
        Whether runs of more than one second show a progress bar. ``pgmpy.config.SHOW_PROGRESS`` can switch it off too.
    callback : callable, default=None
        Function called with (n_iter, objective, n_edges, seconds) after each sweep or round. n_edges counts the edges
        above `threshold` under ``"scaled"``. The run ends if it returns True.
    n_jobs : int, default=None
        Number of threads for blocks of series or windows. The result does not depend on it.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the random starts.

    Attributes
    ----------
    coef_ : ndarray of float64, shape (N, N)
        A, ``[target, source]``, in the user's units, zero diagonal.
    gain_ : ndarray of float64, shape (N,)
        Diagonal of B, positive: the signs of inputs are not identified.
    exogenous_power_ : ndarray of float64, shape (M, N)
        Powers of the inputs, including the given ones.
    intercept_ : ndarray of float64, shape (N,)
        :math:`(I - A) \mu` for the subtracted means; zero without `fit_intercept`.
    standard_errors_ : ndarray of float64, shape (N, N), or None
        Standard errors of ``coef_`` for independent rows, from the likelihood; None for other methods. They are
        infinite for unidentified coefficients and 0 for `forbidden_edges`. With `forbidden_edges` the other values are
        upper bounds.
    identifiability_ : ndarray of float64, shape (N, N)
        0 if two inputs have proportional powers; closer to 1 the more the ratio of the powers varies.
    objective_ : float
        Mean Gaussian log-likelihood per row in the user's units. For other methods: unexplained share of the squared
        second moments.
    n_iter_ : int
        Number of sweeps or rounds, of all starts together.
    votes_ : list of (int, ndarray of bool, shape (N, N))
        Number of starts with each set of edges ``[target, source]``, and the set, the most frequent one first.
    converged_, stopped_by_ : bool, str
        Whether `tol` was reached, and why the run ended: ``"converged"``, ``"max_iter"``, ``"max_time"``,
        ``"callback"`` or ``"interrupt"``.
    history_ : dict of ndarray
        ``"objective"``, ``"n_edges"``, ``"seconds"`` at each call of `callback`; with the likelihood also
        ``"gradient_norm"``, the norm of its gradient in relative changes of the rows of B⁻¹ (I − A).
    window_lengths_ : ndarray of int64, shape (M,)
        Rows of each window.
    graph_ : TimeSeriesGraph
        Edges at lag 0, with ``weight`` from ``coef_`` and the statistic as ``strength``.
    variables_ : list
        Names of the series.
    n_features_in_ : int
        Number of series N.
    feature_names_in_ : ndarray of object
        Names of the series.
    n_left_out_ : int
        Number of rows left out.

    Raises
    ------
    ValueError
        If windows or powers do not match the series (the message names the first mismatch), or if powers are unknown in
        a window of at most N rows, for which the likelihood is unbounded.

    Warns
    -----
    IdentifiabilityWarning
        If columns of powers are nearly proportional. The standard errors of their edges are large.

    Notes
    -----
    With W = B⁻¹ (I − A) the log-likelihood per row is :math:`\log|\det W| - \tfrac12 \sum_m p_m \sum_i (\log r_{mi} +
    w_i' R_m w_i / r_{mi})`. A sweep sets each row to its optimum, O(N⁴ + M N³), with the inverse of W by the
    Sherman-Morrison formula. Newton steps for all pairs of rows with L-BFGS corrections follow, O(M N³) each. Unknown
    powers are the diagonal of W R W'. The order of unknown inputs is the assignment that maximises the product of the
    diagonal of W. The result can be a local optimum. The standard errors also hold if the series have noise in addition
    to the inputs that is not included in the powers. With `forbidden_edges` row sweeps follow in which the equations
    are restricted to the other edges, until a sweep gains at most `tol`.

    Cost for M windows of L rows: O(M L N²) for the second moments, O(M N³) per Newton sweep or round of ``"als"``,
    O(N⁴) once for the row sweep, O(M N³ + N⁴) for ``"khatri-rao"``; memory O(M N²). `n_starts` multiplies the time,
    except for the second moments.

    The data generator of the thesis, with one power for all inputs of a window, is not identifiable. Its closed form
    needs M well above N. EIER at N = 64, M = 20, L = 1,000: 0 % by likelihood (known or blind), compared with 79 % by
    the closed form and 6.5 % by alternating least squares with known powers (``tests/benchmarks/TIME_SERIES.md``).

    References
    ----------
    Y. Shen (2019), Online and nonlinear learning over networks, thesis, chapter 4: algorithm 4b, eqs. 4.5 to 4.10,
    proposition 3, theorems 5 and 6.

    D.-T. Pham and J.-F. Cardoso (2001), Blind separation of instantaneous mixtures of nonstationary sources, IEEE
    Transactions on Signal Processing 49, 1837-1848 (the likelihood).

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.estimators import TensorSEM
    >>> rng = np.random.default_rng(0)
    >>> powers = rng.uniform(0.2, 4.0, (8, 3))
    >>> inputs = np.concatenate([rng.standard_normal((500, 3)) * np.sqrt(power) for power in powers])
    >>> A = np.array([[0.0, 0.5, 0.0], [0.0, 0.0, 0.4], [0.3, 0.0, 0.0]])
    >>> series = inputs @ np.linalg.inv(np.eye(3) - A).T
    >>> learner = TensorSEM(exogenous="blind", window=500).fit(series)
    >>> bool(np.abs(learner.coef_ - A).max() < 0.05)
    True
    >>> learner.graph_.instantaneous_edges
    [(('x0', 0), ('x2', 0)), (('x1', 0), ('x0', 0)), (('x2', 0), ('x1', 0))]
    """

    _parameter_constraints = {
        **WindowsLearner._parameter_constraints,
        "method": [StrOptions({"likelihood", "khatri-rao", "als"})],
        "edge_statistic": [StrOptions({"scaled", "z"})],
        "n_starts": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state", np.random.Generator],
    }

    _unit = "sweeps"

    coef_: np.ndarray
    gain_: np.ndarray
    exogenous_power_: np.ndarray
    standard_errors_: np.ndarray | None
    identifiability_: np.ndarray
    objective_: float
    n_iter_: int
    votes_: list[tuple[int, np.ndarray]]

    def __init__(
        self,
        data: Any = None,
        *,
        exogenous: Literal["known", "partial", "blind"] = "known",
        method: Literal["likelihood", "khatri-rao", "als"] = "likelihood",
        window: int | None = None,
        boundaries: Sequence[int] | None = None,
        threshold: float | Literal["relative"] = 0.1,
        edge_statistic: Literal["scaled", "z"] = "scaled",
        required_edges: Collection | None = None,
        forbidden_edges: Collection | None = None,
        n_starts: int = 1,
        standardize: bool = True,
        fit_intercept: bool = False,
        time_column: Hashable | None = None,
        groups: Hashable | None = None,
        missing: Literal["error", "drop"] = "error",
        na_values: Any = None,
        irregular: Literal["error", "ignore"] = "error",
        tol: float = 1e-12,
        max_iter: int = 200,
        max_time: float | None = None,
        show_progress: bool = True,
        callback: Callable[[SolverProgress], bool | None] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
    ):
        self.data = data
        self.exogenous = exogenous
        self.method = method
        self.window = window
        self.boundaries = boundaries
        self.threshold = threshold
        self.edge_statistic = edge_statistic
        self.required_edges = required_edges
        self.forbidden_edges = forbidden_edges
        self.n_starts = n_starts
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.time_column = time_column
        self.groups = groups
        self.missing = missing
        self.na_values = na_values
        self.irregular = irregular
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.show_progress = show_progress
        self.callback = callback
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit(self, opened: Panel, sample_weight: ArrayLike | None, exogenous_power: ArrayLike | None = None) -> Run:
        self._refuse_weights(sample_weight)
        self._check_options()
        knowledge = self._read_knowledge(opened.names, range(1))
        with self._open_run() as run, self._on_threads():
            data = self._gather(opened, exogenous_power)
            self._required = knowledge.required
            # the likelihood does not depend on the units, and unit series are better conditioned
            is_scaled = self.standardize or self.method == "likelihood"
            scales = self._scales if is_scaled else np.ones(opened.n_series)
            allowed = knowledge.allow(opened.n_series, 0)
            converged = self._learn(data.rescale(scales), opened.names, scales, run, allowed)
        self._finish(opened)
        return self._end_run(run, converged)

    def _check_options(self) -> None:
        if self.method == "khatri-rao" and self.exogenous != "known":
            raise ValueError(
                f"method='khatri-rao' needs exogenous='known', got {self.exogenous!r}: give all powers, or "
                "method='likelihood'"
            )
        if self.method == "khatri-rao" and self.n_starts > 1:
            raise ValueError(
                f"method='khatri-rao' has no start, got n_starts={self.n_starts}: leave it out, or give method='als'"
            )
        if self.edge_statistic == "z" and self.method != "likelihood":
            raise ValueError(
                f"edge_statistic='z' needs standard errors, which method={self.method!r} does not compute: give "
                "method='likelihood', or edge_statistic='scaled'"
            )
        if self.forbidden_edges and self.method != "likelihood":
            raise ValueError(
                f"forbidden_edges needs method='likelihood', got {self.method!r}: give method='likelihood', or leave "
                "forbidden_edges out"
            )

    def _learn(
        self, data: SecondMoments, names: Sequence, scales: np.ndarray, run: Run, allowed: np.ndarray | None
    ) -> bool:
        """Solve in the solver's units, set the results in the user's units, and return whether `tol` was reached."""
        units = scales[:, None] / scales
        # turns the log-likelihood of the solver's units into that of the user's
        constant = float(np.log(scales).sum() + 0.5 * len(names) * np.log(2.0 * np.pi))
        best: dict[bytes, _Estimate] = {}
        counts: Counter[bytes] = Counter()
        self.n_iter_ = 0
        for start in self._draw_starts(len(names)):
            estimate = self._solve(data, start, run, allowed, constant)
            self.n_iter_ += estimate.n_iter
            self._set_equations(data, estimate, units, allowed)
            key = self._find_edges(self._rank_edges()).tobytes()
            counts[key] += 1
            if key not in best or estimate.quality > best[key].quality:
                best[key] = estimate
            if run.is_over():
                break
        # of equally frequent sets the better one
        keys = sorted(best, key=lambda key: (-counts[key], -best[key].quality))
        shape = (len(names), len(names))
        self.votes_ = [(counts[key], np.frombuffer(key, dtype=bool).reshape(shape).copy()) for key in keys]
        chosen = best[keys[0]]
        if not chosen.converged:
            warnings.warn(
                f"{type(self).__name__} did not reach tol={self.tol} in {chosen.n_iter} iterations: give a larger "
                "max_iter, max_time or tol",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )
        self.objective_ = chosen.objective
        shown = self._set_equations(data, chosen, units, allowed)
        # without any power of an input its scale is free: the gain is set to 1
        unknown = ~np.isfinite(data.powers).any(axis=0)
        self.gain_ = np.where(unknown, 1.0, shown.gains * scales)
        self.exogenous_power_ = np.where(unknown, shown.powers * scales**2, shown.powers)
        self.identifiability_ = compute_identifiability(data, chosen.point)
        warn_of_proportional_powers(names, find_proportional(data, chosen.point))
        return chosen.converged

    def _draw_starts(self, n: int) -> Iterator[np.ndarray | None]:
        """Return matrices W (N, N) to start from; None is the start of the solver."""
        if self.n_starts == 1:
            yield None
            return
        seed = random_draws(1, self.random_state)[1]
        for number in range(self.n_starts):
            # a stream of its own for each start, so that more starts do not change the first ones
            yield np.random.default_rng([seed, number]).standard_normal((n, n))

    def _set_equations(
        self, data: SecondMoments, estimate: "_Estimate", units: np.ndarray, allowed: np.ndarray | None
    ) -> Coefficients:
        """Set the coefficients and their standard errors, and return the equations in the solver's units."""
        shown = read_coefficients(data, estimate.point)
        self.coef_, self.standard_errors_ = shown.matrix * units, None
        if self.method == "likelihood":
            errors = compute_standard_errors(data, estimate.point) * units
            # forbidden coefficients are zero without an error
            self.standard_errors_ = errors if allowed is None else np.where(allowed, errors, 0.0)
        return shown

    def _solve(
        self, data: SecondMoments, start: np.ndarray | None, run: Run, allowed: np.ndarray | None, constant: float
    ) -> "_Estimate":
        """Return the estimate of the method from one start."""
        options: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
        if self.method == "likelihood":

            def record(point: Separation) -> bool:
                gradient_norm = float(np.linalg.norm(compute_gradient(data, point)))
                objective, n_edges = point.log_likelihood - constant, self._count_edges(point.rows)
                return run.record(objective=objective, n_edges=n_edges, gradient_norm=gradient_norm)

            if start is not None:
                start = sweep_rows(data, start, ROW_SWEEPS)  # Newton sweeps need a start near an optimum
            point, n_iter, converged = maximise_likelihood(data, start=start, record=record, allowed=allowed, **options)
            objective = point.log_likelihood - constant
            return _Estimate(point, n_iter, converged, objective, objective)

        def record_columns(columns: np.ndarray, residual: float) -> bool:
            return run.record(objective=residual, n_edges=self._count_edges(np.linalg.pinv(columns)))

        if self.method == "khatri-rao":
            factors = solve_khatri_rao(data)
        else:
            columns = None if start is None else data.scales[:, None] * start / np.sqrt(len(start))
            factors = alternate_least_squares(data, start=columns, record=record_columns, **options)
        point = evaluate(data, np.linalg.pinv(factors.columns))
        return _Estimate(point, factors.n_iter, factors.converged, factors.residual, -factors.residual)

    def _relearn(
        self, data: SecondMoments, start: np.ndarray, allowed: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        options: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter, "record": lambda *_: is_past(inf)}
        rows = np.eye(len(start)) - start
        if self.method == "likelihood":
            point, n_iter, converged = maximise_likelihood(data, start=rows, allowed=allowed, **options)
        else:
            factors = alternate_least_squares(data, start=np.linalg.inv(rows), **options)
            point, n_iter, converged = evaluate(data, np.linalg.pinv(factors.columns)), 0, factors.converged
        self._set_equations(data, _Estimate(point, n_iter, converged, nan, nan), np.ones_like(start), allowed)
        edges = self._find_edges(self._rank_edges())
        return edges, self.coef_ * edges

    def _count_edges(self, rows: np.ndarray) -> int:
        """Return the number of |a_ij| above the threshold, given W (N, N) of series with standard deviation 1."""
        # a row of W is proportional to the equation of its series
        sizes, own = np.abs(rows), np.abs(rows.diagonal())[:, None]
        is_edge = sizes > self._find_limit((sizes - np.diag(own[:, 0])) / own) * own
        return int(is_edge.sum() - is_edge.trace())

    def _rank_edges(self) -> np.ndarray:
        if self.edge_statistic == "scaled":
            return super()._rank_edges()
        assert self.standard_errors_ is not None
        # coefficients that are fixed to zero have no standard error
        return np.abs(self.coef_) / np.where(self.standard_errors_ > 0, self.standard_errors_, np.inf)


class _Estimate(NamedTuple):
    """The estimate from one start."""

    point: Separation
    n_iter: int
    converged: bool
    objective: float
    quality: float  # the objective with the sign that makes larger values better
