"""Columns at several lags without copies of their rows: views of coded columns, and chunks of numeric ones.

Row t of N lies at bit t // W of word t % W, for W words per bit plane, so that a shift by k rows is a shift by k words.
Words in front of a plane hold the ends of the lanes before: word -k has the rows of word W - k, one bit higher. The
codes of the 64 rows of a word are adjacent. A column at lag k is then a pointer k words earlier into the same plane,
and 64 k codes earlier into the same codes.

Weights are added in the order of the rows, so that codes of weighted rows are kept in this order. A column at lag k is
then a pointer k codes earlier.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from pgmx._ext import _counts
from pgmx.data.distributed.partitions import NumericPartition
from pgmx.data.numeric import NumericTable
from pgmx.data.table import DiscreteTable


class RowLanes:
    """The rows of coded columns in lanes: `table` has one row per bit of its planes, words in front included."""

    def __init__(self, n_rows: int, lags: int):
        self.n_rows = n_rows
        #: Words in front, whole cache lines.
        self.n_front = -(-lags // 8) * 8
        #: W. A lane is not shorter than the words in front, which are filled from one lane.
        self.n_words = max(-(-n_rows // 512) * 8, self.n_front)
        self.table: DiscreteTable | None = None

    def fill(self, tables: Iterator[DiscreteTable], n_columns: int) -> None:
        """Lay out all columns, which come in tables of some of them."""
        names: list = []
        states: list = []
        markers: list = []
        laid = np.zeros((n_columns, (self.n_front + self.n_words) * 64), dtype=np.uint8)
        for part in tables:
            laid = laid if part.codes.dtype == np.uint8 or laid.dtype == np.uint16 else laid.astype(np.uint16)
            for codes in part.codes:
                self._lay_out(codes, laid[len(states)])
                states.append(part.states[len(states) - len(names)])
            names += part.columns
            markers += part.missing_codes.tolist()
        self.table = DiscreteTable._from_parts(tuple(names), tuple(states), laid, np.array(markers))

    def _lay_out(self, codes: np.ndarray, out: np.ndarray) -> None:
        lanes = np.zeros(64 * self.n_words, dtype=codes.dtype)
        lanes[: self.n_rows] = codes
        lanes = lanes.reshape(64, self.n_words)
        words = out.reshape(-1, 64)
        words[self.n_front :] = lanes.T
        words[: self.n_front, 1:] = lanes[:-1, self.n_words - self.n_front :].T

    def take(self, v: int, lag: int, rows: np.ndarray) -> np.ndarray:
        """Return the codes of a column at a lag before some rows, (n,)."""
        assert self.table is not None
        first = (self.n_front - lag) * 64
        return self.table.codes[v, first : first + 64 * self.n_words].reshape(-1, 64).T.ravel()[rows]

    def mark(self, rows: np.ndarray) -> np.ndarray:
        """Return a bit plane of rows, uint64 (1, W)."""
        bits = np.zeros(64 * self.n_words, dtype=bool)
        bits[rows] = True
        packed = np.packbits(bits.reshape(64, self.n_words).T, axis=1, bitorder="little")
        return np.ascontiguousarray(packed).view("<u8").astype(np.uint64, copy=False).T.copy()


class RowCodes:
    """Coded columns in the order of the rows; `table` has them without lags."""

    def __init__(self, table: DiscreteTable):
        self.table = table

    def take(self, v: int, lag: int, rows: np.ndarray) -> np.ndarray:
        """Return the codes of a column at a lag before some rows, (n,)."""
        return self.table.codes[v][rows - lag]

    def to_lanes(self, lags: int) -> RowLanes:
        """Return the same columns in lanes."""
        lanes = RowLanes(self.table.n_rows, lags)
        lanes.fill(iter([self.table]), self.table.n_variables)
        return lanes


class ShiftedCodes:
    """The codes of a shifted table: one column at a time, or all of them as an array on request."""

    def __init__(self, table: "ShiftedTable"):
        self._table = table
        self.shape = (table.n_variables, table.n_rows)
        self.dtype = table._codes.dtype
        self.nbytes = self.shape[0] * self.shape[1] * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[v] for v in range(len(self)))

    def __getitem__(self, key: Any) -> np.ndarray:
        if isinstance(key, int | np.integer):
            return self._table.take_column(int(key))
        return np.asarray(self)[key]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        codes = np.empty(self.shape, dtype=self.dtype)
        for v in range(len(self)):
            codes[v] = self[v]
        return codes if dtype is None else codes.astype(dtype, copy=False)


class ShiftedTable(DiscreteTable):
    """A coded table whose columns are columns of some rows at lags. Only the first `n_children` have parents.

    `sources`, (n_variables, 2), are the positions of the columns in the rows, and their lags. The rows are `targets`.
    Rows in lanes are counted as views, and rows in their order are weighted as views.
    """

    __slots__ = ("_n_children", "_of_rows", "_sources", "_targets", "_views")

    has_views = True

    def __init__(
        self,
        columns: Sequence,
        of_rows: RowLanes | RowCodes,
        sources: Sequence[tuple[int, int]],
        targets: np.ndarray,
        n_children: int,
    ):
        table = of_rows.table
        assert table is not None
        self._of_rows, self._sources, self._targets, self._n_children = of_rows, list(sources), targets, n_children
        self._views: dict[str, Any] | None = None
        ids = [v for v, _ in self._sources]
        states = tuple(table.states[v] for v in ids)
        no_codes = np.empty((len(states), 0), dtype=table.codes.dtype)
        self._set(tuple(columns), states, no_codes, table.missing_codes[ids])
        # an array of this shape without memory: codes are computed
        self._codes = np.broadcast_to(self._codes.dtype.type(0), (len(states), len(targets)))

    @property
    def codes(self) -> Any:
        """State codes, one column at a time."""
        return ShiftedCodes(self)

    def take_column(self, v: int) -> np.ndarray:
        """Return the codes of a column."""
        return self._of_rows.take(*self._sources[v], self._targets)

    def to_plain(self) -> DiscreteTable:
        """Return the table with its codes in memory."""
        return DiscreteTable._from_parts(self.columns, self.states, np.asarray(self.codes), self.missing_codes)

    def repeat_rows(self, weights: Any) -> DiscreteTable:
        """Return a table in memory in which row i occurs ``weights[i]`` times."""
        return self.to_plain().repeat_rows(weights)

    def keep_weights(self, weights: np.ndarray | None) -> tuple[DiscreteTable, np.ndarray | None]:
        """Return a table for sums of the weights, which need the codes in memory, and the weights."""
        has_views = weights is None or isinstance(self._of_rows, RowCodes)
        return self if has_views else self.to_plain(), weights

    def _pack(self) -> tuple[np.ndarray, np.ndarray]:
        planes = self._planes
        if planes is None:
            planes = self._planes = _counts.pack_planes(np.asarray(self.codes), self.cardinalities)
        return planes

    def view_codes(self) -> dict[str, Any]:
        """Return the arguments of the compiled scorer of weighted rows."""
        rows = self._of_rows
        assert isinstance(rows, RowCodes)
        starts = np.array([v * rows.table.n_rows - lag for v, lag in self._sources], dtype=np.int64)
        begins = np.flatnonzero(np.diff(self._targets, prepend=-2) != 1)
        runs = np.column_stack([self._targets[begins], np.diff(begins, append=self.n_rows)]).astype(np.int64).ravel()
        return {"codes": rows.table.codes, "starts": starts, "runs": runs}

    def view_columns(self) -> dict[str, Any]:
        """Return the arguments of the compiled scorer for the columns and rows."""
        if self._views is None:
            rows = self._of_rows
            lanes = rows if isinstance(rows, RowLanes) else rows.to_lanes(max(lag for _, lag in self._sources))
            self._views = self._make_views(lanes)
        return self._views

    def _make_views(self, lanes: RowLanes) -> dict[str, Any]:
        table = lanes.table
        assert table is not None
        planes, offsets = table.planes, table.plane_offsets
        mask = lanes.mark(self._targets)
        code_starts = np.empty(len(self._sources), dtype=np.int64)
        plane_starts = np.full(len(self._sources), -1, dtype=np.int64)
        marginals = []
        for number, (v, lag) in enumerate(self._sources):
            word = lanes.n_front - lag
            code_starts[number] = v * table.codes.shape[1] + word * 64
            if offsets[v + 1] > offsets[v]:
                plane_starts[number] = offsets[v] * planes.shape[1] + word
                view = planes[offsets[v] : offsets[v + 1], word : word + lanes.n_words]
                marginals.append(_counts.count_planes(view & mask))
            else:
                counts = np.bincount(self.take_column(number), minlength=len(table.states[v]))
                marginals.append(counts.astype(np.uint32))
        mask_of = np.where(np.arange(len(self._sources)) < self._n_children, 0, -1)
        return {
            "codes": table.codes,
            "planes": planes,
            "plane_offsets": offsets,
            "marginals": np.concatenate(marginals),
            "code_starts": code_starts,
            "plane_starts": plane_starts,
            "masks": mask,
            "mask_of": mask_of,
            "n_rows": self.n_rows,
        }

    def __reduce__(self) -> Any:
        return ShiftedTable, (self.columns, self._of_rows, self._sources, self._targets, self._n_children)


class ShiftedNumbers(NumericTable):
    """Numeric columns at lags. The rows are `targets`, and are made in chunks of `chunk_rows`.

    `columns` are the values of each column, float64 (N,), and its lag. Chunks are in column-major order, as frames are.
    """

    has_views = True

    def __init__(
        self, names: Sequence[Hashable], columns: Sequence[tuple[np.ndarray, int]], targets: np.ndarray, chunk_rows: int
    ):
        super().__init__(names, "error")
        self._columns, self._targets, self._chunk_rows = list(columns), targets, chunk_rows

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self._targets)

    @property
    def float_columns(self) -> list:
        """Names of the columns."""
        return list(self.names)

    def rows(self) -> np.ndarray:
        """Return all rows, float64 (n_rows, n_columns)."""
        return self._take(slice(None))

    def chunks_with_numbers(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the positions of the rows and the rows of each chunk."""
        for first in range(0, self.n_rows, self._chunk_rows):
            chunk = slice(first, min(first + self._chunk_rows, self.n_rows))
            yield np.arange(chunk.start, chunk.stop), self._take(chunk)

    def _take(self, chunk: slice) -> np.ndarray:
        rows = self._targets[chunk]
        values = np.empty((self.n_columns, len(rows)))
        is_whole = bool(len(rows)) and int(rows[-1] - rows[0]) == len(rows) - 1
        for out, (column, lag) in zip(values, self._columns, strict=True):
            out[:] = column[rows[0] - lag : rows[-1] + 1 - lag] if is_whole else column[rows - lag]
        return values.T

    def reduce(
        self, function: Callable, *arguments: Any, add: Callable[[list], Any], weights: np.ndarray | None = None
    ) -> Any:
        """Return a function of the partition of all rows, which are in memory one chunk at a time."""
        blocks: Any = self.chunks()  # a partition reads its blocks once
        return function(NumericPartition(self.names, blocks, weights), *arguments)
