"""``pgmx learn`` for Markov networks."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from helpers.command_line import done, pgmx, refused, warned
from pgmx.estimators import GroupLassoMarkovNetwork
from pgmx.models import PairwiseMarkovNetwork, load_markov_network

METHODS = ("best-choice", "online", "first-hit", "edge-grafting", "feature-grafting", "grafting-light", "group-lasso")


def printed(name, text):
    return re.search(rf"^{name} +(.*)$", text, re.M)[1]


def objective(text):
    return float(printed("objective", text).split()[0])


def edges(text):
    return {tuple(pair) for pair in re.findall(r"^(\w+) -- (\w+) +\d+\.\d{3}$", text, re.M)}


def write(name, text):
    Path(name).write_text(text)
    return name


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_what_belongs_together(method, weather):
    text = done("learn", weather, "--method", method)
    assert "data      weather: 600 rows, 4 variables\n" in text
    assert printed("method", text) == f"{method} (pseudolikelihood)"
    assert edges(text) == {("rain", "wet"), ("rain", "season")}
    assert float(printed("kkt", text)) <= 1e-4
    assert printed("edges", text).startswith("2 (")
    assert printed("nonzero", text).startswith("2 tables, ")
    assert re.fullmatch(r"\d+\.\d{3}", printed("seconds", text))
    assert "query     P(wet | rain = no)\n" in text
    table = re.findall(r"^  (?:False|True) +(\d\.\d{4}) +(\d\.\d{4})$", text, re.M)
    for column in range(2):
        assert sum(float(row[column]) for row in table) == pytest.approx(1, abs=2e-4)
    assert float(table[0][1]) > float(table[0][0])  # no rain: not wet


def test_methods_agree_on_the_objective(weather):
    found = [objective(done("learn", weather, "--method", method, "--lam", 0.02)) for method in METHODS]
    by_edge = [found[METHODS.index(name)] for name in METHODS if name not in ("feature-grafting", "grafting-light")]
    np.testing.assert_allclose(by_edge, by_edge[0], rtol=1e-4)
    assert found[METHODS.index("grafting-light")] == pytest.approx(found[METHODS.index("feature-grafting")], rel=1e-4)


def test_strongest_edges_come_first_and_quiet_hides_them(weather):
    text = done("learn", weather, "--method", "group-lasso")
    strengths = [float(size) for size in re.findall(r" -- \w+ +(\d+\.\d{3})$", text, re.M)]
    assert strengths == sorted(strengths, reverse=True)
    assert not edges(done("learn", weather, "--method", "group-lasso", "--quiet"))


@pytest.mark.parametrize("loss", ["exact", "bethe"])
def test_other_losses(loss, weather):
    text = done("learn", weather, "--method", "best-choice", "--loss", loss, "--l2", 0.01)
    assert f"best-choice ({loss})" in text
    assert ("rain", "wet") in edges(text)


def test_options_reach_the_learner(weather):
    assert printed("lam", done("learn", weather, "--method", "online", "--lam", 0.03)).startswith("0.03")
    assert "0.3 of the smallest penalty" in printed(
        "lam", done("learn", weather, "--method", "group-lasso", "--lam-ratio", 0.3)
    )
    text = done("learn", weather, "--method", "edge-grafting", "--max-edges", 1, "--alpha", 0.5)
    assert printed("edges", text) == "1 (1 edges activated)"
    assert "(stopped before convergence by --max-edges)" in printed("seconds", text)
    text = done("learn", weather, "--method", "group-lasso", "--lam-ratio", 2)
    assert printed("edges", text) == "0 (0 edges activated)"
    assert re.search(r"^query     P\(wet\)$", text, re.M)
    early = pgmx("learn", weather, "--method", "best-choice", "--max-time", 1e-9)
    assert "(stopped before convergence by --max-time)" in printed("seconds", early.stdout)
    assert "before its first complete pass" in early.stderr


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["held-out", "ebic", "stars"])
def test_the_penalty_is_chosen_along_a_path(rule, weather):
    text = done("learn", weather, "--method", "group-lasso", "--select", rule, "--lam-ratio", 0.01)
    assert f"(by {rule} among 20" in printed("lam", text)
    if rule != "stars":  # four variables are too few for it: one edge that comes and goes is unstable enough
        assert ("rain", "wet") in edges(text)


def test_edge_files_are_obeyed_in_either_direction(weather):
    write("must.csv", "wet,coin\n")
    write("never.csv", "from,to\nwet,rain\n")
    text = done("learn", weather, "--method", "best-choice", "--required", "must.csv", "--forbidden", "never.csv")
    assert ("coin", "wet") in edges(text)
    assert ("rain", "wet") not in edges(text)
    write("both.csv", "rain,wet\n")
    message = refused("learn", weather, "--method", "online", "--required", "both.csv", "--forbidden", "never.csv")
    assert "is required and forbidden" in message


@pytest.mark.parametrize("suffix", ["npz", "json", "graphml", "uai"])
def test_networks_are_written_read_scored_and_compared(suffix, weather, workdir):
    name = f"weather.{suffix}"
    text = done("learn", weather, "--method", "group-lasso", "--out", name, "--held-out", weather)
    assert text.endswith(f"wrote {name}\n")
    network = load_markov_network(workdir / name)
    assert isinstance(network, PairwiseMarkovNetwork)
    assert {frozenset(edge) for edge in network.edges()} == {frozenset(edge) for edge in edges(text)}
    scored = done("score", name, weather)
    assert "graph    2 edges" in scored
    inside = float(printed("held-out", text).split()[0])
    assert float(printed("pseudo", scored).split(", ")[1].split()[0]) == pytest.approx(inside, abs=2e-4)
    assert float(printed("loglik", scored).split(", ")[1].split()[0]) < 0
    assert "edges    2 shared, 0 missing and 0 extra in" in done("compare", name, name)


def test_undirected_networks_are_compared_by_their_edges(weather):
    done("learn", weather, "--method", "group-lasso", "--out", "a.npz")
    write("must.csv", "wet,coin\n")
    write("never.csv", "season,rain\n")
    options = ("--required", "must.csv", "--forbidden", "never.csv", "--out", "b.json")
    done("learn", weather, "--method", "online", *options)
    text = done("compare", "a.npz", "b.json")
    assert "graphs   a.npz: 4 variables, 2 edges; b.json: 4 variables, " in text
    extra = int(re.search(r"^edges    1 shared, 1 missing and (\d) extra in b.json$", text, re.M)[1])
    assert printed("hamming", text) == str(1 + extra)
    assert re.search(rf"^edges +{1 / (1 + extra):.3f} +0\.500 +{2 / (3 + extra):.3f}$", text, re.M)
    assert "arrows" not in text and "CPDAG" not in text
    assert f"only in b.json: {extra}\n" in text and "\n  coin -- wet\n" in text
    assert "only in a.npz: 1\n  season -- rain\n" in text
    assert "--" not in done("compare", "a.npz", "b.json", "-q")
    assert "--classes is for directed graphs, but a.npz and b.json have" in refused(
        "compare", "a.npz", "b.json", "--classes"
    )


def test_a_run_that_does_not_come_to_rest_answers_no_query(weather, monkeypatch):
    def unsettled(self, run, *args):
        learned(self, run, *args)
        self.stopped_by_, self.converged_ = "unsettled", False

    learned = GroupLassoMarkovNetwork._set_results
    monkeypatch.setattr(GroupLassoMarkovNetwork, "_set_results", unsettled)
    text = done("learn", weather, "--method", "group-lasso")
    assert printed("seconds", text).endswith(" (parameters did not converge: see --l2, --lam)")
    assert printed("query", text).startswith("left out: parameters that did not converge")
    assert "prior" not in text


def test_rows_that_a_network_does_not_know_are_refused(weather):
    done("learn", weather, "--method", "group-lasso", "--out", "w.npz")
    frame = pd.read_csv(weather)
    frame.assign(coin=7).to_csv("odd.csv", index=False)
    assert "column 'coin' has the state '7', which the network does not have" in refused("score", "w.npz", "odd.csv")
    assert "--score bic is for Bayesian networks" in refused("score", "w.npz", weather, "--score", "bic")
    frame.drop(columns="coin").to_csv("few.csv", index=False)
    assert "only in the network: 'coin'" in refused("score", "w.npz", "few.csv")


def test_a_bundled_network_is_compared_with_its_moral_graph_and_pictures_are_drawn(workdir):
    text = done("learn", "asia", "--rows", 2000, "--method", "best-choice", "--plot-history", "curves.svg")
    assert re.search(r"^pairs     precision .* against the moral graph of the true network; 10 true pairs$", text, re.M)
    done("learn", "asia", "--rows", 2000, "--method", "group-lasso", "-q")
    assert sorted(path.name for path in workdir.iterdir()) == ["asia.svg", "asia.uai", "curves.svg"]
    ElementTree.parse(workdir / "asia.svg")
    assert "share of the true edges" in (workdir / "curves.svg").read_text()


def test_searches_for_bayesian_networks_draw_their_curve_too(weather, workdir):
    assert done("learn", weather, "--plot-history", "curve.png").endswith("wrote curve.png\n")
    assert (workdir / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert "--plot-history is for --method" in refused(
        "learn", weather, "--method", "chow-liu", "--plot-history", "curve.png"
    )


def test_missing_values_may_be_dropped_or_a_state(weather):
    frame = pd.read_csv(weather)
    frame["rain"] = frame["rain"].where(frame.index % 10 > 0)
    frame.to_csv(weather, index=False)
    options = ("learn", weather, "--method", "online")
    message = refused(*options)
    assert "missing values (NaN) in column(s) 'rain': pass --missing drop to leave out the rows" in message
    assert "--missing category to make them a state, or fill them first" in message
    assert "pairwise" not in message
    assert "540 rows" in warned("leaves out 60 of 600 rows", *options, "--missing", "drop")
    assert "600 rows" in done(*options, "--missing", "category")
    assert "--missing pairwise is not for --method online: choose one of error, drop" in refused(
        *options, "--missing", "pairwise"
    )


def test_a_run_that_ends_needs_no_checkpoint(weather, workdir):
    done("learn", weather, "--method", "best-choice", "--checkpoint", "state.npz")
    assert not list(workdir.glob("state*"))


def test_resamples_tell_how_sure_the_edges_are(weather, workdir):
    options = ("--method", "group-lasso", "--resamples", 4)
    text = done("bootstrap", weather, *options, "--threshold", 0.9, "--out", "sure.graphml")
    assert "group-lasso (pseudolikelihood), 4 resamples" in text
    assert ("rain", "wet") in edges(text)
    assert "direction" not in text.partition("\n\n")[2]
    assert not nx.read_graphml(workdir / "sure.graphml").is_directed()
    text = done("bootstrap", "asia", "--rows", 300, *options, "-q")
    assert "against the moral graph of the true network" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--lam", 0.1), "--lam is for --method best-choice, online, first-hit, edge-grafting"),
        (("--method", "annealing", "--max-edges", 5), "--max-edges is for --method best-choice"),
        (("--method", "chow-liu", "--held-out", "x.csv"), "--held-out is for --method best-choice"),
        (("--method", "online", "--score", "bic"), "--score is for --method hill-climb, annealing"),
        (("--method", "online", "--tiers", "t.csv"), "--tiers is for --method hill-climb, annealing"),
        (
            ("--method", "online", "--strategy", "thorough"),
            "--strategy is for --method hill-climb, dynamic, mmhc, not for online",
        ),
        (("--method", "first-hit", "--alpha", 1), "--alpha is for --method best-choice, online, edge-grafting"),
        (
            ("--method", "online", "--select", "ebic"),
            "--select is for --method group-lasso, glasso, clime, neighborhood, lds, svarm, kernel-svarm, "
            "sparse-tensor-sem, not for online",
        ),
        (("--method", "online", "--alpha", 2), "Invalid value for '--alpha'"),
        (("--method", "pc", "--alpha", 0), "--alpha 0 is not a significance level: give a number above 0 and below 1"),
        (("--method", "mmhc", "--alpha", 1), "--alpha 1 is not a significance level"),
        (("--method", "online", "--lam", -1), "Invalid value for '--lam'"),
        (("--method", "online", "--lam", 1, "--lam-ratio", 1), "--lam and --lam-ratio both set the penalty"),
        (("--method", "online", "--held-out", "none.csv"), "--held-out none.csv: no such file"),
        (("--method", "online", "--out", "w.bif"), "--out w.bif: the suffix must be one of .uai, .npz, .json"),
        (("--out", "w.uai"), "--out w.uai: the suffix must be one of .bif"),
        (("--method", "online", "--plot-history", "w.pdf"), "--plot-history w.pdf: a picture is written to"),
        (("--plot", "a.svg", "--plot-history", "a.svg"), "--plot and --plot-history name the same file a.svg"),
    ],
)
def test_options_of_the_other_family_are_refused(arguments, message, weather):
    assert message in refused("learn", weather, *arguments)


def test_floats_are_refused(floats):
    assert "column 'a' is continuous, but --method online is for discrete columns" in refused(
        "learn", floats, "--method", "online"
    )


def test_the_same_command_prints_the_same_for_any_number_of_jobs():
    texts = [
        done("learn", "asia", "--rows", 500, "--method", "best-choice", "--n-jobs", jobs, "--out", "a.json")
        for jobs in (1, 2, 1)
    ]
    assert len({re.sub(r"seconds .*", "", text) for text in texts}) == 1
