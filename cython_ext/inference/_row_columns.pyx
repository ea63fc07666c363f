"""Columns of state codes and blocks of rows: the transposition of one into the other, and answers per row.

Problem: tables are columns of one, two or four bytes per value, in codes of their own; the kernels of inference read
rows of int32 codes of the network, -1 for hidden variables, and write such rows.
Algorithm: a value is looked up in the map of its column. Tiles of rows stay in the first-level caches while all columns
of the tile are visited.
Cost: 1 to 2 ns per value.
Thread-safety: objects are read-only after their construction, and their methods release the GIL. Columns that are
written to must not share rows with the block of another thread.
"""

from cpython.buffer cimport PyBUF_STRIDED_RO, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t

import numpy as np

cdef enum:
    TILE = 64

cdef enum Width:
    ABSENT, INT8, INT16, INT32, UINT8, UINT16

_WIDTHS = {
    np.dtype(np.int8): INT8,
    np.dtype(np.int16): INT16,
    np.dtype(np.int32): INT32,
    np.dtype(np.uint8): UINT8,
    np.dtype(np.uint16): UINT16,
}

ctypedef fused code_t:
    int8_t
    int16_t
    int32_t
    uint8_t
    uint16_t


cdef inline void read_column(
    const code_t *source, Py_ssize_t step, const int32_t *mapped, int32_t *out, Py_ssize_t n, Py_ssize_t width
) noexcept nogil:
    cdef Py_ssize_t r
    for r in range(n):
        out[r * width] = mapped[<Py_ssize_t>source[r * step] + 1]


cdef inline void write_column(
    code_t *target, Py_ssize_t step, const int32_t *codes, Py_ssize_t n, Py_ssize_t width
) noexcept nogil:
    cdef Py_ssize_t r
    for r in range(n):
        target[r * step] = <code_t>codes[r * width]


cdef inline bint has_hidden(
    const code_t *source, Py_ssize_t step, const int32_t *mapped, bint is_plain, Py_ssize_t n
) noexcept nogil:
    # Whether a value is missing. If only the code -1 is (`is_plain`), nothing is looked up; a test per 1,024 values
    # leaves the inner loop without a branch.
    cdef Py_ssize_t r, start = 0
    cdef int32_t found
    cdef code_t least
    while start < n:
        if is_plain and step == 1:
            least = 0
            for r in range(start, min(start + 1024, n)):
                least |= source[r]
            found = -1 if least < 0 else 0
        else:
            found = 0
            for r in range(start, min(start + 1024, n)):
                found |= mapped[<Py_ssize_t>source[r * step] + 1]
        if found < 0:
            return True
        start += 1024
    return False


cdef class RowColumns:
    """Columns, one per variable, that are read into rows or written from rows.

    Parameters
    ----------
    columns : sequence of ndarray or None
        One-dimensional arrays of one length, int8, int16, int32, uint8 or uint16; None for a variable without a column.
    maps : sequence of int32 ndarray or None, optional
        ``maps[v][code + 1]`` is the code of the network, -1 for a missing value; only for reading.
    n_rows : int, optional
        The number of rows, for a table without columns.
    """

    cdef list _held
    cdef Py_ssize_t[::1] steps
    cdef uint8_t[::1] widths
    cdef uint8_t[::1] plain                       # whether -1 alone is a missing value
    cdef int64_t[::1] addresses
    cdef int64_t[::1] map_addresses
    cdef readonly Py_ssize_t n_columns, n_rows

    def __init__(self, columns, maps=None, n_rows=-1):
        cdef Py_ssize_t v, k
        cdef Py_buffer view
        cdef const int32_t *mapped
        self.n_columns = len(columns)
        self.n_rows = n_rows
        self._held = [list(columns), None if maps is None else list(maps)]
        self.addresses = np.zeros(max(1, self.n_columns), dtype=np.int64)
        self.map_addresses = np.zeros(max(1, self.n_columns), dtype=np.int64)
        self.steps = np.zeros(max(1, self.n_columns), dtype=np.intp)
        self.widths = np.zeros(max(1, self.n_columns), dtype=np.uint8)
        self.plain = np.ones(max(1, self.n_columns), dtype=np.uint8)
        for v in range(self.n_columns):
            column = columns[v]
            if column is None:
                continue
            width = _WIDTHS.get(column.dtype)
            if width is None or column.ndim != 1:
                raise TypeError(f"column {v} has dtype {column.dtype} and {column.ndim} axes")
            if self.n_rows not in (-1, len(column)):
                raise ValueError(f"column {v} has {len(column)} rows, another one has {self.n_rows}")
            self.n_rows = len(column)
            self.widths[v] = width
            # the arrays are held, so that their memory outlives the view of it
            PyObject_GetBuffer(column, &view, PyBUF_STRIDED_RO)
            self.addresses[v] = <int64_t>view.buf
            self.steps[v] = view.strides[0] // view.itemsize
            PyBuffer_Release(&view)
            if maps is not None:
                PyObject_GetBuffer(maps[v], &view, PyBUF_STRIDED_RO)
                mapped = <const int32_t *>view.buf
                self.map_addresses[v] = <int64_t>view.buf
                for k in range(1, view.len // view.itemsize):
                    if mapped[k] < 0:
                        self.plain[v] = 0
                PyBuffer_Release(&view)

    @property
    def arrays(self):
        """The columns and their maps."""
        return self._held

    def read(self, Py_ssize_t begin, int32_t[:, ::1] out):
        """Write the codes of the rows from `begin` on into `out` (n, n_columns); absent columns are -1."""
        cdef Py_ssize_t v, r, n, width = self.n_columns, n_rows = out.shape[0]
        cdef const int32_t *mapped
        cdef int32_t *target
        cdef char *source
        cdef Py_ssize_t step
        self._check_block(begin, n_rows, out.shape[1])
        with nogil:
            r = 0
            while r < n_rows:
                n = min(<Py_ssize_t>TILE, n_rows - r)
                for v in range(width):
                    target = &out[r, 0] + v
                    source = <char *>self.addresses[v]
                    mapped = <const int32_t *>self.map_addresses[v]
                    step = self.steps[v]
                    if self.widths[v] == INT8:
                        read_column(<int8_t *>source + (begin + r) * step, step, mapped, target, n, width)
                    elif self.widths[v] == UINT8:
                        read_column(<uint8_t *>source + (begin + r) * step, step, mapped, target, n, width)
                    elif self.widths[v] == INT16:
                        read_column(<int16_t *>source + (begin + r) * step, step, mapped, target, n, width)
                    elif self.widths[v] == UINT16:
                        read_column(<uint16_t *>source + (begin + r) * step, step, mapped, target, n, width)
                    elif self.widths[v] == INT32:
                        read_column(<int32_t *>source + (begin + r) * step, step, mapped, target, n, width)
                    else:
                        for step in range(n):
                            target[step * width] = -1
                r += TILE

    def write(self, Py_ssize_t begin, const int32_t[:, ::1] rows):
        """Write the codes of rows (n, n_columns) into the columns from row `begin` on, where there is a column."""
        cdef Py_ssize_t v, r, n, width = self.n_columns, n_rows = rows.shape[0]
        cdef const int32_t *codes
        cdef char *target
        cdef Py_ssize_t step
        self._check_block(begin, n_rows, rows.shape[1])
        with nogil:
            r = 0
            while r < n_rows:
                n = min(<Py_ssize_t>TILE, n_rows - r)
                for v in range(width):
                    codes = &rows[r, 0] + v
                    target = <char *>self.addresses[v]
                    step = self.steps[v]
                    if self.widths[v] == INT8:
                        write_column(<int8_t *>target + (begin + r) * step, step, codes, n, width)
                    elif self.widths[v] == INT16:
                        write_column(<int16_t *>target + (begin + r) * step, step, codes, n, width)
                    elif self.widths[v] == INT32:
                        write_column(<int32_t *>target + (begin + r) * step, step, codes, n, width)
                r += TILE

    def find_incomplete(self):
        """Return the variables without a column or with a missing value."""
        cdef Py_ssize_t v
        cdef const int32_t *mapped
        cdef char *source
        cdef uint8_t[::1] found = np.zeros(max(1, self.n_columns), dtype=np.uint8)
        with nogil:
            for v in range(self.n_columns):
                source = <char *>self.addresses[v]
                mapped = <const int32_t *>self.map_addresses[v]
                if self.widths[v] == INT8:
                    found[v] = has_hidden(<int8_t *>source, self.steps[v], mapped, self.plain[v], self.n_rows)
                elif self.widths[v] == UINT8:
                    found[v] = has_hidden(<uint8_t *>source, self.steps[v], mapped, self.plain[v], self.n_rows)
                elif self.widths[v] == INT16:
                    found[v] = has_hidden(<int16_t *>source, self.steps[v], mapped, self.plain[v], self.n_rows)
                elif self.widths[v] == UINT16:
                    found[v] = has_hidden(<uint16_t *>source, self.steps[v], mapped, self.plain[v], self.n_rows)
                elif self.widths[v] == INT32:
                    found[v] = has_hidden(<int32_t *>source, self.steps[v], mapped, self.plain[v], self.n_rows)
                else:
                    found[v] = True
        return [v for v in range(self.n_columns) if found[v]]

    cdef int _check_block(self, Py_ssize_t begin, Py_ssize_t n_rows, Py_ssize_t width) except -1:
        if width != self.n_columns or begin < 0 or (self.n_rows >= 0 and begin + n_rows > self.n_rows):
            raise ValueError(f"{n_rows} rows of {width} from row {begin} on, of {self.n_rows} rows of {self.n_columns}")
        return 0


def mark_observed(const int32_t[:, ::1] codes, const int64_t[::1] columns, double[:, ::1] probabilities):
    """Set the probability of each observed state to 1, from the column of its variable on (-1: not wanted)."""
    cdef Py_ssize_t r, v
    with nogil:
        for r in range(codes.shape[0]):
            for v in range(codes.shape[1]):
                if columns[v] >= 0 and codes[r, v] >= 0:
                    probabilities[r, columns[v] + codes[r, v]] = 1.0


def choose_states(
    const double[:, ::1] probabilities, const int64_t[::1] columns, const int32_t[::1] cards, int32_t[:, ::1] codes
):
    """Replace -1 in `codes` by the most probable state, of equal ones the first, where a variable has a column."""
    cdef Py_ssize_t r, v, j, best
    cdef const double *shares
    with nogil:
        for r in range(codes.shape[0]):
            for v in range(codes.shape[1]):
                if codes[r, v] >= 0 or columns[v] < 0:
                    continue
                shares = &probabilities[r, columns[v]]
                best = 0
                for j in range(1, cards[v]):
                    if shares[j] > shares[best]:
                        best = j
                codes[r, v] = <int32_t>best
