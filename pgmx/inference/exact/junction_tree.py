"""Sums, maxima and conditional tables over the cliques of a junction tree.

Every clique table is laid out as (states of the sepset to the parent, states of the rest), which the order of the
variables in a plan's cliques makes possible without a single transpose. One pass from the leaves to the roots works in
logarithms and leaves the conditional distributions of each clique given its sepset; what follows multiplies
probabilities only, so that nothing overflows, and what underflows is smaller than 1e-308.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import fsum, prod

import numpy as np

from pgmx.inference.exact.elimination import EliminationPlan

__all__ = ["Factor", "JunctionTree", "draw", "log_partition_and_conditionals", "most_probable"]

Factor = tuple[tuple[int, ...], np.ndarray]


class JunctionTree:
    """The factors of a network, each in a clique that holds its variables.

    Parameters
    ----------
    plan : EliminationPlan
        The tree.
    cards : sequence of int
        Number of states of each variable.
    factors : sequence of (tuple of int, ndarray)
        Scopes, none empty, and logarithms of the values.
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
        self._own: list[list[Factor]] = [[] for _ in self.parents]
        for scope, table in factors:
            self._own[plan.homes[min(scope, key=self.rank.__getitem__)]].append((scope, table))

    def rest(self, clique: int) -> tuple[int, ...]:
        """Return the variables of a clique that its parent does not hold."""
        return self.plan.cliques[clique][len(self.plan.sepsets[clique]) :]

    def spread(self, clique: int, scope: Sequence[int], table: np.ndarray) -> np.ndarray:
        """Return a view of a table over some of a clique's variables that broadcasts against the clique's table."""
        axes = sorted(range(len(scope)), key=lambda axis: -self.rank[scope[axis]])
        held = set(scope)
        shape = [self.cards[v] if v in held else 1 for v in self.plan.cliques[clique]]
        return table.transpose(axes).reshape(shape)

    def collected(self, clique: int, messages: dict[int, np.ndarray]) -> np.ndarray:
        """Return the sum of a clique's factors and of its children's messages, which are used up: (sepset, rest)."""
        total = np.zeros(self.shapes[clique])
        for scope, table in self._own[clique]:
            total += self.spread(clique, scope, table)
        for child in self.children[clique]:
            total += self.spread_sepset(clique, child, messages.pop(child))
        return total.reshape(self.split[clique], -1)

    def spread_sepset(self, clique: int, child: int, message: np.ndarray) -> np.ndarray:
        """Return a vector over the states of a child's sepset so that it broadcasts against the parent's table."""
        held = set(self.plan.sepsets[child])
        return message.reshape([self.cards[v] if v in held else 1 for v in self.plan.cliques[clique]])

    def upward(self) -> Iterator[int]:
        """Yield the cliques, children before parents."""
        return iter(range(len(self.parents) - 1, -1, -1))

    def beliefs(self, conditionals: Sequence[np.ndarray]) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Yield each clique, parents first, with the distributions of its sepset and of all its variables.

        Parameters
        ----------
        conditionals : sequence of ndarray
            As `log_partition_and_conditionals` returns them.

        Yields
        ------
        clique : int
            Number of the clique.
        shared : ndarray of shape (states of the sepset,)
            Distribution of the sepset.
        belief : ndarray, one axis a variable of the clique
            Their joint distribution.
        """
        waiting: dict[int, np.ndarray] = {}
        for clique, conditional in enumerate(conditionals):
            shared = waiting.pop(clique) if self.parents[clique] >= 0 else np.ones(1)
            belief = (conditional * shared[:, None]).reshape(self.shapes[clique])
            for child in self.children[clique]:
                waiting[child] = self.marginal(clique, belief, self.plan.sepsets[child]).ravel()
            yield clique, shared, belief

    def marginal(self, clique: int, belief: np.ndarray, variables: Sequence[int]) -> np.ndarray:
        """Return the sum of a clique's table over all but some variables, axes in the clique's order."""
        wanted = set(variables)
        others = tuple(axis for axis, v in enumerate(self.plan.cliques[clique]) if v not in wanted)
        return belief.sum(axis=others) if others else belief


def log_partition_and_conditionals(tree: JunctionTree) -> tuple[float, list[np.ndarray]]:
    """Sum over all states, and condition each clique on the sepset to its parent.

    Parameters
    ----------
    tree : JunctionTree
        Cliques and factors.

    Returns
    -------
    log_partition : float
        Logarithm of the sum over all states of the product of the factors; minus infinity if that is zero, and the
        conditional tables are then not all there.
    conditionals : list of ndarray of shape (states of the sepset, states of the rest)
        Rows sum to 1, or to 0 where the sepset's state is impossible.
    """
    messages: dict[int, np.ndarray] = {}
    conditionals: list[np.ndarray] = [np.empty(0)] * len(tree.parents)
    scales = []
    with np.errstate(divide="ignore"):
        for clique in tree.upward():
            table = tree.collected(clique, messages)
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
    """Maximise the product of the factors.

    Parameters
    ----------
    tree : JunctionTree
        Cliques and factors.

    Returns
    -------
    log_value : float
        Logarithm of the largest product.
    states : list of int
        A state of each variable; of equally good ones that which comes first in the layout of the tables.
    """
    messages: dict[int, np.ndarray] = {}
    best: list[np.ndarray] = [np.empty(0)] * len(tree.parents)
    scales = []
    for clique in tree.upward():
        table = tree.collected(clique, messages)
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
        chosen = int(choice[at])
        for v in reversed(tree.rest(clique)):
            chosen, states[v] = divmod(chosen, tree.cards[v])
    return fsum(scales), states


def draw(cumulative: np.ndarray, rows: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """Draw one cell from a row of weights for each sample, by bisection.

    Parameters
    ----------
    cumulative : ndarray of float64, shape (k, c)
        Running sums of the weights of each row.
    rows : ndarray of int64, shape (N,)
        Row of each sample; its weights must not all be zero.
    uniform : ndarray of float64, shape (N,)
        Numbers in [0, 1).

    Returns
    -------
    ndarray of int64, shape (N,)
        A cell of positive weight for each sample.
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
