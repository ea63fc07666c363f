"""Partial ancestral graphs: what data tell about causes if some causes may not be measured."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import networkx as nx

if TYPE_CHECKING:
    from pgmpy.base import AncestralBase

#: The marks of edges, as text at the left and at the right end of an edge.
MARKS = {"o": ("o", "o"), ">": ("<", ">"), "-": ("-", "-")}


class PAG(nx.Graph):
    r"""A partial ancestral graph: edges with a tail, an arrowhead or a circle at each end.

    The mark at v of an edge between u and v is

    - ``">"``, an arrowhead: v is not a cause (an ancestor) of u,
    - ``"-"``, a tail: v is a cause of u, or of the selection of the rows,
    - ``"o"``, a circle: the data do not decide.

    So ``u -> v`` means that u causes v, ``u <-> v`` that neither causes the other one and they have a hidden common
    cause, ``u o-> v`` that v does not cause u, ``u o-o v`` that nothing is known except that no set of measured
    variables separates them, and ``u --- v`` that the rows were selected by effects of both.

    Parameters
    ----------
    incoming_graph_data : iterable of edges, networkx.Graph or None, default=None
        Edges ``(u, v)`` with two circles, ``(u, v, mark at u, mark at v)`` as in pgmpy, or ``(u, v, attributes)``.
    **attributes
        Attributes of the graph, as in networkx, such as ``name``.

    Raises
    ------
    ValueError
        If a mark is not "o", ">" or "-", the marks do not belong to the ends of their edge, or an edge joins a node
        with itself.

    Notes
    -----
    Each edge has the attribute ``marks={u: mark, v: mark}``, as in pgmpy's ``AncestralBase``. The attribute
    ``p_value`` of edges that tests found is the largest p-value of the tests of the pair.

    A PAG represents all maximal ancestral graphs with the same conditional independencies, hence all DAGs with hidden
    and selected variables that imply them. A mark that is not a circle is the same in all of these graphs.

    References
    ----------
    .. [1] T. Richardson, P. Spirtes. Ancestral graph Markov models. Annals of Statistics 30, 2002.
    .. [2] J. Zhang. Causal reasoning with ancestral graphs. Journal of Machine Learning Research 9, 2008, definition 8
       and lemma 9.

    Examples
    --------
    >>> from pgmx.models import PAG
    >>> pag = PAG([("income", "smoking", "o", ">"), ("genes", "smoking", "o", ">"), ("smoking", "cancer", "-", ">")])
    >>> pag.describe_edge("smoking", "cancer")
    'smoking --> cancer'
    >>> sorted(pag.definite_parents("cancer")), sorted(pag.possible_ancestors("smoking"))
    (['smoking'], ['genes', 'income'])
    >>> pag.is_visible("smoking", "cancer")
    True
    """

    def __init__(self, incoming_graph_data: Iterable | None = None, **attributes: Any) -> None:
        data = incoming_graph_data
        if data is None or isinstance(data, nx.Graph | Mapping):
            super().__init__(data, **attributes)
        else:  # networkx would hide the error in an edge
            super().__init__(None, **attributes)
            self.add_edges_from(data)

    # ---- construction ----

    def add_edge(
        self,
        u_of_edge: Hashable,
        v_of_edge: Hashable,
        u_mark: str | None = None,
        v_mark: str | None = None,
        **attr: Any,
    ) -> None:
        """Add an edge, or change the marks of one.

        Parameters
        ----------
        u_of_edge, v_of_edge : hashable
            The two variables.
        u_mark, v_mark : {"o", ">", "-"}, optional
            The marks at the two ends. Default: the marks in the attribute ``marks``, if it is given; else the marks
            that the edge has, and circles for a new edge.
        **attr
            Attributes of the edge, as in networkx.

        Raises
        ------
        ValueError
            If a mark is unknown, ``marks`` has other ends, or both ends are the same.
        """
        u, v = u_of_edge, v_of_edge
        if u == v:
            raise ValueError(f"an edge joins {u!r} with itself; a PAG has no such edges")
        known = dict(attr.get("marks", self[u][v]["marks"] if self.has_edge(u, v) else {u: "o", v: "o"}))
        if known.keys() != {u, v}:
            raise ValueError(f"the marks of {u!r} and {v!r} are {known!r:.80}; expected {{{u!r}: mark, {v!r}: mark}}")
        marks = {u: known[u] if u_mark is None else u_mark, v: known[v] if v_mark is None else v_mark}
        for end, mark in marks.items():
            if mark not in MARKS:
                raise ValueError(f"the mark at {end!r} must be 'o', '>' or '-', got {mark!r:.40}")
        super().add_edge(u, v, **{**attr, "marks": marks})

    def add_edges_from(self, ebunch_to_add: Iterable[Sequence], **attr: Any) -> None:
        """Add edges.

        Parameters
        ----------
        ebunch_to_add : iterable of tuple
            Edges ``(u, v)``, ``(u, v, attributes)`` or ``(u, v, mark at u, mark at v)``.
        **attr
            Attributes of all edges, as in networkx.

        Raises
        ------
        ValueError
            As `add_edge`, and for tuples of another length.
        """
        for edge in ebunch_to_add:
            if len(edge) == 4:
                self.add_edge(*edge, **attr)
            elif len(edge) == 3 and isinstance(edge[2], Mapping):
                self.add_edge(edge[0], edge[1], **{**attr, **edge[2]})
            elif len(edge) == 2:
                self.add_edge(*edge, **attr)
            else:
                raise ValueError(
                    f"got the edge {edge!r:.80}; expected (u, v), (u, v, attributes) or (u, v, mark at u, mark at v)"
                )

    # ---- questions ----

    def possible_ancestors(self, v: Hashable) -> set:
        """Return the variables that may be causes of a variable.

        A possibly directed path leads from each of them to `v`: none of its edges has an arrowhead at the end towards
        the start of the path, or a tail at the end towards `v`.

        Parameters
        ----------
        v : hashable
            A variable.

        Returns
        -------
        set
            The variables; `v` is not among them. All others are certainly not causes of `v`. Cost: linear in the edges.

        Raises
        ------
        networkx.NetworkXError
            If `v` is not in the graph.

        Examples
        --------
        >>> PAG([("a", "b", "o", ">"), ("b", "c", ">", ">")]).possible_ancestors("b")
        {'a'}
        """
        self._check_node(v)
        waiting, seen = [v], {v}
        for near in waiting:  # grows meanwhile
            for far, attributes in self.adj[near].items():
                marks = attributes["marks"]
                if far not in seen and marks[far] != ">" and marks[near] != "-":
                    seen.add(far)
                    waiting.append(far)
        return seen - {v}

    def definite_parents(self, v: Hashable) -> set:
        """Return the variables u with an edge u -> v: each is a cause of `v`, perhaps over hidden variables.

        Parameters
        ----------
        v : hashable
            A variable.

        Returns
        -------
        set
            The variables with a tail at their own end and an arrowhead at `v`.

        Raises
        ------
        networkx.NetworkXError
            If `v` is not in the graph.

        Examples
        --------
        >>> PAG([("a", "b", "-", ">"), ("c", "b", "o", ">")]).definite_parents("b")
        {'a'}
        """
        self._check_node(v)
        return {u for u, marks in self.adj[v].items() if marks["marks"] == {u: "-", v: ">"}}

    def is_visible(self, u: Hashable, v: Hashable) -> bool:
        """Return whether the edge u -> v is visible: u and v certainly have no hidden common cause.

        It is visible if there is a variable c, not adjacent to v, with an edge into u, or with a path into u on which
        each inner variable is a collider and a parent of v (Zhang 2008, definition 8). The effect of a visible edge can
        be estimated by adjustment; an invisible one may be partly due to a hidden common cause.

        Parameters
        ----------
        u, v : hashable
            Two adjacent variables.

        Returns
        -------
        bool
            False also for edges other than u -> v. Cost: linear in the edges at the parents of `v`.

        Raises
        ------
        networkx.NetworkXError
            If no edge joins `u` and `v`.

        Examples
        --------
        >>> pag = PAG([("a", "b", "-", ">"), ("c", "a", "o", ">")])
        >>> pag.is_visible("a", "b"), pag.is_visible("c", "a")
        (True, False)
        """
        if not self.has_edge(u, v):
            raise nx.NetworkXError(f"no edge joins {u!r} and {v!r}")
        parents = self.definite_parents(v)
        if u not in parents:
            return False
        waiting, seen = [u], {u}
        for w in waiting:  # grows meanwhile; a collider path from w to u, each vertex before u a parent of v
            for c, attributes in self.adj[w].items():
                marks = attributes["marks"]
                if c in seen or c == v or marks[w] != ">":
                    continue
                if not self.has_edge(c, v):
                    return True
                if c in parents and marks[c] == ">":
                    seen.add(c)
                    waiting.append(c)
        return False

    def describe_edge(self, u: Hashable, v: Hashable) -> str:
        """Return an edge as text, such as ``a o-> b``.

        Parameters
        ----------
        u, v : hashable
            Two adjacent variables.

        Returns
        -------
        str
            The edge from `u` to `v` with one of the signs ``-->``, ``<--``, ``<->``, ``o->``, ``<-o``, ``o-o``,
            ``o--``, ``--o`` and ``---``.

        Examples
        --------
        >>> PAG([("a", "b", "o", ">")]).describe_edge("b", "a")
        'b <-o a'
        """
        marks = self.edges[u, v]["marks"]
        return f"{u} {MARKS[marks[u]][0]}-{MARKS[marks[v]][1]} {v}"

    def to_pgmpy(self) -> "AncestralBase":
        """Return the graph as pgmpy's class of ancestral graphs.

        Returns
        -------
        pgmpy.base.AncestralBase
            A graph with the same nodes and marks, and no other attributes.

        Examples
        --------
        >>> graph = PAG([("a", "b", "o", ">")]).to_pgmpy()
        >>> graph.edges["a", "b"]["marks"]
        {'a': 'o', 'b': '>'}
        """
        from pgmpy.base import AncestralBase

        graph = AncestralBase()
        graph.add_nodes_from(self.nodes())
        graph.add_edges_from((u, v, marks[u], marks[v]) for u, v, marks in self.edges(data="marks"))
        return graph

    def _check_node(self, v: Hashable) -> None:
        if v not in self:
            raise nx.NetworkXError(f"the node {v!r} is not in the graph")


def to_pag(names: Sequence, edges: Iterable[tuple[int, int, str, str, float]]) -> PAG:
    """Make a PAG from edges (u, v, mark at u, mark at v, p-value) between positions in `names`.

    Nodes are in the order of `names`, including isolated ones; edges are sorted.
    """
    graph = PAG()
    graph.add_nodes_from(names)
    for u, v, u_mark, v_mark, p_value in sorted(edges):
        graph.add_edge(names[u], names[v], u_mark, v_mark, p_value=p_value)
    return graph
