"""Resamples of windows: blocks of rows are drawn within each window, by their second moments."""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from math import e
from typing import Any, Self

import numpy as np

from pgmx.data.draws import make_fractions
from pgmx.data.series import Panel
from pgmx.estimators.base import clone_learner
from pgmx.estimators.time_series.blocks import BlockResampler
from pgmx.parallel.tasks import SharedArrays
from pgmx.solvers.time_series.sem_likelihood import SecondMoments


@dataclass(frozen=True, eq=False)
class EquationsResampler(BlockResampler):
    """The common input of all resamples: a learner of series with standard deviation 1, and its first estimate."""

    learner: Any
    start: np.ndarray
    allowed: np.ndarray | None

    @classmethod
    def from_panel(cls, learner: Any, panel: Panel, length: int) -> tuple[Self, SharedArrays]:
        """Return the resampler of a fitted learner, and the second moments of the blocks of its windows."""
        n, scales = panel.n_series, learner._scales
        products, sizes, windows = [], [], []
        for m, rows in enumerate(learner._cut(panel)):
            # a resample has this share of distinct rows on the average
            if len(rows) * (1.0 - 1.0 / e) <= n:
                raise ValueError(
                    f"window {m} has {len(rows)} rows, of which a resample draws {len(rows) * (1.0 - 1.0 / e):.0f} "
                    f"distinct ones for {n} series: give longer windows"
                )
            rows = rows / scales
            for begin in range(0, len(rows), length):
                block = rows[begin : begin + length]
                products.append(block.T @ block)
                sizes.append(len(block))
                windows.append(m)
        fresh = clone_learner(learner)
        # strengths and thresholds refer to series with standard deviation 1
        fresh._scales, fresh._required = np.ones(n), learner._required
        knowledge = learner._read_knowledge(panel.names, range(1))
        resampler = cls(fresh, learner.coef_ * (scales / scales[:, None]), knowledge.allow(n, 0))
        return resampler, SharedArrays(products=np.stack(products), sizes=np.array(sizes), windows=np.array(windows))

    def solve_all(self, arrays: SharedArrays, seed: int, numbers: range) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the edges of each resample, and their standardised coefficients."""
        for number in numbers:
            edges, values = self.solve(arrays, seed, number)
            yield edges[None], values[None]

    def solve(self, arrays: SharedArrays, seed: int, resample: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the edges [target, source] of a resample, and the standardised coefficients."""
        windows = arrays.windows
        first, counts = np.unique(windows, return_index=True, return_counts=True)[1:]
        fractions = make_fractions(seed, resample, 0, len(windows))
        drawn = first[windows] + np.floor(fractions * counts[windows]).astype(np.intp)
        n_rows = np.bincount(windows, arrays.sizes[drawn])
        moments = np.stack([arrays.products[drawn[windows == m]].sum(axis=0) for m in range(len(n_rows))])
        data = SecondMoments(moments / n_rows[:, None, None], n_rows, np.full((len(n_rows), moments.shape[1]), np.nan))
        # threads share the learner, and learning sets its attributes
        return copy(self.learner)._relearn(data, self.start, self.allowed)
