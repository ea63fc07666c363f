# Threads that share the work items of a task, one task at a time. The first thread defines the tasks and waits only for
# items that other threads have begun. If the other threads get no processor, it does all items by itself.

from cpython.pythread cimport (
    PyThread_acquire_lock, PyThread_allocate_lock, PyThread_free_lock, PyThread_release_lock, PyThread_type_lock,
    WAIT_LOCK
)
from libc.stdint cimport uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset


cdef enum:
    MOST_THREADS = 16
    PATIENCE = 400              # polls for a work item before a thread sleeps: about 20 us


cdef struct Crew:
    Py_ssize_t n_threads        # 1: there are no other threads, and no lock is used
    Py_ssize_t n_pieces, n_left
    char *is_taken              # by work item
    uint64_t task               # its number, from 1
    bint is_closed, has_failed, is_awaited
    PyThread_type_lock lock
    PyThread_type_lock[MOST_THREADS] bells      # held while a thread sleeps
    bint[MOST_THREADS] is_asleep


cdef inline bint set_crew(Crew *crew, Py_ssize_t n_threads, Py_ssize_t n_pieces) noexcept:
    # False if memory is short; call free_crew() in both cases.
    cdef Py_ssize_t i
    cdef char *is_taken = <char *>malloc(n_pieces)
    free(crew.is_taken)
    crew.is_taken, crew.n_pieces, crew.n_threads, crew.is_closed = is_taken, n_pieces, n_threads, False
    if is_taken == NULL:
        return False
    if n_threads > 1 and crew.lock == NULL:
        crew.lock = PyThread_allocate_lock()
        if crew.lock == NULL:
            return False
    for i in range(n_threads if n_threads > 1 else 0):
        if crew.bells[i] == NULL:
            crew.bells[i] = PyThread_allocate_lock()
            if crew.bells[i] == NULL:
                return False
            PyThread_acquire_lock(crew.bells[i], WAIT_LOCK)
    return True


cdef inline void free_crew(Crew *crew) noexcept:
    cdef Py_ssize_t i
    free(crew.is_taken)
    for i in range(MOST_THREADS):
        if crew.bells[i] != NULL:
            PyThread_free_lock(crew.bells[i])
    if crew.lock != NULL:
        PyThread_free_lock(crew.lock)


cdef inline void wake(Crew *crew, Py_ssize_t thread) noexcept nogil:
    if crew.is_asleep[thread]:
        crew.is_asleep[thread] = False
        PyThread_release_lock(crew.bells[thread])


cdef inline void begin_task(Crew *crew) noexcept nogil:
    cdef Py_ssize_t i
    if crew.n_threads > 1:
        PyThread_acquire_lock(crew.lock, WAIT_LOCK)
    memset(crew.is_taken, 0, crew.n_pieces)
    crew.n_left, crew.has_failed = crew.n_pieces, False
    crew.task += 1
    if crew.n_threads > 1:
        for i in range(1, crew.n_threads):
            wake(crew, i)
        PyThread_release_lock(crew.lock)


cdef inline Py_ssize_t take_piece(Crew *crew, Py_ssize_t preferred, uint64_t *task) noexcept nogil:
    # A work item that no thread has taken, -1 if there is none.
    cdef Py_ssize_t i, piece = -1
    if crew.n_threads > 1:
        PyThread_acquire_lock(crew.lock, WAIT_LOCK)
    task[0] = crew.task
    if crew.n_left > 0:
        for i in range(crew.n_pieces):
            piece = (preferred + i) % crew.n_pieces
            if not crew.is_taken[piece]:
                crew.is_taken[piece] = True
                break
            piece = -1
    if crew.n_threads > 1:
        PyThread_release_lock(crew.lock)
    return piece


cdef inline void finish_piece(Crew *crew, bint has_failed) noexcept nogil:
    if crew.n_threads > 1:
        PyThread_acquire_lock(crew.lock, WAIT_LOCK)
    crew.n_left -= 1
    crew.has_failed = crew.has_failed or has_failed
    if crew.n_threads > 1:
        if crew.n_left == 0 and crew.is_awaited:
            crew.is_awaited = False
            PyThread_release_lock(crew.bells[0])
        PyThread_release_lock(crew.lock)


cdef inline bint await_pieces(Crew *crew) noexcept nogil:
    # Waits for the items that other threads have taken; False if an item has failed.
    cdef Py_ssize_t i
    cdef bint is_over = crew.n_left == 0
    if crew.n_threads == 1:
        return not crew.has_failed
    for i in range(PATIENCE):
        PyThread_acquire_lock(crew.lock, WAIT_LOCK)
        is_over = crew.n_left == 0
        crew.is_awaited = not is_over and i == PATIENCE - 1
        PyThread_release_lock(crew.lock)
        if is_over:
            break
    if not is_over:
        PyThread_acquire_lock(crew.bells[0], WAIT_LOCK)
    return not crew.has_failed


cdef inline bint await_task(Crew *crew, Py_ssize_t thread) noexcept nogil:
    # Waits for a task with work items to take; False at the end.
    cdef Py_ssize_t i = 0, piece
    cdef bint is_over = False, is_open = False
    while not (is_over or is_open):
        PyThread_acquire_lock(crew.lock, WAIT_LOCK)
        is_over = crew.is_closed
        for piece in range(crew.n_pieces if crew.n_left > 0 else 0):
            is_open = is_open or not crew.is_taken[piece]
        i += 1
        crew.is_asleep[thread] = not is_over and not is_open and i >= PATIENCE
        PyThread_release_lock(crew.lock)
        if not is_over and not is_open and i >= PATIENCE:
            PyThread_acquire_lock(crew.bells[thread], WAIT_LOCK)
            i = 0
    return not is_over


cdef inline void close_crew(Crew *crew) noexcept nogil:
    # Lets the threads end.
    cdef Py_ssize_t i
    PyThread_acquire_lock(crew.lock, WAIT_LOCK)
    crew.is_closed = True
    for i in range(1, crew.n_threads):
        wake(crew, i)
    PyThread_release_lock(crew.lock)
