# Families by grow, shrink and swap; it is in this folder for the reason that ``_scorer.pxd`` gives.

from libc.stdint cimport int64_t, uint64_t

from _parent_trees cimport Branch, Node, Trees

from pgmx._ext._scorer cimport Family, Scorer


cdef enum:
    WAYS = 8                    # families that are kept for each child


cdef class GrowShrink:
    cdef readonly Py_ssize_t n, n_rows
    cdef Py_ssize_t words
    cdef Trees trees
    cdef object source
    cdef Scorer scorer          # the source if it is a compiled one, else None
    cdef bint is_compiled
    cdef double[:, ::1] gains
    cdef const int64_t[::1] priority
    cdef double bonus, least_gain
    cdef bint swaps
    cdef bint has_tables        # whether the scorer derives rows from tables of other rows
    cdef uint64_t *required     # (n, words) by child
    cdef uint64_t *hashes       # of a variable as a parent, then of a variable as a child
    cdef Node **roots           # by child, NULL until it is visited
    cdef Node **known           # (n, WAYS) families found last, NULL for none
    cdef uint64_t *known_sets   # (n, WAYS, 2, words): variables chosen and wanted on the way to them
    cdef int *oldest            # by child: which of them is replaced next
    cdef double *row            # scratch: gains of a child
    cdef Branch *sorted         # scratch: its branches
    cdef int *family            # scratch: parents of a child
    cdef bint is_trial          # whether walks end at missing nodes and list them
    cdef Family *missing        # families of the missing nodes
    cdef int *missing_parents   # (room, n)
    cdef Py_ssize_t n_missing, room

    cdef int make_space(self) except -1
    cdef int add_missing(self) except -1 nogil
    cdef int list_missing(self, int child, int k) except -1 nogil
    cdef Node *visit(self, Node *node) noexcept nogil
    cdef int hold_tables(self, Node *node) except -1 nogil
    cdef Node *find_family(self, int child, const uint64_t *before, uint64_t *chosen, uint64_t *wanted) except? NULL nogil
    cdef Node *walk(self, int child, const uint64_t *before, uint64_t *chosen, uint64_t *wanted) except? NULL nogil
    cdef Node *find_root(self, int child) except? NULL nogil
    cdef Node *find_node(self, uint64_t hash, int child, int k) except? NULL nogil
    cdef Node *store_new_node(self, uint64_t hash, int child, int k, Py_ssize_t slot) except NULL nogil
    cdef Node *fill_node(self, int child, int k) except NULL nogil
    cdef double compute_row(self, int child, int k) except? -1 nogil
    cdef double ask_source(self, int child, int k) except? -1
    cdef int refuse(self) except -1 nogil
    cdef int keep_tables(self, bint keeps) except -1 nogil
    cdef Node *enter(self, Node *node, int i) except? NULL nogil
    cdef Node *reduce(self, Node *node, int i) except? NULL nogil
    cdef Node *grow(self, Node *node, const uint64_t *before, uint64_t *chosen, uint64_t *wanted) except? NULL nogil
    cdef Node *shrink(self, Node *node) except? NULL nogil
    cdef double find_exchange(self, Node *node) except? -1 nogil
    cdef Node *swap(self, Node *node, const uint64_t *before, uint64_t *chosen, uint64_t *wanted) except? NULL nogil
