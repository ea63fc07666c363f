"""Annealed importance sampling: unbiased within its standard error, exact where nothing is wide, repeatable."""

import numpy as np
import pytest
from hypothesis import given

from helpers.examples import examples
from helpers.random_networks import as_list, factor_networks, pairwise_networks
from oracles import enumeration
from oracles.transfer_matrix import eliminate_grid
from pgmx.inference import LogFactors, PairwisePotentials, log_partition
from pgmx.inference.approximate.annealing import estimate_by_annealing
from pgmx.inference.partition import MOST_OPERATIONS

#: Standard errors within which a law holds for each of its examples.
FAR = 5.0


def complete(n, cells, scale, seed=0):
    rng = np.random.default_rng(seed)
    tables = {(i, j): rng.normal(scale=scale, size=(cells, cells)) for j in range(n) for i in range(j)}
    return PairwisePotentials.build([cells] * n, [rng.normal(size=cells) for _ in range(n)], tables)


def check_estimate(network, evidence=None):
    truth = enumeration.log_partition(*as_list(network), evidence)
    if truth == -np.inf:
        with pytest.raises(ValueError, match="probability"):
            log_partition(network, evidence, method="ais")
        return
    answer = log_partition(network, evidence, method="ais", n_chains=256, tol=0.02)
    assert abs(answer - truth) <= FAR * answer.standard_error + 1e-9 * (1.0 + abs(truth))
    assert answer.lower - 1e-9 <= truth <= answer.upper + 1e-9
    assert answer.exact == (answer.standard_error == 0.0) == (answer.method == "exact")


@given(pairwise_networks())
@examples(40)
def test_pairs_against_enumeration(network):
    check_estimate(network)


@given(factor_networks())
@examples(40)
def test_factors_of_any_order_against_enumeration(network):
    check_estimate(network)


def test_evidence():
    network = complete(7, 2, 1.0)
    check_estimate(network, {0: 1, 3: 0})


def test_wide_tables_of_several_states_and_a_constant():
    rng = np.random.default_rng(0)
    scopes = [(0, 1, 2), (2, 3, 4), (4, 5, 0), (1, 3, 5), (), (2,), (5, 1)]
    cards = [3, 2, 4, 2, 3, 2]
    network = LogFactors(cards, scopes, [rng.normal(size=[cards[v] for v in scope]) for scope in scopes])
    answer = log_partition(network, method="ais")
    assert answer.method == "ais"
    check_estimate(network)


@pytest.mark.parametrize("coupling", [0.25, 0.5])
def test_grid_against_transfer_matrices(coupling):
    rng = np.random.default_rng(2)
    n = 9
    nodes = rng.normal(scale=0.3, size=(n * n, 2))
    pairs = [(v, v + 1) for v in range(n * n) if (v + 1) % n] + [(v, v + n) for v in range(n * n - n)]
    tables = {pair: rng.normal(scale=coupling, size=(2, 2)) for pair in pairs}
    answer = log_partition(PairwisePotentials.build([2] * n * n, nodes, tables), method="ais")
    assert answer.standard_error <= 0.01
    assert answer.effective_sample_size > 256
    assert abs(answer - eliminate_grid(n, n, nodes, tables)) < 4 * answer.standard_error


def test_two_far_modes_of_a_ferromagnet():
    n = 8
    tables = {(i, j): 0.6 * np.array([[1.0, -1.0], [-1.0, 1.0]]) for j in range(n) for i in range(j)}
    network = PairwisePotentials.build([2] * n, [[0.05, -0.05]] * n, tables)
    check_estimate(network)


@pytest.mark.slow
def test_colourings_of_a_grid():
    # Proper colourings with three colours: every table of a pair rules out a third of its cells.
    n, differ = 5, np.where(np.eye(3, dtype=bool), -np.inf, 0.0)
    pairs = [(v, v + 1) for v in range(n * n) if (v + 1) % n] + [(v, v + n) for v in range(n * n - n)]
    network = PairwisePotentials.build([3] * n * n, None, dict.fromkeys(pairs, differ))
    answer = log_partition(network, method="ais")
    assert 0.0 < answer.standard_error < 0.05
    assert answer.lower < np.log(580986) < answer.upper  # OEIS A020698
    assert abs(answer - np.log(580986)) < 4 * answer.standard_error


def test_leaves_cycles_and_isolated_variables_are_exact():
    rng = np.random.default_rng(3)
    pairs = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (6, 7), (7, 8), (8, 9), (9, 6)]
    network = PairwisePotentials.build(
        [2, 3] * 5, None, {(i, j): rng.normal(size=(2 + i % 2, 2 + j % 2)) for i, j in pairs}
    )
    answer = log_partition(network, method="ais")
    assert answer.exact
    assert answer == pytest.approx(enumeration.log_partition(*as_list(network)), rel=1e-12)


def test_parts_that_fit_into_memory_are_exact(monkeypatch):
    monkeypatch.setitem(MOST_OPERATIONS, "auto", 0)  # else the other is conditioned
    small, large = complete(6, 2, 1.0, 1), complete(8, 3, 1.0, 2)
    tables = {(i, j): small.table(e) for e, (i, j) in enumerate(small.edges.tolist())}
    tables |= {(i + 6, j + 6): large.table(e) for e, (i, j) in enumerate(large.edges.tolist())}
    nodes = [small.node(v) for v in range(6)] + [large.node(v) for v in range(8)]
    both = PairwisePotentials.build([2] * 6 + [3] * 8, nodes, tables)
    with pytest.warns(UserWarning, match="annealed importance sampling"):
        answer = log_partition(both, memory=2**10)
    alone = log_partition(large, method="ais")
    assert answer - log_partition(small) == pytest.approx(alone, rel=1e-12)
    assert answer.standard_error == alone.standard_error


def test_one_input_has_one_answer():
    network = complete(10, 3, 0.5)
    first = log_partition(network, method="ais")
    for options in ({}, {"random_state": 0}, {"n_jobs": 3}):
        again = log_partition(network, method="ais", **options)
        assert (again, again.standard_error) == (first, first.standard_error)
    assert log_partition(network, method="ais", random_state=1) != first


def test_few_chains_of_few_steps_are_unbiased():
    network = LogFactors.from_potentials(complete(6, 2, 1.0))
    truth = enumeration.log_partition(*as_list(network))
    ratios = [
        np.exp(estimate_by_annealing(network, random_state=seed, n_chains=20, max_work=0).value - truth)
        for seed in range(60)
    ]
    assert abs(np.mean(ratios) - 1.0) < 4 * np.std(ratios) / np.sqrt(len(ratios))


@pytest.mark.parametrize(
    ("option", "value", "match"),
    [
        ("n_chains", 1, "n_chains"),
        ("tol", 0.0, "tol must be a positive number"),
        ("random_state", -1, "seed"),
        ("max_work", 1.5, "max_work"),
    ],
)
def test_options_out_of_range(option, value, match):
    with pytest.raises((TypeError, ValueError), match=match):
        log_partition(complete(5, 2, 1.0), method="ais", **{option: value})
    with pytest.raises(TypeError, match="accepts"):
        log_partition(complete(5, 2, 1.0), method="ais", damping=0.5)
