"""Grafting: edges are activated in rounds, and the active parameters are optimised in between.

A run on a non-convex loss stores its earlier parameters (iterates), and returns to the best of them at the end.
"""

from collections.abc import Callable
from math import inf, isfinite
from typing import Any, Protocol

import numpy as np

from pgmx.inference import PairwisePotentials
from pgmx.runs.checkpoint import Snapshot
from pgmx.runs.run import Run, RunStore, Store
from pgmx.solvers.markov.penalised_loss import MOST_VALUE, PenalisedLoss
from pgmx.solvers.markov.pseudolikelihood import SINGLE_TOL

#: Largest number of consecutive optimisations that change the model but activate no pair; a non-convex loss may cycle.
MOST_IDLE = 50

#: Reasons for which a run is complete.
COMPLETE = ("converged", "max_edges", "unsettled")

#: Rounding error of sums that is allowed for in the violation of a block.
_ROUNDING = 2e-6

#: Relative increase of a non-convex objective that is within its tolerance.
SLACK = 1e-4

#: Number of iterates that are stored in any case, and the number of values that further iterates may hold: 64 MB.
_FEW, _MOST_NUMBERS = 32, 1 << 23

#: Number of evenly spaced iterates that are evaluated before the iterates around the best.
_MEASURED = 32


class EdgeSelector(Protocol):
    """A selector chooses the next edges of a run; the penalty λ is an attribute of the loss."""

    #: Whether all pairs are scored in any case.
    is_exhaustive: bool

    @property
    def n_tests(self) -> int:
        """Scores of inactive pairs computed."""
        ...

    def find_largest_ratio(self, loss: PenalisedLoss) -> float:
        """Return the largest s_e / c_e of a loss without edges: the smallest λ that leaves all edges out."""
        ...

    def restore(self, state: Snapshot | None, loss: PenalisedLoss) -> None:
        """Begin with the active edges of the loss, from the `state` of an earlier run if there is one."""
        ...

    def activate_next(self, loss: PenalisedLoss, limit: int, run: Run) -> int:
        """Activate at most `limit` edges and optimise around them; return their number, 0 if none passes."""
        ...

    def mark_changed(self, variables: np.ndarray) -> None:
        """Record that a further optimisation changed the conditionals of variables."""
        ...

    def state(self) -> dict[str, Any]:
        """Return the data of a checkpoint, in addition to the parameters."""
        ...


class Grafting:
    """Run rounds until no optimality condition is violated by more than `tol`, or a limit is reached.

    `max_edges` includes the edges that are active from the start. `measure` returns further values of the history from
    the loss and the number of activated edges; its time does not count. The state is written to `store`, by default the
    checkpoint of the run.
    """

    def __init__(
        self,
        loss: PenalisedLoss,
        selector: EdgeSelector,
        run: Run,
        *,
        tol: float,
        max_edges: float = inf,
        measure: Callable[[PenalisedLoss, int], dict[str, float]] | None = None,
        store: Store | None = None,
    ):
        self.loss, self.selector, self.run = loss, selector, run
        self._store = RunStore(run) if store is None else store
        self.tol, self.max_edges = tol, max_edges
        self.n_iter = 0
        self.n_active = len(loss.edges)
        self._measure = measure
        self._n_idle = self._n_tightened = 0
        self._first = 0, self.n_active  # rounds and active edges where grafting began
        self._iterates: Iterates | None = None  # for a non-convex loss

    def begin(
        self,
        required: np.ndarray,
        start: PairwisePotentials | None = None,
        is_candidate: Callable[[np.ndarray], np.ndarray] | None = None,
        *,
        optimise: bool = True,
    ) -> None:
        """Resume from the store, or begin with required edges (k, 2) and initial parameters.

        `is_candidate` returns which further pairs (k, 2) may be active in the store; None allows all. `optimise` is
        whether the first edges are optimised before the first round.
        """
        snapshot = self._store.snapshot
        if snapshot is None:
            self.loss.require(required)
            if start is not None:
                self.loss.set_potentials(start)
            self.n_active = len(self.loss.edges)
        else:
            selector = snapshot.take_part("selector_")
            known = required if start is None else np.concatenate([required, start.edges])
            self._restore(snapshot, known, is_candidate)
            self.loss.require(required)
        self.selector.restore(None if snapshot is None else selector, self.loss)
        if snapshot is None and self.n_active and optimise:
            with self.run.catch_interrupt():
                self.selector.mark_changed(self.loss.optimise(tol=self.tol, deadline=self.run.deadline))

    def _restore(self, snapshot: Snapshot, known: np.ndarray, is_candidate: Callable | None) -> None:
        part = snapshot.take_part("loss_")
        iterates = None if self.loss.is_convex else snapshot.take_part("iterates_")
        snapshot.check_names(("n_iter", "n_active", "n_idle", "n_tightened", "objective"))
        edges = part.pairs("edges", self.loss.n_variables)
        if is_candidate is not None:
            n = self.loss.n_variables
            is_known = np.isin(edges @ (n, 1), known @ (n, 1))
            part.check((is_known | is_candidate(edges)).all(), "an edge that is not a candidate")
        self.loss.restore(part)
        self._n_idle = snapshot.integer("n_idle", 0, MOST_IDLE)
        self._n_tightened = snapshot.integer("n_tightened", 0)
        self.n_iter = snapshot.integer("n_iter", 0)
        # features are activated one by one
        most = np.prod(self.loss.cardinalities[edges], axis=1).sum() if self.loss.is_feature_wise else len(edges)
        self.n_active = snapshot.integer("n_active", len(edges), int(most))
        objective = snapshot.number("objective")
        slack, expected = SLACK * max(1.0, abs(objective)), self.loss.objective()
        snapshot.check(abs(objective - expected) <= slack, f"objective={objective}, but it is {expected}")
        if iterates is not None:
            self._iterates = Iterates.from_state(self.loss, iterates, expected + slack)

    def graft(self) -> str:
        """Run rounds, and return the reason for the end: "converged", "max_edges", "max_time", "callback", ...

        "unsettled" means that a non-convex loss did not converge. The method may be called again with a smaller λ.
        """
        if self._iterates is None and not self.loss.is_convex:
            self._iterates = Iterates(self.loss)
        reason = ""
        self._first = self.n_iter, self.n_active
        if self.max_edges < inf:
            self.run.estimate_left = self._estimate_left
        with self.run.catch_interrupt():
            if not self.run.n_rows:
                self._record()
            while not reason:
                reason = self._do_round()
            if reason not in COMPLETE:
                self._save()
            if reason == "max_edges":
                self.selector.mark_changed(self.loss.optimise(tol=self.tol, deadline=self.run.deadline))
        if isinstance(self.run.error, KeyboardInterrupt):  # perhaps in the middle of a step
            self.loss.recover()
            self.n_active = max(self.n_active, len(self.loss.edges))
        if self.run.error is not None:
            reason = "interrupt"
        elif self._iterates is not None and not self._iterates.return_to_best():
            reason = "unsettled"
        self.run.add_row(**self._figures())
        self._n_idle, self._n_tightened, self._iterates = 0, 0, None  # for the next penalty
        return reason

    def _estimate_left(self) -> float | None:
        """Estimate the number of rounds until `max_edges` is reached, from the rate so far."""
        n_added = self.n_active - self._first[1]
        return (self.max_edges - self.n_active) * (self.n_iter - self._first[0]) / n_added if n_added > 0 else None

    def _do_round(self) -> str:
        """Activate edges, or optimise all parameters if none passes; return the reason if the run ends."""
        if self.run.is_over():
            return self.run.stopped_by
        limit = self.max_edges - self.n_active
        # `max_edges` may be infinite, but selectors take an integer
        n_added = self.selector.activate_next(self.loss, int(min(limit, 1 << 62)), self.run) if limit > 0 else 0
        if n_added:
            self.n_active += n_added
            self._n_idle = 0
        elif self.run.is_over():
            return self.run.stopped_by
        elif limit <= 0:
            return "max_edges"
        else:
            # more accurate by up to 64 times if the residual stays too large
            tol = self.tol * 0.5 ** min(self._n_tightened, 6)
            variables = self.loss.optimise(tol=tol, deadline=self.run.deadline)
            if not len(variables):
                slack = _ROUNDING if self.tol >= SINGLE_TOL else 0.0
                if self.loss.kkt_residual() <= self.tol + slack:  # and no pair violates its condition for this model
                    return self.run.stopped_by if self.run.is_over() else "converged"
                self._n_tightened += 1  # the loss counts the model as unchanged, but its residual is too large
            self.selector.mark_changed(variables)
            self._n_idle += 1
        self.n_iter += 1
        self._record()
        if self._store.is_due():
            self._save()
        return "unsettled" if self._n_idle >= MOST_IDLE else ""

    def _record(self) -> None:
        self.run.record(n_iter=self.n_iter, **self._figures())

    def _figures(self) -> dict[str, Any]:
        """Return a row of the history."""
        figures = {
            "objective": self.loss.objective(),
            "n_edges": self.n_active,
            "n_tests": self.selector.n_tests,
            "n_tables": self.loss.statistics.n_counted,
        }
        if self._iterates is not None:
            self._iterates.add(figures["objective"])
        figures["cpu_seconds"] = self.run.cpu_seconds
        if self._measure is not None:
            with self.run.pause():
                figures |= self._measure(self.loss, self.n_active)
        return figures

    def _save(self) -> None:
        if not self._store.can_save():
            return
        selector = {f"selector_{name}": value for name, value in self.selector.state().items()}
        loss = {f"loss_{name}": value for name, value in self.loss.state().items()}
        passed = {} if self._iterates is None else self._iterates.state()
        iterates = {f"iterates_{name}": value for name, value in passed.items()}
        counts = {
            "n_iter": self.n_iter,
            "n_active": self.n_active,
            "n_idle": self._n_idle,
            "n_tightened": self._n_tightened,
        }
        self._store.save({**counts, "objective": self.loss.objective(), **selector, **loss, **iterates})


class Iterates:
    """Parameters of a loss during a run, including the first; evenly thinned out if memory is short.

    The minimisation of a non-convex loss may leave good parameters for others whose objective is low only with the
    present messages. Iterates are therefore compared by their objective with messages that start uniform.
    """

    def __init__(self, loss: PenalisedLoss):
        self._loss = loss
        self._stored: list[tuple[np.ndarray, np.ndarray]] = []
        self._n_offered, self._stride, self._n_numbers, self._least = 0, 1, 0, inf

    def add(self, objective: float) -> None:
        """Store the present parameters of the loss, unless they are thinned out."""
        self._least = min(self._least, objective)
        if self._n_offered % self._stride == 0:
            self._stored.append(self._loss.snapshot())
            self._n_numbers += sum(map(len, self._stored[-1]))
        self._n_offered += 1
        # every second iterate is dropped, so that they stay evenly spaced over the run
        if len(self._stored) > _FEW and self._n_numbers > _MOST_NUMBERS:
            self._stored, self._stride = self._stored[::2], 2 * self._stride
            self._n_numbers = sum(len(nodes) + len(tables) for nodes, tables in self._stored)

    def state(self) -> dict[str, Any]:
        """Return arrays for `from_state`: parameters of nodes and tables, one iterate after the other."""
        return {
            "n_offered": self._n_offered,
            "stride": self._stride,
            "least": self._least if self._stored else 0.0,
            "n_cells": np.array([len(tables) for _, tables in self._stored], dtype=np.int64),
            "values": np.concatenate([np.zeros(0), *(part for iterate in self._stored for part in iterate)]),
        }

    @classmethod
    def from_state(cls, loss: PenalisedLoss, state: Snapshot, most: float) -> "Iterates":
        """Continue from the state of a run with the edges of the loss and objectives of at most `most`."""
        self, n_nodes = cls(loss), len(loss.node_values)
        state.check_names(self.state())
        self._n_offered, self._stride = state.integer("n_offered", 0), state.integer("stride", 1)
        n_cells = state.array("n_cells", np.int64, (-(-self._n_offered // self._stride),), least=0)
        borders = np.append(0, np.cumsum(np.prod(loss.cardinalities[loss.edges], axis=1)))
        state.check(np.isin(n_cells, borders).all() and (np.diff(n_cells) >= 0).all(), "iterates over other edges")
        ends = np.cumsum(np.stack([np.full(len(n_cells), n_nodes), n_cells], axis=1))
        self._n_numbers = int(ends[-1]) if len(ends) else 0
        values = state.array("values", float, (self._n_numbers,), least=-MOST_VALUE, most=MOST_VALUE)
        parts = np.split(values, ends[:-1]) if len(ends) else []
        self._stored = list(zip(parts[::2], parts[1::2], strict=True))
        least = state.number("least", most=most if self._stored else inf)
        self._least = least if self._stored else inf
        return self

    def return_to_best(self) -> bool:
        """Return to the iterate of the lowest objective; return whether the loss was already there."""
        if not self._stored:
            return True
        self._loss.kkt_residual()  # checks whether it has converged
        slack = SLACK * max(1.0, abs(self._least))
        if self._loss.converged and self._loss.objective() <= self._least + slack:
            return True
        self._stored.append(self._loss.snapshot())
        best = self._find_best()
        return isfinite(self._measure(best)) and best == len(self._stored) - 1

    def _find_best(self) -> int:
        """Return the position of the lowest objective among evenly spaced iterates, then among those around it.

        Ties are broken by the last iterate. If no iterate has an objective, it is the first.
        """
        objectives: dict[int, float] = {}
        low, high = 0, len(self._stored) - 1
        while True:
            stride = max(1, -(-(high - low) // (_MEASURED - 1)))
            for k in [*range(low, high, stride), high]:
                if k not in objectives:
                    objectives[k] = self._measure(k)
            best = min(objectives, key=lambda k: (objectives[k], -k)) if min(objectives.values()) < inf else 0
            if stride == 1:
                return best
            low, high = max(best - stride, 0), min(best + stride, len(self._stored) - 1)

    def _measure(self, k: int) -> float:
        """Return to an iterate and compute its objective, infinity if belief propagation fails."""
        self._loss.revert(self._stored[k])
        self._loss.kkt_residual()
        return self._loss.objective() if self._loss.converged else inf
