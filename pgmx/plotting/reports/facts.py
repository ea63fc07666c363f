"""All facts about a learner, a model or a graph, read once for the page."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from pgmx.fitted import get_series_graph
from pgmx.plotting.graphs.indexed import index_graph, is_pag
from pgmx.plotting.reports.tables import (
    Budget,
    Table,
    describe_edges,
    describe_rows,
    describe_variables,
    to_cell,
    to_text,
)
from pgmx.plotting.series_graphs import read_number
from pgmx.plotting.strengths import name_share, read_strengths, take_strengths

_PACKAGES = ("pgmx", "pgmpy", "numpy", "scipy", "scikit-learn", "networkx")
_FIGURES = (
    ("score_", "score, nats"),
    ("objective_", "objective"),
    ("lam_", "penalty λ"),
    ("dual_gap_", "duality gap"),
    ("n_resamples_", "resamples"),
    ("threshold_", "threshold of strength"),
    ("n_iter_", "iterations"),
)
_MOST_POINTS = 400
_LABELS = {
    "score": "score, nats",
    "objective": "objective, nats per row",
    "n_edges": "edges",
    "recall": "share of the true edges found",
    "held_out": "NPLL of held-out rows, nats per row",
    "n_tests": "scores of pairs computed",
    "n_tables": "pair tables counted",
}


class Edge(NamedTuple):
    """An edge by positions of its ends; `is_arrow`: one arrowhead, at v; missing attributes are None."""

    u: int
    v: int
    is_arrow: bool
    weight: float | None = None
    confidence: float | None = None
    direction: float | None = None
    lags: str = ""
    is_chosen: bool = True  # False: weaker than the threshold of a bootstrap
    sign: str = ""  # of an edge of a PAG, such as "o->"
    p_value: float | None = None  # largest of the tests of the pair


@dataclass
class Facts:
    """The content of the page except the drawing."""

    title: str
    names: list
    edges: list[Edge]
    kinds: list[str]
    weight_label: str = ""
    threshold: float | None = None
    figures: list[list] = field(default_factory=list)
    options: list[list] = field(default_factory=list)
    versions: list[list] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    history: dict[str, Any] | None = None
    variables: Table | None = None
    of_variable: dict[int, list[Table]] = field(default_factory=dict)
    of_edge: dict[int, list[Table]] = field(default_factory=dict)
    of_series: bool = False
    graph: Any = None
    model: Any = None
    share: str = ""  # what the confidence of an edge is

    @property
    def is_directed(self) -> bool:
        """Whether some edge is an arrow."""
        return any(edge.is_arrow for edge in self.edges)


def read_facts(source: Any, *, data: Any, bootstrap: Any, title: str | None, notes: Iterable[str]) -> Facts:
    """Read a fitted learner, a model or a graph."""
    is_learner = hasattr(source, "get_params") and hasattr(source, "fit")
    graph, model, troubles = _find_graph(source, is_learner)
    names, edges, weight_label = _read_edges(graph, model)
    edges = _add_p_values(names, edges, source, graph)
    of_series = hasattr(graph, "summary_graph")  # its edges have the confidence
    has_shares = hasattr(getattr(source, "strengths_", None), "columns") and not of_series
    strengths = source if bootstrap is None and has_shares else bootstrap
    threshold = None
    if strengths is not None:
        edges, threshold = _add_confidence(names, edges, strengths, is_source=strengths is source)
    continuous = set(getattr(model, "continuous", ()))
    kinds = ["continuous" if name in continuous else "discrete" for name in names]
    name = type(source).__name__
    facts = Facts(title or f"{name}: learned graph" if is_learner else title or name, names, edges, kinds)
    facts.weight_label, facts.threshold, facts.of_series = weight_label, threshold, of_series
    facts.graph, facts.model = graph, model
    facts.share = name_share(strengths)
    rows = data if data is not None or not is_learner else getattr(source, "data", None)
    reading = {option: getattr(source, option, None) for option in ("na_values", "discrete_columns")}
    facts.variables, n_rows = describe_rows(rows, names, model, **reading)
    budget = Budget()
    facts.of_variable = describe_variables(model, graph, names, budget)
    facts.of_edge = describe_edges(model, names, [(edge.u, edge.v) for edge in edges], budget)
    facts.figures = _list_figures(source, facts, n_rows)
    facts.options = _list_options(source) if is_learner else []
    facts.versions = _list_versions()
    facts.history = _read_history(source) or _read_history(getattr(source, "estimator_", None))
    facts.notes = [*map(to_text, notes), *troubles, *_list_limits(source, facts, model, budget)]
    return facts


def read_figures(learner: Any) -> tuple[list[list], int, int]:
    """Return the figures of a fitted learner and its numbers of variables and edges; no model is fitted."""
    names, edges, _ = _read_edges(learner.graph_, None)
    facts = Facts("", names, edges, [])
    return _list_figures(learner, facts, None), len(names), len(edges)


def _find_graph(source: Any, is_learner: bool) -> tuple[Any, Any, list[str]]:
    """Return the graph, the model (None without one) and the reasons why there is no model."""
    if is_learner:
        graph = source.graph_
        try:
            return graph, getattr(source, "model_", None), []
        except (FileNotFoundError, MemoryError, ValueError) as error:
            return graph, None, [f"Parameters are left out: {to_text(str(error))}"]
    return get_series_graph(source), source, []


# ---- edges ----


def _read_edges(graph: Any, model: Any) -> tuple[list, list[Edge], str]:
    if hasattr(graph, "summary_graph"):
        return _read_lagged_edges(graph)
    marks = index_graph(graph)
    label = "partial correlation" if hasattr(model, "partial_correlations") else "strength"
    weights = {(u, v): value for u, v, value in graph.edges(data="weight") if _is_number(value)}
    if not weights and hasattr(model, "get_cpds") and not hasattr(model, "continuous"):
        weights, label = _read_slopes(model), "coefficient"
    number = {name: v for v, name in enumerate(marks.names)}
    of = {(number[u], number[v]): to_cell(value) for (u, v), value in weights.items()}
    edges = [
        Edge(u, v, is_arrow, _as_number(of.get((u, v), of.get((v, u)))), sign=_write_sign(marks.ends.get((u, v))))
        for is_arrow, pairs in ((True, marks.directed), (False, marks.undirected))
        for u, v in pairs
    ]
    return marks.names, edges, label if of else ""


def _write_sign(ends: tuple[str, str] | None) -> str:
    """Return the marks at both ends of an edge of a PAG as one sign."""
    return "" if ends is None else f"{'<' if ends[0] == '>' else ends[0]}-{ends[1]}"


def _add_p_values(names: list, edges: list[Edge], source: Any, graph: Any) -> list[Edge]:
    """Return the edges with the p-values of a learner that tests independence, or of the edges of a PAG."""
    p_values = getattr(source, "edge_p_values_", None)
    if p_values is None and is_pag(graph):
        p_values = {frozenset((u, v)): p for u, v, p in graph.edges(data="p_value") if p is not None}
    if not p_values:
        return edges
    pairs = [frozenset((names[edge.u], names[edge.v])) for edge in edges]
    return [edge._replace(p_value=to_cell(p_values.get(pair), 3)) for edge, pair in zip(edges, pairs, strict=True)]


def _read_slopes(model: Any) -> dict[tuple, float]:
    """Return the coefficients of a linear Gaussian network by arc."""
    slopes = {}
    for cpd in model.get_cpds() or []:
        if hasattr(cpd, "beta"):
            parents = zip(cpd.evidence, list(cpd.beta)[1:], strict=True)
            slopes.update({(parent, cpd.variable): float(slope) for parent, slope in parents})
    return slopes


def _read_lagged_edges(graph: Any) -> tuple[list, list[Edge], str]:
    """Return one edge per ordered pair of variables, with all its lags; undirected pairs once."""
    names = list(graph.names)
    number = {name: v for v, name in enumerate(names)}
    groups: dict[tuple[int, int, bool], list[tuple[int, dict]]] = {}
    for (source, lag), (target, _), marks in graph.edges(data=True):
        u, v, is_arrow = number[source], number[target], not marks.get("undirected", False)
        ends = (u, v) if is_arrow else (min(u, v), max(u, v))
        groups.setdefault((*ends, is_arrow), []).append((lag, marks))
    every = [marks for group in groups.values() for _, marks in group]
    label = next((key for key in ("strength", "weight") if any(_is_number(marks.get(key)) for marks in every)), "")
    edges = []
    for (u, v, is_arrow), group in sorted(groups.items()):
        numbers = [read_number(marks, label) for _, marks in group if label and _is_number(marks.get(label))]
        confidences = [float(marks["confidence"]) for _, marks in group if _is_number(marks.get("confidence"))]
        lags = ", ".join(str(lag) for lag in sorted({lag for lag, _ in group}))
        strongest = to_cell(max(numbers, key=abs)) if numbers else None
        edges.append(Edge(u, v, is_arrow, strongest, to_cell(max(confidences)) if confidences else None, None, lags))
    return names, edges, "coefficient" if label == "weight" else label


def _add_confidence(
    names: list, edges: list[Edge], strengths: Any, *, is_source: bool
) -> tuple[list[Edge], float | None]:
    """Return the edges with their shares of the resamples; for a bootstrap also the pairs below its threshold."""
    table = take_strengths(strengths)
    if "lag" in getattr(table, "columns", ()):
        return _add_lagged_confidence(names, edges, table), None
    if isinstance(table, Mapping) or not hasattr(table, "columns"):
        shares, directions = read_strengths(table).of, {}
    else:
        shares = read_strengths(table).of if len(table) else {}
        known = table["direction"] if "direction" in table.columns else [None] * len(table)
        directions = dict(zip(shares, known, strict=True)) if len(shares) == len(table) else {}
    number = {name: v for v, name in enumerate(names)}
    unknown = [name for pair in shares for name in pair if name not in number]
    if unknown:
        raise ValueError(f"bootstrap has the variable {unknown[0]!r}, which is not in the graph")
    of: dict[tuple[int, int], tuple[float, float | None]] = {}
    for (u, v), share in shares.items():
        direction = directions.get((u, v))
        of[number[u], number[v]] = share, None if direction is None else float(direction)
        # the same pair in the other direction, unless the table has a row for it
        of.setdefault((number[v], number[u]), (share, None if direction is None else 1.0 - float(direction)))
    joined = [
        edge._replace(confidence=to_cell(share), direction=to_cell(direction) if edge.is_arrow else None)
        for edge in edges
        for share, direction in [of.get((edge.u, edge.v), (0.0, None))]
    ]
    if is_source:
        present = {frozenset((edge.u, edge.v)) for edge in edges}
        arrows = any(edge.is_arrow for edge in edges) or any(d not in (None, 0.5) for d in directions.values())
        for u, v in shares:
            if frozenset((number[u], number[v])) not in present:
                share, direction = of[number[u], number[v]]
                is_arrow = arrows and direction is not None and direction > 0.5
                shown = to_cell(direction) if is_arrow else None
                joined.append(Edge(number[u], number[v], is_arrow, None, to_cell(share), shown, is_chosen=False))
    threshold = getattr(strengths, "threshold_", None) if is_source else None  # another learner shows all its edges
    return joined, None if threshold is None else float(threshold)


def _add_lagged_confidence(names: list, edges: list[Edge], table: Any) -> list[Edge]:
    """Return the edges of series with the largest share over their lags."""
    number = {name: v for v, name in enumerate(names)}
    unknown = [name for name in [*table["from"], *table["to"]] if name not in number]
    if unknown:
        raise ValueError(f"bootstrap has the variable {unknown[0]!r}, which is not in the graph")
    ends = zip(table["from"], table["lag"], table["to"], table["strength"], strict=True)
    of = {(number[source], int(lag), number[target]): float(share) for source, lag, target, share in ends}
    of = {(v, 0, u): share for (u, lag, v), share in of.items() if not lag} | of  # a pair at lag 0 has one row
    return [
        edge._replace(confidence=to_cell(max(of.get((edge.u, int(lag), edge.v), 0.0) for lag in edge.lags.split(","))))
        for edge in edges
    ]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def _as_number(value: Any) -> float | None:
    return value if _is_number(value) else None


# ---- figures, options, versions, history, notes ----


# ---- figures, options, versions, limits ----


def _list_figures(source: Any, facts: Facts, n_rows: int | None) -> list[list]:
    chosen = [edge for edge in facts.edges if edge.is_chosen]
    n_arrows = sum(edge.is_arrow for edge in chosen)
    figures: list[list] = [["variables", len(facts.names)]]
    if n_rows is not None:
        figures.append(["rows", n_rows])
    figures.append(["edges", len(chosen)])
    if 0 < n_arrows < len(chosen) and not chosen[0].sign:
        figures.append(["of these undirected", len(chosen) - n_arrows])
    for attribute, label in _FIGURES:
        value = getattr(source, attribute, None)
        if (
            _is_number(value)
            and (cell := to_cell(value, 7 if attribute in ("score_", "objective_") else 4)) is not None
        ):
            figures.append([label, cell])
    seconds = getattr(source, "_fit_seconds", None)  # of the whole fit; the history ends earlier
    if seconds is not None:
        figures.append(["seconds", to_cell(seconds, 3)])
    stopped = getattr(source, "stopped_by_", "")
    if stopped:
        figures.append(["ended by", stopped])
    return figures


def _list_options(learner: Any) -> list[list]:
    defaults = {name: parameter.default for name, parameter in signature(type(learner).__init__).parameters.items()}
    options = []
    for name, value in learner.get_params(deep=False).items():
        if hasattr(value, "get_params"):
            text = f"{type(value).__name__}(...)"
            inner = [[f"{name}: {key}", told, differs] for key, told, differs in _list_options(value)]
        else:
            text, inner = to_text("None" if value is None else value), []
        options += [[name, text, text != to_text(str(defaults.get(name)))], *inner]
    return sorted(options, key=lambda option: not option[2])


def _list_versions() -> list[list]:
    rows = []
    for package in _PACKAGES:
        try:
            rows.append([package, version(package)])
        except PackageNotFoundError:
            rows.append([package, "unknown"])
    return [*rows, ["Python", platform.python_version()]]


def _read_history(source: Any) -> dict[str, Any] | None:
    """Return ``{"x", "label", "curves": [{"label", "y"}, ...]}`` of a learner's history; None without one."""
    history = getattr(source, "history_", None)
    if not isinstance(history, dict):
        return None
    curves = {name: np.asarray(values) for name, values in history.items()}
    curves = {name: values for name, values in curves.items() if values.ndim == 1 and values.dtype.kind in "fiu"}
    n_points = max((len(values) for values in curves.values()), default=0)
    if n_points < 2:
        return None
    timed = len(curves.get("seconds", ())) == n_points
    x = curves["seconds"] if timed else np.arange(n_points)
    shown = np.unique(np.linspace(0, n_points - 1, min(n_points, _MOST_POINTS)).round().astype(int))
    lines = [
        {"label": _LABELS[name], "y": [to_cell(y, 8) for y in values[shown]]}
        for name, values in curves.items()
        if name in _LABELS and len(values) == n_points and np.isfinite(values).any()
    ]
    if not lines:
        return None
    label = "seconds" if timed else "step"
    return {"x": [to_cell(v, 6) for v in x[shown]], "label": label, "curves": lines}


def _list_limits(source: Any, facts: Facts, model: Any, budget: Budget) -> list[str]:
    """Return the notes that a reader of the results must know."""
    notes = []
    if getattr(source, "converged_", True) is False:
        notes.append(
            f"The run was stopped by {getattr(source, 'stopped_by_', '') or 'a limit'} before convergence. More time "
            "may change the graph."
        )
    if getattr(source, "proven_", False):
        notes.append("The graph is optimal: it is proven that no graph under the same constraints has a better score.")
    chosen = [edge for edge in facts.edges if edge.is_chosen]
    if any(edge.sign for edge in chosen):
        notes.append(
            "An arrowhead at a variable: it is not a cause of the other one. A tail: it is a cause of the other one or "
            "of the selection of the rows. A circle: the data do not decide. Two arrowheads: a hidden common cause."
        )
    if any(edge.p_value is not None for edge in chosen):
        notes.append("The p-value of an edge is the largest of all tests of its two variables.")
    n_open = sum(not edge.is_arrow for edge in chosen)
    if hasattr(model, "get_cpds") and n_open > 0:
        notes.append(
            f"{n_open} edges are undirected: both directions have the same score. The parameters belong to one graph "
            "of the equivalence class."
        )
    if facts.is_directed and hasattr(model, "get_cpds"):
        notes.append(
            "Arrows describe the distribution of the data. They are causal only if there are no hidden common causes, "
            "no cycles and no selection bias."
        )
    if facts.weight_label == "partial correlation":
        notes.append(
            "Edges join variables that are correlated given all other variables. Weights are partial correlations."
        )
    if facts.of_series and facts.weight_label == "strength":
        notes.append(
            "Strengths do not depend on the units of the series and have the sign of the coefficient. In the table of "
            "a variable, weights are coefficients in these units."
        )
    if facts.of_edge:
        notes.append("Strength is the Frobenius norm of an edge's log-potentials after double centring.")
    if any(edge.confidence is not None for edge in facts.edges):
        notes.append(
            "Confidence is the probability that the two variables are joined, given the data and the prior."
            if facts.share == "probability"
            else "Confidence is the share of resamples of the rows in which the edge was learned."
        )
    isolated = len(facts.names) - len({v for edge in chosen for v in (edge.u, edge.v)})
    if isolated:
        verb = "has" if isolated == 1 else "have"
        notes.append(f"{isolated} of {len(facts.names)} variables {verb} no edge.")
    if budget.n_left_out:
        notes.append(f"{budget.n_left_out} tables of parameters are too large for this page: see the model.")
    return notes
