"""Expected counts of the families of a discrete network in weighted rows with hidden values, for any values of tables.

Problem: rows r of weights w_r that observe some variables o_r of p(x) = prod_f phi_f(x_f). For each family f and each
of its cells
    n_f(c) = sum_r w_r p(x_f = c | o_r),   and the log-likelihood   sum_r w_r log p(o_r),
the expectation step of EM, which asks for them again and again with other values of the same tables.
Algorithm: what does not depend on the values is done once. A family that a row observes whole adds its weight to a
cell that stays the same. The hidden variables of a row fall into components (``_components.pyx``); a component with
the first cells of its families at the observed states is a question, and equal questions of all rows are one, with the
sum of their weights. A pass sends each question up and down the elimination plan of its component.
Cost: per pass and question a few multiplications per cell of the plan; memory 4 bytes per family of a question and 48
besides.
Thread-safety: an object serves one thread; it shares the arrays of the network, which it reads.
References: Lauritzen (1995), Computational Statistics and Data Analysis 19, 191-201 (EM in networks); Dechter (1999),
Artificial Intelligence 113, 41-85 (bucket elimination).
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcmp, memset

import numpy as np

from _component_search cimport (
    Search,
    allocate_search,
    find_component,
    free_search,
    hash_record,
    start_search,
)
from _passes cimport add_cells, pass_down, pass_up_from
from _plan_orders cimport MOST_TABLE_CELLS
from _plans cimport SUM, Bucket, Network, Plan

from pgmx._ext._plan_store cimport PlanStore


cdef class Questions(PlanStore):
    """A network, and the distinct questions of rows; parameters as `PlanStore`."""

    cdef Search search
    cdef int32_t *asked                           # the component of each question, and the first cells of its families
    cdef Py_ssize_t *starts                       # (n_asked + 1,) of each question in `asked`
    cdef double *weights
    cdef Py_ssize_t *places                       # hash table of questions
    cdef Py_ssize_t n_asked, asked_size, used, used_size, n_places
    cdef int64_t[::1] order                       # questions by component

    def __init__(self, cards, *arguments):
        super().__init__(cards, *arguments)
        if arguments[4].size > MOST_TABLE_CELLS:
            raise ValueError(f"tables of {arguments[4].size} cells together, more than {MOST_TABLE_CELLS}")
        if allocate_search(&self.search, &self.network) < 0:
            raise MemoryError

    def __dealloc__(self):
        free_search(&self.search)
        free(self.asked)
        free(self.starts)
        free(self.weights)
        free(self.places)

    # ---- questions ----

    def add(self, const int32_t[:, ::1] codes, const double[::1] weights, double[::1] observed):
        """Add rows (N, n), hidden variables -1, and their weights (N,).

        `observed` (cells of all tables,) receives the weights of the cells that rows observe. Rows of weight 0 are left
        out.
        """
        cdef Py_ssize_t r, v, m, k, f
        cdef int status = 0
        with nogil:
            for r in range(codes.shape[0]):
                if weights[r] == 0.0:
                    continue
                start_search(&self.search, &self.network)
                for v in range(self.network.n):
                    if codes[r, v] >= 0 or self.search.seen[v]:
                        continue
                    find_component(&self.network, &self.search, &codes[r, 0], <int32_t>v, NULL, &m, &k)
                    status = self._ask(&codes[r, 0], m, k, weights[r])
                    if status < 0:
                        break
                if status < 0:
                    break
                for f in range(self.network.n_families):
                    if self.network.active[f] and not self.search.used[f]:
                        observed[self._find_cell(<int32_t>f, &codes[r, 0])] += weights[r]
        if status < 0:
            raise MemoryError

    def forget_questions(self):
        """Forget all rows; plans are kept."""
        self.n_asked = self.used = 0
        if self.n_places:
            memset(self.places, 0, self.n_places * sizeof(Py_ssize_t))

    def sort(self):
        """Sort the questions by component, in the order in which the components were first asked for.

        Returns the numbers of the components, and (components + 1,) the position of the first question of each. The
        order depends on the rows alone, not on plans that were made or forgotten before.
        """
        cdef Py_ssize_t i, n = 0
        cdef int64_t[::1] ranks = np.full(self.n_kept, -1, dtype=np.int64)
        cdef int64_t[::1] components = np.empty(self.n_asked, dtype=np.int64)
        cdef list numbers = []
        for i in range(self.n_asked):
            if ranks[self.asked[self.starts[i]]] < 0:
                ranks[self.asked[self.starts[i]]] = n
                numbers.append(self.asked[self.starts[i]])
                n += 1
            components[i] = ranks[self.asked[self.starts[i]]]
        self.order = np.argsort(components, kind="stable").astype(np.int64, copy=False)
        return numbers, np.concatenate([[0], np.cumsum(np.bincount(components, minlength=n))]).astype(np.int64)

    cdef int64_t _find_cell(self, int32_t f, const int32_t *codes) noexcept nogil:
        # The first cell of a family at the observed states.
        cdef const Network *g = &self.network
        cdef int64_t cell = g.tables[f]
        cdef Py_ssize_t x
        for x in range(g.starts[f], g.starts[f + 1]):
            if codes[g.scopes[x]] > 0:
                cell += g.strides[x] * codes[g.scopes[x]]
        return cell

    cdef int _ask(self, const int32_t *codes, Py_ssize_t m, Py_ssize_t n_families, double weight) noexcept nogil:
        # Adds the weight of the component that was found last, as a new question if there is no equal one.
        cdef Py_ssize_t k, i, slot, size = 1 + n_families
        cdef int32_t *record
        if self._grow_questions(size) < 0:
            return -1
        record = self.asked + self.used
        i = self.keep(SUM, self.search.hidden, m, self.search.families, n_families, NULL, 0)
        if i < 0:
            return -1
        record[0] = <int32_t>i
        for k in range(n_families):
            record[1 + k] = <int32_t>self._find_cell(self.search.families[k], codes)
        slot = <Py_ssize_t>(hash_record(record, size) & <uint64_t>(self.n_places - 1))
        while self.places[slot]:
            i = self.places[slot] - 1
            if self.starts[i + 1] - self.starts[i] == size and (
                memcmp(self.asked + self.starts[i], record, size * sizeof(int32_t)) == 0
            ):
                self.weights[i] += weight
                return 0
            slot = (slot + 1) & (self.n_places - 1)
        self.places[slot] = self.n_asked + 1
        self.weights[self.n_asked] = weight
        self.starts[self.n_asked] = self.used
        self.used += size
        self.n_asked += 1
        self.starts[self.n_asked] = self.used
        return 0

    cdef int _grow_questions(self, Py_ssize_t size) noexcept nogil:
        # Makes room for one more question. Every size changes after its memory.
        cdef Py_ssize_t i, slot, larger_size
        cdef void *larger
        if self.used + size > self.used_size:
            larger_size = 2 * (self.used + size)
            larger = realloc(self.asked, larger_size * sizeof(int32_t))
            if larger == NULL:
                return -1
            self.asked = <int32_t *>larger
            self.used_size = larger_size
        if self.n_asked < self.asked_size:
            return 0
        larger_size = max(1024, 2 * self.asked_size)
        larger = realloc(self.starts, (larger_size + 1) * sizeof(Py_ssize_t))
        if larger == NULL:
            return -1
        self.starts = <Py_ssize_t *>larger
        larger = realloc(self.weights, larger_size * sizeof(double))
        if larger == NULL:
            return -1
        self.weights = <double *>larger
        # at most half of the places are taken, and a power of two is a mask of the hash
        larger = calloc(2 * larger_size, sizeof(Py_ssize_t))
        if larger == NULL:
            return -1
        free(self.places)
        self.places = <Py_ssize_t *>larger
        self.asked_size = larger_size
        self.n_places = 2 * larger_size
        for i in range(self.n_asked):
            slot = <Py_ssize_t>(
                hash_record(self.asked + self.starts[i], self.starts[i + 1] - self.starts[i])
                & <uint64_t>(self.n_places - 1)
            )
            while self.places[slot]:
                slot = (slot + 1) & (self.n_places - 1)
            self.places[slot] = i + 1
        return 0

    # ---- passes ----

    def has_all_plans(self):
        """Return whether the components of all questions have plans."""
        cdef Py_ssize_t i
        for i in range(self.n_asked):
            if self.plans[self.asked[self.starts[i]]] == NULL:
                return False
        return True

    def count(self, Py_ssize_t first, Py_ssize_t last, double[::1] counts):
        """Add the expected counts of sorted questions; returns the sum of weights times log-probabilities.

        An impossible question adds no counts, and the sum is -inf.
        """
        cdef Py_ssize_t k, i, f
        cdef Plan *plan
        cdef double value, total = 0.0
        cdef bint failed = False
        if not 0 <= first <= last <= self.order.shape[0]:
            raise ValueError(f"questions {first} to {last} of {self.order.shape[0]} sorted ones")
        for k in range(first, last):
            self.get_plan(self.asked[self.starts[self.order[k]]])
        with nogil:
            for k in range(first, last):
                i = self.order[k]
                plan = self.plans[self.asked[self.starts[i]]]
                if self.reserve(plan) < 0:
                    failed = True
                    break
                for f in range(plan.n_families):
                    self.scratch.bases[f] = self.asked[self.starts[i] + 1 + f]
                value = pass_up_from(&self.network, plan, &self.scratch)
                total += self.weights[i] * value
                if value > -INFINITY:
                    pass_down(&self.network, plan, &self.scratch)
                    self._add_counts(plan, self.weights[i], &counts[0])
        if failed:
            raise MemoryError
        return total

    cdef void _add_counts(self, const Plan *plan, double weight, double *counts) noexcept nogil:
        cdef Py_ssize_t s, k
        cdef const Bucket *b
        for s in range(plan.n_buckets):
            b = plan.buckets + s
            for k in range(b.n_factors):
                add_cells(
                    b, b.operands + k, self.scratch.tables + b.table, weight,
                    counts + self.scratch.bases[b.operands[k].source]
                )
