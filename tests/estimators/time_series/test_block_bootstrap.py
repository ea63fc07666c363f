"""Resamples of blocks of rows: the same as resampled rows, for any number of workers, and edges that are sure."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from helpers.series_learners import SERIES_LEARNERS, frame_of_system, simulate_system
from oracles.bootstrap import draw_rows
from pgmx.datasets import sparse_system
from pgmx.estimators import BlockBootstrap, DenseLDS, SparsityEnforcingLDS, SparsityInducingLDS

REASONS = {
    check: reason
    for check, reason in SERIES_LEARNERS[DenseLDS].failures.items()
    if "weight" in check  # there are no forecasts
}


@parametrize_with_checks(
    [BlockBootstrap(DenseLDS(), n_resamples=2, block_length=1)], expected_failed_checks=lambda estimator: REASONS
)
def test_scikit_learn(estimator, check):
    check(estimator)


def resample_rows(rows, lags, length, n_resamples, seed, intercept):
    """Return the coefficients (n_resamples, lags, n, n) of resampled blocks of the design's rows."""
    n = rows.shape[1]
    predictors = np.hstack([rows[lags - lag : len(rows) - lag] for lag in range(1, lags + 1)])
    if intercept:
        predictors = np.column_stack([predictors, np.ones(len(predictors))])
    blocks = np.split(np.arange(len(predictors)), np.arange(length, len(predictors), length))
    coefs = []
    for number in range(n_resamples):
        chosen = np.concatenate([blocks[block] for block in draw_rows(len(blocks), seed, number)])
        coef = np.linalg.lstsq(predictors[chosen], rows[lags:][chosen], rcond=None)[0][: lags * n]
        coefs.append(coef.reshape(lags, n, n).transpose(0, 2, 1))
    return np.array(coefs)


@pytest.mark.parametrize(("lags", "intercept"), [(1, False), (2, True)])
def test_resamples_are_those_of_rows(lags, intercept):
    rows, _ = simulate_system(3, 103, level=10.0 * intercept)
    learner = DenseLDS(lags=lags, fit_intercept=intercept)
    boot = BlockBootstrap(learner, block_length=7, n_resamples=20, random_state=5).fit(rows)
    coefs = resample_rows(rows, lags, 7, 20, 5, intercept)
    np.testing.assert_allclose(boot.coef_mean_[1:], coefs.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(boot.standard_errors_[1:], coefs.std(axis=0), atol=1e-7)
    assert (boot.edge_probability_[1:] == 1).all()
    assert not boot.edge_probability_[0].any()
    assert (boot.block_length_, boot.n_blocks_, boot.n_resamples_) == (7, -(-(103 - lags) // 7), 20)
    np.testing.assert_array_equal(boot.estimator_.coef_, learner.fit(rows).coef_)


def test_blocks_end_with_their_series():
    rows, _ = simulate_system(3, 90)
    boot = BlockBootstrap(DenseLDS(), block_length=10, n_resamples=2).fit([rows[:36], rows[36:]])
    assert boot.n_blocks_ == 4 + 6


def test_the_number_of_workers_does_not_show():
    frame = frame_of_system(4, 150)
    boots = [
        BlockBootstrap(SparsityEnforcingLDS(structure=np.tri(4)), n_resamples=40, n_jobs=n_jobs).fit(frame)
        for n_jobs in (None, 2)
    ]
    for name in ("edge_probability_", "coef_mean_", "standard_errors_"):
        np.testing.assert_array_equal(getattr(boots[0], name), getattr(boots[1], name))
    assert boots[0].converged_
    pieces = clone(boots[0]).fit(iter([frame[:40], frame[40:]]))
    np.testing.assert_array_equal(pieces.coef_mean_, boots[0].coef_mean_)
    copied = pickle.loads(pickle.dumps(boots[0]))
    assert copied.graph_.edges == boots[0].graph_.edges


def test_the_consensus_holds_what_is_probable():
    frame = frame_of_system(4, 150)
    boot = BlockBootstrap(SparsityEnforcingLDS(structure=np.tri(4)), n_resamples=10).fit(frame)
    graph = boot.graph_
    assert graph.number_of_edges() == 10
    source, target = ("a", 1), ("d", 0)
    assert graph.edges[source, target]["confidence"] == 1.0
    assert graph.edges[source, target]["weight"] == pytest.approx(boot.coef_mean_[1, 3, 0])
    boot.edge_probability_[1, 3, 0] = 0.5
    assert not boot.consensus_graph(0.6).has_edge(source, target)
    assert boot.consensus_graph(0.5).edges[source, target]["confidence"] == 0.5
    for threshold in (0, 1.5, "x", float("nan")):
        with pytest.raises(ValueError, match="threshold must be"):
            boot.consensus_graph(threshold)


def test_both_faces_and_options():
    frame = frame_of_system(3, 100)
    bound = BlockBootstrap(SparsityEnforcingLDS(frame, structure=np.eye(3)), n_resamples=3)
    assert bound.estimate().edges == bound.graph_.edges
    copied = clone(bound)
    assert copied.data is None
    copied.set_params(n_resamples=2, estimator__lags=2)
    assert copied.fit(frame).edge_probability_.shape == (3, 3, 3)
    assert bound.estimator.lags == 1
    calls = []
    ended = BlockBootstrap(n_resamples=50, callback=lambda progress: calls.append(progress.n_iter) or True).fit(frame)
    assert (ended.n_resamples_, ended.stopped_by_, calls) == (16, "callback", [16])
    with pytest.raises(ValueError, match="single block of 99 predicted rows"):
        BlockBootstrap(block_length=99).fit(frame)
    with pytest.raises(ValueError, match="does not support sample_weight"):
        BlockBootstrap().fit(frame, sample_weight=np.ones(100))


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1])
def test_sure_edges_are_true(number):
    """Edges of frequency .9 and more: precision .99, recall .98 (100 series, 300 parents, 1,000 rows)."""
    n, n_rows, rng = 100, 1000, np.random.default_rng(number)
    coef = sparse_system(n, 3, 0.9, random_state=number)
    rows = np.zeros((n_rows + 100, n))
    for t in range(1, len(rows)):
        rows[t] = coef @ rows[t - 1] + rng.standard_normal(n)
    learner = SparsityInducingLDS(lam=1.2 * np.sqrt(2.0 * np.log(n) / n_rows))
    boot = BlockBootstrap(learner, n_resamples=100).fit(rows[100:])
    sure, truth = boot.edge_probability_[1] >= 0.9, coef.toarray() != 0
    hits = (sure & truth).sum()
    assert hits >= 0.99 * sure.sum()
    assert hits >= 0.98 * truth.sum()
    assert boot.n_resamples_ == 100
