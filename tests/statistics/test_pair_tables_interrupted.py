"""Pair tables whose counting was interrupted."""

import numpy as np
import pytest

from pgmx.data import DiscreteTable
from pgmx.statistics import PairTables
from pgmx.statistics.pair_cells import PairCounter

PAIRS = [(0, 1), (0, 2), (1, 2)]


def some_table(n_rows=300):
    codes = np.random.default_rng(0).integers(0, 3, (3, n_rows)).astype(np.uint8)
    return DiscreteTable(["a", "b", "c"], [(0, 1, 2)] * 3, codes)


def interrupt_once(monkeypatch, name):
    """Have a method of the counter do its work and then be interrupted, the first time it is called."""
    done = getattr(PairCounter, name)

    def interrupted(*args):
        monkeypatch.setattr(PairCounter, name, done)
        done(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(PairCounter, name, interrupted)


@pytest.mark.parametrize("memory", [1 << 20, 200])
def test_interrupted_lists_are_counted_again(memory, monkeypatch):
    expected = PairTables(some_table()).get(PAIRS)
    tables = PairTables(some_table(), memory=memory)
    interrupt_once(monkeypatch, "add_pairs")
    with pytest.raises(KeyboardInterrupt):
        tables.get(PAIRS)
    for found, wanted in zip(tables.get(PAIRS), expected, strict=True):
        assert np.array_equal(found, wanted)


def test_an_interrupted_count_of_all_leaves_nothing_behind(monkeypatch):
    expected = PairTables(some_table()).get(PAIRS)
    tables = PairTables(some_table())
    interrupt_once(monkeypatch, "add_all")
    with pytest.raises(KeyboardInterrupt):
        tables.prepare()
    assert not tables.counted_all
    for found, wanted in zip(tables.get(PAIRS), expected, strict=True):
        assert np.array_equal(found, wanted)


def test_interrupted_further_rows_are_counted_again(monkeypatch):
    first, more = some_table(), some_table(100)
    tables = PairTables(first)
    tables.get(PAIRS[:1])
    interrupt_once(monkeypatch, "add_pairs")
    with pytest.raises(KeyboardInterrupt):
        tables.update(more)
    expected = PairTables(first).update(more).get(PAIRS)
    for found, wanted in zip(tables.get(PAIRS), expected, strict=True):
        assert np.array_equal(found, wanted)
