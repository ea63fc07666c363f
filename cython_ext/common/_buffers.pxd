# Growing scratch buffers for code that runs without the GIL.

from libc.stddef cimport size_t
from libc.stdlib cimport free, malloc


cdef struct Buffer:
    void *raw          # result of malloc
    void *data         # the first 64-byte boundary in it
    size_t capacity    # bytes from data on


cdef inline void *reserve(Buffer *buffer, size_t n_bytes) except NULL nogil:
    # Returns at least n_bytes of 64-byte aligned memory; the old content is lost when it has to grow.
    if buffer.data == NULL or buffer.capacity < n_bytes:
        free(buffer.raw)
        buffer.data = NULL
        buffer.capacity = n_bytes + n_bytes // 4
        buffer.raw = malloc(buffer.capacity + 64)
        if buffer.raw == NULL:
            buffer.capacity = 0
            with gil:
                raise MemoryError(f"cannot allocate {n_bytes} bytes of scratch memory for counting")
        buffer.data = <void *>((<size_t>buffer.raw + 63) // 64 * 64)
    return buffer.data


cdef inline void release(Buffer *buffer) noexcept nogil:
    free(buffer.raw)
    buffer.raw = NULL
    buffer.data = NULL
    buffer.capacity = 0
