"""Many independent tasks over one table, through joblib and whatever backend the user chose."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from itertools import chain
from pathlib import Path
from time import perf_counter, time
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.parallel import get_active_backend
from threadpoolctl import threadpool_limits

from pgmx.data import DiscreteTable, open_table
from pgmx.data.plane_file import write_coded

#: Tasks shorter than this leave threads little to do side by side, since most of their time is Python's.
SHORT_TASK = 0.02  # seconds

#: Work for which it pays to start processes; each of them imports pgmx first.
PROCESSES_PAY = 30.0  # seconds

#: Tables up to this size are sent as they are; others as the path of a plane file.
SENT_AS_ARRAYS = 2**20  # bytes

Task = Callable[[Any, int], Any]


def spread(task: Task, data, n: int, *, n_jobs=None, deadline: float = float("inf")) -> Iterator[tuple[int, Any]]:
    """Run ``task(data, i)`` for i in 0..n-1 and yield (i, result), in no particular order.

    Parameters
    ----------
    task : callable
        Can be pickled; its result depends on its arguments alone.
    data : DiscreteTable or Frame
        What all tasks read. Where workers have a memory of their own, a coded table above `SENT_AS_ARRAYS` bytes is
        sent as the path of a plane file.
    n : int
        Number of tasks.
    n_jobs : int, optional
        Workers, as joblib understands it.
    deadline : float, optional
        Reading of ``time.time()`` after which no task is begun but number 0.

    Yields
    ------
    tuple of int and object
        Number and result of a task.

    Notes
    -----
    Without a backend of the user's the first task is run here: its time tells whether threads or processes are better,
    and what is wrong with the data is raised where the user called. Then blocks of falling size go to the workers:
    few at first, since each opens the table, and single tasks in the end, so that all workers finish together.
    """
    with threadpool_limits(1, user_api="blas"):  # the same sums in every worker, and no threads beside the workers
        yield from _spread(task, data, n, n_jobs, deadline)


def _spread(task: Task, data, n: int, n_jobs, deadline: float) -> Iterator[tuple[int, Any]]:
    n_workers = min(effective_n_jobs(n_jobs), n)
    first, prefer = 0, "threads"
    if n_workers == 1 or _shares_memory(prefer):
        began = perf_counter()
        yield from _run(task, data, range(1 if n_workers > 1 else n), deadline)
        if n_workers == 1:
            return
        seconds = perf_counter() - began
        first, n_workers = 1, min(n_workers, n - 1)
        if seconds < SHORT_TASK and seconds * n > PROCESSES_PAY:
            prefer = "processes"
    blocks = (range(*block) for block in blocks_of(first, n, n_workers))
    with sendable(data, _shares_memory(prefer)) as sent:
        backend, _ = get_active_backend(prefer=prefer)
        return_as = "generator_unordered" if backend.supports_return_generator else "list"
        parallel = Parallel(n_jobs=n_jobs, prefer=prefer, return_as=return_as, batch_size=1, pre_dispatch="all")
        yield from chain.from_iterable(parallel(delayed(_run_block)(task, sent, block, deadline) for block in blocks))


def blocks_of(first: int, stop: int, n_workers: int) -> Iterator[tuple[int, int]]:
    """Yield the ends of blocks of falling size, each half of what a worker's share of the rest would be.

    References
    ----------
    .. [1] Polychronopoulos, C. D. and Kuck, D. J. (1987). Guided self-scheduling: a practical scheduling scheme for
       parallel supercomputers. IEEE Transactions on Computers C-36, 1425-1439.

    Examples
    --------
    >>> list(blocks_of(0, 10, 2))
    [(0, 3), (3, 5), (5, 7), (7, 8), (8, 9), (9, 10)]
    """
    while first < stop:
        size = -(-(stop - first) // (2 * n_workers))
        yield first, first + size
        first += size


def _run(task: Task, data, numbers, deadline: float) -> Iterator[tuple[int, Any]]:
    for number in numbers:
        if number > 0 and time() >= deadline:
            return
        yield number, task(data, number)


def _run_block(task: Task, data, numbers, deadline: float) -> list[tuple[int, Any]]:
    """Run some tasks in a worker, where nothing goes parallel once more."""
    with parallel_config("sequential"), threadpool_limits(1, user_api="blas"):
        return list(_run(task, data, numbers, deadline))


def _shares_memory(prefer: str) -> bool:
    backend, _ = get_active_backend(prefer=prefer)
    return getattr(backend, "supports_sharedmem", False)


@contextmanager
def sendable(data, shared: bool) -> Iterator[Any]:
    """Give the data as they travel best: a large coded table as one that is mapped from a file."""
    if shared or not isinstance(data, DiscreteTable) or data.path is not None or data.codes.nbytes <= SENT_AS_ARRAYS:
        yield data
        return
    with tempfile.TemporaryDirectory(prefix="pgmx-", dir=os.environ.get("JOBLIB_TEMP_FOLDER")) as folder:
        path = Path(folder) / "table.pgmx"
        try:
            write_coded(data, path, durable=False)
        except TypeError:  # states that a plane file cannot hold, such as dates
            yield data
        else:
            yield open_table(path)


@contextmanager
def sendable_scoring(scoring, n_jobs) -> Iterator[Any]:
    """Give a score bound to data as it travels best to `n_jobs` workers; the same one where they share memory."""
    table = getattr(scoring, "table", None)
    if table is None or effective_n_jobs(n_jobs) == 1:
        yield scoring
        return
    with sendable(table, _shares_memory("threads")) as sent:
        twin = copy(scoring)
        twin.table = sent
        yield twin
