"""The partitions of a table at the workers of a dask cluster: requests to them, and sums of their answers.

A partition is a future of dask, made from its source by functions without side effects: dask makes it again if its
worker is lost. A request is one task for each worker, which calls a function with all partitions of the worker;
partitions are not moved. If a worker is lost meanwhile, the request is repeated with the new locations.
"""

from __future__ import annotations

import logging
from asyncio import run_coroutine_threadsafe
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future as Pending
from concurrent.futures import wait
from time import perf_counter
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pgmx.data.distributed.part_sums import Request, Summation, add_sums, answer_request
from pgmx.data.distributed.row_answers import RowQuestion, map_parts

if TYPE_CHECKING:
    from distributed import Client, Future

#: Maximal number of answers that one task adds, and that the driver fetches.
FAN_IN = 4

#: Seconds after which workers that still count are named in the log; and seconds between two checks for lost workers.
SLOW, LOOK = 60.0, 0.5

_LOG = logging.getLogger("pgmx.data.distributed")


class RemoteParts:
    """Partitions with ``rows_of[k]`` rows each, kept by the workers at the addresses `homes`; none without a client."""

    def __init__(
        self,
        rows_of: Sequence[int],
        client: Client | None = None,
        futures: Sequence[Future] = (),
        homes: Sequence[str] = (),
    ):
        self.rows_of = list(rows_of)
        self.n_rows = sum(rows_of)
        self.homes = list(homes)
        self._client: Any = client
        self._futures: list = list(futures)

    @property
    def is_released(self) -> bool:
        """Whether the rows have been released."""
        return self._client is None

    def reduce(self, function: Callable, *arguments: Any, add: Callable[[list], Any], slices: Sequence = ()) -> Any:
        """Return the sum of a function over the partitions that have rows, or the result of a single one.

        The function is called with a partition, its own of `slices` if there are some, and the arguments. `add` gets
        two neighbours at a time, always the same ones whatever the workers (`part_sums`). A worker adds neighbours
        among its partitions; workers then add `FAN_IN` answers at a time, until the driver can fetch the last.
        """
        self._open()
        numbered = [k for k, n_rows in enumerate(self.rows_of) if n_rows]
        summation = Summation(add, len(numbered))
        request = Request(function, arguments, summation)
        while (answers := self._ask_workers(request, numbered, slices)) is None:
            _LOG.warning("a worker is lost; others make its partitions again")
            self._locate_parts()
        return add_sums(answers, summation)[summation.root]

    def replace_parts(
        self, function: Callable, slices: Sequence, *arguments: Any, rows_of: Sequence[int] | Callable
    ) -> RemoteParts:
        """Return new partitions that a function makes of each partition, its slice and the arguments, at its worker.

        `rows_of` are their numbers of rows, or a function that the workers call to count the rows of a new partition.
        """
        client = self._open()
        options = {"pure": False, "allow_other_workers": True}
        futures = [
            client.submit(function, part, of_part, *arguments, workers=home, **options)
            for part, of_part, home in zip(self._futures, slices, self.homes, strict=True)
        ]
        if callable(rows_of):
            pairs = zip(futures, self.homes, strict=True)
            asked = [client.submit(rows_of, part, workers=home, **options) for part, home in pairs]
            return RemoteParts(client.gather(asked), client, futures, self.homes)
        return RemoteParts(rows_of, client, futures, self.homes)

    def map_rows(self, function: Callable, *arguments: Any, meta: Any) -> Any:
        """Return the answers of a function for all rows as a dask.dataframe, with the same partitions."""
        return map_parts(self._open(), self._futures, self.rows_of, RowQuestion(function, arguments, meta))

    def release(self) -> None:
        """Free the memory of the workers, except for partitions that other unfinished tables still need."""
        for future in self._futures:
            future.release()
        self._client, self._futures = None, []

    def __reduce__(self):
        return RemoteParts, (self.rows_of,)

    # ---- inside ----

    def _open(self) -> Any:
        if self._client is None:
            raise ValueError(
                "the rows of this distributed table are gone: it was released, or it comes from a pickle; distribute "
                "the source again"
            )
        return self._client

    def _ask_workers(self, request: Request, numbered: list[int], slices: Sequence) -> list | None:
        """Return at most `FAN_IN` answers to a request to the partitions `numbered`; None if a worker is lost."""
        shares: dict[str, list[int]] = {}  # by worker: the numbers of its partitions
        for number, part in enumerate(numbered):
            shares.setdefault(self.homes[part], []).append(number)
        numbers, homes = list(shares.values()), list(shares)
        parts = [[self._futures[numbered[number]] for number in share] for share in numbers]
        of_parts = [[slices[numbered[number]] for number in share] if len(slices) else [] for share in numbers]
        name, answers = getattr(request.function, "__name__", "request"), []
        try:
            answers = self._submit(name, homes, answer_request, numbers, parts, of_parts, request=request)
            while len(answers) > FAN_IN:
                heads = range(0, len(answers), FAN_IN)
                groups, homes = [answers[i : i + FAN_IN] for i in heads], [homes[i] for i in heads]
                sums = self._submit(f"add-{name}", homes, add_sums, groups, summation=request.summation)
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

    def _submit(self, name: str, homes: list[str], function: Callable, *arguments: list, **options: Any) -> list:
        """Have a function called once at each of some workers, and nowhere else: one message to the scheduler."""
        import dask

        keys = [f"{name}-{uuid4().hex}" for _ in homes]
        with dask.annotate(workers=dict(zip(keys, homes, strict=True)).__getitem__):
            return self._client.map(function, *arguments, key=keys, pure=False, **options)

    def _locate_parts(self) -> None:
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
            if holders and self.homes[k] not in holders:
                self.homes[k] = holders[0]

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
