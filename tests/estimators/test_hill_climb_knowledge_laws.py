"""Laws of the learned PDAG under any consistent knowledge, against enumeration of all members of the class."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pgmpy.causal_discovery import ExpertKnowledge

from helpers.examples import examples
from helpers.learning_tables import NAMES, codes_of, dependent_frame
from oracles import equivalence
from oracles.family_scores import dag_score
from oracles.graphs import is_acyclic
from pgmx.estimators import HillClimbSearch


@st.composite
def consistent_knowledge(draw):
    """Return the options of an ExpertKnowledge that some order of the variables satisfies."""
    order = draw(st.permutations(NAMES))
    forward = [(u, v) for i, u in enumerate(order) for v in order[i + 1 :]]
    required = draw(st.lists(st.sampled_from(forward), max_size=3, unique=True))
    others = [edge for edge in permutations(NAMES, 2) if edge not in required]
    parts = {"required_edges": required, "forbidden_edges": draw(st.lists(st.sampled_from(others), max_size=5))}
    if draw(st.booleans()):
        cut = draw(st.integers(1, 4))
        parts["temporal_order"] = [order[:cut], order[cut : draw(st.integers(cut, 5))]]
    if draw(st.booleans()):
        out = draw(st.sets(st.sampled_from(others), max_size=8))
        parts["search_space"] = [edge for edge in permutations(NAMES, 2) if edge not in out]
    return parts


def known_direction(parts, tail, head):
    """Return whether the knowledge alone rules out head -> tail, or demands tail -> head."""
    tier = {name: t for t, names in enumerate(parts.get("temporal_order", [])) for name in names}
    return (
        (tail, head) in parts["required_edges"]
        or (head, tail) in parts["forbidden_edges"]
        or ("search_space" in parts and (head, tail) not in parts["search_space"])
        or (tail in tier and head in tier and tier[tail] < tier[head])
    )


@examples(60)
@given(parts=consistent_knowledge(), data_seed=st.integers(0, 40), score=st.sampled_from(["bic", "bdeu", "aic"]))
def test_pdag_is_what_all_members_of_the_class_agree_on(parts, data_seed, score):
    data = dependent_frame(data_seed, 120)
    learner = HillClimbSearch(scoring_method=score, expert_knowledge=ExpertKnowledge(**parts)).fit(data)
    ids = {name: v for v, name in enumerate(NAMES)}
    dag = [(ids[tail], ids[head]) for tail, head in learner.dag_.edges()]
    compelled = [(ids[t], ids[h]) for t, h in learner.dag_.edges() if known_direction(parts, t, h)]

    members = equivalence.members(5, dag, compelled)
    agreed = set.intersection(*members) if members else set()
    directed = {(ids[t], ids[h]) for t, h in learner.graph_.directed_edges}
    undirected = {frozenset((ids[u], ids[v])) for u, v in learner.graph_.undirected_edges}

    assert set(dag) in members
    assert directed == agreed
    assert directed <= set(dag)
    assert undirected == {frozenset(edge) for edge in dag} - {frozenset(edge) for edge in directed}
    # every extension of the PDAG obeys the knowledge and is as good as the DAG found
    for member in members:
        named = {(NAMES[tail], NAMES[head]) for tail, head in member}
        assert set(parts["required_edges"]) <= named
        assert not any(known_direction(parts, head, tail) for tail, head in named)
        assert dag_score(*codes_of(data), sorted(member), score) == pytest.approx(learner.score_, rel=1e-10)


@examples(60)
@given(
    parts=consistent_knowledge(),
    data_seed=st.integers(0, 40),
    max_indegree=st.sampled_from([None, 1, 2]),
    tabu_length=st.sampled_from([0, 3, 100]),
    patience=st.sampled_from([0, 5]),
    score=st.sampled_from(["bic", "k2", "bdeu", "ll"]),
)
def test_dag_obeys_knowledge_and_limits(parts, data_seed, max_indegree, tabu_length, patience, score):
    data = dependent_frame(data_seed, 120)
    required = set(parts["required_edges"])
    most_required = max(sum(head == child for _, head in required) for child in NAMES)
    learner = HillClimbSearch(
        scoring_method=score,
        expert_knowledge=ExpertKnowledge(**parts),
        max_indegree=None if max_indegree is None else max(max_indegree, most_required),
        tabu_length=tabu_length,
        patience=patience,
        return_type="dag",
    ).fit(data)
    edges = set(learner.dag_.edges())
    assert is_acyclic(edges)
    assert required <= edges
    assert not any(known_direction(parts, head, tail) for tail, head in edges)
    if learner.max_indegree is not None:
        assert max(sum(head == child for _, head in edges) for child in NAMES) <= learner.max_indegree
    assert learner.score_ == pytest.approx(dag_score(*codes_of(data), learner.edges_, score), rel=1e-10)
    assert learner.converged_


@examples(40)
@given(parts=consistent_knowledge(), data_seed=st.integers(0, 40), score=st.sampled_from(["bic", "k2", "bdeu"]))
def test_result_is_a_local_optimum_of_all_moves(parts, data_seed, score):
    """No single move that the knowledge allows gains epsilon, be it barred by the tabu list or not."""
    data = dependent_frame(data_seed, 120)
    learner = HillClimbSearch(scoring_method=score, expert_knowledge=ExpertKnowledge(**parts), tabu_length=4).fit(data)
    codes, cards = codes_of(data)
    found = set(learner.dag_.edges())
    required = set(parts["required_edges"])
    ids = {name: v for v, name in enumerate(NAMES)}

    def total(edges):
        return dag_score(codes, cards, [(ids[t], ids[h]) for t, h in edges], score)

    def allowed(tail, head):
        return not known_direction(parts, head, tail)

    best = total(found)
    for tail, head in permutations(NAMES, 2):
        neighbours = []
        if (tail, head) in found and (tail, head) not in required:
            neighbours.append(found - {(tail, head)})
            if allowed(head, tail):
                neighbours.append((found - {(tail, head)}) | {(head, tail)})
        elif (head, tail) not in found and (tail, head) not in found and allowed(tail, head):
            neighbours.append(found | {(tail, head)})
        for neighbour in neighbours:
            if is_acyclic(neighbour):
                assert total(neighbour) - best < 1e-4 + 1e-9
