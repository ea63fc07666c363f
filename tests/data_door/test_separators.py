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
