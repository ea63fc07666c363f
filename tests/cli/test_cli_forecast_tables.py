"""``pgmx forecast``: recursions by hand, intervals, and tables that do not fit."""

import numpy as np
import pandas as pd
import pytest
from pgmpy.factors.discrete import TabularCPD

from helpers.command_line import done, refused
from pgmx.models import (
    DiscreteBayesianNetwork,
    DynamicBayesianNetwork,
    GaussianMarkovNetwork,
    LinearDynamicalSystem,
    save_model,
)

FIRST = np.array([[0.5, 0.0], [0.4, 0.2]])
SECOND = np.array([[0.1, 0.2], [0.0, 0.3]])
ROWS = np.array([[9.0, 9.0], [1.0, 2.0], [3.0, -1.0], [2.0, 0.5]])


@pytest.fixture(autouse=True)
def files(workdir):
    system = LinearDynamicalSystem(
        ["a", "b"], np.stack([np.zeros((2, 2)), FIRST, SECOND]), [1.0, 0.0], noise_covariance=[[4.0, 0.0], [0.0, 1.0]]
    )
    save_model(system, "m.npz")
    frame = pd.DataFrame(ROWS, columns=["a", "b"])
    frame.to_csv("plain.csv", index=False)
    # In another order, and a missing row before the last two.
    dated = frame[["b", "a"]].assign(day=pd.date_range("2024-01-31", periods=4, freq="ME"))
    dated.loc[0, "a"] = np.nan
    dated.to_csv("dated.csv", index=False)


def expected(steps):
    rows = [ROWS[-2], ROWS[-1]]
    for _ in range(steps):
        rows.append(np.array([1.0, 0.0]) + FIRST @ rows[-1] + SECOND @ rows[-2])
    return np.array(rows[2:])


def test_forecasts_continue_the_dates_of_the_file():
    assert done("forecast", "m.npz", "dated.csv", "--steps", 3, "--time-column", "day", "--out", "f.csv") == (
        "wrote f.csv\n"
    )
    table = pd.read_csv("f.csv", index_col=0)
    assert table.index.name == "day"
    assert table.index.tolist() == ["2024-05-31", "2024-06-30", "2024-07-31"]
    assert table.columns.tolist() == ["a", "b"]
    np.testing.assert_allclose(table, expected(3), rtol=1e-12)


def test_forecasts_are_printed_with_intervals():
    lines = done("forecast", "m.npz", "plain.csv", "--steps", 12, "--coverage", 0.9).splitlines()
    assert lines[0] == "row,a,a lower,a upper,b,b lower,b upper"
    table = np.array([line.split(",") for line in lines[1:]], dtype=float)
    assert table[:, 0].tolist() == list(range(4, 16))
    np.testing.assert_allclose(table[:, [1, 4]], expected(12), rtol=1e-9)
    # One step ahead: standard deviations 2 and 1. Two steps: the first adds A_1 Q A_1'.
    variances = np.array([[4.0, 1.0], [4.0 + 0.25 * 4.0, 1.0 + 0.16 * 4.0 + 0.04]])
    widths = 1.6448536 * np.sqrt(variances)
    np.testing.assert_allclose(table[:2, [3, 6]] - table[:2, [1, 4]], widths, rtol=1e-6)
    np.testing.assert_allclose(table[:2, [1, 4]] - table[:2, [2, 5]], widths, rtol=1e-6)


def test_irregular_times_are_not_continued():
    table = pd.read_csv("dated.csv").assign(day=["2024-01-01", "2024-01-02", "2024-01-09", "2024-02-01"])
    table.to_csv("irregular.csv", index=False)
    text = done("forecast", "m.npz", "irregular.csv", "--steps", 2, "--time-column", "day")
    assert [line.split(",")[0] for line in text.splitlines()[1:]] == ["1", "2"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("none.npz", "plain.csv"), "no such file: none.npz"),
        (
            ("plain.csv", "m.npz"),
            "plain.csv is not a model of a time series (.npz or .json): give a file that pgmx learn",
        ),
        (("m.npz", "none.csv"), "none.csv"),
        (("m.npz", "m.npz"), "m.npz"),
        (("m.npz", "plain.csv", "--time-column", "day"), "--time-column day is not a column of plain.csv"),
        (("m.npz", "plain.csv", "--steps", 0), "Invalid value for '--steps'"),
        (("m.npz", "plain.csv", "--coverage", 1), "Invalid value for '--coverage'"),
        (("m.npz", "plain.csv", "--out", "f.txt"), "--out f.txt: the suffix must be .csv"),
        (("m.npz", "plain.csv", "--out", "none/f.csv"), "there is no folder none"),
        (("m.npz",), "Missing argument 'SOURCE'"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    assert message in refused("forecast", *arguments)


def test_unfit_rows_are_refused():
    frame = pd.read_csv("plain.csv")
    frame.iloc[:1].to_csv("bad.csv", index=False)
    assert "must hold at least the last 2 rows" in refused("forecast", "m.npz", "bad.csv")
    frame[["a"]].to_csv("bad.csv", index=False)
    assert "bad.csv lacks the series 'b'" in refused("forecast", "m.npz", "bad.csv")
    frame.assign(b=[1.0, 2.0, 3.0, np.nan]).to_csv("bad.csv", index=False)
    assert "missing values in 'b'" in refused("forecast", "m.npz", "bad.csv")
    frame.assign(b="text").to_csv("bad.csv", index=False)
    assert "'b'" in refused("forecast", "m.npz", "bad.csv")
    pd.read_csv("dated.csv").iloc[::-1].to_csv("bad.csv", index=False)
    assert "the times of bad.csv do not increase" in refused("forecast", "m.npz", "bad.csv", "--time-column", "day")


def test_other_models_are_refused():
    save_model(GaussianMarkovNetwork.from_precision(["a", "b"], np.eye(2)), "g.npz")
    assert "g.npz holds a GaussianMarkovNetwork, which cannot forecast" in refused("forecast", "g.npz", "plain.csv")
    save_model(LinearDynamicalSystem(["a", "b"], FIRST), "silent.npz")
    assert "silent.npz lacks: leave it out" in refused("forecast", "silent.npz", "plain.csv", "--coverage", 0.5)
    driven = LinearDynamicalSystem(["a", "b"], FIRST, exogenous_coef=[[1.0], [0.0]], exogenous_names=["sun"])
    save_model(driven, "driven.npz")
    assert "driven.npz has the exogenous column(s) 'sun': give their later rows by --exogenous" in refused(
        "forecast", "driven.npz", "plain.csv"
    )


def test_dynamic_networks_forecast_groups():
    states = {"rain@t-1": ["no", "yes"], "rain@t-0": ["no", "yes"]}
    network = DiscreteBayesianNetwork([("rain@t-1", "rain@t-0")])
    network.add_cpds(
        TabularCPD("rain@t-1", 2, [[0.75], [0.25]], state_names=states),
        TabularCPD("rain@t-0", 2, [[0.9, 0.3], [0.1, 0.7]], ["rain@t-1"], [2], state_names=states),
    )
    save_model(DynamicBayesianNetwork(network, groups="town"), "rain.json")
    rows = pd.DataFrame({"town": ["x", "x", "y"], "day": [1, 2, 2], "rain": ["no", "yes", "no"]})
    rows.drop(columns="day").to_csv("rain.csv", index=False)
    rows.to_csv("days.csv", index=False)
    assert done("forecast", "rain.json", "rain.csv", "--steps", 1).splitlines() == [
        "town,step,rain no,rain yes",
        "x,1,0.3,0.7",
        "y,1,0.9,0.1",
    ]
    assert "x,3,0.3,0.7" in done("forecast", "rain.json", "days.csv", "--steps", 1, "--time-column", "day")
    assert "'day'" in refused("forecast", "rain.json", "days.csv")
    assert "no exogenous columns" in refused("forecast", "rain.json", "rain.csv", "--exogenous", "plain.csv")
    assert "use pgmx forecast" in refused("predict", "rain.json", "rain.csv")
