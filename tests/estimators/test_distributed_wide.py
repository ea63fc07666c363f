"""Tables of more than 2**32 rows: counts of 64 bits, against Python's integers and against rows with large weights.

No machine holds them: each partition represents 2**24 equal rows, and the sums are added for all of them.
"""

from itertools import product
from math import lgamma, log

import numpy as np
import pytest

from helpers.distributed_tables import CLIMB, FOREST, SEARCHES, cut, draw_frame, repeat_parts
from pgmx.data import DiscreteTable, distribute, encode
from pgmx.data.distributed.placement import cut_share
from pgmx.estimators import (
    ChowLiuForest,
    EdgeGrafting,
    HillClimbSearch,
)
from pgmx.scores import family_scorer
from pgmx.scores.discrete.base import ScoreTerms
from pgmx.statistics import PairTables, marginal_counts
from pgmx.statistics.families import DistributedFamilies, WideFamilies

N = 24
N_ROWS = 600  # 600 * 2**24 = 10**10


@pytest.fixture(scope="module")
def frame():
    return draw_frame(N_ROWS)


@pytest.fixture
def wide(client, frame):
    return repeat_parts(distribute(cut(frame, 3), client), N)


def count_cells(table, family):
    """Count the cells of some variables by Python's integers, times 2**24."""
    cells = {}
    for states in zip(*table.codes[family].tolist(), strict=True):
        cells[states] = cells.get(states, 0) + (1 << N)
    return cells


def score_family(table, child, parents, score):
    """Return BIC, or BDeu with a sample size of 10, of a family from counts that are Python's integers."""
    cells = count_cells(table, [*parents, child])
    configurations = count_cells(table, parents) if parents else {(): N_ROWS << N}
    r, q = int(table.cardinalities[child]), int(np.prod(table.cardinalities[parents]))
    if score == "bic":
        terms = [n * log(n / configurations[states[:-1]]) for states, n in cells.items()]
        return sum(terms) - log(N_ROWS << N) / 2 * q * (r - 1)
    terms = [lgamma(n + 10 / (q * r)) - lgamma(10 / (q * r)) for n in cells.values()]
    return sum(terms) - sum(lgamma(n + 10 / q) - lgamma(10 / q) for n in configurations.values())


def assert_same(learner, wide, whole):
    """Compare with the local result for rows that weigh 2**24 each, to the bit."""
    learner.fit(wide)
    far = learner.edges_, learner.score_, [cpd.values for cpd in learner.model_.get_cpds()]
    learner.fit(whole, sample_weight=np.full(N_ROWS, 2.0**N))
    assert np.array_equal(far[0], learner.edges_) and len(far[0])
    assert far[1] == learner.score_
    assert all(map(np.array_equal, far[2], [cpd.values for cpd in learner.model_.get_cpds()]))


def test_counts_are_those_of_python(wide, frame):
    whole = encode(frame)
    assert wide.n_rows == N_ROWS << N > 2**32
    assert marginal_counts(wide).tolist() == [n << N for n in marginal_counts(whole).tolist()]
    family, wanted = [1, 4, 0], np.array([2, 3, 5, 6, 7], dtype=np.int32)
    expected = count_cells(whole, family)
    for source in (WideFamilies(wide), DistributedFamilies(wide)):
        cells = source([(0, np.array([1, 4], dtype=np.int32), wanted)])[0]
        states = np.unravel_index(cells.keys.astype(np.int64), whole.cardinalities[family])
        found = dict(zip(zip(*map(np.ndarray.tolist, states), strict=True), map(int, cells.counts), strict=True))
        assert found == expected
    tables = iter(WideFamilies(wide)([(0, np.array([1, 4], dtype=np.int32), wanted)])[0].tables)
    for u in wanted:
        of_wider = count_cells(whole, [*family, u])
        for state in range(whole.cardinalities[u]):
            assert next(tables).tolist() == [of_wider.get((*cell, state), 0) for cell in sorted(expected)]


def test_climb_and_forest(wide, frame):
    whole = encode(frame)
    assert_same(CLIMB, wide, whole)
    parents = {v: sorted(t for t, h in CLIMB.edges_.tolist() if h == v) for v in range(8)}
    assert CLIMB.score_ == pytest.approx(sum(score_family(whole, v, parents[v], "bic") for v in range(8)), rel=1e-13)
    assert_same(FOREST, wide, whole)


@pytest.mark.parametrize("score", ["bic", "bdeu"])
def test_scores_of_families(wide, frame, score):
    whole = encode(frame)
    options = {"dirichlet": True, "prior": 10.0, "per_cell": True} if score == "bdeu" else {}
    scorer = family_scorer(wide, ScoreTerms(penalty=log(wide.n_rows) / 2 * (score == "bic"), **options))
    for child, parents in [(0, []), (0, [1, 4]), (3, [2]), (6, [0, 1, 5])]:
        value = scorer.family_score(child, np.array(parents, dtype=np.int32))
        terms = wide.n_rows * log(wide.n_rows)  # a score is a difference of these
        assert value == pytest.approx(score_family(whole, child, parents, score), abs=1e-14 * terms)


def test_pairs(wide, frame):
    whole, pairs = PairTables(encode(frame)), list(product(range(3), range(3, 8)))
    for options in ({}, {"memory": 2000}):
        tables = PairTables(wide, **options)
        assert (tables.n_rows, tables.total_weight) == (N_ROWS << N, float(N_ROWS << N))
        assert all(map(np.array_equal, tables.get(pairs), whole.get(pairs)))
    tables = PairTables(wide)
    assert tables.prepare() and all(map(np.array_equal, tables.get(pairs), whole.get(pairs)))


def test_shares_of_too_many_rows_are_cut():
    assert cut_share([3, 4, 5, 6], {3: 2**30, 4: 2**30 - 1, 5: 1, 6: 2**31 - 2}) == [[3, 4], [5, 6]]
    assert cut_share([0, 1], [2**40, 0]) == [[0], [1]]
    assert cut_share([0, 1], [0, 0]) == [[0, 1]]


@pytest.mark.slow
@pytest.mark.parametrize(
    "learner",
    [
        *SEARCHES,
        HillClimbSearch(strategy="best", max_time=None, max_indegree=2, show_progress=False),
        HillClimbSearch(n_restarts=3, show_progress=False),
        ChowLiuForest(weight="bdeu", show_progress=False),
    ],
    ids=str,
)
def test_every_search(client, frame, learner):
    columns = ["number", "word", "order", "few", "more", "pair"]
    wide = repeat_parts(distribute(frame[columns], client, n_parts=3), N)
    assert_same(learner, wide, encode(frame[columns]))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:implausibly many states")
def test_many_states(client):
    rows = np.arange(N_ROWS)
    codes = np.array([rows * 7 % 300, rows % 2, rows // 7 % 3, rows // 7 % 3 == rows % 2, rows % 5 % 3])
    whole = DiscreteTable("abcde", [range(300), "xy", "xyz", range(2), range(3)], codes)
    wide = repeat_parts(distribute(whole, client, n_parts=3), N)
    for learner in (CLIMB, FOREST, HillClimbSearch(scoring_method="bdeu", show_progress=False)):
        assert_same(learner, wide, whole)


@pytest.mark.slow
def test_markov_network(client, frame):
    frame = frame[["number", "word", "few", "pair"]]
    wide = repeat_parts(distribute(frame, client), N)
    options = {"lam_ratio": 0.3, "show_progress": False, "tol": 1e-8}
    far, near = EdgeGrafting(**options).fit(wide), EdgeGrafting(**options).fit(encode(frame))
    assert np.array_equal(far.edges_, near.edges_) and len(near.edges_)
    assert far.objective_ == pytest.approx(near.objective_, rel=1e-9)


@pytest.mark.slow
def test_checkpoint_goes_on_with_the_same_counts(client, wide, frame, tmp_path):
    path = tmp_path / "climb.ckpt"
    HillClimbSearch(max_iter=3, checkpoint=path, show_progress=False).fit(wide)
    other = repeat_parts(distribute(cut(frame, 5, seed=2), client), N)
    again = HillClimbSearch(checkpoint=path, show_progress=False).fit(other)
    assert again.score_ == CLIMB.fit(wide).score_
