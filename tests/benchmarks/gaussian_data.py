"""The problems for learners of Gaussian graphical models: standardised rows sampled from networks with known edges."""

from dataclasses import dataclass
from functools import cached_property
from math import log, sqrt
from pathlib import Path

import numpy as np

GRAPHS = ("chain", "er", "attachment", "hub")


@dataclass
class Problem:
    """Rows (n, p), columns with mean 0 and variance 1, and the edges (m, 2) of the network that they came from."""

    name: str
    rows: np.ndarray
    edges: np.ndarray
    columns: np.ndarray | None = None  #: the columns to solve, for those who solve one column at a time; None: all

    @property
    def n(self):
        return self.rows.shape[0]

    @property
    def p(self):
        return self.rows.shape[1]

    @property
    def unit(self):
        """The penalty that all others are multiples of, sqrt(log p / n)."""
        return sqrt(log(self.p) / self.n)

    @property
    def ridge(self):
        """What CLIME adds to the diagonal, for all tools alike."""
        return 1 / sqrt(self.n)

    @cached_property
    def covariance(self):
        """S = X'X / n, symmetric, unit diagonal."""
        matrix = self.rows.T @ self.rows / self.n
        matrix = 0.5 * (matrix + matrix.T)
        np.fill_diagonal(matrix, 1.0)
        return matrix

    @cached_property
    def shifted(self):
        """S + ridge I."""
        return self.covariance + self.ridge * np.eye(self.p)

    @property
    def solved(self):
        """Numbers of the columns to solve."""
        return np.arange(self.p) if self.columns is None else self.columns


def network(graph, p):
    """Return one of the public networks of pgmx.datasets."""
    from pgmx import datasets

    makers = {
        "chain": datasets.gaussian_chain_network,
        "er": datasets.gaussian_random_network,
        "attachment": datasets.gaussian_preferential_attachment_network,
        "hub": datasets.gaussian_hub_network,
    }
    return makers[graph](p)


def sample_sequence(p, n, seed=1):
    """Return rows whose columns are an AR(5) sequence: each depends on the five before it."""
    rows, coefficients = np.random.default_rng(seed).standard_normal((n, p)), (0.3, 0.2, 0.1, 0.1, 0.05)
    for j in range(1, p):
        for lag, coefficient in enumerate(coefficients[:j], start=1):
            rows[:, j] += coefficient * rows[:, j - lag]
    rows -= rows.mean(axis=0)
    rows /= rows.std(axis=0)
    edges = np.array([(i, j) for j in range(p) for i in range(max(0, j - 5), j)], dtype=np.int64)
    return Problem(f"sequence-{p}-{n}", rows, edges)


def sample(graph, p, n, seed=1):
    """Return a new problem."""
    if graph == "sequence":
        return sample_sequence(p, n, seed)
    made = network(graph, p)
    names = {name: v for v, name in enumerate(made.nodes)}
    edges = np.array(sorted(tuple(sorted((names[a], names[b]))) for a, b in made.edges), dtype=np.int64)
    rows = np.ascontiguousarray(made.simulate(n, random_state=seed)[list(made.nodes)].to_numpy(dtype=np.float64))
    rows -= rows.mean(axis=0)
    rows /= rows.std(axis=0)
    return Problem(f"{graph}-{p}-{n}", rows, edges.reshape(-1, 2))


def make(folder, graph, p, n):
    """Store a problem where it is not there yet; return its path."""
    path = Path(folder) / f"gaussian-{graph}-{p}-{n}.npz"
    if not path.exists():
        problem = sample(graph, p, n)
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, rows=problem.rows, edges=problem.edges)
    return path


def load(path):
    """Return a stored problem."""
    with np.load(path) as stored:
        return Problem(Path(path).stem.removeprefix("gaussian-"), stored["rows"], stored["edges"])


def descending(first, last, n=10):
    """Return penalties in equal ratios, as multiples of sqrt(log p / n)."""
    return np.geomspace(first, last, n).tolist()
