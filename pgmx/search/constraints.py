"""What a user knows about the edges, as the integer arrays that a search reads.

The names of variables stop here: behind this module a search sees ids and one byte per ordered pair.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

__all__ = ["EdgeConstraints", "constraints_from_knowledge", "find_cycle"]

_EXPECTED = ("required_edges", "forbidden_edges", "search_space", "temporal_order")
_NO_EDGES = np.empty((0, 2), dtype=np.int64)
_SHOWN = 8  # names listed in an error before it says "..."


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
            edges of `pgmx.models.equivalence.cpdag`.

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


def constraints_from_knowledge(knowledge: Any, names: Sequence) -> EdgeConstraints:
    """Translate expert knowledge about named variables into integer ids.

    Parameters
    ----------
    knowledge : object or None
        None, or an object with the attributes of pgmpy's ``ExpertKnowledge``: ``required_edges``, ``forbidden_edges``,
        ``search_space`` (collections of (tail, head) names; an empty search space means all edges) and
        ``temporal_order`` (a list of tiers, the earliest first; ``temporal_ordering``, a dict from name to tier, is
        read where the order itself was an iterator and is used up). It is read, never changed.
    names : sequence of hashable, length n
        Names of the variables in column order, without repetition; the position is the id.

    Returns
    -------
    EdgeConstraints
        ``required`` sorted by (tail, head) without repetition; ``allowed`` None when nothing is forbidden.

    Raises
    ------
    TypeError
        When ``knowledge`` lacks one of the attributes, or one of them is not a collection.
    ValueError
        For unknown names, self loops, a variable in two tiers, a required edge that is forbidden, against the temporal
        order or outside the search space, and required edges that form a cycle. The message names the culprit.

    Notes
    -----
    An edge may stay within a tier or lead to a later one. Variables that no tier names are not bound by the order.
    Cost: n² bytes, and time in n² plus the number of edges, only where something is forbidden.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> knowledge = SimpleNamespace(
    ...     required_edges={("rain", "wet")},
    ...     forbidden_edges=set(),
    ...     search_space=set(),
    ...     temporal_order=[["rain"], ["wet"]],
    ... )
    >>> constraints = constraints_from_knowledge(knowledge, ["wet", "rain", "month"])
    >>> constraints.required
    array([[1, 0]])
    >>> constraints.allows(0, 1), constraints.allows(0, 2)
    (False, True)
    """
    n = len(names)
    if knowledge is None:
        return EdgeConstraints(n)
    missing = [name for name in _EXPECTED if not hasattr(knowledge, name)]
    if missing:
        raise TypeError(
            f"expert_knowledge of type {type(knowledge).__name__!r} has no {', '.join(missing)}; expected None or an "
            f"object such as pgmpy's ExpertKnowledge with {', '.join(_EXPECTED)}"
        )
    index = {name: position for position, name in enumerate(names)}
    required = _edge_ids(knowledge, "required_edges", index)
    forbidden = _edge_ids(knowledge, "forbidden_edges", index)
    space = _edge_ids(knowledge, "search_space", index)
    tiers = _tier_of_each(knowledge, index)

    allowed = _allowed_matrix(n, forbidden, space, tiers)
    if allowed is not None:
        _check_required_allowed(required, allowed, forbidden, tiers, names)
    cycle = find_cycle(n, required.tolist())
    if cycle is not None:
        path = " -> ".join(repr(names[v]) for v in [*cycle, cycle[0]])
        raise ValueError(f"required_edges form the cycle {path}; drop or turn one of these edges")
    return EdgeConstraints(n, required, allowed)


def find_cycle(n: int, edges: Iterable[Sequence[int]]) -> list[int] | None:
    """Find one directed cycle.

    Parameters
    ----------
    n : int
        Number of nodes.
    edges : iterable of (int, int)
        Edges (tail, head) with ids below n.

    Returns
    -------
    list of int or None
        The nodes of a cycle in the direction of its edges, its smallest id first; None for an acyclic graph.

    Notes
    -----
    Roots are peeled off until none is left (Kahn); from what remains, a walk to predecessors must close.
    Cost: linear in nodes and edges.

    Examples
    --------
    >>> find_cycle(4, [(0, 2), (2, 3), (3, 2)])
    [2, 3]
    """
    edges = list(edges)
    children: list[list[int]] = [[] for _ in range(n)]
    n_parents = [0] * n
    for tail, head in edges:
        children[tail].append(head)
        n_parents[head] += 1
    roots = [v for v in range(n) if n_parents[v] == 0]
    while roots:
        for head in children[roots.pop()]:
            n_parents[head] -= 1
            if n_parents[head] == 0:
                roots.append(head)
    # A node which still counts parents has one among the nodes that remain.
    predecessor = {head: tail for tail, head in edges if n_parents[tail] and n_parents[head]}
    if not predecessor:
        return None
    node, seen = min(predecessor), dict[int, int]()
    while node not in seen:
        seen[node] = len(seen)
        node = predecessor[node]
    cycle = list(seen)[seen[node] :][::-1]
    start = cycle.index(min(cycle))
    return cycle[start:] + cycle[:start]


def _edge_ids(knowledge: Any, attribute: str, index: Mapping) -> np.ndarray:
    """Return the named edges as an int64 array (m, 2), sorted, without repetition."""
    edges = getattr(knowledge, attribute)
    if edges is None:
        return _NO_EDGES
    if isinstance(edges, str | bytes) or not isinstance(edges, Collection):
        raise TypeError(f"{attribute} is {edges!r}; expected a set or list of (tail, head) pairs")
    if len(edges) == 0:
        return _NO_EDGES
    kinds = set(map(type, edges))  # one test a type instead of one an edge: a search space may hold a million
    if not all(map(_ordered, kinds)) or set(map(len, edges)) != {2}:
        culprit = next(edge for edge in edges if not _ordered(type(edge)) or len(edge) != 2)
        raise ValueError(f"{attribute} holds {culprit!r}; expected a (tail, head) pair")
    try:
        flat = map(index.__getitem__, chain.from_iterable(edges))
        ids = np.fromiter(flat, dtype=np.int64, count=2 * len(edges)).reshape(-1, 2)
    except (KeyError, TypeError):
        raise ValueError(_unknown_names(attribute, chain.from_iterable(edges), index)) from None
    if (loops := ids[:, 0] == ids[:, 1]).any():
        name = list(index)[ids[loops, 0].min()]
        raise ValueError(f"{attribute} holds the self loop {name!r} -> {name!r}; remove it")
    tails, heads = np.divmod(np.unique(ids[:, 0] * len(index) + ids[:, 1]), len(index))
    return np.column_stack([tails, heads])


def _ordered(kind: type) -> bool:
    """Tell whether values of a type can be read as a pair with a first and a second element."""
    return issubclass(kind, Collection) and not issubclass(kind, str | bytes | Set | Mapping)


def _unknown_names(attribute: str, given: Iterable, index: Mapping) -> str:
    """Say which of the given names are none of the variables."""
    culprits = set()
    for name in given:
        try:
            known = name in index
        except TypeError:  # unhashable, so it cannot be a name
            known = False
        if not known:
            culprits.add(repr(name))
    return (
        f"{attribute} names unknown variables: {_listed(sorted(culprits))}; the variables are "
        f"{_listed([repr(name) for name in index])}"
    )


def _listed(words: list[str]) -> str:
    return ", ".join(words[:_SHOWN]) + (", ..." if len(words) > _SHOWN else "")


def _tier_of_each(knowledge: Any, index: Mapping) -> np.ndarray | None:
    """Return the tier of each variable (-1: in no tier), or None without an order."""
    order = knowledge.temporal_order
    ordering = getattr(knowledge, "temporal_ordering", None)
    if order is None or not isinstance(order, Collection):
        # pgmpy's constructor has used up an iterator; the dict it made of it is left.
        if order is not None and not isinstance(ordering, Mapping):
            raise TypeError(f"temporal_order is {order!r}; expected a list of tiers, the earliest first")
        placed = list(ordering.items()) if isinstance(ordering, Mapping) else []
    else:
        placed = []
        for number, tier in enumerate(order):
            if isinstance(tier, str | bytes) or not isinstance(tier, Collection):
                raise TypeError(
                    f"tier {number} of temporal_order is {tier!r}; expected a list of variables, as [{tier!r}]"
                )
            placed += [(name, number) for name in tier]
    if not placed:
        return None
    tiers = np.full(len(index), -1, dtype=np.int64)
    for name, number in placed:
        try:
            position = index[name]
        except (KeyError, TypeError):
            raise ValueError(_unknown_names("temporal_order", [name for name, _ in placed], index)) from None
        if tiers[position] not in (-1, number):
            raise ValueError(
                f"temporal_order puts {name!r} in tier {tiers[position]} and in tier {number}; keep it in one of them"
            )
        tiers[position] = number
    return tiers


def _allowed_matrix(n: int, forbidden: np.ndarray, space: np.ndarray, tiers: np.ndarray | None) -> np.ndarray | None:
    """Return allowed[child, parent], or None when that would be all ones off the diagonal."""
    if not len(forbidden) and not len(space) and tiers is None:
        return None
    if len(space):
        allowed = np.zeros((n, n), dtype=np.uint8)
        allowed[space[:, 1], space[:, 0]] = 1
    else:
        allowed = np.ones((n, n), dtype=np.uint8)
    if tiers is not None:
        # A child in no tier takes parents from every tier; a parent in no tier (-1) is early enough for every child.
        latest = np.where(tiers < 0, tiers.max(), tiers)
        allowed &= tiers[None, :] <= latest[:, None]
    allowed[forbidden[:, 1], forbidden[:, 0]] = 0
    np.fill_diagonal(allowed, 0)
    return None if np.count_nonzero(allowed) == n * (n - 1) else allowed


def _check_required_allowed(
    required: np.ndarray, allowed: np.ndarray, forbidden: np.ndarray, tiers: np.ndarray | None, names: Sequence
) -> None:
    """Raise for the first required edge which another part of the knowledge rules out, saying which part."""
    refused = required[allowed[required[:, 1], required[:, 0]] == 0]
    if not len(refused):
        return
    tail, head = refused[0]
    edge = f"required_edges holds {names[tail]!r} -> {names[head]!r}"
    if (forbidden == refused[0]).all(axis=1).any():
        raise ValueError(f"{edge}, which forbidden_edges holds too; keep it in one of them")
    if tiers is not None and tiers[head] >= 0 and tiers[tail] > tiers[head]:
        raise ValueError(
            f"{edge} against temporal_order, where {names[tail]!r} is in tier {tiers[tail]} and {names[head]!r} in the "
            f"earlier tier {tiers[head]}; drop the edge or change the order"
        )
    raise ValueError(f"{edge}, which is outside search_space; add it there or drop it here")
