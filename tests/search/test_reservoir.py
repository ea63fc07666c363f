"""What a reservoir keeps, and which of its edges may be activated."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pgmx.search.edges.stream import Reservoir, activation_threshold

N = 30
SCORES = st.sampled_from([0.1, 0.2, 0.3, 1 / 3, 0.7, 1e-300, 5e300])
PAIRS = st.tuples(st.integers(0, N - 1), st.integers(0, N - 1)).filter(lambda p: p[0] < p[1])
STREAMS = st.dictionaries(PAIRS.map(lambda p: p[0] * N + p[1]), SCORES, min_size=1, max_size=40)


def filled(stream, capacity=100):
    reservoir = Reservoir(capacity, N)
    return reservoir, [reservoir.offer(edge, score) for edge, score in stream.items()]


@given(STREAMS, st.integers(1, 12))
def test_the_best_scores_stay(stream, capacity):
    reservoir, losers = filled(stream, capacity)
    edges, scores = reservoir.content()
    kept = sorted(stream.values(), reverse=True)[:capacity]
    assert scores.tolist() == kept
    out = dict(loser for loser in losers if loser is not None)
    assert {**out, **dict(zip(edges.tolist(), scores.tolist(), strict=True))} == stream
    assert len(out) == len(stream) - len(edges) and reservoir.room == capacity - len(edges)


def test_of_equal_scores_the_smaller_edge_stays_and_the_offered_one_goes():
    reservoir, losers = filled({5: 0.2, 3: 0.2, 4: 0.2}, 2)
    assert losers == [None, None, (4, 0.2)]
    assert reservoir.offer(1, 0.3) == (5, 0.2)
    assert reservoir.content()[0].tolist() == [1, 3]


@given(STREAMS, st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]), st.none() | st.integers(1, 5))
def test_selection(stream, alpha, limit):
    reservoir, _ = filled(stream)
    edges, scores = reservoir.select(alpha, limit)
    assert len(reservoir) == len(stream)
    assert scores.tolist() == [stream[edge] for edge in edges.tolist()]
    ranked = sorted(stream, key=lambda edge: (-stream[edge], edge))
    assert edges[0] == ranked[0]
    assert edges.tolist() == sorted(edges.tolist(), key=ranked.index)
    tau = activation_threshold(reservoir.items()[1], alpha)
    assert (scores >= tau).all() and tau <= scores[0]
    ends = [node for edge in edges.tolist() for node in divmod(edge, N)]
    assert len(set(ends)) == len(ends)
    if limit is None:  # nothing more could be taken
        left = [edge for edge in ranked if stream[edge] >= tau and edge not in edges]
        assert all(set(divmod(edge, N)) & set(ends) for edge in left)
    else:
        assert edges.tolist() == reservoir.select(alpha)[0].tolist()[:limit]


@given(st.floats(1e-12, 1e12), st.floats(0, 1))
def test_the_maximum_passes_its_own_threshold(score, alpha):
    reservoir, _ = filled({1: score})
    assert reservoir.select(alpha)[0].tolist() == [1]


def test_threshold_between_mean_and_maximum():
    reservoir, _ = filled({1: 0.25, 2: 0.5, 3: 0.75})
    scores = reservoir.items()[1]
    assert [activation_threshold(scores, alpha) for alpha in (0.0, 0.5, 1.0)] == [0.5, 0.625, 0.75]


def test_update_and_discard():
    reservoir, _ = filled({1: 0.25, 2: 0.5, 3: 0.75})
    reservoir.update(np.array([3, 1]), np.array([0.125, 2.0]))
    edges, scores = reservoir.content()
    assert dict(zip(edges.tolist(), scores.tolist(), strict=True)) == {1: 2.0, 2: 0.5, 3: 0.125}
    assert edges[-1] == 3
    reservoir.discard(np.array([2, 17]))
    assert reservoir.content()[0].tolist() == [1, 3]


def test_an_empty_reservoir():
    reservoir = Reservoir(1, N)
    assert len(reservoir.select(0.5)[0]) == 0
