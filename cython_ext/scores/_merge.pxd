# Summing one variable out of a sorted list of cells.

from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport qsort

from _buffers cimport Buffer, release, reserve


cdef struct Merge:
    Buffer order        # KeyedCell, while sorting
    Buffer keys         # uint64: keys of the merged cells, ascending
    Buffer target       # int64: the merged cell of each cell
    Py_ssize_t size


cdef struct KeyedCell:
    uint64_t key
    int64_t cell


cdef inline int compare_keyed(const void *a, const void *b) noexcept nogil:
    cdef const KeyedCell *x = <const KeyedCell *>a
    cdef const KeyedCell *y = <const KeyedCell *>b
    if x.key != y.key:
        return (x.key > y.key) - (x.key < y.key)
    return (x.cell > y.cell) - (x.cell < y.cell)


cdef inline int merge_cells(
    Merge *merge, const uint64_t *keys, Py_ssize_t n_cells, uint64_t stride, uint64_t r
) except -1 nogil:
    # Sums out the digit of weight `stride` and radix r. Short lists are sorted by insertion: they are r sorted runs.
    cdef KeyedCell *order = <KeyedCell *>reserve(&merge.order, (n_cells + 1) * sizeof(KeyedCell))
    cdef uint64_t *merged = <uint64_t *>reserve(&merge.keys, (n_cells + 1) * sizeof(uint64_t))
    cdef int64_t *target = <int64_t *>reserve(&merge.target, (n_cells + 1) * sizeof(int64_t))
    cdef bint short_list = n_cells <= 64
    cdef KeyedCell moved
    cdef Py_ssize_t i, j
    for i in range(n_cells):
        moved.key = keys[i] // (stride * r) * stride + keys[i] % stride
        moved.cell = i
        j = i
        while short_list and j > 0 and order[j - 1].key > moved.key:
            order[j] = order[j - 1]
            j -= 1
        order[j] = moved
    if not short_list:
        qsort(order, n_cells, sizeof(KeyedCell), compare_keyed)
    merge.size = 0
    for i in range(n_cells):
        if i == 0 or order[i].key != order[i - 1].key:
            merged[merge.size] = order[i].key
            merge.size += 1
        target[order[i].cell] = merge.size - 1
    return 0


cdef inline void free_merge(Merge *merge) noexcept nogil:
    release(&merge.order)
    release(&merge.keys)
    release(&merge.target)
