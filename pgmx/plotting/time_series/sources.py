"""Graphs and systems of what a user has: a graph, a system or a fitted learner."""

from __future__ import annotations

from typing import Any

ATTRIBUTES = ("weight", "strength", "confidence")


def read_graph(source: Any) -> Any:
    """Return the `TimeSeriesGraph` of a graph, a system or a fitted learner."""
    graph = getattr(source, "graph_", source)
    if hasattr(graph, "coef") and hasattr(graph, "to_networkx"):
        graph = graph.to_networkx()
    if not (hasattr(graph, "to_arrays") and hasattr(graph, "summary_graph")):
        raise TypeError(
            f"expected a TimeSeriesGraph, a LinearDynamicalSystem or a fitted learner of time series, got "
            f"{type(source).__name__}"
        )
    if not graph.names:
        raise ValueError("the graph has no nodes: there is nothing to draw")
    return graph


def read_system(source: Any) -> Any:
    """Return the `LinearDynamicalSystem` of a system or a fitted learner."""
    system = getattr(source, "model_", source)
    if not hasattr(system, "predict_interval"):
        raise TypeError(
            f"expected a LinearDynamicalSystem or a fitted learner that has one, got {type(source).__name__}"
        )
    return system


def check_attribute(attribute: str) -> None:
    """Raise unless edges may have this number."""
    if attribute not in ATTRIBUTES:
        raise ValueError(f"attribute must be one of {', '.join(map(repr, ATTRIBUTES))}, got {attribute!r}")


def choose_attribute(graph: Any, attribute: str) -> str:
    """Return the attribute, or "strength" where the edges have no weights."""
    check_attribute(attribute)
    numbers = [marks for _, _, marks in graph.edges(data=True)]
    if not numbers or any(attribute in marks for marks in numbers):
        return attribute
    if attribute == "weight":
        return choose_attribute(graph, "strength")
    raise ValueError(f"no edge of the graph has the attribute {attribute!r}")


def shorten(name: object, length: int = 18) -> str:
    """Return the text of a name, cut."""
    text = " ".join(str(name).split())
    return text if len(text) <= length else text[: length - 1] + "…"
