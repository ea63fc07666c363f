/* Sums of eight lanes of words, the largest code of a row, and whether planes share a bit; see _checksums.pyx.
 * The sums of lanes are written for the two-word registers that every 64-bit processor has; the rest is left to the
 * compiler. */
#ifndef PGMX_CHECKSUMS_H
#define PGMX_CHECKSUMS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

static inline unsigned int pgmx_largest_u8(const uint8_t *codes, ptrdiff_t n, unsigned int least) {
    uint8_t largest = (uint8_t)least;
    for (ptrdiff_t i = 0; i < n; i++) largest = codes[i] > largest ? codes[i] : largest;
    return largest;
}

static inline unsigned int pgmx_largest_u16(const uint16_t *codes, ptrdiff_t n, unsigned int least) {
    uint16_t largest = (uint16_t)least;
    for (ptrdiff_t i = 0; i < n; i++) largest = codes[i] > largest ? codes[i] : largest;
    return largest;
}

/* Adds two words of a plane to the bits seen; returns the bits that were there before, with those of `twice`. */
static inline pgmx_two pgmx_mark(pgmx_two words, uint64_t *seen, pgmx_two twice) {
    pgmx_two before = pgmx_load(seen);
    pgmx_store(seen, PGMX_OR(before, words));
    return PGMX_OR(twice, PGMX_AND(before, words));
}

/* Adds words of a plane, a multiple of eight, to its sums and to the bits seen; whether one was seen before. */
static inline int pgmx_add_plane(const uint64_t *plane, ptrdiff_t n_words, uint64_t *lanes, uint64_t *seen) {
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

#endif
