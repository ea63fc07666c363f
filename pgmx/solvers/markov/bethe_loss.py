"""Penalised likelihood of a pairwise Markov network with the Bethe approximation."""

import numpy as np

from pgmx._ext import _bethe
from pgmx.inference.approximate.loopy import loopy_belief_propagation
from pgmx.runs.checkpoint import Snapshot
from pgmx.runs.run import is_past
from pgmx.solvers.markov.penalised_loss import PenalisedLoss
from pgmx.solvers.markov.stored_conditionals import MOST_DRIFT

#: Settings (damping of messages, factor on the curvatures), tried one after another.
CAUTION = ((0.0, 1.0), (0.5, 1.0), (0.8, 2.0))
#: Visits of each variable before the next setting is tried.
PATIENCE = 300
#: Additional visits, for small networks.
LEAST_VISITS = 5000
#: Visits between two readings of the clock.
BLOCK = 5000

#: Smallest value of a message in the kernel. The largest value of a new message is 1.
_LEAST_MESSAGE = 1e-100


class BetheLoss(PenalisedLoss):
    r"""Negative log-likelihood with the Bethe approximation of the partition function, and its minimisation.

    .. math::

        F(w) = \log Z_{Bethe}(w) - \langle w, p_D \rangle
               + \lambda \sum_e c_e d_e \|W_e\|_2 + \frac{l_2}{2} \|w\|_2^2, \qquad d_e = \sqrt{s_i s_j}

    The gradient in a table is the belief of loopy belief propagation minus the observed shares. The score of an
    inactive pair uses the product of its node beliefs, so it ignores dependence over other paths. For the parameters
    see :class:`~pgmx.solvers.markov.penalised_loss.PenalisedLoss`.

    Attributes
    ----------
    bp_failures : int
        Number of times that messages and parameters did not converge, or that uniform initial messages led to another
        partition function.
    converged : bool
        Whether the latest call of `optimise` or `kkt_residual` succeeded.

    Notes
    -----
    Memory: 24 bytes per table cell, independent of the rows. Messages and parameters are updated together, and only
    after changes nearby. A step of a 5 x 5 table takes a microsecond. F may be non-convex. The updates converge to a
    stationary point, which can depend on the order of activation. With weak penalties, the beliefs may match the data
    only at messages that belief propagation does not reach from uniform messages; `kkt_residual` checks this.
    Parameters are limited to 50 nats.

    References
    ----------
    .. [1] Chaabene, W. and Huang, B. (2017). Best-choice edge grafting for efficient structure learning of Markov
       random fields, section 2.
    .. [2] Hazan, T. and Urtasun, R. (2010). A primal-dual message-passing algorithm for approximated large scale
       structured prediction. Advances in Neural Information Processing Systems 23, 838-846.
    """

    is_convex = False

    def _start(self, table, weights) -> None:
        self._fit = _bethe.BetheFit(self.cardinalities, self._observed)
        self._mode = 0
        self._failed_last = False  # every setting failed: the next attempts are shorter
        self._all_due = True
        self._is_settled = False  # whether messages have converged for `loss` since the last step
        self._beliefs_returned = self._fit.node_beliefs.copy()
        self.bp_failures = 0
        self.optimise(tol=1e-8)
        self._mode, self._failed_last, self.bp_failures = 0, False, 0  # nodes without messages converge only slowly
        self._drift = np.zeros(self.n_variables)
        self._beliefs_then = self._fit.node_beliefs.copy()  # at the last update of the drift

    # ---- parameters ----

    def _update_penalty(self) -> None:
        self._all_due = True

    def _values(self):
        return self._fit.node_values, self._fit.edge_values

    @property
    def node_beliefs(self) -> np.ndarray:
        """Marginals of the nodes, float64 of shape (sum of cardinalities,)."""
        return self._fit.node_beliefs.copy()

    def _append_edges(self, positions: np.ndarray) -> None:
        active = self._active
        span = slice(active.where[positions[0]], active.where[positions[-1] + 1])
        size = span.stop - span.start
        masks = active.masks[span] if self._feature_wise else np.ones(size, dtype=np.uint8)
        self._is_settled = False
        self._fit.add_edges(
            np.ascontiguousarray(active.pairs[positions]),
            active.tables[span],
            active.weights[positions],
            np.zeros(size),
            masks,
        )

    def _replace_values(self, nodes: np.ndarray, tables: np.ndarray) -> None:
        self._fit.set_values(nodes, tables)
        self._is_settled = False

    def revert(self, snapshot) -> None:
        """Return to earlier parameters, with uniform messages. Tables activated since then become zero."""
        super().revert(snapshot)
        self._fit.reset_messages()
        self._fit.enqueue_all()
        self._prepare_fit().settle_messages(1e-9, 1000 * self.n_variables)

    # ---- checkpoints ----

    def _progress(self) -> dict[str, np.ndarray]:
        """Return the messages after `loss` was computed, the queue, and the current setting."""
        self.loss()
        fit = self._fit
        return {
            **fit.state(),
            "mode": np.array(self._mode),
            "caution": np.array(CAUTION.index((fit.damping, fit.caution))),
            "flags": np.array([self._failed_last, self._all_due]),
            "bp_failures": np.array(self.bp_failures),
            "beliefs_returned": self._beliefs_returned.copy(),
            "beliefs_then": self._beliefs_then.copy(),
            "drift": self._drift.copy(),
        }

    def _restore_progress(self, state: Snapshot) -> None:
        n, fit = self.n_variables, self._prepare_fit()
        n_messages = int(self.cardinalities[self._active.pairs].sum())
        fit.restore(
            state.array("messages", float, (n_messages,), least=_LEAST_MESSAGE, most=1),
            state.array("stale", float, (n,), least=0),
            state.array("is_queued", bool, (n,)),
        )
        self._mode = state.integer("mode", 0, len(CAUTION) - 1)
        fit.damping, fit.caution = CAUTION[state.integer("caution", 0, len(CAUTION) - 1)]
        self._failed_last, self._all_due = state.array("flags", bool, (2,)).tolist()
        self.bp_failures = state.integer("bp_failures", 0)
        self._beliefs_returned = self._read_beliefs(state, "beliefs_returned")
        self._beliefs_then = self._read_beliefs(state, "beliefs_then")
        self._drift = state.array("drift", float, (n,), least=0, most=MOST_DRIFT).copy()
        self._is_settled = True

    def _read_beliefs(self, state: Snapshot, name: str) -> np.ndarray:
        beliefs = state.array(name, float, (int(self._offsets[-1]),), least=0, most=1)
        sums = np.add.reduceat(beliefs, self._offsets[:-1])
        state.check(np.abs(sums - 1).max() <= 1e-9, f"marginals in {name!r} that do not sum to 1")
        return beliefs.copy()

    # ---- scores ----

    @property
    def drift(self) -> np.ndarray:
        """Twice the sum of the Euclidean changes of each node's beliefs between accesses.

        The change of a product of two distributions is at most the sum of their changes.
        """
        beliefs = self._fit.node_beliefs
        self._drift += 2 * np.sqrt(np.add.reduceat((beliefs - self._beliefs_then) ** 2, self._offsets[:-1]))
        self._beliefs_then = beliefs.copy()
        return self._drift

    def _gradient_cells(self, pairs):
        tables, begins = self.statistics.flat(pairs)
        begins = np.ascontiguousarray(begins, dtype=np.int64)
        norms = _bethe.product_gradients(self._fit.node_beliefs, self._offsets, pairs, begins, tables)
        yield slice(None), tables, begins, norms

    # ---- minimisation ----

    def _descend(self, pairs, tol, max_sweeps, deadline):
        """Update messages and parameters until convergence, from the ends of `pairs` as far as changes spread."""
        fit = self._prepare_fit()
        inner, self._is_settled = 0.5 * tol, False
        if pairs is None or self._all_due:
            fit.enqueue_all()
            self._all_due = False
        else:
            fit.enqueue_some(np.unique(pairs), inner)
        if max_sweeps is not None:
            self._settle(inner, max_sweeps * fit.n_queued, deadline)
            return self._find_changed(tol)
        most = PATIENCE * self.n_variables + LEAST_VISITS
        if self._failed_last:
            most //= 20
        for mode in range(self._mode, len(CAUTION)):
            self._mode = mode
            fit.damping, fit.caution = CAUTION[mode]
            self._settle(inner, most, deadline)
            if not fit.n_queued or is_past(deadline):
                break
        self.converged = not fit.n_queued
        self._failed_last = bool(fit.n_queued) and not is_past(deadline)
        self.bp_failures += self._failed_last
        return self._find_changed(tol)

    def _prepare_fit(self):
        """Return the kernel's object with the current penalties."""
        fit = self._fit
        fit.lam, fit.l2 = self._lam, self.l2
        fit.penalize_nodes, fit.cellwise = self._penalize_nodes, self._feature_wise
        if self._feature_wise:
            fit.activity[:] = self._active.masks
        return fit

    def _find_changed(self, tol: float) -> np.ndarray:
        """Return the variables with a belief that changed by more than `tol` since they were last returned."""
        beliefs = self._fit.node_beliefs
        moved = np.maximum.reduceat(np.abs(beliefs - self._beliefs_returned), self._offsets[:-1]) > tol
        cells = np.repeat(moved, self.cardinalities)
        self._beliefs_returned[cells] = beliefs[cells]
        return np.flatnonzero(moved)

    def _settle(self, tol: float, max_visits: int, deadline: float) -> None:
        while self._fit.n_queued and max_visits > 0 and not is_past(deadline):
            max_visits -= self._fit.settle(tol, min(BLOCK, max_visits))

    def loss(self) -> float:
        """Return the negative log-likelihood with the Bethe partition function, in nats per row."""
        fit = self._prepare_fit()
        if fit.n_queued and not self._is_settled:
            fit.settle_messages(1e-6, 100 * self.n_variables)
        self._is_settled = True
        # Sums, not BLAS products: for vectors of this length, starting BLAS threads costs more than the rest.
        observed = (self._observed * fit.node_values).sum() + (self._active.tables * fit.edge_values).sum()
        return fit.log_partition() - float(observed)

    def kkt_residual(self) -> float:
        """Return the largest distance of 0 from the subdifferential over nodes and active edges.

        It uses the current messages, which converged to the tolerance of the last `optimise`. If uniform messages lead
        to another partition function, this counts as a failure.
        """
        fit = self._prepare_fit()
        log_partition = fit.log_partition()
        fresh = loopy_belief_propagation(self.potentials(), tol=1e-9)
        self.converged = fresh.converged and abs(fresh.log_partition - log_partition) <= 1e-6 * (
            1.0 + abs(log_partition)
        )
        self.bp_failures += not self.converged
        return max(float(part.max(initial=0.0)) for part in fit.optimality())

    @property
    def n_optimised(self) -> int:
        """Number of block steps."""
        return self._fit.n_steps
