/* A counter that threads share. */
#ifndef PGMX_ATOMIC_H
#define PGMX_ATOMIC_H

#include <stdint.h>

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
static inline int64_t pgmx_take_next(int64_t *counter) { return _InterlockedExchangeAdd64(counter, 1); }
#else
static inline int64_t pgmx_take_next(int64_t *counter) { return __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED); }
#endif

#endif
