"""Active edges of a loss with their parameters, in growing arrays."""

import numpy as np

from pgmx.inference.networks import PairwisePotentials


class ActiveEdges:
    """Edges in the order of activation, with parameters, observed shares and penalty factors.

    The cells of edge e are ``where[e]:where[e + 1]`` of `values`, `tables` and `masks`, row-major (s_i, s_j). A mask is
    1 for an active cell. Masks are empty unless single cells are activated (`feature_wise`).
    """

    def __init__(self, cardinalities: np.ndarray, feature_wise: bool = False):
        self._cards = cardinalities
        self._feature_wise = feature_wise
        self._size = 0
        self._cells = 0
        self._positions: dict[tuple[int, int], int] = {}
        self._of: list[list[int]] = [[] for _ in range(len(cardinalities))]
        self._pairs = np.zeros((16, 2), dtype=np.int64)
        self._where = np.zeros(17, dtype=np.int64)
        self._weights = np.zeros(16)
        self._values = np.zeros(256)
        self._tables = np.zeros(256)
        self._masks = np.zeros(256 if feature_wise else 0, dtype=np.uint8)

    def __len__(self) -> int:
        return self._size

    @property
    def pairs(self) -> np.ndarray:
        """The edges (k, 2)."""
        return self._pairs[: self._size]

    @property
    def where(self) -> np.ndarray:
        """Offsets of the cells of the edges (k + 1,)."""
        return self._where[: self._size + 1]

    @property
    def weights(self) -> np.ndarray:
        """Penalty factors (k,)."""
        return self._weights[: self._size]

    @property
    def values(self) -> np.ndarray:
        """Parameters, table after table."""
        return self._values[: self._cells]

    @property
    def tables(self) -> np.ndarray:
        """Observed shares, table after table."""
        return self._tables[: self._cells]

    @property
    def masks(self) -> np.ndarray:
        """Active cells if feature-wise, otherwise empty."""
        return self._masks[: self._cells if self._feature_wise else 0]

    def table(self, e: int) -> np.ndarray:
        """Return the parameters of edge e as a view (s_i, s_j)."""
        i, j = self._pairs[e]
        return self._values[self._where[e] : self._where[e + 1]].reshape(self._cards[i], self._cards[j])

    def position(self, i: int, j: int) -> int | None:
        """Return the position of the edge between i < j, None if it is not active."""
        return self._positions.get((i, j))

    def at(self, i: int) -> list[int]:
        """Return the positions of the edges of variable i, in the order of activation."""
        return self._of[i]

    def add(self, pairs: np.ndarray, tables: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Append edges (k, 2), i < j, with all parameters at zero, and return their positions (k,).

        `tables` holds their observed shares, table after table. ValueError if an edge is already active.
        """
        sizes = self._cards[pairs[:, 0]] * self._cards[pairs[:, 1]]
        end, cells = self._size + len(pairs), self._cells + int(sizes.sum())
        positions: dict[tuple[int, int], int] = {}
        for e, (i, j) in enumerate(pairs.tolist(), self._size):
            if (i, j) in self._positions or (i, j) in positions:
                raise ValueError(f"the edge between variables {i} and {j} is already active")
            positions[i, j] = e
        self._reserve(end, cells)
        self._pairs[self._size : end] = pairs
        self._weights[self._size : end] = weights
        self._where[self._size + 1 : end + 1] = self._cells + np.cumsum(sizes)
        self._values[self._cells : cells] = 0
        self._tables[self._cells : cells] = tables
        if self._feature_wise:
            self._masks[self._cells : cells] = 0
        self._size, self._cells = end, cells
        self._positions |= positions
        for (i, j), e in positions.items():
            self._of[i].append(e)
            self._of[j].append(e)
        return np.arange(end - len(pairs), end)

    def truncate(self, cells: int) -> None:
        """Keep the edges of the first cells, after an interrupt during `add`."""
        self._size, self._cells = int(np.searchsorted(self.where, cells, side="right")) - 1, cells

    def _reserve(self, edges: int, cells: int) -> None:
        if edges > len(self._pairs):
            size = max(edges, 2 * len(self._pairs))
            self._pairs = np.resize(self._pairs, (size, 2))
            self._weights = np.resize(self._weights, size)
            self._where = np.resize(self._where, size + 1)
        if cells > len(self._values):
            size = max(cells, 2 * len(self._values))
            self._values = np.resize(self._values, size)
            self._tables = np.resize(self._tables, size)
            if self._feature_wise:
                self._masks = np.resize(self._masks, size)

    def norms(self) -> np.ndarray:
        """Return the Euclidean norm of each edge's parameters."""
        if not self._size:
            return np.zeros(0)
        return np.sqrt(np.add.reduceat(self.values**2, self.where[:-1]))


def check_penalties(lam: float, l2: float) -> None:
    """Raise ValueError for negative penalty weights."""
    for name, value in (("lam", lam), ("l2", l2)):
        if not value >= 0:
            raise ValueError(f"{name} must not be negative, got {value}")


def check_start(potentials: PairwisePotentials, cardinalities: np.ndarray) -> None:
    """Raise ValueError for parameters that a descent cannot start from."""
    if not np.array_equal(potentials.cardinalities, cardinalities):
        raise ValueError("the potentials have numbers of states that differ from the table")
    if not (np.isfinite(potentials.node_values).all() and np.isfinite(potentials.edge_values).all()):
        raise ValueError("initial potentials must be finite: a state has probability zero")
