"""Partial ancestral graphs by integer ids: edges with a mark at each end."""

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Self

import numpy as np
from numpy.typing import NDArray

#: Marks at the ends of edges. A circle is an unknown mark; it becomes an arrowhead or a tail once.
CIRCLE, ARROW, TAIL = 1, 2, 3


class PartialAncestralGraph:
    """A graph with a mark at each end of an edge, and a list of the marks that are new.

    `marks[u][v]` is the mark at v of the edge between u and v, so `marks[u]` has the neighbours of u as its keys.
    `new_marks` lists (u, v) for each mark at v that `orient` set; rules read and empty it.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.marks: list[dict[int, int]] = [{} for _ in range(n)]
        self.new_marks: list[tuple[int, int]] = []

    @classmethod
    def from_adjacency(cls, adjacent: NDArray[np.bool_]) -> Self:
        """Return a graph with the edges of a symmetric matrix and circles at all ends."""
        graph = cls(len(adjacent))
        for u, v in np.argwhere(np.triu(adjacent, 1)).tolist():
            graph.join(u, v)
        return graph

    def to_adjacency(self) -> NDArray[np.bool_]:
        """Return the edges as a symmetric matrix."""
        adjacent = np.zeros((self.n, self.n), dtype=bool)
        for u, neighbours in enumerate(self.marks):
            adjacent[u, list(neighbours)] = True
        return adjacent

    def join(self, u: int, v: int) -> None:
        """Add an edge with a circle at both ends."""
        self.marks[u][v] = self.marks[v][u] = CIRCLE

    def remove(self, u: int, v: int) -> None:
        """Remove an edge."""
        del self.marks[u][v], self.marks[v][u]

    def orient(self, u: int, v: int, mark: int) -> None:
        """Set the mark at v of the edge between u and v if it is a circle; other marks stay."""
        if self.marks[u][v] == CIRCLE:
            self.marks[u][v] = mark
            self.new_marks.append((u, v))

    def relist_marks(self) -> None:
        """List all arrowheads and tails as new, after edges were removed."""
        self.new_marks = [(u, v) for u in range(self.n) for v, mark in self.marks[u].items() if mark != CIRCLE]

    def list_edges(self) -> list[tuple[int, int, int, int]]:
        """Return the edges (u, v, mark at u, mark at v) with u < v, sorted."""
        return [
            (u, v, self.marks[v][u], self.marks[u][v]) for u in range(self.n) for v in sorted(self.marks[u]) if u < v
        ]

    def list_unshielded_triples(self) -> Iterator[tuple[int, int, int]]:
        """Yield (x, z, y) with x < y for neighbours x and y of z that are not adjacent."""
        for z in range(self.n):
            for x, y in combinations(sorted(self.marks[z]), 2):
                if y not in self.marks[x]:
                    yield x, z, y

    # ---- paths ----

    def may_lead(self, u: int, v: int) -> bool:
        """Return whether the edge is potentially directed from u to v: not into u and not out of v."""
        return self.marks[v][u] != ARROW and self.marks[u][v] != TAIL

    def has_circles(self, u: int, v: int) -> bool:
        """Return whether the edge has a circle at both ends."""
        return self.marks[u][v] == CIRCLE and self.marks[v][u] == CIRCLE

    def find_uncovered_path(
        self, start: int, second: int, goal: int, allows: Callable[[int, int], bool]
    ) -> list[int] | None:
        """Return a simple path from `start` over `second` to `goal`, or None.

        Each edge (u, v) of the path has ``allows(u, v)``, and the neighbours on the path of each inner vertex are not
        adjacent. A shortest walk over edges is simple in nearly all graphs; a search with memory of the path decides
        the other ones.
        """
        if not allows(start, second):
            return None
        before: dict[tuple[int, int], tuple[int, int] | None] = {(start, second): None}
        waiting = [(start, second)]
        is_reached = False
        for u, v in waiting:  # grows meanwhile
            if v == goal:
                walk = _follow_back((u, v), before)
                if len(set(walk)) == len(walk):
                    return walk
                is_reached = True
                continue
            for w in self._list_onward(u, v, allows):
                if w != start and (v, w) not in before:
                    before[v, w] = (u, v)
                    waiting.append((v, w))
        return self._search_simple_path([start, second], goal, allows) if is_reached else None

    def _search_simple_path(self, path: list[int], goal: int, allows: Callable[[int, int], bool]) -> list[int] | None:
        """Extend a path depth first until it ends in the goal."""
        if path[-1] == goal:
            return path
        for w in self._list_onward(path[-2], path[-1], allows):
            if w not in path:
                found = self._search_simple_path([*path, w], goal, allows)
                if found:
                    return found
        return None

    def _list_onward(self, u: int, v: int, allows: Callable[[int, int], bool]) -> list[int]:
        """Return the next vertices of an uncovered path that ends with u, v, sorted."""
        return [w for w in sorted(self.marks[v]) if w != u and w not in self.marks[u] and allows(v, w)]


def _follow_back(edge: tuple[int, int] | None, before: dict[tuple[int, int], tuple[int, int] | None]) -> list[int]:
    """Return the vertices of the walk that ends with an edge."""
    vertices = []
    while edge is not None:
        vertices.append(edge[1])
        first = edge[0]
        edge = before[edge]
    return [first, *reversed(vertices)]
