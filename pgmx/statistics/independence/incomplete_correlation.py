"""Partial correlations of incomplete rows: each test uses the rows that are complete in its variables."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from pgmx.statistics.independence.partial_correlation import PartialCorrelationTests
from pgmx.statistics.independence.source import IdArray, IndependenceSource, TestRow


class IncompleteCorrelationTests(IndependenceSource):
    """Tests by Fisher's z ("z") or Student's t ("t") of float64 rows (N, n) in which NaN is a missing value.

    The rows of a test are complete in x, y and the set, so that tests of different variables have different rows.
    """

    def __init__(self, rows: np.ndarray, statistic: Literal["z", "t"] = "z") -> None:
        self.columns = np.ascontiguousarray(rows.T)
        self.known = ~np.isnan(self.columns)
        self.n_variables = len(self.columns)
        self.statistic: Literal["z", "t"] = statistic

    def test_row(self, x: int, ys: Sequence[int] | IdArray, z: Sequence[int]) -> TestRow:
        """Test x with each of `ys` given the set `z`."""
        ys = np.asarray(ys, dtype=np.intp)
        results = np.full((4, len(ys)), np.nan)
        given = [x, *z]
        known = self.known[given].all(axis=0)
        is_known = self.known[ys] | ~known
        # variables that are observed in all these rows share one correlation matrix
        for group in (np.flatnonzero(is_known.all(axis=1)), *np.flatnonzero(~is_known.all(axis=1))[:, None]):
            if group.size:
                complete = np.logical_and(known, self.known[ys[group]].all(axis=0))
                tests = self._open(np.concatenate((given, ys[group])), complete)
                row = tests.test_row(0, np.arange(len(given), tests.n_variables), range(1, len(given)))
                results[:, group] = row.statistic, row.dof, row.p_value, row.effect_size
        return TestRow(results[0], results[1], results[2], results[3])

    def _open(self, variables: np.ndarray, known: np.ndarray) -> PartialCorrelationTests:
        """Return the tests of some variables in some rows; constant variables are not correlated."""
        centred = self.columns[np.ix_(variables, known)]
        if centred.shape[1]:
            centred = centred - centred.mean(axis=1, keepdims=True)
        lengths = np.sqrt(np.square(centred).sum(axis=1))
        scale = np.abs(self.columns[np.ix_(variables, known)]).max(axis=1, initial=0.0)
        lengths[lengths <= 1e-13 * scale * np.sqrt(max(known.sum(), 1))] = np.inf
        centred = centred / lengths[:, None]
        correlation = centred @ centred.T
        np.fill_diagonal(correlation, 1.0)
        return PartialCorrelationTests(correlation, int(known.sum()), statistic=self.statistic)
