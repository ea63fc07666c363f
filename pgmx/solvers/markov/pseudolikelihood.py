"""Penalised pseudolikelihood of a pairwise Markov network, by block descent over stored conditionals."""

from functools import partial
from itertools import pairwise
from math import inf, sqrt
from typing import Any

import numpy as np

from pgmx._ext._pseudolikelihood import Conditionals
from pgmx.data import DiscreteTable, DistributedTable
from pgmx.parallel.threads import call_on_threads, count_threads
from pgmx.runs.checkpoint import Snapshot
from pgmx.runs.run import is_past
from pgmx.solvers.markov.distributed_conditionals import DistributedConditionals
from pgmx.solvers.markov.penalised_loss import PenalisedLoss
from pgmx.solvers.markov.stored_conditionals import (
    MOST_DRIFT,
    pack_conditionals,
    restore_conditionals,
    restore_losses,
)
from pgmx.solvers.markov.weighted_rows import WeightScale, arrange_rows

#: Smallest `tol` that double precision certifies on any table.
LEAST_TOL = 1e-10

#: Smallest `tol` for single precision. Below it, steps and certificates in double precision follow.
SINGLE_TOL = 1e-5

#: Largest rounding error of single precision in the conditionals of a variable, included in `drift`.
_SINGLE_ROUNDING = 1e-5

#: Cells of pair tables, and cells times rows, that are computed between two checks for Ctrl-C.
_CHUNK_CELLS, _CHUNK_WORK = 1 << 20, 1 << 32

#: Blocks between two checks for Ctrl-C.
_BLOCKS_PER_CALL = 64

#: Steps after which a node is computed again from its parameters, because products of floats drift by 1e-7 per step.
_STEPS_UNTIL_REBUILD = 50

#: Sweeps around new edges before the search continues.
LOCAL_SWEEPS = 4


class PseudolikelihoodLoss(PenalisedLoss):
    r"""Negative log-pseudolikelihood with an elastic group penalty, and the state of its minimisation.

    .. math::

        F(w) = -\frac{1}{2 W} \sum_m w_m \sum_i \log p(x_i^m \mid x_{-i}^m)
               + \lambda \sum_e c_e d_e \|W_e\|_2 + \frac{l_2}{2} \|w\|_2^2, \qquad d_e = \sqrt{s_i s_j}

    with row weights :math:`w_m` of sum W. Because of the factor 1/2, the gradient in the table of an edge is the mean
    of its two conditional expectations minus the observed shares. It has the same scale as the gradient of the
    likelihood. For the parameters see :class:`~pgmx.solvers.markov.penalised_loss.PenalisedLoss`.

    Notes
    -----
    Memory: 4 N bytes per state of a variable with an edge. With `side_memory` of at least 4 S² + 8 n² bytes, for S
    states of all variables together, mean conditionals of all ordered pairs are stored, so that a pair with one changed
    end costs half. Cost: see the kernel. Most of the time is spent in passes over the N rows, about 2 N (s_i - 1)(s_j -
    1) / 16 vector operations per gradient of an edge with AVX-512.

    Conditionals are in single precision and sums over rows in double precision, so gradients have errors of about 1e-6.
    The sums do not depend on the order of the rows or on the partitions of a distributed table: the share of each row
    is rounded to a multiple of 2^-24 of the largest weight, and a row of more than eight times the mean weight counts
    as several rows. For a tolerance below 1e-5, single precision descends to 1e-5. Then steps, scores and
    `kkt_residual` use double precision, with three times the memory in total.
    """

    _is_double = False
    _real: type = np.float32

    def _start(self, table: DiscreteTable, weights: np.ndarray | None) -> None:
        self._table, self._row_weights = table, weights
        self._refined: DoublePseudolikelihoodLoss | None = None
        self._is_refined = False  # whether that loss has the parameters of this loss
        self._node_penalties = (self._lam if self._penalize_nodes else 0.0) * np.sqrt(self.cardinalities)
        self._rows = self._open_rows(table, weights)
        self._rows.fit_alone()
        n_states = int(self._offsets[-1])
        self._sides: tuple = ()
        if 4 * n_states**2 + 8 * self.n_variables**2 <= self._side_memory:
            never = np.full((self.n_variables, self.n_variables), -1.0)
            self._sides = (np.empty((n_states, n_states), dtype=np.float32), never)
        self._bound = np.full(16, inf)  # bound on each block's violation when last computed
        self._drift_then = np.zeros((16, 2))  # drift of its two ends at that time
        self._losses = np.full(self.n_variables, np.nan)
        self._loss_drift = np.full(self.n_variables, -1.0)
        self._n_steps = np.zeros(self.n_variables, dtype=np.int64)

    def _open_rows(self, table: DiscreteTable, weights: np.ndarray | None) -> Conditionals | DistributedConditionals:
        """Return the conditionals of the rows, local or distributed."""
        shared = (self._observed, self.l2, self._node_penalties, self._is_double)
        if isinstance(table, DistributedTable):
            # The rows stay with the workers: a step is a message, which serves as many steps as possible.
            self._n_jobs = 1  # the workers run in parallel instead
            rows: Any = table.keep_weights(weights)[0]
            return DistributedConditionals(rows, *shared)
        scale = None if weights is None else WeightScale.of(weights)
        codes, relative = arrange_rows(table, weights, scale, self._is_double)
        heaviest = None if scale is None else scale.heaviest
        return Conditionals(codes, self.cardinalities, self._observed, relative, *shared[1:], heaviest)

    def _update_penalty(self) -> None:
        self._bound[:] = inf
        self._is_refined = False
        if self._penalize_nodes:
            self._node_penalties[:] = self._lam * np.sqrt(self.cardinalities)
            self._rows.fit_alone()
            self._loss_drift[:] = -1.0

    # ---- scores ----

    @property
    def drift(self) -> np.ndarray:
        """Sum over the steps of the mean Euclidean change, over rows, of each node's conditional.

        The gradient in the table of a pair changes by at most half the sum of its ends' drifts.
        """
        return self._rows.drift

    def _gradient_cells(self, pairs):
        """Yield chunks of the list in the order of the first variable."""
        if self._is_refined and self._refined is not None:
            yield from self._refined._gradient_cells(pairs)
            return
        if not len(pairs):
            return
        order = np.lexsort((pairs[:, 1], pairs[:, 0]))
        sizes = (self.cardinalities[pairs[:, 0]] * self.cardinalities[pairs[:, 1]])[order]
        most = min(_CHUNK_CELLS, _CHUNK_WORK // self._rows.n_rows + 1)
        chunk_borders = np.flatnonzero(np.diff(np.cumsum(sizes) // most)) + 1
        for part in np.split(order, chunk_borders):
            chosen = np.ascontiguousarray(pairs[part])
            tables, where = self.statistics.flat(chosen)
            cells = np.empty(len(tables))
            n_threads = min(count_threads(self._n_jobs), max(1, len(part) // 64))
            borders = np.linspace(0, len(part), n_threads + 1).astype(int)
            calls = (partial(self._measure, chosen[a:b], where[a : b + 1], tables, cells) for a, b in pairwise(borders))
            call_on_threads(calls, n_threads)
            yield part, cells, where, np.sqrt(np.add.reduceat(cells**2, where[:-1]))

    def _measure(self, pairs, where, tables, cells):
        sides = np.argsort(np.concatenate([pairs[:, 0], pairs[:, 1]]), kind="stable")
        self._rows.measure(pairs, sides, where, tables, cells, *self._sides)

    # ---- parameters ----

    def _values(self):
        return self._rows.node_values, self._active.values

    def _append_edges(self, positions: np.ndarray) -> None:
        if len(self._active) > len(self._bound):
            size = 2 * len(self._active)
            self._bound = np.concatenate([self._bound, np.full(size - len(self._bound), inf)])
            self._drift_then = np.concatenate([self._drift_then, np.zeros((size - len(self._drift_then), 2))])

    def _admit_cells(self, position: int) -> None:
        self._bound[position] = inf

    def _replace_values(self, nodes: np.ndarray, tables: np.ndarray) -> None:
        self._rows.node_values[:] = nodes
        self._active.values[:] = tables
        self._rebuild(range(self.n_variables))
        self._rows.fit_alone()  # the optimum of nodes without edges depends only on the rows
        self._rows.drift[:] += sqrt(2)  # the largest distance between two distributions
        self._bound[:] = inf
        self._is_refined = False

    def _rebuild(self, nodes) -> None:
        """Compute conditionals from the parameters, without accumulated rounding errors."""
        for i in nodes:
            self._rows.rebuild(i, *self._tables_around(i))
            self._n_steps[i] = 0
            self._loss_drift[i] = -1.0

    def _tables_around(self, i: int) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the neighbours of a node with non-zero tables, and these tables, with states of the node in rows."""
        pairs = self._active.pairs
        around = [e for e in self._active.edges_of(i) if self._active.table(e).any()]
        others = [int(pairs[e].sum()) - i for e in around]
        steps = [self._active.table(e) if pairs[e, 0] == i else self._active.table(e).T for e in around]
        return np.array(others, dtype=np.int64), [np.ascontiguousarray(step) for step in steps]

    # ---- checkpoints ----

    def _progress(self) -> dict[str, np.ndarray]:
        """Return conditionals, bounds and losses, also in double precision if it is in use."""
        n, fine = len(self._active), {}
        if self._refined is not None:
            fine = self._refined._progress() if self._is_refined else {"drift": self._refined.drift.copy()}
        return {
            **pack_conditionals(self._rows, self._real),
            "bound": self._bound[:n].copy(),
            "drift_then": self._drift_then[:n].copy(),
            "n_steps": self._n_steps.copy(),
            "losses": self._losses.copy(),
            "loss_drift": self._loss_drift.copy(),
            **{f"fine_{name}": value for name, value in fine.items()},
        }

    def restore(self, state: Snapshot) -> None:
        """Resume from the state of another loss over the same data. The result is the same to the last bit."""
        fine = state.take_part("fine_")
        super().restore(state)
        if not fine:
            return
        self._refined = DoublePseudolikelihoodLoss.from_single(self)
        if fine.names == ["drift"]:  # only the drifts continue to grow
            self._refined.drift[:] = fine.array("drift", float, (self.n_variables,), least=0, most=MOST_DRIFT)
            return
        self._refined.follow(self)
        fine.check_names(self._refined._progress())
        self._refined._rows.node_values[:] = state.value("nodes")
        self._refined._restore_progress(fine)
        self._is_refined = True

    def _restore_progress(self, state: Snapshot) -> None:
        rows, k = self._rows, len(self._active)
        if "nodes" in state:  # nodes without edges were fitted again
            rows.node_values[:] = state.value("nodes")
        restore_conditionals(rows, state, self.cardinalities, self._real, self._tables_around)
        self._bound[:k] = state.array("bound", float, (k,), least=0, finite=False)
        drift_then = state.array("drift_then", float, (k, 2), least=0)
        state.check((drift_then <= rows.drift[self._active.pairs[:k]]).all(), "a drift that decreased")
        self._drift_then[:k] = drift_then
        self._n_steps[:] = state.array("n_steps", np.int64, (self.n_variables,), least=0)
        self._losses, self._loss_drift = restore_losses(rows, state)

    # ---- minimisation ----

    def _descend(self, pairs, tol, max_sweeps, deadline):
        before, n_steps = self._rows.drift.copy(), self._rows.n_steps
        is_fine = pairs is None and tol < SINGLE_TOL and not self._is_double
        self._sweep(pairs, max(tol, SINGLE_TOL) if is_fine else tol, max_sweeps, deadline)
        self._is_refined = self._is_refined and self._rows.n_steps == n_steps
        if is_fine and not is_past(deadline):
            self._refine(tol, max_sweeps, deadline)
        return np.flatnonzero(self._rows.drift != before)

    def _sweep(self, pairs, tol, max_sweeps, deadline) -> None:
        if pairs is None:
            blocks = np.arange(len(self._active))
        else:
            ends = dict.fromkeys(pairs.ravel().tolist())
            blocks = np.array(
                list(dict.fromkeys(e for i in ends for e in reversed(self._active.edges_of(i)))), dtype=np.int64
            )
        most = max_sweeps or (1000 if pairs is None else LOCAL_SWEEPS)
        inner = False  # tables at zero wait during the descent over non-zero tables
        for _ in range(most):
            due = blocks[self._upper_bounds(blocks) > tol]
            if inner:
                due = due[self._active.norms()[due] > 0]
                inner = len(due) > 0
                if not inner:
                    due = blocks[self._upper_bounds(blocks) > tol]
            elif pairs is None:
                inner = True
            if not len(due) or is_past(deadline):
                break
            self._visit(due, tol)

    def _refine(self, tol, max_sweeps, deadline) -> None:
        """Continue in double precision, and copy the changes."""
        if self._refined is None:
            self._refined = DoublePseudolikelihoodLoss.from_single(self)
        fine = self._refined
        if not self._is_refined:
            fine.follow(self)
        fine.renew_bounds()
        n_steps = fine._rows.n_steps
        fine._sweep(None, tol, max_sweeps, deadline)
        if not self._is_refined or fine._rows.n_steps != n_steps:
            self._rows.node_values[:] = fine._rows.node_values
            self._renew_conditionals()
        self._is_refined = True

    def _renew_conditionals(self) -> None:
        """Compute conditionals from the parameters. Drifts grow by the changes and by rounding errors."""
        for i in range(self.n_variables):
            self._rows.renew(i, *self._tables_around(i), _SINGLE_ROUNDING)
            self._n_steps[i] = 0
            self._loss_drift[i] = -1.0
        self._bound[:] = inf

    def _upper_bounds(self, blocks: np.ndarray) -> np.ndarray:
        """Return upper bounds on the violations of blocks: the last values plus half the later drift of their ends."""
        moved = self._rows.drift[self._active.pairs[blocks]] - self._drift_then[blocks]
        return self._bound[blocks] + 0.5 * moved.sum(axis=1)

    def _visit(self, blocks: np.ndarray, tol: float) -> None:
        pairs = self._active.pairs
        before = self._rows.drift.copy()
        violations = self._step(blocks, tol)[blocks]
        # a block that moved has to be computed again; otherwise the bound holds for the earlier drift
        self._bound[blocks] = np.where(violations > tol, inf, violations)
        self._drift_then[blocks] = before[pairs[blocks]]
        self._n_steps += np.bincount(pairs[blocks[violations > tol]].ravel(), minlength=self.n_variables)
        stale = np.flatnonzero(self._n_steps > _STEPS_UNTIL_REBUILD)
        if len(stale):
            self._rebuild(stale.tolist())

    def _step(self, blocks: np.ndarray, tol: float) -> np.ndarray:
        """Step in blocks that violate their condition by more than `tol`; return the violations before it, by edge."""
        active = self._active
        violations, penalties = np.zeros(len(active)), self._lam * active.weights
        blocks = np.ascontiguousarray(blocks, dtype=np.int64)
        n = _BLOCKS_PER_CALL if isinstance(self._rows, Conditionals) else max(len(blocks), 1)
        for first in range(0, len(blocks), n):
            self._rows.descend(
                blocks[first : first + n],
                active.pairs,
                active.where,
                active.values,
                active.tables,
                active.masks,
                penalties,
                tol,
                violations,
            )
        return violations

    def loss(self) -> float:
        """Return the negative log-pseudolikelihood, in nats per row."""
        if self._is_refined and self._refined is not None:
            return self._refined.loss()
        drift = self._rows.drift
        stale = np.flatnonzero(self._loss_drift != drift)
        if len(stale):
            self._losses[stale] = self._rows.losses(stale.tolist())
            self._loss_drift[stale] = drift[stale]
        return float(self._losses.sum())

    def kkt_residual(self) -> float:
        """Return the largest distance of 0 from the subdifferential over nodes and active edges."""
        if self._is_refined and self._refined is not None:
            return self._refined.kkt_residual()
        rows = self._rows
        worst = max((rows.violation_alone(i) for i in range(self.n_variables) if rows.is_constant(i)), default=0.0)
        if len(self._active):
            worst = max(worst, float(self._step(np.arange(len(self._active)), inf).max()))
        return worst

    @property
    def n_optimised(self) -> int:
        """Number of block steps."""
        return self._rows.n_steps + (0 if self._refined is None else self._refined.n_optimised)


class DoublePseudolikelihoodLoss(PseudolikelihoodLoss):
    """The same loss in double precision. It shares the active edges of a loss in single precision."""

    _is_double = True
    _real = np.float64

    @classmethod
    def from_single(cls, single: PseudolikelihoodLoss) -> "DoublePseudolikelihoodLoss":
        """Return a loss over the same rows and edges. The parameters of its nodes are not copied yet."""
        fine = cls(
            single._table,
            single.statistics,
            lam=single.lam,
            l2=single.l2,
            weights=single._row_weights,
            penalize_nodes=single._penalize_nodes,
            edge_weights=single._edge_weights,
            feature_wise=single._feature_wise,
            n_jobs=single._n_jobs,
        )
        fine._active = single._active
        return fine

    def follow(self, single: PseudolikelihoodLoss) -> None:
        """Continue from the parameters and the penalty of the loss in single precision."""
        if self.lam != single.lam:
            self.lam = single.lam
        self.renew_bounds()
        self._replace_values(single.node_values.copy(), self._active.values.copy())

    def renew_bounds(self) -> None:
        """Reset the bounds, because the active edges may have changed."""
        self._append_edges(np.zeros(0, dtype=np.int64))
        self._bound[:] = inf

    def kkt_residual(self) -> float:
        """Return the largest distance of 0 from the subdifferential over nodes and active edges."""
        self.renew_bounds()
        return super().kkt_residual()
