/* Passes over the conditional distributions of one variable, chosen once at run time.
 *
 * p[a][m] is the weight of row m times the conditional probability of state a in that row, one contiguous float array
 * per state. Three passes compute the pseudolikelihood:
 *   pgmx_moments   out[a][b] = sum of p[a][m] over the rows whose neighbour has state b
 *   pgmx_shift     p[a][m] *= table[a][state of the neighbour], every row scaled back to its weight: the conditionals
 *                  after the logits moved by log table. No exponential per row.
 *   pgmx_log2_sum  sum of log2 p[own state][m]
 * Single-precision values are in units of 2^-24 of a row's weight, or of the largest weight, and each term of a sum is
 * rounded to whole units: such sums do not depend on the order of the rows or on the partitions of the table. Rounding
 * changes a mean by at most 3e-8, which is less than the single-precision error. The values of a row do not depend on
 * its position. Sums of logarithms and all sums in double precision do differ by rounding.
 * Vector bodies are for variables of at most PGMX_FEW states with codes of one byte; pgmx_*_any are for the others.
 * Levels as in _simd.h, avx2 and avx512 have bodies of their own.
 * Nothing here allocates or fails; after selection all functions are safe to call from any number of threads.
 */
#ifndef PGMX_CONDITIONALS_H
#define PGMX_CONDITIONALS_H

#include <math.h>

#include "_simd.h"

#define PGMX_FEW 16
#define PGMX_UNITS 16777216.0f /* of a row of weight 1, if rows have no other weights */
#define PGMX_FLUSH 128         /* terms below 2^24.5 whose sum fits into 32 bits; then it is added to doubles */
#define PGMX_LEAST 1e-30f      /* a probability that reached zero could never come back */

/* Rounds a float below 2^51 to an integer, ties to even as in vectors; doubles are unchanged. */
#define PGMX_WHOLE_float(x) (((double)(x) + 6755399441055744.0) - 6755399441055744.0)
#define PGMX_WHOLE_double(x) (x)
#define PGMX_SQRT_float sqrtf
#define PGMX_SQRT_double sqrt

/* ---- any number of states, codes of one or two bytes, single or double precision ---- */

#define PGMX_CONDITIONALS_ANY(suffix, code_t, real)                                                                    \
    PGMX_UNUSED static void pgmx_moments_##suffix(const real *const *p, ptrdiff_t n_states, const code_t *codes,       \
                                                  ptrdiff_t n_rows, double *out, ptrdiff_t stride) {                   \
        for (ptrdiff_t a = 0; a < n_states; a++)                                                                       \
            for (ptrdiff_t m = 0; m < n_rows; m++) out[a * stride + codes[m]] += PGMX_WHOLE_##real(p[a][m]);           \
    }                                                                                                                  \
    PGMX_UNUSED static void pgmx_shift_##suffix(real *const *p, ptrdiff_t n_states, const real *table,                 \
                                                ptrdiff_t stride, const code_t *codes, const real *weights, real one,  \
                                                ptrdiff_t first, ptrdiff_t n_rows, double *totals, double *drift) {    \
        double moved = 0;                                                                                              \
        for (ptrdiff_t m = first; m < n_rows; m++) {                                                                   \
            real w = weights ? weights[m] : one, floor = w * (real)PGMX_LEAST, all = 0, squares = 0;                   \
            for (ptrdiff_t a = 0; a < n_states; a++) {                                                                 \
                real q = p[a][m] * table[a * stride + codes[m]];                                                       \
                all += q > floor ? q : floor;                                                                          \
            }                                                                                                          \
            real scale = w / all;                                                                                      \
            for (ptrdiff_t a = 0; a < n_states; a++) {                                                                 \
                real q = p[a][m] * table[a * stride + codes[m]];                                                       \
                real fresh = (q > floor ? q : floor) * scale, step = fresh - p[a][m];                                  \
                p[a][m] = fresh;                                                                                       \
                totals[a] += PGMX_WHOLE_##real(fresh);                                                                 \
                squares += step * step;                                                                                \
            }                                                                                                          \
            moved += PGMX_WHOLE_##real(PGMX_SQRT_##real(squares));                                                     \
        }                                                                                                              \
        *drift += moved;                                                                                               \
    }                                                                                                                  \
    PGMX_UNUSED static double pgmx_log_sum_##suffix(const real *const *p, const code_t *codes, const real *weights,    \
                                                    real one, ptrdiff_t first, ptrdiff_t n_rows) {                     \
        double total = 0;                                                                                              \
        for (ptrdiff_t m = first; m < n_rows; m++) {                                                                   \
            double w = (double)(weights ? weights[m] : one);                                                           \
            total += w * log((double)p[codes[m]][m] / w);                                                              \
        }                                                                                                              \
        return total;                                                                                                  \
    }

PGMX_CONDITIONALS_ANY(u8, uint8_t, float)
PGMX_CONDITIONALS_ANY(u16, uint16_t, float)
PGMX_CONDITIONALS_ANY(u8_double, uint8_t, double)
PGMX_CONDITIONALS_ANY(u16_double, uint16_t, double)

#if PGMX_X86_DISPATCH

typedef uint32_t pgmx_count8 __attribute__((vector_size(32)));
typedef uint32_t pgmx_count16 __attribute__((vector_size(64)));

#define vec __m256
#define ivec __m256i
#define count pgmx_count8
#define mask __m256
#define LANES 8
#define TARGET PGMX_TARGET("avx2")
#define NAME(f) f##_avx2
#define LOAD _mm256_loadu_ps
#define STORE _mm256_storeu_ps
#define ZERO _mm256_setzero_ps
#define SPLAT _mm256_set1_ps
#define ADD _mm256_add_ps
#define SUB _mm256_sub_ps
#define MUL _mm256_mul_ps
#define DIV _mm256_div_ps
#define SQRT _mm256_sqrt_ps
#define MAX _mm256_max_ps
#define CODES(x) _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(x)))
#define IS(x, b) _mm256_castsi256_ps(_mm256_cmpeq_epi32(x, _mm256_set1_epi32(b)))
#define ADD_IF(sum, is, v) _mm256_add_ps(sum, _mm256_and_ps(is, v))
#define WHOLE _mm256_cvtps_epi32
#define COUNT_IF(sum, is, v) ((sum) + ((count)(is) & (count)(v)))
#define KEEP(x, v) _mm256_storeu_si256((__m256i *)(x), (ivec)(v))
#define wide __m256d
#define LOW(v) _mm256_cvtps_pd(_mm256_castps256_ps128(v))
#define HIGH(v) _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1))
#define WIDE(f) _mm256_##f##_pd
#define PICK(t, x)                                                                                                     \
    _mm256_blendv_ps(_mm256_permutevar8x32_ps(LOAD(t), x), _mm256_permutevar8x32_ps(LOAD((t) + 8), x),                 \
                     _mm256_castsi256_ps(_mm256_cmpgt_epi32(x, _mm256_set1_epi32(7))))
#define EXPONENT(v)                                                                                                    \
    _mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_srli_epi32(_mm256_castps_si256(v), 23), _mm256_set1_epi32(127)))
#define MANTISSA(v)                                                                                                    \
    _mm256_castsi256_ps(_mm256_or_si256(_mm256_and_si256(_mm256_castps_si256(v), _mm256_set1_epi32(0x007fffff)),       \
                                        _mm256_set1_epi32(0x3f800000)))
#include "_conditionals_body.h"

#define vec __m512
#define ivec __m512i
#define count pgmx_count16
#define mask __mmask16
#define LANES 16
#define TARGET PGMX_TARGET("avx512f")
#define NAME(f) f##_avx512
#define LOAD _mm512_loadu_ps
#define STORE _mm512_storeu_ps
#define ZERO _mm512_setzero_ps
#define SPLAT _mm512_set1_ps
#define ADD _mm512_add_ps
#define SUB _mm512_sub_ps
#define MUL _mm512_mul_ps
#define DIV _mm512_div_ps
#define SQRT _mm512_sqrt_ps
#define MAX _mm512_max_ps
#define CODES(x) _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(x)))
#define IS(x, b) _mm512_cmpeq_epi32_mask(x, _mm512_set1_epi32(b))
#define ADD_IF(sum, is, v) _mm512_mask_add_ps(sum, is, sum, v)
#define WHOLE _mm512_cvtps_epi32
#define COUNT_IF(sum, is, v) (count)_mm512_mask_add_epi32((ivec)(sum), is, (ivec)(sum), v)
#define KEEP(x, v) _mm512_storeu_si512((void *)(x), (ivec)(v))
#define wide __m512d
#define LOW(v) _mm512_cvtps_pd(_mm512_castps512_ps256(v))
#define HIGH(v) _mm512_cvtps_pd(_mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(v), 1)))
#define WIDE(f) _mm512_##f##_pd
#define PICK(t, x) _mm512_permutexvar_ps(x, LOAD(t))
#define EXPONENT(v)                                                                                                    \
    _mm512_cvtepi32_ps(_mm512_sub_epi32(_mm512_srli_epi32(_mm512_castps_si512(v), 23), _mm512_set1_epi32(127)))
#define MANTISSA(v)                                                                                                    \
    _mm512_castsi512_ps(_mm512_or_si512(_mm512_and_si512(_mm512_castps_si512(v), _mm512_set1_epi32(0x007fffff)),       \
                                        _mm512_set1_epi32(0x3f800000)))
#include "_conditionals_body.h"

#endif /* PGMX_X86_DISPATCH */

/* ---- one entry per pass ---- */

static int pgmx_conditionals_level = PGMX_PLAIN;

PGMX_UNUSED static void pgmx_moments_few(const float *const *p, int n_states, const uint8_t *codes, int n_codes,
                                         ptrdiff_t n_rows, double *out, ptrdiff_t stride) {
#if PGMX_X86_DISPATCH
    if (pgmx_conditionals_level == PGMX_AVX512) {
        pgmx_moments_avx512(p, n_states, codes, n_codes, n_rows, out, stride);
        return;
    }
    if (pgmx_conditionals_level == PGMX_AVX2) {
        pgmx_moments_avx2(p, n_states, codes, n_codes, n_rows, out, stride);
        return;
    }
#endif
    double unused[PGMX_FEW * PGMX_FEW] = {0}; /* the plain pass has no state to leave out */
    pgmx_moments_u8(p, n_states, codes, n_rows, unused, PGMX_FEW);
    for (int a = 0; a < n_states; a++)
        for (int b = 0; b < n_codes; b++) out[a * stride + b] += unused[a * PGMX_FEW + b];
}

PGMX_UNUSED static void pgmx_shift_few(float *const *p, int n_states, const float *table, const uint8_t *codes,
                                       const float *weights, float one, ptrdiff_t n_rows, double *totals,
                                       double *drift) {
    ptrdiff_t done = 0;
#if PGMX_X86_DISPATCH
    if (pgmx_conditionals_level == PGMX_AVX512) {
        done = n_rows - n_rows % 16;
        pgmx_shift_avx512(p, n_states, table, codes, weights, one, n_rows, totals, drift);
    } else if (pgmx_conditionals_level == PGMX_AVX2) {
        done = n_rows - n_rows % 8;
        pgmx_shift_avx2(p, n_states, table, codes, weights, one, n_rows, totals, drift);
    }
#endif
    pgmx_shift_u8(p, n_states, table, PGMX_FEW, codes, weights, one, done, n_rows, totals, drift);
}

PGMX_UNUSED static double pgmx_log_sum_few(const float *const *p, int n_states, const uint8_t *codes,
                                           const float *weights, float one, ptrdiff_t n_rows) {
    ptrdiff_t done = 0;
    double total = 0;
#if PGMX_X86_DISPATCH
    if (weights == NULL && pgmx_conditionals_level == PGMX_AVX512) {
        done = n_rows - n_rows % 16;
        total = pgmx_log2_sum_avx512(p, n_states, codes, n_rows);
    } else if (weights == NULL && pgmx_conditionals_level == PGMX_AVX2) {
        done = n_rows - n_rows % 8;
        total = pgmx_log2_sum_avx2(p, n_states, codes, n_rows);
    }
#else
    (void)n_states;
#endif
    total = (double)one * 0.69314718055994531 * (total - log2((double)one) * (double)done);
    return total + pgmx_log_sum_u8(p, codes, weights, one, done, n_rows);
}

#endif /* PGMX_CONDITIONALS_H */
