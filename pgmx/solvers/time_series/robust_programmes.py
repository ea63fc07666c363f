"""Linear programmes of regressions under the absolute or the ε-insensitive loss with the lasso, for many targets.

Problem, for each target y: min Σ_t max(|y_t − (Xβ)_t| − ε, 0) + λ Σ_k |β_k|, where the last columns of X have no
penalty, and some coefficients of a target may be fixed at zero.

Algorithm: penalties are further rows λ β_k of the regression, with target 0. If ε > 0, rows occur with both signs. With
A, c the rows and targets and a_r the slope of the loss of row r, in [0, 1] or [−1, 1], the dual is max c'a, A'a = 0.
From a feasible start, predictor and corrector steps (Mehrotra 1992; Portnoy and Koenker 1997 for quantile regressions)
reduce the gap. As soon as the rows without residual are known, a linear system gives the vertex, which is exact. All
targets share the products of pairs of columns, from which weights of rows make the matrices A'WA of a step. Cost of a
step for G columns: O(T G² + G³) per target, with 8 to 20 steps.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import get_lapack_funcs, qr

dpotrf, dpotrs, dgetrf, dgetrs = get_lapack_funcs(("potrf", "potrs", "getrf", "getrs"), dtype=np.float64)

#: Maximum number of steps, and the relative gap from which vertices are tried.
MOST_STEPS, FIRST_GAP = 60, 3e-3

#: Relative gaps from which dependent rows are left out of vertices, and at which steps end.
LATE_GAP, LAST_GAP = 1e-6, 1e-10

#: Largest relative gap and violation of the bounds of a vertex.
EXACT = 1e-11

#: Share of the step to the boundary.
TO_BOUNDARY = 0.9995

#: Largest residuals and coefficients that are rounding errors of 0, for targets with a scale near 1.
TIED, ROUNDING = 1e-10, 1e-12

#: Weight of rows that are in every basis.
LARGEST = 1e15

#: Maximum number of values in the table of products of columns (32 MB).
MOST_PRODUCTS = 1 << 22


class Vertices(NamedTuple):
    """Solutions β (m, G) and dual solutions θ (m, T), and which targets have exact solutions."""

    coefficients: np.ndarray
    duals: np.ndarray
    exact: np.ndarray


class _Point(NamedTuple):
    """A feasible point of each target: β (m, G), slopes a (m, R) and multipliers v, z >= 0 with c − Aβ = v − z."""

    beta: np.ndarray
    slopes: np.ndarray
    v: np.ndarray
    z: np.ndarray


class RobustProgrammes:
    """The programmes of all targets (m, T) on columns (T, G), of which the first `n_penalised` have the penalty.

    `free` (m, G) are the coefficients that are not fixed at zero.
    """

    def __init__(
        self,
        columns: np.ndarray,
        n_penalised: int,
        targets: np.ndarray,
        free: np.ndarray,
        lam: float,
        epsilon: float,
    ):
        self.free, self.n_penalised, self.columns = free, n_penalised, columns
        signs = (1.0, -1.0) if epsilon else (1.0,)
        self.n_rows, self.n_signs = len(columns), len(signs)
        n = columns.shape[1]
        self.rows = np.vstack([*(sign * columns for sign in signs), lam * np.eye(n)[:n_penalised]])
        zeros = np.zeros((len(targets), n_penalised))
        self.targets = np.hstack([*(sign * targets - epsilon for sign in signs), zeros])
        self.lower = np.full(len(self.rows), -1.0)
        if epsilon:
            self.lower[: len(signs) * self.n_rows] = 0.0
        self.products = None
        if columns.size * n <= MOST_PRODUCTS:
            self.products = (columns[:, :, None] * columns[:, None, :]).reshape(self.n_rows, -1)

    def solve(self, is_over: Callable[[], bool] = lambda: False) -> Vertices:
        """Return the solutions; those that are not exact have a small gap, or are what `is_over` left."""
        m = len(self.targets)
        beta, duals, exact = np.zeros((m, self.rows.shape[1])), np.zeros((m, self.n_rows)), np.zeros(m, dtype=bool)
        with np.errstate(all="ignore"):  # rounding errors near a vertex
            live, point = np.arange(m), self._start()
            for _ in range(MOST_STEPS):
                weights, gaps = self._weigh(point), self._measure(point)
                is_last = ~(gaps > LAST_GAP)  # or not a number
                if (gaps <= FIRST_GAP).any() or is_last.any():
                    found = self._find_vertices(live, point, weights, gaps <= LATE_GAP)
                    ends = found.exact | is_last
                    done = live[ends]
                    beta[done], duals[done], exact[done] = (part[ends] for part in found)
                    live, point, weights = live[~ends], _Point(*(part[~ends] for part in point)), weights[~ends]
                if not len(live) or is_over():
                    break
                point = self._step(live, point, weights)
        beta[live], duals[live] = self._cut(point), self._fold(point.slopes)
        # what is not a number is not exact
        return Vertices(np.nan_to_num(beta), np.nan_to_num(duals), exact)

    def _cut(self, point: _Point) -> np.ndarray:
        """Return β, zero where the slope of a penalty is further from its bounds than the coefficient from zero."""
        beta, first = point.beta.copy(), len(self.rows) - self.n_penalised
        is_zero = np.abs(point.v - point.z)[:, first:] < 1.0 - np.abs(point.slopes[:, first:])
        beta[:, : self.n_penalised][is_zero] = 0.0
        return beta

    def _fold(self, slopes: np.ndarray) -> np.ndarray:
        """Return the sums over the signs of the rows, θ for slopes."""
        if self.n_signs == 1:
            return slopes[:, : self.n_rows]
        return slopes[:, : self.n_rows] - slopes[:, self.n_rows : 2 * self.n_rows]

    def _start(self) -> _Point:
        """Return the solution of ridge regressions, with slopes in the middle of their bounds."""
        live = np.arange(len(self.targets))
        factors = self._factor(live, np.ones(self.targets.shape))
        beta = _solve(factors, np.where(self.free, self.targets @ self.rows, 0.0))
        residuals = self.targets - beta @ self.rows.T
        margin = 0.5 * np.abs(residuals).mean(axis=1, keepdims=True) + 1e-12
        slopes = np.tile(0.5 * (1.0 + self.lower), (len(live), 1))
        return _Point(beta, slopes, np.maximum(residuals, 0.0) + margin, np.maximum(-residuals, 0.0) + margin)

    def _weigh(self, point: _Point) -> np.ndarray:
        """Return the weight W of each row, large for rows without residual."""
        return 1.0 / (point.v / (1.0 - point.slopes) + point.z / (point.slopes - self.lower))

    def _measure(self, point: _Point) -> np.ndarray:
        """Return the gaps over the objectives."""
        objectives = (point.v - self.lower * point.z).sum(axis=1)
        return _sum_products(point.slopes - self.lower, point.z, 1.0 - point.slopes, point.v) / objectives

    def _factor(self, live: np.ndarray, weights: np.ndarray) -> list[np.ndarray]:
        """Return the Cholesky factors of A'WA, with rows and columns of I for fixed coefficients."""
        n, free, w = self.rows.shape[1], self.free[live], weights[:, : self.n_rows]
        if self.n_signs == 2:
            w = w + weights[:, self.n_rows : 2 * self.n_rows]
        if self.products is not None:
            matrices = (w @ self.products).reshape(-1, n, n)
        else:
            matrices = np.array([(self.columns.T * row) @ self.columns for row in w])
        if not free.all():
            matrices *= free[:, :, None] & free[:, None, :]
        diagonal = np.einsum("mii->mi", matrices)
        penalised = self.n_penalised
        lam = self.rows[-penalised:, :penalised].diagonal() if penalised else 0.0
        diagonal[:, :penalised] += lam**2 * weights[:, weights.shape[1] - penalised :]
        diagonal[~free] = 1.0
        return [dpotrf(matrix.T, lower=0, overwrite_a=1, clean=0)[0] for matrix in matrices]

    def _step(self, live: np.ndarray, point: _Point, weights: np.ndarray) -> _Point:
        """Return the points after a predictor and a corrector."""
        beta, a, v, z = point
        p, q = a - self.lower, 1.0 - a
        factors, free = self._factor(live, weights), self.free[live]
        from_z, from_v = z / p, v / q

        def move(add_z: np.ndarray | float, add_v: np.ndarray | float) -> tuple[np.ndarray, ...]:
            """Return the changes of β, slopes, v and z for what is added to the products with p and q."""
            shift = add_v - add_z - (v - z)
            dbeta = _solve(factors, -np.where(free, (weights * shift) @ self.rows, 0.0))
            da = -weights * (dbeta @ self.rows.T + shift)
            return dbeta, da, add_v - v + from_v * da, add_z - z - from_z * da

        _, da, dv, dz = move(0.0, 0.0)
        primal, dual = _find_lengths(p, q, v, z, da, dv, dz)
        mu = _sum_products(p, z, q, v)
        after = _sum_products(p + dual * da, z + primal * dz, q - dual * da, v + primal * dv)
        centre = ((after / mu) ** 3 * mu / (2 * len(self.rows)))[:, None]
        dbeta, da, dv, dz = move((centre - da * dz) / p, (centre + da * dv) / q)
        primal, dual = _find_lengths(p, q, v, z, da, dv, dz)
        return _Point(beta + primal * dbeta, a + dual * da, v + primal * dv, z + primal * dz)

    def _find_vertices(self, live: np.ndarray, point: _Point, weights: np.ndarray, is_late: np.ndarray) -> Vertices:
        """Return the vertices whose rows without residual have the largest weights, or the points where not optimal."""
        n, n_rows = self.rows.shape[1], len(self.rows)
        free, targets, first = self.free[live], self.targets[live], n_rows - self.n_penalised
        fixed = np.zeros(weights.shape, dtype=bool)
        fixed[:, first:] = ~free[:, : self.n_penalised]
        weights = np.nan_to_num(np.where(fixed, LARGEST, weights), posinf=LARGEST)
        chosen = np.argpartition(weights, n_rows - n, axis=1)[:, n_rows - n :]
        for k in np.flatnonzero(is_late):
            _, order, *_ = qr(np.sqrt(weights[k]) * self.rows.T, mode="r", pivoting=True)
            chosen[k] = order[:n]
        values = np.take_along_axis(targets, chosen, axis=1)
        bases = [dgetrf(self.rows[places].T) for places in chosen]
        beta = np.array([dgetrs(*factors[:2], c, trans=1)[0] for factors, c in zip(bases, values, strict=True)])
        is_zero = np.zeros(weights.shape, dtype=bool)
        np.put_along_axis(is_zero, chosen, True, axis=1)
        penalised = beta[:, : self.n_penalised]
        penalised[is_zero[:, first:] | (np.abs(penalised) <= ROUNDING)] = 0.0
        residuals = np.where(is_zero, 0.0, targets - beta @ self.rows.T)
        slopes = np.where(residuals > 0, 1.0, self.lower)
        # rows that are not in the basis may have no residual either
        is_tied = np.abs(residuals) <= TIED
        slopes = np.where(is_tied, point.slopes, slopes)
        slopes[is_zero] = 0.0
        rest = np.where(free, -slopes @ self.rows, 0.0)
        solved = [dgetrs(*factors[:2], r)[0] for factors, r in zip(bases, rest, strict=True)]
        np.put_along_axis(slopes, chosen, solved, axis=1)
        slopes[fixed] = 0.0
        violations = np.maximum(self.lower - slopes, slopes - 1.0).max(axis=1)
        objectives = np.maximum(residuals, self.lower * residuals).sum(axis=1)
        gaps = objectives - (targets * slopes).sum(axis=1)
        is_regular = np.array([info == 0 for _, _, info in bases])
        exact = is_regular & (violations <= EXACT) & (gaps <= EXACT * objectives)
        slopes = np.where(exact[:, None], slopes, point.slopes)
        return Vertices(np.where(exact[:, None], beta, self._cut(point)), self._fold(slopes), exact)


def _solve(factors: list[np.ndarray], right: np.ndarray) -> np.ndarray:
    """Return the solutions of one system per row, given Cholesky factors."""
    return np.array([dpotrs(factor, row)[0] for factor, row in zip(factors, right, strict=True)])


def _sum_products(p: np.ndarray, z: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return Σ p z + q v of each row."""
    return np.einsum("mr,mr->m", p, z) + np.einsum("mr,mr->m", q, v)


def _find_lengths(
    p: np.ndarray, q: np.ndarray, v: np.ndarray, z: np.ndarray, da: np.ndarray, dv: np.ndarray, dz: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the lengths (m, 1) of steps of multipliers and of slopes, which stay positive and within their bounds."""
    primal = np.maximum((-dv / v).max(axis=1), (-dz / z).max(axis=1))
    dual = np.maximum((-da / p).max(axis=1), (da / q).max(axis=1))
    return tuple(np.minimum(1.0, TO_BOUNDARY / np.maximum(one, 1e-300))[:, None] for one in (primal, dual))
