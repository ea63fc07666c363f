"""Equivalence classes by enumeration: every DAG with the skeleton, its v-structures compared one by one."""

from itertools import combinations, product

from oracles.graphs import is_acyclic


def v_structures(edges):
    """Return the set of (a, c, b) with a -> c <- b, a < b, a and b not adjacent."""
    edges = set(edges)
    return {
        (a, head, b)
        for (a, head), (b, other) in product(edges, edges)
        if head == other and a < b and (a, b) not in edges and (b, a) not in edges
    }


def members(n, edges, compelled=()):
    """Return all DAGs equivalent to the one given that hold the compelled edges."""
    wanted = v_structures(edges)
    graphs = []
    for turned in product((False, True), repeat=len(edges)):
        graph = {(head, tail) if turn else (tail, head) for (tail, head), turn in zip(edges, turned, strict=True)}
        if set(compelled) <= graph and is_acyclic(graph) and v_structures(graph) == wanted:
            graphs.append(graph)
    return graphs


def cpdag(n, edges, compelled=()):
    """Return (directed, undirected): an edge is directed when all members agree."""
    graphs = members(n, edges, compelled)
    directed = sorted(set.intersection(*graphs)) if graphs else []
    undirected = sorted(
        (u, v)
        for u, v in combinations(range(n), 2)
        if ((u, v) in edges or (v, u) in edges) and (u, v) not in directed and (v, u) not in directed
    )
    return directed, undirected
