"""What a user knows about the edges, as the integer arrays that a search reads.

The names of variables stop here: behind this module a search sees ids and one byte per ordered pair. How names are read
is in :mod:`pgmx.search.knowledge.knowledge`; here statements are put together and contradictions found.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pgmx.graphs.cycles import find_cycle
from pgmx.search.knowledge.knowledge import Knowledge, read_knowledge

__all__ = ["EdgeConstraints", "constraints_from_knowledge", "constraints_from_options", "find_cycle"]

_NO_EDGES = np.empty((0, 2), dtype=np.int64)


@dataclass(frozen=True, eq=False, slots=True)
class EdgeConstraints:
    """Required and allowed edges between ``n`` variables, by integer id.

    Parameters
    ----------
    n : int
        Number of variables.
    required : array-like of int, shape (m, 2), default=empty
        Edges (tail, head) that every graph must hold.
    allowed : ndarray of uint8, shape (n, n), C-contiguous, or None, default=None
        ``allowed[child, parent] == 1`` when parent → child may exist; the diagonal is 0. None: nothing is forbidden.

    Attributes
    ----------
    n, required, allowed
        As given; ``required`` as int64, both arrays read-only.

    Raises
    ------
    ValueError
        When an array has another shape or an id lies outside ``range(n)``.

    Examples
    --------
    >>> import numpy as np
    >>> no_arrow_into_0 = np.array([[0, 0], [1, 0]], dtype=np.uint8)
    >>> constraints = EdgeConstraints(2, allowed=no_arrow_into_0)
    >>> constraints.forces_direction([(0, 1)])
    [(0, 1)]
    """

    n: int
    required: np.ndarray = field(default_factory=_NO_EDGES.copy)
    allowed: np.ndarray | None = None

    def __post_init__(self) -> None:
        required = np.array(self.required, dtype=np.int64)
        if required.size == 0:
            required = _NO_EDGES.copy()
        if required.ndim != 2 or required.shape[1] != 2:
            raise ValueError(f"required has shape {required.shape}; expected (m, 2): one (tail, head) a row")
        if required.size and not 0 <= required.min() <= required.max() < self.n:
            raise ValueError(f"required holds ids outside 0..{self.n - 1}")
        required.setflags(write=False)
        object.__setattr__(self, "required", required)
        if self.allowed is not None:
            allowed = np.ascontiguousarray(self.allowed, dtype=np.uint8).view()
            if allowed.shape != (self.n, self.n):
                raise ValueError(f"allowed has shape {allowed.shape}; expected ({self.n}, {self.n})")
            allowed.setflags(write=False)  # a view has its own flag: the caller's array stays as it was
            object.__setattr__(self, "allowed", allowed)

    def allows(self, tail: int, head: int) -> bool:
        """Tell whether the edge tail → head may exist.

        Parameters
        ----------
        tail, head : int
            Ids of the two variables.

        Returns
        -------
        bool
            False for a forbidden edge and for a self loop.

        Examples
        --------
        >>> EdgeConstraints(2).allows(0, 1)
        True
        """
        if self.allowed is None:
            return tail != head
        return bool(self.allowed[head, tail])

    def forces_direction(self, edges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """List the edges of a DAG which these constraints alone hold in their direction.

        Parameters
        ----------
        edges : iterable of (int, int)
            Edges (tail, head) of a DAG.

        Returns
        -------
        list of (int, int)
            The edges, in the order given, that are required or whose reversal is not allowed: the ``compelled``
            edges of `pgmx.graphs.equivalence.cpdag`.

        Examples
        --------
        >>> EdgeConstraints(3, required=[(1, 0)]).forces_direction([(0, 2), (1, 0)])
        [(1, 0)]
        """
        required = set(map(tuple, self.required.tolist()))
        return [
            (tail, head)
            for tail, head in ((int(tail), int(head)) for tail, head in edges)
            if (tail, head) in required or not self.allows(head, tail)
        ]


def constraints_from_options(
    names: Sequence,
    *,
    expert_knowledge: Any = None,
    required_edges: Collection | None = None,
    forbidden_edges: Collection | None = None,
    tiers: Collection | None = None,
    root_nodes: Collection | None = None,
    candidate_edges: Collection | None = None,
) -> EdgeConstraints:
    """Translate what is known about named variables into integer ids, and find contradictions.

    All statements hold together: what the object forbids and what an option forbids is forbidden, and an edge must lie
    in every search space that is given.

    Parameters
    ----------
    names : sequence of hashable, length n
        Names of the variables in column order, without repetition; the position is the id.
    expert_knowledge : object or None, default=None
        An object with the attributes of pgmpy's ``ExpertKnowledge``: ``required_edges``, ``forbidden_edges``,
        ``search_space`` (an empty one means all edges), ``temporal_order`` (a list of tiers, the earliest first;
        ``temporal_ordering``, a dict from name to tier, is read where the order itself was an iterator and is used up)
        and, where it has them, ``root_nodes``. It is read, never changed.
    required_edges : collection of (tail, head), default=None
        Edges that every graph holds.
    forbidden_edges : collection of (tail, head), default=None
        Edges that no graph holds.
    tiers : list of collections, default=None
        Variables from the earliest to the latest: an edge stays within a tier or leads to a later one. Variables in no
        tier are not bound.
    root_nodes : collection, default=None
        Variables without parents.
    candidate_edges : collection of (tail, head), default=None
        The only edges that a graph may hold; all edges by default, none where it is empty.

    Returns
    -------
    EdgeConstraints
        ``required`` sorted by (tail, head) without repetition; ``allowed`` None when nothing is forbidden.

    Raises
    ------
    TypeError
        When the object lacks one of the attributes, or a part is not a collection.
    ValueError
        For unknown names, self loops, a variable in two tiers, a required edge that is forbidden, against the tiers,
        into a root or outside the candidates, and required edges that form a cycle. The message names the culprit and
        the options it came from.

    Notes
    -----
    Cost: n² bytes, and time in n² plus the number of edges, only where something is forbidden.

    Examples
    --------
    >>> constraints = constraints_from_options(
    ...     ["wet", "rain", "month"], required_edges=[("rain", "wet")], root_nodes=["month"]
    ... )
    >>> constraints.required
    array([[1, 0]])
    >>> constraints.allows(0, 1), constraints.allows(0, 2)
    (True, False)
    """
    n = len(names)
    said = read_knowledge(
        names,
        expert_knowledge=expert_knowledge,
        required_edges=required_edges,
        forbidden_edges=forbidden_edges,
        tiers=tiers,
        root_nodes=root_nodes,
        candidate_edges=candidate_edges,
    )
    allowed = _allowed_matrix(n, said)
    for option, edges in said.required:
        refused = edges[allowed[edges[:, 1], edges[:, 0]] == 0] if allowed is not None else edges[:0]
        if len(refused):
            raise ValueError(_contradiction(option, refused[0], said, names))
    required = np.concatenate([_NO_EDGES, *(edges for _, edges in said.required)])
    if len(said.required) > 1:
        required = np.unique(required, axis=0)
    cycle = find_cycle(n, required.tolist())
    if cycle is not None:
        path = " -> ".join(repr(names[v]) for v in [*cycle, cycle[0]])
        options = " and ".join(option for option, _ in said.required)
        raise ValueError(f"{options} form the cycle {path}; drop or turn one of these edges")
    return EdgeConstraints(n, required, allowed)


def constraints_from_knowledge(knowledge: Any, names: Sequence) -> EdgeConstraints:
    """Translate a knowledge object alone, see :func:`constraints_from_options`.

    Parameters
    ----------
    knowledge : object or None
        pgmpy's ``ExpertKnowledge`` or an object with its attributes.
    names : sequence of hashable, length n
        Names of the variables in column order.

    Returns
    -------
    EdgeConstraints
        By id.
    """
    return constraints_from_options(names, expert_knowledge=knowledge)


def _allowed_matrix(n: int, said: Knowledge) -> np.ndarray | None:
    """Return allowed[child, parent], or None when that would be all ones off the diagonal."""
    if not (said.forbidden or said.spaces or said.tiers or said.roots):
        return None
    allowed = np.ones((n, n), dtype=np.uint8)
    for number, (_, edges) in enumerate(said.spaces):
        space = allowed if number == 0 else np.empty_like(allowed)
        space[:] = 0
        space[edges[:, 1], edges[:, 0]] = 1
        allowed &= space
    for _, tiers in said.tiers:
        # A child in no tier takes parents from every tier; a parent in no tier (-1) is early enough for every child.
        latest = np.where(tiers < 0, tiers.max(), tiers)
        allowed &= tiers[None, :] <= latest[:, None]
    for _, edges in said.forbidden:
        allowed[edges[:, 1], edges[:, 0]] = 0
    for _, roots in said.roots:
        allowed[roots] = 0
    np.fill_diagonal(allowed, 0)
    return None if np.count_nonzero(allowed) == n * (n - 1) else allowed


def _contradiction(option: str, edge: np.ndarray, said: Knowledge, names: Sequence) -> str:
    """Say which other statement rules out a required edge."""
    tail, head = edge.tolist()
    text = f"{option} holds {names[tail]!r} -> {names[head]!r}"
    for other, edges in said.forbidden:
        if (edges == edge).all(axis=1).any():
            return f"{text}, which {other} holds too; keep it in one of them"
    for other, tiers in said.tiers:
        if tiers[head] >= 0 and tiers[tail] > tiers[head]:
            return (
                f"{text} against {other}, where {names[tail]!r} is in tier {tiers[tail]} and {names[head]!r} in the "
                f"earlier tier {tiers[head]}; drop the edge or change the order"
            )
    for other, roots in said.roots:
        if (roots == head).any():
            return f"{text}, but {other} holds {names[head]!r}, which then has no parents; drop one of the two"
    other = next(other for other, edges in said.spaces if not (edges == edge).all(axis=1).any())
    return f"{text}, which is outside {other}; add it there or drop it here"
