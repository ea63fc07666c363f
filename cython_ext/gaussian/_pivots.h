/* Ratio tests of a parametric path: which of n bounds is reached first along a direction. Chosen once at run time.
 *
 *   pgmx_first_bound   |g_i + t v_i| <= reach_i, the smallest t >= 0 at which some i holds with equality
 *   pgmx_first_breach  |r_i - t v_i| <= lam + slack_i - t, likewise
 * A vector pass only checks, with a product, whether some lane can improve the best t so far. Quotients are computed
 * only then, a few times per call. The lowest index wins a tie. Infinite bounds are ignored.
 * Levels as in _simd.h; avx2 and avx512 have their own bodies. No function allocates or fails. After selection all
 * functions are safe to call from any number of threads.
 */
#ifndef PGMX_PIVOTS_H
#define PGMX_PIVOTS_H

#include <math.h>

#include "_simd.h"

PGMX_INLINE void pgmx_try_bound(double g, double v, double reach, double least, ptrdiff_t i, double *best,
                                ptrdiff_t *who) {
    double a = fabs(v);
    if (a > least) {
        double slack = reach - (v > 0 ? g : -g), t = (slack > 0 ? slack : 0) / a;
        if (t < *best) {
            *best = t;
            *who = i;
        }
    }
}

PGMX_INLINE void pgmx_try_breach(double r, double v, double bound, double least, ptrdiff_t i, double *best,
                                 ptrdiff_t *who, int *side) {
    for (int s = 1; s >= -1; s -= 2) {
        double closing = 1 - s * v, slack = bound - s * r;
        if (closing > least) {
            double t = (slack > 0 ? slack : 0) / closing;
            if (t < *best) {
                *best = t;
                *who = i;
                *side = s;
            }
        }
    }
}

PGMX_UNUSED static double pgmx_first_bound_plain(const double *g, const double *v, const double *reach, ptrdiff_t n,
                                                 double least, ptrdiff_t *who) {
    double best = INFINITY;
    for (ptrdiff_t i = 0; i < n; i++) {
        double a = fabs(v[i]);
        if (reach[i] - (v[i] > 0 ? g[i] : -g[i]) < best * a) pgmx_try_bound(g[i], v[i], reach[i], least, i, &best, who);
    }
    return best;
}

PGMX_UNUSED static double pgmx_first_breach_plain(const double *r, const double *v, const double *slack, ptrdiff_t n,
                                                  double lam, double least, ptrdiff_t *who, int *side) {
    double best = INFINITY;
    for (ptrdiff_t i = 0; i < n; i++) {
        double bound = lam + slack[i];
        if (bound - r[i] < best * (1 - v[i]) || bound + r[i] < best * (1 + v[i]))
            pgmx_try_breach(r[i], v[i], bound, least, i, &best, who, side);
    }
    return best;
}

#if PGMX_X86_DISPATCH

#define vec __m256d
#define LANES 4
#define TARGET PGMX_TARGET("avx2")
#define NAME(f) f##_avx2
#define LOAD _mm256_loadu_pd
#define SPLAT _mm256_set1_pd
#define ADD _mm256_add_pd
#define SUB _mm256_sub_pd
#define MUL _mm256_mul_pd
#define SIGN(x) _mm256_and_pd(x, _mm256_set1_pd(-0.0))
#define FLIP(x, sign) _mm256_xor_pd(x, sign)
#define LESS(a, b) _mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_LT_OQ))
#include "_pivots_body.h"

#define vec __m512d
#define LANES 8
#define TARGET PGMX_TARGET("avx512f")
#define NAME(f) f##_avx512
#define LOAD _mm512_loadu_pd
#define SPLAT _mm512_set1_pd
#define ADD _mm512_add_pd
#define SUB _mm512_sub_pd
#define MUL _mm512_mul_pd
#define SIGN(x)                                                                                                        \
    _mm512_castsi512_pd(_mm512_and_si512(_mm512_castpd_si512(x), _mm512_set1_epi64((long long)0x8000000000000000ULL)))
#define FLIP(x, sign) _mm512_castsi512_pd(_mm512_xor_si512(_mm512_castpd_si512(x), _mm512_castpd_si512(sign)))
#define LESS(a, b) _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ)
#include "_pivots_body.h"

#endif /* PGMX_X86_DISPATCH */

static int pgmx_pivots_level = PGMX_PLAIN;

/* Returns INFINITY, with `who` unchanged, if no bound is reached. Entries of v up to `least` count as zero. */
PGMX_UNUSED static double pgmx_first_bound(const double *g, const double *v, const double *reach, ptrdiff_t n,
                                           double least, ptrdiff_t *who) {
#if PGMX_X86_DISPATCH
    if (pgmx_pivots_level == PGMX_AVX512) return pgmx_first_bound_avx512(g, v, reach, n, least, who);
    if (pgmx_pivots_level == PGMX_AVX2) return pgmx_first_bound_avx2(g, v, reach, n, least, who);
#endif
    return pgmx_first_bound_plain(g, v, reach, n, least, who);
}

/* `side` is the sign of the residual that reaches its bound. */
PGMX_UNUSED static double pgmx_first_breach(const double *r, const double *v, const double *slack, ptrdiff_t n,
                                            double lam, double least, ptrdiff_t *who, int *side) {
#if PGMX_X86_DISPATCH
    if (pgmx_pivots_level == PGMX_AVX512) return pgmx_first_breach_avx512(r, v, slack, n, lam, least, who, side);
    if (pgmx_pivots_level == PGMX_AVX2) return pgmx_first_breach_avx2(r, v, slack, n, lam, least, who, side);
#endif
    return pgmx_first_breach_plain(r, v, slack, n, lam, least, who, side);
}

#endif /* PGMX_PIVOTS_H */
