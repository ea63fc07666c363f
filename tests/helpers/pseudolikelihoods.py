"""Pseudolikelihoods of small tables, and their parameters as the oracle wants them."""

import numpy as np

from helpers.loss_tables import all_pairs, coded, dependent_codes
from oracles import pseudolikelihood as oracle
from pgmx.inference import PairwisePotentials
from pgmx.solvers import PseudolikelihoodLoss
from pgmx.statistics import PairTables

__all__ = ["Twin", "all_pairs", "coded", "dependent_codes", "make_loss", "random_potentials"]


def make_loss(codes, cards, *, weights=None, **options):
    table = coded(codes, cards)
    statistics = PairTables(table, weights=weights)
    return PseudolikelihoodLoss(table, statistics, weights=weights, **{"lam": 0.02, "l2": 0.01, **options})


def random_potentials(rng, cards, pairs, scale=1.0):
    nodes = [rng.normal(scale=scale, size=r) for r in cards]
    tables = {(i, j): rng.normal(scale=scale, size=(cards[i], cards[j])) for i, j in np.asarray(pairs).tolist()}
    return PairwisePotentials.build(cards, nodes, tables)


class Twin:
    """The loss, objective and violations at a loss's present parameters, by formula; options as given to the loss."""

    def __init__(
        self,
        loss,
        codes,
        *,
        lam=0.02,
        l2=0.01,
        weights=None,
        penalize_nodes=False,
        edge_weights=None,
        feature_wise=False,
    ):
        self.cards, self.codes, self.weights, self.l2 = loss.cardinalities.tolist(), codes, weights, l2
        self.pairs = [tuple(pair) for pair in loss.edges.tolist()]
        found = loss.potentials()
        tables = {tuple(edge): table.ravel() for edge, table in zip(found.edges.tolist(), found.tables(), strict=True)}
        sizes = np.array([self.cards[i] * self.cards[j] for i, j in self.pairs])
        zeros = [np.zeros(size) for size in sizes]
        parts = [tables.get(pair, zero) for pair, zero in zip(self.pairs, zeros, strict=True)]
        self.values = np.concatenate([found.node_values, *parts])
        own = np.ones(len(sizes)) if edge_weights is None else edge_weights(np.array(self.pairs))
        nodes = np.sqrt(self.cards) * lam * penalize_nodes
        self.cells = feature_wise
        self.penalties = np.concatenate([nodes, lam * own * (1 if feature_wise else np.sqrt(sizes))])

    def loss(self):
        return oracle.loss(self.cards, self.pairs, self.values, self.codes, self.weights)[0]

    def objective(self):
        return oracle.objective(
            self.cards,
            self.pairs,
            self.values,
            self.codes,
            self.penalties,
            self.l2,
            weights=self.weights,
            cells=self.cells,
        )

    def distances(self):
        """Return the violation of each group: nodes, then edges."""
        return oracle.distances(
            self.cards, self.pairs, self.values, self.codes, self.penalties, self.l2, weights=self.weights
        )

    def gradients(self, pairs):
        """Return the gradient in the table of each pair, an edge or not."""
        new = [tuple(pair) for pair in np.asarray(pairs).tolist() if tuple(pair) not in self.pairs]
        wider = [*self.pairs, *new]
        values = np.concatenate([self.values, np.zeros(sum(self.cards[i] * self.cards[j] for i, j in new))])
        _, gradient = oracle.loss(self.cards, wider, values, self.codes, self.weights)
        groups = oracle.groups(self.cards, wider)[len(self.cards) :]
        shapes = [(self.cards[i], self.cards[j]) for i, j in np.asarray(pairs).tolist()]
        at = [wider.index(tuple(pair)) for pair in np.asarray(pairs).tolist()]
        return [gradient[groups[e]].reshape(shape) for e, shape in zip(at, shapes, strict=True)]
