"""Best-first search over directed acyclic graphs."""

import heapq
from collections.abc import Iterable
from hashlib import blake2b

import numpy as np

from pgmx._ext._dag_moves import ADD, REVERSE
from pgmx.search.dag.course import Course, Stopped
from pgmx.search.dag.state import DagState

_Entry = tuple[float, int, bytes]  # less the score, a running number, the arcs


def best_first(state: DagState, course: Course, *, width: int, patience: int, max_open: int) -> None:
    """Expand the best graph not yet expanded, again and again.

    An expansion scores all moves of a graph and puts the `width` best ones on the open list; unlike a climb the search
    goes back to other graphs once a way leads nowhere. A graph is opened once.

    Parameters
    ----------
    state : DagState
        The first graph; must offer all moves.
    course : Course
        Keeps the best graph; an expansion counts as a move.
    width : int
        Successors of a graph that are kept.
    patience : int
        Expansions without a new best score that the search goes through, that of the first graph among them.
    max_open : int
        Graphs on the open list; the worst ones are dropped beyond twice as many.

    Notes
    -----
    Cost: the rows of gains of the children in which the graph differs from the one expanded before; 8 bytes an arc for
    each graph on the list.

    References
    ----------
    .. [1] Russell, S. and Norvig, P. (2010). Artificial Intelligence: A Modern Approach, section 3.5.
    .. [2] Koller, D. and Friedman, N. (2009). Probabilistic Graphical Models, section 18.4.3.2.
    """
    if "open_scores" in course.memo:
        opened, seen, idle = _taken_up(course.memo)
    else:
        first = _key(map(tuple, state.edges().tolist()))
        opened, seen, idle = [(-state.score, 0, first)], {_digest(first)}, 0
    number = max((entry[1] for entry in opened), default=0)
    while opened and idle <= patience:
        over = course.is_over()
        if over or course.run.is_snapshot_due():  # the list is long: it is packed only where it is written
            course.mark_safe(state, **_memo(opened, seen, idle))
        if over:
            raise Stopped
        _, _, key = heapq.heappop(opened)
        course.keep_best(state)
        state.reset(_arcs(key))
        idle = 0 if course.record_move(state) else idle + 1
        moves, gains = state.moves.legal_moves(width)
        order = np.lexsort((state.priority[moves[:, 1]], state.priority[moves[:, 2]], moves[:, 0], -gains))[:width]
        score, arcs = state.score, set(map(tuple, state.edges().tolist()))
        for op, tail, head, gain in zip(*moves[order].T.tolist(), gains[order].tolist(), strict=True):
            if gain == -np.inf:
                continue
            after = _key(_after(arcs, op, tail, head))
            if _digest(after) not in seen:
                seen.add(_digest(after))
                number += 1
                heapq.heappush(opened, (-(score + gain), number, after))
        if len(opened) > 2 * max_open:
            opened = heapq.nsmallest(max_open, opened)
            heapq.heapify(opened)


def _after(arcs: set[tuple[int, int]], op: int, tail: int, head: int) -> set[tuple[int, int]]:
    if op == ADD:
        return arcs | {(tail, head)}
    left = arcs - {(tail, head)}
    return left | {(head, tail)} if op == REVERSE else left


def _key(arcs: Iterable[tuple[int, int]]) -> bytes:
    """Return the arcs, sorted, as bytes: equal graphs have equal keys."""
    return np.array(sorted(arcs), dtype=np.int32).tobytes()


def _arcs(key: bytes) -> np.ndarray:
    return np.frombuffer(key, dtype=np.int32).reshape(-1, 2).astype(np.int64)


def _digest(key: bytes) -> int:
    # eight bytes stand for a graph: two among a million graphs fall together with probability 3e-8
    return int.from_bytes(blake2b(key, digest_size=8).digest(), "little", signed=True)


def _memo(opened: list[_Entry], seen: set[int], idle: int) -> dict:
    keys = [key for _, _, key in opened]
    return {
        "open_scores": np.array([entry[0] for entry in opened]),
        "open_numbers": np.array([entry[1] for entry in opened], dtype=np.int64),
        "open_sizes": np.array([len(key) for key in keys], dtype=np.int64),
        "open_keys": np.frombuffer(b"".join(keys), dtype=np.uint8),
        "seen": np.array(sorted(seen), dtype=np.int64),
        "idle": idle,
    }


def _taken_up(memo: dict) -> tuple[list[_Entry], set[int], int]:
    ends = np.cumsum(memo["open_sizes"]).tolist()
    text = memo["open_keys"].tobytes()
    keys = [text[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
    opened = list(zip(memo["open_scores"].tolist(), memo["open_numbers"].tolist(), keys, strict=True))
    return opened, set(memo["seen"].tolist()), int(memo["idle"])
