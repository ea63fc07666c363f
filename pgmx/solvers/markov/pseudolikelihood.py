"""The penalised pseudolikelihood of a pairwise Markov network, by block descent over kept conditionals."""

from itertools import pairwise
from math import inf, sqrt
from time import perf_counter

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from pgmx._ext._pseudolikelihood import Conditionals
from pgmx.data import DiscreteTable
from pgmx.solvers.markov.penalised_loss import PenalisedLoss
from pgmx.statistics.pairs.tables import PairTables

#: Cells of pair tables that are measured at a time.
_CHUNK_CELLS = 1 << 20

#: Rows that weigh less than this share of the mean change nothing that floats can tell.
_LEAST_WEIGHT = 1e-7

#: A node is computed anew from its parameters after so many steps: products of floats drift by 1e-7 a step.
_FRESH_STEPS = 50

#: Sweeps around new edges before the search goes on.
LOCAL_SWEEPS = 4


class PseudolikelihoodLoss(PenalisedLoss):
    r"""Negative pseudolikelihood with an elastic group penalty, and the state of its minimisation.

    .. math::

        F(w) = -\frac{1}{2 W} \sum_m w_m \sum_i \log p(x_i^m \mid x_{-i}^m)
               + \lambda \sum_e c_e d_e \|W_e\|_2 + \frac{l_2}{2} \|w\|_2^2, \qquad d_e = \sqrt{s_i s_j}

    with row weights :math:`w_m` of sum W. The half makes the gradient in the table of an edge the mean of its two
    conditional expectations less the observed shares, which is the scale of the likelihood's gradient.

    Parameters
    ----------
    table, statistics
        The rows, and the observed shares of their variables and pairs under the same weights.
    weights : ndarray of float64, shape (N,), optional
        Row weights.
    n_jobs : int or None, default=None
        Threads that measure lists of pairs.
    side_memory : int, default=0
        Bytes that mean conditionals of all ordered pairs may take, 4 S² for S states of all variables together and 8 n²
        beside them; where they fit, a pair of which one end has changed costs half. For searches that look at all
        pairs again and again.

    Notes
    -----
    Memory: 4 N bytes for each state of a variable with an edge. Cost: see the kernel; the time goes into passes over
    the N rows, about 2 N (s_i - 1)(s_j - 1) / 16 vector operations for a gradient of an edge with AVX-512.

    The conditionals are floats, the sums over rows doubles: gradients carry errors of about 1e-7.
    """

    def __init__(
        self,
        table: DiscreteTable,
        statistics: PairTables,
        *,
        weights: np.ndarray | None = None,
        n_jobs: int | None = None,
        side_memory: int = 0,
        **options,
    ):
        super().__init__(table, statistics, **options)
        self._n_jobs = n_jobs
        codes, kept = _rows_of(table, weights)
        self._node_penalties = (self._lam if self._penalize_nodes else 0.0) * np.sqrt(self.cardinalities)
        self._rows = Conditionals(codes, self.cardinalities, self._observed, kept, self.l2, self._node_penalties)
        self._rows.fit_alone()
        n_states = int(self._offsets[-1])
        self._sides: tuple = ()
        if 4 * n_states**2 + 8 * self.n_variables**2 <= side_memory:
            never = np.full((self.n_variables, self.n_variables), -1.0)
            self._sides = (np.empty((n_states, n_states), dtype=np.float32), never)
        self._known = np.full(16, inf)  # bound on each block's violation when it was last looked at
        self._seen = np.zeros((16, 2))  # drift of its two ends at that time
        self._losses = np.full(self.n_variables, np.nan)
        self._loss_drift = np.full(self.n_variables, -1.0)
        self._steps = np.zeros(self.n_variables, dtype=np.int64)

    # ---- what is penalised, and how much ----

    def _lam_changed(self) -> None:
        self._known[:] = inf
        if self._penalize_nodes:
            self._node_penalties[:] = self._lam * np.sqrt(self.cardinalities)
            self._rows.fit_alone()
            self._loss_drift[:] = -1.0

    # ---- scores ----

    @property
    def drift(self) -> np.ndarray:
        """Sum over the steps of the mean over rows of the Euclidean change of each node's conditional.

        The gradient in the table of a pair changes by at most half the sum of its ends' drifts.
        """
        return self._rows.drift

    def scores(self, pairs: np.ndarray) -> np.ndarray:
        r"""Return :math:`s_e = \|\nabla_e L\|_2 / d_e` of pairs (k, 2), their first variable before the second."""
        found = np.empty(len(pairs))
        for part, cells, where in self._measured(pairs):
            found[part] = np.sqrt(np.add.reduceat(cells**2, where[:-1]))
        return found / self._size(pairs)

    def gradients(self, pairs: np.ndarray) -> list[np.ndarray]:
        """Return the gradient of the loss in the table of each pair, (s_i, s_j)."""
        found: list[np.ndarray] = [np.zeros(0)] * len(pairs)
        for part, cells, where in self._measured(pairs):
            for k, first, end in zip(part, where[:-1], where[1:], strict=True):
                i, j = pairs[k]
                found[k] = cells[first:end].reshape(self.cardinalities[i], self.cardinalities[j]).copy()
        return found

    def _measured(self, pairs: np.ndarray):
        """Yield (positions, gradient cells, their borders) for pieces of the list, ordered by first variable."""
        if not len(pairs):
            return
        order = np.lexsort((pairs[:, 1], pairs[:, 0]))
        sizes = (self.cardinalities[pairs[:, 0]] * self.cardinalities[pairs[:, 1]])[order]
        pieces = np.flatnonzero(np.diff(np.cumsum(sizes) // _CHUNK_CELLS)) + 1
        for part in np.split(order, pieces):
            chosen = np.ascontiguousarray(pairs[part])
            tables, where = self.statistics.flat(chosen)
            cells = np.empty(len(tables))
            jobs = min(effective_n_jobs(self._n_jobs), max(1, len(part) // 64))
            if jobs == 1:
                self._measure(chosen, where, tables, cells)
            else:
                borders = np.linspace(0, len(part), jobs + 1).astype(int)
                Parallel(n_jobs=jobs, prefer="threads", require="sharedmem")(
                    delayed(self._measure)(chosen[a:b], where[a : b + 1], tables, cells) for a, b in pairwise(borders)
                )
            yield part, cells, where

    def _measure(self, pairs, where, tables, cells):
        sides = np.argsort(np.concatenate([pairs[:, 0], pairs[:, 1]]), kind="stable")
        self._rows.measure(pairs, sides, where, tables, cells, *self._sides)

    # ---- parameters ----

    @property
    def node_values(self) -> np.ndarray:
        """Parameters of the nodes, float64 of shape (sum of cardinalities,)."""
        return self._rows.node_values

    @property
    def edge_values(self) -> np.ndarray:
        """Parameters of the active edges, table after table, in the order of activation."""
        return self._active.values

    def _added(self, positions: np.ndarray) -> None:
        if len(self._active) > len(self._known):
            room = 2 * len(self._active)
            self._known = np.concatenate([self._known, np.full(room - len(self._known), inf)])
            self._seen = np.concatenate([self._seen, np.zeros((room - len(self._seen), 2))])

    def _widened(self, position: int) -> None:
        self._known[position] = inf

    def _replaced(self, nodes: np.ndarray, tables: np.ndarray) -> None:
        self._rows.node_values[:] = nodes
        self._active.values[:] = tables
        self._rebuild(range(self.n_variables))
        self._rows.fit_alone()  # the optimum of nodes without edges depends on nothing else
        self._rows.drift[:] += sqrt(2)  # the most that distributions can differ by
        self._known[:] = inf

    def _rebuild(self, nodes) -> None:
        """Compute conditionals anew from the parameters."""
        pairs = self._active.pairs
        for i in nodes:
            around = [e for e in self._active.at(i) if self._active.table(e).any()]
            others = [int(pairs[e].sum()) - i for e in around]
            steps = [self._active.table(e) if pairs[e, 0] == i else self._active.table(e).T for e in around]
            self._rows.rebuild(i, np.array(others, dtype=np.int64), [np.ascontiguousarray(step) for step in steps])
            self._steps[i] = 0
            self._loss_drift[i] = -1.0

    # ---- minimisation ----

    def optimise(
        self,
        pairs: np.ndarray | None = None,
        *,
        tol: float,
        max_sweeps: int | None = None,
        deadline: float = inf,
    ) -> np.ndarray:
        """Descend until no block violates its optimality condition by more than `tol`.

        Parameters
        ----------
        pairs : ndarray of int64, shape (k, 2), optional
            Newly activated edges: only blocks at their ends are visited. Default: all blocks.
        tol : float
            Bound on the distance of 0 from the subdifferential in each group.
        max_sweeps : int, optional
            Most visits of each block. Default: `LOCAL_SWEEPS` around new edges, else 1000.
        deadline : float, default=inf
            Reading of ``time.perf_counter`` at which to return.

        Returns
        -------
        ndarray of int64
            Variables whose conditional changed.
        """
        before = self._rows.drift.copy()
        if pairs is None:
            blocks = np.arange(len(self._active))
        else:
            ends = dict.fromkeys(np.asarray(pairs).ravel().tolist())
            blocks = np.array(
                list(dict.fromkeys(e for i in ends for e in reversed(self._active.at(i)))), dtype=np.int64
            )
        most = max_sweeps or (1000 if pairs is None else LOCAL_SWEEPS)
        inner = False  # tables at zero wait while those that are not are descended on
        for _ in range(most):
            due = blocks[self._bounds(blocks) > tol]
            if inner:
                due = due[self._active.norms()[due] > 0]
                inner = len(due) > 0
                if not inner:
                    due = blocks[self._bounds(blocks) > tol]
            elif pairs is None:
                inner = True
            if not len(due) or perf_counter() >= deadline:
                break
            self._visit(due, tol)
        return np.flatnonzero(self._rows.drift != before)

    def _bounds(self, blocks: np.ndarray) -> np.ndarray:
        """Return upper bounds on the violations of blocks: as last seen, plus half the drift of their ends since."""
        moved = self._rows.drift[self._active.pairs[blocks]] - self._seen[blocks]
        return self._known[blocks] + 0.5 * moved.sum(axis=1)

    def _visit(self, blocks: np.ndarray, tol: float) -> None:
        active = self._active
        pairs = active.pairs
        before = self._rows.drift.copy()
        violations = np.zeros(len(active))
        self._rows.descend(
            np.ascontiguousarray(blocks, dtype=np.int64),
            pairs,
            active.where,
            active.values,
            active.tables,
            active.masks,
            self._lam * active.weights,
            tol,
            violations,
        )
        found = violations[blocks]
        # a block that moved has to be looked at again; one that did not is as good as it was seen, drift counted anew
        self._known[blocks] = np.where(found > tol, inf, found)
        self._seen[blocks] = before[pairs[blocks]]
        self._steps += np.bincount(pairs[blocks[found > tol]].ravel(), minlength=self.n_variables)
        stale = np.flatnonzero(self._steps > _FRESH_STEPS)
        if len(stale):
            self._rebuild(stale.tolist())

    def loss(self) -> float:
        """Return the first part of the objective, in nats a row."""
        for i in np.flatnonzero(self._loss_drift != self._rows.drift):
            self._losses[i] = self._rows.loss_of(i)
            self._loss_drift[i] = self._rows.drift[i]
        return float(self._losses.sum())

    def kkt_residual(self) -> float:
        """Return the largest distance of 0 from the subdifferential over nodes and active edges."""
        rows = self._rows
        worst = max((rows.violation_alone(i) for i in range(self.n_variables) if rows.is_constant(i)), default=0.0)
        if len(self._active):
            violations = np.zeros(len(self._active))
            active = self._active
            self._rows.descend(
                np.arange(len(active)),
                active.pairs,
                active.where,
                active.values,
                active.tables,
                active.masks,
                self._lam * active.weights,
                inf,
                violations,
            )
            worst = max(worst, float(violations.max()))
        return worst

    @property
    def n_optimised(self) -> int:
        """Block steps taken."""
        return self._rows.n_steps


def _rows_of(table: DiscreteTable, weights: np.ndarray | None) -> tuple[list[np.ndarray], np.ndarray | None]:
    """Return the codes of each variable, contiguous, bytes where they fit, and weights of mean 1 without tiny ones."""
    kept, relative = None, None
    if weights is not None:
        relative = weights / weights.max()  # first, for sums may overflow
        relative = relative / relative.mean()
        kept = np.flatnonzero(relative >= _LEAST_WEIGHT)
        relative = relative[kept].astype(np.float32)
    codes = []
    for v in range(table.n_variables):
        column = table.codes[v] if kept is None or len(kept) == table.n_rows else table.codes[v][kept]
        small = np.uint8 if table.cardinalities[v] <= 256 else np.uint16
        codes.append(np.ascontiguousarray(column, dtype=small))
    return codes, relative
