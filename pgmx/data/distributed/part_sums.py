"""Sums over the partitions of a table, computed by the workers that keep them.

The partitions are numbered, and sums are added in pairs of neighbours: partitions 0 and 1, then 2 and 3, then the sums
of these two, and so on. Any worker may add any pair, in any order; the sum is the same to the bit. A worker stores its
nodes of that tree in a dictionary: the sum of the partitions from ``i * 2**level`` to ``(i + 1) * 2**level`` at
(level, i).
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

#: Sums of neighbours, by level and number.
Sums = dict[tuple[int, int], Any]


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


def answer_request(numbers: list[int], parts: list, slices: list, request: Request) -> Sums:
    """Return the sums of some partitions of a worker, on as many threads as it has; some may share a partition."""
    n_threads = max(1, _count_threads() // max(len(parts), 1))
    for part in parts:
        part.n_threads = n_threads
    calls = (
        (part, *of_part, *request.arguments)
        for part, of_part in zip(parts, ((one,) for one in slices) if slices else [()] * len(parts), strict=True)
    )
    sums: Sums = {}
    for number, result in zip(numbers, _call_on_threads(request.function, calls, len(parts)), strict=True):
        sums[0, number] = result
        request.summation.reduce(sums)
    return sums


def _count_threads() -> int:
    """Return the number of threads of the worker that runs this."""
    from distributed import get_worker

    return get_worker().state.nthreads


def add_sums(answers: list[Sums], summation: Summation) -> Sums:
    """Return the sums of several answers as one."""
    sums = {at: result for answer in answers for at, result in answer.items()}
    summation.reduce(sums)
    return sums


def _call_on_threads(function: Callable, calls: Iterable[tuple], n_calls: int) -> Iterable:
    """Yield the results of calls, in order."""
    n_threads = min(_count_threads(), n_calls)
    if n_threads < 2:
        yield from (function(*call) for call in calls)
        return
    with ThreadPoolExecutor(n_threads) as threads:
        yield from threads.map(lambda call: function(*call), calls)
