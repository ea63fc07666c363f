"""The exact loss against enumeration, finite differences, and another way to the optimum."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.examples import examples
from helpers.loss_tables import activate_all_cells, all_pairs, coded, dependent_codes, make
from oracles import group_lasso
from pgmx.solvers import ExactLoss

CARDS = (2, 3, 2, 3)


def parameters(loss):
    return np.concatenate([loss.node_values, loss.edge_values])


@examples(25)
@given(
    cards=st.lists(st.integers(1, 4), min_size=2, max_size=5),
    number=st.integers(0, 2**32),
    l2=st.sampled_from([0, 0.1]),
)
def test_loss_and_gradients_are_those_of_enumeration(cards, number, l2):
    rng = np.random.default_rng(number)
    codes = dependent_codes(rng, cards, 50)
    pairs = all_pairs(len(cards))
    active = pairs[rng.random(len(pairs)) < 0.5]
    loss = make(ExactLoss, codes, cards, l2=l2)
    loss.activate(active)
    loss.optimise(tol=1e-3, max_sweeps=5)
    value, _ = group_lasso.loss(cards, active.tolist(), codes, parameters(loss))
    assert loss.loss() == pytest.approx(value, rel=1e-10)
    # An inactive pair's gradient is that of a network with its table, at zero.
    inactive = np.array([pair for pair in pairs.tolist() if pair not in active.tolist()], dtype=np.int64).reshape(-1, 2)
    scores = loss.scores(inactive)
    for pair, found, score in zip(inactive.tolist(), loss.gradients(inactive), scores, strict=True):
        wider = np.concatenate([parameters(loss), np.zeros(found.size)])
        _, gradient = group_lasso.loss(cards, [*active.tolist(), pair], codes, wider)
        np.testing.assert_allclose(found.ravel(), gradient[-found.size :], atol=1e-10)
        assert score == pytest.approx(np.linalg.norm(found) / np.sqrt(found.size))


@pytest.mark.parametrize(("lam", "l2"), [(0.02, 0.01), (0.005, 0.0), (0.05, 0.1), (0.0, 0.05)])
def test_the_optimum_is_found(lam, l2, rng):
    cards = (2, 3, 2)
    codes = dependent_codes(rng, cards)
    pairs = all_pairs(3)
    loss = make(ExactLoss, codes, cards, lam=lam, l2=l2)
    loss.activate(pairs)
    loss.optimise(tol=1e-8)
    assert loss.kkt_residual() <= 1e-8
    other = group_lasso.group_optimum(cards, pairs.tolist(), codes, lam, l2)
    assert loss.objective() <= other + 1e-9
    assert loss.objective() == pytest.approx(other, abs=1e-5)


def test_the_optimum_of_single_cells_is_found(rng):
    codes = dependent_codes(rng, CARDS)
    pairs = all_pairs(len(CARDS))
    loss = make(ExactLoss, codes, CARDS, feature_wise=True)
    activate_all_cells(loss, pairs)
    loss.optimise(tol=1e-8)
    other = group_lasso.cell_optimum(CARDS, pairs.tolist(), codes, 0.02, 0.01)
    assert loss.objective() == pytest.approx(other, abs=1e-6)
    assert (loss.edge_values == 0).any()


def test_cells_that_are_not_active_stay_zero(rng):
    loss = make(ExactLoss, dependent_codes(rng, CARDS), CARDS, feature_wise=True, lam=0.001)
    loss.activate_features(np.array([[0, 1], [0, 1]]), np.array([[1, 2], [0, 0]]))
    loss.optimise(tol=1e-8)
    assert np.flatnonzero(loss.edge_values).tolist() == [0, 5]
    assert loss.kkt_residual() <= 1e-8


@pytest.mark.parametrize("penalize_nodes", [False, True])
def test_lambda_above_all_scores_keeps_every_table_at_zero(penalize_nodes, rng):
    codes = dependent_codes(rng, CARDS)
    pairs = all_pairs(len(CARDS))
    loss = make(ExactLoss, codes, CARDS, l2=0.0, lam=0.0, penalize_nodes=penalize_nodes)
    top = loss.scores(pairs).max()
    loss.activate(pairs)
    loss.lam = top * 1.2 if not penalize_nodes else 10.0
    loss.optimise(tol=1e-9)
    assert not loss.norms().any()
    assert loss.potentials().n_edges == 0
    assert len(loss.edges) == len(pairs)
    if penalize_nodes:
        assert not loss.node_values.any()
    else:
        loss.lam = top * 0.8
        loss.optimise(tol=1e-9)
        assert loss.norms().any()


def test_weights_of_edges_and_a_warm_start(rng):
    codes = dependent_codes(rng, CARDS)
    pairs = all_pairs(len(CARDS))
    loss = make(ExactLoss, codes, CARDS, edge_weights=lambda pairs: np.where(pairs[:, 0] == 0, 100.0, 1.0))
    loss.activate(pairs)
    loss.optimise(tol=1e-9)
    assert not loss.norms()[pairs[:, 0] == 0].any()
    assert loss.norms()[pairs[:, 0] != 0].any()
    again = make(ExactLoss, codes, CARDS)
    again.set_potentials(loss.potentials())
    assert again.loss() == pytest.approx(loss.loss(), rel=1e-12)


def test_too_many_configurations_are_refused():
    codes = np.zeros((30, 4), dtype=np.uint8)
    with pytest.raises(ValueError, match=r"30 variables have 1.07e\+09 configurations.*use the pseudolikelihood"):
        make(ExactLoss, codes, (2,) * 30)


@pytest.mark.parametrize("option", ["lam", "l2"])
def test_negative_penalties_are_refused(option):
    with pytest.raises(ValueError, match=f"{option} must not be negative, got -1"):
        make(ExactLoss, np.zeros((2, 4), dtype=np.uint8), (2, 2), **{option: -1})


def test_starts_that_do_not_fit_are_refused(rng):
    from pgmx.inference import PairwisePotentials

    loss = make(ExactLoss, dependent_codes(rng, CARDS), CARDS)
    with pytest.raises(ValueError, match="numbers of states that differ"):
        loss.set_potentials(PairwisePotentials.independent([2, 2, 2, 2]))
    zero = PairwisePotentials.build(CARDS, [[0.0, -np.inf], None, None, None])
    with pytest.raises(ValueError, match="must be finite"):
        loss.set_potentials(zero)
    with pytest.raises(ValueError, match="only with feature_wise=True"):
        loss.activate_features(np.array([[0, 1]]), np.array([[0, 0]]))


def test_a_single_variable_and_unseen_states():
    table = coded(np.array([[0, 0, 1]], dtype=np.uint8), (3,))
    from pgmx.statistics import PairTables

    loss = ExactLoss(table, PairTables(table), lam=0.1, l2=0.01)
    assert loss.kkt_residual() <= 1e-9
    assert np.isfinite(loss.objective())
