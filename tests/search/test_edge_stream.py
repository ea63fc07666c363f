"""What a stream promises beside the pseudocode: certificates, batches, penalties, checkpoints, memory."""

import io
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.edge_streams import ChangingScore, run, stream_of


def all_scores(score, n):
    pairs = np.argwhere(np.triu(np.ones((n, n), dtype=bool), 1))
    return pairs, np.array([score.of_pair(pair) for pair in pairs.tolist()])


@given(
    st.integers(2, 20), st.integers(0, 1000), st.sampled_from([0.0, 0.05, 0.3, 1.0, 50.0]), st.sampled_from([1, 4, 30])
)
def test_an_exhausted_stream_proves_that_no_edge_violates(n, seed, lam, size):
    score = ChangingScore(n, seed)
    stream = stream_of(n, seed=seed, lam=lam, reservoir_size=size)
    edges = [edge for batch in run(stream, score) for edge in batch]
    assert len(set(edges)) == len(edges)
    pairs, scores = all_scores(score, n)
    left = np.array([tuple(pair) not in edges for pair in pairs.tolist()])
    assert (scores[left] <= lam).all()
    assert stream.exhausted and stream.n_tables == len(pairs)


def test_a_smaller_penalty_opens_the_search_again(seed):
    n, score = 20, ChangingScore(20, seed)
    stream = stream_of(n, seed=seed, lam=1.5)
    first = run(stream, score)
    assert not len(stream.next_round(score))  # and says so again, without another pass
    tests = stream.n_tests
    stream.next_round(score)
    assert stream.n_tests == tests
    stream.set_lam(0.2)
    assert not stream.exhausted
    assert len(run(stream, score)) > 0 and len(first) > 0
    edges = np.argwhere(all_scores(score, n)[1] > 0.2)
    assert len(edges) <= stream.degrees.sum() // 2


def test_a_larger_penalty_drops_what_waits(seed):
    score, log = ChangingScore(20, seed), []
    stream = stream_of(20, seed=seed, alpha=1.0, log=log)
    stream.next_round(score)
    assert len(stream.reservoir) == 19
    stream.set_lam(1e9)
    assert len(stream.next_round(score)) == 0
    assert len(stream.reservoir) == 0 and sum(name == "drop" for name, _, _ in log) == 19


def test_only_edges_with_a_changed_end_are_scored_again(seed):
    n, score = 30, ChangingScore(30, seed)
    stream = stream_of(n, seed=seed, alpha=1.0)
    stream.next_round(score)
    waiting = stream.reservoir.content()[0]
    score.batches.clear()
    before = stream.n_scores
    stream.rescore(np.array([3, 4]))
    stream.next_round(score)
    touched = sum(bool({3, 4} & set(divmod(edge, n))) for edge in waiting.tolist())
    assert (score.batches[0] == touched) if touched else True
    assert stream.n_scores - before == sum(score.batches)
    score.batches.clear()
    stream.rescore(np.array([], dtype=np.int64))
    stream.next_round(score)
    assert sum(score.batches) == 5  # the tests of the round


def test_batches_stop_where_single_tests_would(seed):
    n, score = 40, ChangingScore(40, seed)
    stream = stream_of(n, seed=seed, reservoir_size=17, max_tests=6, alpha=1.0)
    stream.next_round(score)
    assert score.batches[0] == 17 and len(stream.reservoir) == 16
    score.batches.clear()
    stream.next_round(score)
    assert sum(score.batches) == 6


def test_first_hit_activates_the_first_edge_that_passes():
    tested = []

    def score(pairs):
        tested.extend(map(tuple, pairs.tolist()))
        return np.where(pairs[:, 0] % 4 == 0, 0.3 + pairs[:, 1] / 100, 0.0)

    stream = stream_of(30, reservoir_size=1, max_tests=1, lam=0.2)
    for _ in range(10):
        (edge,) = stream.next_round(score).tolist()
        assert tuple(edge) == tested[-1]
        assert edge[0] % 4 == 0 and all(i % 4 for i, _ in tested[:-1])
        tested.clear()


@pytest.mark.parametrize("mode", ["sampled", "all"])
def test_lookahead_changes_calls_and_nothing_else(mode, seed):
    runs = []
    for lookahead in (1, 64):
        log, score = [], ChangingScore(25, seed)
        stream = stream_of(25, seed=seed, mode=mode, reservoir_size=1, max_tests=1, lookahead=lookahead, log=log)
        runs.append((run(stream, score), log, stream.n_tests, stream.n_tables, len(score.batches)))
    assert runs[0][:4] == runs[1][:4]
    assert runs[1][4] < runs[0][4]


@pytest.mark.parametrize("mode", ["sampled", "all"])
@pytest.mark.parametrize("rounds", [0, 1, 9, 30])
def test_a_restored_stream_goes_on_as_if_nothing_had_been(mode, rounds, seed):
    options = {"seed": seed, "mode": mode, "alpha": 0.5, "lam": 0.2, "hub_threshold": 0.05}
    log, score = [], ChangingScore(24, seed)
    stream = stream_of(24, log=log, **options)
    stream.add_active(np.array([[1, 2]]))
    run(stream, score, rounds=rounds)
    file = io.BytesIO()
    np.savez(file, **stream.state())
    file.seek(0)
    again = []
    other = stream_of(24, log=again, **options)
    with np.load(file) as state:
        other.restore(dict(state))
    other_score = ChangingScore(24, seed)
    other_score.degrees = score.degrees.copy()
    del log[:]
    assert run(stream, score) == run(other, other_score)
    assert log == again
    counters = ("n_tests", "n_tables", "n_scores", "n_refills", "exhausted")
    assert all(getattr(stream, name) == getattr(other, name) for name in counters)


def test_a_state_of_another_stream_is_refused():
    with pytest.raises(ValueError, match="give it the same options"):
        stream_of(10, seed=1).restore(stream_of(10, seed=2).state())


@pytest.mark.parametrize("mode", ["sampled", "all"])
def test_pairs_that_became_active_otherwise_are_never_tested(mode, seed):
    n, log, score = 15, [], ChangingScore(15, seed)
    stream = stream_of(n, seed=seed, mode=mode, alpha=1.0, log=log)
    stream.next_round(score)
    pairs = np.array([divmod(int(stream.reservoir.content()[0][0]), n), (14, 0), (3, 9)])
    stream.add_active(pairs)
    del log[:]
    run(stream, score)
    added = {tuple(sorted(pair)) for pair in pairs.tolist()}
    assert not added & {edge for name, edge, _ in log if name in ("test", "activate")}
    assert stream.degrees.sum() == 2 * (3 + sum(name == "activate" for name, _, _ in log) + 1)


def test_limits_and_deadlines():
    score = ChangingScore(20, 0)
    stream = stream_of(20, lam=0.0)
    assert stream.next_round(score, limit=0).shape == (0, 2) and stream.n_tests == 0
    assert stream.next_round(score, deadline=0.0).shape == (0, 2)
    assert stream.interrupted and not stream.exhausted
    assert len(stream.next_round(score, limit=2)) == 2 and not stream.interrupted


def test_nothing_to_search():
    for n in (0, 1):
        stream = stream_of(n, reservoir_size=1)
        assert stream.next_round(lambda pairs: np.ones(len(pairs))).shape == (0, 2)
        assert stream.exhausted


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_score_that_is_no_number(value):
    def score(pairs):
        return np.where((pairs == (2, 7)).all(axis=1), value, 0.0)

    with pytest.raises(ValueError, match=r"the pair \(2, 7\) has the score (nan|inf)"):
        stream_of(9).next_round(score)
    with pytest.raises(ValueError, match=r"the score of 9 pairs has shape \(1,\)"):
        stream_of(9).next_round(lambda pairs: np.ones(1))


@pytest.mark.parametrize("wrong", [{"alpha": 1.5}, {"max_tests": 0}, {"lam": -1.0}, {"lam": np.nan}, {"lookahead": 0}])
def test_options_out_of_range(wrong):
    ((name, value),) = wrong.items()
    with pytest.raises(ValueError, match=f"{name}={value}"):
        stream_of(5, **wrong)


def test_memory_is_far_below_quadratic():
    n = 20_000  # 200 million pairs
    tracemalloc.start()
    try:
        stream = stream_of(n, reservoir_size=n, max_tests=141, lam=0.9)
        for _ in range(20):
            pairs = stream.next_round(lambda pairs: pairs.sum(axis=1) % 1009 / 1009)
            stream.rescore(pairs.ravel())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert stream.n_tests > 150_000 and stream.hub_rule.is_hub.sum() > 100
    assert peak + stream.reservoir._heap.nbytes + stream.queue.heap.nbytes < 40e6
