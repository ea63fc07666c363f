"""The partial ancestral graph of a set of separations, by enumeration of all maximal ancestral graphs."""

from itertools import combinations, product


def list_separations(n, is_separated):
    """Return ``{(x, y, z): bool}`` for all pairs x < y and all sets z of other variables."""
    table = {}
    for x, y in combinations(range(n), 2):
        others = [v for v in range(n) if v not in (x, y)]
        for size in range(n - 1):
            for z in combinations(others, size):
                table[x, y, z] = bool(is_separated(x, y, z))
    return table


def list_adjacent_pairs(n, table):
    """Return the pairs that no set separates."""
    separated = {(x, y) for (x, y, _), is_separated in table.items() if is_separated}
    return [pair for pair in combinations(range(n), 2) if pair not in separated]


def enumerate_pag(n, table):
    """Return ``{(u, v): mark at v}`` of the marks that all ancestral graphs with these separations share.

    The marks are ">" and "-", and "o" if the graphs differ. A maximal ancestral graph joins exactly the pairs that no
    set separates, so each of these pairs has one of four edges, and all combinations are tried.
    """
    pairs = list_adjacent_pairs(n, table)
    tests = sorted((test for test in table if test[:2] not in pairs), key=lambda test: len(test[2]))
    shared = {}
    for edges in product(("->", "<-", "<>", "--"), repeat=len(pairs)):
        marks = {}
        for (u, v), edge in zip(pairs, edges, strict=True):
            marks[u, v] = "-" if edge in ("<-", "--") else ">"
            marks[v, u] = "-" if edge in ("->", "--") else ">"
        ancestors = find_ancestors(n, marks)
        if not is_ancestral(marks, ancestors):
            continue
        if all(are_m_separated(marks, ancestors, *test) == table[test] for test in tests):
            for end, mark in marks.items():
                shared[end] = mark if shared.get(end, mark) == mark else "o"
    return shared


def find_ancestors(n, marks):
    """Return the ancestors of each variable, itself among them."""
    parents = [{u for u in range(n) if marks.get((u, v)) == ">" and marks[v, u] == "-"} for v in range(n)]
    ancestors = []
    for v in range(n):
        found, waiting = {v}, [v]
        while waiting:
            new = parents[waiting.pop()] - found
            found |= new
            waiting.extend(new)
        ancestors.append(found)
    return ancestors


def is_ancestral(marks, ancestors):
    """Return whether no arrowhead is at an ancestor of the other end, or at the end of an undirected edge."""
    undirected = {v for (u, v), mark in marks.items() if mark == "-" == marks[v, u]}
    return not any(mark == ">" and (v in ancestors[u] or v in undirected) for (u, v), mark in marks.items())


def are_m_separated(marks, ancestors, x, y, z):
    """Return whether z blocks all walks from x to y: colliders are open in An(z), other vertices outside of z."""
    opened = set().union(*(ancestors[v] for v in z))
    waiting = [(u, v) for u, v in marks if u == x]
    seen = set(waiting)
    while waiting:
        u, v = waiting.pop()
        if v == y:
            return False
        for w in range(len(ancestors)):
            if w == u or (v, w) not in marks or (v, w) in seen:
                continue
            is_collider = marks[u, v] == ">" == marks[w, v]
            if v in opened if is_collider else v not in z:
                seen.add((v, w))
                waiting.append((v, w))
    return True
