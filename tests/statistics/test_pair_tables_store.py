"""What is kept of pair tables, within which memory, how they are returned, and bad input."""

import numpy as np
import pytest

from pgmx.data import DiscreteTable
from pgmx.statistics import PairTables
from pgmx.statistics.pair_cells import Arena, Triangle


def random_table(rng, cards, n_rows=40):
    codes = np.stack([rng.integers(0, r, n_rows) for r in cards])
    return DiscreteTable([f"v{i}" for i in range(len(cards))], [range(r) for r in cards], codes)


def test_all_pairs_fit_to_the_byte(rng):
    table = random_table(rng, [3, 4, 2, 5])
    kept = [2 * 3, 2 * 1, 2 * 4, 3 * 1, 3 * 4, 1 * 4]
    needed = 4 * sum(kept) + 6
    assert Triangle.size(np.array([2, 3, 1, 4]), 4) == needed
    assert PairTables(table, memory=needed).fits
    small = PairTables(table, memory=needed - 1)
    assert not small.fits
    assert not small.prepare()
    assert small.n_counted == 0 and not small.counted_all


def test_prepared_tables_need_no_rows(rng):
    table = random_table(rng, [3, 4, 2])
    tables = PairTables(table)
    assert tables.prepare() and tables.prepare()
    assert tables.n_counted == 3
    assert tables._counters == []
    tables.get([(0, 1), (2, 0)])
    assert tables.n_counted == 3
    assert tables.seconds > 0


def test_a_pair_is_counted_once(rng):
    tables = PairTables(random_table(rng, [3, 4, 2]))
    first = tables.get([(0, 1), (1, 0), (0, 1)])
    assert tables.n_counted == 1
    np.testing.assert_array_equal(first[0], first[1].T)
    np.testing.assert_array_equal(first[0], first[2])
    tables.get([(0, 1), (0, 2)])
    assert tables.n_counted == 2
    tables.prepare()
    assert tables.n_counted == 5


@pytest.mark.parametrize("memory", [1200, 3000, 20_000])
@pytest.mark.parametrize("weighted", [False, True])
def test_any_memory_gives_the_same_tables(memory, weighted, rng):
    cards = [2, 3, 12, 4, 1] * 8
    table, more = random_table(rng, cards), random_table(rng, cards, 30)
    shares = (rng.random(40), rng.random(30)) if weighted else (None, None)
    large = PairTables(table, weights=shares[0])
    small = PairTables(table, weights=shares[0], memory=memory)
    assert large.fits and not small.fits
    for rows in (None, more):
        if rows is not None:
            large.update(rows, weights=shares[1])
            small.update(rows, weights=shares[1])
        for _ in range(6):
            i = rng.integers(0, 40, 50)
            pairs = np.column_stack((i, (i + rng.integers(1, 40, 50)) % 40))
            np.testing.assert_allclose(
                small.flat(pairs)[0], large.flat(pairs)[0], rtol=1e-12 if weighted else 0, atol=0
            )


def test_an_arena_forgets_and_counts_again(rng):
    table = random_table(rng, [3] * 200)
    tables = PairTables(table, memory=4000)
    arena = tables._store
    assert isinstance(arena, Arena)
    assert arena.values.nbytes + arena._keys.nbytes + arena._places.nbytes <= 4000
    pairs = np.column_stack((np.zeros(199, dtype=int), np.arange(1, 200)))
    tables.get(pairs)
    assert tables.n_counted == 199
    tables.get(pairs[:1])
    assert tables.n_counted == 200
    tables.get(pairs[:1])
    assert tables.n_counted == 200
    assert len(arena.list_pairs()[0]) <= 199


def test_flat(rng):
    tables = PairTables(random_table(rng, [3, 2, 3, 2]))
    pairs = [(0, 1), (2, 3), (2, 1)]
    values, begins = tables.flat(pairs)
    assert begins.tolist() == [0, 6, 12, 18]
    np.testing.assert_array_equal(np.concatenate([table.ravel() for table in tables.get(pairs)]), values)


def test_no_pairs_at_all(rng):
    tables = PairTables(random_table(rng, [3, 2]))
    assert tables.get([]) == []
    assert tables.flat([])[1].tolist() == [0]
    alone = PairTables(random_table(rng, [3]))
    assert alone.prepare() and alone.counted_all and alone.n_counted == 0
    assert alone.margins()[0].shape == (3,)


def test_what_is_returned_is_the_callers(rng):
    tables = PairTables(random_table(rng, [3, 2]))
    expected = tables.get([(0, 1)])[0].copy()
    tables.get([(0, 1)])[0][:] = 7
    tables.margin(0)[:] = 7
    np.testing.assert_array_equal(tables.get([(0, 1)])[0], expected)
    weights = np.ones(40)
    weighted = PairTables(random_table(rng, [3, 2]), weights=weights)
    weights[:] = 0
    assert weighted.get([(0, 1)])[0].sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ([(0, 3)], "no variable 3: there are 3"),
        ([(0, 1), (-1, 0)], "no variable -1"),
        ([(0, 1), (1, 1)], r"variable 'v1' is paired with itself: its distribution is margin\(1\)"),
        ([(0.0, 1.0)], "pairs must be integers"),
        ([0, 1], r"shape \(k, 2\), got int64 of shape \(2,\)"),
    ],
)
def test_wrong_pairs(pairs, words, rng):
    with pytest.raises(ValueError, match=words):
        PairTables(random_table(rng, [3, 2, 2])).get(pairs)


def test_a_table_beyond_the_memory(rng):
    tables = PairTables(random_table(rng, [30, 20, 2]), memory=1000)
    assert tables.get([(0, 2)])[0].shape == (30, 2)
    with pytest.raises(ValueError, match="the table of 'v1' and 'v0' needs 4800 bytes, more than memory=1000: merge"):
        tables.get([(0, 2), (1, 0)])


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1.0], "weights must have one value for each of the 3 rows"),
        ([1.0, -2.0, 1.0], "weights must be finite and not negative, got -2.0 in row 1"),
        ([1.0, 1.0, np.nan], "got nan in row 2"),
        ([0.0, 0.0, 0.0], "at least one weight must be positive"),
    ],
)
def test_wrong_weights(weights, words, rng):
    with pytest.raises(ValueError, match=words):
        PairTables(random_table(rng, [3, 2], 3), weights=weights)


def test_wrong_memory(rng):
    with pytest.raises(ValueError, match="memory must be at least 1, got 0"):
        PairTables(random_table(rng, [3, 2]), memory=0)


def test_rows_that_do_not_belong(rng):
    """Nothing is changed when rows are refused."""
    table = DiscreteTable(["a", "b"], [(0, 1), ("x", "y")], [[0, 1], [1, 1]])
    tables = PairTables(table)
    expected = tables.get([(0, 1)])[0]
    for columns, states, words in [
        (["a", "c"], [(0, 1), ("x", "y")], "the rows have 'c' in place of 'b'"),
        (
            ["a", "b"],
            [(0, 1), ("y", "x")],
            "variable 'b' has the states 'y', 'x', the first rows had 'x', 'y'",
        ),
        (["a", "b"], [(False, True), ("x", "y")], "variable 'a' has the states False, True, the first rows had 0, 1"),
        (["a"], [(0, 1)], "the rows have 1 variables, the first rows had 2"),
    ]:
        with pytest.raises(ValueError, match=words):
            tables.update(DiscreteTable(columns, states, [[0]] * len(columns)))
    with pytest.raises(ValueError, match="weights for all rows or for none"):
        tables.update(table, weights=[1.0, 1.0])
    assert tables.n_rows == 2
    np.testing.assert_array_equal(tables.get([(0, 1)])[0], expected)
