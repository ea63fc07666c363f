"""Frozen edges and their offsets."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pgmx.search.edges import tested_pairs as module
from pgmx.search.edges.random_pairs import RandomPairs, id_of
from pgmx.search.edges.stream import violation_offsets
from pgmx.search.edges.tested_pairs import FrozenEdges


def entries(parts):
    return [entry for edges, offsets in parts for entry in zip(edges.tolist(), offsets.tolist(), strict=True)]


@given(st.lists(st.lists(st.tuples(st.integers(0, 2**62), st.floats(-1e9, 1)), max_size=90), max_size=6))
def test_edges_come_back_as_they_went_in(batches):
    frozen = FrozenEdges()
    for batch in batches:
        frozen.add(np.array([e for e, _ in batch], dtype=np.int64), np.array([v for _, v in batch]))
    everything = [entry for batch in batches for entry in batch]
    assert len(frozen) == len(everything)
    assert entries([frozen.content()]) == entries(frozen.drain()) == everything
    assert len(frozen) == 0
    assert entries(frozen.drain()) == []


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_the_sign_of_the_offset_tells_who_passed(score, penalty):
    (offset,) = violation_offsets(np.array([score]), np.array([penalty]))
    assert np.isfinite(offset) and offset <= 1
    if abs(score - penalty) > 1e-9 * penalty and (penalty > 0 or score == 0 or score > 1e-150):
        assert (offset < 0) == (score > penalty)


def test_without_penalty_larger_scores_come_first_and_hubs_change_nothing():
    scores = np.array([0.0, 1e-9, 0.5, np.nextafter(0.5, 1), 1e9])
    offsets = violation_offsets(scores, np.zeros(5))
    assert offsets[0] == 1.0
    assert (np.diff(offsets) < 0).all()
    assert np.array_equal(offsets[1:] - 1.0, offsets[1:])
    assert offsets[1] < violation_offsets(np.array([1e9]), np.array([1e-9]))[0]


def test_an_infinite_penalty_comes_last():
    assert violation_offsets(np.array([5.0]), np.array([np.inf])).tolist() == [1.0]


def test_discard():
    frozen = FrozenEdges()
    frozen.add(np.array([5, 3, 8]), np.array([0.1, 0.2, 0.3]))
    frozen.discard(np.array([3, 4]))
    frozen.add(np.array([9]), np.array([0.4]))
    assert frozen.content()[0].tolist() == [5, 8, 9]


def test_edges_in_the_random_order_take_eight_bytes():
    n, block = 1500, module._FROZEN_BLOCK
    order, rng = RandomPairs(n, 3), np.random.default_rng(0)
    ids = id_of(order.pair(np.arange(5 * block)), n)
    ids = np.concatenate([ids[rng.random(len(ids)) < 0.995], rng.permutation(ids[: 2 * block])])
    offsets = rng.random(len(ids))
    frozen = FrozenEdges(order)
    for first in range(0, len(ids), 5003):
        frozen.add(ids[first : first + 5003], offsets[first : first + 5003])
    assert all(np.array_equal(a, b) for a, b in zip(frozen.content(), (ids, offsets), strict=True))
    packed = [edges for edges, _ in frozen._blocks]
    assert [edges.ndim for edges in packed] == [2, 2, 2, 2, 2, 1]
    assert sum(edges.nbytes for edges in packed[:4]) < 0.1 * 4 * block
    assert frozen.nbytes < 10 * len(ids)
    out = rng.choice(ids[: 4 * block], 5, replace=False)
    frozen.discard(out)
    stay = ~np.isin(ids, out)
    assert entries(frozen.drain()) == list(zip(ids[stay].tolist(), offsets[stay].tolist(), strict=True))
