"""Edges of a report: their weights, confidence and p-values, and how they differ from the edges of a reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pgmx.plotting.graphs.indexed import (
    IndexedGraph,
    compare_edges,
    index_graph,
    index_reference,
    is_pag,
    is_series_graph,
)
from pgmx.plotting.reports.tables import to_cell
from pgmx.plotting.series_graphs import read_number
from pgmx.plotting.strengths import read_strengths, take_strengths

#: Verdicts of edges that are compared with a reference, in the order of the legend.
VERDICTS = {
    "shared": "in both",
    "turned": "with another or no direction",
    "extra": "not in the reference",
    "missing": "only in the reference",
}
#: Signs of a PAG read from the other end, before the order of the letters is reversed.
_REVERSED = str.maketrans("<>→", "><←")


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
    verdict: str = ""  # compared with a reference: "shared", "turned", "extra" or "missing"
    other: str = ""  # sign of the edge of the reference, from u to v, if it has another direction

    @property
    def is_in_either(self) -> bool:
        """Whether the edge is in the graph or in the reference."""
        return self.is_chosen or bool(self.verdict)


def read_edges(graph: Any, model: Any, reference: Any = None) -> tuple[list, list[Edge], str]:
    """Return the names, the edges with their weights, and what the weights are ("" without weights).

    With a reference, the edges have a verdict, and the edges that are only in the reference follow.
    """
    if is_series_graph(graph):
        return _read_lagged_edges(graph, reference)
    marks = index_graph(graph)
    label = "partial correlation" if hasattr(model, "partial_correlations") else "strength"
    weights = {(u, v): value for u, v, value in graph.edges(data="weight") if is_number(value)}
    if not weights and hasattr(model, "get_cpds") and not hasattr(model, "continuous"):
        weights, label = _read_slopes(model), "coefficient"
    number = {name: v for v, name in enumerate(marks.names)}
    of = {(number[u], number[v]): to_cell(value) for (u, v), value in weights.items()}
    edges = [
        Edge(u, v, is_arrow, _as_number(of.get((u, v), of.get((v, u)))), sign=_write_sign(marks.ends.get((u, v))))
        for is_arrow, pairs in ((True, marks.directed), (False, marks.undirected))
        for u, v in pairs
    ]
    theirs = index_reference(reference, graph, marks.names)
    return marks.names, edges if theirs is None else _compare(edges, marks, theirs), label if of else ""


def _compare(edges: list[Edge], ours: IndexedGraph, theirs: IndexedGraph) -> list[Edge]:
    """Return the edges with their verdicts, then the edges of the reference between other pairs."""
    signs = dict.fromkeys(theirs.directed, "→") | dict.fromkeys(theirs.undirected, "—")
    signs |= {pair: _write_sign(ends) for pair, ends in theirs.ends.items()}
    verdicts = compare_edges(ours, theirs)
    of = {(u, v): verdict for u, v, _, verdict in verdicts}
    compared = []
    for edge in edges:
        verdict, pair = of.get((edge.u, edge.v), ""), (edge.u, edge.v)
        other = (signs.get(pair) or signs[pair[::-1]].translate(_REVERSED)[::-1]) if verdict == "turned" else ""
        compared.append(edge._replace(verdict=verdict, other=other))
    missing = [edge for edge in verdicts if edge[3] == "missing"]
    return compared + [
        Edge(u, v, is_arrow, sign=_write_sign(theirs.ends.get((u, v))), is_chosen=False, verdict=verdict)
        for u, v, is_arrow, verdict in missing
    ]


def count_edges(edges: list[Edge], verdict: str) -> int:
    """Return the number of edges with a verdict."""
    return sum(edge.verdict == verdict for edge in edges)


def _write_sign(ends: tuple[str, str] | None) -> str:
    """Return the marks at both ends of an edge of a PAG as one sign."""
    return "" if ends is None else f"{'<' if ends[0] == '>' else ends[0]}-{ends[1]}"


def add_p_values(names: list, edges: list[Edge], source: Any, graph: Any) -> list[Edge]:
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


def _read_lagged_edges(graph: Any, reference: Any) -> tuple[list, list[Edge], str]:
    """Return one edge per ordered pair of variables, with all its lags; undirected pairs once.

    With a reference, the lags of a pair with different verdicts are different edges.
    """
    names = list(graph.names)
    number = {name: v for v, name in enumerate(names)}
    verdicts, missing = _compare_lagged(graph, reference)
    groups: dict[tuple[int, int, bool, str], list[tuple[int, dict]]] = {}
    listed = [(*ends, not marks.get("undirected", False), marks) for *ends, marks in graph.edges(data=True)]
    for (source, lag), (target, at), is_arrow, marks in [*listed, *missing]:
        u, v, verdict = number[source], number[target], verdicts.get(((source, lag), (target, at)), "")
        ends = (u, v) if is_arrow else (min(u, v), max(u, v))
        groups.setdefault((*ends, is_arrow, verdict), []).append((lag, marks))
    every = [marks for group in groups.values() for _, marks in group]
    label = next((key for key in ("strength", "weight") if any(is_number(marks.get(key)) for marks in every)), "")
    edges = []
    for (u, v, is_arrow, verdict), group in sorted(groups.items()):
        numbers = [read_number(marks, label) for _, marks in group if label and is_number(marks.get(label))]
        confidences = [float(marks["confidence"]) for _, marks in group if is_number(marks.get("confidence"))]
        lags = ", ".join(str(lag) for lag in sorted({lag for lag, _ in group}))
        strongest = to_cell(max(numbers, key=abs)) if numbers else None
        confidence = to_cell(max(confidences)) if confidences else None
        is_ours = verdict != "missing"
        edges.append(Edge(u, v, is_arrow, strongest, confidence, None, lags, is_chosen=is_ours, verdict=verdict))
    return names, edges, "coefficient" if label == "weight" else label


def _compare_lagged(graph: Any, reference: Any) -> tuple[dict[tuple, str], list[tuple]]:
    """Return the verdict of each edge over (variable, lag), and the edges (tail, head, is_arrow, {}) without ours."""
    ours = index_graph(graph)
    theirs = index_reference(reference, graph, ours.names)
    if theirs is None:
        return {}, []
    verdicts: dict[tuple, str] = {}
    missing: list[tuple] = []
    for u, v, is_arrow, verdict in compare_edges(ours, theirs):
        tail, head = ours.names[u], ours.names[v]
        verdicts[tail, head] = verdict
        if not is_arrow:
            verdicts[head, tail] = verdict
        if verdict == "missing":
            missing.append((tail, head, is_arrow, {}))
    return verdicts, missing


def add_confidence(
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


def is_number(value: Any) -> bool:
    """Return whether a value is an integer or a float, not NaN."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def _as_number(value: Any) -> float | None:
    return value if is_number(value) else None
