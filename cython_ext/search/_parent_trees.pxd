# Grow-shrink trees: the parent sets of each child, each set once for all paths to it.
#
# A node is a parent set with the additions that gain, best first, and the result of each deletion. Nodes are in a hash
# table with open addressing, by a Zobrist hash of child and parents. A node is one block of memory, since the speed of
# a search is limited by memory access. If memory is short, the least recently visited nodes are dropped.
# Reference: Andrews et al. (2023), section 4 (grow-shrink trees); Zobrist (1970), technical report 88, Wisconsin.

from libc.math cimport NAN
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memset


cdef struct Branch:             # a parent to add, while the branches of a node are sorted
    double score                # of the wider family
    int64_t priority
    int parent


cdef struct Node:
    double score                # structure prior included
    double best_branch          # the first of `scores`, -inf if no addition gains
    double best_exchange        # the highest best_branch of `reduced`; NaN until all of them are known
    uint64_t hash
    Node *shrunk                # the node at the end of the deletions, NULL until it is known
    int child, n_parents, n_branches
    unsigned int used           # the epoch of its last visit
    bint is_ahead               # whether it was made for a trial and is not visited yet
    uint64_t *reach             # bits of the parents to add
    double *scores              # of the families with one more parent, best first
    double *reduced_scores      # of the family without each parent, -inf for a required parent
    Node **branches             # NULL until it is visited
    Node **reduced              # the node without each parent, NULL until it is visited
    int *additions              # the parents to add, best first
    int *parents                # ascending


cdef enum:
    EPOCHS = 64                 # in which the trees grow to their limit of memory


cdef struct Trees:
    Node **slots
    Py_ssize_t n_slots, n_nodes, bytes
    Py_ssize_t memory           # limit of bytes
    unsigned int epoch
    Py_ssize_t epoch_end        # size of the trees in bytes at which the epoch ends


cdef inline int compare_branches(const void *a, const void *b) noexcept nogil:
    cdef const Branch *x = <const Branch *>a
    cdef const Branch *y = <const Branch *>b
    if x.score != y.score:
        return (x.score < y.score) - (x.score > y.score)
    return (x.priority > y.priority) - (x.priority < y.priority)


cdef inline bint init_trees(Trees *trees, Py_ssize_t memory) noexcept nogil:
    # False if memory is short.
    trees.n_slots, trees.n_nodes, trees.bytes, trees.memory = 1024, 0, 0, memory
    trees.epoch, trees.epoch_end = 1, memory // EPOCHS
    trees.slots = <Node **>calloc(trees.n_slots, sizeof(Node *))
    return trees.slots != NULL


cdef inline Py_ssize_t size_of_node(Py_ssize_t words, Py_ssize_t k, Py_ssize_t m) noexcept nogil:
    # Bytes of a node with k parents and m branches.
    return sizeof(Node) + words * sizeof(uint64_t) + (k + m) * (sizeof(double) + sizeof(Node *) + sizeof(int))


cdef inline Py_ssize_t bytes_of(const Node *node, Py_ssize_t words) noexcept nogil:
    # Including the overhead of the allocator and the slots.
    return size_of_node(words, node.n_parents, node.n_branches) + 64


cdef inline Node *make_node(Py_ssize_t words, Py_ssize_t k, Py_ssize_t m) noexcept nogil:
    # A node with room for k parents and m branches, all zero; NULL if memory is short.
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
    # The slot of a node, whether it is there or not.
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
    # Puts a node into its slot; if memory is short, returns False and does not store the node.
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
    trees.bytes += bytes_of(node, words)
    node.used = trees.epoch
    if trees.bytes > trees.epoch_end:
        trees.epoch += 1
        trees.epoch_end = trees.bytes + trees.memory // EPOCHS
    return True


cdef inline bint is_old(const Node *node, unsigned int first) noexcept nogil:
    return node != NULL and node.used < first


cdef inline void unlink(Node *node, unsigned int first, double least_gain) noexcept nogil:
    # Removes a node's links to nodes that were not visited since epoch `first`.
    cdef bint is_settled = max(node.best_branch, node.best_exchange) <= node.score + least_gain
    cdef int i
    if is_old(node.shrunk, first):
        node.shrunk = NULL
    for i in range(node.n_branches):
        if is_old(node.branches[i], first):
            node.branches[i] = NULL
    for i in range(node.n_parents):
        if is_old(node.reduced[i], first):
            node.reduced[i] = NULL
            if not is_settled:  # an exchange reads them
                node.best_exchange = NAN


cdef inline unsigned int choose_epoch(const Trees *trees, Py_ssize_t words) noexcept nogil:
    # The first epoch such that the nodes since then take at most half of the memory.
    cdef Py_ssize_t[2 * EPOCHS] bytes
    cdef Py_ssize_t age, i, total = 0
    cdef const Node *node
    memset(bytes, 0, sizeof(bytes))
    for i in range(trees.n_slots):
        node = trees.slots[i]
        if node != NULL:
            age = <Py_ssize_t>(trees.epoch - node.used)
            bytes[min(age, 2 * EPOCHS - 1)] += bytes_of(node, words)
    for age in range(2 * EPOCHS):
        total += bytes[age]
        if total > trees.memory // 2:
            return trees.epoch - <unsigned int>max(age, 1) + 1
    return 0


cdef inline bint drop_old_nodes(
    Trees *trees, unsigned int first, double least_gain, Py_ssize_t words
) noexcept nogil:
    # Drops the nodes that were not visited since epoch `first`; only other nodes may have links to them.
    # If memory is short, returns False and drops nothing.
    cdef Node **previous = trees.slots
    cdef Node **slots = <Node **>calloc(trees.n_slots, sizeof(Node *))
    cdef Py_ssize_t i
    cdef Node *node
    if slots == NULL:
        return False
    for i in range(trees.n_slots):
        if previous[i] != NULL and not is_old(previous[i], first):
            unlink(previous[i], first, least_gain)
    trees.slots = slots
    trees.n_nodes = trees.bytes = 0
    for i in range(trees.n_slots):
        node = previous[i]
        if is_old(node, first):
            free(node)
        elif node != NULL:
            slots[find_slot(trees, node.hash, node.child, node.parents, node.n_parents)] = node
            trees.n_nodes += 1
            trees.bytes += bytes_of(node, words)
    trees.epoch_end = trees.bytes + trees.memory // EPOCHS
    free(previous)
    return True


cdef inline void drop_nodes(Trees *trees) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(trees.n_slots if trees.slots != NULL else 0):
        free(trees.slots[i])
        trees.slots[i] = NULL
    trees.n_nodes = trees.bytes = 0
