"""Distributions over the cliques of a junction tree for many rows at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pgmx.inference.exact.elimination import EliminationPlan

#: A factor of the rows: its variables, and logarithms (rows, *states of each); a single row is the same for all rows.
RowFactor = tuple[tuple[int, ...], np.ndarray]


class RowBeliefs:
    """The normalised product of factors per row, as tables over the cliques; NaN for impossible rows.

    `log_sums` are the logarithms of the sums of the product over all states, (n_rows,).
    """

    def __init__(self, plan: EliminationPlan, cards: Sequence[int], factors: Sequence[RowFactor], n_rows: int):
        self.plan = plan
        self._rank = plan.rank.tolist()
        self._shapes = [tuple(cards[v] for v in clique) for clique in plan.cliques]
        self.log_sums = np.zeros(n_rows)
        tables = [np.zeros((n_rows, *shape)) for shape in self._shapes]
        for scope, table in factors:
            if scope:
                self._add(tables, self._home(scope), scope, table)
            else:
                self.log_sums = self.log_sums + table
        self._beliefs = self._distribute(self._collect(tables))

    def marginal(self, variables: Sequence[int]) -> np.ndarray:
        """Return the joint distribution of variables of one clique: (n_rows, *states of each)."""
        clique = self._home(variables)
        others = self._axes(clique, set(variables))
        kept = [v for v in self.plan.cliques[clique] if v in set(variables)]
        sums = self._beliefs[clique].sum(axis=others) if others else self._beliefs[clique]
        return sums.transpose(0, *(1 + kept.index(v) for v in variables))

    def _home(self, variables: Sequence[int]) -> int:
        return int(self.plan.homes[min(variables, key=self._rank.__getitem__)])

    def _axes(self, clique: int, kept: set[int]) -> tuple[int, ...]:
        """Return the axes of a clique's table except those of the kept variables."""
        return tuple(axis + 1 for axis, v in enumerate(self.plan.cliques[clique]) if v not in kept)

    def _add(self, tables: list[np.ndarray], clique: int, scope: Sequence[int], table: np.ndarray) -> None:
        axes = sorted(range(len(scope)), key=lambda axis: -self._rank[scope[axis]])
        shape = [n if v in scope else 1 for v, n in zip(self.plan.cliques[clique], self._shapes[clique], strict=True)]
        tables[clique] += table.transpose(0, *(1 + axis for axis in axes)).reshape(len(table), *shape)

    def _collect(self, tables: list[np.ndarray]) -> list[np.ndarray]:
        """Return the distribution of each clique given its sepset; children are done before parents."""
        for clique in range(len(tables) - 1, -1, -1):
            table, sepset = tables[clique], self.plan.sepsets[clique]
            axes = self._axes(clique, set(sepset))
            top = table.max(axis=axes, keepdims=True)
            top = np.where(np.isfinite(top), top, 0.0)
            np.exp(table - top, out=table)
            sums = table.sum(axis=axes, keepdims=True)
            with np.errstate(divide="ignore"):
                message = (np.log(sums) + top).squeeze(axes)
            table /= np.where(sums == 0.0, 1.0, sums)
            if sepset:
                self._add(tables, int(self.plan.parents[clique]), sepset, message)
            else:
                self.log_sums = self.log_sums + message
        return tables

    def _distribute(self, conditionals: list[np.ndarray]) -> list[np.ndarray]:
        """Return the distribution of each clique; parents are done before children."""
        possible = np.isfinite(self.log_sums)
        for clique, table in enumerate(conditionals):
            if not self.plan.sepsets[clique]:
                table[~possible] = np.nan
                continue
            sepset, parent = set(self.plan.sepsets[clique]), int(self.plan.parents[clique])
            above = conditionals[parent].sum(axis=self._axes(parent, sepset))
            # The sepset's variables are the first of the clique, in the same order.
            table *= above.reshape(*above.shape, *(1,) * (table.ndim - above.ndim))
        return conditionals
