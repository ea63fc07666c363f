# Tables and equations of a block of missing values: a junction tree, with continuous variables integrated out.

from libc.math cimport INFINITY, exp, log, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset


cdef struct Clique:
    Py_ssize_t n_vars, n_shared, parent       # the first n_shared variables are shared with the parent
    Py_ssize_t size, shared_size              # number of cells, of all and of the shared variables
    const int64_t *vars
    int32_t *above                            # cell of the parent -> cell of the shared variables
    double *table

cdef struct Family:                           # a discrete family
    Py_ssize_t v, clique
    Py_ssize_t base                           # cell of the row's observed states
    int32_t *places                           # cell of the clique -> cell of the family, from `base` on

cdef struct Member:                           # a continuous family
    Py_ssize_t v, base
    int32_t *places                           # configuration of the component -> configuration of the family

cdef struct Component:
    Py_ssize_t n_members, n_floats, n_scope, clique, n_cells
    Member *members
    const int64_t *floats
    const int64_t *scope
    int32_t *places                           # cell of the clique -> configuration
    double *evidence                          # per configuration
    double *shares
    double *means                             # (configurations, continuous variables)
    double *roots                             # (configurations, n_floats, n_floats), upper triangular


cdef inline void list_places(
    Py_ssize_t n_vars, const int64_t *cards, const int64_t *strides, int32_t *places
) noexcept nogil:
    """List sum_k x_k strides_k for all x, the last variable the fastest."""
    cdef Py_ssize_t k, i, x, count = 1
    places[0] = 0
    for k in range(n_vars - 1, -1, -1):
        for x in range(1, cards[k]):
            for i in range(count):
                places[x * count + i] = places[i] + <int32_t>(x * strides[k])
        count *= cards[k]


cdef inline double solve_least_squares(
    double *a, Py_ssize_t m, Py_ssize_t k, double *mean, double *root
) noexcept nogil:
    # a (m, k + 1) = [J t], J of full rank, is overwritten; root = R^-1 with J = QR, mean = R^-1 Q't.
    # Returns the residual sum of squares, and twice the logarithm of |det R|.
    cdef Py_ssize_t i, j, c, width = k + 1
    cdef double norm, head, dot, rest = 0.0
    for j in range(k):
        norm = 0.0
        for i in range(j, m):
            norm += a[i * width + j] * a[i * width + j]
        norm = sqrt(norm)
        head = a[j * width + j]
        if head > 0.0:
            norm = -norm
        a[j * width + j] = head - norm        # the vector of the reflection; its square is -2 norm (head - norm)
        for c in range(j + 1, width):
            dot = 0.0
            for i in range(j, m):
                dot += a[i * width + j] * a[i * width + c]
            dot /= norm * (head - norm)
            for i in range(j, m):
                a[i * width + c] += dot * a[i * width + j]
        a[j * width + j] = norm
        rest += 2.0 * log(-norm if norm < 0.0 else norm)
    for i in range(k, m):
        rest += a[i * width + k] * a[i * width + k]
    memset(root, 0, k * k * sizeof(double))
    for c in range(k):
        root[c * k + c] = 1.0 / a[c * width + c]
        for i in range(c - 1, -1, -1):
            dot = 0.0
            for j in range(i + 1, c + 1):
                dot += a[i * width + j] * root[j * k + c]
            root[i * k + c] = -dot / a[i * width + i]
    for i in range(k):
        mean[i] = 0.0
        for j in range(i, k):
            mean[i] += root[i * k + j] * a[j * width + k]
    return rest


cdef inline double collect(Clique *cliques, Py_ssize_t n_cliques, double *message) noexcept nogil:
    """Convert logarithms to the distribution of each clique given its shared variables; return the log of their sum.

    If the sum is 0, its logarithm is -inf and the tables are 0.
    """
    cdef Py_ssize_t c, s, i, rest
    cdef double top, sums, total = 0.0
    cdef double *cells
    cdef Clique *clique
    cdef Clique *parent
    for c in range(n_cliques - 1, -1, -1):
        clique = &cliques[c]
        rest = clique.size // clique.shared_size
        for s in range(clique.shared_size):
            cells = clique.table + s * rest
            top = -INFINITY
            for i in range(rest):
                top = max(top, cells[i])
            message[s] = -INFINITY
            sums = 0.0
            for i in range(rest):
                cells[i] = exp(cells[i] - top) if top > -INFINITY else 0.0
                sums += cells[i]
            if sums > 0.0:
                message[s] = top + log(sums)
                for i in range(rest):
                    cells[i] /= sums
        if not clique.n_shared:
            total += message[0]
            continue
        parent = &cliques[clique.parent]
        for i in range(parent.size):
            parent.table[i] += message[clique.above[i]]
    return total


cdef inline double collect_maxima(Clique *cliques, Py_ssize_t n_cliques, double *message) noexcept nogil:
    """Add to the logarithms of each clique the maxima of the cliques below it; return the maximum over all states."""
    cdef Py_ssize_t c, s, i, rest
    cdef double total = 0.0
    cdef const double *cells
    cdef Clique *clique
    cdef Clique *parent
    for c in range(n_cliques - 1, -1, -1):
        clique = &cliques[c]
        rest = clique.size // clique.shared_size
        for s in range(clique.shared_size):
            cells = clique.table + s * rest
            message[s] = -INFINITY
            for i in range(rest):
                message[s] = max(message[s], cells[i])
        if not clique.n_shared:
            total += message[0]
            continue
        parent = &cliques[clique.parent]
        for i in range(parent.size):
            parent.table[i] += message[clique.above[i]]
    return total


cdef inline void distribute(Clique *cliques, Py_ssize_t n_cliques, double *message) noexcept nogil:
    """Multiply the distribution of each clique given its shared variables by the distribution of these."""
    cdef Py_ssize_t c, s, i, rest
    cdef Clique *clique
    cdef const Clique *parent
    for c in range(n_cliques):
        clique = &cliques[c]
        if not clique.n_shared:
            continue
        rest = clique.size // clique.shared_size
        parent = &cliques[clique.parent]
        memset(message, 0, clique.shared_size * sizeof(double))
        for i in range(parent.size):
            message[clique.above[i]] += parent.table[i]
        for s in range(clique.shared_size):
            for i in range(rest):
                clique.table[s * rest + i] *= message[s]


cdef inline void share(Component *component, const Clique *cliques) noexcept nogil:
    """Compute the distribution of the configurations of a component."""
    cdef Py_ssize_t i
    cdef const Clique *clique
    if component.clique < 0:
        component.shares[0] = 1.0
        return
    clique = &cliques[component.clique]
    memset(component.shares, 0, component.n_cells * sizeof(double))
    for i in range(clique.size):
        component.shares[component.places[i]] += clique.table[i]
