"""Codes with leading zeros stay text, and states match new rows by one rule."""

import pandas as pd
import pytest

from pgmx.data import encode, read_table
from pgmx.data.declared_states import match_texts


@pytest.mark.parametrize("sep", [",", ";", r"\s+"])
def test_codes_keep_their_zeros(sep, tmp_path):
    path = tmp_path / "codes.csv"
    gap = " " if sep == r"\s+" else sep
    rows = ["zip day share", *["01234 1 0.5", "1234 2 0.25", '"007" 10 10.05'] * 3]
    path.write_text("\n".join(rows).replace(" ", gap) + "\n")
    table = read_table(path, sep=sep)
    assert set(table["zip"]) == {"01234", "1234", "007"}
    assert (table["day"].dtype, table["share"].dtype) == (pd.Int64Dtype(), pd.Float64Dtype())
    if sep == ",":
        pd.read_csv(path, dtype={"zip": str}).drop(columns="share").to_csv(path, index=False)
        assert encode(path).states == (("007", "01234", "1234"), (1, 2, 10))  # in chunks
        assert encode(read_table(path)).states == encode(path).states


def test_a_code_that_marks_missing_values_leaves_the_column_numeric(tmp_path):
    path = tmp_path / "marked.csv"
    path.write_text("age,k\n" + "31,1\n099,2\n45,3\n" * 3)
    assert read_table(path, na_values="099")["age"].sum() == 3 * (31 + 45)


@pytest.mark.parametrize(
    ("words", "states", "places"),
    [
        (["1.0", "2", "2.50"], ("1", "2", "2.5"), [0, 1, 2]),
        (["1.0"], ("1", "a"), [-1]),
        (["1.0"], ("1", "missing"), [0]),
        (["1.00"], ("1", "1.0"), [-1]),
        (["01"], (1, 2), [-1]),
        (["1", "1.0"], ("01", "02"), [-1, -1]),
        (["01"], ("1", "2"), [-1]),
    ],
)
def test_numbers_match_by_value_and_codes_by_their_text(words, states, places):
    assert match_texts(words, states, -1).tolist() == places
