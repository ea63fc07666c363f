"""The earlier parameters (iterates) of a run on a non-convex loss, and the return to the best of them."""

from math import inf, isfinite
from typing import Any

import numpy as np

from pgmx.runs.checkpoint import Snapshot
from pgmx.solvers.markov.penalised_loss import MOST_VALUE, PenalisedLoss

#: Relative increase of a non-convex objective that is within its tolerance.
SLACK = 1e-4

#: Number of iterates that are stored in any case, and the number of values that further iterates may hold: 64 MB.
_FEW, _MOST_NUMBERS = 32, 1 << 23

#: Number of evenly spaced iterates that are evaluated before the iterates around the best.
_MEASURED = 32


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
