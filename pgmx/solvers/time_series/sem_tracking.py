"""Structural equations that change: a likelihood with forgetting and restarts, and recursive least squares.

`LikelihoodTracker` restarts if a window contradicts its equations. `RecursiveTracker` is the tracker of the thesis, for
known powers.
"""

from functools import partial

import numpy as np
from scipy.linalg import eigh
from scipy.stats import chi2

from pgmx.parallel.threads import call_on_threads
from pgmx.solvers.time_series.sem_likelihood import (
    Coefficients,
    SecondMoments,
    Separation,
    assign_rows,
    compute_pair_variances,
    compute_standard_errors,
    evaluate,
    find_proportional,
    read_coefficients,
    sweep_pairs,
    sweep_rows,
)

#: A window whose weight has fallen to this share is dropped. Above this number of windows the oldest two are added,
#: since the sum of two windows satisfies the same equations.
LEAST_WEIGHT, MOST_WINDOWS = 1e-3, 128

#: Probability of a false restart in a window, for each of the two tests.
LEVEL = 1e-6

#: Maximum number of sweeps per window until the equations have settled, and the gain of the likelihood per row at which
#: they end.
MOST_SWEEPS, TOLERANCE = 8, 1e-9

#: Number of windows after a restart at which the new equations replace the old ones, even if inputs are still
#: proportional.
PATIENCE = 20

#: The inverse of Σ β^(m−l) p_l p_l' starts as this value times the identity (remark 4).
FIRST_INVERSE = 10.0


class LikelihoodTracker:
    """The equations of the newest windows, by a few Newton sweeps per window on second moments with decreasing weights.

    State: second moments of at most min(log 10⁻³ / log β, 128) windows, O(N²) each; time O(sweeps · windows · N³) per
    window.
    """

    def __init__(self, n_series: int, forgetting: float, sweeps: int, detect: bool):
        self.forgetting, self.sweeps, self.detect = forgetting, sweeps, detect
        self.history = SecondMoments(np.empty((0, n_series, n_series)), np.empty(0), np.empty((0, n_series)))
        self.lengths = np.empty(0)  # rows of the windows, unweighted
        self.point: Separation | None = None
        self.reported: Coefficients | None = None
        self.settled = False  # whether the equations of the history are reported
        self.restarts: list[int] = []
        self.n_windows = 0

    def add(self, moment: np.ndarray, n_rows: int, powers: np.ndarray) -> None:
        """Add a window: its second moments (N, N), its rows, and the powers of its inputs (N,), NaN if unknown."""
        contradicted = self.detect and len(self.lengths) > 0 and self._is_contradicted(moment, n_rows)
        if self.settled and contradicted:
            self.restarts.append(self.n_windows)
            self.history = SecondMoments(*(part[:0] for part in self.history))
            self.lengths = self.lengths[:0]
            self.settled = False
        self.n_windows += 1
        self._append(moment, n_rows, powers)
        self._sweep()
        assert self.point is not None
        if not self.settled:
            agrees = self.converged and not contradicted
            n_since = self.n_windows - (self.restarts[-1] if self.restarts else 0)
            self.settled = n_since >= PATIENCE or (agrees and self._is_better())
        if self.settled or not self.restarts:
            self.reported = read_coefficients(self.history, self.point)

    def find_proportional(self) -> np.ndarray:
        """Return whether each pair of inputs is nearly proportional over the weighted windows, bool (N, N)."""
        assert self.point is not None
        return find_proportional(self.history, self.point)

    def _append(self, moment, n_rows, powers) -> None:
        weights = np.append(self.history.n_rows * self.forgetting, float(n_rows))
        self.lengths = np.append(self.lengths, float(n_rows))
        moments = np.concatenate([self.history.moments, moment[None]])
        powers = np.concatenate([self.history.powers, powers[None]])
        keep = weights >= LEAST_WEIGHT * self.lengths
        keep[-1] = True
        moments, weights, powers, self.lengths = moments[keep], weights[keep], powers[keep], self.lengths[keep]
        if len(weights) > MOST_WINDOWS:
            shares = weights[:2] / weights[:2].sum()
            moments[1], powers[1] = np.tensordot(shares, moments[:2], 1), shares @ powers[:2]
            weights[1], self.lengths[1] = weights[:2].sum(), self.lengths[:2].sum()
            moments, weights, powers, self.lengths = moments[1:], weights[1:], powers[1:], self.lengths[1:]
        self.history = SecondMoments(*map(np.ascontiguousarray, (moments, weights, powers)))

    def _sweep(self) -> None:
        """Update W with the newest windows; until the equations have settled with as many sweeps as needed."""
        history = self.history
        rows = np.diag(1.0 / history.scales) if self.point is None else self.point.rows
        if not self.settled:
            rows = sweep_rows(history, rows, 1)
        point = evaluate(history, rows)
        memory: list = []
        for _ in range(self.sweeps if self.settled else MOST_SWEEPS):
            point, gain = sweep_pairs(history, point, memory)
            if gain <= TOLERANCE:
                break
        self.converged = gain <= TOLERANCE
        if not np.isfinite(history.powers).all():
            order = assign_rows(point.rows, np.einsum("mii->mi", point.products), history)
            if (order != np.arange(len(order))).any():
                point = evaluate(history, point.rows[order])
        self.point = point

    def _is_better(self) -> bool:
        """Return whether the new equations are identifiable and differ from the old by more than their errors."""
        assert self.point is not None
        if find_proportional(self.history, self.point).any():
            return False
        if not self.restarts or self.reported is None:
            return True
        units = self.history.scales / self.history.scales[:, None]
        errors = compute_standard_errors(self.history, self.point) * units
        change = (read_coefficients(self.history, self.point).matrix - self.reported.matrix) * units
        return bool(2.0 * (errors**2).sum() <= (change**2).sum())

    def _is_contradicted(self, moment: np.ndarray, n_rows: int) -> bool:
        """Test whether the inputs W y of a window are uncorrelated, by the sum over all pairs and by the largest pair.

        The variance of (W R W')_ij is the variance for uncorrelated inputs plus the contribution of the errors of W.
        """
        assert self.point is not None
        innovation = self.point.rows @ moment @ self.point.rows.T
        own = np.diag(innovation)
        variances, covariances = compute_pair_variances(self.history, self.point)
        # for weighted windows: sum of squared weights over rows instead of the sum of weights
        weights = self.history.n_rows
        excess = float((weights**2 / self.lengths).sum() / weights.sum())
        first = variances * own**2
        total = excess * (first + first.T + 2.0 * covariances * np.outer(own, own)) + np.outer(own, own) / n_rows
        upper = np.triu_indices(len(own), 1)
        statistics = innovation[upper] ** 2 / total[upper]
        n_pairs = len(statistics)
        if not n_pairs:
            return False
        return bool(chi2.sf(statistics.sum(), n_pairs) < LEVEL or n_pairs * chi2.sf(statistics.max(), 1) < LEVEL)


class RecursiveTracker:
    """Algorithm 5b: H_m by recursive least squares, leading eigenvectors of its slices, then A by proposition 3.

    H ← H + (vec R − H p) k' with k = W p / (β + p'W p) costs O(N³), and the eigenvectors O(N⁴). State: N³ values.
    """

    def __init__(self, n_series: int, forgetting: float):
        self.forgetting = forgetting
        self.slices = np.zeros((n_series, n_series, n_series))  # [i]: H_i, close to a_i a_i'
        self.inverse = np.eye(n_series) * FIRST_INVERSE
        self.reported: Coefficients | None = None
        self.restarts: list[int] = []
        self.settled = True
        self.n_windows = 0

    def add(self, moment: np.ndarray, n_rows: int, powers: np.ndarray) -> None:
        """Add a window: its second moments (N, N) and the powers of its inputs (N,)."""
        self.n_windows += 1
        n = len(moment)
        direction = self.inverse @ powers
        step = direction / (self.forgetting + powers @ direction)
        error = moment - (powers @ self.slices.reshape(n, n * n)).reshape(n, n)
        self.slices += step[:, None, None] * error
        self.inverse = (self.inverse - np.outer(step, direction)) / self.forgetting
        self.reported = self._read(powers)

    def find_proportional(self) -> np.ndarray:
        """Return no pair: recursive least squares do not use this test."""
        return np.zeros(self.inverse.shape, dtype=bool)

    def _read(self, powers: np.ndarray) -> Coefficients:
        """Return A and B: column i of (I − A)⁻¹ B is the leading eigenvector of H_i times the root of its eigenvalue.

        H_i may have negative eigenvalues until there are many windows. The leading eigenvalue is the largest with its
        sign, which gives the best positive semidefinite matrix of rank one. The lengths of the columns have no effect
        on A.
        """
        last = len(powers) - 1
        calls = [partial(eigh, one, subset_by_index=[last, last], check_finite=False) for one in self.slices]
        values, columns = (np.hstack(part) for part in zip(*call_on_threads(calls, None), strict=True))
        rows = np.linalg.pinv(columns)
        own = np.diag(rows)
        own = np.where(own == 0.0, np.inf, own)  # no equation for this series yet: zeros
        matrix = -rows / own[:, None]
        np.fill_diagonal(matrix, 0.0)
        gains = np.sqrt(np.maximum(values, 0.0)) / np.abs(own)
        return Coefficients(matrix, gains, powers[None])
