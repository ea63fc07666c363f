"""Pandas frames for scores that want one, and tables from files."""

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pgmx.data import encode, open_frame, read_table

MIXED = pd.DataFrame(
    {
        "size": [0.5, 1.5, 2.5],
        "count": [3, 1, 3],
        "wet": [True, False, True],
        "sky": ["grey", "blue", "grey"],
        "kind": pd.Categorical(["b", "a", "b"], ["c", "b", "a"]),
    }
)


@pytest.mark.parametrize(
    "X",
    [
        MIXED,
        MIXED.convert_dtypes().astype({"size": "float32"}),
        MIXED.astype({"size": "Float64", "count": "Int16", "wet": "boolean"}),
        MIXED.astype({"size": object}),
        MIXED.astype({"size": "double[pyarrow]", "count": "int8[pyarrow]", "wet": "bool[pyarrow]"}),
        pa.Table.from_pandas(MIXED),
        pl.DataFrame(MIXED.drop(columns="kind")).with_columns(
            kind=pl.Series(["b", "a", "b"], dtype=pl.Enum(["c", "b", "a"]))
        ),
    ],
)
def test_to_pandas(X):
    frame = open_frame(X)
    assert frame.float_columns == ("size",)
    out = frame.to_pandas()
    assert list(out.columns) == list(MIXED.columns)
    assert [dtype.kind for dtype in out.dtypes[:3]] == ["f", "i", "b"]
    assert out["size"].dtype == np.float64
    assert out["size"].tolist() == [0.5, 1.5, 2.5]
    assert out["count"].tolist() == [3, 1, 3]
    assert out["sky"].cat.categories.tolist() == ["blue", "grey"]
    assert out["sky"].tolist() == ["grey", "blue", "grey"]
    assert out["kind"].cat.categories.tolist() == ["c", "b", "a"]
    assert out["kind"].tolist() == ["b", "a", "b"]
    stated = frame.to_pandas(integers_as_categories=True)
    assert stated["count"].cat.categories.tolist() == [1, 3]
    assert stated["wet"].cat.categories.tolist() == [False, True]
    assert stated["wet"].tolist() == [True, False, True]


def test_to_pandas_gives_a_frame_of_its_own():
    X = pd.DataFrame({"a": [0.5, 1.5], "b": [1, 2], "c": pd.Categorical(["u", "v"])}, index=[7, 9])
    before = X.copy(deep=True)
    out = open_frame(X).to_pandas()
    for name in out:
        if name != "c":
            assert not np.shares_memory(out[name].to_numpy(), X[name].to_numpy())
    out.iloc[0, 0] = -1.0
    out.iloc[0, 1] = -1
    out.iloc[0, 2] = "v"
    pd.testing.assert_frame_equal(X, before)
    assert out.index.tolist() == [0, 1]


def test_to_pandas_of_an_array():
    X = np.array([[0.5, 1.0], [1.5, 2.0]])
    out = open_frame(X).to_pandas()
    assert list(out.columns) == ["x0", "x1"]
    assert not np.shares_memory(out.to_numpy(), X)


def test_to_pandas_keeps_names_of_any_kind():
    X = pd.DataFrame([[0.5, 1.5], [2.5, 3.5]], columns=[("a", 1), 7])
    assert list(open_frame(X).to_pandas().columns) == [("a", 1), 7]


@pytest.mark.parametrize("dtype", ["float64", "float32", "object", "Float64", "double[pyarrow]"])
def test_missing_and_infinite_floats(dtype):
    X = pd.DataFrame({"a": [0.5, np.nan, 2.5, 1.0], "b": [1.5, 2.0, 3.0, 0.5]}).astype(dtype)
    frame = open_frame(X)
    assert frame.missing_columns() == ("a",)
    with pytest.raises(ValueError, match=r"missing values \(NaN\) in column\(s\) 'a'"):
        frame.to_pandas()
    assert frame.to_pandas(missing="drop")["b"].tolist() == [1.5, 3.0, 0.5]
    infinite = pd.DataFrame({"a": [0.5, 1.0], "b": [np.inf, 1.0], "c": [1.0, -np.inf]}).astype(dtype)
    with pytest.raises(ValueError, match=r"infinite values \(inf\) in column\(s\) 'b', 'c'"):
        open_frame(infinite).to_pandas()


def test_to_pandas_refuses_what_is_neither_float_nor_state():
    X = pd.DataFrame({"a": [0.5, 1.0], "when": pd.date_range("2020", periods=2)})
    with pytest.raises(TypeError, match="column 'when' has dtype datetime64"):
        open_frame(X).to_pandas()
    with pytest.raises(ValueError, match="missing must be one of"):
        open_frame(X).to_pandas(missing="mean")


CSV = "sky,days,wet,size\ngrey,1,True,0.5\nblue,,False,1.5\ngrey,3,,2\n"


def test_csv_integers_with_missing_values_stay_integers(tmp_path):
    path = tmp_path / "weather.csv"
    path.write_text(CSV)
    X = read_table(path)
    assert [dtype.kind for dtype in X.dtypes[1:]] == ["i", "b", "f"]
    with pytest.raises(ValueError, match=r"missing values \(NaN\) in column\(s\) 'days', 'wet'"):
        encode(X[["sky", "days", "wet"]])
    assert encode(X[["sky", "days"]], missing="drop").states == (("grey",), (1, 3))


@pytest.mark.parametrize("name", ["t.csv.gz", "T.CSV.GZ"])
def test_compressed_csv(tmp_path, name):
    path = tmp_path / name.lower()
    path.write_bytes(gzip.compress(CSV.encode()))
    assert read_table(path).shape == (3, 4)


@pytest.mark.parametrize("suffix", [".parquet", ".pq"])
def test_parquet_keeps_categories(tmp_path, suffix):
    path = tmp_path / f"table{suffix}"
    MIXED.to_parquet(path)
    assert encode(read_table(str(path))[["count", "wet", "sky", "kind"]]) == encode(
        MIXED[["count", "wet", "sky", "kind"]]
    )


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.xlsx", b"", "unknown suffix: expected one of '.csv'"),
        ("t", b"", "unknown suffix"),
        ("t.csv", b"", "t.csv cannot be read: .*No columns"),
        ("t.csv", b"a,b\n1,2,3,4\n1\n2,3,4,5,6,7\n", "t.csv cannot be read"),
        ("t.csv", b"a,b,a\n1,2,3\n", r"duplicate column name\(s\) 'a'"),
        ("t.csv", b"a,b\n\xff\xfe\xfa,2\n", "t.csv cannot be read"),
        ("t.csv.gz", b"no gzip", "t.csv.gz cannot be read"),
        ("t.parquet", b"no parquet", "t.parquet cannot be read"),
        ("t.parquet", b"", "t.parquet cannot be read"),
    ],
)
def test_unreadable_files(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_table(path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no such file: .*gone\.csv"):
        read_table(tmp_path / "gone.csv")
    folder = tmp_path / "folder.csv"
    folder.mkdir()
    with pytest.raises(FileNotFoundError, match="no such file"):
        read_table(folder)
