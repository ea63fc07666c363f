"""The group lasso of all targets at once: objectives, dual points and gaps."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

#: Called with the objective and the number of blocks in use after each round over the targets; True ends the solver.
Record = Callable[[float, int], bool]


class GroupEstimates(NamedTuple):
    """Solutions for one penalty: coefficients (N, F), and objectives, duality gaps and steps per target, (N,)."""

    coefficients: np.ndarray
    objectives: np.ndarray
    gaps: np.ndarray
    n_iter: np.ndarray


@dataclass(frozen=True, eq=False)
class GroupLassoProblem:
    r"""Minimise, for each row y of the targets, ½‖y − Φw‖² + λ Σ ‖w_b‖ over the blocks that the target may use.

    `columns` Φ (T', F), orthogonal within blocks; `starts` (B + 1,); `targets` (N, T'); `allowed` (N, B), Booleans.
    """

    columns: np.ndarray
    starts: np.ndarray
    targets: np.ndarray
    allowed: np.ndarray

    @cached_property
    def squares(self) -> np.ndarray:
        """‖y‖² of each target, (N,)."""
        return np.einsum("nt,nt->n", self.targets, self.targets)

    @cached_property
    def products(self) -> np.ndarray:
        """Φ'y of each target, (N, F)."""
        return self.targets @ self.columns

    @cached_property
    def lam_max(self) -> float:
        """The smallest penalty at which all coefficients are zero: the largest allowed ‖Φ_b'y‖."""
        return float(self.measure_blocks(self.products)[self.allowed].max(initial=0.0))

    def measure_blocks(self, rows: np.ndarray) -> np.ndarray:
        """Return the norms of the blocks of vectors (m, F), as (m, B)."""
        if self.starts[-1] == 0:
            return np.zeros((len(rows), 0))
        return np.sqrt(np.add.reduceat(rows * rows, self.starts[:-1], axis=1))

    def count_blocks(self, coefficients: np.ndarray) -> int:
        """Return how many blocks of all targets have a coefficient."""
        return int((self.measure_blocks(coefficients) > 0).sum())

    def compute_residuals(self, coefficients: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return y − Φw of the targets `rows`, (m, T'), by one product with the columns in use."""
        used = np.flatnonzero(coefficients.any(axis=0))
        if 2 * len(used) > coefficients.shape[1]:
            return self.targets[rows] - coefficients @ self.columns.T
        return self.targets[rows] - coefficients[:, used] @ self.columns[:, used].T

    def certify(
        self, coefficients: np.ndarray, lam: float, rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return objectives (m,), duality gaps (m,) and norms ‖Φ_b'r‖ (m, B) of targets `rows`, 0 if not allowed."""
        residuals = self.compute_residuals(coefficients, rows)
        norms = self.measure_blocks(residuals @ self.columns) * self.allowed[rows]
        squares = np.einsum("nt,nt->n", residuals, residuals)
        products = np.einsum("nt,nt->n", residuals, self.targets[rows])
        objectives = 0.5 * squares + lam * self.measure_blocks(coefficients).sum(axis=1)
        worst = norms.max(axis=1, initial=0.0)
        bound = np.divide(lam, worst, out=np.full_like(worst, np.inf), where=worst > 0)
        scale = np.divide(products, squares, out=np.ones_like(worst), where=squares > 0)
        scale = np.clip(scale, -bound, bound)
        return objectives, objectives - scale * products + 0.5 * scale**2 * squares, norms

    def expand_blocks(self, blocks: np.ndarray) -> np.ndarray:
        """Return the columns of some blocks, in their order, int64."""
        sizes = self.starts[blocks + 1] - self.starts[blocks]
        ends = np.cumsum(sizes)
        return np.repeat(self.starts[blocks] - (ends - sizes), sizes) + np.arange(ends[-1] if len(ends) else 0)
