"""Predictions one step ahead of a week of rows, and their picture."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from pgmx.estimators import DenseLDS, KernelSVARM, LinearSVARM, SparsityInducingLDS
from pgmx.metrics import one_step_predictions
from pgmx.models import LinearDynamicalSystem
from pgmx.plotting import plot_predictions

SYSTEM = LinearDynamicalSystem(
    ["a", "b"],
    np.array([[[0.0, 0], [0, 0]], [[0.5, 0.0], [0.3, 0.2]], [[0.0, 0.2], [0.0, 0.1]]]),
    intercept=[1.0, -1.0],
    noise_covariance=[[1.0, 0.3], [0.3, 0.5]],
)
ROWS = SYSTEM.simulate(300).set_axis(pd.date_range("2020-01-01", periods=300, freq="h"), axis=0)


def test_each_row_is_predicted_from_the_rows_before_it():
    """The same as a forecast of one step from each history."""
    found = one_step_predictions(SYSTEM, ROWS[:40], coverage=0.8)
    assert found.predicted.index.equals(ROWS.index[2:40])
    pd.testing.assert_frame_equal(found.observed, ROWS[2:40], check_freq=False)
    for t in range(2, 40):
        np.testing.assert_allclose(found.predicted.iloc[t - 2], SYSTEM.predict(ROWS[:t]).iloc[0], rtol=1e-10)
        lower, upper = SYSTEM.predict_interval(ROWS[:t], 1, 0.8)
        np.testing.assert_allclose(found.lower.iloc[t - 2], lower.iloc[0], rtol=1e-10)
        np.testing.assert_allclose(found.upper.iloc[t - 2], upper.iloc[0], rtol=1e-10)


@pytest.mark.parametrize("form", ["frame", "array", "time column"])
def test_learners(form):
    """A learner and its system agree; a learner adds seasons and reads exogenous columns and times."""
    rows = ROWS.assign(push=np.sin(np.arange(300.0)))[["push", "b", "a"]]
    options = {"exogenous_columns": ["push"], "seasonal_period": 24, "lags": 2, "fit_intercept": True}
    if form == "array":
        rows, options = rows.to_numpy(), options | {"exogenous_columns": ["x0"], "seasonal_period": None}
    elif form == "time column":
        rows, options["time_column"] = rows.rename_axis("hour").reset_index(), "hour"
    learner = DenseLDS(**options).fit(rows[:200])
    found = one_step_predictions(learner, rows[198:])
    push = np.sin(np.arange(200.0, 300.0))
    for at in (0, 1, 50):
        history = rows[: 200 + at]
        expected = learner.predict(history, exogenous=push[at : at + 1, None])
        np.testing.assert_allclose(found.predicted.iloc[at], np.asarray(expected)[0], rtol=1e-9)
    known = ["x1", "x2"] if form == "array" else ["b", "a"]
    assert list(found.predicted.columns) == known
    np.testing.assert_array_equal(found.observed, np.asarray(ROWS[["b", "a"]])[200:])
    assert form == "array" or found.observed.index.equals(ROWS.index[200:].rename(found.observed.index.name))
    assert 0.8 < found.summary()["inside"].mean() < 0.97


def test_summary():
    rows = ROWS.to_numpy()
    found = one_step_predictions(SYSTEM, rows)
    summary = found.summary()
    predicted = found.predicted.to_numpy()
    for column in range(2):
        series, values = rows[2:, column], predicted[:, column]
        assert summary["rmse"].iloc[column] == pytest.approx(np.sqrt(np.mean((series - values) ** 2)))
        assert summary["correlation"].iloc[column] == pytest.approx(np.corrcoef(series, values)[0, 1])
    assert found.predicted.index.tolist() == list(range(2, 300))
    constant = one_step_predictions(
        LinearDynamicalSystem(["a"], [[0.0]], noise_covariance=[1.0]), [[1.0], [2.0], [0.0]]
    )
    assert np.isnan(constant.summary()["correlation"].iloc[0]) and constant.summary()["inside"].iloc[0] == 0.5


def test_nonlinear_learners():
    learner = KernelSVARM(instantaneous=False, lam_ratio=0.3).fit(ROWS[:60])
    found = one_step_predictions(learner, ROWS[59:80])
    pd.testing.assert_frame_equal(found.predicted, learner.fitted_values(ROWS[59:80]), check_freq=False)
    widths = (found.upper - found.lower).to_numpy()
    np.testing.assert_allclose(widths**2 / learner.noise_variance_, (2 * 1.6448536269514722) ** 2)


def test_predictions_have_the_errors_of_the_likelihood():
    learner = SparsityInducingLDS(lags=2, fit_intercept=True).fit(ROWS)
    errors = (ROWS.iloc[2:] - learner.predict_rows(ROWS)).to_numpy()
    np.testing.assert_allclose(errors.T @ errors / len(errors), learner.noise_covariance_, rtol=1e-8)
    np.testing.assert_allclose(learner.predict_rows(ROWS), learner.model_.predict_rows(ROWS), rtol=1e-9)
    assert learner.predict_rows([ROWS, ROWS]).shape == (596, 2)


def test_errors():
    with pytest.raises(TypeError, match="needs a LinearDynamicalSystem.*, got int"):
        one_step_predictions(3, ROWS)
    with pytest.raises(ValueError, match="coverage must be a number between 0 and 1, got 1"):
        one_step_predictions(SYSTEM, ROWS, coverage=1)
    with pytest.raises(ValueError, match="fit it with instantaneous=False"):
        one_step_predictions(LinearSVARM(lam_ratio=0.5).fit(ROWS[:50]), ROWS)
    with pytest.raises(ValueError, match="the noise of the model is unknown"):
        one_step_predictions(LinearDynamicalSystem(["a"], [[0.5]]), [[1.0], [2.0]])
    learner = SparsityInducingLDS(missing="drop").fit(ROWS)
    with pytest.raises(ValueError, match="X has gaps: only 37 of 40 rows follow 1 observed rows"):
        one_step_predictions(learner, ROWS[:40].assign(a=ROWS["a"].where(ROWS.index != ROWS.index[7])))
    with pytest.raises(ValueError, match=r"reads its exogenous columns from X: leave out exogenous="):
        one_step_predictions(learner, ROWS, exogenous=ROWS)
    with pytest.raises(TypeError, match="X must be a frame or an array of rows, got str"):
        one_step_predictions(learner, "rows.csv")


@pytest.mark.parametrize("index", ["hours", "periods", "array"])
def test_picture(index):
    rows = ROWS[:30]
    rows = {"hours": rows, "periods": rows.to_period("h"), "array": rows.to_numpy()}[index]
    found, zero = (one_step_predictions(system, rows) for system in (SYSTEM, make_zero()))
    figure = plot_predictions({"system": found, "zero": zero})
    figure.canvas.draw()
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["a", "b"]
    for column, ax in enumerate(figure.axes):
        observed, *lines = ax.get_lines()
        assert [line.get_label() for line in ax.get_lines()] == ["observed", "system", "zero"]
        np.testing.assert_array_equal(observed.get_ydata(), found.observed.iloc[:, column])
        for line, one in zip(lines, (found, zero), strict=True):
            np.testing.assert_array_equal(line.get_ydata(), one.predicted.iloc[:, column])
        (band,) = ax.collections
        assert band.get_label() == "90% interval of system"
    (ax,) = plot_predictions(found, series=["b"], figure=Figure()).axes
    assert ax.get_lines()[1].get_label() == "prediction" and ax.collections[0].get_label() == "90% interval"


def make_zero():
    return LinearDynamicalSystem(["a", "b"], np.zeros((3, 2, 2)), noise_covariance=[1.0, 1.0])


def test_errors_of_the_picture():
    found = one_step_predictions(SYSTEM, ROWS[:30])
    with pytest.raises(ValueError, match="there is nothing to draw"):
        plot_predictions({})
    with pytest.raises(TypeError, match="expected results of one_step_predictions, got DataFrame"):
        plot_predictions(ROWS)
    with pytest.raises(ValueError, match="not of the same rows"):
        plot_predictions({"one": found, "other": one_step_predictions(SYSTEM, ROWS[:31])})
    with pytest.raises(ValueError, match="series must be names of the system, got 'c'"):
        plot_predictions(found, series=["c"])
