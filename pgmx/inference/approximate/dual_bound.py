"""An upper bound on the score of every configuration, by sequential tree-reweighted message passing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pgmx._ext import _trws
from pgmx.inference.networks.evidence import ReducedNetwork
from pgmx.inference.networks.potentials import PairwisePotentials

#: Passes between two checks of the bound.
BLOCK = 10


class DualBound:
    """The dual of the linear relaxation of a pairwise network given evidence, lowered by `tighten`.

    `bound` is an upper bound on the score of every configuration. The messages choose the configuration `codes`,
    int32 (n,).
    """

    def __init__(self, potentials: PairwisePotentials, evidence: Mapping[int, int]) -> None:
        self._evidence = dict(evidence)
        self._constant = 0.0
        if evidence:
            reduced = ReducedNetwork(potentials, evidence)
            self._constant = reduced.constant
            potentials = PairwisePotentials.build(
                reduced.cards,
                _sum_nodes(reduced),
                ((scope, table) for scope, table in reduced.factors if len(scope) == 2),
            )
        pointer, neighbour, edge = potentials.neighbours()
        variable = np.repeat(np.arange(potentials.n_variables), np.diff(pointer))
        ends = np.lexsort((variable, edge)).reshape(-1, 2)
        twin = np.empty(len(edge), dtype=np.int64)
        twin[ends] = ends[:, ::-1]
        message_at = np.append(0, np.cumsum(potentials.cardinalities[variable]))
        nodes, tables = _make_finite(potentials)
        values = (potentials.node_offsets, nodes, potentials.edge_offsets, tables)
        self._arrays = (*values, pointer, neighbour, edge, twin, message_at, np.zeros(message_at[-1]))
        self._codes = np.empty(potentials.n_variables, dtype=np.int32)
        self.bound = np.inf

    @property
    def codes(self) -> np.ndarray:
        """A configuration that agrees with the evidence."""
        codes = self._codes.copy()
        for v, code in self._evidence.items():
            codes[v] = code
        return codes

    def tighten(self, n_passes: int, tol: float) -> None:
        """Make at most `n_passes` passes; stop when `BLOCK` passes lower the bound by a relative change below `tol`."""
        for first in range(0, n_passes, BLOCK):
            before = self.bound
            bound = _trws.pass_messages(*self._arrays, self._codes, min(BLOCK, n_passes - first))
            self.bound = min(before, bound + self._constant)
            if before - self.bound < tol * max(1.0, abs(self.bound)):
                break


def _sum_nodes(reduced: ReducedNetwork) -> list[np.ndarray]:
    nodes = [np.zeros(card) for card in reduced.cards]
    for scope, table in reduced.factors:
        if len(scope) == 1:
            nodes[scope[0]] = nodes[scope[0]] + table
    return nodes


def _make_finite(potentials: PairwisePotentials) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of nodes and edges, minus infinity replaced by a value too low for all others to compensate."""
    values = (potentials.node_values, potentials.edge_values)
    finite = np.concatenate([part[part > -np.inf] for part in values])
    if len(finite) == sum(map(len, values)):
        return values
    low, high = float(finite.min(initial=0.0)), float(finite.max(initial=0.0))
    floor = low - 1.0 - (high - low) * (potentials.n_variables + potentials.n_edges)
    return np.maximum(values[0], floor), np.maximum(values[1], floor)
