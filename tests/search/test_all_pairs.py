"""The forest from all pairs at once is that of Prim's algorithm, in any order of the pairs and for any threads."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmx._ext._edge_filter import EdgeFilter
from pgmx.data import DiscreteTable
from pgmx.estimators import ChowLiuForest
from pgmx.runs.progress import SearchProgress
from pgmx.runs.run import Run
from pgmx.scores import ScoreTerms
from pgmx.search.forest_weights import CountedWeights, StoredWeights
from pgmx.search.knowledge import EdgeConstraints
from pgmx.search.spanning_forest import find_spanning_forest


def grow(weights, blocks, *, priority, allowed=None, resolution=2.0**-45, n_filters=1):
    """Show the rows of some blocks to filters in turns; return what the forest of all of them grows to."""
    n = len(weights)
    filters = [EdgeFilter(priority, resolution, allowed) for _ in range(n_filters)]
    for number, block in enumerate(blocks):
        block, others = np.array(block, dtype=np.int64), np.arange(n)
        rows = np.ascontiguousarray(weights[block])
        filters[number % n_filters].take(block, others, rows, np.zeros(len(block), dtype=np.int64))
    whole = EdgeFilter(priority, resolution, allowed)
    for part in filters:
        whole.merge(part)
    return whole.grow()


def make_tied(rng, n, largest):
    """Return symmetric weights among few values, so that ties are common."""
    weights = rng.integers(-2, largest, (n, n)).astype(float)
    return np.triu(weights, 1) + np.triu(weights, 1).T


def check_as_prim(weights, priority, allowed, grown):
    constraints = EdgeConstraints(len(weights), allowed=allowed)
    run = Run(SearchProgress)
    found = find_spanning_forest(
        StoredWeights(weights, 1.0), priority=priority, constraints=constraints, run=run, score=0.0
    )
    nearest, members, gained = grown
    assert sorted(members.tolist()) == list(range(len(weights)))
    pairs = {frozenset(pair) for pair in zip(nearest.tolist(), members.tolist(), strict=True) if pair[0] >= 0}
    assert pairs == {frozenset(edge) for edge in found.edges.tolist()}
    assert np.cumsum(gained).tolist() == run.history["score"].tolist()
    assert np.cumsum(nearest >= 0).tolist() == run.history["n_edges"].tolist()


@given(st.integers(0, 2**20), st.integers(1, 9), st.sampled_from([1, 3, 40]), st.booleans(), st.integers(1, 3))
def test_as_prim_in_any_order_of_the_pairs(seed, n, largest, knowledge, n_filters):
    rng = np.random.default_rng(seed)
    weights, priority, allowed = make_tied(rng, n, largest), rng.permutation(n), None
    if knowledge:
        allowed = (rng.random((n, n)) < 0.7).astype(np.uint8)
        allowed &= allowed.T
    blocks = np.array_split(rng.permutation(n), rng.integers(1, n + 1))
    check_as_prim(
        weights, priority, allowed, grow(weights, blocks, priority=priority, allowed=allowed, n_filters=n_filters)
    )


@pytest.mark.parametrize("largest", [1, 2, 1000])
def test_many_variables(rng, largest):
    """More pairs than wait at a time, many of them tied; the other way round they all pass the filter."""
    n = 150
    weights, priority = make_tied(rng, n, largest), rng.permutation(n)
    for order in (np.arange(n), np.argsort(weights.sum(axis=1))):
        check_as_prim(weights, priority, None, grow(weights, np.array_split(order, 40), priority=priority, n_filters=2))


def test_weights_without_an_end_and_of_nothing():
    weights = np.array([[-np.inf, 2.0, 0.0], [2.0, -np.inf, 1e-15], [0.0, 1e-15, -np.inf]])
    nearest, members, gained = grow(weights, [[2], [0, 1]], priority=np.array([2, 0, 1]))
    assert (nearest.tolist(), members.tolist(), gained.tolist()) == ([-1, 1, -1], [1, 0, 2], [0.0, 2.0, 0.0])


def coded(rng, n, n_rows=400):
    codes = [rng.integers(0, 2, n_rows)]
    for v in range(1, n):
        parent = codes[rng.integers(v)]
        codes.append(np.where(rng.random(n_rows) < 0.8, parent % (2 + v % 3), rng.integers(0, 2 + v % 3, n_rows)))
    codes[n // 2], codes[n // 3] = codes[0], np.zeros(n_rows, dtype=int)  # a copy, and a constant
    return DiscreteTable(range(n), [range(4)] * n, np.array(codes))


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize(
    "terms", [ScoreTerms(), ScoreTerms(penalty=3.0), ScoreTerms(dirichlet=True, per_cell=True, prior=10.0)], ids=str
)
def test_counted_pairs(rng, n_jobs, terms, monkeypatch):
    monkeypatch.setattr("pgmx.search.forest_weights.THREAD_PAYS", 1e-9)
    monkeypatch.setattr("pgmx.search.forest_weights._COLUMNS", 17)
    table, runs = coded(rng, 90), [Run(SearchProgress), Run(SearchProgress)]
    one, all_pairs = (
        find_spanning_forest(
            CountedWeights(table, terms, np.arange(90), n_jobs=jobs),
            priority=np.arange(90),
            run=run,
            score=-5.0,
            at_once=at_once,
        )
        for jobs, run, at_once in zip((1, n_jobs), runs, (False, True), strict=True)
    )
    assert np.array_equal(one.edges, all_pairs.edges)
    assert np.array_equal(one.weights, all_pairs.weights)
    for name in ("score", "n_edges"):
        assert np.array_equal(runs[0].history[name], runs[1].history[name])


def test_each_pair_is_shown_once(rng):
    source, n_shown = (
        CountedWeights(coded(rng, 70), ScoreTerms(), np.arange(70), n_jobs=2),
        np.zeros((70, 70), dtype=int),
    )

    def visit(block, others, weights, begins):
        assert weights.shape[0] >= len(block) and weights.shape[1] >= len(others)
        for v, begin in zip(block.tolist(), begins.tolist(), strict=True):
            n_shown[v, others[begin:]] += 1

    source.visit_pairs(lambda: visit)
    assert np.array_equal(n_shown, np.triu(np.ones((70, 70), dtype=int), 1))


@pytest.mark.parametrize("options", [{}, {"weight": "bic"}, {"class_node": 3}, {"forbidden_edges": [(1, 2), (2, 1)]}])
def test_a_callback_and_a_bar_change_nothing(rng, options):
    table, seen = coded(rng, 40), []
    watched = ChowLiuForest(callback=seen.append, **options).fit(table)
    for n_jobs in (1, 2):
        learner = ChowLiuForest(n_jobs=n_jobs, show_progress=n_jobs == 1, **options).fit(table)
        assert np.array_equal(learner.edges_, watched.edges_)
        assert np.array_equal(learner.edge_weights_, watched.edge_weights_)
        assert learner.score_ == watched.score_
        assert learner.history_["score"].tolist() == [progress.score for progress in seen]
        assert learner.history_["n_edges"].tolist() == [progress.n_edges for progress in seen]


def test_an_interrupt_leaves_the_forest_of_the_pairs_seen(rng, monkeypatch):
    source, calls = CountedWeights(coded(rng, 80), ScoreTerms(), np.arange(80)), []
    source.block = 8
    visit_pairs = CountedWeights.visit_pairs

    def interrupt(self, make_visitor):
        def make():
            visit = make_visitor()

            def show(*arguments):
                if len(calls) == 4:
                    raise KeyboardInterrupt
                calls.append(visit(*arguments))

            return show

        visit_pairs(self, make)

    monkeypatch.setattr(CountedWeights, "visit_pairs", interrupt)
    run = Run(SearchProgress)
    forest = find_spanning_forest(source, priority=np.arange(80), run=run, at_once=True)
    assert run.stopped_by == "interrupt" and len(forest.edges) > 30
    assert nx.is_forest(nx.Graph(forest.edges.tolist()))
    with pytest.raises(KeyboardInterrupt):
        run.raise_error()
