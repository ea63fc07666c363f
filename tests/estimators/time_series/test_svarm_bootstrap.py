"""Confidence in the edges of structural vector autoregressions."""

import numpy as np
import pandas as pd
import pytest

from oracles import svarm as oracle
from oracles.bootstrap import draw_rows as draw_numbers
from pgmx.datasets import structural_series
from pgmx.estimators import BlockBootstrap, KernelSVARM, LinearSVARM
from pgmx.estimators.time_series.svarm.resampler import SVARMResampler


def standardise(rows):
    return (rows - rows.mean(axis=0)) / rows.std(axis=0)


def draw_rows(seed, resample, n_rows, length):
    """Return the predicted rows of a resample of blocks."""
    blocks = np.split(np.arange(n_rows), np.arange(length, n_rows, length))
    return np.concatenate([blocks[block] for block in draw_numbers(len(blocks), seed, resample)])


def centre_again(matrix, rows):
    """Return the kernel matrix of drawn rows, centred but not scaled again."""
    h = np.eye(len(rows)) - 1.0 / len(rows)
    return h @ matrix[np.ix_(rows, rows)] @ h


@pytest.mark.parametrize(("cls", "kinds"), [(LinearSVARM, ("linear",)), (KernelSVARM, ("gaussian", "poly2"))])
def test_resamples_are_rows_of_the_columns(cls, kinds):
    """Two resamples, node by node, on the kernel matrices of all rows."""
    series, _ = structural_series(3, 41, random_state=1)
    options = {"lam": 6.0, "tol": 1e-9} | ({} if cls is LinearSVARM else {"kernels": kinds})
    boot = BlockBootstrap(cls(**options), block_length=7, n_resamples=2, random_state=3).fit(series)
    assert boot.n_blocks_ == 6
    counts, sums = np.zeros((2, 3, 3)), np.zeros((2, 3, 3))
    for resample in range(2):
        rows, strengths = draw_rows(3, resample, 40, 7), np.zeros((2, 3, 3))
        for target in range(3):
            blocks, matrices, y = oracle.node_kernels(standardise(series), target, 1, kinds)
            drawn = [centre_again(matrix, rows) for matrix in matrices]
            weights = oracle.solve(drawn, y[rows] - y[rows].mean(), 6.0)
            for (lag, source, _), matrix, a in zip(blocks, drawn, weights, strict=True):
                length = np.sqrt(max(a @ matrix @ a, 0.0))
                strengths[lag, target, source] = max(strengths[lag, target, source], length)
        edges = strengths > 1e-4
        edges[0] |= edges[0].T
        counts += edges
        sums += strengths
    np.testing.assert_allclose(boot.edge_probability_, counts / 2)
    assert 0 < counts.sum() < 24
    if cls is KernelSVARM:
        np.testing.assert_allclose(boot.coef_mean_, sums / np.maximum(counts, 1), atol=1e-3)


@pytest.mark.parametrize("solver", ["descent", "admm"])
@pytest.mark.parametrize("cls", [LinearSVARM, KernelSVARM])
def test_all_rows_once_are_the_fit_itself(cls, solver):
    series = pd.DataFrame(structural_series(4, 60, random_state=2).series, columns=list("abcd"))
    series["input"] = np.cos(np.arange(60.0))
    required = [(("a", 1), ("b", 0)), (("c", 0), ("b", 0)), (("d", 2), ("a", 0))]
    learner = cls(lags=2, exogenous_columns=["input"], seasonal_period=3, required_edges=required, solver=solver)
    learner.set_params(forbidden_edges=[(("a", 1), ("c", 0))], tol=1e-9, lam_ratio=0.3).fit(series)
    resampler, rows = SVARMResampler.from_panel(learner, learner._open(series))
    edges, values = resampler.solve(rows, np.ones(58, dtype=np.int64))
    expected = learner.strengths_
    if cls is LinearSVARM:
        expected = learner.coef_ * learner.scales_ / learner.scales_[:, None]
    np.testing.assert_allclose(values, expected, atol=1e-5)
    np.testing.assert_array_equal(edges, [(s + s.T if lag == 0 else s) > 0 for lag, s in enumerate(learner.strengths_)])


def test_instantaneous_edges_count_as_the_graph_has_them():
    series, _ = structural_series(5, 150, random_state=4)
    skeleton = BlockBootstrap(KernelSVARM(lam_ratio=0.3, tol=1e-4), n_resamples=4).fit(series)
    oriented = BlockBootstrap(KernelSVARM(lam_ratio=0.3, tol=1e-4, orient="nonlinear"), n_resamples=4).fit(series)
    present = skeleton.edge_probability_[0]
    np.testing.assert_array_equal(present, present.T)
    assert present.any()
    np.testing.assert_allclose(oriented.edge_probability_[0] + oriented.edge_probability_[0].T, present)
    np.testing.assert_array_equal(oriented.edge_probability_[1], skeleton.edge_probability_[1])
    graph = skeleton.consensus_graph(0.5)
    pairs = np.argwhere(np.triu(present >= 0.5)).tolist()
    assert {frozenset((u[0], v[0])) for u, v in graph.instantaneous_edges} == {
        frozenset((f"x{a}", f"x{b}")) for a, b in pairs
    }
    arrows = {(f"x{source}", f"x{target}") for target, source in np.argwhere(oriented.edge_probability_[0] >= 0.5)}
    edges = oriented.consensus_graph(0.5).instantaneous_edges
    assert {(u[0], v[0]) for u, v in edges} == arrows != {(b, a) for a, b in arrows}


def test_the_number_of_workers_does_not_show():
    parts = np.split(structural_series(4, 80, random_state=5).series, [33])
    learner = LinearSVARM(lam_ratio=0.2)
    one, two = (BlockBootstrap(learner, n_resamples=20, n_jobs=n_jobs).fit(parts) for n_jobs in (None, 2))
    assert one.n_blocks_ == 7 + 10
    for name in ("edge_probability_", "coef_mean_", "standard_errors_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_true_edges_are_sure():
    series, coef = structural_series(6, 300, random_state=0)
    boot = BlockBootstrap(KernelSVARM(lam_ratio=0.3, tol=1e-4), n_resamples=20).fit(series)
    probable, truth = boot.edge_probability_[1] >= 0.9, coef[1] > 0
    hits = (probable & truth).sum()
    assert hits >= 0.9 * probable.sum()  # precision
    assert hits >= 0.8 * truth.sum()  # recall
    graph = boot.consensus_graph(0.9)
    assert {(u[0], v[0]) for u, v in graph.lagged_edges} == {(f"x{s}", f"x{t}") for t, s in np.argwhere(probable)}
    assert all(data["confidence"] >= 0.9 for *_, data in graph.edges(data=True))
