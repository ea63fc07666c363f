"""One configuration from the max-beliefs of single variables and pairs."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import numpy as np

from pgmx.inference.networks.log_tables import take_logs
from pgmx.inference.networks.potentials import PairwisePotentials

#: Largest number of sweeps over all variables that improve a configuration.
MAX_SWEEPS = 100


def decode(
    potentials: PairwisePotentials, evidence: Mapping[int, int], node_beliefs: np.ndarray, edge_beliefs: np.ndarray
) -> np.ndarray:
    """Return a configuration of high probability, codes of shape (n,), from max-beliefs.

    Variables are visited breadth first; each takes the state of largest belief given the neighbours already visited,
    which resolves ties consistently and is exact on trees. Then single variables change as long as that helps.
    """
    pointer, neighbour, edge = (array.tolist() for array in potentials.neighbours())
    log_nodes, log_edges = take_logs(node_beliefs), take_logs(edge_beliefs)
    codes = np.full(potentials.n_variables, -1)
    for first in range(potentials.n_variables):
        waiting = deque([first] if codes[first] < 0 else [])
        while waiting:
            v = waiting.popleft()
            if codes[v] >= 0:
                continue
            codes[v] = evidence[v] if v in evidence else _choose_state(potentials, v, codes, log_nodes, log_edges)
            waiting.extend(u for u in neighbour[pointer[v] : pointer[v + 1]] if codes[u] < 0)
    free = [v for v in range(len(codes)) if v not in evidence]
    for _ in range(MAX_SWEEPS):
        changed = False
        for v in free:
            field = potentials.node(v).copy()
            for at in range(pointer[v], pointer[v + 1]):
                table = potentials.table(edge[at])
                field += table[:, codes[neighbour[at]]] if v < neighbour[at] else table[codes[neighbour[at]]]
            best = int(np.argmax(field))
            if field[best] > field[codes[v]]:
                codes[v], changed = best, True
        if not changed:
            break
    return codes


def _choose_state(
    potentials: PairwisePotentials, v: int, codes: np.ndarray, log_nodes: np.ndarray, log_edges: np.ndarray
) -> int:
    """Return the state with the largest belief given the neighbours whose states are already chosen."""
    pointer, neighbour, edge = potentials.neighbours()
    log_belief = log_nodes[potentials.node_offsets[v] : potentials.node_offsets[v + 1]]
    total = log_belief.copy()
    for at in range(pointer[v], pointer[v + 1]):
        u, e = int(neighbour[at]), int(edge[at])
        if codes[u] < 0:
            continue
        table = log_edges[potentials.edge_offsets[e] : potentials.edge_offsets[e + 1]].reshape(
            potentials.table(e).shape
        )
        column = table[:, codes[u]] if v < u else table[codes[u]]
        with np.errstate(invalid="ignore"):
            total = total + np.where(column == -np.inf, -np.inf, column - log_belief)
    total[np.isnan(total)] = -np.inf
    return int(np.argmax(total))
