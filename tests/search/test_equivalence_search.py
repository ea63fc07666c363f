"""The search over equivalence classes against enumeration of their members and the conditions of its sources."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.examples import examples
from helpers.whole_searches import Asked, random_problem, search_with
from oracles.all_dags import all_dags
from oracles.equivalence_search import class_of, climb_classes, list_operators, neighbour_classes
from pgmx.graphs.partial_dag import PartialDag
from pgmx.search.dag.equivalence import KINDS, Operator, Operators, search_classes
from pgmx.search.dag.state import ClimbLimits
from pgmx.search.dag.tracker import SearchTracker


class AnyGain(SearchTracker):
    """A course on which every operator gains enough."""

    def __init__(self):
        super().__init__(ClimbLimits(-1e9, 100, 100, 0, 0))

    def least_gain(self):
        return -1e9


DAGS = {n: list(all_dags(n)) for n in (1, 2, 3, 4)}


def equivalent_score(seed, *, whole=False):
    """Return a local score that is the same for equivalent graphs, f(family) - f(parents) for some f of sets."""

    def value(variables):
        rng = np.random.default_rng([seed, *sorted(variables), 5])
        return float(rng.integers(-3, 4)) if whole else float(rng.normal()) * len(variables)

    return lambda child, parents: value([child, *parents]) - value(parents)


def search(problem, state, tracker, seed, *, phases=tuple(KINDS), repeat=True, max_degree=None):
    search_classes(state, tracker, phases=phases, repeat=repeat, max_degree=max_degree)


@given(st.integers(0, 2**20), st.integers(1, 4), st.sampled_from(list(KINDS)))
@examples(150)
def test_operators_are_those_of_the_conditions_and_lead_to_all_neighbouring_classes(seed, n, kind):
    edges = DAGS[n][seed % len(DAGS[n])]
    asked = Asked(n, equivalent_score(seed), start=tuple(edges))
    state = asked.problem().make_state()
    operators = Operators(state, AnyGain())
    operators.list_all(KINDS[kind])
    listed = [Operator(*o) for head in range(n) for o in operators.compiled.operators_at(KINDS[kind], head)]
    assert {(o.tail, o.head, frozenset(o.clique)) for o in listed} == list_operators(n, class_of(n, edges), kind)
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


def listed_at(operators, kind):
    """Return the legal operators of all heads, the best of each first."""
    heads = range(operators.state.n)
    return [Operator(*one) for head in heads for one in operators.compiled.operators_at(KINDS[kind], head)]


def random_dag(rng, n, n_edges):
    order = rng.permutation(n)
    pairs = np.sort(rng.integers(n, size=(n_edges, 2)), axis=1)
    return sorted({(int(order[a]), int(order[b])) for a, b in pairs if a != b})


def has_path(graph, start, end, blocked, without=None):
    """Return whether a path outside `blocked` leads from `start` to `end`, not against edges or along `without`."""
    seen, waiting = {start, *blocked}, [start]
    for v in waiting:  # grows meanwhile
        onward = (graph.children[v] | graph.neighbours[v]) - seen
        if without is not None and v == without[0]:
            onward.discard(without[1])
        seen |= onward
        waiting.extend(onward)
    return end in seen and end not in blocked


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_operators_of_many_variables(kind):
    """Sets of more than one word, against Python's sets; the rows are of a score that knows no graph."""
    rng, n = np.random.default_rng(len(kind)), 70
    edges = random_dag(rng, n, 130)
    graph = PartialDag.from_dag(n, edges)
    values = rng.normal(size=(n, n))
    asked = Asked(n, lambda child, parents: float(sum(values[child, p] for p in parents)), start=tuple(edges))
    operators = Operators(asked.problem().make_state(), AnyGain())
    operators.list_all(KINDS[kind])
    expected = set()
    for head in range(n):
        joined = graph.neighbours[head]
        for tail in range(n):
            common = joined & graph.adjacent[tail]
            for clique in map(set, graph.list_cliques(joined - {tail})):
                if kind == "forward":
                    valid = tail != head and tail not in graph.adjacent[head] and common <= clique
                    valid = valid and not has_path(graph, head, tail, clique)
                elif kind == "backward":
                    valid = tail in graph.parents[head] | joined and clique <= common
                elif tail in graph.children[head]:
                    blocked = clique | graph.neighbours[tail]
                    valid = common <= clique and not has_path(graph, head, tail, blocked, without=(head, tail))
                else:
                    valid = tail in joined and not clique <= common
                    valid = valid and not any(
                        has_path(graph, a, b, set(range(n)) - joined | (clique & common))
                        for a in clique - common
                        for b in common - clique
                    )
                if valid:
                    expected.add((tail, head, frozenset(clique)))
    listed = listed_at(operators, kind)
    assert {(o.tail, o.head, frozenset(o.clique)) for o in listed} == expected and len(listed) == len(expected) > 20
    for head in range(n):
        gains = [o.gain for o in listed if o.head == head]
        assert gains == sorted(gains, reverse=True)


@given(st.integers(0, 2**20), st.integers(4, 8), st.sampled_from(list(KINDS)))
@examples(40)
def test_lists_after_a_move_are_those_of_a_new_search(seed, n, kind):
    rng = np.random.default_rng(seed)
    asked = Asked(n, equivalent_score(seed), start=tuple(random_dag(rng, n, 2 * n)))
    state, course = asked.problem().make_state(), AnyGain()
    operators = Operators(state, course)
    operators.list_all(KINDS[kind])
    for _ in range(3):
        if not operators.make_best():
            break
        fresh = Operators(state, course)
        fresh.list_all(KINDS[kind])
        assert listed_at(operators, kind) == listed_at(fresh, kind)


@given(st.integers(0, 2**20), st.integers(2, 6), st.integers(1, 3))
@examples(30)
def test_no_variable_gets_more_edges_than_max_degree(seed, n, most):
    asked = Asked(n, equivalent_score(seed))
    result = search_with(search, asked.problem(), max_degree=most)
    degrees = np.bincount(result.edges.ravel(), minlength=n)
    assert degrees.max(initial=0) <= most and result.converged
    if most >= n - 1:
        assert result.edges.tolist() == search_with(search, asked.problem()).edges.tolist()
    # no insertion between two variables that may have a further edge gains
    edges = [tuple(arc) for arc in result.edges.tolist()]
    for other in neighbour_classes(n, edges, "forward").values():
        if np.bincount(np.array(list(other)).ravel(), minlength=n).max() <= most:
            assert asked.score(other) <= result.score + 1e-3
