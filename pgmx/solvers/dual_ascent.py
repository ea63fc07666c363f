"""One connected component of a graphical lasso: sweeps over its columns, and its certificate."""

from collections.abc import Callable
from math import inf, sqrt

import numpy as np
from scipy import sparse

from pgmx._ext._gram_lasso import ColumnAscent
from pgmx.solvers.glasso_certificate import (
    HALVINGS,
    NEAR,
    gap_of_near_inverses,
    log_determinant,
    shrinkage_into_box,
)

__all__ = ["DualAscent"]

#: Columns of a sweep are solved to this share of the root mean square change of the sweep before, and to no less than
#: this share of the tolerance.
OF_CHANGE, LEAST_SLACK = 0.1, 0.1
#: Most passes over the rows of W for one column of one sweep.
ROUNDS = 10
#: Shares of λ by which columns may miss their optimality conditions: in the first sweep, and after a start that has to
#: be positive definite.
COARSE, FINE = 1e-2, 1e-9
#: What the dual point clip(Θ⁻¹) would show for a gap is about this times the root of what a sweep moved, and at most
#: APART times the sum that `residual` computes: 0.4 to 1.1, and 0.2 to 2.8, on Erdős-Rényi graphs of 500 and 1000
#: variables with 10 to 80 neighbours each. Heuristics: they say when to stop, not how good the result is.
OF_MOVED, APART = 0.6, 3.0
#: Sweeps that are spent, after W has proved Θ optimal to the tolerance, on a Θ whose own inverse proves it.
POLISH = 30
#: Sweeps after which a certificate is computed in any case.
PATIENCE = 12


class DualAscent:
    r"""Block ascent on log det W over :math:`|W - R| \le \lambda` for one component.

    Parameters
    ----------
    R : ndarray of float64, shape (p, p)
        Its correlations, with what the diagonal is penalised by on the diagonal.
    nodes : ndarray of int64, shape (p,)
        Its variables.

    Attributes
    ----------
    objective, gap : float
        As last certified; the gap is the component's share of the whole.
    converged : bool
        Whether the gap met the last tolerance asked for.
    n_iter : int
        Sweeps at the present λ.

    Notes
    -----
    The first penalty of a path begins at correlations soft-thresholded by λ: feasible, close to the solution and for
    sparse problems positive definite. When a column or the certificate finds that they are not, the component begins
    anew at shrunken correlations, which are, and takes its steps with full accuracy.

    With :math:`E = I - W\Theta` and :math:`t = \|E\|_F < 1/2` the eigenvalues of WΘ are positive, hence W is positive
    definite with Θ, and

    .. math::

        F(\Theta) - \log\det W - p \le \sum_{i \ne j} \left(\lambda |\Theta_{ij}| - (W - R)_{ij} \Theta_{ij}\right)
            + \frac{t^2}{2} \left(1 + \frac{2}{3} \frac{t}{1 - t}\right)

    by the series of the logarithm: a bound without cancellation, at the price of one more sweep instead of a
    factorisation of W. For larger t the left side is computed as it stands.
    """

    def __init__(self, R: np.ndarray, nodes: np.ndarray):
        self.nodes = nodes
        self._R = R
        self._ascent = ColumnAscent(R)
        self._dense = np.empty(R.shape)
        self._lam = inf
        self._share = 1.0  # what is left of the precision off its diagonal
        self._safe = False
        self._apart = inf
        self.objective, self.gap, self.converged, self.n_iter = inf, inf, False, 0

    # ---- starts ----

    def begin(self, lam: float) -> None:
        """Begin at soft-thresholded correlations."""
        self._reset(lam, safe=False)
        self._ascent.start_soft(lam)

    def begin_at(self, lam: float, last: float, W: np.ndarray, precision: sparse.csr_array) -> None:
        """Begin at the solution for the penalty `last`, moved into the new box."""
        self._reset(lam, safe=False)
        diagonal = precision.diagonal()
        rows = np.repeat(np.arange(len(diagonal)), np.diff(precision.indptr))
        off = rows != precision.indices
        coefficients = (-precision.data / diagonal[rows])[off]
        indptr = np.concatenate(([0], np.cumsum(np.bincount(rows[off], minlength=len(diagonal)))))
        self._ascent.start_columns(indptr.astype(np.int32), precision.indices[off].astype(np.int32), coefficients)
        self._ascent.start_from(W, min(1.0, lam / last))

    def go_on(self, lam: float) -> None:
        """Begin at the component's own last solution."""
        share = min(1.0, lam / self._lam)
        self._reset(lam, safe=self._safe)
        self._ascent.start_from(self._ascent.dual, share)

    def _reset(self, lam: float, safe: bool) -> None:
        self._lam, self._safe = lam, safe
        self._slack = (FINE if safe else COARSE) * lam
        self.n_iter, self.converged = 0, False

    def _begin_safely(self) -> None:
        """Begin anew where W is positive definite beyond doubt."""
        self._ascent.start_shrunk(shrinkage_into_box(self._R, self._lam))
        self._safe, self._slack = True, FINE * self._lam

    # ---- sweeps ----

    def solve(self, tol: float, max_iter: int, watch: Callable[[int, int], bool]) -> None:
        """Sweep until the gap is at most `tol` times max(1, |objective|).

        Parameters
        ----------
        tol : float
            Relative gap.
        max_iter : int
            Most sweeps since the start at this penalty.
        watch : callable
            Called after each sweep with its number and the edges at hand; True stops.
        """
        if self.n_iter and self.gap <= tol * max(1.0, abs(self.objective)):
            return
        unchecked, proved, scale = 0, 0, float(len(self.nodes))
        self.converged = False
        while True:
            moved, _, stuck, entries = self._ascent.sweep(self._lam, self._slack, ROUNDS)
            self.n_iter += 1
            unchecked += 1
            over = watch(self.n_iter, entries // 2) or self.n_iter >= max_iter
            if stuck and not self._safe and not over:
                self._begin_safely()
                continue
            if not self._safe:
                wanted = max(LEAST_SLACK * tol, OF_CHANGE * sqrt(moved) / len(self.nodes))
                self._slack = min(self._slack, wanted)
            proved += self.converged
            if not (over or OF_MOVED * sqrt(moved) <= tol * scale or unchecked >= PATIENCE or proved >= POLISH):
                continue
            definite = self._certify()
            unchecked, scale = 0, max(1.0, abs(self.objective))
            self.converged = self.gap <= tol * scale
            if over or (self.converged and (APART * self._apart <= tol * scale or proved >= POLISH)):
                return
            if not definite and not self._safe:
                self._begin_safely()
            elif moved < 1e-3 * self.gap:  # what columns may miss is what is left of the gap
                self._slack = max(0.1 * self._slack, 1e-3 * FINE * self._lam)

    # ---- certificate ----

    def _certify(self) -> bool:
        """Set objective and gap; return whether W was found positive definite."""
        trace, size, _ = self._ascent.precision(self._dense)
        slack, squares, self._apart = self._ascent.residual(self._lam, self._dense)
        logdet = log_determinant(self._dense, overwrite=True)
        self._share = 1.0
        if logdet is None:
            trace, size, logdet = self._towards_diagonal()
        self.objective = -logdet + trace + self._lam * size
        distance = sqrt(squares)
        if self._share == 1.0 and distance < NEAR:
            self.gap = slack + gap_of_near_inverses(distance)
            return True
        found = log_determinant(np.array(self._ascent.dual), overwrite=True)
        definite = found is not None
        if not definite:
            found = self._nearest_dual()
        self.gap = inf if found is None else self.objective - found - len(self.nodes)
        return definite

    def _towards_diagonal(self) -> tuple[float, float, float]:
        """Move Θ towards its diagonal until it is positive definite; return tr(RΘ), Σ|Θ_ij| and its log determinant."""
        for _ in range(HALVINGS):
            self._share *= 0.5
            trace, size, _ = self._ascent.precision(self._dense)
            diagonal = self._dense.diagonal().copy()
            own = float(diagonal @ self._R.diagonal())
            self._dense *= self._share
            np.fill_diagonal(self._dense, diagonal)
            logdet = log_determinant(self._dense, overwrite=True)
            if logdet is not None:
                self._ascent.precision(self._dense)
                return own + self._share * (trace - own), self._share * size, logdet
        self._share = 0.0
        self._ascent.precision(self._dense)
        return own, 0.0, float(np.log(diagonal).sum())

    def _nearest_dual(self) -> float | None:
        """Return log det of the first positive definite point on the way from W to shrunken correlations."""
        share = shrinkage_into_box(self._R, self._lam)
        safe = (1.0 - share) * self._R
        np.fill_diagonal(safe, self._R.diagonal())
        W = np.array(self._ascent.dual)
        for _ in range(HALVINGS):
            W = 0.5 * (W + safe)
            found = log_determinant(W)
            if found is not None:
                return found
        return None

    # ---- results ----

    @property
    def dual(self) -> np.ndarray:
        """W as a view (p, p): feasible."""
        return self._ascent.dual

    def triplets(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return Θ as arrays of a CSR matrix (indptr, indices, values)."""
        return self._ascent.triplets(self._share, self._dense)
