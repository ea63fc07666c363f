"""Ancestors in many directed acyclic graphs over the same variables, as rows of bits.

Problem: for each of M graphs given by the parents of each variable, find the ancestors, and count for each variable x
with each of its families the graphs in which y is a descendant of x. Algorithm: the ancestors of a variable are its
parents and their ancestors, in a topological order, by words of 64 variables.
Cost: M (n + arcs) n / 64 words, and one addition per pair of an ancestor and a descendant.
Thread-safety: pure functions of their arguments; they release the GIL.
"""

from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

import numpy as np

from _simd cimport pgmx_lowest_bit


def find_ancestors(const uint64_t[:, :, ::1] parents):
    """Return the ancestors of each variable, uint64 (M, n, words), bit u for variable u, from the parents.

    Raises ValueError if a graph has a cycle.
    """
    cdef Py_ssize_t n_dags = parents.shape[0], n = parents.shape[1], n_words = parents.shape[2], k
    ancestors = np.zeros((n_dags, n, n_words), dtype=np.uint64)
    cdef uint64_t[:, :, ::1] out = ancestors
    cdef uint64_t *placed = <uint64_t *>malloc((n_words + 1) * sizeof(uint64_t))
    cdef Py_ssize_t *left = <Py_ssize_t *>malloc((n + 1) * sizeof(Py_ssize_t))
    cdef bint is_acyclic = True
    if placed == NULL or left == NULL:
        free(placed)
        free(left)
        raise MemoryError(f"cannot order {n} variables")
    if n > 0:
        with nogil:
            for k in range(n_dags):
                if not close_graph(&parents[k, 0, 0], n, n_words, &out[k, 0, 0], placed, left):
                    is_acyclic = False
                    break
    free(placed)
    free(left)
    if not is_acyclic:
        raise ValueError(f"graph {k} has a cycle")
    return ancestors


cdef bint close_graph(
    const uint64_t *parents, Py_ssize_t n, Py_ssize_t n_words, uint64_t *out, uint64_t *placed, Py_ssize_t *left
) noexcept nogil:
    # Passes over the variables that are not placed yet, until all are; False if a pass places none.
    cdef Py_ssize_t n_left = n, n_kept, i, v, w, u, word
    cdef uint64_t rest
    cdef bint is_ready
    memset(placed, 0, n_words * sizeof(uint64_t))
    for v in range(n):
        left[v] = v
    while n_left > 0:
        n_kept = 0
        for i in range(n_left):
            v = left[i]
            is_ready = True
            for w in range(n_words):
                if parents[v * n_words + w] & ~placed[w]:
                    is_ready = False
                    break
            if not is_ready:
                left[n_kept] = v
                n_kept += 1
                continue
            for w in range(n_words):
                rest = parents[v * n_words + w]
                out[v * n_words + w] |= rest
                while rest:
                    u = 64 * w + pgmx_lowest_bit(rest)
                    rest &= rest - 1
                    for word in range(n_words):
                        out[v * n_words + word] |= out[u * n_words + word]
            placed[v >> 6] |= <uint64_t>1 << (v & 63)
        if n_kept == n_left:
            return False
        n_left = n_kept
    return True


def count_descendants(
    const uint64_t[:, :, ::1] ancestors, const int64_t[:, ::1] families, Py_ssize_t n_families,
    const double[::1] multiplicities,
):
    """Return the weight of the graphs in which y descends from x, float64 (n_families, n), by the family of x.

    ``families[k, x]`` numbers the families of all variables; graph k counts ``multiplicities[k]`` times.
    """
    cdef Py_ssize_t n_dags = ancestors.shape[0], n = ancestors.shape[1], n_words = ancestors.shape[2], k, y, w, x
    cdef uint64_t rest
    counts = np.zeros((n_families, n))
    cdef double[:, ::1] out = counts
    with nogil:
        for k in range(n_dags):
            for y in range(n):
                for w in range(n_words):
                    rest = ancestors[k, y, w]
                    while rest:
                        x = 64 * w + pgmx_lowest_bit(rest)
                        rest &= rest - 1
                        out[families[k, x], y] += multiplicities[k]
    return counts
