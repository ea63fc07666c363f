/* One plane from a column of codes: bit i of the plane says whether codes[i] == state. Padding bits stay zero. */
#ifndef PGMX_PLANES_H
#define PGMX_PLANES_H

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <emmintrin.h> /* every x86-64 has SSE2 */
#define PGMX_PACK_SSE2 1
#else
#define PGMX_PACK_SSE2 0
#endif

static inline void pgmx_pack_u8(const uint8_t *codes, ptrdiff_t n_rows, unsigned int state, uint64_t *plane) {
    ptrdiff_t i = 0;
#if PGMX_PACK_SSE2
    const __m128i wanted = _mm_set1_epi8((char)state);
    for (; i + 64 <= n_rows; i += 64) {
        uint64_t word = 0;
        for (int k = 0; k < 4; k++) {
            __m128i x = _mm_loadu_si128((const __m128i *)(codes + i + 16 * k));
            word |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(x, wanted)) << (16 * k);
        }
        plane[i >> 6] = word;
    }
#endif
    for (; i < n_rows; i++) plane[i >> 6] |= (uint64_t)(codes[i] == state) << (i & 63);
}

static inline void pgmx_pack_u16(const uint16_t *codes, ptrdiff_t n_rows, unsigned int state, uint64_t *plane) {
    for (ptrdiff_t i = 0; i < n_rows; i++) plane[i >> 6] |= (uint64_t)(codes[i] == state) << (i & 63);
}

#endif /* PGMX_PLANES_H */
