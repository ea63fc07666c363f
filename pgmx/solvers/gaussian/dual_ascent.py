r"""One connected component of a graphical lasso: sweeps over its columns, and its certificate.

The first penalty of a path starts at correlations soft-thresholded by λ. They are feasible, close to the solution and,
for sparse problems, positive definite. If a column or the certificate finds that they are not positive definite, the
component restarts at shrunk correlations, which are, with full accuracy of all steps.

With :math:`E = I - W\Theta` and :math:`t = \|E\|_F < 1/2` the eigenvalues of WΘ are positive, hence W is positive
definite with Θ, and

.. math::

    F(\Theta) - \log\det W - p \le \sum_{i \ne j} \left(\lambda |\Theta_{ij}| - (W - R)_{ij} \Theta_{ij}\right)
        + \frac{t^2}{2} \left(1 + \frac{2}{3} \frac{t}{1 - t}\right)

by the series of the logarithm. This bound has no cancellation, and costs one more sweep instead of a factorisation of
W. For larger t the gap is computed from factors of both matrices, also without cancellation.
"""

from collections.abc import Callable
from math import inf, log, sqrt

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from pgmx._ext._gram_lasso import ColumnAscent
from pgmx.solvers.gaussian.graphical_lasso_certificate import (
    HALVINGS,
    NEAR,
    compute_clipped_gap,
    compute_gap,
    compute_gap_bound,
    compute_log_determinant,
    compute_root_pivots,
    find_box_shrinkage,
)
from pgmx.statistics.cholesky import factorise_sparsely, is_sparse

#: Columns of a sweep are solved to the first share of the root mean square change of the previous sweep, but at least
#: to the second share of the tolerance.
CHANGE_SHARE, LEAST_TOL_SHARE = 0.1, 0.1
#: Maximum number of passes over the rows of W per column and sweep.
MOST_PASSES = 10
#: Number of columns of a sweep between two checks of the clock.
COLUMNS = 16
#: Maximum violation of the optimality conditions of a column, as shares of λ: in the first sweep, and after a start
#: that has to be positive definite.
COARSE_SLACK, FINE_SLACK = 1e-2, 1e-9
#: The gap at the dual point clip(Θ⁻¹) is about GAP_PER_CHANGE times the root of the change in a sweep, and at most
#: GAP_PER_RESIDUAL times the sum that `residual` computes: 0.4 to 1.1, and 0.2 to 2.8, on Erdős-Rényi graphs of 500 and
#: 1000 variables with 10 to 80 neighbours each. These heuristics decide when to stop; they do not certify the result.
GAP_PER_CHANGE, GAP_PER_RESIDUAL = 0.6, 3.0
#: Number of further sweeps after W has certified Θ, to find a Θ that its own inverse certifies.
MOST_POLISHING = 30
#: Sweeps after which a certificate is computed in any case.
PATIENCE = 12
#: If the edges of the solution do not join the component, columns are solved to the first share of the previous slack,
#: down to the second share of λ, at which a correlation counts as λ.
SLACK_DECAY, LEAST_SLACK_SHARE = 1e-2, 1e-15
#: Maximum excess of W over its box by rounding, as a share of the largest entry of R.
BOX_ROUNDING = 1e-9
#: A precision counts as worse than no edges if its objective is larger by more than this share (more than rounding).
WORSE = 1e-10


class DualAscent:
    r"""Block ascent on log det W over :math:`|W - R| \le \lambda` for the component of `nodes`.

    `objective` and `gap` (the component's contribution) are the last certified values. `least_pivot` is for Θ scaled to
    unit diagonal, 0 if unknown. `connected`: whether the edges of Θ join all variables as in the solution, up to edges
    of rounding size. `n_iter` counts sweeps.
    """

    def __init__(self, R: np.ndarray, nodes: np.ndarray):
        self.nodes = nodes
        self._R = R
        self._ascent = ColumnAscent(R)
        self._lam = inf
        # Θ is the precision of the columns, its off-diagonal times _share, all times _scale; if _bare, the inverse
        # diagonal of R
        self._share, self._scale, self._bare = 1.0, 1.0, False
        self.connected = False
        self._safe = False
        self._residual = inf
        self.objective, self.gap, self.converged, self.n_iter, self.least_pivot = inf, inf, False, 0, 0.0

    # ---- starts ----

    def start(self, lam: float) -> None:
        """Start at soft-thresholded correlations."""
        self._reset(lam, safe=False)
        self._ascent.start_soft(lam)

    def start_from(self, lam: float, last: float, W: np.ndarray, precision: sparse.csr_array) -> None:
        """Start at the solution for the penalty `last`, moved into the new box."""
        self._reset(lam, safe=False)
        diagonal = precision.diagonal()
        rows = np.repeat(np.arange(len(diagonal)), np.diff(precision.indptr))
        off = rows != precision.indices
        coefficients = (-1.0 * precision.data / diagonal[rows])[off]
        indptr = np.concatenate(([0], np.cumsum(np.bincount(rows[off], minlength=len(diagonal)))))
        self._ascent.start_columns(indptr.astype(np.int32), precision.indices[off].astype(np.int32), coefficients)
        self._ascent.start_from(W, min(1.0, lam / last))

    def restart(self, lam: float) -> None:
        """Start at the component's own last solution."""
        share = min(1.0, lam / self._lam)
        self._reset(lam, safe=self._safe)
        self._ascent.start_from(self._ascent.dual, share)

    def restore(
        self, lam: float, dual: np.ndarray, safe: bool, coefficients: tuple[np.ndarray, np.ndarray, np.ndarray]
    ) -> None:
        """Resume after the penalty `lam` from stored `dual`, `safe` and `coefficients`.

        ValueError if W is not feasible. If W is not positive definite, the next solve restarts.
        """
        slack = BOX_ROUNDING * max(1.0, float(np.abs(self._R).max()))
        box = np.full(dual.shape, lam + slack)
        np.fill_diagonal(box, slack)
        if not (np.array_equal(dual, dual.T) and (np.abs(dual - self._R) <= box).all()):
            raise ValueError("a dual point outside its box")
        indptr, indices, values = coefficients
        self._ascent.start_columns(indptr.astype(np.int32), indices.astype(np.int32), values)
        self.dual[...] = dual
        self._lam, self._safe = lam, safe

    def _reset(self, lam: float, safe: bool) -> None:
        self._lam, self._safe = lam, safe
        self._slack = (FINE_SLACK if safe else COARSE_SLACK) * lam
        self.objective, self.gap, self.converged, self.n_iter, self.least_pivot = inf, inf, False, 0, 0.0

    def _restart_safely(self) -> None:
        """Restart at a W that is certainly positive definite."""
        self._ascent.start_shrunk(find_box_shrinkage(self._R, self._lam))
        self._safe, self._slack = True, FINE_SLACK * self._lam

    # ---- sweeps ----

    def solve(
        self, tol: float, max_iter: int, report_sweep: Callable[[int, int], bool], is_over: Callable[[], bool]
    ) -> None:
        """Sweep until the gap is at most `tol` max(1, |objective|), or `max_iter` is reached.

        `report_sweep(n_iter, edges)` returns True to end after a sweep. `is_over()` ends a sweep after the current
        columns; W is feasible after each column.
        """
        if self.gap < inf and self.gap <= tol * max(1.0, abs(self.objective)):
            return
        unchecked, proved, scale = 0, 0, float(len(self.nodes))
        self.converged = False
        while True:
            moved, stuck, entries = self._sweep(is_over)
            self.n_iter += 1
            unchecked += 1
            over = report_sweep(self.n_iter, entries // 2) or self.n_iter >= max_iter
            if stuck and not self._safe and not over:
                self._restart_safely()
                continue
            if not self._safe:
                slack = max(LEAST_TOL_SHARE * tol, CHANGE_SHARE * sqrt(moved) / len(self.nodes))
                self._slack = min(self._slack, slack)
            proved += self.converged
            if not (
                over or GAP_PER_CHANGE * sqrt(moved) <= tol * scale or unchecked >= PATIENCE or proved >= MOST_POLISHING
            ):
                continue
            definite = self._certify()
            slow = unchecked >= PATIENCE
            unchecked, scale = 0, max(1.0, abs(self.objective))
            self.converged = self.gap <= tol * scale
            if over or (
                self.converged and (GAP_PER_RESIDUAL * self._residual <= tol * scale or proved >= MOST_POLISHING)
            ):
                self.connected = self._slack <= LEAST_SLACK_SHARE * self._lam or self._is_connected()
                if over or self.connected:
                    return
                self._slack *= SLACK_DECAY
                continue
            if not definite and not self._safe:
                self._restart_safely()
            elif slow:  # if W is nearly singular, sweeps with errors undo the gains of others
                self._slack = max(SLACK_DECAY * self._slack, 1e-3 * FINE_SLACK * self._lam)
            elif moved < 1e-3 * self.gap:  # the gap is due to the slack
                self._slack = max(0.1 * self._slack, 1e-3 * FINE_SLACK * self._lam)

    def _sweep(self, is_over: Callable[[], bool]) -> tuple[float, int, int]:
        """Make a step in every column while there is time; return the change, the stuck columns, and the non-zeros."""
        moved, n_stuck, n_entries = 0.0, 0, 0
        for first in range(0, len(self.nodes), COLUMNS):
            stop = min(first + COLUMNS, len(self.nodes))
            moved, _, stuck, entries = self._ascent.sweep(self._lam, self._slack, MOST_PASSES, first, stop, moved)
            n_stuck, n_entries = n_stuck + stuck, n_entries + entries
            if is_over():
                break
        return moved, n_stuck, n_entries

    # ---- certificate ----

    def _certify(self) -> bool:
        """Set objective and gap; return whether W was found positive definite."""
        trace, size, n_entries = self._ascent.precision()
        slack, squares, self._residual = self._ascent.residual(self._lam)
        logdet = self._factorise(n_entries)
        self._share, self._scale, self._bare = 1.0, 1.0, False
        bare = float(np.log(self._R.diagonal()).sum()) + len(self.nodes)
        self.objective = inf if logdet is None else -logdet + trace + self._lam * size
        # the diagonal alone is a solution for any values of the columns
        if not self.objective <= bare + WORSE * max(1.0, abs(bare)):
            self.objective = min(bare, self._towards_diagonal(bare))
        elif (distance := sqrt(squares)) < NEAR:
            self.gap = slack + compute_gap_bound(distance)
            return True
        self.least_pivot = 0.0
        theta = self._precision()
        W = np.array(self._ascent.dual)
        gap = compute_gap(self._R, self._lam, theta, W)
        self.gap = compute_clipped_gap(self._R, self._lam, theta, W) if gap is None else gap
        return gap is not None

    def _factorise(self, n_entries: int) -> float | None:
        """Return log det Θ of the precision of the columns, None if not positive definite; set `least_pivot`."""
        roots, diagonal = None, np.ones(0)
        if is_sparse(len(self.nodes), n_entries + len(self.nodes)):
            matrix = self._read_precision()
            factor = factorise_sparsely(matrix)
            if factor is not None and (factor.pivots > 0).all():
                roots, diagonal = np.sqrt(factor.pivots), matrix.diagonal()
        if roots is None:
            dense = self._read_precision().toarray()
            diagonal = dense.diagonal().copy()
            roots = compute_root_pivots(dense, overwrite=True)
        self.least_pivot = 0.0 if roots is None else float((roots**2 / diagonal).min())
        return None if roots is None else 2.0 * float(np.log(roots).sum())

    def _towards_diagonal(self, bare: float) -> float:
        """Move Θ towards its diagonal while F falls, with the best scale, or to the inverse diagonal of R; return F."""
        p, best, share = len(self.nodes), bare, 1.0
        self._bare = True
        trace, size, _ = self._ascent.precision()
        for _ in range(HALVINGS):
            dense = self._read_precision().toarray()
            diagonal = dense.diagonal().copy()
            of_diagonal = float(diagonal @ self._R.diagonal())
            dense *= share
            np.fill_diagonal(dense, diagonal)
            logdet = compute_log_determinant(dense, overwrite=True)
            cost = of_diagonal + share * (trace - of_diagonal + self._lam * size)
            if logdet is not None and 0.0 < cost < inf:
                value = -logdet + p * log(cost / p) + p
                if not value < best:
                    break
                best, self._share, self._scale, self._bare = value, share, p / cost, False
            share *= 0.5
        return best

    def _read_precision(self) -> sparse.csr_array:
        """Return the precision of the columns."""
        return sparse.csr_array(self._ascent.triplets()[::-1], shape=self._R.shape)

    def _precision(self) -> np.ndarray:
        """Return Θ as an array."""
        if self._bare:
            return np.diag(1.0 / self._R.diagonal())
        dense = self._read_precision().toarray()
        theta = (self._share * self._scale) * dense
        np.fill_diagonal(theta, self._scale * dense.diagonal())
        return theta

    def _is_connected(self) -> bool:
        """Return whether the edges of Θ join all variables."""
        graph = sparse.csr_array(self.triplets()[::-1], shape=self._R.shape)
        return connected_components(graph, directed=False, return_labels=False) == 1

    # ---- results ----

    @property
    def safe(self) -> bool:
        """Whether it had to start at a W that is certainly positive definite."""
        return self._safe

    @property
    def coefficients(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The coefficients of each variable as arrays of a CSR matrix (indptr, indices, values)."""
        return self._ascent.columns()

    @property
    def dual(self) -> np.ndarray:
        """W as a view (p, p): feasible."""
        return self._ascent.dual

    def triplets(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return Θ as arrays of a CSR matrix (indptr, indices, values)."""
        if self._bare:
            places = np.arange(len(self.nodes) + 1, dtype=np.int32)
            return places, places[:-1], 1.0 / self._R.diagonal()
        indptr, indices, values = self._ascent.triplets(self._share)
        return indptr, indices, self._scale * values
