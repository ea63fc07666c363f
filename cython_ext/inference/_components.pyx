"""Answers of a discrete network by the connected components of the hidden variables.

Problem: rows, or single questions, that observe any subset of the variables of
    p(x) = prod_f phi_f(x_f) / Z,
for a Bayesian network with phi_v = P(x_v | parents of v) and Z = 1. Given the observed variables, the hidden ones fall
into connected components of the graph that joins the variables of each family. Sums, maxima and draws of a component do
not depend on the others, so each is exact by itself (the most probable states of a product are those of its factors).
Algorithm: a component is found by breadth-first search and identified by its variables and families. Its elimination
plan (bucket elimination, ``_plan_orders.pxd``) is made once and kept; rows with the same component share it. A plan
reads the tables of the network at the row's observed states, and no table is copied. A component of one variable, the
most frequent, has no plan: its distribution is the product of its families.
A question about some variables leaves out the families of barren variables (those without a target or an observed
variable among their descendants) and all components without a target.
Ties: of equal maxima the state with the smaller number, in the order of the plan, a function of the component alone.
 So rows have the same answer alone, in any table, and in any order.
Cost: a row takes a few multiplications per cell of its components' plans, whose lists are short (``_plans.pxd``).
Thread-safety: an object serves one thread; it shares its inputs, which it reads.
References: Dechter (1999), Artificial Intelligence 113, 41-85 (bucket elimination); Shachter (1986), Operations
Research 34, 871-882 (barren variables).
"""

from libc.math cimport INFINITY, log
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memset

import numpy as np

from _component_search cimport Search, allocate_search, find_component, free_search, start_search
from _passes cimport (
    draw_state,
    find_largest,
    is_extreme,
    is_unsafe,
    pass_down,
    pass_up,
    scale_to_one,
    trace_states,
)
from _plan_orders cimport MOST_TABLE_CELLS
from _plans cimport MAXIMISE, QUERY, SUM, Bucket, Kind, Network, Plan

from pgmx._ext._plan_store cimport PlanStore

# The number of cells above which an order is searched for as for a network as a whole.
LARGE_PLAN = 1 << 24


cdef inline int64_t find_cell(
    const Network *g, int32_t f, int32_t v, const int32_t *codes, int64_t *step
) noexcept nogil:
    # The cell of a family at the observed states and state 0 of v, whose stride is `step`.
    cdef int64_t cell = g.tables[f]
    cdef Py_ssize_t x
    step[0] = 0
    for x in range(g.starts[f], g.starts[f + 1]):
        if g.scopes[x] == v:
            step[0] = g.strides[x]
        else:
            cell += g.strides[x] * codes[g.scopes[x]]
    return cell


cdef class Components(PlanStore):
    """A network, the plans of its components, and the rows that are being answered; parameters as `PlanStore`."""

    # components of the rows in question
    cdef int32_t *pair_component
    cdef int32_t *pair_row
    cdef double *constants
    cdef Py_ssize_t n_pairs, pairs_size, n_rows, n_repeats
    # of one search
    cdef Search search
    cdef int32_t *row                             # codes of a single question, all -1 between questions
    cdef int32_t *query
    cdef uint8_t *relevant
    cdef double *single

    def __init__(self, cards, *arguments):
        cdef Py_ssize_t n
        super().__init__(cards, *arguments)
        n = self.network.n
        self.row = <int32_t *>malloc(2 * n * sizeof(int32_t))
        self.relevant = <uint8_t *>calloc(n, 1)
        self.single = <double *>malloc(max(cards) * sizeof(double))
        if allocate_search(&self.search, &self.network) < 0 or NULL in (self.row, self.relevant, self.single):
            raise MemoryError
        memset(self.row, 0xFF, n * sizeof(int32_t))              # -1
        self.query = self.row + n

    def __dealloc__(self):
        free(self.pair_component)
        free(self.pair_row)
        free(self.constants)
        free(self.single)
        free(self.row)
        free(self.relevant)
        free_search(&self.search)

    # ---- components ----

    cdef int _add_pair(self, Py_ssize_t component, Py_ssize_t row) noexcept nogil:
        cdef Py_ssize_t size
        cdef void *larger
        if self.n_pairs == self.pairs_size:
            size = max(4096, 2 * self.pairs_size)
            larger = realloc(self.pair_component, size * sizeof(int32_t))
            if larger == NULL:
                return -1
            self.pair_component = <int32_t *>larger
            larger = realloc(self.pair_row, size * sizeof(int32_t))
            if larger == NULL:
                return -1
            self.pair_row = <int32_t *>larger
            self.pairs_size = size
        self.pair_component[self.n_pairs] = <int32_t>component
        self.pair_row[self.n_pairs] = <int32_t>row
        self.n_pairs += 1
        return 0

    cdef double _multiply_constants(self, const int32_t *codes) noexcept nogil:
        # The logarithm of the product of the families whose variables are all observed.
        cdef double product = 1.0, total = 0.0
        cdef int32_t f
        for f in range(<int32_t>self.network.n_families):
            product *= self._find_constant(f, codes)
            if is_extreme(product):
                total += log(product)
                product = 1.0
        return total + log(product)

    cdef inline double _find_constant(self, int32_t f, const int32_t *codes) noexcept nogil:
        # The observed value of a family, 1 if it has hidden variables or takes no part.
        cdef Network *g = &self.network
        cdef int64_t cell = g.tables[f]
        cdef Py_ssize_t x
        if self.search.used[f] or not g.active[f]:
            return 1.0
        for x in range(g.starts[f], g.starts[f + 1]):
            if codes[g.scopes[x]] < 0:
                return 1.0                        # of a component that the question does not need
            cell += g.strides[x] * codes[g.scopes[x]]
        return g.values[cell]

    def find(self, const int32_t[:, ::1] codes, Kind kind, Py_ssize_t n_repeats=1):
        """Find the components of rows (N, n), hidden variables -1; returns the numbers of those without a plan.

        Each row may be repeated, for as many draws. Every row keeps 8 bytes per component until the next call.
        """
        cdef Py_ssize_t n = self.network.n, r, v, m, k, i
        cdef bint failed = False
        if n_repeats < 1:
            raise ValueError(f"n_repeats={n_repeats} must be at least 1")
        if codes.shape[0] * n_repeats > MOST_TABLE_CELLS:
            raise ValueError(f"{codes.shape[0] * n_repeats} rows are too many: answer blocks of rows")
        if self.n_bytes > self.max_bytes:
            self.forget_plans()
        self.n_pairs = 0
        self.n_rows = codes.shape[0]
        self.n_repeats = n_repeats
        free(self.constants)
        self.constants = <double *>malloc(max(1, self.n_rows) * sizeof(double))
        if self.constants == NULL:
            self.n_rows = 0
            raise MemoryError
        with nogil:
            for r in range(codes.shape[0]):
                start_search(&self.search, &self.network)
                for v in range(n):
                    if codes[r, v] >= 0 or self.search.seen[v]:
                        continue
                    find_component(&self.network, &self.search, &codes[r, 0], <int32_t>v, NULL, &m, &k)
                    # a component of one variable needs no plan: its number is -1 - v
                    i = -1 - v if m == 1 else self.keep(kind, self.search.hidden, m, self.search.families, k, NULL, 0)
                    if (m > 1 and i < 0) or self._add_pair(i, r) < 0:
                        failed = True
                        break
                if failed:
                    break
                self.constants[r] = self._multiply_constants(&codes[r, 0])
        if failed:
            self.n_pairs = self.n_rows = 0
            raise MemoryError
        unplanned = set()
        for i in range(self.n_pairs):
            if self.pair_component[i] >= 0 and self.plans[self.pair_component[i]] == NULL:
                unplanned.add(self.pair_component[i])
        return sorted(unplanned)

    def first_row(self, Py_ssize_t number):
        """Return the first row of the last `find` with this component."""
        cdef Py_ssize_t i
        for i in range(self.n_pairs):
            if self.pair_component[i] == number:
                return self.pair_row[i]
        raise ValueError(f"no row has the component {number}")

    def find_whole(self):
        """Return the numbers of the components of the network without evidence, to be summed out."""
        cdef Py_ssize_t v, m, k, i
        cdef const int32_t[::1] codes = np.full(self.network.n, -1, dtype=np.int32)
        cdef list found = []
        start_search(&self.search, &self.network)
        for v in range(self.network.n):
            if not self.search.seen[v]:
                find_component(&self.network, &self.search, &codes[0], <int32_t>v, NULL, &m, &k)
                i = self.keep(SUM, self.search.hidden, m, self.search.families, k, NULL, 0)
                if i < 0:
                    raise MemoryError
                found.append(i)
        return found

    def find_query(self, const int32_t[::1] codes, const int32_t[::1] query, Kind kind, bint is_directed):
        """Find the components of one row that contain variables of a query, all hidden.

        Returns a list of (number, positions in `query`), and the logarithm of the product of the families without
        hidden variables. The numbers are valid until the next call. The components of a directed network do without
        barren variables.
        """
        cdef Py_ssize_t k, m, n_families, i
        cdef list found = []
        cdef int32_t[::1] members
        if self.n_bytes > self.max_bytes:
            self.forget_plans()
        self._start_query(&codes[0], &query[0], query.shape[0], is_directed)
        for k in range(query.shape[0]):
            if self.search.seen[query[k]]:
                continue
            find_component(&self.network, &self.search, &codes[0], query[k], self.relevant, &m, &n_families)
            here = {self.search.hidden[i] for i in range(m)}
            inside = [i for i in range(query.shape[0]) if query[i] in here]
            members = np.asarray(query).take(inside).astype(np.int32)
            i = self.keep(kind, self.search.hidden, m, self.search.families, n_families, &members[0], members.shape[0])
            if i < 0:
                raise MemoryError
            found.append((i, inside))
        return found, self._multiply_constants(&codes[0])

    def ask(self, dict codes, list query, bint is_directed, Py_ssize_t max_cells):
        """Return the joint distribution of hidden variables given {variable: code}, its cells in one row.

        The same as `find_query`, `plan` and `answer_query` without their arrays and lists. None, for the caller to take
        these steps: the query has several components, a plan is larger than `max_cells` or has to be searched, or the
        evidence is impossible.
        """
        cdef Py_ssize_t n_query = len(query), n_observed = 0, k, i
        cdef int32_t v
        cdef bint is_impossible = False
        cdef Plan *plan = NULL
        if self.n_bytes > self.max_bytes:
            self.forget_plans()
        if not 0 < n_query <= self.network.n - len(codes) or (n_query > 1 and len(set(query)) < n_query):
            return None
        for k in range(n_query):
            self.query[k] = query[k]
        try:
            for v, k in codes.items():
                self.row[v] = <int32_t>k
                self.search.stack[n_observed] = v
                n_observed += 1
            for k in range(n_query):
                if self.row[self.query[k]] >= 0:
                    return None
            i = self._find_whole_query(n_query, n_observed, is_directed)
            if i < 0:
                return None
            if is_directed:
                # only the table of an observed variable can be observed as a whole
                for v in codes:
                    is_impossible |= self._find_constant(v, self.row) == 0.0
            else:
                is_impossible = self._multiply_constants(self.row) == -INFINITY
            if self.plans[i] == NULL:
                self.plan(i, min(LARGE_PLAN, max_cells))
            plan = self.plans[i]
            if plan == NULL or plan.n_cells > max_cells or is_impossible:
                return None
            if self.reserve(plan) < 0:
                raise MemoryError
            if pass_up(&self.network, plan, self.row, &self.scratch) == -INFINITY:
                return None
            return self._copy_joint(plan)
        finally:
            for v in codes:
                self.row[v] = -1

    cdef Py_ssize_t _find_whole_query(self, Py_ssize_t n_query, Py_ssize_t n_observed, bint is_directed) noexcept nogil:
        # The number of the component that contains the whole query, -1 if there are several. The stack has the observed
        # variables.
        cdef Py_ssize_t m, n_families, k
        self._clear_marks(self.query, n_query, is_directed)
        if is_directed:
            for k in range(n_observed):
                self.relevant[self.search.stack[k]] = 1
            for k in range(n_query):
                self.search.stack[n_observed + k] = self.query[k]
            self._mark_ancestors(n_observed + n_query)
        find_component(&self.network, &self.search, self.row, self.query[0], self.relevant, &m, &n_families)
        for k in range(n_query):
            if not self.search.seen[self.query[k]]:
                return -1
        return self.keep(QUERY, self.search.hidden, m, self.search.families, n_families, self.query, n_query)

    cdef void _start_query(
        self, const int32_t *codes, const int32_t *query, Py_ssize_t n_query, bint is_directed
    ) noexcept nogil:
        # Forgets the last search, and marks the variables that are not barren.
        cdef Py_ssize_t top = 0
        cdef int32_t v
        self._clear_marks(query, n_query, is_directed)
        if not is_directed:
            return
        for v in range(self.network.n):
            # the last n families are likelihoods of hidden variables, which are observations
            if codes[v] >= 0 or self._has_likelihood(v):
                self.relevant[v] = 1
            if self.relevant[v]:
                self.search.stack[top] = v
                top += 1
        self._mark_ancestors(top)

    cdef void _clear_marks(self, const int32_t *query, Py_ssize_t n_query, bint is_directed) noexcept nogil:
        cdef Py_ssize_t k
        start_search(&self.search, &self.network)
        memset(self.relevant, 0 if is_directed else 1, self.network.n)
        for k in range(n_query):
            self.relevant[query[k]] = 1

    cdef void _mark_ancestors(self, Py_ssize_t top) noexcept nogil:
        # Of the first variables of the stack, which are marked.
        cdef Network *g = &self.network
        cdef Py_ssize_t x
        cdef int32_t v
        while top:
            top -= 1
            v = self.search.stack[top]
            if not g.active[v]:
                continue                          # an intervention: the variable has no parents
            for x in range(g.starts[v] + 1, g.starts[v + 1]):
                if not self.relevant[g.scopes[x]]:
                    self.relevant[g.scopes[x]] = 1
                    self.search.stack[top] = g.scopes[x]
                    top += 1

    cdef bint _has_likelihood(self, int32_t v) noexcept nogil:
        cdef Network *g = &self.network
        cdef Py_ssize_t y = g.holder_starts[v + 1] - 1
        return g.holders[y] >= g.n_families - g.n and g.active[g.holders[y]]

    @staticmethod
    def have_arrays(now, list tables, list arrays):
        """Return whether `now` holds the same tables of pgmpy, whose `values` are still these arrays.

        A compiled loop, since this question comes before every other one.
        """
        cdef Py_ssize_t i
        if len(now) != len(tables):
            return False
        for i in range(len(tables)):
            if now[i] is not tables[i] or now[i].values is not arrays[i]:
                return False
        return True

    # ---- answers ----

    def answer(
        self,
        const int32_t[:, ::1] codes,
        Kind kind,
        int32_t[:, ::1] states=None,
        double[:, ::1] probabilities=None,
        const int64_t[::1] columns=None,
        const double[:, ::1] uniforms=None,
    ):
        """Answer the rows of the last `find`, with the same codes; returns the logarithm of each row's sum or maximum.

        N counts repeated rows, which follow each other in all other arrays.

        Parameters
        ----------
        states : int32 (N, n), out
            Of hidden variables: the most probable ones together, or drawn from the posterior with `uniforms` (N, n).
        probabilities, columns : float64 (N, k), int64 (n,)
            out: the distribution of each hidden variable, from its column on; -1: not wanted.

        Of impossible rows (-inf) nothing is written.
        """
        cdef Py_ssize_t i, c, q, r, v, first
        cdef double value
        cdef int64_t[::1] order
        cdef double[::1] values = np.empty(self.n_pairs)
        cdef double[::1] total = np.empty(self.n_rows)
        cdef bint failed = False
        components = np.asarray(<int32_t[:self.n_pairs]>self.pair_component) if self.n_pairs else np.empty(0, np.int32)
        # Rows of one component one after the other find its plan in the cache.
        order = np.argsort(components, kind="stable")
        if codes.shape[0] != self.n_rows:
            raise ValueError(f"{codes.shape[0]} rows of codes for {self.n_rows} rows of the last find")
        for i in range(self.n_pairs):
            if self.pair_component[i] >= 0:
                self.get_plan(self.pair_component[i])
        with nogil:
            for i in range(self.n_pairs):
                c = self.pair_component[order[i]]
                q = self.pair_row[order[i]]
                first = q * self.n_repeats
                if c < 0:
                    for r in range(first, first + self.n_repeats):
                        values[order[i]] = self._answer_single(
                            <int32_t>(-1 - c), &codes[q, 0], kind, NULL if uniforms is None else &uniforms[r, 0],
                            NULL if states is None else &states[r, 0],
                            NULL if probabilities is None or columns[-1 - c] < 0
                            else &probabilities[r, columns[-1 - c]],
                        )
                    continue
                if self.reserve(self.plans[c]) < 0:
                    failed = True
                    break
                value = pass_up(&self.network, self.plans[c], &codes[q, 0], &self.scratch)
                values[order[i]] = value
                if value == -INFINITY:
                    continue
                if states is not None:
                    for r in range(first, first + self.n_repeats):
                        trace_states(
                            &self.network, self.plans[c], NULL if uniforms is None else &uniforms[r, 0], &self.scratch
                        )
                        for v in range(self.plans[c].n_hidden):
                            states[r, self.plans[c].hidden[v]] = self.scratch.states[v]
                if probabilities is not None:
                    pass_down(&self.network, self.plans[c], &self.scratch)
                    for r in range(first, first + self.n_repeats):
                        self._write_marginals(self.plans[c], &probabilities[r, 0], &columns[0])
            for q in range(self.n_rows):
                total[q] = self.constants[q]
            for i in range(self.n_pairs):
                total[self.pair_row[i]] += values[i]
        if failed:
            raise MemoryError
        return np.repeat(total, self.n_repeats) if self.n_repeats > 1 else np.asarray(total)

    def answer_query(self, const int32_t[::1] codes, Py_ssize_t number):
        """Return the logarithm of a component's sum or maximum, and its answer.

        For a query: the joint distribution of its variables. For the marginal MAP: a state of each of them.
        """
        cdef Plan *plan = self.get_plan(number)
        cdef int32_t *record = self.pool + self.records[number]
        cdef Py_ssize_t i, n_query = record[3]
        cdef double value
        if self.reserve(plan) < 0:
            raise MemoryError
        value = pass_up(&self.network, plan, &codes[0], &self.scratch)
        if value == -INFINITY:
            return value, None
        if record[0] == QUERY:
            return value, self._copy_joint(plan)
        trace_states(&self.network, plan, NULL, &self.scratch)
        place = {plan.hidden[i]: self.scratch.states[i] for i in range(plan.n_hidden)}
        return value, [place[record[4 + plan.n_hidden + plan.n_families + i]] for i in range(n_query)]

    cdef _copy_joint(self, const Plan *plan):
        # The table of a query's bucket, after a pass up, scaled to the sum 1.
        cdef const Bucket *b = plan.buckets + plan.n_buckets - 1
        cdef const double *table = self.scratch.up + b.message
        cdef double total = 0.0
        cdef Py_ssize_t r
        answer = np.empty(b.n_rows)
        cdef double[::1] joint = answer
        for r in range(b.n_rows):
            total += table[r]
        for r in range(b.n_rows):
            joint[r] = table[r] / total
        return answer

    cdef double _multiply_single(self, int32_t v, const int32_t *codes, bint careful) noexcept nogil:
        # The product of the families of one variable into `single`; if careful, it is scaled after every family, and
        # the logarithm of what was divided out is returned.
        cdef Network *g = &self.network
        cdef Py_ssize_t card = g.cards[v], j, y
        cdef int64_t cell, step
        cdef int32_t f
        cdef double scale = 0.0
        for j in range(card):
            self.single[j] = 1.0
        for y in range(g.holder_starts[v], g.holder_starts[v + 1]):
            f = g.holders[y]
            if not g.active[f]:
                continue
            cell = find_cell(g, f, v, codes, &step)
            for j in range(card):
                self.single[j] *= g.values[cell + j * step]
            if careful:
                scale += scale_to_one(self.single, card, 1)
        return scale

    cdef double _answer_single(
        self, int32_t v, const int32_t *codes, Kind kind, const double *uniforms, int32_t *states,
        double *probabilities
    ) noexcept nogil:
        # A component of one variable: the product of its families.
        cdef Py_ssize_t card = self.network.cards[v], j, best
        cdef double total, scale = self._multiply_single(v, codes, False)
        cdef double *p = self.single
        if is_unsafe(find_largest(p, card)):
            scale = self._multiply_single(v, codes, True)
        total = p[0]
        best = 0
        for j in range(1, card):
            total += p[j]
            if p[j] > p[best]:
                best = j
        if total == 0.0:
            return -INFINITY
        if states != NULL:
            if uniforms != NULL:
                best = draw_state(p, card, 1, uniforms[v] * total)
            states[v] = <int32_t>best
        if probabilities != NULL:
            for j in range(card):
                probabilities[j] = p[j] / total
        return scale + (log(p[best]) if kind == MAXIMISE else log(total))

    cdef void _write_marginals(self, const Plan *plan, double *row, const int64_t *columns) noexcept nogil:
        cdef Py_ssize_t s, j, r
        cdef double total
        cdef const double *line
        for s in range(plan.n_buckets):
            if columns[plan.hidden[plan.buckets[s].variable]] < 0:
                continue
            for j in range(plan.buckets[s].card):
                line = self.scratch.tables + plan.buckets[s].table + j * plan.buckets[s].n_rows
                total = 0.0
                for r in range(plan.buckets[s].n_rows):
                    total += line[r]
                row[columns[plan.hidden[plan.buckets[s].variable]] + j] = total
