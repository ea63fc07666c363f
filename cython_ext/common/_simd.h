/* Bit-plane kernels, chosen once at run time.
 *
 * A plane is a row set as 64-bit words, 64-byte aligned, its length a multiple of 8 words (512 bits).
 * Three operations carry all counting:
 *   pgmx_count_and   counts[j] += |candidate & cell_j| for several cells at once (the inner kernel)
 *   pgmx_and         target = a & b, returns |target|
 *   pgmx_popcount    |a|
 * Levels: avx512 (F + VPOPCNTDQ), avx2 (nibble shuffle), popcnt (scalar instruction), plain (portable C).
 * All give the same integers; pgmx_simd_select() sets the function pointers. Nothing here allocates or fails,
 * and after selection all functions are safe to call from any number of threads.
 * Reference for the shuffle count: Mula, Kurz & Lemire (2018), "Faster population counts using AVX2 instructions".
 */
#ifndef PGMX_SIMD_H
#define PGMX_SIMD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define PGMX_X86_DISPATCH 1
#include <immintrin.h>
#else
#define PGMX_X86_DISPATCH 0
#endif

#if defined(__GNUC__) || defined(__clang__)
#define PGMX_INLINE static inline __attribute__((always_inline))
#define PGMX_TARGET(isa) __attribute__((target(isa)))
#define PGMX_UNUSED __attribute__((unused))
#else
#define PGMX_INLINE static inline
#define PGMX_TARGET(isa)
#define PGMX_UNUSED
#endif

enum { PGMX_PLAIN = 0, PGMX_POPCNT = 1, PGMX_AVX2 = 2, PGMX_AVX512 = 3 };

/* ---- plain C ---- */

PGMX_INLINE uint64_t pgmx_bits64(uint64_t x) {
    x = x - ((x >> 1) & 0x5555555555555555ULL);
    x = (x & 0x3333333333333333ULL) + ((x >> 2) & 0x3333333333333333ULL);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
    return (x * 0x0101010101010101ULL) >> 56;
}

PGMX_INLINE int pgmx_lowest_bit(uint64_t x) { /* x != 0 */
#if defined(__GNUC__) || defined(__clang__)
    return __builtin_ctzll(x);
#else
    return (int)pgmx_bits64((x & (0 - x)) - 1);
#endif
}

/* The bodies are shared by the plain and the POPCNT level; BITS counts the bits of one word. */
#define PGMX_SCALAR_LEVEL(suffix, target, BITS)                                                                        \
    target PGMX_UNUSED static void pgmx_count_and_##suffix(const uint64_t *candidate, const uint64_t *const *cells,    \
                                                           ptrdiff_t n_cells, ptrdiff_t begin, ptrdiff_t end,          \
                                                           uint32_t *counts) {                                         \
        for (ptrdiff_t j = 0; j < n_cells; j++) {                                                                      \
            const uint64_t *cell = cells[j];                                                                           \
            uint64_t even = 0, odd = 0;                                                                                \
            for (ptrdiff_t w = begin; w < end; w += 2) {                                                               \
                even += (uint64_t)BITS(candidate[w] & cell[w]);                                                        \
                odd += (uint64_t)BITS(candidate[w + 1] & cell[w + 1]);                                                 \
            }                                                                                                          \
            counts[j] += (uint32_t)(even + odd);                                                                       \
        }                                                                                                              \
    }                                                                                                                  \
    target PGMX_UNUSED static uint64_t pgmx_and_##suffix(uint64_t *out, const uint64_t *a, const uint64_t *b,          \
                                                         ptrdiff_t n_words) {                                          \
        uint64_t total = 0;                                                                                            \
        for (ptrdiff_t w = 0; w < n_words; w++) {                                                                      \
            out[w] = a[w] & b[w];                                                                                      \
            total += (uint64_t)BITS(out[w]);                                                                           \
        }                                                                                                              \
        return total;                                                                                                  \
    }                                                                                                                  \
    target PGMX_UNUSED static uint64_t pgmx_popcount_##suffix(const uint64_t *a, ptrdiff_t n_words) {                  \
        uint64_t total = 0;                                                                                            \
        for (ptrdiff_t w = 0; w < n_words; w++) total += (uint64_t)BITS(a[w]);                                         \
        return total;                                                                                                  \
    }

#if PGMX_X86_DISPATCH || !(defined(__GNUC__) || defined(__clang__))
PGMX_SCALAR_LEVEL(plain, , pgmx_bits64)
#else
PGMX_SCALAR_LEVEL(plain, , __builtin_popcountll) /* the builtin is the native instruction on ARM */
#endif

#if PGMX_X86_DISPATCH

PGMX_SCALAR_LEVEL(popcnt, PGMX_TARGET("popcnt"), __builtin_popcountll)

/* ---- AVX2: two table look-ups per byte, byte sums folded before they can overflow ---- */

PGMX_TARGET("avx2") PGMX_INLINE __m256i pgmx_bytes_avx2(__m256i v) {
    const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2,
                                           2, 3, 2, 3, 3, 4);
    const __m256i nibble = _mm256_set1_epi8(15);
    __m256i low = _mm256_shuffle_epi8(table, _mm256_and_si256(v, nibble));
    __m256i high = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(v, 4), nibble));
    return _mm256_add_epi8(low, high);
}

PGMX_TARGET("avx2") PGMX_INLINE uint64_t pgmx_sum_avx2(__m256i v) {
    __m128i s = _mm_add_epi64(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    return (uint64_t)_mm_cvtsi128_si64(s) + (uint64_t)_mm_extract_epi64(s, 1);
}

/* G cells share each load of the candidate; 28 steps add at most 28 * 8 = 224 to a byte. */
PGMX_TARGET("avx2") PGMX_INLINE void pgmx_group_avx2(const uint64_t *candidate, const uint64_t *const *cells,
                                                     ptrdiff_t begin, ptrdiff_t end, uint32_t *counts, const int G) {
    const __m256i zero = _mm256_setzero_si256();
    __m256i totals[4];
    for (int j = 0; j < G; j++) totals[j] = zero;
    for (ptrdiff_t w = begin; w < end;) {
        ptrdiff_t stop = end - w > 4 * 28 ? w + 4 * 28 : end;
        __m256i bytes[4];
        for (int j = 0; j < G; j++) bytes[j] = zero;
        for (; w < stop; w += 4) {
            __m256i x = _mm256_loadu_si256((const __m256i *)(candidate + w));
            for (int j = 0; j < G; j++) {
                __m256i y = _mm256_loadu_si256((const __m256i *)(cells[j] + w));
                bytes[j] = _mm256_add_epi8(bytes[j], pgmx_bytes_avx2(_mm256_and_si256(x, y)));
            }
        }
        for (int j = 0; j < G; j++) totals[j] = _mm256_add_epi64(totals[j], _mm256_sad_epu8(bytes[j], zero));
    }
    for (int j = 0; j < G; j++) counts[j] += (uint32_t)pgmx_sum_avx2(totals[j]);
}

PGMX_TARGET("avx2")
static void pgmx_count_and_avx2(const uint64_t *candidate, const uint64_t *const *cells, ptrdiff_t n_cells,
                                ptrdiff_t begin, ptrdiff_t end, uint32_t *counts) {
    ptrdiff_t j = 0;
    for (; j + 4 <= n_cells; j += 4) pgmx_group_avx2(candidate, cells + j, begin, end, counts + j, 4);
    switch (n_cells - j) {
        case 3: pgmx_group_avx2(candidate, cells + j, begin, end, counts + j, 3); break;
        case 2: pgmx_group_avx2(candidate, cells + j, begin, end, counts + j, 2); break;
        case 1: pgmx_group_avx2(candidate, cells + j, begin, end, counts + j, 1); break;
        default: break;
    }
}

PGMX_TARGET("avx2")
static uint64_t pgmx_and_avx2(uint64_t *out, const uint64_t *a, const uint64_t *b, ptrdiff_t n_words) {
    const __m256i zero = _mm256_setzero_si256();
    __m256i total = zero;
    for (ptrdiff_t w = 0; w < n_words; w += 4) {
        __m256i v = _mm256_and_si256(_mm256_loadu_si256((const __m256i *)(a + w)),
                                     _mm256_loadu_si256((const __m256i *)(b + w)));
        _mm256_storeu_si256((__m256i *)(out + w), v);
        total = _mm256_add_epi64(total, _mm256_sad_epu8(pgmx_bytes_avx2(v), zero));
    }
    return pgmx_sum_avx2(total);
}

PGMX_TARGET("avx2") static uint64_t pgmx_popcount_avx2(const uint64_t *a, ptrdiff_t n_words) {
    const __m256i zero = _mm256_setzero_si256();
    __m256i total = zero;
    for (ptrdiff_t w = 0; w < n_words; w += 4) {
        __m256i v = _mm256_loadu_si256((const __m256i *)(a + w));
        total = _mm256_add_epi64(total, _mm256_sad_epu8(pgmx_bytes_avx2(v), zero));
    }
    return pgmx_sum_avx2(total);
}

/* ---- AVX-512 with VPOPCNTDQ: eight cells per pass, sums transposed and reduced together ---- */

#define PGMX_ISA512 "avx512f,avx512vpopcntdq"

PGMX_TARGET(PGMX_ISA512) PGMX_INLINE void pgmx_group_avx512(const uint64_t *candidate, const uint64_t *const *cells,
                                                            ptrdiff_t begin, ptrdiff_t end, uint32_t *counts,
                                                            const int G) {
    __m512i sums[8];
    for (int j = 0; j < 8; j++) sums[j] = _mm512_setzero_si512();
    for (ptrdiff_t w = begin; w < end; w += 8) {
        __m512i x = _mm512_loadu_si512((const void *)(candidate + w));
        for (int j = 0; j < G; j++) {
            __m512i y = _mm512_loadu_si512((const void *)(cells[j] + w));
            sums[j] = _mm512_add_epi64(sums[j], _mm512_popcnt_epi64(_mm512_and_si512(x, y)));
        }
    }
    __m512i pairs[4], quads[2], eights;
    for (int j = 0; j < 4; j++)
        pairs[j] = _mm512_add_epi64(_mm512_unpacklo_epi64(sums[2 * j], sums[2 * j + 1]),
                                    _mm512_unpackhi_epi64(sums[2 * j], sums[2 * j + 1]));
    for (int j = 0; j < 2; j++)
        quads[j] = _mm512_add_epi64(_mm512_shuffle_i64x2(pairs[2 * j], pairs[2 * j + 1], 0x88),
                                    _mm512_shuffle_i64x2(pairs[2 * j], pairs[2 * j + 1], 0xdd));
    eights = _mm512_add_epi64(_mm512_shuffle_i64x2(quads[0], quads[1], 0x88),
                              _mm512_shuffle_i64x2(quads[0], quads[1], 0xdd));
    uint32_t found[8];
    _mm256_storeu_si256((__m256i *)found, _mm512_cvtepi64_epi32(eights));
    for (int j = 0; j < G; j++) counts[j] += found[j];
}

PGMX_TARGET(PGMX_ISA512)
static void pgmx_count_and_avx512(const uint64_t *candidate, const uint64_t *const *cells, ptrdiff_t n_cells,
                                  ptrdiff_t begin, ptrdiff_t end, uint32_t *counts) {
    ptrdiff_t j = 0;
    for (; j + 8 <= n_cells; j += 8) pgmx_group_avx512(candidate, cells + j, begin, end, counts + j, 8);
    switch (n_cells - j) {
        case 7: pgmx_group_avx512(candidate, cells + j, begin, end, counts + j, 7); break;
        case 6: pgmx_group_avx512(candidate, cells + j, begin, end, counts + j, 6); break;
        case 5: pgmx_group_avx512(candidate, cells + j, begin, end, counts + j, 5); break;
        case 4: pgmx_group_avx512(candidate, cells + j, begin, end, counts + j, 4); break;
        case 3: pgmx_group_avx512(candidate, cells + j, begin, end, counts + j, 3); break;
        case 2: pgmx_group_avx512(candidate, cells + j, begin, end, counts + j, 2); break;
        case 1: pgmx_group_avx512(candidate, cells + j, begin, end, counts + j, 1); break;
        default: break;
    }
}

PGMX_TARGET(PGMX_ISA512)
static uint64_t pgmx_and_avx512(uint64_t *out, const uint64_t *a, const uint64_t *b, ptrdiff_t n_words) {
    __m512i total = _mm512_setzero_si512();
    for (ptrdiff_t w = 0; w < n_words; w += 8) {
        __m512i v = _mm512_and_si512(_mm512_loadu_si512((const void *)(a + w)),
                                     _mm512_loadu_si512((const void *)(b + w)));
        _mm512_storeu_si512((void *)(out + w), v);
        total = _mm512_add_epi64(total, _mm512_popcnt_epi64(v));
    }
    return (uint64_t)_mm512_reduce_add_epi64(total);
}

PGMX_TARGET(PGMX_ISA512) static uint64_t pgmx_popcount_avx512(const uint64_t *a, ptrdiff_t n_words) {
    __m512i total = _mm512_setzero_si512();
    for (ptrdiff_t w = 0; w < n_words; w += 8)
        total = _mm512_add_epi64(total, _mm512_popcnt_epi64(_mm512_loadu_si512((const void *)(a + w))));
    return (uint64_t)_mm512_reduce_add_epi64(total);
}

#endif /* PGMX_X86_DISPATCH */

/* ---- selection ---- */

static void (*pgmx_count_and)(const uint64_t *, const uint64_t *const *, ptrdiff_t, ptrdiff_t, ptrdiff_t,
                              uint32_t *) = pgmx_count_and_plain;
static uint64_t (*pgmx_and)(uint64_t *, const uint64_t *, const uint64_t *, ptrdiff_t) = pgmx_and_plain;
static uint64_t (*pgmx_popcount)(const uint64_t *, ptrdiff_t) = pgmx_popcount_plain;

/* The best level this processor runs. */
PGMX_UNUSED static int pgmx_simd_best(void) {
#if PGMX_X86_DISPATCH
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vpopcntdq")) return PGMX_AVX512;
    if (__builtin_cpu_supports("avx2")) return PGMX_AVX2;
    if (__builtin_cpu_supports("popcnt")) return PGMX_POPCNT;
#endif
    return PGMX_PLAIN;
}

PGMX_UNUSED static void pgmx_simd_select(int level) { /* level <= pgmx_simd_best() */
    pgmx_count_and = pgmx_count_and_plain;
    pgmx_and = pgmx_and_plain;
    pgmx_popcount = pgmx_popcount_plain;
#if PGMX_X86_DISPATCH
    if (level == PGMX_POPCNT) {
        pgmx_count_and = pgmx_count_and_popcnt;
        pgmx_and = pgmx_and_popcnt;
        pgmx_popcount = pgmx_popcount_popcnt;
    } else if (level == PGMX_AVX2) {
        pgmx_count_and = pgmx_count_and_avx2;
        pgmx_and = pgmx_and_avx2;
        pgmx_popcount = pgmx_popcount_avx2;
    } else if (level == PGMX_AVX512) {
        pgmx_count_and = pgmx_count_and_avx512;
        pgmx_and = pgmx_and_avx512;
        pgmx_popcount = pgmx_popcount_avx512;
    }
#else
    (void)level;
#endif
}

#endif /* PGMX_SIMD_H */
