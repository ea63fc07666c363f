# The base of the compiled scorers. It is next to the built kernels because Cython imports a shared class by the name
# under which it was cimported, which must therefore be the full name: `from pgmx._ext._scorer cimport Scorer`.

from libc.math cimport rint
from libc.stdint cimport int64_t, uint8_t

from _buffers cimport Buffer


cdef enum:
    MAX_CELLS_LOG2 = 62         # a family that could have more cells than 2^62 has no cell number
    TABLE_MEMORY = 1 << 25      # bytes of float64: a candidate with a larger table gets cells of its own
    ALL = -1                    # wanted: all candidates that the family has in a row of gains


cdef inline void insert_parent(int *wider, const int *parents, Py_ssize_t k, Py_ssize_t u) noexcept nogil:
    # Writes the k ascending parents and u, ascending.
    cdef Py_ssize_t i = k
    while i > 0 and parents[i - 1] > u:
        wider[i] = parents[i - 1]
        i -= 1
    wider[i] = <int>u
    while i > 0:  # no memcpy: parents is NULL if there are none
        i -= 1
        wider[i] = parents[i]


cdef inline void charge_sizes(
    const double *costs, Py_ssize_t n, const int *parents, Py_ssize_t k, double *gains
) noexcept nogil:
    # Subtracts from a row of gains what the changed number of parents costs. A deletion returns exactly what the
    # addition costs, so that opposite moves keep opposite gains.
    cdef double more = costs[k + 1] - costs[k] if k + 1 < n else 0.0
    cdef Py_ssize_t u, i = 0
    for u in range(n):
        if i < k and parents[i] == u:
            gains[u] += costs[k] - costs[k - 1]
            i += 1
        else:
            gains[u] -= more


cdef struct Family:
    Py_ssize_t child, k
    const int *parents          # k of them, ascending
    Py_ssize_t n_wanted         # candidates whose tables are wanted with the cells, or ALL
    const int *wanted           # NULL if these are none or all


cdef class Scorer:
    cdef readonly Py_ssize_t n
    cdef public Py_ssize_t max_indegree     # may be set between calls
    cdef double *alone                      # scores of the families without parents
    cdef const uint8_t *allowed             # (n, n), NULL if all arcs are allowed
    cdef double unit                        # rounded gains are multiples of 1 / unit
    cdef object names, owners, mask         # names for messages; the other two keep borrowed arrays alive
    cdef readonly bint is_far               # whether workers send the counts, so that `expect` saves time
    cdef Buffer listed                      # families to be requested, then their parents
    cdef Py_ssize_t lone                    # the only variable whose pairs are requested, -1 for all variables
    cdef const double *size_costs           # of 0 to n - 1 parents, in addition to their parameters; NULL: nothing
    cdef object size_cost_array

    cdef int set_up(self, Py_ssize_t n, const uint8_t[:, ::1] allowed, Py_ssize_t max_indegree, names) except -1
    cdef void choose_unit(self, double finest) noexcept
    cdef int refuse_cells(self, Py_ssize_t child, Py_ssize_t k, double q) except -1 with gil
    cdef int row_without_parents(self, Py_ssize_t child, double *gains) except -1 nogil
    cdef const Family *list_wider(
        self, Py_ssize_t child, const int *parents, Py_ssize_t k, const int *added, Py_ssize_t n
    ) except NULL nogil
    cdef Py_ssize_t list_candidates(
        self, const Family *family, Py_ssize_t first, const int64_t *cards, double cells, double most, int *wanted,
        double *n_bytes
    ) noexcept nogil
    cdef void go_to_next_pair(self, Py_ssize_t *a, Py_ssize_t *b) noexcept nogil

    # defined by subclasses, without the costs of sizes; all other code calls `score_family` and `compute_row`
    cdef double score_terms(self, Py_ssize_t child, const int *parents, Py_ssize_t k) except? -1 nogil
    cdef double fill_gains(self, Py_ssize_t child, const int *parents, Py_ssize_t k, double *gains) except? -1 nogil
    cdef int expect(self, const Family *families, Py_ssize_t n_needed, Py_ssize_t n) except -1 nogil
    cdef bint has_own_rows(self, Py_ssize_t child) noexcept nogil
    cdef int prepare_pairs(self, Py_ssize_t a) except -1 nogil
    cdef int pair_gains(self, Py_ssize_t a, Py_ssize_t b, double *of_a, double *of_b) except -1 nogil

    cdef inline bint is_allowed(self, Py_ssize_t child, Py_ssize_t parent) noexcept nogil:
        return self.allowed == NULL or self.allowed[child * self.n + parent]

    cdef inline double round_gain(self, double gain) noexcept nogil:
        return rint(gain * self.unit) / self.unit

    cdef inline double step_cost(self, Py_ssize_t k) noexcept nogil:
        # What the number of parents costs more with k + 1 than with k parents.
        return self.size_costs[k + 1] - self.size_costs[k] if self.size_costs != NULL and k + 1 < self.n else 0.0

    cdef inline double score_family(self, Py_ssize_t child, const int *parents, Py_ssize_t k) except? -1 nogil:
        cdef double score = self.score_terms(child, parents, k)
        return score if self.size_costs == NULL else score - self.size_costs[k]

    cdef inline double compute_row(
        self, Py_ssize_t child, const int *parents, Py_ssize_t k, double *gains
    ) except? -1 nogil:
        # Fills the gains of a child and returns its family score.
        cdef double score = self.fill_gains(child, parents, k, gains)
        if self.size_costs == NULL:
            return score
        charge_sizes(self.size_costs, self.n, parents, k, gains)
        return score - self.size_costs[k]
