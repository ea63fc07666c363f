"""One connected component of a graphical lasso: sweeps over its columns, and its certificate."""

from collections.abc import Callable
from math import inf, log, sqrt

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from pgmx._ext._gram_lasso import ColumnAscent
from pgmx.solvers.gaussian.glasso.certificate import (
    HALVINGS,
    NEAR,
    duality_gap,
    gap_of_clipped,
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
#: Where the solution lacks edges that join the component, columns are solved to this share of the slack before, down to
#: this share of λ, at which a correlation is as good as λ.
FINER, FINEST = 1e-2, 1e-15
#: Beyond this share of its objective a precision counts as worse than no edges: more than rounding.
WORSE = 1e-10


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
    connected : bool
        Whether the edges of Θ join all variables, as they do in the solution, or those lacking are of rounding size.
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
    factorisation of W. For larger t the gap is computed from factors of both, without cancellation either.
    """

    def __init__(self, R: np.ndarray, nodes: np.ndarray):
        self.nodes = nodes
        self._R = R
        self._ascent = ColumnAscent(R)
        self._dense = np.empty(R.shape)
        self._lam = inf
        # what is left of the precision: off its diagonal, of all, and whether nothing is but what R has on the diagonal
        self._share, self._scale, self._bare = 1.0, 1.0, False
        self.connected = False
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
            slow = unchecked >= PATIENCE
            unchecked, scale = 0, max(1.0, abs(self.objective))
            self.converged = self.gap <= tol * scale
            if over or (self.converged and (APART * self._apart <= tol * scale or proved >= POLISH)):
                self.connected = self._slack <= FINEST * self._lam or self._joined()
                if over or self.connected:
                    return
                self._slack *= FINER
                continue
            if not definite and not self._safe:
                self._begin_safely()
            elif slow:  # near singular W sweeps that leave errors undo what others gain
                self._slack = max(FINER * self._slack, 1e-3 * FINE * self._lam)
            elif moved < 1e-3 * self.gap:  # what columns may miss is what is left of the gap
                self._slack = max(0.1 * self._slack, 1e-3 * FINE * self._lam)

    # ---- certificate ----

    def _certify(self) -> bool:
        """Set objective and gap; return whether W was found positive definite."""
        trace, size, _ = self._ascent.precision(self._dense)
        slack, squares, self._apart = self._ascent.residual(self._lam, self._dense)
        logdet = log_determinant(self._dense, overwrite=True)
        self._share, self._scale, self._bare = 1.0, 1.0, False
        bare = float(np.log(self._R.diagonal()).sum()) + len(self.nodes)
        self.objective = inf if logdet is None else -logdet + trace + self._lam * size
        # the diagonal alone is at hand whatever the columns say
        if not self.objective <= bare + WORSE * max(1.0, abs(bare)):
            self.objective = min(bare, self._towards_diagonal(bare))
        elif (distance := sqrt(squares)) < NEAR:
            self.gap = slack + gap_of_near_inverses(distance)
            return True
        theta = self._precision()
        W = np.array(self._ascent.dual)
        gap = duality_gap(self._R, self._lam, theta, W)
        self.gap = gap_of_clipped(self._R, self._lam, theta, W) if gap is None else gap
        return gap is not None

    def _towards_diagonal(self, bare: float) -> float:
        """Move Θ towards its diagonal while that helps, scaled as is best, or to what R has there; return F."""
        p, best, share = len(self.nodes), bare, 1.0
        self._bare = True
        for _ in range(HALVINGS):
            trace, size, _ = self._ascent.precision(self._dense)
            diagonal = self._dense.diagonal().copy()
            own = float(diagonal @ self._R.diagonal())
            self._dense *= share
            np.fill_diagonal(self._dense, diagonal)
            logdet = log_determinant(self._dense, overwrite=True)
            cost = own + share * (trace - own + self._lam * size)
            if logdet is not None and 0.0 < cost < inf:
                value = -logdet + p * log(cost / p) + p
                if not value < best:
                    break
                best, self._share, self._scale, self._bare = value, share, p / cost, False
            share *= 0.5
        return best

    def _precision(self) -> np.ndarray:
        """Return Θ as an array, which leaves what `triplets` reads intact."""
        self._ascent.precision(self._dense)
        if self._bare:
            return np.diag(1.0 / self._R.diagonal())
        theta = (self._share * self._scale) * self._dense
        np.fill_diagonal(theta, self._scale * self._dense.diagonal())
        return theta

    def _joined(self) -> bool:
        """Return whether the edges of Θ join all variables."""
        graph = sparse.csr_array(self.triplets()[::-1], shape=self._R.shape)
        return connected_components(graph, directed=False, return_labels=False) == 1

    # ---- results ----

    @property
    def dual(self) -> np.ndarray:
        """W as a view (p, p): feasible."""
        return self._ascent.dual

    def triplets(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return Θ as arrays of a CSR matrix (indptr, indices, values)."""
        if self._bare:
            places = np.arange(len(self.nodes) + 1, dtype=np.int32)
            return places, places[:-1], 1.0 / self._R.diagonal()
        indptr, indices, values = self._ascent.triplets(self._share, self._dense)
        return indptr, indices, self._scale * values
