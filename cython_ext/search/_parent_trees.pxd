# Grow-shrink trees: sets of parents of each child, every set once, whatever path leads to it.
#
# A node is a set of parents with the additions that gain, best first, and what each deletion leads to. Nodes stand in a
# hash table of open addressing, by a Zobrist hash of child and parents; they stay where they are until all are dropped.
# Reference: Andrews et al. (2023), section 4 (grow-shrink trees); Zobrist (1970), technical report 88, Wisconsin.

from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy


cdef struct Branch:             # a family with one parent more, and its score
    double score
    int64_t priority
    int parent
    Node *node                  # NULL until it is visited


cdef struct Node:
    double score                # structure prior included
    uint64_t hash
    Branch *branches            # additions that gain, best first
    double *reduced_scores      # of the family without each parent, -inf where it is required
    Node **reduced              # the node without each parent, NULL until it is visited
    Node *shrunk                # where deleting parents ends, NULL until it is known
    int child, n_parents, n_branches
    int *parents                # ascending


cdef struct Trees:
    Node **slots
    Py_ssize_t n_slots, n_nodes, bytes


cdef struct Place:              # an order and the families of its graph, all by variable but the order itself
    int *order
    int *rank
    Node **families
    uint64_t *chosen            # (n, words): predecessors that the way to the family took
    uint64_t *wanted            # (n, words): other variables that it would have taken
    double score


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


cdef inline bint store_node(Trees *trees, Node *node, Py_ssize_t slot) noexcept nogil:
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
    trees.bytes += sizeof(Node) + node.n_branches * sizeof(Branch)
    trees.bytes += (node.n_parents + 1) * (sizeof(int) + sizeof(double) + sizeof(Node *)) + 64  # of the allocator
    return True


cdef inline void free_node(Node *node) noexcept nogil:
    free(node.branches)
    free(node.reduced_scores)
    free(node.reduced)
    free(node.parents)
    free(node)


cdef inline void drop_nodes(Trees *trees) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(trees.n_slots if trees.slots != NULL else 0):
        if trees.slots[i] != NULL:
            free_node(trees.slots[i])
            trees.slots[i] = NULL
    trees.n_nodes = trees.bytes = 0


cdef inline bint init_place(Place *place, Py_ssize_t n, Py_ssize_t words) noexcept nogil:
    # False where memory is short; call free_place() in both cases.
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
