"""The same bits for any number of threads, which share blocks of series or windows."""

import numpy as np
import pytest

from helpers.series_learners import list_coefficients
from pgmx.datasets import switching_series
from pgmx.estimators import (
    DenseLDS,
    KernelSVARM,
    LinearSVARM,
    ScalableLDS,
    SelectedGraph,
    SparsityEnforcingLDS,
    SparsityInducingLDS,
    TensorSEM,
    TensorSEMTracker,
)
from pgmx.parallel import threads
from pgmx.solvers.time_series import lagged_lasso, least_squares
from pgmx.statistics import lagged_moments as moments

N = 12
COEFFICIENTS = np.roll(0.5 * np.eye(N), 1, axis=0) + 0.3 * np.eye(N)


def draw_rows():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((120, N))
    for t in range(1, 120):
        rows[t] += COEFFICIENTS @ rows[t - 1]
    return rows


DRAWN = switching_series(COEFFICIENTS * (1 - np.eye(N)), 15, 60)
CASES = [
    (DenseLDS(lags=2), {}),
    (DenseLDS(forbidden_edges=[(("x0", 1), ("x3", 0)), (("x0", 1), ("x4", 0))]), {}),
    (SparsityInducingLDS(lags=2), {}),
    (SparsityInducingLDS(screen=3, k=4), {}),
    (ScalableLDS(k=3), {}),
    (SparsityEnforcingLDS(structure=COEFFICIENTS != 0), {}),
    (LinearSVARM(), {}),
    (KernelSVARM(lam_ratio=0.3), {}),
    (SelectedGraph(SparsityInducingLDS(), n_lams=5), {}),
    (TensorSEM(exogenous="blind", window=60), {}),
    (TensorSEMTracker(), {"exogenous_power": DRAWN.exogenous_power}),
    (TensorSEMTracker(method="rls"), {"exogenous_power": DRAWN.exogenous_power}),
]


@pytest.mark.parametrize(("learner", "options"), CASES, ids=[str(k) for k in range(len(CASES))])
def test_any_number_of_threads(learner, options, monkeypatch):
    monkeypatch.setattr(threads, "THREAD_PAYS", 1e-12)  # threads begin whatever they cost
    monkeypatch.setattr(lagged_lasso, "TARGETS_PER_TASK", 2)
    monkeypatch.setattr(least_squares, "BLOCK", 5)
    monkeypatch.setattr(moments, "_BLOCK_COLUMNS", 5)
    started = []

    def start(helpers, begin=threads.start_threads):
        started.append(len(helpers))
        return begin(helpers)

    monkeypatch.setattr(threads, "start_threads", start)
    rows = draw_rows()
    if isinstance(learner, TensorSEM | TensorSEMTracker):
        rows = DRAWN.series if isinstance(learner, TensorSEM) else np.split(DRAWN.series, 15)
    results = []
    for n_jobs in (1, 3):
        if isinstance(learner, SelectedGraph):
            fitted = learner.set_params(estimator__n_jobs=n_jobs).fit(rows).estimator_
        else:
            fitted = learner.set_params(n_jobs=n_jobs).fit(rows, **options)
        results.append(list_coefficients(fitted))
        assert bool(started) == (n_jobs > 1)
    np.testing.assert_array_equal(*results)


def test_blocks_of_products_are_the_products(monkeypatch):
    monkeypatch.setattr(moments, "_BLOCK_COLUMNS", 5)
    rows = draw_rows()
    np.testing.assert_allclose(moments.compute_gram(rows), rows.T @ rows, rtol=1e-12)
    products = moments.compute_products(rows[:, :3], rows)
    np.testing.assert_allclose(products, rows[:, :3].T @ rows, rtol=1e-12, atol=1e-12)


def test_numbers_of_threads_are_checked():
    with pytest.raises(ValueError, match="n_jobs"):
        DenseLDS(n_jobs=0).fit(draw_rows())
