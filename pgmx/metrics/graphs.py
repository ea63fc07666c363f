"""Comparison of the edges of two graphs: DAGs, PDAGs, PAGs and undirected graphs."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from pgmx.checks import check_same_names
from pgmx.fitted import FittedLearner, get_graph
from pgmx.graphs.cycles import describe_cycle, find_cycle
from pgmx.graphs.equivalence import cpdag

if TYPE_CHECKING:
    import networkx as nx

    GraphLike: TypeAlias = nx.Graph | FittedLearner

Edge = tuple[Hashable, str, Hashable]


class SkeletonScores(NamedTuple):
    """Precision, recall and F1 of the pairs of neighbours.

    Parameters
    ----------
    precision, recall, f1 : float
        Shares between 0 and 1, defined in `skeleton_scores`.

    Examples
    --------
    >>> SkeletonScores(precision=1.0, recall=0.5, f1=2 / 3).recall
    0.5
    """

    precision: float
    recall: float
    f1: float


class DirectionScores(NamedTuple):
    """Precision, recall and F1 of the arrows.

    Parameters
    ----------
    precision, recall, f1 : float
        Shares between 0 and 1, defined in `direction_scores`.

    Examples
    --------
    >>> DirectionScores(precision=1.0, recall=0.5, f1=2 / 3).precision
    1.0
    """

    precision: float
    recall: float
    f1: float


class MarkScores(NamedTuple):
    """Precision, recall and F1 of one kind of mark at the ends of edges of PAGs.

    Parameters
    ----------
    precision, recall, f1 : float
        Shares between 0 and 1, defined in `arrowhead_scores` and `tail_scores`.

    Examples
    --------
    >>> MarkScores(precision=1.0, recall=0.5, f1=2 / 3).f1
    0.6666666666666666
    """

    precision: float
    recall: float
    f1: float


class EdgeDifferences(NamedTuple):
    """Differences between a graph and a reference, pair by pair.

    An edge is a tuple ``(u, "->", v)`` or ``(u, "--", v)``.

    Parameters
    ----------
    added : list of tuple
        Edges of the graph between variables that the reference does not join.
    missing : list of tuple
        Edges of the reference between variables that the graph does not join.
    reversed : list of tuple
        Arrows of the graph that have the opposite direction in the reference.
    directed : list of tuple
        Arrows of the graph whose pair is undirected in the reference.
    undirected : list of tuple
        Undirected edges of the graph whose pair is directed in the reference.

    Examples
    --------
    >>> EdgeDifferences([("a", "->", "b")], [], [], [], []).added
    [('a', '->', 'b')]
    """

    added: list[Edge]
    missing: list[Edge]
    reversed: list[Edge]
    directed: list[Edge]
    undirected: list[Edge]


def shd(a: GraphLike, b: GraphLike) -> int:
    """Return the structural Hamming distance of two graphs.

    It is the number of pairs {u, v} with a different mark. The mark is one of: no edge, u → v, u ← v, u - v. A reversed
    edge counts once. In PAGs, a pair counts once if it has an edge in one graph only, or another mark at one end or
    both.

    Parameters
    ----------
    a, b : pgmpy DAG or PDAG, networkx Graph or DiGraph, PAG, or fitted learner
        Graphs on the same nodes. Two opposite edges are one undirected edge, as in pgmpy's ``PDAG``. A PAG is compared
        with a PAG.

    Returns
    -------
    int
        0 for equal graphs, at most n(n-1)/2; symmetric in its arguments. Cost: linear in nodes and edges.

    Raises
    ------
    TypeError, ValueError
        If an argument is not a graph or learner, or may have parallel edges, only one is a PAG, the nodes differ, or an
        edge joins a node with itself.

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
    a, b, index = _read_graphs(a, b, with_pags=True)
    if _is_pag(a):
        ours, theirs = _list_marks(a, index), _list_marks(b, index)
        return len({frozenset(end) for end, _ in ours.items() ^ theirs.items()})
    return _count_differences(_list_arcs(a, index), _list_arcs(b, index))


def cpdag_shd(a: GraphLike, b: GraphLike) -> int:
    """Return the structural Hamming distance of the equivalence classes of two graphs.

    Data alone cannot distinguish the DAGs of a Markov equivalence class, and this distance does not distinguish them.

    Parameters
    ----------
    a, b : pgmpy DAG or PDAG, networkx Graph or DiGraph, or fitted learner
        Graphs on the same nodes. A DAG is converted to the CPDAG of its class; a graph with undirected edges and a
        ``PDAG`` are not changed.

    Returns
    -------
    int
        As `shd`; 0 for two DAGs if and only if they are Markov equivalent.

    Raises
    ------
    TypeError, ValueError
        As `shd`, and if a directed graph has a cycle.

    Examples
    --------
    >>> import networkx as nx
    >>> chain, fork = nx.DiGraph([("a", "b"), ("b", "c")]), nx.DiGraph([("b", "a"), ("b", "c")])
    >>> cpdag_shd(chain, fork)
    0
    """
    a, b, index = _read_graphs(a, b)
    return _count_differences(_list_class_arcs(a, index), _list_class_arcs(b, index))


def skeleton_scores(true_graph: GraphLike, learned_graph: GraphLike) -> SkeletonScores:
    """Compare the joined pairs of variables of two graphs, without directions.

    Precision is the share of the learned pairs that are true, recall is the share of the true pairs that were learned,
    and F1 = 2 · both / (learned + true).

    Parameters
    ----------
    true_graph, learned_graph : pgmpy DAG or PDAG, networkx Graph or DiGraph, or fitted learner
        Graphs on the same nodes.

    Returns
    -------
    SkeletonScores
        A named tuple ``(precision, recall, f1)``. A share without any pairs is 1: an empty graph has no false edges.

    Raises
    ------
    TypeError, ValueError
        If an argument is not a graph or learner, or may have parallel edges, the nodes differ, or an edge joins a node
        with itself.

    Examples
    --------
    >>> import networkx as nx
    >>> truth, learned = nx.DiGraph([("a", "b"), ("b", "c")]), nx.DiGraph([("b", "a")])
    >>> learned.add_node("c")
    >>> skeleton_scores(truth, learned)
    SkeletonScores(precision=1.0, recall=0.5, f1=0.6666666666666666)
    """
    true_graph, learned_graph, index = _read_graphs(true_graph, learned_graph, with_pags=None)
    true, learned = ({frozenset(arc) for arc in _list_arcs(graph, index)} for graph in (true_graph, learned_graph))
    return SkeletonScores(*_compute_scores(true, learned))


def direction_scores(
    true_graph: GraphLike, learned_graph: GraphLike, *, equivalence_class: bool = False
) -> DirectionScores:
    """Compare the arrows of two graphs.

    Precision is the share of the learned arrows u → v that are in the true graph with the same direction. Recall is the
    share of the true arrows that were learned with the same direction. F1 = 2 · both / (learned + true). An undirected
    edge is not an arrow. In the learned graph it reduces recall but not precision; in the true graph, a learned arrow
    for it reduces precision.

    Parameters
    ----------
    true_graph, learned_graph : pgmpy DAG or PDAG, networkx Graph or DiGraph, or fitted learner
        Graphs on the same nodes.
    equivalence_class : bool, default=False
        If True, a DAG is converted to its CPDAG first, as in `cpdag_shd`: directions that data cannot identify do not
        count.

    Returns
    -------
    DirectionScores
        A named tuple ``(precision, recall, f1)``. A share without any arrows is 1: an empty graph has no false arrows.

    Raises
    ------
    TypeError, ValueError
        As `shd`, and if a DAG is needed and the graph has a cycle.

    Examples
    --------
    >>> import networkx as nx
    >>> truth, learned = nx.DiGraph([("a", "b"), ("b", "c")]), nx.DiGraph([("b", "a"), ("b", "c")])
    >>> direction_scores(truth, learned)
    DirectionScores(precision=0.5, recall=0.5, f1=0.5)
    >>> direction_scores(truth, learned, equivalence_class=True)
    DirectionScores(precision=1.0, recall=1.0, f1=1.0)
    """
    true_graph, learned_graph, index = _read_graphs(true_graph, learned_graph)
    arcs_of = _list_class_arcs if equivalence_class else _list_arcs
    true, learned = (_list_arrows(arcs_of(graph, index)) for graph in (true_graph, learned_graph))
    return DirectionScores(*_compute_scores(true, learned))


def arrowhead_scores(true_graph: GraphLike, learned_graph: GraphLike) -> MarkScores:
    """Compare the arrowheads of two PAGs.

    An arrowhead at v of an edge between u and v says that v is not a cause of u. Precision is the share of the learned
    arrowheads that are at the same end of the same edge of the true graph, recall is the share of the true arrowheads
    that were learned, and F1 = 2 · both / (learned + true). A circle is neither an arrowhead nor a tail.

    Parameters
    ----------
    true_graph, learned_graph : PAG or fitted learner of one
        Graphs on the same nodes.

    Returns
    -------
    MarkScores
        A named tuple ``(precision, recall, f1)``. A share without any arrowheads is 1.

    Raises
    ------
    TypeError, ValueError
        If an argument is not a PAG or a learner of one, or the nodes differ.

    Examples
    --------
    >>> from pgmx.models import PAG
    >>> truth, learned = PAG([("a", "b", "o", ">"), ("b", "c", ">", ">")]), PAG([("a", "b", ">", ">")])
    >>> learned.add_node("c")
    >>> arrowhead_scores(truth, learned)
    MarkScores(precision=0.5, recall=0.3333333333333333, f1=0.4)
    """
    return _compare_marks(true_graph, learned_graph, ">")


def tail_scores(true_graph: GraphLike, learned_graph: GraphLike) -> MarkScores:
    """Compare the tails of two PAGs.

    A tail at u of an edge between u and v says that u is a cause of v or of the selection of the rows. Precision,
    recall and F1 are defined as in `arrowhead_scores`.

    Parameters
    ----------
    true_graph, learned_graph : PAG or fitted learner of one
        Graphs on the same nodes.

    Returns
    -------
    MarkScores
        A named tuple ``(precision, recall, f1)``. A share without any tails is 1.

    Raises
    ------
    TypeError, ValueError
        As `arrowhead_scores`.

    Examples
    --------
    >>> from pgmx.models import PAG
    >>> tail_scores(PAG([("a", "b", "-", ">")]), PAG([("a", "b", "o", ">")]))
    MarkScores(precision=1.0, recall=0.0, f1=0.0)
    """
    return _compare_marks(true_graph, learned_graph, "-")


def edge_differences(reference: GraphLike, graph: GraphLike, *, equivalence_class: bool = False) -> EdgeDifferences:
    """List the edges in which a graph differs from a reference.

    Every pair of variables with a different mark is in exactly one list. The total number of listed edges is `shd`
    (`cpdag_shd` with `equivalence_class`).

    Parameters
    ----------
    reference, graph : pgmpy DAG or PDAG, networkx Graph or DiGraph, or fitted learner
        Graphs on the same nodes.
    equivalence_class : bool, default=False
        If True, a DAG is converted to its CPDAG first, as in `cpdag_shd`.

    Returns
    -------
    EdgeDifferences
        A named tuple ``(added, missing, reversed, directed, undirected)`` of lists, in the order of the reference's
        nodes.

    Raises
    ------
    TypeError, ValueError
        As `shd`, and if a DAG is needed and the graph has a cycle.

    Examples
    --------
    >>> import networkx as nx
    >>> reference, graph = nx.DiGraph([("a", "b"), ("b", "c")]), nx.DiGraph([("b", "a"), ("a", "c")])
    >>> differences = edge_differences(reference, graph)
    >>> differences.added, differences.missing, differences.reversed
    ([('a', '->', 'c')], [('b', '->', 'c')], [('b', '->', 'a')])
    """
    reference, graph, index = _read_graphs(reference, graph)
    names = list(index)
    arcs_of = _list_class_arcs if equivalence_class else _list_arcs
    there, here = arcs_of(reference, index), arcs_of(graph, index)
    differences = EdgeDifferences([], [], [], [], [])
    for u, v in sorted({(min(arc), max(arc)) for arc in there ^ here}):
        old, new = (((u, v) in arcs, (v, u) in arcs) for arcs in (there, here))
        if not any(old):
            kind = differences.added
        elif not any(new):
            kind = differences.missing
        elif all(new):
            kind = differences.undirected
        else:
            kind = differences.directed if all(old) else differences.reversed
        shown = new if any(new) else old
        tail, head = (u, v) if shown[0] else (v, u)
        kind.append((names[tail], "--" if all(shown) else "->", names[head]))
    return differences


def _compute_scores(true: set, learned: set) -> tuple[float, float, float]:
    """Return precision, recall and F1 of a set of edges."""
    both = len(true & learned)
    return (
        both / len(learned) if learned else 1.0,
        both / len(true) if true else 1.0,
        2 * both / (len(true) + len(learned)) if true or learned else 1.0,
    )


def _list_arrows(arcs: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Return the arcs without an opposite arc."""
    return {(u, v) for u, v in arcs if (v, u) not in arcs}


def _compare_marks(true_graph: GraphLike, learned_graph: GraphLike, mark: str) -> MarkScores:
    """Return the scores of the ends of edges that have a mark."""
    true_graph, learned_graph, index = _read_graphs(true_graph, learned_graph, with_pags=True)
    if not _is_pag(true_graph):
        raise TypeError(f"expected a PAG or a learner of one, got {type(true_graph).__name__}: use direction_scores")
    true, learned = (
        {end for end, own in _list_marks(graph, index).items() if own == mark} for graph in (true_graph, learned_graph)
    )
    return MarkScores(*_compute_scores(true, learned))


def _read_graphs(
    a: GraphLike, b: GraphLike, *, with_pags: bool | None = False
) -> tuple[nx.Graph, nx.Graph, dict[Hashable, int]]:
    """Return both graphs and the position of each node; raise an error if they have different nodes.

    `with_pags`: whether two PAGs are accepted; None accepts all kinds together, for functions that read no marks.
    """
    import networkx as nx

    graphs = get_graph(a), get_graph(b)
    for graph in graphs:
        if not isinstance(graph, nx.Graph) or graph.is_multigraph():
            raise TypeError(
                f"expected a pgmpy DAG or PDAG, a networkx graph or a fitted learner; got {type(graph).__name__}"
            )
    are_pags = [_is_pag(graph) for graph in graphs]
    if any(are_pags) and with_pags is False:
        raise TypeError("PAGs are compared by shd, skeleton_scores, arrowhead_scores and tail_scores")
    if with_pags and are_pags[0] != are_pags[1]:
        other = graphs[are_pags.index(False)]
        raise TypeError(
            f"a PAG can be compared with a PAG only, got {type(other).__name__}. FCI with a test that answers from the "
            "DAG gives the PAG of the DAG; skeleton_scores compares all graphs"
        )
    check_same_names(*graphs, "the first graph", "the second", "nodes", "Add missing nodes, isolated if need be")
    return *graphs, {node: position for position, node in enumerate(graphs[0])}


def _is_pag(graph: nx.Graph) -> bool:
    """Return whether a graph is a PAG or, as pgmpy's ancestral graphs, has marks at all ends of its edges."""
    from pgmx.models.pag import PAG

    if isinstance(graph, PAG):
        return True
    return graph.number_of_edges() > 0 and all(marks is not None for _, _, marks in graph.edges(data="marks"))


def _list_marks(graph: nx.Graph, index: dict[Hashable, int]) -> dict[tuple[int, int], str]:
    """Return ``{(u, v): mark at v}`` by position, for both ends of each edge."""
    edges = list(graph.edges(data="marks"))
    return {(index[a], index[b]): marks[b] for u, v, marks in edges for a, b in ((u, v), (v, u))}


def _list_arcs(graph: nx.Graph, index: dict[Hashable, int]) -> set[tuple[int, int]]:
    """Return the directed edges by position, an undirected one as both directions."""
    arcs = {(index[u], index[v]) for u, v in graph.edges()}
    for u, v in graph.edges():
        if u == v:
            raise ValueError(f"an edge joins the node {u!r} with itself; remove it")
    return arcs if graph.is_directed() else arcs | {(v, u) for u, v in arcs}


def _list_class_arcs(graph: nx.Graph, index: dict[Hashable, int]) -> set[tuple[int, int]]:
    """Return the arcs of a graph, or of its CPDAG if it is a DAG."""
    arcs = _list_arcs(graph, index)
    # A PDAG without undirected edges is not converted: its author may know the directions.
    if hasattr(graph, "undirected_edges") or any((v, u) in arcs for u, v in arcs):
        return arcs
    cycle = find_cycle(len(index), sorted(arcs))
    if cycle is not None:
        names = list(index)
        path = describe_cycle(names, cycle)
        raise ValueError(f"the graph has the cycle {path}; a DAG or PDAG is needed")
    directed, undirected = cpdag(len(index), arcs)
    return {*directed, *undirected, *((v, u) for u, v in undirected)}


def _count_differences(a: set[tuple[int, int]], b: set[tuple[int, int]]) -> int:
    # The mark of a pair is the set of its arcs. It differs if and only if an arc is in only one of the graphs.
    return len({frozenset(arc) for arc in a ^ b})
