"""The parts of a table at the workers of a dask cluster: requests to them, and sums of their answers.

A part is a future of dask, made from its source by functions without side effects: dask makes it again when its worker
is lost.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

from pgmx.data.distributed.parts import call_on_part
from pgmx.data.distributed.row_answers import RowQuestion, map_parts

if TYPE_CHECKING:
    from distributed import Client, Future

#: Sums that one task adds, and that the driver fetches.
FAN_IN = 4

#: Seconds after which a part that is still being counted is named in the log.
SLOW = 60.0

_LOG = logging.getLogger("pgmx.data.distributed")


class RemoteParts:
    """Parts with ``rows_of[k]`` rows each, kept by the workers at the addresses `homes`; none without a client."""

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
        """Whether there are no rows any more."""
        return self._client is None

    def reduce(self, function: Callable, *arguments: Any, add: Callable[[list], Any], slices: Sequence = ()) -> Any:
        """Return the sum of a function over the parts that have rows, `add` of lists in the order of the parts.

        The function is called with a part, the part's own of `slices` where there are some, and the arguments. A
        message to each part, and sums added `FAN_IN` at a time by the workers until the driver can fetch the last.
        """
        client = self._open()
        options = {"pure": False, "allow_other_workers": True}
        homes = [home for home, n_rows in zip(self.homes, self.rows_of, strict=True) if n_rows]
        arguments_of = [(part, *arguments) for part in slices] or repeat(arguments, len(self.rows_of))
        futures = [
            client.submit(call_on_part, function, part, arguments_of_part, workers=home, **options)
            for part, home, n_rows, arguments_of_part in zip(
                self._futures, self.homes, self.rows_of, arguments_of, strict=True
            )
            if n_rows
        ]
        while len(futures) > FAN_IN:
            heads = range(0, len(futures), FAN_IN)
            # sums go before parts that wait, so that few results are in memory at a time
            futures = [
                client.submit(add, futures[i : i + FAN_IN], workers=homes[i], priority=1, **options) for i in heads
            ]
            homes = [homes[i] for i in heads]
        self._wait(futures)
        sums = client.gather(futures)
        return sums[0] if len(sums) == 1 else add(sums)

    def replace_parts(self, function: Callable, slices: Sequence, rows_of: Sequence[int]) -> RemoteParts:
        """Return the parts that a function makes, where they are, of each part and its slice; with `rows_of` rows."""
        client = self._open()
        futures = [
            client.submit(function, part, of_part, pure=False, workers=home, allow_other_workers=True)
            for part, of_part, home in zip(self._futures, slices, self.homes, strict=True)
        ]
        return RemoteParts(rows_of, client, futures, self.homes)

    def map_rows(self, function: Callable, *arguments: Any, meta: Any) -> Any:
        """Return what a function answers for all rows as a dask.dataframe, a partition for each part."""
        return map_parts(self._open(), self._futures, self.rows_of, RowQuestion(function, arguments, meta))

    def release(self) -> None:
        """Free the memory of the workers."""
        if self._client is not None:
            self._client.cancel(self._futures)
        self._client, self._futures = None, []

    def __reduce__(self):
        return RemoteParts, (self.rows_of,)

    def _open(self) -> Any:
        if self._client is None:
            raise ValueError(
                "the rows of this distributed table are gone: it was released, or it comes from a pickle; distribute "
                "the source again"
            )
        return self._client

    def _wait(self, futures: list) -> None:
        from distributed import wait

        while True:
            try:
                wait(futures, timeout=SLOW)
            except TimeoutError:
                running = {address: len(tasks) for address, tasks in self._client.processing().items() if tasks}
                _LOG.warning("still counting after %g s, tasks by worker: %s", SLOW, running)
            else:
                return
