"""Tests of discrete variables: definitions, levels against single rows, threads, weights, missing values, segments."""

import itertools
from functools import partial
from math import prod

import numpy as np
import pytest

from pgmx.data import DiscreteTable
from pgmx.statistics.families import DistributedFamilies
from pgmx.statistics.independence.discrete import KINDS, DiscreteTests
from pgmx.statistics.independence.source import Evidence, IndependenceSource
from tests.helpers.far_tables import Elsewhere, cut
from tests.helpers.set_pools import draw_pools
from tests.oracles.independence import moments_of_table, test_discrete


def make_table(rng, n_variables, n_rows, most_states, missing=0.0):
    """Return a table of dependent variables, of which some have one state."""
    cards = rng.integers(1, most_states, n_variables)
    common = rng.integers(0, 4, n_rows)
    codes = [
        np.where(rng.random(n_rows) < 0.4, common % r, rng.choice(r, n_rows, p=rng.dirichlet(np.full(r, 0.7))))
        for r in cards
    ]
    missing_codes = np.full(n_variables, -1)
    for v in range(n_variables if missing else 0):
        if v % 2 == 0:
            missing_codes[v] = cards[v]
            codes[v] = np.where(rng.random(n_rows) < missing, cards[v], codes[v])
            cards[v] += 1
    return DiscreteTable([f"v{i}" for i in range(n_variables)], [range(r) for r in cards], codes, missing_codes)


def draw_row(rng, n_variables, most):
    """Return x, some ys and a sorted set z."""
    order = rng.permutation(n_variables).tolist()
    k = int(rng.integers(0, most))
    return order[0], order[1 + k :], sorted(order[1 : 1 + k])


def run_levels(source, adjacent, depth, run=None, tiers=None, pools=None):
    """Return the evidence of some levels over one graph, and the numbers of tests."""
    evidence = Evidence(len(adjacent))
    run = source.run_level if run is None else run
    options = {"significance_level": 0.05, "evidence": evidence, "tiers": tiers, "pools": pools}
    return evidence, [run(adjacent, size, **options) for size in range(depth)]


def assert_same(first, second):
    (evidence, counts), (other, other_counts) = first, second
    assert counts == other_counts
    assert np.array_equal(evidence.p_values, other.p_values)
    assert evidence.sets == other.sets


@pytest.mark.parametrize("kind", KINDS)
def test_statistics_are_those_of_the_definition(kind):
    rng = np.random.default_rng(1)
    for n_rows in (5, 40, 600):
        table = make_table(rng, 7, n_rows, 6)
        codes, source = table.codes.astype(int), DiscreteTests(table, kind)
        for _ in range(4):
            x, ys, z = draw_row(rng, 7, 5)
            row = source.test_row(x, ys, z)
            expected = np.array([test_discrete(kind, codes[x], codes[y], codes[z]) for y in ys])
            np.testing.assert_allclose(row.statistic, expected[:, 0], rtol=1e-9, atol=1e-10)
            np.testing.assert_allclose(row.dof, expected[:, 1], rtol=1e-9)
            np.testing.assert_allclose(row.p_value, expected[:, 2], rtol=1e-9, atol=1e-9)


def test_counts_of_pairs_less_strata_with_one_state():
    """Given one variable, counts follow from pairs: also if x is constant in a stratum."""
    rng = np.random.default_rng(11)
    z, y = rng.integers(0, 4, 200), rng.integers(0, 3, 200)
    x = np.where(z == 0, 1, np.where(z == 3, 2, rng.integers(0, 3, 200)))
    source = DiscreteTests(DiscreteTable("xyz", [range(3), range(3), range(4)], [x, y, z]))
    for a, b in ((0, 1), (1, 0)):
        row = source.test_row(a, [b], [2])
        expected = test_discrete("pearson", *((x, y) if a == 0 else (y, x)), z[None])
        assert (row.statistic[0], row.dof[0], row.p_value[0]) == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["pearson", "g_square"])
def test_no_digits_are_lost_near_independence(kind):
    x, y = np.repeat([[0, 0, 1, 1], [0, 1, 0, 1]], 250, axis=1)
    assert DiscreteTests(DiscreteTable("xy", [(0, 1)] * 2, [x, y]), kind).test_row(0, [1], []).p_value[0] == 1.0
    y[0] = 1  # the definition in whole numbers: n (ad - bc)^2 over the product of the margins
    statistic = 1000 * (249 * 250 - 251 * 250) ** 2 / (500 * 500 * 499 * 501)
    row = DiscreteTests(DiscreteTable("xy", [(0, 1)] * 2, [x, y]), kind).test_row(0, [1], [])
    assert row.statistic[0] == pytest.approx(statistic, rel=1e-12 if kind == "pearson" else 1e-5)


def test_moments_are_those_of_all_tables_with_the_margins():
    """All permutations of 6 rows give mean and variance of Pearson's statistic given the margins."""
    x, y = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 0, 1, 1, 1, 1])
    values = []
    for order in itertools.permutations(range(6)):
        observed = np.zeros((3, 2))
        np.add.at(observed, (x, y[list(order)]), 1)
        expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / 6
        values.append(((observed - expected) ** 2 / expected).sum())
    assert moments_of_table(observed) == pytest.approx((np.mean(values), np.var(values)))


def test_a_constant_statistic_says_nothing():
    """Margins (1, 3) and (2, 2) allow one value of Pearson's statistic."""
    table = DiscreteTable("xy", [(0, 1)] * 2, [[0, 1, 1, 1], [0, 0, 1, 1]])
    row = DiscreteTests(table, "moments").test_row(0, [1], [])
    assert row.p_value[0] == 1.0
    assert row.dof[0] == 0.0


def test_no_degree_of_freedom_left():
    table = DiscreteTable("xyz", [(0, 1)] * 3, [[0, 1, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]])
    row = DiscreteTests(table).test_row(0, [1], [2])
    assert (row.p_value[0], row.dof[0], row.statistic[0]) == (1.0, 0.0, 0.0)


@pytest.mark.parametrize("kind", ["pearson", "moments"])
def test_levels_equal_rows_on_threads_and_in_messages(kind, monkeypatch):
    rng = np.random.default_rng(2)
    table = make_table(rng, 8, 300, 5, missing=0.1)
    adjacent = rng.random((8, 8)) < 0.8
    adjacent = (adjacent | adjacent.T) & ~np.eye(8, dtype=bool)
    groups = rng.integers(0, 3, 8)
    for tiers, pools in ((None, None), (groups, None), (groups, draw_pools(adjacent, rng))):
        source, options = DiscreteTests(table, kind), {"tiers": tiers, "pools": pools}
        by_rows = partial(IndependenceSource.run_level, source)
        expected = run_levels(source, adjacent, 4, by_rows, **options)
        assert sum(expected[1]) > 200
        assert_same(run_levels(source, adjacent, 4, **options), expected)
        assert_same(run_levels(DiscreteTests(table, kind, n_jobs=3), adjacent, 4, **options), expected)
        with monkeypatch.context() as patch:
            patch.setattr("pgmx.statistics.independence.discrete.MOST_ROWS", 10)  # counted in segments
            counted = DiscreteTests(table, kind)
            assert isinstance(counted._families, DistributedFamilies)
            assert_same(run_levels(counted, adjacent, 4, **options), expected)


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_partitions_have_the_bits_of_the_whole_table(missing, monkeypatch):
    rng = np.random.default_rng(9)
    table = make_table(rng, 7, 500, 4, missing)
    adjacent = ~np.eye(7, dtype=bool)
    expected = run_levels(DiscreteTests(table), adjacent, 3)
    families = Elsewhere(cut(table, [120, 130, 400]))
    monkeypatch.setattr("pgmx.statistics.independence.discrete.DistributedFamilies", lambda _: families)
    monkeypatch.setattr("pgmx.statistics.independence.discrete.MOST_ROWS", 10)
    assert_same(run_levels(DiscreteTests(table), adjacent, 3), expected)
    assert len(families.messages) == 2  # one for each level but that of empty sets, which needs pairs alone


def test_equal_p_values_from_both_ends_have_the_first_set():
    """Given a copy of x no degree of freedom is left: of two such sets the first in the order of ids counts."""
    x, y = np.random.default_rng(10).integers(0, 2, (2, 30))
    table = DiscreteTable("abcdxy", [(0, 1)] * 6, [x, x, x, x, x, y])
    adjacent = np.zeros((6, 6), dtype=bool)
    for x_side, y_side in (([1, 2], [0, 3]), ([0, 3], [1, 2])):
        adjacent[:] = False
        for v, others in ((4, [5, *x_side]), (5, y_side)):
            adjacent[v, others] = adjacent[others, v] = True
        evidence, _ = run_levels(DiscreteTests(table), adjacent, 3)
        assert evidence.get_p_value(4, 5) == 1.0
        assert evidence.get_set(4, 5) == (min(x_side[0], y_side[0]),)
        evidence = Evidence(6)
        DiscreteTests(table).run_level(adjacent, 2, significance_level=0.05, evidence=evidence)
        assert evidence.get_set(4, 5) == (0, 3)


def test_order_renames_the_variables():
    rng = np.random.default_rng(3)
    table, order = make_table(rng, 6, 200, 4), rng.permutation(6)
    codes = table.codes[order]
    other = DiscreteTable([table.columns[v] for v in order], [table.states[v] for v in order], codes)
    adjacent = ~np.eye(6, dtype=bool)
    assert_same(
        run_levels(DiscreteTests(table, order=order), adjacent, 3), run_levels(DiscreteTests(other), adjacent, 3)
    )


def test_rows_with_missing_values_are_left_out_of_each_test():
    rng = np.random.default_rng(4)
    table = make_table(rng, 6, 300, 4, missing=0.2)
    codes = table.codes.astype(int)
    for _ in range(6):
        x, ys, z = draw_row(rng, 6, 4)
        row = DiscreteTests(table).test_row(x, ys, z)
        for i, y in enumerate(ys):
            tested = [x, y, *z]
            known = (codes[tested] != table.missing_codes[tested][:, None]).all(axis=0)
            part = codes[:, known]
            statistic, dof, p_value = test_discrete("pearson", part[x], part[y], part[z])
            assert (row.statistic[i], row.dof[i], row.p_value[i]) == pytest.approx((statistic, dof, p_value), abs=1e-9)
            states = min(len(set(codes[v]) - {table.missing_codes[v]}) for v in (x, y))
            assert row.effect_size[i] == pytest.approx(np.sqrt(statistic / (known.sum() * max(states - 1, 1))))


def test_weights_are_repeated_rows():
    rng = np.random.default_rng(5)
    table, weights = make_table(rng, 5, 100, 4), rng.integers(0, 4, 100)
    rows = np.repeat(table.codes, weights, axis=1)
    repeated = DiscreteTable(table.columns, table.states, rows)
    adjacent = ~np.eye(5, dtype=bool)
    assert_same(
        run_levels(DiscreteTests(table.repeat_rows(weights)), adjacent, 3),
        run_levels(DiscreteTests(repeated), adjacent, 3),
    )


def test_more_states_than_planes():
    rng = np.random.default_rng(6)
    codes = np.array([rng.integers(0, 400, 900), rng.integers(0, 3, 900), rng.integers(0, 2, 900)])
    table = DiscreteTable("abc", [range(400), range(3), range(2)], codes)
    source = DiscreteTests(table)
    for x, y, z in ((0, 1, [2]), (1, 0, [2]), (1, 2, [0]), (0, 1, [])):
        row = source.test_row(x, [y], z)
        expected = test_discrete("pearson", codes[x], codes[y], codes[z])
        assert (row.statistic[0], row.dof[0], row.p_value[0]) == pytest.approx(expected, abs=1e-9)


def test_too_many_cells_are_not_tested():
    codes = np.arange(14 * 40).reshape(14, 40) % 37
    table = DiscreteTable(range(14), [range(37)] * 14, codes)
    given = list(range(2, 14))
    assert prod(table.cardinalities[given].tolist()) > 2**62
    source = DiscreteTests(table)
    assert np.isnan(source.test_row(0, [1], given).p_value[0])
    with pytest.warns(UserWarning, match="2\\*\\*62"):
        assert source.run_level(~np.eye(14, dtype=bool), 12, significance_level=0.05, evidence=Evidence(14)) == 0


def test_ids_that_do_not_exist():
    source = DiscreteTests(make_table(np.random.default_rng(8), 3, 20, 3))
    for x, ys, z in ((3, [0], []), (-1, [0], []), (0, [1, 3], []), (0, [1], [-1]), (0, [1], [2, 3])):
        with pytest.raises(IndexError, match="from 0 to 2"):
            source.test_row(x, ys, z)


def test_a_set_of_many_variables():
    codes = np.zeros((80, 6), dtype=np.int64)
    codes[[0, 1, 70]] = np.random.default_rng(8).integers(0, 2, (3, 6))
    source = DiscreteTests(DiscreteTable(range(80), [range(1 + row.max()) for row in codes], codes))
    assert source.test_row(0, [1], range(2, 80)).p_value[0] == source.test_row(0, [1], [70]).p_value[0]


def test_a_level_can_be_stopped():
    table = make_table(np.random.default_rng(7), 12, 50, 3)
    source, evidence = DiscreteTests(table), Evidence(12)
    adjacent = ~np.eye(12, dtype=bool)
    options = {"significance_level": 0.05, "evidence": evidence}
    n_tests = source.run_level(adjacent, 2, should_stop=lambda: True, **options)
    assert 0 < n_tests < source.run_level(adjacent, 2, **options)
