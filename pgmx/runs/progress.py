"""Progress of a run: the argument of its callback, a named tuple per family of learners, and the progress bar."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import isnan
from typing import Any, NamedTuple, Self

from pgmx.runs.run import Run


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

    Column-wise learners count as edges the pairs of a variable and a neighbour that it chose.
    """

    n_iter: int
    objective: float
    n_edges: int
    seconds: float


class PosteriorProgress(NamedTuple):
    """Of a posterior over structures: sizes of parent sets that are scored, then rounds of chains.

    The largest r-hat and the largest difference of two chains in an arc are NaN without chains.
    """

    n_iter: int
    r_hat: float
    max_difference: float
    seconds: float


class SkeletonProgress(NamedTuple):
    """Of a search by tests of independence: levels (sizes of the set), tests so far, and edges of the skeleton.

    A search for Markov blankets counts variables as levels and members as edges.
    """

    n_iter: int
    n_tests: int
    n_edges: int
    seconds: float


class ResamplingProgress(NamedTuple):
    """Of a bootstrap: resamples done."""

    n_iter: int
    seconds: float


# ---- the progress bar ----


class ProgressBar:
    """Context that joins a tqdm bar to a user's callback; the run calls its `callback` attribute.

    It appears after `DELAY` seconds. `unit` names a step, `figure` the field of the progress that is shown with the
    edges; `total` is the number of steps if it is known. The followed run may count its own steps, which replace the
    calls, or estimate how many calls are left; otherwise the bar has no end.
    """

    DELAY = 1.0
    #: Seconds between two updates of the bar.
    INTERVAL = 0.1

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
        self._bar = _Bar(title)
        self._unit, self._figure, self._total = unit, figure, total
        self._first: Any = None
        self._last: Any = None
        self._run: Run | None = None
        self._next = self.DELAY
        self._show = show
        # without a bar the user's function is called directly
        self.callback = self._update if show else callback

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception) -> None:
        if self._bar.is_shown:
            self._draw()
            self._bar.close()
        if self._run is not None:  # breaks a circle of references: bar, search, run
            self._run.estimate_left = self._run.on_step = None

    def follow(self, run: Run) -> None:
        """Follow a run, which knows how many steps are done or left."""
        self._run = run
        if self._show:
            run.on_step = self._watch

    def _watch(self) -> None:
        assert self._run is not None
        self._draw_when_due(self._run.seconds)

    def _draw_when_due(self, seconds: float) -> None:
        if seconds > self._next:
            self._next = seconds + self.INTERVAL
            self._draw()

    def _update(self, progress: Any) -> object:
        self._last = progress
        if self._first is None:
            self._first = progress
        stop = self._user(progress) if self._user is not None else False
        self._draw_when_due(progress.seconds)
        return stop

    def _draw(self) -> None:
        figures = self._figures()
        if self._run is not None and self._run.steps is not None:
            steps = self._run.steps
            self._bar.draw(steps.done, steps.total, steps.unit, figures, counted=steps, seconds=self._run.seconds)
            return
        left = None if self._run is None or self._run.estimate_left is None else self._run.estimate_left()
        n = self._last.n_iter
        if left is None:
            self._bar.draw(n, self._total, self._unit, figures, begin=max(n - 1, 0))
        else:  # the rate is the mean since the first step
            begin, seconds = self._first.n_iter, self._last.seconds - self._first.seconds
            self._bar.draw(n, n + round(left), self._unit, figures, begin=begin, seconds=seconds)

    def _figures(self) -> dict[str, str]:
        if self._figure is None or self._last is None:
            return {}
        value = getattr(self._last, self._figure)
        text = f"{value:,}" if isinstance(value, int) else f"{value:.4f}"
        figures = {} if isnan(value) else {self._figure: text}
        figures["edges"] = str(self._last.n_edges)
        if self._run is not None and self._run.n_stages:
            figures["stage"] = f"{self._run.stage} of {self._run.n_stages}"
        return figures


class _Bar:
    """A bar of tqdm, made when it is first drawn.

    It cannot fail: if tqdm has switched it off, or it cannot be written, nothing is shown from then on.
    """

    def __init__(self, title: str):
        self._title = title
        self._tqdm: Any = None
        self._counted: Any = None
        self._is_off = False

    @property
    def is_shown(self) -> bool:
        """Whether it was drawn before, and can be drawn again."""
        return self._tqdm is not None and not self._is_off

    def draw(
        self,
        done: int,
        total: int | None,
        unit: str,
        figures: dict[str, str],
        *,
        begin: int = 0,
        counted: object = None,
        seconds: float | None = None,
    ) -> None:
        """Show that `done` of `total` steps are done; the count restarts if other steps are `counted`.

        The rate is the mean since the step `begin`, `seconds` ago; without these, the rate of the last steps.
        """
        if self._is_off:
            return
        with self._switch_off_on_error():
            is_made = self._tqdm is not None
            if not is_made:
                self._make(begin, total, unit, seconds)
            elif self._counted is not counted:
                self._restart(done)
            self._counted = counted
            self._tqdm.unit, self._tqdm.total = f" {unit}", total
            self._tqdm.set_postfix(figures, refresh=False)
            self._tqdm.update(done - self._tqdm.n)

    def close(self) -> None:
        """Leave the last state of the bar on the screen."""
        with self._switch_off_on_error():
            self._tqdm.close()

    def _make(self, begin: int, total: int | None, unit: str, seconds: float | None) -> None:
        from tqdm.auto import tqdm

        options: dict[str, Any] = {} if seconds is None else {"smoothing": 0}
        # the smallest delay leaves the first drawing to `update`
        self._tqdm = tqdm(
            desc=self._title, initial=begin, total=total, unit=f" {unit}", mininterval=0, delay=1e-9, **options
        )
        self._is_off = self._tqdm.disable  # TQDM_DISABLE=1; then it has no other attribute
        if seconds is not None and not self._is_off:
            # the rate of tqdm is the mean since its start
            self._tqdm.start_t -= seconds

    def _restart(self, done: int) -> None:
        """Count from `done`, and measure the rate from now on."""
        self._tqdm.smoothing, self._tqdm.initial = 0, done
        self._tqdm.reset()
        self._tqdm.n = self._tqdm.last_print_n = done

    @contextmanager
    def _switch_off_on_error(self) -> Iterator[None]:
        try:
            yield
        except Exception:  # a closed stream or terminal is no reason to lose a result
            self._is_off = True
            if self._tqdm is not None:
                self._tqdm.disable = True  # its destructor would write again
