"""Tables with repeated rows, and tables sent to other processes."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.examples import examples
from pgmx._ext import _rows
from pgmx.data import DiscreteTable, encode


def random_table(n, n_rows, n_states=3, seed=0):
    codes = np.random.default_rng(seed).integers(0, n_states, (n, n_rows))
    return DiscreteTable([f"v{v}" for v in range(n)], [range(n_states)] * n, codes)


@examples(60)
@given(st.integers(1, 9), st.lists(st.integers(0, 4), min_size=2, max_size=70), st.sampled_from([3, 300]))
def test_rows_stand_as_often_as_their_weights_say(n, weights, n_states):
    table = random_table(n, len(weights), n_states, seed=len(weights))
    if not any(weights):
        with pytest.raises(ValueError, match="no row is left"):
            table.repeat_rows(weights)
        return
    repeated = table.repeat_rows(weights)
    assert repeated == DiscreteTable(table.columns, table.states, np.repeat(table.codes, weights, axis=1))
    assert repeated.codes.dtype == table.codes.dtype
    assert not repeated.codes.flags.writeable and repeated.path is None


@pytest.mark.parametrize("dtype", ["uint8", "int32", "uint64", "bool"])
def test_weights_of_any_integer_type(dtype):
    table = random_table(5, 4)
    weights = np.array([1, 0, 1, 1], dtype=dtype)
    weights.setflags(write=False)
    assert np.array_equal(table.repeat_rows(weights).codes, table.codes[:, [0, 2, 3]])


def test_the_meaning_of_missing_values_is_kept():
    table = encode([["a", 1], [None, 2], ["b", 1]], missing="pairwise")
    assert table.repeat_rows([0, 2, 1]).missing_codes.tolist() == [2, -1]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], r"3 in all, got shape \(2,\)"),
        ([[1, 2, 3]], r"got shape \(1, 3\)"),
        ([1.0, 2.0, 1.0], "weights must be integers, got float64"),
        ([1, -2, 1], "weights must not be negative, got -2"),
        ([0, 0, 0], "no row is left"),
    ],
)
def test_wrong_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        random_table(2, 3).repeat_rows(weights)


@pytest.mark.parametrize("index", [np.uint32, np.uint64])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_gather_kernel(dtype, index):
    rng = np.random.default_rng(1)
    for n in (1, 3, 4, 5, 8):
        codes = rng.integers(0, 200, (n, 50)).astype(dtype)
        rows = rng.integers(0, 50, 37).astype(index)
        codes.setflags(write=False)
        out = np.empty((n, 37), dtype=dtype)
        _rows.gather_rows(codes, rows, out)
        assert np.array_equal(out, codes[:, rows])


@pytest.mark.parametrize("protocol", [2, 5])
@pytest.mark.parametrize("n_states", [3, 300])
def test_a_table_from_misaligned_memory_is_aligned_and_read_only(n_states, protocol):
    table = random_table(3, 101, n_states)
    received = []
    data = pickle.dumps(table, protocol=protocol, buffer_callback=received.append if protocol == 5 else None)
    shifted = []
    for buffer in received:  # what arrives over a network is writable and lies at any address
        memory = bytearray(1 + len(buffer.raw()))
        memory[1:] = buffer.raw()
        shifted.append(memoryview(memory)[1:])
    back = pickle.loads(data, buffers=shifted)
    assert back == table
    for array in (back.codes, back.missing_codes, back.cardinalities):
        assert array.flags.aligned and array.flags.c_contiguous and not array.flags.writeable
    assert np.array_equal(back.planes, table.planes)


@pytest.mark.parametrize("dtype", ["int16", "int64", "uint16", "U3", "bool"])
def test_misaligned_cells_are_coded(dtype):
    cells = np.array([[1, 2], [3, 2], [1, 1]]).astype(dtype)
    memory = np.zeros(cells.nbytes + 1, dtype=np.uint8)
    memory[1:] = cells.ravel().view(np.uint8)
    misaligned = memory[1:].view(cells.dtype).reshape(cells.shape)
    for writeable in (True, False):
        misaligned.setflags(write=writeable)
        assert encode(misaligned) == encode(cells)


@pytest.mark.parametrize("index", [np.uint32, np.uint64])
def test_numbers_are_repeated(index):
    rng = np.random.default_rng(0)
    for most in range(1, 12):
        for n in (0, 1, 2, 5, 40):
            counts = rng.integers(0, most, n)
            rows = np.full(counts.sum() + 1, 99, dtype=index)  # and nothing is written behind them
            _rows.repeat_numbers(counts, rows[:-1])
            assert rows.tolist() == [*np.repeat(np.arange(n), counts), 99]
