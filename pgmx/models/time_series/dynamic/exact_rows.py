"""Exact answers for the rows of a panel: forecasts, predictions and log-likelihoods, with missing values summed out.

Series with missing values in the same places are answered together.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pgmx.models.time_series.dynamic.columns import Slices
from pgmx.models.time_series.dynamic.discrete_filter import MOST_CELLS, MOST_STATES, DiscreteFilter
from pgmx.models.time_series.dynamic.gaussian_filter import GaussianFilter
from pgmx.models.time_series.dynamic.panel import Panel

Filter = DiscreteFilter | GaussianFilter


class Batch(NamedTuple):
    """Series with missing values in the same places: their positions, and rows of the table (n_series, T).

    `begins_with_window` says that the first L rows are complete, and that earlier rows were left out.
    """

    series: list[int]
    rows: np.ndarray
    begins_with_window: bool


def choose_filter(slices: Slices) -> Filter | None:
    """Return the exact filter of a discrete or of a linear Gaussian network; None if there is none, or it is too large.

    A discrete network needs at most a million cells for the joint distribution of the variables of the last rows on
    which later rows depend.
    """
    cards = slices.families.cards
    if not any(cards):
        return GaussianFilter(slices)
    if not all(cards):
        return None
    found = DiscreteFilter(slices)
    if found.n_states > MOST_STATES:
        return None
    no_static = np.empty((1, len(slices.columns.static)), dtype=np.intp)
    first = found.start(no_static, np.ones(no_static.shape[1], dtype=bool))
    return found if found.count_cells(first, 0) <= MOST_CELLS else None


def make_batches(panel: Panel, numbers: Sequence[int], *, are_last_enough: bool) -> list[Batch]:
    """Return some series by the places of their missing values.

    With `are_last_enough` rows before the last L complete ones are left out, unless a static value is missing: later
    rows do not depend on them.
    """
    n, lags = len(panel.columns.names), panel.columns.lags
    found: dict[Any, list] = defaultdict(list)
    for number in numbers:
        series = panel.series[number]
        rows, begins_with_window = series.rows, False
        is_complete = (rows >= 0) & ~panel.missing[:n, rows].any(axis=0) if len(rows) else np.empty(0, dtype=bool)
        static = panel.find_static(series)
        if are_last_enough and len(rows) >= lags and (static >= 0).all():
            runs = np.convolve(is_complete, np.ones(lags), "valid")
            ends = np.flatnonzero(runs == lags)
            if len(ends):
                rows, begins_with_window = rows[ends[-1] :], True
        pattern = panel.missing[:n, rows] | (rows < 0)
        key = (begins_with_window, len(rows), pattern.tobytes(), (static < 0).tobytes())
        found[key].append((number, rows))
    return [
        Batch([number for number, _ in own], np.stack([rows for _, rows in own]), key[0]) for key, own in found.items()
    ]


class BatchRun:
    """Passes the rows of a batch, or of some of its series, through a filter."""

    def __init__(self, engine: Filter, panel: Panel, batch: Batch):
        self._engine, self._panel, self._batch = engine, panel, batch
        n, lags = len(panel.columns.names), panel.columns.lags
        self._values = panel.codes if isinstance(engine, DiscreteFilter) else panel.numbers
        static_rows = np.stack([panel.find_static(panel.series[number]) for number in batch.series])
        n_static = static_rows.shape[1]
        static = np.zeros(static_rows.shape, dtype=self._values.dtype)
        if n_static and self._values.shape[1]:
            static = self._values[n + np.arange(n_static), np.maximum(static_rows, 0)]
        self.state: Any
        if batch.begins_with_window:
            self.state = engine.start_after(self._values[:n, batch.rows[:, :lags]].transpose(1, 2, 0), static)
        else:
            self.state = engine.start(static, (static_rows < 0)[0])
        self.t = lags if batch.begins_with_window else 0

    def read_row(self, *, is_asked: bool) -> tuple[list[np.ndarray], np.ndarray]:
        """Observe the next row; return its prediction, if it is asked for, and log-probabilities (n_series,)."""
        rows = self._batch.rows[:, self.t]
        n = len(self._panel.columns.names)
        is_missing = self._panel.missing[:n, rows[0]] | (rows[0] < 0)
        values = self._values[:n, rows].T
        answers, self.state, logs = self._engine.advance(self.state, self.t, values, is_missing, is_asked=is_asked)
        self.t += 1
        return answers, logs

    def forecast_row(self) -> list[np.ndarray]:
        """Return the distribution of the next row, which is not observed."""
        n = len(self._panel.columns.names)
        values = np.zeros((len(self._batch.series), n), dtype=self._values.dtype)
        answers, self.state, _ = self._engine.advance(self.state, self.t, values, np.ones(n, dtype=bool), is_asked=True)
        self.t += 1
        return answers


def forecast_exactly(engine: Filter, panel: Panel, steps: int) -> list[list[np.ndarray]]:
    """Return for each step and each variable its probabilities, or mean and deviation, (n_series, width)."""
    widths = [len(own) if own is not None else 2 for own in panel.variable_states]
    answers = [[np.empty((len(panel.series), width)) for width in widths] for _ in range(steps)]
    for batch in make_batches(panel, range(len(panel.series)), are_last_enough=True):
        for part in split_batch(engine, panel, batch):
            run = BatchRun(engine, panel, part)
            while run.t < part.rows.shape[1]:
                row = run.t
                _, logs = run.read_row(is_asked=False)
                refuse_impossible(panel, part, row, logs)
            for own in answers:
                for target, found in zip(own, run.forecast_row(), strict=True):
                    target[part.series] = found
    return answers


def split_batch(engine: Filter, panel: Panel, batch: Batch) -> list[Batch]:
    """Return a batch in parts that need little memory."""
    first = batch._replace(series=batch.series[:1], rows=batch.rows[:1])
    run = BatchRun(engine, panel, first)
    step = engine.count_series(run.state, run.t)
    starts = range(0, len(batch.series), step)
    return [batch._replace(series=batch.series[a : a + step], rows=batch.rows[a : a + step]) for a in starts]


def refuse_impossible(panel: Panel, batch: Batch, t: int, logs: np.ndarray) -> None:
    """Raise ValueError if the values of a row have probability zero given the rows before it."""
    wrong = np.flatnonzero(logs == -np.inf)
    if len(wrong):
        row = int(batch.rows[wrong[0], t])
        where = panel.series[batch.series[wrong[0]]].where
        raise ValueError(
            f"the values of row {row} (index {panel.index[row]!r}){where} are impossible given the rows before it: the "
            "network gives them probability 0; correct them, or learn the network with a prior"
        )
