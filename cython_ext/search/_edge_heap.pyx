"""An indexed priority queue of edges, and the greedy choice of edges without common nodes.

Problem: edges, given by integer ids, have priorities that change. The edge of smallest priority is next, and any edge
must be found, moved and removed by its id.
Algorithm: a binary heap of entry indices over a compact array of entries, and a hash table (linear probing, deletion
by shifting back) from edges to entries. Ties of priorities are broken by the tie value of the edge, then by its id, so
that the order in which edges leave does not depend on the order in which they were pushed.
Cost: O(log m) per change with m edges, O(m) to push m at once into an empty queue; 44 to 60 bytes per edge.
Thread-safety: an object serves one thread; the interpreter lock is held.
Reference: Cormen, Leiserson, Rivest & Stein (2009), chapter 6; Knuth (1998), volume 3, section 6.4, algorithm R.
"""

from libc.math cimport isnan
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc, realloc

import numpy as np

cdef enum:
    LEAST_BITS = 4                       # buckets of the smallest hash table: 2**4
    MOST_ENTRIES = 2147483647


cdef struct Entry:
    int64_t edge
    double priority
    int64_t tie
    int32_t place                        # its position in the heap


cdef class EdgeHeap:
    """Edges with priorities; the smallest leaves first.

    Equal priorities leave by `tie`, equal ties by edge.
    """

    cdef Entry *entries
    cdef int32_t *heap
    cdef int32_t *table                  # bucket -> entry, -1: empty
    cdef Py_ssize_t size, capacity
    cdef int bits                        # the table has 2**bits buckets

    def __cinit__(self):
        if not self.make_table(LEAST_BITS):
            raise MemoryError("cannot allocate an edge heap")

    def __dealloc__(self):
        free(self.entries)
        free(self.heap)
        free(self.table)

    def __len__(self):
        return self.size

    def __contains__(self, int64_t edge):
        return self.bucket_of(edge) >= 0

    @property
    def nbytes(self):
        """Bytes allocated."""
        return self.capacity * (sizeof(Entry) + sizeof(int32_t)) + (<Py_ssize_t>1 << self.bits) * sizeof(int32_t)

    # ---- one edge ----

    def push(self, int64_t edge, double priority, int64_t tie=0):
        """Add a new edge; raise a ValueError if it is already in the heap or the priority is NaN."""
        if isnan(priority):
            raise ValueError(f"edge {edge} has the priority NaN: give it a number")
        if self.bucket_of(edge) >= 0:
            raise ValueError(f"edge {edge} is in the heap already: change its priority instead")
        self.reserve(1)
        self.append(edge, priority, tie)
        self.sift_up(self.size - 1)

    def peek(self):
        """Return (edge, priority) of the smallest; IndexError on an empty heap."""
        if self.size == 0:
            raise IndexError("the edge heap is empty")
        return self.entries[self.heap[0]].edge, self.entries[self.heap[0]].priority

    def pop(self):
        """Remove the smallest and return its (edge, priority); IndexError on an empty heap."""
        smallest = self.peek()
        self.remove(self.heap[0])
        return smallest

    def priority(self, int64_t edge):
        """Return the priority of an edge; raise a KeyError if it is not in the heap."""
        return self.entries[self.entry_of(edge)].priority

    def change(self, int64_t edge, double priority, tie=None):
        """Change the priority of an edge, and its tie unless None; raise a KeyError if it is not in the heap."""
        cdef int32_t entry = self.entry_of(edge)
        if isnan(priority):
            raise ValueError(f"edge {edge} has the priority NaN: give it a number")
        self.entries[entry].priority = priority
        if tie is not None:
            self.entries[entry].tie = tie
        self.settle(entry)

    def lower(self, int64_t edge, double by=1.0, tie=None):
        """Reduce the priority of an edge, so that it leaves sooner; raise a KeyError if it is not in the heap."""
        self.change(edge, self.entries[self.entry_of(edge)].priority - by, tie)

    def discard(self, int64_t edge):
        """Remove an edge and return whether it was in the heap."""
        cdef Py_ssize_t bucket = self.bucket_of(edge)
        if bucket < 0:
            return False
        self.remove(self.table[bucket])
        return True

    # ---- many edges ----

    def push_many(self, const int64_t[::1] edges, const double[::1] priorities, const int64_t[::1] ties):
        """Add new edges; if one cannot be added, raise a ValueError and add none."""
        cdef Py_ssize_t k, before = self.size, place
        cdef Py_ssize_t n_new = edges.shape[0]
        if priorities.shape[0] != n_new or ties.shape[0] != n_new:
            raise ValueError(f"{n_new} edges, {priorities.shape[0]} priorities, {ties.shape[0]} ties: they must match")
        self.reserve(n_new)
        for k in range(n_new):
            if isnan(priorities[k]) or self.bucket_of(edges[k]) >= 0:
                while self.size > before:
                    self.empty_bucket(self.bucket_of(self.entries[self.size - 1].edge))
                    self.size -= 1
                what = "has the priority NaN" if isnan(priorities[k]) else "is in the heap already"
                raise ValueError(f"edge {edges[k]} {what}: no edge was added")
            self.append(edges[k], priorities[k], ties[k])
        if n_new > before:
            for place in range(self.size // 2 - 1, -1, -1):
                self.sift_down(place)
        else:
            for place in range(before, self.size):
                self.sift_up(place)

    def pop_many(self, Py_ssize_t most):
        """Remove up to `most` edges, smallest first; return their (edges, priorities, ties) as arrays."""
        cdef Py_ssize_t count = max(0, min(most, self.size)), k
        edges, priorities, ties = np.empty(count, np.int64), np.empty(count), np.empty(count, np.int64)
        cdef int64_t[::1] edge_out = edges, tie_out = ties
        cdef double[::1] priority_out = priorities
        cdef Entry *first
        for k in range(count):
            first = &self.entries[self.heap[0]]
            edge_out[k], priority_out[k], tie_out[k] = first.edge, first.priority, first.tie
            self.remove(self.heap[0])
        return edges, priorities, ties

    def lower_many(self, const int64_t[::1] edges, double by, const int64_t[::1] ties):
        """Lower the priorities of the edges that are in the heap, set their ties, and return their number."""
        cdef Py_ssize_t k, bucket, count = 0
        cdef int32_t entry
        if ties.shape[0] != edges.shape[0]:
            raise ValueError(f"{edges.shape[0]} edges need as many ties, not {ties.shape[0]}")
        for k in range(edges.shape[0]):
            bucket = self.bucket_of(edges[k])
            if bucket >= 0:
                entry = self.table[bucket]
                self.entries[entry].priority -= by
                self.entries[entry].tie = ties[k]
                self.settle(entry)
                count += 1
        return count

    def items(self):
        """Return (edges, priorities, ties) of all as arrays, in no particular order."""
        cdef Py_ssize_t k
        edges, priorities, ties = np.empty(self.size, np.int64), np.empty(self.size), np.empty(self.size, np.int64)
        cdef int64_t[::1] edge_out = edges, tie_out = ties
        cdef double[::1] priority_out = priorities
        for k in range(self.size):
            edge_out[k], priority_out[k] = self.entries[k].edge, self.entries[k].priority
            tie_out[k] = self.entries[k].tie
        return edges, priorities, ties

    # ---- the heap ----

    cdef inline bint comes_before(self, int32_t a, int32_t b) noexcept nogil:
        cdef Entry *x = &self.entries[a]
        cdef Entry *y = &self.entries[b]
        if x.priority != y.priority:
            return x.priority < y.priority
        if x.tie != y.tie:
            return x.tie < y.tie
        return x.edge < y.edge

    cdef inline void put(self, Py_ssize_t place, int32_t entry) noexcept nogil:
        self.heap[place] = entry
        self.entries[entry].place = <int32_t>place

    cdef void sift_up(self, Py_ssize_t place) noexcept nogil:
        cdef int32_t entry = self.heap[place]
        cdef Py_ssize_t parent
        while place > 0:
            parent = (place - 1) >> 1
            if not self.comes_before(entry, self.heap[parent]):
                break
            self.put(place, self.heap[parent])
            place = parent
        self.put(place, entry)

    cdef void sift_down(self, Py_ssize_t place) noexcept nogil:
        cdef int32_t entry = self.heap[place]
        cdef Py_ssize_t child
        while True:
            child = 2 * place + 1
            if child >= self.size:
                break
            if child + 1 < self.size and self.comes_before(self.heap[child + 1], self.heap[child]):
                child += 1
            if not self.comes_before(self.heap[child], entry):
                break
            self.put(place, self.heap[child])
            place = child
        self.put(place, entry)

    cdef void settle(self, int32_t entry) noexcept nogil:
        self.sift_up(self.entries[entry].place)
        self.sift_down(self.entries[entry].place)

    cdef void append(self, int64_t edge, double priority, int64_t tie) noexcept nogil:
        # Appends to the entries and to the heap, whose order must be restored afterwards.
        cdef Py_ssize_t bucket = self.first_bucket_of(edge)
        cdef Entry *entry = &self.entries[self.size]
        entry.edge, entry.priority, entry.tie = edge, priority, tie
        self.put(self.size, <int32_t>self.size)
        while self.table[bucket] >= 0:
            bucket = (bucket + 1) & ((<Py_ssize_t>1 << self.bits) - 1)
        self.table[bucket] = <int32_t>self.size
        self.size += 1

    cdef void remove(self, int32_t entry) noexcept nogil:
        cdef Py_ssize_t place = self.entries[entry].place
        cdef int32_t last
        self.empty_bucket(self.bucket_of(self.entries[entry].edge))
        self.size -= 1
        if place < self.size:
            self.put(place, self.heap[self.size])
            self.settle(self.heap[place])
        last = <int32_t>self.size        # the entries stay compact: the last one moves into the gap
        if entry != last:
            self.table[self.bucket_of(self.entries[last].edge)] = entry
            self.entries[entry] = self.entries[last]
            self.heap[self.entries[entry].place] = entry

    # ---- the hash table ----

    cdef inline Py_ssize_t first_bucket_of(self, int64_t edge) noexcept nogil:
        return <Py_ssize_t>((<uint64_t>edge * <uint64_t>0x9e3779b97f4a7c15) >> (64 - self.bits))

    cdef Py_ssize_t bucket_of(self, int64_t edge) noexcept nogil:
        # -1 if the edge is not in the heap.
        cdef Py_ssize_t mask = (<Py_ssize_t>1 << self.bits) - 1, bucket = self.first_bucket_of(edge)
        while self.table[bucket] >= 0:
            if self.entries[self.table[bucket]].edge == edge:
                return bucket
            bucket = (bucket + 1) & mask
        return -1

    cdef int32_t entry_of(self, int64_t edge) except -1:
        cdef Py_ssize_t bucket = self.bucket_of(edge)
        if bucket < 0:
            raise KeyError(f"edge {edge} is not in the heap")
        return self.table[bucket]

    cdef void empty_bucket(self, Py_ssize_t hole) noexcept nogil:
        # Later buckets of the same run move back, so that no search stops at a gap.
        cdef Py_ssize_t mask = (<Py_ssize_t>1 << self.bits) - 1, bucket = hole, first
        while True:
            bucket = (bucket + 1) & mask
            if self.table[bucket] < 0:
                break
            first = self.first_bucket_of(self.entries[self.table[bucket]].edge)
            if ((bucket - first) & mask) >= ((bucket - hole) & mask):
                self.table[hole] = self.table[bucket]
                hole = bucket
        self.table[hole] = -1

    cdef bint make_table(self, int bits) noexcept:
        cdef Py_ssize_t n_buckets = <Py_ssize_t>1 << bits, bucket, k
        cdef int32_t *table = <int32_t *>malloc(n_buckets * sizeof(int32_t))
        if not table:
            return False
        for bucket in range(n_buckets):
            table[bucket] = -1
        free(self.table)
        self.table = table
        self.bits = bits
        for k in range(self.size):
            bucket = self.first_bucket_of(self.entries[k].edge)
            while table[bucket] >= 0:
                bucket = (bucket + 1) & (n_buckets - 1)
            table[bucket] = <int32_t>k
        return True

    cdef int reserve(self, Py_ssize_t more) except -1:
        # Space for `more` edges, and a table that is at most half full.
        cdef Py_ssize_t wanted = self.size + more, capacity
        cdef int bits = self.bits
        cdef void *grown
        if wanted > MOST_ENTRIES:
            raise ValueError(f"an edge heap holds at most {MOST_ENTRIES} edges, not {wanted}")
        if wanted > self.capacity:
            capacity = max(wanted, self.capacity + (self.capacity >> 2) + 16)
            grown = realloc(self.entries, capacity * sizeof(Entry))
            if grown:
                self.entries = <Entry *>grown
                grown = realloc(self.heap, capacity * sizeof(int32_t))
            if not grown:
                raise MemoryError(f"cannot allocate a heap of {capacity} edges")
            self.heap = <int32_t *>grown
            self.capacity = capacity
        while (<Py_ssize_t>1 << bits) < 2 * wanted:
            bits += 1
        if bits != self.bits and not self.make_table(bits):
            raise MemoryError(f"cannot allocate the index of {wanted} edges")
        return 0


def non_adjacent(const int64_t[:, ::1] pairs, Py_ssize_t n_nodes, Py_ssize_t limit):
    """Choose pairs in order, so that no two chosen pairs share a node.

    Parameters
    ----------
    pairs : int64 (k, 2)
        Ends, integers from 0 to n_nodes - 1.
    n_nodes : int
        Number of nodes.
    limit : int
        Largest number of pairs to choose.

    Returns
    -------
    int64 (m,)
        Rows of `pairs` that are chosen, ascending.
    """
    used = np.zeros(n_nodes, dtype=np.uint8)
    rows = np.empty(max(0, min(limit, pairs.shape[0])), dtype=np.int64)
    cdef uint8_t[::1] used_out = used
    cdef int64_t[::1] row_out = rows
    cdef Py_ssize_t k, count = 0, most = rows.shape[0]
    for k in range(pairs.shape[0]):
        if count == most:
            break
        if not (used_out[pairs[k, 0]] or used_out[pairs[k, 1]]):
            used_out[pairs[k, 0]] = used_out[pairs[k, 1]] = 1
            row_out[count] = k
            count += 1
    return rows[:count]
