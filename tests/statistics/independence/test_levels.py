"""Shares of rejections under independence, on simulated data: tests hold their level."""

import numpy as np
import pytest

from pgmx.data import DiscreteTable
from pgmx.data.mixed import MixedTable
from pgmx.statistics.independence.discrete import DiscreteTests
from pgmx.statistics.independence.mixed import MixedTests

#: Rows, strata, states of both variables, and the concentration of the distributions (small: skewed).
SPARSE = [
    (1000, 8, 2, 1.0),
    (500, 32, 2, 1.0),
    (1000, 32, 3, 1.0),
    (1000, 64, 2, 1.0),
    (1000, 64, 5, 0.3),
    (500, 128, 3, 1.0),
    (1000, 128, 3, 1.0),
    (1000, 250, 2, 1.0),
    (1000, 250, 4, 1.0),
]


def draw_strata(rng, n_rows, n_strata, n_states, concentration):
    """Return x, y and s, where x and y are independent given s."""
    s = rng.choice(n_strata, n_rows, p=rng.dirichlet(np.full(n_strata, concentration)))
    columns = []
    for _ in range(2):
        shares = rng.dirichlet(np.full(n_states, concentration), n_strata).cumsum(axis=1)
        columns.append((rng.random(n_rows)[:, None] > shares[s][:, :-1]).sum(axis=1))
    return [*columns, s]


def reject(kind, case, n_tables, seed=0):
    """Return the share of tables in which the test rejects independence at the level 0.05."""
    rng, n_rejected = np.random.default_rng(seed), 0
    n_rows, n_strata, n_states, concentration = case
    states = [range(n_states), range(n_states), range(n_strata)]
    for _ in range(n_tables):
        table = DiscreteTable("xys", states, draw_strata(rng, n_rows, n_strata, n_states, concentration))
        n_rejected += DiscreteTests(table, kind).test_row(0, [1], [2]).p_value[0] < 0.05
    return n_rejected / n_tables


@pytest.mark.slow
@pytest.mark.parametrize("case", SPARSE)
def test_moments_hold_the_level_in_sparse_strata(case):
    assert 0.02 <= reject("moments", case, 1000) <= 0.09


@pytest.mark.slow
def test_asymptotic_tests_do_not():
    sparse = (1000, 250, 4, 1.0)
    assert reject("pearson", sparse, 200) > 0.8
    assert reject("g_square", sparse, 200) > 0.95
    assert reject("yates", (1000, 64, 2, 1.0), 200) < 0.01


def draw_states(rng, scores):
    """Return a state per row, with probabilities proportional to the exponentials of the scores (rows, states)."""
    return (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)


def draw_mixed(rng, case, n_rows=500):
    """Return x, y and the variables of the set of a null hypothesis."""
    z, s, t = rng.normal(size=n_rows), rng.integers(0, 3, n_rows), rng.integers(0, 2, n_rows)
    noise = rng.normal(size=(2, n_rows))
    a, b, c, d = rng.normal(size=(4, 3))
    slopes = np.outer(z, [0.0, 1.0, 2.0])
    match case:
        case "continuous, slopes by state":
            return a[s] + b[s] * z + noise[0], c[s] + d[s] * z + noise[1], [s, z]
        case "state and continuous, variances by state":
            return draw_states(rng, rng.normal(size=(3, 3))[s]), a[s] + (1 + s) * noise[0], [s]
        case "states given continuous":
            return draw_states(rng, slopes), draw_states(rng, 1.5 * slopes), [z]
        case "state and continuous given continuous":
            return draw_states(rng, slopes), z + noise[0], [z]
        case "states given state and continuous":
            return draw_states(rng, slopes + a[s][:, None]), draw_states(rng, slopes * b[s][:, None]), [s, z]
        case "states given an exclusive or":
            both = s % 2 ^ t
            return *(np.where(rng.random(n_rows) < 0.8, both, 1 - both) for _ in range(2)), [s, t]


CASES = [
    "continuous, slopes by state",
    "state and continuous, variances by state",
    "states given continuous",
    "state and continuous given continuous",
    "states given state and continuous",
    "states given an exclusive or",
]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_mixed_tests_hold_the_level(case):
    rng, n_rejected = np.random.default_rng(1), 0
    for _ in range(400):
        x, y, given = draw_mixed(rng, case)
        columns = [x, y, *given]
        is_continuous = np.array([column.dtype.kind == "f" for column in columns])
        states = [column for column in columns if column.dtype.kind != "f"]
        numbers = np.array([column for column in columns if column.dtype.kind == "f"]).reshape(-1, len(x))
        table = DiscreteTable(range(len(states)), [range(3)] * len(states), states) if states else None
        tests = MixedTests(MixedTable(tuple(range(len(columns))), is_continuous, numbers, table), kind="moments")
        n_rejected += tests.test_row(0, [1], range(2, len(columns))).p_value[0] < 0.05
    assert 0.01 <= n_rejected / 400 <= 0.10
