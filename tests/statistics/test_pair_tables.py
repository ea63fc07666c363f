"""Joint distributions of pairs of variables against row by row counting, and their laws."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.pair_tables import pair_table
from pgmx.data import DiscreteTable, write_table
from pgmx.statistics import PairTables


def coded(codes, cards):
    return DiscreteTable([f"v{i}" for i in range(len(cards))], [range(r) for r in cards], codes)


def random_table(rng, cards, n_rows):
    """Return a table of dependent columns whose last state may never occur."""
    hidden = rng.integers(0, 6, n_rows)
    columns = [np.where(rng.random(n_rows) < 0.5, hidden % r, rng.integers(0, max(r - 1, 1), n_rows)) for r in cards]
    return coded(np.stack(columns), cards)


def joined(first, second):
    return DiscreteTable(first.columns, first.states, np.concatenate([first.codes, second.codes], axis=1))


def all_pairs(n):
    """Return all pairs in both directions, in an order of its own."""
    return np.random.default_rng(n).permutation(list(itertools.permutations(range(n), 2))).reshape(-1, 2)


def check(tables, table, weights=None, pairs=None):
    """Compare with the oracle; counts are exact, sums of weights as exact as sums are."""
    cards = table.cardinalities
    pairs = all_pairs(len(cards)) if pairs is None else pairs
    found = tables.get(pairs)
    assert len(found) == len(pairs)
    for (i, j), values in zip(pairs, found, strict=True):
        expected = pair_table(table.codes[i], table.codes[j], cards[i], cards[j], weights)
        assert values.shape == (cards[i], cards[j])
        np.testing.assert_allclose(values, expected, rtol=0 if weights is None else 1e-12)


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    cards = draw(st.lists(st.integers(1, 6) | st.just(35), min_size=1, max_size=6))
    table = random_table(rng, cards, draw(st.integers(1, 150)))
    weights = rng.exponential(size=table.n_rows) * (rng.random(table.n_rows) < 0.8) if draw(st.booleans()) else None
    if weights is not None and not weights.any():
        weights = None
    return table, weights, draw(st.sampled_from([1 << 28, 10_000]))


@given(problems(), st.booleans())
def test_tables_of_all_pairs(problem, prepared):
    table, weights, memory = problem
    tables = PairTables(table, weights=weights, memory=memory)
    if prepared:
        assert tables.prepare() == tables.fits == tables.counted_all
    check(tables, table, weights)
    n = table.n_variables
    assert tables.n_counted == n * (n - 1) // 2 or not tables.fits


@given(problems())
def test_laws(problem):
    """A table adds up to the margins, and the table of (j, i) is the transpose of (i, j)."""
    table, weights, memory = problem
    tables = PairTables(table, weights=weights, memory=memory)
    margins = tables.margins()
    pairs = all_pairs(table.n_variables)
    for margin, states in zip(margins, table.cardinalities, strict=True):
        assert margin.shape == (states,)
        assert margin.sum() == pytest.approx(1)
    for (i, j), values, turned in zip(pairs, tables.get(pairs), tables.get(pairs[:, ::-1]), strict=True):
        assert (values >= 0).all()
        np.testing.assert_array_equal(values, turned.T)
        np.testing.assert_allclose(values.sum(axis=1), margins[i], atol=1e-14)
        np.testing.assert_allclose(values.sum(axis=0), margins[j], atol=1e-14)


@given(problems(), st.floats(0, 1), st.sampled_from(["nothing", "some", "all"]))
def test_rows_added_later(problem, share, before):
    table, weights, memory = problem
    if table.n_rows < 2:
        return
    cut = min(1 + int(share * table.n_rows), table.n_rows - 1)
    weights = None if weights is None else weights + 0.1
    parts = [coded(codes, table.cardinalities) for codes in (table.codes[:, :cut], table.codes[:, cut:])]
    shares = (None, None) if weights is None else (weights[:cut], weights[cut:])
    tables = PairTables(parts[0], weights=shares[0], memory=memory)
    if before == "some":
        tables.get(all_pairs(table.n_variables)[:4])
    elif before == "all":
        tables.prepare()
    assert tables.update(parts[1], weights=shares[1]) is tables
    assert tables.n_rows == table.n_rows
    assert tables.total_weight == pytest.approx(table.n_rows if weights is None else weights.sum(), rel=1e-12)
    check(tables, table, weights)
    for margin, expected in zip(tables.margins(), PairTables(table, weights=weights).margins(), strict=True):
        np.testing.assert_allclose(margin, expected, rtol=1e-12)


def test_whole_weights_are_repeated_rows(rng):
    table = random_table(rng, [3, 2, 4], 60)
    weights = rng.integers(0, 4, 60)
    repeated = PairTables(table.repeat_rows(weights))
    weighted = PairTables(table, weights=weights)
    assert weighted.total_weight == repeated.n_rows == weights.sum()
    for a, b in zip(weighted.get(all_pairs(3)), repeated.get(all_pairs(3)), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cards", [[3] * 140, [2, 3, 40, 270] * 8])
def test_any_number_of_threads_gives_the_same_bits(cards, weighted, rng, monkeypatch):
    monkeypatch.setattr("pgmx.statistics.pair_cells._TASK_WORK", 50)
    table = random_table(rng, cards, 300)
    weights = rng.random(300) if weighted else None
    pairs = all_pairs(len(cards))
    alone = PairTables(table, weights=weights).flat(pairs)[0]
    for n_jobs in (2, 3):
        asked, prepared = (PairTables(table, weights=weights, n_jobs=n_jobs) for _ in range(2))
        prepared.prepare()
        for tables in (asked, prepared):
            np.testing.assert_array_equal(tables.flat(pairs)[0], alone)


def test_passes_over_the_words(rng, monkeypatch):
    """More rows than are read in one pass."""
    monkeypatch.setattr("pgmx.statistics.pair_cells._PASS_WORDS", 1)
    table = random_table(rng, [2, 3, 5], 70_000)
    tables = PairTables(table)
    tables.prepare()
    check(tables, table, pairs=[(0, 1), (2, 1)])


def test_a_table_mapped_from_a_file(tmp_path, rng):
    table = random_table(rng, [2, 5, 1, 300, 3], 700)
    mapped = write_table(table, tmp_path / "rows.pgmx")
    for prepared in (False, True):
        tables = PairTables(mapped)
        assert tables.prepare() if prepared else True
        check(tables, table)


def test_row_order_does_not_matter(rng):
    table = random_table(rng, [2, 3, 4], 200)
    backwards = coded(table.codes[:, ::-1], table.cardinalities)
    np.testing.assert_array_equal(PairTables(table).flat(all_pairs(3))[0], PairTables(backwards).flat(all_pairs(3))[0])


@pytest.mark.parametrize("prepared", [False, True])
def test_a_copy_goes_on_by_itself(prepared, rng):
    table, more = random_table(rng, [2, 3, 4], 50), random_table(rng, [2, 3, 4], 20)
    tables = PairTables(table)
    tables.prepare() if prepared else tables.get([(0, 1)])
    copy = pickle.loads(pickle.dumps(tables))
    copy.update(more)
    check(copy, joined(table, more))
    check(tables, table)
