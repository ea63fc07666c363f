"""Pairs that are never listed: each comes once, hubs' first."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from helpers.edge_streams import rule_without
from pgmx.runs.checkpoint import Snapshot
from pgmx.search.edges.pair_queue import EdgeQueue, ExcludedPairs, HubPartners, UnseenPairs
from pgmx.search.edges.random_pairs import RandomPairs, ends_of, id_of


def unseen_pairs(n, seed=0, skip=()):
    allowed = rule_without(skip, n) if skip else None
    return UnseenPairs(RandomPairs(n, seed), HubPartners(n, seed), ExcludedPairs(allowed, n))


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
            unseen.restore(Snapshot(unseen.state()))
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
    unseen.put_back(12)
    again = np.concatenate([unseen.take(5), unseen.take(7)])
    assert np.array_equal(again, first[8:])


def test_excluded_pairs_are_those_of_the_rule_and_those_added():
    ids = id_of(np.array(list(combinations(range(5), 2))), 5)
    excluded = ExcludedPairs(rule_without([(4, 2), (0, 3)], 5), 5)
    excluded.add(np.array([7]))
    assert ids[excluded.contains(ids)].tolist() == [3, 7, 14]
    assert not ExcludedPairs(None, 5) and excluded


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
                queue.prioritise(np.array([hub]))
                order.extend(queue.take(1).tolist())
        while len(ids := queue.take(9)):
            order.extend(ids.tolist())
        orders.append(order)
    assert orders[0] == orders[1]
    assert len(set(orders[0])) == n * (n - 1) // 2
