"""Conditionals of a pseudolikelihood as arrays of a checkpoint.

Local conditionals are stored as they are. For a distributed table the operations that lead to them are stored.
"""

from collections.abc import Callable
from functools import singledispatch
from itertools import compress, pairwise

import numpy as np

from pgmx._ext._pseudolikelihood import Conditionals
from pgmx._ext._remote_conditionals import OPEN
from pgmx.runs.checkpoint import Snapshot
from pgmx.solvers.markov.distributed_conditionals import DistributedConditionals
from pgmx.solvers.markov.partition_conditionals import Operations

#: Largest rounding difference of a conditional between two computations from the parameters.
_FORGIVEN = 1e-3

#: Upper limit of the drift of any run. Below it, the drift of a step is not lost to rounding.
MOST_DRIFT = 1e6

#: Largest rounding difference of a logit between two computations from the parameters, relative to the largest logit.
_FORGIVEN_LOGIT = 1e-6

#: Neighbours of a variable and the tables of the edges to them, with states of the variable in rows.
Tables = tuple[np.ndarray, list[np.ndarray]]


@singledispatch
def pack_conditionals(rows: Conditionals, real: type) -> dict[str, np.ndarray]:
    """Return the conditionals, including the rounding errors of the order of steps, their sums and drifts."""
    states = [rows.conditionals(i) for i in range(rows.n)]
    is_open = np.array([not rows.is_constant(i) for i in range(rows.n)])
    return {
        "is_open": is_open,
        "conditionals": np.concatenate([np.empty((0, rows.n_rows), real), *compress(states, is_open)]),
        "totals": rows.totals(),
        "drift": rows.drift.copy(),
    }


@singledispatch
def restore_conditionals(
    rows: Conditionals, state: Snapshot, cardinalities: np.ndarray, real: type, tables_around: Callable[[int], Tables]
) -> None:
    """Resume from packed conditionals, if they agree with the parameters of `rows` up to rounding."""
    n, offsets = rows.n, np.concatenate([[0], np.cumsum(cardinalities)])
    is_open = state.array("is_open", bool, (n,))
    starts = np.concatenate([[0], np.cumsum(cardinalities * is_open)])
    conditionals = state.array("conditionals", real, (int(starts[-1]), rows.n_rows), least=0)
    totals = state.array("totals", float, (len(rows.node_values),), least=0)
    drift = state.array("drift", float, (n,), least=0, most=MOST_DRIFT)
    for i in range(n):
        states, expected = conditionals[starts[i] : starts[i + 1]], rows.conditionals(i)
        state.check(is_open[i] or rows.is_constant(i), "no conditionals of a variable with edges")
        if expected is not None:
            slack = _FORGIVEN * max(1.0, float(expected.max()))
            state.check(np.abs(states - expected).max() <= slack, "conditionals that do not match its parameters")
        part = slice(offsets[i], offsets[i + 1])
        sums = states.sum(axis=1, dtype=float) if is_open[i] else rows.totals()[part]
        state.check(np.abs(sums - totals[part]).max() <= _FORGIVEN * rows.total, "sums that do not match its rows")
        rows.set_conditionals(i, states if is_open[i] else None, totals[part])
    rows.drift[:] = drift


def restore_losses(rows: Conditionals, state: Snapshot) -> tuple[np.ndarray, np.ndarray]:
    """Return the losses of variables as summed, and the drift of each at that time, -1 for losses to sum again.

    If the conditional of a variable became one for each row and did not change since, a new sum differs by rounding.
    """
    losses = state.array("losses", float, (rows.n,), finite=False)
    loss_drift = state.array("loss_drift", float, (rows.n,), least=-1)
    is_known = loss_drift == rows.drift
    expected = np.full(rows.n, np.nan)
    expected[is_known] = rows.losses(np.flatnonzero(is_known).tolist())
    differences = np.abs(losses - expected)[is_known]
    state.check((differences <= _FORGIVEN * np.maximum(1.0, expected[is_known])).all(), "losses of other conditionals")
    return np.where(is_known, losses, np.nan), np.where(is_known, loss_drift, -1.0)


@pack_conditionals.register(DistributedConditionals)
def _pack_operations(rows: DistributedConditionals, real: type) -> dict[str, np.ndarray]:
    """Return the operations that lead to the conditionals, in an order that rounding depends on, and the drifts."""
    past = rows.past()
    return {"heads": past.heads[:, :2].copy(), "steps": past.tables, "drift": rows.drift.copy()}


@restore_conditionals.register(DistributedConditionals)
def _restore_operations(
    rows: DistributedConditionals,
    state: Snapshot,
    cardinalities: np.ndarray,
    real: type,
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
            state.check(error <= _FORGIVEN_LOGIT, "operations that do not lead to its parameters")
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
