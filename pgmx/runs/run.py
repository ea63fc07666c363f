"""What goes on beside the solving of a Gaussian learner: its clock, its callback, its history."""

from collections.abc import Callable
from math import inf
from time import perf_counter, time
from typing import NamedTuple

import numpy as np


class GaussianProgress(NamedTuple):
    """What a callback is told.

    Attributes
    ----------
    n_iter : int
        Calls so far: sweeps of the graphical lasso, blocks of columns of the others, penalties of a path.
    objective : float
        The objective now, NaN where it was not computed; of the columns solved so far for column-wise learners.
    n_edges : int
        Edges now (column-wise learners: pairs of a variable and a neighbour it chose).
    seconds : float
        Since the beginning.
    """

    n_iter: int
    objective: float
    n_edges: int
    seconds: float


class GaussianRun:
    """Clock, deadline, callback and history of one fit.

    Parameters
    ----------
    max_time : float or None
        Seconds that it may take.
    callback : callable or None
        Takes a GaussianProgress; a true answer ends the fit.

    Attributes
    ----------
    deadline : float
        Reading of ``time.perf_counter()`` at which it is to end.
    stopped : bool
        Whether the callback asked for the end.
    """

    def __init__(self, max_time: float | None = None, callback: Callable | None = None):
        self._began = perf_counter()
        self._callback = callback
        self._told: list[GaussianProgress] = []
        self.deadline = inf if max_time is None else self._began + max_time
        self.stopped = False

    def tell(self, objective: float, n_edges: int) -> bool:
        """Note where the fit is, tell the callback, and return whether it is to end; then nobody is told more."""
        if self.stopped:
            return True
        progress = GaussianProgress(len(self._told) + 1, objective, n_edges, perf_counter() - self._began)
        self._told.append(progress)
        if self._callback is not None and self._callback(progress):
            self.stopped = True
        return self.over

    @property
    def wall_deadline(self) -> float:
        """The deadline as a reading of ``time.time()``, which other machines have too."""
        return time() + (self.deadline - perf_counter())

    @property
    def over(self) -> bool:
        """Whether the callback or the clock has ended the fit."""
        return self.stopped or perf_counter() >= self.deadline

    @property
    def history(self) -> dict[str, np.ndarray]:
        """What was told, an array a figure."""
        names = ("objective", "n_edges", "seconds")
        return {name: np.array([getattr(one, name) for one in self._told]) for name in names}


def local_deadline(wall_deadline: float) -> float:
    """Return a deadline by ``time.time()`` as a reading of this process's ``time.perf_counter()``."""
    return perf_counter() + (wall_deadline - time())
