"""ChowLiuForest: the best forest, its weights, its directions, and what it returns."""

from math import fsum

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from pgmpy.base import DAG, PDAG

from helpers.learning_tables import codes_of, dependent_frame, gain_matrix, gaussian_frame, mixed_frame
from oracles.family_scores import dag_score, family_score
from oracles.forests import best_weight
from pgmx.data import encode
from pgmx.datasets import load_network, sample
from pgmx.estimators.bayesian.chow_liu import ChowLiuForest

ORACLE = {"mutual_info": "ll", "bic": "bic", "aic": "aic", "bdeu": "bdeu"}
every_weight = pytest.mark.parametrize("weight", ORACLE)


@every_weight
def test_no_forest_scores_more(weight, seed):
    frame = dependent_frame(seed)
    learner = ChowLiuForest(weight=weight).fit(frame)
    gains = gain_matrix(frame, ORACLE[weight])
    assert learner.edge_weights_.sum() == pytest.approx(best_weight(gains.tolist()), rel=1e-9)
    expected = [gains[head, tail] for tail, head in learner.edges_]
    assert learner.edge_weights_ == pytest.approx(expected, rel=1e-9)
    assert learner.score_ == pytest.approx(dag_score(*codes_of(frame), learner.edges_, ORACLE[weight]), rel=1e-12)


@every_weight
def test_tree_augmented_naive_bayes_is_the_best_of_its_kind(weight, seed):
    frame = dependent_frame(seed)
    learner = ChowLiuForest(weight=weight, class_node="c").fit(frame)
    gains = gain_matrix(frame, ORACLE[weight], given=(2,))
    within = [i for i, (tail, _) in enumerate(learner.edges_) if tail != 2]
    assert learner.edge_weights_[within].sum() == pytest.approx(best_weight(gains.tolist()), rel=1e-9)
    assert {head for tail, head in learner.edges_.tolist() if tail == 2} == {0, 1, 3, 4}
    assert learner.score_ == pytest.approx(dag_score(*codes_of(frame), learner.edges_, ORACLE[weight]), rel=1e-12)
    alone = gain_matrix(frame, ORACLE[weight])
    for (tail, head), value in zip(learner.edges_.tolist(), learner.edge_weights_, strict=True):
        assert value == pytest.approx((alone if tail == 2 else gains)[head, tail], rel=1e-9)
    assert sorted(learner.forest_.nodes()) == ["a", "b", "d", "e"]


@every_weight
@pytest.mark.slow
@pytest.mark.parametrize("class_node", [None, "HRBP"])
def test_weight_of_a_bundled_network_against_networkx(weight, class_node):
    frame = sample(load_network("alarm"), 1000, random_state=0)
    learner = ChowLiuForest(weight=weight, class_node=class_node).fit(frame)
    table = encode(frame)
    everyone = range(table.n_variables) if class_node is None else [table.index(class_node)]
    codes, cards = table.codes, table.cardinalities
    given = [] if class_node is None else list(everyone)
    graph = nx.Graph()
    for j in set(range(table.n_variables)) - set(given):
        alone = family_score(codes, cards, j, given, ORACLE[weight])
        for i in set(range(j)) - set(given):
            gain = family_score(codes, cards, j, [*given, i], ORACLE[weight]) - alone
            if gain > 1e-9:
                graph.add_edge(i, j, weight=gain)
    expected = nx.maximum_spanning_tree(graph).size(weight="weight")
    assert learner.forest_.size(weight="weight") == pytest.approx(expected, rel=1e-9)


def test_gaussian_weights():
    frame = gaussian_frame(0)
    n_rows = len(frame)
    strengths = -n_rows / 2 * np.log1p(-(np.corrcoef(frame.to_numpy().T) ** 2) + np.eye(4) * 0.5)
    for weight, penalty in (("mutual_info", 0), ("aic", 1), ("bic", np.log(n_rows) / 2)):
        learner = ChowLiuForest(weight=weight).fit(frame)
        expected = [strengths[tail, head] - penalty for tail, head in learner.edges_]
        assert learner.edge_weights_ == pytest.approx(expected, rel=1e-6)
        gains = np.array(strengths - penalty)
        np.fill_diagonal(gains, 0)
        assert learner.edge_weights_.sum() == pytest.approx(best_weight(gains.tolist()), rel=1e-6)
    assert learner.model_.check_model()


def test_floats_beside_states():
    learner = ChowLiuForest(weight="bic").fit(mixed_frame(0))
    assert {frozenset(edge) for edge in learner.graph_.edges()} == {
        frozenset(("kind", "size")),
        frozenset(("kind", "x")),
        frozenset(("x", "y")),
    }


# ---- directions ----


def test_the_default_root_has_most_neighbours():
    rng = np.random.default_rng(0)
    hub = rng.integers(0, 2, 500)
    frame = pd.DataFrame({name: np.where(rng.random(500) < 0.8, hub, 1 - hub) for name in "abc"}).assign(hub=hub)
    assert set(ChowLiuForest().fit(frame).graph_.edges()) == {("hub", name) for name in "abc"}
    assert set(ChowLiuForest(root="a").fit(frame).graph_.edges()) == {("a", "hub"), ("hub", "b"), ("hub", "c")}


@pytest.mark.parametrize("root", ["a", "d"])
def test_root_changes_directions_alone(root):
    frame = dependent_frame(0)
    free, rooted = ChowLiuForest().fit(frame), ChowLiuForest(root=root).fit(frame)
    assert nx.utils.graphs_equal(free.forest_, rooted.forest_)
    assert rooted.graph_.in_degree(root) == 0
    assert rooted.score_ == pytest.approx(free.score_, rel=1e-12)
    assert (
        ChowLiuForest(root=root, return_type="pdag").fit(frame).graph_
        == ChowLiuForest(return_type="pdag").fit(frame).graph_
    )


def test_return_types():
    frame = dependent_frame(0)
    pdag = ChowLiuForest(return_type="pdag").fit(frame)
    assert isinstance(pdag.graph_, PDAG)
    assert not pdag.graph_.directed_edges
    assert isinstance(pdag.dag_, DAG)
    assert isinstance(ChowLiuForest().fit(frame).graph_, DAG)


# ---- results ----


def test_results():
    frame = dependent_frame(0)
    learner = ChowLiuForest(frame, weight="bic")
    assert learner.estimate() is learner.graph_ is learner.causal_graph_
    assert learner.edges_.dtype == np.int64
    assert learner.edge_weights_.shape == (len(learner.edges_),)
    assert np.array_equal(np.lexsort(learner.edges_.T), np.arange(len(learner.edges_)))
    weights = {
        frozenset(learner.variables_[v] for v in edge): weight
        for edge, weight in zip(learner.edges_, learner.edge_weights_, strict=True)
    }
    assert weights == {frozenset((u, v)): weight for u, v, weight in learner.forest_.edges(data="weight")}
    assert learner.model_.check_model()
    assert set(learner.model_.edges()) == set(learner.graph_.edges())


def test_tan_predicts():
    frame = dependent_frame(0)
    from pgmpy.inference import VariableElimination

    engine = VariableElimination(ChowLiuForest(class_node="a").fit(frame).model_)
    right = 0
    for row in frame.head(40).to_dict("records"):
        answer = engine.map_query(["a"], evidence={name: row[name] for name in "bcde"}, show_progress=False)
        right += answer["a"] == row["a"]
    assert right >= 24  # both states are as frequent: guessing gets 20


def test_independent_and_constant_columns_stand_alone():
    frame = pd.DataFrame({"a": [0, 0, 1, 1] * 10, "b": [0, 1, 0, 1] * 10, "c": ["x"] * 40, "d": [0, 0, 1, 1] * 10})
    learner = ChowLiuForest().fit(frame)
    assert learner.edge_weights_ == pytest.approx([40 * np.log(2)])
    assert {frozenset(edge) for edge in learner.graph_.edges()} == {frozenset("ad")}
    assert ChowLiuForest(class_node="c").fit(frame).graph_.number_of_edges() == 4


@pytest.mark.parametrize("class_node", [None, "a"])
def test_a_single_column(class_node):
    learner = ChowLiuForest(class_node=class_node).fit(pd.DataFrame({"a": [0, 1, 1]}))
    assert list(learner.graph_.nodes()) == ["a"]
    assert learner.edges_.shape == (0, 2)


def test_more_states_than_planes():
    rng = np.random.default_rng(0)
    wide = np.concatenate([np.arange(300), rng.integers(0, 300, 8000)])
    frame = pd.DataFrame({"wide": wide, "half": wide // 150, "coin": rng.integers(0, 2, len(wide))})
    for class_node in (None, "coin"):
        learner = ChowLiuForest(class_node=class_node, root="wide").fit(frame)
        assert ("wide", "half") in learner.graph_.edges()


# ---- the same answer ----


@every_weight
def test_rows_and_columns_in_another_order(weight):
    frame = dependent_frame(0)
    expected = {frozenset(edge) for edge in ChowLiuForest(weight=weight).fit(frame).graph_.edges()}
    for seed in range(3):
        mixed = frame.sample(frac=1, random_state=seed).sample(frac=1, axis=1, random_state=seed)
        assert {frozenset(edge) for edge in ChowLiuForest(weight=weight).fit(mixed).graph_.edges()} == expected


def test_threads_and_copies_of_a_column():
    """Copies tie exactly; the seed alone decides."""
    frame = dependent_frame(0)
    frame = frame.assign(**{f"{name}{i}": frame[name] for i in range(3) for name in frame})
    expected = ChowLiuForest(random_state=3).fit(frame)
    for n_jobs in (1, 2, 3):
        again = ChowLiuForest(random_state=3, n_jobs=n_jobs).fit(frame)
        assert np.array_equal(again.edges_, expected.edges_)
        assert np.array_equal(again.edge_weights_, expected.edge_weights_)
    other = ChowLiuForest(random_state=4).fit(frame)
    assert other.score_ == pytest.approx(expected.score_, rel=1e-12)


def test_the_forest_stays_that_of_the_fit_when_options_change(rng):
    data = pd.DataFrame(rng.integers(0, 2, (50, 3)), columns=list("abc"))
    learner = ChowLiuForest(class_node="c").fit(data)
    learner.set_params(class_node="a")
    assert list(learner.forest_.nodes()) == ["a", "b"]


@pytest.mark.parametrize(
    "options", [{}, {"weight": "bic"}, {"class_node": "HRBP"}, {"forbidden_edges": [("HR", "CO")]}]
)
def test_a_callback_sees_the_forest_grow_and_may_end_it(options):
    frame = sample(load_network("alarm"), 2000, random_state=0)
    seen = []
    whole = ChowLiuForest(callback=seen.append, **options).fit(frame)
    assert whole.stopped_by_ == "converged"
    assert whole.converged_
    assert len(seen) == len(whole.history_["score"]) > 1
    part = ChowLiuForest(callback=lambda progress: progress.n_iter == len(seen) // 2, **options).fit(frame)
    assert part.stopped_by_ == "callback"
    assert not part.converged_
    assert nx.is_directed_acyclic_graph(part.dag_)
    assert len(part.edges_) < len(whole.edges_)
    assert part.score_ < whole.score_
    if "forbidden_edges" not in options:
        assert set(part.forest_.edges()) <= {pair for u, v in whole.forest_.edges() for pair in ((u, v), (v, u))}
        gains = [weight for *_, weight in whole.forest_.edges(data="weight")]
        assert seen[-1].score == pytest.approx(fsum([seen[0].score, *gains]))


@pytest.mark.filterwarnings("ignore:max_time=")
@pytest.mark.parametrize("options", [{}, {"forbidden_edges": [("HR", "CO")]}, {"required_edges": [("HR", "CO")]}])
def test_no_time_gives_a_graph_and_says_so(options):
    learner = ChowLiuForest(max_time=0, **options).fit(sample(load_network("alarm"), 500, random_state=0))
    assert learner.stopped_by_ == "max_time"
    assert learner.dag_.number_of_edges() == len(options.get("required_edges", ()))
