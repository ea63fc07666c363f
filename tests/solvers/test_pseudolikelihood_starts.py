"""Starts, snapshots and refusals of the pseudolikelihood."""

import numpy as np
import pytest

from helpers.pseudolikelihoods import Twin, all_pairs, dependent_codes, make_loss, random_potentials
from pgmx.inference import PairwisePotentials

CARDS = (2, 3, 2, 4, 3)
PAIRS = all_pairs(5)


def test_potentials_come_back_as_given(rng):
    loss = make_loss(dependent_codes(rng, CARDS), CARDS)
    given = random_potentials(rng, CARDS, [(0, 1), (1, 2), (0, 3), (3, 4)])
    loss.set_potentials(given)
    found = loss.potentials()
    assert np.array_equal(found.edges, given.edges)
    assert np.array_equal(found.edge_values, given.edge_values)
    assert np.array_equal(found.node_values, given.node_values)


def test_nodes_without_edges_are_fitted_at_once(rng):
    codes = dependent_codes(rng, CARDS)
    loss = make_loss(codes, CARDS)
    independent = loss.objective()
    loss.set_potentials(random_potentials(rng, CARDS, []))
    assert loss.objective() == pytest.approx(independent, rel=1e-9)
    loss.set_potentials(random_potentials(rng, CARDS, [(0, 1)]))
    loss.optimise(tol=1e-6)
    assert loss.kkt_residual() <= 1e-6
    assert Twin(loss, codes).distances().max() <= 2e-6


def test_the_residual_sees_nodes_without_edges(rng):
    """Penalties of nodes that are changed behind the back of the loss are the only way to spoil them."""
    loss = make_loss(dependent_codes(rng, CARDS), CARDS, penalize_nodes=True)
    assert loss.kkt_residual() <= 1e-7
    loss._node_penalties[:] = 10.0
    assert loss.kkt_residual() > 1.0


def test_other_tables_become_zero(rng):
    loss = make_loss(dependent_codes(rng, CARDS), CARDS)
    loss.lam = 0.001
    loss.activate(PAIRS[:3])
    loss.optimise(tol=1e-4)
    assert loss.norms().all()
    given = random_potentials(rng, CARDS, PAIRS[2:4])
    loss.set_potentials(given)
    assert loss.edges.tolist() == PAIRS[:4].tolist()
    assert (loss.norms() > 0).tolist() == [False, False, True, True]
    assert np.array_equal(loss.potentials().edge_values, given.edge_values)


def test_a_start_at_the_optimum_stays(rng):
    codes = dependent_codes(rng, CARDS)
    loss = make_loss(codes, CARDS)
    loss.activate(PAIRS)
    loss.optimise(tol=1e-5)
    again = make_loss(codes, CARDS)
    again.set_potentials(loss.potentials())
    assert again.objective() == pytest.approx(loss.objective(), abs=1e-7)
    assert not len(again.optimise(tol=1.2e-5))
    assert again.n_optimised == 0


def test_cells_of_a_start_are_active(rng):
    codes = dependent_codes(rng, CARDS)
    loss = make_loss(codes, CARDS, feature_wise=True, lam=0.001)
    loss.activate_features(np.array([[0, 1]]), np.array([[0, 0]]))
    table = np.zeros((2, 3))
    table[1, 2] = 0.3
    loss.set_potentials(PairwisePotentials.build(CARDS, [None] * 5, {(0, 1): table}))
    loss.optimise(tol=1e-6)
    assert np.argwhere(loss.potentials().table(0)).tolist() == [[0, 0], [1, 2]]


def test_scores_after_a_start_are_not_those_before(rng):
    """The drift covers the jump."""
    loss = make_loss(dependent_codes(rng, CARDS), CARDS)
    scores, drift = loss.scores(PAIRS), loss.drift.copy()
    loss.set_potentials(random_potentials(rng, CARDS, PAIRS, scale=5.0))
    moved = np.abs(loss.scores(PAIRS) - scores) * np.sqrt(np.prod(loss.cardinalities[PAIRS], axis=1))
    assert (moved <= 0.5 * (loss.drift - drift)[PAIRS].sum(axis=1)).all()


def test_starts_that_do_not_fit_are_refused(rng):
    loss = make_loss(dependent_codes(rng, CARDS), CARDS)
    with pytest.raises(ValueError, match="numbers of states that differ"):
        loss.set_potentials(PairwisePotentials.independent([2] * 5))
    with pytest.raises(ValueError, match="must be finite"):
        loss.set_potentials(PairwisePotentials.build(CARDS, [[0.0, -np.inf], None, None, None, None]))
    assert np.isfinite(loss.objective())
    assert not len(loss.edges)


@pytest.mark.parametrize("option", ["lam", "l2"])
@pytest.mark.parametrize("value", [-1, np.nan])
def test_negative_penalties_are_refused(option, value, rng):
    with pytest.raises(ValueError, match=f"{option} must not be negative, got {value}"):
        make_loss(dependent_codes(rng, CARDS), CARDS, **{option: value})


def test_a_negative_penalty_may_not_be_set(rng):
    loss = make_loss(dependent_codes(rng, CARDS), CARDS)
    with pytest.raises(ValueError, match="lam must not be negative, got -0.5"):
        loss.lam = -0.5
    assert loss.lam == 0.02


def test_cells_need_feature_wise(rng):
    loss = make_loss(dependent_codes(rng, CARDS), CARDS)
    with pytest.raises(ValueError, match="only with feature_wise=True"):
        loss.activate_features(np.array([[0, 1]]), np.array([[0, 0]]))
    assert not len(loss.edges)


def test_an_edge_is_activated_once(rng):
    loss = make_loss(dependent_codes(rng, CARDS), CARDS)
    loss.activate(PAIRS[:2])
    with pytest.raises(ValueError, match="between variables 0 and 2 is already active"):
        loss.activate(PAIRS[1:3])
    assert loss.edges.tolist() == PAIRS[:2].tolist()
    loss.activate(PAIRS[2:])
    loss.optimise(tol=1e-4)
    assert loss.kkt_residual() <= 1e-4


def test_the_callers_arrays_stay_as_they_are(rng):
    codes, weights = dependent_codes(rng, CARDS), rng.random(400)
    kept = codes.copy(), weights.copy()
    given = random_potentials(rng, CARDS, PAIRS[:3])
    before = given.edge_values.copy(), given.node_values.copy()
    loss = make_loss(codes, CARDS, weights=weights)
    loss.set_potentials(given)
    edges = loss.edges
    loss.activate(PAIRS[5:])
    loss.optimise(tol=1e-4)
    assert np.array_equal(codes, kept[0])
    assert np.array_equal(weights, kept[1])
    assert np.array_equal(given.edge_values, before[0])
    assert np.array_equal(given.node_values, before[1])
    assert len(edges) == 3
