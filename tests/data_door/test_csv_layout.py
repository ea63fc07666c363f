"""CSV files as people have them: separators, decimal commas, columns that count rows."""

import gzip
import zipfile

import numpy as np
import pandas as pd
import pytest

from pgmx.data import encode, open_any, open_numeric, read_table
from pgmx.data.files.csv_layout import find_layout
from pgmx.data.targets import read_rows

ROWS = pd.DataFrame({"a": [1.5, -0.25, 1000.0], "b, c": ["x", "y", "x"], "d": [1, 2, 3]})


@pytest.fixture
def write(tmp_path):
    def write_file(text, name="rows.csv"):
        path = tmp_path / name
        if name.endswith(".gz"):
            path.write_bytes(gzip.compress(text.encode()))
        elif name.endswith(".zip"):
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("rows.csv", text)
        else:
            path.write_text(text, encoding="utf-8")
        return path

    return write_file


@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.csv.gz", "rows.csv.zip"])
def test_separators_and_decimal_commas_are_recognised(write, sep, decimal, name):
    if sep == decimal == ",":
        decimal = "."
    path = write(ROWS.rename(columns={"b, c": "b"}).to_csv(sep=sep, decimal=decimal, index=False), name)
    expected = ROWS.rename(columns={"b, c": "b"})
    pd.testing.assert_frame_equal(read_table(path), expected, check_dtype=False)
    frame = open_any(path)
    assert frame.float_columns == ("a",)
    assert open_numeric(path).names == ("a", "b", "d")
    if sep != "," and decimal == "." and "tsv" not in name:
        assert list(read_table(write(ROWS.to_csv(sep=sep, index=False), name))) == list(ROWS)


def test_numbers_with_commas_stay_numbers_in_chunks(write):
    path = write(ROWS[["a", "d"]].to_csv(sep=";", decimal=",", index=False))
    assert np.array_equal(open_numeric(path).rows(), ROWS[["a", "d"]].to_numpy())
    assert np.array_equal(read_rows(path, 2).to_numpy(), ROWS[["a", "d"]].to_numpy())
    assert encode(write("a;b\n1;1,5 l\n2;x\n")).states == ((1, 2), ("1,5 l", "x"))


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        ("a;b\n1;2\n3\n", (",", ".", False)),  # no table by either
        ("a\n1;2\n", (",", ".", False)),
        ("a;b\n1,000;2\n12,000;3\n", (";", ".", False)),  # thousands
        ("a;b\n0,125;2\n12,000;3\n", (";", ",", False)),
        ("a;b\n1,5;2\n1.5;3\n", (";", ".", False)),
        ('"x;y",b\n1,2\n3,4\n', (",", ".", False)),
        (",a\n0,5\n1,6\n", (",", ".", True)),
        ('"";"a"\n"1";5\n"2";6\n', (";", ".", True)),
        (",a\n1,5\n3,6\n", (",", ".", False)),
        ("n,a\n1,5\n2,6\n", (",", ".", False)),
    ],
)
@pytest.mark.filterwarnings("ignore:the first column of")
def test_layouts(write, text, layout):
    assert find_layout(write(text)) == (*layout, None)


def test_a_column_that_counts_rows_is_left_out(write):
    path = write(ROWS.to_csv())
    for read in (read_table, open_any, lambda path: pd.DataFrame(columns=open_numeric(path).names)):
        with pytest.warns(UserWarning, match=r"first column of rows\.csv has no name and counts the rows"):
            opened = read(path)
        assert list(getattr(opened, "names", getattr(opened, "columns", None))) == list(ROWS)
    states = write(ROWS[["b, c", "d"]].to_csv())
    with pytest.warns(UserWarning, match="counts the rows"):
        assert encode(states).columns == ("b, c", "d")


@pytest.mark.parametrize("sep", ["#", ":", "~"])
def test_unusual_separators_are_refused_with_the_remedy(write, sep):
    path = write(f"a{sep}b\n1{sep}2\n3{sep}4\n")
    for read in (read_table, encode, open_any, open_numeric):
        with pytest.raises(ValueError, match=rf"^'{sep}' seems to separate the columns of .*sep='{sep}'.*--sep\)$"):
            read(path)
    assert read_table(path, sep=sep).to_numpy().tolist() == [[1, 2], [3, 4]]
    assert list(read_table(path, sep=",")) == [f"a{sep}b"]
    assert read_table(write(f"one\n1{sep}2\n3{sep}4\n"))["one"].tolist() == [f"1{sep}2", f"3{sep}4"]


def test_spaces_are_refused_with_the_remedy(write):
    path = write("a  b\n1 2\n3 4\n")
    for read in (read_table, encode, open_any, open_numeric):
        with pytest.raises(ValueError, match=r"^spaces seem to separate .*sep=r'\\s\+'.*--sep ' '\)$"):
            read(path)
    assert read_table(path, sep=r"\s+").to_numpy().tolist() == [[1, 2], [3, 4]]
    assert read_table(write("day of week\nmonday\n"))["day of week"].tolist() == ["monday"]


def test_what_is_given_is_taken(write):
    path = write("a;b\n1,5;2\n2,5;3\n")
    with pytest.warns(UserWarning, match=r"first column of rows\.csv has no name and counts the rows: it is left out"):
        assert read_table(path, sep=",").to_dict("list") == {"a;b": ["5;2", "5;3"]}
    assert read_table(path, decimal=".")["a"].tolist() == ["1,5", "2,5"]
    assert list(read_table(write(ROWS.to_csv(index=False)), columns=["d", "a"])) == ["a", "d"]
    with pytest.raises(ValueError, match="columns names 'z', which .*rows.csv does not have"):
        read_table(path, columns=["z"])
    parquet = path.with_suffix(".parquet")
    ROWS.to_parquet(parquet)
    assert list(read_table(parquet, columns=["d"])) == ["d"]
    with pytest.raises(ValueError, match="sep and decimal are for CSV files"):
        read_table(parquet, sep=";")
