"""The exact path of CLIME columns, and what a column hands over that is too dense for it."""

from dataclasses import dataclass
from math import inf
from time import perf_counter

import numpy as np
from scipy.sparse import csc_array

from pgmx._ext._clime import STATUSES, Paths
from pgmx.solvers.gaussian.column_estimates import ColumnEstimates

__all__ = ["Unfinished", "homotopy_columns"]

#: Floating-point operations between two looks at the clock, and at what the user interrupts: a few hundredths of a
#: second.
PIECE = 2e8
#: Largest excess and largest relative gap of a solution that counts as exact. Gaps are about 1e-10 unless the active
#: part of the matrix is nearly singular: its inverse takes rounding errors of y along.
EXCESS, GAP = 1e-9, 1e-6
#: Exchanges a column may take: so many, and so many a variable.
MOST_EXCHANGES = 1000, 100

_DONE, _SPENT = STATUSES.index("done"), STATUSES.index("spent")


@dataclass(frozen=True, eq=False)
class Unfinished:
    """Columns that used up their work, and where they stood.

    Parameters
    ----------
    positions : ndarray of int64, shape (u,)
        Places in `columns` of the columns concerned.
    reached : ndarray of int64, shape (u,)
        How many penalties were solved for each.
    points, multipliers : csc_array of shape (p, u)
        The last q, and the y of the dual problem there.
    """

    positions: np.ndarray
    reached: np.ndarray
    points: csc_array
    multipliers: csc_array


def homotopy_columns(
    R: np.ndarray,
    columns: np.ndarray,
    lams: np.ndarray,
    *,
    ridge: float = 0.0,
    allowance: float = inf,
    deadline: float = inf,
) -> tuple[ColumnEstimates, Unfinished]:
    r"""Follow the solution of each column from the penalty 1 downwards, exactly.

    .. math:: \min_q \|q\|_1 \quad \text{s.t.} \quad \|(R + \rho I) q - e_j\|_\infty \le \lambda

    Parameters
    ----------
    R : ndarray of float64, shape (p, p)
        Correlation matrix, C-contiguous, symmetric; only read.
    columns : ndarray of int64, shape (m,)
        The columns j.
    lams : ndarray of float64, shape (k,)
        Penalties, descending, at least 0.
    ridge : float, default=0.0
        The :math:`\rho` on the diagonal.
    allowance : float, default=inf
        Floating-point operations a column may use for each penalty, those saved on earlier ones included.
    deadline : float, default=inf
        Reading of ``time.perf_counter`` at which to stop.

    Returns
    -------
    estimates : ColumnEstimates
        Solutions. From the penalty on below which a column has no feasible point, or where it had to stop, its last
        feasible point, not converged. Columns that used up their work, or got stuck with less than an infinite
        allowance, are empty and not converged from there on.
    unfinished : Unfinished
        Those columns.

    Notes
    -----
    Cost of one of the steps between which the solution is linear: 4 k p + 8 k² operations for k non-zeros; their number
    is about k while the solution is sparse, several times k when it is not. On the way bounds are widened by up to
    1e-12 (the residual) and 1e-10 (the dual constraint), each its own amount, so that ties cannot hold the path up.

    References
    ----------
    .. [1] Cai, T., Liu, W. and Luo, X. (2011). A constrained l1 minimization approach to sparse precision matrix
       estimation. Journal of the American Statistical Association 106, 594-607 (equation 3).
    .. [2] Vanderbei, R. J. (2014). Linear Programming: Foundations and Extensions, chapter 7 (the parametric self-dual
       simplex method).

    Examples
    --------
    >>> R = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> estimates, unfinished = homotopy_columns(R, np.array([0]), np.array([0.5, 0.1]))
    >>> [q.toarray().ravel().round(4).tolist() for q in estimates.coefficients]
    [[0.5, 0.0], [1.1333, -0.4667]]
    >>> len(unfinished.positions)
    0
    """
    few, each = MOST_EXCHANGES
    paths = Paths(R, columns, lams, ridge, allowance, few + each * len(R))
    ended = False
    while not ended and perf_counter() < deadline:
        ended = paths.advance(PIECE)
    if not ended:
        paths.finish()
    sizes = np.zeros_like(paths.violations)
    index, values = paths.entries()
    coefficients = _by_penalty(index, values, paths.counts, len(R), sizes)
    reached = np.arange(len(lams)) < paths.reached[:, None]
    converged = reached & (paths.violations <= EXCESS) & (paths.gaps <= GAP * np.maximum(1.0, sizes))
    estimates = ColumnEstimates(
        lams, columns, coefficients, paths.gaps.T.copy(), paths.violations.T.copy(), converged.T.copy(), paths.pivots
    )
    return estimates, _unfinished(paths, len(R))


def _by_penalty(
    index: np.ndarray, values: np.ndarray, counts: np.ndarray, n_variables: int, sizes: np.ndarray
) -> list[csc_array]:
    """Return one matrix a penalty of entries that come column after column; `sizes` gets the l1 norms."""
    m, k = counts.shape
    which = np.repeat(np.tile(np.arange(k), m), counts.ravel())
    found = []
    for t in range(k):
        mine = which == t if k > 1 else slice(None)
        pointer = np.concatenate([[0], np.cumsum(counts[:, t])]).astype(np.int32)
        matrix = csc_array((values[mine], index[mine], pointer), shape=(n_variables, m))
        matrix.sort_indices()
        sizes[:, t] = abs(matrix).sum(axis=0)
        found.append(matrix)
    return found


def _unfinished(paths: Paths, n_variables: int) -> Unfinished:
    """Return the columns that used up their work."""
    positions = np.flatnonzero(paths.statuses == _SPENT)
    index, values = paths.handed()
    point, multiplier = _by_penalty(
        index, values, paths.hand_counts[positions], n_variables, np.zeros((len(positions), 2))
    )
    return Unfinished(positions, paths.reached[positions], point, multiplier)
