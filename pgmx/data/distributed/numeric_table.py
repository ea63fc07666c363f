"""The table of numbers whose rows lie with the workers of a dask cluster, as the driver sees it."""

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
from pgmx.data.frame import Frame
from pgmx.data.numbers.table import NumericTable


class DistributedNumericTable(RowWeights, NumericTable):
    """Table of numbers whose rows stay with the workers of a dask cluster; made by :func:`pgmx.data.distribute`.

    It is given to ``fit`` of a Gaussian learner like any table. Means and cross-products of the parts are computed by
    the workers and merged; the rows are never gathered, and what needs them one by one (`rows`, `chunks`) raises
    TypeError.

    Parameters
    ----------
    *args, **options
        None: the constructor raises TypeError.

    Attributes
    ----------
    names, n_columns
        As those of :class:`NumericTable`.
    missing : str
        "error": no cell of the kept rows is missing.
    in_memory : bool
        False.
    integer_columns : tuple
        Names of the columns that hold integers in all parts: numbers for Gaussian learners, states beside floats for
        those that are told nothing else.
    n_rows : int
        Number of rows of all parts, without those that ``missing="drop"`` has left out.
    n_parts : int
        Number of parts of the source, which are summed one by one.

    Notes
    -----
    A worker keeps 8 bytes a cell. Sums are added in the order of the parts, in a tree of twos: they depend on the
    rows of the parts alone, to the bit, for any number of workers. A table that was pickled, or whose :meth:`release`
    was called, has no rows any more.

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
        """Make a table of the parts that workers keep; `weights` are those of their rows, where they have some."""
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
        """Number of rows of all parts."""
        return self._parts.n_rows

    @property
    def n_parts(self) -> int:
        """Number of parts of the source."""
        return len(self._parts.rows_of)

    @property
    def is_complete(self) -> bool:
        """True: no cell is missing."""
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
        """Return columns of no rows, in memory, with the same names."""
        return Frame(self.names, [np.empty(0) for _ in self.names], 0)

    def check_weights(self, weights: ArrayLike, name: str = "weights") -> np.ndarray:
        """Return a float64 copy of weights, or raise: finite, not negative, not all zero, one for each of `n_rows`."""
        return check_weights(weights, name, self.n_rows)

    # ---- what is asked of the workers ----

    def reduce(
        self, function: Callable, *arguments: Any, add: Callable[[list], Any], values: ArrayLike | None = None
    ) -> Any:
        """Return the sum of a function over the parts.

        Parameters
        ----------
        function : callable
            Called with a part, which has `names` and `blocks` (float64 arrays of shape (m, n_columns)), the part's own
            slice of `values` where these are given, and the arguments. It is imported by the workers.
        *arguments
            Sent to every part.
        add : callable
            From a list of two results to their sum, the one of the earlier parts first.
        values : array_like of shape (n_rows,), optional
            A value for each row, in the order of the parts; every part gets its own.

        Returns
        -------
        object
            What `add` returns, or the function of a single part.

        Raises
        ------
        ValueError
            If the table was released.
        Exception
            What the function, or making a part again from its source, raised.

        Notes
        -----
        A message to each worker that has rows, which computes its parts on its threads and adds what it can; then sums
        are added by the workers until the driver can fetch the last of them. Which two sums are added depends on the
        parts alone, and so does the sum, to the bit.
        """
        slices = [] if values is None else np.split(np.asarray(values), np.cumsum(self._parts.rows_of)[:-1])
        return self._parts.reduce(function, *arguments, add=add, slices=slices)

    def map_rows(self, function: Callable, *arguments: Any, meta: Any) -> Any:
        """Return what a function answers for each row, computed by the workers and left there until it is asked for.

        Parameters
        ----------
        function : callable
            Called with some rows, a Frame of float64 columns, the number of the first of them in the table, and the
            arguments; it returns a pandas frame, or an array where `meta` is a Series, with an entry for each row. It
            is imported by the workers.
        *arguments
            Sent once, to one worker, from which the others take them.
        meta : pandas.DataFrame or Series
            What it returns of no rows.

        Returns
        -------
        dask.dataframe.DataFrame or Series
            A partition for each part, rows in the order of the table, labelled by their numbers. Nothing is computed
            before ``compute()``, ``persist()`` or ``to_parquet()``, each of which computes anew.

        Raises
        ------
        ValueError
            If the table was released. What the function raises comes out where the answers are computed.

        Notes
        -----
        The workers need the parts then: do not release the table before. Rows come in pieces of at most 65,536 rows and
        8 million cells, so that a worker needs memory for one of them and for the answers of a part.
        """
        return self._parts.map_rows(function, *arguments, meta=meta)

    def persist(self) -> Self:
        """Read the parts of lost workers again now, in place of at the next request.

        Returns
        -------
        DistributedNumericTable
            The table itself.
        """
        self.reduce(count_rows, add=sum)
        return self

    def release(self) -> None:
        """Free the memory of the workers; the table has no rows any more."""
        self._parts.release()

    def bytes_by_worker(self) -> dict[str, int]:
        """Return the bytes of cells that each worker has to keep, by its address.

        Returns
        -------
        dict of str to int
            Of the workers that the parts were given to.
        """
        n_bytes: Counter[str] = Counter()
        for home, n_rows in zip(self._parts.homes, self._parts.rows_of, strict=True):
            n_bytes[home] += 8 * n_rows * self.n_columns
        return dict(n_bytes)

    def __repr__(self) -> str:
        text = f"{self.n_columns} columns, {self.n_rows} rows, {self.n_parts} parts"
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
            f"{what} of a DistributedNumericTable: the rows stay with the workers, and this would need them one by "
            "one. GraphicalLasso, NeighborhoodLasso, CLIME, and the searches for Bayesian networks under 'bic-g', "
            "'aic-g', 'll-g' and 'bge' learn from it by means and cross-products; for all else give the rows in memory"
        )
