"""Tables of a report: the variables of the data, and the parameters of variables and edges, in the types of JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from math import isfinite
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from pgmx.checks import join_names
from pgmx.plotting.labels import shorten

_LONGEST_TEXT = 400
_MOST_STATES = 12
_MOST_VARIABLES = 20_000
_MOST_ROWS = 48  # of one table
_MOST_CELLS = 150_000  # of all tables together


class Table(NamedTuple):
    """A small table of the page; `rows` may be only the first of `n_rows` rows."""

    caption: str
    columns: list[str]
    rows: list[list]
    n_rows: int


def to_cell(value: Any, digits: int = 5) -> Any:
    """Return a number with a few digits, None for a missing one, or text."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        number = float(value)
        if not isfinite(number):
            return None if number != number else "∞" if number > 0 else "-∞"
        return float(f"{number:.{digits}g}")
    return to_text(value)


def to_text(value: Any) -> str:
    """Return the text of a name, a state or an option, cut if it is long."""
    return shorten(value if isinstance(value, str) else _spell(value), _LONGEST_TEXT)


def _spell(value: Any) -> str:
    if hasattr(value, "shape") and hasattr(value, "dtype") and getattr(value, "size", 1) > 12:
        return f"{type(value).__name__} of shape {tuple(value.shape)}"
    if isinstance(value, tuple | list | dict | set | frozenset) and len(value) > 40:
        return f"{type(value).__name__} of {len(value)} elements"
    return str(value)


def make_table(caption: str, columns: Iterable, rows: Iterable[Sequence], n_rows: int, most: int) -> Table:
    """Return a table of at most `most` rows with cells in the types of JSON."""
    cells: list[list] = []
    for row in rows:
        if len(cells) == most:
            break
        cells.append([to_cell(cell, 4) for cell in row])
    return Table(caption, [to_text(name) for name in columns], cells, n_rows)


# ---- variables of the data ----


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


def open_rows(data: Any, names: Iterable, **reading: Any) -> Any:
    """Return an opened table; raise ValueError if it lacks one of the variables, since it is the table of others."""
    from pgmx.data import DiscreteTable

    opened = _open(data, reading)
    columns = opened.columns if isinstance(opened, DiscreteTable) else opened.names
    present = set(columns)
    absent = [name for name in names if name not in present]
    if absent:
        raise ValueError(
            f"data has no column for the variables {join_names(absent)}; its columns are {join_names(columns)}: "
            "give the rows of these variables"
        )
    return opened


def _open(data: Any, reading: dict[str, Any]) -> Any:
    from pgmx.data import DiscreteTable, Frame, open_any

    return data if isinstance(data, DiscreteTable | Frame) else open_any(data, missing="pairwise", **reading)


def _read_data(data: Any, reading: dict[str, Any]) -> tuple[dict[Any, list], int]:
    from pgmx.data import DiscreteTable

    opened = _open(data, reading)
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


# ---- parameters ----


class Budget:
    """The number of cells that still fit on the page; further tables are left out."""

    def __init__(self) -> None:
        self.left = _MOST_CELLS
        self.n_left_out = 0

    def take(self, make: Callable[..., Table], *arguments: Any) -> list[Table]:
        """Return the table of these arguments in a list; the list is empty if the table does not fit."""
        if self.left <= 0:  # the last table may exceed the limit: its size is known only when it is made
            self.n_left_out += 1
            return []
        table = make(*arguments)
        self.left -= len(table.rows) * len(table.columns)
        return [table]


def describe_variables(model: Any, graph: Any, names: list, budget: Budget) -> dict[int, list[Table]]:
    """Return the tables of each variable by its position: its distribution given its parents, or coefficients."""
    tables: dict[int, list[Table]] = {}
    gaussian = hasattr(model, "partial_correlations") and hasattr(model, "mean")
    moments = dict(zip(model.names, zip(model.mean, model.scale, strict=True), strict=True)) if gaussian else {}
    for v, name in enumerate(names):
        if hasattr(model, "get_cpds"):
            cpd = model.get_cpds(name)
            if cpd is not None:
                tables[v] = budget.take(_describe_cpd, cpd, name)
        elif name in moments:
            tables[v] = budget.take(_describe_gaussian, name, *moments[name])
        elif hasattr(graph, "summary_graph"):
            tables[v] = budget.take(_describe_lags, graph, name)
    return tables


def describe_edges(model: Any, names: list, edges: list[tuple[int, int]], budget: Budget) -> dict[int, list[Table]]:
    """Return the tables of log-potentials of a Markov network by the index of the edge."""
    potentials, states = getattr(model, "potentials", None), getattr(model, "states", None)
    if potentials is None or not hasattr(potentials, "table") or not isinstance(states, dict):
        return {}
    place = {name: v for v, name in enumerate(model.names)}
    number = {tuple(pair): k for k, pair in enumerate(potentials.edges.tolist())}
    tables: dict[int, list[Table]] = {}
    for at, (u, v) in enumerate(edges):
        i, j = place[names[u]], place[names[v]]
        k = number.get((min(i, j), max(i, j)))
        if k is not None:
            first, second = model.names[min(i, j)], model.names[max(i, j)]
            ends = first, states[first], second, states[second]
            tables[at] = budget.take(_describe_potential, np.asarray(potentials.table(k)), *ends)
    return tables


def _describe_cpd(cpd: Any, name: Any) -> Table:
    if hasattr(cpd, "values") and hasattr(cpd, "state_names"):
        parents = list(cpd.variables[1:])
        shape = np.shape(cpd.values)
        rows = (
            [*states, *column]
            for states, column in zip(
                product(*(cpd.state_names[parent] for parent in parents)), _iterate_columns(cpd.values), strict=True
            )
        )
        columns = [*parents, *(f"{state}" for state in cpd.state_names[cpd.variables[0]])]
        given = f" given {', '.join(map(str, parents))}" if parents else ""
        return make_table(f"Probabilities of {name}{given}", columns, rows, int(np.prod(shape[1:])), _MOST_ROWS)
    if hasattr(cpd, "to_frame"):
        frame = cpd.to_frame().reset_index() if len(cpd.discrete_parents) else cpd.to_frame()
        records = frame.itertuples(index=False, name=None)
        return make_table(f"Regression of {name}", frame.columns, records, len(frame), _MOST_ROWS)
    intercept, *slopes = np.asarray(cpd.beta, dtype=float).tolist()
    terms = [("(intercept)", intercept), *zip(cpd.evidence, slopes, strict=True)]
    terms.append(("(standard deviation)", float(cpd.std)))
    return make_table(f"Regression of {name}", ["term", "coefficient"], terms, len(terms), _MOST_ROWS)


def _iterate_columns(values: np.ndarray) -> Iterator[list]:
    """Yield the distribution of the child in each configuration of the parents; the last parent changes fastest."""
    yield from np.asarray(values, dtype=float).reshape(len(values), -1).T.tolist()


def _describe_gaussian(name: Any, mean: float, scale: float) -> Table:
    rows = [["mean", mean], ["standard deviation", scale]]
    return make_table(f"Distribution of {name}", ["", "value"], rows, len(rows), _MOST_ROWS)


def _describe_lags(graph: Any, name: Any) -> Table:
    numbers = ("strength", "weight", "confidence")
    lists = list(graph.in_edges((name, 0), data=True))
    shown = [key for key in numbers if any(marks.get(key) is not None for *_, marks in lists)]
    rows = [[source, lag, *(marks.get(key) for key in shown)] for (source, lag), _, marks in lists]
    rows.sort(key=lambda row: (-abs(row[2] or 0.0) if len(row) > 2 else 0.0, str(row[0])))
    return make_table(f"Parents of {name}", ["variable", "lag", *shown], rows, len(rows), _MOST_ROWS)


def _describe_potential(table: np.ndarray, first: Any, of_first: list, second: Any, of_second: list) -> Table:
    rows = ([state, *cells] for state, cells in zip(of_first, table.tolist(), strict=True))
    caption = f"Log-potentials of {first} (rows) and {second} (columns), nats"
    return make_table(caption, ["", *(str(state) for state in of_second)], rows, len(of_first), _MOST_ROWS)
