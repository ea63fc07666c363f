"""Best-first search over directed acyclic graphs."""

import heapq
from collections.abc import Iterable
from hashlib import blake2b

import numpy as np

from pgmx._ext._dag_moves import ADD, REVERSE
from pgmx.runs.checkpoint import Snapshot
from pgmx.scores.gains import FamilyMessage, prefetch_families
from pgmx.search.dag.state import DagState
from pgmx.search.dag.tracker import SearchTracker, StopSearch

_Entry = tuple[float, int, bytes]  # minus the score, a running number, the arcs

#: Graphs of the open list whose rows are prefetched if counts are remote.
GRAPHS_TO_PREFETCH = 4


def best_first(state: DagState, tracker: SearchTracker, *, width: int, patience: int, max_open: int) -> None:
    """Repeatedly expand the best graph that is not yet expanded; an expansion counts as a move.

    The graphs of its `width` best moves enter the open list. If the list exceeds twice `max_open`, the worst graphs are
    dropped. A graph enters once, and `patience` expansions without a new best score end the search. `state` must offer
    all moves. Cost: one row of gains for each child whose parents differ from the previously expanded graph.
    """
    memo = tracker.read_memo("open_scores", "open_numbers", "open_sizes", "open_keys", "seen", "idle")
    if memo:
        open_list, seen, idle = _unpack_memo(memo, state.n, patience)
    else:
        first = _make_key(map(tuple, state.edges().tolist()))
        open_list, seen, idle = [(-state.score, 0, first)], {_hash_key(first)}, 0
    # the running number breaks ties of scores: the graph found first is expanded first
    number = n_stored = max((entry[1] for entry in open_list), default=0)
    while open_list and idle <= patience:
        over = tracker.is_over()
        if over or tracker.run.is_snapshot_due():  # packing the long list is slow: do it only for a snapshot
            tracker.mark_safe_point(state, **_pack_memo(open_list, seen, idle))
        if over:
            raise StopSearch
        less_score, rank, key = heapq.heappop(open_list)
        tracker.keep_best(state)
        arcs = _read_arcs(key)
        stored = memo if rank <= n_stored else None  # checked one by one, since the list is long
        if stored and tracker.checker is not None:
            tracker.checker.check(stored, arcs, "open_keys")
        _prefetch_graphs(state, arcs, open_list)
        state.reset(arcs)
        if stored and tracker.checker is not None:  # a sum of a score and a rounded gain
            tracker.checker.check_score(stored, -less_score, "open_scores", rounding=1e-6)
        idle = 0 if tracker.record_move(state) else idle + 1
        moves, gains = state.moves.legal_moves(width)
        # ties of gains: by the kind of move, then the head, then the tail
        order = np.lexsort((state.priority[moves[:, 1]], state.priority[moves[:, 2]], moves[:, 0], -gains))[:width]
        score, present = state.score, set(map(tuple, arcs.tolist()))
        for op, tail, head, gain in zip(*moves[order].T.tolist(), gains[order].tolist(), strict=True):
            if gain == -np.inf:
                continue
            after = _make_key(_apply_move(present, op, tail, head))
            if _hash_key(after) not in seen:
                seen.add(_hash_key(after))
                number += 1
                heapq.heappush(open_list, (-(score + gain), number, after))
        # only at twice the size, so that dropping costs little per graph
        if len(open_list) > 2 * max_open:
            open_list = heapq.nsmallest(max_open, open_list)
            heapq.heapify(open_list)


def _prefetch_graphs(state: DagState, arcs: np.ndarray, open_list: list[_Entry]) -> None:
    """Prefetch the families that a graph changes, then those of the next graphs of the open list."""

    def list_messages() -> list[FamilyMessage]:
        # the families of the expanded graph come first: only they are needed now
        now, families, n_needed = state.edges(), [], 0
        for graph in (arcs, *(_read_arcs(key) for _, _, key in heapq.nsmallest(GRAPHS_TO_PREFETCH, open_list))):
            families += _list_changes(now, graph)
            n_needed = n_needed or len(families)
            now = arcs
        return [(families, n_needed, True)]

    prefetch_families(state.source, list_messages)


def _list_changes(before: np.ndarray, after: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """Return the families of the children whose parents differ between two graphs, as in the second graph."""
    arcs = set(map(tuple, after.tolist()))
    parents: dict[int, list[int]] = {head: [] for _, head in arcs ^ set(map(tuple, before.tolist()))}
    for tail, head in sorted(arcs):
        if head in parents:
            parents[head].append(tail)
    return [(head, np.array(parents[head], dtype=np.int32)) for head in sorted(parents)]


def _apply_move(arcs: set[tuple[int, int]], op: int, tail: int, head: int) -> set[tuple[int, int]]:
    if op == ADD:
        return arcs | {(tail, head)}
    others = arcs - {(tail, head)}
    return others | {(head, tail)} if op == REVERSE else others


def _make_key(arcs: Iterable[tuple[int, int]]) -> bytes:
    """Return the arcs, sorted, as bytes: equal graphs have equal keys."""
    return np.array(sorted(arcs), dtype=np.int32).tobytes()


def _read_arcs(key: bytes) -> np.ndarray:
    return np.frombuffer(key, dtype=np.int32).reshape(-1, 2).astype(np.int64)


def _hash_key(key: bytes) -> int:
    # eight bytes identify a graph: the probability of a collision among a million graphs is 3e-8
    return int.from_bytes(blake2b(key, digest_size=8).digest(), "little", signed=True)


def _pack_memo(open_list: list[_Entry], seen: set[int], idle: int) -> dict:
    keys = [key for _, _, key in open_list]
    return {
        "open_scores": np.array([entry[0] for entry in open_list]),
        "open_numbers": np.array([entry[1] for entry in open_list], dtype=np.int64),
        "open_sizes": np.array([len(key) for key in keys], dtype=np.int64),
        "open_keys": np.frombuffer(b"".join(keys), dtype=np.uint8),
        "seen": np.array(sorted(seen), dtype=np.int64),
        "idle": idle,
    }


def _unpack_memo(memo: Snapshot, n: int, patience: int) -> tuple[list[_Entry], set[int], int]:
    scores = memo.array("open_scores", float, (None,))
    numbers = memo.array("open_numbers", np.int64, scores.shape, least=0, distinct=True)
    sizes = memo.array("open_sizes", np.int64, scores.shape, least=0, most=8 * n * n)
    text = memo.array("open_keys", np.uint8, (None,)).tobytes()
    memo.check(not (sizes % 8).any() and sum(sizes.tolist()) == len(text), "graphs of other sizes than it says")
    arcs = _read_arcs(text)
    memo.check(((arcs >= 0) & (arcs < n)).all() and (arcs[:, 0] != arcs[:, 1]).all(), "arcs between unknown variables")
    ends = np.cumsum(sizes).tolist()
    keys = [text[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
    seen = set(memo.array("seen", np.int64, (None,), distinct=True).tolist())
    memo.check(seen.issuperset(map(_hash_key, keys)), "open graphs that were not seen")
    open_list = list(zip(scores.tolist(), numbers.tolist(), keys, strict=True))
    heapq.heapify(open_list)
    return open_list, seen, memo.integer("idle", 0, patience)
