"""GIES: the search over interventional equivalence classes against enumeration of their members."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.examples import examples
from helpers.whole_searches import Asked, search_with
from oracles.all_dags import all_dags
from oracles.equivalence_search import list_operators
from oracles.interventional import class_of, neighbour_classes
from pgmx.graphs.equivalence import group_by_targets
from pgmx.search.dag.equivalence import KINDS, Operator, Operators, search_classes
from pgmx.search.dag.state import ClimbLimits
from pgmx.search.dag.tracker import SearchTracker

DAGS = {n: list(all_dags(n)) for n in (2, 3, 4)}
TARGETS = ([[], [0]], [[], [1], [2, 0]], [[0], [1]], [[], [0], [1], [0, 3]])


def draw_problem(seed, n, targets, start=()):
    """Return a problem with a random score that is the same for equivalent graphs.

    It is a sum over the targets of f(family) - f(parents), for some f of sets, without the families of the target.
    """

    def value(target, variables):
        rng = np.random.default_rng([seed, target, *sorted(variables), 5])
        return float(rng.normal()) * len(variables)

    def score(child, parents):
        used = [i for i, target in enumerate(targets) if child not in target]
        return sum(value(i, [child, *parents]) - value(i, parents) for i in used)

    groups = np.array(group_by_targets(n, [[v for v in target if v < n] for target in targets]))
    return Asked(n, score, start=tuple(start), groups=groups)


class AnyGain(SearchTracker):
    """A course on which every operator gains enough."""

    def __init__(self):
        super().__init__(ClimbLimits(-1e9, 100, 100, 0, 0))

    def least_gain(self):
        return -1e9


@given(st.integers(0, 2**20), st.integers(2, 4), st.sampled_from(list(KINDS)), st.sampled_from(TARGETS))
@examples(80)
def test_operators_lead_to_all_neighbouring_classes(seed, n, kind, targets):
    edges = DAGS[n][seed % len(DAGS[n])]
    asked = draw_problem(seed, n, targets, edges)
    operators = Operators(asked.problem().make_state(), AnyGain())
    operators.list_all(KINDS[kind])
    listed = [Operator(*o) for head in range(n) for o in operators.compiled.operators_at(KINDS[kind], head)]
    conditions = list_operators(n, class_of(n, edges, targets), kind)
    assert {(o.tail, o.head, frozenset(o.clique)) for o in listed} == conditions
    reached = set()
    for operator in listed:
        after = [tuple(arc) for arc in operators.find_edges(operator, n).tolist()]
        reached.add(class_of(n, after, targets))
        assert asked.score(after) - asked.score(edges) == pytest.approx(operator.gain, abs=2e-5)
    assert reached == neighbour_classes(n, edges, kind, targets).keys()


@given(st.integers(0, 2**20), st.integers(2, 4), st.sampled_from(TARGETS))
@examples(20)
def test_the_same_classes_as_enumeration_goes_through(seed, n, targets):
    asked = draw_problem(seed, n, targets)

    def search(problem, state, tracker, seed):
        search_classes(state, tracker, phases=tuple(KINDS), repeat=True)

    result = search_with(search, asked.problem())
    scores, edges, number, idle = [], [], 0, 0
    while idle < len(KINDS):
        others = neighbour_classes(n, edges, list(KINDS)[number], targets)
        best = max(others.values(), key=asked.score, default=edges)
        if asked.score(best) - asked.score(edges) > 1e-4:
            edges, idle = best, 0
            scores.append(asked.score(edges))
        else:
            number, idle = (number + 1) % len(KINDS), idle + 1
    assert result.history["score"].tolist() == pytest.approx(scores, abs=1e-9)
    assert class_of(n, list(map(tuple, result.edges.tolist())), targets) == class_of(n, edges, targets)
