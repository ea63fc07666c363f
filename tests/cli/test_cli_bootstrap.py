"""``pgmx bootstrap``."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import networkx as nx
import pandas as pd
import pytest

from helpers.command_line import done, refused


def test_edges_are_listed_with_their_strengths(weather, workdir):
    text = done("bootstrap", weather, "--resamples", 12, "--out", "s.csv", "--plot", "s.svg", "--random-state", 1)
    assert "data     weather: 600 rows, 4 variables\nmethod   hill-climb (bic), 12 resamples\n" in text
    assert re.search(r"^edges    \d \(\d directed, \d undirected\) in at least [\d.]+% of the resamples$", text, re.M)
    edges = re.findall(r"^(\w+) (?:->|--) (\w+) +(\d\.\d{3}) +(\d\.\d{3})$", text, re.M)
    assert {frozenset(edge[:2]) for edge in edges} == {frozenset(("rain", "wet")), frozenset(("rain", "season"))}
    assert all(0 < float(edge[2]) <= 1 for edge in edges)
    assert text.endswith("wrote s.csv\nwrote s.svg (strong edges wide and dark)\n")
    table = pd.read_csv(workdir / "s.csv")
    assert list(table.columns) == ["from", "to", "strength", "direction"]
    assert table["strength"].between(0, 1).all()
    ElementTree.parse(workdir / "s.svg")


@pytest.mark.slow
def test_a_bundled_network_is_compared_and_a_threshold_thins_the_graph(workdir):
    options = ("asia", "--rows", 500, "--resamples", 10, "--quiet")
    text = done("bootstrap", *options, "--threshold", 0.2, "--out", "loose.graphml")
    assert re.search(r"^pairs    precision \d\.\d{3}, recall \d\.\d{3} against the true graph$", text, re.M)
    assert "strength  direction" not in text
    done("bootstrap", *options, "--threshold", 1, "--out", "sure.graphml")
    loose, sure = (nx.read_graphml(workdir / name) for name in ("loose.graphml", "sure.graphml"))
    assert set(loose) == set(sure)
    assert all(weight == 1 for _, _, weight in sure.edges(data="weight"))
    assert all(weight >= 0.2 for _, _, weight in loose.edges(data="weight"))
    assert {frozenset(edge) for edge in sure.edges()} <= {frozenset(edge) for edge in loose.edges()}
    assert sorted(path.name for path in workdir.iterdir()) == ["loose.graphml", "sure.graphml"]


def test_the_answer_does_not_depend_on_the_number_of_jobs(weather):
    first, second = (
        re.sub(r"seconds .*", "", done("bootstrap", weather, "--resamples", 4, "--n-jobs", jobs)) for jobs in (1, 2)
    )
    assert first == second


def test_other_methods(weather):
    assert "method   chow-liu (ll), 3 resamples" in done("bootstrap", weather, "--resamples", 3, "--method", "chow-liu")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing argument 'SOURCE' (see 'pgmx bootstrap --help')"),
        (("none.csv",), "no such file: none.csv"),
        (("asia", "--out", "model.bif"), "--out model.bif: the suffix must be one of .csv, .graphml, .json"),
        (("asia", "--plot", "graph.pdf"), "ending in .svg or .png"),
        (("asia", "--resamples", "0"), "Invalid value for '--resamples'"),
        (("asia", "--threshold", "1.5"), "Invalid value for '--threshold'"),
        (("asia", "--score", "bik"), "'bik' is not known"),
        (("asia", "--method", "tan"), "--method tan needs --class-node"),
        (("asia", "--checkpoint", "x"), "No such option"),
    ],
)
def test_bad_usage_is_one_line(arguments, message):
    assert message in refused("bootstrap", *arguments)


def test_no_edge_at_all_is_a_result_too(workdir):
    pd.DataFrame({"a": [0, 0, 1, 1] * 10, "b": [0, 1, 0, 1] * 10}).to_csv("coins.csv", index=False)
    text = done("bootstrap", "coins.csv", "--resamples", 1, "--plot", "coins.svg", "--out", "strengths.csv")
    assert "edges    0 (0 directed, 0 undirected)" in text
    assert Path("strengths.csv").read_text() == "from,to,strength,direction\n"
    assert Path("coins.svg").stat().st_size > 0


def test_report(workdir):
    pytest.importorskip("jinja2", reason="the extra report")
    words = ("bootstrap", "asia", "--rows", 300, "--resamples", 5, "--quiet", "--report")
    assert done(*words, "sure.html").endswith("\n\nwrote sure.html (open it in a browser)\n")
    page = Path("sure.html").read_text(encoding="utf-8")
    assert "asia" in page and "confidence" in page
    assert "--report sure.png" in refused(*words, "sure.png")
