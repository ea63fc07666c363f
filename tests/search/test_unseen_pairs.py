"""Pairs that are never listed: each comes once, hubs' first, and what was seen can be told."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmx.search.edges.pair_queue import EdgeQueue
from pgmx.search.edges.random_pairs import RandomPairs, ends_of, id_of
from pgmx.search.edges.unseen_pairs import HubPartners, PassedOver, UnseenPairs


def unseen_pairs(n, seed=0, skip=None):
    return UnseenPairs(RandomPairs(n, seed), HubPartners(n, seed), PassedOver(skip, n))


def take_all(unseen, count=7):
    taken = []
    while len(ids := unseen.take(count)):
        taken.extend(map(tuple, ends_of(ids, unseen.n_variables).tolist()))
    return taken


STEPS = st.lists(st.one_of(st.integers(1, 30), st.sets(st.integers(0, 13), min_size=1, max_size=5)), max_size=15)


@given(STEPS, st.integers(0, 100), st.booleans())
def test_each_pair_comes_once_whatever_becomes_a_hub(steps, seed, through_state):
    n = 14
    unseen, taken = unseen_pairs(n, seed, skip=[(1, 0), (5, 9)]), []
    every = list(combinations(range(n), 2))
    for step in steps:
        if isinstance(step, int):
            taken.extend(map(tuple, ends_of(unseen.take(step), n).tolist()))
        elif new := sorted(step - set(unseen.partners.hubs.tolist())):
            unseen.partners.add(np.array(new))
            unseen.add_hubs(np.array(new))
        if through_state:
            unseen.restore(unseen.state())
        seen = unseen.seen(np.array(every))
        assert {pair for pair, it in zip(every, seen.tolist(), strict=True) if it} == {*taken, (0, 1), (5, 9)}
    taken.extend(take_all(unseen))
    assert sorted(taken) == sorted(set(every) - {(0, 1), (5, 9)})


def test_pairs_of_two_hubs_then_of_one_then_others():
    n = 12
    unseen = unseen_pairs(n)
    hubs = np.array([2, 5, 7])
    unseen.partners.add(hubs)
    unseen.add_hubs(hubs)
    ends_at_hubs = [len({2, 5, 7} & set(pair)) for pair in take_all(unseen)]
    assert ends_at_hubs == sorted(ends_at_hubs, reverse=True)


def test_hubs_take_turns_and_new_ones_catch_up():
    n = 50
    unseen = unseen_pairs(n)

    def prefer(*hubs):
        unseen.partners.add(np.array(hubs))
        unseen.add_hubs(np.array(hubs))

    def take(count):
        pairs = np.concatenate([ends_of(unseen.take(1), n) for _ in range(count)])
        return [sum(hub in pair for pair in pairs.tolist()) for hub in (3, 9, 20)]

    prefer(3, 9)
    take(1)  # each other
    assert np.ptp(take(20)[:2]) <= 2  # a turn with each other gives nothing, so the other one gets ahead
    prefer(20)
    take(2)  # 3 and 9, or others where it had met them
    assert take(6) == [0, 0, 6]
    take(30)
    assert np.ptp(take(15)) <= 2


def test_given_back_pairs_come_again():
    unseen = unseen_pairs(30)
    first = unseen.take(20).copy()
    unseen.give_back(12)
    again = np.concatenate([unseen.take(5), unseen.take(7)])
    assert np.array_equal(again, first[8:])


@pytest.mark.parametrize("skip", [{(4, 2), (0, 3)}, [(2, 4), (0, 3)], np.array([[2, 4], [0, 3]])])
def test_a_collection_and_a_rule_pass_over_the_same(skip):
    def rule(pairs):
        return np.isin(id_of(pairs, 5), [14, 3])

    ids = id_of(np.array(list(combinations(range(5), 2))), 5)
    assert np.array_equal(PassedOver(skip, 5)(ids), PassedOver(rule, 5)(ids))
    both = PassedOver(rule, 5)
    both.add(np.array([7]))
    assert ids[both(ids)].tolist() == [3, 7, 14]
    assert not PassedOver(None, 5) and not PassedOver([], 5) and both


@given(
    st.integers(2, 12), st.integers(0, 50), st.lists(st.integers(0, 11), max_size=5, unique=True), st.integers(1, 20)
)
def test_both_modes_of_a_queue_give_the_same_order(n, seed, hubs, before):
    orders = []
    for mode in ("sampled", "all"):
        queue, order = EdgeQueue(n, mode=mode, seed=seed), []
        order.extend(queue.take(before).tolist())
        for hub in hubs:
            if hub < n:
                queue.prefer(np.array([hub]))
                order.extend(queue.take(1).tolist())
        while len(ids := queue.take(9)):
            order.extend(ids.tolist())
        orders.append(order)
    assert orders[0] == orders[1]
    assert len(set(orders[0])) == n * (n - 1) // 2


def test_candidates_are_all_that_comes():
    queue = EdgeQueue(1000, candidates=[(5, 3), (3, 5), (0, 999), (1, 2)], skip=[(1, 2)])
    assert sorted(queue.take(10).tolist()) == [999, 3005]
    assert len(queue.heap) == 0


def test_an_unknown_mode():
    with pytest.raises(ValueError, match=r"mode='some' is unknown: choose 'sampled' or 'all'"):
        EdgeQueue(5, mode="some")
