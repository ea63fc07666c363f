r"""CLIME columns by a linearised alternating direction method of multipliers, with exact vertices at the end.

.. math::

    \hat q &= \operatorname{soft}(q - \tau S u,\; \tau), \qquad
    \hat u = \operatorname{soft}\bigl(u + \sigma (S (2 \hat q - q) - e_j),\; \sigma \lambda\bigr) \\
    (q, u) &\leftarrow \tfrac{i + 1}{i + 2} \bigl(2 (\hat q, \hat u) - (q, u)\bigr) + \tfrac{1}{i + 2} (q_0, u_0)

The first line is linearised ADMM for the split S q = z, :math:`|z - e_j| \le \lambda`, with z eliminated and
:math:`\tau \sigma \|S\|^2 = 1`; u is the negative of the dual y. The second line is over-relaxation by 2, anchored at
the point of the last restart, i iterations ago. A restart of a column moves its anchor, and moves the ratio of the
steps halfway to the ratio of the distances that y and q have moved. When q and y have the same number k of non-zeros
and keep them, the k x k system of these is solved. If the solution has a certificate, the column is exact and ends.
Columns that have not converged after a fifth of `max_iter`, for example for ill-conditioned S, continue with exact
projections (`ProjectedSteps`).

References: Li, X., Zhao, T., Yuan, X. and Liu, H. (2015), The flare package for high dimensional linear regression and
precision matrix estimation in R, Journal of Machine Learning Research 16, 553-557, section 2; Lu, H. and Yang, J.
(2024), Restarted Halpern PDHG for linear programming, arXiv:2407.16144, algorithm 2.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal
from scipy.sparse import csc_array, hstack

from pgmx._ext._clime import anchor, dual_shrink, primal_shrink
from pgmx.runs.run import is_past
from pgmx.solvers.gaussian.column_estimates import ColumnEstimates

#: Initial ratio of the dual step to the primal step; later it follows the distances that y and q move.
FIRST_WEIGHT = 10.0

#: A restart is due if the residual falls below the first share of the residual after the last restart, if it is below
#: the second share and rises, or if the iterations since then are the third share of all and at least the fourth
#: number. Distances over few iterations mainly reflect the steps, and a ratio that follows them diverges.
SUFFICIENT_DECAY, NECESSARY_DECAY, ARTIFICIAL_SHARE, FEWEST_ITERATIONS = 0.2, 0.8, 0.36, 64

#: Largest change of the ratio by a restart, and largest ratio or reciprocal. If a column has no feasible point, y
#: diverges along a ray and q does not, so the ratio would grow without limit.
MOST_CHANGE, LARGEST_WEIGHT = 4.0, 1e4

#: Share of the iterations after which columns of ill-conditioned matrices use exact projections, if these are cheaper.
LINEAR_SHARE = 0.2

#: Iterations between two certificates of the columns.
CHECK_EVERY = 25

#: Number of columns iterated together: enough for efficient products, few enough to hold six arrays of them.
BLOCK = 512

#: Smallest tolerance for single precision, and its share of the iterations.
LEAST_SINGLE_TOL, SINGLE_SHARE = 1e-5, 0.15

#: Number of products for the norm, and the factor by which the result is raised, since it is approached from below.
#: (The same number of power iterations gives a value 3 % too small if R has fewer rows than columns.)
LANCZOS_STEPS, MARGIN = 40, 1.02

#: Largest excess and relative gap of a vertex that counts as optimal.
VERTEX_TOL = 1e-9

#: Initial penalties of the splits q and z, and their maximum change.
FIRST_PENALTIES, PENALTY_RANGE = (1.0, 100.0), 1e6

#: Over-relaxation.
RELAXATION = 1.8

#: Iterations between two balances of the residuals. Penalties do not change if the root of their ratio is within the
#: second number, and change at most by the third.
BALANCE_EVERY, LEAST_IMBALANCE, MOST_PENALTY_CHANGE = 100, 2.0, 10.0

#: Cost of the eigenvalues of S in units of p³, and cost of an iteration of one column in units of p².
EIGEN_COST, STEP_COST = 25.0, 8.0

#: Maximum bytes of an R that is formed from its factor for the eigenvalues.
MOST_FORMED_BYTES = 2**28

#: Added to shares of residuals to avoid division by zero.
TINY = 1e-12


class ShiftedProduct:
    """rows @ S for S = R + ridge I, S symmetric.

    With a thin factor, R = factor.T @ factor, products cost 4 n p instead of 2 p² per row, and R is never formed.
    """

    def __init__(self, R: np.ndarray | None = None, *, factor: np.ndarray | None = None, ridge: float = 0.0):
        matrix = factor if R is None else R
        if matrix is None:
            raise ValueError("neither R nor a factor of it was given: give one of them")
        self._thin = R is None
        self._matrices = {np.dtype(np.float64): matrix}
        self.ridge = ridge
        self.n_variables = matrix.shape[1]
        self._norm: float | None = None
        self._eigen: tuple[np.ndarray, np.ndarray] | None = None

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Return rows @ S, in the precision of the rows."""
        if rows.dtype not in self._matrices:
            self._matrices[rows.dtype] = self._matrices[np.dtype(np.float64)].astype(rows.dtype)
        matrix = self._matrices[rows.dtype]
        products = (rows @ matrix.T) @ matrix if self._thin else rows @ matrix
        if self.ridge:
            products += rows.dtype.type(self.ridge) * rows
        return products

    def part(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return S[rows, columns]."""
        matrix = self._matrices[np.dtype(np.float64)]
        part = matrix[:, rows].T @ matrix[:, columns] if self._thin else matrix[np.ix_(rows, columns)]
        return part + self.ridge * (rows[:, None] == columns)

    @property
    def has_matrix(self) -> bool:
        """Whether R itself was given."""
        return not self._thin

    def eigenvalues(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the eigenvalues of S, ascending, and its eigenvectors as columns; computed once in about 10 p³."""
        if self._eigen is None:
            matrix = self._matrices[np.dtype(np.float64)]
            values, vectors = np.linalg.eigh(matrix.T @ matrix if self._thin else matrix)
            self._eigen = values + self.ridge, vectors
        return self._eigen

    def norm(self) -> float:
        """Return an estimate of the largest eigenvalue of S by Lanczos' method, almost always an upper bound."""
        if self._norm is None:
            x = np.cos(np.arange(1.0, self.n_variables + 1.0))
            basis = (x / np.linalg.norm(x))[None]
            diagonal: list[float] = []
            off_diagonal: list[float] = []
            for _ in range(min(LANCZOS_STEPS, self.n_variables)):
                image = self(basis[-1:])[0]
                diagonal.append(float(image @ basis[-1]))
                for _ in range(2):  # one pass leaves rounding errors, which grow
                    image -= basis.T @ (basis @ image)
                off_diagonal.append(float(np.linalg.norm(image)))
                if off_diagonal[-1] <= 1e-12 * max(diagonal):
                    break
                basis = np.concatenate([basis, image[None] / off_diagonal[-1]])
            self._norm = MARGIN * float(eigvalsh_tridiagonal(diagonal, off_diagonal[:-1])[-1])
        return self._norm


@dataclass(eq=False)
class Certificates:
    r"""Quality of points: excess, gap for the radius that the point satisfies, and |q|_1, of shape (m,) each.

    .. math:: v = \|S q - e_j\|_\infty - \lambda, \qquad
        \text{gap} = \|q\|_1 - y_j + (\lambda + \max(v, 0)) \|y\|_1, \quad \|S y\|_\infty \le 1
    """

    violations: np.ndarray
    gaps: np.ndarray
    sizes: np.ndarray

    @classmethod
    def from_residuals(cls, residuals, images, points, multipliers, columns, lam: float) -> "Certificates":
        """Return the certificates of rows with residuals S q - e_j and images S y."""
        violations = abs(residuals).max(axis=1) - lam
        sizes = abs(points).sum(axis=1)
        scale = np.maximum(1.0, abs(images).max(axis=1))
        radius = lam + np.maximum(violations, 0.0)
        dual = multipliers[np.arange(len(columns)), columns] - radius * abs(multipliers).sum(axis=1)
        return cls(violations.astype(np.float64), (sizes - dual / scale).astype(np.float64), sizes.astype(np.float64))

    @classmethod
    def from_points(cls, product: ShiftedProduct, columns, lam: float, points, multipliers) -> "Certificates":
        """Return the certificates of rows q and y."""
        residuals = product(points)
        residuals[np.arange(len(columns)), columns] -= 1.0
        return cls.from_residuals(residuals, product(multipliers), points, multipliers, columns, lam)

    def are_within(self, tol: float) -> np.ndarray:
        """Return the points that exceed the radius by at most `tol`, with a relative gap of at most `tol`."""
        return (self.violations <= tol) & (self.gaps <= tol * np.maximum(1.0, self.sizes))

    def replace(self, which: np.ndarray, others: "Certificates") -> None:
        """Copy the values of some rows from others."""
        self.violations[which], self.gaps[which] = others.violations, others.gaps
        self.sizes[which] = others.sizes


def find_vertices(product: ShiftedProduct, columns, lam: float, points, multipliers):
    """Return the rows that are next to an optimal vertex, and the vertices: q and y, zero if there is none.

    The active sets are the k largest entries of both, k being the smaller number of non-zeros. The system costs k³.
    """
    q, y = np.zeros(points.shape), np.zeros(points.shape)
    solved = np.zeros(len(columns), dtype=bool)
    for c, j in enumerate(columns.tolist()):
        k = int(min(np.count_nonzero(points[c]), np.count_nonzero(multipliers[c])))
        variables, constraints = _largest(points[c], k), _largest(multipliers[c], k)
        part = product.part(constraints, variables)
        target = (constraints == j) - lam * np.sign(multipliers[c, constraints]).astype(np.float64)
        try:
            q[c, variables] = np.linalg.solve(part, target)
            y[c, constraints] = np.linalg.solve(part.T, np.sign(points[c, variables]).astype(np.float64))
        except np.linalg.LinAlgError:
            continue
        solved[c] = True
    exact = np.zeros(len(columns), dtype=bool)
    rows = np.flatnonzero(solved)
    if len(rows):
        exact[rows] = Certificates.from_points(product, columns[rows], lam, q[rows], y[rows]).are_within(VERTEX_TOL)
    return exact, q, y


def _largest(row: np.ndarray, k: int) -> np.ndarray:
    """Return the places of the k largest entries, ascending."""
    return np.sort(np.argsort(-abs(row), kind="stable")[:k])


@dataclass(frozen=True, eq=False)
class StartingPoint:
    """Start of the iteration: q and y of the dual problem, one row per column."""

    points: np.ndarray  # q, of shape (m, p)
    multipliers: np.ndarray  # y, of shape (m, p)
    reached: np.ndarray  # number of leading penalties to skip, of shape (m,)


def solve_by_admm(
    product: ShiftedProduct,
    columns: np.ndarray,
    lams: np.ndarray,
    *,
    tol: float = 1e-4,
    max_iter: int = 5000,
    deadline: float = inf,
    start: StartingPoint | None = None,
    single: bool = True,
) -> ColumnEstimates:
    """Solve columns for descending penalties, each started from the previous solution or from `start`.

    `tol` bounds the excess over the radius, and the duality gap relative to max(1, |q|_1). `max_iter` is per column and
    penalty. `single` starts in single precision, which is faster for sparse columns. The result of a column that does
    not converge is the iterate with the smallest excess. An iteration costs 4 p² operations per column.
    """
    m, k, p = len(columns), len(lams), product.n_variables
    gaps, violations = np.full((k, m), np.nan), np.full((k, m), np.nan)
    converged, n_iter = np.zeros((k, m), dtype=bool), np.zeros(m, dtype=np.int64)
    parts: list[list[csc_array]] = [[] for _ in lams]
    for first in range(0, m, BLOCK):
        mine = slice(first, first + BLOCK)
        n_mine = len(columns[mine])
        block = _Block(product, columns[mine], np.zeros((n_mine, p)), np.zeros((n_mine, p)), single)
        reached = np.zeros(n_mine, dtype=np.int64)
        if start is not None:
            block.points, block.multipliers = start.points[mine].copy(), start.multipliers[mine].copy()
            reached = start.reached[mine]
        for t, lam in enumerate(lams.tolist()):
            at = np.flatnonzero(reached <= t)
            certificates = block.solve(at, lam, tol, max_iter, deadline)
            matrix = np.zeros((n_mine, p))
            matrix[at] = block.points[at]
            parts[t].append(csc_array(matrix.T))
            gaps[t, first + at], violations[t, first + at] = certificates.gaps, certificates.violations
            converged[t, first + at] = certificates.are_within(tol)
        n_iter[mine] = block.n_iter
    coefficients = [csc_array(hstack(part, format="csc")) for part in parts]
    return ColumnEstimates(lams, columns, coefficients, gaps, violations, converged, n_iter)


class _Block:
    """Points and multipliers of some columns, and their improvement at one penalty after another."""

    def __init__(
        self,
        product: ShiftedProduct,
        columns: np.ndarray,
        points: np.ndarray,
        multipliers: np.ndarray,
        single: bool,
    ):
        self.product, self.columns = product, np.ascontiguousarray(columns, dtype=np.int64)
        self.points, self.multipliers = points, multipliers
        self.weights = np.full(len(columns), FIRST_WEIGHT)
        self.single = np.full(len(columns), single)
        self.n_iter = np.zeros(len(columns), dtype=np.int64)
        self.best = points.copy(), multipliers.copy()
        self.excess, self.gap = np.full(len(columns), inf), np.full(len(columns), inf)

    def certify(self, at: np.ndarray, lam: float) -> Certificates:
        """Return the certificates of the stored points of some rows."""
        return Certificates.from_points(self.product, self.columns[at], lam, self.points[at], self.multipliers[at])

    def keep_best(
        self, rows: np.ndarray, certificates: Certificates, tol: float, points: np.ndarray, duals: np.ndarray
    ) -> None:
        """Store points with a smaller excess over the radius than the best so far, or equal excess and smaller gap."""
        excess = np.maximum(certificates.violations, tol)
        gap = certificates.gaps / np.maximum(1.0, certificates.sizes)
        better = (excess < self.excess[rows]) | ((excess == self.excess[rows]) & (gap < self.gap[rows]))
        to = rows[better]
        self.excess[to], self.gap[to] = excess[better], gap[better]
        self.best[0][to], self.best[1][to] = points[better], duals[better]

    def solve(self, at: np.ndarray, lam: float, tol: float, max_iter: int, deadline: float) -> Certificates:
        """Improve the points of the rows `at` until they are within `tol`, and return their certificates."""
        certificates = self.certify(at, lam)
        self.excess[at] = inf
        self.keep_best(at, certificates, tol, self.points[at], self.multipliers[at])
        single = int(SINGLE_SHARE * max_iter)
        double = int(LINEAR_SHARE * max_iter) - single
        for make, most, bound in (
            (_Single, single, max(tol, LEAST_SINGLE_TOL)),
            (_Double, double, tol),
            (_Projected, max_iter - single - double, tol),
        ):
            rest = np.flatnonzero(~certificates.are_within(tol) & (self.single[at] | (make is not _Single)))
            if not (most and len(rest)) or is_past(deadline):
                continue
            if make is _Projected and not is_projection_cheaper(self.product, len(rest), most):
                make = _Double
            self._iterate(make(self, at[rest], lam), tol, bound, most, deadline)
            certificates.replace(rest, self.certify(at[rest], lam))
            if make is _Single:  # rounding delays dense columns, and columns are denser for smaller penalties
                self.single[at[rest]] = certificates.are_within(tol)[rest]
        rest = np.flatnonzero(~certificates.are_within(tol))
        if len(rest):
            self.points[at[rest]], self.multipliers[at[rest]] = (array[at[rest]] for array in self.best)
            certificates.replace(rest, self.certify(at[rest], lam))
        return certificates

    def _iterate(self, state: "_Iterates", tol: float, bound: float, max_iter: int, deadline: float) -> None:
        """Iterate on some rows, and write each row back when it ends."""
        for iteration in range(1, max_iter + 1):
            state.step(iteration)
            if iteration % CHECK_EVERY and iteration < max_iter:
                continue
            ended = state.check(bound, tol)
            if iteration == max_iter or is_past(deadline):
                state.write_back(np.flatnonzero(~ended))
                return
            if ended.any():
                state.select(np.flatnonzero(~ended))
            if not len(state.rows):
                return


class _Iterates(ABC):
    """Base of the iterations: one row per column that has not ended, certified and written back."""

    def __init__(self, block: _Block, rows: np.ndarray, lam: float):
        self.block, self.rows, self.lam = block, rows, lam
        self.columns = block.columns[rows]
        self.supports = np.zeros((len(rows), 2), dtype=np.int64)

    @abstractmethod
    def step(self, iteration: int) -> None:
        """Take one iteration."""

    @abstractmethod
    def points(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return q, y, S q and S y."""

    def check(self, bound: float, tol: float) -> np.ndarray:
        """Write back and return the rows that have ended: within the bound, or at an exact vertex."""
        block, product = self.block, self.block.product
        block.n_iter[self.rows] += CHECK_EVERY
        points, duals, residuals, images = self.points()
        residuals = residuals.copy()
        residuals[np.arange(len(self.rows)), self.columns] -= 1
        certificates = Certificates.from_residuals(residuals, images, points, duals, self.columns, self.lam)
        block.keep_best(self.rows, certificates, tol, points, duals)
        close = certificates.are_within(bound)
        supports = np.column_stack([np.count_nonzero(points, axis=1), np.count_nonzero(duals, axis=1)])
        steady = (supports == self.supports).all(axis=1) & (supports[:, 0] == supports[:, 1])
        self.supports = supports
        ended = np.zeros(len(self.rows), dtype=bool)
        candidates = np.flatnonzero(steady | close)
        if len(candidates):
            exact, q, y = find_vertices(
                product, self.columns[candidates], self.lam, points[candidates], duals[candidates]
            )
            rows = self.rows[candidates[exact]]
            block.points[rows], block.multipliers[rows] = q[exact], y[exact]
            ended[candidates[exact]] = True
        only = np.flatnonzero(close & ~ended)
        self.write_back(only)
        if len(only):
            ended[only] = block.certify(self.rows[only], self.lam).are_within(max(tol, bound))
        return ended

    def write_back(self, which: np.ndarray) -> None:
        """Store the points of some rows in the block."""
        rows, (points, duals, _, _) = self.rows[which], self.points()
        self.block.points[rows], self.block.multipliers[rows] = points[which], duals[which]

    def select(self, which: np.ndarray) -> None:
        """Continue with some rows only."""
        for name in ("rows", "columns", "supports"):
            setattr(self, name, getattr(self, name)[which])


class _Double(_Iterates):
    """The arrays of the linearised iteration, one row per column: q, u, S q, S u, with y = -u."""

    dtype: np.dtype = np.dtype(np.float64)

    def __init__(self, block: _Block, rows: np.ndarray, lam: float):
        super().__init__(block, rows, lam)
        points, duals = block.points[rows].astype(self.dtype), (-block.multipliers[rows]).astype(self.dtype)
        product = block.product
        self.now = np.stack([points, duals, product(points), product(duals)])
        self.moved, self.anchors = self.now.copy(), self.now.copy()
        self.since = np.zeros(len(rows))
        self.first, self.last = np.full(len(rows), inf), np.full(len(rows), inf)
        self.weights = block.weights[rows]
        self._set_steps()

    def _set_steps(self) -> None:
        norm = self.block.product.norm()
        self.steps = (1 / (self.weights * norm)).astype(self.dtype), (self.weights / norm).astype(self.dtype)

    def step(self, iteration: int) -> None:
        """Take one iteration."""
        product, moved, now = self.block.product, self.moved, self.now
        primal_shrink(now[0], now[3], self.steps[0], moved[0])
        moved[2] = product(moved[0])
        dual_shrink(now[1], now[2], moved[2], self.steps[1], self.columns, self.lam, moved[1])
        moved[3] = product(moved[1])
        shares = (1 / (self.since + 2)).astype(self.dtype)
        squares = np.empty(len(self.rows))
        anchor(now, moved, self.anchors, shares, *self.steps, squares)
        self._restart(np.sqrt(np.maximum(squares, 0.0)), iteration)

    def _restart(self, residuals: np.ndarray, iteration: int) -> None:
        """Move the anchor of rows whose residual has fallen enough or rises, or whose last restart is long ago."""
        begun = self.since > 0
        self.first = np.where(begun, self.first, residuals)
        nearer = residuals <= SUFFICIENT_DECAY * self.first
        turns = (residuals <= NECESSARY_DECAY * self.first) & (residuals > self.last)
        which = np.flatnonzero(
            begun & (nearer | turns | (self.since >= max(FEWEST_ITERATIONS, ARTIFICIAL_SHARE * iteration)))
        )
        self.last = np.where(begun, residuals, inf)
        self.since += 1
        if not len(which):
            return
        fresh = self.moved[:, which]
        self.now[:, which] = fresh
        distances = np.linalg.norm(fresh[:2] - self.anchors[:2, which], axis=2).astype(np.float64)
        self.anchors[:, which] = fresh
        self.since[which] = 0
        has_moved = (distances > 1e-12).all(axis=0)
        weights = self.weights[which[has_moved]]
        change = np.sqrt(distances[1, has_moved] / distances[0, has_moved] / weights)
        weights *= np.clip(change, 1 / MOST_CHANGE, MOST_CHANGE)
        self.weights[which[has_moved]] = np.clip(weights, 1 / LARGEST_WEIGHT, LARGEST_WEIGHT)
        self._set_steps()

    def points(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return q, y, S q and S y."""
        self.block.weights[self.rows] = self.weights
        return self.moved[0], -self.moved[1], self.moved[2], self.moved[3]

    def select(self, which: np.ndarray) -> None:
        """Continue with some rows only."""
        super().select(which)
        for name in ("since", "first", "last", "weights"):
            setattr(self, name, getattr(self, name)[which])
        for name in ("now", "moved", "anchors"):
            setattr(self, name, np.ascontiguousarray(getattr(self, name)[:, which]))
        self._set_steps()


class _Single(_Double):
    """The same in single precision."""

    dtype = np.dtype(np.float32)


class _Projected(_Iterates):
    """The iteration with exact projections."""

    def __init__(self, block: _Block, rows: np.ndarray, lam: float):
        super().__init__(block, rows, lam)
        self.steps = ProjectedSteps(block.product, self.columns, lam, block.points[rows], block.multipliers[rows])

    def step(self, iteration: int) -> None:
        """Take one iteration."""
        self.steps.step(iteration)

    def points(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return q, y, S q and S y."""
        points, duals, product = self.steps.q, self.steps.multipliers, self.block.product
        return points, duals, product(points), product(duals)

    def select(self, which: np.ndarray) -> None:
        """Continue with some rows only."""
        super().select(which)
        self.steps.select(which)


def is_projection_cheaper(product: ShiftedProduct, n_columns: int, n_iter: int) -> bool:
    """Return whether the eigenvalues of S cost less than the iterations of the columns that they replace."""
    is_formed = product.has_matrix or 8 * product.n_variables**2 <= MOST_FORMED_BYTES
    return is_formed and EIGEN_COST * product.n_variables <= STEP_COST * n_columns * n_iter


class ProjectedSteps:
    """Iterates with exact projections on {S q = z}, one row per column, from given q and y of shape (m, p)."""

    # One iteration, with r and s the penalties of the splits q and z, a and b their scaled multipliers, and x^, z^ the
    # over-relaxed points x, S x:
    #   x = arg min r |x - (q - a)|² + s |S x - (z - b)|²
    #   q <- soft(x^ + a, 1 / r),                  a <- a + x^ - q
    #   z <- e_j + clip(z^ + b - e_j, -lam, lam),  b <- b + z^ - z
    # The multipliers of the dual problem are y = -s b. A penalty is raised if its split moves less than its distance
    # from the graph, and lowered if it moves more. An iteration costs 8 p² operations per column, since S is diagonal
    # in the basis of its eigenvectors for all penalties. The condition number of S, which slows down linearised steps,
    # does not affect the projection.
    # Reference: Parikh, N. and Boyd, S. (2014), Block splitting for distributed optimization, Mathematical Programming
    # Computation 6, 77-102, section 3 (graph projection splitting).

    def __init__(self, product: ShiftedProduct, columns, lam: float, points, multipliers):
        self.product, self.columns, self.lam = product, columns, lam
        self.values, self.vectors = product.eigenvalues()
        self.r, self.s = (np.full(len(columns), first) for first in FIRST_PENALTIES)
        self.q = points.copy()
        self.z = self._into_box(product(points))
        self.a, self.b = product(multipliers) / self.r[:, None], -multipliers / self.s[:, None]

    def _into_box(self, rows: np.ndarray) -> np.ndarray:
        """Return rows moved to within lam of e_j."""
        diagonal = np.arange(len(rows)), self.columns
        rows[diagonal] -= 1.0
        np.clip(rows, -self.lam, self.lam, out=rows)
        rows[diagonal] += 1.0
        return rows

    def step(self, iteration: int) -> None:
        """Take one iteration."""
        weights = (self.s / self.r)[:, None]
        image = (self.q - self.a) @ self.vectors + weights * self.values * ((self.z - self.b) @ self.vectors)
        image /= 1.0 + weights * self.values**2
        x, y = image @ self.vectors.T, (image * self.values) @ self.vectors.T
        self.a += RELAXATION * x + (1.0 - RELAXATION) * self.q
        self.b += RELAXATION * y + (1.0 - RELAXATION) * self.z
        bound = 1.0 / self.r[:, None]
        q, z = self.a - np.clip(self.a, -bound, bound), self._into_box(self.b.copy())
        self.a -= q
        self.b -= z
        before, self.q, self.z = (self.q, self.z), q, z
        if iteration % BALANCE_EVERY == 0:
            _balance(self.r, self.a, x, q, before[0], FIRST_PENALTIES[0])
            _balance(self.s, self.b, y, z, before[1], FIRST_PENALTIES[1])

    @property
    def multipliers(self) -> np.ndarray:
        """The multipliers y."""
        return -self.s[:, None] * self.b

    def select(self, which: np.ndarray) -> None:
        """Continue with some rows only."""
        for name in ("columns", "r", "s", "q", "z", "a", "b"):
            setattr(self, name, getattr(self, name)[which])


def _balance(penalties, scaled, graph_point, split, before, first: float) -> None:
    """Change the penalties of one split so that its two relative residuals become equal."""
    apart = _norms(graph_point - split) / np.maximum(_norms(split), TINY)
    moved = _norms(split - before) / np.maximum(_norms(scaled), TINY)
    factors = np.sqrt((apart + TINY) / (moved + TINY))
    factors[(factors > 1 / LEAST_IMBALANCE) & (factors < LEAST_IMBALANCE)] = 1.0
    factors = np.clip(factors, 1 / MOST_PENALTY_CHANGE, MOST_PENALTY_CHANGE)
    new = np.clip(penalties * factors, first / PENALTY_RANGE, first * PENALTY_RANGE)
    scaled *= (penalties / new)[:, None]
    penalties[:] = new


def _norms(rows: np.ndarray) -> np.ndarray:
    return np.sqrt((rows * rows).sum(axis=1))
