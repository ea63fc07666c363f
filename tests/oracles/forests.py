"""The best rooted forest by trying all of them."""

import itertools
import math


def parent_choices(n):
    """Yield every way to give each of n variables one parent or none (-1) without a cycle."""
    for parents in itertools.product(range(-1, n), repeat=n):
        if all(_reaches_a_root(parents, v) for v in range(n)):
            yield parents


def best_weight(weights, required=(), allowed=None):
    """Return the largest sum of ``weights[head][tail]`` over rooted forests, None where no forest will do.

    ``required`` are arcs (tail, head) of the forest; ``allowed[head][tail]`` is false for arcs that it may not hold.
    """
    best = None
    for parents in parent_choices(len(weights)):
        arcs = [(tail, head) for head, tail in enumerate(parents) if tail >= 0]
        if not set(required) <= set(arcs):
            continue
        if allowed is not None and not all(allowed[head][tail] for tail, head in arcs):
            continue
        total = math.fsum(weights[head][tail] for tail, head in arcs)
        if best is None or total > best:
            best = total
    return best


def _reaches_a_root(parents, v):
    for _ in range(len(parents)):
        if parents[v] < 0:
            return True
        v = parents[v]
    return False
