"""Tests by partial correlations against the inverse of the block of correlations, and the compiled levels."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from pgmx.statistics.independence.partial_correlation import PartialCorrelationTests
from pgmx.statistics.independence.source import Evidence, IndependenceSource
from tests.helpers.set_pools import draw_pools


def random_correlation(n, rng, n_rows=60):
    rows = rng.normal(size=(n_rows, n)) @ (np.eye(n) + 0.4 * rng.normal(size=(n, n)))
    return np.corrcoef(rows.T)


def p_value_by_definition(correlation, n_rows, x, y, z, statistic):
    inverse = np.linalg.inv(correlation[np.ix_([x, y, *z], [x, y, *z])])
    r = -inverse[0, 1] / np.sqrt(inverse[0, 0] * inverse[1, 1])
    if statistic == "z":
        value = np.sqrt(n_rows - len(z) - 3) * np.arctanh(r)
        return value, 2 * stats.norm.sf(abs(value))
    dof = n_rows - len(z) - 2
    value = r * np.sqrt(dof / (1 - r * r))
    return r, 2 * stats.t.sf(abs(value), dof)


@pytest.mark.parametrize("statistic", ["z", "t"])
def test_rows_are_those_of_the_definition(statistic, rng):
    correlation = random_correlation(7, rng)
    tests = PartialCorrelationTests(correlation, 60, statistic=statistic)
    for x, z in ((0, ()), (3, (1,)), (2, (0, 4, 6)), (6, (0, 1, 2, 3))):
        ys = [y for y in range(7) if y != x and y not in z]
        row = tests.test_row(x, ys, z)
        for k, y in enumerate(ys):
            value, p_value = p_value_by_definition(correlation, 60, x, y, z, statistic)
            assert row.statistic[k] == pytest.approx(value, rel=1e-9)
            assert row.p_value[k] == pytest.approx(p_value, rel=1e-9)
        assert set(row.dof) == {60 - len(z) - (3 if statistic == "z" else 2)}


@pytest.mark.parametrize("statistic", ["z", "t"])
@pytest.mark.parametrize(("tiered", "n_jobs"), [(False, 1), (True, 1), (True, 3)])
@pytest.mark.parametrize("has_pools", [False, True])
def test_compiled_levels_are_those_of_the_rows(statistic, tiered, n_jobs, has_pools, rng):
    n = 9
    adjacent = np.triu(rng.random((n, n)) < 0.75, 1)
    adjacent |= adjacent.T
    tiers = rng.integers(0, 3, n) if tiered else None
    tests = PartialCorrelationTests(random_correlation(n, rng), 60, statistic=statistic, n_jobs=n_jobs)
    by_rows, compiled = Evidence(n), Evidence(n)
    pools = draw_pools(adjacent, rng) if has_pools else None
    for size in range(5):
        options = {"significance_level": 0.05, "tiers": tiers, "pools": pools}
        wanted = IndependenceSource.run_level(tests, adjacent, size, evidence=by_rows, **options)
        assert tests.run_level(adjacent, size, evidence=compiled, **options) == wanted
        assert np.allclose(by_rows.p_values, compiled.p_values, rtol=1e-9, atol=0)
        assert by_rows.sets == compiled.sets


@pytest.mark.slow
def test_many_neighbours(rng):
    n = 140  # more than two words of 64 bits
    tests = PartialCorrelationTests(random_correlation(n, rng, 400), 400)
    adjacent = ~np.eye(n, dtype=bool)
    by_rows, compiled = Evidence(n), Evidence(n)
    options = {"significance_level": 0.05}
    wanted = IndependenceSource.run_level(tests, adjacent, 1, evidence=by_rows, **options)
    assert tests.run_level(adjacent, 1, evidence=compiled, **options) == wanted == n * (n - 1) // 2 * (n - 2)
    assert np.allclose(by_rows.p_values, compiled.p_values, rtol=1e-9, atol=0)
    assert by_rows.sets == compiled.sets


def test_sets_that_determine_a_variable_are_left_out(rng):
    rows = rng.normal(size=(50, 4))
    correlation = np.corrcoef(np.column_stack([rows, rows[:, 0], rows[:, 1] + rows[:, 2]]).T)
    tests = PartialCorrelationTests(correlation, 50)
    assert np.isnan(tests.test_row(0, [1, 4], [4 - 1, 4]).p_value[:1]).all()  # 4 is a copy of 0
    assert np.isnan(tests.test_row(3, [5], [1, 2]).p_value).all()
    by_rows, compiled = Evidence(6), Evidence(6)
    for size in (1, 2):
        for source, evidence in ((IndependenceSource, by_rows), (PartialCorrelationTests, compiled)):
            source.run_level(tests, ~np.eye(6, dtype=bool), size, significance_level=0.05, evidence=evidence)
    assert np.allclose(by_rows.p_values, compiled.p_values, rtol=1e-6, atol=1e-12)
    assert by_rows.sets == compiled.sets


def test_too_few_rows_leave_larger_sets_out(rng):
    correlation = random_correlation(6, rng)
    for statistic, n_rows in (("z", 6), ("t", 5)):
        tests = PartialCorrelationTests(correlation, n_rows, statistic=statistic)
        counts = [
            tests.run_level(~np.eye(6, dtype=bool), size, significance_level=0.05, evidence=Evidence(6))
            for size in range(4)
        ]
        assert counts == [15, 60, 90, 0]
        assert np.isnan(tests.test_row(0, [1], (2, 3, 4)).p_value).all()


def test_the_p_value_of_a_copy_is_zero():
    tests = PartialCorrelationTests(np.array([[1.0, -1.0], [-1.0, 1.0]]), 20)
    row = tests.test_row(0, [1], ())
    assert (row.statistic[0], row.p_value[0], row.effect_size[0]) == (-np.inf, 0.0, 1.0)


def test_the_minimum_is_over_all_sets(rng):
    n = 6
    correlation = random_correlation(n, rng)
    tests, evidence = PartialCorrelationTests(correlation, 60), Evidence(n)
    for size in range(4):
        tests.run_level(~np.eye(n, dtype=bool), size, significance_level=0.05, evidence=evidence)
    for x, y in combinations(range(n), 2):
        others = [v for v in range(n) if v not in (x, y)]
        sets = [z for size in range(4) for z in combinations(others, size)]
        values = [p_value_by_definition(correlation, 60, x, y, z, "z")[1] for z in sets]
        assert evidence.get_p_value(x, y) == pytest.approx(max(values), rel=1e-9)
        assert evidence.get_set(x, y) == sets[int(np.argmax(values))]
