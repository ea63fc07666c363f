"""The pseudolikelihood against its formula: values, gradients, scores, violations, and bounds on what changes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.examples import examples
from helpers.pseudolikelihoods import Twin, all_pairs, dependent_codes, make_loss, random_potentials
from oracles import pseudolikelihood as oracle

CARDS = (2, 3, 2, 4, 3)
PAIRS = all_pairs(5)

problems = st.fixed_dictionaries(
    {
        "cards": st.lists(st.integers(1, 5), min_size=2, max_size=5),
        "n_rows": st.sampled_from([1, 7, 16, 50, 200]),
        "weighted": st.booleans(),
        "seed": st.integers(0, 2**32),
    }
)


def drawn(problem):
    """Return (rng, cards, codes, weights, pairs, some of the pairs) of a problem."""
    rng = np.random.default_rng(problem["seed"])
    cards = problem["cards"]
    codes = dependent_codes(rng, cards, problem["n_rows"])
    weights = rng.uniform(0.2, 3.0, problem["n_rows"]) if problem["weighted"] else None
    pairs = all_pairs(len(cards))
    return rng, cards, codes, weights, pairs, pairs[rng.random(len(pairs)) < 0.5]


def test_the_formula_has_the_gradient_of_its_value(rng):
    codes, weights = dependent_codes(rng, CARDS, 30), rng.random(30)
    pairs = PAIRS.tolist()
    values = rng.normal(size=sum(CARDS) + sum(CARDS[i] * CARDS[j] for i, j in pairs))
    _, gradient = oracle.loss(CARDS, pairs, values, codes, weights)
    step = 1e-6 * rng.normal(size=len(values))
    ahead, behind = (oracle.loss(CARDS, pairs, values + s * step, codes, weights)[0] for s in (1, -1))
    assert gradient @ step == pytest.approx((ahead - behind) / 2, rel=1e-6)


@examples(60)
@given(problem=problems, optimised=st.booleans())
def test_values_gradients_and_scores_are_those_of_the_formula(problem, optimised):
    rng, cards, codes, weights, pairs, active = drawn(problem)
    loss = make_loss(codes, cards, weights=weights)
    if optimised:
        loss.activate(active)
        loss.optimise(tol=1e-3, max_sweeps=3)
    else:
        loss.set_potentials(random_potentials(rng, cards, active))
    twin = Twin(loss, codes, weights=weights)
    assert loss.loss() == pytest.approx(twin.loss(), rel=1e-6, abs=1e-7)
    assert loss.objective() == pytest.approx(twin.objective(), rel=1e-6, abs=1e-7)
    assert loss.loss() + loss.penalty() == loss.objective()
    shuffled = rng.permutation(pairs)
    expected = twin.gradients(shuffled)
    for found, gradient in zip(loss.gradients(shuffled), expected, strict=True):
        np.testing.assert_allclose(found, gradient, atol=1e-6)
    scores = [np.linalg.norm(gradient) / np.sqrt(gradient.size) for gradient in expected]
    np.testing.assert_allclose(loss.scores(shuffled), scores, atol=1e-6)


@examples(60)
@given(problem=problems, penalize_nodes=st.booleans(), lam=st.sampled_from([0.0, 0.01, 0.1]))
def test_the_residual_is_that_of_the_formula(problem, penalize_nodes, lam):
    rng, cards, codes, weights, pairs, active = drawn(problem)
    options = {"lam": lam, "weights": weights, "penalize_nodes": penalize_nodes}
    loss = make_loss(codes, cards, **options)
    loss.set_potentials(random_potentials(rng, cards, active, scale=0.5))
    idle = [pair for pair in pairs.tolist() if pair not in active.tolist()][:2]
    loss.activate(np.array(idle, dtype=np.int64).reshape(-1, 2))
    assert loss.kkt_residual() == pytest.approx(Twin(loss, codes, **options).distances().max(), abs=2e-6)
    loss.optimise(tol=1e-5)
    assert loss.kkt_residual() <= 1e-5
    assert Twin(loss, codes, **options).distances().max() <= 1.2e-5


@examples(60)
@given(problem=problems, scale=st.sampled_from([0.1, 1.0, 4.0]))
def test_the_objective_never_rises(problem, scale):
    rng, cards, codes, weights, _, active = drawn(problem)
    loss = make_loss(codes, cards, weights=weights)
    loss.set_potentials(random_potentials(rng, cards, active, scale=scale))
    last = Twin(loss, codes, weights=weights).objective()
    for sweep in range(8):
        changed = loss.optimise(active if sweep % 2 else None, tol=1e-4, max_sweeps=1)
        now = Twin(loss, codes, weights=weights).objective()
        assert now <= last + 1e-7
        assert now < last or not len(changed)
        last = now


@examples(60)
@given(problem=problems)
def test_drift_bounds_how_far_scores_move(problem):
    _rng, cards, codes, weights, pairs, active = drawn(problem)
    loss = make_loss(codes, cards, weights=weights)
    ends = pairs.T
    sizes = np.sqrt(loss.cardinalities[ends[0]] * loss.cardinalities[ends[1]])
    loss.activate(active)
    scores, gradients, drift = loss.scores(pairs), loss.gradients(pairs), loss.drift.copy()
    for _ in range(3):
        changed = loss.optimise(tol=1e-4, max_sweeps=1)
        grown = loss.drift - drift
        assert (grown >= 0).all()
        assert set(np.flatnonzero(grown)) >= set(changed.tolist())
        reach = 0.5 * (grown[ends[0]] + grown[ends[1]])
        assert (sizes * np.abs(loss.scores(pairs) - scores) <= reach + 1e-6).all()
        moved = [np.linalg.norm(new - old) for new, old in zip(loss.gradients(pairs), gradients, strict=True)]
        assert (np.array(moved) <= reach + 1e-6).all()


def test_drift_tells_of_nodes_that_a_new_penalty_changes(rng):
    codes = dependent_codes(rng, CARDS)
    loss = make_loss(codes, CARDS, lam=0.0, penalize_nodes=True)
    scores, drift = loss.scores(PAIRS), loss.drift.copy()
    loss.lam = 0.05
    moved = np.abs(loss.scores(PAIRS) - scores) * np.sqrt(np.prod(loss.cardinalities[PAIRS], axis=1))
    assert moved.max() > 1e-3
    assert (moved <= 0.5 * (loss.drift - drift)[PAIRS].sum(axis=1) + 1e-7).all()
    assert loss.objective() == pytest.approx(Twin(loss, codes, lam=0.05, penalize_nodes=True).objective(), rel=1e-6)


@pytest.mark.parametrize("weighted", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_kept_conditionals_are_those_of_the_parameters(weighted, rng):
    codes = dependent_codes(rng, CARDS, 500)
    weights = rng.uniform(0.5, 2, 500) if weighted else None
    loss = make_loss(codes, CARDS, weights=weights, lam=0.001, l2=0.001)
    loss.activate(PAIRS)
    while loss.n_optimised < 20_000:  # rounding of these products would show: nodes are computed again on the way
        loss.lam = 0.001 if loss.lam > 0.001 else 0.01
        loss.optimise(tol=1e-6, max_sweeps=5)
    again = make_loss(codes, CARDS, weights=weights, lam=loss.lam, l2=0.001)
    again.set_potentials(loss.potentials())
    assert loss.loss() == pytest.approx(again.loss(), rel=1e-6)
    for found, fresh in zip(loss.gradients(PAIRS), again.gradients(PAIRS), strict=True):
        np.testing.assert_allclose(found, fresh, atol=3e-7)


def test_around_new_edges_only_their_blocks_move(rng):
    codes = dependent_codes(rng, (2,) * 8)
    loss = make_loss(codes, (2,) * 8, lam=0.001)
    loss.activate(np.array([[0, 1], [2, 3], [1, 2], [5, 6]]))
    before = loss.potentials()
    changed = loss.optimise(np.array([[2, 3]]), tol=1e-6)
    assert set(changed.tolist()) <= {1, 2, 3}
    assert {2, 3} <= set(changed.tolist())
    after = loss.potentials()
    assert after.edges.tolist() == [[1, 2], [2, 3]]
    for i in (0, 4, 5, 6, 7):
        assert np.array_equal(before.node(i), after.node(i))
    loss.activate(np.zeros((0, 2), dtype=np.int64))
    assert not len(loss.optimise(np.zeros((0, 2), dtype=np.int64), tol=1e-6))


def test_a_deadline_that_has_passed_leaves_all_as_it_is(rng):
    loss = make_loss(dependent_codes(rng, CARDS), CARDS)
    loss.activate(PAIRS)
    before = loss.objective()
    assert not len(loss.optimise(tol=1e-6, deadline=0.0))
    assert loss.objective() == before
    assert loss.n_optimised == 0


def test_threads_and_kept_sides_change_nothing(rng):
    cards = tuple(rng.integers(2, 6, 24))
    codes, pairs = dependent_codes(rng, cards, 150), all_pairs(24)
    losses = [make_loss(codes, cards, **options) for options in ({}, {"n_jobs": 3}, {"side_memory": 2**20})]
    for loss in losses:
        loss.activate(pairs[::7])
    for tol in (1e-2, 1e-3, 1e-4):
        first, *others = [loss.scores(pairs) for loss in losses]
        assert np.array_equal(first, others[0])
        np.testing.assert_allclose(first, others[1], atol=1e-7)
        for loss in losses:
            loss.optimise(tol=tol, max_sweeps=3)
    assert np.array_equal(losses[0].potentials().edge_values, losses[1].potentials().edge_values)


def test_no_pairs_have_no_scores(rng):
    loss = make_loss(dependent_codes(rng, CARDS), CARDS)
    assert loss.scores(PAIRS[:0]).shape == (0,)
    assert loss.gradients(PAIRS[:0]) == []
    assert loss.edges.shape == (0, 2)
    assert loss.norms().shape == (0,)
