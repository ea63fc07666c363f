"""Limits, callbacks and histories of the learners of series that iterate, whatever the learner."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from helpers.linear_series import draw_sparse_series
from helpers.series_learners import frame_of_system, list_coefficients
from pgmx.estimators import (
    BlockBootstrap,
    KernelSVARM,
    LinearSVARM,
    ScalableLDS,
    SelectedGraph,
    SparsityInducingLDS,
    TensorSEM,
)

# the series of these tests have no windows of different power
pytestmark = pytest.mark.filterwarnings("ignore::pgmx.estimators.IdentifiabilityWarning")

LEARNERS = {
    "lasso": (SparsityInducingLDS, {}),
    "screened": (SparsityInducingLDS, {"screen": 2}),
    "sgd": (SparsityInducingLDS, {"solver": "sgd", "k": 2}),
    "seeds": (ScalableLDS, {"n_seeds": 2}),
    "linear": (LinearSVARM, {"lam_ratio": 0.02}),
    "admm": (LinearSVARM, {"solver": "admm", "lam_ratio": 0.02}),
    "kernels": (KernelSVARM, {"lam_ratio": 0.2}),
    "likelihood": (TensorSEM, {"exogenous": "blind", "window": 50}),
    "als": (TensorSEM, {"exogenous": "blind", "window": 50, "method": "als", "max_iter": 2000, "tol": 1e-6}),
}
every_case = pytest.mark.parametrize("name", LEARNERS)


def make(name, **options):
    cls, own = LEARNERS[name]
    return cls(**own, **options)


@every_case
def test_callbacks_see_the_run_and_do_not_change_it(name):
    rows, seen = frame_of_system(), []
    learner = make(name, callback=seen.append).fit(rows)
    np.testing.assert_array_equal(list_coefficients(learner), list_coefficients(make(name).fit(rows)))
    assert learner.stopped_by_ == "converged" and learner.converged_
    assert [progress.n_iter for progress in seen] == list(range(1, len(seen) + 1))
    for figure in ("objective", "n_edges", "seconds"):
        np.testing.assert_array_equal(learner.history_[figure], [getattr(progress, figure) for progress in seen])
    assert (np.diff(learner.history_["seconds"]) >= 0).all()
    if name in ("linear", "admm", "kernels"):
        assert seen[-1].objective == pytest.approx(learner.objective_, rel=1e-12)
        assert seen[-1].n_edges == (learner.strengths_ > 0).sum()
    if name in ("lasso", "screened"):
        assert seen[-1].n_edges == learner.coef_.nnz
    if name == "likelihood":
        assert seen[-1].objective == pytest.approx(learner.objective_, rel=1e-12)
        assert seen[-1].n_edges == learner.graph_.number_of_edges()


def stop(progress):
    return True


@pytest.mark.parametrize("options", [{"max_time": 0}, {"callback": stop}], ids=["max_time", "callback"])
@pytest.mark.parametrize("name", [name for name in LEARNERS if name not in ("sgd", "lasso", "screened", "seeds")])
def test_a_run_that_is_ended_has_a_result_and_warns(name, options):
    with pytest.warns(ConvergenceWarning, match="larger max_iter, max_time or tol"):
        learner = make(name, **options).fit(frame_of_system())
    assert not learner.converged_
    assert learner.stopped_by_ == ("max_time" if "max_time" in options else "callback")
    assert 1 <= len(learner.history_["seconds"]) <= 6 and learner.graph_.number_of_nodes() > 0


@pytest.mark.parametrize("options", [{}, {"screen": 5}, {"required_edges": [(("x0", 1), ("x299", 0))]}], ids=str)
def test_targets_that_are_not_reached_have_no_parents(options):
    rows, _ = draw_sparse_series(n=300, n_times=120)
    whole = SparsityInducingLDS(lam_ratio=0.5, **options).fit(rows)
    assert len(whole.history_["seconds"]) > 1 and whole.stopped_by_ == "converged"
    with pytest.warns(ConvergenceWarning, match="ended by max_time after 256 of 300 regressions"):
        part = SparsityInducingLDS(lam_ratio=0.5, max_time=0, **options).fit(rows)
    np.testing.assert_array_equal(part.coef_[:256].toarray(), whole.coef_[:256].toarray())
    assert part.coef_[256:].nnz == 0
    assert part.stopped_by_ == "max_time" and not part.converged_
    assert part.kkt_residual_ > 1e-6 > whole.kkt_residual_
    np.testing.assert_allclose(np.diag(part.noise_covariance_)[256:], (rows[1:, 256:] ** 2).mean(axis=0))


def test_seeds_that_are_not_reached_have_no_parents():
    rows, _ = draw_sparse_series(n=300, n_times=120)
    with pytest.warns(ConvergenceWarning, match="after 512 of 600 regressions"):
        part = ScalableLDS(n_seeds=300, max_time=0).fit(rows)
    assert part.coef_[256:].nnz == 0 < part.coef_[:256].nnz


@every_case
def test_an_error_in_a_callback_is_raised_after_the_results_are_set(name):
    learner = make(name, callback=lambda progress: 1 / 0)
    is_warned = name in ("linear", "admm", "kernels", "likelihood", "als")  # the others need no second step
    with pytest.warns(ConvergenceWarning) if is_warned else nullcontext(), pytest.raises(ZeroDivisionError):
        learner.fit(frame_of_system())
    assert learner.stopped_by_ == ("interrupt" if is_warned else "converged")
    assert learner.graph_.number_of_nodes() > 0


def test_paths_and_wrappers_have_the_callback_once_per_round_of_all_rows():
    rows, seen = frame_of_system(), []
    LinearSVARM(callback=seen.append).path(rows, n_lams=3)
    assert len(seen) >= 3
    with pytest.raises(ZeroDivisionError):
        LinearSVARM(callback=lambda progress: 1 / 0).path(rows, n_lams=3)
    for learner in (LinearSVARM(callback=seen.append), SparsityInducingLDS(callback=seen.append)):
        seen.clear()
        wrapped = BlockBootstrap(learner, n_resamples=4, show_progress=False).fit(rows)
        assert len(seen) == len(wrapped.estimator_.history_["seconds"])
    seen.clear()
    selected = SelectedGraph(SparsityInducingLDS(callback=seen.append)).fit(pd.DataFrame(rows))
    assert len(seen) == len(selected.estimator_.history_["seconds"]) == 1
