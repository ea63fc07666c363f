/* Sums of eight lanes of words, the largest code of a row, and whether planes share a bit; see _checksums.pyx.
 * The plain bodies are written for the two-word registers that every 64-bit processor has, those of AVX2 (levels avx2
 * and avx512 of _simd.h) for four words: they give the same integers, and are as fast as memory is read.
 * pgmx_checksums_select() sets the function pointers; nothing here allocates or fails. */
#ifndef PGMX_CHECKSUMS_H
#define PGMX_CHECKSUMS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "_simd.h"

#define PGMX_LANES 8
#define PGMX_LANE_BYTES (8 * PGMX_LANES)

/* Two words: a register of the smallest vector unit. Named variables of it stay in registers, arrays would not. */
#if defined(__GNUC__)
typedef uint64_t pgmx_two __attribute__((vector_size(16)));
#define PGMX_ADD(x, y) ((x) + (y))
#define PGMX_AND(x, y) ((x) & (y))
#define PGMX_OR(x, y) ((x) | (y))
#else
typedef struct { uint64_t low, high; } pgmx_two;
static inline pgmx_two PGMX_ADD(pgmx_two x, pgmx_two y) { x.low += y.low; x.high += y.high; return x; }
static inline pgmx_two PGMX_AND(pgmx_two x, pgmx_two y) { x.low &= y.low; x.high &= y.high; return x; }
static inline pgmx_two PGMX_OR(pgmx_two x, pgmx_two y) { x.low |= y.low; x.high |= y.high; return x; }
#endif

static inline pgmx_two pgmx_load(const void *at) {
    pgmx_two x;
    memcpy(&x, at, sizeof x);
    return x;
}

static inline void pgmx_store(void *at, pgmx_two x) { memcpy(at, &x, sizeof x); }

/* The sums a and b of lanes 2k and 2k + 1, continued by two words of each group of eight. */
typedef struct { pgmx_two a, b; } pgmx_sums;

static inline pgmx_sums pgmx_load_sums(const uint64_t *lanes, int k) {
    pgmx_sums s = {pgmx_load(lanes + 2 * k), pgmx_load(lanes + PGMX_LANES + 2 * k)};
    return s;
}

static inline void pgmx_store_sums(uint64_t *lanes, int k, pgmx_sums s) {
    pgmx_store(lanes + 2 * k, s.a);
    pgmx_store(lanes + PGMX_LANES + 2 * k, s.b);
}

static inline pgmx_sums pgmx_continue(pgmx_sums s, pgmx_two words) {
    s.a = PGMX_ADD(s.a, words);
    s.b = PGMX_ADD(s.b, s.a);
    return s;
}

/* lanes: the sums a of all lanes, then the sums b. */
static inline void pgmx_add_words(const unsigned char *bytes, ptrdiff_t n_blocks, uint64_t *lanes) {
    pgmx_sums s0 = pgmx_load_sums(lanes, 0), s1 = pgmx_load_sums(lanes, 1);
    pgmx_sums s2 = pgmx_load_sums(lanes, 2), s3 = pgmx_load_sums(lanes, 3);
    for (ptrdiff_t i = 0; i < n_blocks; i++, bytes += PGMX_LANE_BYTES) {
        s0 = pgmx_continue(s0, pgmx_load(bytes));
        s1 = pgmx_continue(s1, pgmx_load(bytes + 16));
        s2 = pgmx_continue(s2, pgmx_load(bytes + 32));
        s3 = pgmx_continue(s3, pgmx_load(bytes + 48));
    }
    pgmx_store_sums(lanes, 0, s0);
    pgmx_store_sums(lanes, 1, s1);
    pgmx_store_sums(lanes, 2, s2);
    pgmx_store_sums(lanes, 3, s3);
}

/* All bytes of a block; only the last block of a checksum may end within a group of lanes. */
static inline void pgmx_add_bytes(const unsigned char *bytes, ptrdiff_t n_bytes, uint64_t *lanes) {
    unsigned char last[PGMX_LANE_BYTES] = {0};
    ptrdiff_t n_blocks = n_bytes / PGMX_LANE_BYTES, rest = n_bytes % PGMX_LANE_BYTES;
    pgmx_add_words(bytes, n_blocks, lanes);
    if (rest > 0) {
        memcpy(last, bytes + n_blocks * PGMX_LANE_BYTES, (size_t)rest);
        pgmx_add_words(last, 1, lanes);
    }
}

/* Folds the lanes; each step is a bijection of the word that enters, so that a change in one lane changes the result. */
static inline uint64_t pgmx_fold_lanes(const uint64_t *lanes, uint64_t n_bytes) {
    uint64_t sum = n_bytes;
    for (int k = 0; k < 2 * PGMX_LANES; k++) {
        sum = (sum ^ lanes[k]) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 29;
    }
    return sum;
}

/* Adds the bytes of codes to the lanes, as pgmx_add_bytes, and returns the largest code, `least` at least. */
#define PGMX_ADD_CODES_PLAIN(name, code_t)                                                                             \
    PGMX_UNUSED static unsigned int name(const code_t *codes, ptrdiff_t n, uint64_t *lanes, unsigned int least) {      \
        const ptrdiff_t step = PGMX_BLOCK_BYTES / (ptrdiff_t)sizeof(code_t);                                           \
        code_t largest = (code_t)least;                                                                                \
        for (ptrdiff_t first = 0; first < n; first += step) {                                                          \
            ptrdiff_t length = n - first < step ? n - first : step;                                                    \
            pgmx_add_bytes((const unsigned char *)(codes + first), length * (ptrdiff_t)sizeof(code_t), lanes);         \
            for (ptrdiff_t i = first; i < first + length; i++) largest = codes[i] > largest ? codes[i] : largest;      \
        }                                                                                                              \
        return largest;                                                                                                \
    }

/* Bytes that are read twice while they are in the first-level cache, a multiple of 64. */
#define PGMX_BLOCK_BYTES (1 << 14)

PGMX_ADD_CODES_PLAIN(pgmx_add_u8_plain, uint8_t)
PGMX_ADD_CODES_PLAIN(pgmx_add_u16_plain, uint16_t)

/* Adds two words of a plane to the bits seen; returns the bits that were there before, with those of `twice`. */
static inline pgmx_two pgmx_mark(pgmx_two words, uint64_t *seen, pgmx_two twice) {
    pgmx_two before = pgmx_load(seen);
    pgmx_store(seen, PGMX_OR(before, words));
    return PGMX_OR(twice, PGMX_AND(before, words));
}

/* Adds words of a plane, a multiple of eight, to its sums and to the bits seen; whether one was seen before. */
PGMX_UNUSED static int pgmx_add_plane_plain(const uint64_t *plane, ptrdiff_t n_words, uint64_t *lanes, uint64_t *seen) {
    pgmx_sums s0 = pgmx_load_sums(lanes, 0), s1 = pgmx_load_sums(lanes, 1);
    pgmx_sums s2 = pgmx_load_sums(lanes, 2), s3 = pgmx_load_sums(lanes, 3);
    uint64_t none[2] = {0, 0}, any[2];
    pgmx_two twice = pgmx_load(none), words;
    for (ptrdiff_t i = 0; i < n_words; i += PGMX_LANES) {
        words = pgmx_load(plane + i);
        s0 = pgmx_continue(s0, words), twice = pgmx_mark(words, seen + i, twice);
        words = pgmx_load(plane + i + 2);
        s1 = pgmx_continue(s1, words), twice = pgmx_mark(words, seen + i + 2, twice);
        words = pgmx_load(plane + i + 4);
        s2 = pgmx_continue(s2, words), twice = pgmx_mark(words, seen + i + 4, twice);
        words = pgmx_load(plane + i + 6);
        s3 = pgmx_continue(s3, words), twice = pgmx_mark(words, seen + i + 6, twice);
    }
    pgmx_store_sums(lanes, 0, s0);
    pgmx_store_sums(lanes, 1, s1);
    pgmx_store_sums(lanes, 2, s2);
    pgmx_store_sums(lanes, 3, s3);
    pgmx_store(any, twice);
    return (any[0] | any[1]) != 0;
}

/* ---- AVX2 ---- */

#if PGMX_X86_DISPATCH

/* Distance in bytes at which a page is prefetched whose translation the hardware does not look up by itself. */
#define PGMX_AHEAD 4096

/* The four registers of the lanes, and a step of all. */
#define PGMX_LOAD_LANES(lanes)                                                                                         \
    __m256i a0 = _mm256_loadu_si256((const __m256i *)(lanes)), a1 = _mm256_loadu_si256((const __m256i *)(lanes + 4));  \
    __m256i b0 = _mm256_loadu_si256((const __m256i *)(lanes + 8));                                                     \
    __m256i b1 = _mm256_loadu_si256((const __m256i *)(lanes + 12))
#define PGMX_STORE_LANES(lanes)                                                                                        \
    _mm256_storeu_si256((__m256i *)(lanes), a0), _mm256_storeu_si256((__m256i *)(lanes + 4), a1);                      \
    _mm256_storeu_si256((__m256i *)(lanes + 8), b0), _mm256_storeu_si256((__m256i *)(lanes + 12), b1)
#define PGMX_STEP_LANES(x, y)                                                                                          \
    a0 = _mm256_add_epi64(a0, x), a1 = _mm256_add_epi64(a1, y);                                                        \
    b0 = _mm256_add_epi64(b0, a0), b1 = _mm256_add_epi64(b1, a1)

#define PGMX_ADD_CODES_AVX2(name, plain, code_t, largest_of)                                                           \
    PGMX_TARGET("avx2")                                                                                                \
    static unsigned int name(const code_t *codes, ptrdiff_t n, uint64_t *lanes, unsigned int least) {                  \
        const ptrdiff_t step = PGMX_LANE_BYTES / (ptrdiff_t)sizeof(code_t), whole = n / step * step;                   \
        code_t each[PGMX_LANE_BYTES / 2 / sizeof(code_t)];                                                             \
        __m256i top = _mm256_setzero_si256();                                                                          \
        PGMX_LOAD_LANES(lanes);                                                                                        \
        for (ptrdiff_t i = 0; i < whole; i += step) {                                                                  \
            __m256i x = _mm256_loadu_si256((const __m256i *)(codes + i));                                              \
            __m256i y = _mm256_loadu_si256((const __m256i *)(codes + i + step / 2));                                   \
            _mm_prefetch((const char *)(codes + i) + PGMX_AHEAD, _MM_HINT_T0);                                         \
            PGMX_STEP_LANES(x, y);                                                                                     \
            top = largest_of(top, largest_of(x, y));                                                                   \
        }                                                                                                              \
        PGMX_STORE_LANES(lanes);                                                                                       \
        _mm256_storeu_si256((__m256i *)each, top);                                                                     \
        for (ptrdiff_t i = 0; i < step / 2; i++) least = each[i] > least ? each[i] : least;                            \
        return whole < n ? plain(codes + whole, n - whole, lanes, least) : least;                                      \
    }

PGMX_ADD_CODES_AVX2(pgmx_add_u8_avx2, pgmx_add_u8_plain, uint8_t, _mm256_max_epu8)
PGMX_ADD_CODES_AVX2(pgmx_add_u16_avx2, pgmx_add_u16_plain, uint16_t, _mm256_max_epu16)

PGMX_TARGET("avx2")
static int pgmx_add_plane_avx2(const uint64_t *plane, ptrdiff_t n_words, uint64_t *lanes, uint64_t *seen) {
    __m256i twice = _mm256_setzero_si256();
    PGMX_LOAD_LANES(lanes);
    for (ptrdiff_t i = 0; i < n_words; i += PGMX_LANES) {
        __m256i x = _mm256_loadu_si256((const __m256i *)(plane + i));
        __m256i y = _mm256_loadu_si256((const __m256i *)(plane + i + 4));
        __m256i before = _mm256_loadu_si256((const __m256i *)(seen + i));
        __m256i behind = _mm256_loadu_si256((const __m256i *)(seen + i + 4));
        _mm_prefetch((const char *)(plane + i) + PGMX_AHEAD, _MM_HINT_T0);
        PGMX_STEP_LANES(x, y);
        twice = _mm256_or_si256(twice, _mm256_or_si256(_mm256_and_si256(before, x), _mm256_and_si256(behind, y)));
        _mm256_storeu_si256((__m256i *)(seen + i), _mm256_or_si256(before, x));
        _mm256_storeu_si256((__m256i *)(seen + i + 4), _mm256_or_si256(behind, y));
    }
    PGMX_STORE_LANES(lanes);
    return !_mm256_testz_si256(twice, twice);
}

#endif /* PGMX_X86_DISPATCH */

/* ---- selection ---- */

static unsigned int (*pgmx_add_u8)(const uint8_t *, ptrdiff_t, uint64_t *, unsigned int) = pgmx_add_u8_plain;
static unsigned int (*pgmx_add_u16)(const uint16_t *, ptrdiff_t, uint64_t *, unsigned int) = pgmx_add_u16_plain;
static int (*pgmx_add_plane)(const uint64_t *, ptrdiff_t, uint64_t *, uint64_t *) = pgmx_add_plane_plain;

static inline void pgmx_checksums_select(int level) {
#if PGMX_X86_DISPATCH
    if (level >= PGMX_AVX2) {
        pgmx_add_u8 = pgmx_add_u8_avx2;
        pgmx_add_u16 = pgmx_add_u16_avx2;
        pgmx_add_plane = pgmx_add_plane_avx2;
    }
#else
    (void)level;
#endif
}

#endif
