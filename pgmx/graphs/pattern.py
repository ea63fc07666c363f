"""Directions of a skeleton: arrows by strength of evidence, rules that leave ambiguous triples out, a DAG of the class.

References: Meek (1995), Causal inference and causal explanation with background knowledge, UAI; Ramsey, Zhang & Spirtes
(2006), Adjacency-faithfulness and conservative causal inference, UAI.
"""

from collections.abc import Iterable, Set

from pgmx.graphs.consensus import make_marks
from pgmx.graphs.extension import find_extension
from pgmx.graphs.partial_dag import PartialDag

Triple = tuple[int, int, int]


class Pattern(PartialDag):
    """A skeleton whose edges are directed one by one; no arrow closes a directed cycle.

    Unshielded triples (x, z, y) in `ambiguous` may be colliders at z or not: no rule uses them. From finite samples,
    arrows may contradict each other: an edge keeps its first direction, and an edge whose direction would close a cycle
    stays undirected.
    """

    def __init__(self, n: int, edges: Iterable[tuple[int, int]], ambiguous: Iterable[Triple] = ()) -> None:
        super().__init__(n)
        for u, v in edges:
            self.adjacent[u].add(v)
            self.adjacent[v].add(u)
        self.neighbours = [set(others) for others in self.adjacent]
        self.ambiguous: Set[Triple] = {(x, z, y) for a, z, b in ambiguous for x, y in ((a, b), (b, a))}

    def orient(self, tail: int, head: int) -> None:
        """Direct an edge, once, unless that would close a directed cycle."""
        if head in self.neighbours[tail] and not self.leads_to(head, tail):
            super().orient(tail, head)

    def leads_to(self, start: int, end: int) -> bool:
        """Return whether directed edges lead from `start` to `end`."""
        if not self.parents[end]:
            return False
        seen, waiting = {start}, [start]
        while waiting:
            onward = self.children[waiting.pop()] - seen
            if end in onward:
                return True
            seen |= onward
            waiting.extend(onward)
        return False

    def orient_collider(self, x: int, z: int, y: int) -> bool:
        """Direct x → z ← y; return False, and change nothing, if an arrow or a cycle is against it."""
        if z in self.parents[x] or z in self.parents[y]:
            return False
        if any(tail in self.neighbours[z] and self.leads_to(z, tail) for tail in (x, y)):
            return False
        self.orient(x, z)
        self.orient(y, z)
        return True

    # ---- rules that leave ambiguous triples out ----

    def _apply_chain_rules(self, tail: int, head: int) -> None:
        if not self.ambiguous:
            super()._apply_chain_rules(tail, head)
            return
        for other in sorted(self.neighbours[head] - self.adjacent[tail]):
            if (tail, head, other) not in self.ambiguous:
                self.orient(head, other)
        for other in sorted(self.neighbours[tail] & self.children[head]):
            self.orient(tail, other)
        for other in sorted(self.neighbours[head] & self.parents[tail]):
            self.orient(other, head)

    def _apply_diamond_rules(self, tail: int, head: int) -> None:
        if not self.ambiguous:
            super()._apply_diamond_rules(tail, head)
            return
        for top in sorted(self.neighbours[head] & self.neighbours[tail]):
            others = self.parents[head] & self.neighbours[top] - self.adjacent[tail] - {tail}
            if any((tail, top, other) not in self.ambiguous for other in others):
                self.orient(top, head)
        # R4 with tail → head as its first or its second arrow: without R1 the second one may come later
        for last in sorted(self.children[head] - self.adjacent[tail]):
            self._apply_last_rule(tail, head, last)
        for first in sorted(self.parents[tail] - self.adjacent[head]):
            self._apply_last_rule(first, tail, head)

    def _apply_last_rule(self, first: int, middle: int, last: int) -> None:
        for top in sorted(self.neighbours[last] & self.neighbours[first] & self.adjacent[middle]):
            if (first, top, last) not in self.ambiguous:
                self.orient(top, last)

    # ---- results ----

    def list_directed(self) -> list[tuple[int, int]]:
        """Return the directed edges (tail, head), sorted."""
        return sorted((tail, head) for tail in range(self.n) for head in self.children[tail])

    def list_undirected(self) -> list[tuple[int, int]]:
        """Return the undirected edges (u, v) with u < v, sorted."""
        return sorted((u, v) for u in range(self.n) for v in self.neighbours[u] if u < v)

    def find_dag(self) -> tuple[list[tuple[int, int]], int]:
        """Return the edges of a DAG with all directed edges, sorted, and the number of colliders that it adds.

        It adds none if there is such a DAG. The first variables become sinks first.
        """
        last = self.n - 1
        mirrored = [
            [(last - u, last - v) for u, v in edges] for edges in (self.list_directed(), self.list_undirected())
        ]
        arcs, n_new = find_extension(self.n, make_marks(*mirrored))
        return sorted(map(tuple, (last - arcs).tolist())), n_new
