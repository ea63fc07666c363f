# A small random generator whose whole state is one word that the caller owns.
#
# SplitMix64: Steele, Lea & Flood (2014), Fast splittable pseudorandom number generators, OOPSLA, figure 16. It passes
# the usual test batteries, which is enough to draw moves; the same word gives the same stream on every machine.

from libc.stdint cimport uint64_t


cdef inline uint64_t next_word(uint64_t *state) noexcept nogil:
    cdef uint64_t z
    state[0] += <uint64_t>0x9e3779b97f4a7c15
    z = state[0]
    z = (z ^ (z >> 30)) * <uint64_t>0xbf58476d1ce4e5b9
    z = (z ^ (z >> 27)) * <uint64_t>0x94d049bb133111eb
    return z ^ (z >> 31)


cdef inline double uniform(uint64_t *state) noexcept nogil:
    # In [0, 1), 53 bits.
    return <double>(next_word(state) >> 11) * (1.0 / 9007199254740992.0)
