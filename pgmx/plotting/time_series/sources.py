"""The graph or system of user input: a graph, a system or a fitted learner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from math import copysign
from typing import Any

from pgmx.checks import take_graph

ATTRIBUTES = ("weight", "strength", "confidence")


def read_graph(source: Any) -> Any:
    """Return the `TimeSeriesGraph` of a graph, a system or a fitted learner."""
    graph = take_graph(source)
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


def find_forecaster(source: Any) -> tuple[Any, list]:
    """Return the forecaster, a learner of systems (also inside another learner) or a system, and the names."""
    sources: list[Any] = [source, getattr(source, "estimator_", None), getattr(source, "model_", None)]
    for forecaster in sources:
        if hasattr(forecaster, "predict_interval"):
            return forecaster, list(forecaster.names if hasattr(forecaster, "names") else forecaster.variables_)
    raise TypeError(f"expected a LinearDynamicalSystem or a fitted learner with one, got {type(source).__name__}")


def select_series(forecaster: Any, rows: Any, names: list) -> Any:
    """Return rows with their labels, without the columns that are not series of a learner."""
    if not hasattr(forecaster, "get_params"):
        return rows
    from pgmx.data.series import SeriesOptions, read_history

    params = forecaster.get_params(deep=False)
    options = {option.name: params[option.name] for option in fields(SeriesOptions) if option.name in params}
    return read_history(rows, tuple(names), SeriesOptions(**options))


def check_attribute(attribute: str) -> None:
    """Raise an error if this is not an attribute of edges."""
    if attribute not in ATTRIBUTES:
        raise ValueError(f"attribute must be one of {', '.join(map(repr, ATTRIBUTES))}, got {attribute!r}")


def choose_attribute(graph: Any, attribute: str) -> str:
    """Return the attribute; if the edges have only one of weight and strength, return that one."""
    check_attribute(attribute)
    numbers = [marks for _, _, marks in graph.edges(data=True)]
    for choice in (attribute, {"weight": "strength", "strength": "weight"}.get(attribute)):
        if not numbers or any(choice in marks for marks in numbers):
            return str(choice)
    raise ValueError(f"no edge of the graph has the attribute {attribute!r}")


def read_number(marks: Mapping[str, Any], attribute: str) -> float:
    """Return an attribute of an edge, 0 without it; a strength has the sign of the weight, if there is one."""
    value = float(marks.get(attribute, 0.0))
    return copysign(value, marks.get("weight", 1.0)) if attribute == "strength" else value


def shorten(name: object, length: int = 18) -> str:
    """Return the text of a name, cut."""
    text = " ".join(str(name).split())
    return text if len(text) <= length else text[: length - 1] + "…"
