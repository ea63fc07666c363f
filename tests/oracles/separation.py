"""d-separation by the moralised ancestral graph, and a source of tests that asks it."""

from itertools import combinations

import numpy as np

from pgmx.statistics.independence.source import IndependenceSource, TestRow


def list_ancestors(parents, variables):
    """Return the variables and their ancestors as a set; `parents` is a set per variable."""
    found, waiting = set(), list(variables)
    while waiting:
        v = waiting.pop()
        if v not in found:
            found.add(v)
            waiting.extend(parents[v])
    return found


def are_d_separated(parents, x, y, z):
    """Return whether x and y are d-separated given z in the DAG with these parents."""
    kept = list_ancestors(parents, {x, y, *z})
    links = {v: set() for v in kept}
    for v in kept:
        family = [v, *parents[v]]
        for a, b in combinations(family, 2):
            links[a].add(b)
            links[b].add(a)
    seen, waiting = {x, *z}, [x]
    while waiting:
        new = links[waiting.pop()] - seen
        if y in new:
            return False
        seen |= new
        waiting.extend(new)
    return True


class SeparationSource(IndependenceSource):
    """Tests with the p-value 1 for d-separated variables and 0 for others.

    `parents` has a collection per variable. `observed` lists the variables of the DAG that the ids of the tests mean
    (default: all); `selected` are variables that every test is given. `asked` lists all tests (x, y, z) with x < y.
    """

    def __init__(self, parents, observed=None, selected=()):
        self.parents = [set(of) for of in parents]
        self.observed = list(range(len(parents)) if observed is None else observed)
        self.selected = set(selected)
        self.n_variables = len(self.observed)
        self.asked = []

    def test_row(self, x, ys, z):
        given = {self.observed[v] for v in z} | self.selected
        p_values = np.empty(len(ys))
        for k, y in enumerate(ys):
            self.asked.append((min(x, int(y)), max(x, int(y)), tuple(z)))
            p_values[k] = are_d_separated(self.parents, self.observed[x], self.observed[y], given)
        return TestRow(1 - p_values, np.ones(len(ys)), p_values, 1 - p_values)


def random_parents(n, degree, rng):
    """Return the parents of a random DAG with the expected number of neighbours, its order drawn too."""
    order = rng.permutation(n)
    parents = [set() for _ in range(n)]
    for i, j in combinations(range(n), 2):
        if rng.random() < degree / (n - 1):
            parents[order[j]].add(int(order[i]))
    return parents
