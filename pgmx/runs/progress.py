"""A progress bar that appears only when a run takes long."""

from collections.abc import Callable
from math import isnan
from typing import Any


class ProgressBar:
    """Context that joins a tqdm bar to a user's callback.

    The bar has no total, for nobody knows it; it shows moves, score and edges. It is made after a second, so that
    short runs stay silent.

    Parameters
    ----------
    show : bool
        Whether there is to be a bar.
    callback : callable or None
        The user's own callback, called first.
    title : str
        What stands before the bar.
    unit : str, default="moves"
        What one call of the callback stands for.
    figure : str, default="score"
        Name of the figure to show, an attribute of what the callback is given.

    Attributes
    ----------
    callback : callable or None
        What the search is to call after each move.
    """

    DELAY = 1.0  # seconds

    def __init__(
        self, show: bool, callback: Callable | None, title: str, *, unit: str = "moves", figure: str = "score"
    ):
        self._user = callback
        self._title = title
        self._unit, self._figure = unit, figure
        self._bar: Any = None
        self.callback = self._update if show else callback

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self._bar is not None:
            self._bar.close()

    def _update(self, progress):
        stop = self._user(progress) if self._user is not None else False
        if progress.seconds > self.DELAY:
            if self._bar is None:
                from tqdm.auto import tqdm

                self._bar = tqdm(desc=self._title, unit=f" {self._unit}", initial=progress.n_iter - 1)
            self._bar.update(1)
            value = getattr(progress, self._figure)
            figures = {} if isnan(value) else {self._figure: f"{value:.4f}"}
            self._bar.set_postfix({**figures, "edges": progress.n_edges}, refresh=False)
        return stop
