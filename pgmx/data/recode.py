"""Coding of rows by given states: the caller states the states of a column in place of the column's own."""

from collections.abc import Sequence

import numpy as np

from pgmx.checks import join_names
from pgmx.data.table import MAX_BYTE_STATES, DiscreteTable


def match_states(states: Sequence, target: Sequence, absent: int = 0) -> np.ndarray:
    """Return the position in `target` of each state as intp, `absent` for those that `target` does not have."""
    position = {state: code for code, state in enumerate(target)}
    return np.array([position.get(state, absent) for state in states], dtype=np.intp)


def list_unknown_states(states: Sequence, target: Sequence, codes: np.ndarray) -> list:
    """Return the states that occur in `codes` and are not in `target`; codes from len(states) on are ignored."""
    known = set(target)
    unknown = [code for code, state in enumerate(states) if state not in known]
    counts = np.bincount(codes, minlength=len(states)) if unknown else ()
    return [states[code] for code in unknown if counts[code]]


def recode_table(table: DiscreteTable, columns: Sequence, states: Sequence[Sequence]) -> np.ndarray:
    """Return the codes of `columns` in given states, shape (len(columns), n_rows); raise if a state is unknown."""
    largest = max(map(len, states))
    codes = np.empty((len(columns), table.n_rows), dtype=np.uint8 if largest <= MAX_BYTE_STATES else np.uint16)
    for row, name, target in zip(codes, columns, states, strict=True):
        v = table.index(name)
        unknown = list_unknown_states(table.states[v], target, table.codes[v])
        if unknown:
            raise ValueError(
                f"column {name!r} holds the state(s) {join_names(unknown)}, which are not among those expected: "
                f"{join_names(target)}"
            )
        row[:] = match_states(table.states[v], target).astype(codes.dtype)[table.codes[v]]
    return codes
