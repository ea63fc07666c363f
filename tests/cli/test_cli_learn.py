import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import networkx as nx
import pandas as pd
import pytest

from helpers.command_line import pgmx, refused
from helpers.interpreter import run_python
from pgmx.datasets import load_network


def test_a_bundled_network_is_sampled_learned_compared_queried_and_written(workdir):
    result = pgmx("learn", "asia", "--rows", 3000, "--random-state", 2)
    assert (result.exit_code, result.stderr) == (0, "")
    out = result.stdout
    assert "asia: 3000 rows, 8 variables, sampled with random state 2" in out
    assert re.search(r"^score    -\d+\.\d{4} \(bic\)$", out, re.M)
    assert re.search(r"^seconds  \d+\.\d{3}$", out, re.M)
    assert re.search(r"^shd      \d+ \(CPDAGs of learned and true graph; 8 true edges\)$", out, re.M)
    edges = re.findall(r"^\w+ (?:->|--) \w+$", out, re.M)
    assert edges == sorted(edges)
    assert f"edges    {len(edges)} (" in out
    assert re.search(r"^query    P\(\w+ \| \w+ = (yes|no)\)$", out, re.M)
    table = re.findall(r"^  (yes|no) +(\d\.\d{4}) +(\d\.\d{4})$", out, re.M)
    assert sum(float(row[2]) for row in table) == pytest.approx(1, abs=2e-4)
    assert out.endswith("wrote asia.bif\nwrote asia.svg (edges coloured by whether the true graph has them)\n")
    from pgmpy.readwrite import BIFReader

    model = BIFReader(str(workdir / "asia.bif")).get_model()
    assert model.check_model()
    assert model.number_of_edges() == len(edges)
    ElementTree.parse(workdir / "asia.svg")


def test_the_same_command_prints_the_same(workdir):
    first, second = (pgmx("learn", "cancer", "--rows", 500, "--out", "c.json").stdout for _ in range(2))
    assert re.sub(r"seconds .*", "", first) == re.sub(r"seconds .*", "", second)
    assert [path.name for path in workdir.iterdir()] == ["c.json"]


def test_a_csv_file_is_learned_and_its_last_column_asked_for(weather, workdir):
    result = pgmx("learn", weather, "--out", "w.bif", "--plot", "w.png", "--score", "BDEU", "--max-indegree", 2)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "weather: 600 rows, 4 variables\n" in result.stdout
    assert "(bdeu)" in result.stdout
    assert "rain -- wet" in result.stdout
    assert "query    P(wet | rain = no)" in result.stdout
    assert "shd" not in result.stdout
    assert (workdir / "w.bif").stat().st_size > 0
    assert (workdir / "w.png").read_bytes().startswith(b"\x89PNG")


def test_a_data_file_writes_nothing_unasked_and_quiet_hides_the_edges(weather, workdir):
    result = pgmx("learn", weather, "--quiet")
    assert result.exit_code == 0
    assert " -- " not in result.stdout
    assert [path.name for path in workdir.iterdir()] == [weather.name]


def test_edge_files_are_obeyed(weather, workdir):
    Path("must.csv").write_text("from,to\ncoin,season\nwet,rain\n")
    Path("never.csv").write_text("season,rain\nrain,season\n")
    result = pgmx("learn", weather, "--required", "must.csv", "--forbidden", "never.csv", "--out", "g.graphml")
    assert result.exit_code == 0, result.stderr
    assert {"coin -> season", "wet -> rain"} <= set(result.stdout.splitlines())
    graph = nx.read_graphml(workdir / "g.graphml")
    assert set(graph.nodes()) == {"season", "rain", "coin", "wet"}
    assert not graph.has_edge("season", "rain")
    assert not graph.has_edge("rain", "season")


def test_edges_that_contradict_each_other_are_refused(weather):
    Path("must.csv").write_text("coin,wet\n")
    assert "coin" in refused("learn", weather, "--required", "must.csv", "--forbidden", "must.csv")
    assert "line 1: 'wett' is not a column" in refused("learn", weather, "--forbidden", _write("f.csv", "coin,wett\n"))


def _write(name, text):
    Path(name).write_text(text)
    return name


def test_float_columns_are_learned_as_gaussian(floats, workdir):
    result = pgmx("learn", floats, "--out", "g.json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "(bic-g)" in result.stdout
    assert "a -- b" in result.stdout
    assert re.search(r"query    b \| a = \S+\n +mean +sd\n  before ", result.stdout)
    assert (workdir / "g.json").exists()
    line = refused("learn", floats, "--out", "g.bif")
    assert "--out g.bif: .bif is for discrete networks, but column 'a' is continuous: write .graphml or .json" in line
    assert "float column(s) 'a', 'b', 'c'" in refused("learn", floats, "--score", "bic")
    sparse = pgmx("learn", floats, "--score", "ebic-g", "--gamma", 1e6).stdout
    assert "(ebic-g)" in sparse and "a -- b" not in sparse
    assert "no price in scoring_method='bic-g'" in refused("learn", floats, "--score", "bic-g", "--gamma", 2)


def test_missing_values_are_refused_or_dropped(weather):
    frame = pd.read_csv(weather)
    frame["rain"] = frame["rain"].where(frame.index % 10 > 0)
    frame.to_csv(weather, index=False)
    message = refused("learn", weather)
    assert (
        "missing values (NaN) in column(s) 'rain': pass --missing drop to leave out the rows that have them, "
        in message
    )
    assert "--missing pairwise to use in each family" in message
    assert "--missing em to use their expected counts" in message
    pd.DataFrame({name: ["yes", "no", None] for name in load_network("asia")}).to_csv("rows.csv", index=False)
    message = refused("score", "asia", "rows.csv")
    assert "pass --missing drop to leave out the rows that have them, or fill them first" in message
    result = pgmx("learn", weather, "--missing", "drop")
    assert result.exit_code == 0
    assert "540 rows" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("learn",), "Missing argument 'SOURCE' (see 'pgmx learn --help')"),
        (("lern",), "No such command 'lern'"),
        (("learn", "asia", "--scor", "bic"), "No such option"),
        (("learn", "asia", "--rows", "1"), "Invalid value for '--rows'"),
        (("learn", "asia", "--score", "bik"), "'bik' is not known; choose one of bic, "),
        (("learn", "nothing.csv"), "no such file: nothing.csv"),
        (("learn", "alarn"), "'alarn' is neither a file nor a bundled network"),
        (
            ("learn", "asia", "--out", "model.txt"),
            "the suffix must be one of .bif, .xmlbif, .net, .xdsl, .graphml",
        ),
        (("learn", "asia", "--plot", "graph.pdf"), "ending in .svg or .png"),
        (("learn", "asia", "--plot", "no/graph.svg"), "there is no folder"),
        (("learn", "asia", "--required", "none.csv"), "no such edge file: none.csv"),
    ],
)
def test_bad_usage_is_one_line_and_status_2(arguments, message):
    assert message in refused(*arguments)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.csv", "", "cannot be read"),
        ("header.csv", "a,b\n", "at least two rows"),
        ("twice.csv", "a,a\n1,2\n3,4\n", "duplicate column name(s) 'a'"),
        ("data.json", '{"a": 1, "b": 2}\n{"a": 2, "b": 1}\n', "unknown suffix"),
        ("data.parquet", "a,b\n1,2\n", "cannot be read"),
    ],
)
def test_bad_data_are_one_line_and_status_2(name, content, message):
    assert message in refused("learn", _write(name, content))


def test_rows_are_for_networks_alone(weather):
    assert "--rows is for bundled networks" in refused("learn", weather, "--rows", 100)


def test_nothing_is_learned_before_the_targets_are_checked(weather, monkeypatch):
    monkeypatch.setattr("pgmx.data.read_table", None)
    assert "the suffix must be" in refused("learn", weather, "--out", "x.doc")


def test_warnings_are_lines_on_standard_error():
    rows = "\n".join(f"{i},{i % 2}" for i in range(60))
    result = pgmx("learn", _write("ids.csv", f"id,parity\n{rows}\n"))
    assert result.exit_code == 0
    assert re.match(r"Warning: implausibly many states for 60 rows in column\(s\) 'id' \(60 states\)", result.stderr)


def test_errors_that_are_our_own_keep_their_traceback(monkeypatch):
    def broken(*args, **kwargs):
        raise KeyError("a bug")

    monkeypatch.setattr("pgmx.cli.learn.command.open_source", broken)
    assert isinstance(pgmx("learn", "asia").exception, KeyError)


def test_help_and_version():
    for arguments in ((), ("--help",), ("-h",)):
        result = pgmx(*arguments)
        assert result.exit_code == 0
        assert "pgmx learn survey.csv --out survey.bif" in result.stdout
        assert "..." not in result.stdout.split("Commands:")[1]  # no description is cut short
    text = pgmx("learn", "--help").stdout
    assert "pgmx learn visits.parquet --missing drop --forbidden never.csv --out visits.graphml\n" in text
    for option in ("--score", "--max-indegree", "--required", "--forbidden", "--missing", "--max-time", "--n-jobs"):
        assert option in text
    assert re.fullmatch(r"pgmx \S+\n", pgmx("--version").stdout)


def test_the_package_runs_as_a_module_and_progress_is_silent_in_a_pipe(weather):
    done = run_python("-m", "pgmx", "learn", weather, "--max-time", 60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("data     weather")


def test_help_loads_nothing_heavy():
    script = (
        "import sys; from pgmx.cli import main; main(['learn', '--help'], standalone_mode=False);"
        "heavy = {'numpy', 'pandas', 'pgmpy', 'matplotlib', 'scipy', 'networkx'} & set(sys.modules);"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = run_python("-c", script)
    assert (done.returncode, done.stderr) == (0, "")
