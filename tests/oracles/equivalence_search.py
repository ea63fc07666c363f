"""Operators on equivalence classes, by enumeration of the members and by the conditions of their sources."""

from itertools import chain, combinations, product

from oracles.equivalence import cpdag, members
from oracles.graphs import is_acyclic


def class_of(n, edges):
    """Return a class as a value that can be compared."""
    directed, undirected = cpdag(n, sorted(edges))
    return tuple(directed), tuple(undirected)


def changes(edges, n, kind):
    """Yield the graphs of one more arc, one fewer, or one reversed."""
    edges = set(edges)
    if kind == "forward":
        for tail, head in product(range(n), repeat=2):
            if tail != head and (tail, head) not in edges and (head, tail) not in edges:
                yield edges | {(tail, head)}
    else:
        for tail, head in edges:
            rest = edges - {(tail, head)}
            yield rest if kind == "backward" else rest | {(head, tail)}


def neighbour_classes(n, edges, kind):
    """Return the classes with a graph that is one change away from a graph of this class, each with such a graph."""
    found = {}
    for member in members(n, sorted(edges)):
        for other in changes(member, n, kind):
            if is_acyclic(other):
                found[class_of(n, other)] = other
    found.pop(class_of(n, edges), None)
    return found


def climb_classes(n, edges, score, phases, *, repeat, least_gain=1e-9):
    """Return the scores of the classes that a greedy search goes through, and its last graph."""
    scores, idle, number = [], 0, 0
    while idle < len(phases):
        moved = False
        while True:
            best = max(neighbour_classes(n, edges, phases[number]).values(), key=score, default=None)
            if best is None or score(best) - score(edges) < least_gain:
                break
            edges, moved = best, True
            scores.append(score(edges))
        idle = 1 if repeat and moved else idle + 1
        number = (number + 1) % len(phases)
    return scores, edges


# ---- the conditions ----


def list_paths(graph, start, end):
    """Yield the paths from start to end along arrows and undirected edges, as lists of variables."""
    directed, undirected = graph
    steps = {*directed, *undirected, *((b, a) for a, b in undirected)}

    def extend(path):
        if path[-1] == end:
            yield path
            return
        for a, b in sorted(steps):
            if a == path[-1] and b not in path:
                yield from extend([*path, b])

    yield from extend([start])


def list_operators(n, graph, kind):
    """Return the valid operators of a class, (tail, head, neighbours of the head that are its parents).

    Chickering (2002), theorems 15 and 17; Hauser and Buehlmann (2012), propositions 31 and 34.
    """
    directed, undirected = set(graph[0]), set(graph[1])
    adjacent = {*directed, *undirected, *((b, a) for a, b in (*directed, *undirected))}
    neighbours = [{b for a, b in (*undirected, *((b, a) for a, b in undirected)) if a == v} for v in range(n)]
    near = [{b for a, b in adjacent if a == v} for v in range(n)]
    operators = set()
    for tail, head in product(range(n), repeat=2):
        if tail == head:
            continue
        options = sorted(neighbours[head] - {tail})
        for chosen in chain.from_iterable(combinations(options, k) for k in range(len(options) + 1)):
            clique, common = set(chosen), neighbours[head] & near[tail]
            if any(pair not in adjacent for pair in combinations(chosen, 2)):
                continue
            if kind == "forward":
                valid = tail not in near[head] and common <= clique
                valid = valid and all(clique & set(path) for path in list_paths(graph, head, tail))
            elif kind == "backward":
                valid = ((tail, head) in directed or tail in neighbours[head]) and clique <= common
            elif (head, tail) in directed:
                paths = [path for path in list_paths(graph, head, tail) if len(path) > 2]
                valid = common <= clique and all((clique | neighbours[tail]) & set(path[:-1]) for path in paths)
            else:
                sides = clique - common, common - clique
                valid = tail in neighbours[head] and bool(sides[0])
                valid = valid and not joined(neighbours[head], adjacent, clique & common, *sides)
            if valid:
                operators.add((tail, head, frozenset(clique)))
    return operators


def joined(variables, adjacent, separator, starts, ends):
    """Return whether a path among the variables leads from the starts to the ends outside of the separator."""
    seen, waiting = set(starts), list(starts)
    while waiting:
        v = waiting.pop()
        further = {w for w in variables if (v, w) in adjacent} - seen - set(separator)
        seen |= further
        waiting.extend(further)
    return bool(seen & set(ends))
