"""Series with lags as a linear problem, in the units in which it is solved."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from pgmx.data.series import Panel
from pgmx.estimators.time_series.knowledge import LaggedKnowledge
from pgmx.statistics.lagged import LaggedMoments, compute_lagged_moments, make_lagged_design


@dataclass(frozen=True, eq=False)
class LDSProblem:
    """Predict x_t from x_{t-1}, ..., x_{t-L}, exogenous columns and, with `has_intercept`, a constant.

    `panel` holds the series in the units of the solver: divided by `scales` under standardize, and less `shifts` where
    there is an intercept. It is None where the series came in pieces: then only `moments` are there.
    """

    names: tuple
    lags: int
    has_intercept: bool
    scales: np.ndarray
    shifts: np.ndarray
    knowledge: LaggedKnowledge
    panel: Panel | None
    n_exogenous: int = 0
    summed: LaggedMoments | None = field(default=None, repr=False)

    @property
    def n_series(self) -> int:
        """N."""
        return len(self.names)

    @property
    def n_lagged(self) -> int:
        """Lagged predictors: L N; the columns behind them, exogenous and constant, are never penalised."""
        return self.lags * self.n_series

    @cached_property
    def moments(self) -> LaggedMoments:
        """Cross-products of predictors and targets: (P, P) with P = L N + K [+ 1]."""
        if self.panel is None:
            assert self.summed is not None
            return self.summed
        return compute_lagged_moments(self.panel, self.lags, intercept=self.has_intercept)

    @property
    def n_targets(self) -> int:
        """T', the rows that are predicted."""
        return self.moments.n_targets if self.panel is None else self.panel.count_targets(self.lags)

    @cached_property
    def design(self) -> tuple[np.ndarray, np.ndarray]:
        """Predictors (T', P) and targets (T', N)."""
        assert self.panel is not None
        return make_lagged_design(self.panel, self.lags, intercept=self.has_intercept)

    def make_mask(self) -> np.ndarray | None:
        """Return bool (N, P), False for predictors that are forbidden; None where none is."""
        if not len(self.knowledge.forbidden):
            return None
        mask = np.ones((self.n_series, self.n_lagged + self.n_exogenous + self.has_intercept), dtype=bool)
        lag, target, source = self.knowledge.forbidden.T
        mask[target, (lag - 1) * self.n_series + source] = False
        return mask


class LDSSolution(NamedTuple):
    """What a solver returns, in its units: coefficients of lag 1, lag 2, ..., (N, N) [target, source], dense or csr.

    `exogenous` is (N, K), `intercept` (N,). `residual_gram` is the cross-products of the residuals, (N, N), or their
    diagonal (N,) where no N x N array may be made.
    """

    coefficients: tuple[np.ndarray | csr_array, ...]
    exogenous: np.ndarray
    intercept: np.ndarray
    residual_gram: np.ndarray


def split_coefficients(problem: LDSProblem, stacked: np.ndarray, residual_gram: np.ndarray) -> LDSSolution:
    """Return the solution of dense coefficients (P, N), predictors in rows."""
    n, lagged = problem.n_series, problem.n_lagged
    behind = lagged + problem.n_exogenous
    return LDSSolution(
        tuple(np.ascontiguousarray(stacked[lag * n : (lag + 1) * n].T) for lag in range(problem.lags)),
        np.ascontiguousarray(stacked[lagged:behind].T),
        stacked[behind].copy() if problem.has_intercept else np.zeros(n),
        residual_gram,
    )
