"""``pgmx learn`` for time series."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd
import pytest

from helpers.command_line import done, refused
from helpers.dynamic_panels import draw_panel
from pgmx.estimators import DenseLDS, KernelSVARM, SelectedGraph, SparsityInducingLDS
from pgmx.models import LinearDynamicalSystem, TimeSeriesGraph, read_model

COEF = np.array([[0.7, 0.0, 0.0], [-0.6, 0.5, 0.0], [0.0, 0.0, 0.3]])
NAMES = ["rain", "river", "wind"]
MONTHLY = ("--time-column", "month")


@pytest.fixture(scope="module")
def rows():
    system = LinearDynamicalSystem(NAMES, COEF, noise_covariance=np.ones(3))
    return system.simulate(400, random_state=1).set_axis(pd.date_range("1990-01-01", periods=400, freq="MS"))


@pytest.fixture
def table(rows, tmp_path):
    path = tmp_path / "series.csv"
    rows.to_csv(path, index_label="month")
    return path


def edges(text):
    found = re.findall(r"^(\S+ (?:->|--) \S+)(?: +-?\d+\.\d{3})? +(-?\d+\.\d{3})$", text, re.M)
    return {edge: float(number) for edge, number in found}


def strengths(text):
    found = re.findall(r"^(\S+ (?:->|--) \S+) +(-?\d+\.\d{3})(?: |$)", text, re.M)
    return {edge: float(number) for edge, number in found}


def printed(name, text):
    return re.search(rf"^{name} +(.*)$", text, re.M)[1]


def test_systems_are_those_of_the_learners(table, rows):
    for method, learner in (("dense-lds", DenseLDS(lags=2)), ("lds", SparsityInducingLDS(lags=2, lam_ratio=0.2))):
        options = ("--lam-ratio", 0.2) if method == "lds" else ()
        text = done("learn", table, *MONTHLY, "--method", method, "--lags", 2, *options, "--out", "m.npz")
        assert "data      series: 398 rows with all lags before them, 3 variables\n" in text
        assert text.endswith("wrote m.npz\n")
        system, expected = read_model("m.npz"), learner.fit(rows).model_
        np.testing.assert_allclose(
            system.to_networkx().to_arrays(), expected.to_networkx().to_arrays(), rtol=1e-9, atol=1e-12
        )
        assert len(edges(text)) == system.to_networkx().number_of_edges()
        assert printed("radius", text) == f"{expected.spectral_radius:.4f} (stable)"


def test_the_order_of_edges_does_not_depend_on_units(table, rows):
    text = done("learn", table, *MONTHLY, "--method", "lds")
    series = pd.read_csv(table)
    series["river"] *= 1000.0
    series.to_csv("units.csv", index=False)
    other = done("learn", "units.csv", *MONTHLY, "--method", "lds")
    assert list(strengths(text).items()) == list(strengths(other).items())
    assert edges(other)["rain@t-1 -> river"] == pytest.approx(1000 * edges(text)["rain@t-1 -> river"], abs=0.6)


def test_constants_and_numbers_of_parents_are_options(table, rows):
    (rows + 100.0).to_csv("high.csv", index=False)
    done("learn", "high.csv", "--method", "lds", "--k", 1, "--intercept", "--out", "m.npz")
    system = read_model("m.npz")
    expected = SparsityInducingLDS(k=1, fit_intercept=True).fit(rows + 100.0)
    np.testing.assert_allclose(system.intercept, expected.intercept_, rtol=1e-9)
    assert system.to_networkx().number_of_edges() <= 3


@pytest.mark.parametrize("method", ["dense-lds", "lds", "scalable-lds", "svarm", "kernel-svarm"])
def test_every_method_writes_a_graph_and_a_picture(method, table, workdir):
    options = ("--seeds", 3, "--k", 2) if method == "scalable-lds" else ()
    for suffix in ("json", "graphml"):
        options = (*options, "--out", f"g.{suffix}", "--plot", "g.svg")
        text = done("learn", table, *MONTHLY, "--method", method, *options)
        assert printed("method", text) == f"{method} (1 lag)"
        assert {"rain@t-1 -> rain", "rain@t-1 -> river", "river@t-1 -> river"} <= set(edges(text))
        sizes = list(strengths(text).values())
        assert sizes == sorted(sizes, reverse=True)
        graph = read_model(workdir / f"g.{suffix}")
        assert isinstance(graph, TimeSeriesGraph)
        assert graph.has_edge(("rain", 1), ("river", 0))
        assert text.endswith(f"\nwrote g.{suffix}\nwrote g.svg\n")
        ElementTree.parse(workdir / "g.svg")


def test_panels_seasons_and_columns_that_are_no_series(rows):
    frame = rows.reset_index(names="month").assign(push=np.sin(np.arange(400)), unit=np.repeat(["u", "v"], 200))
    frame.to_csv("panel.csv", index=False)
    options = ("--groups", "unit", "--exogenous-columns", "push", "--seasonal-period", 12, "--out", "m.npz")
    text = done("learn", "panel.csv", *MONTHLY, "--method", "dense-lds", *options)
    assert "398 rows with all lags before them, 3 variables" in text
    expected = DenseLDS(time_column="month", groups="unit", exogenous_columns=["push"], seasonal_period=12).fit(frame)
    system = read_model("m.npz")
    np.testing.assert_allclose(system.coef, expected.coef_, rtol=1e-9, atol=1e-12)
    assert system.exogenous_names == ("push", *(f"season {season}" for season in range(1, 12)))


def test_edges_are_known_as_they_are_listed(table):
    for name, text in (("must.csv", "from,to\nwind@t-2,rain\n"), ("never.csv", "rain@t-1,river\nwind@t-1,wind\n")):
        with open(name, "w") as file:
            file.write(text)
    known = ("--lags", 2, "--required", "must.csv", "--forbidden", "never.csv")
    for method in ("lds", "svarm"):
        listed = set(edges(done("learn", table, *MONTHLY, "--method", method, *known)))
        assert "wind@t-2 -> rain" in listed and not {"rain@t-1 -> river", "wind@t-1 -> wind"} & listed
    assert "'wind@t-2' is not a column of the table, did you mean 'wind@t-1'?" in refused(
        "learn", table, *MONTHLY, "--method", "lds", "--required", "must.csv"
    )
    with open("must.csv", "w") as file:
        file.write("wind,rain\n")
    assert "with one of the lags 1" in refused(
        "learn", table, *MONTHLY, "--method", "lds", "--required", "must.csv", "--out", "m.npz"
    )


def test_penalties_are_chosen(table, rows):
    text = done("learn", table, *MONTHLY, "--method", "lds", "--select", "ebic")
    chosen = SelectedGraph(SparsityInducingLDS()).fit(rows)
    assert printed("lam", text).startswith(f"{chosen.lam_:.6g}, ") and "(by ebic among " in printed("lam", text)
    assert {"rain@t-1 -> rain", "rain@t-1 -> river", "river@t-1 -> river", "wind@t-1 -> wind"} == set(edges(text))
    text = done("learn", table, *MONTHLY, "--method", "svarm", "--select", "bic", "--lam-ratio", 0.05)
    assert "(by bic among 20" in printed("lam", text)
    by_errors = ("learn", table, *MONTHLY, "--method", "svarm", "--select", "cv", "--lam-ratio", 0.001)
    text = done(*by_errors)
    assert "(by cv among 20" in printed("lam", text)
    assert edges(done(*by_errors, "--n-jobs", 2)) == edges(text)
    text = done("learn", table, *MONTHLY, "--method", "kernel-svarm", "--kernels", "gaussian, linear")
    kernels = KernelSVARM(kernels=["gaussian", "linear"]).fit(rows)
    assert printed("objective", text) == f"{kernels.objective_:.6f}"


def test_systems_and_graphs_are_compared_but_not_scored(table):
    done("learn", table, *MONTHLY, "--method", "dense-lds", "--out", "all.npz")
    done("learn", table, *MONTHLY, "--method", "lds", "--select", "ebic", "--out", "some.json")
    text = done("compare", "all.npz", "some.json")
    assert "shd      5 (" in text
    assert "\nonly in all.npz: 5\n" in text and "\n  wind@t-1 -> rain\n" in text
    for model in ("all.npz", "some.json"):
        assert f"{model} is a model of time series" in refused("score", model, table)


@pytest.mark.slow
def test_runs_that_the_clock_ends_say_so(tmp_path):
    wide = pd.DataFrame(np.random.default_rng(1).normal(size=(60, 300)))
    wide.columns = [f"x{v}" for v in wide]
    wide.to_csv("wide.csv", index=False)
    text = done("learn", "wide.csv", "--method", "lds", "--lam-ratio", 0.9, "--max-time", 1e-6, "-q")
    assert printed("ended", text) == "by --max-time, before convergence"


def test_instantaneous_edges_without_direction_are_listed_once(table):
    text = done("learn", table, *MONTHLY, "--method", "svarm", "--lam-ratio", 0.01, "--out", "g.json")
    graph = read_model("g.json")
    n_lagged, n_present = len(graph.lagged_edges), len(graph.instantaneous_edges) // 2
    assert n_present > 0
    assert printed("edges", text) == f"{n_lagged + n_present} ({n_lagged} lagged, {n_present} instantaneous)"
    assert sum(" -- " in edge for edge in edges(text)) == n_present
    assert not edges(done("learn", table, *MONTHLY, "--method", "svarm", "-q"))


def test_equations_are_learned_from_windows_with_known_inputs_or_without():
    rng = np.random.default_rng(2)
    powers = rng.uniform(0.5, 4.0, (8, 3))
    mixed = np.linalg.inv(np.eye(3) - np.array([[0.0, 0.6, 0.0], [0.0, 0.0, -0.5], [0.0, 0.0, 0.0]]))
    inputs = rng.standard_normal((8, 300, 3)) * np.sqrt(powers)[:, None]
    pd.DataFrame((inputs @ mixed.T).reshape(-1, 3), columns=list("abc")).to_csv("switching.csv", index=False)
    pd.DataFrame(powers, columns=list("abc")).to_csv("powers.csv", index=False)
    options = ("learn", "switching.csv", "--method", "tensor-sem", "--window", 300)
    for more in ((), ("--exogenous-power", "powers.csv")):
        text = done(*options, *more)
        assert "data      switching: 2400 rows in 8 windows, 3 variables\n" in text
        assert {"b -> a", "c -> b"} <= set(edges(text)) <= {"b -> a", "c -> b", "c -> a", "a -> b", "b -> c", "a -> c"}
        assert edges(text)["b -> a"] == pytest.approx(0.6, abs=0.1)
    sparse = ("learn", "switching.csv", "--method", "sparse-tensor-sem", "--window", 300)
    for more in (("--lam-ratio", 0.05), ("--select", "ebic"), ("--lam", 0.01, "--exogenous-power", "powers.csv")):
        assert set(edges(done(*sparse, *more))) == {"b -> a", "c -> b"}
    refusal = refused(*sparse, "--select", "ebic", "--exogenous-power", "powers.csv")
    assert "--select is for unknown powers of the inputs: leave out --exogenous-power" in refusal
    pd.DataFrame(powers, columns=list("abd")).to_csv("powers.csv", index=False)
    assert "'d'" in refused(*options, "--exogenous-power", "powers.csv")
    assert "no such file" in refused(*options, "--exogenous-power", "none.csv")


@pytest.mark.slow
def test_large_graphs_are_drawn_as_heat_maps(workdir):
    wide = pd.DataFrame(np.random.default_rng(1).normal(size=(80, 32)), columns=[f"x{v}" for v in range(32)])
    wide.to_csv("wide.csv", index=False)
    text = done("learn", "wide.csv", "--method", "dense-lds", "--plot", "wide.png")
    assert len(edges(text)) == 40
    assert "\n... and 984 weaker ones\n" in text
    assert (workdir / "wide.png").stat().st_size > 1000


def test_times_that_cannot_be_used_are_refused_in_words_of_the_command(rows, table):
    command = ("learn", "bent.csv", "--method", "lds", *MONTHLY)
    rows.iloc[::-1].to_csv("bent.csv", index_label="month")
    assert "the times do not increase: 2023-03-01" in refused(*command)
    rows.drop(index=rows.index[7]).to_csv("bent.csv", index_label="month")
    message = refused(*command)
    assert "--irregular ignore" in message
    assert "--missing drop" in message
    assert "397 rows with all lags before them, 2 left out" in done(*command, "--missing", "drop")
    assert "398 rows with all lags before them, 3 variables" in done(*command, "--irregular", "ignore")
    rows.assign(rain=rows["rain"].where(rows["rain"] < 2)).to_csv("bent.csv", index_label="month")
    assert "column(s) 'rain': pass --missing drop" in refused(*command)
    assert "--time-column names 'year', which is not a column" in refused(
        "learn", table, "--method", "lds", "--time-column", "year"
    )
    assert refused("learn", table, "--method", "lds").endswith(", and --time-column for the time column\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("svarm", "--out", "m.npz"), "--out m.npz: .npz holds linear dynamical systems, which --method svarm does"),
        (("lds", "--out", "m.bif"), "--out m.bif: the suffix must be one of .npz, .graphml, .json"),
        (("lds", "--window", 5), "--window is for --method tensor-sem, sparse-tensor-sem, not for lds"),
        (
            ("hill-climb", "--lags", 2),
            "--lags is for --method dense-lds, lds, scalable-lds, svarm, kernel-svarm, dynamic",
        ),
        (("glasso", "--time-column", "t"), "--time-column is for --method dense-lds"),
        (("dense-lds", "--lam", 1), "--lam is for --method best-choice"),
        (("lds", "--lam", 1, "--lam-ratio", 1), "--lam and --lam-ratio both set the penalty"),
        (("lds", "--missing", "pairwise"), "--missing pairwise is not for --method lds: choose one of error, drop"),
        (("lds", "--required", "e.csv"), "no such edge file: e.csv"),
        (("tensor-sem", "--window", 20, "--required", "e.csv"), "no such edge file: e.csv"),
        (("lds", "--select", "aic"), "--select aic is not for --method lds: choose one of ebic, cv"),
        (("svarm", "--select", "ebic"), "--select ebic is not for --method svarm: choose one of aic, bic, cv"),
        (("lds", "--select", "cv", "--lam", 1), "--lam is one penalty, but --select chooses from a path"),
        (("lds", "--select", "cv", "--screen", 2), "--select needs all cross-products, which --screen does not"),
        (("svarm", "--kernels", "linear"), "--kernels is for --method kernel-svarm, not for svarm"),
        (("kernel-svarm", "--kernels", "linear,cubic"), "--kernels cubic: choose from gaussian, poly2, linear"),
        (("kernel-svarm", "--kernels", "linear", "--orient", "nonlinear", *MONTHLY), "--orient nonlinear needs"),
        (("lds", "--groups", "unit", *MONTHLY), "--groups names 'unit', which is not a column"),
        (("lds", "--exogenous-columns", "a, b", *MONTHLY), "--exogenous-columns names 'a', which is not a column"),
        (("scalable-lds", "--seeds", 9, *MONTHLY), "--seeds must be at most the number of series, 3, got 9"),
        (("lds", "--lags", 0), "Invalid value for '--lags'"),
        (("lds", "--lags", 500, *MONTHLY), "the series has 400 rows, and --lags 500 needs at least 501"),
        (("tensor-sem",), "--method tensor-sem needs --window"),
        (("sparse-tensor-sem",), "--method sparse-tensor-sem needs --window"),
    ],
)
def test_wrong_options_are_refused(arguments, message, table):
    assert message in refused("learn", table, "--method", *arguments)


def test_states_are_no_series():
    assert "alarm is a bundled discrete network" in refused("learn", "alarm", "--method", "lds")
    assert "no such file: none.csv" in refused("learn", "none.csv", "--method", "dense-lds")


def test_dynamic_networks_of_a_panel(workdir):
    draw_panel(n_groups=30, n_times=8).to_csv("panel.csv", index=False)
    options = ("--method", "dynamic", "--time", "t", "--groups", "id")
    given = ("--static", "s", "--score", "bdeu", "--instantaneous", "--out", "model.json")
    text = done("learn", "panel.csv", *options, *given)
    assert "210 rows with all lags before them, 4 variables" in text and "a@t-1 -> b" in text
    assert read_model("model.json").static_columns == ("s",)
    assert "--groups names 'z'" in refused("learn", "panel.csv", *options[:-1], "z")
    assert "--kernels is for" in refused("learn", "panel.csv", *options, "--kernels", "gaussian")
