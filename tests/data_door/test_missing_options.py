"""Missing values as states of their own."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.examples import examples
from oracles.encoding import encode_incomplete_column
from pgmx.data import MISSING, DiscreteTable, IncompleteRowsWarning, encode, open_frame, open_numeric
from pgmx.data.errors import MissingValuesError
from pgmx.data.mixed import read_mixed

FRAME = pd.DataFrame(
    {
        "sky": ["grey", None, "blue", "grey", "blue"],
        "days": pd.array([7, 3, None, None, 7], dtype="Int64"),
        "wet": pd.array([True, None, False, True, True], dtype="boolean"),
        "kind": pd.Categorical(["b", "a", "b", None, "b"], ["c", "b", "a"]),
        "full": [1, 0, 1, 0, 0],
    }
)
CARRIERS = {
    "pandas": FRAME,
    "objects": FRAME.astype({"sky": object, "days": object, "wet": object}),
    "arrow types": FRAME.convert_dtypes(dtype_backend="pyarrow").astype({"kind": FRAME["kind"].dtype}),
    "arrow": pa.Table.from_pandas(FRAME),
    "polars": pl.DataFrame(FRAME.drop(columns="kind"))
    .with_columns(kind=pl.Series(["b", "a", "b", None, "b"], dtype=pl.Enum(["c", "b", "a"])))
    .select(FRAME.columns.tolist()),
}


@pytest.mark.parametrize("missing", ["category", "pairwise"])
@pytest.mark.parametrize("carrier", CARRIERS)
def test_missing_values_become_the_last_state(carrier, missing):
    table = encode(CARRIERS[carrier], missing=missing)
    assert table.states == (
        ("blue", "grey", "missing"),
        (3, 7, "missing"),
        (False, True, "missing"),
        ("c", "b", "a", "missing"),
        (0, 1),
    )
    assert table.codes.tolist() == [[1, 2, 0, 1, 0], [1, 0, 2, 2, 1], [1, 2, 0, 1, 1], [1, 2, 1, 3, 1], [1, 0, 1, 0, 0]]
    expected = [2, 2, 2, 3, -1] if missing == "pairwise" else [-1] * 5
    assert table.missing_codes.tolist() == expected
    assert table.missing_codes.dtype == np.int64 and not table.missing_codes.flags.writeable
    assert table.to_pandas()["sky"].tolist() == ["grey", MISSING, "blue", "grey", "blue"]


def test_the_name_of_the_state_is_free():
    X = pd.DataFrame({"a": ["missing", None, "missing_1"], "b": ["missing", None, "x"], "c": [None, None, None]})
    table = encode(X, missing="category")
    assert table.states == (("missing", "missing_1", "missing_2"), ("missing", "x", "missing_1"), ("missing",))
    assert table.codes.tolist() == [[0, 2, 1], [0, 2, 1], [0, 0, 0]]


def test_columns_without_a_known_cell():
    X = pa.table(
        {
            "null": pa.nulls(2),
            "text": pa.array([None, None], pa.string()),
            "kind": pa.array([None, None], pa.dictionary(pa.int8(), pa.string())),
        }
    )
    assert encode(X, missing="pairwise").states == (("missing",),) * 3
    declared = pd.DataFrame({"a": pd.Categorical([None, None], ["u", "v"])})
    assert encode(declared, missing="pairwise").states == (("u", "v", "missing"),)
    assert encode(declared, missing="pairwise").missing_codes.tolist() == [2]


def test_declared_states_come_before_the_marker():
    X = pd.DataFrame({"a": ["x", None, "y"], "b": [1, 2, 1]})
    table = encode(X, missing="pairwise", state_names={"a": ["y", "never", "x"], "b": [2, 1]})
    assert table.states == (("y", "never", "x", "missing"), (2, 1))
    assert table.codes.tolist() == [[2, 3, 0], [1, 0, 1]]
    assert table.missing_codes.tolist() == [3, -1]
    with pytest.raises(ValueError, match="column 'a' holds the state"):
        encode(X, missing="category", state_names={"a": ["y"]})


@pytest.mark.filterwarnings("ignore:implausibly many states")
@pytest.mark.parametrize("kind", ["Int64", "category", "string"])
@pytest.mark.parametrize("n_states", [254, 255, 256, 300])
def test_the_marker_may_widen_the_codes(n_states, kind):
    cells = pd.Series([*range(n_states), None], dtype="Int64").astype(kind)
    table = encode(pd.DataFrame({"a": cells}), missing="category")
    assert table.cardinalities.tolist() == [n_states + 1]
    assert table.codes.dtype == (np.uint8 if n_states < 255 else np.uint16)
    assert sorted(table.codes[0].tolist()) == list(range(n_states + 1))
    assert table.codes[0, -1] == n_states
    declared = encode(pd.DataFrame({"a": cells}), missing="category", state_names={"a": cells[:-1].tolist()})
    assert declared.codes.tolist() == [list(range(n_states + 1))]


def test_65535_states_leave_no_room_for_the_marker():
    cells = pd.Series([*range(65535), None], dtype="Int64")
    with pytest.raises(ValueError, match="column 'a' has more than 65535 distinct values"):
        encode(pd.DataFrame({"a": cells}), missing="pairwise")


@pytest.mark.parametrize("missing", ["error", "drop", "category", "pairwise"])
def test_complete_tables_are_as_ever(missing):
    X = pd.DataFrame({"a": ["x", "y"], "b": [1, 1]})
    assert encode(X, missing=missing) == encode(X)


def test_floats_are_refused_for_every_option():
    X = pd.DataFrame({"a": [1.0, None], "b": pd.Series([1, 2.5], dtype=object)})
    for missing in ("error", "drop", "category", "pairwise"):
        with pytest.raises(ValueError, match=r"float column\(s\) 'a', 'b'"):
            encode(X, missing=missing)


@examples(60)
@given(st.lists(st.one_of(st.none(), st.sampled_from(["a", "bb", 3, 4, "missing"])), min_size=2, max_size=20))
def test_the_coding_is_what_the_definition_says(cells):
    array = np.empty((len(cells), 1), dtype=object)
    array[:, 0] = cells
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pgmx.data.columns.warn_of_many_states", lambda *args: None)
        table = encode(array, missing="pairwise")
    states, codes, missing_code = encode_incomplete_column(cells)
    assert table.states == (states,)
    assert table.codes.tolist() == [codes]
    assert table.missing_codes.tolist() == [missing_code]


@pytest.mark.parametrize(
    ("missing_codes", "message"),
    [
        ([0, -1], "missing values of variable 'a' must be its last, 2, or -1, got 0"),
        ([2], r"one integer per variable, got shape \(1,\)"),
        ([2.0, -1.0], "one integer per variable.*float64"),
    ],
)
def test_wrong_missing_codes(missing_codes, message):
    with pytest.raises(ValueError, match=message):
        DiscreteTable(["a", "b"], ["xyz", "uv"], [[0, 1], [1, 1]], missing_codes)


def test_missing_codes_of_a_table_made_by_hand():
    table = DiscreteTable(["a", "b"], ["xyz", "uv"], [[0, 1], [1, 1]], [2, -1])
    assert table.missing_codes.tolist() == [2, -1]
    assert table != DiscreteTable(["a", "b"], ["xyz", "uv"], [[0, 1], [1, 1]])


def test_missing_values_are_refused_with_the_ways_that_the_caller_has():
    with pytest.raises(MissingValuesError) as caught:
        encode(FRAME)
    error = caught.value
    assert error.names == ["sky", "days", "wet", "kind"]
    assert "missing='drop' to leave out the rows that have them, missing='category' to make them a" in str(error)
    assert "missing='pairwise' to use in each family" in str(error)
    told = str(error.among(("drop", "category")).with_option("--missing {}"))
    assert "pass --missing drop to leave out the rows that have them, --missing category to make them a state" in told
    assert "pairwise" not in told
    assert "'em'" not in str(error)
    assert "missing='em' to use their expected counts, or fill" in str(error.among(("drop", "em")))
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    with pytest.raises(MissingValuesError, match="pass missing='drop' to leave out the rows that have them, or fill"):
        open_frame(pd.DataFrame({"a": [0.5, None, 1.5]})).to_pandas()


# ---- rows that are left out ----

LEFT_OUT = r"missing='drop' leaves out 3 of 5 rows, which have missing values \(NaN\): 2 rows \(40%\) remain"


@pytest.mark.parametrize("carrier", CARRIERS)
def test_drop_tells_how_many_rows_are_left(carrier):
    with pytest.warns(IncompleteRowsWarning, match=LEFT_OUT):
        assert encode(CARRIERS[carrier], missing="drop").n_rows == 2


def test_drop_tells_it_of_files_of_numbers_and_of_mixed_tables(tmp_path):
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    numbers = np.arange(10.0).reshape(5, 2)
    numbers[[0, 1, 1, 4], [0, 0, 1, 1]] = np.nan
    with pytest.warns(IncompleteRowsWarning, match=LEFT_OUT):
        encode(tmp_path / "rows.csv", missing="drop")
    with pytest.warns(IncompleteRowsWarning, match=LEFT_OUT):
        open_numeric(numbers, missing="drop")
    with pytest.warns(IncompleteRowsWarning, match=LEFT_OUT):
        read_mixed(open_frame(FRAME.assign(x=np.arange(5.0))), state_names=None, missing="drop")


def test_drop_tells_nothing_where_no_row_is_left_out():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert encode(FRAME[["full"]], missing="drop").n_rows == 5
        assert encode(FRAME, missing="category").n_rows == 5
