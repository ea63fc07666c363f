r"""Tests of conditional independence of continuous variables by partial correlations.

For the partial correlation r of x and y given k variables, from N rows, Fisher's z is

.. math:: z = \sqrt{N - k - 3}\, \operatorname{artanh} r,

which is about standard normal if r is 0 for the distribution, and Pearson's statistic is
:math:`t = r \sqrt{(N - k - 2) / (1 - r^2)}`, Student's t with N - k - 2 degrees of freedom. Both grow with r², so that
the largest p-value over sets of one size belongs to the smallest r².

References: Fisher (1924), The distribution of the partial correlation coefficient, Metron 3; Kalisch & Bühlmann (2007),
Estimating high-dimensional directed acyclic graphs with the PC-algorithm, JMLR 8.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from math import comb, inf
from typing import Literal

import numpy as np
from scipy.special import erfc, stdtr

from pgmx._ext._partial_correlations import find_least_correlations
from pgmx.parallel.threads import call_on_threads, count_threads
from pgmx.statistics.independence.source import (
    BoolMatrix,
    Evidence,
    FloatArray,
    IdArray,
    IndependenceSource,
    SetPools,
    TestRow,
)

#: Smallest pivot and residual variance of a test, as in the kernel.
LEAST_PIVOT, LEAST_VARIANCE = 1e-9, 1e-10
#: Operations between two questions whether to stop, and pairs of the first level at a time.
_TURN, _BLOCK = 1 << 27, 1 << 18


class PartialCorrelationTests(IndependenceSource):
    """Tests from a correlation matrix of `n_rows` rows, by Fisher's z or by Pearson's t (whose statistic is r).

    `correlation` is float64 (n, n) with a unit diagonal; a constant variable has correlations of 0. Sets of more than
    N - 4 variables (z) or N - 3 (t) are not tested. The result does not depend on `n_jobs`, the number of threads.
    """

    def __init__(
        self,
        correlation: FloatArray,
        n_rows: float,
        *,
        statistic: Literal["z", "t"] = "z",
        n_jobs: int | None = None,
    ) -> None:
        self.correlation = np.ascontiguousarray(correlation, dtype=np.float64)
        self.n_variables = len(self.correlation)
        self.n_rows = float(n_rows)
        self.statistic = statistic
        self.n_jobs = n_jobs

    def count_dof(self, size: int) -> float:
        """Return the degrees of freedom of tests given `size` variables; below 1 there is no test."""
        return self.n_rows - size - (3 if self.statistic == "z" else 2)

    def compute_p_values(self, squares: FloatArray, size: int) -> FloatArray:
        """Return the p-values of squared partial correlations given `size` variables."""
        dof = max(self.count_dof(size), 0.0)
        r = np.sqrt(np.minimum(squares, 1.0))
        with np.errstate(divide="ignore"):
            if self.statistic == "z":
                return np.asarray(erfc(np.sqrt(0.5 * dof) * np.arctanh(r)))
            return 2.0 * stdtr(dof, -r * np.sqrt(dof / (1.0 - r * r)))

    def test_row(self, x: int, ys: Sequence[int] | IdArray, z: Sequence[int]) -> TestRow:
        """Test x with each of `ys` given the set `z`."""
        dof = self.count_dof(len(z))
        r = self._correlate(x, np.asarray(ys, dtype=np.intp), np.array([z], dtype=np.intp).reshape(1, -1))[0]
        with np.errstate(divide="ignore"):
            values = np.sqrt(max(dof, 0.0)) * np.arctanh(r) if self.statistic == "z" else r.copy()
        return TestRow(values, np.full(len(r), dof), self.compute_p_values(np.square(r), len(z)), np.abs(r))

    def test_sets(self, x: int, ys: IdArray, sets: IdArray, wanted: BoolMatrix) -> tuple[FloatArray, FloatArray]:
        """Test x with each of `ys` given each of `sets`, see `IndependenceSource.test_sets`."""
        r = np.where(wanted, self._correlate(x, ys, sets), np.nan)
        return self.compute_p_values(np.square(r), sets.shape[1]), np.abs(r)

    def _correlate(self, x: int, ys: IdArray, sets: IdArray) -> FloatArray:
        """Return the partial correlations (m, len(ys)) given m sets; NaN where there is no test."""
        if self.count_dof(sets.shape[1]) < 1:
            return np.full((len(sets), len(ys)), np.nan)
        ends = np.append(x, ys)
        blocks = self.correlation[sets[:, :, None], sets[:, None, :]]
        solved, is_regular = _eliminate(blocks, self.correlation[sets[:, :, None], ends[None, None, :]])
        rest = self.correlation[x, ys] - np.einsum("mk,mke->me", solved[:, :, 0], solved[:, :, 1:])
        variances = 1.0 - np.square(solved).sum(axis=1)
        usable = is_regular[:, None] & (variances[:, :1] >= LEAST_VARIANCE) & (variances[:, 1:] >= LEAST_VARIANCE)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = rest / np.sqrt(variances[:, :1] * variances[:, 1:])
        return np.where(usable, np.clip(ratios, -1.0, 1.0), np.nan)

    def run_level(
        self,
        adjacent: BoolMatrix,
        size: int,
        *,
        significance_level: float,
        evidence: Evidence,
        tiers: IdArray | None = None,
        should_stop: Callable[[], bool] | None = None,
        pools: SetPools | None = None,
    ) -> int:
        """Test each adjacent pair given all sets of `size` neighbours, see `IndependenceSource.run_level`."""
        if self.count_dof(size) < 1:
            return 0
        if size == 0:
            return self._test_pairs(adjacent, evidence, should_stop) if pools is None else 0
        members = adjacent if pools is None else pools.members & adjacent.any(axis=1, keepdims=True)
        rows, neighbours = (np.ascontiguousarray(ids) for ids in np.nonzero(members))
        starts = np.zeros(self.n_variables + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=self.n_variables), out=starts[1:])
        best, sets = np.full(len(rows), 2.0), np.zeros((len(rows), size), dtype=np.int64)
        find = partial(
            find_least_correlations,
            self.correlation,
            np.ascontiguousarray(adjacent).view(np.uint8),
            starts,
            neighbours.astype(np.int64, copy=False),
            None if tiers is None else np.asarray(tiers, dtype=np.int64),
            size,
        )
        limits = () if pools is None else (members.view(np.uint8), pools.tested.view(np.uint8))
        n_tests = 0
        n_threads = count_threads(self.n_jobs)
        for turn in _split_work(np.diff(starts), size, n_threads):
            calls = [partial(find, first, last, best, sets, *limits) for first, last in turn]
            n_tests += sum(call_on_threads(calls, self.n_jobs) if len(calls) > 1 else [calls[0]()])
            if should_stop is not None and should_stop():
                break
        if pools is not None:
            is_pair = adjacent[rows, neighbours]
            rows, neighbours, best, sets = rows[is_pair], neighbours[is_pair], best[is_pair], sets[is_pair]
        self._merge_ends(rows, neighbours, best, sets, evidence)
        return n_tests

    def _test_pairs(self, adjacent: BoolMatrix, evidence: Evidence, should_stop: Callable[[], bool] | None) -> int:
        """Test the pairs without a condition, some rows of the matrix at a time."""
        n, n_tests = self.n_variables, 0
        step = max(1, _BLOCK // max(n, 1))
        for first in range(0, n, step):
            if should_stop is not None and should_stop():
                break
            part = slice(first, first + step), slice(first, None)  # on and right of the diagonal
            wanted = np.triu(adjacent[part], 1)
            p_values = self.compute_p_values(np.square(self.correlation[part]), 0)
            p_values *= wanted
            block = evidence.p_values[part]
            np.maximum(block, p_values, out=block)
            n_tests += int(np.count_nonzero(wanted))
        return n_tests

    def _merge_ends(
        self, rows: IdArray, neighbours: IdArray, best: FloatArray, sets: IdArray, evidence: Evidence
    ) -> None:
        """Add the better of the two ends of each pair to the evidence."""
        n, is_low = self.n_variables, rows < neighbours
        keys = rows[is_low] * n + neighbours[is_low]  # ascending, since rows and neighbours are
        place = np.searchsorted(keys, neighbours[~is_low] * n + rows[~is_low])
        low, high = np.flatnonzero(is_low), np.empty(len(keys), dtype=np.intp)
        high[place] = np.flatnonzero(~is_low)
        use_high = best[high] < best[low]
        for k in np.flatnonzero((best[high] == best[low]) & (best[low] < 2.0)).tolist():
            use_high[k] = sets[high[k]].tolist() < sets[low[k]].tolist()
        chosen = np.where(use_high, high, low)
        chosen = chosen[best[chosen] < 2.0]
        pairs = np.column_stack(
            [np.minimum(rows[chosen], neighbours[chosen]), np.maximum(rows[chosen], neighbours[chosen])]
        )
        evidence.add_level(pairs, sets[chosen], self.compute_p_values(best[chosen], sets.shape[1]))


def _eliminate(blocks: FloatArray, right: FloatArray) -> tuple[FloatArray, BoolMatrix]:
    """Return L^-1 times `right` for the Cholesky factors L of m blocks, and whether their pivots are large enough."""
    is_regular = np.ones(len(blocks), dtype=bool)
    for k in range(blocks.shape[1]):
        pivots = blocks[:, k, k]
        is_regular &= pivots >= LEAST_PIVOT
        scale = 1.0 / np.sqrt(np.where(is_regular, pivots, 1.0))[:, None]
        right[:, k] *= scale
        factors = blocks[:, k + 1 :, k] * scale
        right[:, k + 1 :] -= factors[:, :, None] * right[:, k, None]
        blocks[:, k + 1 :, k + 1 :] -= factors[:, :, None] * factors[:, None, :]
    return right, is_regular


def _split_work(degrees: IdArray, size: int, n_threads: int) -> list[list[tuple[int, int]]]:
    """Split the variables into turns of about `_TURN` operations, and each turn into ranges, a few per thread."""
    costs = np.array([min(comb(d, size) * d, 1 << 60) if d > size else 0 for d in degrees.tolist()], dtype=float)
    total = costs.sum()
    limit = min(_TURN, total / (4 * n_threads) if n_threads > 1 else inf)
    ends, spent = [0], 0.0
    for x, cost in enumerate(costs.tolist()):
        spent += cost
        if spent >= limit or x == len(costs) - 1:
            ends.append(x + 1)
            spent = 0.0
    ranges = list(pairwise(ends))
    per_turn = max(1, 4 * n_threads) if n_threads > 1 else 1
    return [ranges[k : k + per_turn] for k in range(0, len(ranges), per_turn)]
