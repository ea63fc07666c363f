"""Fitted learners as arguments of other functions: their graph and their model."""

from typing import Any, Protocol


class FittedLearner(Protocol):
    """A fitted learner of graphs, as lower packages use it; some have `model_` too."""

    @property
    def graph_(self) -> Any:
        """The learned graph."""
        ...


def get_graph(source: Any) -> Any:
    """Return the graph of a fitted learner, and anything else as it is."""
    return source.graph_ if _is_learner(source) else source


def get_dag(source: Any) -> Any:
    """Return the DAG of a fitted learner, its graph if it has no DAG, and anything else as it is."""
    if not _is_learner(source):
        return source
    return source.dag_ if hasattr(type(source), "dag_") else source.graph_


def get_series_graph(source: Any) -> Any:
    """Return the graph of a fitted learner or of a model of time series, and anything else as it is."""
    source = get_graph(source)
    # models of other data are graphs themselves
    is_series_model = hasattr(source, "to_networkx") and (not hasattr(source, "nodes") or hasattr(source, "forecast"))
    return source.to_networkx() if is_series_model else source


def get_model(source: Any) -> Any:
    """Return the model of a fitted learner, its graph if it has no model, and anything else as it is."""
    if not _is_learner(source):
        return source
    return source.model_ if hasattr(type(source), "model_") else source.graph_


def _is_learner(source: object) -> bool:
    # read from the class: the attribute raises an error on a learner that is not fitted
    return hasattr(type(source), "graph_")
