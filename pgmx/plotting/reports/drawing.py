"""Choice and positions of the nodes and edges that are drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from pgmx.plotting.draw import measure_text
from pgmx.plotting.layouts.communities import find_communities
from pgmx.plotting.layouts.layered import MOST_IN_LAYERS, compute_layout
from pgmx.plotting.layouts.spring import compute_circular_layout, compute_spring_layout, count_readable
from pgmx.plotting.reports.facts import Edge, Facts
from pgmx.plotting.reports.plain import to_text

#: Maximum nodes and edges that a browser moves without delay.
MOST_NODES, MOST_EDGES = 1500, 4000

_LONGEST_LABEL = 24
_FONT, _PADDING = 11.0, 16.0  # in the unit of the layout
_FLATTEST = 4.0  # maximum ratio of width to height of a layered drawing; otherwise springs are used
_MOST_ON_CIRCLE = 24


def draw_page(facts: Facts) -> tuple[dict[str, Any], list[str]]:
    """Return nodes [v, x, y], indices of edges and their bends, and notes about nodes and edges left out."""
    nodes, edges, notes = _choose_part(facts)
    place = {v: k for k, v in enumerate(nodes)}
    widths = [measure_label(facts.names[v]) for v in nodes]
    chosen = [facts.edges[k] for k in edges]
    centres, bends = _lay_out(chosen, place, widths, of_series=any(edge.lags for edge in facts.edges))
    routes = {}
    for k, edge in zip(edges, chosen, strict=True):
        route = bends.get((place[edge.u], place[edge.v]))
        if route is not None:
            routes[k] = [[round(float(x), 1), round(-float(y), 1)] for x, y in route]
    spots = [[v, round(float(x), 1), round(-float(y), 1)] for v, (x, y) in zip(nodes, centres.tolist(), strict=True)]
    return {"nodes": spots, "edges": edges, "bends": routes}, notes


def measure_label(name: Any) -> float:
    """Return the width of a node's box."""
    text = to_text(name)
    return measure_text(text if len(text) <= _LONGEST_LABEL else f"{text[: _LONGEST_LABEL - 1]}…", _FONT) + _PADDING


def _lay_out(
    edges: list[Edge], place: dict[int, int], widths: list[float], *, of_series: bool
) -> tuple[np.ndarray, dict]:
    """Return centres and bends: layers for graphs with arrows, a circle for a few series, else springs."""
    joined = [edge for edge in edges if edge.u != edge.v]
    joined = [edge for edge in joined if edge.is_chosen] or joined
    pairs = list({frozenset((edge.u, edge.v)): edge for edge in joined}.values())  # opposite arcs are one line
    if of_series and len(widths) <= _MOST_ON_CIRCLE:
        return compute_circular_layout(widths), {}
    if not of_series and len(widths) <= MOST_IN_LAYERS and any(edge.is_arrow for edge in pairs):
        arrows = [(place[edge.u], place[edge.v]) for edge in pairs if edge.is_arrow]
        lines = [(place[edge.u], place[edge.v]) for edge in pairs if not edge.is_arrow]
        centres, bends = compute_layout(widths, arrows, lines)
        width, height = np.ptp(centres, axis=0)
        if len(widths) < 60 or width <= _FLATTEST * height:
            return centres, bends
    strongest = sorted(pairs, key=lambda edge: -_size(edge))[: count_readable(len(widths))]
    lines = sorted((place[edge.u], place[edge.v]) for edge in strongest)
    communities = find_communities(len(widths), lines) if len(widths) > MOST_IN_LAYERS else None
    return compute_spring_layout(widths, lines, communities), {}


def _choose_part(facts: Facts) -> tuple[list[int], list[int], list[str]]:
    """Return the variables and the indices of the edges to draw; if there are too many, the strongest ones."""
    ranks = sorted(range(len(facts.edges)), key=lambda k: (not facts.edges[k].is_chosen, -_size(facts.edges[k]), k))
    n, notes = len(facts.names), []
    members = set(range(n))
    if n > MOST_NODES:
        members = set()
        for k in ranks:
            ends = {facts.edges[k].u, facts.edges[k].v}
            if len(members | ends) <= MOST_NODES:
                members |= ends
        notes.append(
            f"The graph shows {len(members):,} of {n:,} variables, the ends of the strongest edges. A search draws the "
            "neighbourhood of any other variable. The table lists all edges."
        )
    within = [k for k in ranks if {facts.edges[k].u, facts.edges[k].v} <= members]
    if len(within) > MOST_EDGES:
        notes.append(
            f"The graph shows the strongest {MOST_EDGES:,} of {len(within):,} edges. The table lists all edges."
        )
    return sorted(members), sorted(within[:MOST_EDGES]), notes


def _size(edge: Edge) -> float:
    sizes = [abs(float(value)) for value in (edge.confidence, edge.weight) if value is not None]
    return sizes[0] if sizes else 0.0
