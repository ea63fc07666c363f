"""Conditionals of a pseudolikelihood as arrays of a checkpoint."""

from itertools import compress

import numpy as np

from pgmx._ext._pseudolikelihood import Conditionals
from pgmx.runs.checkpoint import Snapshot

#: Largest rounding difference of a conditional between two computations from the parameters.
_FORGIVEN = 1e-3

#: Upper limit of the drift of any run. Below it, the drift of a step is not lost to rounding.
MOST_DRIFT = 1e6


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


def restore_conditionals(rows: Conditionals, state: Snapshot, cardinalities: np.ndarray, real: type) -> None:
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
