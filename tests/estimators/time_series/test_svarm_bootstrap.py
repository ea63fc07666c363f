"""Confidence in the edges of structural vector autoregressions."""

import numpy as np
import pytest

from pgmx.datasets import structural_series
from pgmx.estimators import BlockBootstrap, KernelSVARM, LinearSVARM


@pytest.mark.parametrize("cls", [LinearSVARM, KernelSVARM])
def test_resamples_are_panels_of_blocks(cls):
    series, _ = structural_series(4, 61, random_state=1)
    learner = cls(lam_ratio=0.2, tol=1e-4)
    bootstrap = BlockBootstrap(learner, block_length=20, n_resamples=20, random_state=3).fit(series)
    assert bootstrap.n_blocks_ == 3
    blocks = [series[begin : begin + 21] for begin in (0, 20, 40)]
    counts = np.zeros((2, 4, 4))
    for resample in range(20):
        chosen = np.sort(np.random.default_rng([3, resample]).integers(3, size=3))
        counts += cls(lam_ratio=0.2, tol=1e-4).fit([blocks[block] for block in chosen]).strengths_ > 0
    np.testing.assert_allclose(bootstrap.edge_probability_, counts / 20)
    again = BlockBootstrap(learner, block_length=20, n_resamples=20, random_state=3, n_jobs=2).fit(series)
    np.testing.assert_array_equal(again.edge_probability_, bootstrap.edge_probability_)


def test_true_edges_are_sure():
    series, coef = structural_series(6, 300, random_state=0)
    bootstrap = BlockBootstrap(KernelSVARM(lam_ratio=0.3, tol=1e-4), n_resamples=20).fit(series)
    probable = bootstrap.edge_probability_[1] >= 0.9
    assert (probable == (coef[1] > 0)).mean() > 0.95
    graph = bootstrap.consensus_graph(0.9)
    assert {(u[0], v[0]) for u, v in graph.lagged_edges} == {(f"x{s}", f"x{t}") for t, s in np.argwhere(probable)}
    assert all(data["confidence"] >= 0.9 for *_, data in graph.edges(data=True))
