"""The graph of a Markov equivalence class (CPDAG), with or without background knowledge and interventions."""

from collections.abc import Collection, Iterable

from pgmx.graphs.cycles import find_cycle
from pgmx.graphs.partial_dag import PartialDag


def cpdag(
    n: int,
    edges: Iterable[tuple[int, int]],
    *,
    compelled: Iterable[tuple[int, int]] = (),
    targets: Iterable[Collection[int]] = (),
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the directed and the undirected edges of the equivalence class of a DAG.

    DAGs are equivalent when they have the same skeleton and v-structures (a → c ← b with a and b not adjacent) [1]_. An
    edge is directed if all equivalent DAGs with the ``compelled`` edges agree on its direction [3]_. Meek's rules [2]_
    orient further edges from directed (``→``) and undirected (``-``) edges:

    - R1: a → b - c, a and c not adjacent: b → c
    - R2: a → b → c, a - c: a → c
    - R3: a - b, a - c, a - d, c → b, d → b, c and d not adjacent: a → b
    - R4: a - b, a - d, d → c → b, a and c adjacent, b and d not: a → b (needed with background knowledge only)

    With ``targets``, data come from experiments. In the rows of a target its variables were set, so that their parents
    had no influence. An edge then has a known direction if some target contains exactly one of its ends. The result is
    the interventional essential graph [5]_.

    Parameters
    ----------
    n : int
        Number of variables.
    edges : iterable of (int, int)
        Edges (tail, head) of a DAG on ids 0..n-1.
    compelled : iterable of (int, int), default=()
        Edges of the DAG with a known direction, such as required edges and edges with a forbidden reversal
        (`EdgeConstraints.forces_direction`).
    targets : iterable of collections of int, default=()
        The sets of variables that were set together in some rows. The empty set, of rows without intervention, may be
        among them, and changes nothing. Each variable should be outside of at least one set of the rows, as in [5]_.

    Returns
    -------
    directed : list of (int, int)
        Edges (tail, head), sorted.
    undirected : list of (int, int)
        Edges (u, v) with u < v, sorted.

    Raises
    ------
    ValueError
        For ids outside 0..n-1, in edges or targets, a cycle, or a compelled edge that is not in the DAG.

    Notes
    -----
    Without ``compelled`` edges, one pass in topological order labels the edges into each variable from the edges into
    its last parent [4]_. The cost is about the number of edges times the degree. With ``compelled`` edges a worklist
    holds the directed edges. A rule becomes applicable only after one of its edges has been directed. So each directed
    edge is examined once, among the neighbours of its ends: about the number of edges times the squared degree.

    References
    ----------
    .. [1] T. Verma, J. Pearl. Equivalence and synthesis of causal models. UAI 1990, theorem 1.
    .. [2] C. Meek. Causal inference and causal explanation with background knowledge. UAI 1995, figure 1.
    .. [3] D. M. Chickering. Learning equivalence classes of Bayesian-network structures. JMLR 2, 2002.
    .. [4] D. M. Chickering. A transformational characterization of equivalent Bayesian network structures. UAI 1995,
       section 5, algorithm Label-Edges.
    .. [5] A. Hauser, P. Bühlmann. Characterization and greedy learning of interventional Markov equivalence classes of
       directed acyclic graphs. JMLR 13, 2012, theorems 10 and 18.

    Examples
    --------
    >>> cpdag(4, [(0, 2), (1, 2), (2, 3)])
    ([(0, 2), (1, 2), (2, 3)], [])
    >>> cpdag(3, [(0, 1), (1, 2)])
    ([], [(0, 1), (1, 2)])
    >>> cpdag(3, [(0, 1), (1, 2)], compelled=[(0, 1)])
    ([(0, 1), (1, 2)], [])

    After an experiment on variable 2, the edge to it is known, and no other:

    >>> cpdag(3, [(0, 1), (1, 2)], targets=[[], [2]])
    ([(1, 2)], [(0, 1)])
    """
    pairs = _check_dag(n, edges)
    compelled = list(compelled)
    for edge in compelled:
        if tuple(edge) not in pairs:
            raise ValueError(f"compelled edge {tuple(edge)} is not an edge of the DAG")
    compelled += find_decided(n, pairs, targets)
    if not compelled:
        return _label_edges(n, pairs)
    graph = PartialDag.from_dag(n, pairs, compelled)
    directed = sorted((tail, head) for tail in range(n) for head in graph.children[tail])
    undirected = sorted((u, v) for u in range(n) for v in graph.neighbours[u] if u < v)
    return directed, undirected


def find_decided(n: int, edges: Iterable[tuple[int, int]], targets: Iterable[Collection[int]]) -> list[tuple[int, int]]:
    """Return the edges of which some target contains exactly one end."""
    groups = group_by_targets(n, targets)
    return [(tail, head) for tail, head in edges if groups[tail] != groups[head]]


def group_by_targets(n: int, targets: Iterable[Collection[int]]) -> list[int]:
    """Return a number per variable; variables in the same targets have the same number."""
    signatures: list[tuple[int, ...]] = [()] * n
    for i, target in enumerate(targets):
        for v in set(map(int, target)):
            if not 0 <= v < n:
                raise ValueError(f"target {list(target)} has an id outside 0..{n - 1}")
            signatures[v] += (i,)
    numbers = {signature: i for i, signature in enumerate(dict.fromkeys(signatures))}
    return [numbers[signature] for signature in signatures]


def _check_dag(n: int, edges: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
    """Return the edges as a set of pairs of Python integers, or raise."""
    pairs = {(int(tail), int(head)) for tail, head in edges}
    for tail, head in pairs:
        if not (0 <= tail < n and 0 <= head < n):
            raise ValueError(f"edge {(tail, head)} has an id outside 0..{n - 1}")
    cycle = find_cycle(n, sorted(pairs))
    if cycle is not None:
        raise ValueError(f"the edges form the cycle {[*cycle, cycle[0]]}; a DAG is needed")
    return pairs


def _label_edges(n: int, pairs: set[tuple[int, int]]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the compelled and the reversible edges of a DAG, sorted."""
    parents: list[set[int]] = [set() for _ in range(n)]
    children: list[list[int]] = [[] for _ in range(n)]
    for tail, head in pairs:
        parents[head].add(tail)
        children[tail].append(head)
    n_before = [len(of_v) for of_v in parents]
    order = [v for v in range(n) if not n_before[v]]
    for v in order:  # which grows
        for head in children[v]:
            n_before[head] -= 1
            if not n_before[head]:
                order.append(head)
    rank = {v: i for i, v in enumerate(order)}
    compelled: list[set[int]] = [set() for _ in range(n)]  # by head
    for head in order:
        of_head = parents[head]
        if of_head:
            last = max(of_head, key=rank.__getitem__)
            is_strong = not compelled[last] <= of_head or not of_head - {last} <= parents[last]
            compelled[head] = of_head if is_strong else compelled[last]
    directed = sorted((tail, head) for head in range(n) for tail in compelled[head])
    undirected = sorted((min(pair), max(pair)) for pair in pairs if pair[0] not in compelled[pair[1]])
    return directed, undirected
