"""The search over equivalence classes against enumeration of their members and the conditions of its sources."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.examples import examples
from helpers.whole_searches import Asked, random_problem, search_with
from oracles.all_dags import all_dags
from oracles.equivalence_search import class_of, climb_classes, list_operators, neighbour_classes
from pgmx.search.dag.equivalence import KINDS, Operators, search_classes

ANY_GAIN = SimpleNamespace(least_gain=lambda: -1e9)
DAGS = {n: list(all_dags(n)) for n in (1, 2, 3, 4)}


def equivalent_score(seed, *, whole=False):
    """Return a local score that is the same for equivalent graphs, f(family) - f(parents) for some f of sets."""

    def value(variables):
        rng = np.random.default_rng([seed, *sorted(variables), 5])
        return float(rng.integers(-3, 4)) if whole else float(rng.normal()) * len(variables)

    return lambda child, parents: value([child, *parents]) - value(parents)


def search(problem, state, tracker, seed, *, phases=tuple(KINDS), repeat=True):
    search_classes(state, tracker, phases=phases, repeat=repeat)


@given(st.integers(0, 2**20), st.integers(1, 4), st.sampled_from(list(KINDS)))
@examples(150)
def test_operators_are_those_of_the_conditions_and_lead_to_all_neighbouring_classes(seed, n, kind):
    edges = DAGS[n][seed % len(DAGS[n])]
    asked = Asked(n, equivalent_score(seed), start=tuple(edges))
    state = asked.problem().make_state()
    operators = Operators(state, ANY_GAIN)
    listed = [o for head in range(n) for o in operators.list_operators(KINDS[kind], head) if operators.keeps_acyclic(o)]
    assert {(o.tail, o.head, o.clique) for o in listed} == list_operators(n, class_of(n, edges), kind)
    reached = set()
    for operator in listed:
        after = [tuple(arc) for arc in operators.find_edges(operator, n).tolist()]
        reached.add(class_of(n, after))
        assert asked.score(after) - asked.score(edges) == pytest.approx(operator.gain, abs=2e-5)
    assert reached == neighbour_classes(n, edges, kind).keys()


@given(st.integers(0, 2**20), st.integers(1, 4), st.booleans(), st.booleans())
@examples(60)
def test_the_same_classes_as_enumeration_goes_through(seed, n, repeat, two):
    start = DAGS[n][seed % len(DAGS[n])] if seed % 2 else []
    asked = Asked(n, equivalent_score(seed), start=tuple(start))
    phases = list(KINDS)[:2] if two else list(KINDS)
    scores, edges = climb_classes(n, start, asked.score, phases, repeat=repeat, least_gain=1e-4)
    result = search_with(search, asked.problem(), phases=phases, repeat=repeat)
    assert result.history["score"].tolist() == pytest.approx(scores, abs=1e-9)
    assert class_of(n, map(tuple, result.edges.tolist())) == class_of(n, edges)
    assert result.score == pytest.approx(asked.score(result.edges), abs=1e-9)
    assert result.n_iter == len(scores)


@given(st.integers(0, 2**20), st.integers(1, 5), st.booleans(), st.booleans())
@examples(80)
def test_legal_repeatable_and_never_falling_under_any_score_and_knowledge(seed, n, knowledge, equivalent):
    asked = random_problem(seed, n, knowledge=knowledge)
    if equivalent:
        asked = asked._replace(local_score=equivalent_score(seed, whole=True))
    result = search_with(search, asked.problem(), seed=seed)
    assert result.converged
    asked.check_legal(result.edges)
    assert result.score == asked.score(result.edges)
    assert (np.diff(result.history["score"]) > 0).all()
    again = search_with(search, asked.problem(), seed=seed)
    assert again.edges.tolist() == result.edges.tolist()


@given(st.integers(0, 2**20), st.integers(2, 4))
@examples(40)
def test_it_ends_where_no_neighbouring_class_is_better(seed, n):
    asked = Asked(n, equivalent_score(seed, whole=True))
    result = search_with(search, asked.problem())
    edges = [tuple(arc) for arc in result.edges.tolist()]
    others = [other for kind in KINDS for other in neighbour_classes(n, edges, kind).values()]
    assert max(map(asked.score, others)) <= result.score
