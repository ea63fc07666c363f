"""One run of a learner: clock, limits, callback, history and checkpoint.

Solvers keep their state in a `Store`: the checkpoint of their run, or a section of it. Tasks of a run in several
threads or processes form a `TaskGroup`, which ends them together. `runs.progress` shows a run.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from threading import Condition, local
from time import perf_counter, process_time, time
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from pgmx.runs.checkpoint import Checkpoint, Snapshot

#: Figures of a history that are not fields of the progress, and their types.
EXTRA_COLUMNS = {
    "cpu_seconds": float,
    "n_tables": int,
    "recall": float,
    "held_out": float,
    "member": int,
    "gradient_norm": float,
}

#: Seconds that no run takes: a thousand years.
_LONGEST = 3.2e10

_thread = local()


class Steps:
    """Steps of a run whose number is known: the number done, the total, and their unit."""

    def __init__(self, total: int, unit: str, done: int = 0):
        self.total, self.unit, self.done = total, unit, done


class StartTime(NamedTuple):
    """Readings of ``time.perf_counter()`` and ``time.process_time()`` at which a fit began."""

    wall: float
    cpu: float

    @classmethod
    def now(cls) -> Self:
        """Return the present readings."""
        return cls(perf_counter(), process_time())


class OutOfTimeError(Exception):
    """There is no result, since the time of a run is over; a caller that has another result catches the error."""


class Run:
    """Clock, limits, callback, history and checkpoint of one fit.

    `progress` is the class of the tuples that the callback receives; its fields except `n_iter` begin the history. The
    run ends, with the reason in `stopped_by`, `max_time` seconds after `start` or at the deadline of its task, if the
    callback returns a true value or raises, on Ctrl-C, or by `end`; `raise_error` then raises a deferred error.
    """

    def __init__(
        self,
        progress: Any,
        *,
        max_time: float | None = None,
        callback: Callable[[Any], object] | None = None,
        checkpoint: Checkpoint | None = None,
        start: StartTime | None = None,
    ):
        self.checkpoint = checkpoint
        #: Why the run ended: "converged", "max_time", "max_iter", "callback", "interrupt", ...; "" while it runs.
        self.stopped_by = ""
        self.error: BaseException | None = None
        #: Function that estimates how many steps are left, None while that is not known; None if there is no estimate.
        self.estimate_left: Callable[[], float | None] | None = None
        #: The steps that the run counts, None if their number is not known.
        self.steps: Steps | None = None
        #: Number of the stage, from 1, and the number of stages; 0 for a run that does not report its stages.
        self.stage, self.n_stages = 0, 0
        #: Called after each step that is counted.
        self.on_step: Callable[[], None] | None = None
        self._progress, self._callback = progress, callback
        self._types = {name: kind for name, kind in progress.__annotations__.items() if name != "n_iter"}
        self._columns: dict[str, list] = {name: [] for name in self._types}
        self._limited: TaskGroup | None = None
        self._began, self._cpu_began = StartTime.now() if start is None else start
        #: Reading of ``time.perf_counter()`` at which the run is to end.
        # a run within a task of another run ends with that task, whatever its own limit is
        self.deadline = min(inf if max_time is None else self._began + max_time, current_deadline())

    @classmethod
    def from_wall_deadline(cls, progress: Any, wall_deadline: float) -> Self:
        """Return a run of a worker, which ends at a reading of ``time.time()``."""
        run = cls(progress)
        run.deadline = local_deadline(wall_deadline)
        return run

    # ---- clock and limits ----

    @property
    def seconds(self) -> float:
        """Seconds since the start, without pauses; a resumed run includes the seconds before the interruption."""
        return perf_counter() - self._began

    @property
    def limit(self) -> float:
        """The deadline as seconds since the start."""
        return self.deadline - self._began

    @property
    def cpu_seconds(self) -> float:
        """Processor seconds since the start, as `seconds`."""
        return process_time() - self._cpu_began

    @property
    def wall_deadline(self) -> float:
        """The deadline as a reading of ``time.time()``, which other processes and machines share."""
        return time() + (self.deadline - perf_counter())

    def is_over(self) -> bool:
        """Return whether the callback, the clock or the learner has ended the run."""
        # the first reason is kept; a stopped task counts as the end of the time
        if not self.stopped_by and (perf_counter() >= self.deadline or is_past(inf)):
            self.stopped_by = "max_time"
        return bool(self.stopped_by)

    def is_stopped_by_user(self) -> bool:
        """Return whether the callback or an interrupt has ended the run."""
        return self.stopped_by in ("callback", "interrupt")

    def interrupt(self, error: BaseException) -> None:
        """End the run by an error that is raised again when its results are set."""
        self.stopped_by, self.error = "interrupt", error

    @contextmanager
    def catch_interrupt(self) -> Iterator[None]:
        """Let Ctrl-C end the run and not the learner."""
        try:
            yield
        except KeyboardInterrupt as error:
            self.interrupt(error)

    def raise_error(self) -> None:
        """Raise the error that has interrupted the run, if any."""
        error, self.error = self.error, None
        if error is not None:
            raise error

    def end(self, reason: str) -> None:
        """End the run; a converged run deletes its checkpoint."""
        self.stopped_by = reason
        if reason == "converged" and self.checkpoint is not None:
            self.checkpoint.remove()

    def conclude(self, converged: bool, otherwise: str = "max_iter") -> str:
        """End the run and return why; `otherwise` is a limit that neither the clock nor the callback has set."""
        if converged or not self.is_over():
            self.end("converged" if converged else otherwise)
        return self.stopped_by

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Stop the clock: the time in this block belongs neither to the learner nor to `max_time`."""
        wall, cpu = perf_counter(), process_time()
        try:
            yield
        finally:
            pause = perf_counter() - wall
            # shifting the start keeps `seconds` free of pauses
            self._began, self.deadline = self._began + pause, self.deadline + pause
            self._cpu_began += process_time() - cpu
            if self._limited is not None:
                self._limited.deadline += pause

    @contextmanager
    def limit_runs(self) -> Iterator[None]:
        """Apply the deadline to all runs that begin in this block, and to `is_past` there."""
        self._limited = TaskGroup(self.wall_deadline)
        try:
            with self._limited.run_task():
                yield
        finally:
            self._limited = None

    # ---- steps ----

    def count_steps(self, total: int, unit: str, done: int = 0) -> None:
        """Begin to count steps, of which `done` were made before; `unit` names them, in the plural."""
        self.steps = Steps(total, unit, done)

    def expect_steps(self, n_steps: int) -> None:
        """Add `n_steps` to the expected number of steps, if steps are counted."""
        if self.steps is not None:
            self.steps.total += n_steps

    def finish_steps(self) -> None:
        """Set the total to the number of steps done, if steps are counted."""
        if self.steps is not None:
            self.steps.total = self.steps.done
            if self.on_step is not None:
                self.on_step()

    def count_with(self, run: "Run") -> None:
        """Count the steps of a run that contains this one."""
        self.steps, self.on_step = run.steps, run.on_step

    def advance(self, n_steps: int = 1) -> None:
        """Count steps as done, if steps are counted."""
        if self.steps is not None:
            self.advance_to(self.steps.done + n_steps)

    def advance_to(self, done: int) -> None:
        """Set the number of steps done, no fewer than before and no more than the total."""
        if self.steps is not None and done > self.steps.done:
            self.steps.done = min(done, self.steps.total)
            if self.on_step is not None:
                self.on_step()

    # ---- history and callback ----

    @property
    def n_rows(self) -> int:
        """Rows of the history."""
        return len(self._columns["seconds"])

    @property
    def has_callback(self) -> bool:
        """Whether there is a callback that receives every row."""
        return self._callback is not None

    @property
    def history(self) -> dict[str, np.ndarray]:
        """The history, an array per figure."""
        return {name: np.array(values, dtype=self._column_type(name)) for name, values in self._columns.items()}

    def record(self, *, n_iter: int | None = None, **figures: Any) -> bool:
        """Add a row to the history, call the callback, and return whether the run must end at the next safe point.

        Figures that are not fields of the progress go only into the history; `n_iter` is the row's number by default.
        After a callback or an interrupt has ended the run, nothing is recorded.
        """
        # the solver may record again on its way to a safe point
        if self.is_stopped_by_user():
            return True
        self.add_row(**figures)
        if self._callback is not None:
            # the time of the user's function does not count
            with self.pause():
                last = {name: self._columns[name][-1] for name in self._types}
                try:
                    if self._callback(self._progress(n_iter=self.n_rows if n_iter is None else n_iter, **last)):
                        self.stopped_by = "callback"
                # KeyboardInterrupt too: the results so far are set before `raise_error` raises it
                except BaseException as error:
                    self.interrupt(error)
        return self.is_over()

    def add_row(self, **figures: Any) -> None:
        """Add a row to the history without a call of the callback."""
        figures.setdefault("seconds", self.seconds)
        for name in self._types:
            self._columns[name].append(figures.pop(name))
        for name, value in figures.items():
            self._columns.setdefault(name, []).append(value)

    def add_rows(self, **columns: list) -> None:
        """Add rows at once, all of them with the present time."""
        columns["seconds"] = [self.seconds] * len(next(iter(columns.values())))
        for name, values in columns.items():
            self._columns.setdefault(name, []).extend(values)

    # ---- checkpoint ----

    def is_snapshot_due(self) -> bool:
        """Return whether it is time for the next snapshot."""
        return self.checkpoint is not None and self.checkpoint.is_due()

    def save(self, state: dict[str, Any], *, n_rows: int | None = None) -> None:
        """Write a snapshot with the clock and the first `n_rows` rows of the history, all by default."""
        if self.checkpoint is None:
            return
        history = {f"history_{name}": values[:n_rows] for name, values in self.history.items()}
        clock = {"clock_seconds": self.seconds, "clock_cpu_seconds": self.cpu_seconds}
        self.checkpoint.save({**state, **history, **clock})

    def restore(self) -> Snapshot | None:
        """Return the state in the checkpoint, None if there is none; clock and history continue from there."""
        state = None if self.checkpoint is None else self.checkpoint.load()
        if state is None:
            return None
        clock, history = state.take_part("clock_"), state.take_part("history_")
        clock.check_names(("seconds", "cpu_seconds"))
        # perf_counter has another origin in each process: files hold the seconds spent
        self._began = perf_counter() - clock.number("seconds", 0, _LONGEST)
        self._cpu_began = process_time() - clock.number("cpu_seconds", 0, _LONGEST)
        # a checkpoint of another family of learners has other columns
        history.check_names(self._types, EXTRA_COLUMNS)
        seconds = history.array("seconds", float, (None,), least=0, most=self.seconds)
        history.check((np.diff(seconds) >= 0).all(), "a history that goes back in time")
        for name in history.names:
            kind = self._column_type(name)
            column = history.array(name, kind, (None,), least=0 if kind is int else None, finite=False)
            n_rows = len(seconds) if name in self._types else min(len(column), len(seconds))  # others may begin later
            history.check(len(column) == n_rows, f"columns of the history of different lengths ({name!r})")
            self._columns[name] = column.tolist()
        return state

    def _column_type(self, name: str) -> Any:
        return self._types.get(name, EXTRA_COLUMNS.get(name))


# ---- the checkpoint of a run as the storage of its solvers ----


class Store(Protocol):
    """Storage for the results of a solver so far."""

    snapshot: Snapshot | None

    def can_save(self) -> bool:
        """Return whether saving is possible."""
        ...

    def is_due(self) -> bool:
        """Return whether it is time to save."""
        ...

    def save(self, state: dict[str, Any], n_rows: int | None = None) -> None:
        """Write a state, and the first rows of the history, all by default."""
        ...


class SectionStore:
    """The store of one section of a run, such as a path of a selection: `write` adds its state to the rest."""

    def __init__(self, run: Run, snapshot: Snapshot | None, write: Callable[[dict[str, Any], int | None], None]):
        self._run, self._write = run, write
        self.snapshot = snapshot

    def can_save(self) -> bool:
        """Return whether the run has a checkpoint."""
        return self._run.checkpoint is not None

    def is_due(self) -> bool:
        """Return whether it is time for the next snapshot of the run."""
        return self._run.is_snapshot_due()

    def save(self, state: dict[str, Any], n_rows: int | None = None) -> None:
        """Write a snapshot of the run."""
        if self.can_save():
            self._write(state, n_rows)


class RunStore(SectionStore):
    """The checkpoint of a run as the store of the whole run."""

    def __init__(self, run: Run):
        super().__init__(run, run.restore(), lambda state, n_rows: run.save(state, n_rows=n_rows))


# ---- the tasks of a run, and their deadline ----


class TaskGroup:
    """Tasks that end together: runs that begin within `run_task` end at their next safe point after a call of `stop`.

    They also end at `wall_deadline`, a reading of ``time.time()``. A group can be sent to other processes, but their
    tasks do not receive `stop`: they end with their process.
    """

    def __init__(self, wall_deadline: float = inf) -> None:
        # groups nest: stopping a bootstrap also stops the restarts within its searches
        self._outer = _current_group()
        #: Reading of ``time.perf_counter()`` at which the tasks must end.
        self.deadline = min(local_deadline(wall_deadline), current_deadline())
        self._stopped, self._n_running = False, 0
        self._condition = Condition()

    def __reduce__(self) -> tuple:
        # perf_counter has another origin in each process, time.time() has not
        return TaskGroup, (time() + (self.deadline - perf_counter()),)

    @contextmanager
    def run_task(self) -> Iterator[None]:
        """Count a task of this thread."""
        before, _thread.group = _current_group(), self
        with self._condition:
            self._n_running += 1
        try:
            yield
        finally:
            _thread.group = before
            with self._condition:
                self._n_running -= 1
                self._condition.notify_all()

    def is_stopped(self) -> bool:
        """Return whether the tasks must end."""
        return self._stopped or (self._outer is not None and self._outer.is_stopped())

    def stop(self) -> None:
        """Let the tasks end, and wait until they have."""
        self._stopped = True
        with self._condition:
            self._condition.wait_for(lambda: self._n_running == 0)


def _current_group() -> TaskGroup | None:
    """Return the group of the task that this thread runs, None outside of tasks."""
    return getattr(_thread, "group", None)


def current_deadline() -> float:
    """Return the reading of ``time.perf_counter()`` at which the task of this thread must end."""
    group = _current_group()
    return inf if group is None else group.deadline


def local_deadline(wall_deadline: float) -> float:
    """Return a deadline by ``time.time()`` as a reading of this process's ``time.perf_counter()``."""
    return perf_counter() + (wall_deadline - time())


def is_past(deadline: float) -> bool:
    """Return whether a reading of ``time.perf_counter`` is past, or the task of this thread must end."""
    group = _current_group()
    if group is None:
        return perf_counter() >= deadline
    return perf_counter() >= min(deadline, group.deadline) or group.is_stopped()


@contextmanager
def lift_limits() -> Iterator[None]:
    """Remove the deadline in this block: for a short step that makes a result when the time is over."""
    # otherwise the step would end at its start
    before, _thread.group = _current_group(), None
    try:
        yield
    finally:
        _thread.group = before
