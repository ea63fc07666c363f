"""Bad input: an error that names the culprit and the remedy."""

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from pgmx.data import encode, open_frame


def frame(**columns):
    return pd.DataFrame(columns)


SHAPES = {
    "no columns": (np.zeros((12, 0)), r"0 feature\(s\) \(shape=\(12, 0\)\) while a minimum of 1 is required"),
    "nothing": (pd.DataFrame(), r"0 feature\(s\) \(shape=\(0, 0\)\)"),
    "no rows": (frame(a=[]), r"0 sample\(s\).*minimum of 2"),
    "one row": (frame(a=[1]), r"1 sample\(s\).*at least two rows"),
    "one row of arrow": (pa.table({"a": [1]}), r"1 sample\(s\)"),
    "1-D": (np.arange(4), "Expected 2D array, got 1D array instead.*Reshape your data"),
    "0-D": (np.array(3), "Expected 2D array, got scalar array instead"),
    "3-D": (np.zeros((2, 2, 2)), "Expected 2D array, got 3D array instead"),
    "series": (pd.Series([1, 2], name="s"), "got 1D array instead: the Series 's'.*to_frame"),
    "polars series": (pl.Series("s", ["a", "b"]), "got 1D array instead: the Series 's'"),
    "arrow array": (pa.array([1, 2]), "Expected 2D array"),
    "flat list": ([1, 2], "Expected 2D array, got 1D array instead"),
    "ragged list": ([[1, 2], [3]], "different lengths, 1, 2"),
    "ragged arrays": ([np.zeros((2, 2)), np.zeros((2, 3))], "do not form a 2-D table|different lengths|Expected 2D"),
    "structured": (np.array([(1, 2)], dtype=[("a", int), ("b", int)]), "structured array.*DataFrame"),
    "complex": (np.eye(3) * 1j, "Complex data not supported"),
    "masked": (np.ma.array([[1, 2], [3, 4]], mask=[[0, 0], [0, 1]]), "masked values in column.*'x1'"),
    "duplicates": (pd.DataFrame([[1, 2, 3], [3, 4, 5]], columns=["a", "b", "a"]), r"duplicate column name\(s\) 'a':"),
    "arrow duplicates": (pa.table([pa.array([1, 2])] * 2, names=["a", "a"]), "duplicate column.*'a'"),
}


@pytest.mark.parametrize("case", SHAPES)
def test_shapes_and_names(case):
    X, message = SHAPES[case]
    with pytest.raises(ValueError, match=message):
        encode(X)


NO_TABLES = {
    "sparse": (scipy.sparse.csr_array(np.eye(3)), "sparse input is not supported.*toarray"),
    "dictionary of keys": (scipy.sparse.dok_matrix(np.eye(3)), "sparse input is not supported"),
    "dict": ({"a": [1, 2]}, r"pandas\.DataFrame"),
    "list of dicts": ([{"a": 1}, {"a": 2}], r"pandas\.DataFrame"),
    "list of frames": ([pd.DataFrame({"a": [1, 2]})] * 2, r"a list of tables is not a table: iter\(X\)"),
    "tuple of Arrow tables": ((pa.table({"a": [1, 2]}),), r"a tuple of tables is not a table: iter\(X\)"),
    "none": (None, "got NoneType"),
    "generator of rows": ((row for row in [[1], [2]]), "an iterator must give tables .*got a list"),
    "generator of paths": (iter(["table.csv"]), "got 'table.csv'"),
    "lazy": (pl.LazyFrame({"a": [1, 2]}), "collect it first"),
    "polars objects": (
        pl.DataFrame({"o": pl.Series([object(), object()], dtype=pl.Object)}),
        "'o' hold Python objects",
    ),
}


@pytest.mark.parametrize("case", NO_TABLES)
def test_what_is_no_table(case):
    X, message = NO_TABLES[case]
    with pytest.raises(TypeError, match=message):
        encode(X)


CELLS = {
    "dates": pd.date_range("2020", periods=2),
    "date objects": [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)],
    "durations": pd.to_timedelta([1, 2], unit="D"),
    "arrow dates": pd.array(pd.date_range("2020", periods=2), dtype="timestamp[ns][pyarrow]"),
    "decimals": [decimal.Decimal(1), decimal.Decimal(2)],
    "complex": [1j, 2j],
    "tuples": [(1, 2), (3, 4)],
    "bytes": [b"a", b"b"],
    "lists": [[1], [2]],
    "dicts": ["a", {"k": 1}],
    "sparse": pd.arrays.SparseArray([0, 1]),
    "text beside floats": pd.Series(["a", 2.5], dtype=object),
}


@pytest.mark.parametrize("case", CELLS)
def test_cells_that_are_no_states(case):
    with pytest.raises(TypeError, match="column 'culprit'"):
        encode(frame(fine=[1, 2], culprit=CELLS[case]))


def test_unhashable_cells_are_shown():
    with pytest.raises(TypeError, match=r"unhashable value of type list, \[1\].*argument must be a string.*number"):
        encode(frame(a=["x", [1]]))
    many = np.empty(5000, dtype=object)
    many[:] = [[i] for i in range(5000)]
    with pytest.raises(TypeError, match=r"'x0' holds an unhashable value of type list, \[0\]"):
        encode(many[:, None])


def test_bytes_array():
    with pytest.raises(TypeError, match="'x0' has dtype"):
        encode(np.array([[b"a"], [b"b"]]))


FLOATS = {
    "float64": [1.5, 2.5],
    "float32": np.array([1.5, 2.5], dtype=np.float32),
    "nullable": pd.array([1.5, 2.5], dtype="Float64"),
    "arrow": pd.array([1.5, 2.5], dtype="double[pyarrow]"),
    "objects": pd.Series([1.5, 2.5], dtype=object),
    "objects beside integers": pd.Series([1, 2.5], dtype=object),
}


@pytest.mark.parametrize("case", FLOATS)
def test_floats_are_refused_with_a_hint(case):
    X = frame(fine=["a", "b"], first=FLOATS[case], second=[0.5, 1.5])
    with pytest.raises(ValueError, match=r"float column\(s\) 'first', 'second'.*discretise.*Gaussian") as caught:
        encode(X)
    assert "whole numbers" not in str(caught.value)
    assert open_frame(X).float_columns == ("first", "second")


def test_many_float_objects_are_floats():
    X = np.random.default_rng(0).random((5000, 1)).astype(object)
    assert open_frame(X).float_columns == ("x0",)
    with pytest.raises(ValueError, match=r"float column.*'x0'"):
        encode(X)


def test_float_hints_fit_the_cells():
    X = frame(whole=[1.0, 2.0, np.nan], half=[0.5, 1.0, 1.5], infinite=[1.0, np.inf, 2.0], fine=[1, 2, 3])
    with pytest.raises(ValueError) as caught:
        encode(X)
    message = str(caught.value)
    assert "'whole' hold whole numbers only" in message and "discrete_columns=['whole']" in message
    assert "'whole' have missing values (NaN)" in message
    assert "'infinite' have infinite values (inf)" in message


def test_states_that_python_holds_equal():
    with pytest.raises(ValueError, match="column 'a' holds both 1 and True"):
        encode(pd.DataFrame({"a": [1, True, 0]}, dtype=object))
    with pytest.raises(ValueError, match="column 'a' holds both True and 1"):
        encode(pd.DataFrame({"a": [True, 1, 0]}, dtype=object))
    assert encode(pd.DataFrame({"a": [True, 5, "b"]}, dtype=object)).states == ((True, 5, "b"),)


@pytest.mark.parametrize(
    "make",
    [
        lambda n: np.arange(n)[:, None] * 7,
        lambda n: pd.DataFrame({"x0": [str(i) for i in range(n)]}),
        lambda n: pd.DataFrame({"x0": [str(i) for i in range(n)]}, dtype=object),
        lambda n: pd.DataFrame({"x0": [10**20 + i for i in range(n)]}, dtype=object),
        lambda n: pd.DataFrame({"x0": pd.Categorical.from_codes(range(n), categories=range(n))}),
    ],
)
def test_identifiers_are_refused(make):
    with pytest.warns(UserWarning, match=r"'x0' \(65535 states\)"):
        assert encode(make(65535)).cardinalities.tolist() == [65535]
    with pytest.raises(ValueError, match=r"'x0' has more than 65535 distinct values.*identifier, drop it"):
        encode(make(65536))


def test_implausibly_many_states_are_told():
    n = 1000
    X = frame(a=np.arange(n) % 51, b=np.arange(n) % 50, c=[str(i) for i in range(n)], constant=[1] * n)
    with pytest.warns(UserWarning, match=r"column\(s\) 'a' \(51 states\), 'c' \(1000 states\): .*[Mm]erge") as caught:
        encode(X)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    encode(frame(a=range(20), constant=[0] * 20))


def test_unknown_options():
    X = frame(a=[1, 2])
    with pytest.raises(ValueError, match="missing must be one of 'error', 'drop', 'category', 'pairwise', got 'mean'"):
        encode(X, missing="mean")
    with pytest.raises(ValueError, match="missing must be one of 'error', 'drop' for a numeric table"):
        open_frame(X).to_pandas(missing="pairwise")
    with pytest.raises(ValueError, match="missing must be one of"):
        encode(encode(X), missing="no")
    with pytest.raises(ValueError, match="n_jobs"):
        encode(X, n_jobs=0)


def test_the_first_bad_column_is_named_for_any_n_jobs(monkeypatch):
    monkeypatch.setattr("pgmx.data.columns.THREADED_CELLS", 0)
    X = pd.DataFrame({f"c{i}": [1, 2] for i in range(40)})
    X["c7"] = pd.date_range("2020", periods=2)
    X["c30"] = pd.date_range("2020", periods=2)
    for n_jobs in (None, 1, 3):
        with pytest.raises(TypeError, match="'c7'"):
            encode(X, n_jobs=n_jobs)
