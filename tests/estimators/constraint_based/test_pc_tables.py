"""PC from files, chunks and distributed tables: the same results as from rows in memory."""

import numpy as np
import pandas as pd
import pytest

from pgmx.data import distribute, write_table
from pgmx.estimators import PC


def draw_states(n_rows=900):
    rng = np.random.default_rng(3)
    a, b, d = rng.integers(0, 3, (3, n_rows))
    c = np.where(rng.random(n_rows) < 0.7, (a + b) % 3, rng.integers(0, 3, n_rows))
    e = np.where(rng.random(n_rows) < 0.7, c // 2, rng.integers(0, 2, n_rows))
    return pd.DataFrame({"e": e, "a": a, "d": d, "c": c, "b": b})


def draw_numbers(n_rows=900):
    rows = np.random.default_rng(4).normal(size=(n_rows, 5))
    rows[:, 3] += rows[:, 0] + rows[:, 1]
    rows[:, 4] += rows[:, 3]
    return pd.DataFrame(rows, columns=list("eadcb"))


def results_of(pc):
    return sorted(pc.graph_.edges()), pc.separating_sets_, pc.edge_p_values_, pc.n_tests_, sorted(pc.dag_.edges())


def cut(frame):
    return [frame.iloc[first:stop] for first, stop in ((0, 200), (200, 650), (650, len(frame)))]


def assert_near(pc, other):
    """Compare results whose sums were added in another order."""
    one, two = results_of(pc), results_of(other)
    assert one[:2] == two[:2] and one[3:] == two[3:]
    # p-values of tiny size multiply the rounding errors
    assert np.log(list(one[2].values())) == pytest.approx(np.log(list(two[2].values())), rel=1e-9)


def test_files_and_chunks(tmp_path):
    states, numbers = draw_states(), draw_numbers()
    expected = results_of(PC().fit(states))
    assert results_of(PC().fit(write_table(states, tmp_path / "states.pgmx"))) == expected
    assert results_of(PC().fit(tmp_path / "states.pgmx")) == expected
    assert results_of(PC().fit(iter(cut(states)))) == expected
    numbers.to_csv(tmp_path / "numbers.csv", index=False)
    assert results_of(PC().fit(tmp_path / "numbers.csv")) == results_of(PC().fit(pd.read_csv(tmp_path / "numbers.csv")))


@pytest.mark.slow
def test_partitions_at_workers(client):
    states, numbers = draw_states(), draw_numbers()
    table = distribute(cut(states), client)
    pc = PC().fit(table)
    assert results_of(pc) == results_of(PC().fit(states))
    assert pc.score(states) == pytest.approx(PC().fit(states).score(states))
    weights = np.random.default_rng(0).integers(0, 3, len(states))
    assert results_of(PC().fit(table, sample_weight=weights)) == results_of(PC().fit(states, sample_weight=weights))
    pc, whole = PC().fit(distribute(cut(numbers), client)), PC().fit(numbers)
    assert_near(pc, whole)
    assert pc.score(numbers) == pytest.approx(whole.score(numbers))
