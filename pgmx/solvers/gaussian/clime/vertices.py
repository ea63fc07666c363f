"""Certificates of CLIME columns, and the exact vertices given by the supports of q and y."""

from dataclasses import dataclass

import numpy as np

from pgmx.solvers.gaussian.shifted_product import ShiftedProduct

#: Largest excess and relative gap of a vertex that counts as optimal.
EXACT = 1e-9


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
        exact[rows] = Certificates.from_points(product, columns[rows], lam, q[rows], y[rows]).are_within(EXACT)
    return exact, q, y


def _largest(row: np.ndarray, k: int) -> np.ndarray:
    """Return the places of the k largest entries, ascending."""
    return np.sort(np.argsort(-abs(row), kind="stable")[:k])
