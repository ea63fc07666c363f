"""``pgmx predict``: the answers of the networks' own methods, chunk by chunk from file to file."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from helpers.command_line import done, pgmx, refused
from pgmx.data import write_table
from pgmx.data.files import readers
from pgmx.datasets import gaussian_chain_network, load_network, sample_network
from pgmx.estimators import GroupLassoMarkovNetwork, HillClimbSearch
from pgmx.models import (
    ConditionalGaussianNetwork,
    DiscreteBayesianNetwork,
    LinearGaussianBayesianNetwork,
    save_model,
)


@pytest.fixture
def rows(tmp_path):
    """Rows of asia with missing values and without one column; files of them."""
    frame = sample_network("asia", 500, random_state=0).astype(object)
    frame = frame.mask(np.random.default_rng(1).random(frame.shape) < 0.2).drop(columns="lung")
    frame.iloc[7] = ["no", "no", "yes", "no", "no", "no", "no"]
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    write_table(frame, tmp_path / "rows.pgmx", missing="pairwise")
    return frame


def _text(frame):
    return frame.astype(str)


@pytest.mark.parametrize("source", ["rows.csv", "rows.parquet", "rows.pgmx"])
@pytest.mark.parametrize("method", ["map", "marginal"])
def test_predictions_are_those_of_the_network(rows, source, method, monkeypatch):
    expected = load_network("asia").predict(rows, method=method)
    question = ("predict", "asia", source, "--method", method)
    printed = pd.read_csv(io.StringIO(done(*question)))
    pd.testing.assert_frame_equal(_text(printed), _text(expected))
    monkeypatch.setattr(readers, "CHUNK_ROWS", 64)
    for out in ("filled.csv", "filled.parquet"):
        assert done(*question, "--out", out) == f"wrote {out}: 500 rows\n"
        written = pd.read_csv(out) if out.endswith("csv") else pd.read_parquet(out)
        pd.testing.assert_frame_equal(_text(written), _text(expected))
    observed = rows.notna()
    assert (written[rows.columns].where(observed) == rows.where(observed)).where(observed, True).all().all()


def test_distributions_are_those_of_the_network(rows, monkeypatch):
    rows.loc[:399, "smoke"] = "yes"  # no value of this column is missing in the first chunks
    rows.to_csv("rows.csv", index=False)
    expected = load_network("asia").predict_probability(rows)
    monkeypatch.setattr(readers, "CHUNK_ROWS", 100)
    assert "500 rows" in done("predict", "asia", "rows.csv", "--proba", "--out", "chances.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet("chances.parquet"), expected, check_exact=True)
    named = pd.read_csv(io.StringIO(done("predict", "asia", "rows.csv", "--drop", "xray,dysp", "--proba")))
    assert {"xray_yes", "dysp_no", "lung_yes"} <= set(named.columns)


def test_complete_rows_pass_unchanged(tmp_path):
    frame = sample_network("asia", 20, random_state=3)
    frame.to_csv("complete.csv", index=False)
    assert done("predict", "asia", "complete.csv") == (tmp_path / "complete.csv").read_text()
    assert "nothing to predict" in refused("predict", "asia", "complete.csv", "--proba")
    frame[:0].drop(columns="lung").to_parquet("none.parquet")
    assert len(done("predict", "asia", "none.parquet").strip().split(",")) == 8


def test_a_learned_network_predicts_the_file_that_it_was_learned_from(weather):
    """The states of a BIF file are text, those of the table are numbers, words and booleans."""
    done("learn", weather, "--quiet", "--out", "weather.bif")
    table = pd.read_csv(weather)
    holes = table.astype(object).mask(np.random.default_rng(0).random(table.shape) < 0.3)
    holes.to_csv("holes.csv", index=False, sep=";", na_rep="?")
    done("predict", "weather.bif", "holes.csv", "--na", "?", "--out", "filled.csv")
    filled = pd.read_csv("filled.csv")
    assert list(filled) == list(table) and not filled.isna().any().any()
    expected = HillClimbSearch(show_progress=False).fit(table).model_.predict(holes)
    assert (filled["rain"] == expected["rain"].astype(str)).mean() > 0.99
    done("predict", "weather.bif", "holes.csv", "--sep", ";", "--na", "?", "--out", "again.csv")
    assert pd.read_csv("again.csv").equals(filled)


def test_markov_networks(weather):
    frame = pd.read_csv(weather)
    network = GroupLassoMarkovNetwork(lam=0.01, show_progress=False).fit(frame).model_
    save_model(network, "model.npz")
    frame.drop(columns="rain").to_csv("part.csv", index=False)
    expected = network.predict(frame.drop(columns="rain"))
    found = pd.read_csv(io.StringIO(done("predict", "model.npz", "part.csv")))
    assert (found["rain"].astype(str) == expected["rain"].astype(str)).all()
    chances = pd.read_csv(io.StringIO(done("predict", "model.npz", "part.csv", "--proba")))
    assert list(chances) == ["rain_no", "rain_yes"]
    np.testing.assert_allclose(chances, network.predict_proba(frame.drop(columns="rain")), atol=1e-12)


def _drop_values(frame, seed):
    return frame.astype(object).mask(np.random.default_rng(seed).random(frame.shape) < 0.2)


def _compare(found, expected):
    assert list(map(str, found)) == list(map(str, expected))
    for (_, own), (_, other) in zip(found.items(), expected.items(), strict=True):
        if other.dtype.kind == "f":
            np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-12)
        else:
            assert (own.astype(str) == other.astype(str)).all()


def test_mixed_networks(monkeypatch):
    monkeypatch.setattr(readers, "CHUNK_ROWS", 40)
    numbers = gaussian_chain_network(3, 0.6).simulate(200, random_state=0)
    frame = numbers.assign(kind=np.where(numbers["x0"] > 0, "high", "low"), flag=numbers["x2"] > 0.1)
    network = ConditionalGaussianNetwork([("kind", "x0"), ("x0", "x1"), ("flag", "x2"), ("x1", "x2")]).fit(frame)
    save_model(network, "model.json")
    holes = _drop_values(frame, 1)
    holes.to_csv("holes.csv", index=False)
    typed = holes.astype(dict.fromkeys(numbers, float))
    expected = network.predict(typed)
    _compare(pd.read_csv(io.StringIO(done("predict", "model.json", "holes.csv"))), expected)
    expected = network.predict_proba(typed)
    found = pd.read_csv(io.StringIO(done("predict", "model.json", "holes.csv", "--proba")))
    _compare(found, expected.set_axis([f"{name}_{label}" for name, label in expected.columns], axis=1))
    frame.assign(x1="tall").to_csv("words.csv", index=False)
    assert "'x1' is continuous in the network, but holds 'tall'" in refused("predict", "model.json", "words.csv")


def test_gaussian_networks(monkeypatch):
    monkeypatch.setattr(readers, "CHUNK_ROWS", 40)
    network = gaussian_chain_network(4, 0.6)
    holes = _drop_values(network.simulate(100, random_state=0), 2).astype(float)
    holes.to_csv("holes.csv", index=False, sep=";", decimal=",")
    for file in ("model.npz", "model.json"):
        save_model(network, file)
        expected = network.predict(holes)
        _compare(pd.read_csv(io.StringIO(done("predict", file, "holes.csv")))[list(expected)], expected)
        chances = pd.read_csv(io.StringIO(done("predict", file, "holes.csv", "--proba")))
        np.testing.assert_allclose(chances["x1_mean"], expected["x1"], rtol=1e-9)
        assert ((chances["x1_std"] == 0) == holes["x1"].notna()).all()
    linear = network.to_linear_gaussian_bn()
    save_model(linear, "linear.json")
    expected = LinearGaussianBayesianNetwork.from_network(linear).predict(holes, method="map")
    _compare(pd.read_csv(io.StringIO(done("predict", "linear.json", "holes.csv"))), expected)
    assert list(pd.read_csv(io.StringIO(done("predict", "linear.json", "holes.csv", "--proba")))) == list(chances)


def test_faults(rows, tmp_path):
    before = set(tmp_path.iterdir())
    assert "suffix must be one of .csv" in refused("predict", "asia", "rows.csv", "--out", "filled.txt")
    assert "no such file" in refused("predict", "asia", "nothing.csv")
    assert "no folder" in refused("predict", "asia", "rows.csv", "--out", "nowhere/filled.csv")
    assert "Missing argument" in refused("predict")
    assert "neither a file nor a bundled network" in refused("predict", "asiatic", "rows.csv")
    assert set(tmp_path.iterdir()) == before
    rows.assign(number=1).to_csv("more.csv", index=False)
    assert "'number' of more.csv are not variables" in refused("predict", "asia", "more.csv")
    assert done("predict", "asia", "more.csv", "--drop", "number") == done("predict", "asia", "rows.csv")
    rows.replace({"xray": {"no": "never"}}).to_csv("more.csv", index=False)
    assert "column 'xray' holds 'never'" in refused("predict", "asia", "more.csv")
    (tmp_path / "graph.graphml").write_text(
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="directed"><node id="a"/></graph>'
        "</graphml>"
    )
    assert "network with parameters" in refused("predict", "graph.graphml", "rows.csv")


def test_an_impossible_row_leaves_the_old_file(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(readers, "CHUNK_ROWS", 100)
    rows.loc[321, ["tub", "either"]] = ["yes", "no"]
    rows.to_csv("bad.csv", index=False)
    (tmp_path / "filled.csv").write_text("old\n")
    for options in ((), ("--method", "marginal"), ("--proba",)):
        error = refused("predict", "asia", "bad.csv", "--out", "filled.csv", *options)
        assert "1 row(s), the first at position 321, are impossible" in error
    assert (tmp_path / "filled.csv").read_text() == "old\n"
    assert not list(tmp_path.glob(".pgmx-*"))
    assert pgmx("predict", "--help").exit_code == 0


def test_ctrl_c_leaves_no_file(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(readers, "CHUNK_ROWS", 100)
    fill = DiscreteBayesianNetwork.fill
    calls = []

    def interrupted(self, *arguments, **options):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return fill(self, *arguments, **options)

    monkeypatch.setattr(DiscreteBayesianNetwork, "fill", interrupted)
    before = set(tmp_path.iterdir())
    result = pgmx("predict", "asia", "rows.csv", "--out", "filled.csv")
    assert (result.exit_code, result.stderr) == (130, "Interrupted before there was a result\n")
    assert set(tmp_path.iterdir()) == before and len(calls) == 3


def test_files_that_were_learned_are_matched_by_all_commands(tmp_path):
    """Codes keep their zeros, and numbers declared discrete match by value."""
    Path("codes.csv").write_text("zip,dose,k\n" + "01234,1.0,a\n02345,2.0,b\n" * 20)
    done("learn", "codes.csv", "--discrete", "dose", "--out", "codes.bif")
    Path("new.csv").write_text("zip,dose\n01234,1.0\n02345,2.0\n")
    assert done("predict", "codes.bif", "new.csv").splitlines() == ["zip,dose,k", "01234,1,a", "02345,2,b"]
    printed = done("infer", "codes.bif", "--given", "zip=01234", "--given", "dose=1.0", "--task", "MAR")
    assert "k         a      1\n" in printed
    assert "-0.6931 per row" in done("score", "codes.bif", "codes.csv")
