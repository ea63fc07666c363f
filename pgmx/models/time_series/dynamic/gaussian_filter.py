"""Exact means and covariances of linear Gaussian series, row by row.

The state holds the static columns and the last L rows, oldest first. A row is a linear function of the state and of
independent noise: x = c + A s + B x + d e, thus x = (I - B)^-1 (c + A s + d e). Observed values condition it.

Cost per row: O(k^3) for k values of the state, once for all series with the same missing values.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from pgmx.inference.mixed.families import LOG_2_PI
from pgmx.models.time_series.dynamic.columns import Slices

#: Values of the states of several series that are answered together.
_BATCH_VALUES = 1 << 22


class State(NamedTuple):
    """Means (n_series, k) and covariance (k, k) of the static columns and the last L rows, in the order of columns."""

    mean: np.ndarray
    covariance: np.ndarray


class Row(NamedTuple):
    """A row as x = constant + slopes @ state + noise, with the covariance of the noise."""

    constant: np.ndarray
    slopes: np.ndarray
    noise: np.ndarray


class GaussianFilter:
    """The families of a linear Gaussian dynamic network by row."""

    def __init__(self, slices: Slices):
        self._slices, self._columns = slices, slices.columns
        self._rows: dict[int, Row] = {}

    def start(self, static: np.ndarray, is_missing: np.ndarray) -> State:
        """Return the distribution before the first row given static values (n_series, n_static)."""
        n_static, width = len(self._columns.static), len(self._columns.past)
        mean, covariance = np.zeros((len(static), width)), np.zeros((width, width))
        row = self._make_row(range(n_static), range(0))
        mean[:, :n_static] = row.constant
        covariance[:n_static, :n_static] = row.noise
        known = np.flatnonzero(~is_missing)
        return condition(State(mean, covariance), known, static[:, known])[0]

    def start_after(self, window: np.ndarray, static: np.ndarray) -> State:
        """Return the distribution after L rows (n_series, L, n), the rows 0 to L - 1, without missing values."""
        width = len(self._columns.past)
        return State(np.hstack([static, window.reshape(len(window), -1)]), np.zeros((width, width)))

    def advance(
        self, state: State, t: int, values: np.ndarray, is_missing: np.ndarray, *, is_asked: bool
    ) -> tuple[list[np.ndarray], State, np.ndarray]:
        """Return means and deviations of the row t before it is observed, the new state, and log-densities (n_series,).

        `values` are (n_series, n), `is_missing` (n,) is common to all series. Means and standard deviations, one array
        (n_series, 2) per variable, are left out unless they are asked for.
        """
        columns = self._columns
        n, n_static = len(columns.names), len(columns.static)
        row = self._find_row(t)
        mean = state.mean @ row.slopes.T + row.constant
        cross = row.slopes @ state.covariance
        own = cross @ row.slopes.T + row.noise
        own = (own + own.T) / 2.0
        answers = []
        if is_asked:
            deviations = np.sqrt(own.diagonal())
            answers = [np.column_stack([mean[:, v], np.full(len(mean), deviations[v])]) for v in range(n)]
        whole = State(np.hstack([state.mean, mean]), np.block([[state.covariance, cross.T], [cross, own]]))
        known = np.flatnonzero(~is_missing)
        whole, logs = condition(whole, known + len(columns.past), values[:, known])
        kept = np.r_[np.arange(n_static), np.arange(n_static + n, len(columns.labels))]
        return answers, State(whole.mean[:, kept], whole.covariance[np.ix_(kept, kept)]), logs

    def count_series(self, state: State, t: int) -> int:
        """Return how many series can be answered together in little memory."""
        return max(1, _BATCH_VALUES // len(self._columns.labels))

    def _find_row(self, t: int) -> Row:
        """Return the row t given a state in which the row t - 1 is the last one."""
        columns = self._columns
        key = min(t, columns.lags)
        if key not in self._rows:
            n = len(columns.names)
            start = columns.position(0, columns.lags - key)
            row = self._make_row(range(start, start + n), range(start))
            if key < columns.lags:
                # the rows before it are the last ones of the state
                n_static = len(columns.static)
                slopes = np.zeros((n, len(columns.past)))
                slopes[:, :n_static] = row.slopes[:, :n_static]
                slopes[:, len(columns.past) - key * n :] = row.slopes[:, n_static:]
                row = row._replace(slopes=slopes)
            self._rows[key] = row
        return self._rows[key]

    def _make_row(self, positions: range, before: range) -> Row:
        """Return some columns as linear functions of earlier ones."""
        n = len(positions)
        constant, deviations = np.zeros(n), np.zeros(n)
        slopes, within = np.zeros((n, len(before))), np.zeros((n, n))
        for k, position in enumerate(positions):
            family = self._slices.families.families[position]
            constant[k], deviations[k] = family.coefficients[0], family.std  # type: ignore[union-attr]
            for p, slope in zip(family.continuous_parents, family.coefficients[1:], strict=True):  # type: ignore[union-attr]
                if p in positions:
                    within[k, p - positions.start] = slope
                else:
                    slopes[k, p] = slope
        solved = np.linalg.solve(np.eye(n) - within, np.column_stack([constant, slopes, np.diag(deviations)]))
        root = solved[:, 1 + len(before) :]
        return Row(solved[:, 0], solved[:, 1 : 1 + len(before)], root @ root.T)


def condition(state: State, known: np.ndarray, values: np.ndarray) -> tuple[State, np.ndarray]:
    """Return a state given values (n_series, m) of some of its entries, and their log-densities (n_series,)."""
    if not len(known):
        return state, np.zeros(len(state.mean))
    covariance = state.covariance
    factor = cho_factor(covariance[np.ix_(known, known)], lower=True)
    errors = values - state.mean[:, known]
    solved = cho_solve(factor, errors.T)
    logs = -0.5 * (np.einsum("mi,im->i", solved, errors) + len(known) * LOG_2_PI) - np.log(factor[0].diagonal()).sum()
    gain = covariance[:, known]
    mean = state.mean + (gain @ solved).T
    rest = covariance - gain @ cho_solve(factor, gain.T)
    rest = (rest + rest.T) / 2.0
    # observed values are certain, without rounding
    mean[:, known], rest[known], rest[:, known] = values, 0.0, 0.0
    return State(mean, rest), logs
