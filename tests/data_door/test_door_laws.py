"""Laws of coding."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oracles.encoding import encode_columns
from pgmx.data import encode, open_frame

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
cells = st.one_of(
    texts,
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from(["low", "normal", "high"]),
    st.integers(0, 3),
)


@st.composite
def tables(draw, uniform=True):
    """Columns of one length, each of cells of one type (or of strings and integers above one mixed)."""
    n = draw(st.integers(2, 25))
    kinds = [texts, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.integers(0, 3), st.sampled_from(["a", "bb"])]
    if not uniform:
        kinds.append(st.one_of(texts, st.integers(2, 9), st.booleans()))
    columns = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=4))
    return [draw(st.lists(kind, min_size=n, max_size=n)) for kind in columns]


def quiet(max_examples=60):
    return settings(max_examples=max_examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def decoded(table):
    return [[states[code] for code in codes] for states, codes in zip(table.states, table.codes, strict=True)]


def object_array(columns):
    array = np.empty((len(columns[0]), len(columns)), dtype=object)
    for j, column in enumerate(columns):
        array[:, j] = column
    return array


pytestmark = pytest.mark.filterwarnings("ignore:implausibly many states")


@quiet()
@given(tables(uniform=False))
def test_the_table_is_what_the_definition_says(columns):
    table = encode(object_array(columns))
    states, codes = encode_columns(columns)
    assert table.states == states
    assert table.codes.tolist() == codes


@quiet()
@given(tables(uniform=False))
def test_decoding_gives_the_cells_back(columns):
    back = decoded(encode(object_array(columns)))
    assert back == columns
    assert [[type(cell) for cell in column] for column in back] == [[type(cell) for cell in col] for col in columns]


@quiet()
@given(tables())
def test_the_carrier_does_not_matter(columns):
    named = {f"x{j}": column for j, column in enumerate(columns)}
    frame = pd.DataFrame(named)
    expected = encode(object_array(columns))
    carriers = [
        frame,
        frame.astype(object),
        frame.convert_dtypes(),
        frame.convert_dtypes(dtype_backend="pyarrow"),
        pa.table(named),
        pl.DataFrame(named),
        [list(row) for row in zip(*columns, strict=True)],
    ]
    for carrier in carriers:
        assert encode(carrier) == expected


@quiet()
@given(tables(uniform=False), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(columns, random):
    array = object_array(columns)
    order = list(range(len(array)))
    random.shuffle(order)
    table, shuffled = encode(array), encode(array[order])
    assert table.states == shuffled.states
    assert np.array_equal(table.codes[:, order], shuffled.codes)


@quiet()
@given(tables(), st.data())
def test_the_chunks_of_a_table_do_not_matter(columns, data):
    table = pa.table({f"x{j}": column for j, column in enumerate(columns)})
    cut = data.draw(st.integers(0, table.num_rows))
    assert encode(pa.concat_tables([table.slice(0, cut), table.slice(cut)])) == encode(table)


@quiet()
@given(tables(uniform=False), st.data())
def test_dropping_rows_first_is_the_same_as_missing_drop(columns, data):
    array = object_array(columns)
    holes = data.draw(
        st.lists(st.tuples(st.integers(0, len(array) - 1), st.integers(0, array.shape[1] - 1)), max_size=9)
    )
    for row, column in holes:
        array[row, column] = None
    keep = [i for i in range(len(array)) if i not in {row for row, _ in holes}]
    if len(keep) < 2:
        with pytest.raises(ValueError, match="rows have no missing value"):
            encode(array, missing="drop")
    else:
        assert encode(array, missing="drop") == encode(array[keep])


@quiet(20)
@given(tables())
def test_any_number_of_jobs_gives_the_same_table(columns):
    frame = pd.DataFrame({f"c{j}": column for j, column in enumerate(columns * 3)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pgmx.data.columns.THREADED_CELLS", 0)
        assert encode(frame, n_jobs=3) == encode(frame) == encode(frame, n_jobs=1)


def test_jobs_over_a_block_of_integers(monkeypatch):
    monkeypatch.setattr("pgmx.data.columns.THREADED_CELLS", 0)
    array = np.random.default_rng(0).integers(0, 400, (700, 23))
    array[:, ::2] %= 5
    assert encode(array, n_jobs=2) == encode(array) == encode(np.asfortranarray(array))


@quiet(30)
@given(tables())
def test_the_frame_of_the_caller_is_untouched(columns):
    frame = pd.DataFrame({f"c{j}": column for j, column in enumerate(columns)})
    before = frame.copy(deep=True)
    table = encode(frame)
    codes = table.codes.copy()
    pd.testing.assert_frame_equal(frame, before)
    frame.iloc[:, :] = frame.iloc[::-1].to_numpy()
    assert np.array_equal(table.codes, codes)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "category", "bool"])
def test_codes_share_no_memory_with_the_input(dtype):
    array = np.array([[0, 1], [1, 0], [1, 1]], dtype="uint8" if dtype == "category" else dtype)
    carrier = pd.DataFrame(array).astype(dtype) if dtype == "category" else array
    table = encode(carrier)
    expected = table.codes.tolist()
    if dtype == "category":
        carrier.iloc[:, 0] = carrier.iloc[::-1, 0].to_numpy()
    else:
        assert not np.shares_memory(table.codes, array)
        array[:] = 0
    assert table.codes.tolist() == expected


def test_read_only_cells_are_accepted():
    for array in (np.array([[1, 2], [3, 4]]), np.array([["a", 2], ["b", 3]], dtype=object), np.array([["a"], ["b"]])):
        array.setflags(write=False)
        assert encode(array).n_rows == 2
    floats = np.array([[0.5, 1.0], [1.0, 2.0]])
    floats.setflags(write=False)
    assert open_frame(floats).to_pandas().shape == (2, 2)


@pytest.mark.slow
@pytest.mark.slow
def test_the_hash_seed_does_not_matter(hash_seed_digests):
    one, other = hash_seed_digests
    assert one["encoding"] == other["encoding"]
