"""Markov blankets by tests that answer from a graph, against the blankets of the graph; and of simulated rows."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.examples import examples
from oracles.separation import SeparationSource, random_parents
from pgmx.search.constraint_based.blankets import METHODS, BlanketSearch
from pgmx.search.constraint_based.skeleton import PairKnowledge, read_pairs
from pgmx.search.knowledge import EdgeConstraints
from pgmx.statistics.independence.source import IndependenceSource, TestRow


def true_blanket(parents, v):
    children = {c for c, of in enumerate(parents) if v in of}
    return sorted({*parents[v], *children, *(p for c in children for p in parents[c])} - {v})


def true_neighbours(parents, v):
    return sorted({*parents[v], *(c for c, of in enumerate(parents) if v in of)})


def search(source, method, knowledge=None, max_size=20, **options):
    n = source.n_variables
    if knowledge is None:
        knowledge = read_pairs(EdgeConstraints(n))
    return BlanketSearch(source, method, significance_level=0.05, knowledge=knowledge, max_size=max_size, **options)


@given(st.integers(0, 2**20), st.integers(1, 8), st.sampled_from([1.0, 2.0, 3.0]), st.sampled_from(METHODS))
@examples(120)
def test_an_oracle_gives_the_blankets_of_the_graph(seed, n, degree, method):
    parents = random_parents(n, min(degree, n - 1) if n > 1 else 0, np.random.default_rng(seed)) if n > 1 else [set()]
    options = {"n_rows": 100, "cells": np.full(n, 2)} if method == "fast-iamb" else {}
    found = search(SeparationSource(parents), method, **options)
    assert [found.find_blanket(v) for v in range(n)] == [true_blanket(parents, v) for v in range(n)]
    pairs = found.find_pairs()
    expected = true_neighbours if method == "mmpc" else true_blanket
    assert [np.flatnonzero(row).tolist() for row in pairs] == [expected(parents, v) for v in range(n)]
    assert found.n_tests == len(found.source.asked) > 0 or n == 1


@pytest.mark.parametrize("method", METHODS)
def test_nothing_depends_on_the_order_of_the_variables(method):
    rng = np.random.default_rng(3)
    p_values = {}

    class Drawn(IndependenceSource):
        """P-values that contradict each other, by names and not by ids."""

        def __init__(self, names):
            self.names, self.n_variables = names, len(names)

        def test_row(self, x, ys, z):
            keys = [(frozenset((self.names[x], self.names[y])), frozenset(self.names[v] for v in z)) for y in ys]
            values = np.array([p_values.setdefault(key, rng.random() ** 4) for key in keys])
            return TestRow(1 - values, np.ones(len(ys)), values, 1 - values)

    first = search(Drawn("abcdef"), method, max_size=2)
    blankets = {name: {"abcdef"[v] for v in first.find_blanket(i)} for i, name in enumerate("abcdef")}
    other = search(Drawn("fdbace"), method, max_size=2)
    assert blankets == {name: {"fdbace"[v] for v in other.find_blanket(i)} for i, name in enumerate("fdbace")}
    assert 0 < sum(map(len, blankets.values())) < 30


class Stated(IndependenceSource):
    """Tests with stated p-values and effects by pair and set; all others are certain of a dependence."""

    def __init__(self, n, p_values, effects=None):
        self.n_variables, self.p_values, self.effects, self.asked = n, p_values, effects or {}, []

    def test_row(self, x, ys, z):
        keys = [(min(x, int(y)), max(x, int(y)), tuple(z)) for y in ys]
        self.asked += keys
        p_values = np.array([self.p_values.get(key, 0.0) for key in keys])
        return TestRow(p_values, np.ones(len(ys)), p_values, np.array([self.effects.get(key, 0.5) for key in keys]))


def test_mmpc_needs_both_variables_in_each_others_set():
    # 0 -> 1 <- 3, 1 -> 2 <- 3: only 1 and 3 together separate 2 from 0, and 3 is independent of 0
    found = search(SeparationSource([set(), {0, 3}, {1, 3}, set()]), "mmpc")
    assert found._find_once(0) == [1, 2] and found.find_neighbours(0) == [1]
    assert not found.find_pairs()[0, 2] and not found.find_pairs()[2, 0]


def test_ties_of_p_values_are_decided_by_effects():
    effects = {(0, 1, ()): 0.2, (0, 2, ()): 0.9, (0, 3, ()): np.nan}
    source = Stated(4, {}, effects)
    assert search(source, "iamb")._rank_dependent(0, [1, 2, 3], ()) == [2, 1, 3]


def test_mmpc_adds_the_variable_whose_weakest_dependence_is_strongest():
    p_values = {(0, 1, ()): 1e-9, (0, 2, ()): 1e-5, (0, 3, ()): 1e-4, (0, 2, (1,)): 1e-6, (0, 3, (1,)): 1e-8}
    source = Stated(4, p_values)
    search(source, "mmpc")._find_once(0)
    assert source.asked.index((0, 3, (2,))) < source.asked.index((0, 2, (3,)))


def test_removals_after_each_addition():
    # the common child 1 of 2 and 3, which are adjacent to 0, is added first: it has the smallest id
    parents = [set(), {2, 3}, {0}, {0}, set()]
    asked = {}
    for method in METHODS[:3]:
        source = SeparationSource(parents)
        options = {"n_rows": 1, "cells": np.full(5, 2)} if method == "fast-iamb" else {}
        assert search(source, method, **options).find_blanket(0) == [2, 3]
        asked[method] = source.asked
    assert (0, 4, (2, 3)) in asked["inter-iamb"] and (0, 4, (2, 3)) not in asked["iamb"]
    assert asked["fast-iamb"] == asked["inter-iamb"]  # one row supports no table
    many = SeparationSource(parents)
    search(many, "fast-iamb", n_rows=10_000, cells=np.full(5, 2)).find_blanket(0)
    assert len(many.asked) < len(asked["inter-iamb"])


def test_no_spouse_of_a_pair_that_may_not_be_adjacent():
    possible = ~np.eye(3, dtype=bool)
    possible[0, 2] = possible[2, 0] = False
    knowledge = PairKnowledge(possible, np.zeros((3, 3), dtype=bool))
    assert search(SeparationSource([set(), {0}, {1}]), "mmpc", knowledge).find_blanket(0) == [1]


@pytest.mark.parametrize("method", METHODS)
def test_knowledge_of_pairs(method):
    # 0 -> 2 <- 1, 2 -> 3
    parents = [set(), set(), {0, 1}, {2}]
    possible, required = ~np.eye(4, dtype=bool), np.zeros((4, 4), dtype=bool)
    possible[0, 1] = possible[1, 0] = False
    required[0, 3] = required[3, 0] = True
    source = SeparationSource(parents)
    found = search(source, method, PairKnowledge(possible, required))
    assert 3 in found.find_blanket(0) and found.find_pairs()[0, 3]
    assert not found.find_pairs()[0, 1]
    # a pair that may not be adjacent can have a common child
    assert 1 in search(source, method, PairKnowledge(possible, ~possible & False)).find_blanket(0)
    if method == "mmpc":
        source = SeparationSource(parents)
        search(source, method, PairKnowledge(possible, required)).find_pairs()
        assert not any(pair[:2] == (0, 1) for pair in source.asked)


def test_sets_of_mmpc_are_limited():
    parents = random_parents(8, 3.0, np.random.default_rng(1))
    for most in (0, 1, 2):
        source = SeparationSource(parents)
        pairs = search(source, "mmpc", max_size=most).find_pairs()
        assert max(len(z) for _, _, z in source.asked) == most
        expected = np.zeros((8, 8), dtype=bool)
        for x, y in combinations(range(8), 2):
            expected[x, y] = expected[y, x] = x in parents[y] or y in parents[x]
        assert not (expected & ~pairs).any()  # smaller sets separate fewer pairs


def test_tests_that_cannot_be_made_change_nothing():
    class Unknown(SeparationSource):
        def test_row(self, x, ys, z):
            row = super().test_row(x, ys, z)
            if z:
                row.p_value[:] = np.nan
            return row

    parents = [set(), {0}, {1}]
    for method in METHODS:
        found = search(Unknown(parents), method)
        assert found.find_blanket(0) == {"mmpc": [1, 2]}.get(method, [1] if method != "fast-iamb" else [1, 2])


def test_a_search_ends_on_demand():
    source = SeparationSource(random_parents(8, 3.0, np.random.default_rng(2)))
    for method in METHODS:
        found = search(source, method, should_stop=lambda: len(source.asked) > 20)
        source.asked.clear()
        found.find_pairs()
        assert len(source.asked) <= 21 + 8
