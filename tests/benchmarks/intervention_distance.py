"""The structural intervention distance of two directed acyclic graphs, for the tables of quality.py."""

import numpy as np


def intervention_distance(n, true_edges, edges):
    """Return for how many ordered pairs (i, j) the parents of i in the learned graph do not identify i's effect on j.

    A pair counts where j is a parent of i in the learned graph but a descendant of i in the true one, and where the
    parents of i in the learned graph are no valid adjustment set for (i, j) in the true graph: one of them descends
    from a variable that lies behind i on a directed path to j, or they leave a path open that begins otherwise.
    Cost: O(n² (n + edges)). Reference: Peters and Buehlmann (2015), Neural Computation 27, 771-799, definition 4.
    """
    children, parents = [set() for _ in range(n)], [set() for _ in range(n)]
    for tail, head in true_edges:
        children[tail].add(head)
        parents[head].add(tail)
    below = _reachable(children)  # of a variable, itself among them
    adjusted = [set() for _ in range(n)]
    for tail, head in edges:
        adjusted[head].add(tail)
    wrong = 0
    for i in range(n):
        given = adjusted[i]
        for j in range(n):
            if j == i:
                continue
            if j in given:
                wrong += below[i, j]
                continue
            behind = [v for v in range(n) if v != i and below[i, v] and below[v, j]]
            bad = any(below[v, z] for v in behind for z in given)
            cut = {v for v in children[i] if v in behind}
            wrong += bad or _is_open(i, j, given, children, parents, cut, below)
    return int(wrong)


def _reachable(children):
    n = len(children)
    below = np.zeros((n, n), dtype=bool)
    for v in range(n):
        stack = [v]
        while stack:
            u = stack.pop()
            if not below[v, u]:
                below[v, u] = True
                stack.extend(children[u])
    return below


def _is_open(i, j, given, children, parents, cut, below):
    """Return whether i and j are d-connected given a set once the arcs from i to `cut` are deleted (Bayes ball)."""
    above = {v for v in range(len(children)) for z in given if below[v, z]}  # cutting arcs out of i changes none but i
    seen, stack = set(), [(i, True)]  # (variable, whether the ball comes from a child)
    while stack:
        v, from_child = state = stack.pop()
        if state in seen:
            continue
        seen.add(state)
        if v == j:
            return True
        onward = [(c, False) for c in children[v] if v != i or c not in cut]
        back = [(p, True) for p in parents[v] if p != i or v not in cut]
        if v not in given:
            stack += onward
            if from_child:
                stack += back
        if not from_child and v in above:
            stack += back
    return False
