"""Options of Markov learners that no run could meet are refused before it begins."""

import numpy as np
import pandas as pd
import pytest

from pgmx.estimators import EdgeGrafting, GroupLassoMarkovNetwork, OnlineEdgeGrafting

LEARNERS = pytest.mark.parametrize("learner", [EdgeGrafting, OnlineEdgeGrafting, GroupLassoMarkovNetwork])


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 3, 300)
    second = np.where(rng.random(300) < 0.8, first, rng.integers(0, 3, 300))
    return pd.DataFrame({"a": first, "b": second, "c": rng.integers(0, 2, 300)})


@LEARNERS
def test_a_tolerance_below_single_precision(learner, frame):
    with pytest.raises(ValueError, match=r"tol=1e-11 .*double precision: give 1e-10 or more"):
        learner(tol=1e-11, show_progress=False).fit(frame)
    for tol in (1e-7, 1e-9):
        fitted = learner(tol=tol, lam_ratio=0.1, max_time=20, show_progress=False).fit(frame)
        assert fitted.converged_
        assert fitted.kkt_residual_ <= tol


@LEARNERS
@pytest.mark.parametrize("loss", ["pseudolikelihood", "bethe"])
def test_the_largest_ridge(learner, loss, frame):
    with pytest.raises(ValueError, match=r"'l2' .* 1000000000000\.0"):
        learner(l2=1e300, loss=loss, show_progress=False).fit(frame)
    fitted = learner(l2=1e12, lam_ratio=0.1, loss=loss, max_time=20, show_progress=False).fit(frame)
    assert fitted.converged_
    np.testing.assert_allclose(fitted.model_.marginals()["a"][0], 1 / 3, atol=1e-6)


def test_other_losses_may_be_more_exact(frame):
    fitted = EdgeGrafting(tol=1e-9, lam_ratio=0.1, loss="exact", max_time=20, show_progress=False).fit(frame)
    assert fitted.converged_
    assert fitted.kkt_residual_ <= 1e-9
