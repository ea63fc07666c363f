"""``pgmx forecast``."""

import io

import numpy as np
import pandas as pd
import pytest

from helpers.command_line import done, refused
from helpers.series_learners import frame_of_system
from pgmx.estimators import DenseLDS
from pgmx.models import save_model


@pytest.fixture
def table(tmp_path):
    """A series of days, and the model learned from it, in files."""
    path, frame = tmp_path / "series.csv", frame_of_system(4, 150).rename_axis("day")
    frame.to_csv(path)
    learner = DenseLDS(lags=2, fit_intercept=True).fit(frame)
    save_model(learner.model_, "model.npz")
    save_model(learner.graph_, "graph.json")
    return path


def test_forecasts_are_those_of_the_learner(table):
    text = done("forecast", "model.npz", table, "--steps", 3, "--time-column", "day")
    printed = pd.read_csv(io.StringIO(text), index_col="day", parse_dates=True)
    frame = pd.read_csv(table, index_col="day", parse_dates=True)
    expected = DenseLDS(lags=2, fit_intercept=True).fit(frame).predict(frame, 3)
    np.testing.assert_allclose(printed, expected, rtol=1e-9)
    assert list(printed.index) == list(expected.index)
    assert "wrote later.csv" in done("forecast", "model.npz", table, "--time-column", "day", "--out", "later.csv")
    np.testing.assert_allclose(pd.read_csv("later.csv", index_col="day"), expected[:1], rtol=1e-9)


def test_a_model_that_learn_wrote_forecasts_rows_without_times():
    frame = frame_of_system(3, 60)
    frame.to_csv("plain.csv", index=False)
    done("learn", "plain.csv", "--method", "dense-lds", "--quiet", "--out", "plain.npz")
    printed = pd.read_csv(io.StringIO(done("forecast", "plain.npz", "plain.csv", "--steps", 2)), index_col="row")
    assert list(printed.index) == [60, 61]
    np.testing.assert_allclose(printed, DenseLDS().fit(frame).predict(frame, 2), rtol=1e-9)


def test_faults(table):
    assert "holds a TimeSeriesGraph, which cannot forecast" in refused("forecast", "graph.json", table)
    assert "is not a column" in refused("forecast", "model.npz", table, "--time-column", "hour")
    assert "suffix must be .csv" in refused("forecast", "model.npz", table, "--out", "later.txt")
    assert "day" in refused("forecast", "model.npz", table)


@pytest.mark.parametrize("timed", [True, False])
def test_seasons_are_counted_and_exogenous_rows_are_read(timed):
    rng, days = np.random.default_rng(0), pd.date_range("2020-01-01", periods=90)
    rows = rng.standard_normal((90, 3)) + np.arange(90)[:, None] % 7
    frame = pd.DataFrame(rows, columns=["a", "b", "push"]).assign(day=days).drop(index=[40, 41] if timed else [])
    later = pd.DataFrame({"note": list("abcdefghi"), "push": rng.standard_normal(9)})
    frame = frame if timed else frame.drop(columns="day")
    frame.to_csv("rows.csv", index=False)
    later.to_csv("later.csv", index=False)
    times = {"time_column": "day", "missing": "drop"} if timed else {}
    learner = DenseLDS(seasonal_period=7, exogenous_columns=["push"], fit_intercept=True, **times).fit(frame)
    save_model(learner.model_, "driven.npz")
    command = ("forecast", "driven.npz", "rows.csv", *(("--time-column", "day") if timed else ()))
    text = done(*command, "--steps", 9, "--exogenous", "later.csv", "--coverage", 0.8)
    printed = pd.read_csv(io.StringIO(text), index_col=0)
    expected = learner.predict(frame, 9, exogenous=later[["push"]])
    np.testing.assert_allclose(printed[["a", "b"]], expected, rtol=1e-9)
    lower, _ = learner.predict_interval(frame, 9, 0.8, exogenous=later[["push"]])
    np.testing.assert_allclose(printed[["a lower", "b lower"]], lower, rtol=1e-9)
    assert "later.csv has 9 rows: give one row per step, for --steps 10" in refused(
        *command, "--steps", 10, "--exogenous", "later.csv"
    )
    later[["note"]].to_csv("later.csv", index=False)
    assert "--exogenous later.csv lacks the column(s) 'push'" in refused(*command, "--exogenous", "later.csv")
    assert "--exogenous none.csv: no such file" in refused(*command, "--exogenous", "none.csv")


def test_exogenous_rows_of_a_model_without_are_refused(table):
    assert "model.npz has no exogenous columns, leave the option out" in refused(
        "forecast", "model.npz", table, "--time-column", "day", "--exogenous", table
    )
