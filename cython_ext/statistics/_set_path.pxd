# The cells of (S, x) for sets S that come in lexicographic order: the cells of the variables that S shares with the set
# before it are kept.

from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memset

from _cells cimport CellTree, Columns, NodeSet, build_tree, choose_limits, free_tree, has_planes, split_level


cdef enum:
    MOST_LEVELS = 64            # of variables with two states, in cells that are numbered in 64 bits
    MOST_ROWS_KEPT = 1 << 17    # a table with more rows needs much memory for the cells of all levels


cdef struct SetPath:
    NodeSet[MOST_LEVELS] levels
    int[MOST_LEVELS] variables  # of the levels that are known
    Py_ssize_t[MOST_LEVELS] n_planes
    Py_ssize_t n_known
    NodeSet *cells              # those of (S, x)
    CellTree tree               # makes a level; it owns no nodes
    uint32_t list_below
    double plane_cost           # of counting a cell by planes, in about the time of a word


cdef inline void open_path(SetPath *path, const Columns *table, int simd) noexcept nogil:
    cdef double[4] shares = [13.0, 4.4, 2.7, 1.0]
    choose_limits(&path.tree, table, simd)
    path.list_below = path.tree.list_below
    path.plane_cost = (table.n_words / 8 + 5.0) * shares[simd]
    path.n_known = 0


cdef inline int make_level(
    SetPath *path, const Columns *table, Py_ssize_t v, Py_ssize_t level, Py_ssize_t new, Py_ssize_t old,
    const uint32_t *counts
) except -1 nogil:
    # Makes the nodes of a level from those of the level above, in the tree that borrows both.
    cdef CellTree *tree = &path.tree
    tree.current = 0
    if level == 0:
        tree.nodes[0] = path.levels[new]
        try:
            build_tree(tree, table, NULL, 0, v, counts)
        finally:
            path.levels[new] = tree.nodes[0]
        path.n_planes[0] = tree.nodes[0].size if has_planes(table, v) else 0
        return 0
    tree.nodes[0], tree.nodes[1] = path.levels[old], path.levels[new]
    try:
        path.n_planes[level] = split_level(tree, table, v, path.n_planes[level - 1])
    finally:
        path.levels[new] = tree.nodes[1]
    return 0


cdef inline int find_cells(
    SetPath *path, const Columns *table, const int *parents, Py_ssize_t k, Py_ssize_t x, const uint32_t *marginals,
    const int64_t *offsets, Py_ssize_t n_tests, Py_ssize_t n_passes
) except -1 nogil:
    # Finds the cells of k variables and x, for `n_tests` tests which make `n_passes` passes.
    cdef Py_ssize_t i, v, level = 0, n_kept = 0, n_known = path.n_known, last = 0
    cdef bint keeps = table.n_rows <= MOST_ROWS_KEPT, is_last
    path.n_known = 0            # until nothing can fail
    for i in range(k + 1):
        is_last = i == k
        v = x if is_last else parents[i]
        if table.cards[v] == 1 and not is_last:
            continue
        if not is_last and level == n_kept and level < n_known and path.variables[level] == v:
            n_kept += 1
            level += 1
            continue
        last = level if keeps else level & 1
        path.tree.list_below = path.list_below
        if is_last and level > 0:   # unpacking a cell pays only for many tests
            path.tree.list_below = <uint32_t>max(
                (path.plane_cost * n_passes - 0.5 * table.n_words) / (3.0 * n_tests + 5.0), 1.0
            )
        make_level(path, table, v, level, last, (level - 1) if keeps else 1 - last, marginals + offsets[v])
        path.variables[level] = <int>v
        level += 1
    path.cells = &path.levels[last]
    path.n_known = level - 1 if keeps else 0
    return 0


cdef inline void free_path(SetPath *path) noexcept nogil:
    cdef int i
    for i in range(MOST_LEVELS):
        path.tree.nodes[0] = path.levels[i]
        memset(&path.tree.nodes[1], 0, sizeof(NodeSet))
        free_tree(&path.tree)
