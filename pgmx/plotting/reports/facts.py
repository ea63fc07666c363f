"""All facts about a learner, a model or a graph, read once for the page."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from inspect import signature
from typing import Any

import numpy as np

from pgmx.fitted import get_series_graph
from pgmx.plotting.reports.edges import VERDICTS, Edge, add_confidence, add_p_values, count_edges, is_number, read_edges
from pgmx.plotting.reports.tables import (
    Budget,
    Table,
    describe_edges,
    describe_rows,
    describe_variables,
    open_rows,
    to_cell,
    to_text,
)
from pgmx.plotting.strengths import name_share

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
    "n_tests": "pairs scored or tested",
    "n_tables": "pair tables counted",
}


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
    reference: Any = None
    model: Any = None
    share: str = ""  # what the confidence of an edge is

    @property
    def is_directed(self) -> bool:
        """Whether some edge is an arrow."""
        return any(edge.is_arrow and edge.verdict != "missing" for edge in self.edges)

    @property
    def verdicts(self) -> list[str]:
        """The verdicts of the legend; empty without a reference, and no other direction without arrows."""
        found = {edge.verdict for edge in self.edges} - {""}
        has_directions = any(edge.is_arrow or edge.sign for edge in self.edges)
        return [verdict for verdict in VERDICTS if found and (verdict != "turned" or has_directions)]


def read_facts(
    source: Any, *, data: Any, bootstrap: Any, reference: Any, title: str | None, notes: Iterable[str]
) -> Facts:
    """Read a fitted learner, a model or a graph."""
    is_learner = hasattr(source, "get_params") and hasattr(source, "fit")
    graph, model, troubles = _find_graph(source, is_learner)
    names, edges, weight_label = read_edges(graph, model, get_series_graph(reference))
    edges = add_p_values(names, edges, source, graph)
    of_series = hasattr(graph, "summary_graph")  # its edges have the confidence
    has_shares = hasattr(getattr(source, "strengths_", None), "columns") and not of_series
    strengths = source if bootstrap is None and has_shares else bootstrap
    threshold = None
    if strengths is not None:
        edges, threshold = add_confidence(names, edges, strengths, is_source=strengths is source)
    continuous = set(getattr(model, "continuous", ()))
    kinds = ["continuous" if name in continuous else "discrete" for name in names]
    name = type(source).__name__
    facts = Facts(title or f"{name}: learned graph" if is_learner else title or name, names, edges, kinds)
    facts.weight_label, facts.threshold, facts.of_series = weight_label, threshold, of_series
    facts.graph, facts.reference, facts.model = graph, get_series_graph(reference), model
    facts.share = name_share(strengths)
    rows = data if data is not None or not is_learner else getattr(source, "data", None)
    reading = {option: getattr(source, option, None) for option in ("na_values", "discrete_columns")}
    if data is not None:
        rows = open_rows(data, [name for name in names if name not in getattr(model, "latents", ())], **reading)
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
    names, edges, _ = read_edges(learner.graph_, None)
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
        if is_number(value) and (cell := to_cell(value, 7 if attribute in ("score_", "objective_") else 4)) is not None:
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
    if facts.verdicts:
        counts = [f"{count_edges(facts.edges, verdict)} {VERDICTS[verdict]}" for verdict in facts.verdicts]
        notes.append(f"Edges compared with the reference: {', '.join(counts)}.")
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
