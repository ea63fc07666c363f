"""Networks as the kernels of answers take them, and their joint distribution by enumeration."""

import numpy as np

from pgmx._ext._components import Components

SUM, MAXIMISE, QUERY, MARGINAL_MAP = range(4)


class Network:
    """A Bayesian network with random tables; `zeros` is the share of cells that are zero."""

    def __init__(self, cards, parents, zeros=0.0):
        rng = np.random.default_rng(len(cards) + sum(cards))
        tables = []
        for v, family in enumerate(parents):
            table = rng.random([cards[v], *(cards[u] for u in family)]) + 0.1
            table[rng.random(table.shape) < zeros] = 0.0
            table[0] += table.sum(axis=0) == 0.0  # every column has a possible state
            tables.append(table / table.sum(axis=0))
        self.fill(cards, [(v, *family) for v, family in enumerate(parents)], tables)
        self.parents = parents
        self.joint = np.ones(cards)
        for v, table in enumerate(tables):
            scope = [v, *parents[v]]
            shape = [card if u in scope else 1 for u, card in enumerate(cards)]
            self.joint = self.joint * np.einsum(table, scope, sorted(scope)).reshape(shape)

    def fill(self, cards, scopes, tables):
        """Set the arrays of the kernels: the tables, then one of likelihoods per variable, which takes no part."""
        n = len(cards)
        scopes = [*scopes, *((v,) for v in range(n))]
        tables = [*(np.ascontiguousarray(table, dtype=np.float64) for table in tables), *map(np.ones, cards)]
        holders = [[f for f, scope in enumerate(scopes) if v in scope] for v in range(n)]
        self.cards = list(cards)
        self.columns = self._starts(cards)[:-1]
        self.first = self._starts([table.size for table in tables])
        self.values = np.concatenate([table.ravel() for table in tables])
        self.active = np.repeat(np.array([1, 0], dtype=np.uint8), [len(tables) - n, n])
        self.n_tables = len(tables) - n
        self.arrays = (
            np.array(cards, dtype=np.int32),
            self._starts(map(len, scopes)),
            np.array([v for scope in scopes for v in scope], dtype=np.int32),
            np.array([step // 8 for table in tables for step in table.strides], dtype=np.int64),
            self.first[:-1].copy(),
            self.values,
            self._starts(map(len, holders)),
            np.array([f for held in holders for f in held], dtype=np.int32),
            self.active,
        )

    @staticmethod
    def _starts(sizes):
        return np.concatenate([[0], np.cumsum(list(sizes))]).astype(np.int64)

    def components(self, max_bytes=2**28):
        """Return a kernel without plans."""
        return Components(*self.arrays, max_bytes)

    def set_likelihood(self, v, likelihood):
        """Let the table of likelihoods of a variable take part."""
        start = self.first[self.n_tables + v]
        self.values[start : start + self.cards[v]] = likelihood
        self.active[self.n_tables + v] = 1

    def clear_question(self):
        """Undo likelihoods and interventions."""
        self.active[: self.n_tables] = 1
        self.active[self.n_tables :] = 0

    def table_of(self, cells, v):
        """Return the cells of the table of a variable, one axis per variable of its scope."""
        shape = [self.cards[u] for u in (v, *self.parents[v])]
        return cells[self.first[v] : self.first[v + 1]].reshape(shape)

    def draw_rows(self, rng, n_rows, hidden):
        """Draw rows of uniform codes, some of them impossible, with a share of hidden values."""
        codes = np.stack([rng.integers(card, size=n_rows) for card in self.cards], axis=1).astype(np.int32)
        codes[rng.random(codes.shape) < hidden] = -1
        return codes


def condition(joint, row):
    """Return the joint restricted to the observed values of a row, zeros elsewhere."""
    kept = np.zeros_like(joint)
    at = tuple(slice(None) if code < 0 else slice(code, code + 1) for code in row)
    kept[at] = joint[at]
    return kept


def marginal(joint, variables):
    """Return a joint of some variables, in their order."""
    return np.einsum(joint, list(range(joint.ndim)), list(variables))
