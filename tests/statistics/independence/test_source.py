"""Levels of tests: which sets are asked, and the evidence that is kept."""

from itertools import combinations

import numpy as np
import pytest

from oracles.separation import SeparationSource, random_parents
from pgmx.statistics.independence.source import Evidence, IndependenceSource, TestRow
from tests.helpers.set_pools import draw_pools


class RandomSource(IndependenceSource):
    """p-values that depend on the set alone, some of them equal and some NaN."""

    def __init__(self, n, seed):
        self.n_variables, self.seed = n, seed

    def p_value(self, x, y, z):
        rng = np.random.default_rng([self.seed, min(x, y), max(x, y), *z])
        return rng.choice([np.nan, 0.0, 0.2, 0.5, rng.random()])

    def test_row(self, x, ys, z):
        p_values = np.array([self.p_value(x, int(y), z) for y in ys])
        return TestRow(p_values, p_values, p_values, p_values)


@pytest.mark.parametrize("tiered", [False, True])
def test_sets_of_pools_are_tested_once_unless_they_were_tested_before(tiered, rng):
    n = 7
    adjacent = random_graph(n, rng)
    pools, tiers = draw_pools(adjacent, rng), rng.integers(0, 3, n) if tiered else np.zeros(n, int)
    source = SeparationSource(random_parents(n, 3, rng))
    for size in range(4):
        source.asked.clear()
        n_tests = source.run_level(
            adjacent, size, significance_level=0.05, evidence=Evidence(n), tiers=tiers if tiered else None, pools=pools
        )
        wanted = [
            (x, y, z)
            for x, y in combinations(range(n), 2)
            if adjacent[x, y]
            for z in list_sets(pools.members, x, y, size, tiers)
            if not pools.tested[x, list(z)].all() and not pools.tested[y, list(z)].all()
        ]
        assert sorted(source.asked) == sorted(wanted)
        assert n_tests == len(wanted)


def random_graph(n, rng):
    adjacent = np.triu(rng.random((n, n)) < 0.6, 1)
    return adjacent | adjacent.T


def list_sets(adjacent, x, y, size, tiers):
    """Return the sets of a pair in the order in which ties are decided."""
    found = set()
    for a, b in ((x, y), (y, x)):
        found.update(combinations([int(v) for v in np.flatnonzero(adjacent[a]) if v != b], size))
    later = max(tiers[x], tiers[y])
    return sorted(z for z in found if all(tiers[v] <= later for v in z))


@pytest.mark.parametrize("tiered", [False, True])
def test_each_pair_is_tested_given_each_set_once(tiered, rng):
    n = 7
    adjacent = random_graph(n, rng)
    tiers = rng.integers(0, 3, n) if tiered else np.zeros(n, int)
    source = SeparationSource(random_parents(n, 3, rng))
    for size in range(4):
        source.asked.clear()
        evidence = Evidence(n)
        n_tests = source.run_level(
            adjacent, size, significance_level=0.05, evidence=evidence, tiers=tiers if tiered else None
        )
        wanted = [
            (x, y, z)
            for x, y in combinations(range(n), 2)
            if adjacent[x, y]
            for z in list_sets(adjacent, x, y, size, tiers)
        ]
        assert sorted(source.asked) == sorted(wanted)
        assert n_tests == len(wanted)


def test_the_evidence_is_the_largest_p_value_and_its_first_smallest_set(rng):
    n = 6
    source, adjacent, evidence = RandomSource(n, 3), random_graph(n, rng), Evidence(n)
    for size in range(3):
        source.run_level(adjacent, size, significance_level=0.05, evidence=evidence)
    for x, y in combinations(range(n), 2):
        best, kept = 0.0, ()
        for size in range(3):
            for z in list_sets(adjacent, x, y, size, [0] * n) if adjacent[x, y] else []:
                if source.p_value(x, y, z) > best:
                    best, kept = source.p_value(x, y, z), z
        assert evidence.get_p_value(y, x) == best
        assert evidence.get_set(y, x) == kept


def test_the_order_of_tests_does_not_matter():
    rows = [(3, (1, 2), 0.5), (0, (1, 2), 0.5), (0, (1, 4), 0.5), (0, (), 0.2), (0, (5,), 0.5), (0, (4,), 0.5)]
    results = []
    for order in (rows, rows[::-1]):
        evidence = Evidence(6)
        for x, z, p_value in order:
            evidence.add(x, np.array([3 if x == 0 else 0]), z, np.array([p_value]))
        results.append((evidence.get_p_value(0, 3), evidence.get_set(0, 3)))
    assert results == [(0.5, (4,))] * 2


def test_whole_levels_are_added_like_rows(rng):
    n = 5
    pairs = np.array(list(combinations(range(n), 2)))
    rows, levels = Evidence(n), Evidence(n)
    for size in (0, 2, 3):
        sets = np.array([[v for v in range(n) if v not in pair][:size] for pair in pairs]).reshape(len(pairs), size)
        p_values = rng.choice([0.0, 0.3, 0.6, 0.9], len(pairs))
        levels.add_level(pairs, sets, p_values)
        for (x, y), z, p_value in zip(pairs.tolist(), sets.tolist(), p_values, strict=True):
            rows.add(x, np.array([y]), tuple(z), np.array([p_value]))
    # a second stage begins again with small sets
    levels.add_level(np.array([[0, 1]]), np.array([[4]]), levels.p_values[:1, 1])
    rows.add(0, np.array([1]), (4,), rows.p_values[:1, 1])
    assert rows.sets == levels.sets
    assert rows.list_sets(pairs) == levels.list_sets(pairs) == [levels.get_set(y, x) for x, y in pairs.tolist()]
    assert np.array_equal(rows.p_values, levels.p_values)


def test_a_level_can_be_stopped():
    source, evidence = SeparationSource([set()] * 4), Evidence(4)
    answers = iter([False, True])
    n_tests = source.run_level(
        ~np.eye(4, dtype=bool), 0, significance_level=0.05, evidence=evidence, should_stop=lambda: next(answers)
    )
    assert n_tests == 3
    assert evidence.get_p_value(2, 3) == 0
