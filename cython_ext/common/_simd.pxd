# Bit-plane kernels of _simd.h and the one rule by which a module selects their level.

from libc.stddef cimport ptrdiff_t
from libc.stdint cimport uint32_t, uint64_t


cdef extern from "_simd.h" nogil:
    void pgmx_count_and(
        const uint64_t *candidate, const uint64_t **cells, ptrdiff_t n_cells,
        ptrdiff_t begin, ptrdiff_t end, uint32_t *counts
    )
    uint64_t pgmx_and(uint64_t *out, const uint64_t *a, const uint64_t *b, ptrdiff_t n_words)
    uint64_t pgmx_popcount(const uint64_t *a, ptrdiff_t n_words)
    int pgmx_lowest_bit(uint64_t x)
    int pgmx_simd_best()
    void pgmx_simd_select(int level)


cdef inline tuple simd_levels():
    # Names of the levels, in the order of the enum in _simd.h.
    return ("plain", "popcnt", "avx2", "avx512")


cdef inline int select_simd_level() except -1:
    # PGMX_SIMD forces a level; unset or empty, the best one that the processor runs is taken.
    import os

    levels = simd_levels()
    best = pgmx_simd_best()
    wanted = os.environ.get("PGMX_SIMD", "").strip().lower() or levels[best]
    if wanted not in levels or levels.index(wanted) > best:
        raise ImportError(
            f"PGMX_SIMD={wanted!r} cannot be used: this processor runs {', '.join(levels[:best + 1])}; "
            "unset PGMX_SIMD to take the best"
        )
    level = levels.index(wanted)
    pgmx_simd_select(level)
    return level
