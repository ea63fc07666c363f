"""The graph of a Markov equivalence class: what data and knowledge can say about the directions of a DAG."""

from collections.abc import Iterable

from pgmx.graphs.cycles import find_cycle


def cpdag(
    n: int, edges: Iterable[tuple[int, int]], *, compelled: Iterable[tuple[int, int]] = ()
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the directed and the undirected edges of the equivalence class of a DAG.

    DAGs are equivalent when they have the same skeleton and v-structures (a → c ← b with a and b not adjacent) [1]_. An
    edge is directed when all those that have the ``compelled`` edges agree on its direction [3]_. Meek's rules [2]_
    orient, from what is directed already (``→``) and what is not (``-``):

    - R1: a → b - c, a and c not adjacent: b → c
    - R2: a → b → c, a - c: a → c
    - R3: a - b, a - c, a - d, c → b, d → b, c and d not adjacent: a → b
    - R4: a - b, a - d, d → c → b, a and c adjacent, b and d not: a → b (needed with background knowledge only)

    Parameters
    ----------
    n : int
        Number of variables.
    edges : iterable of (int, int)
        Edges (tail, head) of a DAG on ids 0..n-1.
    compelled : iterable of (int, int), default=()
        Edges of the DAG whose direction is known beforehand, such as required ones, or ones whose reversal is forbidden
        (`EdgeConstraints.forces_direction`).

    Returns
    -------
    directed : list of (int, int)
        Edges (tail, head), sorted.
    undirected : list of (int, int)
        Edges (u, v) with u < v, sorted.

    Raises
    ------
    ValueError
        For ids outside 0..n-1, a cycle, or a compelled edge that is not in the DAG.

    Notes
    -----
    A worklist holds the edges directed so far. A rule can begin to apply only when one of its arrows has just been
    drawn, so each arrow is looked at once, among the neighbours of its two ends: about the number of edges times the
    squared degree, and no sweep over pairs of variables.

    References
    ----------
    .. [1] T. Verma, J. Pearl. Equivalence and synthesis of causal models. UAI 1990, theorem 1.
    .. [2] C. Meek. Causal inference and causal explanation with background knowledge. UAI 1995, figure 1.
    .. [3] D. M. Chickering. Learning equivalence classes of Bayesian-network structures. JMLR 2, 2002.

    Examples
    --------
    >>> cpdag(4, [(0, 2), (1, 2), (2, 3)])
    ([(0, 2), (1, 2), (2, 3)], [])
    >>> cpdag(3, [(0, 1), (1, 2)])
    ([], [(0, 1), (1, 2)])
    >>> cpdag(3, [(0, 1), (1, 2)], compelled=[(0, 1)])
    ([(0, 1), (1, 2)], [])
    """
    pairs = _check_dag(n, edges)
    closure = _Closure(n, pairs)
    for tail, head in sorted(pairs):
        if closure.collides(tail, head):
            closure.orient(tail, head)
    for tail, head in compelled:
        if (tail, head) not in pairs:
            raise ValueError(f"compelled edge {(tail, head)} is not an edge of the DAG")
        closure.orient(tail, head)
    closure.close()
    directed = sorted((tail, head) for tail in range(n) for head in closure.heads[tail])
    undirected = sorted((u, v) for u in range(n) for v in closure.loose[u] if u < v)
    return directed, undirected


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


class _Closure:
    """Sets of neighbours by kind of mark, and the worklist of arrows whose consequences are not drawn yet."""

    def __init__(self, n: int, pairs: set[tuple[int, int]]) -> None:
        self.adjacent: list[set[int]] = [set() for _ in range(n)]
        self.parents: list[set[int]] = [set() for _ in range(n)]  # of the DAG
        for tail, head in pairs:
            self.adjacent[tail].add(head)
            self.adjacent[head].add(tail)
            self.parents[head].add(tail)
        self.loose = [set(neighbours) for neighbours in self.adjacent]  # joined by an undirected edge
        self.heads: list[set[int]] = [set() for _ in range(n)]
        self.tails: list[set[int]] = [set() for _ in range(n)]
        self.worklist: list[tuple[int, int]] = []

    def collides(self, tail: int, head: int) -> bool:
        """Return whether tail → head meets an arrow from a variable not adjacent to tail."""
        return len(self.parents[head] - self.adjacent[tail]) > 1  # the tail itself is one of the difference

    def orient(self, tail: int, head: int) -> None:
        """Direct an edge, once."""
        if head in self.loose[tail]:
            self.loose[tail].discard(head)
            self.loose[head].discard(tail)
            self.heads[tail].add(head)
            self.tails[head].add(tail)
            self.worklist.append((tail, head))

    def close(self) -> None:
        """Apply the four rules until none applies."""
        while self.worklist:
            tail, head = self.worklist.pop()
            self._chains(tail, head)
            self._diamonds(tail, head)

    def _chains(self, tail: int, head: int) -> None:
        """Apply R1, and R2 with tail → head as its first or its second arrow."""
        adjacent, loose = self.adjacent, self.loose
        for other in list(loose[head] - adjacent[tail]):
            self.orient(head, other)
        for other in list(loose[tail] & self.heads[head]):
            self.orient(tail, other)
        for other in list(loose[head] & self.tails[tail]):
            self.orient(other, head)

    def _diamonds(self, tail: int, head: int) -> None:
        """Apply R3 with tail → head as one of its arrows, and R4 with it as its first.

        R4's second arrow needs no check: R1 draws it as soon as the first one is drawn.
        """
        adjacent, loose, tails = self.adjacent, self.loose, self.tails
        for top in list(loose[head] & loose[tail]):
            if any(other not in adjacent[tail] for other in tails[head] & loose[top] if other != tail):
                self.orient(top, head)
        for last in list(self.heads[head] - adjacent[tail]):
            for top in list(loose[last] & loose[tail] & adjacent[head]):
                self.orient(top, last)
