"""GreedyEquivalenceSearch with interventions (GIES): score of the class, and the directions in its graph."""

import numpy as np
import pandas as pd
import pytest

from oracles.interventional import class_of, neighbour_classes
from pgmx.estimators import GreedyEquivalenceSearch
from pgmx.search.dag.equivalence import KINDS

NAMES = list("dacb")
TARGETS = ([], [1], [0, 3])


def draw_rows(rng, edges):
    """Return rows of a linear Gaussian network (0 to 3 in an order of its edges), and what was set in them."""
    rows, sets = [], []
    for target, n in zip(TARGETS, (300, 100, 100), strict=True):
        values = rng.normal(size=(n, 4))
        for v in range(4):
            parents = [tail for tail, head in edges if head == v]
            values[:, v] = 2.0 * values[:, v] if v in target else values[:, v] + 0.8 * values[:, parents].sum(axis=1)
        rows.append(values + 3.0)
        sets.append(np.tile(np.isin(range(4), target), (n, 1)))
    return np.concatenate(rows), np.concatenate(sets)


def score(rows, sets, edges):
    """Return the BIC of Hauser and Buehlmann (2012) up to a constant."""
    total = 0.0
    for v in range(4):
        used = rows[~sets[:, v]]
        columns = [np.ones(len(used)), *(used[:, tail] for tail, head in edges if head == v)]
        errors = np.linalg.lstsq(np.column_stack(columns), used[:, v], rcond=None)[1]
        total -= len(used) / 2 * np.log(errors[0] / len(used)) + len(columns) * np.log(len(rows)) / 2
    return total


@pytest.mark.parametrize("edges", [[(0, 1), (1, 2), (2, 3)], [(1, 2), (0, 2), (2, 3)]])
def test_no_neighbouring_class_is_better(rng, edges):
    rows, sets = draw_rows(rng, edges)
    frame = pd.DataFrame(rows, columns=NAMES)
    search = GreedyEquivalenceSearch(scoring_method="bic-g").fit(frame, interventions=sets)
    found = [(tail, head) for tail, head in search.edges_.tolist()]
    best = score(rows, sets, found)
    for kind in KINDS:
        others = neighbour_classes(4, found, kind, TARGETS).values()
        assert max(score(rows, sets, other) for other in others) < best
    directed, undirected = class_of(4, found, TARGETS)
    assert search.graph_.directed_edges == {(NAMES[u], NAMES[v]) for u, v in directed}
    pairs = {frozenset(edge) for edge in search.graph_.undirected_edges}
    assert pairs == {frozenset((NAMES[u], NAMES[v])) for u, v in undirected}
    assert (directed, undirected) == class_of(4, edges, TARGETS)
    empty = GreedyEquivalenceSearch(scoring_method="bic-g", candidate_edges=[]).fit(frame, interventions=sets)
    gain = best - score(rows, sets, [])
    assert search.score_ - empty.score_ == pytest.approx(gain, abs=1e-4)


def test_a_column_of_interventions_directs_a_discrete_edge(rng):
    cause = rng.integers(0, 2, 600)
    effect = np.where(rng.random(600) < 0.8, cause, 1 - cause)
    effect[400:] = rng.integers(0, 2, 200)
    frame = pd.DataFrame({"cause": cause, "effect": effect, "set": ["", *[None] * 399, *["effect"] * 200]})
    search = GreedyEquivalenceSearch(interventions="set").fit(frame)
    assert search.graph_.directed_edges == {("cause", "effect")}
    assert GreedyEquivalenceSearch().fit(frame[["cause", "effect"]]).graph_.undirected_edges
