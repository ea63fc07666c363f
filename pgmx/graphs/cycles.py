"""Directed cycles."""

from collections.abc import Hashable, Iterable, Sequence


def find_cycle(n: int, edges: Iterable[Sequence[int]]) -> list[int] | None:
    """Return the nodes of one directed cycle of edges (tail, head), its smallest id first; None for an acyclic graph.

    Roots are removed until there are none (Kahn). In the remaining graph a walk to predecessors closes a cycle. Linear
    time.
    """
    edges = list(edges)
    children: list[list[int]] = [[] for _ in range(n)]
    n_parents = [0] * n
    for tail, head in edges:
        children[tail].append(head)
        n_parents[head] += 1
    roots = [v for v in range(n) if n_parents[v] == 0]
    while roots:
        for head in children[roots.pop()]:
            n_parents[head] -= 1
            if n_parents[head] == 0:
                roots.append(head)
    # A node with a positive count of parents has a parent among the remaining nodes.
    predecessor = {head: tail for tail, head in edges if n_parents[tail] and n_parents[head]}
    if not predecessor:
        return None
    node, seen = min(predecessor), dict[int, int]()
    while node not in seen:
        seen[node] = len(seen)
        node = predecessor[node]
    cycle = list(seen)[seen[node] :][::-1]
    start = cycle.index(min(cycle))
    return cycle[start:] + cycle[:start]


def describe_cycle(names: Sequence[Hashable], cycle: Sequence[int]) -> str:
    """Return the variables of a cycle as the text of an error, the first one repeated at the end."""
    return " -> ".join(repr(names[v]) for v in [*cycle, cycle[0]])
