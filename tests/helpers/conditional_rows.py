"""Random rows and parameters, and the compiled conditionals over them."""

import numpy as np

from oracles import pseudolikelihood
from pgmx._ext._pseudolikelihood import Conditionals


class Case:
    """One kernel and its arrays; `rng` draws rows of dependent columns and parameters."""

    def __init__(self, rng, cards, pairs, n_rows, *, weighted=False, scale=1.0, l2=0.01, node_penalties=None):
        self.cards, self.pairs, self.l2 = list(cards), [tuple(pair) for pair in pairs], l2
        hidden = rng.integers(0, 7, n_rows)
        self.codes = np.stack(
            [np.where(rng.random(n_rows) < 0.5, hidden % r, rng.integers(0, r, n_rows)) for r in cards]
        ).astype(np.uint16)
        # halves and quarters are floats without rounding
        self.weights = rng.integers(1, 12, n_rows).astype(np.float32) / 4 if weighted else None
        share = np.ones(n_rows) if self.weights is None else self.weights.astype(float)
        share = share / share.sum()
        self.margins = [np.bincount(x, share, minlength=r) for x, r in zip(self.codes, cards, strict=True)]
        self.node_penalties = np.zeros(len(cards)) if node_penalties is None else np.array(node_penalties, dtype=float)
        columns = [
            np.ascontiguousarray(x, dtype=np.uint8 if r <= 256 else np.uint16)
            for x, r in zip(self.codes, cards, strict=True)
        ]
        margins = np.concatenate(self.margins)
        self.kernel = Conditionals(columns, np.array(cards), margins, self.weights, l2, self.node_penalties)
        self.array = np.array(self.pairs, dtype=np.int64).reshape(-1, 2)
        sizes = [cards[i] * cards[j] for i, j in self.pairs]
        self.where = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        self.values = rng.normal(scale=scale, size=self.where[-1])
        self.tables = self.shares(self.pairs)
        self.kernel.node_values[:] = rng.normal(scale=scale, size=sum(cards))

    def shares(self, pairs):
        """Return the observed shares of pairs, one table after the other."""
        share = np.ones(self.codes.shape[1]) if self.weights is None else self.weights.astype(float)
        found = [np.zeros(0)]
        for i, j in pairs:
            cells = self.codes[i].astype(int) * self.cards[j] + self.codes[j]
            found.append(np.bincount(cells, share / share.sum(), minlength=self.cards[i] * self.cards[j]))
        return np.concatenate(found)

    @property
    def parameters(self):
        return np.concatenate([self.kernel.node_values, self.values])

    def table(self, e):
        i, j = self.pairs[e]
        return self.values[self.where[e] : self.where[e + 1]].reshape(self.cards[i], self.cards[j])

    def rebuild(self):
        """Have the kernel compute all conditionals from the parameters."""
        for i in range(len(self.cards)):
            at = [e for e, pair in enumerate(self.pairs) if i in pair]
            others = np.array([sum(self.pairs[e]) - i for e in at], dtype=np.int64)
            steps = [self.table(e) if self.pairs[e][0] == i else self.table(e).T for e in at]
            self.kernel.rebuild(i, others, [np.ascontiguousarray(step) for step in steps])

    def measure(self, pairs, *kept):
        """Return the gradients in the tables of pairs."""
        pairs = np.array(pairs, dtype=np.int64)
        sizes = [self.cards[i] * self.cards[j] for i, j in pairs.tolist()]
        where = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        order = np.argsort(np.concatenate([pairs[:, 0], pairs[:, 1]]), kind="stable")
        found = np.full(where[-1], np.nan)
        self.kernel.measure(pairs, order, where, self.shares(pairs.tolist()), found, *kept)
        return found

    def descend(self, penalties, *, visit=None, tol=np.inf, masks=None):
        """Return the violations that the kernel saw before its steps."""
        seen = np.full(len(self.pairs), np.nan)
        visit = np.arange(len(self.pairs)) if visit is None else np.array(visit)
        masks = np.zeros(0, dtype=np.uint8) if masks is None else masks
        penalties = np.array(penalties, dtype=float)
        self.kernel.descend(visit, self.array, self.where, self.values, self.tables, masks, penalties, tol, seen)
        return seen

    # ---- the same from the formula ----

    def conditionals(self, i):
        """Return weight times conditional probability, (s_i, rows)."""
        logs = pseudolikelihood.log_conditionals(self.cards, self.pairs, self.parameters, self.codes)[i]
        return np.exp(logs) * (1.0 if self.weights is None else self.weights)

    def loss(self):
        return pseudolikelihood.loss(self.cards, self.pairs, self.parameters, self.codes, self.weights)[0]

    def objective(self, penalties):
        all_penalties = np.concatenate([self.node_penalties, penalties])
        return pseudolikelihood.objective(
            self.cards, self.pairs, self.parameters, self.codes, all_penalties, self.l2, weights=self.weights
        )

    def distances(self, penalties):
        """Return the violation of each edge's block: the worst of its table and its two nodes."""
        all_penalties = np.concatenate([self.node_penalties, penalties])
        each = pseudolikelihood.distances(
            self.cards, self.pairs, self.parameters, self.codes, all_penalties, self.l2, weights=self.weights
        )
        n = len(self.cards)
        return np.array([max(each[n + e], each[i], each[j]) for e, (i, j) in enumerate(self.pairs)])

    def gradients(self, pairs):
        """Return the gradients in the tables of pairs, which need not be edges."""
        more = [tuple(pair) for pair in np.asarray(pairs).tolist() if tuple(pair) not in self.pairs]
        wider = [*self.pairs, *more]
        zeros = np.zeros(sum(self.cards[i] * self.cards[j] for i, j in more))
        values = np.concatenate([self.parameters, zeros])
        _, gradient = pseudolikelihood.loss(self.cards, wider, values, self.codes, self.weights)
        groups = pseudolikelihood.groups(self.cards, wider)[len(self.cards) :]
        return np.concatenate([gradient[groups[wider.index(tuple(pair))]] for pair in np.asarray(pairs).tolist()])
