"""Log-potentials of a pairwise Markov network as flat arrays, produced by learners and read by inference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pgmx.checks import as_reals, freeze, read_only
from pgmx.inference.networks.log_tables import log_sum_exp

#: Cells of the largest temporary array that `pseudo_log_likelihood` makes: 8 MB.
CHUNK_CELLS = 2**20


@dataclass(frozen=True, eq=False)
class PairwisePotentials:
    r"""Log-potentials of a discrete pairwise Markov network.

    .. math:: \log p(x) = \sum_i \theta_i(x_i) + \sum_{(i, j)} W_{ij}(x_i, x_j) - \log Z

    in nats. Variables and their states are numbered from 0. Cells of minus infinity are states, or pairs of states, of
    probability zero.

    Parameters
    ----------
    cardinalities : array_like of int, shape (n,)
        Number of states of each variable, each at least 1.
    node_values : array_like of float, shape (sum of cardinalities,)
        The vectors :math:`\theta_i`, one after the other.
    edges : array_like of int, shape (m, 2)
        Distinct pairs (i, j) with i < j, in lexicographic order.
    edge_values : array_like of float, shape (sum over edges of s_i s_j,)
        The tables :math:`W_{ij}` in the order of `edges`, each of shape (s_i, s_j) in row-major order.

    Raises
    ------
    ValueError
        If shapes do not match, edges are out of order, or a value is NaN or plus infinity.

    Notes
    -----
    The attributes are read-only arrays: copies, unless the arguments are already read-only. Checks take one pass over
    them. `build` accepts tables in any order.

    Examples
    --------
    >>> from pgmx.inference import PairwisePotentials
    >>> potentials = PairwisePotentials.build([2, 3], tables={(0, 1): [[1.0, 0.0, 0.0], [0.0, 0.0, 2.0]]})
    >>> potentials
    PairwisePotentials(2 variables, 1 edge, 11 cells)
    >>> potentials.table(0)[1, 2]
    np.float64(2.0)
    >>> potentials.log_score([[0, 1], [0, 2]])
    array([1., 2.])
    """

    cardinalities: np.ndarray
    node_values: np.ndarray
    edges: np.ndarray
    edge_values: np.ndarray

    def __post_init__(self) -> None:
        cards = freeze(self.cardinalities, np.int64, "cardinalities")
        nodes = freeze(self.node_values, np.float64, "node_values")
        edges = freeze(self.edges, np.int64, "edges")
        values = freeze(self.edge_values, np.float64, "edge_values")
        if cards.ndim != 1 or not len(cards) or cards.min() < 1:
            raise ValueError(
                f"cardinalities must be a non-empty vector of positive integers, got {np.asarray(self.cardinalities)!r}"
            )
        if not edges.size:
            edges = freeze(np.empty((0, 2)), np.int64, "edges")
        _check_edges(edges, len(cards))
        cells = int((cards[edges[:, 0]] * cards[edges[:, 1]]).sum())
        for name, flat, wanted in (("node_values", nodes, int(cards.sum())), ("edge_values", values, cells)):
            if flat.shape != (wanted,):
                raise ValueError(f"{name} must have shape ({wanted},) for these cardinalities and edges: {flat.shape}")
            if not (flat < np.inf).all():
                at = int(np.argmin(flat < np.inf))
                raise ValueError(
                    f"{name}[{at}] is {flat[at]}: log-potentials must be finite, or minus infinity for probability zero"
                )
        for name, array in (
            ("cardinalities", cards),
            ("node_values", nodes),
            ("edges", edges),
            ("edge_values", values),
        ):
            object.__setattr__(self, name, array)

    def __reduce__(self) -> tuple:
        # Unpickled arrays are writable; the constructor makes them read-only again.
        return PairwisePotentials, (self.cardinalities, self.node_values, self.edges, self.edge_values)

    def __repr__(self) -> str:
        cells = len(self.node_values) + len(self.edge_values)
        plural = "" if self.n_edges == 1 else "s"
        return f"PairwisePotentials({self.n_variables} variables, {self.n_edges} edge{plural}, {cells} cells)"

    @classmethod
    def build(
        cls,
        cardinalities: Sequence[int] | np.ndarray,
        nodes: Sequence[np.ndarray | Sequence[float] | None] | None = None,
        tables: Mapping[tuple[int, int], np.ndarray] | Iterable[tuple[tuple[int, int], np.ndarray]] | None = None,
    ) -> PairwisePotentials:
        """Build potentials from vectors and tables in any order.

        Parameters
        ----------
        cardinalities : sequence of int
            Number of states of each variable.
        nodes : sequence of array_like or None, optional
            One vector of log-potentials per variable; None means zeros.
        tables : dict of {(i, j): array_like of shape (s_i, s_j)}, optional
            Log-potentials of pairs, or an iterable of such ((i, j), table). A pair with i > j is transposed, and
            tables of the same pair are added.

        Returns
        -------
        PairwisePotentials
            Edges in lexicographic order.

        Raises
        ------
        ValueError
            If a shape does not match the cardinalities, or a pair consists of equal or unknown variables.
        """
        cards = np.asarray(cardinalities, dtype=np.int64)
        sizes = cards.tolist()
        if nodes is None:
            nodes = [None] * len(sizes)
        if len(nodes) != len(sizes):
            raise ValueError(f"nodes must hold one vector (or None) for each of {len(sizes)} variables: {len(nodes)}")
        vectors = []
        for i, (size, vector) in enumerate(zip(sizes, nodes, strict=True)):
            values = np.zeros(size) if vector is None else np.asarray(vector, dtype=np.float64)
            if values.shape != (size,):
                raise ValueError(f"the vector of variable {i} has shape {values.shape}, it must have ({size},)")
            vectors.append(values)
        sums: dict[tuple[int, int], np.ndarray] = {}
        for (first, second), table in _items(tables):
            i, j = int(first), int(second)
            if not (0 <= i < len(sizes) and 0 <= j < len(sizes)) or i == j:
                raise ValueError(f"({i}, {j}) is not a pair of distinct variables in 0..{len(sizes) - 1}")
            values = np.asarray(table, dtype=np.float64)
            if values.shape != (sizes[i], sizes[j]):
                raise ValueError(
                    f"the table of ({i}, {j}) has shape {values.shape}, it must have {(sizes[i], sizes[j])}"
                )
            key, values = ((i, j), values) if i < j else ((j, i), values.T)
            sums[key] = sums[key] + values if key in sums else values
        edges = sorted(sums)
        flat = [sums[edge].ravel() for edge in edges]
        return cls(
            cards,
            np.concatenate(vectors) if vectors else np.empty(0),
            np.array(edges, dtype=np.int64).reshape(-1, 2),
            np.concatenate(flat) if flat else np.empty(0),
        )

    @classmethod
    def independent(cls, cardinalities: Sequence[int] | np.ndarray) -> PairwisePotentials:
        """Return the potentials of independent, uniform variables: no edges, all zero.

        Parameters
        ----------
        cardinalities : sequence of int
            Number of states of each variable.

        Returns
        -------
        PairwisePotentials
            A start for learners.
        """
        return cls.build(cardinalities)

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return len(self.cardinalities)

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.edges)

    @cached_property
    def node_offsets(self) -> np.ndarray:
        """The offset of each variable's vector in `node_values`: int64 of shape (n + 1,)."""
        return _offsets(self.cardinalities)

    @cached_property
    def edge_offsets(self) -> np.ndarray:
        """The offset of each edge's table in `edge_values`: int64 of shape (m + 1,)."""
        return _offsets(self.cardinalities[self.edges[:, 0]] * self.cardinalities[self.edges[:, 1]])

    def node(self, i: int) -> np.ndarray:
        """Return the log-potentials of variable `i`: a read-only view of shape (s_i,)."""
        return self.node_values[self.node_offsets[i] : self.node_offsets[i + 1]]

    def table(self, e: int) -> np.ndarray:
        """Return the log-potentials of edge number `e`: a read-only view of shape (s_i, s_j)."""
        i, j = self.edges[e]
        flat = self.edge_values[self.edge_offsets[e] : self.edge_offsets[e + 1]]
        return flat.reshape(self.cardinalities[i], self.cardinalities[j])

    def tables(self) -> list[np.ndarray]:
        """Return the tables of all edges, in the order of `edges`, as read-only views."""
        return [self.table(e) for e in range(self.n_edges)]

    def neighbours(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the neighbours of each variable, in compressed sparse rows (CSR).

        Returns
        -------
        pointer : ndarray of int64, shape (n + 1,)
            The neighbours of variable i are at ``pointer[i] : pointer[i + 1]``.
        neighbour : ndarray of int64, shape (2m,)
            Neighbours, in ascending order within a variable.
        edge : ndarray of int64, shape (2m,)
            Indices of the edges to them.
        """
        return self._neighbours

    @cached_property
    def _neighbours(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        ends, others = self.edges.T.ravel(), self.edges[:, ::-1].T.ravel()
        order = np.lexsort((others, ends))
        pointer = _offsets(np.bincount(ends, minlength=self.n_variables))
        edge = np.tile(np.arange(self.n_edges), 2)[order]
        return pointer, read_only(others[order]), read_only(edge)

    def log_score(self, codes: np.ndarray) -> np.ndarray:
        """Return the unnormalised log-probability of each row.

        Parameters
        ----------
        codes : array_like of int, shape (n, N)
            State codes, one row per variable as in :class:`pgmx.data.DiscreteTable`.

        Returns
        -------
        ndarray of float64, shape (N,)
            ``log p(x) + log Z``, minus infinity for impossible rows.

        Raises
        ------
        ValueError
            If the shape disagrees or a code has no state.
        """
        codes = check_codes(codes, self.cardinalities)
        total = np.zeros(codes.shape[1])
        for i in range(self.n_variables):
            total += self.node(i)[codes[i]]
        for (i, j), table in zip(self.edges.tolist(), self.tables(), strict=True):
            total += table[codes[i], codes[j]]
        return total

    def fields(self, codes: np.ndarray) -> list[np.ndarray]:
        """Return for each variable its unnormalised log-conditionals given all others.

        Parameters
        ----------
        codes : array_like of int, shape (n, N)
            State codes.

        Returns
        -------
        list of ndarray of float64, shape (s_i, N)
            ``theta_i(a) + sum_j W_ij(a, x_j)`` for each state a and row; all minus infinity if every state is
            impossible given the others.

        Raises
        ------
        ValueError
            If the shape disagrees or a code has no state.
        """
        codes = check_codes(codes, self.cardinalities)
        return [self._field(i, codes) for i in range(self.n_variables)]

    def pseudo_log_likelihood(self, codes: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        r"""Return the log-pseudolikelihood of each row, :math:`\sum_i \log p(x_i \mid x_{-i})`, in nats.

        Parameters
        ----------
        codes : array_like of int, shape (n, N)
            State codes.
        weights : array_like of float, shape (N,), optional
            Factor of each row; a row of weight 0 contributes 0 even if it is impossible. None means ones.

        Returns
        -------
        ndarray of float64, shape (N,)
            One value per row, minus infinity if a variable's state is impossible given the others.

        Raises
        ------
        ValueError
            If a shape disagrees or a code has no state.

        Notes
        -----
        The cost is the sum over edges of N (s_i + s_j). Rows are processed in chunks of at most 8 MB.
        """
        codes = check_codes(codes, self.cardinalities)
        n_rows = codes.shape[1]
        total = np.zeros(n_rows)
        step = max(1, CHUNK_CELLS // int(self.cardinalities.max()))
        for start in range(0, n_rows, step):
            part = codes[:, start : start + step]
            rows = np.arange(part.shape[1])
            for i in range(self.n_variables):
                field = self._field(i, part)
                value, normaliser = field[part[i], rows], log_sum_exp(field.T)
                # If every state is impossible, both are minus infinity and their difference would be NaN.
                total[start : start + step] += value - np.where(normaliser == -np.inf, 0.0, normaliser)
        if weights is None:
            return total
        weights = as_reals(weights, "weights").astype(np.float64)
        if weights.shape != (n_rows,):
            raise ValueError(f"weights must have shape ({n_rows},), one per row, got {weights.shape}")
        return np.where(weights == 0, 0.0, total) * weights

    def _field(self, i: int, codes: np.ndarray) -> np.ndarray:
        pointer, neighbour, edge = self._neighbours
        field = np.repeat(self.node(i)[:, None], codes.shape[1], axis=1)
        for at in range(pointer[i], pointer[i + 1]):
            j, table = int(neighbour[at]), self.table(int(edge[at]))
            field += np.take(table if i < j else table.T, codes[j], axis=1)
        return field


def _items(tables) -> Iterator[tuple[tuple[int, int], np.ndarray]]:
    if tables is None:
        return iter(())
    return iter(tables.items() if isinstance(tables, Mapping) else tables)


def _check_edges(edges: np.ndarray, n: int) -> None:
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise ValueError(f"edges must have shape (m, 2), got {edges.shape}")
    if not len(edges):
        return
    first, second = edges.T
    if first.min() < 0 or second.max() >= n or not (first < second).all():
        wrong = edges[(first < 0) | (second >= n) | (first >= second)][0].tolist()
        raise ValueError(f"{tuple(wrong)} is not an edge (i, j) with 0 <= i < j < {n}; use PairwisePotentials.build")
    if not (np.diff(first * n + second) > 0).all():
        raise ValueError(
            "edges must be distinct and in lexicographic order: PairwisePotentials.build sorts and adds them"
        )


def _offsets(sizes: np.ndarray) -> np.ndarray:
    """Return the offsets of consecutive blocks of these k sizes, and the end of the last: read-only int64 (k + 1,)."""
    return read_only(np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]))


def check_codes(codes: np.ndarray, cardinalities: np.ndarray) -> np.ndarray:
    """Return state codes (n, N) as an array, or raise ValueError."""
    codes = np.asarray(codes)
    if codes.ndim != 2 or len(codes) != len(cardinalities) or codes.dtype.kind not in "iu":
        raise ValueError(
            f"codes must be a 2-D integer array with one row for each of {len(cardinalities)} variables, "
            f"got shape {codes.shape} of {codes.dtype}"
        )
    if codes.shape[1]:
        wrong = np.flatnonzero((codes.min(axis=1) < 0) | (codes.max(axis=1) >= cardinalities))
        if len(wrong):
            i = wrong[0]
            raise ValueError(
                f"codes of variable {i} must lie in 0..{cardinalities[i] - 1}, got {codes[i].min()}..{codes[i].max()}"
            )
    return codes
