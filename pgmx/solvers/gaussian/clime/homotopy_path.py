"""The exact path of CLIME columns from the penalty 1 downwards, and its end for columns that are too dense.

The solution is piecewise linear. A step to the next segment costs 4 k p + 8 k² operations for k non-zeros. The number
of steps is about k for sparse solutions, and several times k for dense ones. Bounds are widened by up to 1e-12
(residual) and 1e-10 (dual constraint), each by its own amount, so that ties cannot block the path. A path ends when all
penalties are reached, when there is no feasible point below the current penalty, after MOST_EXCHANGES, at the deadline,
or when the column has used its allowance of operations.

Reference: Vanderbei, R. J. (2014), Linear Programming: Foundations and Extensions, chapter 7 (the parametric self-dual
simplex method).
"""

from dataclasses import dataclass
from math import inf

import numpy as np
from scipy.sparse import csc_array

from pgmx._ext._clime import STATUSES, Paths
from pgmx.runs.run import is_past
from pgmx.solvers.gaussian.column_estimates import ColumnEstimates, assemble_columns

#: Floating-point operations between two checks of the clock and of interrupts: a few hundredths of a second.
PIECE = 2e8
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
        ended = paths.advance(PIECE)
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
