"""The partitions of a table at the workers of a dask cluster: requests to them, and sums of their answers.

A partition is a future of dask, made from its source by functions without side effects: dask makes it again if its
worker is lost. A request is one task for each worker, which calls a function with all partitions of the worker;
partitions are not moved. If a worker is lost meanwhile, the request is repeated with the new locations.

The partitions are numbered, and sums are added in pairs of neighbours: partitions 0 and 1, then 2 and 3, then the sums
of these two, and so on. Any worker may add any pair, in any order; the sum is the same to the bit. A worker stores its
nodes of that tree in a dictionary: the sum of the partitions from ``i * 2**level`` to ``(i + 1) * 2**level`` at
(level, i).

The end of this module is for answers to questions about single rows, which the workers keep as a collection of dask.
"""

from __future__ import annotations

import logging
from asyncio import run_coroutine_threadsafe
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future as Pending
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import accumulate
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from distributed import Client, Future

#: Maximal number of answers that one task adds, and that the driver fetches.
FAN_IN = 4

#: Seconds after which workers that still count are named in the log; and seconds between two checks for lost workers.
SLOW, LOOK = 60.0, 0.5

_LOG = logging.getLogger("pgmx.data.distributed")

#: Sums of neighbours, by level and number.
Sums = dict[tuple[int, int], Any]


class RemotePartitions:
    """Partitions with ``row_counts[k]`` rows each, at the workers with these addresses; none without a client."""

    def __init__(
        self,
        row_counts: Sequence[int],
        client: Client | None = None,
        futures: Sequence[Future] = (),
        addresses: Sequence[str] = (),
    ):
        self.row_counts = list(row_counts)
        self.n_rows = sum(row_counts)
        self.addresses = list(addresses)
        self._client: Any = client
        self._futures: list = list(futures)

    @property
    def is_released(self) -> bool:
        """Whether the rows have been released."""
        return self._client is None

    def reduce(self, function: Callable, *arguments: Any, add: Callable[[list], Any], slices: Sequence = ()) -> Any:
        """Return the sum of a function over the partitions that have rows, or the result of a single one.

        The function is called with a partition, its own of `slices` if there are some, and the arguments. `add` gets
        two neighbours at a time, always the same ones whatever the workers. A worker adds neighbours among its
        partitions; workers then add `FAN_IN` answers at a time, until the driver can fetch the last.
        """
        self._require_client()
        numbered = [k for k, n_rows in enumerate(self.row_counts) if n_rows]
        summation = Summation(add, len(numbered))
        request = Request(function, arguments, summation)
        while (answers := self._ask_workers(request, numbered, slices)) is None:
            _LOG.warning("a worker is lost; others make its partitions again")
            self._locate_partitions()
        return add_sums(answers, summation)[summation.root]

    def map_partitions(
        self, function: Callable, slices: Sequence, *arguments: Any, row_counts: Sequence[int] | Callable
    ) -> RemotePartitions:
        """Return new partitions that a function makes of each partition, its slice and the arguments, at its worker.

        `row_counts` are their row counts, or a function that the workers call to count the rows of a new one.
        """
        client = self._require_client()
        options = {"pure": False, "allow_other_workers": True}
        futures = [
            client.submit(function, partition, of_partition, *arguments, workers=address, **options)
            for partition, of_partition, address in zip(self._futures, slices, self.addresses, strict=True)
        ]
        if callable(row_counts):
            pairs = zip(futures, self.addresses, strict=True)
            asked = [client.submit(row_counts, partition, workers=address, **options) for partition, address in pairs]
            return RemotePartitions(client.gather(asked), client, futures, self.addresses)
        return RemotePartitions(row_counts, client, futures, self.addresses)

    def map_rows(self, function: Callable, *arguments: Any, meta: Any) -> Any:
        """Return the answers of a function for all rows as a dask.dataframe, with the same partitions."""
        question = RowQuestion(function, arguments, meta)
        return _answer_rows(self._require_client(), self._futures, self.row_counts, question)

    def release(self) -> None:
        """Free the memory of the workers, except for partitions that other unfinished tables still need."""
        for future in self._futures:
            future.release()
        self._client, self._futures = None, []

    def __reduce__(self):
        return RemotePartitions, (self.row_counts,)

    # ---- inside ----

    def _require_client(self) -> Any:
        if self._client is None:
            raise ValueError(
                "the rows of this distributed table are gone: it was released, or it comes from a pickle; distribute "
                "the source again"
            )
        return self._client

    def _ask_workers(self, request: Request, numbered: list[int], slices: Sequence) -> list | None:
        """Return at most `FAN_IN` answers to a request to the partitions `numbered`; None if a worker is lost."""
        shares: dict[str, list[int]] = {}  # by worker: the indices of its partitions
        for number, k in enumerate(numbered):
            shares.setdefault(self.addresses[k], []).append(number)
        numbers, addresses = list(shares.values()), list(shares)
        partitions = [[self._futures[numbered[number]] for number in share] for share in numbers]
        of_partitions = [[slices[numbered[number]] for number in share] if len(slices) else [] for share in numbers]
        name, answers = getattr(request.function, "__name__", "request"), []
        try:
            answers = self._submit(name, addresses, answer_request, numbers, partitions, of_partitions, request=request)
            while len(answers) > FAN_IN:
                firsts = range(0, len(answers), FAN_IN)
                groups, addresses = [answers[i : i + FAN_IN] for i in firsts], [addresses[i] for i in firsts]
                sums = self._submit(f"add-{name}", addresses, add_sums, groups, summation=request.summation)
                _release(answers)
                answers = sums
            gathering = self._start(lambda: self._client.gather(answers, asynchronous=True))
            for _ in self._wait(gathering, "counting"):
                if not self._client.nthreads().keys() >= shares.keys():
                    self._client.cancel(answers)  # which ends the gathering too
                    return None
            results = gathering.result()
            _release(answers)
            return results
        except BaseException:
            self._client.cancel(answers)  # a traceback would keep them
            raise

    def _submit(self, name: str, addresses: list[str], function: Callable, *arguments: list, **options: Any) -> list:
        """Have a function called once at each of some workers, and nowhere else: one message to the scheduler."""
        import dask

        keys = [f"{name}-{uuid4().hex}" for _ in addresses]
        with dask.annotate(workers=dict(zip(keys, addresses, strict=True)).__getitem__):
            return self._client.map(function, *arguments, key=keys, pure=False, **options)

    def _locate_partitions(self) -> None:
        """Wait until the partitions of lost workers are made again, and find the worker of each partition."""
        from distributed import wait as wait_for

        for _ in self._wait(self._start(lambda: wait_for(self._futures)), "reading partitions again"):
            if any(future.status == "error" for future in self._futures):
                break
        places = self._client.who_has(self._futures)
        for k, future in enumerate(self._futures):
            if future.status != "finished":
                future.result()  # raises
            holders = places[future.key]
            if holders and self.addresses[k] not in holders:
                self.addresses[k] = holders[0]

    def _start(self, function: Callable[[], Any]) -> Pending:
        """Await the result of a dask function on the thread of the client."""

        async def call() -> Any:
            return await function()

        return run_coroutine_threadsafe(call(), self._client.loop.asyncio_loop)

    def _wait(self, pending: Pending, doing: str) -> Iterator[None]:
        """Yield at intervals until a result is there; slow workers are named in the log."""
        began = said = perf_counter()
        while not wait([pending], timeout=min(LOOK, SLOW)).done:
            yield
            now = perf_counter()
            if now - said >= SLOW:
                said, tasks = now, self._client.processing()
                slow = ", ".join(address for address in tasks if tasks[address])
                _LOG.warning("still %s after %.3g s at %s", doing, now - began, slow or "no worker")


def _release(futures: Sequence[Future]) -> None:
    """Cancel futures at once: Ctrl-C during the deletion of a future by Python would be lost."""
    for future in futures:
        future.release()


# ---- sums, at the workers and in the driver ----


@dataclass(frozen=True, eq=False)
class Summation:
    """How the results of `n_parts` partitions are added: ``add([first, second])``."""

    add: Callable[[list], Any]
    n_parts: int

    @property
    def root(self) -> tuple[int, int]:
        """The key of the sum of all partitions."""
        return (self.n_parts - 1).bit_length(), 0

    def reduce(self, sums: Sums) -> None:
        """Add neighbours in place, as long as both exist; the last sum of a level may have no neighbour."""
        level, width = 0, self.n_parts
        while width > 1:
            for i in sorted(i for at, i in sums if at == level and not i % 2):
                if i + 1 == width:
                    sums[level + 1, i // 2] = sums.pop((level, i))
                elif (level, i + 1) in sums:
                    pair = [sums.pop((level, i)), sums.pop((level, i + 1))]
                    sums[level + 1, i // 2] = self.add(pair)
            level, width = level + 1, (width + 1) // 2


@dataclass(frozen=True, eq=False)
class Request:
    """A function that is called with each partition, its slice if there are slices, and the arguments."""

    function: Callable
    arguments: tuple
    summation: Summation


def answer_request(numbers: list[int], partitions: list, slices: list, request: Request) -> Sums:
    """Return the sums of some partitions of a worker, on as many threads as it has; some may share a partition."""
    n_threads = max(1, _count_threads() // max(len(partitions), 1))
    for partition in partitions:
        partition.n_threads = n_threads
    of_partitions = ((one,) for one in slices) if slices else [()] * len(partitions)
    calls = (
        (partition, *of_partition, *request.arguments)
        for partition, of_partition in zip(partitions, of_partitions, strict=True)
    )
    sums: Sums = {}
    for number, result in zip(numbers, _call_on_threads(request.function, calls, len(partitions)), strict=True):
        sums[0, number] = result
        request.summation.reduce(sums)  # at once, so that few results are in memory
    return sums


def add_sums(answers: list[Sums], summation: Summation) -> Sums:
    """Return the sums of several answers as one."""
    sums = {at: result for answer in answers for at, result in answer.items()}
    summation.reduce(sums)
    return sums


def _count_threads() -> int:
    """Return the number of threads of the worker that runs this."""
    from distributed import get_worker

    return get_worker().state.nthreads


def _call_on_threads(function: Callable, calls: Iterable[tuple], n_calls: int) -> Iterable:
    """Yield the results of calls, in order."""
    n_threads = min(_count_threads(), n_calls)
    if n_threads < 2:
        yield from (function(*call) for call in calls)
        return
    with ThreadPoolExecutor(n_threads) as threads:
        yield from threads.map(lambda call: function(*call), calls)


# ---- one answer for each row ----


class RowQuestion(NamedTuple):
    """A function of rows and of the number of the first of them, further arguments, and the answer for no rows."""

    function: Callable
    arguments: tuple
    meta: pd.DataFrame | pd.Series


def _answer_rows(client: Client, futures: Sequence[Future], row_counts: Sequence[int], question: RowQuestion) -> Any:
    """Return the answers for all rows as a dask.dataframe with the same partitions, computed when they are requested.

    The question is sent to one worker, from which the other workers get it.
    """
    import dask
    import dask.dataframe as dd

    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TiB"}):  # a network may be large
        sent = client.submit(RowQuestion, *question, pure=False)
    answer = dask.delayed(answer_partition, pure=False)
    begins = list(accumulate(row_counts, initial=0))
    partitions = [answer(partition, sent, first) for partition, first in zip(futures, begins, strict=False)]
    # dask's divisions are the first label of each partition and the last label; they must differ
    divisions = (*begins[:-1], begins[-1] - 1) if all(row_counts) else None
    return dd.from_delayed(partitions, meta=question.meta, divisions=divisions, verify_meta=False)


def answer_partition(partition: Any, question: RowQuestion, first: int) -> pd.DataFrame | pd.Series:
    """Return the answers for the rows of a partition, which are labelled from `first` on."""
    answers = []
    for begin, rows in partition.chunks():
        try:
            answers.append(question.function(rows, first + begin, *question.arguments))
        except Exception as error:
            error.add_note(f"The rows of this message count from row {first + begin} of the distributed table.")
            raise
    if not answers:
        return question.meta
    if isinstance(question.meta, pd.Series):
        joined: pd.DataFrame | pd.Series = pd.Series(np.concatenate(answers), name=question.meta.name)
    else:
        joined = pd.concat(answers)
    joined.index = pd.RangeIndex(first, first + len(joined))
    return joined
