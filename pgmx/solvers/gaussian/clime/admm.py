"""CLIME columns by a linearised alternating direction method of multipliers, ended by exact vertices."""

from dataclasses import dataclass
from math import inf
from time import perf_counter

import numpy as np
from scipy.sparse import csc_array, hstack

from pgmx._ext._clime import anchor, dual_shrink, primal_shrink
from pgmx.solvers.gaussian.clime.projection import ProjectedSteps, projection_pays
from pgmx.solvers.gaussian.clime.vertices import Certificates, vertices
from pgmx.solvers.gaussian.column_estimates import ColumnEstimates
from pgmx.solvers.gaussian.shifted_product import ShiftedProduct

__all__ = ["AdmmStart", "admm_columns"]

#: First ratio of the dual step to the primal one; it follows the ways that y and q go.
WEIGHT = 10.0
#: A restart is due when the residual falls below a share of that after the last one, below another and rises, or when
#: the iterations since are this share of all and at least so many: over a few iterations the ways say little but what
#: the steps were, and a ratio that follows them runs away.
NEAR, NEARER, LONGEST, SHORTEST = 0.2, 0.8, 0.36, 64
#: By how much a restart may change the ratio, and what it and its reciprocal stay below: where a column has no feasible
#: point, y goes off along a ray and q does not, which would let it grow without end.
MOST_CHANGE, LARGEST_WEIGHT = 4.0, 1e4
#: Share of the iterations after which columns of ill-conditioned matrices go to exact projections, where those pay.
LINEAR_SHARE = 0.2
#: Iterations between two looks at how good the columns are.
LOOK = 25
#: Columns that are iterated on together: enough for products at full speed, few enough for six arrays of them.
BLOCK = 512
#: Tolerance down to which single precision is asked for, and the share of the iterations that it may take.
SINGLE, SINGLE_SHARE = 1e-5, 0.15


@dataclass(frozen=True, eq=False)
class AdmmStart:
    """Where the iteration begins: q and y of the dual problem, one row a column.

    Parameters
    ----------
    points, multipliers : ndarray of float64, shape (m, p)
        q and y.
    reached : ndarray of int64, shape (m,)
        Number of leading penalties to leave out.
    """

    points: np.ndarray
    multipliers: np.ndarray
    reached: np.ndarray


def admm_columns(
    product: ShiftedProduct,
    columns: np.ndarray,
    lams: np.ndarray,
    *,
    tol: float = 1e-4,
    max_iter: int = 5000,
    deadline: float = inf,
    start: AdmmStart | None = None,
    single: bool = True,
) -> ColumnEstimates:
    r"""Solve the columns by linearised ADMM, warm from one penalty to the next.

    .. math::

        \hat q &= \operatorname{soft}(q - \tau S u,\; \tau), \qquad
        \hat u = \operatorname{soft}\bigl(u + \sigma (S (2 \hat q - q) - e_j),\; \sigma \lambda\bigr) \\
        (q, u) &\leftarrow \tfrac{i + 1}{i + 2} \bigl(2 (\hat q, \hat u) - (q, u)\bigr)
            + \tfrac{1}{i + 2} (q_0, u_0)

    The first line is linearised ADMM for the split S q = z, :math:`|z - e_j| \le \lambda`, with z eliminated and
    :math:`\tau \sigma \|S\|^2 = 1`; u is the negative of the dual y. The second is its over-relaxation by 2, anchored
    at the point of the last restart, i iterations ago.

    Parameters
    ----------
    product : ShiftedProduct
        S = R + ridge I as rows @ S.
    columns : ndarray of int64, shape (m,)
        The columns j.
    lams : ndarray of float64, shape (k,)
        Penalties, descending, at least 0.
    tol : float, default=1e-4
        Largest excess over the radius, and largest duality gap relative to max(1, |q|_1).
    max_iter : int, default=5000
        Iterations a column and penalty.
    deadline : float, default=inf
        Reading of ``time.perf_counter`` at which to stop.
    start : AdmmStart, optional
        Default: zero, all penalties.
    single : bool, default=True
        Whether to iterate in single precision first, which pays where columns are sparse.

    Returns
    -------
    ColumnEstimates
        Solutions with their certificates. Penalties left out are empty and not converged.

    Notes
    -----
    An iteration is two products of the columns not yet converged with S: 4 p² operations a column, in single precision
    first, in double where that does not reach the tolerance. A restart, column by column, moves the anchor and sets the
    ratio of the steps halfway to that of the ways y and q went. As soon as the non-zeros of q and those of y are
    equally many and stay so, the k x k system they belong to is solved; where its solution carries a certificate, the
    column ends exact. Memory: sixteen arrays of at most 512 columns.

    Columns that have not converged after a fifth of `max_iter`, as where S is ill-conditioned, go on with exact
    projections on S q = z (`ProjectedSteps`, 8 p² operations), if R fits in memory and its eigenvalues cost less than
    the iterations left. What does not converge ends as the iterate that missed the radius by least, of those within
    `tol` as the one with the smallest gap.

    References
    ----------
    .. [1] Cai, T., Liu, W. and Luo, X. (2011). A constrained l1 minimization approach to sparse precision matrix
       estimation. Journal of the American Statistical Association 106, 594-607 (equation 3).
    .. [2] Li, X., Zhao, T., Yuan, X. and Liu, H. (2015). The flare package for high dimensional linear regression and
       precision matrix estimation in R. Journal of Machine Learning Research 16, 553-557 (section 2).
    .. [3] Lu, H. and Yang, J. (2024). Restarted Halpern PDHG for linear programming. arXiv:2407.16144 (algorithm 2).

    Examples
    --------
    >>> R = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> estimates = admm_columns(ShiftedProduct(R), np.array([0]), np.array([0.5, 0.1]))
    >>> [q.toarray().ravel().round(4).tolist() for q in estimates.coefficients]
    [[0.5, 0.0], [1.1333, -0.4667]]
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
            found = block.solve(at, lam, tol, max_iter, deadline)
            matrix = np.zeros((n_mine, p))
            matrix[at] = block.points[at]
            parts[t].append(csc_array(matrix.T))
            gaps[t, first + at], violations[t, first + at] = found.gaps, found.violations
            converged[t, first + at] = found.good(tol)
        n_iter[mine] = block.n_iter
    joined = [csc_array(hstack(part, format="csc")) for part in parts]
    return ColumnEstimates(lams, columns, joined, gaps, violations, converged, n_iter)


class _Block:
    """Points and multipliers of some columns, and their improvement at one penalty after the other."""

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
        self.weights = np.full(len(columns), WEIGHT)
        self.single = np.full(len(columns), single)
        self.n_iter = np.zeros(len(columns), dtype=np.int64)
        self.best = points.copy(), multipliers.copy()
        self.excess, self.gap = np.full(len(columns), inf), np.full(len(columns), inf)

    def certify(self, at: np.ndarray, lam: float) -> Certificates:
        """Return how good the kept points are."""
        return Certificates.of(self.product, self.columns[at], lam, self.points[at], self.multipliers[at])

    def offer(self, rows: np.ndarray, found: Certificates, tol: float, points: np.ndarray, duals: np.ndarray) -> None:
        """Keep points that miss the radius by less than the best ones so far, or by as much with a smaller gap."""
        excess, gap = np.maximum(found.violations, tol), found.gaps / np.maximum(1.0, found.sizes)
        better = (excess < self.excess[rows]) | ((excess == self.excess[rows]) & (gap < self.gap[rows]))
        to = rows[better]
        self.excess[to], self.gap[to] = excess[better], gap[better]
        self.best[0][to], self.best[1][to] = points[better], duals[better]

    def solve(self, at: np.ndarray, lam: float, tol: float, max_iter: int, deadline: float) -> Certificates:
        """Improve the points of the rows `at` until they are within `tol`, and return their certificates."""
        found = self.certify(at, lam)
        self.excess[at] = inf
        self.offer(at, found, tol, self.points[at], self.multipliers[at])
        single = int(SINGLE_SHARE * max_iter)
        double = int(LINEAR_SHARE * max_iter) - single
        for make, most, bound in (
            (_Single, single, max(tol, SINGLE)),
            (_Double, double, tol),
            (_Projected, max_iter - single - double, tol),
        ):
            left = np.flatnonzero(~found.good(tol) & (self.single[at] | (make is not _Single)))
            if not (most and len(left)) or perf_counter() >= deadline:
                continue
            if make is _Projected and not projection_pays(self.product, len(left), most):
                make = _Double
            self._iterate(make(self, at[left], lam), tol, bound, most, deadline)
            found.replace(left, self.certify(at[left], lam))
            if make is _Single:  # rounding holds dense columns up: smaller penalties need double all the more
                self.single[at[left]] = found.good(tol)[left]
        left = np.flatnonzero(~found.good(tol))
        if len(left):
            self.points[at[left]], self.multipliers[at[left]] = (kept[at[left]] for kept in self.best)
            found.replace(left, self.certify(at[left], lam))
        return found

    def _iterate(self, state: "_Iterates", tol: float, bound: float, max_iter: int, deadline: float) -> None:
        """Iterate on some rows; those that end are written back as they end."""
        for iteration in range(1, max_iter + 1):
            state.step(iteration)
            if iteration % LOOK and iteration < max_iter:
                continue
            ended = state.look(bound, tol)
            if iteration == max_iter or perf_counter() >= deadline:
                state.write_back(np.flatnonzero(~ended))
                return
            if ended.any():
                state.keep(np.flatnonzero(~ended))
            if not len(state.rows):
                return


class _Iterates:
    """What the iterations have in common: a row a column that has not ended, looked at and written back."""

    def __init__(self, block: _Block, rows: np.ndarray, lam: float):
        self.block, self.rows, self.lam = block, rows, lam
        self.columns = block.columns[rows]
        self.supports = np.zeros((len(rows), 2), dtype=np.int64)

    def step(self, iteration: int) -> None:
        """Take one iteration."""
        raise NotImplementedError

    def points(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return q, y, S q and S y."""
        raise NotImplementedError

    def look(self, bound: float, tol: float) -> np.ndarray:
        """Return which rows have ended, written back: within the bound, or moved to an exact vertex."""
        block, product = self.block, self.block.product
        block.n_iter[self.rows] += LOOK
        points, duals, residuals, images = self.points()
        residuals = residuals.copy()
        residuals[np.arange(len(self.rows)), self.columns] -= 1
        found = Certificates.from_residuals(residuals, images, points, duals, self.columns, self.lam)
        block.offer(self.rows, found, tol, points, duals)
        close = found.good(bound)
        supports = np.column_stack([np.count_nonzero(points, axis=1), np.count_nonzero(duals, axis=1)])
        steady = (supports == self.supports).all(axis=1) & (supports[:, 0] == supports[:, 1])
        self.supports = supports
        ended = np.zeros(len(self.rows), dtype=bool)
        tried = np.flatnonzero(steady | close)
        if len(tried):
            exact, q, y = vertices(product, self.columns[tried], self.lam, points[tried], duals[tried])
            done = self.rows[tried[exact]]
            block.points[done], block.multipliers[done] = q[exact], y[exact]
            ended[tried[exact]] = True
        only = np.flatnonzero(close & ~ended)
        self.write_back(only)
        if len(only):
            ended[only] = block.certify(self.rows[only], self.lam).good(max(tol, bound))
        return ended

    def write_back(self, which: np.ndarray) -> None:
        """Put the points of some rows where the block keeps them."""
        done, (points, duals, _, _) = self.rows[which], self.points()
        self.block.points[done], self.block.multipliers[done] = points[which], duals[which]

    def keep(self, which: np.ndarray) -> None:
        """Go on with some rows only."""
        for name in ("rows", "columns", "supports"):
            setattr(self, name, getattr(self, name)[which])


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

    def keep(self, which: np.ndarray) -> None:
        """Go on with some rows only."""
        super().keep(which)
        self.steps.keep(which)


class _Double(_Iterates):
    """The arrays of the linearised iteration, a row a column: q, u, S q, S u, with y = -u."""

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
        """Move the anchor of rows that have come nearer by enough, or turn, or waited for long."""
        begun = self.since > 0
        self.first = np.where(begun, self.first, residuals)
        nearer = residuals <= NEAR * self.first
        turns = (residuals <= NEARER * self.first) & (residuals > self.last)
        which = np.flatnonzero(begun & (nearer | turns | (self.since >= max(SHORTEST, LONGEST * iteration))))
        self.last = np.where(begun, residuals, inf)
        self.since += 1
        if not len(which):
            return
        fresh = self.moved[:, which]
        self.now[:, which] = fresh
        ways = np.linalg.norm(fresh[:2] - self.anchors[:2, which], axis=2).astype(np.float64)
        self.anchors[:, which] = fresh
        self.since[which] = 0
        went = (ways > 1e-12).all(axis=0)
        weights = self.weights[which[went]]
        change = np.sqrt(ways[1, went] / ways[0, went] / weights)
        weights *= np.clip(change, 1 / MOST_CHANGE, MOST_CHANGE)
        self.weights[which[went]] = np.clip(weights, 1 / LARGEST_WEIGHT, LARGEST_WEIGHT)
        self._set_steps()

    def points(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return q, y, S q and S y."""
        self.block.weights[self.rows] = self.weights
        return self.moved[0], -self.moved[1], self.moved[2], self.moved[3]

    def keep(self, which: np.ndarray) -> None:
        """Go on with some rows only."""
        super().keep(which)
        for name in ("since", "first", "last", "weights"):
            setattr(self, name, getattr(self, name)[which])
        for name in ("now", "moved", "anchors"):
            setattr(self, name, np.ascontiguousarray(getattr(self, name)[:, which]))
        self._set_steps()


class _Single(_Double):
    """The same in single precision."""

    dtype = np.dtype(np.float32)
