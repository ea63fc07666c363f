"""Tests of mixed and of incomplete continuous data: special cases by other ways, and levels under null hypotheses."""

import numpy as np
import pytest
from scipy import stats

from pgmx.data import DiscreteTable
from pgmx.data.mixed import MixedTable
from pgmx.statistics.independence.discrete import DiscreteTests
from pgmx.statistics.independence.incomplete_correlation import IncompleteCorrelationTests
from pgmx.statistics.independence.mixed import MixedTests
from pgmx.statistics.independence.partial_correlation import PartialCorrelationTests


def make_tests(columns, **options):
    """Return the tests of columns, of which integers are states; -1 is a missing state."""
    is_continuous = np.array([column.dtype.kind == "f" for column in columns])
    numbers = np.array([c for c in columns if c.dtype.kind == "f"]).reshape(-1, len(columns[0]))
    states = [c for c in columns if c.dtype.kind != "f"]
    table = None
    if states:
        cards = [int(c.max()) + 1 for c in states]
        missing = [r if (c < 0).any() else -1 for c, r in zip(states, cards, strict=True)]
        codes = [np.where(c < 0, r, c) for c, r in zip(states, cards, strict=True)]
        ranges = [range(r + (m >= 0)) for r, m in zip(cards, missing, strict=True)]
        table = DiscreteTable([f"d{i}" for i in range(len(states))], ranges, np.array(codes), missing)
    return MixedTests(MixedTable(tuple(range(len(columns))), is_continuous, numbers, table), **options)


def draw_columns(seed, n_rows):
    rng = np.random.default_rng(seed)
    return rng, rng.normal(size=(4, n_rows)), rng.integers(0, 3, n_rows), rng.integers(0, 2, n_rows)


def test_discrete_variables_are_tested_by_their_counts():
    _, (x, *_), a, b = draw_columns(0, 90)
    c = (a + b) % 3
    row = make_tests([x, a, b, c]).test_row(1, [2], [3])
    assert (
        row.p_value[0]
        == DiscreteTests(DiscreteTable("abc", [range(3)] * 3, [a, b, c])).test_row(0, [1], [2]).p_value[0]
    )


def test_continuous_variables_have_a_partial_correlation():
    _, (x, y, u, v), a, _ = draw_columns(1, 80)
    y = y + 0.3 * x + u
    correlation = np.corrcoef([x, y, u, v])
    expected = PartialCorrelationTests(correlation, 80, statistic="t").test_row(0, [1], [2, 3])
    row = make_tests([x, y, u, v, a]).test_row(0, [1], [2, 3])
    r = expected.statistic[0]
    assert row.statistic[0] == pytest.approx(r**2 / (1 - r**2) * (80 - 2 - 2))  # F = t^2
    assert row.p_value[0] == pytest.approx(expected.p_value[0])
    assert row.effect_size[0] == pytest.approx(expected.effect_size[0])


def test_one_stratum_is_an_analysis_of_variance():
    _, (x, *_), a, _ = draw_columns(2, 70)
    expected = stats.f_oneway(*(x[a == s] for s in range(3)))
    for one, other in ((0, 1), (1, 0)):
        row = make_tests([x, a]).test_row(one, [other], [])
        assert (row.statistic[0], row.p_value[0]) == pytest.approx((expected.statistic, expected.pvalue))
        assert row.dof[0] == 2


def test_strata_have_their_own_slopes_and_variances():
    """F by least squares in each stratum, with values scaled by the residual deviation."""
    _, (x, y, u, _), a, b = draw_columns(3, 120)
    y, x = (1 + 3 * a) * y + a * u, x + (1 - a) * u
    explained = total = d0 = d1 = 0.0
    for s in range(3):
        rows = a == s
        design = np.column_stack([np.ones(rows.sum()), u[rows]])
        wider = np.column_stack([design, b[rows] == 1])
        r0, r1 = (np.square(y[rows] - q @ np.linalg.lstsq(q, y[rows], rcond=None)[0]).sum() for q in (design, wider))
        f0 = rows.sum() - 2
        explained, total, d0, d1 = explained + f0 * (r0 - r1) / r0, total + f0, d0 + 1, d1 + f0 - 1
    statistic = explained / d0 / ((total - explained) / d1)
    row = make_tests([y, b, a, u]).test_row(0, [1], [2, 3])
    assert (row.statistic[0], row.p_value[0]) == pytest.approx((statistic, stats.f.sf(statistic, d0, d1)))


def test_score_test_of_two_binary_variables():
    """Rao's test of a logistic regression, from the definition, at a maximum that the gradient confirms."""
    rng, (u, *_), _, b = draw_columns(4, 300)
    c = (rng.random(300) < 1 / (1 + np.exp(-u - 1))).astype(int)
    assert abs(c.mean() - 0.5) > abs(b.mean() - 0.5)  # the states of c are less even: it is the response
    design = np.column_stack([np.ones(300), u])
    coefficients = np.zeros(2)
    for _ in range(20):
        shares = 1 / (1 + np.exp(-design @ coefficients))
        hessian = (design * (shares * (1 - shares))[:, None]).T @ design
        coefficients += np.linalg.solve(hessian, design.T @ (c - shares))
    assert design.T @ (c - shares) == pytest.approx(0, abs=1e-9)
    weighted = design * (shares * (1 - shares))[:, None]
    mixed = weighted.T @ b
    information = (b * shares * (1 - shares)) @ b - mixed @ np.linalg.solve(design.T @ weighted, mixed)
    statistic = (b @ (c - shares)) ** 2 / information
    row = make_tests([c, b, u]).test_row(0, [1], [2])
    assert (row.statistic[0], row.p_value[0]) == pytest.approx((statistic, stats.chi2.sf(statistic, 1)), rel=1e-6)


def test_tests_are_symmetric_and_rows_are_single_tests():
    _, (x, y, u, _), a, b = draw_columns(5, 150)
    columns = [x, y + x, u, a, b, (a + (u > 0)) % 3]
    tests = make_tests(columns)
    for one in range(6):
        for z in ([], [2], [3], [2, 3]):
            if one in z:
                continue
            others = [v for v in range(6) if v != one and v not in z]
            row = tests.test_row(one, others, z)
            for i, other in enumerate(others):
                assert tests.test_row(other, [one], z).p_value[0] == pytest.approx(row.p_value[i], abs=1e-9)
                assert tests.test_row(one, [other], z).p_value[0] == pytest.approx(row.p_value[i], abs=1e-9)


def test_the_response_of_a_score_test_does_not_depend_on_names():
    rng, (u, *_), a, b = draw_columns(9, 90)
    even = rng.permutation(np.arange(90) % 2)
    twin = np.where(rng.random(90) < 0.4, even, 1 - even)
    twin[np.flatnonzero(twin == (twin.sum() > 45))[: abs(twin.sum() - 45)]] = int(twin.sum() < 45)
    assert twin.sum() == even.sum() == 45  # alike in all counts: both regressions are made
    for x, y in ((a, b), (b, even), (even, twin), (1 - even, twin)):
        one, other = make_tests([x, y, u]).test_row(0, [1], [2]), make_tests([y, x, u]).test_row(0, [1], [2])
        assert (one.statistic[0], one.p_value[0]) == (other.statistic[0], other.p_value[0])
        assert 0 < one.p_value[0] < 1


def test_regressions_on_other_sets_are_not_taken_again():
    _, (_, _, u, v), a, b = draw_columns(8, 100)
    columns = [a, b, u, v]
    tests = make_tests(columns)
    for z in ([2], [3], [2, 3], [2]):
        assert tests.test_row(0, [1], z).p_value[0] == make_tests(columns).test_row(0, [1], z).p_value[0]


def test_missing_values_leave_out_rows_of_a_test():
    rng, (x, y, u, _), a, b = draw_columns(6, 200)
    y, a, b = y + 0.2 * x, a.copy(), np.where(u > 0, b, 0)
    y[rng.random(200) < 0.2] = np.nan
    a[rng.random(200) < 0.2] = -1
    tests = make_tests([x, y, u, a, b])
    for one, other, z in ((0, 1, [2]), (0, 1, [3]), (1, 3, [2]), (3, 4, [2]), (3, 4, []), (0, 2, [4])):
        columns = [(x, y, u, a, b)[v] for v in (one, other, *z)]
        known = np.logical_and.reduce([~np.isnan(c) if c.dtype.kind == "f" else c >= 0 for c in columns])
        expected = make_tests([c[known] for c in columns]).test_row(0, [1], list(range(2, len(columns))))
        row = tests.test_row(one, [other, 2 if 2 not in (one, other, *z) else other], z)
        assert row.p_value[0] == pytest.approx(expected.p_value[0], abs=1e-12)


@pytest.mark.parametrize("statistic", ["z", "t"])
def test_incomplete_rows_of_continuous_variables(statistic):
    rng = np.random.default_rng(7)
    rows = rng.normal(size=(60, 5)) @ rng.normal(size=(5, 5)) + 10
    rows[rng.random(rows.shape) < 0.1] = np.nan
    rows[:, 4] = np.where(np.isnan(rows[:, 4]), 1.0, rows[:, 4])  # complete
    tests = IncompleteCorrelationTests(rows, statistic)
    row = tests.test_row(0, [1, 3, 4], [2])
    for i, y in enumerate((1, 3, 4)):
        part = rows[~np.isnan(rows[:, [0, y, 2]]).any(axis=1)][:, [0, y, 2]]
        expected = PartialCorrelationTests(np.corrcoef(part.T), len(part), statistic=statistic).test_row(0, [1], [2])
        assert row.p_value[i] == pytest.approx(expected.p_value[0], rel=1e-9)
        assert row.dof[i] == expected.dof[0]


def test_data_without_evidence():
    x, a = np.arange(6.0), np.array([0, 0, 1, 1, 2, 2])
    row = make_tests([x, a, np.zeros(6), np.zeros(6, dtype=int)]).test_row(0, [2, 3], [])
    assert row.p_value.tolist() == [1.0, 1.0]
    assert make_tests([x, 2 * x, a]).test_row(0, [1], [2]).p_value[0] == 1.0  # two rows in each stratum
    assert make_tests([x, 2 * x, a]).test_row(0, [1], []).p_value[0] < 1e-20
    # a stratum with a state for each row says nothing
    values, states, strata = np.arange(13.0) ** 2, np.r_[0, 1, 2, np.arange(10) % 2], np.repeat([0, 1], [3, 10])
    row = make_tests([values, states, strata]).test_row(0, [1], [2])
    rest = make_tests([values[3:], states[3:]]).test_row(0, [1], [])
    assert (row.statistic[0], row.dof[0], row.p_value[0]) == (rest.statistic[0], rest.dof[0], rest.p_value[0])
