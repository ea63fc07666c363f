"""Separators that a first line states, and separators that occur in names."""

import pandas as pd
import pytest

from pgmx.data import encode, read_table


def test_a_first_line_may_state_the_separator(tmp_path):
    path = tmp_path / "excel.csv"
    path.write_text("sep=;\nage;job, title\n" + "20;a\n21;b\n33;a\n" * 3)
    assert read_table(path).columns.tolist() == ["age", "job, title"]
    assert read_table(path)["age"].tolist() == [20, 21, 33] * 3
    assert encode(path).states == ((20, 21, 33), ("a", "b"))
    assert read_table(path, sep=";").shape == (9, 2)


def test_a_comma_in_a_name_is_not_the_separator(tmp_path):
    path = tmp_path / "names.csv"
    path.write_text("height, cm;weight;sex\n" + "170,5;70,2;m\n160,25;60,1;f\n" * 3)
    table = read_table(path)
    assert table.columns.tolist() == ["height, cm", "weight", "sex"]
    assert table["height, cm"].tolist() == [170.5, 160.25] * 3


@pytest.mark.parametrize(
    ("header", "row", "sep"), [("income, EUR;age", "1000,5;20", ";"), ("a;b,c", "x;y,z", ","), ("a|b,c", "x|y,2", ",")]
)
def test_two_possible_separators_are_stated(header, row, sep, tmp_path):
    path = tmp_path / "two.csv"
    path.write_text(f"{header}\n" + f"{row}\n" * 3)
    with pytest.warns(UserWarning, match=f"'{sep}' is read as the separator"):
        table = read_table(path)
    assert table.columns.tolist() == header.split(sep)
    assert isinstance(read_table(path, sep=sep), pd.DataFrame)


def test_tables_in_utf_16_are_read_and_other_encodings_named(tmp_path):
    path, text = tmp_path / "t.csv", "größe,k\n" + "a,1\nb,2\n" * 3
    path.write_text(text, encoding="utf-16")
    assert read_table(path).columns.tolist() == ["größe", "k"]
    assert encode(path).states == (("a", "b"), (1, 2))
    path.write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match="its encoding is not UTF-8: convert it first, for example by iconv"):
        read_table(path)


def test_comments_before_the_header_are_named(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("# comment\na,b\n1,2\n3,4\n")
    with pytest.raises(ValueError, match="as a comment does: remove such lines"):
        read_table(path)
