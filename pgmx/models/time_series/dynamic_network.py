"""The structure of a graph over (variable, lag) as a dynamic Bayesian network of pgmpy."""

import networkx as nx
from pgmpy.models import DynamicBayesianNetwork

from pgmx.graphs.cycles import find_cycle


def make_dynamic_network(graph: nx.DiGraph) -> DynamicBayesianNetwork:
    """Make the network of edges (source, l) -> (target, 0) with l = 0 or 1; raise for other graphs."""
    edges = list(graph.edges(data="undirected"))
    longest = max(edges, key=lambda edge: edge[0][1], default=None)
    if longest is not None and longest[0][1] > 1:
        raise ValueError(
            f"pgmpy 1.1 has dynamic Bayesian networks of lag 1 only, and {longest[0]!r} -> {longest[1]!r} has lag "
            f"{longest[0][1]}: learn with lags=1, or use LinearDynamicalSystem.to_linear_gaussian_bn()"
        )
    lines = [(u, v) for u, v, undirected in edges if undirected]
    if lines:
        raise ValueError(f"{lines[0][0]!r} -- {lines[0][1]!r} has no direction: remove one of its two edges")
    position = {node: v for v, node in enumerate(graph.nodes())}
    cycle = find_cycle(len(position), [(position[u], position[v]) for u, v, _ in edges if u[1] == 0])
    if cycle is not None:
        nodes = list(position)
        path = " -> ".join(repr(nodes[v]) for v in cycle)
        raise ValueError(f"the instantaneous edges form a cycle, {path}: remove one of them")
    network = DynamicBayesianNetwork()
    network.add_nodes_from(dict.fromkeys(name for name, _ in graph.nodes()))
    # pgmpy counts slices forwards: the previous row is 0, the present is 1. Edges within a slice are in slice 0.
    network.add_edges_from(((source, 0), (target, lag)) for (source, lag), (target, _), _ in edges)
    return network
