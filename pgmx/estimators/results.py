"""Results that learners make from arrays once, when they are first asked for."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import networkx as nx
import numpy as np

if TYPE_CHECKING:
    from pandas import DataFrame

T = TypeVar("T")


def tabulate_neighbors(graph: nx.Graph) -> "DataFrame":
    """Return the adjacency matrix of a graph: 1 for each edge, whatever its weight."""
    return nx.to_pandas_adjacency(graph, weight=None, dtype="int")  # pyright: ignore[reportArgumentType]


class LazyResults:
    """Base of learners whose graphs and networks are made on first access; `fit` ends with an empty `_results`."""

    _results: dict[str, Any]
    n_features_in_: int

    def _make_once(self, name: str, make: Callable[[], T]) -> T:
        """Return the result of this name, made by the first call after `fit`."""
        self._require_fit()
        if name not in self._results:
            self._results[name] = make()
        return self._results[name]

    def _require_fit(self) -> None:
        if not hasattr(self, "_results"):
            raise AttributeError(f"{type(self).__name__} is not fitted yet: call fit or estimate first")

    def _check_n_features(self, X) -> None:
        """Refuse rows with another number of columns, in the words that scikit-learn expects."""
        shape = np.shape(X)
        if len(shape) == 2 and shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} features as "
                "input: give the columns that were learned from"
            )
