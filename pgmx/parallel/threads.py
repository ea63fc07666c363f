"""Tasks on threads of this process, of which the calling thread is the first, and the free memory.

Compiled code releases Python's lock, so that threads over one shared table are sufficient: nothing is copied, and a
thread starts within 0.1 ms. The cost of the first tasks decides whether further threads are worth starting. If no
further thread can be started, the tasks continue on the existing ones.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Lock, Thread
from time import perf_counter, thread_time
from typing import Any, TypeVar, cast

from joblib import parallel_config
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

from pgmx.runs.run import TaskGroup

T = TypeVar("T")

#: Remaining work, in seconds, for which a further thread is worth its start.
THREAD_PAYS = 1e-3

#: Least number of tasks per thread for which the first runs alone; with fewer, other threads start after `GRACE` s.
MANY_TASKS, GRACE = 8, 2e-3

#: Seconds that a thread works before it takes the next tasks: several shorter tasks are taken at a time.
TURN = 2e-3

#: Seconds of tasks after which the processor time of threads is compared with one thread; and the least ratio of both.
TRIAL_SECONDS, LEAST_GAIN = 0.1, 1.1

#: Rows of a table per thread from which helpers share the rows of every call and do not prefetch calls.
LEAST_SHARE = 1 << 15

#: Seconds of a call, and of all calls, from which helpers pay; the most threads that they use, including this one.
HELPER_CALL, HELPER_PAYS, MOST_HELPED = 3e-5, 5e-3, 4

Numbered = tuple[int, Any]


@lru_cache(maxsize=1)
def _libraries() -> ThreadpoolController:
    """Find the libraries with threads, once: it takes 20 ms, longer than many tasks."""
    return ThreadpoolController()


def one_blas_thread():
    """Return a context in which BLAS uses one thread: this is faster for small matrices, and sums are reproducible."""
    return _libraries().limit(limits=1, user_api="blas")


def count_threads(n_jobs: int | None) -> int:
    """Return the number of threads of this process that `n_jobs` means to joblib, even if its backend has none."""
    if n_jobs == 1:
        return 1
    backend, usual = get_active_backend(require="sharedmem")
    return cast(Any, backend).effective_n_jobs(usual if n_jobs is None else n_jobs)


@dataclass(frozen=True)
class Usage:
    """Processor seconds, and seconds in which a thread was on a processor or waited for anything but a processor."""

    cpu: float = 0.0
    seconds: float = 0.0

    @property
    def share(self) -> float:
        """The share of the time in which a thread ran; threads that wait for Python's lock do not run."""
        return self.cpu / max(self.seconds, self.cpu, 1e-9)

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(self.cpu + other.cpu, self.seconds + other.seconds)

    def __sub__(self, other: "Usage") -> "Usage":
        return Usage(self.cpu - other.cpu, self.seconds - other.seconds)


def read_usage() -> Usage:
    """Return the clocks of this thread; time in the queue for a processor is subtracted if Linux reports it."""
    try:
        queued = int(Path("/proc/thread-self/schedstat").read_text("ascii").split()[1]) * 1e-9
    except (OSError, ValueError, IndexError):
        queued = 0.0
    return Usage(thread_time(), perf_counter() - queued)


class _Tasks:
    """Tasks by number, taken by threads in order; their measured cost determines how many are taken at a time."""

    def __init__(
        self,
        make: Callable[[], Callable[[int], Any]],
        first: int,
        stop: int,
        n_threads: int,
        allowed,
        compiled: bool,
        group: TaskGroup,
    ):
        self.make, self.group = make, group
        self.done: SimpleQueue[list[Numbered] | BaseException | None] = SimpleQueue()
        self.n_threads, self.n_finished, self.seconds = n_threads, 0, 0.0
        # compiled tasks release Python's lock, so the clocks of their threads are not needed
        self.usage, self.read_usage = Usage(), Usage if compiled else read_usage
        self.alone = False  # whether the other threads must end
        self.started = Event()  # set when it is decided whether they start
        self._allowed, self._next, self._stop, self._lock = allowed, first, stop, Lock()

    @property
    def seconds_left(self) -> float:
        """Estimated cost of the tasks that no thread has taken, from the finished tasks."""
        return (self._stop - self._next) * self.seconds / max(self.n_finished, 1)

    def take(self) -> range:
        """Return the numbers of the next tasks, none at the end."""
        with self._lock:
            first, rest = self._next, self._stop - self._next
            if rest <= 0 or self.group.is_stopped() or not self._allowed(first):
                self._next = self._stop
                return range(0)
            share = -(-rest // (2 * self.n_threads))  # guided self-scheduling: half of a thread's share
            # short tasks are taken together, since the lock and the queue cost time per turn
            turn = int(TURN * self.n_finished / self.seconds) if self.seconds > 0 else 1
            self._next = first + max(1, min(share, turn))
            return range(first, self._next)

    def run(self, task: Callable[[int], Any], numbers: range) -> list[Numbered]:
        """Run some tasks, without further parallel work inside."""
        began, usage, results = perf_counter(), self.read_usage(), []
        with self.group.run_task(), parallel_config("sequential"):
            for number in numbers:
                if number > numbers.start and not self._allowed(number):
                    break
                results.append((number, task(number)))
        with self._lock:
            self.n_finished += len(numbers)
            self.seconds += perf_counter() - began
            self.usage += self.read_usage() - usage
        return results

    def work(self) -> None:
        """Run tasks on this thread until none is left."""
        try:
            task = None
            # if there are few tasks, the calling thread may finish them within this time
            self.started.wait(GRACE)
            while not self.alone and (numbers := self.take()):
                # made late: a thread that gets no task needs no working memory
                if task is None:
                    with self.group.run_task(), parallel_config("sequential"):
                        task = self.make()
                self.done.put(self.run(task, numbers))
            self.done.put(None)
        except BaseException as error:  # raised again when the results are read
            self.done.put(error)


def run_on_threads(
    make: Callable[[], Callable[[int], T]],
    n: int,
    n_threads: int,
    *,
    first: int = 0,
    local_task: Callable[[int], T] | None = None,
    allowed: Callable[[int], bool] = lambda number: True,
    compiled: bool = True,
    at_once: bool = False,
    group: TaskGroup | None = None,
) -> Iterator[tuple[int, T]]:
    """Run ``task(i)`` for i from `first` to n - 1 and yield (i, result), in no particular order.

    Each thread has a task of its own, made by `make`; the calling one uses `local_task` if given. Once `allowed(i)` is
    False no task starts. Tasks that are not all `compiled` may hold Python's lock: if all threads together get little
    more processor time than one, the calling one continues alone. The tasks belong to `group`, or to one of their own.
    """
    tasks = _Tasks(make, first, n, n_threads, allowed, compiled, TaskGroup() if group is None else group)
    threads = [Thread(target=tasks.work, daemon=True) for _ in range(n_threads - 1)]
    n_running, alone = 0, Usage()
    # few tasks may be long ones: the other threads do not wait until the first task shows its cost
    if at_once or n - first < MANY_TASKS * n_threads:
        n_running = start_threads(threads)
    if at_once:
        tasks.started.set()
    task = make() if local_task is None else local_task
    try:
        while numbers := tasks.take():
            yield from tasks.run(task, numbers)
            while not tasks.done.empty():
                n_running -= yield from _results_of(tasks.done.get())
            if not tasks.started.is_set():
                # a thread per `THREAD_PAYS` of remaining work, as estimated from the first tasks
                n_more = int(tasks.seconds_left / THREAD_PAYS)
                if n_running == 0 and n_more > 0:
                    alone, threads = tasks.usage, threads[:n_more]
                    n_running = start_threads(threads)
                # threads that wait for `started` work or end, depending on this
                tasks.alone = n_more == 0
                tasks.started.set()
            elif not compiled and alone.seconds:
                together = tasks.usage - alone
                if together.seconds > TRIAL_SECONDS * n_threads:
                    # `share` is the mean of the threads: together they must run at least 10 % more than one alone
                    tasks.alone = n_threads * together.share < LEAST_GAIN * alone.share
        while n_running:
            n_running -= yield from _results_of(tasks.done.get())
    finally:
        tasks.started.set()
        tasks.group.stop()
        for thread in threads:
            if thread.ident is not None:
                thread.join()


def start_threads(threads: Sequence[Thread]) -> int:
    """Start threads, and return how many could be started: a process or a container may allow fewer."""
    for n_started, thread in enumerate(threads):
        try:
            thread.start()
        except RuntimeError:  # "can't start new thread"
            return n_started
    return len(threads)


def _results_of(message: list[Numbered] | BaseException | None) -> Generator[Any, None, bool]:
    """Yield the results of a message of a thread, and return whether the thread has ended; raise its error."""
    if isinstance(message, BaseException):
        raise message
    yield from message or ()
    return message is None


def call_on_threads(calls: Iterable[Callable[[], T]], n_jobs: int | None, seconds: float = inf) -> list[T]:
    """Return the results of calls of compiled code, in order, on at most `n_jobs` threads, if they pay.

    `seconds` is an estimate of the time of all calls together; without one, the first call is measured.
    """
    calls = list(calls)
    n_threads = _limit_threads(count_threads(n_jobs), calls, seconds)
    if n_threads < 2:
        return [call() for call in calls]
    with one_blas_thread():
        return _call_all(calls, n_threads, seconds < inf)


def call_in_parallel(calls: Sequence[Callable[[], T]], seconds: float) -> list[T]:
    """Return the results of calls of compiled code that do not use BLAS, on a thread for each if that pays.

    `seconds` is an estimate of the time of all calls. The caller has counted the available threads: it may be one.
    """
    n_threads = _limit_threads(len(calls), calls, seconds)
    return [call() for call in calls] if n_threads < 2 else _call_all(calls, n_threads, True)


def call_both(call: Callable[[], T], other: Callable[[], T]) -> tuple[T, T]:
    """Return the results of two calls, the second one made on another thread; it ends early if the first one fails.

    Neither may rely on BLAS using one thread.
    """
    group = TaskGroup()
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            with group.run_task(), parallel_config("sequential"):
                results.append(other())
        except BaseException as error:  # raised again below
            errors.append(error)

    thread = Thread(target=run, daemon=True)
    is_beside = start_threads([thread]) == 1
    try:
        result = call()
        if is_beside:
            thread.join()
        else:
            run()
    except BaseException:
        group.stop()
        if is_beside:
            thread.join()
        raise
    if errors:
        raise errors[0]
    return result, results[0]


def count_helpers(n_threads: int, n_calls: float, seconds: float) -> int:
    """Return how many helper threads pay for calls of `seconds` each, which this thread makes one after the other.

    They pay if a call takes longer than its synchronisation; this thread does a third of the work itself.
    """
    pays = seconds > HELPER_CALL and n_calls * seconds > HELPER_PAYS
    return min(n_threads, MOST_HELPED) - 1 if pays else 0


def count_sharers(n_threads: int, n_rows: int) -> int:
    """Return how many of these threads share the rows of every call; 1 if prefetching calls is faster."""
    return max(1, min(n_threads, n_rows // LEAST_SHARE))


@contextmanager
def help_on_threads(serve: Callable[[int], None], close: Callable[[], None], n_helpers: int) -> Iterator[None]:
    """Run ``serve(number)`` on threads, with `number` from 1, until the block is left; `close` lets them end.

    A thread that is short of memory ends early, and some may not start: the caller must not depend on them.
    """
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            serve(number)
        # helpers only save time: the caller does their work without them
        except MemoryError:
            pass
        except BaseException as error:  # raised again below
            errors.append(error)

    threads = [Thread(target=run, args=(number,), daemon=True) for number in range(1, n_helpers + 1)]
    try:
        start_threads(threads)
        yield
    finally:
        close()
        for thread in threads:
            if thread.ident is not None:
                thread.join()
    if errors:
        raise errors[0]


def _limit_threads(n_threads: int, calls: Sequence[Callable], seconds: float) -> int:
    return min(n_threads, len(calls), max(1, int(min(seconds / THREAD_PAYS, 1e6))))


def _call_all(calls: Sequence[Callable[[], T]], n_threads: int, at_once: bool) -> list[T]:
    results = dict(run_on_threads(lambda: lambda number: calls[number](), len(calls), n_threads, at_once=at_once))
    return [results[number] for number in range(len(calls))]


def read_free_memory(unknown: int) -> int:
    """Return the bytes that programs can use without swapping; `unknown` if the system does not report them."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            words = next(line for line in file if line.startswith("MemAvailable:")).split()
    except (OSError, StopIteration):
        return unknown
    return int(words[1]) * 1024
