"""Methods of learning, what is known of the edges, and the kinds of sources."""

import re
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from pgmpy.readwrite import BIFReader

from helpers.command_line import done, pgmx, refused
from pgmx.cli.methods import SEARCHES
from pgmx.data import read_table, write_table
from pgmx.models import read_model


def printed(name, text):
    return re.search(rf"^{name} +(.*)$", text, re.M)[1]


def score_of(text):
    return float(printed("score", text).split()[0])


def write(name, text):
    Path(name).write_text(text)
    return name


@pytest.mark.parametrize("method", [method for method in SEARCHES if method != "hill-climb"])
def test_other_searches_find_the_same_pairs(method, weather):
    text = done("learn", weather, "--method", method)
    assert score_of(text) == pytest.approx(score_of(done("learn", weather)))
    assert {"rain -- wet", "rain -- season"} <= set(text.splitlines())


def test_options_of_the_climb_reach_it(weather, workdir):
    options = ("--strategy", "thorough", "--restarts", 3, "--start", "tree", "--max-candidates", 2)
    text = done("learn", weather, *options, "--checkpoint", "state.npz", "--random-state", 3)
    assert score_of(text) >= score_of(done("learn", weather))
    assert not list(workdir.glob("state*"))  # a search that came to its end needs no checkpoint


def test_a_forest_has_no_directions_unless_a_root_is_named(weather):
    text = done("learn", weather, "--method", "chow-liu")
    assert "(ll)" in printed("score", text)
    assert printed("edges", text) == "3 (0 directed, 3 undirected)"
    text = done("learn", weather, "--method", "chow-liu", "--score", "BIC", "--root", "wet")
    assert "(bic)" in printed("score", text)
    assert {"wet -> rain", "rain -> season"} <= set(text.splitlines())
    assert "coin" not in text.partition("query")[0]


def test_a_class_variable_stands_above_a_forest(weather, workdir):
    done("learn", weather, "--method", "tan", "--class-node", "wet", "--out", "tan.graphml")
    graph = nx.read_graphml(workdir / "tan.graphml")
    assert set(graph.successors("wet")) == {"season", "rain", "coin"}
    assert not graph.in_degree("wet")


def test_forests_of_floats_are_gaussian(floats):
    assert "(ll-g)" in printed("score", done("learn", floats, "--method", "chow-liu"))


def test_tiers_and_roots_direct_edges(weather):
    write("tiers.csv", "wet\nrain\n")
    text = done("learn", weather, "--tiers", "tiers.csv")
    assert "wet -> rain" in text.splitlines()
    text = done("learn", weather, "--roots", "season, wet")
    assert not re.search("-> (season|wet)$", text, re.M)
    assert re.search("^(season|wet) -> rain$", text, re.M)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--strategy", "thorough", "--method", "annealing"),
            "--strategy is for --method hill-climb, dynamic, mmhc, not for annealing",
        ),
        (
            ("--max-indegree", "2", "--method", "tan"),
            f"--max-indegree is for --method {', '.join(SEARCHES)}",
        ),
        (("--root", "wet"), "--root is for --method chow-liu, tan, not for hill-climb"),
        (("--class-node", "wet", "--method", "chow-liu"), "--class-node is for --method tan"),
        (("--method", "tan"), "--method tan needs --class-node"),
        (("--method", "tan", "--class-node", "wett"), "--class-node: 'wett' is not a column of the table, did you"),
        (("--method", "chow-liu", "--score", "k2"), "--score k2 is not for --method chow-liu: choose one of ll, bic"),
        (("--roots", "wet,rian"), "--roots: 'rian' is not a column of the table, did you mean 'rain'?"),
        (("--tiers", "none.csv"), "no such tier file: none.csv"),
        (("--checkpoint", "no/state"), "--checkpoint no/state: there is no folder no"),
        (("--method", "lasso"), "Invalid value for '--method'"),
        (("--start", "full"), "Invalid value for '--start'"),
        (("--equivalent-sample-size", "0"), "Invalid value for '--equivalent-sample-size'"),
        (("--pseudo-counts", "-1"), "Invalid value for '--pseudo-counts'"),
        (("--pseudo-counts", "1", "--method", "online"), "--pseudo-counts is for --method hill-climb, annealing"),
        (("--pseudo-counts", "1", "--equivalent-sample-size", "1"), "--equivalent-sample-size and --pseudo-counts are"),
    ],
)
def test_options_that_do_not_fit_are_refused(arguments, message, weather):
    assert message in refused("learn", weather, *arguments)


@pytest.mark.parametrize("arguments", [(), ("--method", "chow-liu", "--score", "bic")])
def test_the_written_parameters_have_the_prior_that_is_asked_for(arguments, weather):
    counts = pd.read_csv(weather)["coin"].value_counts().sort_index().to_numpy()
    for option, added in (((), 0), (("--pseudo-counts", 30), 30), (("--equivalent-sample-size", 30), 15)):
        done("learn", weather, *arguments, *option, "--out", "w.bif", "--quiet")
        network = BIFReader("w.bif").get_model()
        assert network.degree("coin") == 0
        expected = (counts + added) / (counts + added).sum()
        np.testing.assert_allclose(network.get_cpds("coin").values, expected, atol=1e-4)


def test_names_are_checked_before_the_rows_are_read(weather, monkeypatch):
    monkeypatch.setattr("pgmx.cli.tables._open_file", None)
    assert "'rian' is not a column" in refused("learn", weather, "--roots", "rian")
    assert "'Asia' is not a column" in refused("learn", "asia", "--roots", "Asia")


def test_a_folder_of_parquet_files_and_a_coded_table_give_what_the_csv_gives(weather, workdir):
    frame = read_table(weather)
    (workdir / "parts").mkdir()
    for part, begin in enumerate(range(0, 600, 250)):
        frame.iloc[begin : begin + 250].to_parquet(workdir / "parts" / f"part{part}.parquet")
    write_table(frame, workdir / "weather.pgmx")
    texts = [done("learn", source) for source in (weather, "parts", "weather.pgmx")]
    assert "parts: 600 rows, 4 variables" in texts[1]
    shown = [re.sub(r"^(data|seconds).*$", "", text, flags=re.M) for text in texts]
    assert shown[0] == shown[1] == shown[2]


def test_em_starts_again_as_often_as_it_is_told(weather, workdir):
    frame = pd.read_csv(weather).astype(object)
    frame.mask(np.random.default_rng(0).random(frame.shape) < 0.2).to_csv("gaps.csv", index=False)
    once, often = (done("learn", "gaps.csv", "--missing", "em", "--em-restarts", n) for n in (0, 3))
    assert score_of(often) >= score_of(once) - 1e-4
    assert "--em-restarts 3 is for --missing em, not for drop" in refused(
        "learn", "gaps.csv", "--missing", "drop", "--em-restarts", 3
    )


def test_em_takes_floats(workdir):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 3)), columns=list("abc"))
    frame["b"] += frame["a"]
    frame.mask(np.random.default_rng(1).random(frame.shape) < 0.2).to_csv("gaps.csv", index=False)
    assert "--missing em to use their expected counts" in refused("learn", "gaps.csv")
    text = done("learn", "gaps.csv", "--missing", "em")
    assert "a -- b" in text
    assert re.search(r"^observed -\d+\.\d{4} \(log-likelihood, \d+ iterations\)$", text, re.M)


@pytest.mark.parametrize("option", ["category", "pairwise", "em"])
def test_missing_values_may_be_a_state_or_left_out_of_families(option, weather):
    frame = pd.read_csv(weather)
    frame["rain"] = frame["rain"].where(np.arange(600) % 10 > 0)
    frame.to_csv(weather, index=False)
    text = done("learn", weather, "--missing", option)
    assert "weather: 600 rows" in text
    assert "rain -- wet" in text
    assert bool(re.search(r"^observed -\d+\.\d{4} \(log-likelihood, \d+ iterations\)$", text, re.M)) == (option == "em")


def test_expected_counts_are_for_searches(weather):
    for method in ("chow-liu", "edge-grafting", "glasso", "svarm"):
        assert f"--missing em is not for --method {method}: choose one of error, drop" in refused(
            "learn", weather, "--method", method, "--missing", "em"
        )


def test_a_folder_without_tables_is_refused(workdir):
    (workdir / "empty").mkdir()
    assert "no Parquet file" in refused("learn", "empty")
    write("broken.pgmx", "no table")
    assert "broken.pgmx" in refused("learn", "broken.pgmx")


def test_integers_may_be_scored_as_numbers(workdir):
    rng = np.random.default_rng(1)
    a = rng.integers(0, 50, 200)
    pd.DataFrame({"a": a, "b": a + rng.integers(0, 5, 200)}).to_csv("n.csv", index=False)
    result = pgmx("learn", "n.csv", "--score", "bic-g")
    assert result.exit_code == 0, result.stderr
    assert "a -- b" in result.stdout


@pytest.mark.parametrize(("test", "shown"), [(None, "chi_square"), ("g_sq", "g_sq"), ("fisher_z", "fisher_z")])
def test_tests_of_independence_learn_a_network(test, shown, tmp_path):
    rng = np.random.default_rng(0)
    rain, path = rng.integers(0, 2, 400), tmp_path / "weather.csv"
    wet = np.where(rng.random(400) < 0.9, rain, 1 - rain)
    pd.DataFrame({"rain": rain, "wet": wet, "coin": rng.integers(0, 2, 400)}).to_csv(path, index=False)
    options = ["--method", "pc", "--alpha", "0.005", *(["--test", test] if test else [])]
    text = done("learn", path, *options, "--report", tmp_path / "r.html")
    assert f"({shown} at level 0.005, sets of up to 0 variables)" in text and "rain -- wet" in text
    assert (tmp_path / "r.html").exists()


def test_tests_of_incomplete_rows_learn_a_graph_without_parameters(tmp_path):
    rng = np.random.default_rng(0)
    rows, path = rng.normal(size=(200, 3)), tmp_path / "rows.csv"
    rows[:, 1] += rows[:, 0]
    frame = pd.DataFrame(rows, columns=list("abc")).mask(rng.random(rows.shape) < 0.05)
    for more in ({}, {"d": rng.integers(0, 2, 200)}):
        frame.assign(**more).to_csv(path, index=False)
        text = done("learn", path, "--method", "pc", "--missing", "pairwise", "--out", tmp_path / "g.json")
        assert "a -- b" in text and "left out: parameters need complete rows: --missing drop" in text


@pytest.mark.parametrize("method", ["fci", "rfci"])
def test_hidden_causes(method, tmp_path):
    rng = np.random.default_rng(0)
    hidden, sun, rain = rng.normal(size=(3, 600))
    path = tmp_path / "weather.csv"
    mood = sun + hidden + 0.5 * rng.normal(size=600)
    crops = rain + hidden + 0.5 * rng.normal(size=600)
    pd.DataFrame({"sun": sun, "mood": mood, "crops": crops, "rain": rain}).to_csv(path, index=False)
    out = tmp_path / "pag.json"
    text = done("learn", path, "--method", method, "--out", out, "--plot", tmp_path / "pag.svg")
    assert "crops <-> mood" in text and "rain o-> crops" in text
    assert "3 (0 -->, 1 <->, 2 with circles)" in text and "query" not in text
    assert read_model(out).definite_parents("crops") == set()
    assert "write .graphml or .json" in refused("learn", path, "--method", method, "--out", tmp_path / "pag.bif")
    sampled = done("learn", "asia", "--method", method, "--out", out, "--rows", "500")
    assert "against the true graph" in sampled


def test_a_search_among_pairs_that_tests_have_left(tmp_path):
    rng = np.random.default_rng(0)
    rain, path = rng.integers(0, 2, 400), tmp_path / "weather.csv"
    wet = np.where(rng.random(400) < 0.9, rain, 1 - rain)
    pd.DataFrame({"rain": rain, "wet": wet, "coin": rng.integers(0, 2, 400)}).to_csv(path, index=False)
    options = ["--method", "mmhc", "--alpha", "0.005", "--test", "g_sq", "--score", "bdeu", "--strategy", "exact"]
    text = done("learn", path, *options)
    assert "3 at level 0.005: 1 candidate pairs" in text and "rain -- wet" in text and "(bdeu)" in text
    assert "--missing em is not for --method mmhc" in refused("learn", path, "--method", "mmhc", "--missing", "em")
