"""Many independent tasks over one table or the same arrays, through joblib and the backend that the user chose."""

import os
import tempfile
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from functools import lru_cache, partial
from itertools import chain
from math import inf
from pathlib import Path
from threading import Thread
from time import perf_counter, sleep, time
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed, parallel_config
from joblib.parallel import get_active_backend

from pgmx.atomic import name_temporary
from pgmx.checks import count_workers
from pgmx.data import DiscreteTable
from pgmx.data.files.plane_file import open_written_table, write_coded
from pgmx.parallel.threads import call_on_threads, one_blas_thread, run_on_threads, start_threads
from pgmx.runs.run import TaskGroup

#: Threads speed up tasks shorter than this little, since most of their time is spent in Python.
_SHORT_TASK = 0.02  # seconds

#: Work for which starting processes pays; each of them imports pgmx first.
_PROCESSES_PAY = 30.0  # seconds

#: Most tasks of a block: the results of a block are lost if the run is interrupted before its end.
_MOST_TASKS = 16

#: Tables and arrays up to this size are sent directly; larger ones as the path of a file.
MOST_SENT_BYTES = 2**20  # bytes

#: Seconds between two checks of a worker process that its parent still exists.
_WATCH = 1.0

Task = Any

T = TypeVar("T")


def run_tasks(
    task: Task,
    data: Any,
    n: int,
    *,
    n_jobs: int | None = None,
    deadline: float = inf,
    first: int = 0,
    local_task: Callable[[int], Any] | None = None,
    compiled: bool = False,
    at_once: bool = False,
) -> Generator[tuple[int, Any], None, None]:
    """Run ``task(data, i)`` for i from `first` to n - 1 and yield (i, result), in no particular order.

    If a `task` has a method ``prepare(data)``, its result is run, one per thread or block; this thread uses
    `local_task`. Tasks that are not `compiled` may be sent to processes; threads start `at_once` if tasks are long and
    release Python's lock. At `deadline` (of ``time.time()``), or if closed, tasks end; then only number 0 still starts.
    """
    if n <= first:
        return
    with one_blas_thread():  # the same sums in every worker, and no more threads than workers
        yield from _run_tasks(task, data, n, n_jobs, deadline, first, local_task, compiled, at_once)


def _run_tasks(
    task: Task,
    data: Any,
    n: int,
    n_jobs: int | None,
    deadline: float,
    first: int,
    local_task: Callable[[int], Any] | None,
    compiled: bool,
    at_once: bool,
) -> Iterator[tuple[int, Any]]:
    """Choose between this thread, several threads, processes, and the workers of the user's backend.

    Unless the user has set a backend, the time of the first task decides between threads and processes, and errors in
    the data are raised in the calling thread.
    """

    def may_begin(number: int) -> bool:
        return number == 0 or time() < deadline

    n_workers = min(count_workers(n_jobs), n - first)
    # a backend without shared memory was chosen by the user
    if n_workers > 1 and not shares_memory("threads"):
        yield from _run_on_workers(task, data, n, n_jobs, deadline, first, "threads")
        return
    group = TaskGroup(deadline)
    local_task = prepare(task, data) if local_task is None else local_task
    may_send = not compiled and not shares_memory("processes")
    # only runs of many tasks can pay for processes; the first task is run here, to measure its time
    if n_workers > 1 and may_send and (n - first) * _SHORT_TASK > _PROCESSES_PAY:
        began = perf_counter()
        with group.run_task():
            result = local_task(first)
        yield first, result
        seconds, first = perf_counter() - began, first + 1
        if seconds < _SHORT_TASK and seconds * (n - first) > _PROCESSES_PAY:
            results = _run_on_workers(task, data, n, n_jobs, deadline, first, "processes")
            try:
                # the first result shows that workers could be started
                head = next(results)
            except (RuntimeError, BlockingIOError) as error:
                if not _is_thread_shortage(error):
                    raise
            else:
                yield head
                yield from results
                return
    if n_workers > 1:
        options: dict[str, Any] = {"allowed": may_begin, "compiled": compiled, "at_once": at_once}
        options |= {"first": first, "local_task": local_task, "group": group}
        yield from run_on_threads(lambda: prepare(task, data), n, n_workers, **options)
        return
    for number in range(first, n):
        if not may_begin(number):
            return
        with group.run_task():
            result = local_task(number)
        yield number, result


def _is_thread_shortage(error: Exception) -> bool:
    """Return whether the error says that no further thread or process could be started."""
    return isinstance(error, BlockingIOError) or "can't start new thread" in str(error)


def in_order(results: Generator[tuple[int, T], None, None], first: int = 0) -> Generator[T, None, None]:
    """Yield results by their numbers from `first` on; results that arrive early wait."""
    waiting: dict[int, T] = {}
    with closing(results):
        for number, result in results:
            waiting[number] = result
            while first in waiting:
                yield waiting.pop(first)
                first += 1


def call_together(calls: Iterable[Callable[[], T]], n_jobs: int | None) -> list[T]:
    """Return the results of calls on threads, or on the user's backend; after an interrupt they are ended first."""
    if shares_memory("threads"):
        return call_on_threads(calls, n_jobs)
    group = TaskGroup()
    parallel: Any = Parallel(n_jobs=n_jobs, prefer="threads")
    try:
        return list(parallel(delayed(_run_in_group)(call, group, os.getpid()) for call in calls))
    finally:
        group.stop()


# ---- workers of joblib ----


def _run_on_workers(
    task: Task, data: Any, n: int, n_jobs: int | None, deadline: float, first: int, prefer: str
) -> Iterator[tuple[int, Any]]:
    """Send blocks of decreasing size to joblib's workers: few at first, since each worker opens the table."""
    n_workers = min(count_workers(n_jobs), n - first)
    blocks = (range(*block) for block in _split_into_blocks(first, n, n_workers, _MOST_TASKS))
    group = TaskGroup(deadline)
    with make_sendable(data, shares_memory(prefer)) as sent:
        backend: Any = get_active_backend(prefer=prefer)[0]
        # not every backend can yield results as they arrive
        return_as = "generator_unordered" if backend.supports_return_generator else "list"
        parallel: Any = Parallel(
            n_jobs=n_jobs,
            prefer=prefer,
            return_as=return_as,
            batch_size=1,  # pyright: ignore[reportArgumentType]
            pre_dispatch="all",
        )
        # blocks are batches already, and there are few: joblib dispatches all of them at the start
        calls = (partial(_run_block, task, sent, block, deadline, group) for block in blocks)
        results: Any = ()
        try:
            results = parallel(delayed(_run_in_group)(call, group, os.getpid()) for call in calls)
            yield from chain.from_iterable(results)
        finally:
            group.stop()
            with warnings.catch_warnings():  # from tasks that the caller did not wait for
                warnings.simplefilter("ignore", UserWarning)
                del results, parallel


def prepare(task: Task, data: Any) -> Callable[[int], Any]:
    """Return a task on these data, with working memory of its own if it needs any."""
    return task.prepare(data) if hasattr(task, "prepare") else partial(task, data)


def _run_in_group(call: Callable[[], T], group: TaskGroup, pid: int) -> T:
    """Run a call of a group that process `pid` has made."""
    # true only in a child process, not in a thread or on another machine
    if os.getppid() == pid:
        _end_with_parent(pid)
    with group.run_task():
        return call()


@lru_cache(maxsize=1)
def _end_with_parent(pid: int) -> None:
    """End this worker process soon after its parent, which may be killed without notice."""

    def watch() -> None:
        while os.getppid() == pid:
            sleep(_WATCH)
        os._exit(1)

    start_threads([Thread(target=watch, daemon=True)])


def _split_into_blocks(first: int, stop: int, n_workers: int, most: int) -> Iterator[tuple[int, int]]:
    """Yield the ends of blocks of decreasing size, each half of a worker's share of the rest (guided self-scheduling).

    >>> list(_split_into_blocks(0, 10, 2, 4))
    [(0, 3), (3, 5), (5, 7), (7, 8), (8, 9), (9, 10)]
    """
    while first < stop:
        size = min(most, -(-(stop - first) // (2 * n_workers)))
        yield first, first + size
        first += size


def _run_block(
    task: Task, data: Any, numbers: Iterable[int], deadline: float, group: TaskGroup
) -> list[tuple[int, Any]]:
    """Run some tasks in a worker, without further parallel work inside."""
    results = []
    with parallel_config("sequential"), one_blas_thread():
        call = prepare(task, data)
        for number in numbers:
            # task 0 always runs, so that there is a result
            if (number > 0 and time() >= deadline) or group.is_stopped():
                break
            results.append((number, call(number)))
    return results


def shares_memory(prefer: str) -> bool:
    """Return whether the workers of the active joblib backend share memory."""
    backend, _ = get_active_backend(prefer=prefer)
    return getattr(backend, "supports_sharedmem", False)


# ---- the data that workers read ----


class SharedArrays:
    """Arrays by name that all tasks of `run_tasks` read; they become read-only attributes, None included.

    A read-only array mapped from a whole .npy file is pickled as the path of that file. Workers on other machines must
    be able to read it: `run_tasks` writes its files to the folder of the environment variable JOBLIB_TEMP_FOLDER, if it
    is set.
    """

    def __init__(self, **arrays: np.ndarray | None) -> None:
        self._arrays = {name: _make_read_only(array) for name, array in arrays.items()}

    def __getattr__(self, name: str) -> Any:
        arrays = self.__dict__.get("_arrays", {})  # pickle reads attributes before they are set
        if name not in arrays:
            raise AttributeError(f"no array {name!r}: the arrays are {', '.join(arrays)}")
        return arrays[name]

    def __getstate__(self) -> dict[str, Any]:
        return {name: find_npy_path(array) or array for name, array in self._arrays.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        mapped = {name: np.load(value, mmap_mode="r") for name, value in state.items() if isinstance(value, Path)}
        self._arrays = {name: mapped.get(name, _make_read_only(value)) for name, value in state.items()}

    def large_names(self) -> list[str]:
        """Return the names of the arrays above `MOST_SENT_BYTES` bytes that are not mapped from a .npy file."""
        sizes = ((name, array) for name, array in self._arrays.items() if array is not None)
        return [name for name, array in sizes if array.nbytes > MOST_SENT_BYTES and find_npy_path(array) is None]

    def write_large(self, folder: Path) -> "SharedArrays":
        """Return the same arrays, the large ones mapped from files that are written to a folder."""
        arrays = dict(self._arrays)
        for name in self.large_names():
            path = folder / f"{name}.npy"
            with name_temporary(path):
                np.save(path, getattr(self, name), allow_pickle=False)
            arrays[name] = np.load(path, mmap_mode="r")
        return SharedArrays(**arrays)


def find_npy_path(array: Any) -> Path | None:
    """Return the path of the .npy file of which an array is the whole content, mapped read-only; else None."""
    if not isinstance(array, np.memmap) or array.mode != "r" or array.filename is None:
        return None
    path = Path(array.filename)
    try:
        whole = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError):  # deleted, or not a .npy file
        return None
    # Slices of a mapped array keep its file name and offset: a slice of the same layout is the whole.
    layouts = [(one.shape, one.dtype, one.strides, one.offset) for one in (array, whole)]
    return path.absolute() if layouts[0] == layouts[1] else None


def _make_read_only(array: np.ndarray | None) -> np.ndarray | None:
    """Return a read-only view, aligned for its dtype: arrays from a network may begin at any address."""
    if array is None or (isinstance(array, np.memmap) and array.mode == "r"):
        return array
    array = np.require(array, requirements="A")[...]
    array.flags.writeable = False
    return array


@contextmanager
def make_sendable(data: Any, shared: bool) -> Iterator[Any]:
    """Yield the data in the best form to send: large coded tables and arrays are mapped from files."""
    if shared or not _is_large(data):
        yield data
        return
    # A worker may still have a file open; some systems cannot delete it then.
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
    """Return whether data in memory, or an element of them, should be sent as a file."""
    if isinstance(data, SharedArrays):
        return bool(data.large_names())
    return isinstance(data, DiscreteTable) and data.path is None and data.codes.nbytes > MOST_SENT_BYTES
