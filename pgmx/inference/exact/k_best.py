"""The k most probable configurations of a discrete network, down a junction tree whose max-messages are exact.

After a max-pass to the roots, a cell of a clique loses, given the states of its sepset, the difference to the best cell
of the same states. The logarithm of a configuration is the best one minus its losses, and a configuration of the first
cliques can always be completed without a further loss. So the k best configurations of the first cliques contain all k
best ones of the network (Lawler 1972, Management Science 18; Nilsson 1998, Statistics and Computing 8; Flerova,
Marinescu, Dechter 2016, Journal of Artificial Intelligence Research 55).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum

import numpy as np

from pgmx.inference.exact.elimination_order import make_treewidth_error, search_order
from pgmx.inference.exact.junction_tree import JunctionTree
from pgmx.inference.reduced_network import Network, ReducedNetwork, ZeroProbabilityError


class LossTree:
    r"""A junction tree with the losses of its cells; `best` is the logarithm of the best configuration.

    Takes :math:`O(\sum_C \prod_{v \in C} s_v)` operations, and raises a TreewidthError before it allocates tables.
    """

    def __init__(self, network: Network, evidence: Mapping[int, int], memory: int) -> None:
        reduced = ReducedNetwork(network, evidence)
        plan = search_order(reduced.cards, [scope for scope, _ in reduced.factors])
        if plan.bytes > memory:
            raise make_treewidth_error(plan.width, plan.bytes, memory)
        self._tree = JunctionTree(plan, reduced.cards, reduced.factors)
        self._evidence = reduced.evidence
        self._losses: list[np.ndarray] = [np.empty(0)] * len(self._tree.parents)
        messages: dict[int, np.ndarray] = {}
        scales = [reduced.constant]
        with np.errstate(invalid="ignore"):
            for clique in self._tree.list_upward():
                table = self._tree.collect(clique, messages)
                top = table.max(axis=1)
                losses = np.subtract(top[:, None], table, out=table)
                losses[np.isnan(losses)] = np.inf  # an impossible sepset: infinity minus infinity
                self._losses[clique] = losses
                scale = float(top.max())
                if scale == -np.inf:
                    raise ZeroProbabilityError(self._evidence)
                scales.append(scale)
                if self._tree.parents[clique] >= 0:
                    messages[clique] = top - scale
        self.best = fsum(scales)

    def list_best(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the k smallest losses, ascending, and their configurations (k, n): fewer if no more are possible."""
        return self._extend(self._losses, k, np.inf)

    def list_maximisers(self, k: int, tolerance: float) -> np.ndarray:
        """Return the first k of the configurations without loss, in the order of states: (k, n).

        A loss is above `tolerance`. The search is that of the best ones, with numbers for losses: state s of a variable
        counts s times the number of configurations of the variables after it.
        """
        tree, place = self._tree, 1
        places = [0] * len(tree.cards)
        for v in reversed(range(len(tree.cards))):
            places[v] = place
            place *= tree.cards[v]
        # the cells without loss that configurations without loss reach
        cells: list[np.ndarray] = []
        reached = [np.full(rows, parent < 0) for rows, parent in zip(tree.split, tree.parents, strict=True)]
        for clique, losses in enumerate(self._losses):
            cells.append(np.flatnonzero((losses <= tolerance) & reached[clique][:, None]))
            for child in tree.children[clique]:
                reached[child][self._find_rows(clique, child, cells[clique])] = True
        tables: list[np.ndarray] = [np.empty(0)] * len(cells)
        smallest: list[np.ndarray] = [np.empty(0)] * len(cells)
        for clique in tree.list_upward():
            rows, n_cells = self._losses[clique].shape
            own = np.zeros(1, dtype=object)  # of the states of the rest
            for v in tree.rest(clique):
                own = np.add.outer(own, np.array([places[v] * state for state in range(tree.cards[v])], object)).ravel()
            numbers, row = own[cells[clique] % n_cells], cells[clique] // n_cells
            for child in tree.children[clique]:
                numbers = numbers + smallest[child][self._find_rows(clique, child, cells[clique])]
            smallest[clique] = np.full(rows, place, dtype=object)  # above all numbers
            np.minimum.at(smallest[clique], row, numbers)
            tables[clique] = np.full((rows, n_cells), place, dtype=object)
            tables[clique].flat[cells[clique]] = numbers - smallest[clique][row]
        return self._extend(tables, k, place)[1]

    def _find_rows(self, clique: int, child: int, cells: np.ndarray) -> np.ndarray:
        """Return the row of a child's table for some cells of a clique."""
        tree, held = self._tree, set(self._tree.plan.sepsets[child])
        shape = [tree.cards[v] if v in held else 1 for v in tree.plan.cliques[clique]]
        rows = np.arange(tree.split[child]).reshape(shape)
        return np.broadcast_to(rows, tree.shapes[clique]).ravel()[cells]

    def _extend(self, tables: list[np.ndarray], k: int, limit: float) -> tuple[np.ndarray, np.ndarray]:
        """Extend configurations clique by clique by cells of `tables`: each time the k smallest sums below `limit`."""
        tree = self._tree
        losses, states = np.zeros(1, dtype=tables[0].dtype), np.zeros((1, len(tree.cards)), dtype=np.int32)
        for clique, table in enumerate(tables):
            if table.shape[1] == 1:  # variables with one remaining state
                continue
            row = np.zeros(len(losses), dtype=np.int64)
            for v in tree.plan.sepsets[clique]:
                row *= tree.cards[v]
                row += states[:, v]
            rows, place = np.unique(row, return_inverse=True)
            cells = np.argsort(table[rows], axis=1, kind="stable")
            rank, holder = _pair_ranks(len(losses), table.shape[1], k)
            cell = cells[place[holder], rank]
            total = losses[holder] + table[row[holder], cell]
            order = np.argsort(total, kind="stable")[:k]
            order = order[total[order] < limit]
            losses, states, cell = total[order], states[holder[order]], cell[order]
            for v in reversed(tree.rest(clique)):  # the last variable of a clique varies fastest
                cell, states[:, v] = np.divmod(cell, tree.cards[v])
        for v, code in self._evidence.items():
            states[:, v] = code
        return losses, states


def _pair_ranks(n_rows: int, n_cells: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs of a cell's rank in its row and a row's rank whose sum of losses may be among the k smallest.

    The pair (r, i) is not smaller than the (r + 1) (i + 1) pairs of smaller or equal ranks.
    """
    counts = np.minimum(n_rows, k // np.arange(1, min(n_cells, k) + 1))
    ranks = np.repeat(np.arange(len(counts)), counts)
    return ranks, np.arange(len(ranks)) - np.repeat(np.cumsum(counts) - counts, counts)
