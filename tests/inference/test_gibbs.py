"""Gibbs sampling: the right distribution, repeatable, with evidence and impossible cells."""

import numpy as np
import pytest

from helpers.random_networks import as_list
from oracles import enumeration
from pgmx._ext import _gibbs
from pgmx.inference import LogFactors, PairwisePotentials, gibbs_sample
from pgmx.inference.approximate.gibbs import copy_tables


def cyclic(rng, cards=(2, 3, 2, 4)):
    tables = {(i, j): rng.normal(size=(cards[i], cards[j])) for i, j in [(0, 1), (1, 2), (2, 3), (0, 3)]}
    return PairwisePotentials.build(cards, [rng.normal(size=r) for r in cards], tables)


def distribution(codes, cards):
    counts = np.zeros(cards)
    np.add.at(counts, tuple(codes.astype(np.int64)), 1)
    return counts / codes.shape[1]


def exact(network, evidence=None):
    cards, factors = as_list(network)
    table = enumeration.joint(cards, factors, tuple(range(len(cards))), evidence)
    return np.array(list(table.values())).reshape(cards)


# 40,000 nearly independent samples: a share p has standard deviation below sqrt(p / 40,000) <= 0.0025.
LARGE = {"n_samples": 40_000, "burn_in": 200, "thinning": 4, "n_chains": 4}
CLOSE = 0.012


def test_distribution_of_a_pairwise_network(rng):
    network = cyclic(rng)
    codes = gibbs_sample(network, **LARGE)
    assert codes.dtype == np.uint8
    np.testing.assert_allclose(distribution(codes, (2, 3, 2, 4)), exact(network), atol=CLOSE)


def test_distribution_of_factors_of_many_variables(rng):
    cards = (2, 3, 2, 2)
    scopes = [(2, 0, 1), (1, 3), (3,), (), (3, 2, 1, 0)]
    network = LogFactors(cards, scopes, [rng.normal(size=[cards[v] for v in scope]) for scope in scopes])
    np.testing.assert_allclose(distribution(gibbs_sample(network, **LARGE), cards), exact(network), atol=CLOSE)


def test_distribution_given_evidence(rng):
    network = cyclic(rng)
    codes = gibbs_sample(network, evidence={1: 2, 3: 0}, **LARGE)
    assert set(codes[1]) == {2}
    assert set(codes[3]) == {0}
    np.testing.assert_allclose(distribution(codes, (2, 3, 2, 4)), exact(network, {1: 2, 3: 0}), atol=CLOSE)


def test_impossible_cells_are_never_drawn(rng):
    table = np.array([[0.0, -np.inf, 1.0], [0.2, 0.5, 0.0], [0.3, 0.0, -np.inf]])
    network = PairwisePotentials.build([3, 3, 3], None, {(0, 1): table, (1, 2): table})
    codes = gibbs_sample(network, **LARGE)
    assert np.isfinite(network.log_score(codes)).all()
    np.testing.assert_allclose(distribution(codes, (3, 3, 3)), exact(network), atol=CLOSE)


def test_a_possible_configuration_is_found_from_an_impossible_start():
    # Neighbours on a path must differ, and the ends are given.
    differ = np.where(np.eye(3) == 1, -np.inf, 0.0)
    path = PairwisePotentials.build([3] * 12, None, {(i, i + 1): differ for i in range(11)})
    codes = gibbs_sample(path, 50, evidence={0: 1, 11: 1}, start=np.ones(12, dtype=int))
    assert np.isfinite(path.log_score(codes)).all()


@pytest.mark.parametrize("arity", [2, 3])
def test_values_beyond_the_range_of_exponentials(arity):
    """Forces of a thousand nats that cancel but for a little."""
    scopes = [(0, 1), (0, 2), (0,)] if arity == 2 else [(0, 1, 2), (0, 2), (0,)]
    strong = np.array([[1000.0, 0.0], [1000.0, 0.0]]).T
    first = strong if arity == 2 else np.repeat(strong[:, :, None], 2, axis=2)
    network = LogFactors([2, 2, 2], scopes, [first, -strong, [0.0, 1.0]])
    codes = gibbs_sample(network, 20_000, burn_in=10, thinning=1)
    assert abs(codes[0].mean() - np.e / (1 + np.e)) < 0.015


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_samples_do_not_depend_on_threads(n_jobs, rng):
    options = {"burn_in": 5, "thinning": 2, "n_chains": 3, "seed": 7}
    network = cyclic(rng)
    np.testing.assert_array_equal(
        gibbs_sample(network, 100, n_jobs=n_jobs, **options), gibbs_sample(network, 100, **options)
    )


def test_seeds(rng):
    network = cyclic(rng)
    first = gibbs_sample(network, 100, seed=1)
    np.testing.assert_array_equal(first, gibbs_sample(network, 100, seed=1))
    assert (first != gibbs_sample(network, 100, seed=2)).any()
    assert (gibbs_sample(network, 100, seed=None) != gibbs_sample(network, 100, seed=None)).any()


def test_factors_and_potentials_give_the_same_samples(rng):
    network = cyclic(rng)
    factors = LogFactors.from_potentials(network)
    np.testing.assert_array_equal(gibbs_sample(network, 200), gibbs_sample(factors, 200))


def test_chains_share_the_samples_evenly(rng):
    network = cyclic(rng)
    frozen = dict.fromkeys(range(4), 0)
    start = np.zeros((4, 3), dtype=int)
    assert gibbs_sample(network, 10, n_chains=3, start=start, evidence=frozen).shape == (4, 10)
    assert gibbs_sample(network, 1, n_chains=3).shape == (4, 1)
    assert gibbs_sample(network, 0).shape == (4, 0)


def test_the_start_is_not_changed(rng):
    start = np.array([1, 2, 0, 3])
    gibbs_sample(cyclic(rng), 10, start=start, evidence={0: 0})
    assert start.tolist() == [1, 2, 0, 3]


def test_variables_of_many_states():
    n_states = 300
    network = PairwisePotentials.build([n_states, 2], [np.arange(n_states) == 299, None], {(0, 1): np.zeros((300, 2))})
    codes = gibbs_sample(network, 1000, burn_in=10, thinning=1)
    assert codes.dtype == np.uint16
    assert codes[0].max() > 255


def test_variables_without_neighbours():
    network = PairwisePotentials.build([1, 2], [None, [0.0, 2.0]])
    codes = gibbs_sample(network, 20_000, burn_in=0, thinning=1)
    assert set(codes[0]) == {0}
    assert abs(codes[1].mean() - np.exp(2.0) / (1 + np.exp(2.0))) < 0.01


def test_nothing_possible_is_an_error():
    never = np.full((2, 2), -np.inf)
    network = PairwisePotentials.build([2, 2, 2], None, {(0, 1): never})
    with pytest.raises(ValueError, match="no configuration of positive probability was found in 15 sweeps"):
        gibbs_sample(network, 5, burn_in=14, thinning=1)


def test_impossible_evidence_is_an_error():
    differ = np.where(np.eye(2) == 1, -np.inf, 0.0)
    network = PairwisePotentials.build([2, 2, 2], None, {(0, 1): differ, (1, 2): np.zeros((2, 2))})
    for model in (network, LogFactors.from_potentials(network)):
        with pytest.raises(ValueError, match="with evidence {0: 1, 1: 1}"):
            gibbs_sample(model, 5, evidence={0: 1, 1: 1})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_samples": -1}, "n_samples must be at least 0, got -1"),
        ({"burn_in": -1}, "burn_in must be at least 0"),
        ({"thinning": 0}, "thinning must be at least 1"),
        ({"n_chains": 0}, "n_chains must be at least 1"),
        ({"evidence": {4: 0}}, "evidence names variable 4: variables are numbered 0..3"),
        ({"evidence": {0: 5}}, "evidence gives variable 0 the code 5"),
        ({"start": np.zeros(3, dtype=int)}, r"start must hold integers of shape \(4,\) or \(4, 1\), got \(3,\)"),
        ({"start": np.zeros(4)}, "start must hold integers"),
        ({"start": np.array([0, 3, 0, 0])}, r"start gives variable 1 a state outside 0..2: \[3\]"),
    ],
)
def test_bad_options(options, words, rng):
    with pytest.raises(ValueError, match=words):
        gibbs_sample(cyclic(rng), **{"n_samples": 5, **options})


@pytest.mark.parametrize("burn_in", [0, 1, 7])
def test_sweeps_before_the_first_sample(burn_in, rng):
    """A chain of `burn_in` sweeps is a chain without burn-in, its first samples left out."""
    network = cyclic(rng)
    start = np.array([1, 2, 0, 3])
    whole = gibbs_sample(network, 60, burn_in=0, thinning=1, start=start)
    np.testing.assert_array_equal(
        gibbs_sample(network, 20, burn_in=burn_in, thinning=2, start=start),
        whole[:, burn_in + 1 : burn_in + 41 : 2],
    )


def test_an_impossible_state_goes_to_that_which_breaks_the_fewest_tables():
    """Given its neighbours, each state of the variable breaks a table: 0 two of them, 1 one, 2 all three."""
    breaks = np.array([[1, 1, 0], [0, 0, 1], [1, 1, 1]], dtype=bool)  # by state and table
    tables = {(0, j + 1): np.where(breaks[:, j : j + 1] & [[True, False]], -np.inf, 0.0) for j in range(3)}
    network = PairwisePotentials.build([3, 2, 2, 2], None, tables)
    conditionals = copy_tables(network)
    state, word = np.zeros(4, dtype=np.int32), np.array([5], dtype=np.uint64)
    codes = np.empty((4, 50), dtype=np.uint8)
    for start in range(3):
        state[0] = start
        free = np.array([0], dtype=np.int64)  # the neighbours stay at the state that breaks
        possible = _gibbs.run_chain(*conditionals, free, state, word, np.empty(3), 0, 1, codes[:, :1])
        assert not possible
        assert state.tolist() == [1, 0, 0, 0]


def test_samples_are_possible_from_each_impossible_start():
    """Two variables must be equal and a third differs from both: 6 of 27 configurations are possible."""
    equal, differ = np.where(np.eye(3) == 1, 0.0, -np.inf), np.where(np.eye(3) == 1, -np.inf, 0.0)
    network = PairwisePotentials.build([3, 3, 3], None, {(0, 1): equal, (0, 2): differ, (1, 2): differ})
    for start in np.ndindex(3, 3, 3):
        codes = gibbs_sample(network, 30, burn_in=30, thinning=1, start=np.array(start))
        assert np.isfinite(network.log_score(codes)).all(), start
