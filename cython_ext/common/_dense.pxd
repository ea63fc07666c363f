# Vector passes of _dense.h and the one rule by which a module selects their level.

from libc.stddef cimport ptrdiff_t

from _simd cimport select_simd_level


cdef extern from "_dense.h" nogil:
    double pgmx_dot(const double *x, const double *y, ptrdiff_t n)
    void pgmx_axpy(double a, const double *x, double *y, ptrdiff_t n)
    void pgmx_combine_rows(
        const double *S, ptrdiff_t stride, const int *idx, const double *w, ptrdiff_t k, ptrdiff_t n, double *out
    )
    double pgmx_abs_max(const double *x, ptrdiff_t n)
    ptrdiff_t pgmx_beyond(const double *x, const double *y, double bound, ptrdiff_t n, int *out)
    double pgmx_move_into_box(
        const double *x, const double *centre, double radius, const double *weight, double *row, ptrdiff_t n
    )
    void pgmx_dense_select(int level)


cdef inline int select_dense_level() except -1:
    # Call once when the module is imported; PGMX_SIMD has its meaning of _simd.pxd.
    level = select_simd_level()
    pgmx_dense_select(level)
    return level
