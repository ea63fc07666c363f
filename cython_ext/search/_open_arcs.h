/* The largest of the gains that a set of bits marks, chosen once at run time.
 *
 *   pgmx_open_max    the largest gain, -inf if no bit is set
 *   pgmx_open_first  the marked position of a given gain that comes first in `priority`, -1 if there is none
 *
 * `open` holds a bit for each of n gains, and none beyond. All levels give the same results. Nothing here allocates or
 * fails; after pgmx_open_select it is safe to call from any number of threads.
 */
#ifndef PGMX_OPEN_ARCS_H
#define PGMX_OPEN_ARCS_H

#include <math.h>

#include "_simd.h"

static double pgmx_open_max_plain(const double *gains, const uint64_t *open, ptrdiff_t n) {
    double most = -INFINITY;
    for (ptrdiff_t first = 0; first < n; first += 64)
        for (uint64_t word = open[first / 64]; word; word &= word - 1) {
            const double gain = gains[first + pgmx_lowest_bit(word)];
            most = gain > most ? gain : most;
        }
    return most;
}

PGMX_INLINE ptrdiff_t pgmx_open_earlier(ptrdiff_t u, ptrdiff_t best, const int64_t *priority) {
    return best < 0 || priority[u] < priority[best] ? u : best;
}

static ptrdiff_t pgmx_open_first_plain(const double *gains, const uint64_t *open, ptrdiff_t n, double gain,
                                       const int64_t *priority) {
    ptrdiff_t best = -1;
    for (ptrdiff_t first = 0; first < n; first += 64)
        for (uint64_t word = open[first / 64]; word; word &= word - 1) {
            const ptrdiff_t u = first + pgmx_lowest_bit(word);
            if (gains[u] == gain) best = pgmx_open_earlier(u, best, priority);
        }
    return best;
}

#if PGMX_X86_DISPATCH

PGMX_INLINE __mmask8 pgmx_open_mask(const uint64_t *open, ptrdiff_t i) {
    return (__mmask8)(open[i / 64] >> (i % 64));
}

PGMX_TARGET("avx512f")
static double pgmx_open_max_avx512(const double *gains, const uint64_t *open, ptrdiff_t n) {
    __m512d most = _mm512_set1_pd(-INFINITY);
    for (ptrdiff_t i = 0; i < n; i += 8)
        most = _mm512_max_pd(_mm512_mask_loadu_pd(_mm512_set1_pd(-INFINITY), pgmx_open_mask(open, i), gains + i), most);
    return _mm512_reduce_max_pd(most);
}

PGMX_TARGET("avx512f")
static ptrdiff_t pgmx_open_first_avx512(const double *gains, const uint64_t *open, ptrdiff_t n, double gain,
                                        const int64_t *priority) {
    const __m512d wanted = _mm512_set1_pd(gain);
    ptrdiff_t best = -1;
    for (ptrdiff_t i = 0; i < n; i += 8) {
        const __mmask8 mask = pgmx_open_mask(open, i);
        unsigned bits = _mm512_mask_cmp_pd_mask(mask, _mm512_maskz_loadu_pd(mask, gains + i), wanted, _CMP_EQ_OQ);
        for (; bits; bits &= bits - 1) best = pgmx_open_earlier(i + pgmx_lowest_bit(bits), best, priority);
    }
    return best;
}

#endif /* PGMX_X86_DISPATCH */

PGMX_UNUSED static double (*pgmx_open_max)(const double *, const uint64_t *, ptrdiff_t) = pgmx_open_max_plain;
PGMX_UNUSED static ptrdiff_t (*pgmx_open_first)(const double *, const uint64_t *, ptrdiff_t, double,
                                                const int64_t *) = pgmx_open_first_plain;

PGMX_UNUSED static void pgmx_open_select(int level) { /* level <= pgmx_simd_best() */
    pgmx_open_max = pgmx_open_max_plain;
    pgmx_open_first = pgmx_open_first_plain;
#if PGMX_X86_DISPATCH
    if (level == PGMX_AVX512) {
        pgmx_open_max = pgmx_open_max_avx512;
        pgmx_open_first = pgmx_open_first_avx512;
    }
#else
    (void)level;
#endif
}

#endif /* PGMX_OPEN_ARCS_H */
