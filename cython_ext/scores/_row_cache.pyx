"""Rows of gains that are kept until the same child has the same parents again, shared by threads.

Problem: searches return to earlier graphs. Most of the rows that they need were computed before, some by other threads,
and each row costs a pass over the data.
Algorithm: a hash table with chains of row numbers over a ring of rows; the newest row replaces the oldest.
A climb needs rows one by one, but most of the next rows are known: a child keeps its best addition until its family
changes. ``RowsAhead`` lets other threads prefetch these rows. Each thread has its own children, since a row follows
from the previous row in the memory of the scorer that computed it. The climb does not wait while it has rows of its own
to compute.
Cost: a look-up and a copy of n values; memory: 8 n bytes plus about 60 per row, up to a limit.
Thread-safety: a ``RowStore`` serves any number of threads at once. Each thread uses its own ``CachedScorer`` over its
own scorer.
"""

from cpython.pythread cimport (
    PyThread_acquire_lock, PyThread_allocate_lock, PyThread_free_lock, PyThread_release_lock, WAIT_LOCK
)
from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy

from pgmx._ext._scorer cimport ALL, Family, Scorer


cdef class RowStore:
    """Rows of gains by child and parents.

    Parameters
    ----------
    n : int
        Variables.
    memory : int
        Bytes of rows that are kept.
    """

    def __cinit__(self, Py_ssize_t n, size_t memory):
        self.n = n
        self.limit = max(1, <Py_ssize_t>(memory // (8 * <size_t>(n + 1))))
        self.lock = PyThread_allocate_lock()
        if self.lock == NULL:
            raise MemoryError("cannot allocate a lock")

    def __dealloc__(self):
        self.drop_all()
        free(self.entries)
        free(self.chains)
        if self.lock != NULL:
            PyThread_free_lock(self.lock)

    def clear(self):
        """Forget all rows."""
        with nogil:
            PyThread_acquire_lock(self.lock, WAIT_LOCK)
            self.drop_all()
            PyThread_release_lock(self.lock)

    cdef void drop_all(self) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(self.n_rows):
            free(self.entries[i].parents)
            free(self.entries[i].row)
        for i in range(self.n_chains):
            self.chains[i] = -1
        self.n_rows = self.oldest = 0

    cdef bint find(self, Py_ssize_t child, const int *parents, Py_ssize_t k, double *row, double *score) noexcept nogil:
        # Copies a kept row; False if it is not kept.
        cdef uint64_t hash = hash_of(child, parents, k)
        cdef Py_ssize_t i
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        i = self.place(hash, child, parents, k)
        if i >= 0:
            memcpy(row, self.entries[i].row, self.n * sizeof(double))
            score[0] = self.entries[i].row[self.n]
        PyThread_release_lock(self.lock)
        return i >= 0

    cdef bint has(self, const Family *family) noexcept nogil:
        cdef uint64_t hash = hash_of(family.child, family.parents, family.k)
        cdef Py_ssize_t i
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        i = self.place(hash, family.child, family.parents, family.k)
        PyThread_release_lock(self.lock)
        return i >= 0

    cdef void keep(
        self, Py_ssize_t child, const int *parents, Py_ssize_t k, const double *row, double score
    ) noexcept nogil:
        # Keeps a copy of a row, unless another thread has kept it; without memory it is computed again.
        cdef uint64_t hash = hash_of(child, parents, k)
        cdef double *copy = <double *>malloc((self.n + 1) * sizeof(double))
        cdef int *family = NULL
        if k > 0:
            family = <int *>malloc(k * sizeof(int))
        if copy == NULL or (k > 0 and family == NULL):
            free(copy)
            free(family)
            return
        memcpy(copy, row, self.n * sizeof(double))
        copy[self.n] = score
        if k > 0:
            memcpy(family, parents, k * sizeof(int))
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        if self.place(hash, child, parents, k) >= 0 or not self.store(hash, child, family, k, copy):
            free(copy)
            free(family)
        PyThread_release_lock(self.lock)

    cdef Py_ssize_t place(self, uint64_t hash, Py_ssize_t child, const int *parents, Py_ssize_t k) noexcept nogil:
        cdef Py_ssize_t i
        cdef Entry *entry
        if self.n_chains == 0:
            return -1
        i = self.chains[hash & <uint64_t>(self.n_chains - 1)]
        while i >= 0:
            entry = self.entries + i
            if entry.hash == hash and entry.child == child and entry.n_parents == k and (
                k == 0 or memcmp(entry.parents, parents, k * sizeof(int)) == 0
            ):
                return i
            i = entry.next
        return -1

    cdef bint store(self, uint64_t hash, Py_ssize_t child, int *parents, Py_ssize_t k, double *row) noexcept nogil:
        cdef Py_ssize_t i
        cdef Entry *entry
        if self.n_rows == self.capacity and self.capacity < self.limit and not self.grow():
            return False
        if self.n_rows < self.capacity:
            i = self.n_rows
            self.n_rows += 1
        else:
            i = self.oldest
            self.oldest = (i + 1) % self.n_rows
            self.unlink(i)
            free(self.entries[i].parents)
            free(self.entries[i].row)
        entry = self.entries + i
        entry.hash, entry.child, entry.n_parents = hash, <int>child, <int>k
        entry.parents, entry.row = parents, row
        self.link(i)
        return True

    cdef bint grow(self) noexcept nogil:
        cdef Py_ssize_t capacity = min(self.limit, 2 * self.capacity + 64), n_chains = 64, i
        cdef Entry *entries = <Entry *>realloc(self.entries, capacity * sizeof(Entry))
        cdef Py_ssize_t *chains
        if entries == NULL:
            return False
        self.entries = entries
        while n_chains < capacity:
            n_chains *= 2
        chains = <Py_ssize_t *>realloc(self.chains, n_chains * sizeof(Py_ssize_t))
        if chains == NULL:
            return False
        self.chains, self.n_chains, self.capacity = chains, n_chains, capacity
        for i in range(n_chains):
            chains[i] = -1
        for i in range(self.n_rows):
            self.link(i)
        return True

    cdef void link(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t *head = self.chains + (self.entries[i].hash & <uint64_t>(self.n_chains - 1))
        self.entries[i].next = head[0]
        head[0] = i

    cdef void unlink(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t *at = self.chains + (self.entries[i].hash & <uint64_t>(self.n_chains - 1))
        while at[0] != i:
            at = &self.entries[at[0]].next
        at[0] = self.entries[i].next


cdef inline uint64_t hash_of(Py_ssize_t child, const int *parents, Py_ssize_t k) noexcept nogil:
    # SplitMix64 of the ids, one after another.
    cdef uint64_t hash = mixed(<uint64_t>child + 1)
    cdef Py_ssize_t i
    for i in range(k):
        hash = mixed(hash ^ <uint64_t>(parents[i] + 1))
    return hash


cdef inline uint64_t mixed(uint64_t x) noexcept nogil:
    x += <uint64_t>0x9E3779B97F4A7C15
    x = (x ^ (x >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * <uint64_t>0x94D049BB133111EB
    return x ^ (x >> 31)


cdef class RowsAhead:
    """Rows that other threads prefetch for the first thread, which climbs.

    Parameters
    ----------
    store : RowStore
        Store of the rows; the first thread has a ``CachedScorer`` over it.
    n_threads : int
        Number of threads, including the first.
    """

    def __cinit__(self, RowStore store not None, Py_ssize_t n_threads):
        cdef Py_ssize_t i, n = store.n
        self.store, self.n_threads, self.awaited = store, n_threads, -1
        self.lock = PyThread_allocate_lock()
        self.orders = <Order *>calloc(MOST_AHEAD, sizeof(Order))
        self.current = <Order *>calloc(n_threads, sizeof(Order))
        self.owners = <int *>malloc((n + 1) * sizeof(int))
        self.bells = <PyThread_type_lock *>calloc(n_threads, sizeof(PyThread_type_lock))
        self.is_asleep = <char *>calloc(n_threads, 1)
        if self.lock and self.orders and self.current and self.owners and self.bells and self.is_asleep:
            for i in range(n):
                self.owners[i] = -1
            for i in range(MOST_AHEAD):
                self.orders[i].parents = <int *>malloc((n + 1) * sizeof(int))
            for i in range(n_threads):
                self.current[i].child, self.current[i].parents = -1, <int *>malloc((n + 1) * sizeof(int))
                self.bells[i] = PyThread_allocate_lock()
                if self.current[i].parents == NULL or self.bells[i] == NULL:
                    raise MemoryError(f"cannot allocate rows ahead of {n} variables")
                PyThread_acquire_lock(self.bells[i], WAIT_LOCK)
        if self.current == NULL or self.orders == NULL or self.orders[MOST_AHEAD - 1].parents == NULL:
            raise MemoryError(f"cannot allocate rows ahead of {n} variables")

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(MOST_AHEAD if self.orders else 0):
            free(self.orders[i].parents)
        for i in range(self.n_threads if self.current and self.bells else 0):
            free(self.current[i].parents)
            if self.bells[i]:
                PyThread_free_lock(self.bells[i])
        free(self.orders)
        free(self.current)
        free(self.owners)
        free(self.bells)
        free(self.is_asleep)
        if self.lock:
            PyThread_free_lock(self.lock)

    def serve(self, Py_ssize_t thread, Scorer source not None):
        """Compute rows on a thread, numbers from 1, with a source of its own, until ``close``."""
        cdef double *row = <double *>malloc((self.store.n + 1) * sizeof(double))
        if row == NULL:
            raise MemoryError(f"cannot allocate a row of {self.store.n} gains")
        try:
            with nogil:
                self.work(thread, source, row)
        finally:
            self.finish(thread)         # a row that could not be computed: the first thread computes it, or fails
            free(row)

    def close(self):
        """End the threads, each after its current row."""
        cdef Py_ssize_t i
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        self.is_closed = True
        for i in range(1, self.n_threads):
            self.wake(i)
        PyThread_release_lock(self.lock)

    cdef int work(self, Py_ssize_t thread, Scorer source, double *row) except -1 nogil:
        cdef bint is_over = False, has_work
        while True:
            PyThread_acquire_lock(self.lock, WAIT_LOCK)
            is_over = self.is_closed
            has_work = not is_over and self.take(thread)
            if not has_work and not is_over:
                self.is_asleep[thread] = True
            PyThread_release_lock(self.lock)
            if is_over:
                return 0
            if has_work:
                self.compute(thread, source, row)
            else:
                PyThread_acquire_lock(self.bells[thread], WAIT_LOCK)

    cdef int compute(self, Py_ssize_t thread, Scorer source, double *row) except -1 nogil:
        # Computes the row that a thread has taken, and keeps it.
        cdef Order *order = self.current + thread
        cdef double score = source.compute_row(order.child, order.parents, order.k, row)
        self.store.keep(order.child, order.parents, order.k, row, score)
        self.finish(thread)
        return 0

    cdef void finish(self, Py_ssize_t thread) noexcept nogil:
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        self.current[thread].child = -1
        if self.awaited == thread:
            self.awaited = -1
            PyThread_release_lock(self.bells[0])
        PyThread_release_lock(self.lock)

    # ---- with the lock held ----

    cdef void wake(self, Py_ssize_t thread) noexcept nogil:
        if self.is_asleep[thread]:
            self.is_asleep[thread] = False
            PyThread_release_lock(self.bells[thread])

    cdef bint take(self, Py_ssize_t thread) noexcept nogil:
        # Takes the most wanted family whose child belongs to no other thread.
        cdef Py_ssize_t i
        cdef Order *order
        for i in range(self.n_orders):
            order = self.orders + i
            if not order.is_taken and (self.owners[order.child] == thread or self.owners[order.child] < 0):
                order.is_taken = True
                self.n_open -= 1
                self.begin(thread, order.child, order.parents, order.k)
                return True
        return False

    cdef void begin(self, Py_ssize_t thread, Py_ssize_t child, const int *parents, Py_ssize_t k) noexcept nogil:
        cdef Order *order = self.current + thread
        order.child, order.k = <int>child, <int>k
        if k > 0:
            memcpy(order.parents, parents, k * sizeof(int))
        self.owners[child] = <int>thread

    cdef Py_ssize_t find_thread(self, Py_ssize_t child, const int *parents, Py_ssize_t k) noexcept nogil:
        # The thread that computes a row now, -1 for none.
        cdef Py_ssize_t i
        for i in range(self.n_threads):
            if self.current[i].child == child and self.current[i].k == k and (
                k == 0 or memcmp(self.current[i].parents, parents, k * sizeof(int)) == 0
            ):
                return i
        return -1

    # ---- called by the first thread ----

    cdef bint is_due(self) noexcept nogil:
        # Whether new orders are due; to publish them takes a tenth of the time of a row.
        cdef bint is_due
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        is_due = 2 * self.n_open <= MOST_AHEAD
        PyThread_release_lock(self.lock)
        return is_due

    cdef void publish(self, const Family *families, Py_ssize_t n) noexcept nogil:
        # Replaces the orders by the rows of these families, the most wanted first.
        cdef Py_ssize_t i, m = 0
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        for i in range(min(n, MOST_AHEAD)):
            if self.find_thread(families[i].child, families[i].parents, families[i].k) >= 0:
                continue
            self.orders[m].child, self.orders[m].k = <int>families[i].child, <int>families[i].k
            self.orders[m].is_taken = False
            if families[i].k > 0:
                memcpy(self.orders[m].parents, families[i].parents, families[i].k * sizeof(int))
            m += 1
        self.n_orders = self.n_open = m
        for i in range(1, self.n_threads if m > 0 else 0):
            self.wake(i)
        PyThread_release_lock(self.lock)

    cdef bint prepare(
        self, Scorer source, Py_ssize_t child, const int *parents, Py_ssize_t k, double *row
    ) except -1 nogil:
        # Prepares a row that is not kept: True if the first thread must compute it, False to look it up again.
        cdef Py_ssize_t thread, owner, i
        cdef bint has_work
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        thread, owner = self.find_thread(child, parents, k), self.owners[child]
        has_work = (thread > 0 or owner > 0) and self.take(0)
        if not has_work and thread > 0:
            self.awaited = thread
        elif not has_work:
            self.owners[child] = 0
            for i in range(self.n_orders):
                if self.orders[i].child == child and not self.orders[i].is_taken:
                    self.orders[i].is_taken = True
                    self.n_open -= 1
        PyThread_release_lock(self.lock)
        if has_work:
            self.compute(0, source, row)
        elif thread > 0:
            PyThread_acquire_lock(self.bells[0], WAIT_LOCK)
        return not has_work and thread <= 0


cdef class CachedScorer(Scorer):
    """Another compiled source of gains, whose rows are kept in a store.

    Parameters
    ----------
    source : Scorer
        Source of the rows; its mask of arcs and limit of parents change only by ``restrict``.
    store : RowStore
        Store of the rows; other threads may share it, over sources of the same gains.
    """

    def __cinit__(self, Scorer source not None, RowStore store not None):
        self.set_up(source.n, None, source.max_indegree, None)
        self.source, self.store = source, store
        self.is_far = source.is_far

    def start(self, double[:, ::1] gains, double[::1] scores):
        """Fill the gains and scores of the graph without arcs."""
        self.source.start(gains, scores)

    def follow(self, RowsAhead ahead) -> bool:
        """Publish the next wanted rows to other threads, None to stop; return False if rows are remote."""
        if not self.source.is_far:
            self.ahead, self.is_far = ahead, ahead is not None
        return not self.source.is_far

    def restrict(self, const uint8_t[:, ::1] allowed):
        """Replace the mask of allowed arcs, and forget the rows."""
        if self.source is not None:
            self.store.clear()
            self.source.restrict(allowed)

    cdef double score_terms(self, Py_ssize_t child, const int *parents, Py_ssize_t k) except? -1 nogil:
        return self.source.score_family(child, parents, k)

    cdef int expect(self, const Family *families, Py_ssize_t n_needed, Py_ssize_t n) except -1 nogil:
        # Passes on the families whose rows are not kept.
        cdef Family *unknown = <Family *>malloc((n + 1) * sizeof(Family))
        cdef Py_ssize_t i, m = 0, m_needed = 0
        if unknown == NULL:
            return 0            # without memory only speed is lost
        for i in range(n):
            if self.ahead is None if families[i].n_wanted != ALL else not self.store.has(&families[i]):
                unknown[m] = families[i]
                m += 1
                m_needed += i < n_needed
        try:
            if self.ahead is not None:
                self.ahead.publish(unknown, m)
            else:
                self.source.expect(unknown, m_needed, m)
        finally:
            free(unknown)
        return 0

    cdef double fill_gains(self, Py_ssize_t child, const int *parents, Py_ssize_t k, double *gains) except? -1 nogil:
        cdef double score = 0.0
        while not self.store.find(child, parents, k, gains, &score):
            if self.ahead is None or self.ahead.prepare(self.source, child, parents, k, gains):
                self.n_asked += 1
                score = self.source.compute_row(child, parents, k, gains)
                self.store.keep(child, parents, k, gains, score)
                break
        return score
