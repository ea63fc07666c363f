"""Fixed features of kernels of one variable: their leading eigenfunctions under the standard normal distribution."""

from typing import NamedTuple

import numpy as np

from pgmx.solvers.time_series.kernel_blocks import FACTOR_TOL, INDEFINITE, Kernel, check_symmetry, evaluate_kernel

#: The dictionary: points within four standard deviations.
POINTS = np.linspace(-4.0, 4.0, 33)


class KernelFeatures(NamedTuple):
    """Functions of one variable, φ(u) = k(u, points) @ matrix − means, of mean 0 under the dictionary's weights."""

    kernel: Kernel
    label: str
    matrix: np.ndarray
    means: np.ndarray

    @property
    def n_columns(self) -> int:
        """Number of functions r."""
        return self.matrix.shape[1]

    def evaluate(self, values: np.ndarray) -> np.ndarray:
        """Return the functions at some values, as an array of the shape of the values and r."""
        return evaluate_kernel(self.kernel, self.label, values[..., None], POINTS) @ self.matrix - self.means


def make_features(kernel: Kernel, label: str, max_rank: int) -> KernelFeatures:
    """Return at most `max_rank` eigenfunctions of the centred kernel (the Nyström method on the dictionary)."""
    check_symmetry(kernel, label, POINTS[::4].tolist())
    weights = np.exp(-0.5 * POINTS**2)
    weights /= weights.sum()
    matrix = evaluate_kernel(kernel, label, POINTS[:, None], POINTS)
    centred = matrix - weights @ matrix
    centred -= (centred @ weights)[:, None]
    roots = np.sqrt(weights)
    values, vectors = np.linalg.eigh(roots[:, None] * centred * roots)
    values, vectors = values[::-1], vectors[:, ::-1]
    if values[-1] < -INDEFINITE * abs(values[0]):
        raise ValueError(f"the kernel {label} is not positive semidefinite: give one that is, such as exp(-|u - v|)")
    # a constant kernel has no function
    size = min(max_rank, int((values > max(FACTOR_TOL * values.sum(), 1e-12 * np.abs(matrix).max())).sum()))
    functions = roots[:, None] * vectors[:, :size] / np.sqrt(values[:size])
    functions = functions - weights[:, None] * functions.sum(axis=0)
    return KernelFeatures(kernel, label, functions, weights @ matrix @ functions)
