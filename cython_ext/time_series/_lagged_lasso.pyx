"""Lasso, least squares and stochastic descent of many targets on the same predictors.

Problem: every target i has the lasso of _inner_lasso.pxd on one symmetric M, here without an excluded variable:

    minimise 1/2 b' M b - s_i' b + lam ||b||_1

With M = X'X / T and s_i = X'y_i / T this is ||y_i - X b||^2 / 2T + lam ||b||_1 minus a constant.
Algorithm: the active sets of _inner_lasso.pxd, in steps from the penalty at which all coefficients are zero down to
lam, so that few variables enter and leave again. Forbidden variables have NaN in s_i, which never counts as a
violation.
`descend` is the stochastic subgradient descent of algorithm 3 of the reference on half the square, started at zero.
Reference: Chaabene (2017), thesis, Virginia Tech, section 2.1.3.
Cost: k p per target with k non-zeros; `descend`: 4 p per step and target.
Thread-safety: all arrays except those marked "out" are only read; the GIL is released.
"""

from libc.math cimport copysign
from libc.stdint cimport int64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

import numpy as np

from _dense cimport pgmx_abs_max, pgmx_axpy, pgmx_dot, select_dense_level
from _inner_lasso cimport Lasso, Rows, fit_column, fit_neighbors, free_lasso, open_lasso
from _sparse_rows cimport Sparse, append, sort_support

select_dense_level()

# Ratio of successive penalties on the way to lam, and the allowed violation there as a share of the penalty.
cdef double SHRINK = 0.6
cdef double COARSE = 1e-3


def lasso_rows(
    const double[:, ::1] M,     # in: (p, p) symmetric
    const double[:, ::1] S,     # in: (m, p + 1) rows s_i, then the mean square of the target
    double lam,                 # penalty
    double slack,               # largest allowed violation of optimality
    Py_ssize_t max_rounds,      # maximum passes over the rows of M per target
):
    """Solve the lasso of each target.

    Returns (counts, places, values, solved): number of non-zeros per target, their places in ascending order and
    values, ordered by target, and whether each target was solved to `slack`.
    """
    cdef Py_ssize_t p = M.shape[0], m = S.shape[0], i, taken
    cdef Lasso z
    cdef Rows rows
    cdef Sparse solutions
    cdef bint settled = False, enough
    cdef double level
    solutions.at, solutions.values, solutions.n, solutions.capacity = NULL, NULL, 0, 0
    counts_made, solved_made = np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.uint8)
    cdef int64_t[::1] counts = counts_made
    cdef unsigned char[::1] solved = solved_made
    with nogil:
        enough = open_lasso(&z, p)
        rows.at, rows.stride, rows.size, rows.first, rows.done = &M[0, 0], p, p, 0, 0
        for i in range(m):
            if not enough:
                break
            z.n_nonzero = 0
            level = pgmx_abs_max(&S[i, 0], p)  # NaN counts as not large
            while True:
                level = max(lam, SHRINK * level)
                memcpy(z.found, z.support, z.n_nonzero * sizeof(int))
                memcpy(z.trial, z.weight, z.n_nonzero * sizeof(double))
                # fit_column excludes variable p, which is after all others
                taken = fit_column(
                    &z, &rows, &S[i, 0], p, level, slack if level <= lam else COARSE * level, max_rounds,
                    z.found, z.trial, z.n_nonzero, &settled
                )
                enough = taken >= 0
                if not enough or level <= lam:
                    break
            if enough:
                sort_support(&z)
                counts[i], solved[i] = z.n_nonzero, settled
                enough = append(&solutions, z.support, z.weight, z.n_nonzero)
        free_lasso(&z)
    try:
        if not enough:
            raise MemoryError(f"{m} solutions of {p} predictors cannot be held: solve for fewer targets at a time")
        return counts_made, *copy_entries(&solutions), solved_made.astype(bool)
    finally:
        free(solutions.at)
        free(solutions.values)


cdef tuple copy_entries(const Sparse *entries):
    places_made, values_made = np.empty(entries.n, dtype=np.int32), np.empty(entries.n)
    cdef int[::1] places = places_made
    cdef double[::1] values = values_made
    if entries.n:
        memcpy(&places[0], entries.at, entries.n * sizeof(int))
        memcpy(&values[0], entries.values, entries.n * sizeof(double))
    return places_made, values_made


def least_squares_rows(
    const double[:, ::1] M,         # in: (p, p) symmetric
    const double[:, ::1] S,         # in: (m, p) or wider
    const int64_t[::1] indptr,      # in: (m + 1,) position of the first predictor of each target
    const int[::1] places,      # in: the predictors
    double[::1] values,             # out: their coefficients
):
    """Solve M_NN b = s_N for each target and its own predictors N.

    Returns whether M_NN is positive definite to working precision, uint8 per target; otherwise `values` are not
    changed.
    """
    cdef Py_ssize_t m = S.shape[0], i, n
    cdef Lasso z
    cdef Rows rows
    cdef bint solved = False, enough
    solved_made = np.zeros(m, dtype=np.uint8)
    cdef unsigned char[::1] is_solved = solved_made
    with nogil:
        enough = open_lasso(&z, M.shape[0])
        rows.at, rows.stride, rows.size, rows.first, rows.done = &M[0, 0], M.shape[0], M.shape[0], 0, 0
        for i in range(m):
            n = indptr[i + 1] - indptr[i]
            if n == 0 or not enough:
                is_solved[i] = True
                continue
            enough = fit_neighbors(&z, &rows, &S[i, 0], &places[indptr[i]], n, &solved)
            if enough and solved:
                # fit_neighbors leaves the solution in b, including exact zeros
                memcpy(&values[indptr[i]], z.b, n * sizeof(double))
                is_solved[i] = True
        free_lasso(&z)
    if not enough:
        raise MemoryError(f"no memory for least squares over {M.shape[0]} predictors")
    return solved_made


def descend(
    const double[:, ::1] X,      # in: (T, p) predictors by rows
    const double[:, ::1] Y,      # in: (m, T) targets
    const int64_t[::1] draws,    # in: (t,) the rows, in the order of the steps
    double step,                 # length of a step
    double lam,                  # penalty
    double[:, ::1] coefs,        # in and out: (m, p)
):
    """Make one step per drawn row for each target: b += step ((y - b'x) x - lam sign(b)), with sign(0) = 0."""
    cdef Py_ssize_t p = X.shape[1], i, t, c
    cdef double error, pull = step * lam
    cdef double *b
    cdef const double *x
    with nogil:
        for i in range(Y.shape[0]):
            b = &coefs[i, 0]
            for t in range(draws.shape[0]):
                x = &X[draws[t], 0]
                error = Y[i, draws[t]] - pgmx_dot(b, x, p)
                for c in range(p):
                    if b[c] != 0:
                        b[c] -= copysign(pull, b[c])
                pgmx_axpy(step * error, x, b, p)
