"""The DAG whose families a score adds up: a DAG itself, or a DAG of the class of a partially directed graph."""

from collections.abc import Callable, Hashable
from typing import Any

import networkx as nx

from pgmx.fitted import get_dag
from pgmx.graphs.consensus import make_marks
from pgmx.graphs.cycles import describe_cycle, find_cycle
from pgmx.graphs.extension import find_extension

_REMEDY = "score a DAG, such as dag_ of a learner"


def find_scored_dag(source: Any, score: str, allows: Callable[[Hashable, Hashable], bool] | None) -> nx.DiGraph:
    """Return a DAG with the arrows and the colliders of a graph; raise if there is none.

    `score` is the name of the score in errors, and `allows(tail, head)` is whether it has an arc; None if equivalent
    DAGs may have different scores.
    """
    graph = get_dag(source)
    if not isinstance(graph, nx.DiGraph) or graph.is_multigraph():
        raise TypeError(
            f"{score} scores a pgmpy DAG or PDAG, a networkx DiGraph or a fitted learner, got {type(graph).__name__}"
        )
    names = list(graph.nodes())
    place = {name: v for v, name in enumerate(names)}
    pairs = {(place[u], place[v]) for u, v in graph.edges()}
    lines = {(u, v) for u, v in pairs if (v, u) in pairs and u < v}
    if lines and allows is None:
        u, v = min(lines)
        raise ValueError(
            f"{names[u]!r} and {names[v]!r} have an undirected edge, and {score} may give the DAGs of a class "
            f"different scores: {_REMEDY}"
        )
    arcs = {(u, v) for u, v in pairs if (v, u) not in pairs or u == v}
    if allows is not None:
        for u, v in sorted(lines):
            if allows(names[u], names[v]) != allows(names[v], names[u]):
                arcs.add((u, v) if allows(names[u], names[v]) else (v, u))
                lines.discard((u, v))
    cycle = find_cycle(len(names), sorted(arcs))
    if cycle is not None:
        raise ValueError(f"the graph has the directed cycle {describe_cycle(names, cycle)}: {_REMEDY}")
    if not lines and len(arcs) == graph.number_of_edges():
        return graph
    edges, n_new = find_extension(len(names), make_marks(arcs, lines))
    if n_new:
        raise ValueError(f"no DAG has exactly the arrows and the colliders of the graph: {_REMEDY}")
    dag = nx.DiGraph()
    dag.add_nodes_from(names)
    dag.add_edges_from((names[u], names[v]) for u, v in edges.tolist())
    return dag
