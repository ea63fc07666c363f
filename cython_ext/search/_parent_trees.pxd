# Grow-shrink trees: sets of parents of each child, every set once, whatever path leads to it.
#
# A node is a set of parents with the additions that gain, best first, and what each deletion leads to. Nodes stand in a
# hash table of open addressing, by a Zobrist hash of child and parents; they stay where they are until all are dropped.
# A node is one block of memory: the walks of a search are bound by what they read.
# Reference: Andrews et al. (2023), section 4 (grow-shrink trees); Zobrist (1970), technical report 88, Wisconsin.

from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memset


cdef struct Branch:             # a parent to add, while the branches of a node are sorted
    double score                # of the wider family
    int64_t priority
    int parent


cdef struct Node:
    double score                # structure prior included
    double best_branch          # the first of `scores`, -inf where no addition gains
    double best_exchange        # the highest best_branch of `reduced`; NaN until all of them are known
    uint64_t hash
    Node *shrunk                # where deleting parents ends, NULL until it is known
    int child, n_parents, n_branches
    uint64_t *reach             # bits of the parents to add
    double *scores              # of the families with one parent more, best first
    double *reduced_scores      # of the family without each parent, -inf where it is required
    Node **branches             # NULL until it is visited
    Node **reduced              # the node without each parent, NULL until it is visited
    int *additions              # the parents to add, best first
    int *parents                # ascending


cdef struct Trees:
    Node **slots
    Py_ssize_t n_slots, n_nodes, bytes


cdef inline int compare_branches(const void *a, const void *b) noexcept nogil:
    cdef const Branch *x = <const Branch *>a
    cdef const Branch *y = <const Branch *>b
    if x.score != y.score:
        return (x.score < y.score) - (x.score > y.score)
    return (x.priority > y.priority) - (x.priority < y.priority)


cdef inline bint init_trees(Trees *trees) noexcept nogil:
    # False where memory is short.
    trees.n_slots, trees.n_nodes, trees.bytes = 1024, 0, 0
    trees.slots = <Node **>calloc(trees.n_slots, sizeof(Node *))
    return trees.slots != NULL


cdef inline Py_ssize_t size_of_node(Py_ssize_t words, Py_ssize_t k, Py_ssize_t m) noexcept nogil:
    # Bytes of a node with k parents and m branches.
    return sizeof(Node) + words * sizeof(uint64_t) + (k + m) * (sizeof(double) + sizeof(Node *) + sizeof(int))


cdef inline Node *make_node(Py_ssize_t words, Py_ssize_t k, Py_ssize_t m) noexcept nogil:
    # A node with room for k parents and m branches, all zero; NULL where memory is short.
    cdef Node *node = <Node *>malloc(size_of_node(words, k, m))
    if node == NULL:
        return NULL
    memset(node, 0, size_of_node(words, k, m))
    node.n_parents, node.n_branches = <int>k, <int>m
    node.reach = <uint64_t *>(node + 1)
    node.scores = <double *>(node.reach + words)
    node.reduced_scores = node.scores + m
    node.branches = <Node **>(node.reduced_scores + k)
    node.reduced = node.branches + m
    node.additions = <int *>(node.reduced + k)
    node.parents = node.additions + m
    return node


cdef inline Py_ssize_t find_slot(
    const Trees *trees, uint64_t hash, int child, const int *parents, int k
) noexcept nogil:
    # Where a node is, or where it belongs.
    cdef Py_ssize_t slot = <Py_ssize_t>((hash >> 8) & <uint64_t>(trees.n_slots - 1))
    cdef const Node *node = trees.slots[slot]
    while node != NULL and not (
        node.hash == hash
        and node.child == child
        and node.n_parents == k
        and memcmp(node.parents, parents, k * sizeof(int)) == 0
    ):
        slot = (slot + 1) & (trees.n_slots - 1)
        node = trees.slots[slot]
    return slot


cdef inline bint store_node(Trees *trees, Node *node, Py_ssize_t slot, Py_ssize_t words) noexcept nogil:
    # Puts a node into its slot; False, and the node is not stored, where memory is short.
    cdef Node **previous = trees.slots
    cdef Node **wider
    cdef Node *other
    cdef Py_ssize_t i, m = trees.n_slots
    if 2 * trees.n_nodes >= m:
        wider = <Node **>calloc(2 * m, sizeof(Node *))
        if wider == NULL:
            return False
        trees.slots, trees.n_slots = wider, 2 * m
        for i in range(m):
            other = previous[i]
            if other != NULL:
                wider[find_slot(trees, other.hash, other.child, other.parents, other.n_parents)] = other
        free(previous)
        slot = find_slot(trees, node.hash, node.child, node.parents, node.n_parents)
    trees.slots[slot] = node
    trees.n_nodes += 1
    trees.bytes += size_of_node(words, node.n_parents, node.n_branches) + 64  # of the allocator and the slots
    return True


cdef inline void drop_nodes(Trees *trees) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(trees.n_slots if trees.slots != NULL else 0):
        free(trees.slots[i])
        trees.slots[i] = NULL
    trees.n_nodes = trees.bytes = 0
