"""Threads that count some of the rows of a table each, against one thread."""

from contextlib import contextmanager

import numpy as np
import pytest

from helpers.coded_tables import SCORES, make_scorer, random_codes, random_moves, rescore
from pgmx.data import encode
from pgmx.datasets import load_network, sample
from pgmx.estimators import HillClimbSearch
from pgmx.parallel import threads
from pgmx.parallel.threads import count_sharers, help_on_threads
from pgmx.scores import gains

CARDS = [3, 2, 4, 300, 2, 5, 1, 17]


@contextmanager
def helped(scorer, n_threads):
    assert scorer.share_rows(n_threads)
    with help_on_threads(scorer.serve, scorer.close, n_threads - 1):
        yield
    scorer.share_rows(1)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("n_threads", [2, 4])
def test_gains_to_the_bit(rng, score, n_threads):
    codes = random_codes(rng, CARDS, 3001)
    plain = make_scorer(codes, CARDS, score, max_indegree=3)
    scorer = make_scorer(codes, CARDS, score, max_indegree=3, segment_rows=1024)
    for _ in range(2):  # threads end, and others begin
        with helped(scorer, n_threads):
            for moves, _, changed in random_moves(rng, len(CARDS), 10):
                for child in changed:
                    expected = rescore(plain, child, moves.parents_of(child))
                    found = rescore(scorer, child, moves.parents_of(child))
                    assert found[0] == expected[0] and np.array_equal(found[1], expected[1])
        assert rescore(scorer, 0, [1, 2])[0] == rescore(plain, 0, [1, 2])[0]


def test_threads_that_never_come(rng):
    codes = random_codes(rng, CARDS, 2000)
    scorer = make_scorer(codes, CARDS, "bic")
    assert scorer.share_rows(4)
    for parents in ([1], [1, 2], [2, 3]):
        assert rescore(scorer, 0, parents)[0] == rescore(make_scorer(codes, CARDS, "bic"), 0, parents)[0]


def test_more_threads_than_segments(rng):
    codes = random_codes(rng, CARDS, 700)  # two segments at most
    scorer = make_scorer(codes, CARDS, "bdeu")
    with helped(scorer, 4):
        assert rescore(scorer, 0, [1, 2])[0] == rescore(make_scorer(codes, CARDS, "bdeu"), 0, [1, 2])[0]
    assert not scorer.share_rows(1000)


@pytest.mark.parametrize("options", [{}, {"strategy": "thorough"}, {"n_restarts": 2}], ids=str)
def test_learner(monkeypatch, options):
    monkeypatch.setattr(threads, "HELPER_CALL", 0.0)
    monkeypatch.setattr(threads, "HELPER_PAYS", 0.0)
    monkeypatch.setattr(threads, "LEAST_SHARE", 600)
    began = []

    share = gains.RowPrefetcher._share_rows

    def record(self, *arguments):
        began.append(share(self, *arguments))
        return began[-1]

    monkeypatch.setattr(gains.RowPrefetcher, "_share_rows", record)
    table = encode(sample(load_network("alarm"), 2000, random_state=0))
    one, more = (
        HillClimbSearch(scoring_method="bic", show_progress=False, n_jobs=n_jobs, **options).fit(table)
        for n_jobs in (1, 4)
    )
    assert any(began)
    assert np.array_equal(one.edges_, more.edges_) and one.score_ == more.score_ and one.n_iter_ == more.n_iter_


@pytest.mark.parametrize(
    ("n_threads", "n_rows", "expected"),
    [(2, 10_000, 1), (2, 100_000, 2), (4, 100_000, 3), (4, 10**6, 4)],
)
def test_rows_from_which_threads_share(n_threads, n_rows, expected):
    assert count_sharers(n_threads, n_rows) == expected
