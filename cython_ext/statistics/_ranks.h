/* Concordant and discordant pairs of rows, for many pairs of columns; chosen once at run time.
 *
 * Two methods give the same integers:
 *   planes      Row r of a column x is compared with the rows before it; the answers are bits: greater (x_r > x_s), untied
 *               (x_r != x_s) and known (neither is missing). Of two columns XOR and population counts make the number of
 *               discordant pairs |(Gx ^ Gy) & Nx & Ny|, that of untied ones |Nx & Ny|, and the totals |Nx & Vy|, |Vx & Ny|
 *               of tau-b: n^2 / 2 bits per pair of columns.
 *   inversions  Rows in the order of (x, y) carry their rank in the order of (y, x), a permutation whose inversions are the
 *               discordant pairs (Knight 1966). They are counted from the highest bit of the ranks down, by one stable
 *               partition a bit, until 64 ranks remain, whose bits fit a word: n log n.
 * Levels as in _simd.h. No function allocates or fails; all are safe to call from any number of threads.
 */
#ifndef PGMX_RANKS_H
#define PGMX_RANKS_H

#include "_simd.h"

enum { PGMX_TILE = 4, PGMX_PLANE_BLOCK = 256, PGMX_TILES_TOGETHER = 8 };
enum { PGMX_CLEAN = 0, PGMX_TIED = 1, PGMX_GAPPED = 2 }; /* no ties; ties; missing values */

/* Planes of columns sorted by kind, with the last column repeated to fill a tile. */
typedef struct {
    const uint64_t *const *greater;
    const uint64_t *const *untied; /* all ones for clean columns */
    const uint64_t *const *known;  /* all ones except for columns with missing values */
    const unsigned char *kind;
    ptrdiff_t n_words; /* a multiple of 8 */
} pgmx_comparisons;

/* ---- counts over tiles ---- */

PGMX_INLINE uint64_t pgmx_byte_counts(uint64_t x) {
    x = x - ((x >> 1) & 0x5555555555555555ULL);
    x = (x & 0x3333333333333333ULL) + ((x >> 2) & 0x3333333333333333ULL);
    return (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
}

PGMX_INLINE uint64_t pgmx_byte_sum(uint64_t x) {
    x = (x & 0x00ff00ff00ff00ffULL) + ((x >> 8) & 0x00ff00ff00ff00ffULL);
    return (x * 0x0001000100010001ULL) >> 48;
}


#define vec uint64_t
#define WORDS 1
#define TARGET
#define NAME(f) f##_plain
#define LOAD(x) (*(x))
#define ZERO() 0
#define XOR(x, y) ((x) ^ (y))
#define AND(x, y) ((x) & (y))
#define ADD(x, y) ((x) + (y))
#define ADD_WIDE(x, y) ((x) + (y))
#define SUM(x) (x)
#if PGMX_X86_DISPATCH || !(defined(__GNUC__) || defined(__clang__))
#define FLUSH 31
#define COUNT pgmx_byte_counts
#define WIDEN pgmx_byte_sum
#else /* the builtin is the native instruction on ARM */
#define FLUSH 65536
#define COUNT(x) ((uint64_t)__builtin_popcountll(x))
#define WIDEN(x) (x)
#endif
#define CLEAN 2, 2
#define TIED 2, 2
#define KNOWN 1, 2
#include "_ranks_body.h"

#if PGMX_X86_DISPATCH

#define vec uint64_t
#define WORDS 1
#define TARGET PGMX_TARGET("popcnt")
#define NAME(f) f##_popcnt
#define LOAD(x) (*(x))
#define ZERO() 0
#define XOR(x, y) ((x) ^ (y))
#define AND(x, y) ((x) & (y))
#define ADD(x, y) ((x) + (y))
#define ADD_WIDE(x, y) ((x) + (y))
#define SUM(x) (x)
#define FLUSH 65536
#define COUNT(x) ((uint64_t)__builtin_popcountll(x))
#define WIDEN(x) (x)
#define CLEAN 2, 2
#define TIED 2, 2
#define KNOWN 1, 2
#include "_ranks_body.h"

#define vec __m256i
#define WORDS 4
#define TARGET PGMX_TARGET("avx2")
#define NAME(f) f##_avx2
#define LOAD(x) _mm256_loadu_si256((const __m256i *)(x))
#define ZERO _mm256_setzero_si256
#define XOR _mm256_xor_si256
#define AND _mm256_and_si256
#define ADD _mm256_add_epi8
#define ADD_WIDE _mm256_add_epi64
#define SUM pgmx_sum_avx2
#define FLUSH 31 /* at most 8 per byte and step */
#define COUNT pgmx_bytes_avx2
#define WIDEN(x) _mm256_sad_epu8(x, _mm256_setzero_si256())
#define CLEAN 2, 4
#define TIED 2, 2
#define KNOWN 1, 2
#include "_ranks_body.h"

#define vec __m512i
#define WORDS 8
#define TARGET PGMX_TARGET(PGMX_ISA512)
#define NAME(f) f##_avx512
#define LOAD(x) _mm512_loadu_si512((const void *)(x))
#define ZERO _mm512_setzero_si512
#define XOR _mm512_xor_si512
#define AND _mm512_and_si512
#define ADD _mm512_add_epi64
#define ADD_WIDE _mm512_add_epi64
#define SUM _mm512_reduce_add_epi64
#define FLUSH 65536
#define COUNT _mm512_popcnt_epi64
#define WIDEN(x) (x)
#define CLEAN 4, 4
#define TIED 4, 2
#define KNOWN 2, 2
#include "_ranks_body.h"

#endif /* PGMX_X86_DISPATCH */

static int pgmx_ranks_level = PGMX_PLAIN;

PGMX_INLINE void pgmx_tile(const pgmx_comparisons *c, int kind, ptrdiff_t i, ptrdiff_t j, ptrdiff_t begin,
                           ptrdiff_t end, uint32_t (*found)[PGMX_TILE][4]) {
    switch (pgmx_ranks_level) {
#if PGMX_X86_DISPATCH
        case PGMX_AVX512: pgmx_tile_avx512(c, kind, i, j, begin, end, found); break;
        case PGMX_AVX2: pgmx_tile_avx2(c, kind, i, j, begin, end, found); break;
        case PGMX_POPCNT: pgmx_tile_popcnt(c, kind, i, j, begin, end, found); break;
#endif
        default: pgmx_tile_plain(c, kind, i, j, begin, end, found); break;
    }
}

/* Adds the counts of the pairs i < j < p of sorted columns, i in the tiles [first, last). Two counts below 2^32 share a
 * cell of the p x p store, discordant | untied << 32 at the place of (i, j) and the totals of tau-b at that of (j, i),
 * with column[i] the column of the store of i. */
PGMX_UNUSED static void pgmx_count_tiles(const pgmx_comparisons *c, ptrdiff_t first, ptrdiff_t last, ptrdiff_t p,
                                         const int64_t *column, uint64_t *store) {
    ptrdiff_t n_tiles = (p + PGMX_TILE - 1) / PGMX_TILE;
    for (ptrdiff_t begin = 0; begin < c->n_words; begin += PGMX_PLANE_BLOCK) {
        ptrdiff_t end = c->n_words - begin > PGMX_PLANE_BLOCK ? begin + PGMX_PLANE_BLOCK : c->n_words;
        for (ptrdiff_t head = first; head < last; head += PGMX_TILES_TOGETHER) {
            ptrdiff_t tail = last - head > PGMX_TILES_TOGETHER ? head + PGMX_TILES_TOGETHER : last;
            for (ptrdiff_t other = head; other < n_tiles; other++) {
                int kind = c->kind[other * PGMX_TILE + PGMX_TILE - 1];
                for (ptrdiff_t tile = head; tile < tail && tile <= other; tile++) {
                    uint32_t found[PGMX_TILE][PGMX_TILE][4] = {{{0}}};
                    pgmx_tile(c, kind, tile * PGMX_TILE, other * PGMX_TILE, begin, end, found);
                    for (ptrdiff_t a = 0; a < PGMX_TILE; a++)
                        for (ptrdiff_t b = 0; b < PGMX_TILE; b++) {
                            ptrdiff_t i = tile * PGMX_TILE + a, j = other * PGMX_TILE + b;
                            if (i >= j || j >= p) continue;
                            const uint32_t *of = found[a][b];
                            store[column[i] * p + column[j]] += of[0] | (uint64_t)of[1] << 32;
                            if (kind == PGMX_GAPPED) store[column[j] * p + column[i]] += of[2] | (uint64_t)of[3] << 32;
                        }
                }
            }
        }
    }
}

/* ---- comparison planes ---- */

PGMX_INLINE void pgmx_set_bit(uint64_t *bits, ptrdiff_t r) { bits[r >> 6] |= 1ULL << (r & 63); }

PGMX_INLINE uint64_t pgmx_last_mask(ptrdiff_t r) { return r & 63 ? (1ULL << (r & 63)) - 1 : ~0ULL; }

/* Bits of the rows before r. */
PGMX_INLINE void pgmx_rows_before(ptrdiff_t r, const uint64_t *bits, uint64_t *out) {
    ptrdiff_t n = (r + 63) >> 6;
    for (ptrdiff_t w = 0; w < n; w++) out[w] = bits[w];
    if (n) out[n - 1] &= pgmx_last_mask(r);
}

PGMX_INLINE void pgmx_rows_before_but(ptrdiff_t r, const uint64_t *bits, const uint64_t *but, uint64_t *out) {
    ptrdiff_t n = (r + 63) >> 6;
    for (ptrdiff_t w = 0; w < n; w++) out[w] = bits[w] & ~but[w];
    if (n) out[n - 1] &= pgmx_last_mask(r);
}

/* Writes the planes of rows [begin, end) of a column; planes of row r start at word offset[r - begin]. `order` lists
 * the n_known rows by value and code[r] grows with it. untied and known may be NULL. seen, equal and all are scratch of
 * ceil(end / 64) words; the planes have n_words words, and words that no row writes are set to zero. */
PGMX_UNUSED static void pgmx_compare_rows(const int32_t *order, const int32_t *code, ptrdiff_t n_known, ptrdiff_t begin,
                                          ptrdiff_t end, const int64_t *offset, ptrdiff_t n_words, uint64_t *greater,
                                          uint64_t *untied, uint64_t *known, uint64_t *seen, uint64_t *equal,
                                          uint64_t *all) {
    size_t bytes = (size_t)((end + 63) >> 6) * 8;
    memset(seen, 0, bytes);
    memset(greater, 0, (size_t)n_words * 8);
    if (!untied) {
        for (ptrdiff_t k = 0; k < n_known; k++) {
            ptrdiff_t r = order[k];
            if (r >= end) continue;
            if (r >= begin) pgmx_rows_before(r, seen, greater + offset[r - begin]);
            pgmx_set_bit(seen, r);
        }
        return;
    }
    memset(equal, 0, bytes);
    memset(all, 0, bytes);
    memset(untied, 0, (size_t)n_words * 8);
    if (known) memset(known, 0, (size_t)n_words * 8);
    for (ptrdiff_t k = 0; k < n_known; k++)
        if (order[k] < end) pgmx_set_bit(all, order[k]);
    for (ptrdiff_t head = 0, tail; head < n_known; head = tail) {
        int32_t value = code[order[head]];
        for (tail = head; tail < n_known && code[order[tail]] == value; tail++)
            if (order[tail] < end) pgmx_set_bit(equal, order[tail]);
        for (ptrdiff_t k = head; k < tail; k++) {
            ptrdiff_t r = order[k];
            if (r < begin || r >= end) continue;
            pgmx_rows_before(r, seen, greater + offset[r - begin]);
            pgmx_rows_before_but(r, all, equal, untied + offset[r - begin]);
            if (known) pgmx_rows_before(r, all, known + offset[r - begin]);
        }
        for (ptrdiff_t k = head; k < tail; k++) {
            if (order[k] >= end) continue;
            pgmx_set_bit(seen, order[k]);
            equal[order[k] >> 6] = 0;
        }
    }
}

/* ---- inversions ---- */

#define PGMX_LAST_BITS(suffix, target, BITS)                                                                           \
    target PGMX_UNUSED static int64_t pgmx_inversions_in_words_##suffix(const uint32_t *a, ptrdiff_t n) {              \
        int64_t total = 0;                                                                                             \
        for (ptrdiff_t head = 0; head < n; head += 64) {                                                               \
            uint64_t seen = 0;                                                                                         \
            ptrdiff_t tail = n - head > 64 ? head + 64 : n;                                                            \
            for (ptrdiff_t k = head; k < tail; k++) {                                                                  \
                uint32_t v = a[k] & 63;                                                                                \
                total += (int64_t)BITS(seen >> v);                                                                     \
                seen |= 1ULL << v;                                                                                     \
            }                                                                                                          \
        }                                                                                                              \
        return total;                                                                                                  \
    }

#if PGMX_X86_DISPATCH || !(defined(__GNUC__) || defined(__clang__))
PGMX_LAST_BITS(plain, , pgmx_bits64)
#else
PGMX_LAST_BITS(plain, , __builtin_popcountll)
#endif
#if PGMX_X86_DISPATCH
PGMX_LAST_BITS(popcnt, PGMX_TARGET("popcnt"), __builtin_popcountll)
#endif

/* Stable partition of ranks [lo, hi) by a bit, ones from `mid` on; returns the sum of the places, from lo, of the zeros.
 * A zero with k places before it and j zeros among them follows k - j ones. */
PGMX_INLINE int64_t pgmx_partition_plain(const uint32_t *from, uint32_t *to, ptrdiff_t lo, ptrdiff_t mid, ptrdiff_t hi,
                                         int bit) {
    int64_t places = 0;
    ptrdiff_t zero = lo, one = mid;
    for (ptrdiff_t k = lo; k < hi; k++) {
        uint32_t v = from[k];
        ptrdiff_t is = (v >> bit) & 1;
        places += (k - lo) & (is - 1);
        to[zero + ((one - zero) & -is)] = v; /* by masks: half of the branches would be mispredicted */
        one += is;
        zero += 1 - is;
    }
    return places;
}

#if PGMX_X86_DISPATCH
PGMX_TARGET(PGMX_ISA512 ",popcnt")
static int64_t pgmx_partition_avx512(const uint32_t *from, uint32_t *to, ptrdiff_t lo, ptrdiff_t mid, ptrdiff_t hi,
                                     int bit) {
    const __m512i sixteen = _mm512_set1_epi32(16), test = _mm512_set1_epi32(1 << bit);
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    int64_t places = 0;
    ptrdiff_t zero = lo, one = mid;
    for (ptrdiff_t head = lo; head < hi;) { /* sums of places in 32 bits: 16384 rows at a time */
        ptrdiff_t tail = hi - head > 16384 ? head + 16384 : hi, zeros_before = zero;
        __m512i sums = _mm512_setzero_si512(), place = lanes;
        int64_t start = head - lo;
        for (; head < tail; head += 16) {
            unsigned valid = tail - head >= 16 ? 0xffffu : (1u << (tail - head)) - 1;
            __m512i v = _mm512_maskz_loadu_epi32((__mmask16)valid, from + head);
            unsigned is = _mm512_test_epi32_mask(v, test), not = valid & ~is;
            unsigned ones = (unsigned)__builtin_popcount(is), zeros = (unsigned)__builtin_popcount(not);
            _mm512_mask_storeu_epi32(to + zero, (__mmask16)((1u << zeros) - 1),
                                     _mm512_maskz_compress_epi32((__mmask16)not, v));
            _mm512_mask_storeu_epi32(to + one, (__mmask16)((1u << ones) - 1),
                                     _mm512_maskz_compress_epi32((__mmask16)is, v));
            sums = _mm512_mask_add_epi32(sums, (__mmask16)not, sums, place);
            place = _mm512_add_epi32(place, sixteen);
            zero += zeros;
            one += ones;
        }
        head = tail;
        places += (int64_t)_mm512_reduce_add_epi32(sums) + start * (zero - zeros_before);
    }
    return places;
}
#endif

PGMX_INLINE int64_t pgmx_partition(const uint32_t *from, uint32_t *to, ptrdiff_t lo, ptrdiff_t mid, ptrdiff_t hi,
                                   int bit) {
#if PGMX_X86_DISPATCH
    if (pgmx_ranks_level == PGMX_AVX512) return pgmx_partition_avx512(from, to, lo, mid, hi, bit);
#endif
    return pgmx_partition_plain(from, to, lo, mid, hi, bit);
}

/* Inversions of the permutation a of 0..n-1; a and the scratch b are overwritten. */
PGMX_UNUSED static int64_t pgmx_inversions(uint32_t *a, uint32_t *b, ptrdiff_t n) {
    int64_t total = 0;
    int bit = 5;
    while (n > (ptrdiff_t)2 << bit) bit++;
    for (; bit > 5; bit--) {
        ptrdiff_t size = (ptrdiff_t)1 << bit;
        for (ptrdiff_t lo = 0; lo < n; lo += 2 * size) {
            ptrdiff_t mid = n - lo > size ? lo + size : n, hi = n - lo > 2 * size ? lo + 2 * size : n;
            if (mid == hi) {
                memcpy(b + lo, a + lo, (size_t)(hi - lo) * sizeof(uint32_t));
                continue;
            }
            int64_t zeros = mid - lo;
            total += pgmx_partition(a, b, lo, mid, hi, bit) - zeros * (zeros - 1) / 2;
        }
        uint32_t *swap = a;
        a = b;
        b = swap;
    }
#if PGMX_X86_DISPATCH
    if (pgmx_ranks_level >= PGMX_POPCNT) return total + pgmx_inversions_in_words_popcnt(a, n);
#endif
    return total + pgmx_inversions_in_words_plain(a, n);
}

/* ---- pairs of columns by their orders ---- */

/* Codes of x among the rows in which y is also observed: rank[r] = number of smaller ones. Returns their number. */
PGMX_UNUSED static ptrdiff_t pgmx_ranks_among(const int32_t *order, const int32_t *code, ptrdiff_t n_known,
                                              const int32_t *other, uint32_t *rank, int64_t *tied) {
    ptrdiff_t m = 0, start = 0;
    int32_t last = -1;
    int64_t total = 0;
    for (ptrdiff_t k = 0; k < n_known; k++) {
        ptrdiff_t r = order[k], is = other[r] >= 0; /* no branch: the places of missing values are irregular */
        start = is && code[r] != last ? m : start;
        last = is ? code[r] : last;
        rank[r] = (uint32_t)start;
        total += (m - start) & -is;
        m += is;
    }
    *tied = total;
    return m;
}

/* Discordant pairs without ties: x ranks in the order of y. */
PGMX_UNUSED static int64_t pgmx_discordant_untied(const int32_t *code_x, const int32_t *order_y, ptrdiff_t n,
                                                  uint32_t *a, uint32_t *b) {
    for (ptrdiff_t k = 0; k < n; k++) a[code_x[order_y[k]]] = (uint32_t)k;
    return pgmx_inversions(a, b, n);
}

/* Discordant pairs of the m rows observed in both; adds the pairs tied in both to *joint. rows, a, b and next are
 * scratch of n each. */
PGMX_UNUSED static int64_t pgmx_discordant_tied(const uint32_t *rank_x, const uint32_t *rank_y, const int32_t *order_y,
                                                const int32_t *code_x, ptrdiff_t n_known, ptrdiff_t m, uint32_t *rows,
                                                uint32_t *a, uint32_t *b, uint32_t *next, int64_t *joint) {
    for (ptrdiff_t k = 0; k < m; k++) next[k] = (uint32_t)k;
    for (ptrdiff_t k = 0; k < n_known; k++) { /* rows in the order of (x, y) */
        uint32_t r = (uint32_t)order_y[k];
        if (code_x[r] >= 0) rows[next[rank_x[r]]++] = r;
    }
    for (ptrdiff_t k = 0; k < m; k++) next[k] = (uint32_t)k;
    ptrdiff_t run = 0;
    for (ptrdiff_t k = 0; k < m; k++) { /* their ranks in the order of (y, x) */
        uint32_t r = rows[k];
        a[k] = next[rank_y[r]]++;
        if (k && (rank_x[r] != rank_x[rows[k - 1]] || rank_y[r] != rank_y[rows[k - 1]])) run = k;
        *joint += k - run;
    }
    return pgmx_inversions(a, b, m);
}

#endif /* PGMX_RANKS_H */
