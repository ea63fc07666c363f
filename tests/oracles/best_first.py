"""Best-first search over directed acyclic graphs on a plain list, written for reading and not for speed."""

from oracles import family_scores as moves


def best_first(
    n,
    local_score,
    *,
    width,
    patience,
    max_open,
    priority,
    start=(),
    required=(),
    allowed=None,
    max_indegree=None,
    price=0.0,
):
    """Return the edges (tail, head), sorted, of the best graph expanded, and the scores of all graphs as expanded.

    Each step takes the best graph that waits (the one that came first among equals) and lets the graphs behind its
    `width` best moves wait that were never reached before. Moves of equal gain go by operation, then by the priority of
    the head, then of the tail. Beyond ``2 max_open`` that wait, the best `max_open` are kept. After `patience`
    expansions without a better graph the next one without ends the search. An arc costs `price`.
    """

    def score(edges):
        return sum(local_score(v, tuple(sorted(moves._parents(edges, v)))) for v in range(n)) - price * len(edges)

    def key(edges, move):
        operation, (tail, head) = move
        gain = score(moves._after(edges, move)) - score(edges)
        return -gain, moves.OPERATIONS.index(operation), priority[head], priority[tail]

    required = {tuple(edge) for edge in required}
    first = frozenset(tuple(edge) for edge in start)
    waiting, reached, came = [(-score(first), 0, first)], {first}, 0
    best, idle, seen = first, 0, []
    while waiting and idle <= patience:
        waiting.sort(key=lambda entry: entry[:2])
        graph = waiting.pop(0)[2]
        seen.append(score(graph))
        idle += 1
        if score(graph) > score(best):
            best, idle = graph, 0
        legal = moves._legal_moves(n, graph, required, allowed, n if max_indegree is None else max_indegree)
        for move in sorted(legal, key=lambda move: key(graph, move))[:width]:
            after = frozenset(moves._after(graph, move))
            if after not in reached:
                reached.add(after)
                came += 1
                waiting.append((-score(after), came, after))
        if len(waiting) > 2 * max_open:
            waiting = sorted(waiting, key=lambda entry: entry[:2])[:max_open]
    return sorted(best), seen
