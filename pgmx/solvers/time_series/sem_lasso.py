"""Sparse structural equations: the likelihood of windows with an l1 penalty on the coefficients.

Problem: min f(A) + Σ λ_ij |a_ij| over A with zero diagonal, where −f is the log-likelihood of `sem_likelihood` with the
best gains and unknown powers. With u_i the i-th row of I − A, q_mi = u_i'R_m u_i, and P_i the share of the rows of
windows in which the power r_mi is known,

    f(A) = −log|det(I − A)| + ½ Σ_i [P_i log Σ_{m known} p_m q_mi / r_mi + Σ_{m unknown} p_m log q_mi].

Algorithm: Newton steps in the orthant of the current signs, by conjugate gradients, with a line search in which
coefficients that change their sign become zero. Cost of an iteration with S coefficients, at most K per row:
O(M N (S + N) + N³) for the gradient, O(S N + N K²) per step of conjugate gradients. f is not convex: the result
satisfies the subgradient conditions, and depends on the start.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import get_lapack_funcs
from scipy.sparse import csr_array

from pgmx.solvers.time_series.sem_likelihood import SecondMoments

dgetrf, dgetri = get_lapack_funcs(("getrf", "getri"), dtype=np.float64)

#: Maximum number of steps of conjugate gradients, and the largest relative residual at which they end.
MOST_STEPS, LARGEST_RESIDUAL = 30, 0.1

#: Least curvature of a direction, and of a coefficient, compared with that of a series with variance 1.
LEAST_CURVATURE, LEAST_DIAGONAL = 1e-3, 0.1

#: If the largest violation is above `FAR`, only zero coefficients with more than the share `ENTER` of it enter a step:
#: most of the others would leave again.
FAR, ENTER = 0.2, 0.3

#: Sufficient decrease of the line search; shortest Newton step, and shortest step along the scaled gradient.
DECREASE, SHORTEST_NEWTON, SHORTEST = 1e-4, 0.1, 1e-7


class LossPoint(NamedTuple):
    """The loss f at one matrix A."""

    matrix: np.ndarray  # (N, N): A
    value: float
    products: np.ndarray  # (N, M, N): u_i'R_m
    forms: np.ndarray  # (M, N): q_mi
    factors: tuple[np.ndarray, np.ndarray]  # LU factors of I − A


class Slopes(NamedTuple):
    """Derivatives of the loss at one point."""

    gradient: np.ndarray  # (N, N), zero diagonal
    inverse: np.ndarray  # (N, N): (I − A)⁻¹
    weights: np.ndarray  # (M, N): of the moments R_m in the Hessian of each row
    known: np.ndarray  # (N,): Σ_{m known} p_m q_mi / r_mi, 1 if no power is known


class SparseOptimum(NamedTuple):
    """A point that satisfies the subgradient conditions up to `violation`."""

    matrix: np.ndarray  # (N, N): A
    objective: float  # f(A) + Σ λ_ij |a_ij|
    violation: float
    n_iter: int
    converged: bool


class EquationsLoss:
    """The loss f of second moments of windows."""

    def __init__(self, data: SecondMoments):
        self._moments, self._shares = data.moments, data.shares
        self._is_known = np.isfinite(data.powers)
        self._powers = np.where(self._is_known, data.powers, 1.0)
        self._known_share = self._shares @ self._is_known
        self.n_series = data.moments.shape[1]
        # one sparse product computes all A R_m
        self._stacked = np.ascontiguousarray(data.moments.transpose(1, 0, 2)).reshape(self.n_series, -1)

    def evaluate(self, matrix: np.ndarray) -> LossPoint:
        """Return the loss at A, infinite if I − A is singular."""
        n, p = self.n_series, self._shares
        rows = np.eye(n) - matrix
        products = (csr_array(rows) @ self._stacked).reshape(n, -1, n)
        forms = np.matmul(products, rows[:, :, None])[:, :, 0].T
        known = p @ np.where(self._is_known, forms / self._powers, 0.0)
        terms = self._known_share * np.log(np.where(self._known_share > 0, known, 1.0))
        terms += p @ np.where(self._is_known, 0.0, np.log(forms))
        factors, places, _ = dgetrf(rows)
        with np.errstate(divide="ignore"):
            value = 0.5 * float(terms.sum()) - float(np.log(np.abs(factors.diagonal())).sum())
        return LossPoint(matrix, value, products, forms, (factors, places))

    def differentiate(self, point: LossPoint) -> Slopes:
        """Return the gradient (C' − Σ_m ω_mi u_i'R_m), with C the inverse of I − A."""
        p, forms = self._shares[:, None], point.forms
        known = (p * np.where(self._is_known, forms / self._powers, 0.0)).sum(axis=0)
        known = np.where(self._known_share > 0, known, 1.0)
        weights = np.where(self._is_known, self._known_share * p / (self._powers * known), p / forms)
        inverse = np.ascontiguousarray(dgetri(*point.factors)[0])
        gradient = inverse.T - np.matmul(weights.T[:, None, :], point.products)[:, 0]
        np.fill_diagonal(gradient, 0.0)
        return Slopes(gradient, inverse, weights, known)

    def make_hessian(
        self, point: LossPoint, slopes: Slopes, entries: tuple[np.ndarray, np.ndarray]
    ) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
        """Return the product of the Hessian in some entries (targets, sources) with a vector, and its diagonal.

        Targets ascend. The Hessian is that of the rows plus (C dA C)_ji, which joins the rows.
        """
        targets, sources = entries
        n, counts = self.n_series, np.bincount(targets, minlength=self.n_series)
        width = int(counts.max())
        place = np.arange(len(targets)) - np.repeat(np.cumsum(counts) - counts, counts)
        columns, is_used = np.zeros((n, width), dtype=np.intp), np.zeros((n, width), dtype=bool)
        columns[targets, place], is_used[targets, place] = sources, True
        blocks = np.zeros((n, width, width))
        for moments, weights in zip(self._moments, slopes.weights, strict=True):
            blocks += weights[:, None, None] * moments[columns[:, :, None], columns[:, None, :]]
        blocks *= is_used[:, :, None] & is_used[:, None, :]
        parts = np.take_along_axis(point.products, columns[:, None, :], axis=2) * is_used[:, None, :]
        p = self._shares[:, None]
        roots = np.sqrt(2.0 * np.where(self._is_known, 0.0, p / point.forms**2))
        scaled = parts * roots.T[:, :, None]
        blocks -= scaled.transpose(0, 2, 1) @ scaled
        summed = np.where(self._is_known, p / self._powers, 0.0).T[:, None, :] @ parts
        summed *= np.sqrt(2.0 * self._known_share)[:, None, None] / slopes.known[:, None, None]
        blocks -= summed.transpose(0, 2, 1) @ summed
        inverse = slopes.inverse
        behind = inverse.T[targets]  # (S, N): C e_i
        diagonal = blocks[targets, place, place] + inverse[sources, targets] ** 2

        def multiply(vector: np.ndarray) -> np.ndarray:
            padded = np.zeros((n, width))
            padded[targets, place] = vector
            within = (blocks @ padded[:, :, None])[targets, place, 0]
            moved = (csr_array((vector, (targets, sources)), shape=(n, n)).T @ inverse.T).T  # C dA
            return within + np.einsum("sk,sk->s", moved[sources], behind)

        return multiply, np.maximum(diagonal, LEAST_DIAGONAL)


def minimise_sparse(
    loss: EquationsLoss,
    penalties: np.ndarray,
    start: np.ndarray | LossPoint,
    *,
    tol: float = 1e-6,
    max_iter: int = 200,
    record: Callable[[np.ndarray, float], bool] | None = None,
) -> SparseOptimum:
    """Minimise f(A) + Σ λ_ij |a_ij| from a start (N, N), or its loss, that is zero where λ_ij is infinite.

    It ends if the largest violation of the subgradient conditions is at most `tol`, or `record` returns True.
    """
    point = start if isinstance(start, LossPoint) else loss.evaluate(start)
    objective = point.value + sum_penalties(point.matrix, penalties)
    for n_iter in range(max_iter + 1):
        slopes = loss.differentiate(point)
        slopes_in_orthant = find_subgradient(point.matrix, slopes.gradient, penalties)
        violation = float(np.abs(slopes_in_orthant).max(initial=0.0))
        is_over = record is not None and n_iter > 0 and record(point.matrix, objective)
        if violation <= tol or is_over or n_iter == max_iter:
            break
        found = _step(loss, point, slopes, slopes_in_orthant, penalties, objective)
        if found is None:  # rounding errors exceed the decrease
            break
        point, objective = found
    return SparseOptimum(point.matrix, objective, violation, n_iter, violation <= tol)


def find_subgradient(matrix: np.ndarray, gradient: np.ndarray, penalties: np.ndarray) -> np.ndarray:
    """Return the subgradient of f(A) + Σ λ_ij |a_ij| with the smallest absolute values, zero at an optimum."""
    at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - penalties, 0.0)
    nonzero = matrix != 0
    finite = np.where(nonzero, penalties, 0.0)
    smallest = np.where(nonzero, gradient + finite * np.sign(matrix), at_zero)
    np.fill_diagonal(smallest, 0.0)
    return smallest


def sum_penalties(matrix: np.ndarray, penalties: np.ndarray) -> float:
    """Return Σ λ_ij |a_ij|, where infinity times zero is zero."""
    nonzero = matrix != 0
    return float(penalties[nonzero] @ np.abs(matrix[nonzero]))


def _step(
    loss: EquationsLoss,
    point: LossPoint,
    slopes: Slopes,
    subgradient: np.ndarray,
    penalties: np.ndarray,
    objective: float,
) -> tuple[LossPoint, float] | None:
    """Return a point with a smaller objective in the orthant of the current signs, or None."""
    slopes_at_zero = np.abs(subgradient)
    largest = float(slopes_at_zero.max())
    limit = ENTER * largest if largest > FAR else 0.0
    targets, sources = np.nonzero((point.matrix != 0) | (slopes_at_zero > limit))
    entries = targets, sources
    multiply, diagonal = loss.make_hessian(point, slopes, entries)
    before, slope = point.matrix[entries], subgradient[entries]
    signs = np.where(before != 0, np.sign(before), -np.sign(slope))
    is_free = penalties[entries] == 0
    newton = _solve_conjugate(multiply, -slope, diagonal)
    for direction, shortest in ((newton, SHORTEST_NEWTON), (-slope / diagonal, SHORTEST)):
        length = 1.0
        while length >= shortest:
            after = before + length * direction
            after = np.where((np.sign(after) == signs) | is_free, after, 0.0)
            expected = float(slope @ (after - before))
            if expected < 0:
                matrix = point.matrix.copy()
                matrix[targets, sources] = after
                new = loss.evaluate(matrix)
                value = new.value + sum_penalties(matrix, penalties)
                if value <= objective + DECREASE * expected + 1e-14 * abs(objective):
                    return new, value
            length *= 0.5
    return None


def _solve_conjugate(
    multiply: Callable[[np.ndarray], np.ndarray], right: np.ndarray, diagonal: np.ndarray
) -> np.ndarray:
    """Solve H x = b approximately by conjugate gradients; they end at a direction of negative curvature."""
    solution, rest = np.zeros_like(right), right.copy()
    scaled = rest / diagonal
    direction, size = scaled, float(rest @ scaled)
    least = min(LARGEST_RESIDUAL, float(np.sqrt(np.abs(right).max()))) * float(np.sqrt(right @ right))
    for step in range(MOST_STEPS):
        product = multiply(direction)
        curvature = float(direction @ product)
        if curvature <= LEAST_CURVATURE * float(direction**2 @ diagonal):
            return direction if step == 0 else solution
        length = size / curvature
        solution = solution + length * direction
        rest = rest - length * product
        if float(np.sqrt(rest @ rest)) <= least:
            break
        scaled = rest / diagonal
        new = float(rest @ scaled)
        direction, size = scaled + new / size * direction, new
    return solution
