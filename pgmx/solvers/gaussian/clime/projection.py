r"""CLIME columns by an alternating direction method whose projections on {S q = z} are exact.

.. math::

    x &= \operatorname*{arg\,min}_x \; r \|x - (q - a)\|^2 + s \|S x - (z - b)\|^2 \\
    q &\leftarrow \operatorname{soft}(\hat x + a,\; 1 / r), \quad a \leftarrow a + \hat x - q \\
    z &\leftarrow e_j + \operatorname{clip}(\hat z + b - e_j, \pm\lambda), \quad b \leftarrow b + \hat z - z

with :math:`\hat x, \hat z` the over-relaxed points x, S x. The multipliers of the dual problem are y = -s b. A penalty
r or s is raised if its split moves less than its distance from the graph, and lowered if it moves more. An iteration
costs 8 p² operations per column, since S is diagonal in the basis of its eigenvectors for all penalties. The condition
number of S, which slows down linearised steps, does not affect the projection.

Reference: Parikh, N. and Boyd, S. (2014), Block splitting for distributed optimization, Mathematical Programming
Computation 6, 77-102, section 3 (graph projection splitting).
"""

import numpy as np

from pgmx.solvers.gaussian.shifted_product import ShiftedProduct

#: Initial penalties of the splits q and z, and their maximum change.
FIRST, RANGE = (1.0, 100.0), 1e6
#: Over-relaxation.
RELAXATION = 1.8
#: Iterations between two balances of the residuals. Penalties do not change if the root of their ratio is within the
#: second number, and change at most by the third.
BALANCE, UNBALANCED, MOST_MOVED = 100, 2.0, 10.0
#: Cost of the eigenvalues of S in units of p³, and cost of an iteration of one column in units of p².
EIGEN_COST, STEP_COST = 25.0, 8.0
#: Maximum bytes of an R that is formed from its factor for the eigenvalues.
FORMED = 2**28
#: Added to shares of residuals to avoid division by zero.
TINY = 1e-12


def is_projection_cheaper(product: ShiftedProduct, n_columns: int, n_iter: int) -> bool:
    """Return whether the eigenvalues of S cost less than the iterations of the columns that they replace."""
    is_formed = product.has_matrix or 8 * product.n_variables**2 <= FORMED
    return is_formed and EIGEN_COST * product.n_variables <= STEP_COST * n_columns * n_iter


class ProjectedSteps:
    """Iterates of the method in its graph form, one row per column, from given q and y of shape (m, p)."""

    def __init__(self, product: ShiftedProduct, columns, lam: float, points, multipliers):
        self.product, self.columns, self.lam = product, columns, lam
        self.values, self.vectors = product.eigenvalues()
        self.r, self.s = (np.full(len(columns), first) for first in FIRST)
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
        if iteration % BALANCE == 0:
            _balance(self.r, self.a, x, q, before[0], FIRST[0])
            _balance(self.s, self.b, y, z, before[1], FIRST[1])

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
    factors[(factors > 1 / UNBALANCED) & (factors < UNBALANCED)] = 1.0
    factors = np.clip(factors, 1 / MOST_MOVED, MOST_MOVED)
    new = np.clip(penalties * factors, first / RANGE, first * RANGE)
    scaled *= (penalties / new)[:, None]
    penalties[:] = new


def _norms(rows: np.ndarray) -> np.ndarray:
    return np.sqrt((rows * rows).sum(axis=1))
