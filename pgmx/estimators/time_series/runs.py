"""Runs of the learners that iterate: limits, callback, progress bar, and why they ended."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf, nan
from numbers import Real
from typing import Any

import numpy as np

from pgmx.estimators.base import Interval, clone_learner, config
from pgmx.runs.progress import SolverProgress
from pgmx.runs.run import ProgressBar, Run, Start, is_past

RUN_CONSTRAINTS: dict[str, Any] = {
    "max_time": [Interval(Real, 0, None, closed="left"), None],
    "show_progress": ["boolean"],
    "callback": [callable, None],
}


class RunsSolver:
    """Part of a learner whose solver records its steps on a run; it enters `RUN_CONSTRAINTS` into its own."""

    max_time: float | None
    show_progress: bool
    callback: Callable[[SolverProgress], bool | None] | None
    _start: Start | None

    converged_: bool
    stopped_by_: str
    history_: dict[str, np.ndarray]

    #: What a call of the callback reports on.
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
        """End a run, and set what it says of itself."""
        self.converged_, self.stopped_by_ = converged, run.conclude(converged)
        self.history_ = run.history
        return run


class TargetRecord:
    """Counts the targets that are solved and their edges, and records each block of them on a run, if there is one."""

    def __init__(self, run: Run | None, n_all: int):
        self.n_targets = self.n_edges = self._n_blocks = 0
        self._run, self._n_all = run, n_all
        if run is not None:
            run.estimate_left = self._estimate_left

    def _estimate_left(self) -> float | None:
        """Return how many blocks are left, were they as large as those before."""
        return (self._n_all - self.n_targets) * self._n_blocks / self.n_targets if self.n_targets else None

    def __call__(self, n_targets: int, n_edges: int) -> bool:
        """Add a block, and return whether no other is to be begun."""
        self.n_targets += n_targets
        self._n_blocks += 1
        self.n_edges += n_edges
        is_over = self._run is not None and self._run.record(objective=nan, n_edges=self.n_edges)
        return is_over or is_past(inf)


def make_silent(learner: Any) -> Any:
    """Return a clone without callback and progress bar, for parts of the run of another learner."""
    params = learner.get_params(deep=False)
    options = {name: value for name, value in (("callback", None), ("show_progress", False)) if name in params}
    return clone_learner(learner).set_params(**options)


def learn_whole(learner: Any, panel: Any) -> None:
    """Let a learner learn from a panel, and raise what has interrupted its run."""
    run = learner._fit(panel, None)
    if run is not None:
        run.raise_error()
