"""Vector autoregressions that change: a triangular factor of weighted rows, which restarts after a change."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.linalg import get_lapack_funcs, solve_triangular
from scipy.special import fdtrc

from pgmx.solvers.time_series.group_lasso import GroupLassoProblem

dtpqrt, dtpmqrt = get_lapack_funcs(("tpqrt", "tpmqrt"), dtype=np.float64)

#: Number of rows that are added to the factor at once. The blocks are counted from the first row.
BLOCK = 32

#: Probability, in each row, that a cumulative sum of excesses over `DRIFT` reaches the limit without a change. A single
#: row adds at most `MOST_EXCESS`, so that a few outliers do not cause a restart.
LEVEL, DRIFT, MOST_EXCESS = 1e-6, 2.0, 6.0

#: The positive solution of 1 / (1 − θ) = exp(DRIFT θ): the sums of Exp(1) − DRIFT exceed h with probability exp(−θ h).
_DECAY = 0.7968121300200199
LIMIT = -np.log(LEVEL) / _DECAY

#: Number of rows after which a sum that has not reached the limit starts again.
MOST_SUSPECTS = 256

#: Penalty of the forecasts whose errors are tested, per row or per column, whichever are fewer.
RIDGE = 0.02


class Columns(NamedTuple):
    """The columns of a row: a constant, features of the past, features of the present, and the series.

    `starts` (B + 1,) are the first columns of the blocks of features, `n_lagged` of which are of the past. If
    `targets_are_features`, the series themselves are the features of the present, and have no further columns.
    """

    starts: np.ndarray
    n_lagged: int
    n_series: int
    targets_are_features: bool

    @property
    def n_past(self) -> int:
        """Number of columns of the past, with the constant."""
        return int(self.starts[self.n_lagged])

    @property
    def n_features(self) -> int:
        """Number of columns that can be regressors, with the constant."""
        return int(self.starts[-1])

    @property
    def width(self) -> int:
        """Number of all columns."""
        return self.n_features if self.targets_are_features else self.n_features + self.n_series


class TrackedProblem(NamedTuple):
    """The regressions of the weighted rows: a group lasso or ridge in rotated columns of total square Σ β^(t−s).

    `rotations` per block (r, r) give the columns from centred features, `scales` (N,) the weighted standard deviations
    of the series; `means` (p,) are the weighted means of all columns.
    """

    problem: GroupLassoProblem
    rotations: tuple[np.ndarray, ...]
    scales: np.ndarray
    means: np.ndarray


class FactorTracker:
    r"""The triangular factor R of weighted rows z = (1, features, series), R'R = Σ β^(t−s) z_s z_s', and its restarts.

    A block of rows takes one QR decomposition, O(p²) per row. If the forecast errors of recent rows are larger than the
    previous ones (cumulative sums of the −ln p of their F statistics), R restarts from the rows since the change.
    """

    def __init__(self, columns: Columns, forgetting: float, detect: bool):
        self.columns, self.forgetting, self.detect = columns, forgetting, detect
        self.restarts: list[int] = []
        self._restart()

    def _restart(self) -> None:
        width, n = self.columns.width, self.columns.n_series
        self.factor = np.zeros((width, width), order="F")
        self.weight = 0.0  # Σ β^(t−s)
        self.errors = np.zeros((n, n))  # Σ β^(t−s) e_s e_s' of standardised forecast errors
        self.error_weight = self.error_squares = 0.0  # Σ β^(t−s), Σ β^(2(t−s))
        self.excess = 0.0
        self.suspects = np.zeros((0, width))  # rows since the excess was last zero
        self.suspect_places: list[int] = []

    def copy(self) -> "FactorTracker":
        """Return a tracker with the same state, which changes on its own."""
        other = object.__new__(FactorTracker)
        vars(other).update(vars(self))
        other.restarts = list(self.restarts)
        return other

    def add(self, rows: np.ndarray, places: np.ndarray) -> None:
        """Add one block of rows (m, p), with their positions in the stream (m,)."""
        begin = self._test(rows, places) if self.detect and self.weight >= BLOCK * self.forgetting**BLOCK else 0
        self._absorb(rows[begin:])

    def _test(self, rows: np.ndarray, places: np.ndarray) -> int:
        """Test the forecasts of a block. After a change restart from the rows since, and return their end in it."""
        errors, n = self._forecast(rows), self.columns.n_series
        freedom = self.error_weight**2 / self.error_squares - n + 1.0 if self.error_weight else 0.0
        if freedom > n + 10.0:
            solved = np.linalg.lstsq(self.errors / self.error_weight, errors.T, rcond=None)[0]
            statistics = np.einsum("mn,nm->m", errors, solved) * freedom / (n * (freedom + n - 1.0))
            chances = fdtrc(n, freedom, np.maximum(statistics, 0.0))
            scores = np.minimum(-np.log(np.maximum(chances, 1e-300)), MOST_EXCESS)
            for k, score in enumerate(scores.tolist()):
                self.excess = max(self.excess + score - DRIFT, 0.0)
                if not self.excess:
                    self.suspects, self.suspect_places = self.suspects[:0], []
                    continue
                self.suspects = np.vstack([self.suspects, rows[k]])
                self.suspect_places = [*self.suspect_places, int(places[k])]
                if len(self.suspects) == MOST_SUSPECTS:
                    self.excess = 0.0
                if self.excess > LIMIT:
                    suspects, first = self.suspects, self.suspect_places[0]
                    self._restart()
                    self.restarts.append(first)
                    self._absorb(suspects)
                    return k + 1
        weights = self.forgetting ** np.arange(len(rows) - 1, -1, -1.0)
        decay = self.forgetting ** len(rows)
        self.errors = decay * self.errors + (errors * weights[:, None]).T @ errors
        self.error_weight = decay * self.error_weight + weights.sum()
        self.error_squares = decay**2 * self.error_squares + (weights**2).sum()
        return 0

    def _forecast(self, rows: np.ndarray) -> np.ndarray:
        """Return the errors (m, N) of forecasts from the past by ridge regression.

        Errors are not divided by their standard deviations, which the ridge does not give while rows are few. They
        shrink then, so that the test is conservative.
        """
        q, n = self.columns.n_past, self.columns.n_series
        starts = self.columns.starts[: self.columns.n_lagged + 1]
        squares = np.einsum("ij,ij->j", self.factor[1:q, :q], self.factor[1:q, :q])[1:]
        traces = np.add.reduceat(squares, starts[:-1] - 1) / self.weight
        penalties = RIDGE * min(q, self.weight) * np.where(traces > 1e-12, traces, 1.0)
        ridge = np.asfortranarray(np.diag(np.sqrt(np.append(0.0, np.repeat(penalties, np.diff(starts))))))
        size = min(32, q)
        first = np.asfortranarray(self.factor[:q, :q])
        triangle, reflectors, t, _ = dtpqrt(q, size, first, ridge, overwrite_a=1, overwrite_b=1)
        products = np.asfortranarray(self.factor[:q, -n:])
        zeros = np.zeros((q, n), order="F")
        products = dtpmqrt(q, reflectors, t, products, zeros, side="L", trans="T")[0]
        return rows[:, -n:] - rows[:, :q] @ solve_triangular(triangle, products, check_finite=False)

    def _absorb(self, rows: np.ndarray) -> None:
        if not len(rows):
            return
        weights = self.forgetting ** np.arange(len(rows) - 1, -1, -1.0)
        scaled = np.asfortranarray(rows * np.sqrt(weights)[:, None])
        factor = self.forgetting ** (0.5 * len(rows)) * self.factor
        self.factor = dtpqrt(0, min(32, len(factor)), factor, scaled, overwrite_a=1, overwrite_b=1)[0]
        self.weight = self.forgetting ** len(rows) * self.weight + weights.sum()

    def make_problem(self) -> TrackedProblem:
        """Return the regressions of all series, none on its own present."""
        columns, n, root = self.columns, self.columns.n_series, np.sqrt(self.weight)
        inner = self.factor[1:]
        targets = inner[:, -n:].T / root
        spreads = np.sqrt(np.einsum("nt,nt->n", targets, targets))
        scales = np.where(spreads > 1e-6, spreads, 1.0)
        features = np.empty((len(inner), columns.n_features - 1))
        rotations = []
        for begin, end in pairwise(columns.starts.tolist()):
            block = inner[:, begin:end]
            values, vectors = np.linalg.eigh(block.T @ block)
            trace = values.sum() / self.weight
            rotation = vectors[:, ::-1] * (trace**-0.5 if trace > 1e-12 else 0.0)
            features[:, begin - 1 : end - 1] = block @ rotation
            rotations.append(rotation)
        blocks = np.arange(len(rotations))
        is_own = (blocks >= columns.n_lagged) & ((blocks - columns.n_lagged) % n == np.arange(n)[:, None])
        varies = np.array([bool(rotation.any()) for rotation in rotations])
        problem = GroupLassoProblem(
            features,
            columns.starts - 1,
            np.ascontiguousarray(inner[:, -n:].T) / scales[:, None],
            ~is_own & varies & (spreads > 1e-6)[:, None],
        )
        return TrackedProblem(problem, tuple(rotations), scales, self.factor[0] / self.factor[0, 0])
