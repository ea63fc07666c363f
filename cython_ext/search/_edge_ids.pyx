"""Edges between named variables as integers.

Problem: convert tens of thousands of pairs of names, given by the user, to integer keys.
Algorithm: each name of a pair is looked up in the dictionary of positions; no Python object is made per pair.
Cost: O(m), about 30 ns per pair.
Thread-safety: holds the interpreter's lock; writes its last argument only.
"""

from collections.abc import Collection, Mapping, Set

from cpython.dict cimport PyDict_GetItemWithError
from cpython.long cimport PyLong_AsSsize_t
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uint8_t

import numpy as np

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define pgmx_prefetch(address) __builtin_prefetch(address)
    #else
    #define pgmx_prefetch(address)
    #endif
    """
    void prefetch "pgmx_prefetch"(const void *address)

cdef extern from "Python.h":
    PyObject *PyList_GET_ITEM(object items, Py_ssize_t i)  # borrowed

cdef enum:
    AHEAD = 12  # the pairs of a set are scattered in memory, so that each is a cache miss without prefetch


def is_pair(edge):
    """Return whether a value has exactly two elements."""
    if isinstance(edge, (str, bytes, Set, Mapping)):
        return False
    return isinstance(edge, Collection) and len(edge) == 2


cdef Py_ssize_t find_position(dict positions, object name) except? -1:
    cdef PyObject *position = PyDict_GetItemWithError(positions, name)
    return -1 if position == NULL else PyLong_AsSsize_t(<object>position)


def find_keys(edges, dict positions, int64_t[::1] keys):
    """Write the key tail * n + head of each pair (tail, head) of the n names in `positions`, int64 (m,).

    Returns the number of keys written, fewer than m if the next edge is not an ordered pair of names.
    """
    cdef list pairs = list(edges)
    cdef Py_ssize_t n = len(positions), m = min(keys.shape[0], len(pairs)), i, tail, head
    for i in range(m):
        if i + AHEAD < m:
            prefetch(PyList_GET_ITEM(pairs, i + AHEAD))
        edge = pairs[i]
        if not (type(edge) is tuple and len(<tuple>edge) == 2 or is_pair(edge)):
            return i
        first, second = edge
        try:
            tail, head = find_position(positions, first), find_position(positions, second)
        except TypeError:  # unhashable
            return i
        if tail < 0 or head < 0:
            return i
        keys[i] = tail * n + head
    return m


def sort_keys(const int64_t[::1] keys, Py_ssize_t n):
    """Return the distinct pairs (tail, head) of keys tail * n + head, int64 (k, 2), sorted.

    Memory: a byte per pair of the n variables.
    """
    cdef uint8_t[:, ::1] mask = np.zeros((n, n), dtype=np.uint8)
    cdef int64_t[:, ::1] pairs
    cdef Py_ssize_t i, tail, head, k = 0
    for i in range(keys.shape[0]):
        (&mask[0, 0])[keys[i]] = 1
    edges = np.empty((np.count_nonzero(mask), 2), dtype=np.int64)
    pairs = edges
    for tail in range(n):
        for head in range(n):
            if mask[tail, head]:
                pairs[k, 0] = tail
                pairs[k, 1] = head
                k += 1
    return edges
