"""The HTML report: what it holds of each kind of learner, and that names cannot break out of it."""

import hashlib
import json
import re
import tomllib
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork
from sklearn import config_context

import pgmx
from helpers.command_line import done, refused
from helpers.learners import every_class
from helpers.series_learners import every_series_learner, make_series_learner, simulate_system
from pgmx.datasets import load_network, sample
from pgmx.estimators import (
    PC,
    BlockBootstrap,
    BootstrapStructure,
    GraphicalLasso,
    HillClimbSearch,
    LinearSVARM,
    SparsityInducingLDS,
)
from pgmx.metrics import edge_differences
from pgmx.models import PAG, TimeSeriesGraph, save_model
from pgmx.plotting import save_report
from pgmx.plotting.reports import page as report_page

EVIL = "<script>alert(1)</script>"


class Reader(HTMLParser):
    """Collect scripts, and the addresses of what a page would load."""

    def __init__(self):
        super().__init__()
        self.scripts, self.loads, self.inside = [], [], False

    def handle_starttag(self, tag, attributes):
        marks = dict(attributes)
        self.inside = tag == "script"
        if self.inside:
            self.scripts.append("")
        self.loads += [marks[key] for key in ("src", "href") if marks.get(key, "#")[:1] != "#" and tag != "a"]

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.scripts[-1] += data


def read_page(path):
    """Return the data of a page, its text and its reader."""
    text = Path(path).read_text(encoding="utf-8")
    reader = Reader()
    reader.feed(text)
    return json.loads(reader.scripts[0]), text, reader


@pytest.fixture(scope="module")
def rows():
    return sample(load_network("asia"), 800)


@pytest.fixture(scope="module")
def learned(rows):
    return HillClimbSearch(scoring_method="bic").fit(rows)


def test_a_page_needs_nothing_else(tmp_path, learned, rows):
    page, text, reader = read_page(learned.report(tmp_path / "r.html", data=rows))
    assert reader.loads == ["data:,"]  # no icon is asked for
    assert "default-src 'none'" in text
    assert len(reader.scripts) == 10
    assert page["names"] == list(rows)
    assert len(page["drawing"]["nodes"]) == 8
    assert len(page["edges"]) == len(learned.graph_.edges()) - sum(
        (v, u) in learned.graph_.edges() for u, v in learned.graph_.edges() if u < v
    )
    table = page["ofVariable"]["0"][0]
    cpd = learned.model_.get_cpds(page["names"][0])
    assert np.allclose([row[-2:] for row in table["rows"]], cpd.values.reshape(2, -1).T, rtol=1e-3)
    assert page["variables"]["rows"][0][:3] == [page["names"][0], "discrete", 2]
    for text_of in ("800", "scoring_method", "numpy", "converged"):
        assert text_of in text


def test_the_same_learner_gives_the_same_bytes(tmp_path, learned):
    first, second = (save_report(learned, tmp_path / name) for name in ("a.html", "b.html"))
    assert first.read_bytes() == second.read_bytes()
    assert pgmx.report is save_report


def test_names_are_escaped(tmp_path):
    names = [EVIL, "</script><img src=x onerror=alert(2)>", "a & b", '"quoted"', "\u2028"]
    data = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (60, 5)), columns=names).astype(str) + "<b>"
    learner = HillClimbSearch(scoring_method="bic", required_edges=[(EVIL, names[1])]).fit(data)
    page, text, reader = read_page(learner.report(tmp_path / "r.html", data=data, title=EVIL, notes=[EVIL]))
    assert page["names"][:4] == names[:4]
    assert EVIL not in text
    assert "<img" not in text
    assert "<b>" not in text
    assert len(reader.scripts) == 10


def test_libraries_are_as_npm_serves_them():
    folder = Path(pgmx.__file__).parent / "plotting" / "reports" / "vendor"
    told = dict(re.findall(r"^\| (\S+\.js) \|.* ([0-9a-f]{64}) \|$", (folder / "README.md").read_text(), re.M))
    assert told == {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.glob("*.js")}
    for file in folder.glob("*.js"):
        assert "</script" not in file.read_text(encoding="utf-8").lower()


def test_the_package_has_these_files():
    folder = Path(pgmx.__file__).parent
    project = tomllib.loads((folder.parent / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["pgmx"]
    shipped = {file for pattern in patterns for file in folder.glob(pattern)}
    assert {
        file for file in (folder / "plotting" / "reports").rglob("*.*") if file.suffix not in (".py", ".pyc")
    } <= shipped


@every_class
def test_every_learner(tmp_path, make):
    for table in make.tables:
        learner = make().fit(table(0))
        assert "pgmx-result" in learner._repr_mimebundle_()["text/html"]
        page, *_ = read_page(learner.report(tmp_path / "r.html"))
        assert page["names"] == [str(name) for name in learner.variables_]
        assert len(page["edges"]) == learner.graph_.number_of_edges() or learner.graph_.is_directed()
        if hasattr(learner, "model_") and page["edges"]:
            assert page["ofVariable"] or page["ofEdge"]


@pytest.mark.filterwarnings("ignore:not identifiable")
@every_series_learner
def test_every_series_learner(tmp_path, cls):
    learner = make_series_learner(cls).fit(simulate_system()[0])
    page, *_ = read_page(learner.report(tmp_path / "r.html"))
    assert page["names"] == list(learner.variables_)
    assert {(u, v) for u, v, *_ in page["edges"]}
    assert all(edge[6] for edge in page["edges"])  # lags


def test_a_bootstrap_has_weak_pairs_behind_its_slider(tmp_path, rows, learned):
    boot = BootstrapStructure(HillClimbSearch(scoring_method="bic"), n_resamples=10).fit(rows)
    page, *_ = read_page(boot.report(tmp_path / "r.html"))
    assert page["threshold"] == boot.threshold_
    assert len(page["edges"]) == len(boot.strengths_)
    shares = sorted((edge[4] for edge in page["edges"]), reverse=True)
    assert np.allclose(shares, boot.strengths_["strength"], atol=1e-5)
    assert all((edge[4] >= boot.threshold_ - 1e-4) == bool(edge[7]) for edge in page["edges"])
    page, *_ = read_page(learned.report(tmp_path / "r.html", bootstrap=boot))
    assert len(page["edges"]) == len({frozenset(edge) for edge in learned.graph_.edges()})
    with pytest.raises(ValueError, match="bootstrap has the variable 'nobody'"):
        learned.report(tmp_path / "r.html", bootstrap={("nobody", "asia"): 0.5})


def test_a_block_bootstrap(tmp_path):
    boot = BlockBootstrap(n_resamples=5).fit(simulate_system()[0])
    page, *_ = read_page(boot.report(tmp_path / "r.html"))
    assert any(edge[4] is not None for edge in page["edges"])


def test_models_and_graphs(tmp_path):
    page, *_ = read_page(save_report(load_network("cancer"), tmp_path / "r.html"))
    assert len(page["ofVariable"]) == 5
    assert page["variables"]["rows"][0][1] == "discrete"
    page, *_ = read_page(save_report(nx.cycle_graph(5), tmp_path / "r.html"))
    assert [len(page["names"]), len(page["edges"])] == [5, 5]
    rng = np.random.default_rng(0)
    model = GraphicalLasso(lam_ratio=0.2).fit(rng.normal(size=(50, 4)) + rng.normal(size=(50, 1))).model_
    page, *_ = read_page(save_report(model, tmp_path / "r.html"))
    assert page["weightLabel"] == "partial correlation"


def test_a_large_table_of_parameters_is_cut(tmp_path):
    model = DiscreteBayesianNetwork([(f"p{k}", "x") for k in range(7)])
    for k in range(7):
        model.add_cpds(TabularCPD(f"p{k}", 2, [[0.5], [0.5]]))
    model.add_cpds(TabularCPD("x", 2, np.full((2, 128), 0.5), [f"p{k}" for k in range(7)], [2] * 7))
    page, *_ = read_page(save_report(model, tmp_path / "r.html"))
    table = page["ofVariable"][str(page["names"].index("x"))][0]
    assert [len(table["rows"]), table["n_rows"]] == [48, 128]


def test_a_large_graph_is_drawn_in_part(tmp_path, monkeypatch):
    monkeypatch.setattr(report_page, "MOST_NODES", 110)
    monkeypatch.setattr(report_page, "MOST_EDGES", 120)
    graph = nx.gnm_random_graph(200, 600, seed=1)
    nx.set_edge_attributes(graph, {edge: float(k) for k, edge in enumerate(graph.edges())}, "weight")
    page, text, _ = read_page(save_report(graph, tmp_path / "r.html"))
    assert len(page["names"]) == 200
    assert len(page["edges"]) == 600
    assert len(page["drawing"]["nodes"]) == len(page["drawing"]["overview"]["dots"]) == 110
    assert len(page["drawing"]["edges"]) <= 120
    assert "The graph shows 110 of 200 variables" in text
    strongest = max(range(600), key=lambda k: page["edges"][k][3])
    assert strongest in page["drawing"]["edges"]


def test_bad_usage(tmp_path, learned):
    with pytest.raises(ValueError, match=r"ending in .html or .htm, got 'r.pdf'"):
        learned.report(tmp_path / "r.pdf")
    with pytest.raises(AttributeError, match="not fitted"):
        HillClimbSearch().report(tmp_path / "r.html")
    with pytest.raises(TypeError, match="expected a pgmpy or networkx graph or a fitted learner, got int"):
        save_report(3, tmp_path / "r.html")
    with pytest.raises(ValueError, match="no nodes"):
        save_report(nx.Graph(), tmp_path / "r.html")
    with pytest.raises(AttributeError, match="no attribute 'reports'"):
        pgmx.reports  # noqa: B018


def test_the_command_line_writes_one(tmp_path, monkeypatch, rows):
    monkeypatch.chdir(tmp_path)
    rows.to_csv("rows.csv", index=False)
    rows.astype("category").apply(lambda column: column.cat.codes).to_csv("numbers.csv", index=False)
    assert done("learn", "rows.csv", "--report", "r.html").endswith("wrote r.html (open it in a browser)\n")
    _, text, _ = read_page("r.html")
    assert "rows, learned by hill-climb" in text
    assert "add --report FILE.html" in refused("learn", "rows.csv", "--reference", "asia")
    done("learn", "rows.csv", "--report", "s.html", "--reference", "asia")
    verdicts = read_page("s.html")[0]["verdicts"]
    done("learn", "asia", "--rows", "100", "--report", "s.html", "--out", "s.bif")  # with the true graph
    assert verdicts and read_page("s.html")[0]["verdicts"]
    for method in ("group-lasso", "glasso", "dense-lds"):
        done("learn", "numbers.csv", "--method", method, "--report", f"{method}.html")
        assert read_page(f"{method}.html")[0]["names"] == list(rows)
    assert "--report r.svg: a report is written to a file ending in .html" in refused(
        "learn", "rows.csv", "--report", "r.svg"
    )


def test_a_notebook_shows_the_result_below_the_diagram(learned):
    html = learned._repr_mimebundle_()["text/html"]
    assert html.count('class="pgmx-result"') == 1
    assert "sk-container" in html
    picture = html[html.index("<svg", html.index("pgmx-result")) : html.rindex("</svg>") + 6]
    root = ElementTree.fromstring(picture)
    assert sum(element.get("id", "").startswith("label-") for element in root.iter()) == 8
    assert f"<b>{learned.score_:,.7g}"[:10] in html
    assert "pgmx-result" not in HillClimbSearch()._repr_mimebundle_()["text/html"]
    with config_context(display="text"):
        assert "text/html" not in learned._repr_mimebundle_()


def test_a_notebook_shows_the_communities_of_a_large_graph():
    data = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (50, 70)), columns=[f"<b>{k}" for k in range(70)])
    html = HillClimbSearch(scoring_method="aic", max_indegree=1).fit(data)._repr_mimebundle_()["text/html"]
    picture = html[html.index("<svg", html.index("pgmx-result")) : html.rindex("</svg>") + 6]
    assert re.search(r">&lt;b&gt;\d+<", picture) and "others" in picture
    assert "variables <b>70</b>" in html


def test_the_command_line_shows_a_model(tmp_path, monkeypatch, rows, learned):
    monkeypatch.chdir(tmp_path)
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    save_model(learned.model_, "model.bif")
    rows.to_csv("rows.csv", index=False)
    assert done("show", "model.bif", "--data", "rows.csv", "--out", "m.html") == "wrote m.html\n"
    page, text, _ = read_page("m.html")
    assert sorted(page["names"]) == sorted(rows)
    assert "800" in text
    assert opened == []
    address = Path(done("show", "asia").removeprefix("wrote ").strip()).as_uri()
    assert opened == [address]
    assert "ending in .html" in refused("show", "asia", "--out", "m.pdf")
    done("show", "model.bif", "--reference", "asia", "--out", "m.html")
    assert read_page("m.html")[0]["verdicts"]
    assert "different nodes" in refused("show", "model.bif", "--reference", "cancer", "--out", "m.html")


def test_without_jinja_a_report_names_the_extra_and_notebooks_show_the_diagram_alone(monkeypatch, tmp_path):
    learned = HillClimbSearch(scoring_method="bic").fit(sample(load_network("cancer"), 200))
    assert "pgmx-result" in learned._repr_mimebundle_()["text/html"]
    monkeypatch.setattr(report_page, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"a report needs Jinja2.*pgmx\[report\]"):
        learned.report(tmp_path / "report.html")
    assert "pgmx-result" not in learned._repr_mimebundle_()["text/html"]
    assert "pgmx[report]" in refused("learn", "cancer", "--rows", "100", "--report", str(tmp_path / "report.html"))
    assert not list(tmp_path.iterdir())


def test_series_are_told_without_units(tmp_path):
    rows = pd.DataFrame(simulate_system(3)[0], columns=list("abc"))
    pages = []
    for factor in (1.0, 1000.0):
        learner = SparsityInducingLDS(lam_ratio=0.1).fit(rows * [factor, 1.0, 1.0])
        page, text, _ = read_page(learner.report(tmp_path / "r.html"))
        pages.append(page)
        assert "Strengths do not depend on the units of the series" in text
    one, other = ([edge[:4] for edge in page["edges"]] for page in pages)
    assert one == other
    assert pages[0]["weightLabel"] == "strength"
    graph = learner.graph_
    signed = graph.to_arrays("strength")[1] * np.sign(graph.to_arrays("weight")[1])
    assert {(u, v): weight for u, v, _, weight in other} == {
        (source, target): pytest.approx(signed[target, source], rel=1e-4) for target, source in np.argwhere(signed)
    }
    table = pages[1]["ofVariable"]["0"][0]
    assert table["columns"] == ["variable", "lag", "strength", "weight"]
    strengths = [row[2] for row in table["rows"]]
    assert strengths == sorted(strengths, reverse=True)


def test_series_have_the_confidence_of_their_lags(tmp_path):
    rows = pd.DataFrame(simulate_system(3)[0], columns=list("abc"))
    learner = LinearSVARM(lam_ratio=0.1, lags=2).fit(rows)
    boot = BlockBootstrap(learner, n_resamples=4).fit(rows)
    page, *_ = read_page(learner.report(tmp_path / "r.html", bootstrap=boot))
    lines = 0
    for u, v, is_arrow, _, confidence, _, lags, *_ in page["edges"]:
        shares = [boot.edge_probability_[int(lag), v, u] for lag in lags.split(", ")]
        assert confidence == max(shares)
        lines += not is_arrow
    assert lines
    other, *_ = read_page(learner.report(tmp_path / "s.html", bootstrap=boot.strengths_))
    assert other["edges"] == page["edges"]
    itself, *_ = read_page(boot.report(tmp_path / "b.html"))
    assert all(edge[4] >= 0.9 for edge in itself["edges"])
    with pytest.raises(ValueError, match="bootstrap has the variable 'c', which is not in the graph"):
        LinearSVARM(lam_ratio=0.1).fit(rows[["a", "b"]]).report(tmp_path / "t.html", bootstrap=boot)


# ---- a reference ----


def list_verdicts(page):
    """Return the pairs of names of the edges by verdict."""
    found = {}
    for u, v, *rest in page["edges"]:
        found.setdefault(rest[8] if len(rest) > 8 else "", set()).add((page["names"][u], page["names"][v]))
    return found


def test_edges_are_compared_with_a_reference(tmp_path, learned):
    truth = nx.DiGraph([*load_network("asia").edges(), ("asia", "xray"), ("smoke", "xray")])
    truth.remove_edge("smoke", "lung")
    page, text, _ = read_page(learned.report(tmp_path / "r.html", reference=truth))
    found, differences = list_verdicts(page), edge_differences(truth, learned)
    for verdict, listed in (("extra", differences.added), ("missing", differences.missing)):
        assert {frozenset(pair) for pair in found[verdict]} == {frozenset((u, v)) for u, _, v in listed}
    turned = [*differences.reversed, *differences.directed, *differences.undirected]
    assert {frozenset(pair) for pair in found["turned"]} == {frozenset((u, v)) for u, _, v in turned}
    assert {verdict: count for verdict, _, count in page["verdicts"]} == {
        verdict: len(found.get(verdict, ())) for verdict in ("shared", "turned", "extra", "missing")
    }
    for u, v, *_, verdict, other in (edge for edge in page["edges"] if edge[10] == "turned"):
        sign = "→" if truth.has_edge(page["names"][u], page["names"][v]) else "←"
        assert (verdict, other) == ("turned", sign)
    assert f"{len(found['missing'])} only in the reference" in text
    rest, *_ = read_page(learned.report(tmp_path / "r.html"))
    assert rest["verdicts"] == []
    assert rest["edges"] == [edge[:10] for edge in page["edges"] if edge[10] != "missing"]
    with pytest.raises(ValueError, match="the graph and its reference have different nodes; only in the graph: 'asia'"):
        learned.report(tmp_path / "r.html", reference=load_network("cancer"))
    with pytest.raises(TypeError, match="a PAG can be compared with a PAG only"):
        learned.report(tmp_path / "r.html", reference=PAG())


def test_a_bootstrap_has_the_confidence_of_missing_edges(tmp_path, rows):
    boot = BootstrapStructure(HillClimbSearch(scoring_method="bic"), n_resamples=4).fit(rows)
    page, *_ = read_page(boot.report(tmp_path / "r.html", reference=load_network("asia")))
    shares = {frozenset((u, v)): share for u, v, share in boot.strengths_[["from", "to", "strength"]].values}
    pairs = [frozenset(page["names"][v] for v in edge[:2]) for edge in page["edges"]]
    assert len(pairs) == len(set(pairs))  # a weak pair that the reference has is one edge
    assert [edge[4] for edge in page["edges"]] == pytest.approx([shares.get(pair, 0.0) for pair in pairs], abs=1e-5)


def test_marks_of_pags_are_compared(tmp_path):
    one = PAG([("a", "b", "o", ">"), ("b", "c", ">", ">"), ("c", "d", "-", ">")])
    other = PAG([("b", "a", "o", ">"), ("b", "c", ">", ">"), ("d", "a", "o", "o")])
    page, *_ = read_page(save_report(one, tmp_path / "r.html", reference=other))
    signs = {(*(page["names"][v] for v in edge[:2]), edge[8]): edge[10:] for edge in page["edges"]}
    assert signs == {
        ("a", "b", "o->"): ["turned", "<-o"],
        ("b", "c", "<->"): ["shared", ""],
        ("c", "d", "-->"): ["extra", ""],
        ("a", "d", "o-o"): ["missing", ""],
    }


def test_lags_are_compared(tmp_path):
    own = [("x", 1, "x"), ("x", 1, "y"), ("x", 2, "y"), ("y", 0, "x")]
    other = [("x", 1, "x"), ("x", 1, "y"), ("x", 0, "y"), ("y", 2, "x")]
    graphs = [TimeSeriesGraph([((u, lag), (v, 0)) for u, lag, v in edges]) for edges in (own, other)]
    for graph in graphs:
        graph.add_nodes_from((name, lag) for name in "xy" for lag in range(3))
    page, *_ = read_page(save_report(graphs[0], tmp_path / "r.html", reference=graphs[1]))
    assert {(*(page["names"][v] for v in edge[:2]), edge[6], edge[10]) for edge in page["edges"]} == {
        ("x", "x", "1", "shared"),
        ("x", "y", "1", "shared"),
        ("x", "y", "2", "extra"),
        ("y", "x", "0", "turned"),
        ("y", "x", "2", "missing"),
    }


def test_marks_and_p_values_of_pags(tmp_path):
    pag = PAG([("a", "b", "o", ">"), ("c", "b", ">", ">"), ("d", "c", "-", ">"), ("e", "d", "o", "o")])
    pag.edges["a", "b"]["p_value"] = 0.00123456
    page, text, *_ = read_page(save_report(pag, tmp_path / "r.html"))
    names = page["names"]
    signs = {(names[edge[0]], edge[8], names[edge[1]]): edge[9] for edge in page["edges"]}
    assert signs == {
        ("a", "o->", "b"): 0.00123,
        ("b", "<->", "c"): None,
        ("d", "-->", "c"): None,
        ("d", "o-o", "e"): None,
    }
    assert "hidden common cause" in text


def test_p_values_of_a_learner(rows, tmp_path):
    learner = PC().fit(rows)
    page, *_ = read_page(learner.report(tmp_path / "r.html"))
    shown = {frozenset(page["names"][v] for v in edge[:2]): edge[9] for edge in page["edges"]}
    assert shown == {pair: float(f"{p:.3g}") for pair, p in learner.edge_p_values_.items()}
    assert {edge[8] for edge in page["edges"]} == {""}


def test_rows_of_other_variables_are_refused(tmp_path):
    learner = HillClimbSearch(show_progress=False).fit(pd.DataFrame({"a": list("xyxy"), "b": list("xyyy")}))
    for other in (pd.DataFrame({"zz": ["a", "b"]}), pd.DataFrame({"a": ["x", "y"], "zz": ["b", "c"]})):
        with pytest.raises(ValueError, match=r"data has no column for the variables .*'b'; its columns are .*'zz'"):
            learner.report(tmp_path / "r.html", data=other)
    assert not (tmp_path / "r.html").exists()


def test_labels_of_names_with_the_same_beginning_differ(tmp_path):
    names = [f"Q12. How often in the last month did you: {what}" for what in ("walk", "swim")]
    page, _, _ = read_page(save_report(nx.DiGraph([names]), tmp_path / "r.html"))
    assert list(page["labels"]) == ["0", "1"] and page["names"] == names
    assert [label[-4:] for label in page["labels"].values()] == ["walk", "swim"]
