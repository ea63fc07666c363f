"""Elimination plans of the components of a network, each made once and kept.

A component, a set of hidden variables with the families that mention them, is known by its kind (sums, maxima, a
query), its variables, families and query. It is found in a hash table of records; its plan is made when it is asked for
(``_plans.pxd``).
Thread-safety: an object serves one thread; it shares the arrays of the network, which it reads.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset

from _component_search cimport hash_record
from _plan_orders cimport MOST_TABLE_CELLS
from _plans cimport Kind, Network, Plan, Scratch, free_plan, make_plan


cdef enum:
    RECORD_MORE = 8                               # integers' worth of memory of a component besides its record


cdef class PlanStore:
    """A network, and the plans of its components.

    Parameters
    ----------
    cards : int32 (n,)
    starts : int64 (f + 1,)
        Of the scope of each family; of a Bayesian network family v is the table of variable v, its own variable first.
    scopes : int32
    strides : int64
        Of each variable of a scope in its table.
    tables : int64 (f,)
        First cell of each table in `values`.
    values : float64
    holder_starts, holders : int64 (n + 1,), int32
        Families of each variable, ascending.
    active : uint8 (f,)
        Families that take part; the caller may change it between calls of `find`.
    max_bytes
        Limit of all plans that are kept.

    Raises a ValueError if a table ends beyond `values`, or has more cells than an int32 can number.
    """

    def __cinit__(self):
        memset(&self.scratch, 0, sizeof(Scratch))

    def __init__(
        self,
        const int32_t[::1] cards,
        const int64_t[::1] starts,
        const int32_t[::1] scopes,
        const int64_t[::1] strides,
        const int64_t[::1] tables,
        const double[::1] values,
        const int64_t[::1] holder_starts,
        const int32_t[::1] holders,
        const uint8_t[::1] active,
        Py_ssize_t max_bytes,
    ):
        cdef Py_ssize_t n = cards.shape[0], f = tables.shape[0], k, x
        cdef int64_t last
        for k in range(f):
            last = 0
            for x in range(starts[k], starts[k + 1]):
                last += strides[x] * (cards[scopes[x]] - 1)
            if last >= MOST_TABLE_CELLS or tables[k] + last >= values.shape[0]:
                raise ValueError(f"table {k} ends at cell {tables[k] + last} of {values.shape[0]}")
        self._inputs = [cards, starts, scopes, strides, tables, values, holder_starts, holders, active]
        self.network.n = n
        self.network.n_families = f
        self.network.cards = &cards[0]
        self.network.starts = &starts[0]
        self.network.scopes = &scopes[0]
        self.network.strides = &strides[0]
        self.network.tables = &tables[0]
        self.network.values = &values[0]
        self.network.holder_starts = &holder_starts[0]
        self.network.holders = &holders[0]
        self.network.active = &active[0]
        self.max_bytes = max_bytes
        self.local = <int32_t *>malloc(n * sizeof(int32_t))
        if self.local == NULL:
            raise MemoryError
        memset(self.local, 0xFF, n * sizeof(int32_t))            # -1

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.n_kept):
            free_plan(self.plans[i])
        free(self.plans)
        free(self.records)
        free(self.pool)
        free(self.slots)
        free(self.local)
        free(self.scratch.tables)
        free(self.scratch.up)
        free(self.scratch.scales)
        free(self.scratch.best)
        free(self.scratch.states)
        free(self.scratch.bases)
        free(self.scratch.sources)

    @property
    def kept_bytes(self):
        """The memory of all plans and of the working tables."""
        return self.n_bytes + 8 * self.scratch.n_kept + 20 * self.scratch.n_messages

    def forget_plans(self):
        """Free all plans; numbers of components are no longer valid."""
        cdef Py_ssize_t i
        for i in range(self.n_kept):
            free_plan(self.plans[i])
        self.n_kept = self.pool_used = self.n_bytes = 0
        if self.n_slots:
            memset(self.slots, 0, self.n_slots * sizeof(Py_ssize_t))

    def drop_plans(self):
        """Free all plans; components keep their numbers."""
        cdef Py_ssize_t i
        for i in range(self.n_kept):
            if self.plans[i] != NULL:
                self.n_bytes -= self.plans[i].n_bytes
                free_plan(self.plans[i])
                self.plans[i] = NULL

    @property
    def is_full(self):
        """Whether plans and records take more than `max_bytes`."""
        return self.n_bytes > self.max_bytes

    @property
    def plan_bytes(self):
        """Bytes of the plans alone."""
        cdef Py_ssize_t record_bytes = (self.pool_used + RECORD_MORE * self.n_kept) * sizeof(int32_t)
        return self.n_bytes - record_bytes

    cdef Py_ssize_t keep(
        self, Kind kind, const int32_t *hidden, Py_ssize_t m, const int32_t *families, Py_ssize_t n_families,
        const int32_t *query, Py_ssize_t n_query
    ) noexcept nogil:
        # Returns the number of a component, its variables and families sorted; -1 if memory is exhausted.
        cdef Py_ssize_t i, slot, size = 4 + m + n_families + n_query
        cdef int32_t *record
        if self._grow(size) < 0:
            return -1
        record = self.pool + self.pool_used
        record[0] = <int32_t>kind
        record[1] = <int32_t>m
        record[2] = <int32_t>n_families
        record[3] = <int32_t>n_query
        memcpy(record + 4, hidden, m * sizeof(int32_t))
        memcpy(record + 4 + m, families, n_families * sizeof(int32_t))
        if n_query:
            memcpy(record + 4 + m + n_families, query, n_query * sizeof(int32_t))
        slot = <Py_ssize_t>(hash_record(record, size) & <uint64_t>(self.n_slots - 1))
        while self.slots[slot]:
            i = self.slots[slot] - 1
            if memcmp(self.pool + self.records[i], record, size * sizeof(int32_t)) == 0:
                return i
            slot = (slot + 1) & (self.n_slots - 1)
        i = self.n_kept
        self.slots[slot] = i + 1
        self.records[i] = self.pool_used
        self.plans[i] = NULL
        self.n_kept += 1
        self.pool_used += size
        self.n_bytes += (size + RECORD_MORE) * sizeof(int32_t)
        return i

    cdef int _grow(self, Py_ssize_t size) noexcept nogil:
        # Makes room for one more component. Every size changes after its memory: a failure leaves the store as it was.
        cdef Py_ssize_t i, slot, n_integers, n_kept, n_slots
        cdef int32_t *record
        cdef void *larger
        if self.pool_used + size > self.pool_size:
            n_integers = 2 * (self.pool_used + size)
            larger = realloc(self.pool, n_integers * sizeof(int32_t))
            if larger == NULL:
                return -1
            self.pool = <int32_t *>larger
            self.pool_size = n_integers
        if self.n_kept < self.kept_size:
            return 0
        n_kept = max(1024, 2 * self.kept_size)
        # at most a quarter of the slots are taken, and a power of two is a mask of the hash
        n_slots = 4 * n_kept
        larger = realloc(self.plans, n_kept * sizeof(Plan *))
        if larger == NULL:
            return -1
        self.plans = <Plan **>larger
        larger = realloc(self.records, n_kept * sizeof(Py_ssize_t))
        if larger == NULL:
            return -1
        self.records = <Py_ssize_t *>larger
        larger = calloc(n_slots, sizeof(Py_ssize_t))
        if larger == NULL:
            return -1
        free(self.slots)
        self.slots = <Py_ssize_t *>larger
        self.kept_size = n_kept
        self.n_slots = n_slots
        for i in range(self.n_kept):
            record = self.pool + self.records[i]
            slot = <Py_ssize_t>(
                hash_record(record, 4 + record[1] + record[2] + record[3]) & <uint64_t>(self.n_slots - 1)
            )
            while self.slots[slot]:
                slot = (slot + 1) & (self.n_slots - 1)
            self.slots[slot] = i + 1
        return 0

    cdef int _check_number(self, Py_ssize_t number) except -1:
        if not 0 <= number < self.n_kept:
            raise IndexError(f"no component {number}: {self.n_kept} are kept")
        return 0

    cdef Plan *get_plan(self, Py_ssize_t number) except NULL:
        self._check_number(number)
        if self.plans[number] == NULL:
            raise ValueError(f"component {number} has no plan")
        return self.plans[number]

    def plan(self, Py_ssize_t number, double max_cells, const int32_t[::1] order=None):
        """Make the plan of a component; returns its number of cells, also if they are too many.

        Nothing is allocated for more cells than `max_cells`. A table of more cells than an int32 can number counts as
        infinitely many.
        `order` has positions of the hidden variables, of a query all others, which come first. None: the best of
        several orders, unless there is a plan.
        """
        self._check_number(number)
        cdef int32_t *record = self.pool + self.records[number]
        cdef int32_t *hidden = record + 4
        cdef Py_ssize_t m = record[1], n_query = record[3], i
        cdef double cells = 0.0
        cdef int32_t *places
        cdef int32_t *query
        cdef Plan *plan = self.plans[number]
        if plan != NULL and order is None:
            return plan.n_cells
        places = <int32_t *>malloc((m + n_query) * sizeof(int32_t))
        if places == NULL:
            raise MemoryError
        query = places + m
        for i in range(m):
            self.local[hidden[i]] = <int32_t>i
            places[i] = -1 if order is None or i >= order.shape[0] else order[i]
        for i in range(n_query):
            query[i] = self.local[hidden[m + record[2] + i]]
        plan = make_plan(
            &self.network, hidden, m, hidden + m, record[2], query, n_query, <Kind>record[0], self.local, places,
            max_cells, &cells
        )
        for i in range(m):
            self.local[hidden[i]] = -1
        free(places)
        if cells < 0.0:
            raise MemoryError
        if plan != NULL:
            if self.plans[number] != NULL:
                self.n_bytes -= self.plans[number].n_bytes
                free_plan(self.plans[number])
            self.plans[number] = plan
            self.n_bytes += plan.n_bytes
        return cells

    def has_plan(self, Py_ssize_t number):
        """Return whether a component has a plan."""
        self._check_number(number)
        return self.plans[number] != NULL

    def describe(self, Py_ssize_t number):
        """Return the hidden variables of a component, and as positions among these its scopes and its query."""
        self._check_number(number)
        cdef int32_t *record = self.pool + self.records[number]
        cdef Py_ssize_t m = record[1], k, x
        cdef Network *g = &self.network
        hidden = [record[4 + k] for k in range(m)]
        place = {v: k for k, v in enumerate(hidden)}
        scopes = []
        for k in range(record[2]):
            f = record[4 + m + k]
            scopes.append([place[g.scopes[x]] for x in range(g.starts[f], g.starts[f + 1]) if g.scopes[x] in place])
        n_listed = m + record[2]
        return hidden, scopes, [place[record[4 + n_listed + k]] for k in range(record[3])]

    cdef int reserve(self, const Plan *plan) noexcept nogil:
        # Scratch memory for a plan.
        cdef Scratch *s = &self.scratch
        if plan.n_kept > s.n_kept:
            free(s.tables)
            s.n_kept = plan.n_kept + plan.n_kept // 2
            s.tables = <double *>malloc(s.n_kept * sizeof(double))
        if plan.n_messages > s.n_messages:
            free(s.up)
            free(s.best)
            s.n_messages = plan.n_messages + plan.n_messages // 2
            s.up = <double *>malloc(2 * s.n_messages * sizeof(double))
            s.best = <int32_t *>malloc(s.n_messages * sizeof(int32_t))
            s.down = s.up + s.n_messages
        if plan.n_hidden + 1 > s.n_hidden:
            free(s.scales)
            free(s.states)
            s.n_hidden = 2 * plan.n_hidden + 1
            s.scales = <double *>malloc(s.n_hidden * sizeof(double))
            s.states = <int32_t *>malloc(s.n_hidden * sizeof(int32_t))
        if plan.n_families + 1 > s.n_families:    # a variable may be in no family that takes part
            free(s.bases)
            s.n_families = 2 * plan.n_families + 1
            s.bases = <int64_t *>malloc(s.n_families * sizeof(int64_t))
        if plan.n_families + plan.n_buckets > s.n_sources:
            free(s.sources)
            s.n_sources = 2 * (plan.n_families + plan.n_buckets)
            s.sources = <const double **>malloc(s.n_sources * sizeof(double *))
        if NULL in (s.tables, s.up, s.best, s.scales, s.states, s.bases, s.sources):
            # without sizes the next call allocates again
            s.n_kept = s.n_messages = s.n_hidden = s.n_families = s.n_sources = 0
            return -1
        return 0
