"""Conditionals of a pseudolikelihood over a distributed table as arrays of a checkpoint: the list of operations."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from pgmx._ext._remote_conditionals import OPEN
from pgmx.runs.checkpoint import Snapshot
from pgmx.solvers.markov.conditional_parts import Operations
from pgmx.solvers.markov.distributed_conditionals import DistributedConditionals
from pgmx.solvers.markov.stored_conditionals import MOST_DRIFT

#: Largest rounding difference of a logit between two computations from the parameters, relative to the largest logit.
_FORGIVEN = 1e-6

#: Neighbours of a variable and the tables of the edges to them, with states of the variable in rows.
Tables = tuple[np.ndarray, list[np.ndarray]]


def pack_operations(rows: DistributedConditionals) -> dict[str, np.ndarray]:
    """Return the operations that lead to the conditionals, in an order that rounding depends on, and the drifts."""
    past = rows.past()
    return {"heads": past.heads[:, :2].copy(), "steps": past.tables, "drift": rows.drift.copy()}


def restore_operations(
    rows: DistributedConditionals,
    state: Snapshot,
    cardinalities: np.ndarray,
    tables_around: Callable[[int], Tables],
) -> None:
    """Resume from packed operations, if they lead to the conditionals of the parameters."""
    n, offsets = len(cardinalities), np.concatenate([[0], np.cumsum(cardinalities)])
    heads = state.array("heads", np.int64, (None, 2), least=OPEN, most=n - 1)
    i, j = heads.T
    state.check((i >= 0).all() and (i != j).all(), "operations on an unknown variable")
    sizes = cardinalities[i] * np.where(j == OPEN, 1, cardinalities[j])
    steps = state.array("steps", float, (int(sizes.sum()),))
    drift = state.array("drift", float, (n,), least=0, most=MOST_DRIFT)
    begins = np.flatnonzero(np.diff(i, prepend=-1))
    is_ordered = np.array_equal(begins, np.flatnonzero(j == OPEN)) and len(np.unique(i[begins])) == len(begins)
    state.check(is_ordered, "operations in an impossible order")
    operations = Operations(np.column_stack([heads, np.zeros(len(i), np.int64)]), steps).unpack(cardinalities)
    spans = {int(i[a]): operations[a:b] for a, b in pairwise([*begins.tolist(), len(i)])}
    for v in range(n):
        neighbours, tables = tables_around(v)
        state.check(v in spans or not len(neighbours), "no conditionals of a variable with edges")
        if v in spans:
            error = _find_error(spans[v], rows.node_values[offsets[v] : offsets[v + 1]], neighbours, tables)
            state.check(error <= _FORGIVEN, "operations that do not lead to its parameters")
    rows.resume(operations)
    rows.drift[:] = drift


def _find_error(operations: list[tuple], values: np.ndarray, neighbours: np.ndarray, tables: list[np.ndarray]) -> float:
    """Return the error of the logits after operations against the parameters, relative to the largest logit."""
    shares = operations[0][2]
    if not (shares > 0).all():
        return np.inf
    logits = {k: -table for k, table in zip(neighbours.tolist(), tables, strict=True)}
    for _, k, step, _ in operations[1:]:
        logits[k] = logits[k] + step if k in logits else step
    # a shift of all states of a variable has no effect; a shift over all states of a neighbour is a node parameter
    level, largest, error = np.log(shares) - values, 1.0 + np.abs(values).max(), 0.0
    for table in logits.values():
        mean = table.mean(axis=1)
        rest = table - mean[:, None]
        error = max(error, np.abs(rest - rest.mean(axis=0)).max())
        level = level + mean
    largest = max(largest, *(np.abs(step).max() for _, _, step, _ in operations))
    return float(max(error, np.abs(level - level.mean()).max()) / largest)
