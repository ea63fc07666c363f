"""GreedyEquivalenceSearch: the true class from many rows, the score of its DAG, its options."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from helpers.learning_tables import codes_of, dependent_frame, gaussian_frame
from oracles.family_scores import dag_score
from pgmx.datasets import load_network, sample
from pgmx.estimators import GreedyEquivalenceSearch, HillClimbSearch
from pgmx.metrics import cpdag_shd


def noisy_rows(seed, arcs, n, n_rows):
    """Return rows of variables with three states that each are the sum of their parents, or noise in 4 of 10 rows."""
    rng = np.random.default_rng(seed)
    columns = []
    for v in range(n):
        noise = rng.choice(3, n_rows, p=[0.5, 0.3, 0.2])
        cause = sum((columns[tail] for tail, head in arcs if head == v), start=np.zeros(n_rows, dtype=int))
        columns.append(np.where(rng.random(n_rows) < 0.6, cause % 3, noise) if any(h == v for _, h in arcs) else noise)
    order = rng.permutation(n)
    return pd.DataFrame({f"v{u}": columns[u] for u in order})


@pytest.mark.parametrize("score", ["bic", "bdeu"])
def test_the_class_of_the_network_that_many_rows_were_drawn_from(score):
    for seed, arcs in enumerate(
        [
            [(0, 1), (1, 2), (2, 3)],
            [(0, 2), (1, 2), (2, 3), (2, 4)],
            [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)],
            [(0, 3), (1, 3), (2, 3), (1, 4), (2, 5), (4, 5)],
        ]
    ):
        n = 1 + max(max(arc) for arc in arcs)
        data = noisy_rows(seed, arcs, n, 20_000)
        for phases in (("forward", "backward"), ("forward", "backward", "turning")):
            learner = GreedyEquivalenceSearch(phases=phases, repeat=False, scoring_method=score).fit(data)
            true = HillClimbSearch(start_dag=learner.dag_, max_iter=0).fit(data).dag_
            true.remove_edges_from(list(true.edges))
            true.add_edges_from([(f"v{tail}", f"v{head}") for tail, head in arcs])
            assert cpdag_shd(true, learner.dag_) == 0


@pytest.mark.slow
def test_higher_scores_than_a_climb_on_most_networks():
    gains = []
    for name in ("alarm", "insurance", "win95pts"):
        network = load_network(name)
        data = sample(network, 3000, random_state=1)
        data = data[list(np.random.default_rng(0).permutation(data.columns))]
        learners = [cls(state_names=network.states).fit(data) for cls in (HillClimbSearch, GreedyEquivalenceSearch)]
        gains.append(learners[1].score_ - learners[0].score_)
    assert np.count_nonzero(np.array(gains) > 0) >= 2


@pytest.mark.parametrize("score", ["bic", "k2", "bdeu"])
def test_the_score_is_that_of_the_families_of_the_dag(score):
    data = dependent_frame(3)
    learner = GreedyEquivalenceSearch(scoring_method=score).fit(data)
    assert learner.score_ == pytest.approx(dag_score(*codes_of(data), learner.edges_, score), rel=1e-12)
    assert learner.history_["score"][-1] == learner.score_
    assert learner.n_iter_ == len(learner.history_["score"])
    assert learner.model_.check_model()


def test_knowledge_holds_in_the_class_and_its_dag():
    data = dependent_frame(1, 300, 5)
    options = {"required_edges": [("e", "a")], "forbidden_edges": [("a", "b")], "tiers": [list("ed"), list("cba")]}
    learner = GreedyEquivalenceSearch(max_indegree=2, **options).fit(data)
    assert ("e", "a") in learner.graph_.directed_edges
    assert ("a", "b") not in learner.dag_.edges
    assert not any(tail in "cba" and head in "ed" for tail, head in learner.dag_.edges)
    assert max(dict(learner.dag_.in_degree).values()) <= 2


def test_phases():
    data = gaussian_frame(0)
    forward = GreedyEquivalenceSearch(phases=["forward"]).fit(data)
    assert (np.diff(forward.history_["n_edges"]) == 1).all()
    both = GreedyEquivalenceSearch(phases=("forward", "backward")).fit(data)
    assert both.score_ >= forward.score_
    backward = GreedyEquivalenceSearch(phases=["backward"], start_dag="random").fit(data)
    assert (np.diff(backward.history_["n_edges"]) == -1).all()


@pytest.mark.parametrize("phases", [(), "forward", ("forward", "forward"), ("upward",), (3,), 3, None], ids=str)
def test_unknown_phases(phases):
    with pytest.raises(ValueError, match=r"'phases' must list some of 'forward', 'backward', 'turning', each once"):
        GreedyEquivalenceSearch(phases=phases).fit(dependent_frame(0))


@pytest.mark.parametrize("repeat", ["yes", None], ids=str)
def test_bad_values_of_repeat(repeat):
    with pytest.raises(ValueError, match=r"'repeat'"):
        GreedyEquivalenceSearch(repeat=repeat).fit(dependent_frame(0))


def test_arcs_of_a_start_that_are_no_candidates_are_not_turned_where_that_is_forbidden():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        names = list("abcde")
        data = pd.DataFrame(rng.integers(0, 2, (30, 5)), columns=names)
        for child, parent in ("ba", "dc"):
            data[child] = np.where(rng.random(30) < 0.8, data[parent], data[child])
        order = rng.permutation(names)
        start = nx.DiGraph()
        start.add_nodes_from(names)
        start.add_edges_from((order[i], order[j]) for i in range(5) for j in range(i + 1, 5) if rng.random() < 0.3)
        forbidden = [(head, tail) for tail, head in start.edges]
        options = {"start_dag": start, "max_candidates": 1, "phases": ("forward",), "show_progress": False}
        search = GreedyEquivalenceSearch(scoring_method="ll", forbidden_edges=forbidden, **options).fit(data)
        assert not set(search.dag_.edges) & set(forbidden)
