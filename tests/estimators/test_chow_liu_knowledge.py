"""ChowLiuForest honours what is known of the edges, or says what no forest can follow."""

import networkx as nx
import numpy as np
import pytest
from pgmpy.causal_discovery import ExpertKnowledge

from helpers.learning_tables import dependent_frame, gain_matrix
from oracles.forests import best_weight
from pgmx.estimators.bayesian.chow_liu import ChowLiuForest

NAMES = ["a", "b", "c", "d", "e"]


def allowed_by(tiers=None, roots=(), forbidden=(), candidates=None):
    tier_of = {name: t for t, tier in enumerate(tiers or []) for name in tier}
    return [
        [
            tail != head
            and tier_of.get(tail, -1) <= tier_of.get(head, 9)
            and head not in roots
            and (tail, head) not in forbidden
            and (candidates is None or (tail, head) in candidates)
            for tail in NAMES
        ]
        for head in NAMES
    ]


BOTH_WAYS = [("a", "b"), ("b", "a"), ("d", "e"), ("e", "d")]


@pytest.mark.parametrize(
    ("options", "allowed", "required"),
    [
        ({"tiers": [["d"], ["b", "a"], ["e"]]}, allowed_by(tiers=[["d"], ["b", "a"], ["e"]]), ()),
        ({"root_nodes": ["a", "e"]}, allowed_by(roots="ae"), ()),
        ({"forbidden_edges": BOTH_WAYS}, allowed_by(forbidden=BOTH_WAYS), ()),
        ({"candidate_edges": BOTH_WAYS}, allowed_by(candidates=BOTH_WAYS), ()),
        ({"candidate_edges": [("a", "b"), ("d", "b"), ("b", "e")]},
         allowed_by(candidates=[("a", "b"), ("d", "b"), ("b", "e")]), ()),
        ({"required_edges": [("b", "e"), ("e", "c")]}, allowed_by(), [(1, 4), (4, 2)]),
        ({"required_edges": [("c", "a")], "tiers": [["c"], ["d"]]}, allowed_by(tiers=[["c"], ["d"]]), [(2, 0)]),
        ({"expert_knowledge": ExpertKnowledge(required_edges=[("c", "a")], temporal_order=[["c"], ["d"]])},
         allowed_by(tiers=[["c"], ["d"]]), [(2, 0)]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("weight", ["mutual_info", "bic"])
def test_no_forest_under_the_knowledge_scores_more(options, allowed, required, weight):
    frame = dependent_frame(0)
    learner = ChowLiuForest(weight=weight, **options).fit(frame)
    edges = learner.edges_.tolist()
    assert {tuple(edge) for edge in edges} >= set(required)
    assert all(allowed[head][tail] for tail, head in edges)
    assert len({head for _, head in edges}) == len(edges)
    assert nx.is_directed_acyclic_graph(learner.graph_)
    gains = gain_matrix(frame, {"mutual_info": "ll"}.get(weight, weight))
    best = best_weight(gains.tolist(), required, allowed)
    assert learner.edge_weights_.sum() == pytest.approx(best, rel=1e-9)


def test_knowledge_within_naive_bayes():
    frame = dependent_frame(0)
    learner = ChowLiuForest(
        class_node="c", required_edges=[("c", "a"), ("d", "a")], tiers=[["c", "d"], ["b", "e"]], root="d"
    ).fit(frame)
    within = [(tail, head) for tail, head in learner.edges_.tolist() if tail != 2]
    assert (3, 0) in within
    gains = gain_matrix(frame, "ll", given=(2,))
    allowed = allowed_by(tiers=[["c", "d"], ["b", "e"]], roots="d")
    best = best_weight(gains.tolist(), [(3, 0)], allowed)
    assert sum(gains[head, tail] for tail, head in within) == pytest.approx(best, rel=1e-9)


def test_required_edge_between_independent_and_constant_columns():
    frame = dependent_frame(0).assign(coin=np.random.default_rng(1).integers(0, 2, 300), one=1)
    learner = ChowLiuForest(weight="bic", required_edges=[("coin", "a"), ("one", "coin")]).fit(frame)
    assert {("coin", "a"), ("one", "coin")} <= set(learner.graph_.edges())
    assert np.isfinite(learner.score_)


def test_nothing_allowed():
    learner = ChowLiuForest(candidate_edges=[]).fit(dependent_frame(0))
    assert learner.graph_.number_of_edges() == 0
    assert learner.graph_.number_of_nodes() == 5


def test_directed_knowledge_stays_directed_in_the_pdag():
    frame = dependent_frame(0)
    edge = next(iter(ChowLiuForest().fit(frame).graph_.edges()))
    graph = ChowLiuForest(required_edges=[edge], return_type="pdag").fit(frame).graph_
    assert edge in graph.directed_edges


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"required_edges": [("a", "c"), ("b", "c")]}, r"'c' has the required parents 'a' and 'b'.*drop one"),
        ({"required_edges": [("a", "b"), ("b", "c"), ("a", "c")]}, r"'c' has the required parents 'a' and 'b'"),
        ({"required_edges": [("a", "b")], "root": "b"}, r"root='b' has the required parent 'a'"),
        ({"required_edges": [("a", "b")], "class_node": "b"}, r"class_node='b' has the required parent 'a'"),
        ({"forbidden_edges": [("a", "b")], "class_node": "a"}, r"class_node='a'.*forbids 'a' -> 'b'"),
        ({"root_nodes": ["d"], "class_node": "a"}, r"class_node='a'.*forbids 'a' -> 'd'"),
        ({"root": "a", "class_node": "a"}, r"root='a' is also the class_node"),
        ({"root": "z"}, r"root='z' is not a column of the data; the columns are 'a', 'b'"),
        ({"class_node": "z"}, r"class_node='z' is not a column"),
        ({"required_edges": [("a", "b"), ("b", "a")]}, r"required_edges form the cycle 'a' -> 'b' -> 'a'"),
        ({"required_edges": [("a", "b")], "root_nodes": ["b"]}, r"root_nodes holds 'b'"),
        ({"weight": "bde"}, r"weight='bde' with no prior_network"),
        ({"prior_network": 3}, r"weight='mutual_info' with prior_network=3"),
        ({"return_type": "tree"}, r"return_type.*'tree'"),
        ({"weight": "k2"}, r"'weight'.*'k2'"),
    ],
)
def test_what_no_forest_can_follow(options, words):
    with pytest.raises(ValueError, match=words):
        ChowLiuForest(**options).fit(dependent_frame(0))


@pytest.mark.filterwarnings("ignore::pgmx.data.FewValuesWarning")
def test_floats_have_no_dirichlet_weight():
    with pytest.raises((TypeError, ValueError), match="float"):
        ChowLiuForest(weight="bdeu").fit(dependent_frame(0).astype(float) / 3)
