"""Coding of single columns: values in, small unsigned codes out.

Problem. Replace each value of a column by its index among the distinct values of that column.

Algorithms. Integers whose range is below 256 are coded by their distance from the smallest one (`code_integers`). All
other values are looked up in a hash table with linear probing (`Distinct`): integers of a wide range, the strings of an
Arrow column, Python objects. A string of up to eight bytes is its own key, a longer one is hashed and compared byte by
byte. Codes are numbered by first occurrence; the caller sorts the few distinct values and applies `relabel`.

Cost. One or two sequential passes over the values; additional memory is proportional to the number of distinct values.

Threads. No state is shared between calls, and all but `code_objects` release the GIL. Inputs are never written to
and may be read-only or strided; the caller makes sure that they are aligned.
"""

from cpython.buffer cimport PyBUF_STRIDED_RO, PyBuffer_Release, PyObject_GetBuffer
from cpython.object cimport PyObject
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy

cdef extern from "Python.h":
    # On bare pointers: the usual declarations would count references of every object.
    bint is_exact_str "PyUnicode_CheckExact"(PyObject*) nogil
    int str_kind "PyUnicode_KIND"(PyObject*) nogil
    const char* str_data "(const char*)PyUnicode_DATA"(PyObject*) nogil
    Py_ssize_t str_length "PyUnicode_GET_LENGTH"(PyObject*) nogil
    PyObject* none "Py_None"

ctypedef fused integer:
    int8_t
    int16_t
    int32_t
    int64_t
    uint8_t
    uint16_t
    uint32_t
    uint64_t

ctypedef fused offset:
    int32_t
    int64_t

# Codes are at most 16 bits wide, so a column may hold this many distinct values.
cdef enum:
    MAX_DISTINCT = 65535
    # Objects other than str are distinguished by address; with more addresses than this the caller has a better way.
    MAX_ADDRESSES = 4096
    FIRST_SLOTS = 256
    ADDRESS_TAG = 7
    TILE_ROWS = 512  # measured: 16 to 256 and 2048 were up to three times as slow on arrays of 37 to 724 columns

cdef struct Slot:
    uint64_t key
    uint64_t tag    # 8 * bytes + kind of string; ADDRESS_TAG for other objects
    uint32_t code   # 0: empty, else 1 + code

cdef struct Entry:
    const char* start
    Py_ssize_t row

cdef struct Distinct:
    Slot* slots
    Entry* entries
    Py_ssize_t n_slots
    Py_ssize_t capacity
    Py_ssize_t n
    int shift


# --- the table of distinct values -----------------------------------------------------------------------------------

cdef bint open_table(Distinct* table) noexcept nogil:
    """Allocate an empty table; False if memory is not available."""
    table.n_slots = FIRST_SLOTS
    table.shift = 64 - 8
    table.capacity = FIRST_SLOTS // 2
    table.n = 0
    table.slots = <Slot*> calloc(table.n_slots, sizeof(Slot))
    table.entries = <Entry*> malloc(table.capacity * sizeof(Entry))
    return table.slots != NULL and table.entries != NULL


cdef void close_table(Distinct* table) noexcept nogil:
    """Free what `open_table` and `grow` allocated."""
    free(table.slots)
    free(table.entries)
    table.slots = NULL
    table.entries = NULL


cdef inline Py_ssize_t first_slot(const Distinct* table, uint64_t key, uint64_t tag) noexcept nogil:
    """Slot at which the search for a key begins: the high bits of a multiplicative hash."""
    cdef uint64_t mixed = (key ^ (tag * <uint64_t> 0xD6E8FEB86659FD93)) * <uint64_t> 0x9E3779B97F4A7C15
    mixed ^= mixed >> 32
    return <Py_ssize_t> ((mixed * <uint64_t> 0x9E3779B97F4A7C15) >> table.shift)


cdef bint grow(Distinct* table) noexcept nogil:
    """Double the table; False if memory is not available (the table is then still valid)."""
    cdef Py_ssize_t n_slots = 2 * table.n_slots
    cdef Py_ssize_t i, at
    cdef Slot* old = table.slots
    cdef Slot* slots = <Slot*> calloc(n_slots, sizeof(Slot))
    cdef Entry* entries = <Entry*> realloc(table.entries, (n_slots // 2) * sizeof(Entry))
    if entries != NULL:
        table.entries = entries
    if slots == NULL or entries == NULL:
        free(slots)
        return False
    table.slots = slots
    table.shift -= 1
    for i in range(table.n_slots):
        if old[i].code:
            at = first_slot(table, old[i].key, old[i].tag)
            while slots[at].code:
                at = (at + 1) & (n_slots - 1)
            slots[at] = old[i]
    table.n_slots = n_slots
    table.capacity = n_slots // 2
    free(old)
    return True


cdef inline Py_ssize_t code_of(
    Distinct* table, uint64_t key, uint64_t tag, const char* start, Py_ssize_t row
) noexcept nogil:
    """Code of a value, entered if it is new; -1 if the table is full, -2 if memory is not available."""
    cdef Py_ssize_t at = first_slot(table, key, tag)
    cdef Slot* slot
    cdef size_t n_bytes = tag >> 3
    while True:
        slot = &table.slots[at]
        if slot.code == 0:
            break
        if slot.key == key and slot.tag == tag and (
            n_bytes <= 8 or memcmp(table.entries[slot.code - 1].start, start, n_bytes) == 0
        ):
            return slot.code - 1
        at = (at + 1) & (table.n_slots - 1)
    if table.n >= MAX_DISTINCT:
        return -1
    if table.n == table.capacity:
        if not grow(table):
            return -2
        at = first_slot(table, key, tag)
        while table.slots[at].code:
            at = (at + 1) & (table.n_slots - 1)
        slot = &table.slots[at]
    table.entries[table.n].start = start
    table.entries[table.n].row = row
    table.n += 1
    slot.key = key
    slot.tag = tag
    slot.code = <uint32_t> table.n
    return table.n - 1


cdef inline uint64_t load8(const char* p) noexcept nogil:
    cdef uint64_t word
    memcpy(&word, p, 8)
    return word


cdef inline uint64_t load_padded(const char* p, size_t n) noexcept nogil:
    cdef uint64_t word = 0
    memcpy(&word, p, n)
    return word


cdef inline uint64_t load4(const char* p) noexcept nogil:
    cdef uint32_t word
    memcpy(&word, p, 4)
    return word


cdef inline uint64_t bytes_key(const char* p, size_t n) noexcept nogil:
    """Key of `n` bytes: with `n` known it determines them if n <= 8, and is a hash of them beyond.

    No byte outside the string is read: two overlapping loads cover the lengths 4 to 8.
    """
    cdef uint64_t key
    cdef size_t i
    if n >= 8:
        key = load8(p + n - 8)
        i = 8
        while i < n:
            key = (key ^ load8(p + i - 8)) * <uint64_t> 0x9E3779B97F4A7C15
            key ^= key >> 29
            i += 8
        return key
    if n >= 4:
        return load4(p) | (load4(p + n - 4) << 32)
    if n > 0:
        return <uint8_t> p[0] | (<uint64_t> <uint8_t> p[n >> 1] << 8) | (<uint64_t> <uint8_t> p[n - 1] << 16)
    return 0


cdef drain(Distinct* table, Py_ssize_t outcome):
    """Close a table; return the row at which each value was first seen, in code order, or None if it ran full."""
    cdef Py_ssize_t code
    try:
        if outcome == -2:
            raise MemoryError("no memory for the table of distinct values")
        return None if outcome == -1 else [table.entries[code].row for code in range(table.n)]
    finally:
        close_table(table)


# --- integers -------------------------------------------------------------------------------------------------------

cdef inline integer at_step(const integer* base, Py_ssize_t bytes_away) noexcept nogil:
    return (<const integer*> (<const char*> base + bytes_away))[0]


cdef inline void scan_range(
    const integer* base, Py_ssize_t n, Py_ssize_t step, integer* low, integer* high
) noexcept nogil:
    """Smallest and largest of n >= 1 values that lie `step` bytes apart."""
    cdef integer smallest = base[0]
    cdef integer largest = smallest
    cdef integer value
    cdef Py_ssize_t i
    for i in range(n):
        value = at_step(base, i * step)
        smallest = value if value < smallest else smallest
        largest = value if value > largest else largest
    low[0] = smallest
    high[0] = largest


cdef inline void write_distances(
    const integer* base, Py_ssize_t n, Py_ssize_t step, integer low, uint8_t* present, uint8_t* out
) noexcept nogil:
    """Write each value's distance from `low` (known to be below 256), and mark the distances that occur."""
    cdef Py_ssize_t i
    cdef uint8_t distance
    for i in range(n):
        distance = <uint8_t> (at_step(base, i * step) - low)
        present[distance] = 1
        out[i] = distance


cdef void close_gaps(const uint8_t* present, uint8_t* out, Py_ssize_t n) noexcept nogil:
    """Convert distances to ranks: the number of marks before them."""
    cdef uint8_t rank[256]
    cdef int before = 0, i, last = 0
    cdef Py_ssize_t row
    for i in range(256):
        rank[i] = <uint8_t> before
        if present[i]:
            before += 1
            last = i
    if before < last + 1:
        for row in range(n):
            out[row] = rank[out[row]]


cdef describe_range(integer low, integer high, const uint8_t* present):
    """Return the smallest value and the marks up to the largest, or None for a wide range."""
    cdef uint64_t span = <uint64_t> high - <uint64_t> low
    return None if span >= 256 else (low, (<const char*> present)[: span + 1])


cdef inline integer narrow_values(const integer* base, Py_ssize_t n, Py_ssize_t step, uint8_t* out) noexcept nogil:
    """Write the low byte of each value; return the smallest value."""
    cdef integer smallest = 0
    cdef integer value
    cdef Py_ssize_t i
    for i in range(n):
        value = at_step(base, i * step)
        smallest = value if value < smallest else smallest
        out[i] = <uint8_t> value
    return smallest


def code_integers(const integer[:, :] cells, uint8_t[:, ::1] out):
    """Code columns of integers by rank if their range is small.

    Parameters
    ----------
    cells : memoryview of any integer type, shape (n, p), n >= 1, p >= 1, in any memory order
    out : uint8 memoryview, shape (p, n); receives the codes, one row per variable

    Returns
    -------
    list of (low, present) or None
        For each column its smallest value and one byte per value from it to the largest, 1 if the value occurs; the
        code of a value is the number of marks before it. None, with undefined values in `out`, if the range is 256 or
        more.
    """
    cdef Py_ssize_t n = cells.shape[0], p = cells.shape[1], step = cells.strides[0], first = 0, j
    # Columns which lie side by side in memory are read in tiles of rows, so that a cache line serves several of them.
    cdef Py_ssize_t tile = n if p == 1 or step == sizeof(integer) else TILE_ROWS
    cdef integer low, high
    cdef integer* lows = NULL
    cdef integer* highs = NULL
    cdef uint8_t* present = NULL
    cdef bint allocated
    with nogil:
        lows = <integer*> malloc(p * sizeof(integer))
        highs = <integer*> malloc(p * sizeof(integer))
        present = <uint8_t*> calloc(p, 256)
        allocated = lows != NULL and highs != NULL and present != NULL
        while allocated and first < n:
            for j in range(p):
                # A step known to the compiler lets it vectorise the scan.
                if step == sizeof(integer):
                    scan_range(&cells[first, j], min(tile, n - first), sizeof(integer), &low, &high)
                else:
                    scan_range(&cells[first, j], min(tile, n - first), step, &low, &high)
                lows[j] = low if first == 0 or low < lows[j] else lows[j]
                highs[j] = high if first == 0 or high > highs[j] else highs[j]
            first += tile
        first = 0
        while allocated and first < n:
            for j in range(p):
                if <uint64_t> highs[j] - <uint64_t> lows[j] < 256:
                    write_distances(
                        &cells[first, j], min(tile, n - first), step, lows[j], present + 256 * j, &out[j, first]
                    )
            first += tile
        for j in range(p if allocated else 0):
            if <uint64_t> highs[j] - <uint64_t> lows[j] < 256:
                close_gaps(present + 256 * j, &out[j, 0], n)
    try:
        if not allocated:
            raise MemoryError("no memory for the ranges of the columns")
        return [describe_range(lows[j], highs[j], present + 256 * j) for j in range(p)]
    finally:
        free(lows)
        free(highs)
        free(present)


def code_spread_integers(const integer[:] values, uint16_t[::1] out):
    """Code integers of any range by first occurrence.

    Parameters
    ----------
    values : memoryview of any integer type, shape (n,), n >= 1
    out : uint16 memoryview, shape (n,); receives the codes

    Returns
    -------
    list of int or None
        The distinct values in code order; None if there are more than 65535.
    """
    cdef Py_ssize_t n = values.shape[0], i, code = 0
    cdef Distinct table
    with nogil:
        if not open_table(&table):
            code = -2
        else:
            for i in range(n):
                code = code_of(&table, <uint64_t> values[i], 0, NULL, i)
                if code < 0:
                    break
                out[i] = <uint16_t> code
    rows = drain(&table, code)
    return None if rows is None else [values[<Py_ssize_t> row] for row in rows]


def narrow_categories(const integer[:] codes, uint8_t[::1] out):
    """Copy category codes of at most 255 categories to bytes.

    Parameters
    ----------
    codes : memoryview of any integer type, shape (n,), n >= 1; from 0 to 254, or negative for a missing value
    out : uint8 memoryview, shape (n,); receives the codes, undefined for a missing value

    Returns
    -------
    bool
        True if some value is missing.
    """
    cdef Py_ssize_t n = codes.shape[0], step = codes.strides[0]
    cdef const integer* base = &codes[0]
    cdef bint missing
    with nogil:
        if step == sizeof(integer):
            missing = narrow_values(base, n, sizeof(integer), &out[0]) < 0
        else:
            missing = narrow_values(base, n, step, &out[0]) < 0
    return missing


# --- strings and objects --------------------------------------------------------------------------------------------

def code_strings(const offset[::1] offsets, const uint8_t[::1] data, uint16_t[::1] out):
    """Code the strings of an Arrow column without missing values by first occurrence.

    Parameters
    ----------
    offsets : int32 or int64 memoryview, shape (n + 1,), n >= 1; string i is data[offsets[i] : offsets[i + 1]]
    data : uint8 memoryview, the text, may be empty
    out : uint16 memoryview, shape (n,); receives the codes

    Returns
    -------
    list of int or None
        The row of the first occurrence of each distinct string, in code order; None if there are more than 65535.
    """
    cdef Py_ssize_t n = offsets.shape[0] - 1, i, code = 0
    cdef const char* base = <const char*> &offsets[0]  # never read from when all strings are empty
    cdef const char* end
    cdef Distinct table
    cdef const char* start
    cdef size_t n_bytes
    cdef uint64_t key
    cdef uint64_t masks[9]
    for i in range(9):
        masks[i] = load_padded(b"\xff\xff\xff\xff\xff\xff\xff\xff", i)
    if data.shape[0]:
        base = <const char*> &data[0]
    end = base + data.shape[0]
    with nogil:
        if not open_table(&table):
            code = -2
        else:
            for i in range(n):
                start = base + offsets[i]
                n_bytes = <size_t> (offsets[i + 1] - offsets[i])
                if n_bytes > 8:
                    key = bytes_key(start, n_bytes)
                elif end - start >= 8:
                    # One load for any length: a branch on it would be mispredicted as often as the states vary.
                    key = load8(start) & masks[n_bytes]
                else:
                    key = load_padded(start, n_bytes)
                code = code_of(&table, key, <uint64_t> n_bytes << 3, start, i)
                if code < 0:
                    break
                out[i] = <uint16_t> code
    return drain(&table, code)


def code_objects(values, uint16_t[::1] out):
    """Code Python objects by first occurrence: strings by content, all else by identity.

    Parameters
    ----------
    values : numpy array of dtype object, shape (n,), n >= 1
    out : uint16 memoryview, shape (n,); receives the codes

    Returns
    -------
    list of int or None
        The row of the first occurrence of each distinct object, in code order. None if there are more than 65535,
        or more than 4096 that are not of type str.

    Notes
    -----
    CPython stores a string in the narrowest of its kinds (1, 2 or 4 bytes per character), so that equal strings have
    equal bytes. The GIL is held throughout.
    """
    cdef Py_buffer view
    cdef Distinct table
    cdef Py_ssize_t n, step, i, code = 0, n_addresses = 0, n_before
    cdef const char* base
    cdef const char* start
    cdef size_t n_bytes
    cdef PyObject* cell
    cdef int kind
    PyObject_GetBuffer(values, &view, PyBUF_STRIDED_RO)
    n = view.shape[0]
    step = view.strides[0]
    base = <const char*> view.buf
    if not open_table(&table):
        code = -2
    else:
        for i in range(n):
            cell = (<PyObject**> (base + i * step))[0]
            if cell == NULL:  # numpy's representation of None in an array never written to
                cell = none
            kind = str_kind(cell) if is_exact_str(cell) else 0
            if kind:
                start = str_data(cell)
                n_bytes = <size_t> (str_length(cell) * kind)
                code = code_of(&table, bytes_key(start, n_bytes), <uint64_t> n_bytes << 3 | <uint64_t> kind, start, i)
            else:
                n_before = table.n
                code = code_of(&table, <uint64_t> <uintptr_t> cell, ADDRESS_TAG, NULL, i)
                n_addresses += table.n - n_before
                if n_addresses > MAX_ADDRESSES:
                    code = -1
            if code < 0:
                break
            out[i] = <uint16_t> code
    PyBuffer_Release(&view)
    return drain(&table, code)


def relabel(const uint16_t[::1] codes, const uint8_t[::1] label, uint8_t[::1] out):
    """Write ``out[i] = label[codes[i]]``; every code is below ``len(label)``."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(codes.shape[0]):
            out[i] = label[codes[i]]
