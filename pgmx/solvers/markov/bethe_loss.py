"""The penalised likelihood of a pairwise Markov network under Bethe's approximation."""

from math import inf
from time import perf_counter

import numpy as np

from pgmx._ext import _bethe
from pgmx.inference.approximate.loopy import loopy_belief_propagation
from pgmx.solvers.markov.moment_loss import MomentLoss, product_gradients

__all__ = ["BetheLoss"]

#: (share of the old in a new message, factor on the curvatures) that are tried in turn.
CAUTION = ((0.0, 1.0), (0.5, 1.0), (0.8, 2.0))
#: Visits of each variable before the next of these is tried.
PATIENCE = 300
#: Visits more, for small networks.
LEAST_VISITS = 5000
#: Visits between two looks at the clock.
BLOCK = 5000


class BetheLoss(MomentLoss):
    r"""Negative log-likelihood with Bethe's approximation of the partition function, and its minimisation.

    .. math::

        F(w) = \log Z_{Bethe}(w) - \langle w, p_D \rangle
               + \lambda \sum_e c_e d_e \|W_e\|_2 + \frac{l_2}{2} \|w\|_2^2, \qquad d_e = \sqrt{s_i s_j}

    The gradient in a table is the belief of loopy belief propagation less the observed shares. The score of an inactive
    pair is that of the product of its node beliefs: what two variables share over paths between them is not seen.
    Parameters are as in :class:`~pgmx.solvers.markov.moment_loss.MomentLoss`.

    Attributes
    ----------
    bp_failures : int
        How often messages and parameters did not come to rest, or messages that start even came to another partition
        function in the end.
    converged : bool
        Whether the last call of `optimise` or `kkt_residual` was no such failure.

    Notes
    -----
    Memory: 24 bytes a table cell, nothing by rows. Messages and parameters move together, only where something
    changed; a step of a table of 5 x 5 takes a microsecond. F need not be convex: a point of rest is stationary, and
    which one it is can depend on the order of activation. Where penalties are weak, parameters exist whose
    beliefs match the data at messages that belief propagation does not find from even ones; `kkt_residual` tells.
    Parameters beyond 50 nats are cut.

    References
    ----------
    .. [1] Chaabene, W. and Huang, B. (2017). Best-choice edge grafting for efficient structure learning of Markov
       random fields, section 2.
    .. [2] Hazan, T. and Urtasun, R. (2010). A primal-dual message-passing algorithm for approximated large scale
       structured prediction. Advances in Neural Information Processing Systems 23, 838-846.
    """

    def __init__(self, table, statistics, **options):
        super().__init__(table, statistics, **options)
        self._fit = _bethe.BetheFit(self.cardinalities, self._observed)
        self._mode = 0
        self._restless = False  # the last attempt failed in every mode: the next ones are shorter
        self._all_due = True
        self._returned = self._fit.node_beliefs.copy()
        self.bp_failures = 0
        self.converged = True
        self.optimise(tol=1e-8)
        self._drift = np.zeros(self.n_variables)
        self._drifted = self._fit.node_beliefs.copy()  # beliefs when the drift was last added up

    convex = False

    @property
    def settled(self) -> bool:
        """Whether the latest descent came to rest."""
        return self.converged

    # ---- parameters ----

    def _lam_changed(self) -> None:
        self._all_due = True

    @property
    def node_values(self) -> np.ndarray:
        """Parameters of the nodes, float64 of shape (sum of cardinalities,)."""
        return self._fit.node_values

    @property
    def edge_values(self) -> np.ndarray:
        """Parameters of the active edges, table after table, in the order of activation."""
        return self._fit.edge_values

    @property
    def node_beliefs(self) -> np.ndarray:
        """Marginals of the nodes, float64 of shape (sum of cardinalities,)."""
        return self._fit.node_beliefs.copy()

    def _added(self, positions: np.ndarray) -> None:
        active = self._active
        own = slice(active.where[positions[0]], active.where[positions[-1] + 1])
        size = own.stop - own.start
        masks = active.masks[own] if self._feature_wise else np.ones(size, dtype=np.uint8)
        self._fit.add_edges(
            np.ascontiguousarray(active.pairs[positions]),
            active.tables[own],
            active.weights[positions],
            np.zeros(size),
            masks,
        )

    def _replaced(self, nodes: np.ndarray, tables: np.ndarray) -> None:
        self._fit.set_values(nodes, tables)

    def revert(self, snapshot) -> None:
        """Go back to earlier parameters, with messages that start even; tables activated since become zero."""
        super().revert(snapshot)
        self._fit.reset_messages()
        self._fit.enqueue_all()
        self._prepared().settle_messages(1e-9, 1000 * self.n_variables)

    # ---- scores ----

    @property
    def drift(self) -> np.ndarray:
        """Twice the sum of the Euclidean changes of each node's beliefs, as seen from one access to the next.

        The product of two distributions changes by no more than the changes of both together.
        """
        beliefs = self._fit.node_beliefs
        self._drift += 2 * np.sqrt(np.add.reduceat((beliefs - self._drifted) ** 2, self._offsets[:-1]))
        self._drifted = beliefs.copy()
        return self._drift

    def _gradient_cells(self, pairs):
        return product_gradients(self._fit.node_beliefs, self._offsets, self.statistics, pairs)

    # ---- minimisation ----

    def optimise(
        self,
        pairs: np.ndarray | None = None,
        *,
        tol: float,
        max_sweeps: int | None = None,
        deadline: float = inf,
    ) -> np.ndarray:
        """Pass messages and step until both rest.

        Parameters
        ----------
        pairs : ndarray of int64, shape (k, 2), optional
            Newly activated edges: the work begins at their ends and goes as far as anything changes. Default: it begins
            everywhere.
        tol : float
            Bound on the distance of 0 from the subdifferential in each group, and on what messages may have moved since
            they were last heeded.
        max_sweeps : int, optional
            Most visits for each of the variables at which the work begins; what is left waits for the next call.
        deadline : float, default=inf
            Reading of ``time.perf_counter`` at which to return.

        Returns
        -------
        ndarray of int64
            Variables whose beliefs, in some state, moved by more than `tol` since they were last returned; the scores
            of all other pairs hardly changed.
        """
        fit = self._prepared()
        inner = 0.5 * tol
        if pairs is None or self._all_due:
            fit.enqueue_all()
            self._all_due = False
        else:
            fit.enqueue_some(np.unique(np.asarray(pairs, dtype=np.int64)), inner)
        if max_sweeps is not None:
            self._settle(inner, max_sweeps * fit.n_queued, deadline)
            return self._changed(tol)
        most = PATIENCE * self.n_variables + LEAST_VISITS
        if self._restless:
            most //= 20
        for mode in range(self._mode, len(CAUTION)):
            self._mode = mode
            fit.damping, fit.caution = CAUTION[mode]
            self._settle(inner, most, deadline)
            if not fit.n_queued or perf_counter() >= deadline:
                break
        self.converged = not fit.n_queued
        self._restless = bool(fit.n_queued) and perf_counter() < deadline
        self.bp_failures += self._restless
        return self._changed(tol)

    def _prepared(self):
        """Return the fit with the penalties of today."""
        fit = self._fit
        fit.lam, fit.l2 = self._lam, self.l2
        fit.penalize_nodes, fit.cellwise = self._penalize_nodes, self._feature_wise
        if self._feature_wise:
            fit.activity[:] = self._active.masks
        return fit

    def _changed(self, tol: float) -> np.ndarray:
        beliefs = self._fit.node_beliefs
        moved = np.maximum.reduceat(np.abs(beliefs - self._returned), self._offsets[:-1]) > tol
        cells = np.repeat(moved, self.cardinalities)
        self._returned[cells] = beliefs[cells]
        return np.flatnonzero(moved)

    def _settle(self, tol: float, max_visits: int, deadline: float) -> None:
        while self._fit.n_queued and max_visits > 0 and perf_counter() < deadline:
            max_visits -= self._fit.settle(tol, min(BLOCK, max_visits))

    def loss(self) -> float:
        """Return the first two parts of the objective, in nats a row."""
        fit = self._prepared()
        if fit.n_queued:
            fit.settle_messages(1e-6, 100 * self.n_variables)
        # Sums, not BLAS products: these wake threads for vectors of this length, which costs more than the rest.
        observed = (self._observed * fit.node_values).sum() + (self._active.tables * fit.edge_values).sum()
        return fit.log_partition() - float(observed)

    def kkt_residual(self) -> float:
        """Return the largest distance of 0 from the subdifferential over nodes and active edges.

        It is that of the present messages, which rest up to the tolerance of the last `optimise`. Messages that start
        even must come to the same partition function; where they do not, this counts as a failure.
        """
        fit = self._prepared()
        found = fit.log_partition()
        even = loopy_belief_propagation(self.potentials(), tol=1e-9)
        self.converged = even.converged and abs(even.log_partition - found) <= 1e-6 * (1.0 + abs(found))
        self.bp_failures += not self.converged
        return max(float(part.max(initial=0.0)) for part in fit.optimality())

    @property
    def n_optimised(self) -> int:
        """Block steps taken."""
        return self._fit.n_steps
