from pathlib import Path

import pytest

from pgmx.cli.knowledge import read_edges, read_tiers
from pgmx.cli.paths import check_targets, find_source


def test_a_bundled_name_wins_over_a_file_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("alarm").write_text("a,b\n")
    assert find_source("alarm") == ("alarm", None)
    assert find_source("./alarm") == ("alarm", Path("alarm"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing.csv", "no such file: nothing.csv"),
        ("folder/alarm", "no such file: folder/alarm"),
        (".", r"no Parquet file \(.*\) in the folder \."),
        ("alarn", r"'alarn' is neither a file nor a bundled network \(alarm, andes, "),
    ],
)
def test_other_sources_are_refused(text, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        find_source(text)


@pytest.mark.parametrize(
    ("out", "plot", "message"),
    [
        (
            "model.txt",
            None,
            r"--out .*model.txt: the suffix must be one of .bif, .xmlbif, .net, .xdsl, .gr",
        ),
        (None, "graph.pdf", r"--plot .*graph.pdf: a picture is written to a file ending in .svg or .png"),
        ("none/model.bif", None, r"--out .*: there is no folder .*none, create it first"),
        (None, "none/graph.svg", r"--plot .*: there is no folder"),
        ("folder.bif", None, r"--out .*: this is a folder, give a file in it"),
    ],
)
def test_unwritable_targets_are_refused(out, plot, message, tmp_path):
    (tmp_path / "folder.bif").mkdir()
    with pytest.raises(ValueError, match=message):
        check_targets(out and tmp_path / out, plot and tmp_path / plot)


def test_a_folder_of_parquet_files_is_a_source(floats, tmp_path):
    assert find_source(str(tmp_path)) == (tmp_path.name, tmp_path)
    assert find_source(".") == (tmp_path.name, Path("."))


def test_writable_targets_pass(tmp_path):
    check_targets(tmp_path / "model.BIF", tmp_path / "graph.Png")
    check_targets(None, None)


@pytest.mark.parametrize("header", ["", "from,to\n", "Source, Target\n", "\ufefffrom,to\n"])
def test_edge_files_with_and_without_header(header, tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text(header + 'a, b\n\n"b ,x",3\r\n', encoding="utf-8")
    assert read_edges(path, ("a", "b", "b ,x", 3)) == [("a", "b"), ("b ,x", 3)]


def test_columns_called_from_and_to_are_no_header(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("from,to\n")
    assert read_edges(path, ("from", "to")) == [("from", "to")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,b\na\n", r"line 2: expected two names 'from,to', got 1: 'a'"),
        (b"a,b,c\n", r"line 1: expected two names 'from,to', got 3"),
        (b"a,smokr\n", r"line 1: 'smokr' is not a column of the table, did you mean 'smoker'\?"),
        (b"a,\xff\n", r"is not a UTF-8 CSV file"),
    ],
)
def test_bad_edge_files_are_refused_with_the_line(content, message, tmp_path):
    path = tmp_path / "edges.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_edges(path, ("a", "b", "smoker"))


@pytest.mark.parametrize(
    ("content", "tiers"),
    [
        ("variable,tier\nb,2\na,1\n3,2\n", [["a"], ["b", 3]]),
        ("b,2\na,-1\n", [["a"], ["b"]]),
        ("a, b\n\n3\n", [["a", "b"], [3]]),
        ("b,3\n", [["b", 3]]),  # 3 is a column, so this is one tier of two variables
        ("Node, Tier\na,5\n", [["a"]]),
    ],
)
def test_tier_files_of_both_kinds(content, tiers, tmp_path):
    path = tmp_path / "tiers.csv"
    path.write_text(content)
    assert read_tiers(path, ("a", "b", 3)) == tiers


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"tier file .*tiers\.csv is empty"),
        ("variable,tier\n", "is empty"),
        ("variable,tier\na,first\n", r"line 2: expected 'variable,tier' with an integer, got 'a,first'"),
        ("a,1\nsmokr,2\n", r"line 2: 'smokr' is not a column of the table, did you mean 'smoker'\?"),
        ("a\nsmokr,b\n", "line 2: 'smokr' is not a column"),
    ],
)
def test_bad_tier_files_are_refused_with_the_line(content, message, tmp_path):
    path = tmp_path / "tiers.csv"
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        read_tiers(path, ("a", "b", "smoker"))


def test_a_missing_tier_file_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"no such tier file: .*none\.csv"):
        read_tiers(tmp_path / "none.csv", ("a",))


def test_a_missing_edge_file_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"no such edge file: .*none\.csv"):
        read_edges(tmp_path / "none.csv", ("a",))
