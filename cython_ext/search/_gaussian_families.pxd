# The families of linear Gaussian scores that a search over orders visits, each with all changes of one parent.
#
# A family is a child with parents. It stores the parents that may be added with their shares, the part of the child's
# residual variance that each explains, and for each parent the relative increase of this variance without it. A share
# s raises the log-likelihood by -N/2 ln(1 - s), a loss t lowers it by N/2 ln(1 + t): they are compared without
# logarithms. Shares are rounded to 24 bits, so that they do not depend on the order in which parents were added.
# A family and its arrays are one block of an arena. If the arena is full, all families but those in use are dropped:
# they are computed again when they are needed, with the same result.

from libc.stdint cimport uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset


cdef struct Walk:               # the last search for parents that began at a family
    int n_chosen, n_wanted, capacity
    int ids[1]                  # variables that were chosen, then those that would have been chosen


cdef struct Family:
    double score                # without the constants of its child
    uint64_t hash
    Family *end                 # the result of the last walk, NULL if there is none
    Walk *walk
    int child, k, m             # number of parents, and of parents to add
    float *shares               # of the parents to add
    float *losses               # of the parents
    int *additions
    int *parents                # ascending


cdef struct Block:
    Block *next
    size_t used, size


cdef struct Slot:
    uint64_t hash
    Family *family


cdef struct Store:
    Slot *slots
    Py_ssize_t n_slots, n_families
    Block *blocks               # the first one is filled
    size_t n_bytes, memory      # bytes of blocks, and their limit


cdef enum:
    BLOCK_BYTES = 1 << 16, FIRST_SLOTS = 1 << 10


cdef inline bint init_store(Store *store, size_t memory) noexcept nogil:
    # False if memory is short.
    store.n_slots, store.n_families, store.blocks, store.n_bytes, store.memory = FIRST_SLOTS, 0, NULL, 0, memory
    store.slots = <Slot *>calloc(FIRST_SLOTS, sizeof(Slot))
    return store.slots != NULL


cdef inline void free_blocks(Block *block) noexcept nogil:
    cdef Block *following
    while block != NULL:
        following = block.next
        free(block)
        block = following


cdef inline void free_store(Store *store) noexcept nogil:
    free_blocks(store.blocks)
    free(store.slots)
    store.blocks, store.slots = NULL, NULL


cdef inline void *take_bytes(Store *store, size_t n_bytes) noexcept nogil:
    # Uninitialised memory that lives until families are dropped; NULL if memory is short.
    cdef Block *block = store.blocks
    cdef size_t size
    n_bytes = (n_bytes + 7) // 8 * 8
    if block == NULL or block.used + n_bytes > block.size:
        size = max(<size_t>BLOCK_BYTES, n_bytes)
        block = <Block *>malloc(sizeof(Block) + size)
        if block == NULL:
            return NULL
        block.next, block.used, block.size = store.blocks, 0, size
        store.blocks = block
        store.n_bytes += size
    block.used += n_bytes
    return <char *>(block + 1) + (block.used - n_bytes)


cdef inline size_t bytes_of(int k, int m) noexcept nogil:
    return sizeof(Family) + (k + m) * (sizeof(float) + sizeof(int))


cdef inline void set_arrays(Family *family) noexcept nogil:
    family.shares = <float *>(family + 1)
    family.losses = family.shares + family.m
    family.additions = <int *>(family.losses + family.k)
    family.parents = family.additions + family.m


cdef inline Py_ssize_t find_slot(
    const Store *store, uint64_t hash, int child, const int *parents, int k
) noexcept nogil:
    # The slot of a family, whether it is there or not.
    cdef Py_ssize_t slot = <Py_ssize_t>(hash & <uint64_t>(store.n_slots - 1))
    cdef const Family *one
    while store.slots[slot].family != NULL:
        if store.slots[slot].hash == hash:
            one = store.slots[slot].family
            if one.child == child and one.k == k and memcmp(one.parents, parents, k * sizeof(int)) == 0:
                break
        slot = (slot + 1) & (store.n_slots - 1)
    return slot


cdef inline bint enter(Store *store, Family *family, Py_ssize_t slot) noexcept nogil:
    # Puts a family into its slot; False if memory is short.
    cdef Slot *wider
    cdef Py_ssize_t i, j, m = store.n_slots
    if 2 * store.n_families >= m:
        wider = <Slot *>calloc(2 * m, sizeof(Slot))
        if wider == NULL:
            return False
        for i in range(m):
            if store.slots[i].family != NULL:
                j = <Py_ssize_t>(store.slots[i].hash & <uint64_t>(2 * m - 1))
                while wider[j].family != NULL:
                    j = (j + 1) & (2 * m - 1)
                wider[j] = store.slots[i]
        free(store.slots)
        store.slots, store.n_slots = wider, 2 * m
        slot = find_slot(store, family.hash, family.child, family.parents, family.k)
    store.slots[slot].hash, store.slots[slot].family = family.hash, family
    store.n_families += 1
    return True


cdef inline bint is_full(const Store *store) noexcept nogil:
    return store.n_bytes + store.n_slots * sizeof(Slot) > store.memory


cdef inline Family *copy_family(Store *store, const Family *family) noexcept nogil:
    # A copy in a store that does not hold the family, without its walk; NULL if memory is short.
    cdef size_t size = bytes_of(family.k, family.m)
    cdef Py_ssize_t slot
    cdef Family *fresh
    slot = find_slot(store, family.hash, family.child, family.parents, family.k)
    if store.slots[slot].family != NULL:
        return store.slots[slot].family
    fresh = <Family *>take_bytes(store, size)
    if fresh == NULL:
        return NULL
    memcpy(fresh, family, size)
    fresh.end, fresh.walk = NULL, NULL
    set_arrays(fresh)
    return fresh if enter(store, fresh, slot) else NULL


cdef inline bint drop_families(Store *store, Family **kept, Py_ssize_t n_kept) noexcept nogil:
    # Drops all families except some, whose pointers are replaced. If memory is short, returns False and drops nothing.
    cdef Store fresh
    cdef Py_ssize_t i
    if not init_store(&fresh, store.memory):
        return False
    for i in range(n_kept):
        if kept[i] != NULL and copy_family(&fresh, kept[i]) == NULL:
            free_store(&fresh)
            return False
    for i in range(n_kept):
        if kept[i] != NULL:
            kept[i] = fresh.slots[
                find_slot(&fresh, kept[i].hash, kept[i].child, kept[i].parents, kept[i].k)
            ].family
    free_store(store)
    # families in use that nearly fill the memory must not be copied at every step
    fresh.memory = max(fresh.memory, 4 * fresh.n_bytes)
    store[0] = fresh
    return True


cdef inline void forget_families(Store *store) noexcept nogil:
    # Drops all families.
    free_blocks(store.blocks)
    store.blocks, store.n_bytes, store.n_families = NULL, 0, 0
    memset(store.slots, 0, store.n_slots * sizeof(Slot))
