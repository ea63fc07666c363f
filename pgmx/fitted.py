"""Fitted learners as arguments of other functions: their graph, their model, and the warning that `y` is ignored."""

import warnings
from typing import Any, Protocol

from pgmx.checks import caller_level


class FittedLearner(Protocol):
    """A fitted learner of graphs, as lower packages use it; some have `model_` too."""

    @property
    def graph_(self) -> Any:
        """The learned graph."""
        ...


def get_graph(source: Any) -> Any:
    """Return the graph of a fitted learner, and anything else as it is."""
    return source.graph_ if _is_learner(source) else source


def get_model(source: Any) -> Any:
    """Return the model of a fitted learner, its graph if it has no model, and anything else as it is."""
    if not _is_learner(source):
        return source
    return source.model_ if hasattr(type(source), "model_") else source.graph_


def _is_learner(source: object) -> bool:
    # read from the class: the attribute raises an error on a learner that is not fitted
    return hasattr(type(source), "graph_")


def warn_of_target(learner: object, X: object, y: object) -> None:
    """Warn that `y` is ignored if it is a named Series and `X` a frame without that column: a classifier may be meant.

    scikit-learn's own calls, which pass arrays or a column of `X`, cause no warning.
    """
    columns = getattr(X, "column_names", getattr(X, "columns", None))
    name = getattr(y, "name", None)
    if columns is None or name in (None, "") or not hasattr(y, "to_numpy") or name in list(columns):
        return
    warnings.warn(
        f"{type(learner).__name__} ignores y, the Series {name!r}: it learns from the columns of X alone. Add y to X "
        f"as a column; ChowLiuForest(class_node={name!r}) is a classifier",
        stacklevel=caller_level(),
    )
