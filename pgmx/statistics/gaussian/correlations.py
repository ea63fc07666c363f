"""Correlations for the graphical lasso: components of |R_ij| > λ, and the matrix of one component."""

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from pgmx._ext import _gram_lasso
from pgmx.statistics.symmetric import find_largest_off_diagonal, make_correlation

#: Rows and columns of the products to be searched: 32 MB of float64.
_TILE = 2048
#: Number of pairs above the floor that are collected before the forest is updated.
_MOST_PAIRS = 1 << 22


class Correlations(ABC):
    """A correlation matrix with blocks computed on demand; `largest` is the largest |R_ij| off the diagonal.

    The components for all λ above a floor are determined by a maximum spanning forest of |R_ij|.
    """

    n_columns: int
    diagonal: np.ndarray
    largest: float

    def __init__(self) -> None:
        self.largest, self._floor = 0.0, np.nan  # before the first scan
        self._weights, self._pairs = np.zeros(0), np.zeros((2, 0), dtype=np.int64)

    @abstractmethod
    def scan(self, lam: float = 0.0, share: float = 0.0) -> None:
        """Prepare for penalties of at least `lam`, and of at least `share` of the largest correlation."""

    @abstractmethod
    def find_components(self, lam: float) -> np.ndarray:
        """Return the component of |R_ij| > λ of each variable, components in the order of their first variables."""

    @abstractmethod
    def select(self, nodes: np.ndarray) -> np.ndarray:
        """Return the matrix of some variables, in ascending order."""

    @abstractmethod
    def read_pairs(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Return R_ij of each pair."""

    @abstractmethod
    def _read_tiles(self) -> Iterator[tuple[slice, slice, np.ndarray]]:
        """Yield rows, columns and |R_ij| of tiles that cover all pairs i < j, with zeros where i >= j."""

    def find_least_penalty(self, size: int, lam: float) -> float:
        """Return the smallest penalty of at least `lam` for which no component has more than `size` variables."""
        self._find_forest(lam)
        parent, sizes = list(range(self.n_columns)), [1] * self.n_columns

        def find_root(node: int) -> int:
            while parent[node] != node:
                parent[node] = parent[parent[node]]
                node = parent[node]
            return node

        for k in np.argsort(-self._weights, kind="stable").tolist():
            i, j = (find_root(int(node)) for node in self._pairs[:, k])
            if sizes[i] + sizes[j] > size:
                return max(float(self._weights[k]), lam)
            parent[j] = i
            sizes[i] += sizes[j]
        return lam

    def _find_forest(self, lam: float = 0.0, share: float = 0.0) -> None:
        """Compute the forest for all λ >= `lam` and `share` times the largest, unless it exists."""
        # the forest of a lower floor has all pairs above this one; no comparison with NaN holds
        if self._floor <= max(lam, share * self.largest):
            return
        largest, floor, n_pairs = 0.0, lam, 0
        weights, places = [np.zeros(0)], [np.zeros((2, 0), dtype=np.int64)]
        for rows, columns, tile in self._read_tiles():
            largest = max(largest, float(tile.max(initial=0.0)))
            floor = max(lam, share * largest)
            i, j = np.nonzero(tile > floor)
            weights.append(tile[i, j])
            places.append(np.stack([i + rows.start, j + columns.start]))
            n_pairs += len(i)
            if n_pairs > _MOST_PAIRS:
                forest, pairs = self._span(np.concatenate(weights), np.concatenate(places, axis=1), floor)
                weights, places, n_pairs = [forest], [pairs], 0
        self._weights, self._pairs = self._span(np.concatenate(weights), np.concatenate(places, axis=1), floor)
        self._floor, self.largest = floor, largest

    def _span(self, weights: np.ndarray, pairs: np.ndarray, floor: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the pairs of a maximum spanning forest among those above the floor."""
        above = weights > floor
        weights, pairs = weights[above], pairs[:, above]
        # ranks in place of weights: ties are broken by position, and distinct ranks identify the chosen pairs
        ranks = np.empty(len(weights))  # the weights are never 0, which would mean no pair
        ranks[np.argsort(-weights, kind="stable")] = np.arange(1, len(weights) + 1)
        graph = csr_array((ranks, (pairs[0], pairs[1])), shape=(self.n_columns, self.n_columns))
        chosen = np.isin(ranks, minimum_spanning_tree(graph).data)
        return weights[chosen], pairs[:, chosen]


class DenseCorrelations(Correlations):
    """Correlations that are stored as a matrix."""

    def __init__(self, matrix: np.ndarray):
        super().__init__()
        self.matrix = matrix
        self.n_columns, self.diagonal = len(matrix), matrix.diagonal()
        self.largest = find_largest_off_diagonal(matrix)

    def scan(self, lam: float = 0.0, share: float = 0.0) -> None:
        """Do nothing: the matrix is available."""

    def find_components(self, lam: float) -> np.ndarray:
        """Return the component of |R_ij| > λ of each variable."""
        return _gram_lasso.components(self.matrix, lam)

    def select(self, nodes: np.ndarray) -> np.ndarray:
        """Return the matrix of some variables; no copy if these are all variables."""
        return self.matrix if len(nodes) == self.n_columns else self.matrix[np.ix_(nodes, nodes)]

    def read_pairs(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Return R_ij of each pair."""
        return self.matrix[i, j]

    def _read_tiles(self) -> Iterator[tuple[slice, slice, np.ndarray]]:
        for rows, columns in _list_tiles(self.n_columns):
            yield rows, columns, _clear_lower(np.abs(self.matrix[rows, columns]), rows, columns)


class FactoredCorrelations(Correlations):
    """Correlations R = A'A of a factor A with few rows. Only the matrices of components are formed, never R."""

    def __init__(self, factor: np.ndarray):
        super().__init__()
        self.factor = factor
        self.n_columns, self.diagonal = factor.shape[1], np.ones(factor.shape[1])

    def scan(self, lam: float = 0.0, share: float = 0.0) -> None:
        """Find the strongest pairs in one product A'A, tile by tile."""
        if lam == np.inf:
            self.largest = self._find_largest()
        else:
            self._find_forest(lam, share)

    def _find_largest(self) -> float:
        """Return the largest |R_ij|, in single precision; doubtful pairs are computed again in double precision."""
        single, doubt = np.asarray(self.factor, dtype=np.float32), (len(self.factor) + 4) * np.finfo(np.float32).eps
        largest = 0.0
        for rows, columns in _list_tiles(self.n_columns):
            tile = single[:, rows].T @ single[:, columns]
            near = _clear_lower(np.abs(tile, out=tile), rows, columns) >= max(
                largest - doubt, np.finfo(np.float32).tiny
            )
            if np.count_nonzero(near) < _TILE:
                i, j = np.nonzero(near)
                values = np.abs(self.read_pairs(i + rows.start, j + columns.start))
            else:
                values = self._read_tile(rows, columns)
            largest = max(largest, float(values.max(initial=0.0)))
        return largest

    def find_components(self, lam: float) -> np.ndarray:
        """Return the component of |R_ij| > λ of each variable; with another scan if λ is below the last one."""
        self._find_forest(lam)
        shape = (self.n_columns, self.n_columns)
        i, j = self._pairs[:, self._weights > lam]
        return connected_components(csr_array((np.ones(len(i)), (i, j)), shape=shape), directed=False)[1]

    def select(self, nodes: np.ndarray) -> np.ndarray:
        """Return the matrix of some variables, computed from their columns of the factor."""
        part = np.asarray(self.factor[:, nodes])
        return make_correlation(part.T @ part)

    def read_pairs(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Return R_ij of each pair, computed from two columns of the factor."""
        values, step = np.ones(len(i)), max(1, _TILE * _TILE // len(self.factor))
        for first in range(0, len(i), step):
            part = slice(first, first + step)
            values[part] = np.einsum("ki,ki->i", self.factor[:, i[part]], self.factor[:, j[part]])
        return np.where(i == j, 1.0, values.clip(-1.0, 1.0))

    def _read_tiles(self) -> Iterator[tuple[slice, slice, np.ndarray]]:
        for rows, columns in _list_tiles(self.n_columns):
            yield rows, columns, self._read_tile(rows, columns)

    def _read_tile(self, rows: slice, columns: slice) -> np.ndarray:
        tile = self.factor[:, rows].T @ self.factor[:, columns]
        return _clear_lower(np.minimum(np.abs(tile, out=tile), 1.0, out=tile), rows, columns)


def _list_tiles(p: int) -> Iterator[tuple[slice, slice]]:
    """Yield rows and columns of the tiles on and above the diagonal."""
    for first in range(0, p, _TILE):
        for start in range(first, p, _TILE):
            yield slice(first, min(first + _TILE, p)), slice(start, min(start + _TILE, p))


def _clear_lower(tile: np.ndarray, rows: slice, columns: slice) -> np.ndarray:
    """Set the pairs i >= j of a tile to zero, in place."""
    if rows.start == columns.start:
        tile[np.tril_indices(len(tile))] = 0.0
    return tile
