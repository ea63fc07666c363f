# Vector kernels of _sincos.h and the rule by which a module selects their level.

from libc.stddef cimport ptrdiff_t

from _simd cimport select_simd_level


cdef extern from "_sincos.h" nogil:
    const int PGMX_TILE
    void pgmx_sincos(const double *a, double *s, double *c, ptrdiff_t n)
    void pgmx_project(const double *x, ptrdiff_t n_rows, ptrdiff_t d, const double *v, ptrdiff_t width, double *a)
    double pgmx_dot(const double *a, const double *b, ptrdiff_t n)
    void pgmx_shift(double *a, const double *b, double keep, double g, ptrdiff_t n)
    int pgmx_feature_best()
    void pgmx_feature_select(int level)


cdef inline int select_feature_level() except -1:
    # PGMX_SIMD forces a level here too; a level that this header does not have becomes the next lower one.
    cdef int level = select_simd_level()
    cdef int best = pgmx_feature_best()
    level = level if level < best else best
    pgmx_feature_select(level)
    return level
