"""Products of continuous columns by configuration of discrete columns: NumPy's sums, and the rows of gains."""

import platform

import numpy as np
import pytest

from helpers.interpreter import run_python
from helpers.mixed_tables import six_columns
from pgmx._ext import _grams
from pgmx.data import DiscreteTable, open_frame
from pgmx.data.mixed import read_mixed
from pgmx.scores import BICCondGauss, BICCondLinearGauss
from pgmx.scores.mixed import sums
from pgmx.scores.mixed.base import mixed_scorer


def draw_table(rng, n_rows, p, sizes):
    codes = np.array([rng.integers(0, size, n_rows) for size in sizes], dtype=np.uint16).reshape(len(sizes), n_rows)
    return rng.normal(size=(p, n_rows)), codes, np.array(sizes, dtype=np.int64)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("n_rows", "p", "sizes"),
    [(0, 3, [2]), (1, 1, [1, 3]), (65, 7, [2, 5]), (200, 8, [40]), (300, 15, [3]), (9000, 5, [2, 7]), (3000, 26, [9])],
)
def test_sums_are_those_of_numpy(rng, n_rows, p, sizes, weighted):
    columns, codes, sizes = draw_table(rng, n_rows, p, sizes)
    weights = rng.random(n_rows) * (rng.random(n_rows) < 0.8) if weighted else None
    grams = _grams.sum_grams(columns, weights, codes, sizes)
    assert grams.shape == (sizes.sum(), p + 1, p + 1)
    rows = np.vstack([columns, np.ones(n_rows)])
    scaled = rows if weights is None else rows * weights
    cells = [
        scaled[:, code == c] @ rows[:, code == c].T for code, n in zip(codes, sizes, strict=True) for c in range(n)
    ]
    np.testing.assert_allclose(grams, cells, rtol=1e-11, atol=1e-11)
    assert np.array_equal(grams, grams.transpose(0, 2, 1))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_rows", [0, 1, 255, 512, 700])
def test_sums_of_families_are_those_of_numpy(rng, n_rows, weighted):
    for members in ([], [1], [0, 2], [2, 1, 0]):
        for floats in ([], [2], [3, 0], [1, 3, 0], [0, 1, 2, 3]):
            check_sums(rng, members, floats, n_rows, weighted)


def check_sums(rng, members, floats, n_rows, weighted):
    """Compare the sums of a family of discrete parents and continuous columns with NumPy's."""
    cards = np.array([2, 5, 1], dtype=np.int64)
    columns, states, _ = draw_table(rng, n_rows, 4, cards.tolist())
    weights = rng.random(n_rows) if weighted else None
    members, floats = np.array(members, dtype=np.int64), np.array(floats, dtype=np.int64)
    sums = _grams.sum_few(columns, weights, states, members, cards[members], floats)
    n_cells, cell = cards[members].prod(), np.zeros(n_rows, dtype=int)
    for d in members:
        cell = cell * cards[d] + states[d]
    rows = [np.ones(n_rows), *columns[floats]]
    rows += [columns[v] * columns[w] for i, v in enumerate(floats) for w in floats[i:]]
    scale = np.ones(n_rows) if weights is None else weights
    expected = [np.bincount(cell, weights=scale * row, minlength=n_cells) for row in rows]
    np.testing.assert_allclose(sums, np.transpose(expected), rtol=1e-11, atol=1e-11)


DIGEST = """
import numpy as np
from hashlib import sha256
from pgmx._ext import _grams
rng = np.random.default_rng(3)
for p in (3, 9, 26):
    columns, codes = rng.normal(size=(p, 5000)), rng.integers(0, 30, (2, 5000)).astype(np.uint16)
    for weights in (None, rng.random(5000)):
        print(sha256(_grams.sum_grams(columns, weights, codes, np.array([30, 30])).tobytes()).hexdigest())
        for floats in ([0, 2], [1], [2, 0, 1]):
            few = _grams.sum_few(columns, weights, codes % 3, np.array([0, 1]), np.array([3, 3]), np.array(floats))
            print(sha256(few.tobytes()).hexdigest())
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="one level only")
def test_all_levels_of_instructions_give_the_same_bits():
    runs = [run_python("-c", DIGEST, PGMX_SIMD=level) for level in ("plain", "avx2", None)]
    runs = [run for run in runs if "this processor runs" not in run.stderr]
    assert all(run.returncode == 0 for run in runs)
    assert len({run.stdout for run in runs}) == 1


@pytest.mark.parametrize("name", [BICCondLinearGauss, BICCondGauss])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_of_gains_are_the_same_with_and_without_all_sums(name, weighted, rng, monkeypatch):
    frame = six_columns()
    mixed = read_mixed(open_frame(frame))
    weights = rng.uniform(0.2, 2.0, len(frame)) if weighted else None
    families = [(3, [0]), (5, [0, 2, 3, 4]), (4, []), (3, [1, 4, 5]), (0, [1]), (5, [1, 2])]
    families += [(1, [3]), (0, [1, 3, 4])] if name is BICCondGauss else []
    tables = []
    for most in (sums.MOST_GRAM_FLOATS, 0):
        monkeypatch.setattr(sums, "MOST_GRAM_FLOATS", most)
        source = mixed_scorer(mixed, name.from_mixed(mixed).terms(800), weights=weights)
        gains, scores = np.empty((6, 6)), np.empty(6)
        source.start(gains, scores)
        rows = [gains.copy(), scores]
        for child, parents in families:
            score = source.rescore(child, np.array(parents, dtype=np.int32), gains)
            rows += [gains[child].copy(), score]
        tables.append(rows)
    for row, other in zip(*tables, strict=True):
        np.testing.assert_allclose(row, other, atol=2e-6)


@pytest.mark.parametrize("memory", [1 << 12, 1 << 28])
def test_sums_by_state_are_the_same_in_any_number_of_parts(memory, rng, monkeypatch):
    monkeypatch.setattr(sums, "GROUP_CELLS", 4)
    codes = rng.integers(0, 3, (7, 200))
    table = DiscreteTable(tuple("abcdefg"), [[0, 1, 2]] * 7, codes)
    mixed = sums.MixedSums(rng.normal(size=(2, 200)), table, memory=memory)
    grams = mixed._grams_by_state()
    rows = np.vstack([mixed.numbers, np.ones(200)])
    expected = [rows[:, code == c] @ rows[:, code == c].T for code in codes for c in range(3)]
    np.testing.assert_allclose(grams, expected, atol=1e-11)
