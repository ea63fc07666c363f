"""Base class of the penalised losses of pairwise Markov networks, and the active edges with their parameters."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from math import inf

import numpy as np

from pgmx.data import DiscreteTable
from pgmx.inference.networks import PairwisePotentials
from pgmx.runs.checkpoint import Snapshot
from pgmx.statistics.pair_tables import PairTables

#: Tolerance of a descent around new edges, as a share of the penalty of a table. Only the last descents of a run need
#: to reach the tolerance of the learner.
LOCAL_SHARE = 0.03

#: Snapshots with larger absolute parameters are refused as damaged.
MOST_VALUE = 1e4

#: Gradients of some pairs: their positions in the list, all cells, offset of each table, norm of each table.
Gradients = tuple[np.ndarray | slice, np.ndarray, np.ndarray, np.ndarray]


class PenalisedLoss(ABC):
    r"""A smooth loss L with an elastic group penalty, its active edges, and the state of its minimisation.

    .. math::

        F(w) = L(w) + \lambda \sum_e c_e d_e \|W_e\|_2 + \frac{l_2}{2} \|w\|_2^2, \qquad d_e = \sqrt{s_i s_j}

    in nats per row. A subclass defines L, stores the parameters, computes gradients and descends.

    Parameters
    ----------
    table : DiscreteTable
        The rows.
    statistics : PairTables
        Observed shares of variables and pairs, under the row weights.
    lam : float
        λ, at least 0. It may be set later; all parameters are kept.
    l2 : float
        Weight of the squared parameters, at least 0.
    weights : ndarray of float64, shape (N,), optional
        Row weights, for losses that pass over rows.
    penalize_nodes : bool, default=False
        Whether the parameters of each node are also a penalised group, with d = √s.
    edge_weights : callable, optional
        Function from pairs (k, 2) to the factors c_e (k,). The default is 1 for all pairs.
    feature_wise : bool, default=False
        Whether the penalty is :math:`\lambda \sum c_e |w_k|` over single edge parameters. Only activated cells may then
        be non-zero.
    n_jobs : int or None, default=None
        Number of threads that score lists of pairs, for losses that pass over rows.
    side_memory : int, default=0
        Bytes of intermediate results that the loss may store for searches that score all pairs repeatedly.

    Attributes
    ----------
    converged : bool
        Whether the latest descent reached a stationary point.

    Raises
    ------
    ValueError
        If `lam` or `l2` is negative.
    """

    #: Whether every descent reaches the global optimum.
    is_convex = True
    converged = True

    def __init__(
        self,
        table: DiscreteTable,
        statistics: PairTables,
        *,
        lam: float,
        l2: float,
        weights: np.ndarray | None = None,
        penalize_nodes: bool = False,
        edge_weights: Callable[[np.ndarray], np.ndarray] | None = None,
        feature_wise: bool = False,
        n_jobs: int | None = None,
        side_memory: int = 0,
    ):
        _check_penalties(lam, l2)
        self.cardinalities = np.asarray(table.cardinalities, dtype=np.int64)
        self.n_variables = len(self.cardinalities)
        self.statistics = statistics
        self.l2 = float(l2)
        self._lam = float(lam)
        self._edge_weights = edge_weights
        self._feature_wise = feature_wise
        self._penalize_nodes = penalize_nodes
        self._n_jobs, self._side_memory = n_jobs, side_memory
        self._observed = np.concatenate(statistics.margins())
        self._offsets = np.concatenate(([0], np.cumsum(self.cardinalities)))
        self._active = ActiveEdges(self.cardinalities, feature_wise)
        self._start(table, weights)

    @property
    def is_feature_wise(self) -> bool:
        """Whether single parameters are activated, not whole tables."""
        return self._feature_wise

    # ---- methods of subclasses ----

    @abstractmethod
    def _start(self, table: DiscreteTable, weights: np.ndarray | None) -> None:
        """Set the parameters of the nodes to the optimum without edges."""

    @abstractmethod
    def _values(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the parameters of the nodes and of the active edges."""

    @abstractmethod
    def _replace_values(self, nodes: np.ndarray, tables: np.ndarray) -> None:
        """Continue from other parameters."""

    def _append_edges(self, positions: np.ndarray) -> None:  # noqa: B027 (a hook: most losses need none)
        """Handle newly activated edges, with parameters at zero."""

    def _admit_cells(self, position: int) -> None:  # noqa: B027 (as above)
        """Handle newly activated cells in the table of an edge."""

    def _update_penalty(self) -> None:  # noqa: B027 (as above)
        """Handle a new λ."""

    @abstractmethod
    def _gradient_cells(self, pairs: np.ndarray) -> Iterator[Gradients]:
        """Yield the gradients of L in the tables of inactive pairs (k, 2), in chunks of pairs."""

    @abstractmethod
    def _descend(self, pairs: np.ndarray | None, tol: float, max_sweeps: int | None, deadline: float) -> np.ndarray:
        """Implement `optimise`."""

    @property
    @abstractmethod
    def drift(self) -> np.ndarray:
        """A non-decreasing value per variable that bounds changes of scores.

        While the values of the variables of a pair grow by a and b, its d_e s_e changes by at most (a + b) / 2.
        """

    @property
    @abstractmethod
    def n_optimised(self) -> int:
        """Number of steps."""

    @abstractmethod
    def loss(self) -> float:
        """Return L, in nats per row."""

    @abstractmethod
    def kkt_residual(self) -> float:
        """Return the largest distance of 0 from the subdifferential, over nodes and active edges."""

    # ---- minimisation ----

    def optimise(
        self,
        pairs: np.ndarray | None = None,
        *,
        tol: float,
        max_sweeps: int | None = None,
        deadline: float = inf,
    ) -> np.ndarray:
        """Descend until no group violates its optimality condition by more than `tol`.

        Parameters
        ----------
        pairs : ndarray of int64, shape (k, 2), optional
            Newly activated edges. The descent may be limited to their neighbourhood. By default all parameters are
            optimised.
        tol : float
            Bound on the distance of 0 from the subdifferential in each group. For losses with messages, it also bounds
            the change of messages since their receivers read them.
        max_sweeps : int, optional
            Largest number of visits of each group (exact loss: steps). The default is a few around new edges, otherwise
            unlimited.
        deadline : float, default=inf
            Value of ``time.perf_counter`` at which to return.

        Returns
        -------
        ndarray of int64
            Variables whose distributions changed; for losses with messages, by more than `tol`. Scores of pairs of
            other variables did not change, or very little.
        """
        return self._descend(None if pairs is None else _as_pairs(pairs), tol, max_sweeps, deadline)

    def local_tol(self, tol: float) -> float:
        """Return the tolerance around new edges: a share of the penalty of a table, at least `tol`."""
        size = 1.0 if self._feature_wise else float(np.median(self.cardinalities))
        return max(tol, LOCAL_SHARE * self._lam * size)

    # ---- objective ----

    @property
    def lam(self) -> float:
        """Weight λ of the penalty. Setting it keeps all parameters."""
        return self._lam

    @lam.setter
    def lam(self, value: float) -> None:
        _check_penalties(value, self.l2)
        self._lam = float(value)
        self._update_penalty()

    def objective(self) -> float:
        """Return loss plus penalty, in nats per row."""
        return self.loss() + self.penalty()

    def penalty(self) -> float:
        """Return the objective minus the loss."""
        nodes, tables = self._values()
        total = 0.5 * self.l2 * float((nodes**2).sum() + (tables**2).sum())
        if len(self._active):
            sizes = tables if self._feature_wise else tables**2
            groups = np.add.reduceat(np.abs(sizes), self._active.where[:-1])
            total += self._lam * float(
                (self._active.weights * (groups if self._feature_wise else np.sqrt(groups))).sum()
            )
        if self._penalize_nodes:
            norms = np.sqrt(np.add.reduceat(nodes**2, self._offsets[:-1]))
            total += self._lam * float((np.sqrt(self.cardinalities) * norms).sum())
        return total

    # ---- scores ----

    def scores(self, pairs: np.ndarray) -> np.ndarray:
        r"""Return :math:`s_e = \|\nabla_e L\|_2 / d_e` of inactive pairs (k, 2), the first variable before the second.

        A pair belongs in the model if its score is above λ c_e.
        """
        pairs = _as_pairs(pairs)
        norms = np.empty(len(pairs))
        for chunk, _, _, norms_of_chunk in self._gradient_cells(pairs):
            norms[chunk] = norms_of_chunk
        return norms / self._size(pairs)

    def gradients(self, pairs: np.ndarray) -> list[np.ndarray]:
        """Return the gradient of the loss in the table of each inactive pair, (s_i, s_j)."""
        pairs = _as_pairs(pairs)
        tables: list[np.ndarray] = [np.zeros(0)] * len(pairs)
        for chunk, cells, begins, _ in self._gradient_cells(pairs):
            for k, at in enumerate(np.arange(len(pairs))[chunk].tolist()):
                shape = self.cardinalities[pairs[at]]
                tables[at] = cells[begins[k] : begins[k + 1]].reshape(shape).copy()
        return tables

    def _size(self, pairs: np.ndarray) -> np.ndarray:
        return np.sqrt(self.cardinalities[pairs[:, 0]] * self.cardinalities[pairs[:, 1]])

    # ---- parameters ----

    @property
    def node_values(self) -> np.ndarray:
        """Parameters of the nodes, float64 of shape (sum of cardinalities,)."""
        return self._values()[0]

    @property
    def edge_values(self) -> np.ndarray:
        """Parameters of the active edges, table after table, in the order of activation."""
        return self._values()[1]

    @property
    def edges(self) -> np.ndarray:
        """The active pairs (k, 2), in the order of activation; their tables may be zero."""
        return self._active.pairs.copy()

    def norms(self) -> np.ndarray:
        """Return the norm of each active table, in the order of `edges`."""
        if not len(self._active):
            return np.zeros(0)
        return np.sqrt(np.add.reduceat(self.edge_values**2, self._active.where[:-1]))

    def activate(self, pairs: np.ndarray) -> None:
        """Activate pairs (k, 2) with tables at zero."""
        pairs = _as_pairs(pairs)
        if len(pairs):
            tables, _ = self.statistics.flat(pairs)
            weights = np.ones(len(pairs)) if self._feature_wise else self._size(pairs)
            if self._edge_weights is not None:
                weights = np.asarray(self._edge_weights(pairs), float) * weights
            self._append_edges(self._active.add(pairs, tables, weights))

    def activate_features(self, pairs: np.ndarray, cells: np.ndarray) -> None:
        """Activate single cells (k, 2) of the tables of pairs (k, 2). Missing tables are made."""
        if not self._feature_wise:
            raise ValueError("single cells can be activated only with feature_wise=True: use activate for whole tables")
        for (i, j), (a, b) in zip(_as_pairs(pairs).tolist(), np.asarray(cells).tolist(), strict=True):
            e = self._active.position(i, j)
            if e is None:
                self.activate(np.array([[i, j]]))
                e = len(self._active) - 1
            self._active.masks[self._active.where[e] + a * self.cardinalities[j] + b] = 1
            self._admit_cells(e)

    def require(self, pairs: np.ndarray) -> None:
        """Activate the inactive pairs among (k, 2), and all cells of the tables of all pairs."""
        self.activate(self._without_active(_as_pairs(pairs)))
        if self._feature_wise:
            for i, j in _as_pairs(pairs).tolist():
                cells = np.argwhere(np.ones(self.cardinalities[[i, j]]))
                self.activate_features(np.full((len(cells), 2), (i, j)), cells)

    def _without_active(self, pairs: np.ndarray) -> np.ndarray:
        return _as_pairs([pair for pair in pairs.tolist() if self._active.position(*pair) is None])

    def potentials(self) -> PairwisePotentials:
        """Return node parameters and the non-zero tables."""
        active, (nodes, values) = self._active, self._values()
        which = np.flatnonzero(self.norms() > 0)
        which = which[np.lexsort((active.pairs[which, 1], active.pairs[which, 0]))]
        tables = [values[active.where[e] : active.where[e + 1]] for e in which.tolist()]
        return PairwisePotentials(
            self.cardinalities, nodes, active.pairs[which], np.concatenate([np.zeros(0), *tables])
        )

    def set_potentials(self, potentials: PairwisePotentials) -> None:
        """Continue from given finite parameters. Their edges become active, other active tables become zero."""
        _check_start(potentials, self.cardinalities)
        self.activate(self._without_active(potentials.edges))
        tables = np.zeros(self._active.where[-1])
        for e, (i, j) in enumerate(potentials.edges.tolist()):
            at = self._active.position(i, j)
            assert at is not None  # activated above
            span = slice(self._active.where[at], self._active.where[at + 1])
            tables[span] = potentials.table(e).ravel()
            if self._feature_wise:
                self._active.masks[span] |= tables[span] != 0
        self._replace_values(potentials.node_values, tables)

    # ---- earlier parameters ----

    def snapshot(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the parameters of nodes and active edges, for `revert`."""
        return self.node_values.copy(), self.edge_values.copy()

    def revert(self, snapshot: tuple[np.ndarray, np.ndarray]) -> None:
        """Return to earlier parameters. Tables activated since then become zero."""
        nodes, tables = snapshot
        self._replace_values(nodes, np.concatenate([tables, np.zeros(int(self._active.where[-1]) - len(tables))]))

    def recover(self) -> None:
        """Recompute everything from the parameters, after an interrupt during a step."""
        parameters = self.snapshot()
        self._active.truncate(len(parameters[1]))
        self.revert(parameters)

    def state(self) -> dict[str, np.ndarray]:
        """Return everything that the next steps depend on, for `restore`: edges in order, parameters and progress."""
        nodes, tables = self.snapshot()
        masks = {"masks": self._active.masks.copy()} if self._feature_wise else {}
        return {"edges": self.edges, "nodes": nodes, "tables": tables, **masks, **self._progress()}

    def restore(self, state: Snapshot) -> None:
        """Resume from the state of another loss over the same data. The result is the same to the last bit.

        Raise ValueError if the state does not belong to such a loss.
        """
        n, known = self.n_variables, ("edges", "nodes", "tables")
        state.check_names((*known, *(("masks",) if self._feature_wise else ())), self._progress())
        edges = state.pairs("edges", n)
        state.check((edges[:, 0] < edges[:, 1]).all(), "pairs of variables in another order")
        sizes = len(self.node_values), int(np.prod(self.cardinalities[edges], axis=1).sum())
        nodes, tables = (
            state.array(name, float, (size,), least=-MOST_VALUE, most=MOST_VALUE)
            for name, size in zip(("nodes", "tables"), sizes, strict=True)
        )
        self.activate(edges)
        if self._feature_wise:
            self._active.masks[:] = state.array("masks", np.uint8, tables.shape, most=1)
            state.check((self._active.masks[tables != 0] == 1).all(), "parameters of features that are not active")
        self._replace_values(nodes, tables)
        self._restore_progress(state)

    def _progress(self) -> dict[str, np.ndarray]:
        """Return the values other than the parameters that the next steps depend on."""
        return {}

    def _restore_progress(self, state: Snapshot) -> None:  # noqa: B027 (a hook: most losses have none)
        """Resume from the values of `_progress`, if the state has them. The parameters are already restored."""

    def active_cells(self, e: int) -> np.ndarray:
        """Return which cells of the table of an active edge may be non-zero."""
        table = self._active.table(e)
        span = slice(self._active.where[e], self._active.where[e + 1])
        return self._active.masks[span].reshape(table.shape) > 0 if self._feature_wise else np.ones(table.shape, bool)


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
        self._edges_of: list[list[int]] = [[] for _ in range(len(cardinalities))]
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

    def edges_of(self, i: int) -> list[int]:
        """Return the positions of the edges of variable i, in the order of activation."""
        return self._edges_of[i]

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
            self._edges_of[i].append(e)
            self._edges_of[j].append(e)
        return np.arange(end - len(pairs), end)

    def truncate(self, cells: int) -> None:
        """Keep the edges of the first cells, after an interrupt during `add`."""
        self._size, self._cells = int(np.searchsorted(self.where, cells, side="right")) - 1, cells

    def _reserve(self, edges: int, cells: int) -> None:
        # at least doubled, so that adding edges one by one takes linear time; `add` overwrites what np.resize repeats
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


def _check_penalties(lam: float, l2: float) -> None:
    """Raise ValueError for negative penalty weights."""
    for name, value in (("lam", lam), ("l2", l2)):
        if not value >= 0:  # NaN is refused too
            raise ValueError(f"{name} must not be negative, got {value}")


def _check_start(potentials: PairwisePotentials, cardinalities: np.ndarray) -> None:
    """Raise ValueError for parameters that a descent cannot start from."""
    if not np.array_equal(potentials.cardinalities, cardinalities):
        raise ValueError("the potentials have numbers of states that differ from the table")
    if not (np.isfinite(potentials.node_values).all() and np.isfinite(potentials.edge_values).all()):
        raise ValueError("initial potentials must be finite: a state has probability zero")


def _as_pairs(pairs) -> np.ndarray:
    """Return pairs as an int64 array (k, 2)."""
    return np.ascontiguousarray(pairs, dtype=np.int64).reshape(-1, 2)
