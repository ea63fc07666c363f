"""The base class of the learners of structural equations, and their input: windows, and powers of the inputs."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from pgmx.checks import as_reals, caller_level, check_natural, check_same_names, join_names, warn_of_target
from pgmx.data.series import Panel
from pgmx.estimators.base import Interval, StrOptions
from pgmx.estimators.time_series.blocks import BlockLearner, BlockProblem
from pgmx.estimators.time_series.cost import SeriesSize, estimate_equations
from pgmx.estimators.time_series.equations.resampler import EquationsResampler
from pgmx.estimators.time_series.learner import RUN_CONSTRAINTS, IterativeLearner, TimeSeriesLearner, clone_silent
from pgmx.models import TimeSeriesGraph
from pgmx.runs.run import Run
from pgmx.solvers.time_series.sem_likelihood import SecondMoments, cut_windows, gather_moments

_EXOGENOUS = ("known", "partial", "blind")

#: Share of the largest statistic that is the threshold "relative", as in section 4.6.3 of the thesis.
RELATIVE = 0.1

#: If an eigenvalue of the second moments of unit series is below this, it is rounding error: the series are dependent.
_LEAST_EIGENVALUE = 1e-12


class EquationsLearner(TimeSeriesLearner):
    """Base of the learners of y = A y + B x. A subclass implements `_rank_edges`."""

    lags = 0

    _parameter_constraints: dict[str, Any] = {
        **TimeSeriesLearner._parameter_constraints,
        "exogenous": [StrOptions(set(_EXOGENOUS))],
        "threshold": [Interval(Real, 0, None, closed="left"), StrOptions({"relative"})],
    }

    threshold: float | str
    coef_: Any
    _scales: np.ndarray
    _required: np.ndarray | None = None  # edges that are included for any value of their statistic

    def _rank_edges(self) -> np.ndarray:
        """Return |a_ij| s_j / s_i, the statistic that is compared with the threshold."""
        return np.abs(self.coef_ * (self._scales / self._scales[:, None]))

    def _read_orders(self, lags: Sequence[int] | None) -> list[int]:
        if lags is not None:
            raise ValueError(f"lags is not for {type(self).__name__}, whose edges are instantaneous: leave it out")
        return [0]

    def _find_limit(self, strengths: np.ndarray) -> float:
        """Return the value of a statistic (N, N) that edges exceed."""
        if isinstance(self.threshold, str):
            return RELATIVE * float(strengths.max(initial=0.0))
        return float(self.threshold)

    def _find_edges(self, strengths: np.ndarray) -> np.ndarray:
        """Return which entries [target, source] of a statistic are edges."""
        is_edge = strengths > self._find_limit(strengths)
        if self._required is not None:
            is_edge[self._required[:, 1], self._required[:, 2]] = True
        return is_edge

    def _make_graph(self) -> TimeSeriesGraph:
        strengths = self._rank_edges()
        is_edge = self._find_edges(strengths)
        tables = [self.coef_ * is_edge], [strengths * is_edge]
        return TimeSeriesGraph.from_coefficients(self.variables_, tables[0], strengths=tables[1])


class WindowsLearner(BlockLearner, IterativeLearner, EquationsLearner):
    """Base of the learners from all windows of a series. A subclass implements `_fit` with `_gather` and `_finish`."""

    _parameter_constraints: dict[str, Any] = {
        **EquationsLearner._parameter_constraints,
        "window": [Interval(Integral, 2, None, closed="left"), None],
        "boundaries": ["array-like", None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        **RUN_CONSTRAINTS,
    }

    exogenous: str
    window: int | None
    boundaries: Sequence[int] | None
    fit_intercept: bool

    intercept_: np.ndarray
    window_lengths_: np.ndarray

    _means: np.ndarray

    _has_feedback = True

    def fit(
        self,
        X: Any,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        exogenous_power: ArrayLike | None = None,
    ) -> Self:
        """Learn the equations from series.

        Parameters
        ----------
        X : DataFrame, array of shape (T, N), path, or list or dict of them
            The series, rows in time order, oldest first. The data are never changed.
        y : None
            Ignored; scikit-learn's convention.
        sample_weight : None
            Must be None: windows have no weights.
        exogenous_power : array or DataFrame of shape (M, N), optional
            Mean squares of the inputs in each window, positive, with the columns of the series. NaN means unknown with
            ``exogenous="partial"``.

        Returns
        -------
        self
            The fitted learner.
        """
        warn_of_target(self, X, y)
        self._validate()
        with self._start_clock():
            panel = self._open(X)
            run = self._fit(panel, sample_weight, exogenous_power)
        self._end_fit(run)
        return self

    def _estimate_solving(self, size: SeriesSize) -> int:
        n_windows = 1 if self.boundaries is None else len(self.boundaries) + 1
        n_windows = n_windows if self.window is None else -(-size.n_rows // self.window)
        return estimate_equations(size, n_windows)

    @abstractmethod
    def _fit(
        self, opened: Panel, sample_weight: ArrayLike | None, exogenous_power: ArrayLike | None = None
    ) -> Run | None:
        """Learn from a panel and the powers of its inputs, and set the fitted attributes."""

    def _gather(self, opened: Panel, exogenous_power: ArrayLike | None) -> SecondMoments:
        """Return the second moments of the windows in the user's units, and store means and scales of the series."""
        # windows count rows: rows that are left out would shift them against the given powers
        if self.exogenous != "blind" and opened.n_left_out:
            raise ValueError(
                f"{opened.n_left_out} rows are left out because of missing values, so the windows do not match "
                "exogenous_power: fill the missing values, or give exogenous='blind'"
            )
        windows = self._cut(opened)
        powers = read_powers(exogenous_power, opened.names, len(windows), self.exogenous)
        data = gather_moments(windows, powers)
        check_moments(data, opened.names, opened.n_left_out)
        self._scales = opened.scales()
        self.window_lengths_ = np.array([len(window) for window in windows], dtype=np.int64)
        return data

    def _cut(self, opened: Panel) -> list[np.ndarray]:
        """Return the rows of the windows, minus the means of the series if there is an intercept."""
        self._means = opened.means() if self.fit_intercept else np.zeros(opened.n_series)
        return read_windows(opened.rescale(None, self._means), self.window, self.boundaries)

    @abstractmethod
    def _relearn(
        self, data: SecondMoments, start: np.ndarray, allowed: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the edges and coefficients (N, N) of other windows of unit series, given a first estimate of A."""

    def _open_blocks(self, X: Any) -> Panel:
        if self.exogenous != "blind":
            raise ValueError(
                f"BlockBootstrap has no powers of the inputs, got exogenous={self.exogenous!r}: give exogenous='blind'"
            )
        return self._open_panel(X)

    def _divide_blocks(self, opened: Panel, choose_length: Callable[[int], int]) -> BlockProblem:
        length = choose_length(int(self.window_lengths_.min()))
        learner = clone_silent(self)
        learner._scales, learner._required, learner.coef_ = self._scales, self._required, self.coef_
        resampler, arrays = EquationsResampler.from_panel(learner, opened, length)
        return BlockProblem(resampler, arrays, self._scales[:, None] / self._scales)

    def _graph_resamples(self, means: np.ndarray, confidence: np.ndarray) -> TimeSeriesGraph:
        strengths = np.abs(means) * self._scales / self._scales[:, None]
        return TimeSeriesGraph.from_coefficients(
            self.variables_, list(means), strengths=list(strengths), confidence=confidence
        )

    def _finish(self, opened: Panel) -> None:
        """Set the results that depend on the coefficients."""
        self.intercept_ = self._means - self.coef_ @ self._means
        self.n_left_out_ = opened.n_left_out
        self._set_names(opened.names)
        self._results = {}


class IdentifiabilityWarning(UserWarning):
    """Warning: the powers of some inputs are nearly proportional, so edges among their series are not identified.

    Structural equations are identified if the powers of the inputs change differently. If the powers of two inputs
    change proportionally, any rotation of the two inputs explains the series equally well. Longer, different or more
    windows may help.
    """


def warn_of_proportional_powers(names: Sequence, near: np.ndarray) -> None:
    """Warn of pairs of inputs, bool (N, N), that the data cannot distinguish."""
    pairs = [(names[i], names[j]) for i, j in np.argwhere(np.triu(near)).tolist()]
    if pairs:
        warnings.warn(
            f"not identifiable: columns {join_names(pairs, 5)} of the powers of the inputs are nearly proportional "
            "over the windows. Edges among these series are not reliable. Give more or different windows",
            IdentifiabilityWarning,
            stacklevel=caller_level(),
        )


# ---- the input: windows, and powers of the inputs ----


def read_windows(panel: Panel, window: int | None, boundaries: Sequence[int] | None) -> list[np.ndarray]:
    """Return the rows of each window; no window crosses the border of two segments."""
    lengths = [len(segment) for segment in panel.segments]
    if window is not None and boundaries is not None:
        raise ValueError(f"both window={window} and boundaries are given: give only one of them")
    if boundaries is not None:
        ends = _read_boundaries(panel, boundaries, lengths)
    elif window is not None:
        ends = cut_windows(lengths, window)
    elif len(lengths) > 1:
        ends = [np.array([length]) for length in lengths]
    else:
        raise ValueError(
            "neither window nor boundaries is given: give the number of rows of a window, or the first row of each "
            "window after the first"
        )
    return [
        segment[start:end]
        for segment, stops in zip(panel.segments, ends, strict=True)
        for start, end in pairwise([0, *stops.tolist()])
    ]


def _read_boundaries(panel: Panel, boundaries: Sequence[int], lengths: list[int]) -> list[np.ndarray]:
    total = sum(lengths)
    if panel.n_left_out:
        raise ValueError(
            f"boundaries count rows, but {panel.n_left_out} rows are left out because of missing values: give window "
            "instead"
        )
    rows = [check_natural(row, "boundaries", 1) for row in boundaries]
    if any(b <= a for a, b in pairwise(rows)) or (rows and rows[-1] >= total):
        raise ValueError(f"boundaries must increase and be below the {total} rows, got {join_names(rows)}")
    starts = np.cumsum([0, *lengths])
    # a boundary between two segments is there already
    inner = np.setdiff1d(rows, starts)
    return [
        np.append(inner[(inner > start) & (inner < start + length)] - start, length)
        for start, length in zip(starts[:-1].tolist(), lengths, strict=True)
    ]


def read_powers(exogenous_power: Any, names: Sequence, n_windows: int, exogenous: str) -> np.ndarray:
    """Return the powers of the inputs, (M, N), NaN if unknown; the error names an invalid power."""
    shape = (n_windows, len(names))
    if exogenous == "blind":
        if exogenous_power is not None:
            raise ValueError(
                "exogenous='blind' does not use exogenous_power: leave it out, or give exogenous='known' or 'partial'"
            )
        return np.full(shape, np.nan)
    if exogenous_power is None:
        raise ValueError(
            f"exogenous={exogenous!r} needs exogenous_power, the mean squares of the inputs per window, of shape "
            f"{shape}: pass it to fit, or give exogenous='blind'"
        )
    if hasattr(exogenous_power, "columns"):
        check_same_names(names, exogenous_power.columns, "the series", "exogenous_power", "columns")
        exogenous_power = exogenous_power[list(names)]
    powers = as_reals(exogenous_power, "exogenous_power").astype(np.float64)
    if powers.ndim == 1 and n_windows == 1:
        powers = powers[None]
    if powers.shape != shape:
        raise ValueError(
            f"exogenous_power must have the shape {shape}, one row per window and one column per series, got "
            f"{powers.shape}"
        )
    unknown = np.isnan(powers)
    if unknown.any() and exogenous == "known":
        m, i = np.argwhere(unknown)[0]
        raise ValueError(
            f"exogenous_power is NaN for {names[i]!r} in window {m}: give the value, or exogenous='partial'"
        )
    wrong = ~unknown & ~((powers > 0) & np.isfinite(powers))
    if wrong.any():
        m, i = np.argwhere(wrong)[0]
        raise ValueError(
            f"exogenous_power is {powers[m, i]} for {names[i]!r} in window {m}: powers must be positive and finite. "
            "NaN means unknown with exogenous='partial'"
        )
    return np.ascontiguousarray(powers)


def check_moments(data: SecondMoments, names: Sequence, n_left_out: int = 0) -> None:
    """Refuse windows for which the likelihood has no maximum; windows end early at rows that are left out."""
    n = len(names)
    silent = np.argwhere(~(np.einsum("mii->mi", data.moments) > 0))
    if len(silent):
        m, i = silent[0]
        raise ValueError(
            f"the series {names[i]!r} is zero in all rows of window {m}: give longer windows, or leave the series out"
        )
    short = np.flatnonzero((data.n_rows <= n) & np.isnan(data.powers).any(axis=1))
    if len(short):
        remedy = "give longer windows, or all powers"
        if n_left_out:
            remedy = (
                f"windows end at the {n_left_out} rows that are left out because of missing values: fill these "
                f"values, or remove segments of at most {n} rows and pass the other segments as a list"
            )
        raise ValueError(
            f"window {short[0]} has {data.n_rows[short[0]]:.0f} rows for {n} series, but estimation of powers needs "
            f"more than {n} rows: {remedy}"
        )
    if data.n_rows.sum() <= n:
        raise ValueError(f"{data.n_rows.sum():.0f} rows are too few for {n} series: give more than {n}")
    scales = data.scales
    values, vectors = np.linalg.eigh(np.einsum("m,mij->ij", data.shares, data.moments) / np.outer(scales, scales))
    if values[0] < _LEAST_EIGENVALUE:
        weights = np.abs(vectors[:, 0])
        # the series with a share in the direction without variance
        culprits = [repr(names[i]) for i in np.flatnonzero(weights > 0.1 * weights.max()).tolist()]
        raise ValueError(f"the series {', '.join(culprits)} are linearly dependent: leave one of them out")
