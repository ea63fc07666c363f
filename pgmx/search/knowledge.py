"""Background knowledge about directed edges, as the integer arrays that a search reads.

There are two sources of statements: an object such as pgmpy's ``ExpertKnowledge``, and the learners' options. Each
statement keeps the name of its option for messages. Searches do not use names of variables: this module gives them ids
and one byte per ordered pair.
"""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from pgmx._ext._edge_ids import find_keys, is_pair, sort_keys
from pgmx.checks import join_names
from pgmx.graphs.cycles import describe_cycle, find_cycle

logger = logging.getLogger(__name__)
_NO_EDGES = np.empty((0, 2), dtype=np.int64)
_EXPECTED = ("required_edges", "forbidden_edges", "search_space", "temporal_order")

#: Optional attributes; pgmpy 1.1 has neither.
_OPTIONAL = ("root_nodes", "orientations")

#: Attributes without further information: the tiers as a mapping, and the test of a named search space (not supported).
_IGNORED = ("temporal_ordering", "ci_test", "significance_level")
_SHOWN = 8  # names that an error message lists


class Statement(NamedTuple):
    """One statement: the option that it came from, and its ids."""

    option: str
    ids: np.ndarray


class Knowledge(NamedTuple):
    """All statements, in the order in which they were read.

    Statements about edges are int64 (m, 2), (tail, head), sorted, without duplicates. `orientations` are the only
    directions allowed between two variables. `tiers` is the tier of each variable, int64 (n,), -1 for none. `roots` are
    the variables without parents, int64 (m,), sorted.
    """

    required: list[Statement]
    forbidden: list[Statement]
    spaces: list[Statement]
    tiers: list[Statement]
    roots: list[Statement]
    orientations: list[Statement]


@dataclass(frozen=True, eq=False, slots=True)
class EdgeConstraints:
    """Required and allowed edges between ``n`` variables, by integer id; both arrays are read-only.

    ``required`` is int64 (m, 2), edges (tail, head) that every graph must contain. ``allowed`` is uint8 (n, n):
    ``allowed[child, parent] == 1`` if parent → child may exist, with a diagonal of 0; None if nothing is forbidden.
    """

    n: int
    required: np.ndarray = field(default_factory=_NO_EDGES.copy)
    allowed: np.ndarray | None = None

    def __post_init__(self) -> None:
        required = np.array(self.required, dtype=np.int64)
        if required.size == 0:
            required = _NO_EDGES.copy()
        if required.ndim != 2 or required.shape[1] != 2:
            raise ValueError(f"required has shape {required.shape}; expected (m, 2): one (tail, head) per row")
        if required.size and not 0 <= required.min() <= required.max() < self.n:
            raise ValueError(f"required holds ids outside 0..{self.n - 1}")
        required.setflags(write=False)
        object.__setattr__(self, "required", required)
        if self.allowed is not None:
            allowed = np.ascontiguousarray(self.allowed, dtype=np.uint8).view()
            if allowed.shape != (self.n, self.n):
                raise ValueError(f"allowed has shape {allowed.shape}; expected ({self.n}, {self.n})")
            allowed.setflags(write=False)  # only the view becomes read-only, not the caller's array
            object.__setattr__(self, "allowed", allowed)

    def allows(self, tail: int, head: int) -> bool:
        """Return whether the edge tail → head may exist; False for a self loop."""
        if self.allowed is None:
            return tail != head
        return bool(self.allowed[head, tail])

    def forces_direction(self, edges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """List the edges of a DAG that are required, or whose reversal is not allowed, in the order given.

        They are the ``compelled`` edges of `pgmx.graphs.equivalence.cpdag`.
        """
        if not len(self.required) and self.allowed is None:
            return []
        required = set(map(tuple, self.required.tolist()))
        return [
            (tail, head)
            for tail, head in ((int(tail), int(head)) for tail, head in edges)
            if (tail, head) in required or not self.allows(head, tail)
        ]


def read_constraints(names: Sequence, **options) -> EdgeConstraints:
    """Translate knowledge about named variables into integer ids, and find contradictions.

    `options` are the options of `read_knowledge`. All statements apply: an edge is forbidden if any statement forbids
    it, and it must be in every search space. A contradiction raises a ValueError that names the edge and the options.
    The cost is O(n²) only if something is forbidden.
    """
    n = len(names)
    knowledge = read_knowledge(names, **options)
    allowed = _mask_edges(n, knowledge)
    for option, edges in knowledge.required:
        refused = edges[allowed[edges[:, 1], edges[:, 0]] == 0] if allowed is not None else edges[:0]
        if len(refused):
            raise ValueError(_describe_contradiction(option, refused[0], knowledge, names))
    required = np.concatenate([_NO_EDGES, *(edges for _, edges in knowledge.required)])
    if len(knowledge.required) > 1:
        required = np.unique(required, axis=0)
    cycle = find_cycle(n, required.tolist()) if len(required) else None
    if cycle is not None:
        path = describe_cycle(names, cycle)
        options_of_cycle = " and ".join(option for option, _ in knowledge.required)
        raise ValueError(f"{options_of_cycle} form the cycle {path}; drop or reverse one of these edges")
    return EdgeConstraints(n, required, allowed)


def restrict_to_score(constraints: EdgeConstraints, arcs: np.ndarray | None, names: Sequence) -> EdgeConstraints:
    """Restrict the constraints to the arcs for which a score is defined, ``arcs[child, parent]``; None means all."""
    if arcs is None:
        return constraints
    for tail, head in constraints.required.tolist():
        if not arcs[head, tail]:
            raise ValueError(
                f"{names[tail]!r} -> {names[head]!r} is required, but conditional linear Gaussian networks do not "
                "allow edges from continuous to discrete variables: drop it, or give discrete_children='allowed'"
            )
    allowed = arcs if constraints.allowed is None else arcs & constraints.allowed
    n_excluded = np.count_nonzero(arcs == 0 if constraints.allowed is None else (arcs == 0) & constraints.allowed)
    if n_excluded:
        logger.info(
            "%d edges from continuous to discrete variables are excluded: conditional linear Gaussian networks do not "
            "allow them (discrete_children='allowed' does)",
            n_excluded,
        )
    return EdgeConstraints(constraints.n, constraints.required, allowed)


def forbid_parents(constraints: EdgeConstraints, variables: np.ndarray, names: Sequence) -> EdgeConstraints:
    """Exclude all edges to some variables, which were set in every row; raise ValueError if one is required."""
    if not len(variables):
        return constraints
    for tail, head in constraints.required.tolist():
        if head in variables:
            raise ValueError(
                f"{names[tail]!r} -> {names[head]!r} is required, but {names[head]!r} was set in every row, so its "
                "parents never acted: drop it, or add rows in which the variable was not set"
            )
    n = constraints.n
    allowed = np.ones((n, n), dtype=np.uint8) if constraints.allowed is None else constraints.allowed.copy()
    np.fill_diagonal(allowed, 0)
    allowed[variables] = 0
    return EdgeConstraints(n, constraints.required, allowed)


def _mask_edges(n: int, knowledge: Knowledge) -> np.ndarray | None:
    """Return allowed[child, parent], or None if all off-diagonal entries would be 1."""
    if not any(knowledge._replace(required=[])):
        return None
    allowed = np.ones((n, n), dtype=np.uint8)
    for number, (_, edges) in enumerate(knowledge.spaces):
        space = allowed if number == 0 else np.empty_like(allowed)
        space[:] = 0
        space[edges[:, 1], edges[:, 0]] = 1
        allowed &= space
    for _, tiers in knowledge.tiers:
        # Variables without a tier (-1) may have parents in every tier, and may be parents of every variable.
        latest = np.where(tiers < 0, tiers.max(), tiers)
        allowed &= tiers[None, :] <= latest[:, None]
    for _, edges in knowledge.forbidden:
        allowed[edges[:, 1], edges[:, 0]] = 0
    for _, roots in knowledge.roots:
        allowed[roots] = 0
    for _, edges in knowledge.orientations:
        allowed[edges[:, 0], edges[:, 1]] = 0  # the reverse of each
    np.fill_diagonal(allowed, 0)
    # without a mask a search skips all of its checks
    return None if np.count_nonzero(allowed) == n * (n - 1) else allowed


def _describe_contradiction(option: str, edge: np.ndarray, knowledge: Knowledge, names: Sequence) -> str:
    """Return a message that names the statement that contradicts a required edge."""
    tail, head = edge.tolist()
    text = f"{option} holds {names[tail]!r} -> {names[head]!r}"
    for other, edges in knowledge.forbidden:
        if (edges == edge).all(axis=1).any():
            return f"{text}, which {other} holds too; keep it in one of them"
    for other, tiers in knowledge.tiers:
        if tiers[head] >= 0 and tiers[tail] > tiers[head]:
            return (
                f"{text} against {other}, where {names[tail]!r} is in tier {tiers[tail]} and {names[head]!r} in the "
                f"earlier tier {tiers[head]}; drop the edge or change the order"
            )
    for other, roots in knowledge.roots:
        if (roots == head).any():
            return f"{text}, but {other} holds {names[head]!r}, which then has no parents; drop one of the two"
    for other, edges in knowledge.orientations:
        if (edges == edge[::-1]).all(axis=1).any():
            return f"{text} against {other}, which holds {names[head]!r} -> {names[tail]!r}; drop one of the two"
    other = next(other for other, edges in knowledge.spaces if not (edges == edge).all(axis=1).any())
    return f"{text}, which is outside {other}; add it there or drop it here"


# ---- statements by name ----


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
    """Read the knowledge object, then the options; empty statements are left out.

    `expert_knowledge` has the attributes of pgmpy's ``ExpertKnowledge``. Its empty ``search_space`` means all edges; an
    empty `candidate_edges` means none. Required self loops are an error, others are ignored. Raises a TypeError for
    non-collections, and a ValueError for unknown names, a variable in two tiers and unknown knowledge.
    """
    index = {name: position for position, name in enumerate(names)}
    knowledge = Knowledge([], [], [], [], [], [])
    if expert_knowledge is not None:
        _read_object(expert_knowledge, index, knowledge)
    _add(knowledge.required, "required_edges", _read_edges(required_edges, "required_edges", index))
    _add(knowledge.forbidden, "forbidden_edges", _read_edges(forbidden_edges, "forbidden_edges", index))
    if candidate_edges is not None:
        knowledge.spaces.append(Statement("candidate_edges", _read_edges(candidate_edges, "candidate_edges", index)))
    _add(knowledge.tiers, "tiers", _read_tiers(tiers, "tiers", index))
    _add(knowledge.roots, "root_nodes", _read_nodes(root_nodes, "root_nodes", index))
    return knowledge


def _read_object(source: Any, index: dict, knowledge: Knowledge) -> None:
    missing = [name for name in _EXPECTED if not hasattr(source, name)]
    if missing:
        raise TypeError(
            f"expert_knowledge of type {type(source).__name__!r} has no {', '.join(missing)}; expected None or an "
            f"object such as pgmpy's ExpertKnowledge with {', '.join(_EXPECTED)}"
        )
    _refuse_unknown(source)
    for attribute, statements in (
        ("required_edges", knowledge.required),
        ("forbidden_edges", knowledge.forbidden),
        ("search_space", knowledge.spaces),  # empty: all edges
    ):
        option = f"expert_knowledge.{attribute}"
        _add(statements, option, _read_edges(getattr(source, attribute), option, index))
    order = source.temporal_order
    if order is not None and not isinstance(order, Collection):
        # pgmpy's constructor exhausts an iterator, but keeps a dict from name to tier
        ordering = getattr(source, "temporal_ordering", None)
        if isinstance(ordering, Mapping):
            order = [[name for name in ordering if ordering[name] == tier] for tier in sorted(set(ordering.values()))]
    option = "expert_knowledge.temporal_order"
    _add(knowledge.tiers, option, _read_tiers(order, option, index))
    option = "expert_knowledge.root_nodes"
    _add(knowledge.roots, option, _read_nodes(getattr(source, "root_nodes", None), option, index))
    option = "expert_knowledge.orientations"
    orientations = _read_edges(getattr(source, "orientations", None), option, index)
    _refuse_both_ways(orientations, option, list(index))
    _add(knowledge.orientations, option, orientations)


def _refuse_unknown(source: Any) -> None:
    """Raise for an unknown attribute that might be knowledge, which would be ignored silently."""
    known = {*_EXPECTED, *_OPTIONAL, *_IGNORED}
    for name, value in getattr(source, "__dict__", {}).items():
        is_private = name.startswith("_") or name.endswith("_")  # scikit-learn's fitted attributes end in "_"
        is_empty = value is None or value is False or (isinstance(value, Collection) and not len(value))
        if not (name in known or is_private or is_empty):
            raise ValueError(
                f"expert_knowledge.{name} is {value!r}, but pgmx does not support this attribute. Leave it out, and "
                f"use {', '.join((*_EXPECTED, *_OPTIONAL))} instead"
            )


def _refuse_both_ways(edges: np.ndarray, option: str, names: Sequence) -> None:
    """Raise if the edges contain a pair in both directions."""
    pairs, counts = np.unique(np.sort(edges, axis=1), axis=0, return_counts=True)
    if (counts > 1).any():
        a, b = (names[v] for v in pairs[counts > 1][0])
        raise ValueError(f"{option} holds {a!r} -> {b!r} and {b!r} -> {a!r}; keep one of them")


def _add(statements: list[Statement], option: str, ids: np.ndarray | None) -> None:
    if ids is not None and len(ids):
        statements.append(Statement(option, ids))


def _read_edges(edges: Any, option: str, index: dict) -> np.ndarray:
    """Return the named edges as an int64 array (m, 2), sorted, without duplicates."""
    if edges is None:
        return np.empty((0, 2), dtype=np.int64)
    if isinstance(edges, str | bytes) or not isinstance(edges, Collection):
        raise TypeError(f"{option} is {edges!r}; expected a set or list of (tail, head) pairs")
    if len(edges) == 0:
        return np.empty((0, 2), dtype=np.int64)
    keys = np.empty(len(edges), dtype=np.int64)
    if find_keys(edges, index, keys) < len(keys):
        if not all(map(is_pair, edges)):
            culprit = next(edge for edge in edges if not is_pair(edge))
            raise ValueError(f"{option} holds {culprit!r}; expected a (tail, head) pair")
        raise ValueError(_describe_unknown_names(option, chain.from_iterable(edges), index))
    if len(index) ** 2 <= 16 * len(keys):
        ids = sort_keys(keys, len(index))
    else:
        keys.sort()  # np.unique hashes, which is fifty times slower
        is_first = np.append(True, keys[1:] > keys[:-1])
        ids = np.column_stack(np.divmod(keys[is_first], len(index)))
    loops = ids[:, 0] == ids[:, 1]
    if loops.any():
        if option.endswith("required_edges"):
            name = list(index)[ids[loops, 0].min()]
            raise ValueError(f"{option} holds the self loop {name!r} -> {name!r}; remove it")
        ids = ids[~loops]
    return ids


def _read_nodes(nodes: Any, option: str, index: Mapping) -> np.ndarray:
    """Return the named variables as an int64 array, sorted, without duplicates."""
    if nodes is None:
        return np.empty(0, dtype=np.int64)
    if isinstance(nodes, str | bytes) or not isinstance(nodes, Collection):
        raise TypeError(f"{option} is {nodes!r}; expected a list of variables, as [{nodes!r}]")
    try:
        return np.array(sorted({index[name] for name in nodes}), dtype=np.int64)
    except (KeyError, TypeError):
        raise ValueError(_describe_unknown_names(option, nodes, index)) from None


def _read_tiers(order: Any, option: str, index: Mapping) -> np.ndarray | None:
    """Return the tier of each variable (-1: no tier), or None if all tiers are empty."""
    if order is None:
        return None
    if isinstance(order, str | bytes) or not isinstance(order, Collection):
        raise TypeError(f"{option} is {order!r}; expected a list of tiers, the earliest first")
    entries = []
    for number, tier in enumerate(order):
        if isinstance(tier, str | bytes) or not isinstance(tier, Collection):
            raise TypeError(f"tier {number} of {option} is {tier!r}; expected a list of variables, as [{tier!r}]")
        entries += [(name, number) for name in tier]
    if not entries:
        return None
    tiers = np.full(len(index), -1, dtype=np.int64)
    for name, number in entries:
        try:
            position = index[name]
        except (KeyError, TypeError):
            raise ValueError(_describe_unknown_names(option, [name for name, _ in entries], index)) from None
        if tiers[position] not in (-1, number):
            raise ValueError(
                f"{option} puts {name!r} in tier {tiers[position]} and in tier {number}; keep it in one of them"
            )
        tiers[position] = number
    return tiers


def _describe_unknown_names(option: str, names: Iterable, index: Mapping) -> str:
    """Return a message with the names that are not variables."""
    unknown = {}
    for name in names:
        try:
            is_known = name in index
        except TypeError:  # unhashable, so it cannot be a name
            is_known = False
        if not is_known:
            unknown[repr(name)] = name
    return (
        f"{option} names unknown variables: {join_names([unknown[key] for key in sorted(unknown)], _SHOWN)}; "
        f"the variables are {join_names(index, _SHOWN)}"
    )
