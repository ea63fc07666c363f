from pathlib import Path

import pytest

from pgmx.cli.inputs import check_targets, find_source, read_edges


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
        (".", "is a folder: give a CSV or Parquet file"),
        ("alarn", r"'alarn' is neither a file nor a bundled network \(alarm, andes, "),
    ],
)
def test_other_sources_are_refused(text, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=message):
        find_source(text)


@pytest.mark.parametrize(
    ("out", "plot", "message"),
    [
        ("model.txt", None, r"--out .*model.txt: the suffix must be one of .bif, .xmlbif, .graphml, .json"),
        (None, "graph.pdf", r"--plot .*graph.pdf: a picture is written to a file ending in .svg or .png"),
        ("none/model.bif", None, r"--out .*: there is no folder .*none, make it first"),
        (None, "none/graph.svg", r"--plot .*: there is no folder"),
        ("folder.bif", None, r"--out .*: this is a folder, name a file in it"),
    ],
)
def test_unwritable_targets_are_refused(out, plot, message, tmp_path):
    (tmp_path / "folder.bif").mkdir()
    with pytest.raises(ValueError, match=message):
        check_targets(out and tmp_path / out, plot and tmp_path / plot)


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
        (b"a,smokr\n", r"line 1: 'smokr' is no column of the table, did you mean 'smoker'\?"),
        (b"a,\xff\n", r"is no UTF-8 CSV file"),
    ],
)
def test_bad_edge_files_are_refused_with_the_line(content, message, tmp_path):
    path = tmp_path / "edges.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_edges(path, ("a", "b", "smoker"))


def test_a_missing_edge_file_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"no such edge file: .*none\.csv"):
        read_edges(tmp_path / "none.csv", ("a",))
