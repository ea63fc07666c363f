"""Kept conditionals against numpy: what one pass over the rows reads or changes, for all sizes of tables and rows."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from helpers.conditional_rows import Case

#: Edges of five variables, with a cycle, a leaf, and none at variable 4.
EDGES = [(0, 1), (1, 2), (0, 2), (2, 3)]
PAIRS = list(itertools.combinations(range(5), 2))

#: Every number of states that has a body of its own, the last with vectors, and beyond bytes.
CARDS = [
    [2, 2, 2, 2, 2],
    [3, 2, 4, 5, 2],
    [5, 5, 5, 5, 5],
    [1, 3, 2, 1, 1],
    [6, 7, 8, 9, 3],
    [10, 11, 12, 13, 2],
    [14, 15, 16, 4, 16],
    [16, 17, 2, 20, 3],
    [300, 2, 17, 5, 300],
    [255, 256, 257, 2, 4],
]
ROWS = [1, 2, 15, 16, 17, 33, 1000]
# rows are summed in chunks of 1024 and 2048, logarithms in chunks of 2048 and 4096
LONG = [1024 + 512 + 9, 4096, 2 * 4096 + 31]


def check(case):
    """Compare all that is read from the conditionals with the formula."""
    for i, r in enumerate(case.cards):
        expected = case.conditionals(i)
        if case.kernel.is_constant(i):
            assert case.kernel.conditionals(i) is None
            assert np.ptp(expected / (1 if case.weights is None else case.weights), axis=1).max() < 1e-12
        else:
            assert case.kernel.conditionals(i).shape == (r, case.codes.shape[1])
            np.testing.assert_allclose(case.kernel.conditionals(i), expected, rtol=2e-5, atol=1e-7)
    np.testing.assert_allclose(case.measure(PAIRS), case.gradients(PAIRS), atol=5e-7)
    loss = case.kernel.losses(range(len(case.cards))).sum()
    assert loss == pytest.approx(case.loss(), rel=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cards", CARDS, ids=str)
@pytest.mark.slow
def test_all_numbers_of_states_and_rows(cards, weighted, rng):
    for n_rows in ROWS:
        case = Case(rng, cards, EDGES, n_rows, weighted=weighted)
        case.rebuild()
        check(case)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_rows", LONG)
def test_many_rows_are_summed_in_chunks(n_rows, weighted, rng):
    case = Case(rng, [3, 2, 5, 17, 4], EDGES, n_rows, weighted=weighted)
    case.rebuild()
    check(case)


def test_nodes_without_edges_have_one_conditional(rng):
    case = Case(rng, [3, 2, 5, 17, 4], EDGES, 100)
    case.rebuild()
    assert [case.kernel.is_constant(i) for i in range(5)] == [False, False, False, False, True]
    case.kernel.rebuild(3, np.zeros(0, dtype=np.int64), [])
    assert case.kernel.is_constant(3)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cards", [*CARDS[:2], *CARDS[5:9]], ids=str)
def test_violations_are_measured_and_nothing_moves(cards, weighted, rng):
    case = Case(rng, cards, EDGES, 203, weighted=weighted, node_penalties=[0.1, 0, 0.2, 0, 0])
    case.values[case.where[1] : case.where[2]] = 0
    case.rebuild()
    before = case.parameters, case.kernel.drift.copy()
    penalties = [0.05, 0.02, 0.0, 0.3]
    np.testing.assert_allclose(case.descend(penalties), case.distances(penalties), atol=2e-6)
    assert np.array_equal(case.parameters, before[0])
    assert np.array_equal(case.kernel.drift, before[1])
    assert case.kernel.n_steps == 0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [0.2, 2.0])
@pytest.mark.parametrize("cards", [*CARDS[:-2], [20, 2, 17, 5, 300]], ids=str)
def test_each_step_lowers_the_objective(cards, scale, weighted, rng):
    case = Case(rng, cards, EDGES, 300, weighted=weighted, scale=scale, node_penalties=[0, 0.02, 0, 0, 0])
    case.rebuild()
    penalties = [0.02, 0.0, 0.3, 0.05]
    for e in [0, 1, 2, 3, 0, 1, 3, 2]:
        value, drift = case.objective(penalties), case.kernel.drift.copy()
        rows = [case.conditionals(i) for i in case.pairs[e]]
        seen = case.descend(penalties, visit=[e], tol=1e-4)[e]
        now = case.objective(penalties)
        assert now <= value + 1e-9 * abs(value)
        if seen <= 1e-4:
            continue
        assert now < value - 1e-9
        total = case.codes.shape[1] if case.weights is None else float(case.weights.sum())
        for i, old in zip(case.pairs[e], rows, strict=True):
            moved = np.linalg.norm(case.conditionals(i) - old, axis=0).sum() / total
            assert case.kernel.drift[i] - drift[i] == pytest.approx(moved, rel=1e-3, abs=1e-5)
        other = [i for i in range(5) if i not in case.pairs[e]]
        assert np.array_equal(case.kernel.drift[other], drift[other])
    check(case)


@pytest.mark.parametrize("masked", [False, True])
def test_steps_lead_to_the_optimum(masked, rng):
    case = Case(rng, [3, 2, 4, 2, 2], EDGES, 500)
    masks = rng.integers(0, 2, len(case.values)).astype(np.uint8) if masked else np.zeros(0, dtype=np.uint8)
    case.values[:] = case.values * masks if masked else 0
    case.rebuild()
    for _ in range(300):
        case.descend([0.01] * 4, tol=1e-6, masks=masks)
    assert case.descend([0.01] * 4, masks=masks).max() <= 2e-6
    if masked:
        assert not case.values[masks == 0].any()
        assert case.values[masks == 1].any()
    else:
        assert case.distances([0.01] * 4).max() <= 4e-6
        case.rebuild()
    check(case)


def test_extreme_parameters_stay_finite(rng):
    """Logits hundreds apart: probabilities stop at a floor, and come back from there."""
    case = Case(rng, [2, 3, 5, 17, 2], EDGES, 100, scale=300.0)
    case.rebuild()
    for i in range(4):
        kept = case.kernel.conditionals(i)
        assert np.isfinite(kept).all()
        assert (kept > 0).all()
        np.testing.assert_allclose(kept.sum(axis=0), 1, rtol=1e-6)
    assert np.isfinite(case.kernel.losses(range(5))).all()
    case.values[:] = 0.1
    case.kernel.node_values[:] = 0
    case.rebuild()
    check(case)


@pytest.mark.parametrize("penalty", [0.0, 0.01, 10.0])
@pytest.mark.parametrize("l2", [0.0, 1e-3, 1.0])
def test_nodes_alone_are_fitted(l2, penalty, rng):
    case = Case(rng, [1, 2, 5, 40, 3], [], 200, weighted=True, l2=l2, node_penalties=[penalty] * 5)
    case.kernel.fit_alone()
    assert case.distances([]).shape == (0,)
    for i, (r, offset) in enumerate(zip(case.cards, np.cumsum([0, *case.cards]), strict=False)):
        values = case.kernel.node_values[offset : offset + r]
        share = np.exp(values) / np.exp(values).sum()
        gradient = 0.5 * (share - case.margins[i]) + l2 * values
        norm = np.linalg.norm(values)
        if penalty == 10.0:
            assert not values.any()
        else:
            gradient += penalty * values / norm if norm else 0
            assert np.linalg.norm(gradient) <= (penalty if norm == 0 else 0) + 1e-7
        assert case.kernel.violation_alone(i) <= 1e-7


def test_drift_tells_of_nodes_fitted_anew(rng):
    case = Case(rng, [2, 3, 4, 2, 3], [], 200, node_penalties=[0.0] * 5)
    case.kernel.fit_alone()
    drift, before = case.kernel.drift.copy(), case.measure(PAIRS)
    case.node_penalties[2] = 0.05
    case.kernel.fit_alone()
    moved = case.kernel.drift - drift
    assert moved[2] > 1e-3
    assert moved[[0, 1, 3, 4]].max() < 1e-6
    change = np.array([np.linalg.norm(part) for part in np.split(case.measure(PAIRS) - before, borders(case))])
    assert (change <= 0.5 * np.array([moved[i] + moved[j] for i, j in PAIRS]) + 1e-9).all()
    assert change.max() > 1e-3


def borders(case):
    return np.cumsum([case.cards[i] * case.cards[j] for i, j in PAIRS])[:-1]


def test_measuring_in_threads(rng):
    case = Case(rng, [3, 2, 5, 17, 4], EDGES, 2000)
    case.rebuild()
    alone = case.measure(PAIRS)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: case.measure(PAIRS), range(12)):
            assert np.array_equal(found, alone)


def test_sides_kept_are_those_measured(rng):
    case = Case(rng, [3, 2, 5, 17, 4], EDGES, 300)
    case.rebuild()
    n_states = sum(case.cards)
    kept = np.full((n_states, n_states), np.nan, dtype=np.float32), np.full((5, 5), -1.0)
    for e in [0, 3, 1, 0]:
        for _ in range(2):
            np.testing.assert_allclose(case.measure(PAIRS, *kept), case.measure(PAIRS), atol=1e-7)
        case.descend([0.01] * 4, visit=[e], tol=1e-6)
    np.testing.assert_allclose(case.measure(PAIRS, *kept), case.gradients(PAIRS), atol=5e-7)
    assert (kept[1][4] == -1).all()  # nothing is kept of a node without edges
