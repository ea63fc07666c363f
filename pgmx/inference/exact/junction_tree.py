"""Sums, maxima, conditional tables and joint distributions over the cliques of a junction tree.

Every clique table has the layout (states of the sepset to the parent, states of the rest). The order of the variables
in a plan's cliques makes transposes unnecessary. One pass from the leaves to the roots works in logarithms and computes
the conditional distribution of each clique given its sepset. All later steps multiply probabilities only, so that
nothing overflows, and only values below 1e-308 underflow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import fsum, prod

import numpy as np

from pgmx.inference.exact.elimination import EliminationPlan

Factor = tuple[tuple[int, ...], np.ndarray]
Part = tuple[list[int], np.ndarray]


class JunctionTree:
    """The factors of a network, each assigned to a clique that contains its variables.

    Factors are non-empty scopes with tables of logarithms.
    """

    def __init__(self, plan: EliminationPlan, cards: Sequence[int], factors: Sequence[Factor]) -> None:
        self.plan = plan
        self.cards = list(cards)
        self.rank = plan.rank.tolist()
        self.parents = plan.parents.tolist()
        self.children: list[list[int]] = [[] for _ in self.parents]
        for clique, parent in enumerate(self.parents):
            if parent >= 0:
                self.children[parent].append(clique)
        self.shapes = [tuple(self.cards[v] for v in clique) for clique in plan.cliques]
        self.split = [prod(self.cards[v] for v in shared) for shared in plan.sepsets]
        self._factors: list[list[Factor]] = [[] for _ in self.parents]
        for scope, table in factors:
            self._factors[plan.homes[min(scope, key=self.rank.__getitem__)]].append((scope, table))

    def rest(self, clique: int) -> tuple[int, ...]:
        """Return the variables of a clique that its parent does not contain."""
        return self.plan.cliques[clique][len(self.plan.sepsets[clique]) :]

    def spread(self, clique: int, scope: Sequence[int], table: np.ndarray) -> np.ndarray:
        """Return a view of a table over some of a clique's variables that broadcasts against the clique's table."""
        axes = sorted(range(len(scope)), key=lambda axis: -self.rank[scope[axis]])
        held = set(scope)
        shape = [self.cards[v] if v in held else 1 for v in self.plan.cliques[clique]]
        return table.transpose(axes).reshape(shape)

    def collect(self, clique: int, messages: dict[int, np.ndarray]) -> np.ndarray:
        """Sum a clique's factors and its children's messages, which are removed: shape (sepset, rest)."""
        total = np.zeros(self.shapes[clique])
        for scope, table in self._factors[clique]:
            total += self.spread(clique, scope, table)
        for child in self.children[clique]:
            held = set(self.plan.sepsets[child])  # in the order of the clique
            total += messages.pop(child).reshape([self.cards[v] if v in held else 1 for v in self.plan.cliques[clique]])
        return total.reshape(self.split[clique], -1)

    def upward(self) -> Iterator[int]:
        """Yield the cliques, children before parents."""
        return iter(range(len(self.parents) - 1, -1, -1))

    def beliefs(self, conditionals: Sequence[np.ndarray]) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Yield each clique, parents first, with the distributions of its sepset and of all its variables.

        The first is flat, the second has one axis per variable of the clique.
        """
        waiting: dict[int, np.ndarray] = {}
        for clique, conditional in enumerate(conditionals):
            sepset = waiting.pop(clique) if self.parents[clique] >= 0 else np.ones(1)
            belief = (conditional * sepset[:, None]).reshape(self.shapes[clique])
            for child in self.children[clique]:
                waiting[child] = self.marginal(clique, belief, self.plan.sepsets[child]).ravel()
            yield clique, sepset, belief

    def marginal(self, clique: int, belief: np.ndarray, variables: Sequence[int]) -> np.ndarray:
        """Return the sum of a clique's table over all but some variables, axes in the clique's order."""
        wanted = set(variables)
        others = tuple(axis for axis, v in enumerate(self.plan.cliques[clique]) if v not in wanted)
        return belief.sum(axis=others) if others else belief


def log_partition_and_conditionals(tree: JunctionTree) -> tuple[float, list[np.ndarray]]:
    """Sum the product of the factors over all states, and condition each clique on the sepset to its parent.

    The conditional tables have the shape (states of the sepset, states of the rest); rows sum to 1, or to 0 if the
    sepset's state is impossible. If the log-partition is minus infinity, some tables are missing.
    """
    messages: dict[int, np.ndarray] = {}
    conditionals: list[np.ndarray] = [np.empty(0)] * len(tree.parents)
    scales = []
    with np.errstate(divide="ignore"):
        for clique in tree.upward():
            table = tree.collect(clique, messages)
            top = table.max(axis=1)
            top[top == -np.inf] = 0.0
            table -= top[:, None]
            np.exp(table, out=table)
            sums = table.sum(axis=1)
            message = np.log(sums)
            message += top
            # A message of constant size keeps sums of thousands of factors exact to the last digits.
            scale = float(message.max())
            if scale == -np.inf:
                return scale, conditionals
            sums[sums == 0.0] = 1.0
            table /= sums[:, None]
            conditionals[clique] = table
            scales.append(scale)
            if tree.parents[clique] >= 0:
                message -= scale
                messages[clique] = message
    return fsum(scales), conditionals


def most_probable(tree: JunctionTree) -> tuple[float, list[int]]:
    """Return the logarithm of the largest product of the factors, and the state of each variable there.

    Ties are broken by the order of the states in the tables.
    """
    messages: dict[int, np.ndarray] = {}
    best: list[np.ndarray] = [np.empty(0)] * len(tree.parents)
    scales = []
    for clique in tree.upward():
        table = tree.collect(clique, messages)
        best[clique] = table.argmax(axis=1)
        message = np.take_along_axis(table, best[clique][:, None], axis=1)[:, 0]
        scale = float(message.max())
        scales.append(scale)
        if tree.parents[clique] >= 0:
            messages[clique] = message - scale
    states = [0] * len(tree.cards)
    for clique, choice in enumerate(best):
        at = 0
        for v in tree.plan.sepsets[clique]:
            at = at * tree.cards[v] + states[v]
        cell = int(choice[at])
        for v in reversed(tree.rest(clique)):
            cell, states[v] = divmod(cell, tree.cards[v])
    return fsum(scales), states


def draw(cumulative: np.ndarray, rows: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """Draw one cell of positive weight from a row of weights for each of N samples, by bisection.

    `cumulative` (k, c) holds the cumulative sums of the weights of each row, which must not all be zero. `rows` (N,) is
    the row of each sample, `uniform` (N,) its uniform random number in [0, 1).
    """
    # u < 1 in float64, so that u times the total is below the total, and some cell passes it.
    target = uniform * cumulative[rows, -1]
    low = np.zeros(len(rows), dtype=np.int64)
    high = np.full(len(rows), cumulative.shape[1] - 1)
    for _ in range((cumulative.shape[1] - 1).bit_length()):
        middle = (low + high) // 2
        passed = cumulative[rows, middle] > target
        high = np.where(passed, middle, high)
        low = np.where(passed, low, middle + 1)
    return high


# ---- joint distributions of variables of several cliques ----


def joint_over_cliques(
    tree: JunctionTree,
    conditionals: Sequence[np.ndarray],
    belief: Callable[[int], np.ndarray],
    free: Sequence[int],
    check: Callable[[int], None],
) -> np.ndarray:
    """Return the joint of `free`, variables of two states or more, in this order; all others are summed out.

    The product is over the smallest subtree that contains `free`: the belief of its top clique times the conditionals
    of the others given their sepsets. `check` is called with the number of cells to be visited at a clique before
    anything is computed.
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
    """Return the cliques on the paths between given cliques, children first, and whether each is a top clique."""
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
