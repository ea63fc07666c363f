"""Expert knowledge and start graphs: obeyed, never changed, refused when they contradict themselves."""

import copy
from itertools import combinations, permutations
from types import SimpleNamespace

import networkx as nx
import pytest
from pgmpy.base import DAG
from pgmpy.causal_discovery import ExpertKnowledge

from helpers.learning_tables import NAMES, dependent_frame, edge_set
from pgmx.estimators import HillClimbSearch


def learn(parts=None, **options):
    knowledge = None if parts is None else ExpertKnowledge(**parts)
    return HillClimbSearch(expert_knowledge=knowledge, **options).fit(dependent_frame(0))


def start_graph(edges, nodes=NAMES):
    start = DAG(edges)
    start.add_nodes_from(nodes)
    return start


ALL_PARTS = {
    "required_edges": [("a", "e")],
    "forbidden_edges": [("b", "d"), ("e", "c")],
    "temporal_order": [["a", "c"], ["b", "d"], ["e"]],
    "search_space": [edge for edge in permutations(NAMES, 2) if edge != ("c", "d")],
}


@pytest.mark.parametrize("kind", ["lists", "sets", "tuples"])
def test_knowledge_is_never_changed(kind):
    make = {"lists": list, "sets": set, "tuples": tuple}[kind]
    knowledge = ExpertKnowledge(
        **{name: make(map(tuple, value)) for name, value in ALL_PARTS.items() if name != "temporal_order"},
        temporal_order=ALL_PARTS["temporal_order"],
    )
    before = copy.deepcopy(vars(knowledge))
    learner = HillClimbSearch(expert_knowledge=knowledge)
    learner.fit(dependent_frame(0))
    assert vars(knowledge) == before
    assert [type(value) for value in vars(knowledge).values()] == [type(value) for value in before.values()]
    assert learner.expert_knowledge is knowledge
    assert set(learner.get_params()["expert_knowledge"].forbidden_edges) == set(ALL_PARTS["forbidden_edges"])


def test_all_parts_hold_at_once():
    dag = edge_set(learn(ALL_PARTS).dag_)
    tier = {name: t for t, names in enumerate(ALL_PARTS["temporal_order"]) for name in names}
    assert ("a", "e") in dag
    assert not dag & {("b", "d"), ("e", "c"), ("c", "d")}
    assert all(tier[tail] <= tier[head] for tail, head in dag)


def test_knowledge_is_duck_typed():
    knowledge = SimpleNamespace(
        required_edges=[("e", "a")], forbidden_edges=set(), temporal_order=[[]], search_space=set()
    )
    assert ("e", "a") in HillClimbSearch(expert_knowledge=knowledge).fit(dependent_frame(0)).dag_.edges
    with pytest.raises(TypeError, match="expert_knowledge.*'str'"):
        HillClimbSearch(expert_knowledge="a before b").fit(dependent_frame(0))


def test_empty_search_space_means_all_edges():
    assert edge_set(learn({"search_space": []}).dag_) == edge_set(learn().dag_)


# ---- what the default PDAG keeps ----


def test_required_edges_stay_directed():
    """pgmpy's PDAG forgets them: b -> a alone is an undirected edge there."""
    required = [("b", "a"), ("e", "d")]
    graph = learn({"required_edges": required}).graph_
    assert set(required) <= set(graph.directed_edges)


def test_temporal_order_stays_directed():
    order = ["c", "a", "e", "b", "d"]
    graph = learn({"temporal_order": [[name] for name in order]}).graph_
    assert not graph.undirected_edges
    assert len(graph.directed_edges) > 3
    assert all(order.index(tail) < order.index(head) for tail, head in graph.directed_edges)


def test_partial_temporal_order_directs_what_it_names():
    graph = learn({"temporal_order": [["e"], ["d", "c"]]}).graph_
    pairs = {frozenset(edge) for edge in graph.edges()}
    for later in ("d", "c"):
        assert (later, "e") not in graph.edges()
        assert ("e", later) in graph.directed_edges or frozenset(("e", later)) not in pairs


def test_forbidden_directions_stay_out():
    free = learn()
    turned = sorted({frozenset(edge) for edge in free.graph_.undirected_edges}, key=sorted)
    forbidden = [tuple(sorted(pair)) for pair in turned] or [("a", "b")]
    graph = learn({"forbidden_edges": forbidden}).graph_
    assert not set(forbidden) & edge_set(graph)


def test_one_way_search_space_stays_directed():
    space = list(combinations(NAMES, 2))
    graph = learn({"search_space": space}).graph_
    assert not graph.undirected_edges
    assert edge_set(graph) <= set(space)


# ---- contradictions ----


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"required_edges": [("a", "b")], "forbidden_edges": [("a", "b")]}, r"'a' -> 'b'.*forbidden_edges"),
        ({"required_edges": [("a", "b")], "temporal_order": [["b"], ["a"]]}, r"'a' -> 'b'.*temporal_order"),
        ({"required_edges": [("a", "b")], "search_space": [("b", "a")]}, r"'a' -> 'b'.*search_space"),
        ({"required_edges": [("a", "b"), ("b", "c"), ("c", "a")]}, r"cycle 'a' -> 'b' -> 'c' -> 'a'"),
        ({"required_edges": [("a", "b"), ("b", "a")]}, r"cycle 'a' -> 'b' -> 'a'"),
        ({"required_edges": [("a", "a")]}, r"self loop 'a' -> 'a'"),
        ({"required_edges": [("a", "zeta")]}, r"required_edges.*'zeta'"),
        ({"forbidden_edges": [("zeta", "b")]}, r"forbidden_edges.*'zeta'"),
        ({"search_space": [("zeta", "b")]}, r"search_space.*'zeta'"),
        ({"temporal_order": [["a"], ["zeta"]]}, r"temporal_order.*'zeta'"),
    ],
)
def test_contradictions_and_unknown_names_are_named(parts, words):
    with pytest.raises(ValueError, match=words):
        learn(parts)


def test_more_required_parents_than_max_indegree():
    with pytest.raises(ValueError, match=r"'c' has 2 required parents.*max_indegree=1"):
        learn({"required_edges": [("a", "c"), ("b", "c"), ("a", "d")]}, max_indegree=1)


# ---- start graphs ----


def test_start_dag_is_where_the_search_begins():
    start = start_graph([("e", "d"), ("d", "c")])
    learner = learn(start_dag=start, max_iter=0)
    assert edge_set(learner.dag_) == {("e", "d"), ("d", "c")}
    assert learner.n_iter_ == 0
    assert not learner.converged_


def test_start_dag_is_kept_unchanged():
    start = start_graph([("e", "d"), ("d", "c")])
    start.graph["remark"] = "mine"
    nodes, edges = list(start.nodes(data=True)), list(start.edges(data=True))
    learner = learn({"forbidden_edges": [("d", "c")], "required_edges": [("a", "e")]}, start_dag=start)
    assert (list(start.nodes(data=True)), list(start.edges(data=True))) == (nodes, edges)
    assert learner.start_dag is start
    assert learner.dag_ is not start


def test_forbidden_edge_of_the_start_is_removed_and_required_one_put_in():
    start = start_graph([("e", "d"), ("d", "c")])
    parts = {"forbidden_edges": [("e", "d")], "required_edges": [("a", "b")]}
    assert edge_set(learn(parts, start_dag=start, max_iter=0).dag_) == {("d", "c"), ("a", "b")}


def test_start_nodes_in_another_order():
    start = start_graph([("e", "d")], "edcba")
    assert list(learn(start_dag=start).graph_.nodes()) == list(NAMES)


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (start_graph([("a", "b")], [*NAMES, "zeta"]), r"start_dag.*'zeta'"),
        (start_graph([], "abcd"), r"start_dag.*'e'"),
        (nx.DiGraph([("a", "b"), ("b", "c"), ("c", "a"), ("d", "e")]), r"cycle 'a' -> 'b' -> 'c' -> 'a'"),
        ([("a", "b")], r"start_dag"),
    ],
    ids=["extra node", "missing node", "cyclic", "no graph"],
)
def test_unusable_start_graphs(start, words):
    with pytest.raises(ValueError, match=words):
        learn(start_dag=start)


def test_start_against_a_required_edge():
    with pytest.raises(ValueError, match=r"start_dag with the required edges.*'a' -> 'b' -> 'a'"):
        learn({"required_edges": [("b", "a")]}, start_dag=start_graph([("a", "b")]))
