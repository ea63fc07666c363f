# A state of a search over orders: an order of the variables, and the families of its graph.

from libc.stdint cimport uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from _parent_trees cimport Node


cdef struct Place:              # all by variable, except the order itself
    int *order
    int *rank
    Node **families
    uint64_t *chosen            # (n, words): predecessors chosen on the path to the family
    uint64_t *wanted            # (n, words): other variables that would have been chosen
    double score


cdef inline bint init_place(Place *place, Py_ssize_t n, Py_ssize_t words) noexcept nogil:
    # False if memory is short; call free_place() in both cases.
    place.order = <int *>calloc(n + 1, sizeof(int))
    place.rank = <int *>calloc(n + 1, sizeof(int))
    place.families = <Node **>calloc(n + 1, sizeof(Node *))
    place.chosen = <uint64_t *>calloc(n * words + 1, sizeof(uint64_t))
    place.wanted = <uint64_t *>calloc(n * words + 1, sizeof(uint64_t))
    return (
        place.order != NULL
        and place.rank != NULL
        and place.families != NULL
        and place.chosen != NULL
        and place.wanted != NULL
    )


cdef inline void copy_place(Place *to, const Place *origin, Py_ssize_t n, Py_ssize_t words) noexcept nogil:
    memcpy(to.order, origin.order, n * sizeof(int))
    memcpy(to.rank, origin.rank, n * sizeof(int))
    memcpy(to.families, origin.families, n * sizeof(Node *))
    memcpy(to.chosen, origin.chosen, n * words * sizeof(uint64_t))
    memcpy(to.wanted, origin.wanted, n * words * sizeof(uint64_t))
    to.score = origin.score


cdef inline void free_place(Place *place) noexcept nogil:
    free(place.order)
    free(place.rank)
    free(place.families)
    free(place.chosen)
    free(place.wanted)
