"""The partitions of a source, and their placement: shares of them, in order, on the threads of a cluster's workers.

A source is a dask.dataframe, paths, frames, or a table in memory, which is split into slices.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from pgmx.checks import check_natural
from pgmx.data.distributed import reading
from pgmx.data.distributed.reading import find_continuous, slice_rows
from pgmx.data.distributed.remote_partitions import RemotePartitions
from pgmx.data.files.plane_file import PLANE_SUFFIX
from pgmx.data.files.readers import is_path, list_table_files
from pgmx.data.table import DiscreteTable

if TYPE_CHECKING:
    from distributed import Client, Future

ACCEPTED = (
    "a dask.dataframe, a folder of Parquet files, a list of paths (Parquet, CSV or plane files) or of frames, or a "
    "table in memory (a pandas frame, an Arrow table, a 2-D numpy array, a DiscreteTable)"
)


class Placement:
    """The partitions of a source at the workers of a cluster: read one by one, then kept, or joined by shares.

    A source in memory is split into `n_parts` partitions, one for each thread if that is None.
    """

    def __init__(self, client: Client | None, source: Any, n_parts: int | None):
        self._client = _find_client(client)
        # sorted: the same workers get the same partitions
        threads: dict[str, int] = dict(sorted(self._client.nthreads().items()))
        if not threads:
            raise ValueError("the cluster of the client has no workers yet: call client.wait_for_workers(1) first")
        threads_at = [address for address, n in threads.items() for _ in range(n)]
        self.sources = list_sources(source, n_parts, len(threads_at))
        _check_versions(self._client)
        n_shares = min(len(threads_at), len(self.sources))
        # neighbours stay together, so that the sums of a worker are those of consecutive rows
        self._shares = [share.tolist() for share in np.array_split(np.arange(len(self.sources)), n_shares)]
        self._addresses = threads_at[:n_shares]
        pairs = zip(self._addresses, self._shares, strict=True)
        self._address_of = [address for address, share in pairs for _ in share]
        self._rows = [source.rows for source in self.sources]
        self._is_remote = all(map(import_module("dask").is_dask_collection, self._rows))

    def find_continuous(self, discrete_columns: Any = None) -> list:
        """Return the names of floating-point columns in the first rows of the partitions in memory.

        Columns declared discrete are left out.
        """
        in_memory = [] if self._is_remote else [rows for rows in self._rows if not isinstance(rows, Path)]
        names = (find_continuous(rows, discrete_columns=discrete_columns) for rows in in_memory)
        return list(dict.fromkeys(chain.from_iterable(names)))

    def submit_partitions(self, function: Callable, *arguments: Any) -> list[Future]:
        """Call a function with the rows of each partition, and the arguments, at the worker of the partition."""
        dask: Any = import_module("dask")
        if self._is_remote:  # intermediate results of the source are not kept
            return self._client.compute(
                [
                    _delay(dask, address, function, rows, *arguments)
                    for rows, address in zip(self._rows, self._address_of, strict=True)
                ]
            )
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TiB"}):  # rows in memory are sent
            return [
                self._submit(address, function, rows, *arguments)
                for rows, address in zip(self._rows, self._address_of, strict=True)
            ]

    def ask_partitions(self, function: Callable, futures: Sequence[Future]) -> list:
        """Return the results of a function for each of the submitted partitions."""
        pairs = zip(self._address_of, futures, strict=True)
        return self._client.gather([self._submit(address, function, future) for address, future in pairs])

    def keep_partitions(
        self,
        function: Callable,
        futures: Sequence[Future],
        slices: Sequence,
        row_counts: Sequence[int],
        *arguments: Any,
    ) -> RemotePartitions:
        """Call a function that finishes each submitted partition, with one of `slices`; `row_counts` are their rows."""
        finished = [
            self._submit(address, function, future, of_partition, *arguments)
            for address, future, of_partition in zip(self._address_of, futures, slices, strict=True)
        ]
        return RemotePartitions(row_counts, self._client, finished, self._address_of)

    def join_partitions(
        self,
        function: Callable,
        futures: Sequence[Future],
        slices: Sequence,
        row_counts: Sequence[int],
        *arguments: Any,
    ) -> RemotePartitions:
        """Call a function that joins each share of submitted partitions, one for each thread, like `keep_partitions`.

        A share of more than `MOST_PARTITION_ROWS` rows makes several partitions.
        """
        pairs = zip(self._addresses, self._shares, strict=True)
        placed = [(address, cut) for address, share in pairs for cut in cut_share(share, row_counts)]
        joined = [
            self._submit(address, function, [futures[k] for k in share], [slices[k] for k in share], *arguments)
            for address, share in placed
        ]
        rows = [sum(row_counts[k] for k in share) for _, share in placed]
        return RemotePartitions(rows, self._client, joined, [address for address, _ in placed])

    def _submit(self, address: str, function: Callable, *arguments: Any) -> Any:
        """Have a function called by the worker at `address`, or by another one if that is lost."""
        # not pure: partitions of equal rows must not share a result, which the coder of one of them changes
        return self._client.submit(function, *arguments, pure=False, workers=address, allow_other_workers=True)


def cut_share(share: Sequence[int], row_counts: Sequence[int]) -> list[list[int]]:
    """Group neighbours of a share, each group with at most `MOST_PARTITION_ROWS` rows."""
    cuts: list[list[int]] = [[]]
    n_rows = 0
    for k in share:
        if cuts[-1] and n_rows + row_counts[k] > reading.MOST_PARTITION_ROWS:
            cuts.append([])
            n_rows = 0
        cuts[-1].append(k)
        n_rows += row_counts[k]
    return cuts


def _delay(dask: Any, address: str, function: Callable, rows: Any, *arguments: Any) -> Any:
    """Return a task for the worker at `address`, or for another one if that is lost."""
    with dask.annotate(workers=[address], allow_other_workers=True):
        return dask.delayed(function, pure=False)(rows, *arguments)


def _find_client(client: Any) -> Any:
    """Return the client, or the current one; refuse clients that cannot be used."""
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
    """Refuse workers without pgmx, or with a different version of it."""
    ours = reading.read_versions()
    try:
        theirs = client.run(reading.read_versions)
    except (ImportError, AttributeError) as error:
        raise RuntimeError(
            f"a worker cannot import pgmx {ours[0]} ({error}): install the version of the driver there"
        ) from error
    for address, versions in sorted(theirs.items()):
        if versions[0] != ours[0]:
            raise RuntimeError(
                f"the worker {address} has pgmx {versions[0]}, the driver has {ours[0]}: install the same version"
            )


# ---- the partitions of a source ----


class PartitionSource(NamedTuple):
    """Source of the rows of a partition: a path, rows in memory, or a delayed object; and its name in messages."""

    rows: Any
    name: str


def list_sources(source: Any, n_parts: int | None, usual: int) -> list[PartitionSource]:
    """Return the partitions of a source, in row order; a table in memory is split into `n_parts`, else `usual`."""
    if hasattr(source, "to_delayed") and hasattr(source, "npartitions"):
        _refuse_n_parts(n_parts, "a dask.dataframe has the partitions that repartition() gives it")
        return [PartitionSource(rows, f"partition {k}") for k, rows in enumerate(source.to_delayed())]
    if is_path(source):
        source = [source] if Path(source).suffix.lower() == PLANE_SUFFIX else list_table_files(Path(source))
    if isinstance(source, Sequence) and not isinstance(source, str | bytes):
        _refuse_n_parts(n_parts, "a list has its own partitions")
        if not source:
            raise ValueError(f"the list of partitions is empty: give {ACCEPTED}")
        return [_open_partition(rows, k) for k, rows in enumerate(source)]
    if not isinstance(source, pd.DataFrame | np.ndarray | pa.Table | DiscreteTable):
        raise TypeError(f"expected {ACCEPTED}, got {type(source).__name__}")
    n_rows = source.n_rows if isinstance(source, DiscreteTable) else len(source)
    n_parts = usual if n_parts is None else check_natural(n_parts, "n_parts", 1)
    bounds = [n_rows * k // n_parts for k in range(n_parts + 1)]
    return [PartitionSource(slice_rows(source, a, b), f"rows {a} to {b}") for a, b in pairwise(bounds)]


def _refuse_n_parts(n_parts: int | None, reason: str) -> None:
    if n_parts is not None:
        raise ValueError(f"n_parts={n_parts!r} is for a table in memory; {reason}: leave it out")


def _open_partition(rows: Any, number: int) -> PartitionSource:
    if is_path(rows):
        path = Path(os.path.abspath(rows))  # workers have working directories of their own
        if not path.exists():
            raise FileNotFoundError(f"no such file or folder: {path}, partition {number} of the table")
        return PartitionSource(path, str(path))
    if not isinstance(rows, pd.DataFrame | np.ndarray | pa.Table | DiscreteTable):
        raise TypeError(f"partition {number} is a {type(rows).__name__}, expected paths or frames")
    return PartitionSource(rows, f"partition {number}")
