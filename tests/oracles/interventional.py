"""Interventional equivalence classes by enumeration: the graph of each experiment, compared one by one."""

from collections import defaultdict

from oracles.equivalence import cpdag, members, v_structures
from oracles.equivalence_search import changes
from oracles.graphs import is_acyclic


def cut(edges, target):
    """Return the edges of a DAG that are left if the variables of the target are set."""
    return [(tail, head) for tail, head in edges if head not in target]


def list_classes(dags, targets):
    """Return the classes of the DAGs that no experiment tells apart (Hauser and Buehlmann 2012, theorem 10, iii)."""
    classes = defaultdict(list)
    for edges in dags:
        graphs = [cut(edges, target) for target in targets]
        key = [(frozenset(map(frozenset, graph)), frozenset(v_structures(graph))) for graph in graphs]
        classes[tuple(key)].append(edges)
    return list(classes.values())


def join(members):
    """Return (directed, undirected): an edge is directed if all members agree."""
    directed = set.intersection(*map(set, members))
    undirected = {tuple(sorted(edge)) for edges in members for edge in edges if edge not in directed}
    return sorted(directed), sorted(undirected)


# ---- operators of a greedy search, by enumeration of the members ----


def list_decided(edges, targets):
    """Return the edges of which some target contains exactly one end."""
    return [edge for edge in edges if any((edge[0] in target) != (edge[1] in target) for target in targets)]


def class_of(n, edges, targets):
    """Return a class as a value that can be compared."""
    directed, undirected = cpdag(n, sorted(edges), list_decided(edges, targets))
    return tuple(directed), tuple(undirected)


def neighbour_classes(n, edges, kind, targets):
    """Return the classes with a graph that is one change away from a graph of this class, each with such a graph."""
    found = {}
    for member in members(n, sorted(edges), list_decided(edges, targets)):
        for other in changes(member, n, kind):
            if is_acyclic(other):
                found[class_of(n, other, targets)] = other
    found.pop(class_of(n, edges, targets), None)
    return found
