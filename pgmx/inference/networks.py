"""Discrete Markov networks as arrays of log-values.

`PairwisePotentials` are flat arrays, which learners produce; `LogFactors` have tables of any number of variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pgmx.checks import as_reals, freeze, read_only

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
        # An empty list has the shape (0,).
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
        for (first, second), table in _list_tables(tables):
            i, j = int(first), int(second)
            if not (0 <= i < len(sizes) and 0 <= j < len(sizes)) or i == j:
                raise ValueError(f"({i}, {j}) is not a pair of distinct variables in 0..{len(sizes) - 1}")
            values = np.asarray(table, dtype=np.float64)
            if values.shape != (sizes[i], sizes[j]):
                raise ValueError(
                    f"the table of ({i}, {j}) has shape {values.shape}, it must have {(sizes[i], sizes[j])}"
                )
            key, values = ((i, j), values) if i < j else ((j, i), values.T)
            # Values are logarithms: the sum is the table of the product.
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
        return _compute_offsets(self.cardinalities)

    @cached_property
    def edge_offsets(self) -> np.ndarray:
        """The offset of each edge's table in `edge_values`: int64 of shape (m + 1,)."""
        return _compute_offsets(self.cardinalities[self.edges[:, 0]] * self.cardinalities[self.edges[:, 1]])

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
        # Each edge is listed at both ends.
        order = np.lexsort((others, ends))
        pointer = _compute_offsets(np.bincount(ends, minlength=self.n_variables))
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
            chunk = codes[:, start : start + step]
            rows = np.arange(chunk.shape[1])
            for i in range(self.n_variables):
                field = self._field(i, chunk)
                value, normaliser = field[chunk[i], rows], log_sum_exp(field.T)
                # If every state is impossible, both are minus infinity and their difference would be NaN.
                total[start : start + step] += value - np.where(normaliser == -np.inf, 0.0, normaliser)
        if weights is None:
            return total
        weights = as_reals(weights, "weights").astype(np.float64)
        if weights.shape != (n_rows,):
            raise ValueError(f"weights must have shape ({n_rows},), one per row, got {weights.shape}")
        # 0 times minus infinity would be NaN.
        return np.where(weights == 0, 0.0, total) * weights

    def _field(self, i: int, codes: np.ndarray) -> np.ndarray:
        pointer, neighbour, edge = self._neighbours
        field = np.repeat(self.node(i)[:, None], codes.shape[1], axis=1)
        for at in range(pointer[i], pointer[i + 1]):
            j, table = int(neighbour[at]), self.table(int(edge[at]))
            field += np.take(table if i < j else table.T, codes[j], axis=1)
        return field


def _list_tables(tables) -> Iterator[tuple[tuple[int, int], np.ndarray]]:
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


@dataclass(frozen=True, eq=False)
class LogFactors:
    r"""Factors of a discrete Markov network, in natural logarithms.

    .. math:: \log p(x) = \sum_k \phi_k(x_{S_k}) - \log Z

    Parameters
    ----------
    cardinalities : array_like of int, shape (n,)
        Number of states of each variable, each at least 1.
    scopes : sequence of tuple of int
        The distinct variables :math:`S_k` of each factor, in the order of the axes of its table. A scope may be empty
        (a constant), and may occur more than once.
    tables : sequence of array_like of float
        The tables :math:`\phi_k`, one axis per variable; minus infinity means probability zero.

    Raises
    ------
    ValueError
        If a scope has an unknown or a repeated variable, a shape does not match, or a value is NaN or plus infinity.

    Notes
    -----
    Tables are copied unless they are already read-only. A variable that is not in any scope is uniform and independent.

    Examples
    --------
    >>> from pgmx.inference import LogFactors
    >>> factors = LogFactors([2, 2, 2], [(0, 1, 2), (0,)], [[[[0, 1], [2, 3]], [[4, 5], [6, 7]]], [0.5, 0.0]])
    >>> factors
    LogFactors(3 variables, 2 factors of at most 3 variables, 10 cells)
    >>> factors.log_score([[1], [0], [1]])
    array([5.])
    """

    cardinalities: np.ndarray
    scopes: tuple[tuple[int, ...], ...]
    tables: tuple[np.ndarray, ...]

    def __post_init__(self) -> None:
        cards = freeze(self.cardinalities, np.int64, "cardinalities")
        if cards.ndim != 1 or not len(cards) or cards.min() < 1:
            raise ValueError(
                f"cardinalities must be a non-empty vector of positive integers, got {np.asarray(self.cardinalities)!r}"
            )
        if len(self.scopes) != len(self.tables):
            raise ValueError(
                f"one table per scope is needed, got {len(self.scopes)} scopes and {len(self.tables)} tables"
            )
        sizes = cards.tolist()
        scopes = tuple(tuple(int(v) for v in scope) for scope in self.scopes)
        tables = []
        for k, (scope, table) in enumerate(zip(scopes, self.tables, strict=True)):
            if len(set(scope)) < len(scope) or not all(0 <= v < len(sizes) for v in scope):
                raise ValueError(f"scope {k}, {scope}, must consist of distinct variables in 0..{len(sizes) - 1}")
            values = freeze(table, np.float64, f"tables[{k}]")
            if values.shape != tuple(sizes[v] for v in scope):
                raise ValueError(
                    f"the table of scope {k}, {scope}, has shape {values.shape}, "
                    f"it must have {tuple(sizes[v] for v in scope)}"
                )
            if not (values < np.inf).all():
                raise ValueError(
                    f"the table of scope {k}, {scope}, holds NaN or plus infinity: logarithms of factors must be "
                    "finite, or minus infinity for probability zero"
                )
            tables.append(values)
        for name, value in (("cardinalities", cards), ("scopes", scopes), ("tables", tuple(tables))):
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple:
        return LogFactors, (self.cardinalities, self.scopes, self.tables)

    def __repr__(self) -> str:
        arity = max(map(len, self.scopes), default=0)
        cells = sum(table.size for table in self.tables)
        return (
            f"LogFactors({self.n_variables} variables, {len(self.scopes)} factors of at most {arity} variables, "
            f"{cells} cells)"
        )

    @classmethod
    def from_potentials(cls, potentials: PairwisePotentials) -> LogFactors:
        """Return one factor per variable and one per edge, as views.

        Parameters
        ----------
        potentials : PairwisePotentials
            A pairwise network.

        Returns
        -------
        LogFactors
            First the factors of the variables, then the factors of the edges in their order.
        """
        alone = [(i,) for i in range(potentials.n_variables)]
        joined = [(i, j) for i, j in potentials.edges.tolist()]
        tables = [potentials.node(i) for (i,) in alone] + potentials.tables()
        return cls(potentials.cardinalities, (*alone, *joined), tuple(tables))

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return len(self.cardinalities)

    def log_score(self, codes: np.ndarray) -> np.ndarray:
        """Return the unnormalised log-probability of each row.

        Parameters
        ----------
        codes : array_like of int, shape (n, N)
            State codes, one row per variable.

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
        for scope, table in zip(self.scopes, self.tables, strict=True):
            total += table[tuple(codes[v] for v in scope)]
        return total

    def pairwise(self) -> PairwisePotentials:
        """Return a pairwise network with the same distribution of the variables.

        Returns
        -------
        PairwisePotentials
            Variables ``0..n-1`` are the variables of the factors. Each factor of three or more variables adds one
            auxiliary variable after them, in the order of the factors. Its states are the cells of the factor's table.
            Edges with values zero and minus infinity link it to the variables of the scope. Constants are left out.

        Notes
        -----
        The auxiliary variable of a factor with k variables and c cells needs k tables of c times s cells.
        """
        sizes = self.cardinalities.tolist()
        nodes = [np.zeros(size) for size in sizes]
        tables: list[tuple[tuple[int, int], np.ndarray]] = []
        for scope, table in zip(self.scopes, self.tables, strict=True):
            if len(scope) == 1:
                nodes[scope[0]] = nodes[scope[0]] + table
            elif len(scope) == 2:
                tables.append(((scope[0], scope[1]), table))
            elif len(scope) > 2:
                states = np.indices(table.shape).reshape(len(scope), -1)
                for v, code in zip(scope, states, strict=True):
                    # Possible only if the variable has the state that the cell of the factor has.
                    tie = np.where(np.arange(sizes[v])[:, None] == code, 0.0, -np.inf)
                    tables.append(((v, len(nodes)), tie))
                nodes.append(table.ravel())
        return PairwisePotentials.build([len(node) for node in nodes], nodes, tables)


# ---- arrays ----


def check_codes(codes: np.ndarray, cardinalities: np.ndarray) -> np.ndarray:
    """Return state codes (n, N) as an array, or raise ValueError."""
    codes = np.asarray(codes)
    if codes.ndim != 2 or len(codes) != len(cardinalities) or codes.dtype.kind not in "iu":
        raise ValueError(
            f"codes must be a 2-D integer array with one row for each of {len(cardinalities)} variables, "
            f"got shape {codes.shape} of {codes.dtype}"
        )
    # Without rows there is no minimum.
    if codes.shape[1]:
        wrong = np.flatnonzero((codes.min(axis=1) < 0) | (codes.max(axis=1) >= cardinalities))
        if len(wrong):
            i = wrong[0]
            raise ValueError(
                f"codes of variable {i} must lie in 0..{cardinalities[i] - 1}, got {codes[i].min()}..{codes[i].max()}"
            )
    return codes


def take_logs(table: np.ndarray) -> np.ndarray:
    """Return natural logarithms, minus infinity for 0."""
    with np.errstate(divide="ignore"):
        return np.log(table)


def log_sum_exp(rows: np.ndarray) -> np.ndarray:
    """Return the logarithm of the sum of exponentials along the last axis; minus infinity means zero."""
    top = rows.max(axis=-1)
    # Minus infinity minus minus infinity would be NaN.
    top = np.where(top == -np.inf, 0.0, top)
    return top + take_logs(np.exp(rows - top[..., None]).sum(axis=-1))


def _compute_offsets(sizes: np.ndarray) -> np.ndarray:
    """Return the offsets of consecutive blocks of these k sizes, and the end of the last: read-only int64 (k + 1,)."""
    return read_only(np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]))
