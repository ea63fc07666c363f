"""The user's knowledge of edges over (name, lag), as ids."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from pgmx.checks import join_names
from pgmx.search.knowledge import Statement, read_knowledge


class LaggedKnowledge(NamedTuple):
    """Required and forbidden edges, int64 (m, 3), sorted: lag, target, source."""

    required: np.ndarray
    forbidden: np.ndarray

    def allow(self, n_series: int, lag: int) -> np.ndarray | None:
        """Return bool (N, N) [target, source], False for forbidden edges of a lag; None if there are none."""
        edges = self.forbidden[self.forbidden[:, 0] == lag]
        if not len(edges):
            return None
        allowed = np.ones((n_series, n_series), dtype=bool)
        allowed[edges[:, 1], edges[:, 2]] = False
        return allowed


def read_lagged_knowledge(
    names: Sequence,
    lags: Sequence[int],
    *,
    required_edges: Collection | None = None,
    forbidden_edges: Collection | None = None,
) -> LaggedKnowledge:
    """Read edges ``((source, lag), (target, 0))`` of the lags of a learner; the error names an invalid edge."""
    if not required_edges and not forbidden_edges:
        return LaggedKnowledge(np.empty((0, 3), dtype=np.int64), np.empty((0, 3), dtype=np.int64))
    # node v is the series v % n at the lag v // n
    nodes = [(name, lag) for lag in range(max(lags) + 1) for name in names]
    knowledge = read_knowledge(nodes, required_edges=required_edges, forbidden_edges=forbidden_edges)
    required = _read_statements(knowledge.required, nodes, len(names), lags)
    forbidden = _read_statements(knowledge.forbidden, nodes, len(names), lags)
    both = set(map(tuple, required.tolist())) & set(map(tuple, forbidden.tolist()))
    if both:
        lag, target, source = min(both)
        raise ValueError(
            f"required_edges holds {nodes[lag * len(names) + source]!r} -> {nodes[target]!r}, which forbidden_edges "
            "holds too; keep it in one of them"
        )
    return LaggedKnowledge(required, forbidden)


def _read_statements(statements: list[Statement], nodes: list, n: int, lags: Sequence[int]) -> np.ndarray:
    edges = np.empty((0, 3), dtype=np.int64)
    for option, ids in statements:
        wrong = (ids[:, 1] >= n) | ~np.isin(ids[:, 0] // n, lags)
        if wrong.any():
            tail, head = (nodes[v] for v in ids[wrong][0])
            raise ValueError(
                f"{option} holds {tail!r} -> {head!r}; edges are ((source, lag), (target, 0)) with one of the lags "
                f"{join_names(lags)}"
            )
        edges = np.column_stack([ids[:, 0] // n, ids[:, 1], ids[:, 0] % n])
    return edges[np.lexsort(edges.T[::-1])]
