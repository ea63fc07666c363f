"""From a source to a distributed table: the states of all parts merged, then every part coded by them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from pgmx.checks import check_same_names
from pgmx.data.distributed.parts import (
    PartLabels,
    Survey,
    code_part,
    finish_part,
    make_labels,
    read_versions,
    survey_part,
)
from pgmx.data.distributed.remote_parts import RemoteParts
from pgmx.data.distributed.sources import PartSource, list_part_sources
from pgmx.data.distributed.table import DistributedTable, check_number_of_rows
from pgmx.data.frame import check_missing_option
from pgmx.data.pieces.streaming import PieceCoder
from pgmx.data.table import MAX_BYTE_STATES

if TYPE_CHECKING:
    from distributed import Client


class MergedColumns(PieceCoder):
    """The columns of all parts, merged in the order of the parts."""

    def __init__(self, state_names: Mapping | None, missing: str, are_texts: bool):
        super().__init__(state_names, missing, are_texts)
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
    n_parts: int | None = None,
) -> DistributedTable:
    """Code a table in parts at the workers of a dask cluster, and keep it there.

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
        As for :func:`pgmx.data.encode`.
    missing : {"error", "drop", "category"}, default="error"
        As for :func:`pgmx.data.encode`.
    n_parts : int, optional
        Parts of a table in memory; None means one for each thread of the workers.

    Returns
    -------
    DistributedTable
        The coded table. `ChowLiuForest` and `HillClimbSearch` learn from it what they learn from the whole, to the bit.

    Raises
    ------
    ImportError
        If dask is not installed: it comes with the extra ``pgmx[cluster]``.
    FileNotFoundError
        If there is no such file.
    RuntimeError
        If a worker has no pgmx, or another version of it.
    TypeError, ValueError
        If there is no client, it has no workers or is asynchronous, or the source is none of these; as `encode` does;
        if parts have different columns, or there are 2**32 rows or more.

    Notes
    -----
    States are those that :func:`pgmx.data.encode` finds in the whole table, whatever the parts: sorted, or the declared
    categories in the order in which the parts bring them, those of a plane file among them.

    Each row is read once. A worker codes its parts in numbers of its own; the driver merges the states, and the worker
    puts its codes into their order. It takes twice the bytes of the codes for that moment. A part whose worker is lost
    is read again from its source by another; rows of a table in memory are kept by dask's scheduler for that. Who may
    use the cluster, and whether messages are encrypted, is the client's affair; plane files hold the data in the clear.

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
    cluster = _find_client(client)
    threads: dict[str, int] = dict(sorted(cluster.nthreads().items()))
    if not threads:
        raise ValueError("the cluster of the client has no workers yet: call client.wait_for_workers(1) first")
    threads_at = [address for address, n in threads.items() for _ in range(n)]
    sources = list_part_sources(source, n_parts, len(threads_at))
    _check_versions(cluster)
    shares = [share.tolist() for share in np.array_split(np.arange(len(sources)), min(len(threads_at), len(sources)))]
    homes = [threads_at[number] for number in range(len(shares))]
    home_of = [home for home, share in zip(homes, shares, strict=True) for _ in share]
    coders = _code_parts(cluster, sources, missing, home_of)
    surveys = cluster.gather([_submit(cluster, home_of[k], survey_part, coder) for k, coder in enumerate(coders)])
    merged = MergedColumns(state_names, missing, surveys[0].are_texts)
    for survey, part in zip(surveys, sources, strict=True):
        merged.merge(survey, part.name)
    check_number_of_rows(merged.n_rows)
    finals = merged.finish_columns()
    states = tuple(final.states for final in finals)
    futures = [
        _submit(
            cluster,
            home,
            finish_part,
            [coders[k] for k in share],
            [merged.label_part(k, finals) for k in share],
            merged.names,
            states,
        )
        for home, share in zip(homes, shares, strict=True)
    ]
    rows_of = [sum(surveys[k].n_rows for k in share) for share in shares]
    parts = RemoteParts(rows_of, cluster, futures, homes)
    return DistributedTable._from_remote_parts(merged.names, states, None, parts)


def _submit(client: Any, home: str, function: Callable, *arguments: Any) -> Any:
    """Have a function called by the worker at `home`, or another one when that is lost."""
    return client.submit(function, *arguments, pure=False, workers=home, allow_other_workers=True)


def _find_client(client: Any) -> Any:
    """Return the client, or the current one; refuse what cannot be used."""
    try:
        import distributed
    except ImportError:
        raise ImportError("distribute needs dask and distributed: pip install 'pgmx[cluster]'") from None
    if client is None:
        try:
            client = distributed.default_client()
        except ValueError:
            raise ValueError(
                "there is no dask client: make one, client = distributed.Client(...), and pass it as client=..."
            ) from None
    if not isinstance(client, distributed.Client):
        raise TypeError(f"client must be a distributed.Client, got {type(client).__name__}")
    if client.asynchronous:
        raise ValueError("the client is asynchronous: make one without asynchronous=True")
    return client


def _check_versions(client: Any) -> None:
    """Refuse workers without pgmx, or with another version of it."""
    ours = read_versions()
    try:
        theirs = client.run(read_versions)
    except (ImportError, AttributeError) as error:
        raise RuntimeError(
            f"a worker cannot import pgmx {ours[0]} ({error}): install the version of the driver there"
        ) from error
    for address, versions in sorted(theirs.items()):
        if versions[0] != ours[0]:
            raise RuntimeError(
                f"the worker {address} has pgmx {versions[0]}, the driver has {ours[0]}: install the same version"
            )


def _code_parts(client: Any, sources: list[PartSource], missing: str, home_of: list[str]) -> list:
    """Code every part at its worker, in numbers of its own; return the futures."""
    dask: Any = import_module("dask")
    rows = [source.rows for source in sources]
    if all(map(dask.is_dask_collection, rows)):
        rows = client.compute(rows)
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TiB"}):  # rows in memory are sent once
        return [_submit(client, home, code_part, part, missing) for part, home in zip(rows, home_of, strict=True)]
