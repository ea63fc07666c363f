"""The distributed tables in the driver, discrete or numeric: their rows stay with the workers of a dask cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from pgmx.checks import check_weights
from pgmx.data.columns import MAX_BYTE_STATES
from pgmx.data.distributed import reading
from pgmx.data.distributed.partitions import (
    add_digests,
    count_rows,
    digest_rows,
    drop_column,
    pack_planes,
    repeat_partition,
    take_codes,
)
from pgmx.data.distributed.remote_partitions import RemotePartitions
from pgmx.data.distributed.remote_table import RemoteTable
from pgmx.data.frame import Frame
from pgmx.data.numeric import NumericTable
from pgmx.data.table import DiscreteTable

if TYPE_CHECKING:
    from pandas import DataFrame

#: Number of rows of a distributed table from which sums of counts may not fit in 32 bits.
WIDE_ROWS = 1 << 32


class DistributedTable(RemoteTable, DiscreteTable):
    """Coded table whose rows stay with the workers of a dask cluster; made by :func:`pgmx.data.distribute`.

    Pass it to ``fit`` like any table. The workers count their rows, and the counts are added. The rows are never
    gathered: `codes`, `planes` and `to_pandas`, which need single rows, raise TypeError.

    Parameters
    ----------
    *args, **options
        None: the constructor raises TypeError.

    Attributes
    ----------
    columns, states, cardinalities, n_variables, n_rows, missing_codes, plane_offsets
        As in :class:`DiscreteTable`.
    n_parts : int
        Number of partitions that are counted one by one: as many as the workers have threads, or fewer.

    Notes
    -----
    A worker keeps a byte per value (two if a variable has more than 255 states) and, after its first count, an eighth
    of a byte for each row and state. A table that was pickled, or whose :meth:`release` was called, no longer has rows.
    Counts have 32 bits; with 2**32 rows or more they are added and scored as float64, which is exact up to 2**53. A
    partition has fewer than 2**31 rows.

    Examples
    --------
    >>> import pandas as pd
    >>> from distributed import Client
    >>> from pgmx.data import distribute
    >>> data = pd.DataFrame({"a": ["x", "y"] * 50, "b": ["x", "y", "y", "x"] * 25})
    >>> with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0") as client:
    ...     table = distribute(data, client)
    ...     table.n_rows, table.n_parts, table.states
    (100, 2, (('x', 'y'), ('x', 'y')))
    """

    __slots__ = ("_partitions", "_weights")

    def __init__(self, *args: Any, **options: Any):
        raise TypeError("a DistributedTable is made by pgmx.data.distribute(source, client)")

    @classmethod
    def _from_partitions(
        cls,
        columns: Sequence,
        states: Sequence[tuple],
        missing_codes: ArrayLike | None,
        partitions: RemotePartitions,
        weights: np.ndarray | None = None,
    ) -> DistributedTable:
        """Make a table of the partitions that workers keep; `weights` are the weights of their rows, if any."""
        _check_row_counts(partitions.row_counts)
        table = cls.__new__(cls)
        dtype = np.uint16 if max(map(len, states)) > MAX_BYTE_STATES else np.uint8
        # no rows here: only the type of the codes counts
        table._set(tuple(columns), tuple(states), np.empty((len(columns), 0), dtype), missing_codes)
        table._partitions = partitions
        table._weights = weights
        return table

    def _with_partitions(self, partitions: RemotePartitions, weights: np.ndarray | None = None) -> DistributedTable:
        """Return a table of other partitions with the same variables."""
        return DistributedTable._from_partitions(self._columns, self._states, self._missing_codes, partitions, weights)

    # ---- the table ----

    @property
    def codes(self) -> np.ndarray:
        """The rows: raises TypeError, since they stay with the workers."""
        self._refuse("codes")

    @property
    def planes(self) -> np.ndarray:
        """The bit planes: raises TypeError, since they stay with the workers."""
        self._refuse("planes")

    @property
    def plane_offsets(self) -> np.ndarray:
        """First plane of each variable at each worker, shape (n_variables + 1,), int64."""
        # as the workers lay them out; the driver has no planes
        n_planes = np.where(self._cardinalities <= MAX_BYTE_STATES, self._cardinalities, 0)
        return np.concatenate(([0], np.cumsum(n_planes))).astype(np.int64)

    def to_pandas(self, columns: Iterable | None = None) -> DataFrame:
        """Refuse, with TypeError: the rows are not gathered.

        Parameters
        ----------
        columns : sequence of hashable, optional
            As for :meth:`DiscreteTable.to_pandas`.

        Returns
        -------
        pandas.DataFrame
            Never.
        """
        self._refuse("to_pandas()")

    def without_rows(self) -> DiscreteTable:
        """Return a table without rows, in memory, with the same columns and states."""
        return DiscreteTable._from_parts(self._columns, self._states, self._codes, self._missing_codes)

    def repeat_rows(self, weights: ArrayLike) -> DistributedTable:
        """Return the table in which row i occurs ``weights[i]`` times; every worker repeats its own rows.

        Parameters
        ----------
        weights : array_like of int, shape (n_rows,)
            The number of repetitions of each row, in the order of the partitions; none negative, not all zero.

        Returns
        -------
        DistributedTable
            A new table with the same states, also those that no longer occur.

        Raises
        ------
        ValueError
            If there is not one weight per row, one is negative or not an integer, no row is left, or a partition would
            have 2**31 rows or more.
        """
        weights = self._check_repeats(weights)
        slices = self._split(weights)
        row_counts = [int(counts.sum()) for counts in slices]
        if not any(row_counts):
            raise ValueError("no row is left: at least one weight must be positive")
        _check_row_counts(row_counts)
        slices = [counts.astype(np.min_scalar_type(int(counts.max(initial=0)))) for counts in slices]
        return self._with_partitions(self._partitions.map_partitions(repeat_partition, slices, row_counts=row_counts))

    def _split_column(self, at: int) -> tuple[np.ndarray, DistributedTable]:
        """Return the codes of a column, which workers send, and the table without it."""
        codes = self.reduce(take_codes, at, add=np.concatenate)
        columns, states = (values[:at] + values[at + 1 :] for values in (self._columns, self._states))
        row_counts = self._partitions.row_counts
        rest = self._partitions.map_partitions(drop_column, [at] * len(row_counts), row_counts=row_counts)
        missing_codes = np.delete(self._missing_codes, at)
        return codes, DistributedTable._from_partitions(columns, states, missing_codes, rest, self._weights)

    @property
    def has_wide_counts(self) -> bool:
        """Whether sums of the counts of all partitions may need more than 32 bits."""
        return self.n_rows >= WIDE_ROWS

    def identify_rows(self) -> Any:
        """Return the number of rows, and a digest that does not depend on the partitions or their order."""
        return [self.n_rows, int(self.reduce(digest_rows, add=add_digests))]

    def persist(self) -> DistributedTable:
        """Make the bit planes at the workers, and the partitions of lost workers again, now and not at the first count.

        Returns
        -------
        DistributedTable
            The table itself.
        """
        self.reduce(pack_planes, add=sum)
        return self

    def bytes_by_worker(self) -> dict[str, int]:
        """Return the bytes of codes and bit planes that each worker keeps, by its address.

        Returns
        -------
        dict of str to int
            Only workers that were given partitions.
        """
        n_bytes: Counter[str] = Counter()
        planes = int(self.plane_offsets[-1])
        for address, n_rows in zip(self._partitions.addresses, self._partitions.row_counts, strict=True):
            n_bytes[address] += n_rows * self.n_variables * self._codes.itemsize + planes * ((n_rows + 511) // 512 * 64)
        return dict(n_bytes)

    def __repr__(self) -> str:
        n_states = int(self._cardinalities.sum())
        size = f"{self.n_variables} variables, {self.n_rows} rows, {n_states} states"
        return self._describe(size, {} if self._partitions.is_released else self.bytes_by_worker())

    def __eq__(self, other: object) -> bool:
        return (
            self is other if isinstance(other, DiscreteTable) else NotImplemented
        )  # a comparison of the rows would gather them

    def __hash__(self) -> int:
        return id(self)

    def __reduce__(self):
        fields = self._columns, self._states, self._missing_codes, self._partitions, self._weights
        return DistributedTable._from_partitions, fields

    # ---- inside ----

    def _refuse(self, what: str) -> NoReturn:
        raise TypeError(
            f"{what} of a DistributedTable needs single rows, which stay with the workers. Use ChowLiuForest, "
            "HillClimbSearch and the other searches for Bayesian networks with discrete scores and missing='error', or "
            "the learners of Markov networks, which learn from counts; or give the rows in memory, or a plane file"
        )


def is_remote(X: Any) -> TypeGuard[DistributedTable | DistributedNumericTable]:
    """Return whether an input of any kind is a distributed table."""
    return isinstance(X, DistributedTable | DistributedNumericTable)


def refuse_remote(X: Any, explain: Callable[[Any], str], kind: type = object) -> None:
    """Raise TypeError with the text of `explain` for a distributed table of a kind; other inputs of any kind pass."""
    # the text may show the table, which takes long for some inputs: it is made only for an error
    if is_remote(X) and isinstance(X, kind):
        raise TypeError(explain(X))


def _check_row_counts(row_counts: Sequence[int]) -> None:
    """Refuse a partition of more rows than its worker can number."""
    for number, n_rows in enumerate(row_counts):
        if n_rows > reading.MOST_PARTITION_ROWS:
            raise ValueError(
                f"partition {number} has {n_rows} rows, and a worker counts a partition of at most "
                f"{reading.MOST_PARTITION_ROWS}: distribute the source in more partitions"
            )


class DistributedNumericTable(RemoteTable, NumericTable):
    """Numeric table whose rows stay with the workers of a dask cluster; made by :func:`pgmx.data.distribute`.

    Pass it to ``fit`` of a Gaussian learner like any table. The workers compute means and cross-products of their
    partitions, which are merged. The rows are never gathered: `rows` and `chunks`, which need single rows, raise
    TypeError.

    Parameters
    ----------
    *args, **options
        None: the constructor raises TypeError.

    Attributes
    ----------
    names, n_columns
        As in :class:`NumericTable`.
    missing : str
        "error": no value of the kept rows is missing.
    in_memory : bool
        False.
    integer_columns : tuple
        Names of the columns that hold integers in all partitions. Gaussian learners use them as continuous, learners
        of mixed data as discrete unless declared otherwise.
    n_rows : int
        Number of rows of all partitions, without rows that ``missing="drop"`` has left out.
    n_parts : int
        Number of partitions of the source, which are summed one by one.

    Notes
    -----
    A worker keeps 8 bytes per value. Sums are added in the order of the partitions, along a binary tree: they depend
    only on the rows of the partitions, to the bit, and not on the number of workers. A table that was pickled, or whose
    :meth:`release` was called, no longer has rows.

    Examples
    --------
    >>> import numpy as np
    >>> from distributed import Client
    >>> from pgmx.data import distribute
    >>> data = np.array([[0.5, 1.0], [1.5, 4.0], [2.5, 2.0], [0.0, 3.0]])
    >>> with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0") as client:
    ...     table = distribute(data, client)
    ...     table.names, table.n_rows, table.n_parts
    (('x0', 'x1'), 4, 2)
    """

    integer_columns: tuple

    def __init__(self, *args: Any, **options: Any):
        raise TypeError("a DistributedNumericTable is made by pgmx.data.distribute(source, client)")

    @classmethod
    def _from_partitions(
        cls,
        names: Iterable[Hashable],
        integer_columns: Iterable[Hashable],
        partitions: RemotePartitions,
        weights: np.ndarray | None = None,
    ) -> DistributedNumericTable:
        """Make a table of the partitions that workers keep; `weights` are the weights of their rows, if any."""
        table = cls.__new__(cls)
        NumericTable.__init__(table, names, "error")
        table.integer_columns = tuple(integer_columns)
        table._partitions = partitions
        table._weights = weights
        return table

    def _with_partitions(
        self, partitions: RemotePartitions, weights: np.ndarray | None = None
    ) -> DistributedNumericTable:
        return DistributedNumericTable._from_partitions(self.names, self.integer_columns, partitions, weights)

    # ---- the table ----

    @property
    def float_columns(self) -> tuple:
        """Names of the columns, which are all continuous."""
        return self.names

    def list_known_floats(self) -> tuple:
        """Return the names of the columns: no value is missing."""
        return self.names

    def missing_columns(self) -> tuple:
        """Return the names of the columns with missing values: none."""
        return ()

    @property
    def is_complete(self) -> bool:
        """True: no value is missing."""
        return True

    def rows(self) -> np.ndarray:
        """Refuse, with TypeError: the rows are not gathered."""
        self._refuse("rows()")

    def chunks(self) -> Iterator[np.ndarray]:
        """Refuse, with TypeError: the rows are not gathered."""
        self._refuse("chunks()")

    def chunks_with_numbers(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Refuse, with TypeError: the rows are not gathered."""
        self._refuse("chunks_with_numbers()")

    def without_rows(self) -> Frame:
        """Return columns without rows, in memory, with the same names."""
        return Frame(self.names, [np.empty(0) for _ in self.names], 0)

    def check_weights(self, weights: ArrayLike, name: str = "weights") -> np.ndarray:
        """Return a float64 copy of weights, or raise: finite, not negative, not all zero, one for each of `n_rows`."""
        return check_weights(weights, name, self.n_rows)

    def persist(self) -> Self:
        """Read the partitions of lost workers again now, not at the next request.

        Returns
        -------
        DistributedNumericTable
            The table itself.
        """
        self.reduce(count_rows, add=sum)
        return self

    def bytes_by_worker(self) -> dict[str, int]:
        """Return the bytes of data that each worker keeps, by its address.

        Returns
        -------
        dict of str to int
            Only workers that were given partitions.
        """
        n_bytes: Counter[str] = Counter()
        for address, n_rows in zip(self._partitions.addresses, self._partitions.row_counts, strict=True):
            n_bytes[address] += 8 * n_rows * self.n_columns
        return dict(n_bytes)

    def __repr__(self) -> str:
        size = f"{self.n_columns} columns, {self.n_rows} rows"
        return self._describe(size, {} if self._partitions.is_released else self.bytes_by_worker())

    def __reduce__(self):
        fields = self.names, self.integer_columns, self._partitions, self._weights
        return DistributedNumericTable._from_partitions, fields

    # ---- inside ----

    def _refuse(self, what: str) -> NoReturn:
        raise TypeError(
            f"{what} of a DistributedNumericTable needs single rows, which stay with the workers. Use GraphicalLasso, "
            "NeighborhoodLasso, CLIME, or the searches for Bayesian networks under 'bic-g', 'aic-g', 'll-g' and 'bge', "
            "which learn from means and cross-products, or give the rows in memory"
        )
