"""Bayesian networks of numbers whose partitions are at the workers of a real cluster: the graph of the whole."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from helpers.distributed_tables import CLIMB, FOREST, cut, draw_chain, kill_worker, with_empty_part
from pgmx.data import distribute
from pgmx.estimators import (
    BestFirstSearch,
    BootstrapStructure,
    ChowLiuForest,
    GraphicalLasso,
    GreedyEquivalenceSearch,
    HillClimbSearch,
    SimulatedAnnealing,
)
from pgmx.models import cpdag
from pgmx.scores import BGe, BICGauss, EdgePrior


@pytest.fixture(scope="module")
def rows():
    return draw_chain(far=1e4)


def assert_same(learner, table, whole, weights=None):
    """Compare what a learner gets from a distributed table with what it gets from the whole."""
    learner.fit(table, sample_weight=weights)
    edges, score, cpds = learner.edges_, learner.score_, learner.model_.get_cpds()
    held_out = learner.score(table)
    learner.fit(whole, sample_weight=weights)
    assert np.array_equal(edges, learner.edges_) and len(edges)
    assert score == pytest.approx(learner.score_, rel=1e-9)
    assert held_out == pytest.approx(learner.score(whole), rel=1e-9)
    for far, near in zip(cpds, learner.model_.get_cpds(), strict=True):
        assert far.variable == near.variable and list(far.evidence) == list(near.evidence)
        np.testing.assert_allclose(far.beta, near.beta, rtol=1e-7, atol=1e-7 * np.abs(near.beta).max())
        assert far.std == pytest.approx(near.std, rel=1e-9)


@pytest.mark.slow
def test_climb_and_forest_from_parts_of_two_processes(client, rows):
    table = distribute(with_empty_part(cut(rows, 7)), client)
    assert_same(CLIMB, table, rows)
    assert_same(FOREST, table, rows)
    assert table.integer_columns == ()
    table.release()
    with pytest.raises(ValueError, match="distribute the source again"):
        CLIMB.fit(table)


def test_columns_that_determine_each_other(client, rows):
    whole = rows.assign(total=rows.iloc[:, 0] - rows.iloc[:, 1])
    learner = clone(CLIMB)
    with pytest.warns(UserWarning, match=f"{rows.columns[0]!r}, {rows.columns[1]!r} and 'total'. The graph"):
        far = clone(CLIMB).fit(distribute(cut(whole, 3), client))
    with pytest.warns(UserWarning, match="determine each other linearly"):
        learner.fit(whole)
    assert np.array_equal(far.edges_, learner.edges_)
    assert far.score_ == pytest.approx(learner.score_, rel=1e-9)
    total = far.model_.get_cpds("total")
    assert total.std == pytest.approx(learner.model_.get_cpds("total").std, rel=1e-9)
    assert len(total.evidence) == 2


def test_what_sums_do_not_give_is_refused_before_any_is_asked_for(client, rows, monkeypatch):
    counted = distribute(rows.assign(age=np.arange(600) // 7), client)
    table = distribute(rows, client)
    monkeypatch.setattr(type(table), "reduce", None)  # a call would be a TypeError of its own
    searches = {
        "bic": r"'bic' needs discrete variables, but DistributedNumericTable.*choose one of bic-g, .*ebic-g, bge",
        "bic-clg": "'bic-clg' needs the rows of a mixed table",
        "ll-cg": "'ll-cg' needs the rows of a mixed table",
        "bic-dg": "'bic-dg' needs the rows",
    }
    for name, message in searches.items():
        for search in (HillClimbSearch, GreedyEquivalenceSearch, BestFirstSearch):
            with pytest.raises(TypeError, match=message):
                search(scoring_method=name, show_progress=False).fit(table)
    for missing in ("em", "pairwise", "category"):
        with pytest.raises(ValueError, match=f"missing='{missing}' needs single rows"):
            HillClimbSearch(missing=missing, show_progress=False).fit(table)
    for weight in ("bdeu", "bic-dg"):
        with pytest.raises(TypeError, match="DistributedNumericTable.* is (numeric|a numeric table)"):
            ChowLiuForest(weight=weight, show_progress=False).fit(table)
    for learner in (CLIMB, FOREST, BootstrapStructure(CLIMB, n_resamples=2, show_progress=False)):
        with pytest.raises(ValueError, match="'age' hold integers, which are discrete in mixed data"):
            learner.fit(counted)
    with pytest.raises(ValueError, match="prior of discrete variables"):
        HillClimbSearch(pseudo_counts=1, show_progress=False).fit(table)
    with pytest.raises(ValueError, match=r"one weight per row|600"):
        CLIMB.fit(table, sample_weight=[1, 2])


# ---- all partitions, all searches ----


@pytest.mark.slow
@pytest.mark.parametrize("n_parts", [1, 2, 7, 32])
def test_any_number_of_unequal_parts(client, rows, n_parts):
    table = distribute(with_empty_part(cut(rows, n_parts)), client)
    for learner in (CLIMB, FOREST, HillClimbSearch(scoring_method="bge", show_progress=False)):
        assert_same(learner, table, rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    "learner",
    [
        *(HillClimbSearch(scoring_method=name, max_indegree=3) for name in ("bic-g", "aic-g", "ll-g", "bge")),
        HillClimbSearch(strategy="thorough", max_indegree=3),
        HillClimbSearch(strategy="best", max_time=None, max_indegree=2, n_jobs=2),
        HillClimbSearch(n_restarts=4, n_jobs=2),
        HillClimbSearch(start_dag="tree", max_candidates=4),
        HillClimbSearch(structure_prior=EdgePrior(0.1), forbidden_edges=[("x0", "x1")], required_edges=[("x8", "x2")]),
        HillClimbSearch(tiers=[["x4", "x5"], ["x0", "x1", "x2", "x3"], ["x6", "x7", "x8"]]),
        ChowLiuForest(),
        ChowLiuForest(weight="bge", root="x4"),
        ChowLiuForest(weight="aic", class_node="x3", forbidden_edges=[("x0", "x1")]),
        BestFirstSearch(),
        GreedyEquivalenceSearch(),
        SimulatedAnnealing(max_iter=300, random_state=1),
    ],
    ids=str,
)
def test_every_search(client, rows, learner):
    learner.show_progress = False
    assert_same(learner, distribute(rows, client, n_parts=3), rows)


@pytest.mark.slow
def test_exact_search_up_to_equivalence(client, rows):
    """Equivalent graphs have scores that differ by rounding alone, and the exact search takes the largest."""
    learner = HillClimbSearch(strategy="exact", max_indegree=3, show_progress=False)
    far = learner.fit(distribute(rows, client)).edges_, learner.score_
    near = learner.fit(rows).edges_, learner.score_
    classes = [tuple(map(set, cpdag(9, edges.tolist()))) for edges in (far[0], near[0])]
    assert classes[0] == classes[1] and far[1] == pytest.approx(near[1], rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["real", "whole"])
def test_weights(client, rows, kind):
    rng = np.random.default_rng(3)
    weights = rng.random(600) if kind == "real" else rng.integers(0, 4, 600)
    weights[:350] = 0  # a partition without weight
    table = distribute(rows, client)
    for learner in (CLIMB, FOREST, HillClimbSearch(scoring_method="bge", show_progress=False)):
        assert_same(learner, table, rows, weights)


@pytest.mark.slow
def test_integers_that_are_numbers(client, rows):
    counted = rows.assign(age=np.arange(600) // 7)
    table = distribute(cut(counted, 3), client)
    assert table.integer_columns == ("age",)
    assert_same(HillClimbSearch(scoring_method="bic-g", show_progress=False), table, counted)
    half = [counted[:300], counted[300:].assign(age=0.5)]
    assert distribute(half, client).integer_columns == ()


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [CLIMB, FOREST, GraphicalLasso(lam=0.2, show_progress=False)], ids=str)
def test_resamples(client, rows, estimator, tmp_path):
    options = {"n_resamples": 5, "show_progress": False, "checkpoint": tmp_path / "bootstrap.ckpt"}
    table = distribute(cut(rows, 3), client)
    far = BootstrapStructure(estimator, n_jobs=2, **options).fit(table)
    near = BootstrapStructure(estimator, **{**options, "checkpoint": None}).fit(rows)
    assert np.array_equal(far.pairs_, near.pairs_) and np.array_equal(far.pair_counts_, near.pair_counts_)
    assert np.array_equal(far.edges_, near.edges_)
    more = BootstrapStructure(estimator, **{**options, "n_resamples": 7}).fit(distribute(cut(rows, 3), client))
    near = BootstrapStructure(estimator, **{**options, "n_resamples": 7, "checkpoint": None}).fit(rows)
    assert np.array_equal(more.pair_counts_, near.pair_counts_)


@pytest.mark.slow
def test_scores_of_a_distributed_table(client, rows):
    table = distribute(cut(rows, 4), client)
    for score in (BICGauss, BGe):
        far, near = score(table), score(rows)
        for parents in ((), ("x0",), ("x0", "x2", "x7")):
            assert far.local_score("x1", parents) == pytest.approx(near.local_score("x1", parents), rel=1e-9)
        assert_same(HillClimbSearch(scoring_method=far, show_progress=False), table, rows)
    with pytest.raises(ValueError, match="made from other data"):
        HillClimbSearch(scoring_method=BICGauss(rows * 2), show_progress=False).fit(table)
    with pytest.raises(ValueError, match="'x2' are constant"):
        BICGauss(distribute(rows.assign(x2=0.1), client))


@pytest.mark.slow
def test_estimates_and_pickles(client, rows):
    table = distribute(rows, client)
    assert CLIMB.estimate_cost(table).total == CLIMB.estimate_cost(rows).total
    assert FOREST.estimate_cost(table).total == FOREST.estimate_cost(rows).total
    learner = HillClimbSearch(show_progress=False).fit(table)
    again = pickle.loads(pickle.dumps(learner))
    assert np.array_equal(again.edges_, learner.edges_)
    assert again.score(rows) == pytest.approx(learner.score(rows), rel=1e-12)  # the moments are kept


@pytest.mark.slow
def test_checkpoint_goes_on(client, rows, tmp_path):
    path = tmp_path / "climb.ckpt"
    begun = HillClimbSearch(max_iter=4, checkpoint=path, show_progress=False).fit(distribute(cut(rows, 5), client))
    assert path.exists() and begun.stopped_by_ == "max_iter"
    assert_same(HillClimbSearch(checkpoint=path, show_progress=False), distribute(cut(rows, 5), client), rows)


@pytest.mark.slow
def test_worker_killed(client, rows, tmp_path):
    paths = [tmp_path / f"{k}.parquet" for k in range(5)]
    for path, part in zip(paths, cut(rows, 5), strict=True):
        part.to_parquet(path)
    table = distribute(paths, client)
    kill_worker(client)
    assert_same(CLIMB, table, rows)
    client.wait_for_workers(2)
