"""Parameters of each variable and of each edge, as small tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np

from pgmx.plotting.reports.plain import Table, make_table

_MOST_ROWS = 48  # of one table
_MOST_CELLS = 150_000  # of all tables together


class Budget:
    """The number of cells that still fit on the page; further tables are left out."""

    def __init__(self) -> None:
        self.left = _MOST_CELLS
        self.n_left_out = 0

    def take(self, make: Callable[..., Table], *arguments: Any) -> list[Table]:
        """Return the table of these arguments in a list; the list is empty if the table does not fit."""
        if self.left <= 0:
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
        columns = [*parents, *(f"{state}" for state in cpd.state_names[name])]
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
