"""From expert knowledge about names to arrays of ids."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pgmpy.causal_discovery import ExpertKnowledge

from pgmx.graphs.cycles import find_cycle
from pgmx.search.knowledge import EdgeConstraints, read_constraints

NAMES = ["a", "b", "c", "d"]


def translate(names=NAMES, **parts):
    return read_constraints(names, expert_knowledge=ExpertKnowledge(**parts))


def forbidden_pairs(constraints):
    heads, tails = np.nonzero(constraints.allowed == 0)
    return {(int(t), int(h)) for t, h in zip(tails, heads, strict=True) if t != h}


def test_nothing_known():
    for constraints in (read_constraints(NAMES, expert_knowledge=None), translate()):
        assert constraints.n == 4
        assert constraints.required.shape == (0, 2)
        assert constraints.required.dtype == np.int64
        assert constraints.allowed is None
        assert constraints.allows(0, 1)
        assert not constraints.allows(1, 1)


def test_required_edges_are_sorted_and_forbid_nothing():
    constraints = translate(required_edges=[("d", "a"), ("a", "c"), ("d", "a"), ("a", "b")])
    assert constraints.required.tolist() == [[0, 1], [0, 2], [3, 0]]
    assert constraints.allowed is None


def test_forbidden_edges():
    constraints = translate(forbidden_edges=[("a", "b"), ("c", "a")])
    assert forbidden_pairs(constraints) == {(0, 1), (2, 0)}
    assert constraints.allowed[1, 0] == 0  # child, parent
    assert constraints.allowed[0, 1] == 1
    assert constraints.allowed.dtype == np.uint8
    assert constraints.allowed.flags.c_contiguous


def test_diagonal_is_zero():
    assert not translate(forbidden_edges=[("a", "b")]).allowed.diagonal().any()


def test_search_space_is_all_that_is_allowed():
    constraints = translate(search_space=[("a", "b"), ("d", "c")])
    assert np.argwhere(constraints.allowed).tolist() == [[1, 0], [2, 3]]


def test_a_full_search_space_forbids_nothing():
    assert translate(search_space=[(u, v) for u in NAMES for v in NAMES if u != v]).allowed is None


def test_temporal_order_leaves_unnamed_variables_free():
    constraints = translate(temporal_order=[["c"], ["a", "b"]])
    assert forbidden_pairs(constraints) == {(0, 2), (1, 2)}


def test_one_tier_forbids_nothing():
    assert translate(temporal_order=[["c", "a"]]).allowed is None


def test_parts_add_up():
    constraints = translate(
        search_space=[("a", "b"), ("b", "a"), ("a", "c"), ("d", "a")],
        temporal_order=[["a"], ["b"]],
        forbidden_edges=[("d", "a")],
        required_edges=[("a", "b")],
    )
    assert np.argwhere(constraints.allowed).tolist() == [[1, 0], [2, 0]]


def test_names_may_be_any_hashable():
    names = [3, ("x", 1), None]
    constraints = translate(names, forbidden_edges=[(3, ("x", 1))], temporal_order=[[None], [3]])
    assert forbidden_pairs(constraints) == {(0, 1), (0, 2)}


def test_tiers_given_as_an_iterator():
    knowledge = ExpertKnowledge(temporal_order=iter([["a"], ["b"]]))
    assert forbidden_pairs(read_constraints(NAMES, expert_knowledge=knowledge)) == {(1, 0)}


def test_lists_and_arrays_of_edges():
    knowledge = SimpleNamespace(
        required_edges=[["a", "b"]],
        forbidden_edges=np.array([["b", "c"], ["c", "b"]]),
        search_space=None,
        temporal_order=None,
    )
    constraints = read_constraints(NAMES, expert_knowledge=knowledge)
    assert constraints.required.tolist() == [[0, 1]]
    assert forbidden_pairs(constraints) == {(1, 2), (2, 1)}


def test_pairs_of_any_kind_say_the_same():
    pairs = [("a", "b"), ("c", "a"), ("c", "a"), ("d", "d"), ("d", "b")]
    expected = read_constraints(NAMES, forbidden_edges=pairs).allowed
    assert expected.sum() == 4 * 3 - 3
    mixed = [*pairs[:2], *map(list, pairs[2:])]
    for edges in (tuple(pairs), set(pairs), dict.fromkeys(pairs), np.array(pairs), [pd.Index(p) for p in pairs], mixed):
        np.testing.assert_array_equal(read_constraints(NAMES, forbidden_edges=edges).allowed, expected)


@given(st.integers(1, 30), st.data())
def test_many_and_few_statements_are_read_alike(n, data):
    names = [f"v{i}" for i in range(n)]
    pairs = data.draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=60))
    constraints = read_constraints(names, forbidden_edges=[(names[u], names[v]) for u, v in pairs])
    expected = np.ones((n, n), dtype=np.uint8) - np.eye(n, dtype=np.uint8)
    for tail, head in pairs:
        expected[head, tail] = 0
    allowed = 1 - np.eye(n) if constraints.allowed is None else constraints.allowed
    np.testing.assert_array_equal(allowed, expected)


def test_what_is_no_pair_is_named_before_unknown_names():
    for wrong in ("ab", {"a", "b"}, {"a": 1, "b": 2}, 3, ("a",), None):
        with pytest.raises(ValueError, match=r"forbidden_edges holds .*; expected a \(tail, head\) pair"):
            read_constraints(NAMES, forbidden_edges=[("a", "z"), wrong])


def test_knowledge_is_not_changed():
    knowledge = ExpertKnowledge(
        required_edges=[("a", "b")],
        forbidden_edges=[("b", "c")],
        search_space=[("a", "b"), ("b", "c")],
        temporal_order=[["a"], ["b", "c"]],
    )
    before = {name: repr(value) for name, value in vars(knowledge).items()}
    read_constraints(NAMES, expert_knowledge=knowledge)
    assert {name: repr(value) for name, value in vars(knowledge).items()} == before


def test_directions_that_knowledge_forces():
    constraints = translate(required_edges=[("a", "b")], forbidden_edges=[("c", "b")], temporal_order=[["a"], ["d"]])
    edges = [(3, 2), (1, 2), (0, 3), (0, 1)]
    assert constraints.forces_direction(edges) == [(1, 2), (0, 3), (0, 1)]
    assert constraints.forces_direction(np.array(edges)) == [(1, 2), (0, 3), (0, 1)]
    assert EdgeConstraints(4).forces_direction(edges) == []


def test_arrays_are_read_only_and_the_caller_keeps_his():
    mine = np.ones((2, 2), dtype=np.uint8)
    constraints = EdgeConstraints(2, required=[(0, 1)], allowed=mine)
    for array in (constraints.required, constraints.allowed):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 0
    mine[0, 0] = 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"required": [[0, 1, 2]]}, r"required has shape \(1, 3\)"),
        ({"required": [[0, 2]]}, r"outside 0\.\.1"),
        ({"allowed": np.ones((2, 3))}, r"allowed has shape \(2, 3\)"),
    ],
)
def test_bad_arrays(arguments, words):
    with pytest.raises(ValueError, match=words):
        EdgeConstraints(2, **arguments)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"required_edges": [("a", "z")]}, r"required_edges names unknown variables: 'z'"),
        ({"forbidden_edges": [("y", "z")]}, r"forbidden_edges names unknown variables: 'y', 'z'"),
        ({"search_space": [("a", "z")]}, r"search_space names unknown variables: 'z'"),
        ({"temporal_order": [["a"], ["z"]]}, r"temporal_order names unknown variables: 'z'"),
        ({"required_edges": [("a", "a")]}, r"required_edges holds the self loop 'a' -> 'a'"),
        (
            {"required_edges": [("a", "b")], "forbidden_edges": [("a", "b")]},
            r"'a' -> 'b', which expert_knowledge.forbidden_edges holds too",
        ),
        (
            {"required_edges": [("b", "a")], "temporal_order": [["a"], ["c"], ["b"]]},
            r"'b' -> 'a' against expert_knowledge.temporal_order, where 'b' is in tier 2 and 'a' in the earlier tier 0",
        ),
        (
            {"required_edges": [("b", "a")], "search_space": [("a", "b")]},
            r"'b' -> 'a', which is outside expert_knowledge.search_space",
        ),
        ({"required_edges": [("a", "b"), ("b", "a")]}, r"cycle 'a' -> 'b' -> 'a'"),
        ({"required_edges": [("d", "b"), ("b", "c"), ("c", "d"), ("a", "b")]}, r"cycle 'b' -> 'c' -> 'd' -> 'b'"),
        ({"required_edges": ["ab"]}, r"required_edges holds 'ab'; expected a \(tail, head\) pair"),
        ({"required_edges": [("a", "b", "c")]}, r"holds \('a', 'b', 'c'\)"),
        ({"required_edges": [frozenset("ab")]}, r"expected a \(tail, head\) pair"),
        ({"required_edges": [3]}, r"holds 3"),
    ],
)
def test_contradictions_name_the_culprit(parts, words):
    with pytest.raises(ValueError, match=words):
        translate(**parts)


def empty_knowledge(**changed):
    parts = {"required_edges": set(), "forbidden_edges": set(), "search_space": set(), "temporal_order": []}
    return SimpleNamespace(**parts | changed)


def test_a_variable_in_two_tiers():
    with pytest.raises(ValueError, match=r"'a' in tier 0 and in tier 1"):
        read_constraints(NAMES, expert_knowledge=empty_knowledge(temporal_order=[["a"], ["b", "a"]]))


def test_unhashable_names():
    with pytest.raises(ValueError, match=r"unknown variables: \['a'\]"):
        read_constraints(NAMES, expert_knowledge=empty_knowledge(required_edges=[(["a"], "b")]))
    with pytest.raises(ValueError, match=r"unknown variables: \['a'\]"):
        read_constraints(NAMES, expert_knowledge=empty_knowledge(temporal_order=[[["a"]]]))


@pytest.mark.parametrize("knowledge", [{"required_edges": []}, [("a", "b")], "a", 3])
def test_other_objects_are_refused(knowledge):
    with pytest.raises(TypeError, match=r"has no required_edges.*expected None or an object such as pgmpy's Expert"):
        read_constraints(NAMES, expert_knowledge=knowledge)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"required_edges": "ab"}, r"required_edges is 'ab'; expected a set or list"),
        ({"forbidden_edges": 3}, r"forbidden_edges is 3"),
        ({"temporal_order": ["SMOKE", "CANCER"]}, r"tier 0 of expert_knowledge.temporal_order is 'SMOKE'"),
        ({"temporal_order": 3}, r"temporal_order is 3; expected a list of tiers"),
    ],
)
def test_parts_of_another_type_are_refused(changed, words):
    with pytest.raises(TypeError, match=words):
        read_constraints(NAMES, expert_knowledge=empty_knowledge(**changed))


edge_lists = st.integers(1, 7).flatmap(
    lambda n: st.tuples(st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=12))
)


@given(edge_lists)
def test_find_cycle(graph):
    n, edges = graph
    reach = np.zeros((n, n), dtype=bool)
    for tail, head in edges:
        reach[tail, head] = True
    step = reach.copy()
    for _ in range(n):
        reach |= reach @ step
    cycle = find_cycle(n, edges)
    assert (cycle is not None) == reach.diagonal().any()
    if cycle is not None:
        assert cycle[0] == min(cycle)
        assert len(set(cycle)) == len(cycle)
        assert set(zip(cycle, [*cycle[1:], cycle[0]], strict=True)) <= set(edges)


@given(st.lists(st.lists(st.sampled_from(range(6)), unique=True), max_size=4))
def test_temporal_order_is_the_comparison_of_tiers(tiers):
    seen = set()
    tiers = [[v for v in tier if v not in seen and not seen.add(v)] for tier in tiers]
    tier_of = {v: number for number, tier in enumerate(tiers) for v in tier}
    constraints = read_constraints(range(6), expert_knowledge=empty_knowledge(temporal_order=tiers))
    for tail in range(6):
        for head in range(6):
            backwards = tail in tier_of and head in tier_of and tier_of[tail] > tier_of[head]
            assert constraints.allows(tail, head) == (tail != head and not backwards)


# ---- what later versions of pgmpy add ----


def test_orientations_forbid_the_reverse_edges():
    constraints = read_constraints(NAMES, expert_knowledge=empty_knowledge(orientations={("a", "b"), ("c", "b")}))
    assert forbidden_pairs(constraints) == {(1, 0), (1, 2)}
    assert not len(constraints.required)
    assert constraints.forces_direction([(0, 1), (0, 2)]) == [(0, 1)]


def test_root_nodes_of_the_object_have_no_parents():
    constraints = read_constraints(NAMES, expert_knowledge=empty_knowledge(root_nodes=["b", "d"]))
    assert forbidden_pairs(constraints) == {(tail, head) for head in (1, 3) for tail in range(4) if tail != head}


@pytest.mark.parametrize(
    ("parts", "options", "words"),
    [
        (
            {"orientations": [("a", "b"), ("c", "d"), ("b", "a")]},
            {},
            r"expert_knowledge.orientations holds 'a' -> 'b' and 'b' -> 'a'; keep one of them",
        ),
        ({"orientations": [("a", "z")]}, {}, r"expert_knowledge.orientations names unknown variables: 'z'"),
        (
            {"orientations": [("a", "b")]},
            {"required_edges": [("b", "a")]},
            r"required_edges holds 'b' -> 'a' against expert_knowledge.orientations, which holds 'a' -> 'b'; drop one",
        ),
        (
            {"root_nodes": ["a"], "required_edges": [("b", "a")]},
            {},
            r"'b' -> 'a', but expert_knowledge.root_nodes holds 'a'",
        ),
    ],
)
def test_contradictions_with_what_later_versions_add(parts, options, words):
    with pytest.raises(ValueError, match=words):
        read_constraints(NAMES, expert_knowledge=empty_knowledge(**parts), **options)


@pytest.mark.parametrize(
    ("name", "value"), [("orientation_fn", len), ("screening_method", "chi_square"), ("mediators", [("a", "b")])]
)
def test_knowledge_that_is_not_known_is_refused(name, value):
    words = rf"expert_knowledge.{name} is .*, but pgmx does not support this attribute. Leave it out, and use req"
    with pytest.raises(ValueError, match=words):
        read_constraints(NAMES, expert_knowledge=empty_knowledge(**{name: value}))


def test_attributes_without_knowledge_are_accepted():
    silent = {"orientation_fn": None, "mediators": set(), "temporal_ordering": {"a": 0}, "ci_test": "chi_square"}
    knowledge = empty_knowledge(**silent, significance_level=0.05, forbidden_edges_={("a", "b")}, _cache=[1])
    assert read_constraints(NAMES, expert_knowledge=knowledge).allowed is None


def test_a_search_space_by_name_is_refused():
    knowledge = empty_knowledge(search_space="marginally_dependent")
    with pytest.raises(TypeError, match="search_space is 'marginally_dependent'; expected a set or list of"):
        read_constraints(NAMES, expert_knowledge=knowledge)
