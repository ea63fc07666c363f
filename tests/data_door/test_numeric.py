"""Tables of numbers: what is accepted, in memory and in chunks, and what is refused."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmx.data import NumericTable, encode, numeric, open_frame, open_numeric, write_table
from pgmx.data.errors import MissingValuesError
from pgmx.data.files import readers

FRAME = pd.DataFrame({"a": [1.5, -2.0, 0.25, 8.0], "b": [3, 1, 4, 1], "c": np.float32([0.5, 1.5, 2.5, 3.5])})
ROWS = FRAME.to_numpy(dtype=np.float64)


def saved(frame, folder, name):
    path = folder / name
    if "csv" in name:
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    return path


INPUTS = {
    "frame": FRAME,
    "nullable": FRAME.convert_dtypes(),
    "objects": FRAME.astype(object),
    "pyarrow dtypes": FRAME.convert_dtypes(dtype_backend="pyarrow"),
    "arrow": pa.Table.from_pandas(FRAME),
    "polars": pl.from_pandas(FRAME),
    "Frame": open_frame(FRAME),
}


@pytest.mark.parametrize("kind", INPUTS)
def test_tables_with_names(kind):
    table = open_numeric(INPUTS[kind])
    assert (table.names, table.n_columns, table.in_memory) == (("a", "b", "c"), 3, True)
    np.testing.assert_array_equal(table.rows(), ROWS)
    assert table.rows().dtype == np.float64
    assert table.rows().flags.c_contiguous
    assert not table.rows().flags.writeable
    assert open_numeric(table) is table


@pytest.mark.parametrize("X", [ROWS.tolist(), ROWS, ROWS.astype(">f8"), np.asfortranarray(ROWS), np.float32(ROWS)])
def test_arrays_and_rows_get_names(X):
    table = open_numeric(X)
    assert table.names == ("x0", "x1", "x2")
    np.testing.assert_array_equal(table.rows(), ROWS)
    assert repr(table) == "NumericTable(3 columns, 4 rows)"


def test_integers_are_numbers():
    np.testing.assert_array_equal(open_numeric([[1, 2], [3, 4]]).rows(), [[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(open_numeric(np.array([[1, 2], [3, 4]], dtype=np.uint8)).rows(), [[1, 2], [3, 4]])


def test_the_caller_keeps_a_writeable_array():
    mine = ROWS.copy()
    table = open_numeric(mine)
    assert np.shares_memory(table.rows(), mine)
    mine[0, 0] = 7.0
    assert table.rows()[0, 0] == 7.0
    mine.flags.writeable = False
    np.testing.assert_array_equal(open_numeric(mine).rows(), mine)
    frame = FRAME.copy()
    open_numeric(frame, missing="drop")
    pd.testing.assert_frame_equal(frame, FRAME)


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
def test_a_file_is_read_in_each_pass(tmp_path, name, monkeypatch):
    path = saved(FRAME, tmp_path, name)
    monkeypatch.setattr(numeric, "CHUNK_ROWS", 3)
    for given_path in (path, str(path)):
        table = open_numeric(given_path)
        assert (table.names, table.in_memory, repr(table)) == (
            ("a", "b", "c"),
            False,
            "NumericTable(3 columns, in chunks)",
        )
        for _ in range(2):
            pieces = list(table.chunks())
            assert [len(piece) for piece in pieces] == [3, 1]
            np.testing.assert_array_equal(np.concatenate(pieces), ROWS)
        np.testing.assert_array_equal(table.rows(), ROWS)


def test_a_folder_and_its_order(tmp_path):
    saved(FRAME[2:], tmp_path, "b.parquet")
    saved(FRAME[["c", "b", "a"]][:2], tmp_path, "a.parquet")
    table = open_numeric(tmp_path)
    assert table.names == ("c", "b", "a")
    np.testing.assert_array_equal(table.rows(), ROWS[:, ::-1])


def test_an_iterator_is_read_once():
    table = open_numeric(iter([FRAME[:1], FRAME[1:1], FRAME[1:]]))
    assert table.names == ("a", "b", "c")
    np.testing.assert_array_equal(table.rows(), ROWS)
    with pytest.raises(ValueError, match=r"can be read once, and it was: give a file"):
        next(table.chunks())
    with pytest.raises(ValueError, match="the iterator gave no frame"):
        open_numeric(iter([]))


@given(st.integers(1, 60), st.integers(1, 9), st.integers(0, 2**20))
def test_chunks_of_any_size_make_the_whole(n_rows, size, number):
    rng = np.random.default_rng(number)
    rows = rng.normal(size=(n_rows + 3, 3))
    rows[rng.random(rows.shape) < 0.2] = np.nan
    rows[:2] = 0.5
    for missing in ("drop", "pairwise"):
        whole = open_numeric(rows, missing=missing)
        parts = open_numeric(iter([rows[k : k + size] for k in range(0, len(rows), size)]), missing=missing)
        found = list(parts.chunks_with_numbers())
        np.testing.assert_array_equal(np.concatenate([part for _, part in found]), whole.rows())
        numbers = np.concatenate([part for part, _ in found])
        np.testing.assert_array_equal(numbers, np.concatenate([part for part, _ in whole.chunks_with_numbers()]))
        np.testing.assert_array_equal(rows[numbers], whole.rows())


def holes(kind, tmp_path):
    frame = FRAME.assign(b=[3, None, 4, 1], c=[None, 1.5, 2.5, 3.5])
    if kind == "iterator":
        return iter([frame[:2], frame[2:]])
    if "." in kind:
        return saved(frame, tmp_path, kind)
    return {"frame": frame, "nullable": frame.convert_dtypes(), "objects": frame.astype(object)}[kind]


@pytest.mark.parametrize("kind", ["frame", "nullable", "objects", "t.csv", "t.parquet", "iterator"])
def test_missing_values(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(numeric, "CHUNK_ROWS", 1)
    with pytest.raises(MissingValuesError) as caught:
        open_numeric(holes(kind, tmp_path)).rows()
    assert str(caught.value) == (
        "missing values (NaN) in column(s) 'b', 'c': pass missing='drop' to leave out the rows that have them, "
        "missing='pairwise' to use for each pair of columns the rows that are observed in both, or fill them first"
    )
    assert "missing='drop' to" in str(caught.value.among(["drop"]))
    np.testing.assert_array_equal(open_numeric(holes(kind, tmp_path), missing="drop").rows(), ROWS[2:])
    kept = open_numeric(holes(kind, tmp_path), missing="pairwise")
    assert kept.has_missing is (True if kept.in_memory else None)
    np.testing.assert_array_equal(np.isnan(kept.rows()), [[0, 0, 1], [0, 1, 0], [0, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize("in_chunks", [False, True])
def test_too_few_rows(in_chunks):
    def opened(rows, **options):
        table = open_numeric(iter([rows]) if in_chunks else rows, **options)
        return table.rows()

    with pytest.raises(ValueError, match=r"1 sample\(s\)"):
        opened(np.ones((1, 2)))
    with pytest.raises(ValueError, match=r"1 of 2 rows have no missing value .* with missing values: 'x1'"):
        opened(np.array([[1.0, np.nan], [1.0, 2.0]]), missing="drop")


@pytest.mark.parametrize("in_chunks", [False, True])
def test_infinite_cells(in_chunks):
    rows = np.array([[1.0, 2.0, 0.0], [np.nan, -np.inf, 0.0], [1.0, 2.0, np.inf]])
    for missing in ("error", "drop", "pairwise"):
        with pytest.raises(ValueError, match=r"infinite values \(inf\) in column\(s\) 'x1', 'x2'"):
            open_numeric(iter([rows[:2], rows[2:]]) if in_chunks else rows, missing=missing).rows()


STATES = {
    "boolean": [True, False, True, True],
    "text": ["u", "v", "u", "u"],
    "categorical": pd.Categorical([1, 2, 1, 1]),
    "dates": pd.to_datetime(["2020-01-01"] * 4),
    "objects": [datetime.date(2020, 1, 1)] * 4,
    "mixed": [1, "2", 3.0, None],
    "words": [True, None, False, 1.0],
}


@pytest.mark.parametrize("kind", STATES)
def test_states_are_no_numbers(kind):
    frame = FRAME.assign(s=STATES[kind], z=["x", "y", "x", "y"])
    for X in (frame, iter([frame[:2], frame[2:]])):
        with pytest.raises(ValueError, match=r"column\(s\) 's', 'z' hold states or text, not numbers"):
            open_numeric(X, missing="pairwise").rows()


def test_a_word_far_down_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(numeric, "CHUNK_ROWS", 2)
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3,4\n5,\n7,eight\n9,True\n")
    with pytest.raises(ValueError, match=r"column\(s\) 'b' hold states or text, not numbers \(text\)"):
        open_numeric(path).rows()


def test_boolean_arrays_and_coded_tables(tmp_path):
    with pytest.raises(ValueError, match=r"'x0', 'x1' hold states or text, not numbers \(boolean\)"):
        open_numeric(np.ones((3, 2), dtype=bool))
    table = encode(pd.DataFrame({"a": [1, 2, 1]}))
    write_table(table, tmp_path / "t.pgmx")
    for X in (table, tmp_path / "t.pgmx"):
        with pytest.raises(TypeError, match="holds coded states, not numbers"):
            open_numeric(X)


@pytest.mark.parametrize(
    ("X", "error", "words"),
    [
        (np.zeros(3), ValueError, "Expected 2D array, got 1D"),
        (np.zeros((3, 0)), ValueError, r"0 feature\(s\)"),
        (np.zeros((0, 3)), ValueError, r"0 sample\(s\)"),
        (pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), ValueError, r"duplicate column name\(s\) 'a'"),
        ({"a": [1]}, TypeError, "a dict is not a table"),
        ("nowhere.csv", FileNotFoundError, "no such file"),
        ("table.xlsx", FileNotFoundError, "no such file or folder: table.xlsx"),
        (np.zeros((3, 3), dtype=complex), ValueError, "Complex data not supported"),
    ],
)
def test_what_is_no_table(X, error, words):
    with pytest.raises(error, match=words):
        open_numeric(X)


def test_unknown_option():
    with pytest.raises(ValueError, match=r"missing must be one of 'error', 'drop', 'pairwise' for a numeric table"):
        open_numeric(ROWS, missing="category")
    with pytest.raises(ValueError, match="the table was opened with missing='drop', got missing='error'"):
        open_numeric(open_numeric(iter([ROWS]), missing="drop"))


def test_broken_files(tmp_path):
    (tmp_path / "t.csv").write_text("a,a\n1,2\n3,4\n")
    with pytest.raises(ValueError, match=r"t.csv cannot be read: duplicate column name\(s\) 'a'"):
        open_numeric(tmp_path / "t.csv")
    (tmp_path / "u.csv").write_text("a,b\n1,2\n3,4,5,6\n")
    with pytest.raises(ValueError, match=r"u.csv cannot be read: line 3 has 4 fields, the header has 2\."):
        open_numeric(tmp_path / "u.csv").rows()
    (tmp_path / "t.parquet").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"t.parquet cannot be read"):
        open_numeric(tmp_path / "t.parquet")


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([[1.0], [1.0]], r"one weight per row, got \(2, 1\)"),
        ([1.0], r"weights must have the shape \(4,\)"),
        ([1.0, -1.0, 1.0, 1.0], "not negative"),
        ([0.0, 0.0, 0.0, 0.0], "all weights are zero"),
        ([1.0, np.nan, 1.0, 1.0], "must be finite"),
    ],
)
def test_weights_that_do_not_fit(weights, words):
    with pytest.raises(ValueError, match=words):
        open_numeric(FRAME).check_weights(weights)


def test_wide_tables_come_in_blocks_of_rows(monkeypatch):
    monkeypatch.setattr(readers, "CHUNK_CELLS", 6)
    table = open_numeric(ROWS)
    assert isinstance(table, NumericTable)
    assert [len(rows) for rows in table.chunks()] == [2, 2]
    assert readers.CHUNK_ROWS == numeric.CHUNK_ROWS
