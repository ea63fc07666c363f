"""What a callback receives, a named tuple per family of learners, and the progress bar."""

from collections.abc import Callable
from math import isnan
from typing import Any, NamedTuple, Self


class SearchProgress(NamedTuple):
    """Of a search over directed acyclic graphs: moves made, and score (nats) and arcs of the present graph."""

    n_iter: int
    score: float
    n_edges: int
    seconds: float


class GraftingProgress(NamedTuple):
    """Of edge grafting: rounds, objective (nats per row), activated edges, scores of inactive pairs computed.

    Feature-wise learners count single parameters in place of edges.
    """

    n_iter: int
    objective: float
    n_edges: int
    seconds: float
    n_tests: int


class SolverProgress(NamedTuple):
    """Of a Gaussian learner: sweeps, blocks of columns or penalties; the objective, NaN where it is not computed.

    Column-wise learners count as edges the pairs of a variable and a neighbour it chose.
    """

    n_iter: int
    objective: float
    n_edges: int
    seconds: float


class ResamplingProgress(NamedTuple):
    """Of a bootstrap: resamples done."""

    n_iter: int
    seconds: float


class ProgressBar:
    """Context that joins a tqdm bar to a user's callback; the run calls its `callback` attribute.

    The bar appears after `DELAY` seconds, so that short runs stay silent. `unit` names a step, `figure` the field of
    the progress that the bar shows beside the edges; `total` is the number of steps where it is known.
    """

    DELAY = 1.0

    def __init__(
        self,
        show: bool,
        callback: Callable[[Any], object] | None,
        title: str,
        *,
        unit: str = "moves",
        figure: str | None = "score",
        total: int | None = None,
    ):
        self._user = callback
        self._title, self._unit, self._figure, self._total = title, unit, figure, total
        self._bar: Any = None
        self.callback = self._update if show else callback

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception) -> None:
        if self._bar is not None:
            self._bar.close()

    def _update(self, progress: Any) -> object:
        stop = self._user(progress) if self._user is not None else False
        if progress.seconds > self.DELAY:
            if self._bar is None:
                from tqdm.auto import tqdm

                self._bar = tqdm(
                    desc=self._title, unit=f" {self._unit}", initial=progress.n_iter - 1, total=self._total
                )
            self._bar.update(1)
            self._bar.set_postfix(self._figures(progress), refresh=False)
        return stop

    def _figures(self, progress: Any) -> dict[str, str]:
        if self._figure is None:
            return {}
        value = getattr(progress, self._figure)
        return {**({} if isnan(value) else {self._figure: f"{value:.4f}"}), "edges": str(progress.n_edges)}
