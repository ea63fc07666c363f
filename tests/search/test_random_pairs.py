"""Random orders that are computed: permutations, their inverses, and how random they are."""

from collections import Counter
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmx.search.edges.random_pairs import RandomOrder, RandomPairs, ends_of, id_of


@given(st.integers(2, 70), st.integers(-(2**70), 2**70))
def test_every_pair_has_one_place(n, seed):
    order = RandomPairs(n, seed)
    places = np.arange(len(order))
    pairs = order.pair(places)
    assert sorted(map(tuple, pairs.tolist())) == list(combinations(range(n), 2))
    assert np.array_equal(order.position(pairs), places)


@given(st.integers(2, 2**30), st.integers(0, 2**64), st.data())
def test_position_inverts_pair_at_any_size(n, seed, data):
    order = RandomPairs(n, seed)
    places = np.array(data.draw(st.lists(st.integers(0, len(order) - 1), min_size=1, max_size=50)))
    pairs = order.pair(places)
    assert (pairs[:, 0] < pairs[:, 1]).all() and (pairs >= 0).all() and (pairs < n).all()
    assert np.array_equal(order.position(pairs), places)


@given(st.integers(1, 3000), st.integers(0, 2**64))
def test_order_is_a_permutation(size, seed):
    order = RandomOrder(size, seed)
    values = order.value(np.arange(size))
    assert np.array_equal(np.sort(values), np.arange(size))
    assert np.array_equal(order.position(values), np.arange(size))


@pytest.mark.slow
def test_all_orders_of_three_pairs_are_equally_likely():
    trials = 3000
    seen = Counter(tuple(id_of(RandomPairs(3, seed).pair(np.arange(3)), 3).tolist()) for seed in range(trials))
    expected = trials / 6
    assert set(seen) == set(permutations((1, 2, 5)))
    # Chi-square with 5 degrees of freedom: 20.5 is its 99.9 % point.
    assert sum((count - expected) ** 2 / expected for count in seen.values()) < 20.5


def test_a_prefix_is_a_uniform_sample_of_nodes(seed):
    n, drawn = 100, 1000
    pairs = RandomPairs(n, seed).pair(np.arange(drawn))
    degrees = np.bincount(pairs.ravel(), minlength=n)
    expected = 2 * drawn / n
    # 99 degrees of freedom; without replacement and in pairs the spread is even smaller. 148 is the 99.9 % point.
    assert ((degrees - expected) ** 2 / expected).sum() < 148


def test_neighbouring_seeds_and_places_are_unrelated(seed):
    places = np.arange(5000)
    one, two = RandomOrder(10_000, seed), RandomOrder(10_000, seed + 1)
    for x, y in ((one.value(places), two.value(places)), (one.value(places), one.value(places + 1))):
        assert abs(np.corrcoef(x, y)[0, 1]) < 0.06  # four standard errors


def test_no_number_beyond_the_order():
    with pytest.raises(ValueError, match=r"from 0 to 400 are not all below 10"):
        RandomOrder(10, 0).value(np.arange(401))


@pytest.mark.parametrize("n", [0, 1])
def test_no_pairs_of_less_than_two(n):
    order = RandomPairs(n, 0)
    assert len(order) == 0
    assert order.pair(np.arange(0)).shape == (0, 2)


@given(st.integers(2, 1000), st.data())
def test_ids_and_ends(n, data):
    pairs = data.draw(st.lists(st.sets(st.integers(0, n - 1), min_size=2, max_size=2).map(sorted), max_size=20))
    array = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    ids = id_of(array[:, ::-1], n)
    assert np.array_equal(ids, id_of(array, n))
    assert np.array_equal(ends_of(ids, n), array)
