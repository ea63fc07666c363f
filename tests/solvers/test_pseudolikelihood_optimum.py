"""The minimum of the penalised pseudolikelihood against a quasi-Newton method on smooth forms of the same problem."""

import numpy as np
import pytest

from helpers.loss_tables import activate_all_cells
from helpers.pseudolikelihoods import Twin, all_pairs, dependent_codes, make_loss, random_potentials
from oracles import pseudolikelihood as oracle
from oracles.variational import with_absolute_values, with_norms

CARDS = (2, 3, 4)
PAIRS = all_pairs(3)


def smooth(codes, l2, weights=None):
    """Return what both forms begin with: loss + l2 / 2 ||w||^2 with all edges."""

    def value_and_gradient(w):
        value, gradient = oracle.loss(CARDS, PAIRS.tolist(), w, codes, weights)
        return value + 0.5 * l2 * (w @ w), gradient + l2 * w

    return value_and_gradient


def n_parameters():
    return sum(CARDS) + sum(CARDS[i] * CARDS[j] for i, j in PAIRS.tolist())


def least(codes, *, lam=0.02, l2=0.01, weights=None, penalize_nodes=False, edge_weights=None):
    """Return the least objective found another way."""
    groups = oracle.groups(CARDS, PAIRS.tolist())
    own = np.ones(len(PAIRS)) if edge_weights is None else edge_weights(PAIRS)
    sizes = np.sqrt([len(group) for group in groups])
    penalties = lam * sizes * np.concatenate([np.full(len(CARDS), float(penalize_nodes)), own])
    used = np.flatnonzero(penalties)
    found = with_norms(smooth(codes, l2, weights), n_parameters(), [groups[g] for g in used], penalties[used])
    return oracle.objective(CARDS, PAIRS.tolist(), found, codes, penalties, l2, weights=weights)


def weight_of_first(pairs):
    return np.where(pairs[:, 0] == 0, 0.3, 1.5)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"lam": 0.005, "l2": 0.0},
        {"lam": 0.04, "l2": 0.1},
        {"lam": 0.0, "l2": 0.05},
        {"penalize_nodes": True},
        {"penalize_nodes": True, "lam": 0.05, "l2": 0.001},
        {"edge_weights": weight_of_first},
    ],
    ids=lambda options: "-".join(map(str, options)) or "defaults",
)
@pytest.mark.parametrize("weighted", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_optimum_is_found(options, weighted, rng):
    codes = dependent_codes(rng, CARDS, 120)
    weights = rng.uniform(0.1, 2, 120) if weighted else None
    loss = make_loss(codes, CARDS, weights=weights, **options)
    loss.activate(PAIRS)
    loss.optimise(tol=2e-6, max_sweeps=3000)
    assert loss.kkt_residual() <= 2e-6
    other = least(codes, weights=weights, **options)
    assert loss.objective() <= other + 1e-6
    assert loss.objective() == pytest.approx(other, abs=1e-5)
    assert loss.objective() == pytest.approx(Twin(loss, codes, weights=weights, **options).objective(), abs=1e-6)


@pytest.mark.parametrize("lam", [0.003, 0.03])
def test_the_optimum_of_single_cells_is_found(lam, rng):
    codes = dependent_codes(rng, CARDS, 120)
    loss = make_loss(codes, CARDS, lam=lam, feature_wise=True)
    activate_all_cells(loss, PAIRS)
    loss.optimise(tol=2e-6, max_sweeps=3000)
    assert loss.kkt_residual() <= 2e-6
    penalties = np.where(np.arange(n_parameters()) < sum(CARDS), 0.0, lam)
    other, _ = with_absolute_values(smooth(codes, 0.01), n_parameters(), penalties)
    assert loss.objective() <= other + 1e-6
    assert loss.objective() == pytest.approx(other, abs=1e-5)
    assert loss.objective() == pytest.approx(Twin(loss, codes, lam=lam, feature_wise=True).objective(), abs=1e-6)
    values = loss.potentials().edge_values
    assert (values == 0).any()
    assert (values != 0).any()


def test_only_active_cells_move(rng):
    codes = dependent_codes(rng, CARDS)
    loss = make_loss(codes, CARDS, lam=0.001, feature_wise=True)
    loss.activate_features(np.array([[0, 1], [0, 1], [1, 2]]), np.array([[1, 2], [0, 0], [2, 3]]))
    loss.optimise(tol=1e-6)
    found = loss.potentials()
    assert found.edges.tolist() == [[0, 1], [1, 2]]
    assert np.argwhere(found.table(0)).tolist() == [[0, 0], [1, 2]]
    assert np.argwhere(found.table(1)).tolist() == [[2, 3]]
    assert loss.kkt_residual() <= 1e-6
    before = loss.objective()
    loss.activate_features(np.array([[0, 1]]), np.array([[1, 0]]))
    loss.optimise(np.array([[0, 1]]), tol=1e-6)
    assert loss.potentials().table(0)[1, 0] != 0
    assert loss.objective() < before


@pytest.mark.parametrize("start", ["independent", "random", "optimum of another"])
def test_the_optimum_is_the_same_from_anywhere(start, rng):
    codes = dependent_codes(rng, CARDS, 120)
    fresh = make_loss(codes, CARDS)
    fresh.activate(PAIRS)
    fresh.optimise(tol=1e-6, max_sweeps=3000)
    other = make_loss(codes, CARDS, lam=0.001 if start == "optimum of another" else 0.02)
    if start == "random":
        other.set_potentials(random_potentials(rng, CARDS, PAIRS, scale=3.0))
    other.activate(PAIRS[:0] if start == "random" else PAIRS[::-1].copy())
    if start == "optimum of another":
        other.optimise(tol=1e-4)
        other.lam = 0.02
        assert other.lam == 0.02
    other.optimise(tol=1e-6, max_sweeps=3000)
    assert other.objective() == pytest.approx(fresh.objective(), abs=2e-6)
    assert other.potentials().edges.tolist() == fresh.potentials().edges.tolist()
    np.testing.assert_allclose(other.potentials().edge_values, fresh.potentials().edge_values, atol=2e-3)


def test_no_table_is_left_above_the_largest_score(rng):
    codes = dependent_codes(rng, CARDS)
    loss = make_loss(codes, CARDS, lam=0.0, l2=0.0)
    top = loss.scores(PAIRS).max()
    independent = loss.objective()
    loss.activate(PAIRS)
    loss.lam = 0.9 * top
    loss.optimise(tol=1e-7)
    assert loss.norms().any()
    loss.lam = 1.001 * top
    loss.optimise(tol=1e-7)
    assert not loss.norms().any()
    assert loss.potentials().n_edges == 0
    assert len(loss.edges) == len(PAIRS)
    assert loss.objective() == pytest.approx(independent, abs=1e-6)


@pytest.mark.parametrize("kind", ["weights", "repeated"])
def test_row_weights_are_repetitions(kind, rng):
    codes, times = dependent_codes(rng, CARDS, 200), rng.integers(0, 4, 200)
    repeated = make_loss(np.repeat(codes, times, axis=1), CARDS)
    # a common factor of the weights, whatever its size, is none of the objective
    for factor in (1.0, 1e-40, 1e200):
        weighted = make_loss(codes, CARDS, weights=times * factor)
        for loss in (repeated, weighted):
            loss.activate(np.array([pair for pair in PAIRS.tolist() if pair not in loss.edges.tolist()]).reshape(-1, 2))
            loss.optimise(tol=1e-6, max_sweeps=3000)
        assert weighted.objective() == pytest.approx(repeated.objective(), abs=1e-6)
        assert weighted.kkt_residual() <= 2e-6


def test_rows_of_next_to_no_weight_do_not_count(rng):
    codes = dependent_codes(rng, CARDS, 100)
    weights = np.ones(100)
    weights[::3] = 1e-30
    found = []
    for rows, own in ((codes, weights), (codes[:, weights == 1], None)):
        loss = make_loss(rows, CARDS, weights=own)
        loss.activate(PAIRS)
        loss.optimise(tol=1e-6, max_sweeps=3000)
        found.append(loss.objective())
    assert found[0] == pytest.approx(found[1], abs=1e-6)


@pytest.mark.parametrize(
    "codes",
    [
        np.zeros((3, 1), dtype=np.uint8),
        np.zeros((3, 20), dtype=np.uint8),
        np.array([[0, 1] * 10] * 3, dtype=np.uint8),
        np.array([[0, 1] * 10, [1, 1] * 10, [0, 3] * 10], dtype=np.uint8),
    ],
    ids=["one row", "constant columns", "equal columns", "states that never occur"],
)
@pytest.mark.parametrize("lam", [0.0, 0.02])
def test_poor_tables_have_an_optimum_too(codes, lam):
    loss = make_loss(codes, CARDS, lam=lam, l2=0.01)
    loss.activate(PAIRS)
    loss.optimise(tol=1e-6, max_sweeps=3000)
    assert loss.kkt_residual() <= 1e-6
    other = least(codes, lam=lam)
    assert loss.objective() <= other + 1e-6
    assert loss.objective() == pytest.approx(other, abs=1e-5)
