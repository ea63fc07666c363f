"""Structural equations y = A y + B x from the second moments of windows with different powers of the inputs x.

Maximum likelihood with all, some or no powers known; the assignment of separated inputs to series; coefficients, their
standard errors, and which pairs of inputs the data can distinguish.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import linear_sum_assignment
from scipy.stats import chi2

from pgmx.parallel.threads import call_on_threads

#: Number of row-by-row sweeps before the Newton sweeps, which need a start near an optimum.
ROW_SWEEPS = 1

#: Seconds per M N³ of the products W R_m W'.
PRODUCT_SECONDS = 1e-10

#: Rows of a sweep whose matrices V_i are computed by one product.
BLOCK = 16

#: Smallest value of 1 − 1/(h_ij h_ji) in a Newton step, so that steps of nearly proportional inputs are bounded.
LEAST_CURVATURE = 1e-3

#: Number of previous steps that correct the Hessian of the pairs.
MOST_STEPS = 8

#: Sufficient increase of the line search, divisor of its steps, and shortest step.
INCREASE, SHORTER, SHORTEST = 1e-4, 5.0, 1e-6

#: Condition number above which rows with some entries set to 0 are not used as a start.
WORST_CONDITION = 1e8

#: Difference of likelihoods per row that counts as rounding error.
SAME_LIKELIHOOD = 1e-9

#: Maximum number of changes of the assignment of inputs to series; each is kept only if the likelihood does not fall.
MOST_ASSIGNMENTS = 5

#: Smallest L (h_ij h_ji − 1) of a distinguishable pair of known inputs: a standard error of 1/√20 of e_ij.
LEAST_INFORMATION = 20.0

#: Probability that any pair of proportional unknown inputs passes; and the mean of L (h_ij h_ji − 1) of such pairs per
#: degree of freedom: 4 for given rows of W, more for rows that maximise the likelihood.
LEVEL, BY_CHANCE = 0.01, 5.0


class SecondMoments(NamedTuple):
    """Second moments of the windows, and known powers of the inputs."""

    moments: np.ndarray  # (M, N, N): mean of y y' in each window
    n_rows: np.ndarray  # (M,): rows of each window, or their weights
    powers: np.ndarray  # (M, N): mean squares of the inputs, NaN if unknown

    @property
    def shares(self) -> np.ndarray:
        """Weights of the windows, which sum to 1, shape (M,)."""
        return self.n_rows / self.n_rows.sum()

    @property
    def scales(self) -> np.ndarray:
        """Root mean squares of the series over all windows, shape (N,)."""
        return np.sqrt(self.shares @ np.einsum("mii->mi", self.moments))

    def rescale(self, scales: np.ndarray) -> "SecondMoments":
        """Return the moments of the series divided by `scales`, shape (N,)."""
        return self._replace(moments=self.moments / scales[:, None] / scales)


def gather_moments(windows: Sequence[np.ndarray], powers: np.ndarray) -> SecondMoments:
    """Return the second moments of windows of rows (L_m, N), as in eq. 4.8."""
    moments = np.stack([window.T @ window / len(window) for window in windows])
    return SecondMoments(moments, np.array([len(window) for window in windows], dtype=float), powers)


def cut_windows(lengths: Sequence[int], window: int) -> list[np.ndarray]:
    """Return the ends of the windows of each segment; rows after the last complete window belong to that window."""
    return [np.append(np.arange(1, max(1, length // window)) * window, length) for length in lengths]


class Separation(NamedTuple):
    """Rows W with W y = x, at one point of the likelihood."""

    rows: np.ndarray  # (N, N): W = B⁻¹ (I − A); the mean power of a completely unknown input is 1
    products: np.ndarray  # (M, N, N): W R_m W'
    powers: np.ndarray  # (M, N): known powers, or the diagonals of W R_m W'
    log_likelihood: float  # mean per row, without the constant −N/2 log 2π


class Optimum(NamedTuple):
    """The maximum of the likelihood."""

    separation: Separation
    n_iter: int  # Newton sweeps
    converged: bool


def maximise_likelihood(
    data: SecondMoments,
    *,
    start: np.ndarray | None = None,
    tol: float = 1e-12,
    max_iter: int = 200,
    record: Callable[[Separation], bool] | None = None,
    allowed: np.ndarray | None = None,
) -> Optimum:
    """Maximise log|det W| − ½ Σ_m p_m Σ_i (log r_mi + w_i'R_m w_i / r_mi) over W and the unknown r.

    It ends if the expected gain per row of a sweep is below `tol`, or `record` returns True after a sweep. Without a
    start (N, N), a row sweep, O(N⁴ + M N³), starts from the identity divided by the deviations of the series. Newton
    sweeps follow, O(M N³). If `allowed`, bool (N, N), is given, row sweeps with W = 0 for its False entries follow.
    """
    if start is None:
        start = sweep_rows(data, np.diag(1.0 / data.scales), ROW_SWEEPS)
    best = _climb(data, start, tol, max_iter, record)
    for _ in range(MOST_ASSIGNMENTS):
        order = assign_rows(best.separation.rows, np.einsum("mii->mi", best.separation.products), data)
        if (order == np.arange(len(order))).all():
            break
        tried = _climb(data, best.separation.rows[order], tol, max_iter, record)
        # unknown inputs can be exchanged at the same likelihood to get a larger diagonal
        if tried.separation.log_likelihood < best.separation.log_likelihood - SAME_LIKELIHOOD:
            break
        best = Optimum(tried.separation, best.n_iter + tried.n_iter, tried.converged)
    if allowed is None or allowed.all():
        return best
    return _climb_within(data, best, allowed, tol, max_iter, record)


def evaluate(data: SecondMoments, rows: np.ndarray) -> Separation:
    """Return W with the best scale of each row, and the likelihood there."""
    is_known = np.isfinite(data.powers)
    shares = data.shares
    products = np.empty_like(data.moments)

    def transform(m: int) -> None:
        np.matmul(rows @ data.moments[m], rows.T, out=products[m])

    n_windows, n, _ = products.shape
    seconds = PRODUCT_SECONDS * n_windows * n**3
    call_on_threads([partial(transform, m) for m in range(n_windows)], None, seconds)
    own = np.einsum("mii->mi", products)
    weight = shares @ is_known
    ratio = shares @ np.where(is_known, own / np.where(is_known, data.powers, 1.0), 0.0)
    scale = np.where(weight > 0, np.sqrt(weight / np.where(weight > 0, ratio, 1.0)), 1.0 / np.sqrt(shares @ own))
    rows = rows * scale[:, None]
    products *= scale[:, None] * scale
    own = np.einsum("mii->mi", products)
    powers = np.where(is_known, data.powers, own)
    log_likelihood = np.linalg.slogdet(rows)[1] - 0.5 * shares @ (own / powers + np.log(powers)).sum(axis=1)
    return Separation(rows, products, powers, float(log_likelihood))


def measure_fit(data: SecondMoments, rows: np.ndarray) -> float:
    """Return the log-likelihood of windows under W as it is, with the best unknown powers; per row, no constant."""
    own = np.einsum("ij,mjk,ik->mi", rows, data.moments, rows, optimize=True)
    powers = np.where(np.isfinite(data.powers), data.powers, own)
    spread = (own / powers + np.log(powers)).sum(axis=1)
    return float(np.linalg.slogdet(rows)[1] - 0.5 * data.shares @ spread)


def sweep_rows(data: SecondMoments, rows: np.ndarray, n_sweeps: int, allowed: np.ndarray | None = None) -> np.ndarray:
    """Set each row in turn to its optimum V_i⁻¹ W⁻¹ e_i, scaled to w_i'V_i w_i = 1; the likelihood never falls.

    With `allowed` each row is 0 except its allowed entries, and V_i and W⁻¹ e_i are restricted to these. V_i = Σ_m p_m
    R_m / r_mi, with unknown powers from the previous row. W⁻¹ is updated by the Sherman-Morrison formula: O(N²) per row
    in addition to the solution with V_i.
    """
    rows = rows.copy()
    inverse = np.linalg.inv(rows)
    n = len(rows)
    flat = data.moments.reshape(len(data.moments), n * n)
    for _ in range(n_sweeps):
        own = ((data.moments @ rows.T) * rows.T).sum(axis=1)
        weights = data.shares[:, None] / np.where(np.isfinite(data.powers), data.powers, own)
        for start in range(0, n, BLOCK):
            weighted = (weights[:, start : start + BLOCK].T @ flat).reshape(-1, n, n)
            for i, matrix in enumerate(weighted, start):
                column = inverse[:, i].copy()
                free: Any = slice(None) if allowed is None else np.flatnonzero(allowed[i])
                part = matrix if allowed is None else matrix[np.ix_(free, free)]
                row = np.zeros(n)
                row[free] = cho_solve(
                    cho_factor(part, overwrite_a=True, check_finite=False), column[free], check_finite=False
                )
                row /= np.sqrt(column @ row)
                change = (row - rows[i]) @ inverse
                inverse -= np.outer(column / (1.0 + change[i]), change)
                rows[i] = row
    return rows


def sweep_pairs(data: SecondMoments, point: Separation, memory: list | None = None) -> tuple[Separation, float]:
    """Make a Newton step W ← (I + E) W in all pairs (e_ij, e_ji) at once; also return the expected gain per row.

    If W R_m W' is diagonal, the Hessian is exact: blocks [h_ij, 1; 1, h_ji] with h_ij = Σ_m p_m (W R_m W')_jj / r_mi. A
    `memory` of previous steps, which is updated, corrects it as in L-BFGS.
    """
    gradient = compute_gradient(data, point)
    h = pair_curvatures(data, point)
    product = h * h.T
    h *= np.sqrt(np.maximum(product, 1.0 / (1.0 - LEAST_CURVATURE)) / product)
    step = _solve_step(gradient, h, memory or [])
    gain = float((step * gradient).sum())
    length = 1.0
    while True:
        new = evaluate(data, point.rows + length * (step @ point.rows))
        least = point.log_likelihood + INCREASE * length * gain - 1e-13 * abs(point.log_likelihood)
        if new.log_likelihood >= least:
            break
        length /= SHORTER
        if length < SHORTEST:
            return point, 0.0
    if memory is not None:
        step *= length
        change = gradient - compute_gradient(data, new)
        if (step * change).sum() > 0:
            memory.append((step, change, 1.0 / float((step * change).sum())))
            del memory[:-MOST_STEPS]
    return new, gain


def compute_gradient(data: SecondMoments, point: Separation) -> np.ndarray:
    """Return the gradient in E, zero on the diagonal: the scale of each row is optimal already."""
    gradient = -np.einsum("mij,mi->ij", point.products, data.shares[:, None] / point.powers)
    np.fill_diagonal(gradient, 0.0)
    return gradient


def _solve_step(gradient: np.ndarray, h: np.ndarray, memory: list) -> np.ndarray:
    """Return the inverse Hessian (of the pairs, corrected by steps and changes of gradient) times the gradient."""
    rest, factors = gradient.copy(), []
    for step, change, inverse in reversed(memory):
        factors.append(inverse * (step * rest).sum())
        rest -= factors[-1] * change
    result = (h.T * rest - rest.T) / (h * h.T - 1.0)
    for (step, change, inverse), factor in zip(memory, reversed(factors), strict=True):
        result += (factor - inverse * (change * result).sum()) * step
    return result


def pair_curvatures(data: SecondMoments, point: Separation) -> np.ndarray:
    """Return h_ij = Σ_m p_m (W R_m W')_jj / r_mi; h_ij h_ji = 1 if inputs i and j are proportional."""
    return (data.shares[:, None] / point.powers).T @ np.einsum("mii->mi", point.products)


def _climb(
    data: SecondMoments, rows: np.ndarray, tol: float, max_iter: int, record: Callable[[Separation], bool] | None
) -> Optimum:
    point = evaluate(data, rows)
    memory: list = []
    for n_iter in range(1, max_iter + 1):
        point, gain = sweep_pairs(data, point, memory)
        is_over = record is not None and record(point)
        if gain <= tol or is_over:
            return Optimum(point, n_iter, gain <= tol)
    return Optimum(point, max_iter, False)


def _climb_within(
    data: SecondMoments,
    best: Optimum,
    allowed: np.ndarray,
    tol: float,
    max_iter: int,
    record: Callable[[Separation], bool] | None,
) -> Optimum:
    """Sweep over rows that are 0 for forbidden entries, starting from the unrestricted optimum."""
    start = np.where(allowed, best.separation.rows, 0.0)
    if np.linalg.cond(start) > WORST_CONDITION:
        start = np.diag(best.separation.rows.diagonal())
    point = evaluate(data, start)
    for n_iter in range(best.n_iter + 1, best.n_iter + max_iter + 1):
        new = evaluate(data, sweep_rows(data, point.rows, 1, allowed))
        gain, point = new.log_likelihood - point.log_likelihood, new
        is_over = record is not None and record(point)
        if gain <= tol or is_over:
            return Optimum(point, n_iter, gain <= tol)
    return Optimum(point, best.n_iter + max_iter, False)


def assign_rows(rows: np.ndarray, own: np.ndarray, data: SecondMoments) -> np.ndarray:
    """Return for each series the row of W that is its input, so that the diagonal is as large as possible.

    The assignment maximises Σ log|w_ii| minus the loss of log-likelihood of the known powers of the series compared
    with the powers `own` (M, N) of the rows. A series with at most one known power has no loss. Shape (N,); O(M N² +
    N³).
    """
    cost = -np.log(np.maximum(np.abs(rows.T), np.finfo(float).tiny))
    is_known = np.isfinite(data.powers)
    for i in np.flatnonzero(is_known.sum(axis=0) > 1):
        known = is_known[:, i]
        weights = data.n_rows[known]
        ratios = own[known] / data.powers[known, i][:, None]
        scale = weights @ ratios / weights.sum()
        cost[i] += 0.5 * (weights @ (np.log(scale) - np.log(ratios)))
    return linear_sum_assignment(cost)[1]


class Coefficients(NamedTuple):
    """The structural equations y = A y + B x of a separation."""

    matrix: np.ndarray  # (N, N): A, zero diagonal
    gains: np.ndarray  # (N,): diagonal of B, positive; 1 for inputs without known power
    powers: np.ndarray  # (M, N): mean squares of x


def read_coefficients(data: SecondMoments, point: Separation) -> Coefficients:
    """Return A = I − diag(W)⁻¹ W, B = diag(W)⁻¹ and the powers of the inputs (proposition 3)."""
    own = np.diag(point.rows)
    matrix = -point.rows / own[:, None]
    np.fill_diagonal(matrix, 0.0)
    gains = 1.0 / np.abs(own)
    unknown = ~np.isfinite(data.powers).any(axis=0)
    powers = np.where(unknown, point.powers * gains**2, point.powers)
    return Coefficients(matrix, np.where(unknown, 1.0, gains), powers)


def compute_standard_errors(data: SecondMoments, point: Separation) -> np.ndarray:
    """Return the standard errors of A by the delta method, shape (N, N), zero on the diagonal.

    A row of A is infinite if its input is proportional to another. O(M N² + N³).
    """
    variances, _ = compute_pair_variances(data, point)
    proportional = np.isinf(variances)
    variances[proportional] = 0.0
    rows, matrix = point.rows, read_coefficients(data, point).matrix
    plain = variances @ rows**2
    total = plain + matrix**2 * np.diag(plain)[:, None] + 2.0 * matrix * ((variances * rows.T) @ rows)
    total = np.where(proportional.any(axis=1, keepdims=True), np.inf, np.maximum(total, 0.0))
    np.fill_diagonal(total, 0.0)
    return np.sqrt(total) / np.abs(np.diag(rows))[:, None]


def compute_pair_variances(data: SecondMoments, point: Separation) -> tuple[np.ndarray, np.ndarray]:
    """Return the variances of e_ij in W ← (I + E) W, and its covariances with e_ji; infinite if proportional.

    For independent rows: H⁻¹ J H⁻¹ / L for each pair, with J from the powers of the rows of W. Therefore they also hold
    with noise in addition to the inputs.
    """
    weights, own = data.shares[:, None] / point.powers, np.einsum("mii->mi", point.products)
    h = pair_curvatures(data, point)
    spread = (weights * own / point.powers).T @ own  # variance of the score of e_ij
    both = (weights * own).T @ (own / point.powers)  # and its covariance with the score of e_ji
    proportional = ~(h * h.T > 1.0)
    factor = 1.0 / np.where(proportional, 1.0, h * h.T - 1.0) ** 2 / data.n_rows.sum()
    variances = factor * (h.T**2 * spread - 2.0 * h.T * both + spread.T)
    covariances = factor * ((1.0 + h * h.T) * both - h.T * spread - h * spread.T)
    variances[proportional] = np.inf
    covariances[proportional] = 0.0
    np.fill_diagonal(variances, 0.0)
    return variances, covariances


def compute_identifiability(data: SecondMoments, point: Separation) -> np.ndarray:
    """Return 1 − 1/(h_ij h_ji), shape (N, N): 0 if inputs i and j are proportional over the windows; 1 for i = j."""
    h = pair_curvatures(data, point)
    share = np.clip(1.0 - 1.0 / np.maximum(h * h.T, 1.0), 0.0, 1.0)
    np.fill_diagonal(share, 1.0)
    return share


def find_proportional(data: SecondMoments, point: Separation) -> np.ndarray:
    """Return whether each pair of inputs is nearly proportional, shape (N, N).

    Known inputs: L (h_ij h_ji − 1) is below `LEAST_INFORMATION`. Unknown inputs: it is below `BY_CHANCE` times the
    quantile of χ² with M − 1 degrees of freedom that any pair exceeds by chance with probability `LEVEL`.
    """
    n, n_windows = len(point.rows), len(data.moments)
    h = pair_curvatures(data, point)
    information = data.n_rows.sum() * (h * h.T - 1.0)
    level = LEVEL / max(1, n * (n - 1) // 2)
    by_chance = BY_CHANCE * chi2.isf(level, n_windows - 1) if n_windows > 1 else np.inf
    estimated = np.asarray(~np.isfinite(data.powers).all(axis=0))
    least = np.where(estimated[:, None] & estimated, max(by_chance, LEAST_INFORMATION), LEAST_INFORMATION)
    near = information < least
    np.fill_diagonal(near, False)
    return near
