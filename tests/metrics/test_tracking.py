"""Errors of trackers over windows."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from pgmx.datasets import switching_series
from pgmx.estimators import LinearSVARM, SparsityInducingLDS, TensorSEMTracker
from pgmx.metrics import TrackingCurve, edge_error_rate, edge_mse, tracking_errors
from pgmx.plotting import plot_tracking

A = np.array([[0.0, 0.5, 0.0], [0.0, 0.0, 0.4], [0.3, 0.0, 0.0]])
COEFS = [A] * 6 + [A.T] * 6
DRAWN = switching_series(np.stack(COEFS), 12, 300)
WINDOWS = np.split(DRAWN.series, 12)


def test_errors_after_each_window():
    tracker, by_hand = TensorSEMTracker(), TensorSEMTracker()
    curve = tracking_errors(tracker, WINDOWS, COEFS, exogenous_power=DRAWN.exogenous_power)
    for at, window in enumerate(WINDOWS):
        by_hand.partial_fit(window, exogenous_power=DRAWN.exogenous_power[at])
        edges = by_hand.graph_.to_arrays()[0] != 0
        assert curve.edge_error_rate[at] == edge_error_rate(edges, COEFS[at])
        assert curve.edge_mse[at] == pytest.approx(((by_hand.coef_ - COEFS[at]) ** 2).sum() / 6)
    assert curve.restarts == by_hand.restarts_ == [6]
    assert curve.edge_error_rate[[5, 11]].tolist() == [0, 0] and curve.edge_error_rate[6] > 0.5
    assert not hasattr(tracker, "coef_")  # a copy has learned
    frame = curve.to_frame()
    assert frame.index.name == "window" and frame["edge_mse"].tolist() == curve.edge_mse.tolist()


@pytest.mark.parametrize("learner", [SparsityInducingLDS(), LinearSVARM(instantaneous=False), LinearSVARM()])
def test_other_learners_learn_each_window_alone(learner):
    truth = A if isinstance(learner, SparsityInducingLDS) else np.stack([np.zeros((3, 3)), A])
    curve = tracking_errors(learner, WINDOWS[:3], [truth] * 3)
    alone = learner.fit(WINDOWS[2])
    edges = alone.graph_.to_arrays(None)
    expected = edge_error_rate(edges[1] if truth.ndim == 2 else edges, truth)
    assert curve.edge_error_rate[2] == expected
    assert curve.edge_mse[2] == edge_mse(alone, truth)
    assert curve.restarts == []


def test_wrong_input():
    for arguments, error, what in (
        ((TensorSEMTracker(), [], []), ValueError, "windows is empty"),
        ((TensorSEMTracker(), WINDOWS, COEFS[:3]), ValueError, "coefs must have one entry per window, 12, got 3"),
        ((3, WINDOWS, COEFS), TypeError, "a learner of time series, got int"),
        ((TensorSEMTracker(exogenous="blind"), WINDOWS, [np.eye(4)] * 12), ValueError, "3 series and the truth 4"),
    ):
        with pytest.raises(error, match=what):
            tracking_errors(*arguments)
    with pytest.raises(ValueError, match="exogenous_power must have one entry per window"):
        tracking_errors(TensorSEMTracker(), WINDOWS, COEFS, exogenous_power=DRAWN.exogenous_power[:2])


CURVE = TrackingCurve(np.array([0.5, 0.25, 0.0]), np.array([1.0, 0.1, 0.01]), [1], None)


def test_picture():
    ax = plot_tracking({"one": CURVE, "other": CURVE}, changes=[1])
    change, first, restart, *_ = ax.get_lines()
    assert first.get_ydata().tolist() == [0.5, 0.25, 0.0] and first.get_label() == "one"
    assert restart.get_xdata() == [1] and set(change.get_xdata()) == {1}
    assert (ax.get_ylabel(), ax.get_yscale()) == ("share of wrong pairs", "linear")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["change", "one", "other"]
    ax = plot_tracking(CURVE, measure="edge_mse")
    assert ax.get_yscale() == "log" and ax.get_legend() is None
    assert ax.get_lines()[0].get_ydata().tolist() == [1.0, 0.1, 0.01]
    for arguments, error, what in (
        ({"curves": {}}, ValueError, "there is nothing to draw"),
        ({"curves": {"a": pd.DataFrame()}}, TypeError, "results of tracking_errors, 'a' is DataFrame"),
        ({"curves": SimpleNamespace(edge_error_rate=[1])}, TypeError, "got SimpleNamespace"),
        ({"curves": CURVE, "measure": "mse"}, ValueError, "measure must be one of edge_error_rate, edge_mse"),
        ({"curves": CURVE, "changes": [0.5]}, ValueError, "changes must be windows"),
    ):
        with pytest.raises(error, match=what):
            plot_tracking(**arguments)
