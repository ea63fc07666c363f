"""What a user knows about the edges, as the integer arrays that a search reads.

The names of variables stop here: behind this module a search sees ids and one byte per ordered pair. How names are read
is in :mod:`pgmx.search.knowledge.knowledge`; here statements are put together and contradictions found.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from pgmx.graphs.cycles import find_cycle
from pgmx.search.knowledge.knowledge import Knowledge, read_knowledge

__all__ = ["EdgeConstraints", "read_constraints"]

_NO_EDGES = np.empty((0, 2), dtype=np.int64)


@dataclass(frozen=True, eq=False, slots=True)
class EdgeConstraints:
    """Required and allowed edges between ``n`` variables, by integer id; both arrays are read-only.

    ``required`` is int64 (m, 2), edges (tail, head) that every graph must hold. ``allowed`` is uint8 (n, n):
    ``allowed[child, parent] == 1`` when parent → child may exist, the diagonal 0; None where nothing is forbidden.
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
            allowed.setflags(write=False)  # a view has its own flag: the caller's array stays as it was
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
        required = set(map(tuple, self.required.tolist()))
        return [
            (tail, head)
            for tail, head in ((int(tail), int(head)) for tail, head in edges)
            if (tail, head) in required or not self.allows(head, tail)
        ]


def read_constraints(names: Sequence, **options) -> EdgeConstraints:
    """Translate what is known about named variables into integer ids, and find contradictions.

    `options` are those of :func:`pgmx.search.knowledge.knowledge.read_knowledge`. All statements hold together: what
    one of them forbids is forbidden, and an edge must lie in every search space. A contradiction is a ValueError that
    names the edge and the options. Time in n² only where something is forbidden.
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
    cycle = find_cycle(n, required.tolist())
    if cycle is not None:
        path = " -> ".join(repr(names[v]) for v in [*cycle, cycle[0]])
        options_of_cycle = " and ".join(option for option, _ in knowledge.required)
        raise ValueError(f"{options_of_cycle} form the cycle {path}; drop or reverse one of these edges")
    return EdgeConstraints(n, required, allowed)


def _mask_edges(n: int, knowledge: Knowledge) -> np.ndarray | None:
    """Return allowed[child, parent], or None when that would be all ones off the diagonal."""
    if not (knowledge.forbidden or knowledge.spaces or knowledge.tiers or knowledge.roots):
        return None
    allowed = np.ones((n, n), dtype=np.uint8)
    for number, (_, edges) in enumerate(knowledge.spaces):
        space = allowed if number == 0 else np.empty_like(allowed)
        space[:] = 0
        space[edges[:, 1], edges[:, 0]] = 1
        allowed &= space
    for _, tiers in knowledge.tiers:
        # A child in no tier may have parents in every tier; a parent in no tier (-1) is early enough for every child.
        latest = np.where(tiers < 0, tiers.max(), tiers)
        allowed &= tiers[None, :] <= latest[:, None]
    for _, edges in knowledge.forbidden:
        allowed[edges[:, 1], edges[:, 0]] = 0
    for _, roots in knowledge.roots:
        allowed[roots] = 0
    np.fill_diagonal(allowed, 0)
    return None if np.count_nonzero(allowed) == n * (n - 1) else allowed


def _describe_contradiction(option: str, edge: np.ndarray, knowledge: Knowledge, names: Sequence) -> str:
    """Return a message that names the other statement which rules out a required edge."""
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
    other = next(other for other, edges in knowledge.spaces if not (edges == edge).all(axis=1).any())
    return f"{text}, which is outside {other}; add it there or drop it here"
