"""From the learners' own options, and a knowledge object, to arrays of ids."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest
from pgmpy.causal_discovery import ExpertKnowledge

from pgmx.search.knowledge import read_constraints

NAMES = ["a", "b", "c", "d"]


def translate(names=NAMES, **options):
    return read_constraints(names, **options)


def arcs(constraints):
    return {(tail, head) for tail in range(4) for head in range(4) if constraints.allows(tail, head)}


ALL = arcs(translate())


def test_nothing_said():
    assert len(ALL) == 12
    for options in ({}, {"required_edges": [], "forbidden_edges": (), "tiers": [[]], "root_nodes": []}):
        constraints = translate(**options)
        assert constraints.allowed is None
        assert constraints.required.shape == (0, 2)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"forbidden_edges": [("a", "b")]}, ALL - {(0, 1)}),
        ({"candidate_edges": [("a", "b"), ("c", "a")]}, {(0, 1), (2, 0)}),
        ({"candidate_edges": []}, set()),
        ({"root_nodes": ["b", "d"]}, {edge for edge in ALL if edge[1] not in (1, 3)}),
        ({"tiers": [["c"], ["a", "b"]]}, ALL - {(0, 2), (1, 2)}),
        ({"root_nodes": ("b",), "forbidden_edges": {("b", "a")}}, {e for e in ALL if e[1] != 1} - {(1, 0)}),
    ],
)
def test_each_option(options, expected):
    assert arcs(translate(**options)) == expected


def test_required_edges():
    constraints = translate(required_edges=[("d", "a"), ("a", "c")])
    assert constraints.required.tolist() == [[0, 2], [3, 0]]


def test_options_add_to_the_knowledge_object():
    knowledge = ExpertKnowledge(
        required_edges=[("a", "b")],
        forbidden_edges=[("c", "d")],
        search_space=[("a", "b"), ("a", "c"), ("c", "d"), ("d", "a")],
        temporal_order=[["a"], ["b"]],
    )
    constraints = translate(
        expert_knowledge=knowledge,
        required_edges=[("a", "c"), ("a", "b")],
        forbidden_edges=[("b", "d")],
        candidate_edges=[("a", "b"), ("a", "c"), ("b", "d"), ("d", "b"), ("d", "a")],
        tiers=[["a"], ["d"]],
    )
    assert constraints.required.tolist() == [[0, 1], [0, 2]]
    assert arcs(constraints) == {(0, 1), (0, 2)}


def test_root_nodes_of_a_knowledge_object():
    knowledge = ExpertKnowledge(forbidden_edges=[("a", "b")])
    knowledge.root_nodes = ["d"]
    assert arcs(translate(expert_knowledge=knowledge)) == {e for e in ALL if e[1] != 3} - {(0, 1)}


def test_nothing_given_is_changed():
    given = {
        "expert_knowledge": SimpleNamespace(
            required_edges=[["a", "b"]], forbidden_edges=set(), search_space=None, temporal_order=[["a"], ["b"]]
        ),
        "required_edges": [["a", "c"]],
        "forbidden_edges": np.array([["b", "c"]]),
        "tiers": [["a"], ["c"]],
        "root_nodes": {"a"},
        "candidate_edges": {("a", "b"), ("a", "c"), ("b", "c")},
    }
    before = copy.deepcopy(given)
    translate(**given)
    np.testing.assert_equal(given, before)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"forbidden_edges": [("a", "b")]}, r"required_edges holds 'a' -> 'b', which forbidden_edges holds too"),
        ({"root_nodes": ["b"]}, r"required_edges holds 'a' -> 'b', but root_nodes holds 'b'.*no parents"),
        ({"candidate_edges": [("b", "a")]}, r"required_edges holds 'a' -> 'b', which is outside candidate_edges"),
        ({"tiers": [["b"], ["a"]]}, r"'a' -> 'b' against tiers, where 'a' is in tier 1 and 'b' in the earlier tier 0"),
        ({"required_edges": [("b", "a")]}, r"expert_knowledge.required_edges and required_edges form the cycle 'a' ->"),
    ],
)
def test_contradictions_name_the_options_they_come_from(options, words):
    knowledge = ExpertKnowledge(required_edges=[("a", "b")])
    with pytest.raises(ValueError, match=words):
        translate(expert_knowledge=knowledge, **options)
    if "required_edges" not in options:
        with pytest.raises(ValueError, match=words):
            translate(required_edges=[("a", "b")], **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"required_edges": [("a", "z")]}, r"^required_edges names unknown variables: 'z'; the variables are 'a', 'b'"),
        ({"candidate_edges": [("z", "a")]}, r"^candidate_edges names unknown variables: 'z'"),
        ({"root_nodes": ["a", "y", "z"]}, r"^root_nodes names unknown variables: 'y', 'z'"),
        ({"root_nodes": [["a"]]}, r"^root_nodes names unknown variables: \['a'\]"),
        ({"tiers": [["a"], ["z"]]}, r"^tiers names unknown variables: 'z'"),
        ({"tiers": [["a"], ["a"]]}, r"^tiers puts 'a' in tier 0 and in tier 1"),
        ({"required_edges": [("a", "a")]}, r"^required_edges holds the self loop 'a' -> 'a'"),
        ({"candidate_edges": ["ab"]}, r"^candidate_edges holds 'ab'; expected a \(tail, head\) pair"),
    ],
)
def test_unknown_names_and_malformed_edges(options, words):
    with pytest.raises(ValueError, match=words):
        translate(**options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"required_edges": 3}, r"^required_edges is 3; expected a set or list of \(tail, head\) pairs"),
        ({"root_nodes": "abc"}, r"^root_nodes is 'abc'; expected a list of variables, as \['abc'\]"),
        ({"root_nodes": 3}, r"^root_nodes is 3"),
        ({"tiers": ["ab", "c"]}, r"^tier 0 of tiers is 'ab'"),
        ({"tiers": 3}, r"^tiers is 3; expected a list of tiers"),
        ({"candidate_edges": iter([("a", "b")])}, r"^candidate_edges is <.*expected a set or list"),
        ({"expert_knowledge": [("a", "b")]}, r"^expert_knowledge of type 'list' has no required_edges"),
    ],
)
def test_other_types_are_refused(options, words):
    with pytest.raises(TypeError, match=words):
        translate(**options)
