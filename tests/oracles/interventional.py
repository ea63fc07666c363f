"""Interventional equivalence classes by enumeration: the graph of each experiment, compared one by one."""

from collections import defaultdict

from oracles.equivalence import v_structures


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
