/* Passes over dense vectors of doubles, chosen once at run time.
 *
 *   pgmx_dot            sum of x[i] y[i]
 *   pgmx_axpy           y += a x
 *   pgmx_combine_rows   out = sum_a w[a] S[idx[a], :], the workhorse: rows are streamed eight at a time
 *   pgmx_abs_max        max |x[i]|
 *   pgmx_beyond         the indices i with |x[i] - y[i]| > bound, ascending
 *   pgmx_move_into_box  row = x clipped into [centre - radius, centre + radius]; weighted squares of the changes
 *
 * Sums run over PGMX_LANES partial sums, element i in number i mod PGMX_LANES, which are then folded in one fixed
 * order, and nothing is fused: all levels of _simd.h give the same bits (avx2 and avx512 have bodies of their own).
 * NaN in the input of pgmx_abs_max and pgmx_beyond counts as not large. Nothing here allocates or fails, no alignment
 * is needed, and after pgmx_dense_select all functions are safe to call from any number of threads.
 */
#ifndef PGMX_DENSE_H
#define PGMX_DENSE_H

#include <math.h>

#include "_simd.h"

#define PGMX_LANES 16

PGMX_INLINE double pgmx_fold_lanes(const double *lane) {
    double half[PGMX_LANES / 2];
    for (int k = 0; k < 8; k++) half[k] = lane[k] + lane[k + 8];
    for (int k = 0; k < 4; k++) half[k] += half[k + 4];
    return (half[0] + half[2]) + (half[1] + half[3]);
}

/* ---- any processor ---- */

PGMX_UNUSED static double pgmx_dot_plain(const double *x, const double *y, ptrdiff_t n) {
    double lane[PGMX_LANES] = {0};
    ptrdiff_t whole = n - n % PGMX_LANES, i = 0;
    for (; i < whole; i += PGMX_LANES)
        for (int k = 0; k < PGMX_LANES; k++) lane[k] += x[i + k] * y[i + k];
    for (; i < n; i++) lane[i - whole] += x[i] * y[i];
    return pgmx_fold_lanes(lane);
}

PGMX_UNUSED static void pgmx_axpy_plain(double a, const double *x, double *y, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i++) y[i] += a * x[i];
}

/* G rows, added one after the other to `out`, or to zero. */
PGMX_INLINE void pgmx_rows_plain(const double *const *row, const double *w, ptrdiff_t first, ptrdiff_t n, double *out,
                                 const int keep, const int G) {
    for (ptrdiff_t i = first; i < n; i++) {
        double sum = keep ? out[i] + w[0] * row[0][i] : w[0] * row[0][i];
        for (int g = 1; g < G; g++) sum += w[g] * row[g][i];
        out[i] = sum;
    }
}

/* The order of the rows, the same for all levels; NAME##_rows processes G of them. */
#define PGMX_COMBINE(NAME)                                                                                             \
    static void pgmx_combine_rows_##NAME(const double *S, ptrdiff_t stride, const int *idx, const double *w,           \
                                         ptrdiff_t k, ptrdiff_t n, double *out) {                                      \
        const double *row[8];                                                                                          \
        ptrdiff_t a = 0;                                                                                               \
        if (k <= 0) memset(out, 0, (size_t)n * sizeof(double));                                                        \
        while (a < k) {                                                                                                \
            ptrdiff_t rest = k - a;                                                                                    \
            int g = rest >= 8 ? 8 : rest >= 4 ? 4 : rest >= 2 ? 2 : 1;                                                 \
            for (int c = 0; c < g; c++) row[c] = S + (ptrdiff_t)idx[a + c] * stride;                                   \
            switch (a == 0 ? -g : g) {                                                                                 \
                case 8: pgmx_rows_##NAME(row, w + a, 0, n, out, 1, 8); break;                                          \
                case 4: pgmx_rows_##NAME(row, w + a, 0, n, out, 1, 4); break;                                          \
                case 2: pgmx_rows_##NAME(row, w + a, 0, n, out, 1, 2); break;                                          \
                case 1: pgmx_rows_##NAME(row, w + a, 0, n, out, 1, 1); break;                                          \
                case -8: pgmx_rows_##NAME(row, w + a, 0, n, out, 0, 8); break;                                         \
                case -4: pgmx_rows_##NAME(row, w + a, 0, n, out, 0, 4); break;                                         \
                case -2: pgmx_rows_##NAME(row, w + a, 0, n, out, 0, 2); break;                                         \
                default: pgmx_rows_##NAME(row, w + a, 0, n, out, 0, 1); break;                                         \
            }                                                                                                          \
            a += g;                                                                                                    \
        }                                                                                                              \
    }

PGMX_UNUSED PGMX_COMBINE(plain)

PGMX_UNUSED static double pgmx_abs_max_plain(const double *x, ptrdiff_t n) {
    double most = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        double v = fabs(x[i]);
        most = v > most ? v : most;
    }
    return most;
}

PGMX_UNUSED static ptrdiff_t pgmx_beyond_plain(const double *x, const double *y, double bound, ptrdiff_t n, int *out) {
    ptrdiff_t found = 0;
    for (ptrdiff_t i = 0; i < n; i++)
        if (fabs(x[i] - y[i]) > bound) out[found++] = (int)i;
    return found;
}

PGMX_INLINE double pgmx_boxed(double x, double centre, double radius) {
    double low = centre - radius, high = centre + radius;
    x = x > low ? x : low;
    return x < high ? x : high;
}

PGMX_UNUSED static double pgmx_move_into_box_plain(const double *x, const double *centre, double radius,
                                                   const double *weight, double *row, ptrdiff_t n) {
    double lane[PGMX_LANES] = {0};
    for (ptrdiff_t i = 0; i < n; i++) {
        double fresh = pgmx_boxed(x[i], centre[i], radius), step = fresh - row[i];
        lane[i % PGMX_LANES] += weight[i] * step * step;
        row[i] = fresh;
    }
    return pgmx_fold_lanes(lane);
}

#if PGMX_X86_DISPATCH

#define vec __m256d
#define WIDTH 4
#define TARGET PGMX_TARGET("avx2")
#define NAME(f) f##_avx2
#define LOAD _mm256_loadu_pd
#define STORE _mm256_storeu_pd
#define ZERO _mm256_setzero_pd
#define SPLAT _mm256_set1_pd
#define ADD _mm256_add_pd
#define SUB _mm256_sub_pd
#define MUL _mm256_mul_pd
#define MAX _mm256_max_pd
#define MIN _mm256_min_pd
#define ABS(v) _mm256_andnot_pd(_mm256_set1_pd(-0.0), v)
#define ABOVE(v, b) (unsigned)_mm256_movemask_pd(_mm256_cmp_pd(v, b, _CMP_GT_OQ))
#include "_dense_body.h"
PGMX_TARGET("avx2") PGMX_COMBINE(avx2)

#define vec __m512d
#define WIDTH 8
#define TARGET PGMX_TARGET("avx512f")
#define NAME(f) f##_avx512
#define LOAD _mm512_loadu_pd
#define STORE _mm512_storeu_pd
#define ZERO _mm512_setzero_pd
#define SPLAT _mm512_set1_pd
#define ADD _mm512_add_pd
#define SUB _mm512_sub_pd
#define MUL _mm512_mul_pd
#define MAX _mm512_max_pd
#define MIN _mm512_min_pd
#define ABS _mm512_abs_pd
#define ABOVE(v, b) (unsigned)_mm512_cmp_pd_mask(v, b, _CMP_GT_OQ)
#include "_dense_body.h"
PGMX_TARGET("avx512f") PGMX_COMBINE(avx512)

#endif /* PGMX_X86_DISPATCH */

/* ---- selection ---- */

PGMX_UNUSED static double (*pgmx_dot)(const double *, const double *, ptrdiff_t) = pgmx_dot_plain;
PGMX_UNUSED static void (*pgmx_axpy)(double, const double *, double *, ptrdiff_t) = pgmx_axpy_plain;
PGMX_UNUSED static void (*pgmx_combine_rows)(const double *, ptrdiff_t, const int *, const double *, ptrdiff_t,
                                             ptrdiff_t, double *) = pgmx_combine_rows_plain;
PGMX_UNUSED static double (*pgmx_abs_max)(const double *, ptrdiff_t) = pgmx_abs_max_plain;
PGMX_UNUSED static ptrdiff_t (*pgmx_beyond)(const double *, const double *, double, ptrdiff_t,
                                            int *) = pgmx_beyond_plain;
PGMX_UNUSED static double (*pgmx_move_into_box)(const double *, const double *, double, const double *, double *,
                                                ptrdiff_t) = pgmx_move_into_box_plain;

PGMX_UNUSED static void pgmx_dense_select(int level) { /* level <= pgmx_simd_best() */
#if PGMX_X86_DISPATCH
#define PGMX_DENSE_USE(suffix)                         \
    pgmx_dot = pgmx_dot_##suffix;                      \
    pgmx_axpy = pgmx_axpy_##suffix;                    \
    pgmx_combine_rows = pgmx_combine_rows_##suffix;    \
    pgmx_abs_max = pgmx_abs_max_##suffix;              \
    pgmx_beyond = pgmx_beyond_##suffix;                \
    pgmx_move_into_box = pgmx_move_into_box_##suffix;
    if (level == PGMX_AVX512) {
        PGMX_DENSE_USE(avx512)
    } else if (level == PGMX_AVX2) {
        PGMX_DENSE_USE(avx2)
    } else {
        PGMX_DENSE_USE(plain)
    }
#undef PGMX_DENSE_USE
#else
    (void)level;
#endif
}

#endif /* PGMX_DENSE_H */
