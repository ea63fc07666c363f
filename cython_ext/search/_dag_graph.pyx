"""The Python interface of a directed acyclic graph; the search kernels change it (``_dag_moves``).

Cost: proportional to the length of the results; ``_dag.pxd`` contains the graph itself.
Thread-safety: an object serves one thread.
"""

from libc.stdint cimport int64_t, uint64_t

import numpy as np

from _dag cimport children_of, free_dag, is_covered
from _simd cimport pgmx_lowest_bit


cdef class DirectedGraph:
    """A directed acyclic graph; a subclass allocates it."""

    def __dealloc__(self):
        free_dag(&self.dag)

    @property
    def n_edges(self):
        """The number of arcs."""
        return self.dag.n_edges

    def parents_of(self, Py_ssize_t child):
        """Return the parents of ``child``, int32, ascending."""
        cdef Py_ssize_t i
        return np.array([self.dag.parents[child][i] for i in range(self.dag.n_parents[child])], dtype=np.int32)

    def neighbours_of(self, Py_ssize_t v):
        """Return the parents of ``v``, ascending, and then its children, as a list."""
        cdef Py_ssize_t i, w
        cdef uint64_t word
        neighbours = []
        for i in range(self.dag.n_parents[v]):
            neighbours.append(self.dag.parents[v][i])
        for w in range(self.dag.words):
            word = children_of(&self.dag, v)[w]
            while word != 0:
                neighbours.append(64 * w + pgmx_lowest_bit(word))
                word &= word - 1
        return neighbours

    def children_of(self, Py_ssize_t parent):
        """Return the children of ``parent`` as a list, ascending."""
        return self.neighbours_of(parent)[self.dag.n_parents[parent]:]

    def arcs_at(self, nodes):
        """Return the arcs (tail, head) at any of the ``nodes``, by head and tail."""
        cdef Py_ssize_t v, i
        at = set(nodes)
        return [
            (self.dag.parents[v][i], v)
            for v in range(self.n) for i in range(self.dag.n_parents[v]) if v in at or self.dag.parents[v][i] in at
        ]

    def edges(self):
        """Return the arcs as int64 (m, 2), (tail, head), by head and tail."""
        out = np.empty((self.dag.n_edges, 2), dtype=np.int64)
        cdef int64_t[:, ::1] view = out
        cdef Py_ssize_t v, i, m = 0
        for v in range(self.n):
            for i in range(self.dag.n_parents[v]):
                view[m, 0] = self.dag.parents[v][i]
                view[m, 1] = v
                m += 1
        return out

    def covered_edges(self):
        """Return the covered arcs as int64 (m, 2), by head and tail: reversing one leads to a Markov equivalent graph.

        The arc x -> y is covered if the parents of y are x and the parents of x. Reference: Chickering (1995),
        A transformational characterization of equivalent Bayesian network structures, lemma 1.
        """
        cdef Py_ssize_t head, i
        cdef int tail
        covered = []
        for head in range(self.n):
            for i in range(self.dag.n_parents[head]):
                tail = self.dag.parents[head][i]
                if is_covered(&self.dag, tail, head):
                    covered.append((tail, head))
        return np.array(covered, dtype=np.int64).reshape(-1, 2)
