"""Conditionals of a pairwise Markov network over distributed rows, for block descent on its pseudolikelihood.

Problem: the workers of a cluster have partitions of the rows; this process has the parameters. Algorithm: means of
conditionals are read from sums over all partitions, which were requested before, in the order in which steps and scores
need them. The changes of the conditionals by a step are recorded and sent with the next request. See
_block_descent.pyx.
Cost: only that of a step. Thread-safety: an object serves one thread; it takes the GIL for each record.
"""

from libc.stdint cimport int64_t

import numpy as np

from pgmx._ext._block_descent cimport BlockDescent

#: Operations on the conditionals of a node, in place of a neighbour.
OPEN, CLOSE, COPY, COMPARE = -1, -2, -3, -4


cdef class RemoteConditionals(BlockDescent):
    """Parameters of one network, sums over distributed rows, and recorded operations for the workers.

    Parameters
    ----------
    cardinalities, margins, l2, node_penalties
        As in `Conditionals`.
    total : float
        Sum of the weights of all rows.

    Attributes
    ----------
    operations : list of tuples (i, neighbour or operation, table, whether it counts for the drift)
        Operations on the conditionals of node i, in this order. With a neighbour j: move its logits by the table,
        (s_i, s_j). OPEN: store them row by row, first with the probabilities of the table. CLOSE: store one conditional
        for all rows. COPY: keep a copy. COMPARE: add the distance from the copy, then drop the copy.
    """

    cdef public list operations
    cdef const double[::1] sums
    cdef Py_ssize_t at

    def __init__(self, cardinalities, margins, double total, double l2, node_penalties):
        self.set_up(cardinalities, margins, total, l2, node_penalties)
        self.operations = []
        self.take_sums(np.empty(0))

    def take_sums(self, const double[::1] sums):
        """Set the sums over the rows that the next steps or scores read, one table after the other."""
        self.sums, self.at = sums, 0

    def check_sums(self):
        """Raise RuntimeError unless all sums were read."""
        if self.at != self.sums.shape[0]:
            raise RuntimeError(f"{self.at} sums were read, but {self.sums.shape[0]} were requested")

    def resume(self, list operations):
        """Restart with earlier operations, which represent all changes of the conditionals."""
        self.operations = [(i, CLOSE, None, False) for i in range(self.n)] + operations
        for i, j, *_ in self.operations:
            if j == OPEN or j == CLOSE:
                self.by_row[i] = j == OPEN
        for i in range(self.n):
            if not self.by_row[i]:
                self.settle(i, 0.0)

    def open_nodes(self):
        """Return which nodes have conditionals that differ between rows, a copy (n,)."""
        return np.array(self.by_row, dtype=bool)

    def add_drift(self, nodes, moved):
        """Add the changes of conditionals, summed over the rows, to the drifts of nodes (k,)."""
        cdef const int64_t[::1] i = nodes
        cdef const double[::1] by = moved
        cdef Py_ssize_t k
        for k in range(i.shape[0]):
            self._drift[i[k]] += by[k] / self.total

    def renew(self, Py_ssize_t i, const int64_t[::1] neighbours, list steps, double slack):
        """Compute the conditionals of node i again with `rebuild`; its drift grows by the change plus `slack`."""
        cdef bint was_open = self.by_row[i]
        if was_open and neighbours.shape[0]:
            self.operations.append((i, COPY, None, False))
        self.rebuild(i, neighbours, steps)
        if was_open and self.by_row[i]:
            self.operations.append((i, COMPARE, None, True))
            self._drift[i] += slack
        elif was_open or self.by_row[i]:
            self._drift[i] += np.sqrt(2)

    cdef void side(self, Py_ssize_t i, Py_ssize_t j, double *out) noexcept nogil:
        cdef Py_ssize_t k, size = self.cards[i] * self.cards[j]
        cdef double scale = 1 / self.total
        if not self.by_row[i]:
            self.multiply(i, j, out)
            return
        if self.at + size > self.sums.shape[0]:  # found by `check_sums`
            self.at = self.sums.shape[0] + 1
            for k in range(size):
                out[k] = 0
            return
        for k in range(size):
            out[k] = max(self.sums[self.at + k] * scale, 0)
        self.at += size

    cdef double shift(self, Py_ssize_t i, Py_ssize_t j, const double *step, void *scratch) noexcept nogil:
        with gil:
            table = np.array(<const double[:self.cards[i], :self.cards[j]]>step)
            self.operations.append((i, j, table, not self.is_rebuild))
        return 0

    cdef int open(self, Py_ssize_t i) except -1:
        shares = np.asarray(self.total_of)[self.offset[i]:self.offset[i + 1]] / self.total
        self.operations.append((i, OPEN, shares, False))
        self.by_row[i] = 1
        return 0

    cdef int close(self, Py_ssize_t i) except -1:
        if self.by_row[i]:
            self.operations.append((i, CLOSE, None, False))
        self.by_row[i] = 0
        return 0
