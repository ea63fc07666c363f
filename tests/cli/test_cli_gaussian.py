"""``pgmx learn`` for Gaussian graphs, and what the other commands make of them."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd
import pytest

from helpers.command_line import done, refused, warned
from pgmx.cli.learn.undirected import predict
from pgmx.datasets import gaussian_random_network
from pgmx.models import GaussianMarkovNetwork, load_gaussian_network

METHODS = ("glasso", "clime", "neighborhood")
CHAIN = {("a", "b"), ("b", "c"), ("c", "d")}


@pytest.fixture(scope="module")
def rows():
    """A chain a - b - c - d with a negative link between c and d, and noise apart from it."""
    rng = np.random.default_rng(8)
    a, *noise, apart = rng.normal(size=(5, 400))
    b = 0.8 * a + 0.6 * noise[0]
    c = 0.8 * b + 0.6 * noise[1]
    d = -0.8 * c + 0.6 * noise[2]
    return pd.DataFrame({"a": a, "b": b, "c": 100 + 5 * c, "d": d, "apart": apart})


@pytest.fixture
def table(rows, tmp_path):
    path = tmp_path / "cells.csv"
    rows.to_csv(path, index=False)
    return path


def printed(name, text):
    return re.search(rf"^{name} +(.*)$", text, re.M)[1]


def edges(text):
    found = re.findall(r"^(\w+) -- (\w+) +(-?\d\.\d{3})$", text, re.M)
    return {(u, v): float(weight) for u, v, weight in found}


def prediction(text):
    lines = re.findall(r"^  (before|after) +(.*)$", text, re.M)
    return {name: [float(figure) for figure in figures.split()] for name, figures in lines}


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_the_chain(method, table):
    text = done("learn", table, "--method", method, "--lam-ratio", 0.5)
    assert "data      cells: 400 rows, 5 variables\n" in text
    assert printed("method", text).split(" (")[0] == method
    found = edges(text)
    assert CHAIN <= set(found) <= {*CHAIN, ("a", "c"), ("b", "d")}
    assert found["c", "d"] < 0 < found["a", "b"]
    sizes = [abs(weight) for weight in found.values()]
    assert sizes == sorted(sizes, reverse=True)
    assert printed("edges", text) == f"{len(found)} of 10 pairs"
    assert re.fullmatch(r"\d\.\de-\d\d \(converged\)|0\.0e\+00 \(converged\)", printed("gap", text))
    assert "0.5 of the smallest penalty without edges" in printed("lam", text)
    assert re.fullmatch(r"\d+\.\d{3}", printed("seconds", text))
    assert printed("model", text).startswith("maximum likelihood" if method == "neighborhood" else "penalised")


def test_one_variable_is_predicted_from_its_strongest_neighbour(table):
    text = done("learn", table, "--method", "glasso", "--lam-ratio", 0.1, "--out", "g.npz")
    target, evidence, value = re.fullmatch(r"(\w+) \| (\w+) = (.*)", printed("query", text)).groups()
    network = load_gaussian_network("g.npz")
    near = network.partial_correlations[target].drop(target).abs()
    assert evidence == near.idxmax()
    (mean, spread), (mean_after, spread_after) = prediction(text).values()
    assert mean == pytest.approx(network.mean[target], rel=1e-4)
    assert spread == pytest.approx(network.covariance.loc[target, target] ** 0.5, rel=1e-4)
    pair = network.covariance.loc[[target, evidence], [target, evidence]].to_numpy()
    slope = pair[0, 1] / pair[1, 1]
    assert mean_after == pytest.approx(mean + slope * (float(value) - network.mean[evidence]), rel=1e-3)
    assert spread_after == pytest.approx((pair[0, 0] - slope * pair[0, 1]) ** 0.5, rel=1e-4)


def test_an_edgeless_graph_and_a_single_variable_are_told_of(table, rows):
    text = done("learn", table, "--method", "glasso", "--lam-ratio", 1.5, "--plot", "none.svg")
    assert printed("edges", text) == "0 of 10 pairs"
    assert printed("query", text) == "apart"
    assert list(prediction(text)) == ["before"]
    rows[["a"]].to_csv("one.csv", index=False)
    assert printed("edges", done("learn", "one.csv", "--method", "glasso")) == "0 of 0 pairs"


def test_options_reach_the_learner(table):
    assert printed("lam", done("learn", table, "--method", "glasso", "--lam", 0.25)).startswith("0.25, ")
    loose, strict = (
        edges(done("learn", table, "--method", "neighborhood", "--rule", rule, "--lam-ratio", 0.05))
        for rule in ("or", "and")
    )
    assert set(strict) <= set(loose)
    for solver in ("homotopy", "admm"):
        text = done("learn", table, "--method", "clime", "--solver", solver, "--lam-ratio", 0.5)
        assert printed("method", text) == f"clime (solver {solver})"
        assert set(edges(text)) >= CHAIN


def test_a_run_that_is_ended_says_so():
    gaussian_random_network(30, 4).simulate(60).to_csv("many.csv", index=False)
    text = done("learn", "many.csv", "--method", "glasso", "--lam-ratio", 0.1, "--max-time", 1e-9)
    assert printed("gap", text).endswith(" (stopped before convergence by --max-time)")
    assert re.search(r"^query     x\d+", text, re.M)


@pytest.mark.parametrize("ranks", ["kendall", "spearman", "shrinkage", "truncation"])
def test_ranks_do_not_care_for_monotone_transforms(ranks, table, rows):
    (rows**3).assign(d=np.exp(rows["d"])).to_parquet("bent.parquet")
    options = ("--method", "glasso", "--nonparanormal", ranks)
    straight, bent = done("learn", table, *options), done("learn", "bent.parquet", *options, "--out", "bent.npz")
    assert printed("method", straight) == f"glasso (nonparanormal by {ranks})"
    assert edges(straight) == edges(bent) != {}
    for name in ("objective", "lam"):
        assert printed(name, straight) == printed(name, bent)
    assert re.search(r"^ +median +16 % +84 %$", bent, re.M)
    for median, low, high in prediction(bent).values():
        assert low < median < high
    assert "normal scores" in printed("loglik", done("score", "bent.npz", "bent.parquet"))


@pytest.mark.parametrize("rule", ["ebic", "stars", "cv"])
@pytest.mark.slow
def test_the_penalty_is_chosen_along_a_path_and_the_path_drawn(rule, table, workdir):
    text = done("learn", table, "--method", "glasso", "--select", rule, "--plot-history", "path.svg")
    assert re.search(rf"\(by {rule} among \d+", printed("lam", text))
    assert text.endswith("wrote path.svg\n")
    ElementTree.parse(workdir / "path.svg")
    again = done("learn", table, "--method", "glasso", "--select", rule, "--n-jobs", 2)
    assert printed("lam", again) == printed("lam", text)
    assert edges(again) == edges(text)


@pytest.mark.slow
def test_the_end_of_a_path_is_told_in_words_of_the_command(table):
    options = ("--method", "glasso", "--select", "cv")
    text = done("learn", table, *options, "--max-time", 1e-9)
    assert re.search(r"\(the path was stopped by --max-time after \d+ of 20 penalties\)$", printed("seconds", text))
    text = done("learn", table, *options, "--lam-ratio", 0.97)
    assert "; the smallest: try a smaller --lam-ratio)" in printed("lam", text)


@pytest.mark.parametrize("suffix", ["npz", "json", "graphml"])
def test_networks_are_written_read_scored_and_compared(suffix, table, rows, workdir):
    name = f"cells.{suffix}"
    text = done("learn", table, "--method", "glasso", "--out", name, "--held-out", table)
    assert text.endswith(f"wrote {name}\n")
    network = load_gaussian_network(workdir / name)
    assert isinstance(network, GaussianMarkovNetwork)
    assert {frozenset(edge) for edge in network.edges()} == {frozenset(edge) for edge in edges(text)}
    scored = done("score", name, table)
    assert "data     cells: 400 rows, 5 variables\n" in scored
    mean = float(printed("loglik", scored).split(", ")[1].split()[0])
    assert mean == pytest.approx(network.log_likelihood(rows).mean(), abs=1e-4)
    assert float(printed("held-out", text).split()[0]) == mean
    assert f"edges    {len(edges(text))} shared, 0 missing and 0 extra" in done("compare", name, name)


def test_files_that_do_not_fit_the_network_are_refused(table, rows):
    done("learn", table, "--method", "glasso", "--out", "g.npz")
    rows.drop(columns="a").to_csv("few.csv", index=False)
    assert "'a' have no column" in refused("score", "g.npz", "few.csv")
    rows.assign(b="text").to_csv("text.csv", index=False)
    assert "column(s) 'b' hold states or text" in refused("score", "g.npz", "text.csv")
    assert "--score bic is for Bayesian networks, but g.npz is a Gaussian graph" in refused(
        "score", "g.npz", table, "--score", "bic"
    )


def test_pictures_tell_the_sign(table, workdir):
    text = done("learn", table, "--method", "glasso", "--plot", "graph.svg", "-q")
    assert text.endswith("wrote graph.svg (strong edges wide, negative edges dashed and red)\n")
    assert not edges(text)
    assert "stroke-dasharray" in (workdir / "graph.svg").read_text()
    text = done("learn", table, "--method", "glasso", "--lam-ratio", 1.5, "--plot", "none.svg")
    assert text.endswith("wrote none.svg (strong edges wide)\n")


def test_long_lists_of_edges_are_cut():
    wide = pd.DataFrame(np.random.default_rng(1).normal(size=(50, 12)), columns=list("abcdefghijkl"))
    wide.to_csv("wide.csv", index=False)
    text = done("learn", "wide.csv", "--method", "glasso", "--lam", 0)
    assert len(edges(text)) == 40
    assert "\n... and 26 weaker ones\n" in text


def test_missing_values_may_be_dropped_or_left_out_pairwise(table, rows):
    rows.assign(b=rows["b"].where(rows.index % 10 > 0)).to_csv("gaps.csv", index=False)
    options = ("learn", "gaps.csv", "--method", "glasso", "--lam-ratio", 0.5)
    message = refused(*options)
    assert "missing values (NaN) in column(s) 'b': pass --missing drop" in message
    assert "--missing pairwise" in message
    assert "pairwise" not in refused(*options, "--nonparanormal", "truncation")
    assert "gaps: 360 rows, 5 variables" in warned("leaves out 40 of 400 rows", *options, "--missing", "drop")
    for more in ((), ("--nonparanormal", "kendall")):
        text = done(*options, "--missing", "pairwise", *more)
        assert "gaps: 360 rows or more per pair, 5 variables" in text
        assert set(edges(text)) >= CHAIN
    assert "column(s) 'b': pass --missing drop" in refused("learn", table, *options[2:], "--held-out", "gaps.csv")
    assert "of 360 rows" in printed(
        "held-out",
        warned("leaves out 40 of 400", "learn", table, *options[2:], "--held-out", "gaps.csv", "--missing", "drop"),
    )


def test_an_indefinite_correlation_is_repaired_and_told_of():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(24, 8)), columns=list("abcdefgh"))
    frame.mask(rng.random(frame.shape) < 0.5).to_csv("gaps.csv", index=False)
    text = done("learn", "gaps.csv", "--method", "glasso", "--missing", "pairwise")
    assert re.match(r"correlations changed by up to 0\.\d+", printed("repaired", text))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--method", "online", "--rule", "or"), "--rule is for --method neighborhood, not for online"),
        (("--method", "glasso", "--solver", "admm"), "--solver is for --method clime, not for glasso"),
        (("--nonparanormal", "kendall"), "--nonparanormal is for --method glasso, clime, neighborhood, not for hill"),
        (("--method", "clime", "--score", "bic"), "--score is for --method hill-climb"),
        (("--method", "clime", "--required", "x.csv"), "--required is for --method hill-climb"),
        (("--method", "clime", "--l2", 0.1), "--l2 is for --method best-choice"),
        (("--method", "clime", "--checkpoint", "c"), "--checkpoint is for --method hill-climb"),
        (("--method", "glasso", "--select", "held-out"), "--select held-out is not for --method glasso: choose one of"),
        (("--method", "group-lasso", "--select", "cv"), "--select cv is not for --method group-lasso: choose one of"),
        (("--method", "glasso", "--lam", 1, "--lam-ratio", 1), "--lam and --lam-ratio both set the penalty"),
        (("--method", "glasso", "--lam", 1, "--select", "cv"), "--lam is one penalty, but --select chooses from a"),
        (("--method", "glasso", "--lam-ratio", 1, "--select", "cv"), "--lam-ratio 1 cannot be the end of a path"),
        (("--method", "glasso", "--plot-history", "p.svg"), "--plot-history of --method glasso draws a path of"),
        (("--method", "glasso", "--missing", "category"), "--missing category is not for --method glasso: choose one"),
        (
            ("--method", "glasso", "--missing", "pairwise", "--nonparanormal", "shrinkage"),
            "--missing pairwise is not for --nonparanormal shrinkage: choose kendall or spearman",
        ),
        (("--method", "glasso", "--out", "g.uai"), "--out g.uai: the suffix must be one of .npz, .json, .graphml"),
        (("--method", "glasso", "--held-out", "no.csv"), "--held-out no.csv: no such file"),
        (("--method", "glasso", "--rows", 10), "--rows is for bundled networks"),
    ],
)
def test_options_that_do_not_fit_are_refused(arguments, message, table):
    assert message in refused("learn", table, *arguments)


def test_columns_without_a_correlation_are_named(rows):
    for column, message in (
        ("text", "column(s) 'odd' hold states or text, not numbers"),
        (1.5, "column(s) 'odd' are constant"),
        (np.where(rows.index == 3, np.inf, rows["a"]), "infinite values (inf) in column(s) 'odd'"),
    ):
        rows.assign(odd=column).to_csv("odd.csv", index=False)
        assert message in refused("learn", "odd.csv", "--method", "glasso")


def test_networks_of_states_are_no_source_and_resamples_not_for_these_methods(table):
    assert "asia is a bundled discrete network" in refused("learn", "asia", "--method", "glasso")
    assert "Invalid value for '--method'" in refused("bootstrap", table, "--method", "glasso")


def test_predictions_of_variables_of_any_name():
    network = GaussianMarkovNetwork.from_covariance([1, ("x", 2)], [[4.0, 1.0], [1.0, 1.0]], mean=[10.0, 0.0])
    found = predict(network, 1, ("x", 2))
    assert (found.value, found.columns) == (1.0, ("mean", "sd"))
    assert found.before == pytest.approx((10, 2))
    assert found.after == pytest.approx((11, 3**0.5))
    assert predict(network, 1, None).after == pytest.approx((10, 2))
