"""Runs of iterative learners: limits, callback, progress bar, and the reason for the end."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf, nan
from numbers import Real
from typing import Any

import numpy as np

from pgmx.estimators.base import Interval, clone_learner, config
from pgmx.runs.progress import ProgressBar, SolverProgress
from pgmx.runs.run import Run, Start, is_past

RUN_CONSTRAINTS: dict[str, Any] = {
    "max_time": [Interval(Real, 0, None, closed="left"), None],
    "show_progress": ["boolean"],
    "callback": [callable, None],
}


class RunsSolver:
    """Mixin of a learner whose solver records its steps on a run. The learner includes `RUN_CONSTRAINTS` in its own."""

    max_time: float | None
    show_progress: bool
    callback: Callable[[SolverProgress], bool | None] | None
    _start: Start | None

    converged_: bool
    stopped_by_: str
    history_: dict[str, np.ndarray]

    #: Unit of work after which the callback is called.
    _unit = "rounds"

    @contextmanager
    def _open_run(self) -> Iterator[Run]:
        """Return a run with its progress bar."""
        show = self.show_progress and config.SHOW_PROGRESS
        with ProgressBar(show, self.callback, type(self).__name__, unit=self._unit, figure="objective") as bar:
            run = Run(SolverProgress, max_time=self.max_time, callback=bar.callback, start=self._start)
            bar.follow(run)
            yield run

    def _end_run(self, run: Run, converged: bool) -> Run:
        """End a run, and set the attributes of the run."""
        self.converged_, self.stopped_by_ = converged, run.conclude(converged)
        self.history_ = run.history
        return run


class TargetRecord:
    """Counter of the solved targets and their edges, which records each block of targets on a run, if there is one."""

    def __init__(self, run: Run | None, n_all: int):
        self.n_targets = self.n_edges = self._n_blocks = 0
        self._run, self._n_all = run, n_all
        if run is not None:
            run.estimate_left = self._estimate_left

    def _estimate_left(self) -> float | None:
        """Return the number of remaining blocks, assuming the size of the previous blocks."""
        return (self._n_all - self.n_targets) * self._n_blocks / self.n_targets if self.n_targets else None

    def __call__(self, n_targets: int, n_edges: int) -> bool:
        """Add a block, and return whether to stop."""
        self.n_targets += n_targets
        self._n_blocks += 1
        self.n_edges += n_edges
        is_over = self._run is not None and self._run.record(objective=nan, n_edges=self.n_edges)
        return is_over or is_past(inf)


def make_silent(learner: Any) -> Any:
    """Return a clone without callback and progress bar, for use within the run of another learner."""
    params = learner.get_params(deep=False)
    options = {name: value for name, value in (("callback", None), ("show_progress", False)) if name in params}
    return clone_learner(learner).set_params(**options)


def learn_whole(learner: Any, panel: Any) -> None:
    """Let a learner learn from a panel, and raise the exception that interrupted its run, if any."""
    run = learner._fit(panel, None)
    if run is not None:
        run.raise_error()
