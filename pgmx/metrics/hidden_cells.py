"""Errors of a categorical subspace on hidden values: each row is predicted from its other values, then learned."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import numpy as np

LAST, MEAN, MODE = "last value of the column", "running mean of the column", "most frequent level of the column"
_SHARE = 0.2  # of the observed values


class HiddenCellErrors:
    """Sums of losses per window and pass, and the path of the thresholds, of a copy of a subspace."""

    def __init__(self, learner: Any, window: int):
        self.learner = deepcopy(learner)
        self.window = window
        self.n_rows = 0
        self.counts: list[int] = []  # hidden values per window
        self.sums: dict[str, list[float]] = {}
        self.passes: list[float] = []
        self.thresholds: list[np.ndarray] = []

    def run(self, X: Any) -> None:
        """Learn the rows in `max_iter` passes; an iterator, or a learner that has learned before, in one pass."""
        from pgmx.data.files.readers import is_iterator
        from pgmx.streaming.inputs import collect_rows, iterate_row_chunks

        n_passes = 1 if is_iterator(X) or hasattr(self.learner, "n_seen_") else self.learner.max_iter
        X = collect_rows(X, self.learner.na_values)
        self.history: Any = None
        for _ in range(n_passes):
            rng, losses = np.random.default_rng(0), []  # the same values are hidden in all passes
            for chunk in iterate_row_chunks(X):
                cells = self.learner._open_cells(chunk)
                losses.append(self._learn(cells, rng.random(len(cells.values)) < _SHARE))
            total = np.concatenate(losses)
            self.passes.append(float(total.mean()) if len(total) else np.nan)

    def _learn(self, cells: Any, hidden: np.ndarray) -> np.ndarray:
        """Learn a chunk and return the losses of the learner on its hidden values."""
        learner, losses = self.learner, []
        is_logit = learner.model == "logit"
        if self.history is None:
            self.history = _ColumnHistory(cells.shape[1], learner)
            self.sums = {name: [] for name in (type(learner).__name__, *self.history.names)}
        for t, guesses in enumerate(learner._guess_hidden(cells, hidden)):
            if self.n_rows % self.window == 0:
                self._open_window()
            row = slice(cells.starts[t], cells.starts[t + 1])
            columns, truth, out = cells.columns[row], learner._record_values(cells.values[row]), hidden[row]
            for name, guess in zip(self.sums, (guesses, *self.history.guess(columns[out])), strict=True):
                wrong = guess != truth[out] if is_logit else np.abs(guess - truth[out])
                self.sums[name][-1] += float(wrong.sum())
                if guess is guesses:
                    losses.append(wrong.astype(float))
            self.history.learn(columns[~out], truth[~out])
            self.counts[-1] += int(out.sum())
            self.n_rows += 1
            self.thresholds[-1] = learner.thresholds_
        return np.concatenate(losses)

    def _open_window(self) -> None:
        self.counts.append(0)
        self.thresholds.append(self.learner.thresholds_)
        for sums in self.sums.values():
            sums.append(0.0)

    def list_errors(self) -> Iterator[tuple[str, np.ndarray, float]]:
        """Yield the name, the errors per window (NaN without hidden values) and the mean error of each method."""
        counts = np.array(self.counts)
        for name, sums in self.sums.items():
            errors = np.full(len(counts), np.nan)
            np.divide(sums, counts, out=errors, where=counts > 0)
            yield name, errors, float(np.sum(sums)) / counts.sum() if counts.sum() else np.nan


class _ColumnHistory:
    """What the baselines know of each column: its last value, and its mean or the counts of its levels."""

    def __init__(self, n_columns: int, learner: Any):
        self.is_logit, self.levels = learner.model == "logit", learner.levels_
        self.names = LAST, MODE if self.is_logit else MEAN
        self.first = self.levels[0] if self.is_logit else learner._middle
        self.last = np.full(n_columns, self.first)
        self.counts = np.zeros((n_columns, len(self.levels) if self.is_logit else 1))
        self.sums = np.zeros(n_columns)

    def guess(self, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        counts = self.counts[columns]
        if self.is_logit:
            return self.last[columns], self.levels[counts.argmax(axis=1)]
        means = self.sums[columns] / np.maximum(counts[:, 0], 1)
        return self.last[columns], np.where(counts[:, 0] > 0, means, self.first)

    def learn(self, columns: np.ndarray, values: np.ndarray) -> None:
        self.last[columns] = values
        self.sums[columns] += values
        self.counts[columns, np.searchsorted(self.levels, values) if self.is_logit else 0] += 1
