# The terms of a decomposable discrete score, memoised.
#
#   score(x | pa) = sum_jk f(n_jk; a) - sum_j f(n_j; r a) - penalty * q * (r - 1)
#
#   entropy    f(n) = n ln n                              LL, AIC, BIC (a is not used)
#   dirichlet  f(n; a) = ln Gamma(n + a) - ln Gamma(a)    K2: a = prior;  BDeu: a = prior / (q r)
#                                                         BDs: as BDeu, q the configurations that occur
#
# f(0) = 0 in both, so empty cells need no term. Every value comes from the same formula whether it is memoised or not:
# a score does not depend on earlier calls.

from libc.stdint cimport uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset


cdef extern from "_special.h" nogil:
    double pgmx_log(double x)
    double pgmx_log_rising(double a, uint32_t n)


cdef struct TermTable:
    double a
    double *values      # NaN until computed; NULL when the memory limit was reached
    uint32_t size
    bint dirichlet


cdef struct Terms:
    bint dirichlet
    bint per_cell       # the prior is divided by the number of cells q r of the family (BDeu)
    bint observed       # q is the number of parent configurations that occur (BDs)
    double prior
    double penalty
    uint32_t n_rows
    uint32_t table_size
    size_t bytes_left   # memory for further tables
    Py_ssize_t n_tables
    Py_ssize_t n_slots  # open addressing, a power of two
    TermTable **slots


cdef enum:
    ENTROPY_TABLE = 1 << 20     # 8 MB: beyond it n ln n is computed each time
    DIRICHLET_TABLE = 1 << 15   # 256 KB for each distinct prior
    TABLES_MEMORY = 1 << 26     # 64 MB for all of them


cdef inline double evaluate(const TermTable *table, uint32_t n) noexcept nogil:
    if table.dirichlet:
        return pgmx_log_rising(table.a, n)
    return n * pgmx_log(<double>n) if n > 0 else 0.0


cdef inline double term(TermTable *table, uint32_t n) noexcept nogil:
    cdef double value
    if n < table.size:
        value = table.values[n]
        if value == value:
            return value
        value = evaluate(table, n)
        table.values[n] = value
        return value
    return evaluate(table, n)


cdef inline double sum_terms(TermTable *table, const uint32_t *counts, Py_ssize_t n) noexcept nogil:
    # Four running sums, joined in a fixed order, so that additions do not wait for each other.
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0
    cdef Py_ssize_t i = 0
    while i + 4 <= n:
        a += term(table, counts[i])
        b += term(table, counts[i + 1])
        c += term(table, counts[i + 2])
        d += term(table, counts[i + 3])
        i += 4
    while i < n:
        a += term(table, counts[i])
        i += 1
    return (a + b) + (c + d)


cdef inline TermTable *new_table(Terms *terms, double a, bint full) except NULL nogil:
    # `full` fills the table at once, so that the look-ups of a search never take the slow branch.
    cdef TermTable *table = <TermTable *>calloc(1, sizeof(TermTable))
    cdef size_t n_bytes = terms.table_size * sizeof(double)
    cdef uint32_t n
    if table == NULL:
        with gil:
            raise MemoryError("cannot allocate a table of score terms")
    table.a = a
    table.dirichlet = terms.dirichlet
    if n_bytes <= terms.bytes_left:
        table.values = <double *>malloc(n_bytes)
        if table.values != NULL:
            terms.bytes_left -= n_bytes
            table.size = terms.table_size
            if full:
                for n in range(table.size):
                    table.values[n] = evaluate(table, n)
            else:
                memset(table.values, 0xff, n_bytes)   # all bits set is a NaN
    return table


cdef inline size_t slot_of(const Terms *terms, double a) noexcept nogil:
    cdef unsigned long long bits
    memcpy(&bits, &a, sizeof(bits))
    bits = (bits ^ (bits >> 29)) * <unsigned long long>0x9e3779b97f4a7c15
    return <size_t>(bits >> 32) & <size_t>(terms.n_slots - 1)


cdef inline int grow_slots(Terms *terms) except -1 nogil:
    cdef TermTable **old = terms.slots
    cdef Py_ssize_t n_old = terms.n_slots, i
    cdef size_t slot
    cdef TermTable **slots = <TermTable **>calloc(n_old * 2, sizeof(TermTable *))
    if slots == NULL:
        with gil:
            raise MemoryError("cannot allocate the index of score terms")
    terms.slots = slots
    terms.n_slots = n_old * 2
    for i in range(n_old):
        if old[i] != NULL:
            slot = slot_of(terms, old[i].a)
            while slots[slot] != NULL:
                slot = (slot + 1) & <size_t>(terms.n_slots - 1)
            slots[slot] = old[i]
    free(old)
    return 0


cdef inline TermTable *table_of(Terms *terms, double a) except NULL nogil:
    cdef size_t slot
    if not terms.dirichlet:
        return terms.slots[0]
    slot = slot_of(terms, a)
    while terms.slots[slot] != NULL:
        if terms.slots[slot].a == a:
            return terms.slots[slot]
        slot = (slot + 1) & <size_t>(terms.n_slots - 1)
    terms.slots[slot] = new_table(terms, a, False)
    terms.n_tables += 1
    cdef TermTable *table = terms.slots[slot]
    if terms.n_tables * 2 > terms.n_slots:
        grow_slots(terms)
    return table


cdef inline TermTable *cell_terms(Terms *terms, double q, Py_ssize_t r) except NULL nogil:
    return table_of(terms, terms.prior / (q * r) if terms.per_cell else terms.prior)


cdef inline TermTable *config_terms(Terms *terms, double q, Py_ssize_t r) except NULL nogil:
    return table_of(terms, terms.prior / q if terms.per_cell else terms.prior * r)


cdef inline int init_terms(
    Terms *terms, bint dirichlet, bint per_cell, bint observed, double prior, double penalty, uint32_t n_rows
) except -1 nogil:
    cdef uint32_t limit = DIRICHLET_TABLE if dirichlet else ENTROPY_TABLE
    terms.dirichlet = dirichlet
    terms.per_cell = per_cell
    terms.observed = observed
    terms.prior = prior
    terms.penalty = penalty
    terms.n_rows = n_rows
    terms.table_size = n_rows + 1 if n_rows < limit else limit
    terms.bytes_left = TABLES_MEMORY
    terms.n_slots = 64
    terms.slots = <TermTable **>calloc(terms.n_slots, sizeof(TermTable *))
    if terms.slots == NULL:
        with gil:
            raise MemoryError("cannot allocate the index of score terms")
    if not dirichlet:
        terms.slots[0] = new_table(terms, 0.0, True)
        terms.n_tables = 1
    return 0


cdef inline void free_terms(Terms *terms) noexcept nogil:
    cdef Py_ssize_t i
    if terms.slots != NULL:
        for i in range(terms.n_slots):
            if terms.slots[i] != NULL:
                free(terms.slots[i].values)
                free(terms.slots[i])
        free(terms.slots)
    terms.slots = NULL
