"""The functions of an additive model of series, and their values for other rows."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pgmx.data.series import Panel
from pgmx.solvers.time_series.kernel_blocks import KernelBlocks


@dataclass(frozen=True, eq=False)
class Term:
    """The functions of one lag, series and kernel: `weights` (r, m) of the `targets` (m,) on the columns of a block."""

    lag: int
    source: int
    blocks: KernelBlocks
    block: int
    targets: np.ndarray
    weights: np.ndarray

    def evaluate(self, values: np.ndarray) -> np.ndarray:
        """Return the functions at values of the series, (T, m)."""
        return self.blocks.extend(self.block, values) @ self.weights


@dataclass(frozen=True, eq=False)
class AdditiveTerms:
    """Targets as an intercept (N,), exogenous columns times coefficients (N, K), and terms, in standardised units."""

    lags: int
    terms: tuple[Term, ...]
    intercept: np.ndarray
    exogenous: np.ndarray

    def evaluate_segment(self, segment: np.ndarray, exogenous: np.ndarray) -> np.ndarray:
        """Return the values (T_s - L, N) of the targets of one segment (T_s, N), exogenous rows (T_s, K)."""
        n_targets = len(segment) - self.lags
        values = np.tile(self.intercept, (n_targets, 1))
        if exogenous.shape[1]:
            values += exogenous[self.lags :] @ self.exogenous.T
        for term in self.terms:
            begin = self.lags - term.lag
            values[:, term.targets] += term.evaluate(segment[begin : begin + n_targets, term.source])
        return values

    def evaluate(self, panel: Panel) -> np.ndarray:
        """Return the values (T', N) of all targets of a panel."""
        return np.concatenate(
            [
                self.evaluate_segment(segment, exogenous)
                for segment, exogenous in zip(panel.segments, panel.exogenous, strict=True)
                if len(segment) > self.lags
            ]
        )


def make_terms(blocks: KernelBlocks, weights: np.ndarray, targets: np.ndarray) -> Iterable[Term]:
    """Yield the terms whose weights (m, F) of the targets (m,) are not all zero; the columns are discarded."""
    light = blocks.drop_columns()
    for b in range(blocks.n_blocks):
        part = weights[:, blocks.starts[b] : blocks.starts[b + 1]]
        used = np.flatnonzero(part.any(axis=1))
        if len(used):
            lag, source = int(blocks.lags[b]), int(blocks.sources[b])
            yield Term(lag, source, light, b, targets[used], np.ascontiguousarray(part[used].T))


def read_lines(terms: Iterable[Term], shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return the slopes (L + 1, N, N) [lag, target, source] of linear terms, and the sums of their values at zero."""
    slopes, shift = np.zeros(shape), np.zeros(shape[1])
    for term in terms:
        at_zero, at_one = term.evaluate(np.array([0.0, 1.0]))
        slopes[term.lag, term.targets, term.source] += at_one - at_zero
        shift[term.targets] += at_zero
    return slopes, shift
