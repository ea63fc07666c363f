# The graph under the move queue; it stands here for the reason that ``_scorer.pxd`` gives.

from _dag cimport Dag


cdef class DirectedGraph:
    cdef readonly Py_ssize_t n
    cdef Dag dag
