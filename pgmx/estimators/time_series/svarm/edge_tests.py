"""Tests of the edges of structural vector autoregressions: t-tests over segments of the series."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import stdtr

from pgmx.checks import check_natural, is_number
from pgmx.data.series import Panel
from pgmx.estimators.time_series.series_path import PanelFolds
from pgmx.estimators.time_series.svarm.problem import Trials, list_targets
from pgmx.models import TimeSeriesGraph
from pgmx.statistics.independence.false_discoveries import find_threshold, read_fdr


@dataclass(frozen=True, eq=False)
class EdgeTests:
    """Tests of each edge over segments of the series.

    Parameters
    ----------
    names : tuple
        Names of the N series.
    p_values : ndarray of float64, shape (L + 1, N, N)
        p-values [lag, target, source]; NaN for edges that are not allowed. Undirected relations at lag 0 have one
        p-value: twice the smaller one of both directions.
    strengths : ndarray of float64, shape (L + 1, N, N)
        Mean strengths over the segments.
    n_segments : int
        Number of segments.
    is_skeleton : bool
        Whether relations at lag 0 are undirected.
    """

    names: tuple
    p_values: np.ndarray
    strengths: np.ndarray
    n_segments: int
    is_skeleton: bool

    def edges(self, *, level: float = 0.1, fdr: float | tuple[str, float] | None = None) -> np.ndarray:
        """Return which edges the tests accept.

        Parameters
        ----------
        level : float, default=0.1
            Significance level of each test, used if `fdr` is None.
        fdr : float or tuple, default=None
            Rate q of false discoveries among all edges: q or ("bh", q) for the procedure of Benjamini and Hochberg,
            ("by", q) for that of Benjamini and Yekutieli.

        Returns
        -------
        ndarray of bool, shape (L + 1, N, N)
            Edges [lag, target, source].

        Raises
        ------
        ValueError
            If the level or the rate is not between 0 and 1.
        """
        if not is_number(level) or not 0 < level < 1:
            raise ValueError(f"level must be a number between 0 and 1, got {level!r}")
        control = read_fdr(fdr)
        if control is not None:
            tested = self.p_values.copy()
            if self.is_skeleton:  # one test for both directions
                tested[0][np.tril_indices(len(self.names))] = np.nan
            tested = tested[~np.isnan(tested)]
            level = find_threshold(tested, len(tested), *control)
        return np.nan_to_num(self.p_values, nan=np.inf) <= level

    def graph(self, *, level: float = 0.1, fdr: float | tuple[str, float] | None = None) -> TimeSeriesGraph:
        """Return the graph of the edges that the tests accept.

        Parameters
        ----------
        level, fdr : as for `edges`
            Significance level, or rate of false discoveries.

        Returns
        -------
        TimeSeriesGraph
            Edges with their mean strengths.

        Raises
        ------
        ValueError
            As for `edges`.
        """
        strengths = np.where(self.edges(level=level, fdr=fdr), self.strengths, 0.0)
        options: dict[str, Any] = {"strengths": strengths, "undirected_instantaneous": self.is_skeleton}
        return TimeSeriesGraph.from_coefficients(self.names, None, **options)


def divide_segments(panel: Panel, lags: int, n_segments: int | None) -> list[Panel]:
    """Return successive segments of a panel, or each of its tables if `n_segments` is None."""
    if n_segments is None:
        parts = [
            replace(panel, segments=(rows,), exogenous=(exogenous,))
            for rows, exogenous in zip(panel.segments, panel.exogenous, strict=True)
            if len(rows) > lags + 1
        ]
        if len(parts) < 4:
            raise ValueError(f"n_segments=None needs at least 4 tables of more than {lags + 1} rows, got {len(parts)}")
        return parts
    n_segments = check_natural(n_segments, "n_segments", 4)
    if len(list_targets(panel, lags)) < 4 * n_segments:
        raise ValueError(f"n_segments={n_segments} needs at least {4 * n_segments} predicted rows: give fewer segments")
    if isinstance(panel, Trials):
        return list(panel.divide(n_segments))
    divided = PanelFolds.divide(panel, lags, n_segments)
    return [divided.take(k, k + 1) for k in range(n_segments)]


def tabulate_functions(learner: Any, panel: Panel, scales: np.ndarray) -> np.ndarray:
    """Return the functions (L + 1, N, N, G) of a learner at quantiles of all rows, centred, divided by `scales` (N,).

    For linear functions G is 1: the coefficients in standard deviations of all rows.
    """
    rows = np.concatenate(panel.segments)
    spreads = rows.std(axis=0)
    if learner._has_linear_kernels() and hasattr(learner, "coef_"):
        return (learner.coef_ * (spreads / scales[:, None]))[..., None]
    points = np.quantile(rows, np.linspace(0.025, 0.975, 20), axis=0)
    result = np.zeros((*learner.strengths_.shape, len(points)))
    for term in learner._terms.terms:
        values = term.evaluate(
            (points[:, term.source] - learner._source_means[term.source]) / learner._source_scales[term.source]
        )
        values = (values - values.mean(axis=0)) * (learner.scales_ / scales)[term.targets]
        result[term.lag, term.targets, term.source] += values.T
    if learner._has_linear_kernels():
        return (result[..., -1:] - result[..., :1]) / 2.0
    return result


def compare_means(values: np.ndarray) -> np.ndarray:
    """Return two-sided p-values of t-tests that the means over the first axis are zero."""
    return 2.0 * stdtr(len(values) - 1, -np.abs(_compute_t(values)))


def compare_functions(functions: np.ndarray) -> np.ndarray:
    """Return p-values of tests that the mean of functions (S, ..., G), over the first axis, is zero.

    Norms are positive even if there is no effect. So the functions of every other segment choose a direction, on which
    the other functions are projected: the projections have mean zero without an effect. Each half chooses once, and the
    p-value is twice the smaller one of the two one-sided t-tests.
    """
    halves = functions[::2], functions[1::2]
    p_values = [
        stdtr(len(tested) - 1, -_compute_t((tested * chooser.mean(axis=0)).sum(axis=-1)))
        for chooser, tested in (halves, halves[::-1])
    ]
    return np.minimum(2.0 * np.minimum(*p_values), 1.0)


def _compute_t(values: np.ndarray) -> np.ndarray:
    """Return t statistics of the means over the first axis, 0 if all values are zero."""
    means, errors = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return np.divide(means, errors, out=np.zeros_like(means), where=errors > 0)


def gather_tests(
    names: Sequence, p_values: np.ndarray, strengths: np.ndarray, allowed: np.ndarray, *, is_skeleton: bool
) -> EdgeTests:
    """Return the tests of segments, p-values and strengths (S, L + 1, N, N), for the allowed edges."""
    p_values = np.where(allowed, p_values, np.nan)
    if is_skeleton:
        present = np.fmin(p_values[0], p_values[0].T)
        p_values[0] = np.minimum(2.0 * present, 1.0)
    return EdgeTests(tuple(names), p_values, strengths.mean(axis=0), len(strengths), is_skeleton)
