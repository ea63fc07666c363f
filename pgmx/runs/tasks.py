"""Tasks of one run in several threads, which end with it."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, local
from time import perf_counter

_here = local()


class TaskGroup:
    """Tasks that end together: runs that begin within `running` end at their next safe place once `stop` was called.

    It can be sent to other processes, whose tasks do not learn of `stop`: they end with their process.
    """

    def __init__(self) -> None:
        self._outer = current_group()
        self._stopped, self._n_running = False, 0
        self._condition = Condition()

    def __reduce__(self) -> tuple:
        return TaskGroup, ()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count a task of this thread."""
        before, _here.group = current_group(), self
        with self._condition:
            self._n_running += 1
        try:
            yield
        finally:
            _here.group = before
            with self._condition:
                self._n_running -= 1
                self._condition.notify_all()

    def is_stopped(self) -> bool:
        """Return whether the tasks are to end."""
        return self._stopped or (self._outer is not None and self._outer.is_stopped())

    def stop(self) -> None:
        """Let the tasks end, and wait until they have."""
        self._stopped = True
        with self._condition:
            self._condition.wait_for(lambda: self._n_running == 0)


def current_group() -> TaskGroup | None:
    """Return the group of the task that this thread runs, None outside of tasks."""
    return getattr(_here, "group", None)


def is_past(deadline: float) -> bool:
    """Return whether a reading of ``time.perf_counter`` is past, or the task of this thread is to end."""
    group = current_group()
    return perf_counter() >= deadline or (group is not None and group.is_stopped())
