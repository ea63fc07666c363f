"""The coded table itself."""

import pickle
import weakref

import numpy as np
import pytest

from oracles.encoding import planes_of
from pgmx.data import DiscreteTable, encode


@pytest.fixture
def table():
    return DiscreteTable(["a", ("b", 1)], [["x", "y", "z"], [False, True]], [[0, 2, 0, 1], [1, 1, 0, 0]])


def test_parts(table):
    assert table.columns == ("a", ("b", 1))
    assert table.states == (("x", "y", "z"), (False, True))
    assert (table.n_variables, table.n_rows) == (2, 4)
    assert table.cardinalities.tolist() == [3, 2]
    assert table.cardinalities.dtype == np.int64
    assert table.codes.dtype == np.uint8
    assert table.codes.flags.c_contiguous
    assert repr(table) == "DiscreteTable(2 variables, 4 rows, 5 states, uint8)"


def test_it_cannot_be_changed(table):
    for array in (table.codes, table.cardinalities):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        table.codes = np.zeros((2, 4))
    with pytest.raises(AttributeError):
        table.other = 1


def test_it_keeps_no_alias_of_its_arguments():
    codes = np.array([[0, 1, 0]], dtype=np.uint8)
    states = [["x", "y"]]
    table = DiscreteTable(["a"], states, codes)
    codes[:] = 1
    states[0].append("z")
    assert table.codes.tolist() == [[0, 1, 0]]
    assert table.states == (("x", "y"),)


def test_state_names_become_python_scalars():
    table = DiscreteTable(["a"], [np.array([5, 7])], [[0, 1]])
    assert [type(state) for state in table.states[0]] == [int, int]


def test_codes_widen_above_255_states():
    assert DiscreteTable(["a"], [range(255)], [[254, 0]]).codes.dtype == np.uint8
    assert DiscreteTable(["a"], [range(256)], [[255, 0]]).codes.dtype == np.uint16


@pytest.mark.parametrize(
    ("columns", "states", "codes", "message"),
    [
        (["a"], [["x"]], [0, 0], "2-D integer array"),
        (["a"], [["x"]], [[0.0, 0.0]], "2-D integer array"),
        (["a", "b"], [["x"]], [[0, 0]], "got 2, 1 and 1"),
        (["a"], [["x"]], [[0, 1]], "variable 'a' has 1 states.*got 0 to 1"),
        (["a"], [["x"]], [[0, -1]], "variable 'a' has 1 states.*got -1 to 0"),
        (["a"], [[]], [[0, 0]], "variable 'a' has 0 states"),
        (["a"], [range(65536)], [[0, 0]], "variable 'a' has 65536 states"),
        (["a"], [["x", "x"]], [[0, 0]], "states of variable 'a' are not distinct"),
        (["a", "b", "a"], [["x"]] * 3, [[0], [0], [0]], "variable 'a' occurs more than once"),
        (["a"], [["x"]], np.zeros((1, 0), dtype=int), "must not be empty"),
    ],
)
def test_wrong_parts_are_named(columns, states, codes, message):
    with pytest.raises(ValueError, match=message):
        DiscreteTable(columns, states, codes)


def test_index(table):
    assert table.index("a") == 0
    assert table.index(("b", 1)) == 1
    for unknown in ("c", ["unhashable"]):
        with pytest.raises(ValueError, match=r"no variable .*: the variables are 'a'"):
            table.index(unknown)


def test_equality_is_by_content(table):
    same = DiscreteTable(table.columns, table.states, table.codes.astype(int))
    assert table == same
    assert hash(table) == hash(same)
    others = [
        DiscreteTable(["a", "c"], table.states, table.codes),
        DiscreteTable(table.columns, [["x", "y", "w"], [False, True]], table.codes),
        DiscreteTable(table.columns, [["x", "y", "z"], [0, 1]], table.codes),
        DiscreteTable(table.columns, table.states, table.codes[:, ::-1]),
    ]
    assert all(table != other for other in others)
    assert table != "table"


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickling(table, protocol):
    back = pickle.loads(pickle.dumps(table, protocol=protocol))
    assert back == table
    assert not back.codes.flags.writeable
    assert back.codes.flags.c_contiguous


def test_it_can_be_referred_to_weakly(table):
    assert weakref.ref(table)() is table


@pytest.mark.parametrize("n_rows", [2, 63, 64, 65, 511, 512, 513])
def test_planes_are_the_codes_in_bits(n_rows):
    rng = np.random.default_rng(n_rows)
    table = encode(rng.integers(0, 4, (n_rows, 3)), state_names={"x1": range(6)})
    planes, offsets = table.planes, table.plane_offsets
    assert planes.dtype == np.uint64
    assert planes.shape[1] % 8 == 0
    assert planes.ctypes.data % 64 == 0
    assert offsets.tolist() == [0, *np.cumsum(table.cardinalities)]
    bits = np.unpackbits(planes.view(np.uint8), axis=1, bitorder="little").astype(bool)
    assert bits[:, :n_rows].tolist() == planes_of(table.codes.tolist(), table.cardinalities.tolist())
    assert not bits[:, n_rows:].any()
    assert table.planes is planes


def test_variables_with_many_states_have_no_planes():
    table = DiscreteTable(["a", "b"], [range(256), "xy"], [[255, 0], [0, 1]])
    assert table.plane_offsets.tolist() == [0, 0, 2]
    assert table.planes.shape[0] == 2


def test_planes_are_not_pickled(table):
    bare = len(pickle.dumps(table))
    assert table.planes.shape[0] == 5
    assert len(pickle.dumps(table)) == bare
