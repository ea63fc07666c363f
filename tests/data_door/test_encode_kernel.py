"""The coding kernels against plain Python."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.examples import examples
from oracles.encoding import encode_column, first_occurrences
from pgmx._ext import _encode

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def run_code_integers(cells):
    out = np.full((cells.shape[1], cells.shape[0]), 77, dtype=np.uint8)
    found = _encode.code_integers(cells, out)
    states = [None if f is None else tuple(f[0] + i for i, mark in enumerate(f[1]) if mark) for f in found]
    return states, out


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_small_integers_are_coded_by_rank(dtype, order):
    for n_rows in (1, 2, 511, 512, 513, 1400):
        rng = np.random.default_rng(n_rows)
        cells = np.asarray(rng.choice([3, 4, 7, 90, 120], (n_rows, 5)), dtype=dtype, order=order)
        cells.setflags(write=False)
        states, out = run_code_integers(cells)
        for j in range(5):
            expected_states, expected_codes = encode_column(cells[:, j].tolist())
            assert states[j] == expected_states
            assert out[j].tolist() == expected_codes


@pytest.mark.parametrize("dtype", INTEGERS)
def test_the_ends_of_the_type_are_coded(dtype):
    info = np.iinfo(dtype)
    low = np.array([[info.min], [info.min + 1], [info.min]], dtype=dtype)
    high = np.array([[info.max - 1], [info.max], [info.max - 1]], dtype=dtype)
    for cells in (low, high):
        states, out = run_code_integers(cells)
        assert (states[0], out[0].tolist()) == encode_column(cells[:, 0].tolist())


@pytest.mark.parametrize("span", [254, 255, 256])
@pytest.mark.parametrize("low", [-(2**63), -100, 0, 2**63 - 300])
def test_the_range_decides_between_the_paths(span, low):
    cells = np.array([[low], [low + span], [low]], dtype=np.int64)
    states, out = run_code_integers(cells)
    if span < 256:
        assert (states[0], out[0].tolist()) == encode_column(cells[:, 0].tolist())
    else:
        assert states == [None]


def test_a_wide_column_does_not_disturb_its_neighbours():
    cells = np.array([[1, 10**9, 5], [2, 0, 5], [1, 3, 6]])
    states, out = run_code_integers(cells)
    assert states == [(1, 2), None, (5, 6)]
    assert out[[0, 2]].tolist() == [[0, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_spread_integers_are_coded_by_first_occurrence(dtype):
    info = np.iinfo(dtype)
    cells = np.random.default_rng(3).integers(info.min, info.max, 700, dtype=dtype, endpoint=True)
    cells[::3] = cells[0]
    strided = np.repeat(cells, 2)[::2]
    strided.setflags(write=False)
    out = np.empty(len(cells), dtype=np.uint16)
    states = _encode.code_spread_integers(strided, out)
    codes, rows = first_occurrences(cells.tolist())
    assert states == [int(cells[row]) for row in rows]
    assert out.tolist() == codes


@pytest.mark.parametrize("n", [127, 128, 129, 1000, 65535, 65536])
def test_the_table_grows_and_ends_at_65535_values(n):
    values = np.arange(n, dtype=np.int64) * 1_000_003
    out = np.empty(n, dtype=np.uint16)
    states = _encode.code_spread_integers(values, out)
    text = "".join(f"{i:05d}" for i in range(n)).encode()
    rows = _encode.code_strings(np.arange(n + 1, dtype=np.int32) * 5, np.frombuffer(text, np.uint8), out)
    assert (states is None) == (rows is None) == (n > 65535)
    if n <= 65535:
        assert states == values.tolist()
        assert rows == list(range(n))
        assert out.tolist() == list(range(n))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_category_codes_are_narrowed_and_missing_ones_told(dtype):
    codes = np.random.default_rng(0).integers(0, 100, 50).astype(dtype)
    strided = np.repeat(codes, 3)[::3]
    strided.setflags(write=False)
    out = np.empty(50, dtype=np.uint8)
    for cells in (codes, strided):
        assert _encode.narrow_categories(cells, out) is False
        assert out.tolist() == codes.tolist()
    if dtype.startswith("int"):
        codes[31] = -1
        assert _encode.narrow_categories(codes, out) is True


@examples(200)
@given(st.lists(st.text(max_size=20), min_size=1, max_size=40), st.sampled_from([np.int32, np.int64]))
def test_strings_are_coded_by_content(cells, width):
    cells = cells + cells[::-1]
    encoded = [cell.encode() for cell in cells]
    offsets = np.cumsum([0] + [len(e) for e in encoded]).astype(width)
    text = np.frombuffer(b"".join(encoded), np.uint8)
    out = np.empty(len(cells), dtype=np.uint16)
    rows = _encode.code_strings(offsets, text, out)
    assert (out.tolist(), rows) == first_occurrences(cells)


def test_strings_that_differ_in_one_byte_or_in_length_only_are_told_apart():
    cells = ["", "\x00", "\x00\x00", "a", "a\x00", "ab", "ba"]
    cells += (
        ["x" * n for n in range(2, 30)] + ["x" * n + "y" for n in range(1, 30)] + ["y" + "x" * n for n in range(1, 30)]
    )
    test_strings_are_coded_by_content.hypothesis.inner_test(cells, np.int64)
    out = np.empty(len(cells), dtype=np.uint16)
    assert _encode.code_objects(np.array(cells, dtype=object), out) == list(range(len(cells)))


@examples(200)
@given(st.lists(st.text(max_size=12), min_size=1, max_size=40))
def test_string_objects_are_coded_by_content(cells):
    copies = cells + ["".join(list(cell)) for cell in cells]
    values = np.array(copies, dtype=object)
    values.setflags(write=False)
    out = np.empty(len(copies), dtype=np.uint16)
    rows = _encode.code_objects(values, out)
    assert (out.tolist(), rows) == first_occurrences(copies)


def test_other_objects_are_coded_by_identity():
    first, second = [1], [1]
    values = np.array([None, first, None, second, first, 1.5], dtype=object)
    out = np.empty(6, dtype=np.uint16)
    assert _encode.code_objects(values, out) == [0, 1, 3, 5]
    assert out.tolist() == [0, 1, 0, 2, 1, 3]
    strided = np.empty((6, 2), dtype=object)
    strided[:, 1] = values
    assert _encode.code_objects(strided[:, 1], out) == [0, 1, 3, 5]


def test_many_other_objects_are_left_to_the_caller():
    values = np.array([float(i) for i in range(5000)], dtype=object)
    assert _encode.code_objects(values, np.empty(5000, dtype=np.uint16)) is None
    assert _encode.code_objects(values[:4096], np.empty(4096, dtype=np.uint16)) == list(range(4096))


def test_objects_keep_their_reference_counts():
    import sys

    cell = ("a", "tuple", str(np.random.default_rng(0).random()))
    values = np.array([None] * 100, dtype=object)
    values[:] = [cell] * 100
    before = sys.getrefcount(cell)
    for _ in range(5):
        _encode.code_objects(values, np.empty(100, dtype=np.uint16))
    assert sys.getrefcount(cell) == before


def test_relabel():
    out = np.empty(4, dtype=np.uint8)
    _encode.relabel(np.array([2, 0, 1, 2], dtype=np.uint16), np.array([7, 8, 9], dtype=np.uint8), out)
    assert out.tolist() == [9, 7, 8, 9]


def test_kernels_run_at_once_in_many_threads():
    rng = np.random.default_rng(1)
    cells = rng.integers(0, 5, (4000, 6))
    wide = rng.integers(0, 1000, 4000) * 10**12
    expected, expected_wide = run_code_integers(cells), first_occurrences(wide.tolist())
    failures = []

    def work():
        out = np.empty(4000, dtype=np.uint16)
        for _ in range(10):
            states, codes = run_code_integers(cells)
            _encode.code_spread_integers(wide, out)
            if states != expected[0] or (codes != expected[1]).any() or out.tolist() != expected_wide[0]:
                failures.append("differs")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
