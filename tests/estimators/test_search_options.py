"""Options that all searches share, and those of HillClimbSearch, from the constructor to the learned graph."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from pgmpy.base import DAG

from helpers.learning_tables import NAMES, codes_of, dependent_frame, gaussian_frame
from oracles.family_scores import dag_score, gains_row
from pgmx.estimators import BestFirstSearch, ChowLiuForest, GreedyEquivalenceSearch, HillClimbSearch, SimulatedAnnealing
from pgmx.scores import EdgePrior

SEARCHES = {
    "greedy": HillClimbSearch,
    "thorough": lambda **options: HillClimbSearch(strategy="thorough", **options),
    "annealing": lambda **options: SimulatedAnnealing(n_draws=400, **options),
    "best first": lambda **options: BestFirstSearch(patience=15, **options),
    "classes": GreedyEquivalenceSearch,
}
every_search = pytest.mark.parametrize("make", SEARCHES.values(), ids=SEARCHES)


def wide_frame(seed, n=12, n_rows=300):
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 2, n_rows)]
    for v in range(1, n):
        cause = columns[int(rng.integers(v))] + columns[int(rng.integers(v))]
        columns.append(np.where(rng.random(n_rows) < 0.75, cause % 2, rng.integers(0, 2, n_rows)))
    return pd.DataFrame({f"v{i}": columns[i] for i in rng.permutation(n)})


def same(one, other):
    assert one.edges_.tolist() == other.edges_.tolist()
    assert one.score_ == other.score_
    assert one.n_iter_ == other.n_iter_


# ---- strategy and restarts ----


def test_thorough_is_never_worse_and_mostly_better():
    gained = []
    for seed in range(10):
        data = wide_frame(seed)
        greedy, thorough = (HillClimbSearch(strategy=name).fit(data) for name in ("greedy", "thorough"))
        gained.append(thorough.score_ - greedy.score_)
        assert thorough.score_ == pytest.approx(dag_score(*codes_of(data), thorough.edges_), rel=1e-12)
        assert thorough.converged_
    assert min(gained) >= 0
    assert np.count_nonzero(np.array(gained) > 0.1) >= 4


def test_greedy_is_the_default():
    data = wide_frame(0)
    same(HillClimbSearch().fit(data), HillClimbSearch(strategy="greedy", n_restarts=0).fit(data))


def test_restarts_are_never_worse_and_sometimes_better():
    gained = [
        HillClimbSearch(n_restarts=10).fit(wide_frame(seed)).score_ - HillClimbSearch().fit(wide_frame(seed)).score_
        for seed in range(6)
    ]
    assert min(gained) >= 0
    assert max(gained) > 0.1


@pytest.mark.parametrize("score", ["bic", "k2", "bds", "pairwise", "gaussian"])
def test_restarts_are_the_same_for_any_number_of_threads(score):
    data, options = wide_frame(1, 8), {"n_restarts": 13, "n_restart_moves": 6}
    if score == "gaussian":
        data = gaussian_frame(0)
    elif score == "pairwise":
        data = data.astype("Int64")
        data.iloc[::7, 2] = pd.NA
        options |= {"missing": "pairwise"}
    else:
        options |= {"scoring_method": score}
    one = HillClimbSearch(n_jobs=1, **options).fit(data)
    for n_jobs in (2, 3):
        same(HillClimbSearch(n_jobs=n_jobs, **options).fit(data), one)


def test_restarts_with_a_prior_are_the_same_for_any_number_of_threads():
    data, options = wide_frame(2, 8), {"n_restarts": 13, "structure_prior": EdgePrior(0.3)}
    one = HillClimbSearch(n_jobs=1, **options).fit(data)
    for n_jobs in (2, 3):
        same(HillClimbSearch(n_jobs=n_jobs, **options).fit(data), one)
    expected = dag_score(*codes_of(data), one.edges_) + len(one.edges_) * np.log(0.3)
    assert one.score_ == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("score", ["bic", "bds"])
def test_restarts_are_the_same_in_other_processes(score):
    data, options = wide_frame(1, 8), {"n_restarts": 9, "scoring_method": score}
    one = HillClimbSearch(**options).fit(data)
    with parallel_config(backend="loky", n_jobs=2):
        same(HillClimbSearch(**options).fit(data), one)


# ---- the first graph ----


@every_search
@pytest.mark.parametrize("start", ["tree", "random", None, "given"])
def test_first_graph(make, start):
    """No move made, the first graph is the result."""
    data = dependent_frame(0)
    given = DAG([("e", "a"), ("d", "c"), ("c", "b")])
    learner = make(start_dag=given if start == "given" else start, max_iter=0, return_type="dag").fit(data)
    assert learner.n_iter_ == 0
    assert not learner.converged_
    assert learner.score_ == pytest.approx(dag_score(*codes_of(data), learner.edges_), rel=1e-12)
    if start == "tree":
        forest = ChowLiuForest(weight="bic").fit(data)
        assert set(map(frozenset, learner.dag_.edges)) == set(map(frozenset, forest.dag_.edges))
        assert learner.score_ == pytest.approx(forest.score_, rel=1e-12)
    elif start == "random":
        assert nx.is_tree(learner.dag_.to_undirected())
        assert len({make(start_dag=start, max_iter=0, random_state=s).fit(data).score_ for s in range(8)}) > 3
    else:
        assert set(learner.dag_.edges) == (set() if start is None else set(given.edges))
    whole = make(start_dag=given if start == "given" else start).fit(data)
    assert whole.score_ >= learner.score_
    assert sorted(given.edges) == [("c", "b"), ("d", "c"), ("e", "a")]


@pytest.mark.parametrize("start", ["tree", "random"])
def test_first_graph_under_knowledge(start):
    data = dependent_frame(0)
    for seed in range(5):
        learner = HillClimbSearch(
            start_dag=start,
            max_iter=0,
            required_edges=[("e", "a")],
            root_nodes=["c"],
            tiers=[["e", "d"], ["a", "b"]],
            random_state=seed,
            return_type="dag",
        ).fit(data)
        edges = set(learner.dag_.edges)
        assert ("e", "a") in edges
        assert not learner.dag_.in_degree("c")
        assert not {(tail, head) for tail in "ab" for head in "de"} & edges


# ---- candidate parents ----


@every_search
@pytest.mark.parametrize("k", [0, 1, 2, 4, 100])
def test_max_candidates(make, k):
    data = dependent_frame(1)
    codes, cards = codes_of(data)
    gains = np.array([gains_row(codes, cards, child, []) for child in range(5)])
    chosen = np.zeros((5, 5), dtype=bool)
    for child in range(5):
        chosen[child, np.argsort(-gains[child])[: min(k, 4)]] = True
    chosen |= chosen.T
    learner = make(max_candidates=k, scoring_method="bic").fit(data)
    assert all(chosen[head, tail] for tail, head in learner.edges_)
    if k >= 4:
        same(learner, make(scoring_method="bic").fit(data))
    if k == 0:
        assert len(learner.edges_) == 0


def test_candidates_of_other_scores():
    for data, options in [
        (gaussian_frame(0), {}),
        (dependent_frame(0), {"missing": "pairwise"}),
        (dependent_frame(0), {"scoring_method": "k2"}),
    ]:
        learner = HillClimbSearch(max_candidates=1, **options).fit(data)
        assert 0 < len(learner.edges_) <= HillClimbSearch(**options).fit(data).edges_.size


def test_required_edges_need_not_be_candidates():
    data = dependent_frame(0)
    learner = HillClimbSearch(max_candidates=0, required_edges=[("e", "a"), ("d", "b")], return_type="dag").fit(data)
    assert set(learner.dag_.edges) == {("e", "a"), ("d", "b")}


# ---- knowledge ----


@every_search
@pytest.mark.parametrize(
    ("knowledge", "holds"),
    [
        ({"required_edges": [("e", "a"), ("d", "b")]}, lambda edges: {("e", "a"), ("d", "b")} <= edges),
        ({"forbidden_edges": [("a", "b"), ("b", "a")]}, lambda edges: not {("a", "b"), ("b", "a")} & edges),
        ({"tiers": [["c", "d"], ["a", "b"]]}, lambda edges: not any(t in "ab" and h in "cd" for t, h in edges)),
        ({"root_nodes": ["b", "c"]}, lambda edges: not any(head in "bc" for _, head in edges)),
        ({"candidate_edges": [("c", "b"), ("b", "a")]}, lambda edges: edges <= {("c", "b"), ("b", "a")}),
        ({"candidate_edges": []}, lambda edges: not edges),
    ],
    ids=lambda given: next(iter(given)) if isinstance(given, dict) else "",
)
def test_knowledge(make, knowledge, holds):
    for data in (dependent_frame(0), gaussian_frame(0)[list("abcd")].assign(e=gaussian_frame(1)["d"])):
        learner = make(return_type="dag", **knowledge).fit(data)
        assert holds(set(learner.dag_.edges))
        assert list(learner.dag_.nodes) == list(NAMES)


@every_search
def test_contradictions_are_found_before_the_search(make):
    told = []
    for knowledge, words in [
        ({"required_edges": [("a", "b")], "forbidden_edges": [("a", "b")]}, r"'a' -> 'b'.*forbidden_edges"),
        ({"required_edges": [("a", "b")], "root_nodes": ["b"]}, r"root_nodes holds 'b'"),
        ({"required_edges": [("a", "b"), ("b", "a")]}, r"cycle 'a' -> 'b' -> 'a'"),
        ({"root_nodes": ["zeta"]}, r"'zeta'"),
        ({"tiers": [["a"], ["a"]]}, r"'a'"),
        (
            {"required_edges": [("a", "b"), ("c", "b")], "max_indegree": 1},
            r"'b' has 2 required parents.*max_indegree=1",
        ),
    ]:
        with pytest.raises(ValueError, match=words):
            make(callback=told.append, **knowledge).fit(dependent_frame(0))
    assert told == []


# ---- bad values ----


@every_search
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"start_dag": "forest"}, r"'start_dag'.*'forest'"),
        ({"start_dag": DAG([("a", "zeta")])}, r"start_dag.*'zeta'"),
        ({"max_candidates": -1}, r"'max_candidates'.*-1"),
        ({"max_candidates": 1.5}, r"'max_candidates'.*1\.5"),
        ({"max_time": -1}, r"'max_time'.*-1"),
        ({"required_edges": 3}, r"required_edges"),
        ({"tiers": "ab"}, r"tiers"),
        ({"structure_prior": 0.5}, r"structure_prior.*0\.5"),
    ],
    ids=lambda given: next(iter(given)) if isinstance(given, dict) else "",
)
def test_values_that_no_search_takes(make, options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        make(**options).fit(dependent_frame(0))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"strategy": "finest"}, r"'strategy'.*'finest'"),
        ({"strategy": None}, r"'strategy'.*None"),
        ({"n_restarts": -1}, r"'n_restarts'.*-1"),
        ({"n_restarts": 1.5}, r"'n_restarts'.*1\.5"),
        ({"n_restart_moves": 0}, r"'n_restart_moves'.*0"),
    ],
    ids=str,
)
def test_values_that_hill_climbing_does_not_take(options, words):
    with pytest.raises(ValueError, match=words):
        HillClimbSearch(**options).fit(dependent_frame(0))


def test_moves_without_a_limit_and_a_start_with_parallel_edges():
    data = dependent_frame(0)
    start = nx.MultiDiGraph([("a", "b"), ("a", "b")])
    start.add_nodes_from(data.columns)
    found = HillClimbSearch(start_dag=start, max_iter=np.inf, return_type="dag").fit(data)
    plain = HillClimbSearch(start_dag=nx.DiGraph(start), return_type="dag").fit(data)
    assert found.converged_
    assert found.edges_.tolist() == plain.edges_.tolist()
