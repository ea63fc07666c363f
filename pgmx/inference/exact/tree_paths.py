"""Joint distributions of variables that no single clique of a junction tree holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod

import numpy as np

from pgmx.inference.exact.junction_tree import JunctionTree

__all__ = ["joint_over_cliques"]

Part = tuple[list[int], np.ndarray]


def joint_over_cliques(
    tree: JunctionTree,
    conditionals: Sequence[np.ndarray],
    belief: Callable[[int], np.ndarray],
    free: Sequence[int],
    check: Callable[[int], None],
) -> np.ndarray:
    """Carry variables along the tree to where their paths meet, summing out everything else.

    The product runs over the smallest connected part of the tree that holds the variables `free`, all of two states or
    more: the belief of its top clique times the conditionals of the others given their sepsets. `check` is called with
    the number of cells to be visited at a clique before anything is computed. One axis per variable, as in `free`.
    """
    plan = tree.plan
    wanted = set(free)
    paths = _paths(tree.parents, {int(plan.homes[v]) for v in free})
    carried: dict[int, list[int]] = {}
    for clique, _ in paths:
        brought = [v for child in tree.children[clique] for v in carried.get(child, ())]
        check(prod(tree.cards[v] for v in {*plan.cliques[clique], *brought}))
        carried[clique] = brought + [v for v in tree.rest(clique) if v in wanted]
    waiting: dict[int, list[Part]] = {}
    tops: list[Part] = []
    for clique, is_top in paths:
        table = belief(clique) if is_top else conditionals[clique].reshape(tree.shapes[clique])
        scope = carried[clique] if is_top else [*plan.sepsets[clique], *carried[clique]]
        part = (scope, _sum_out([(list(plan.cliques[clique]), table), *waiting.pop(clique, [])], scope))
        if is_top:
            tops.append(part)
        else:
            waiting.setdefault(tree.parents[clique], []).append(part)
    return _sum_out(tops, list(free))


def _paths(parents: Sequence[int], homes: Iterable[int]) -> list[tuple[int, bool]]:
    """Return the cliques on the paths between some, children first, and whether each is the top of its part."""
    ends = set(homes)
    marked: dict[int, list[int]] = {}
    roots = []
    for clique in sorted(ends):
        fresh = clique not in marked
        marked.setdefault(clique, [])
        while fresh and parents[clique] >= 0:
            above = parents[clique]
            fresh = above not in marked
            marked.setdefault(above, []).append(clique)
            clique = above
        if fresh:
            roots.append(clique)
    tops = set()
    for top in roots:
        while top not in ends and len(marked[top]) == 1:
            (top,) = marked.pop(top)
        tops.add(top)
    return [(clique, clique in tops) for clique in sorted(marked, reverse=True)]


def _sum_out(parts: Sequence[Part], variables: list[int]) -> np.ndarray:
    """Multiply tables and sum out all variables but `variables`, without building the product."""
    label = {v: at for at, v in enumerate(dict.fromkeys(v for scope, _ in parts for v in scope))}
    operands: list = []
    for scope, table in parts:
        operands += [table, [label[v] for v in scope]]
    return np.einsum(*operands, [label[v] for v in variables])
