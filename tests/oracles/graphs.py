"""Paths and cycles in sets of edges (tail, head), the slow way."""


def reaches(edges, source, target):
    """Return whether a directed path leads from `source` to `target`; every node reaches itself."""
    seen, stack = set(), [source]
    while stack:
        node = stack.pop()
        if node == target:
            return True
        if node not in seen:
            seen.add(node)
            stack.extend(head for tail, head in edges if tail == node)
    return False


def is_acyclic(edges):
    """Return whether no edge closes a path back to its own tail."""
    return not any(reaches(edges, head, tail) for tail, head in edges)
