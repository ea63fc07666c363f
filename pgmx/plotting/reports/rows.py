"""Facts about the columns: kinds, states, missing values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pgmx.plotting.reports.plain import Table, to_cell, to_text

_MOST_STATES = 12
_MOST_VARIABLES = 20_000


def describe_rows(data: Any, names: Sequence, model: Any, **reading: Any) -> tuple[Table, int | None]:
    """Return a table of the variables and the number of rows, None if unknown; without data, read the model.

    `reading` are options of `open_any`.
    """
    facts, n_rows = ({}, None) if data is None else _read_data(data, reading)
    if data is None:
        facts = _read_model(model)
    columns = ["variable", "kind", "states", "values", "missing values"]
    rows = [[to_text(name), *facts.get(name, ["", None, "", None])] for name in names[:_MOST_VARIABLES]]
    used = [0, *(k for k in range(1, len(columns)) if any(row[k] not in ("", None) for row in rows))]
    table = Table("", [columns[k] for k in used], [[row[k] for k in used] for row in rows], len(names))
    return table, n_rows


def _read_data(data: Any, reading: dict[str, Any]) -> tuple[dict[Any, list], int]:
    from pgmx.data import DiscreteTable, Frame, open_any

    opened = data if isinstance(data, DiscreteTable | Frame) else open_any(data, missing="pairwise", **reading)
    if isinstance(opened, DiscreteTable):
        return _read_coded(opened), opened.n_rows
    facts = {name: _read_column(values) for name, values in zip(opened.names, opened.columns, strict=True)}
    declared = [name for name in opened.names if name in opened.discrete]
    if declared:
        facts |= _read_coded(opened.take_columns(declared).encode(missing="pairwise"))
    return facts, opened.n_rows


def _read_coded(table: Any) -> dict[Any, list]:
    facts = {}
    for v, name in enumerate(table.columns):
        counts = np.bincount(table.codes[v], minlength=len(table.states[v]))
        missing = int(table.missing_codes[v])
        n_missing = int(counts[missing]) if missing >= 0 else 0
        known = [
            (state, int(n)) for k, (state, n) in enumerate(zip(table.states[v], counts, strict=True)) if k != missing
        ]
        facts[name] = _describe_states(known, n_missing)
    return facts


def _read_column(values: Any) -> list:
    """Describe one column of any library, by pandas."""
    import pandas as pd

    column = values.to_pandas() if hasattr(values, "to_pandas") else pd.Series(values)
    n_missing = int(column.isna().sum())
    if column.dtype.kind == "f":
        known = column.dropna()
        if not len(known):
            return ["continuous", None, "", n_missing]
        low, high, mean, spread = (to_cell(f, 4) for f in (known.min(), known.max(), known.mean(), known.std()))
        return ["continuous", None, f"{low} to {high}, mean {mean}, standard deviation {spread}", n_missing]
    counts = column.value_counts()
    return _describe_states(list(zip(counts.index.tolist(), counts.tolist(), strict=True)), n_missing)


def _describe_states(counts: list[tuple[Any, int]], n_missing: int) -> list:
    total = max(1, sum(n for _, n in counts))
    first = [f"{to_text(state)} ({n / total:.0%})" for state, n in counts[:_MOST_STATES]]
    return ["discrete", len(counts), ", ".join([*first, "…"] if len(counts) > len(first) else first), n_missing]


def _read_model(model: Any) -> dict[Any, list]:
    """Return the kinds and states in the model; empty if it does not have them."""
    continuous = set(getattr(model, "continuous", ()))
    states: Any = getattr(model, "states", None)
    facts: dict[Any, list] = {name: ["continuous", None, "", None] for name in continuous}
    if isinstance(states, dict):
        for name, known in states.items():
            if name not in continuous:
                listed = [to_text(state) for state in list(known)[:_MOST_STATES]]
                more = ["…"] if len(known) > len(listed) else []
                facts[name] = ["discrete", len(known), ", ".join(listed + more), None]
    return facts
