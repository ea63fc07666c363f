/* Counts the bytes that are allocated from the heap, and their peak: exact where resident memory is not.
 *
 * The allocator reuses pages that a process has already, and the kernel counts resident pages in batches, so that a
 * peak of a few megabytes cannot be read off the resident memory. Preloaded (LD_PRELOAD), with PYTHONMALLOC=malloc, this
 * sees every block of Python, numpy and the kernels of pgmx. For glibc.
 */
#include <errno.h>
#include <malloc.h>
#include <stddef.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static long long allocated, most;

static void count(long long change)
{
    long long now = __atomic_add_fetch(&allocated, change, __ATOMIC_RELAXED);
    long long before = __atomic_load_n(&most, __ATOMIC_RELAXED);
    while (now > before && !__atomic_compare_exchange_n(&most, &before, now, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

static void *counted(void *block)
{
    count((long long)malloc_usable_size(block));
    return block;
}

void *malloc(size_t size) { return counted(__libc_malloc(size)); }
void *calloc(size_t n, size_t size) { return counted(__libc_calloc(n, size)); }
void *memalign(size_t boundary, size_t size) { return counted(__libc_memalign(boundary, size)); }
void *aligned_alloc(size_t boundary, size_t size) { return memalign(boundary, size); }

void *realloc(void *block, size_t size)
{
    long long before = (long long)malloc_usable_size(block);
    void *larger = __libc_realloc(block, size);
    if (larger || !size)
        count((long long)malloc_usable_size(larger) - before);
    return larger;
}

int posix_memalign(void **result, size_t boundary, size_t size)
{
    void *block = memalign(boundary, size);
    if (!block)
        return ENOMEM;
    *result = block;
    return 0;
}

void free(void *block)
{
    count(-(long long)malloc_usable_size(block));
    __libc_free(block);
}

long long heap_bytes(void) { return allocated; }
long long heap_peak(void) { return most; }
void heap_reset(void) { most = allocated; }
