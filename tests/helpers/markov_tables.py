"""Rows of small Markov networks, the learners of such networks, and what tests ask of them."""

from functools import cache, partial

import numpy as np

from oracles import pseudolikelihood
from pgmx.datasets import preferential_attachment_network, sample_markov_network
from pgmx.estimators import (
    BestChoiceEdgeGrafting,
    EdgeGrafting,
    FeatureGrafting,
    FirstHitEdgeGrafting,
    GraftingLight,
    GroupLassoMarkovNetwork,
    OnlineEdgeGrafting,
)

EDGE_WISE = {
    "edge": EdgeGrafting,
    "batch": partial(EdgeGrafting, batch=True),
    "best choice": BestChoiceEdgeGrafting,
    "best choice, alpha 0": partial(BestChoiceEdgeGrafting, alpha=0, structure_heuristics=False),
    "online": OnlineEdgeGrafting,
    "first hit": FirstHitEdgeGrafting,
    "group lasso": GroupLassoMarkovNetwork,
}
FEATURE_WISE = {"feature": FeatureGrafting, "light": GraftingLight}
ALL = EDGE_WISE | FEATURE_WISE


@cache
def planted_network(n_variables=8, n_states=3, seed=1):
    """Return a network that `planted_rows` come from."""
    return preferential_attachment_network(n_variables, n_states, random_state=seed)


@cache
def _rows(n_rows, n_variables, n_states, seed):
    network = planted_network(n_variables, n_states, seed)
    return sample_markov_network(network, n_rows, burn_in=100, thinning=5, random_state=seed).to_pandas().astype(int)


def planted_rows(n_rows=1000, n_variables=8, n_states=3, seed=1):
    """Return a frame of rows of a planted network."""
    return _rows(n_rows, n_variables, n_states, seed).copy()


def codes_of(frame):
    """Return the codes (n, n_rows) of a frame, states numbered in sorted order."""
    return np.array([np.unique(frame[name], return_inverse=True)[1] for name in frame])


def pairs_of(graph):
    """Return the edges of an undirected graph as a set of sets of names."""
    return {frozenset(edge) for edge in graph.edges()}


def parameters(learner):
    """Return (cardinalities, all pairs, their parameters as one vector) for the oracle."""
    found = learner.model_.potentials
    cards = found.cardinalities.tolist()
    pairs = [(i, j) for i in range(len(cards)) for j in range(i + 1, len(cards))]
    known = dict(zip(map(tuple, found.edges.tolist()), found.tables(), strict=True))
    tables = [np.ravel(known.get(pair, np.zeros(cards[pair[0]] * cards[pair[1]]))) for pair in pairs]
    return cards, pairs, np.concatenate([found.node_values, *tables])


def penalties(cards, pairs, lam, factors=None):
    """Return λ c_e d_e of each group, 0 for the nodes."""
    factors = {} if factors is None else factors
    return [0.0] * len(cards) + [lam * factors.get((i, j), 1.0) * np.sqrt(cards[i] * cards[j]) for i, j in pairs]


def objective_by_formula(learner, codes, l2=0.001, **options):
    """Return the penalised pseudolikelihood of what a learner found, from its formula."""
    cards, pairs, values = parameters(learner)
    groups = penalties(cards, pairs, learner.lam_, options.pop("factors", None))
    return pseudolikelihood.objective(cards, pairs, values, codes, groups, l2, **options)


def violations(learner, codes, l2=0.001, **options):
    """Return the distance of 0 from the subdifferential in each node and each of all pairs, from the formula."""
    cards, pairs, values = parameters(learner)
    groups = penalties(cards, pairs, learner.lam_, options.pop("factors", None))
    return pseudolikelihood.distances(cards, pairs, values, codes, groups, l2, **options)
