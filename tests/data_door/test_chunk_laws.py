"""Laws of tables that come in chunks: the result does not depend on the chunks."""

import contextlib
import itertools
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pgmx.data import encode, open_table, read_table, write_table
from pgmx.data.files import plane_file, readers

OPTIONS = ["error", "drop", "category", "pairwise"]
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)


def column(draw, n):
    """One pandas column of any kind, maybe with missing values."""
    kind = draw(st.sampled_from(["text", "few", "int", "wide int", "bool", "category", "mixed", "numpy int", "blank"]))
    cells = {
        "text": texts,
        "few": st.sampled_from(["low", "normal", "high", "missing"]),
        "int": st.integers(-2, 3),
        "numpy int": st.integers(0, 4),
        "wide int": st.integers(-(2**63), 2**63 - 1),
        "bool": st.booleans(),
        "category": st.sampled_from(["u", "v", "w"]),
        "mixed": st.one_of(st.sampled_from(["a", "b"]), st.integers(2, 4)),
        "blank": st.none(),
    }[kind]
    if draw(st.booleans()) and kind != "numpy int":
        cells = st.one_of(cells, st.none())
    dtype = {
        "text": draw(st.sampled_from(["str", "string", "object", "category"])),
        "few": draw(st.sampled_from(["str", "object"])),
        "int": "Int64",
        "numpy int": draw(st.sampled_from(["int8", "int64", "uint16"])),
        "wide int": "Int64",
        "bool": "boolean",
        "category": pd.CategoricalDtype(draw(st.permutations(["w", "v", "u", "never"]))),
        "mixed": "object",
        "blank": "object",
    }[kind]
    return pd.Series(draw(st.lists(cells, min_size=n, max_size=n)), dtype=dtype)


@st.composite
def frames(draw):
    n = draw(st.integers(2, 25))
    return pd.DataFrame({f"v{j}": column(draw, n) for j in range(draw(st.integers(1, 4)))})


@st.composite
def cuts(draw, n):
    return sorted(draw(st.lists(st.integers(0, n), max_size=5)))


def pieces(frame, at):
    bounds = [0, *at, len(frame)]
    return [frame.iloc[a:b] for a, b in itertools.pairwise(bounds)]


@contextlib.contextmanager
def quiet():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "implausibly many states")
        warnings.filterwarnings("ignore", ".*look like markers of missing values")
        yield


def outcome(make):
    """What coding gives: a table, or the type of the error."""
    try:
        with quiet():
            return make()
    except (TypeError, ValueError) as error:
        return type(error), getattr(error, "names", None)


def check_same(found, expected):
    assert found == expected
    if not isinstance(expected, tuple):
        assert found.codes.dtype == expected.codes.dtype
        assert np.array_equal(found.planes, expected.planes)
        assert np.array_equal(found.plane_offsets, expected.plane_offsets)
        assert found.path is not None and not found.codes.flags.writeable
        assert found.codes.ctypes.data % 64 == found.planes.ctypes.data % 64 == 0


def laws(max_examples=80):
    return settings(
        max_examples=max_examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr("pgmx.data.chunk_coder.BLOCK_ROWS", 512)
    monkeypatch.setattr(plane_file, "BLOCK_ROWS", 512)


@laws()
@given(frames(), st.data(), st.sampled_from(OPTIONS))
@pytest.mark.slow
def test_any_split_into_chunks_gives_the_table_of_the_whole(frame, data, missing):
    parts = pieces(frame, data.draw(cuts(len(frame))))
    expected = outcome(lambda: encode(frame, missing=missing))
    check_same(outcome(lambda: encode(iter(parts), missing=missing)), expected)


@laws(30)
@given(frames(), st.data(), st.sampled_from(OPTIONS))
def test_a_plane_file_holds_the_table(tmp_path, frame, data, missing):
    expected = outcome(lambda: encode(frame, missing=missing))
    parts = iter(pieces(frame, data.draw(cuts(len(frame)))))
    for source in (frame, parts):
        found = outcome(lambda source=source: write_table(source, tmp_path / "t.pgmx", missing=missing))
        check_same(found, expected)
    if not isinstance(expected, tuple):
        check_same(open_table(tmp_path / "t.pgmx", verify=True), expected)


@laws(30)
@given(frames(), st.integers(1, 9), st.integers(1, 9), st.sampled_from(OPTIONS))
def test_a_parquet_file_for_any_chunk_size(tmp_path, frame, chunk_rows, group_rows, missing):
    frame = frame.drop(columns=[name for name in frame if pd.api.types.infer_dtype(frame[name]) == "mixed-integer"])
    if frame.shape[1] == 0:
        return
    path = tmp_path / "t.parquet"
    frame.to_parquet(path, row_group_size=group_rows)
    expected = outcome(lambda: encode(read_table(path), missing=missing))
    check_same(
        outcome(lambda: write_table(path, tmp_path / "t.pgmx", missing=missing, chunk_rows=chunk_rows)), expected
    )


words = st.sampled_from(["1", "01", "2", "-7", "True", "false", "x", "y z", "", "NA", "1.5", '"', "a,b", "99999999999"])


@laws()
@given(
    st.integers(1, 3).flatmap(lambda p: st.lists(st.lists(words, min_size=p, max_size=p), min_size=2, max_size=20)),
    st.integers(1, 9),
    st.sampled_from(OPTIONS),
)
@pytest.mark.slow
def test_a_csv_file_for_any_chunk_size(tmp_path, rows, chunk_rows, missing):
    path = tmp_path / "t.csv"
    frame = pd.DataFrame(rows, columns=[f"v{j}" for j in range(len(rows[0]))])
    frame.insert(0, "number", range(len(rows)))  # no line is blank
    frame.to_csv(path, index=False)
    expected = outcome(lambda: encode(read_table(path), missing=missing))
    found = outcome(lambda: write_table(path, tmp_path / "t.pgmx", missing=missing, chunk_rows=chunk_rows))
    check_same(found, expected)


@pytest.mark.slow
@laws(30)
@given(st.lists(st.sampled_from("abc"), min_size=2, max_size=30), st.data())
def test_the_carrier_of_the_chunks_does_not_matter(cells, data):
    frame = pd.DataFrame({"x0": cells, "x1": range(len(cells))})
    at = data.draw(cuts(len(cells)))
    expected = outcome(lambda: encode(frame))
    for carry in (
        lambda part: pl.DataFrame(part.reset_index(drop=True)),
        lambda part: pa.Table.from_pandas(part, preserve_index=False),
        lambda part: pa.RecordBatch.from_pandas(part, preserve_index=False),
        lambda part: part.astype(object).to_numpy(),
    ):
        check_same(outcome(lambda carry=carry: encode(map(carry, pieces(frame, at)))), expected)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    check_same(outcome(lambda: encode(table.to_reader(max_chunksize=3))), expected)


@laws(30)
@given(st.lists(st.integers(0, 400), min_size=2, max_size=900), st.data())
def test_planes_and_wide_codes_across_blocks(cells, data):
    array = np.array([cells, np.array(cells) % 3, np.array(cells) % 256, np.array(cells) % 255]).T
    at = data.draw(cuts(len(cells)))
    parts = np.split(array, at)
    check_same(outcome(lambda: encode(iter(parts))), outcome(lambda: encode(array)))


def test_wide_tables_are_read_in_fewer_rows(tmp_path, monkeypatch):
    frame = pd.DataFrame(np.random.default_rng(0).integers(0, 3, (50, 7))).rename(columns=str)
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "t.parquet")
    monkeypatch.setattr(readers, "CHUNK_CELLS", 21)
    sizes = [frame.n_rows for frame in readers.open_chunks(tmp_path / "t.parquet", 100)[0]]
    assert max(sizes) == 3 and sum(sizes) == 50
    check_same(encode(tmp_path / "t.parquet"), encode(frame))
