"""Grafting: edges are activated in rounds, and the parameters of what is active are optimised in between."""

from collections.abc import Callable
from math import inf
from time import perf_counter, process_time
from typing import Any, NamedTuple, Protocol

import numpy as np

from pgmx.inference import PairwisePotentials
from pgmx.runs.checkpoint import Checkpoint

#: Optimisations in a row that may change the model without letting a pair in: a loss that is not convex may never rest.
MOST_IDLE = 50

#: What sums of floats may add to the violation of a block.
_ROUNDING = 2e-6

#: Relative rise of an objective that is not convex which is put down to its tolerance.
_SLACK = 1e-4

#: Parameters kept of one run to go back to.
_MOST_KEPT = 32


class GraftProgress(NamedTuple):
    """What a callback is told after each round.

    Attributes
    ----------
    n_iter : int
        Rounds so far.
    objective : float
        In nats a row, penalty included.
    n_edges : int
        Edges (feature-wise: single parameters) activated.
    seconds : float
        Wall seconds since the run began.
    n_tests : int
        Scores of inactive pairs computed.
    """

    n_iter: int
    objective: float
    n_edges: int
    seconds: float
    n_tests: int


class MarkovLoss(Protocol):
    """What a run asks of a penalised loss; see `pgmx.solvers`."""

    @property
    def edges(self) -> np.ndarray:
        """Active pairs (k, 2), in the order of activation."""

    @property
    def drift(self) -> np.ndarray:
        """For each variable a number that only grows: d_e s_e changes by at most half the growth of its ends."""

    #: Whether every descent comes to the one optimum.
    is_convex: bool

    #: Whether the latest descent came to a stationary point.
    converged: bool

    def snapshot(self) -> tuple:
        """Return the parameters, for `revert`."""

    def revert(self, snapshot: tuple) -> None:
        """Go back to earlier parameters; tables activated since become zero."""

    def scores(self, pairs: np.ndarray) -> np.ndarray:
        """Return the score of each pair."""

    def gradients(self, pairs: np.ndarray) -> list[np.ndarray]:
        """Return the gradient of the loss in each pair's table."""

    def activate(self, pairs: np.ndarray) -> None:
        """Give pairs a table, at zero."""

    def activate_features(self, pairs: np.ndarray, cells: np.ndarray) -> None:
        """Let single cells be non-zero."""

    def potentials(self) -> PairwisePotentials:
        """Return the parameters that are not zero."""

    def optimise(self, pairs=None, *, tol, max_sweeps=None, deadline=inf) -> np.ndarray:
        """Descend, and return the variables whose conditionals changed."""

    def objective(self) -> float:
        """Return the objective."""

    def kkt_residual(self) -> float:
        """Return the largest distance of 0 from the subdifferential over nodes and active edges."""


class Source(Protocol):
    """Where the next edges come from; see `pgmx.search.edges.sources`."""

    n_tests: int
    interrupted: bool

    def next_round(self, loss: MarkovLoss, limit: int, deadline: float) -> int:
        """Activate some edges in the loss, at most `limit`, and return how many; 0 where no inactive one passes."""

    def optimise(self, loss: MarkovLoss, deadline: float) -> np.ndarray:
        """Optimise after an activation, and return the variables that changed."""

    def changed(self, variables: np.ndarray) -> None:
        """Take note that the conditionals of variables changed."""

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint must hold."""


class Grafting:
    """One run: rounds until nothing violates the condition of optimality, or a limit is reached.

    Parameters
    ----------
    loss : MarkovLoss
        With what is active from the start.
    source : Source
        Where edges come from.
    tol : float
        Bound on the violation of each block at the end.
    max_edges : float, default=inf
        Activations, those from before the run included.
    deadline : float, default=inf
        Reading of ``time.perf_counter`` at which to stop.
    callback : callable, optional
        Called with a `GraftProgress` before the first round and after each; a true answer ends the run.
    measure : callable, optional
        From the number of activated edges to further figures of the history, taken off the clock.
    n_tables : callable, optional
        Gives the number of pair tables computed so far.
    saver : Checkpoint, optional
        Where snapshots go.
    n_active : int, optional
        Activations before the run. Default: the active edges.

    Attributes
    ----------
    history : dict of list
        "n_edges", "n_tables", "n_tests", "objective", "cpu_seconds", "seconds" and what `measure` returns, an entry a
        round, the first before the first round and the last after the last optimisation.
    stopped_by : str
        "converged", "max_edges", "max_time", "callback", or "unsettled" where the loss does not come to rest.
    """

    def __init__(
        self,
        loss: MarkovLoss,
        source: Source,
        *,
        tol: float,
        max_edges: float = inf,
        deadline: float = inf,
        callback: Callable[[GraftProgress], Any] | None = None,
        measure: Callable[[int], dict[str, float]] | None = None,
        n_tables: Callable[[], int] | None = None,
        saver: Checkpoint | None = None,
        n_active: int | None = None,
    ):
        self.loss, self.source = loss, source
        self.tol, self.max_edges, self.deadline = tol, max_edges, deadline
        self.history: dict[str, list] = {}
        self.stopped_by = ""
        self.n_iter = 0
        self.n_active = len(loss.edges) if n_active is None else n_active
        self._idle = self._presses = 0
        self._kept: list[tuple[float, tuple]] = []
        self._n_better, self._stride, self._least = 0, 1, inf
        self._callback, self._measure, self._saver = callback, measure, saver
        self._n_tables = n_tables or (lambda: 0)
        self._cpu, self._wall = process_time(), perf_counter()

    def take_up(self, snapshot: dict[str, Any]) -> None:
        """Go on from the history of a snapshot; loss and source have been restored."""
        self.history = {name[8:]: list(value) for name, value in snapshot.items() if name.startswith("history_")}
        self.n_iter, self.n_active = int(snapshot["n_iter"]), int(snapshot["n_active"])
        self._cpu -= self.history["cpu_seconds"][-1]
        self._wall -= self.history["seconds"][-1]

    def start_clock(self, cpu: float, wall: float) -> None:
        """Count seconds from earlier readings of ``process_time`` and ``perf_counter``."""
        self._cpu, self._wall = cpu, wall

    def run(self) -> None:
        """Go on until something stops it."""
        # a run may be taken up under another penalty
        self._idle, self._presses, self._kept, self._n_better, self._stride, self._least = 0, 0, [], 0, 1, inf
        if not self.history and self._note():
            self.stopped_by = "callback"
        while not self.stopped_by:
            self._round()
        if self.stopped_by == "max_time":
            self.save()
        if self.stopped_by == "max_edges":
            self.source.changed(self.loss.optimise(tol=self.tol, deadline=self.deadline))
        if not self.loss.is_convex and self._kept:
            self._return_to_rest()
        self._note(tell=False)

    def _keep(self, objective: float) -> None:
        """Keep the first parameters, and such at rest as are better than all before, evenly thinned out."""
        if self._kept and (not self.loss.converged or objective >= self._least):
            return
        self._least = objective
        if self._n_better % self._stride == 0:
            self._kept.append((objective, self.loss.snapshot()))
        self._n_better += 1
        if len(self._kept) > _MOST_KEPT:
            self._kept, self._stride = self._kept[::2], 2 * self._stride

    def _return_to_rest(self) -> None:
        """Go back to the best kept parameters that a fresh look finds at rest, where the present ones are not."""
        self.loss.kkt_residual()  # takes the fresh look
        slack = _SLACK * max(1.0, abs(self._least))
        if self.loss.converged and self.loss.objective() <= self._least + slack:
            return
        self.stopped_by = "unsettled"
        while self._kept:
            _, parameters = self._kept.pop()
            self.loss.revert(parameters)
            self.loss.kkt_residual()
            if self.loss.converged and self.loss.objective() <= self.history["objective"][0] + slack:
                return

    def _round(self) -> None:
        if perf_counter() >= self.deadline:
            self.stopped_by = "max_time"
            return
        room = self.max_edges - self.n_active
        added = self.source.next_round(self.loss, int(min(room, 1 << 62)), self.deadline) if room > 0 else 0
        if added:
            self.n_active += added
            self._idle = 0
            self.source.changed(self.source.optimise(self.loss, self.deadline))
        elif self.source.interrupted:
            self.stopped_by = "max_time"
            return
        elif room <= 0:
            self.stopped_by = "max_edges"
            return
        else:
            changed = self.loss.optimise(tol=self.tol * 0.5 ** min(self._presses, 6), deadline=self.deadline)
            if not len(changed):
                if self._rests():  # no pair violates the condition for this very model
                    self.stopped_by = "converged" if perf_counter() < self.deadline else "max_time"
                    return
                self._presses += 1  # at rest by its own measure alone
            self.source.changed(changed)
            self._idle += 1
            if self._idle >= MOST_IDLE:
                self.stopped_by = "unsettled"
        self.n_iter += 1
        if self._note():
            self.stopped_by = "callback"
        if self._saver is not None and (self.stopped_by or self._saver.is_due()):
            self.save()

    def _rests(self) -> bool:
        """Tell whether the parameters meet their condition, rounding errors of sums of floats aside."""
        return self.loss.kkt_residual() <= self.tol + _ROUNDING

    def _note(self, tell: bool = True) -> bool:
        """Write a line of the history and tell the callback; return whether it wants an end."""
        objective = self.loss.objective()
        if not self.loss.is_convex:
            self._keep(objective)
        cpu, wall = process_time(), perf_counter()
        line = {
            "n_edges": self.n_active,
            "n_tables": self._n_tables(),
            "n_tests": self.source.n_tests,
            "objective": objective,
            "cpu_seconds": cpu - self._cpu,
            "seconds": wall - self._wall,
        }
        if self._measure is not None:
            line |= self._measure(self.n_active)
        stop = False
        if tell and self._callback is not None:
            told = GraftProgress(self.n_iter, objective, self.n_active, line["seconds"], self.source.n_tests)
            stop = bool(self._callback(told))
        for name, value in line.items():
            self.history.setdefault(name, []).append(value)
        self._cpu += process_time() - cpu  # what measuring took is not the learner's
        self._wall += perf_counter() - wall
        return stop

    def save(self) -> None:
        """Write a snapshot."""
        if self._saver is None:
            return
        arrays = {f"history_{name}": np.asarray(values) for name, values in self.history.items()}
        source = {f"source_{name}": value for name, value in self.source.state().items()}
        counts = {"n_iter": self.n_iter, "n_active": self.n_active}
        self._saver.save({**counts, **arrays, **source, **loss_state(self.loss)})


def loss_state(loss) -> dict[str, np.ndarray]:
    """Return the parameters of a loss as arrays, for `restore_loss`."""
    found = loss.potentials()
    return {
        "loss_edges": loss.edges,
        "loss_nodes": found.node_values,
        "loss_tables_of": found.edges,
        "loss_tables": found.edge_values,
    }


def restore_loss(loss, snapshot: dict[str, np.ndarray]) -> None:
    """Give a new loss the parameters and active edges of a snapshot.

    Parameters
    ----------
    loss : MarkovLoss
        Fresh.
    snapshot : dict
        With what `loss_state` returned.
    """
    given = (snapshot["loss_nodes"], snapshot["loss_tables_of"].reshape(-1, 2), snapshot["loss_tables"])
    loss.set_potentials(PairwisePotentials(loss.cardinalities, *given))
    known = set(map(tuple, loss.edges.tolist()))
    idle = [pair for pair in map(tuple, snapshot["loss_edges"].reshape(-1, 2).tolist()) if pair not in known]
    if idle:
        loss.activate(np.array(idle, dtype=np.int64))
