"""Graphs with directed and undirected edges that represent a class of equivalent DAGs."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Self


class PartialDag:
    """A class of equivalent DAGs with known directions: an edge is directed if all DAGs of the class agree.

    `adjacent`, `neighbours` (by undirected edges), `parents` and `children` are a set per variable. `orient` directs an
    edge. `close` applies rules R1 to R4 of Meek (1995, Causal inference and causal explanation with background
    knowledge, UAI).
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.adjacent: list[set[int]] = [set() for _ in range(n)]
        self.neighbours: list[set[int]] = [set() for _ in range(n)]
        self.parents: list[set[int]] = [set() for _ in range(n)]
        self.children: list[set[int]] = [set() for _ in range(n)]
        self._worklist: list[tuple[int, int]] = []  # directed edges to which no rule was applied yet

    @classmethod
    def from_dag(cls, n: int, edges: Iterable[Sequence[int]], compelled: Iterable[Sequence[int]] = ()) -> Self:
        """Return the class of a DAG; the directions of its `compelled` edges are known."""
        graph = cls(n)
        pairs = sorted((int(tail), int(head)) for tail, head in edges)
        parents: list[set[int]] = [set() for _ in range(n)]
        for tail, head in pairs:
            graph.adjacent[tail].add(head)
            graph.adjacent[head].add(tail)
            parents[head].add(tail)
        graph.neighbours = [set(others) for others in graph.adjacent]
        for tail, head in pairs:
            if len(parents[head] - graph.adjacent[tail]) > 1:  # the difference contains the tail
                graph.orient(tail, head)
        for tail, head in compelled:
            graph.orient(int(tail), int(head))
        graph.close()
        return graph

    # ---- directions ----

    def orient(self, tail: int, head: int) -> None:
        """Direct an edge, once."""
        if head in self.neighbours[tail]:
            self.neighbours[tail].discard(head)
            self.neighbours[head].discard(tail)
            self.children[tail].add(head)
            self.parents[head].add(tail)
            self._worklist.append((tail, head))

    def close(self) -> None:
        """Apply the four rules until none applies."""
        while self._worklist:
            tail, head = self._worklist.pop()
            self._apply_chain_rules(tail, head)
            self._apply_diamond_rules(tail, head)

    def _apply_chain_rules(self, tail: int, head: int) -> None:
        """Apply R1, and R2 with tail → head as its first or its second arrow."""
        adjacent, neighbours = self.adjacent, self.neighbours
        # R1: tail → head - other, tail and other not adjacent
        for other in list(neighbours[head] - adjacent[tail]):
            self.orient(head, other)
        # R2: tail → head → other, tail - other
        for other in list(neighbours[tail] & self.children[head]):
            self.orient(tail, other)
        # R2: other → tail → head, other - head
        for other in list(neighbours[head] & self.parents[tail]):
            self.orient(other, head)

    def _apply_diamond_rules(self, tail: int, head: int) -> None:
        """Apply R3 with tail → head as one of its directed edges, and R4 with tail → head as its first.

        The second directed edge of R4 needs no check: R1 directs it as soon as the first one is directed.
        """
        adjacent, neighbours, parents = self.adjacent, self.neighbours, self.parents
        # R3: two parents of the head that are not adjacent, both joined to top by undirected edges
        for top in list(neighbours[head] & neighbours[tail]):
            if any(other not in adjacent[tail] for other in parents[head] & neighbours[top] if other != tail):
                self.orient(top, head)
        # R4: tail → head → last, and top is joined to tail and last by undirected edges
        for last in list(self.children[head] - adjacent[tail]):
            for top in list(neighbours[last] & neighbours[tail] & adjacent[head]):
                self.orient(top, last)

    # ---- queries of search operators ----

    def list_cliques(self, variables: Iterable[int]) -> Iterator[frozenset[int]]:
        """Yield the sets of pairwise adjacent variables, small ones first."""
        waiting = [(frozenset[int](), sorted(variables))]
        for clique, rest in waiting:  # grows meanwhile
            yield clique
            for i, v in enumerate(rest):
                waiting.append((clique | {v}, [u for u in rest[i + 1 :] if u in self.adjacent[v]]))
