"""Many independent tasks over one table, through joblib and whatever backend the user chose."""

import os
import tempfile
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from threading import Thread
from time import perf_counter, sleep, time
from typing import Any, TypeVar

from joblib import Parallel, delayed, parallel_config
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

from pgmx.checks import count_workers
from pgmx.data import DiscreteTable
from pgmx.data.files.plane_file import write_coded
from pgmx.data.files.plane_reader import open_written_table
from pgmx.parallel.arrays import SENT_AS_ARRAYS, SharedArrays
from pgmx.runs.run import TaskGroup

#: Tasks shorter than this leave threads little to do side by side, since most of their time is Python's.
SHORT_TASK = 0.02  # seconds

#: Work for which it pays to start processes; each of them imports pgmx first.
PROCESSES_PAY = 30.0  # seconds

#: Most tasks of a block: what a block has done is lost where the run is interrupted before its end.
MOST_TASKS = 16

#: Seconds between two looks of a worker process at whether its parent is still there.
_WATCH = 1.0

Task = Callable[[Any, int], Any]
T = TypeVar("T")


def spread(
    task: Task, data: Any, n: int, *, n_jobs: int | None = None, deadline: float = float("inf")
) -> Generator[tuple[int, Any], None, None]:
    """Run ``task(data, i)`` for i in 0..n-1 and yield (i, result), in no particular order.

    `data` is what all tasks read: a coded table, a frame or SharedArrays. Where workers have a memory of their own, a
    large table is sent as the path of a plane file, a large array as that of a .npy file. `deadline` is a reading of
    ``time.time()`` after which no task is begun but number 0. Where it is closed early, tasks that run are ended first.
    """
    if n == 0:
        return
    with one_blas_thread():  # the same sums in every worker, and no threads beside the workers
        yield from _spread(task, data, n, n_jobs, deadline)


@lru_cache(maxsize=1)
def _libraries() -> ThreadpoolController:
    """Find the libraries with threads, once: it takes 20 ms, more than many tasks do."""
    return ThreadpoolController()


def one_blas_thread():
    """Return a context in which BLAS takes one thread: small matrices are faster, and sums always the same."""
    return _libraries().limit(limits=1, user_api="blas")


def _spread(task: Task, data: Any, n: int, n_jobs: int | None, deadline: float) -> Iterator[tuple[int, Any]]:
    """Run the first task here, then send blocks of falling size to the workers.

    Without a backend of the user's, the time of the first task decides between threads and processes, and what is wrong
    with the data is raised where the user called. Blocks are few at first, since each worker opens the table.
    """
    n_workers = min(count_workers(n_jobs), n)
    first, prefer = 0, "threads"
    if n_workers == 1 or shares_memory(prefer):
        began = perf_counter()
        yield from _run(task, data, range(1 if n_workers > 1 else n), deadline)
        if n_workers == 1:
            return
        seconds = perf_counter() - began
        first, n_workers = 1, min(n_workers, n - 1)
        if seconds < SHORT_TASK and seconds * n > PROCESSES_PAY:
            prefer = "processes"
    most = 1 if first and seconds >= SHORT_TASK else MOST_TASKS
    blocks = (range(*block) for block in _split_into_blocks(first, n, n_workers, most))
    group = TaskGroup()
    with make_sendable(data, shares_memory(prefer)) as sent:
        backend: Any = get_active_backend(prefer=prefer)[0]
        return_as = "generator_unordered" if backend.supports_return_generator else "list"
        parallel: Any = Parallel(
            n_jobs=n_jobs,
            prefer=prefer,
            return_as=return_as,
            batch_size=1,  # pyright: ignore[reportArgumentType]
            pre_dispatch="all",
        )
        calls = (partial(_run_block, task, sent, block, deadline, group) for block in blocks)
        results: Any = ()
        try:
            results = parallel(delayed(_run_in_group)(call, group, os.getpid()) for call in calls)
            yield from chain.from_iterable(results)
        finally:
            group.stop()
            with warnings.catch_warnings():  # of tasks that the caller did not wait for
                warnings.simplefilter("ignore", UserWarning)
                del results, parallel


def call_together(calls: Iterable[Callable[[], T]], n_jobs: int | None, **options: Any) -> list[T]:
    """Return the results of calls on threads, or on the user's backend; where it is interrupted, they are ended first.

    The options are those of ``joblib.Parallel``.
    """
    group = TaskGroup()
    parallel: Any = Parallel(n_jobs=n_jobs, prefer="threads", **options)
    try:
        return list(parallel(delayed(_run_in_group)(call, group, os.getpid()) for call in calls))
    finally:
        group.stop()


def _run_in_group(call: Callable[[], T], group: TaskGroup, pid: int) -> T:
    """Run a call of a group that process `pid` has made."""
    if os.getppid() == pid:
        _end_with_parent(pid)
    with group.running():
        return call()


@lru_cache(maxsize=1)
def _end_with_parent(pid: int) -> None:
    """Let this worker process end soon after its parent, which may be killed without a word."""

    def watch() -> None:
        while os.getppid() == pid:
            sleep(_WATCH)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _split_into_blocks(first: int, stop: int, n_workers: int, most: int) -> Iterator[tuple[int, int]]:
    """Yield the ends of blocks of falling size, each half of a worker's share of the rest (guided self-scheduling).

    >>> list(_split_into_blocks(0, 10, 2, 4))
    [(0, 3), (3, 5), (5, 7), (7, 8), (8, 9), (9, 10)]
    """
    while first < stop:
        size = min(most, -(-(stop - first) // (2 * n_workers)))
        yield first, first + size
        first += size


def _run(
    task: Task, data: Any, numbers: Iterable[int], deadline: float, group: TaskGroup | None = None
) -> Iterator[tuple[int, Any]]:
    for number in numbers:
        if (number > 0 and time() >= deadline) or (group is not None and group.is_stopped()):
            return
        yield number, task(data, number)


def _run_block(
    task: Task, data: Any, numbers: Iterable[int], deadline: float, group: TaskGroup
) -> list[tuple[int, Any]]:
    """Run some tasks in a worker, where nothing goes parallel once more."""
    with parallel_config("sequential"), one_blas_thread():
        return list(_run(task, data, numbers, deadline, group))


def shares_memory(prefer: str) -> bool:
    """Return whether the workers of the active joblib backend share memory."""
    backend, _ = get_active_backend(prefer=prefer)
    return getattr(backend, "supports_sharedmem", False)


@contextmanager
def make_sendable(data: Any, shared: bool) -> Iterator[Any]:
    """Yield the data as they are best sent: large coded tables and arrays mapped from files."""
    if shared or not _is_large(data):
        yield data
        return
    # A worker may have a file open still, which some systems then keep.
    with tempfile.TemporaryDirectory(
        prefix="pgmx-", dir=os.environ.get("JOBLIB_TEMP_FOLDER"), ignore_cleanup_errors=True
    ) as folder:
        if isinstance(data, SharedArrays):
            yield data.write_large(Path(folder))
            return
        path = Path(folder) / "table.pgmx"
        try:
            write_coded(data, path)
        except TypeError:  # states that a plane file cannot hold, such as dates
            yield data
        else:
            yield open_written_table(path)


def _is_large(data: Any) -> bool:
    """Return whether data in memory, or a part of them, should be sent as a file."""
    if isinstance(data, SharedArrays):
        return bool(data.large_names())
    return isinstance(data, DiscreteTable) and data.path is None and data.codes.nbytes > SENT_AS_ARRAYS
