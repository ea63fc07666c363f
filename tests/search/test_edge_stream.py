"""What a stream promises in addition to the pseudocode: certificates, batches, penalties, checkpoints, memory."""

import io
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.edge_streams import ChangingLoss, content_of, run, stream_of
from pgmx.runs.checkpoint import Snapshot


def all_scores(score, n):
    pairs = np.argwhere(np.triu(np.ones((n, n), dtype=bool), 1))
    return pairs, np.array([score.of_pair(pair) for pair in pairs.tolist()])


@given(
    st.integers(2, 20), st.integers(0, 1000), st.sampled_from([0.0, 0.05, 0.3, 1.0, 50.0]), st.sampled_from([1, 4, 30])
)
def test_an_exhausted_stream_proves_that_no_edge_violates(n, seed, lam, size):
    score = ChangingLoss(n, seed, lam=lam)
    stream = stream_of(n, seed=seed, reservoir_size=size)
    edges = [edge for batch in run(stream, score) for edge in batch]
    assert len(set(edges)) == len(edges)
    pairs, scores = all_scores(score, n)
    left = np.array([tuple(pair) not in edges for pair in pairs.tolist()])
    assert (scores[left] <= lam).all()
    tests = stream.n_tests
    assert not len(stream.choose_edges(score))  # and says so again, without another pass
    assert stream.n_tests == tests >= len(pairs)


def test_only_edges_with_a_changed_end_are_scored_again(seed):
    n, score = 30, ChangingLoss(30, seed)
    stream = stream_of(n, seed=seed, alpha=1.0)
    stream.choose_edges(score)
    waiting = stream.reservoir.content()[0]
    score.batches.clear()
    stream.mark_changed(np.array([3, 4]))
    stream.choose_edges(score)
    touched = sum(bool({3, 4} & set(divmod(edge, n))) for edge in waiting.tolist())
    assert (score.batches[0] == touched) if touched else True
    assert sum(score.batches) == touched + 5  # the tests of the round
    score.batches.clear()
    stream.mark_changed(np.array([], dtype=np.int64))
    stream.choose_edges(score)
    assert sum(score.batches) == 5  # the tests of the round


def test_batches_stop_where_single_tests_would(seed):
    n, score = 40, ChangingLoss(40, seed)
    stream = stream_of(n, seed=seed, reservoir_size=17, max_tests=6, alpha=1.0)
    stream.choose_edges(score)
    assert score.batches[0] == 17 and len(stream.reservoir) == 16
    score.batches.clear()
    stream.choose_edges(score)
    assert sum(score.batches) == 6


def test_first_hit_activates_the_first_edge_that_passes():
    tested = []

    class Loss:
        lam = 0.2

        def scores(self, pairs):
            tested.extend(map(tuple, pairs.tolist()))
            return np.where(pairs[:, 0] % 4 == 0, 0.3 + pairs[:, 1] / 100, 0.0)

    stream = stream_of(30, reservoir_size=1, max_tests=1)
    for _ in range(10):
        (edge,) = stream.choose_edges(Loss()).tolist()
        assert tuple(edge) == tested[-1]
        assert edge[0] % 4 == 0 and all(i % 4 for i, _ in tested[:-1])
        tested.clear()


@pytest.mark.parametrize("mode", ["sampled", "all"])
def test_lookahead_changes_calls_and_nothing_else(mode, seed):
    runs = []
    for lookahead in (1, 64):
        score = ChangingLoss(25, seed)
        stream = stream_of(25, seed=seed, mode=mode, reservoir_size=1, max_tests=1, lookahead=lookahead)
        runs.append((run(stream, score), content_of(stream), len(score.batches)))
    assert runs[0][:2] == runs[1][:2]
    assert runs[1][2] < runs[0][2]


@pytest.mark.parametrize("mode", ["sampled", "all"])
@pytest.mark.parametrize("rounds", [0, 1, 9, 30])
def test_a_restored_stream_goes_on_as_if_nothing_had_been(mode, rounds, seed):
    options = {"seed": seed, "mode": mode, "alpha": 0.5, "hub_threshold": 0.05}
    score = ChangingLoss(24, seed, lam=0.2)
    stream = stream_of(24, **options)
    stream.add_active(np.array([[1, 2]]))
    edges = [[1, 2], *[edge for batch in run(stream, score, rounds=rounds) for edge in batch]]
    file = io.BytesIO()
    np.savez(file, **stream.state())
    file.seek(0)
    other = stream_of(24, **options)
    with np.load(file) as state:
        other.restore(Snapshot(state), SimpleNamespace(edges=np.array(edges)))
    other_score = ChangingLoss(24, seed, lam=0.2)
    other_score.degrees = score.degrees.copy()
    score.batches.clear()
    assert run(stream, score) == run(other, other_score)
    assert score.batches == other_score.batches
    assert content_of(stream) == content_of(other)


@pytest.mark.parametrize("mode", ["sampled", "all"])
def test_pairs_that_became_active_otherwise_are_never_tested(mode, seed):
    n, score = 15, ChangingLoss(15, seed)
    stream = stream_of(n, seed=seed, mode=mode, alpha=1.0)
    stream.choose_edges(score)
    pairs = np.array([divmod(int(stream.reservoir.content()[0][0]), n), (14, 0), (3, 9)])
    stream.add_active(pairs)
    tested = []
    scores = score.scores
    score.scores = lambda pairs: (tested.extend(map(tuple, pairs.tolist())), scores(pairs))[1]
    edges = [edge for batch in run(stream, score) for edge in batch]
    added = {tuple(sorted(pair)) for pair in pairs.tolist()}
    assert tested and not added & {*tested, *edges}
    assert stream.degrees.sum() == 2 * (3 + len(edges) + 1)


def test_limits_and_deadlines():
    score = ChangingLoss(20, 0, lam=0.0)
    stream = stream_of(20)
    assert stream.choose_edges(score, limit=0).shape == (0, 2) and stream.n_tests == 0
    assert stream.choose_edges(score, deadline=0.0).shape == (0, 2)
    assert stream.n_tests == 0
    assert len(stream.choose_edges(score, limit=2)) == 2


def test_nothing_to_search():
    for n in (0, 1):
        stream = stream_of(n, reservoir_size=1)
        assert stream.choose_edges(ChangingLoss(n, 0)).shape == (0, 2)
        assert stream.n_tests == 0


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_score_that_is_no_number(value):
    loss = SimpleNamespace(lam=0.1, scores=lambda pairs: np.where((pairs == (2, 7)).all(axis=1), value, 0.0))
    with pytest.raises(ValueError, match=r"the pair \(2, 7\) has the score (nan|inf)"):
        stream_of(9).choose_edges(loss)


def test_memory_is_far_below_quadratic():
    n = 20_000  # 200 million pairs
    tracemalloc.start()
    try:
        stream = stream_of(n, reservoir_size=n, max_tests=141)
        loss = SimpleNamespace(lam=0.9, scores=lambda pairs: pairs.sum(axis=1) % 1009 / 1009)
        for _ in range(20):
            pairs = stream.choose_edges(loss)
            stream.mark_changed(pairs.ravel())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert stream.n_tests > 150_000 and len(stream.queue.partners.hubs) > 100
    assert peak + stream.reservoir._heap.nbytes + stream.queue.tested.heap.nbytes < 40e6
