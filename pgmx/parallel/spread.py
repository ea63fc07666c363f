"""Many independent tasks over one table, through joblib and whatever backend the user chose."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import chain
from pathlib import Path
from time import perf_counter, time
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

from pgmx.checks import count_workers
from pgmx.data import DiscreteTable, open_table
from pgmx.data.files.plane_file import write_coded

#: Tasks shorter than this leave threads little to do side by side, since most of their time is Python's.
SHORT_TASK = 0.02  # seconds

#: Work for which it pays to start processes; each of them imports pgmx first.
PROCESSES_PAY = 30.0  # seconds

#: Tables and arrays up to this size are sent as they are; others as the path of a file.
SENT_AS_ARRAYS = 2**20  # bytes

Task = Callable[[Any, int], Any]


class SharedArrays:
    """Arrays by name that all tasks read, for `spread`.

    Parameters
    ----------
    **arrays : ndarray or None
        The arrays; they become read-only attributes.

    Notes
    -----
    An array that is mapped, read-only, from the whole of a .npy file is pickled as the path of that file. Workers on
    other machines must see it: the files that `spread` writes lie in the folder that the environment variable
    JOBLIB_TEMP_FOLDER names, if there is one.

    Examples
    --------
    >>> import numpy as np
    >>> data = SharedArrays(correlation=np.eye(2), factor=None)
    >>> data.correlation.flags.writeable, data.factor is None
    (False, True)
    """

    def __init__(self, **arrays):
        self._arrays = {name: _read_only(array) for name, array in arrays.items()}

    def __getattr__(self, name):
        arrays = self.__dict__.get("_arrays", {})  # pickle asks for attributes before there are any
        if name not in arrays:
            raise AttributeError(f"no array {name!r}: the arrays are {', '.join(arrays)}")
        return arrays[name]

    def __getstate__(self):
        return {name: npy_path(array) or array for name, array in self._arrays.items()}

    def __setstate__(self, state):
        mapped = {name: np.load(value, mmap_mode="r") for name, value in state.items() if isinstance(value, Path)}
        self._arrays = {name: mapped.get(name, _read_only(value)) for name, value in state.items()}

    def large(self) -> list[str]:
        """Name the arrays above `SENT_AS_ARRAYS` bytes that are not mapped from a .npy file."""
        sizes = ((name, array) for name, array in self._arrays.items() if array is not None)
        return [name for name, array in sizes if array.nbytes > SENT_AS_ARRAYS and npy_path(array) is None]

    def mapped(self, folder: Path) -> "SharedArrays":
        """Return the same arrays, the large ones mapped from files that are written to a folder."""
        mapped = dict(self._arrays)
        for name in self.large():
            path = folder / f"{name}.npy"
            np.save(path, self._arrays[name], allow_pickle=False)
            mapped[name] = np.load(path, mmap_mode="r")
        return SharedArrays(**mapped)


def npy_path(array) -> Path | None:
    """Return the path of the .npy file of which an array is the whole content, mapped read-only; None for others."""
    if not isinstance(array, np.memmap) or array.mode != "r" or array.filename is None:
        return None
    path = Path(array.filename)
    try:
        whole = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError):  # gone, or no .npy file
        return None
    # Parts of a mapped array keep its file name and offset: a part of the same layout is the whole.
    layouts = [(one.shape, one.dtype, one.strides, one.offset) for one in (array, whole)]
    return path.absolute() if layouts[0] == layouts[1] else None


def _read_only(array):
    """Return a read-only view at an address that fits its numbers: what comes over a network begins anywhere."""
    if array is None or (isinstance(array, np.memmap) and array.mode == "r"):
        return array
    array = np.require(array, requirements="A")[...]
    array.flags.writeable = False
    return array


def spread(task: Task, data, n: int, *, n_jobs=None, deadline: float = float("inf")) -> Iterator[tuple[int, Any]]:
    """Run ``task(data, i)`` for i in 0..n-1 and yield (i, result), in no particular order.

    Parameters
    ----------
    task : callable
        Can be pickled; its result depends on its arguments alone.
    data : DiscreteTable, Frame or SharedArrays
        What all tasks read. Where workers have a memory of their own, a coded table above `SENT_AS_ARRAYS` bytes is
        sent as the path of a plane file, and each such array as that of a .npy file.
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
    with one_blas_thread():  # the same sums in every worker, and no threads beside the workers
        yield from _spread(task, data, n, n_jobs, deadline)


@lru_cache(maxsize=1)
def _libraries() -> ThreadpoolController:
    """Look once for what has threads: it takes 20 ms, more than many tasks do."""
    return ThreadpoolController()


def one_blas_thread():
    """Return a context in which BLAS takes one thread: small matrices are faster, and sums always the same."""
    return _libraries().limit(limits=1, user_api="blas")


def _spread(task: Task, data, n: int, n_jobs, deadline: float) -> Iterator[tuple[int, Any]]:
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
    blocks = (range(*block) for block in blocks_of(first, n, n_workers))
    with sendable(data, shares_memory(prefer)) as sent:
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
    with parallel_config("sequential"), one_blas_thread():
        return list(_run(task, data, numbers, deadline))


def shares_memory(prefer: str) -> bool:
    """Return whether the workers of the active joblib backend share memory."""
    backend, _ = get_active_backend(prefer=prefer)
    return getattr(backend, "supports_sharedmem", False)


@contextmanager
def sendable(data, shared: bool) -> Iterator[Any]:
    """Give the data as they travel best: large coded tables and arrays as ones that are mapped from files."""
    if shared or not _is_large(data):
        yield data
        return
    # A worker may have a file open still, which some systems then keep.
    with tempfile.TemporaryDirectory(
        prefix="pgmx-", dir=os.environ.get("JOBLIB_TEMP_FOLDER"), ignore_cleanup_errors=True
    ) as folder:
        if isinstance(data, SharedArrays):
            yield data.mapped(Path(folder))
            return
        path = Path(folder) / "table.pgmx"
        try:
            write_coded(data, path, durable=False)
        except TypeError:  # states that a plane file cannot hold, such as dates
            yield data
        else:
            yield open_table(path)


def _is_large(data) -> bool:
    """Tell whether data in memory, or a part of them, should travel as a file."""
    if isinstance(data, SharedArrays):
        return bool(data.large())
    return isinstance(data, DiscreteTable) and data.path is None and data.codes.nbytes > SENT_AS_ARRAYS
