"""Messages where one family alone is large: variables without bit planes, and tables beyond what a message holds."""

from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
import pytest

from helpers.distributed_tables import assert_same, draw_frame
from pgmx.data import DiscreteTable, DistributedTable, distribute, encode
from pgmx.datasets import load_network, sample
from pgmx.estimators import HillClimbSearch
from pgmx.scores import family_scorer
from pgmx.scores.discrete.base import ScoreTerms

pytestmark = pytest.mark.filterwarnings("ignore:implausibly many states")

#: Bytes of the answers to one message, but for those of a single family.
MESSAGE = 1 << 24


@contextmanager
def count_messages():
    """Yield a list that takes for each request for families how many are in it, and the bytes of the answers."""
    messages, reduce = [], DistributedTable.reduce

    def count(self, function, *arguments, add):
        answer = reduce(self, function, *arguments, add=add)
        itemsize = {"count_families": 4, "weigh_families": 8}.get(function.__name__)
        if itemsize:
            messages.append((len(arguments[0]), itemsize * sum(array.size for family in answer for array in family)))
        return answer

    with patch.object(DistributedTable, "reduce", count):
        yield messages


def draw_many_states(n_rows=1500, n_wide=6):
    """Return a table of some variables of 300 states, and four of few."""
    rng = np.random.default_rng(0)
    wide = [(np.arange(n_rows) * (2 * k + 1) + rng.integers(0, 2, n_rows)) % 300 for k in range(n_wide)]
    few = [(wide[k % n_wide] + rng.integers(0, 2, n_rows)) % 3 for k in range(4)]
    states = [range(300)] * n_wide + [range(3)] * 4
    return DiscreteTable([f"v{k}" for k in range(n_wide + 4)], states, np.array([*wide, *few], dtype=np.uint16))


def test_pairs_and_rows_of_many_states_share_messages(client):
    whole = draw_many_states()
    n, terms = whole.n_variables, ScoreTerms()
    scores, local = np.empty((2, n)), family_scorer(whole, terms)
    gains = np.empty((2, n, n))
    far = family_scorer(distribute(whole, client, n_parts=2), terms)
    with count_messages() as messages:
        far.start(gains[0], scores[0])
    assert [count for count, _ in messages] == [45]  # all pairs, none of which follows from bit planes
    with count_messages() as messages:
        family_scorer(distribute(whole, client, n_parts=2), terms).rescore(4, np.empty(0, dtype=np.int32), gains[0])
    assert [count for count, _ in messages] == [9]
    local.start(gains[1], scores[1])
    assert np.array_equal(gains[0], gains[1]) and np.array_equal(scores[0], scores[1])
    for child, parents in [(7, [6]), (2, [8]), (9, [1])]:
        family = np.array(parents, dtype=np.int32)
        with count_messages() as messages:
            assert far.rescore(child, family, gains[0]) == local.rescore(child, family, gains[1])
        assert len(messages) <= 2 and np.array_equal(gains[0, child], gains[1, child])


@pytest.mark.slow
def test_tables_beyond_a_message_come_in_batches(client):
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 60, (24, 6000)).astype(np.uint8)
    whole = DiscreteTable([f"v{k}" for k in range(24)], [range(60)] * 24, codes)
    family = np.array([1, 2], dtype=np.int32)  # nearly as many cells as rows: 6,000 x 60 x 8 bytes, 21 times
    gains = np.empty((2, 24, 24))
    for weights, itemsize in ((None, 4), (rng.exponential(size=6000), 8)):
        table = distribute(whole, client, n_parts=2)
        local, far = (family_scorer(data, ScoreTerms(), weights=weights) for data in (whole, table))
        with count_messages() as messages:
            score = far.rescore(0, family, gains[0])
        expected = local.rescore(0, family, gains[1])
        assert score == pytest.approx(expected, rel=1e-12 if weights is not None else 0)
        np.testing.assert_allclose(gains[0, 0], gains[1, 0], rtol=1e-9 if weights is not None else 0)
        n_bytes = 21 * 6000 * 60 * itemsize
        assert n_bytes > MESSAGE
        assert len(messages) <= 2 + n_bytes // (MESSAGE - 6000 * 60 * itemsize)
        assert max(size for _, size in messages) <= 2 * MESSAGE


@pytest.mark.slow
def test_search_over_many_states(client):
    whole = draw_many_states(n_wide=3)
    for learner in (
        HillClimbSearch(scoring_method="k2", show_progress=False),
        HillClimbSearch(scoring_method="ll", strategy="thorough", max_indegree=2, show_progress=False),
        HillClimbSearch(scoring_method="k2", strategy="exact", max_indegree=2, show_progress=False),
    ):
        assert_same(learner, distribute(whole, client, n_parts=3), whole)


@pytest.mark.slow
def test_climb_past_local_optima_asks_ahead(client):
    alarm = sample(load_network("alarm"), 2000, random_state=0)
    learner = HillClimbSearch(max_indegree=3, patience=60, show_progress=False)
    with count_messages() as messages:
        learner.fit(distribute(alarm, client))
    far = learner.edges_, learner.score_
    learner.fit(alarm)
    assert np.array_equal(far[0], learner.edges_) and far[1] == learner.score_
    assert len(messages) <= learner.n_iter_ // 2


@pytest.mark.slow
def test_threads_share_a_part():
    """A worker with more threads than partitions counts each of them on several, to the same counts."""
    from distributed import Client, LocalCluster

    frame = draw_frame(150_000)
    options = {"n_workers": 1, "threads_per_worker": 4, "processes": False, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        table = distribute([frame], client)
        assert table.n_parts == 1
        with patch("pgmx.statistics.families.count_sharers", side_effect=lambda n, n_rows: n) as count:
            assert_same(HillClimbSearch(max_indegree=3, show_progress=False), table, encode(frame))
        assert {call.args for call in count.call_args_list} == {(4, 150_000)}
