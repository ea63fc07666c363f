# The graph under the move queue; it is in this folder for the reason that ``_scorer.pxd`` gives.

from _dag cimport Dag


cdef class DirectedGraph:
    cdef readonly Py_ssize_t n
    cdef Dag dag
