"""What threads with a graph of their own take, in estimates of memory."""

import pytest

from pgmx.data import estimate_memory
from pgmx.estimators import HillClimbSearch

SIZES = {"n_rows": 1000, "cardinalities": [3] * 20}


def test_threads_share_the_table_and_the_rows():
    one, three = (estimate_memory(**SIZES, row_memory=1 << 20, n_threads=k) for k in (1, 3))
    for part in ("codes", "planes", "pair_counts", "kept_rows"):
        assert getattr(three, part) == getattr(one, part)
    for part in ("gains", "kept_counts", "scratch"):
        assert getattr(three, part) == 3 * getattr(one, part) > 0
    assert three.total == sum(three[:-1])


@pytest.mark.parametrize(
    ("options", "n_threads"),
    [({}, 1), ({"n_restarts": 2}, 3), ({"strategy": "thorough"}, 3), ({"strategy": "thorough", "n_jobs": None}, 1)],
)
def test_searches_whose_threads_have_graphs(options, n_threads):
    cost = HillClimbSearch(**{"n_jobs": 3, **options}).estimate_cost(**SIZES)
    assert cost.gains == n_threads * estimate_memory(**SIZES).gains


def test_threads_that_help_a_climb_have_counts_alone():
    one, three = (HillClimbSearch(n_jobs=n_jobs).estimate_cost(**SIZES) for n_jobs in (1, 3))
    assert (one.gains, one.kept_counts, one.kept_rows) == (three.gains, three.kept_counts, 0)
    assert three.kept_rows == 64 * 8 * 21
    assert three.scratch == 3 * one.scratch + 2 * one.kept_counts
    assert HillClimbSearch(n_jobs=3, callback=print).estimate_cost(**SIZES) == one
