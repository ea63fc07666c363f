"""From a source to a distributed table: the states of all parts merged, then every part coded by them.

Where columns hold floats the table is one of numbers, and `numeric_distribution` makes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pgmx.checks import check_same_names, join_names
from pgmx.data.columns.declared import list_discrete_columns
from pgmx.data.distributed.numeric_distribution import distribute_numbers
from pgmx.data.distributed.numeric_table import DistributedNumericTable
from pgmx.data.distributed.parts import PartLabels, Survey, code_part, finish_part, make_labels, survey_part
from pgmx.data.distributed.placement import Placement
from pgmx.data.distributed.table import DistributedTable
from pgmx.data.errors import FloatColumnsError
from pgmx.data.frame import check_missing_option
from pgmx.data.pieces.streaming import PieceCoder
from pgmx.data.table import MAX_BYTE_STATES

if TYPE_CHECKING:
    from distributed import Client


class MergedColumns(PieceCoder):
    """The columns of all parts, merged in the order of the parts."""

    def __init__(self, state_names: Mapping | None, missing: str, are_texts: bool, **options: Any):
        super().__init__(state_names, missing, are_texts, **options)
        self.positions: list[list[int]] = []  # by part: where it has each column
        self.numbers: list[list[np.ndarray]] = []  # by part and column: the merged numbers of the part's own

    def _keep_codes(self, n_rows, rows):
        raise NotImplementedError("the rows stay with the workers")

    def merge(self, survey: Survey, name: str) -> None:
        """Enter the columns and states of one more part."""
        names = [column.name for column in survey.columns]
        if not self.columns:
            self.begin(names)
        check_same_names(self.names, names, "the first part", name, "columns")
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

    def label_part(self, number: int, finals: list) -> PartLabels:
        """Return how a part gets its codes, when all columns are finished."""
        dtype = np.dtype(np.uint16 if max(len(final.states) for final in finals) > MAX_BYTE_STATES else np.uint8)
        columns = zip(self.numbers[number], finals, strict=True)
        labels = [make_labels(numbers, final, dtype) for numbers, final in columns]
        return PartLabels(self.positions[number], labels)


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
    """Code a table in parts at the workers of a dask cluster, and keep it there; a table of floats as numbers.

    Parameters
    ----------
    source : dask.dataframe, path, list of paths or of frames, or table in memory
        The data. Each partition of a dask.dataframe, each file of a folder of Parquet files, each path of a list
        (Parquet, CSV or plane files, .pgmx) and each frame of a list is a part; workers read the files themselves, from
        the paths that they are given. A pandas frame, an Arrow table, a numpy array or a DiscreteTable is cut into
        `n_parts`.
    client : distributed.Client, optional
        The client of the cluster; None means the current one.
    state_names : mapping of column name to sequence of states, optional
        As for :func:`pgmx.data.encode`; not for a table with floats.
    missing : {"error", "drop", "category"}, default="error"
        As for :func:`pgmx.data.encode`; "category" is not for a table with floats.
    na_values : scalar, str, list-like or dict, optional
        As for :func:`pgmx.data.read_table`, for CSV files.
    discrete_columns : sequence of column names, optional
        As for :func:`pgmx.data.encode`: if it names all columns of floats, the table is a coded one.
    n_parts : int, optional
        Parts of a table in memory; None means one for each thread of the workers.

    Returns
    -------
    DistributedTable
        The coded table, where no column holds floats. `ChowLiuForest` and `HillClimbSearch` learn from it what they
        learn from the whole, to the bit; the learners of Markov networks to the bit or to rounding.
    DistributedNumericTable
        The table of numbers, where some columns hold floats, and the others integers or floats. `GraphicalLasso`,
        `NeighborhoodLasso`, `CLIME`, and the searches for Bayesian networks under Gaussian scores learn from it what
        they learn from the whole, but for rounding.

    Raises
    ------
    ImportError
        If dask is not installed: it comes with the extra ``pgmx[cluster]``.
    FileNotFoundError
        If there is no such file.
    RuntimeError
        If a worker has no pgmx, or another version of it.
    TypeError, ValueError
        If there is no client, it has no workers or is asynchronous, or the source is none of these; as `encode` and
        `open_numeric` do; if parts have different columns, some columns hold floats and others states, or a part of
        these has 2**31 coded rows or more.

    Notes
    -----
    States are those that :func:`pgmx.data.encode` finds in the whole table, whatever the parts: sorted, or the declared
    categories in the order in which the parts bring them, those of a plane file among them.

    Each row is read once; where a column turns out to hold floats, all parts are read again as numbers. A worker codes
    its parts in numbers of its own; the driver merges the states, and the worker puts its codes into their order, piece
    by piece; numbers take 8 bytes a cell. A part whose worker is lost is read again from its source by another; rows of
    a table in memory are kept by dask's scheduler for that. Who may use the cluster, and whether messages are
    encrypted, is the client's affair; plane files hold the data in the clear.

    Examples
    --------
    >>> import numpy as np
    >>> from distributed import Client
    >>> from pgmx.data import distribute
    >>> parts = [np.array([[0, 1], [1, 0]]), np.array([[2, 1]])]
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
    ...     distribute(parts, client).states
    ((0, 1, 2), (0, 1))
    """
    check_missing_option(missing, ("error", "drop", "category"), " for a distributed table")
    placement = Placement(client, source, n_parts)
    floats = placement.find_floats(discrete_columns)
    if not floats:
        try:
            return _distribute_codes(placement, state_names, missing, na_values, discrete_columns)
        except FloatColumnsError as error:
            floats = error.names
    if state_names is not None:
        raise FloatColumnsError(floats)
    names = list_discrete_columns(discrete_columns)
    if names:
        hint = f" Column(s) {join_names(names)} are declared discrete: a distributed table has numbers or states"
        raise FloatColumnsError(floats, hint, scores=False)
    return distribute_numbers(placement, missing, floats, na_values)


def _distribute_codes(
    placement: Placement, state_names: Mapping | None, missing: str, na_values: Any, discrete_columns: Any
) -> DistributedTable:
    """Have the workers keep the rows as codes; FloatColumnsError where some columns hold floats."""
    coders = placement.submit_parts(code_part, missing, na_values, discrete_columns)
    surveys = placement.ask_parts(survey_part, coders)
    floats = {name: None for survey in surveys for name in survey.floats}
    if floats:
        raise FloatColumnsError(list(floats))
    options = {"discrete_columns": discrete_columns, "warns": na_values is None}
    merged = MergedColumns(state_names, missing, surveys[0].are_texts, **options)
    for survey, part in zip(surveys, placement.sources, strict=True):
        merged.merge(survey, part.name)
    finals = merged.finish_columns()
    states = tuple(final.states for final in finals)
    labels = [merged.label_part(k, finals) for k in range(len(surveys))]
    rows_of = [survey.n_rows for survey in surveys]
    parts = placement.join_parts(finish_part, coders, labels, rows_of, merged.names, states)
    return DistributedTable._from_remote_parts(merged.names, states, None, parts)
