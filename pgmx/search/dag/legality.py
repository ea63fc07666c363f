"""Graphs read from a checkpoint: whether a search can reach them, and their scores."""

import numpy as np

from pgmx.graphs.cycles import find_cycle
from pgmx.runs.checkpoint import Snapshot
from pgmx.search.dag.state import DagState


class LegalGraphs:
    """The graphs that a search can reach from the first graph, which `state` is at."""

    def __init__(self, state: DagState, max_indegree: int):
        self._state = state
        self._first = state.edges()
        self._most = np.maximum(max_indegree, np.bincount(self._first[:, 1], minlength=state.n))
        self._allowed = np.unpackbits(state.allowed, axis=1, count=state.n).astype(bool)
        self._allowed[self._first[:, 1], self._first[:, 0]] = True

    def read(self, snapshot: Snapshot, name: str) -> np.ndarray:
        """Return the arcs, int64 (m, 2), of a graph in a snapshot."""
        edges = snapshot.pairs(name, self._state.n)
        self.check(snapshot, edges, name)
        return edges

    def check(self, snapshot: Snapshot, edges: np.ndarray, name: str) -> None:
        """Raise an error unless the arcs, with valid ids, are a graph that the search can reach."""
        n, heads, arcs = self._state.n, edges[:, 1], set(map(tuple, edges.tolist()))
        snapshot.check(len(arcs) == len(edges), f"an arc in {name!r} twice")
        snapshot.check(self._allowed[heads, edges[:, 0]].all(), f"an arc in {name!r} that is not allowed")
        crowded = np.bincount(heads, minlength=n) > self._most
        snapshot.check(not crowded.any(), f"more parents in {name!r} than max_indegree allows")
        required = set(map(tuple, self._state.required.tolist()))
        snapshot.check(required <= arcs, f"no arc in {name!r} that is required")
        snapshot.check(find_cycle(n, edges.tolist()) is None, f"a cycle in {name!r}")

    def read_score(self, snapshot: Snapshot, name: str, edges: np.ndarray) -> float:
        """Return the stored score of a graph, checked against the recomputed score; `state` is then at the graph."""
        self._state.reset(edges)
        score = snapshot.number(name)
        self.check_score(snapshot, score, name)
        return score

    def check_score(self, snapshot: Snapshot, score: float, name: str, rounding: float = 1e-9) -> None:
        """Raise an error unless a stored score equals the present graph's score, up to relative rounding."""
        slack = rounding * max(1.0, float(np.abs(self._state.scores).sum()))
        expected = self._state.score
        snapshot.check(abs(score - expected) <= slack, f"{name}={score}, but the graph has the score {expected}")
