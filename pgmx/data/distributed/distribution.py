"""From a source to a distributed table: the states of all partitions are merged, then every partition is coded.

If columns are continuous, the result is a numeric table: every partition is read and checked once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pgmx.checks import check_missing_option, check_rows, check_same_names, join_names
from pgmx.data.chunk_coder import StateCoder
from pgmx.data.columns import MAX_BYTE_STATES
from pgmx.data.declared_states import list_discrete_columns
from pgmx.data.distributed.placement import Placement
from pgmx.data.distributed.reading import (
    PartitionLabels,
    Survey,
    code_partition,
    finish_partition,
    make_labels,
    order_columns,
    read_numbers,
    survey_numbers,
    survey_partition,
)
from pgmx.data.distributed.tables import DistributedNumericTable, DistributedTable
from pgmx.data.errors import ContinuousColumnsError, check_rows_left
from pgmx.data.numeric import MissingNumbersError, ValueFaults, select_names

if TYPE_CHECKING:
    from distributed import Client


class MergedColumns(StateCoder):
    """The columns of all partitions, merged in the order of the partitions."""

    def __init__(self, state_names: Mapping | None, missing: str, are_texts: bool, **options: Any):
        super().__init__(state_names, missing, are_texts, **options)
        self.positions: list[list[int]] = []  # by partition: the position of each column
        self.numbers: list[list[np.ndarray]] = []  # by partition and column: merged codes of the partition's states

    def _keep_codes(self, n_rows, rows):
        raise NotImplementedError("the rows stay with the workers")

    def merge(self, survey: Survey, name: str) -> None:
        """Enter the columns and states of one more partition."""
        names = [column.name for column in survey.columns]
        if not self.columns:
            self.begin(names)
        check_same_names(self.names, names, "the first partition", name, "columns")
        place = {column: v for v, column in enumerate(names)}
        positions = [place[column] for column in self.names]
        try:
            pairs = zip(self.columns, positions, strict=True)
            self.numbers.append([column.merge(survey.columns[v]) for column, v in pairs])
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        self.positions.append(positions)
        self.n_rows += survey.n_rows
        self.rows_seen += survey.rows_seen

    def label_partition(self, number: int, finals: list) -> PartitionLabels:
        """Return how a partition gets its codes, when all columns are finished."""
        # all columns of a coded table have one type
        dtype = np.dtype(np.uint16 if max(len(final.states) for final in finals) > MAX_BYTE_STATES else np.uint8)
        columns = zip(self.numbers[number], finals, strict=True)
        labels = [make_labels(numbers, final, dtype) for numbers, final in columns]
        return PartitionLabels(self.positions[number], labels)


def distribute(
    source: Any,
    client: Client | None = None,
    state_names: Mapping | None = None,
    *,
    missing: str = "error",
    na_values: Any = None,
    discrete_columns: Sequence | None = None,
    n_parts: int | None = None,
) -> DistributedTable | DistributedNumericTable:
    """Distribute a table over the workers of a dask cluster, which code it and keep its rows in partitions.

    Parameters
    ----------
    source : dask.dataframe, path, list of paths or of frames, or table in memory
        The data. Each partition of a dask.dataframe, each file of a folder of Parquet files, each path of a list
        (Parquet, CSV or plane files, .pgmx) and each frame of a list is a partition. Workers read the files themselves,
        from the given paths. A pandas frame, an Arrow table, a numpy array or a DiscreteTable is split into `n_parts`
        partitions.
    client : distributed.Client, optional
        The client of the cluster; None means the current one.
    state_names : mapping of column name to sequence of states, optional
        As for :func:`pgmx.data.encode`; not for a table with continuous columns.
    missing : {"error", "drop", "category"}, default="error"
        As for :func:`pgmx.data.encode`; "category" is not for a table with continuous columns.
    na_values : scalar, str, list-like or dict, optional
        As for :func:`pgmx.data.read_table`, for CSV files.
    discrete_columns : sequence of column names, optional
        As for :func:`pgmx.data.encode`: if it names all floating-point columns, the table is a coded one.
    n_parts : int, optional
        Number of partitions of a table in memory; None means one for each thread of the workers.

    Returns
    -------
    DistributedTable
        The coded table, if all columns are discrete. `ChowLiuForest` and `HillClimbSearch` learn from it the same
        result, to the bit, as from the whole table in memory; learners of Markov networks to the bit or to rounding.
    DistributedNumericTable
        The numeric table, if some columns hold floating-point values and the others integers or floating-point values.
        `GraphicalLasso`, `NeighborhoodLasso`, `CLIME`, and the searches for Bayesian networks under Gaussian scores
        learn from it the same result as from the whole table in memory, up to rounding.

    Raises
    ------
    ImportError
        If dask is not installed: it comes with the extra ``pgmx[cluster]``.
    FileNotFoundError
        If a file does not exist.
    RuntimeError
        If a worker has no pgmx, or a different version of it.
    TypeError, ValueError
        If there is no client, it has no workers or is asynchronous, or the source is of another kind; as `encode` and
        `open_numeric` do; if partitions have different columns, some columns are continuous and others discrete, or a
        partition of a coded table has 2**31 rows or more.

    Notes
    -----
    The states are the same as :func:`pgmx.data.encode` finds in the whole table, whatever the partitions: sorted, or
    the declared categories in the order of the partitions, the states of a plane file among them.

    Each row is read once. If a column turns out to be continuous, all partitions are read again as numeric. A worker
    codes its partitions with codes of its own; the driver merges the states, and the worker converts its codes chunk by
    chunk. Numeric tables take 8 bytes per value. If a worker is lost, another worker reads its partitions again from
    the source; for a table in memory, the scheduler of dask keeps the rows for this purpose. Access to the cluster and
    encryption of messages depend on the client; plane files are not encrypted.

    Examples
    --------
    >>> import numpy as np
    >>> from distributed import Client
    >>> from pgmx.data import distribute
    >>> partitions = [np.array([[0, 1], [1, 0]]), np.array([[2, 1]])]
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
    ...     distribute(partitions, client).states
    ((0, 1, 2), (0, 1))
    """
    check_missing_option(missing, ("error", "drop", "category"), " for a distributed table")
    placement = Placement(client, source, n_parts)
    continuous = placement.find_continuous(discrete_columns)
    if not continuous:
        try:
            return _distribute_codes(placement, state_names, missing, na_values, discrete_columns)
        except ContinuousColumnsError as error:
            continuous = error.names
    # declared states ask for a discrete table
    if state_names is not None:
        raise ContinuousColumnsError(continuous)
    names = list_discrete_columns(discrete_columns)
    if names:
        hint = f" Column(s) {join_names(names)} are declared discrete: a distributed table is numeric or discrete"
        raise ContinuousColumnsError(continuous, hint, scores=False)
    return _distribute_numbers(placement, missing, continuous, na_values)


def _distribute_codes(
    placement: Placement, state_names: Mapping | None, missing: str, na_values: Any, discrete_columns: Any
) -> DistributedTable:
    """Have the workers keep the rows as codes; ContinuousColumnsError if some columns are continuous."""
    coders = placement.submit_partitions(code_partition, missing, na_values, discrete_columns)
    surveys = placement.ask_partitions(survey_partition, coders)
    continuous = {name: None for survey in surveys for name in survey.continuous}
    if continuous:
        raise ContinuousColumnsError(list(continuous))
    options = {"discrete_columns": discrete_columns, "warns": na_values is None}
    merged = MergedColumns(state_names, missing, surveys[0].are_texts, **options)
    for survey, source in zip(surveys, placement.sources, strict=True):
        merged.merge(survey, source.name)
    finals = merged.finish_columns()
    states = tuple(final.states for final in finals)
    labels = [merged.label_partition(k, finals) for k in range(len(surveys))]
    row_counts = [survey.n_rows for survey in surveys]
    partitions = placement.join_partitions(finish_partition, coders, labels, row_counts, merged.names, states)
    return DistributedTable._from_partitions(merged.names, states, None, partitions)


def _distribute_numbers(
    placement: Placement, missing: str, continuous: Sequence, na_values: Any = None
) -> DistributedNumericTable:
    """Have the workers keep the rows of a numeric table; `continuous` are the names of floating-point columns."""
    if missing == "category":
        raise ValueError(
            f"missing='category' makes missing values a state, and column(s) {join_names(continuous)} are continuous: "
            "give missing='drop', or fill the values first"
        )
    futures = placement.submit_partitions(read_numbers, missing == "drop", na_values)
    surveys = placement.ask_partitions(survey_numbers, futures)
    names = surveys[0].faults.names
    faults, positions = ValueFaults(names), []
    integers = np.ones(len(names), dtype=bool)
    for survey, source in zip(surveys, placement.sources, strict=True):
        check_same_names(names, survey.faults.names, "the first partition", source.name, "columns")
        place = {name: v for v, name in enumerate(survey.faults.names)}
        positions.append([place[name] for name in names])
        faults.merge(survey.faults, positions[-1])
        integers &= survey.integers[positions[-1]]
    if faults.kinds:
        states = join_names([name for name in names if name in faults.kinds])
        contents = ", ".join(sorted(set(map(str, faults.kinds.values()))))
        hint = f" Column(s) {states} are not numeric ({contents}): a distributed table is numeric or discrete"
        raise ContinuousColumnsError(continuous, hint, scores=False)
    try:
        faults.raise_if_any(missing)
    except MissingNumbersError as error:
        raise error.among(("drop",)) from None
    row_counts = [survey.n_rows for survey in surveys]
    rows_seen = sum(survey.rows_seen for survey in surveys)
    # first whether there were enough rows, then whether enough are left: the messages differ
    check_rows(rows_seen, len(names))
    check_rows_left(sum(row_counts), rows_seen, lambda: select_names(names, faults.incomplete))
    partitions = placement.keep_partitions(order_columns, futures, positions, row_counts, names)
    return DistributedNumericTable._from_partitions(names, select_names(names, integers), partitions)
