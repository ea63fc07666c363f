# The inverse of a small square submatrix of a symmetric matrix; rows and columns are exchanged one by one.
#
# B = (R + ridge I)[rows, columns], k x k; M = B^-1 is stored in full: M[b, a] belongs to column variable b and row
# constraint a. An exchange is a rank-one update of M, 2 k^2 operations. `invert` recomputes M from the matrix by
# elimination with partial pivoting, 2 k^3. No function needs the GIL; failures are return values.

from libc.math cimport fabs
from libc.stddef cimport ptrdiff_t, size_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from _dense cimport pgmx_axpy, pgmx_combine_rows, pgmx_dot


cdef struct Basis:
    const double *matrix      # (p, p) symmetric
    ptrdiff_t p
    double ridge
    ptrdiff_t k               # number of active variables, equal to the number of active constraints
    ptrdiff_t capacity        # number of rows for which M has memory, and its stride
    int *variables            # (p,) the first k are the columns of B
    int *constraints          # (p,) the first k are the rows of B
    int *iota                 # (p,) 0, 1, 2, ...
    double *inverse           # (capacity, capacity)
    double *scratch           # (capacity, capacity), allocated when a basis is first inverted again
    double *cross             # (p,) entries of the matrix that border B
    double *image             # (p,) M times those


cdef inline bint reserve_basis(Basis *basis, ptrdiff_t k) noexcept nogil:
    # Allocates memory for k rows and keeps M; False if memory is exhausted.
    cdef double *fresh
    cdef ptrdiff_t capacity, b
    if k <= basis.capacity:
        return True
    capacity = (2 * k + 31) // 32 * 32
    if capacity > (basis.p + 7) // 8 * 8:
        capacity = (basis.p + 7) // 8 * 8
    fresh = <double *>malloc(<size_t>(capacity * capacity) * sizeof(double))
    if fresh == NULL:
        return False
    for b in range(basis.k):
        memcpy(fresh + b * capacity, basis.inverse + b * basis.capacity, <size_t>basis.k * sizeof(double))
    free(basis.inverse)
    free(basis.scratch)
    basis.scratch = NULL
    basis.inverse = fresh
    basis.capacity = capacity
    return True


cdef inline double entry(const Basis *basis, ptrdiff_t i, ptrdiff_t j) noexcept nogil:
    return basis.matrix[i * basis.p + j] + (basis.ridge if i == j else 0.0)


cdef inline void combine(
    const Basis *basis, const int *which, const double *weights, ptrdiff_t k, double *out
) noexcept nogil:
    # out (p,) = (R + ridge I)[:, which] weights.
    cdef ptrdiff_t a
    pgmx_combine_rows(basis.matrix, basis.p, which, weights, k, basis.p, out)
    if basis.ridge != 0.0:
        for a in range(k):
            out[which[a]] += basis.ridge * weights[a]


cdef inline void apply_inverse(const Basis *basis, const double *x, double *out) noexcept nogil:
    # out[b] = sum_a M[b, a] x[a], indexed by variables.
    cdef ptrdiff_t b
    for b in range(basis.k):
        out[b] = pgmx_dot(basis.inverse + b * basis.capacity, x, basis.k)


cdef inline void apply_transposed(const Basis *basis, const double *x, double *out) noexcept nogil:
    # out[a] = sum_b M[b, a] x[b], indexed by constraints.
    pgmx_combine_rows(basis.inverse, basis.capacity, basis.iota, x, basis.k, basis.k, out)


cdef inline void border_row(const Basis *basis, ptrdiff_t constraint, double *out) noexcept nogil:
    cdef ptrdiff_t b
    for b in range(basis.k):
        out[b] = entry(basis, constraint, basis.variables[b])


cdef inline void border_column(const Basis *basis, ptrdiff_t variable, double *out) noexcept nogil:
    cdef ptrdiff_t a
    for a in range(basis.k):
        out[a] = entry(basis, basis.constraints[a], variable)


cdef inline bint basis_grow(Basis *basis, ptrdiff_t constraint, ptrdiff_t variable, const double *w) noexcept nogil:
    # Adds one row and one column; w = B[constraint, :] M. False if memory is exhausted.
    cdef ptrdiff_t k = basis.k, b
    cdef double pivot
    if not reserve_basis(basis, k + 1):
        return False
    border_column(basis, variable, basis.cross)
    apply_inverse(basis, basis.cross, basis.image)
    pivot = entry(basis, constraint, variable) - pgmx_dot(w, basis.cross, k)
    cdef double *last = basis.inverse + k * basis.capacity
    for b in range(k):
        pgmx_axpy(basis.image[b] / pivot, w, basis.inverse + b * basis.capacity, k)
        basis.inverse[b * basis.capacity + k] = -basis.image[b] / pivot
        last[b] = -w[b] / pivot
    last[k] = 1.0 / pivot
    basis.variables[k] = <int>variable
    basis.constraints[k] = <int>constraint
    basis.k = k + 1
    return True


cdef inline void basis_replace_constraint(
    Basis *basis, ptrdiff_t a, ptrdiff_t constraint, double *w
) noexcept nogil:
    # Row a of B is replaced by the row of `constraint`; w = B[constraint, :] M is overwritten.
    cdef ptrdiff_t k = basis.k, b
    cdef double pivot = w[a]
    cdef double *row
    w[a] -= 1.0
    for b in range(k):
        row = basis.inverse + b * basis.capacity
        pgmx_axpy(-row[a] / pivot, w, row, k)
    basis.constraints[a] = <int>constraint


cdef inline void basis_replace_variable(Basis *basis, ptrdiff_t b, ptrdiff_t variable) noexcept nogil:
    cdef ptrdiff_t k = basis.k, other, a
    cdef double *row = basis.inverse + b * basis.capacity
    border_column(basis, variable, basis.cross)
    apply_inverse(basis, basis.cross, basis.image)
    for a in range(k):
        row[a] /= basis.image[b]
    for other in range(k):
        if other != b:
            pgmx_axpy(-basis.image[other], row, basis.inverse + other * basis.capacity, k)
    basis.variables[b] = <int>variable


cdef inline void basis_shrink(Basis *basis, ptrdiff_t b, ptrdiff_t a) noexcept nogil:
    # Removes variable b and constraint a; the last ones move to their places.
    cdef ptrdiff_t k = basis.k, last = k - 1, other
    cdef double *gone = basis.inverse + b * basis.capacity
    cdef double *row
    cdef double pivot = gone[a]
    for other in range(k):
        if other != b:
            row = basis.inverse + other * basis.capacity
            pgmx_axpy(-row[a] / pivot, gone, row, k)
    if b != last:
        memcpy(gone, basis.inverse + last * basis.capacity, <size_t>k * sizeof(double))
        basis.variables[b] = basis.variables[last]
    if a != last:
        for other in range(last):
            basis.inverse[other * basis.capacity + a] = basis.inverse[other * basis.capacity + last]
        basis.constraints[a] = basis.constraints[last]
    basis.k = last


cdef inline ptrdiff_t largest_below(const double *work, ptrdiff_t stride, ptrdiff_t k, ptrdiff_t c) noexcept nogil:
    cdef ptrdiff_t r, found = c
    for r in range(c + 1, k):
        if fabs(work[r * stride + c]) > fabs(work[found * stride + c]):
            found = r
    return found


cdef inline void swap_rows(double *work, ptrdiff_t stride, ptrdiff_t k, ptrdiff_t i, ptrdiff_t j) noexcept nogil:
    cdef ptrdiff_t c
    cdef double held
    if i != j:
        for c in range(k):
            held = work[i * stride + c]
            work[i * stride + c] = work[j * stride + c]
            work[j * stride + c] = held


cdef inline bint basis_invert(Basis *basis) noexcept nogil:
    # Computes M from the matrix itself; False if B is singular to working precision, or memory is exhausted.
    cdef ptrdiff_t k = basis.k, stride = basis.capacity, a, c, r
    cdef double *work
    cdef double *M = basis.inverse
    cdef double pivot, factor
    if basis.scratch == NULL:
        basis.scratch = <double *>malloc(<size_t>(stride * stride) * sizeof(double))
        if basis.scratch == NULL:
            return False
    work = basis.scratch
    for a in range(k):
        border_row(basis, basis.constraints[a], work + a * stride)
        memset(M + a * stride, 0, <size_t>k * sizeof(double))
        M[a * stride + a] = 1.0
    for c in range(k):
        r = largest_below(work, stride, k, c)
        pivot = work[r * stride + c]
        if fabs(pivot) < 1e-14:
            return False
        swap_rows(work, stride, k, c, r)
        swap_rows(M, stride, k, c, r)
        for a in range(c, k):
            work[c * stride + a] /= pivot
        for a in range(k):
            M[c * stride + a] /= pivot
        for r in range(k):
            factor = work[r * stride + c]
            if r != c and factor != 0.0:
                pgmx_axpy(-factor, work + c * stride + c, work + r * stride + c, k - c)
                pgmx_axpy(-factor, M + c * stride, M + r * stride, k)
    return True
