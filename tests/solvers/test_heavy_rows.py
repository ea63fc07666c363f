"""Rows that weigh far more than others: floats count them as several, and sums stay near those of doubles."""

import numpy as np
import pytest

from helpers.markov_tables import planted_rows
from helpers.pseudolikelihoods import random_potentials
from pgmx.data import encode
from pgmx.solvers import PseudolikelihoodLoss
from pgmx.solvers.markov.pseudolikelihood import DoublePseudolikelihoodLoss
from pgmx.solvers.markov.weighted_rows import WeightScale, arrange_rows
from pgmx.statistics import PairTables

WEIGHTS = {
    "pareto": np.random.default_rng(1).pareto(1.1, 1000) + 0.01,
    "one row": np.where(np.arange(1000) == 5, 1e6, 1.0),
    "few rows": np.where(np.arange(1000) < 10, 3.0, 0.0),
}


@pytest.mark.parametrize("name", list(WEIGHTS))
def test_heavy_rows_become_several(name):
    weights, table = WEIGHTS[name], encode(planted_rows(1000, 7))
    scale = WeightScale.of(weights)
    rows, relative = scale.select(weights, False)
    assert relative.max() <= scale.heaviest <= 8
    assert 1000 < len(rows) + (weights == 0).sum() <= 1125
    kept = np.bincount(rows, relative, minlength=1000)
    expected = weights / weights.mean()
    np.testing.assert_allclose(kept, np.where(expected < 1e-7, 0, expected), rtol=1e-6)
    codes, _ = arrange_rows(table, weights, scale, False)
    np.testing.assert_array_equal(codes[3], np.asarray(table.codes[3])[rows])
    assert len(scale.select(weights, True)[0]) == (weights > 0).sum()


@pytest.mark.parametrize("name", list(WEIGHTS))
def test_sums_are_near_those_of_doubles(name):
    weights, table = WEIGHTS[name], encode(planted_rows(1000, 7))
    edges, others = np.array([(0, 1), (1, 2), (2, 6), (0, 5)]), np.array([(1, 3), (2, 5), (3, 4), (0, 2)])
    start = random_potentials(np.random.default_rng(2), [3] * 7, edges)
    found = []
    for kind in (PseudolikelihoodLoss, DoublePseudolikelihoodLoss):
        loss = kind(table, PairTables(table, weights=weights), lam=0.01, l2=0.001, weights=weights)
        loss.set_potentials(start)
        found.append((np.concatenate(loss.gradients(others)), loss.kkt_residual(), loss.loss()))
    np.testing.assert_allclose(found[0][0], found[1][0], atol=1e-6)
    assert found[0][1] == pytest.approx(found[1][1], abs=1e-6)
    assert found[0][2] == pytest.approx(found[1][2], rel=1e-7)
