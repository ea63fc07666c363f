"""Groups of vertices with many edges among them, which a drawing of a large graph separates."""

from collections.abc import Iterable

import numpy as np

from pgmx.plotting.layouts.packing import Edge

SMALLEST = 5  # members of a community


def find_communities(n: int, edges: Iterable[Edge]) -> np.ndarray:
    """Return the community of each vertex, the largest is 0; -1 for vertices of small ones.

    Louvain's method (Blondel et al. 2008), by networkx with a fixed seed.
    """
    import networkx as nx

    graph = nx.empty_graph(n)
    graph.add_edges_from(edges)
    groups = sorted(
        (sorted(group) for group in nx.community.louvain_communities(graph, seed=0)), key=lambda g: (-len(g), g)
    )
    labels = np.full(n, -1)
    for label, group in enumerate(groups):
        if len(group) >= SMALLEST:
            labels[group] = label
    return labels
