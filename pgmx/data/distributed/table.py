"""The distributed coded table in the driver: its rows stay with the workers of a dask cluster.

Learners need sums over rows, so a request goes to the workers and an array of sums is returned::

    driver                                      worker (each has some partitions)
    search, score           request             partition: codes and bit planes
      |  asks for counts  ---------------->       |  counts its rows
      |                                           v
      |                                         sums of partitions, added in a tree among the workers
      v                     sums                  |
    terms of the score  <------------------------ +

`DistributedTable.reduce` is that arrow. The caller defines the counts and how two sums are added: marginal counts
and pairs of states (`statistics.counts`), families (`statistics.families`), blocks of pairs (`search.forest`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from pgmx.data.columns import MAX_BYTE_STATES
from pgmx.data.distributed import parts as part_functions
from pgmx.data.distributed.parts import count_part_rows, pack_part, repeat_part, weigh_part
from pgmx.data.distributed.remote_parts import RemoteParts
from pgmx.data.distributed.row_weights import RowWeights
from pgmx.data.table import DiscreteTable

if TYPE_CHECKING:
    from pandas import DataFrame


class DistributedTable(RowWeights, DiscreteTable):
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

    __slots__ = ("_parts", "_weights")

    _parts: RemoteParts
    _weights: np.ndarray | None
    _weigh_part = staticmethod(weigh_part)
    _repeat_part = staticmethod(repeat_part)
    _count_rows = staticmethod(count_part_rows)

    def __init__(self, *args: Any, **options: Any):
        raise TypeError("a DistributedTable is made by pgmx.data.distribute(source, client)")

    @classmethod
    def _from_remote_parts(
        cls,
        columns: Sequence,
        states: Sequence[tuple],
        missing_codes: ArrayLike | None,
        parts: RemoteParts,
        weights: np.ndarray | None = None,
    ) -> DistributedTable:
        """Make a table of the partitions that workers keep; `weights` are the weights of their rows, if any."""
        check_part_rows(parts.rows_of)
        table = cls.__new__(cls)
        dtype = np.uint16 if max(map(len, states)) > MAX_BYTE_STATES else np.uint8
        table._set(tuple(columns), tuple(states), np.empty((len(columns), 0), dtype), missing_codes)
        table._parts = parts
        table._weights = weights
        return table

    def _with_parts(self, parts: RemoteParts, weights: np.ndarray | None = None) -> DistributedTable:
        """Return a table of other partitions with the same variables."""
        return DistributedTable._from_remote_parts(self._columns, self._states, self._missing_codes, parts, weights)

    # ---- the table ----

    @property
    def n_rows(self) -> int:
        """Number of rows of all partitions."""
        return self._parts.n_rows

    @property
    def n_parts(self) -> int:
        """Number of partitions that are counted one by one."""
        return len(self._parts.rows_of)

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
        slices = np.split(weights, np.cumsum(self._parts.rows_of)[:-1])
        rows_of = [int(of_part.sum()) for of_part in slices]
        if not any(rows_of):
            raise ValueError("no row is left: at least one weight must be positive")
        check_part_rows(rows_of)
        slices = [of_part.astype(np.min_scalar_type(int(of_part.max(initial=0)))) for of_part in slices]
        return self._with_parts(self._parts.replace_parts(repeat_part, slices, rows_of=rows_of))

    # ---- requests to the workers ----

    def reduce(self, function: Callable, *arguments: Any, add: Callable[[list], Any]) -> Any:
        """Return the sum of a function over the partitions.

        Parameters
        ----------
        function : callable
            Called with a partition, which has a `table`, `weights`, a `lock` and a dictionary `kept`, and the
            arguments. The workers import it.
        *arguments
            Sent to every partition.
        add : callable
            From a list of two results to their sum, the result of the earlier partitions first.

        Returns
        -------
        object
            The result of `add`, or of the function if there is a single partition.

        Raises
        ------
        ValueError
            If the table was released.
        Exception
            An error of the function, or of reading a partition again from its source.

        Notes
        -----
        Each worker that has rows gets one message. It counts its partitions on its threads and adds neighbouring
        results. Workers then add the remaining sums, four at a time, until the driver can fetch the last of them. Which
        two sums are added depends only on the partitions.
        """
        return self._parts.reduce(function, *arguments, add=add)

    def map_rows(self, function: Callable, *arguments: Any, meta: Any) -> Any:
        """Return the results of a function for each row, which the workers compute and keep until they are requested.

        Parameters
        ----------
        function : callable
            Called with some rows, a DiscreteTable, the number of the first of them in the table, and the
            arguments; it returns a pandas frame, or an array if `meta` is a Series, with an entry for each row. The
            workers import it.
        *arguments
            Sent once, to one worker, from which the other workers get them.
        meta : pandas.DataFrame or Series
            The result of the function for no rows.

        Returns
        -------
        dask.dataframe.DataFrame or Series
            A partition for each partition of the table, rows in the order of the table, labelled by their numbers.
            Each call of ``compute()``, ``persist()`` or ``to_parquet()`` computes the answers again.

        Raises
        ------
        ValueError
            If the table was released. Errors of the function are raised when the answers are computed.

        Notes
        -----
        The workers need the partitions for this: do not release the table before. The function gets chunks of at most
        65,536 rows and 8 million values, so that a worker needs memory for one chunk and the answers of a partition.
        """
        return self._parts.map_rows(function, *arguments, meta=meta)

    def map_parts(self, function: Callable, setup: Any) -> RemoteParts:
        """Make an object of each partition, which the workers keep as long as the result is referred to.

        Parameters
        ----------
        function : callable
            Called with a partition and the setup; the workers import it. Dask calls it again if its worker is lost.
        setup : object
            Sent to every partition.

        Returns
        -------
        RemoteParts
            Its ``reduce`` calls functions with these objects, as :meth:`reduce` does with the partitions.

        Raises
        ------
        ValueError
            If the table was released.
        """
        rows_of = self._parts.rows_of
        return self._parts.replace_parts(function, [setup] * len(rows_of), rows_of=rows_of)

    def persist(self) -> DistributedTable:
        """Make the bit planes at the workers, and the partitions of lost workers again, now and not at the first count.

        Returns
        -------
        DistributedTable
            The table itself.
        """
        self.reduce(pack_part, add=sum)
        return self

    def release(self) -> None:
        """Free the memory of the workers; the table no longer has rows."""
        self._parts.release()

    def bytes_by_worker(self) -> dict[str, int]:
        """Return the bytes of codes and bit planes that each worker keeps, by its address.

        Returns
        -------
        dict of str to int
            Only workers that were given partitions.
        """
        n_bytes: Counter[str] = Counter()
        planes = int(self.plane_offsets[-1])
        for home, n_rows in zip(self._parts.homes, self._parts.rows_of, strict=True):
            n_bytes[home] += n_rows * self.n_variables * self._codes.itemsize + planes * ((n_rows + 511) // 512 * 64)
        return dict(n_bytes)

    def __repr__(self) -> str:
        n_states = int(self._cardinalities.sum())
        text = f"{self.n_variables} variables, {self.n_rows} rows, {n_states} states, {self.n_parts} partitions"
        if self._parts.is_released:
            return f"DistributedTable({text}, released)"
        by_worker = ", ".join(f"{home}: {n / 2**20:.1f} MiB" for home, n in self.bytes_by_worker().items())
        return f"DistributedTable({text}, {by_worker})"

    def __eq__(self, other: object) -> bool:
        return self is other if isinstance(other, DiscreteTable) else NotImplemented

    def __hash__(self) -> int:
        return id(self)

    def __reduce__(self):
        fields = self._columns, self._states, self._missing_codes, self._parts, self._weights
        return DistributedTable._from_remote_parts, fields

    # ---- inside ----

    def _refuse(self, what: str) -> NoReturn:
        raise TypeError(
            f"{what} of a DistributedTable needs single rows, which stay with the workers. Use ChowLiuForest, "
            "HillClimbSearch and the other searches for Bayesian networks with discrete scores and missing='error', or "
            "the learners of Markov networks, which learn from counts; or give the rows in memory, or a plane file"
        )


def check_part_rows(rows_of: Sequence[int]) -> None:
    """Refuse a partition of more rows than its worker can number."""
    for number, n_rows in enumerate(rows_of):
        if n_rows > part_functions.MOST_PART_ROWS:
            raise ValueError(
                f"partition {number} has {n_rows} rows, and a worker counts a partition of at most "
                f"{part_functions.MOST_PART_ROWS}: distribute the source in more partitions"
            )
