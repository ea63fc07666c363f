"""Kendall's and Spearman's counts against their definitions: both ways, all kinds of columns, any split of the work."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.examples import examples
from oracles.kendall import matrix_of, rho, tau_b
from pgmx._ext import _ranks
from pgmx.statistics import kendall_tau_matrix, spearman
from pgmx.statistics import rank_correlation as rank_correlation

NEVER, ALWAYS = (10**9,) * 3, (1,) * 3
WAYS = {"planes": NEVER, "inversions": ALWAYS}

# One rounding in the oracle's root and one in ours: integers otherwise.
EPS = 4e-16


@st.composite
def tables(draw):
    """Tables of clean, tied, gapped and constant columns in any order."""
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    n, kinds = draw(st.integers(2, 70)), draw(st.lists(st.sampled_from("ctgk"), min_size=1, max_size=7))
    columns = []
    for kind in kinds:
        x = rng.normal(size=n) + (columns[0] if columns else 0.0)
        if kind == "t" or (kind == "g" and rng.random() < 0.5):
            x = np.round(x)
        if kind == "k":
            x = np.full(n, 0.3)
        if kind == "g":
            x[rng.random(n) < rng.random()] = np.nan
        columns.append(np.where(np.isnan(x), rng.normal(size=n), x) if kind == "c" else x)
    return np.column_stack(columns)


def by(way, X, n_jobs=None):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_ranks, "MANY_ROWS", WAYS[way])
        return kendall_tau_matrix(X, missing="pairwise", n_jobs=n_jobs)


@pytest.mark.parametrize("way", WAYS)
@examples(60)
@given(X=tables())
def test_kendall_is_its_definition(way, X):
    np.testing.assert_allclose(by(way, X), matrix_of(tau_b, X), rtol=0, atol=EPS)


@given(tables())
def test_both_ways_give_the_same_bits(X):
    np.testing.assert_array_equal(by("planes", X), by("inversions", X))


@given(tables())
def test_spearman_is_its_definition(X):
    # The oracle's sums of squares and products are rounded once each.
    np.testing.assert_allclose(spearman(X, missing="pairwise"), matrix_of(rho, X), rtol=0, atol=1e-15)


def mixed(rng, n, p):
    """Every third column clean, tied, gapped."""
    X = rng.normal(size=(n, p)) + rng.normal(size=(n, 1))
    X[:, 1::3] = np.round(2 * X[:, 1::3])
    X[:, 2::3][rng.random(X[:, 2::3].shape) < 0.2] = np.nan
    return X


@pytest.mark.parametrize("n", [63, 64, 65, 127, 128, 129, 191, 193, 513, 1025])
def test_rows_around_words_and_levels(n, rng):
    """Two independent ways, whose bounds lie elsewhere, agree to the bit."""
    X = mixed(rng, n, 7)
    np.testing.assert_array_equal(by("planes", X), by("inversions", X))


@pytest.mark.parametrize("p", [1, 2, 3, 4, 5, 8, 33, 36, 37])
def test_columns_around_tiles(p, rng):
    X = mixed(rng, 40, p)
    np.testing.assert_array_equal(by("planes", X), by("inversions", X))


@pytest.mark.parametrize("plane_bytes", [0, 1 << 12, 1 << 14])
def test_any_blocks_of_rows(plane_bytes, rng, monkeypatch):
    X = mixed(rng, 300, 10)
    whole = by("planes", X)
    monkeypatch.setattr(rank_correlation, "_PLANE_BYTES", plane_bytes)
    np.testing.assert_array_equal(by("planes", X), whole)


@pytest.mark.parametrize("way", WAYS)
def test_any_number_of_threads(way, rng, monkeypatch):
    X = mixed(rng, 200, 41)
    alone, ranks = by(way, X), spearman(X, missing="pairwise")
    monkeypatch.setattr(rank_correlation, "_THREADS_PAY", 0)
    for n_jobs in (1, 2, 3, 7):
        np.testing.assert_array_equal(by(way, X, n_jobs), alone)
        np.testing.assert_array_equal(spearman(X, missing="pairwise", n_jobs=n_jobs), ranks)


def test_calls_in_many_threads(rng):
    inputs = [mixed(rng, 150, 9) for _ in range(12)]
    expected = [kendall_tau_matrix(X, missing="pairwise") for X in inputs]
    with ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda X: kendall_tau_matrix(X, missing="pairwise"), inputs * 4)
        for number, matrix in enumerate(found):
            np.testing.assert_array_equal(matrix, expected[number % 12])


@pytest.mark.parametrize("n", [100_000, 300_001])
def test_counts_of_many_rows_are_exact(n):
    """A permutation whose inversions are known: blocks of 10 in falling order; 45 discordant pairs a block."""
    x = np.arange(n, dtype=float)
    y = x + 9 - 2 * (x % 10)
    whole = n - n % 10
    y[whole:] = x[whole:]
    pairs = n * (n - 1) // 2
    expected = (pairs - 2 * 45 * (n // 10)) / pairs
    assert kendall_tau_matrix(np.column_stack((x, y)))[0, 1] == expected
    assert kendall_tau_matrix(np.column_stack((x, -y)))[0, 1] == -expected


def test_ties_of_many_rows_are_exact():
    """Two columns of a contingency table, whose pairs can be counted in whole numbers."""
    table = np.array([[30_000, 100, 7], [2_000, 40_000, 0], [1, 300, 50_000]], dtype=object)
    x, y = (np.repeat(codes.ravel(), table.ravel().astype(int)) for codes in np.indices((3, 3)))
    order = np.random.default_rng(3).permutation(len(x))
    concordant = sum(table[a, b] * table[a + 1 :, b + 1 :].sum() for a in range(3) for b in range(3))
    discordant = sum(table[a, b] * table[a + 1 :, :b].sum() for a in range(3) for b in range(3))
    n = len(x)
    untied = [n * (n - 1) // 2 - sum(k * (k - 1) // 2 for k in margin) for margin in (table.sum(1), table.sum(0))]
    expected = (concordant - discordant) / np.sqrt(float(untied[0]) * float(untied[1]))
    found = kendall_tau_matrix(np.column_stack((x, y))[order])[0, 1]
    assert found == pytest.approx(expected, rel=1e-15)


def test_perfect_order_is_one_to_the_last_bit(rng):
    x = np.round(rng.normal(size=500) * 3)
    for way in WAYS:
        found = by(way, np.column_stack((x, np.exp(x), -x)))
        assert found[0, 1] == 1.0 and found[0, 2] == -1.0 and found[1, 2] == -1.0
    assert spearman(np.column_stack((x, -np.exp(x))))[0, 1] == -1.0


def test_the_level_has_a_name():
    assert _ranks.SIMD_LEVEL in ("plain", "popcnt", "avx2", "avx512")
