"""Tables that come in chunks: files, folders and iterators."""

import gc
import os
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pgmx.data import DiscreteTable, Frame, chunk_coder, encode, open_any, open_frame, read_table, write_table

FRAME = pd.DataFrame({"sky": ["grey", "blue", "grey", "red"], "wet": [True, False, True, True], "days": [3, 1, 3, 2]})
FLOATS = FRAME.assign(size=[0.5, 1.5, 2.5, 3.0])


@pytest.fixture(autouse=True)
def temporary_folder(tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def save(frame, path):
    frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(path)
    return path


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_file(tmp_path, name):
    path = save(FRAME, tmp_path / name)
    expected = encode(FRAME)
    assert encode(path) == encode(str(path)) == open_any(path) == expected
    assert open_frame(path).encode() == expected
    declared = {"sky": ["red", "grey", "blue", "never"]}
    assert encode(path, state_names=declared) == encode(FRAME, state_names=declared)
    with pytest.raises(ValueError, match=r"state_names has unknown column\(s\) 'q'"):
        encode(path, state_names={"q": [1]})
    with pytest.raises(ValueError, match=r"column 'days' holds the state\(s\) 3, which"):
        encode(path, state_names={"days": [1, 2]})


def test_a_folder_is_read_in_the_order_of_the_names(tmp_path):
    for name, rows in (("part-2.parquet", slice(3, 4)), ("part-1.parquet", slice(0, 2)), ("part-10.pq", slice(2, 3))):
        save(FRAME.iloc[rows], tmp_path / name)
    for name in ("_metadata.parquet", ".hidden.parquet", "notes.txt"):
        (tmp_path / name).write_text("nothing")
    expected = encode(FRAME.iloc[[0, 1, 2, 3]])
    assert encode(tmp_path) == open_any(tmp_path) == expected
    assert open_frame(tmp_path).encode() == expected


def test_a_folder_whose_files_differ(tmp_path):
    save(FRAME, tmp_path / "a.parquet")
    save(FRAME[["days", "sky", "wet"]], tmp_path / "b.parquet")
    assert encode(tmp_path) == encode(pd.concat([FRAME, FRAME], ignore_index=True))
    save(FRAME.rename(columns={"sky": "sun"}), tmp_path / "c.parquet")
    with pytest.raises(ValueError, match=r"different columns; only in the first chunk: 'sky'; .*'sun'"):
        encode(tmp_path)
    save(FRAME.astype({"days": str}), tmp_path / "c.parquet")
    with pytest.raises(ValueError, match="column 'days' holds integer values in the first chunks and string values"):
        encode(tmp_path)


def test_a_file_of_pandas_keeps_names_and_drops_the_index(tmp_path):
    frame = pd.DataFrame([[1, 2], [3, 4]], columns=pd.Index([7, 8]), index=pd.Index(["a", "b"], name="row"))
    frame.to_parquet(tmp_path / "t.parquet")
    assert encode(tmp_path / "t.parquet").columns == (7, 8)
    assert encode(tmp_path / "t.parquet") == encode(read_table(tmp_path / "t.parquet")) == encode(frame)


def test_types_of_a_csv_file_are_those_of_all_its_cells(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,c\n" + "".join(f"{i % 3},{i % 2},{i % 2 == 0}\n" for i in range(70_000)) + "x,2.0,7\n")
    frame = read_table(path, na_values=[])
    assert frame["a"].map(type).unique().tolist() == frame["c"].map(type).unique().tolist() == [str]
    del frame["b"]
    frame.to_csv(tmp_path / "u.csv", index=False)
    assert encode(tmp_path / "u.csv", na_values=[]).states == (("0", "1", "2", "x"), ("7", "False", "True"))
    with pytest.raises(ValueError, match=r"float column\(s\) 'b' in a table of discrete variables"):
        encode(path, na_values=[])


def test_csv_words_of_dropped_rows_tell_the_type(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,u\n02,v\nx,\n2,u\n")
    assert encode(path, missing="drop") == encode(read_table(path), missing="drop")
    assert encode(path, missing="drop").states == (("02", "1", "2"), ("u", "v"))


def test_categories_are_put_together_in_the_order_of_the_chunks():
    cells = [["b", "a"], ["c", "b"], ["a", None]]
    kinds = [["b", "a"], ["d", "c", "b"], ["a"]]
    frames = [pd.DataFrame({"a": pd.Categorical(x, k)}) for x, k in zip(cells, kinds, strict=True)]
    frames.insert(0, pd.DataFrame({"a": pd.Categorical([], ["e"])}))
    assert encode(iter(frames[:3])).states == (("e", "b", "a", "d", "c"),)
    table = encode(iter(frames), missing="pairwise")
    assert table.states == (("e", "b", "a", "d", "c", "missing"),)
    assert table.codes.tolist() == [[1, 2, 4, 1, 2, 5]]
    assert table.missing_codes.tolist() == [5]
    declared = {"a": ["a", "b", "c"]}
    assert encode(iter(frames[:3]), state_names=declared).codes.tolist() == [[1, 0, 2, 1]]


def test_kinds_that_do_not_fit_together():
    parts = [pd.DataFrame({"a": pd.Categorical(["u", "v"])}), pd.DataFrame({"a": ["u", "w"]})]
    with pytest.raises(ValueError, match="column 'a' holds category values in the first chunks and string values"):
        encode(iter(parts))
    numbers = [pd.DataFrame({"a": [1, 0]}), pd.DataFrame({"a": [True, False]})]
    with pytest.raises(ValueError, match="column 'a' holds integer values in the first chunks and boolean values"):
        encode(iter(numbers))
    objects = [pd.DataFrame({"a": [1, 0]}, dtype=object), pd.DataFrame({"a": [True, "x"]}, dtype=object)]
    with pytest.raises(ValueError, match="column 'a' holds both 1 and True"):
        encode(iter(objects))


def test_chunks_without_a_known_cell_fit_any_column():
    blank = pd.DataFrame({"a": [np.nan, np.nan]})
    parts = [pd.DataFrame({"a": ["u", "v"]}), blank, pd.DataFrame({"a": [None, "w"]})]
    assert encode(iter(parts), missing="category").states == (("u", "v", "w", "missing"),)
    with pytest.raises(ValueError, match=r"missing values \(NaN\) in column\(s\) 'a': pass missing='drop'"):
        encode(iter(parts))
    assert encode(iter(parts), missing="drop").codes.tolist() == [[0, 1, 2]]
    for others in (blank, pd.DataFrame({"a": [1, 2]})):
        with pytest.raises(ValueError, match=r"float column\(s\) 'a'"):
            encode(iter([others, blank]), missing="category")


BAD_PIECES = {
    "none": ([], "the iterator gave no frame"),
    "no rows": ([FRAME.iloc[:0], FRAME.iloc[:0]], r"0 sample\(s\) \(shape=\(0, 3\)\)"),
    "one row": ([FRAME.iloc[:0], FRAME.iloc[:1]], r"1 sample\(s\) \(shape=\(1, 3\)\)"),
    "no columns": ([FRAME[[]]], r"0 feature\(s\)"),
    "other columns": (
        [FRAME, FRAME[["sky"]]],
        "chunk 2 have different columns; only in the first chunk: 'wet'",
    ),
    "other widths": ([np.eye(2, dtype=int), np.eye(3, dtype=int)], "only in chunk 2: 'x2'"),
    "twice": ([FRAME, pd.DataFrame([[1, 2]], columns=["a", "a"])], r"duplicate column name\(s\) 'a'"),
    "floats": ([FRAME.assign(size=1, big=2), FLOATS.assign(big=0.5)], r"float column\(s\) 'size', 'big'"),
}


@pytest.mark.parametrize("case", BAD_PIECES)
def test_bad_chunks(case, temporary_folder):
    parts, message = BAD_PIECES[case]
    with pytest.raises(ValueError, match=message):
        encode(iter(parts))
    assert list(temporary_folder.iterdir()) == []


def test_too_many_states_over_all_chunks():
    parts = (np.arange(i, i + 30_000)[:, None] for i in (0, 30_000, 60_000))
    with pytest.raises(ValueError, match="column 'x0' has more than 65535 distinct values"):
        encode(parts)


def test_the_warning_of_many_states_points_to_the_caller(tmp_path):
    frame = pd.DataFrame({"a": range(50)})
    for X in (frame, iter([frame]), save(frame, tmp_path / "t.csv")):
        with pytest.warns(UserWarning, match=r"implausibly many states for 50 rows in column\(s\) 'a'") as caught:
            encode(X)
        assert [warning.filename for warning in caught] == [__file__]


def test_wrong_paths(tmp_path):
    (tmp_path / "t.xlsx").write_text("")
    (tmp_path / "t.parquet").write_text("no parquet")
    (tmp_path / "t.csv").write_bytes(b"a,b\n\xff\xfe\xfa,2\n")
    (tmp_path / "empty").mkdir()
    for take in (encode, open_any, open_frame):
        with pytest.raises(FileNotFoundError, match=r"no such file: .*gone\.csv"):
            take(tmp_path / "gone.csv")
        with pytest.raises(ValueError, match="unknown suffix: expected one of '.csv'"):
            take(tmp_path / "t.xlsx")
        with pytest.raises(FileNotFoundError, match=r"no Parquet file \('.parquet', '.pq'\) in the folder .*empty"):
            take(tmp_path / "empty")
        for name in ("t.parquet", "t.csv"):
            with pytest.raises(ValueError, match=f"{name} cannot be read"):
                take(tmp_path / name)


@pytest.mark.parametrize("missing", ["error", "drop"])
@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_files_of_floats_are_opened_whole(tmp_path, name, missing):
    path = save(FLOATS, tmp_path / name)
    opened = open_any(path, missing=missing)
    assert isinstance(opened, Frame) and opened.float_columns == ("size",)
    with pytest.raises(ValueError, match=r"float column\(s\) 'size'"):
        encode(path)
    assert open_any(FLOATS).n_rows == 4


@pytest.mark.parametrize("carry", [lambda x: x, pl.DataFrame, pa.Table.from_pandas, pa.RecordBatch.from_pandas])
def test_iterators_of_floats_are_taken_whole(carry):
    opened = open_any(map(carry, [FLOATS, FLOATS]))
    assert isinstance(opened, Frame) and opened.n_rows == 8 and opened.float_columns == ("size",)
    assert open_frame(map(carry, [FLOATS, FLOATS])).n_rows == 8
    arrays = (np.eye(2) for _ in range(3))
    assert open_any(arrays).n_rows == 6
    assert isinstance(open_any(map(carry, [FRAME, FRAME])), DiscreteTable)
    for take in (open_any, open_frame, encode):
        with pytest.raises(ValueError, match="the iterator gave no frame"):
            take(iter([]))


@pytest.mark.slow
def test_a_temporary_file_goes_with_its_table(temporary_folder):
    table = encode(iter([FRAME, FRAME]))
    assert table.path.is_file() and table.path.is_relative_to(temporary_folder)
    codes = table.codes
    chunk_coder._discard(table.path.parent, os.getpid() + 1)  # as a forked process would
    assert table.path.is_file()
    del table
    gc.collect()
    assert list(temporary_folder.iterdir()) == []
    assert codes.tolist() == encode(pd.concat([FRAME, FRAME])).codes.tolist()


def test_many_row_groups_with_dictionaries_of_their_own(tmp_path):
    path = tmp_path / "t.parquet"
    parts = [["b", "a"], ["c", "b"], ["c", "c"]]
    chunks = [pa.table({"a": pa.array(part).dictionary_encode()}) for part in parts]
    with pq.ParquetWriter(path, chunks[0].schema) as writer:
        for chunk in chunks:
            writer.write_table(chunk)
    assert write_table(path, Path(tmp_path, "t.pgmx"), chunk_rows=3).states == (("b", "a", "c"),)
    assert encode(path) == encode(read_table(path))


def test_jobs_do_not_matter(tmp_path, monkeypatch):
    monkeypatch.setattr("pgmx.data.columns.THREADED_CELLS", 0)
    path = save(FRAME, tmp_path / "t.parquet")
    assert encode(path, n_jobs=2) == encode(FRAME)
