"""Choice of a penalty for any model: the penalty path, the stability of edges, and the best value of a criterion."""

from collections.abc import Sequence
from math import inf, sqrt

import networkx as nx
import numpy as np

#: A path stops early after this number of consecutive rises of its criterion, if it has this many times the edges of
#: the best graph.
_N_RISES, _DENSER = 3, 4


class PenaltyPath:
    """Base of the results for a decreasing sequence of penalties; `selected` is the position of the chosen penalty."""

    selected: int
    #: Whether smaller penalties were omitted because the criterion could not choose them any more.
    stopped_early: bool = False

    def __len__(self) -> int:
        raise TypeError(f"{type(self).__name__} does not implement __len__")

    def _names(self) -> Sequence:
        raise TypeError(f"{type(self).__name__} does not implement _names")

    def _edges(self, k: int) -> np.ndarray:
        """Return the edges under the k-th penalty, of shape (m, 2)."""
        raise TypeError(f"{type(self).__name__} does not implement _edges")

    def __repr__(self) -> str:
        sizes = f", {self.n_edges.min()} to {self.n_edges.max()} edges" if len(self) else ""
        end = ", stopped early" if self.stopped_early else ""
        return f"{type(self).__name__}({len(self)} penalties{sizes}, selected {self.selected}{end})"

    @property
    def at_end(self) -> bool:
        """Whether the smallest penalty was chosen, so that a longer path might contain a better one."""
        return len(self) > 1 and self.selected == len(self) - 1

    @property
    def ends_in_chosen_graph(self) -> bool:
        """Whether the smallest penalty has the graph of the chosen one, so that a longer path might choose another."""
        return self.selected >= 0 and np.array_equal(self._edges(self.selected), self._edges(len(self) - 1))

    @property
    def n_edges(self) -> np.ndarray:
        """Number of edges under each penalty."""
        return np.array([len(self._edges(k)) for k in range(len(self))], dtype=np.int64)

    def graph(self, k: int) -> nx.Graph:
        """Return the graph under the k-th penalty.

        Parameters
        ----------
        k : int
            Position in `lams`.

        Returns
        -------
        networkx.Graph
            The graph with all variables.
        """
        names = self._names()
        graph = nx.Graph()
        graph.add_nodes_from(names)
        graph.add_edges_from((names[i], names[j]) for i, j in self._edges(k).tolist())
        return graph


def space_penalties(largest: float, smallest: float, n: int) -> np.ndarray:
    """Return n penalties in geometric progression, or only the smallest if it is not below the largest."""
    # without edges at the smallest penalty there is nothing to compare on the way to it
    if n == 1 or smallest >= largest:
        return np.array([smallest])
    if smallest <= 0:
        raise ValueError("a path needs a smallest penalty above 0: give lam or lam_ratio above 0")
    return np.geomspace(largest, smallest, n)


def measure_instability(edge_sets: list[list[np.ndarray]], n: int) -> np.ndarray:
    r"""Return the StARS instability at each penalty, made monotone from the sparse end.

    :math:`D(\lambda) = \max_{\lambda' \ge \lambda} \sum_{i<j} 2 \hat\theta_{ij} (1 - \hat\theta_{ij}) / \binom{n}{2}`,
    with the shares :math:`\hat\theta` of the subsamples that have the edge.
    """
    found = []
    for subsets in zip(*edge_sets, strict=True):
        numbers = np.concatenate([edges[:, 0] * n + edges[:, 1] for edges in subsets])
        shares = np.unique(numbers, return_counts=True)[1] / len(subsets)
        found.append(float((2 * shares * (1 - shares)).sum()) / max(1.0, n * (n - 1) / 2))
    # the instability falls again for dense graphs: StARS compares its running maximum
    return np.maximum.accumulate(found)


def choose_stable(instabilities: np.ndarray, threshold: float) -> int:
    """Return the position of the smallest penalty whose instability is within the threshold."""
    within = np.flatnonzero(instabilities <= threshold)
    return int(within[-1]) if len(within) else 0


def count_subsample_rows(n_rows: int) -> int:
    """Return the number of rows of a StARS subsample: 10 √N, or 4 N / 5 if that is smaller."""
    # 10 √N as in the paper on StARS; below 157 rows this would be nearly all rows, or more
    return max(1, min(int(10 * sqrt(n_rows)), int(0.8 * n_rows)))


def is_past_best(criterion: np.ndarray, n_edges: Sequence[int]) -> bool:
    """Return whether a path may end: its criterion rose `_N_RISES` times in a row, and it has too many edges.

    Too many means more than `_DENSER` times the edges of the best penalty. A criterion of NaN counts as a rise.
    """
    # written as a negation, so that NaN counts as a rise
    rises = ~(np.diff(criterion) <= 0)
    best = find_smallest(criterion)
    return len(rises) >= _N_RISES and bool(rises[-_N_RISES:].all()) and n_edges[-1] > _DENSER * n_edges[best]


def find_smallest(criterion: np.ndarray) -> int:
    """Return the position of the smallest value. Ties are decided for the largest penalty."""
    # argmin returns the first minimum, and the largest penalty comes first
    return int(np.argmin(np.where(np.isnan(criterion), inf, criterion)))


def extend_penalties(lams: np.ndarray) -> np.ndarray:
    """Return the penalties followed by half as many smaller ones with the same ratio."""
    ratio = (lams[-1] / lams[0]) ** (1 / (len(lams) - 1))
    return np.concatenate([lams, lams[-1] * ratio ** np.arange(1, len(lams) // 2 + 1)])
