"""Tolerances below single precision: steps and certificates in double, confirmed by the formula."""

import numpy as np
import pytest

from helpers.grafting_parts import all_pairs, chained_codes, loss_of
from oracles import pseudolikelihood
from pgmx.data import DiscreteTable
from pgmx.solvers import PseudolikelihoodLoss
from pgmx.statistics import PairTables

CARDS = (2, 3, 2, 4, 2, 3)


def distances(loss, codes, weights=None):
    """Return the distance of 0 from the subdifferential of every node and every pair, active or not."""
    pairs = list(map(tuple, all_pairs(len(CARDS)).tolist()))
    tables = dict(zip(map(tuple, loss.edges.tolist()), np.split(loss.edge_values, splits(loss.edges)), strict=True))
    sizes = {(i, j): CARDS[i] * CARDS[j] for i, j in pairs}
    values = np.concatenate([loss.node_values, *(tables.get(pair, np.zeros(sizes[pair])) for pair in pairs)])
    penalties = np.concatenate([np.zeros(len(CARDS)), [loss.lam * np.sqrt(sizes[pair]) for pair in pairs]])
    return pseudolikelihood.distances(CARDS, pairs, values, codes, penalties, loss.l2, weights=weights)


def splits(edges):
    return np.cumsum([CARDS[i] * CARDS[j] for i, j in edges.tolist()])[:-1]


@pytest.mark.parametrize("tol", [1e-7, 1e-10])
def test_the_formula_confirms_the_residual(tol, rng):
    codes = chained_codes(rng, CARDS)
    loss = loss_of(codes, CARDS, l2=0.001)
    loss.activate(all_pairs(len(CARDS)))
    loss.optimise(tol=tol)
    assert loss.kkt_residual() <= tol
    assert distances(loss, codes).max() == pytest.approx(loss.kkt_residual(), abs=1e-14)


def test_weights_are_doubles_too(rng):
    codes = chained_codes(rng, CARDS)
    weights = np.concatenate([rng.uniform(0.1, 3, 398), [1e-9, 0.0]])
    table = DiscreteTable(range(len(CARDS)), [tuple(range(r)) for r in CARDS], codes)
    loss = PseudolikelihoodLoss(table, PairTables(table, weights=weights), lam=0.01, l2=0.01, weights=weights)
    loss.activate(all_pairs(len(CARDS)))
    loss.optimise(tol=1e-9)
    assert distances(loss, codes, weights).max() <= 1.01e-9


def test_scores_of_inactive_pairs_are_those_of_the_formula(rng):
    codes = chained_codes(rng, CARDS)
    loss = loss_of(codes, CARDS)
    loss.activate(np.array([[0, 1], [2, 3]]))
    loss.optimise(tol=1e-9)
    inactive = np.array([[1, 2], [0, 5]])
    values = np.concatenate([loss.node_values, loss.edge_values, np.zeros(6 + 6)])
    pairs = [(0, 1), (2, 3), (1, 2), (0, 5)]
    gradient = pseudolikelihood.loss(CARDS, pairs, values, codes)[1][-12:].reshape(2, 6)
    np.testing.assert_allclose(loss.scores(inactive), np.linalg.norm(gradient, axis=1) / np.sqrt(6), atol=1e-15)


def test_what_changes_is_told_once(rng):
    """The second optimisation of an optimum changes nothing; another λ, parameters or edges do."""
    loss = loss_of(chained_codes(rng, CARDS), CARDS)
    loss.activate(all_pairs(len(CARDS))[:9])
    assert len(loss.optimise(tol=1e-8))
    assert not len(loss.optimise(tol=1e-8))
    loss.lam = 0.02
    assert len(loss.optimise(tol=1e-8))
    assert loss.kkt_residual() <= 1e-8
    loss.activate(all_pairs(len(CARDS))[9:])
    loss.optimise(tol=1e-8)
    assert loss.kkt_residual() <= 1e-8
    loss.revert(loss.snapshot())
    assert loss.kkt_residual() <= 1e-5  # of parameters that single precision looks at
    loss.optimise(tol=1e-8)
    assert loss.kkt_residual() <= 1e-8


def test_single_precision_stays_alone_above_its_tolerance(rng):
    codes = chained_codes(rng, CARDS)
    first, second = (loss_of(codes, CARDS) for _ in range(2))
    for loss in (first, second):
        loss.activate(all_pairs(len(CARDS)))
        loss.optimise(tol=1e-5)
    second.optimise(tol=1e-5)
    assert first._refined is None
    np.testing.assert_array_equal(first.edge_values, second.edge_values)


def test_cells_of_tables(rng):
    loss = loss_of(chained_codes(rng, CARDS), CARDS, feature_wise=True)
    loss.activate_features(np.array([[0, 1], [0, 1], [2, 3]]), np.array([[0, 0], [1, 2], [1, 3]]))
    loss.optimise(tol=1e-9)
    loss.activate_features(np.array([[0, 1]]), np.array([[0, 2]]))
    loss.optimise(tol=1e-9)
    assert loss.kkt_residual() <= 1e-9
    assert (loss.edge_values[[1, 3, 4]] == 0).all()
    assert (loss.edge_values[[0, 2, 5]] != 0).any()
