"""Declared states, and missing values."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pgmx.data import encode, open_frame


def test_state_names_give_order_and_more_states():
    X = pd.DataFrame({"a": ["x", "y", "x"], "b": [2, 1, 2]})
    table = encode(X, state_names={"a": ["y", "never", "x"]})
    assert table.states == (("y", "never", "x"), (1, 2))
    assert table.codes.tolist() == [[2, 0, 2], [1, 0, 1]]


def test_state_names_replace_categories():
    X = pd.DataFrame({"a": pd.Categorical(["b", "a"], ["z", "b", "a"])})
    assert encode(X, state_names={"a": ["a", "b", "c"]}).codes.tolist() == [[1, 0]]
    with pytest.raises(ValueError, match=r"column 'a' holds the state\(s\) 'a'.*declares 'b', 'z'"):
        encode(X, state_names={"a": ["b", "z"]})


def test_state_names_are_python_scalars_too():
    table = encode(pd.DataFrame({"a": [1, 2]}), state_names={"a": np.array([2, 1])})
    assert table.states == ((2, 1),)
    assert [type(state) for state in table.states[0]] == [int, int]


def test_many_declared_states_widen_the_codes():
    with pytest.warns(UserWarning, match="implausibly many"):
        table = encode(pd.DataFrame({"a": [299, 2], "b": ["u", "v"]}), state_names={"a": range(300)})
    assert table.codes.dtype == np.uint16
    assert table.codes.tolist() == [[299, 2], [0, 1]]


def test_many_observed_states_are_declared_in_another_order():
    cells = np.arange(300)
    with pytest.warns(UserWarning, match="implausibly many"):
        table = encode(pd.DataFrame({"a": cells}), state_names={"a": cells[::-1]})
    assert table.codes[0].tolist() == cells[::-1].tolist()


@pytest.mark.parametrize(
    ("state_names", "kind", "message"),
    [
        ({"b": ["x"]}, ValueError, "unknown column\\(s\\) 'b': the columns are 'a'"),
        ({"a": ["x"]}, ValueError, "column 'a' holds the state\\(s\\) 'y'"),
        ({"a": ["x", "y", "x"]}, ValueError, "\\['a'\\] repeats the state\\(s\\) 'x'"),
        ({"a": []}, ValueError, "must hold 1 to 65535 states, got 0"),
        ({"a": ["x", "y", None]}, ValueError, "missing value"),
        ({"a": ["x", "y", float("nan")]}, ValueError, "missing value"),
        ({"a": ["x", ["y"]]}, TypeError, "unhashable state"),
        ({"a": "xy"}, TypeError, "must be a list of states, got 'xy'"),
        ({"a": 2}, TypeError, "must be a list of states, got 2"),
        (["x", "y"], TypeError, "must be a dict of lists"),
    ],
)
def test_bad_state_names(state_names, kind, message):
    with pytest.raises(kind, match=message):
        encode(pd.DataFrame({"a": ["x", "y"]}), state_names=state_names)


def test_state_names_are_not_changed():
    declared = {"a": ["y", "x"]}
    encode(pd.DataFrame({"a": ["x", "y"]}), state_names=declared)
    assert declared == {"a": ["y", "x"]}


MISSING = {
    "object": pd.Series(["u", None, "v", "u"], dtype=object),
    "object nan": pd.Series(["u", np.nan, "v", "u"], dtype=object),
    "object NA": pd.Series(["u", pd.NA, "v", "u"], dtype=object),
    "object NaT": pd.Series(["u", pd.NaT, "v", "u"], dtype=object),
    "integer objects": pd.Series([1, np.nan, 2, 1], dtype=object),
    "str": pd.Series(["u", None, "v", "u"], dtype="str"),
    "string": pd.Series(["u", None, "v", "u"], dtype="string"),
    "python string": pd.Series(["u", None, "v", "u"], dtype=pd.StringDtype("python")),
    "category": pd.Series(["u", None, "v", "u"], dtype="category"),
    "wide category": pd.Series(pd.Categorical([0, None, 1, 0], categories=range(300))),
    "Int64": pd.Series([1, None, 2, 1], dtype="Int64"),
    "boolean": pd.Series([False, None, True, False], dtype="boolean"),
    "arrow int": pd.Series([1, None, 2, 1], dtype="int64[pyarrow]"),
    "arrow string": pd.Series(["u", None, "v", "u"], dtype="string[pyarrow]"),
}


@pytest.mark.filterwarnings("ignore:implausibly many states")
@pytest.mark.parametrize("case", MISSING)
def test_missing_values_are_an_error_or_dropped(case):
    X = pd.DataFrame({"full": ["p", "q", "p", "q"], "gap": MISSING[case]})
    for carrier in (X, pa.Table.from_pandas(X) if "object" not in case else X):
        frame = open_frame(carrier)
        assert frame.missing_columns() == ("gap",)
        with pytest.raises(ValueError, match=r"missing values \(NaN\) in column\(s\) 'gap': pass missing='drop'"):
            frame.encode()
        table = frame.encode(missing="drop")
        assert table.codes.tolist() == [[0, 0, 1], [0, 1, 0]]
        assert table == encode(X.dropna().reset_index(drop=True))


def test_states_of_dropped_rows_are_gone_unless_declared():
    X = pd.DataFrame({"a": ["only here", "x", "y"], "b": pd.array([None, 1, 1], dtype="Int64")})
    assert encode(X, missing="drop").states == (("x", "y"), (1,))
    declared = {"a": ["x", "y", "only here"]}
    assert encode(X, missing="drop", state_names=declared).states[0] == ("x", "y", "only here")


def test_all_incomplete_columns_are_named():
    X = pd.DataFrame({f"c{i}": ["a", None if i % 2 else "b", "c"] for i in range(30)})
    with pytest.raises(ValueError, match=r"'c1', 'c3', .* and 5 more"):
        encode(X)


@pytest.mark.parametrize("left", [0, 1])
def test_too_few_rows_are_left(left):
    X = pd.DataFrame({"a": ["x", None, "z"], "b": [None, "p", "q"] if left else [None, "p", None]})
    with pytest.raises(ValueError, match=f"{left} of 3 rows have no missing value.*'a', 'b'"):
        encode(X, missing="drop")


@pytest.mark.parametrize(
    "X", [pd.DataFrame({"a": [None, None]}), pa.table({"a": pa.nulls(2)}), pl.DataFrame({"a": [None] * 2})]
)
def test_a_column_of_nothing(X):
    with pytest.raises(ValueError, match=r"missing values .*'a'"):
        encode(X)
    with pytest.raises(ValueError, match="0 of 2 rows"):
        encode(X, missing="drop")


def test_many_missing_objects():
    cells = np.array([float("nan") if i % 2 else i % 8 for i in range(20_000)], dtype=object)
    table = encode(cells[:, None], missing="drop")
    assert table.states == ((0, 2, 4, 6),)
    assert table.n_rows == 10_000


def test_drop_without_missing_values_changes_nothing():
    X = pd.DataFrame({"a": ["x", "y"]})
    assert encode(X, missing="drop") == encode(X)
