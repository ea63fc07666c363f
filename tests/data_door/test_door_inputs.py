"""Every accepted kind of input."""

import enum

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from oracles.encoding import encode_columns
from pgmx.data import DiscreteTable, encode, open_frame, read_table

COLUMNS = {
    "sky": ["grey", "blue", "grey", "a very long name of a state", ""],
    "days": [3, -1, 3, 1000, 7],
    "wet": [True, False, True, True, False],
}


def check(table, columns=COLUMNS, names=None):
    states, codes = encode_columns(list(columns.values()))
    assert table.columns == tuple(columns if names is None else names)
    assert table.states == states
    assert [[type(s) for s in own] for own in table.states] == [[type(s) for s in own] for own in states]
    assert table.codes.tolist() == codes
    assert table.codes.dtype == np.uint8
    assert table.codes.flags.c_contiguous and not table.codes.flags.writeable


FRAME = pd.DataFrame(COLUMNS)
CARRIERS = {
    "pandas": FRAME,
    "pandas object": FRAME.astype(object),
    "pandas python strings": FRAME.astype({"sky": pd.StringDtype("python")}),
    "pandas nullable": FRAME.convert_dtypes(),
    "pandas arrow": FRAME.convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.DataFrame(COLUMNS),
    "polars categorical": pl.DataFrame(COLUMNS).with_columns(pl.col("sky").cast(pl.Categorical)),
    "arrow": pa.table(COLUMNS),
    "arrow batch": pa.record_batch(COLUMNS),
    "arrow slice": pa.table({k: [*v, v[0], v[1]] for k, v in COLUMNS.items()}).slice(0, 5),
    "arrow chunks": pa.concat_tables([pa.table(COLUMNS).slice(0, 2), pa.table(COLUMNS).slice(2)]),
    "arrow string view": pa.table({**COLUMNS, "sky": pa.array(COLUMNS["sky"], pa.string_view())}),
    "narwhals": nw.from_native(pl.DataFrame(COLUMNS)),
    "narwhals over pandas": nw.from_native(FRAME),
}


@pytest.mark.parametrize("carrier", CARRIERS)
def test_the_same_cells_give_the_same_table(carrier):
    check(encode(CARRIERS[carrier]))


@pytest.mark.parametrize(
    "dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "Int8", "UInt16", "Int64"]
)
def test_integers_of_any_width_are_states(dtype):
    cells = [5, 0, 100, 5]
    check(encode(pd.DataFrame({"a": cells}, dtype=dtype)), {"a": cells})
    check(encode(pl.DataFrame({"a": pd.Series(cells, dtype=dtype.lower()).to_numpy()})), {"a": cells})
    check(encode(pd.Series(cells, dtype=dtype.lower()).to_numpy()[:, None]), {"x0": cells})


@pytest.mark.parametrize("cells", [[10**12, -(10**12), 7], [0, 255, 3], [0, 256, 3], [-(2**63), 2**63 - 1, 0]])
def test_integers_of_any_range_are_states(cells):
    check(encode(pd.DataFrame({"a": cells})), {"a": cells})
    check(encode(pd.DataFrame({"a": cells}, dtype=object)), {"a": cells})


def test_integers_beyond_64_bits_are_states():
    cells = [2**70, 3, 2**70, -(2**70)]
    check(encode(pd.DataFrame({"a": cells}, dtype=object)), {"a": cells})


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["int64", "int8", "bool", ">i4", "object", "U3", "T"])
def test_arrays_name_their_columns_as_pgmpy_does(order, dtype):
    cells = np.random.default_rng(0).integers(0, 2 if dtype == "bool" else 4, (40, 3))
    dtype = np.dtypes.StringDType() if dtype == "T" else dtype
    array = np.asarray(cells.astype(dtype), order=order)
    array.setflags(write=False)
    columns = {f"x{j}": array[:, j].tolist() for j in range(3)}
    check(encode(array), columns)
    check(encode(array[::2]), {name: cells[::2] for name, cells in columns.items()})


def test_array_of_text_with_prefixes():
    cells = ["ab", "a", "abc", "ab"]
    check(encode(np.array(cells)[:, None]), {"x0": cells})
    check(encode(np.array(cells).astype(">U3")[:, None]), {"x0": cells})


def test_unaligned_cells():
    packed = np.zeros(50, dtype=np.dtype([("flag", "u1"), ("value", "i8")]))
    packed["value"] = np.random.default_rng(0).integers(0, 5, 50)
    column = packed["value"][:, None]
    assert not column.flags.aligned
    check(encode(column), {"x0": column[:, 0].tolist()})


def test_lists_of_rows_keep_the_type_of_each_cell():
    check(encode([list(row) for row in zip(*COLUMNS.values(), strict=True)]), names=["x0", "x1", "x2"])
    check(encode(tuple(zip(*COLUMNS.values(), strict=True))), names=["x0", "x1", "x2"])


def test_numpy_matrix_and_anything_with_an_array_face():
    class Holder:
        def __array__(self, dtype=None, copy=None):
            return np.array([[1, 2], [3, 2]])

    check(encode(Holder()), {"x0": [1, 3], "x1": [2, 2]})
    check(encode(np.array([[1, 2], [3, 2]]).view(np.matrix)), {"x0": [1, 3], "x1": [2, 2]})


def test_arrow_stream_face():
    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.table(COLUMNS).__arrow_c_stream__(requested_schema)

    check(encode(Stream()))


def test_categories_keep_their_declared_order_and_unobserved_states():
    order = ["mid", "low", "high", "never"]
    cells = ["low", "high", "low"]
    carriers = [
        pd.DataFrame({"a": pd.Categorical(cells, order)}),
        pd.DataFrame({"a": pd.Categorical(cells, order, ordered=True)}),
        pa.Table.from_pandas(pd.DataFrame({"a": pd.Categorical(cells, order)})),
        pl.DataFrame({"a": pl.Series(cells, dtype=pl.Enum(order))}),
    ]
    for carrier in carriers:
        table = encode(carrier)
        assert table.states == (tuple(order),)
        assert table.codes.tolist() == [[1, 2, 1]]


@pytest.mark.parametrize("categories", [[3, 1, 2], [True, False], ["b", "a"], [0.5, 0.25]])
def test_category_states_are_python_scalars(categories):
    table = encode(pd.DataFrame({"a": pd.Categorical([categories[0]] * 2, categories)}))
    assert table.states == (tuple(categories),)
    assert [type(state) for state in table.states[0]] == [type(state) for state in categories]


def test_intervals_from_cut_are_states():
    cut = pd.cut([1, 2, 3], 2)
    assert encode(pd.DataFrame({"a": cut})).states == (tuple(cut.categories),)


@pytest.mark.parametrize("n_categories", [127, 128, 255, 256, 40_000])
def test_category_codes_of_any_width(n_categories):
    codes = np.array([0, n_categories - 1, n_categories // 2, 1])
    frame = pd.DataFrame({"a": pd.Categorical.from_codes(codes, categories=range(n_categories)), "b": [1, 2, 1, 2]})
    with pytest.warns(UserWarning, match="implausibly many states"):
        table = encode(frame)
    assert table.codes.dtype == (np.uint8 if n_categories <= 255 else np.uint16)
    assert table.codes.tolist() == [codes.tolist(), [0, 1, 0, 1]]
    assert table.states == (tuple(range(n_categories)), (1, 2))


def test_arrow_dictionaries_that_are_no_proper_categories():
    indices = pa.array([0, 1, 2])
    repeated = pa.table({"a": pa.DictionaryArray.from_arrays(indices, pa.array(["b", "b", "a"]))})
    assert encode(repeated).states == (("a", "b"),)
    assert encode(repeated).codes.tolist() == [[1, 1, 0]]
    with_null = pa.table({"a": pa.DictionaryArray.from_arrays(indices, pa.array(["b", None, "a"]))})
    with pytest.raises(ValueError, match="missing"):
        encode(with_null)
    assert encode(with_null, missing="drop").codes.tolist() == [[1, 0]]
    chunks = pa.chunked_array([pa.array(["b", "a"]).dictionary_encode(), pa.array(["c", "b"]).dictionary_encode()])
    table = encode(pa.table({"a": chunks}))
    assert [table.states[0][code] for code in table.codes[0]] == ["b", "a", "c", "b"]


def test_numpy_scalars_and_subclasses_among_objects():
    class Size(enum.StrEnum):
        SMALL = "small"

    cells = np.array([np.str_("a"), "a", np.int64(3), 3, np.int8(3)], dtype=object)[:, None]
    assert encode(cells).states == ((3, "a"),)
    assert [type(state) for state in encode(cells).states[0]] == [int, str]
    assert encode(cells).codes.tolist() == [[1, 1, 0, 0, 0]]
    assert encode([[Size.SMALL], ["tall"]]).states == ((Size.SMALL, "tall"),)
    many = np.array([np.str_(i % 10) for i in range(6000)], dtype=object)[:, None]
    check(encode(many), {"x0": [str(i % 10) for i in range(6000)]})


def test_column_names_stay_what_they_are():
    frame = pd.DataFrame([[1, 2], [3, 4]], columns=[("a", 1), 7])
    assert encode(frame).columns == (("a", 1), 7)
    assert type(encode(pd.DataFrame([[1, 2], [3, 4]])).columns[0]) is int


def test_a_coded_table_passes_as_it_is():
    table = encode(FRAME)
    assert encode(table) is table
    assert encode(table, state_names={"wet": [False, True]}) is table
    with pytest.raises(ValueError, match="already coded"):
        encode(table, state_names={"wet": [True, False]})
    with pytest.raises(TypeError, match="already coded"):
        open_frame(table)
    assert isinstance(table, DiscreteTable)


def test_a_frame_opens_once():
    frame = open_frame(FRAME)
    assert open_frame(frame) is frame
    assert (frame.names, frame.n_rows, frame.n_columns) == (("sky", "days", "wet"), 5, 3)
    check(encode(frame))


@pytest.mark.filterwarnings("ignore:implausibly many states")
@pytest.mark.parametrize("n_states", [255, 256, 257])
def test_codes_of_small_integers_widen_above_255_states(n_states):
    table = encode(np.arange(n_states)[:, None])
    assert table.codes.dtype == (np.uint8 if n_states == 255 else np.uint16)
    assert table.codes.tolist() == [list(range(n_states))]


def test_none_is_a_state_of_a_csv_file_and_na_is_missing(tmp_path):
    path = tmp_path / "accidents.csv"
    path.write_text("accident,age\nNone,1\nMild,NA\nNone,2\n")
    whole = read_table(path)
    assert whole["accident"].tolist() == ["None", "Mild", "None"]
    assert whole["age"].isna().tolist() == [False, True, False]
    assert encode(path, missing="drop").states == (("None",), (1, 2))
