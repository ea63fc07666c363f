"""The distributed numeric table in the driver: its rows stay with the workers of a dask cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike

from pgmx.checks import check_weights
from pgmx.data.distributed.numeric_parts import count_rows, repeat_numbers, weigh_numbers
from pgmx.data.distributed.remote_parts import RemoteParts
from pgmx.data.distributed.row_weights import RowWeights
from pgmx.data.numeric import NumericTable
from pgmx.data.table import Frame


class DistributedNumericTable(RowWeights, NumericTable):
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
    _parts: RemoteParts
    _weights: np.ndarray | None
    _weigh_part = staticmethod(weigh_numbers)
    _repeat_part = staticmethod(repeat_numbers)
    _count_rows = staticmethod(count_rows)

    def __init__(self, *args: Any, **options: Any):
        raise TypeError("a DistributedNumericTable is made by pgmx.data.distribute(source, client)")

    @classmethod
    def _from_remote_parts(
        cls,
        names: Iterable[Hashable],
        integer_columns: Iterable[Hashable],
        parts: RemoteParts,
        weights: np.ndarray | None = None,
    ) -> DistributedNumericTable:
        """Make a table of the partitions that workers keep; `weights` are the weights of their rows, if any."""
        table = cls.__new__(cls)
        NumericTable.__init__(table, names, "error")
        table.integer_columns = tuple(integer_columns)
        table._parts = parts
        table._weights = weights
        return table

    def _with_parts(self, parts: RemoteParts, weights: np.ndarray | None = None) -> DistributedNumericTable:
        return DistributedNumericTable._from_remote_parts(self.names, self.integer_columns, parts, weights)

    # ---- the table ----

    @property
    def n_rows(self) -> int:
        """Number of rows of all partitions."""
        return self._parts.n_rows

    @property
    def n_parts(self) -> int:
        """Number of partitions of the source."""
        return len(self._parts.rows_of)

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

    # ---- requests to the workers ----

    def reduce(
        self, function: Callable, *arguments: Any, add: Callable[[list], Any], values: ArrayLike | None = None
    ) -> Any:
        """Return the sum of a function over the partitions.

        Parameters
        ----------
        function : callable
            Called with a partition, which has `names` and `blocks` (float64 arrays of shape (m, n_columns)), the
            partition's own slice of `values` if these are given, and the arguments. The workers import it.
        *arguments
            Sent to every partition.
        add : callable
            From a list of two results to their sum, the result of the earlier partitions first.
        values : array_like of shape (n_rows,), optional
            A value for each row, in the order of the partitions; every partition gets its own.

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
        Each worker that has rows gets one message. It computes its partitions on its threads and adds neighbouring
        results. Workers then add the remaining sums until the driver can fetch the last of them. Which two sums are
        added depends only on the partitions, and so the sum is reproducible to the bit.
        """
        slices = [] if values is None else np.split(np.asarray(values), np.cumsum(self._parts.rows_of)[:-1])
        return self._parts.reduce(function, *arguments, add=add, slices=slices)

    def map_rows(self, function: Callable, *arguments: Any, meta: Any) -> Any:
        """Return the results of a function for each row, which the workers compute and keep until they are requested.

        Parameters
        ----------
        function : callable
            Called with some rows, a Frame of float64 columns, the number of the first of them in the table, and the
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

    def persist(self) -> Self:
        """Read the partitions of lost workers again now, not at the next request.

        Returns
        -------
        DistributedNumericTable
            The table itself.
        """
        self.reduce(count_rows, add=sum)
        return self

    def release(self) -> None:
        """Free the memory of the workers; the table no longer has rows."""
        self._parts.release()

    def bytes_by_worker(self) -> dict[str, int]:
        """Return the bytes of data that each worker keeps, by its address.

        Returns
        -------
        dict of str to int
            Only workers that were given partitions.
        """
        n_bytes: Counter[str] = Counter()
        for home, n_rows in zip(self._parts.homes, self._parts.rows_of, strict=True):
            n_bytes[home] += 8 * n_rows * self.n_columns
        return dict(n_bytes)

    def __repr__(self) -> str:
        text = f"{self.n_columns} columns, {self.n_rows} rows, {self.n_parts} partitions"
        if self._parts.is_released:
            return f"DistributedNumericTable({text}, released)"
        by_worker = ", ".join(f"{home}: {n / 2**20:.1f} MiB" for home, n in self.bytes_by_worker().items())
        return f"DistributedNumericTable({text}, {by_worker})"

    def __reduce__(self):
        fields = self.names, self.integer_columns, self._parts, self._weights
        return DistributedNumericTable._from_remote_parts, fields

    # ---- inside ----

    def _refuse(self, what: str) -> NoReturn:
        raise TypeError(
            f"{what} of a DistributedNumericTable needs single rows, which stay with the workers. Use GraphicalLasso, "
            "NeighborhoodLasso, CLIME, or the searches for Bayesian networks under 'bic-g', 'aic-g', 'll-g' and 'bge', "
            "which learn from means and cross-products, or give the rows in memory"
        )
