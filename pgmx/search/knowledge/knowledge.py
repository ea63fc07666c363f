"""What a user says about edges between named variables, read into integer ids.

Two sources say the same kinds of things: an object such as pgmpy's ``ExpertKnowledge``, and the learners' own options.
Each statement keeps the name of the option that it came from, for messages. Whether statements contradict each other
is judged in :mod:`pgmx.search.knowledge.constraints`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Knowledge", "Statement", "listed", "read_knowledge"]

_EXPECTED = ("required_edges", "forbidden_edges", "search_space", "temporal_order")
_SHOWN = 8  # names listed in an error before it says "..."


class Statement(NamedTuple):
    """One piece of knowledge: the option that made it and what it says, by id."""

    option: str
    ids: np.ndarray


class Knowledge(NamedTuple):
    """All that was said, in the order in which it was read.

    Attributes
    ----------
    required, forbidden, spaces : list of Statement
        Edges as int64 (m, 2), (tail, head), sorted, without repetition.
    tiers : list of Statement
        The tier of each variable, int64 (n,), -1 for a variable in no tier.
    roots : list of Statement
        Variables without parents, int64 (m,), sorted.
    """

    required: list[Statement]
    forbidden: list[Statement]
    spaces: list[Statement]
    tiers: list[Statement]
    roots: list[Statement]


def read_knowledge(
    names: Sequence,
    *,
    expert_knowledge: Any = None,
    required_edges: Collection | None = None,
    forbidden_edges: Collection | None = None,
    tiers: Collection | None = None,
    root_nodes: Collection | None = None,
    candidate_edges: Collection | None = None,
) -> Knowledge:
    """Read the knowledge object, then the options; nothing given is changed.

    Parameters
    ----------
    names : sequence of hashable, length n
        Names of the variables in column order; the position is the id.
    expert_knowledge : object or None
        See :func:`pgmx.search.knowledge.constraints.constraints_from_options`, as for the other parameters.
    required_edges, forbidden_edges, candidate_edges : collection of (tail, head) or None
        None says nothing; an empty `candidate_edges` leaves no edge.
    tiers : collection of collections, or None
        The earliest tier first.
    root_nodes : collection or None
        Variables without parents.

    Returns
    -------
    Knowledge
        Statements that say nothing are left out.

    Raises
    ------
    TypeError
        When a part is not a collection, or the object lacks an attribute.
    ValueError
        For unknown names, self loops, a variable in two tiers.

    Notes
    -----
    Cost: linear in the number of edges and names given.

    Examples
    --------
    >>> read_knowledge(["a", "b"], root_nodes=["b"]).roots
    [Statement(option='root_nodes', ids=array([1]))]
    """
    index = {name: position for position, name in enumerate(names)}
    said = Knowledge([], [], [], [], [])
    if expert_knowledge is not None:
        _read_object(expert_knowledge, index, said)
    _add(said.required, "required_edges", _edge_ids(required_edges, "required_edges", index))
    _add(said.forbidden, "forbidden_edges", _edge_ids(forbidden_edges, "forbidden_edges", index))
    if candidate_edges is not None:
        said.spaces.append(Statement("candidate_edges", _edge_ids(candidate_edges, "candidate_edges", index)))
    _add(said.tiers, "tiers", _tier_of_each(tiers, "tiers", index))
    _add(said.roots, "root_nodes", _node_ids(root_nodes, "root_nodes", index))
    return said


def _read_object(knowledge: Any, index: Mapping, said: Knowledge) -> None:
    missing = [name for name in _EXPECTED if not hasattr(knowledge, name)]
    if missing:
        raise TypeError(
            f"expert_knowledge of type {type(knowledge).__name__!r} has no {', '.join(missing)}; expected None or an "
            f"object such as pgmpy's ExpertKnowledge with {', '.join(_EXPECTED)}"
        )
    for attribute, statements in (
        ("required_edges", said.required),
        ("forbidden_edges", said.forbidden),
        ("search_space", said.spaces),  # empty: all edges
    ):
        option = f"expert_knowledge.{attribute}"
        _add(statements, option, _edge_ids(getattr(knowledge, attribute), option, index))
    order = knowledge.temporal_order
    if order is not None and not isinstance(order, Collection):
        # pgmpy's constructor has used up an iterator; the dict from name to tier that it made of it is left
        ordering = getattr(knowledge, "temporal_ordering", None)
        if isinstance(ordering, Mapping):
            order = [[name for name in ordering if ordering[name] == tier] for tier in sorted(set(ordering.values()))]
    option = "expert_knowledge.temporal_order"
    _add(said.tiers, option, _tier_of_each(order, option, index))
    option = "expert_knowledge.root_nodes"  # pgmpy 1.1 has none; an object that has some means what it says
    _add(said.roots, option, _node_ids(getattr(knowledge, "root_nodes", None), option, index))


def _add(statements: list[Statement], option: str, ids: np.ndarray | None) -> None:
    if ids is not None and len(ids):
        statements.append(Statement(option, ids))


def _edge_ids(edges: Any, option: str, index: Mapping) -> np.ndarray:
    """Return the named edges as an int64 array (m, 2), sorted, without repetition."""
    if edges is None:
        return np.empty((0, 2), dtype=np.int64)
    if isinstance(edges, str | bytes) or not isinstance(edges, Collection):
        raise TypeError(f"{option} is {edges!r}; expected a set or list of (tail, head) pairs")
    if len(edges) == 0:
        return np.empty((0, 2), dtype=np.int64)
    kinds = set(map(type, edges))  # one test a type instead of one an edge: a search space may hold a million
    if not all(map(_is_ordered, kinds)) or set(map(len, edges)) != {2}:
        culprit = next(edge for edge in edges if not _is_ordered(type(edge)) or len(edge) != 2)
        raise ValueError(f"{option} holds {culprit!r}; expected a (tail, head) pair")
    try:
        flat = map(index.__getitem__, chain.from_iterable(edges))
        ids = np.fromiter(flat, dtype=np.int64, count=2 * len(edges)).reshape(-1, 2)
    except (KeyError, TypeError):
        raise ValueError(_unknown_names(option, chain.from_iterable(edges), index)) from None
    if (loops := ids[:, 0] == ids[:, 1]).any():
        name = list(index)[ids[loops, 0].min()]
        raise ValueError(f"{option} holds the self loop {name!r} -> {name!r}; remove it")
    keys = np.sort(ids[:, 0] * len(index) + ids[:, 1])
    keys = keys[np.diff(keys, prepend=-1) > 0]
    return np.column_stack(np.divmod(keys, len(index)))


def _is_ordered(kind: type) -> bool:
    """Tell whether values of a type can be read as a pair with a first and a second element."""
    return issubclass(kind, Collection) and not issubclass(kind, str | bytes | Set | Mapping)


def _node_ids(nodes: Any, option: str, index: Mapping) -> np.ndarray:
    """Return the named variables as an int64 array, sorted, without repetition."""
    if nodes is None:
        return np.empty(0, dtype=np.int64)
    if isinstance(nodes, str | bytes) or not isinstance(nodes, Collection):
        raise TypeError(f"{option} is {nodes!r}; expected a list of variables, as [{nodes!r}]")
    try:
        return np.array(sorted({index[name] for name in nodes}), dtype=np.int64)
    except (KeyError, TypeError):
        raise ValueError(_unknown_names(option, nodes, index)) from None


def _tier_of_each(order: Any, option: str, index: Mapping) -> np.ndarray | None:
    """Return the tier of each variable (-1: in no tier), or None where no tier names one."""
    if order is None:
        return None
    if isinstance(order, str | bytes) or not isinstance(order, Collection):
        raise TypeError(f"{option} is {order!r}; expected a list of tiers, the earliest first")
    placed = []
    for number, tier in enumerate(order):
        if isinstance(tier, str | bytes) or not isinstance(tier, Collection):
            raise TypeError(f"tier {number} of {option} is {tier!r}; expected a list of variables, as [{tier!r}]")
        placed += [(name, number) for name in tier]
    if not placed:
        return None
    tiers = np.full(len(index), -1, dtype=np.int64)
    for name, number in placed:
        try:
            position = index[name]
        except (KeyError, TypeError):
            raise ValueError(_unknown_names(option, [name for name, _ in placed], index)) from None
        if tiers[position] not in (-1, number):
            raise ValueError(
                f"{option} puts {name!r} in tier {tiers[position]} and in tier {number}; keep it in one of them"
            )
        tiers[position] = number
    return tiers


def _unknown_names(option: str, given: Iterable, index: Mapping) -> str:
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
        f"{option} names unknown variables: {listed(sorted(culprits))}; the variables are "
        f"{listed([repr(name) for name in index])}"
    )


def listed(words: list[str]) -> str:
    """Join the first words of a list for a message."""
    return ", ".join(words[:_SHOWN]) + (", ..." if len(words) > _SHOWN else "")
