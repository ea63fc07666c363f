"""Missing states of rows, filled with the most probable states given the rest of the row."""

from __future__ import annotations

from math import prod
from typing import NoReturn

import numpy as np

from pgmx.inference.approximate.loopy import choose_configuration, loopy_belief_propagation
from pgmx.inference.exact.elimination_order import TreewidthError
from pgmx.inference.exact.junction_tree import ExactInference
from pgmx.inference.networks import PairwisePotentials, log_sum_exp
from pgmx.inference.problem import check_method
from pgmx.inference.reduced_network import ZeroProbabilityError

#: Largest number of configurations of connected missing variables that are enumerated, for all rows at once.
MAX_CONFIGURATIONS = 4096
#: Cells of the scores of configurations that are held at a time.
CHUNK_CELLS = 2**22
#: Largest size of a junction tree in bytes, one per distinct row: for "auto", and in any case.
AUTO_MEMORY = 2**24
MEMORY = 2**31

Table = tuple[int, int, np.ndarray]


def impute(
    potentials: PairwisePotentials,
    codes: np.ndarray,
    missing: np.ndarray,
    *,
    method: str = "map",
    inference: str = "auto",
) -> np.ndarray:
    """Return codes (n, N) in which the `missing` values are the most probable states given the rest of the row.

    ``method="map"`` maximises over all missing variables of a row jointly, "marginal" over each. Connected components
    of the missing variables are independent given the rest. Small components are enumerated. Others use a junction tree
    (`inference` "exact", or "auto" up to 16 MB) or belief propagation, once per distinct state of their neighbours.
    """
    check_method(method, ("map", "marginal"))
    check_method(inference, ("auto", "exact", "loopy"), "inference")
    filled = np.array(codes)
    touched = np.flatnonzero(missing.any(axis=0))
    if not len(touched):
        return filled
    # Rows with the same missing variables have the same connected components.
    patterns, of_row = np.unique(np.packbits(missing[:, touched], axis=0), axis=1, return_inverse=True)
    order = np.argsort(of_row.ravel(), kind="stable")
    for rows in np.split(touched[order], np.cumsum(np.bincount(of_row.ravel(), minlength=patterns.shape[1]))[:-1]):
        hidden = np.flatnonzero(missing[:, rows[0]])
        fields = _compute_fields(potentials, filled, rows, set(hidden.tolist()))
        for component in _find_components(potentials, hidden):
            _fill(potentials, filled, rows, component, fields, method, inference)
    return filled


def _compute_fields(
    potentials: PairwisePotentials, codes: np.ndarray, rows: np.ndarray, hidden: set[int]
) -> dict[int, np.ndarray]:
    """Return the log-potentials of each missing variable, plus the terms of its observed neighbours: (states, rows)."""
    pointer, neighbour, edge = potentials.neighbours()
    fields = {}
    for v in sorted(hidden):
        field = np.repeat(potentials.node(v)[:, None], len(rows), axis=1)
        for at in range(pointer[v], pointer[v + 1]):
            u, table = int(neighbour[at]), potentials.table(int(edge[at]))
            if u not in hidden:
                field += (table if v < u else table.T)[:, codes[u, rows]]
        impossible = np.flatnonzero(field.max(axis=0) == -np.inf)
        if len(impossible):
            raise ZeroProbabilityError(
                {},
                [v],
                f"row {rows[impossible[0]]} is impossible: its observed values rule out every state of {{scope}}",
            )
        fields[v] = field
    return fields


def _find_components(potentials: PairwisePotentials, hidden: np.ndarray) -> list[list[int]]:
    """Return the connected components of the missing variables."""
    pointer, neighbour, _ = potentials.neighbours()
    unvisited = dict.fromkeys(hidden.tolist())
    components = []
    while unvisited:
        component = [next(iter(unvisited))]
        del unvisited[component[0]]
        for v in component:
            for u in neighbour[pointer[v] : pointer[v + 1]].tolist():
                if u in unvisited:
                    del unvisited[u]
                    component.append(u)
        components.append(sorted(component))
    return components


def _fill(
    potentials: PairwisePotentials,
    filled: np.ndarray,
    rows: np.ndarray,
    component: list[int],
    fields: dict[int, np.ndarray],
    method: str,
    inference: str,
) -> None:
    """Fill one connected component of the missing variables in all rows."""
    if len(component) == 1:
        filled[component[0], rows] = fields[component[0]].argmax(axis=0)
        return
    inside = [
        (component.index(i), component.index(j), potentials.table(e))
        for e, (i, j) in enumerate(potentials.edges.tolist())
        if i in set(component) and j in set(component)
    ]
    shape = [int(potentials.cardinalities[v]) for v in component]
    surroundings = np.concatenate([fields[v] for v in component])
    # Rows whose observed neighbours act on the component in the same way have the same answer.
    _, first, same = np.unique(surroundings, axis=1, return_index=True, return_inverse=True)
    distinct = [fields[v][:, first] for v in component]
    if prod(shape) <= MAX_CONFIGURATIONS:
        states = _enumerate(shape, inside, distinct, method, rows[first])
    else:
        states = _infer(shape, inside, distinct, method, inference, rows[first])
    filled[np.ix_(np.array(component), rows)] = states[:, same.ravel()]


def _enumerate(
    shape: list[int], inside: list[Table], fields: list[np.ndarray], method: str, rows: np.ndarray
) -> np.ndarray:
    """Try all configurations, for chunks of rows."""
    base = np.zeros(shape)
    for i, j, table in inside:
        base += table.reshape([size if axis in (i, j) else 1 for axis, size in enumerate(shape)])
    n = fields[0].shape[1]
    states = np.empty((len(shape), n), dtype=np.int64)
    step = max(1, CHUNK_CELLS // base.size)
    for begin in range(0, n, step):
        total = base[..., None]
        for axis, field in enumerate(fields):
            field_of_chunk = field[:, begin : begin + step]
            total = total + field_of_chunk.reshape(
                [len(field_of_chunk) if a == axis else 1 for a in range(len(shape))] + [-1]
            )
        flat = total.reshape(base.size, -1)
        impossible = np.flatnonzero(flat.max(axis=0) == -np.inf)
        if len(impossible):
            _refuse_row(int(rows[begin + impossible[0]]))
        columns = slice(begin, begin + flat.shape[1])
        if method == "map":
            states[:, columns] = np.unravel_index(flat.argmax(axis=0), shape)
            continue
        for axis, size in enumerate(shape):
            alone = np.moveaxis(total, axis, 0).reshape(size, base.size // size, -1)
            states[axis, columns] = log_sum_exp(np.moveaxis(alone, 1, 2)).argmax(axis=0)
    return states


def _refuse_row(row: int) -> NoReturn:
    raise ValueError(f"row {row} is impossible: no states of its missing values fit the observed ones")


def _infer(
    shape: list[int], inside: list[Table], fields: list[np.ndarray], method: str, inference: str, rows: np.ndarray
) -> np.ndarray:
    """Use a junction tree, or belief propagation if that is too large, once per distinct state of the neighbours."""
    exact = inference != "loopy"
    states = np.empty((len(shape), fields[0].shape[1]), dtype=np.int64)
    for column in range(states.shape[1]):
        network = PairwisePotentials.build(
            shape, [field[:, column] for field in fields], {(i, j): table for i, j, table in inside}
        )
        try:
            tree = ExactInference(network, memory=AUTO_MEMORY if inference == "auto" else MEMORY) if exact else None
        except TreewidthError as error:
            if inference == "exact":
                raise error.with_engines("loopy belief propagation (inference='loopy')") from None
            tree, exact = None, False  # the graph is the same for all states of the neighbours
        except ZeroProbabilityError:
            _refuse_row(int(rows[column]))
        states[:, column] = _choose_states(network, tree, method, int(rows[column]))
    return states


def _choose_states(
    network: PairwisePotentials, tree: ExactInference | None, method: str, row: int
) -> np.ndarray | list[int]:
    """Return the most probable states by a junction tree, by belief propagation if there is none."""
    if tree is not None:
        return tree.map().codes if method == "map" else [int(p.argmax()) for p in tree.marginals()]
    try:
        beliefs = loopy_belief_propagation(network, maximise=method == "map")
    except ZeroProbabilityError:
        _refuse_row(row)
    if method == "map":
        return choose_configuration(network, {}, beliefs.node_beliefs, beliefs.edge_beliefs)
    return [int(belief.argmax()) for belief in np.split(beliefs.node_beliefs, network.node_offsets[1:-1])]
