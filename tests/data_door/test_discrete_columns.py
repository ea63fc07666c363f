"""Columns whose numbers are declared to be states, of every kind of table."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pgmx.data import encode, open_any, open_frame, open_numeric, open_table, read_table, write_table
from pgmx.data.errors import ContinuousColumnsError

DECLARED = ["code", "half"]

FRAME = pd.DataFrame(
    {
        "code": [2.0, np.nan, 1.0, 2.0, 10.0, 2.0],
        "half": [0.5, 9.5, 10.5, 0.5, 9.5, -2.5],
        "word": ["u", "v", "u", None, "v", "u"],
        "count": [3, 1, 1, 3, 2, 1],
    }
)

#: What the table means: numbers of whole columns are integers, missing values are a state, the last.
STATES = {
    "code": (1, 2, 10, "missing"),
    "half": (-2.5, 0.5, 9.5, 10.5),
    "word": ("u", "v", "missing"),
    "count": (1, 2, 3),
}
CELLS = {
    "code": [2, "missing", 1, 2, 10, 2],
    "half": [0.5, 9.5, 10.5, 0.5, 9.5, -2.5],
    "word": ["u", "v", "u", "missing", "v", "u"],
    "count": [3, 1, 1, 3, 2, 1],
}


def cut(frame):
    return iter([frame.iloc[:1], frame.iloc[1:2], frame.iloc[2:]])


def write_csv(frame, path):
    frame.to_csv(path, index=False)
    return path


def write_parquet(frame, path):
    frame.to_parquet(path, index=False)
    return path


KINDS = {
    "pandas": lambda frame, folder: frame,
    "nullable": lambda frame, folder: frame.astype(
        {"code": "Float64", "half": "Float64", "count": "Int64", "word": "string"}
    ),
    "objects": lambda frame, folder: frame.astype(object),
    "polars": lambda frame, folder: pl.from_pandas(frame),
    "arrow": lambda frame, folder: pa.Table.from_pandas(frame),
    "chunks": lambda frame, folder: cut(frame),
    "csv": lambda frame, folder: write_csv(frame, folder / "t.csv"),
    "parquet": lambda frame, folder: write_parquet(frame, folder / "t.parquet"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_become_states(kind, tmp_path):
    table = encode(KINDS[kind](FRAME, tmp_path), missing="category", discrete_columns=DECLARED)
    for v, name in enumerate(FRAME):
        assert table.states[v] == STATES[name]
        assert [type(state) for state in table.states[v]] == [type(state) for state in STATES[name]]
        assert [table.states[v][code] for code in table.codes[v]] == CELLS[name]


@pytest.mark.parametrize("kind", KINDS)
def test_states_are_those_of_complete_rows(kind, tmp_path):
    with pytest.warns(UserWarning, match="leaves out 2 of 6 rows"):
        table = encode(KINDS[kind](FRAME, tmp_path), missing="drop", discrete_columns=DECLARED)
    assert table.states == ((1, 2, 10), (-2.5, 0.5, 9.5, 10.5), ("u", "v"), (1, 2, 3))


@pytest.mark.parametrize("kind", KINDS)
def test_other_floats_stay_numbers(kind, tmp_path):
    opened = open_any(KINDS[kind](FRAME, tmp_path), missing="category", discrete_columns=["code"])
    assert (opened.float_columns, opened.discrete) == (("half",), {"code"})


@pytest.mark.parametrize("kind", ["chunks", "csv", "parquet"])
def test_discrete_tables_larger_than_memory_are_coded(kind, tmp_path):
    opened = open_any(KINDS[kind](FRAME, tmp_path), missing="category", discrete_columns=DECLARED)
    assert opened == encode(FRAME, missing="category", discrete_columns=DECLARED)
    assert opened.path is not None  # in one pass to a file


@pytest.mark.parametrize("kind", KINDS)
def test_unknown_names_are_refused(kind, tmp_path):
    for discrete_columns in (["cod"], ["code", "half", "cod"]):
        with pytest.raises(ValueError, match=r"unknown column\(s\) 'cod': the columns are 'code', 'half', 'word', 'c"):
            open_any(KINDS[kind](FRAME, tmp_path), missing="category", discrete_columns=discrete_columns)
    for wrong in ("code", iter(["code"]), 3):
        with pytest.raises(TypeError, match=r"discrete_columns must be a list of column names, got"):
            open_any(KINDS[kind](FRAME, tmp_path), missing="category", discrete_columns=wrong)


def test_columns_of_arrays_have_the_names_that_they_get():
    rows = np.array([[1.0, 0.5], [2.0, 0.25], [1.0, 0.5]])
    assert encode(rows, discrete_columns=["x0", "x1"]).states == ((1, 2), (0.25, 0.5))
    assert encode(rows.astype(int), discrete_columns=["x1"]).states == ((1, 2), (0,))


def test_chunk_by_chunk_is_the_whole(tmp_path):
    path, coded = write_csv(FRAME, tmp_path / "t.csv"), tmp_path / "t.pgmx"
    write_table(path, coded, missing="category", discrete_columns=DECLARED, chunk_rows=1)
    assert open_table(coded) == encode(FRAME, missing="category", discrete_columns=DECLARED)
    assert encode(coded, discrete_columns=["half"]) == open_table(coded)
    with pytest.raises(ValueError, match="unknown column"):
        encode(coded, discrete_columns=["cod"])
    with pytest.raises(ValueError, match="unknown column"):
        encode(open_table(coded), discrete_columns=["cod"])


def test_integers_and_floats_may_follow_each_other():
    chunks = [pd.DataFrame({"a": [2, 1]}), pd.DataFrame({"a": [1.0, np.nan]}), pd.DataFrame({"a": [3.5, 2.0]})]
    table = encode(iter(chunks), missing="category", discrete_columns=["a"])
    assert table.states == ((1.0, 2.0, 3.5, "missing"),)
    assert table.codes.tolist() == [[1, 0, 0, 3, 2, 1]]
    table = encode(iter(chunks[:2]), missing="category", discrete_columns=["a"])
    assert table.states == ((1, 2, "missing"),)


def test_words_of_one_number_are_one_state(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,u\n1.0,v\n2.00,u\n,v\n")
    assert encode(tmp_path / "t.csv", missing="category", discrete_columns=["a"]).states[0] == (1, 2, "missing")


def test_declared_states_of_a_declared_column():
    table = encode(FRAME[["half"]], discrete_columns=["half"], state_names={"half": [10.5, 9.5, 0.5, -2.5, 9]})
    assert table.states == ((10.5, 9.5, 0.5, -2.5, 9),)
    assert table.codes.tolist() == [[2, 1, 0, 2, 1, 3]]
    with pytest.raises(ValueError, match="does not declare"):
        encode(FRAME[["half"]], discrete_columns=["half"], state_names={"half": [10.5, 0.5, -2.5]})


def test_many_states_take_two_bytes():
    values = np.arange(300.0) * 2
    with pytest.warns(UserWarning, match="implausibly many"):
        table = encode(pd.DataFrame({"a": values[::-1]}), discrete_columns=["a"])
    assert table.states == (tuple(range(0, 600, 2)),)
    assert table.codes[0].tolist() == list(range(300))[::-1]


def test_infinite_values_are_no_states(tmp_path):
    frame = pd.DataFrame({"a": [1.0, np.inf, 2.0]})
    with pytest.raises(ValueError, match="'a' holds infinite values"):
        encode(frame, discrete_columns=["a"])
    with pytest.raises(ValueError, match="'a' holds infinite values"):
        read_table(write_csv(frame, tmp_path / "t.csv"), discrete_columns=["a"])


def test_a_frame_is_read_with_its_declared_columns(tmp_path):
    frame = read_table(write_csv(FRAME, tmp_path / "t.csv"), discrete_columns=DECLARED)
    assert frame["code"].dtype == "Int64"
    assert frame["code"].isna().tolist() == FRAME["code"].isna().tolist()
    assert frame["half"].cat.categories.tolist() == [-2.5, 0.5, 9.5, 10.5]
    assert encode(frame, missing="category") == encode(FRAME, missing="category", discrete_columns=DECLARED)
    with pytest.raises(ValueError, match="unknown column"):
        read_table(tmp_path / "t.csv", discrete_columns=["cod"])


def test_declared_columns_are_no_numbers():
    frame = open_frame(FRAME[["count", "half"]]).declare_discrete(["count"])
    with pytest.raises(ValueError, match="'count' hold states"):
        open_numeric(frame)
    assert isinstance(frame.to_pandas()["count"].dtype, pd.CategoricalDtype)
    assert frame.to_pandas()["half"].dtype == np.float64


def test_the_error_of_floats_names_the_option():
    with pytest.raises(
        ContinuousColumnsError, match=r"declare them with discrete_columns=\['code'\] \(command line: --disc"
    ):
        encode(FRAME)
