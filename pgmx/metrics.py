"""How far a learned graph is from another one: edges of DAGs, PDAGs and undirected graphs compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["SkeletonScores", "cpdag_shd", "shd", "skeleton_scores"]


class SkeletonScores(NamedTuple):
    """How well the pairs of neighbours of a true graph were found.

    Parameters
    ----------
    precision, recall, f1 : float
        Shares between 0 and 1, as `skeleton_scores` defines them.

    Examples
    --------
    >>> SkeletonScores(precision=1.0, recall=0.5, f1=2 / 3).recall
    0.5
    """

    precision: float
    recall: float
    f1: float


def shd(a: nx.Graph, b: nx.Graph) -> int:
    """Return the structural Hamming distance of two graphs.

    It is the number of pairs {u, v} whose mark differs, where the mark is one of: no edge, u → v, u ← v, u - v.
    A reversed edge counts once.

    Parameters
    ----------
    a, b : pgmpy DAG or PDAG, or networkx Graph or DiGraph
        Graphs on the same nodes. Two opposite edges are one undirected edge, as in pgmpy's ``PDAG``.

    Returns
    -------
    int
        0 for equal graphs, at most n(n-1)/2; symmetric in its arguments. Cost: linear in nodes and edges.

    Raises
    ------
    TypeError
        When an argument is no graph, or may have parallel edges.
    ValueError
        When the nodes differ, or an edge joins a node with itself.

    References
    ----------
    I. Tsamardinos, L. E. Brown, C. F. Aliferis. The max-min hill-climbing Bayesian network structure learning
    algorithm. Machine Learning 65, 2006, algorithm 4.

    Examples
    --------
    >>> import networkx as nx
    >>> shd(nx.DiGraph([("a", "b"), ("b", "c")]), nx.DiGraph([("b", "a"), ("b", "c")]))
    1
    """
    index = _shared_nodes(a, b)
    return _distance(_arcs(a, index), _arcs(b, index))


def cpdag_shd(a: nx.Graph, b: nx.Graph) -> int:
    """Return the structural Hamming distance of the equivalence classes of two graphs.

    Data alone cannot tell apart the DAGs of one Markov equivalence class; this distance does not either.

    Parameters
    ----------
    a, b : pgmpy DAG or PDAG, or networkx Graph or DiGraph
        Graphs on the same nodes. A DAG stands for its class and is turned into its CPDAG; a graph with undirected edges
        and a ``PDAG`` are taken as they are.

    Returns
    -------
    int
        As `shd`; 0 for two DAGs if and only if they are Markov equivalent.

    Raises
    ------
    TypeError
        When an argument is no graph, or may have parallel edges.
    ValueError
        When the nodes differ, or a directed graph has a cycle.

    Examples
    --------
    >>> import networkx as nx
    >>> chain, fork = nx.DiGraph([("a", "b"), ("b", "c")]), nx.DiGraph([("b", "a"), ("b", "c")])
    >>> cpdag_shd(chain, fork)
    0
    """
    index = _shared_nodes(a, b)
    return _distance(_class_arcs(a, index), _class_arcs(b, index))


def skeleton_scores(true_graph: nx.Graph, learned_graph: nx.Graph) -> SkeletonScores:
    """Compare which pairs of variables are joined, whatever the directions.

    Precision is the share of the learned pairs that are true, recall the share of the true pairs that were learned,
    F1 = 2 · both / (learned + true).

    Parameters
    ----------
    true_graph, learned_graph : pgmpy DAG or PDAG, or networkx Graph or DiGraph
        Graphs on the same nodes.

    Returns
    -------
    SkeletonScores
        A named tuple ``(precision, recall, f1)``. A share of nothing is 1: a graph without edges claims nothing false.

    Raises
    ------
    TypeError
        When an argument is no graph, or may have parallel edges.
    ValueError
        When the nodes differ, or an edge joins a node with itself.

    Examples
    --------
    >>> import networkx as nx
    >>> truth, learned = nx.DiGraph([("a", "b"), ("b", "c")]), nx.DiGraph([("b", "a")])
    >>> learned.add_node("c")
    >>> skeleton_scores(truth, learned)
    SkeletonScores(precision=1.0, recall=0.5, f1=0.6666666666666666)
    """
    index = _shared_nodes(true_graph, learned_graph)
    true, learned = ({frozenset(arc) for arc in _arcs(graph, index)} for graph in (true_graph, learned_graph))
    both = len(true & learned)
    return SkeletonScores(
        precision=both / len(learned) if learned else 1.0,
        recall=both / len(true) if true else 1.0,
        f1=2 * both / (len(true) + len(learned)) if true or learned else 1.0,
    )


def _shared_nodes(a: nx.Graph, b: nx.Graph) -> dict:
    """Return the position of each node, or raise when the graphs have different nodes."""
    import networkx as nx

    for graph in (a, b):
        if not isinstance(graph, nx.Graph) or graph.is_multigraph():
            raise TypeError(f"expected a pgmpy DAG or PDAG or a networkx graph; got {type(graph).__name__}")
    only_a = sorted(repr(node) for node in a if node not in b)
    only_b = sorted(repr(node) for node in b if node not in a)
    if only_a or only_b:
        raise ValueError(
            f"the graphs have different nodes: only the first has {{{', '.join(only_a)}}}, only the second has "
            f"{{{', '.join(only_b)}}}; add the missing ones, isolated if need be"
        )
    return {node: position for position, node in enumerate(a)}


def _arcs(graph: nx.Graph, index: dict) -> set[tuple[int, int]]:
    """Return the directed edges by position, an undirected one as both directions."""
    arcs = {(index[u], index[v]) for u, v in graph.edges()}
    for u, v in graph.edges():
        if u == v:
            raise ValueError(f"an edge joins the node {u!r} with itself; remove it")
    return arcs if graph.is_directed() else arcs | {(v, u) for u, v in arcs}


def _class_arcs(graph: nx.Graph, index: dict) -> set[tuple[int, int]]:
    """Return the arcs of a graph, or of the CPDAG when it is a DAG."""
    from pgmx.models.equivalence import cpdag
    from pgmx.search.constraints import find_cycle

    arcs = _arcs(graph, index)
    # A PDAG without undirected edges is no DAG to complete: its author may know the directions.
    if hasattr(graph, "undirected_edges") or any((v, u) in arcs for u, v in arcs):
        return arcs
    cycle = find_cycle(len(index), sorted(arcs))
    if cycle is not None:
        names = list(index)
        path = " -> ".join(repr(names[v]) for v in [*cycle, cycle[0]])
        raise ValueError(f"the graph has the cycle {path}; a DAG or PDAG is needed")
    directed, undirected = cpdag(len(index), arcs)
    return {*directed, *undirected, *((v, u) for u, v in undirected)}


def _distance(a: set[tuple[int, int]], b: set[tuple[int, int]]) -> int:
    # The mark of a pair is the set of its arcs: it differs exactly where some arc is in one graph alone.
    return len({frozenset(arc) for arc in a ^ b})
