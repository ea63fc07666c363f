"""The Bethe loss: the exact one on forests, stationary and consistent with belief propagation elsewhere."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.examples import examples
from helpers.loss_tables import activate_all_cells, all_pairs, dependent_codes, make
from pgmx.inference import PairwisePotentials, gibbs_sample, loopy_belief_propagation
from pgmx.solvers import BetheLoss, ExactLoss

CYCLE = np.array([(0, 1), (1, 2), (2, 3), (0, 3), (0, 2)])


@examples(25)
@given(
    cards=st.lists(st.integers(1, 4), min_size=1, max_size=5),
    number=st.integers(0, 2**32),
    lam=st.sampled_from([0.0, 0.01, 0.05]),
    penalize_nodes=st.booleans(),
    feature_wise=st.booleans(),
)
def test_forests_have_the_optimum_of_the_exact_loss(cards, number, lam, penalize_nodes, feature_wise):
    rng = np.random.default_rng(number)
    codes = dependent_codes(rng, cards, 200)
    edges = np.array([(rng.integers(v), v) for v in range(1, len(cards)) if rng.random() < 0.8], dtype=np.int64)
    found = []
    for kind in (ExactLoss, BetheLoss):
        options = {"lam": lam, "l2": 0.05, "penalize_nodes": penalize_nodes, "feature_wise": feature_wise}
        loss = make(kind, codes, cards, **options)
        if feature_wise:
            activate_all_cells(loss, edges.reshape(-1, 2))
        else:
            loss.activate(edges.reshape(-1, 2))
        loss.optimise(tol=1e-7)
        assert loss.kkt_residual() <= 2e-7
        found.append(loss)
    exact, bethe = found
    assert bethe.objective() == pytest.approx(exact.objective(), abs=1e-10)
    np.testing.assert_allclose(bethe.node_values, exact.node_values, atol=1e-5)
    np.testing.assert_allclose(bethe.edge_values, exact.edge_values, atol=1e-5)
    np.testing.assert_array_equal(bethe.norms() > 1e-4, exact.norms() > 1e-4)
    assert bethe.converged
    assert bethe.bp_failures == 0


def cyclic(rng, **options):
    cards = (3, 2, 4, 3)
    codes = dependent_codes(rng, cards)
    loss = make(BetheLoss, codes, cards, **options)
    loss.activate(CYCLE)
    return loss


@pytest.mark.parametrize("options", [{}, {"lam": 0.0}, {"l2": 1.0}, {"penalize_nodes": True}])
def test_at_rest_the_gradient_is_that_of_belief_propagation(options, rng):
    loss = cyclic(rng, **options)
    loss.optimise(tol=1e-8)
    assert loss.converged
    potentials = loss.potentials()
    found = loopy_belief_propagation(potentials, tol=1e-12)
    np.testing.assert_allclose(loss.node_beliefs, found.node_beliefs, atol=1e-6)
    shares = np.concatenate(loss.statistics.margins())
    tables, _ = loss.statistics.flat(potentials.edges)
    smooth = found.log_partition - shares @ potentials.node_values - tables @ potentials.edge_values
    assert loss.loss() == pytest.approx(smooth, abs=1e-10)
    assert loss.objective() == pytest.approx(smooth + loss.penalty())
    assert loss.kkt_residual() <= 2e-8
    nodes = found.node_beliefs - shares + loss.l2 * potentials.node_values
    if not options.get("penalize_nodes"):
        assert np.abs(nodes).max() <= 1e-6
    for e, (i, j) in enumerate(potentials.edges.tolist()):
        own = slice(potentials.edge_offsets[e], potentials.edge_offsets[e + 1])
        w = potentials.edge_values[own]
        gradient = found.edge_beliefs[own] - tables[own] + loss.l2 * w
        scale = loss.lam * np.sqrt(loss.cardinalities[i] * loss.cardinalities[j])
        assert np.linalg.norm(gradient + scale * w / np.linalg.norm(w)) <= 1e-6


def test_the_stationary_point_is_a_minimum(rng):
    """No small step from it, in any of a hundred directions, lowers the objective."""
    loss = cyclic(rng, lam=0.005)
    loss.optimise(tol=1e-9)
    best, potentials = loss.objective(), loss.potentials()
    for _ in range(100):
        moved = PairwisePotentials(
            potentials.cardinalities,
            potentials.node_values + rng.normal(scale=1e-2, size=len(potentials.node_values)),
            potentials.edges,
            potentials.edge_values + rng.normal(scale=1e-2, size=len(potentials.edge_values)),
        )
        loss.set_potentials(moved)
        assert loss.objective() > best


def test_activating_one_by_one_ends_where_all_at_once_does(rng):
    together, alone = cyclic(rng, lam=0.005), None
    together.optimise(tol=1e-8)
    alone = make(BetheLoss, dependent_codes(np.random.default_rng(0), (3, 2, 4, 3)), (3, 2, 4, 3), lam=0.005)
    for pair in CYCLE[::-1]:
        alone.activate(pair[None])
        alone.optimise(pair[None], tol=1e-8)
    assert alone.objective() == pytest.approx(together.objective(), abs=1e-9)
    assert alone.edges.tolist() == CYCLE[::-1].tolist()
    assert alone.potentials().edges.tolist() == sorted(CYCLE.tolist())


def test_scores_are_those_of_the_product_of_beliefs(rng):
    loss = cyclic(rng)
    loss.optimise(tol=1e-6)
    beliefs = np.split(loss.node_beliefs, np.cumsum(loss.cardinalities)[:-1])
    inactive = np.array([[1, 3]])
    wanted = np.outer(beliefs[1], beliefs[3]) - loss.statistics.get(inactive)[0]
    np.testing.assert_allclose(loss.gradients(inactive)[0], wanted, atol=1e-12)
    assert loss.scores(inactive)[0] == pytest.approx(np.linalg.norm(wanted) / np.sqrt(6.0))
    assert loss.scores(np.zeros((0, 2), dtype=np.int64)).shape == (0,)


def chain_loss(rng, n=60, **options):
    tables = {(i, i + 1): rng.normal(size=(3, 3)) for i in range(n - 1)}
    codes = gibbs_sample(PairwisePotentials.build([3] * n, None, tables), 500, burn_in=50, thinning=2)
    return make(BetheLoss, codes, (3,) * n, **options)


def test_what_is_far_away_is_left_alone(rng):
    """A new edge changes beliefs around it only, and only those variables are returned."""
    loss = chain_loss(rng)
    chain = np.array([(i, i + 1) for i in range(59)])
    loss.activate(np.delete(chain, 30, axis=0))
    loss.optimise(tol=1e-5)
    before = loss.node_beliefs
    loss.activate(chain[30:31])
    changed = loss.optimise(chain[30:31], tol=1e-3)
    assert set(changed.tolist()) <= set(range(20, 42))
    moved = np.abs(loss.node_beliefs - before).reshape(60, 3).max(axis=1)
    assert moved[np.setdiff1d(np.arange(60), changed)].max() <= 1e-3
    assert loss.kkt_residual() <= 1e-3


def test_one_sweep_leaves_work_for_the_next(rng):
    loss = chain_loss(rng)
    chain = np.array([(i, i + 1) for i in range(59)])
    loss.activate(chain)
    objectives = [loss.objective()]
    for _ in range(20):
        loss.optimise(tol=1e-6, max_sweeps=1)
        objectives.append(loss.objective())
    assert objectives[-1] < objectives[0]
    loss.optimise(tol=1e-6)
    assert loss.objective() <= objectives[-1] + 1e-9
    assert loss.kkt_residual() <= 2e-6


def test_a_deadline_that_has_passed_changes_nothing(rng):
    loss = cyclic(rng)
    assert loss.optimise(tol=1e-6, deadline=time.perf_counter() - 1.0).size == 0
    assert not loss.edge_values.any()
    loss.optimise(tol=1e-6)
    assert loss.converged


def test_lambda_may_change_and_a_start_may_be_given(rng):
    loss = cyclic(rng, lam=0.05)
    loss.optimise(tol=1e-8)
    sparse = int((loss.norms() > 0).sum())
    loss.lam = 0.001
    loss.optimise(CYCLE[:1], tol=1e-8)  # all is due after a change of lambda
    assert (loss.norms() > 0).sum() > sparse
    again = cyclic(np.random.default_rng(0), lam=0.001)
    again.set_potentials(loss.potentials())
    assert again.objective() == pytest.approx(loss.objective(), abs=1e-8)
    again.optimise(tol=1e-8)
    np.testing.assert_allclose(again.edge_values, loss.edge_values, atol=1e-5)


def test_data_that_belief_propagation_cannot_match_is_told(rng):
    """Strong dependence everywhere and hardly any penalty: finite, and not called converged."""
    hidden = rng.integers(0, 3, 500)
    codes = np.stack([np.where(rng.random(500) < 0.9, hidden, rng.integers(0, 3, 500)) for _ in range(12)])
    loss = make(BetheLoss, codes.astype(np.uint8), (3,) * 12, lam=0.0, l2=1e-4)
    loss.activate(all_pairs(12))
    loss.optimise(tol=1e-4)
    residual = loss.kkt_residual()
    assert np.isfinite(loss.objective())
    assert np.isfinite(residual)
    assert not loss.converged
    assert loss.bp_failures > 0


def test_perfectly_dependent_columns_and_unseen_states(rng):
    codes = dependent_codes(rng, (3, 3, 2))
    codes[1] = codes[0]
    loss = make(BetheLoss, codes, (3, 4, 2), lam=0.0, l2=0.0)
    loss.activate(all_pairs(3))
    loss.optimise(tol=1e-3)
    assert np.isfinite(loss.objective())
    assert np.abs(loss.edge_values).max() <= 50.0
