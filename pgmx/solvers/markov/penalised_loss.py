"""What every penalised loss of a pairwise Markov network has in common."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import inf

import numpy as np

from pgmx.data import DiscreteTable
from pgmx.inference.networks.potentials import PairwisePotentials
from pgmx.solvers.markov.active_edges import ActiveEdges, check_penalties, check_start
from pgmx.statistics.pairs.tables import PairTables


class PenalisedLoss(ABC):
    r"""A smooth loss L with an elastic group penalty, its active edges, and the state of its minimisation.

    .. math::

        F(w) = L(w) + \lambda \sum_e c_e d_e \|W_e\|_2 + \frac{l_2}{2} \|w\|_2^2, \qquad d_e = \sqrt{s_i s_j}

    in nats a row. A subclass says what L is: it keeps the parameters, gives gradients and descends.

    Parameters
    ----------
    table : DiscreteTable
        The rows.
    statistics : PairTables
        Observed shares of variables and pairs, under the row weights.
    lam : float
        λ, at least 0.
    l2 : float
        Weight of the squares, at least 0.
    penalize_nodes : bool, default=False
        Whether the parameters of each node are penalised as a group too, with d = √s.
    edge_weights : callable, optional
        From pairs (k, 2) to the factors c_e (k,). Default: all 1.
    feature_wise : bool, default=False
        Penalise :math:`\lambda \sum c_e |w_k|` over single edge parameters instead; only activated cells may be
        non-zero.

    Raises
    ------
    ValueError
        If `lam` or `l2` is negative.
    """

    def __init__(
        self,
        table: DiscreteTable,
        statistics: PairTables,
        *,
        lam: float,
        l2: float,
        penalize_nodes: bool = False,
        edge_weights: Callable[[np.ndarray], np.ndarray] | None = None,
        feature_wise: bool = False,
    ):
        check_penalties(lam, l2)
        self.cardinalities = np.asarray(table.cardinalities, dtype=np.int64)
        self.n_variables = len(self.cardinalities)
        self.statistics = statistics
        self.l2 = float(l2)
        self._lam = float(lam)
        self._edge_weights = edge_weights
        self._feature_wise = feature_wise
        self._penalize_nodes = penalize_nodes
        self._observed = np.concatenate(statistics.margins())
        self._offsets = np.concatenate(([0], np.cumsum(self.cardinalities)))
        self._active = ActiveEdges(self.cardinalities, feature_wise)

    # ---- what subclasses say ----

    @property
    @abstractmethod
    def node_values(self) -> np.ndarray:
        """Parameters of the nodes, float64 of shape (sum of cardinalities,)."""

    @property
    @abstractmethod
    def edge_values(self) -> np.ndarray:
        """Parameters of the active edges, table after table, in the order of activation."""

    def _added(self, positions: np.ndarray) -> None:  # noqa: B027 (a hook: most losses need none)
        """Take notice of edges that were activated, their parameters at zero."""

    def _widened(self, position: int) -> None:  # noqa: B027 (as above)
        """Take notice of a cell that was activated in the table of an edge."""

    @abstractmethod
    def _replaced(self, nodes: np.ndarray, tables: np.ndarray) -> None:
        """Go on from given parameters."""

    @abstractmethod
    def optimise(
        self,
        pairs: np.ndarray | None = None,
        *,
        tol: float,
        max_sweeps: int | None = None,
        deadline: float = inf,
    ) -> np.ndarray:
        """Minimise the objective; see the subclasses."""

    @abstractmethod
    def loss(self) -> float:
        """Return L, in nats a row."""

    @abstractmethod
    def kkt_residual(self) -> float:
        """Return the largest distance of 0 from the subdifferential over nodes and active edges."""

    # ---- what is penalised, and how much ----

    @property
    def lam(self) -> float:
        """Weight λ of the penalty; may be set, which keeps all parameters."""
        return self._lam

    @lam.setter
    def lam(self, value: float) -> None:
        check_penalties(value, self.l2)
        self._lam = float(value)
        self._lam_changed()

    def _lam_changed(self) -> None:  # noqa: B027 (as above)
        """Take notice of another penalty."""

    def group_weights(self, pairs: np.ndarray) -> np.ndarray:
        """Return what λ is multiplied by for each pair: c_e d_e, feature-wise c_e."""
        own = np.ones(len(pairs)) if self._edge_weights is None else np.asarray(self._edge_weights(pairs), float)
        return own if self._feature_wise else own * self._size(pairs)

    def _size(self, pairs: np.ndarray) -> np.ndarray:
        return np.sqrt(self.cardinalities[pairs[:, 0]] * self.cardinalities[pairs[:, 1]])

    def penalty(self) -> float:
        """Return the objective less the loss."""
        nodes, tables = self.node_values, self.edge_values
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

    def objective(self) -> float:
        """Return loss plus penalty, in nats a row."""
        return self.loss() + self.penalty()

    # ---- scores ----

    @abstractmethod
    def scores(self, pairs: np.ndarray) -> np.ndarray:
        r"""Return :math:`s_e = \|\nabla_e L\|_2 / d_e` of inactive pairs (k, 2), the first variable before the second.

        A pair belongs in the model when its score is above λ c_e.
        """

    @abstractmethod
    def gradients(self, pairs: np.ndarray) -> list[np.ndarray]:
        """Return the gradient of the loss in the table of each inactive pair, (s_i, s_j)."""

    # ---- parameters ----

    @property
    def edges(self) -> np.ndarray:
        """The active pairs (k, 2), in the order of activation; their tables may be zero."""
        return self._active.pairs.copy()

    @property
    @abstractmethod
    def drift(self) -> np.ndarray:
        """For each variable a number that only grows: d_e s_e changes by at most half the growth of its ends."""

    def norms(self) -> np.ndarray:
        """Return the norm of each active table, in the order of `edges`."""
        if not len(self._active):
            return np.zeros(0)
        return np.sqrt(np.add.reduceat(self.edge_values**2, self._active.where[:-1]))

    def activate(self, pairs: np.ndarray) -> None:
        """Give pairs (k, 2) a table, at zero."""
        pairs = as_pairs(pairs)
        if len(pairs):
            tables, _ = self.statistics.flat(pairs)
            self._added(self._active.add(pairs, tables, self.group_weights(pairs)))

    def activate_features(self, pairs: np.ndarray, cells: np.ndarray) -> None:
        """Let single cells (k, 2) of the tables of pairs (k, 2) be non-zero; tables are made where there are none."""
        if not self._feature_wise:
            raise ValueError("single cells can be activated with feature_wise=True only; activate takes whole tables")
        for (i, j), (a, b) in zip(as_pairs(pairs).tolist(), np.asarray(cells).tolist(), strict=True):
            e = self._active.position(i, j)
            if e is None:
                self.activate(np.array([[i, j]]))
                e = len(self._active) - 1
            self._active.masks[self._active.where[e] + a * self.cardinalities[j] + b] = 1
            self._widened(e)

    def potentials(self) -> PairwisePotentials:
        """Return node parameters and the tables that are not zero."""
        active, values = self._active, self.edge_values
        kept = np.flatnonzero(self.norms() > 0)
        kept = kept[np.lexsort((active.pairs[kept, 1], active.pairs[kept, 0]))]
        tables = [values[active.where[e] : active.where[e + 1]] for e in kept.tolist()]
        return PairwisePotentials(
            self.cardinalities, self.node_values, active.pairs[kept], np.concatenate([np.zeros(0), *tables])
        )

    #: Whether every descent comes to the one optimum.
    convex = True

    @property
    def settled(self) -> bool:
        """Whether the latest descent came to rest."""
        return True

    def snapshot(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the parameters of nodes and active edges, for `revert`."""
        return self.node_values.copy(), self.edge_values.copy()

    def revert(self, snapshot: tuple[np.ndarray, np.ndarray]) -> None:
        """Go back to earlier parameters; tables activated since become zero."""
        nodes, tables = snapshot
        self._replaced(nodes, np.concatenate([tables, np.zeros(int(self._active.where[-1]) - len(tables))]))

    def set_potentials(self, potentials: PairwisePotentials) -> None:
        """Go on from given finite parameters; their edges become active, other active tables zero."""
        check_start(potentials, self.cardinalities)
        new = [pair for pair in map(tuple, potentials.edges.tolist()) if self._active.position(*pair) is None]
        self.activate(np.array(new, dtype=np.int64).reshape(-1, 2))
        tables = np.zeros(self._active.where[-1])
        for e, (i, j) in enumerate(potentials.edges.tolist()):
            at = self._active.position(i, j)
            assert at is not None  # activated above
            own = slice(self._active.where[at], self._active.where[at + 1])
            tables[own] = potentials.table(e).ravel()
            if self._feature_wise:
                self._active.masks[own] |= tables[own] != 0
        self._replaced(potentials.node_values, tables)


def as_pairs(pairs) -> np.ndarray:
    """Return pairs as an int64 array (k, 2)."""
    return np.ascontiguousarray(pairs, dtype=np.int64).reshape(-1, 2)
