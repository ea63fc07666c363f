"""Columns of the CLIME estimator, by the exact path or by ADMM, whichever is cheaper.

The exact path leads from the penalty 1 downwards and ends for columns that are too dense. The solution is piecewise
linear. A step to the next segment costs 4 k p + 8 k² operations for k non-zeros. The number of steps is about k for
sparse solutions, and several times k for dense ones. Bounds are widened by up to 1e-12 (residual) and 1e-10 (dual
constraint), each by its own amount, so that ties cannot block the path. A path ends when all penalties are reached,
when there is no feasible point below the current penalty, after MOST_EXCHANGES, at the deadline, or when the column has
used its allowance of operations.

Reference: Vanderbei, R. J. (2014), Linear Programming: Foundations and Extensions, chapter 7 (the parametric self-dual
simplex method).
"""

from dataclasses import dataclass, replace
from math import inf

import numpy as np
from scipy.sparse import csc_array, hstack

from pgmx._ext._clime import STATUSES, Paths
from pgmx.runs.run import is_past
from pgmx.solvers.gaussian.clime_admm import ShiftedProduct, StartingPoint, solve_by_admm
from pgmx.solvers.gaussian.column_estimates import ColumnEstimates, assemble_columns

SOLVERS = ("auto", "homotopy", "admm")

#: Maximum operations of a column on the path per penalty, in units of p², before it is passed to the ADMM. Measured on
#: random graphs, p = 500, n = 1000, one thread: the path makes 17e9 operations per second, an iteration of the ADMM
#: with 4 p² operations 50e9. With 10, 40, 105, 195 and 281 non-zeros per column the path needs 0.3, 12, 150, 900 and
#: 3600 p² operations (0.03, 0.2, 2, 14, 45 ms), and the ADMM 8, 33, 94, 149 and 190 ms, mostly without reaching 1e-4 in
#: the last two cases. With this limit a column on the path needs at most about the time of the ADMM for a dense column,
#: and both together at most twice this time.
ALLOWANCE = 10_000.0

#: Floating-point operations between two checks of the clock and of interrupts: a few hundredths of a second.
OPERATIONS_PER_CHECK = 2e8

#: Largest excess and largest relative gap of a solution that counts as exact. Gaps are about 1e-10 unless the active
#: submatrix is nearly singular, so that its inverse amplifies rounding errors of y.
EXCESS, GAP = 1e-9, 1e-6

#: Maximum number of exchanges of a column: a constant, and a number per variable.
MOST_EXCHANGES = 1000, 100
_DONE, _SPENT = STATUSES.index("done"), STATUSES.index("spent")


@dataclass(frozen=True, eq=False)
class UnfinishedColumns:
    """Columns that used up their allowance, and their state: q and y after `reached` penalties."""

    positions: np.ndarray  # places in `columns`, int64 of shape (u,)
    reached: np.ndarray  # number of solved penalties, int64 of shape (u,)
    points: csc_array  # the last q, of shape (p, u)
    multipliers: csc_array  # the y of the dual problem there, of shape (p, u)


def clime_columns(
    R: np.ndarray | None,
    columns: np.ndarray,
    lams: np.ndarray,
    *,
    factor: np.ndarray | None = None,
    ridge: float = 0.0,
    solver: str = "auto",
    tol: float = 1e-4,
    max_iter: int = 5000,
    deadline: float = inf,
) -> ColumnEstimates:
    r"""Solve columns of the CLIME estimator at each penalty of a path.

    .. math:: \min_q \|q\|_1 \quad \text{s.t.} \quad \|(R + \rho I) q - e_j\|_\infty \le \lambda

    Parameters
    ----------
    R : ndarray of float64, shape (p, p), or None
        Correlation matrix, C-contiguous, symmetric, positive semidefinite. It is not changed.
    columns : ndarray of int64, shape (m,)
        The columns j.
    lams : ndarray of float64, shape (k,)
        Penalties, descending, at least 0.
    factor : ndarray of float64, shape (n, p), optional
        R = factor.T @ factor, for n < p. With it the ADMM does not need R. It may be mapped from a file.
    ridge : float, default=0.0
        Ridge :math:`\rho` on the diagonal.
    solver : {"auto", "homotopy", "admm"}, default="auto"
        "homotopy": the exact path. "admm": the iteration. "auto": the path for each column while it is cheaper. Without
        R "auto" is the iteration.
    tol : float, default=1e-4
        Largest excess over the radius, and largest duality gap relative to ``max(1, |q|_1)``, of an iterated column.
        Columns of the path are exact (excess at most 1e-9).
    max_iter : int, default=5000
        Maximum number of iterations per column and penalty.
    deadline : float, default=inf
        Value of ``time.perf_counter`` at which to stop.

    Returns
    -------
    ColumnEstimates
        Solutions. Gaps are computed from feasible dual points, for the radius that a solution satisfies. Columns
        without a feasible point at a penalty keep their last feasible point and are marked as not converged; no error
        is raised.

    Raises
    ------
    ValueError
        If the solver is unknown or needs R, R is not square, a column does not exist, or the penalties are negative or
        not in descending order.

    Notes
    -----
    Cost of the path: 4 k p + 8 k² operations per step of a column with k non-zeros; of ADMM: 4 p² operations per
    iteration of a column. Results do not depend on the blocks of columns. The path releases the GIL.

    References
    ----------
    .. [1] Cai, T., Liu, W. and Luo, X. (2011). A constrained l1 minimization approach to sparse precision matrix
       estimation. Journal of the American Statistical Association 106, 594-607 (equations 2 and 3).

    Examples
    --------
    >>> R = np.array([[1.0, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 1.0]])
    >>> estimates = clime_columns(R, np.arange(3), np.array([0.1]))
    >>> estimates.coefficients[0].toarray().round(3)[:, 0].tolist()
    [1.133, -0.467, 0.0]
    """
    if solver not in SOLVERS:
        raise ValueError(f"solver={solver!r} is unknown: choose one of {', '.join(map(repr, SOLVERS))}")
    if R is None and (solver == "homotopy" or factor is None):
        raise ValueError(f"solver={solver!r} needs the correlation matrix R: give R, or a factor with solver='admm'")
    columns = np.ascontiguousarray(columns, dtype=np.int64)
    lams = np.ascontiguousarray(lams, dtype=np.float64)
    _check(R, factor, columns, lams)
    if solver == "admm" or R is None:
        product = ShiftedProduct(R if factor is None else None, factor=factor, ridge=ridge)
        return solve_by_admm(product, columns, lams, tol=tol, max_iter=max_iter, deadline=deadline)
    allowance = ALLOWANCE * len(R) ** 2 if solver == "auto" else inf
    estimates, unfinished = solve_by_homotopy(R, columns, lams, ridge=ridge, allowance=allowance, deadline=deadline)
    if unfinished is None:
        return estimates
    rest = solve_by_admm(
        ShiftedProduct(R, ridge=ridge),
        columns[unfinished.positions],
        lams,
        tol=tol,
        max_iter=max_iter,
        deadline=deadline,
        start=StartingPoint(unfinished.points.toarray().T, unfinished.multipliers.toarray().T, unfinished.reached),
        single=False,
    )
    return _merge(estimates, unfinished, rest)


def _check(R: np.ndarray | None, factor: np.ndarray | None, columns: np.ndarray, lams: np.ndarray) -> None:
    """Refuse shapes and penalties that the compiled path does not check."""
    if R is not None and (R.ndim != 2 or R.shape[0] != R.shape[1]):
        raise ValueError(f"R must be a square matrix, got the shape {R.shape}")
    p = (factor if R is None else R).shape[1]  # type: ignore[union-attr]
    outside = columns[(columns < 0) | (columns >= p)]
    if len(outside):
        raise ValueError(f"columns must be from 0 to {p - 1}, got {outside[0]}")
    if not (lams >= 0).all() or (np.diff(lams) > 0).any():
        raise ValueError(f"lams must be at least 0 and in descending order, got {lams.tolist()}")


def _merge(estimates: ColumnEstimates, unfinished: UnfinishedColumns, rest: ColumnEstimates) -> ColumnEstimates:
    """Return the estimates with the rest of the unfinished columns filled in."""
    at = unfinished.positions
    later = np.arange(len(estimates.lams))[:, None] >= unfinished.reached
    coefficients = []
    for t, matrix in enumerate(estimates.coefficients):
        mine = np.flatnonzero(later[t])
        if not len(mine):
            coefficients.append(matrix)
            continue
        places = np.arange(len(estimates.columns))
        places[at[mine]] = len(places) + np.arange(len(mine))
        both = csc_array(hstack([matrix, rest.coefficients[t][:, mine]], format="csc"))
        coefficients.append(both[:, places])
    filled = {
        name: np.array(getattr(estimates, name), copy=True) for name in ("gaps", "violations", "converged", "n_iter")
    }
    for name in ("gaps", "violations", "converged"):
        filled[name][:, at] = np.where(later, getattr(rest, name), filled[name][:, at])
    filled["n_iter"][at] += rest.n_iter
    return replace(estimates, coefficients=coefficients, **filled)


def clime_lam_max(R: np.ndarray, ridge: float = 0.0) -> float:
    r"""Return the smallest penalty at which every column has a solution without neighbours.

    .. math:: \lambda_{max} = \max_{i \ne j} \frac{|R_{ij}|}{1 + \rho + |R_{ij}|}

    Parameters
    ----------
    R : ndarray of float64, shape (p, p)
        Correlation matrix.
    ridge : float, default=0.0
        Ridge :math:`\rho` on the diagonal.

    Returns
    -------
    float
        0 for the identity and for p = 1.

    Examples
    --------
    >>> clime_lam_max(np.array([[1.0, -0.5], [-0.5, 1.0]]))
    0.3333333333333333
    """
    _check(R, None, np.arange(0), np.empty(0))
    largest = 0.0
    for j in range(1, len(R)):
        largest = max(largest, float(abs(R[j, :j]).max()))
    return largest / (1.0 + ridge + largest)


def solve_by_homotopy(
    R: np.ndarray,
    columns: np.ndarray,
    lams: np.ndarray,
    *,
    ridge: float = 0.0,
    allowance: float = inf,
    deadline: float = inf,
) -> tuple[ColumnEstimates, UnfinishedColumns | None]:
    """Follow the exact solution of each column from the penalty 1 downwards; see `clime_columns` for the arguments.

    `allowance` is the number of operations of a column per penalty; unused operations are kept for later ones. A column
    without a feasible point at a penalty, or one that has to stop, keeps its last feasible point, not converged.
    Columns that used up a finite allowance are empty from there on, and returned as unfinished (or None).
    """
    paths = Paths(R, columns, lams, ridge, allowance, _count_exchanges(len(R)))
    _follow(paths, deadline)
    places, values = paths.pop_entries()
    coefficients = assemble_columns(places, values, paths.counts, len(R))
    sizes = np.column_stack([abs(matrix).sum(axis=0) for matrix in coefficients])
    reached = np.arange(len(lams)) < paths.reached[:, None]
    converged = reached & (paths.violations <= EXCESS) & (paths.gaps <= GAP * np.maximum(1.0, sizes))
    estimates = ColumnEstimates(
        lams, columns, coefficients, paths.gaps.T.copy(), paths.violations.T.copy(), converged.T.copy(), paths.pivots
    )
    return estimates, _collect_unfinished(paths, len(R))


def _count_exchanges(n_variables: int) -> int:
    base, per_variable = MOST_EXCHANGES
    return base + per_variable * n_variables


def _follow(paths: Paths, deadline: float) -> None:
    """Follow the paths to their ends, or to the deadline."""
    ended = False
    while not ended and not is_past(deadline):
        ended = paths.advance(OPERATIONS_PER_CHECK)
    if not ended:
        paths.finish()


def follow_column(
    R: np.ndarray, column: int, lams: np.ndarray, *, ridge: float = 0.0, deadline: float = inf
) -> tuple[csc_array, csc_array, int]:
    """Return q and y of one column at each penalty, as columns of shape (p, k), and the number of exchanges."""
    paths = Paths(R, np.array([column], dtype=np.int64), lams, ridge, inf, _count_exchanges(len(R)), True)
    _follow(paths, deadline)
    places, values = paths.pop_entries()
    points = assemble_columns(places, values, paths.counts.T.copy(), len(R))[0]
    places, values = paths.pop_multipliers()
    multipliers = assemble_columns(places, values, paths.multiplier_counts.T.copy(), len(R))[0]
    return points, multipliers, int(paths.pivots[0])


def _collect_unfinished(paths: Paths, n_variables: int) -> UnfinishedColumns | None:
    """Return the columns that used up their allowance; None if there are none."""
    positions = np.flatnonzero(paths.statuses == _SPENT)
    if not len(positions):
        return None
    places, values = paths.pop_unfinished_entries()
    points, multipliers = assemble_columns(places, values, paths.unfinished_counts[positions], n_variables)
    return UnfinishedColumns(positions, paths.reached[positions], points, multipliers)
