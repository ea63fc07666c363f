"""MMHC and HybridSearch: candidates by tests, and the best graph among them."""

import pickle
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from helpers.learning_tables import dependent_frame, gaussian_frame
from oracles.separation import SeparationSource, random_parents
from pgmx.datasets import load_network, sample
from pgmx.estimators import (
    MMHC,
    ChowLiuForest,
    GreedyEquivalenceSearch,
    HillClimbSearch,
    HybridSearch,
    MarkovBlanket,
)
from pgmx.estimators.constraint_based.hybrid import RESTRICTIONS
from pgmx.metrics import cpdag_shd

QUIET = {"show_progress": False}


def pairs_of(graph):
    return {frozenset(edge) for edge in graph.edges()}


@pytest.mark.filterwarnings("ignore:pairs of columns of which one is a function")
@parametrize_with_checks([HybridSearch()])
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def alarm():
    return sample(load_network("alarm"), 1500, random_state=0)


def test_the_best_graph_among_the_candidates(alarm):
    learner = MMHC(**QUIET).fit(alarm)
    candidates = pairs_of(learner.skeleton_)
    assert pairs_of(learner.dag_) <= candidates and len(candidates) < 80 and learner.n_tests_ > 600
    arcs = [arc for pair in map(tuple, candidates) for arc in (pair, pair[::-1])]
    free = HillClimbSearch(strategy="thorough", candidate_edges=arcs, **QUIET).fit(alarm)
    assert learner.score_ == free.score_ and learner.edges_.tolist() == free.edges_.tolist()
    assert np.isnan(learner.expected_chance_edges_)
    hybrid = HybridSearch(HillClimbSearch(strategy="thorough", **QUIET)).fit(alarm)
    assert hybrid.edges_.tolist() == learner.edges_.tolist() and hybrid.score_ == learner.score_
    assert pairs_of(hybrid.skeleton_) == candidates and hybrid.n_tests_ == learner.n_tests_
    assert hybrid.maximize_.history_["score"][-1] == hybrid.score_ and hybrid.restrict_ is None
    assert pairs_of(hybrid.graph_) == pairs_of(learner.graph_)


@pytest.mark.parametrize("restrict", RESTRICTIONS)
def test_candidates_do_not_depend_on_the_order_of_columns(restrict, alarm):
    few = alarm.iloc[:800, :12]
    search = HillClimbSearch(**QUIET)
    learner = HybridSearch(search, restrict=restrict).fit(few)
    other = HybridSearch(search, restrict=restrict).fit(few[few.columns[::-1]])
    assert pairs_of(other.skeleton_) == pairs_of(learner.skeleton_) != set()
    assert pairs_of(learner.dag_) <= pairs_of(learner.skeleton_)
    if restrict not in ("pc", "mmpc"):
        blankets = MarkovBlanket(method=restrict, significance_level=0.05).fit(few)
        assert pairs_of(blankets.graph_) == pairs_of(learner.skeleton_)
        by_learner = HybridSearch(search, restrict=clone(blankets)).fit(few)
        assert by_learner.edges_.tolist() == learner.edges_.tolist() and by_learner.n_tests_ == 0
        assert by_learner.restrict_.blankets_ == blankets.blankets_


def test_an_oracle_gives_the_pairs_of_the_graph():
    parents = random_parents(7, 2.5, np.random.default_rng(4))
    names = list("abcdefg")
    source = SeparationSource(parents)

    def ask(x, y, z, significance_level):
        return bool(source.test_row(names.index(x), [names.index(y)], tuple(map(names.index, z))).p_value[0])

    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 7)), columns=names)
    true = {frozenset((names[p], names[c])) for c in range(7) for p in parents[c]}
    for restrict in ("pc", "mmpc"):
        options = {"restrict": restrict, "ci_test": ask, "max_cond_vars": 5}
        learner = HybridSearch(HillClimbSearch(**QUIET), **options).fit(frame)
        assert pairs_of(learner.skeleton_) == true and 0 < len(true) < 21
        assert pairs_of(learner.dag_) <= true


@pytest.mark.parametrize("make", [MMHC, lambda **options: HybridSearch(HillClimbSearch(**options, **QUIET))])
def test_knowledge_applies_to_tests_and_search(make):
    frame = dependent_frame(0)
    names = list(frame)
    free = make().fit(frame)
    kept = {tuple(pair) for pair in map(sorted, pairs_of(free.skeleton_))}
    u, v = min(kept)
    absent = next(pair for pair in combinations(sorted(names), 2) if pair not in kept)
    learner = make(forbidden_edges=[(u, v), (v, u)], required_edges=[absent]).fit(frame)
    assert frozenset((u, v)) not in pairs_of(learner.skeleton_)
    assert absent in learner.dag_.edges() and frozenset(absent) in pairs_of(learner.skeleton_)
    one_way = make(forbidden_edges=[(u, v)]).fit(frame)
    assert frozenset((u, v)) in pairs_of(one_way.skeleton_) and (u, v) not in one_way.dag_.edges()
    empty = make(candidate_edges=[]).fit(frame)
    assert not empty.dag_.edges() and empty.n_tests_ == 0


def test_the_results_are_those_of_other_learners(tmp_path, alarm):
    few = alarm.iloc[:, :10]
    for learner in (MMHC(**QUIET), HybridSearch(GreedyEquivalenceSearch(scoring_method="bdeu", **QUIET))):
        learner.fit(few)
        again = pickle.loads(pickle.dumps(learner))
        assert again.edges_.tolist() == learner.edges_.tolist()
        assert again.score(few) == learner.score(few) < 0
        assert learner.model_.check_model() and pairs_of(again.skeleton_) == pairs_of(learner.skeleton_)
        weighted = clone(learner).fit(few, sample_weight=np.ones(len(few), dtype=int))
        assert weighted.edges_.tolist() == learner.edges_.tolist()
    path = tmp_path / "mmhc.npz"
    whole = MMHC(**QUIET).fit(few)
    cut = MMHC(max_iter=whole.n_iter_ - 2, checkpoint=path, **QUIET).fit(few)
    assert not cut.converged_ and path.exists()
    assert MMHC(checkpoint=path, **QUIET).fit(few).edges_.tolist() == whole.edges_.tolist()
    late = MMHC(max_time=0.0, **QUIET)
    with pytest.warns(UserWarning, match="max_time"):
        late.fit(few)
    assert late.stopped_by_ == "max_time"


def test_continuous_data():
    frame = gaussian_frame(0)
    learner = HybridSearch(restrict="iamb").fit(frame)
    assert learner.model_.check_model() and pairs_of(learner.dag_) <= pairs_of(learner.skeleton_)


def test_bad_input():
    frame = dependent_frame(0)
    with pytest.raises(ValueError, match="restrict"):
        HybridSearch(restrict="nothing").fit(frame)
    with pytest.raises(ValueError, match="maximize"):
        HybridSearch(ChowLiuForest()).fit(frame)
    with pytest.raises(ValueError, match="missing='em'"):
        HybridSearch(HillClimbSearch(missing="em")).fit(frame)
    with pytest.raises(ValueError, match="unknown ci_test 'nothing'"):
        MMHC(ci_test="nothing").fit(frame)
    with pytest.raises(ValueError, match="significance_level"):
        MMHC(significance_level=0).fit(frame)
    with pytest.raises(ValueError, match="sample_weight must be"):
        MMHC().fit(frame, sample_weight=np.full(len(frame), 0.5))


@pytest.mark.slow
def test_closer_to_the_networks_than_the_free_search():
    distances = np.zeros(2)
    for name in ("alarm", "insurance", "child"):
        network = load_network(name)
        rows = sample(network, 10_000, random_state=1)
        for k, learner in enumerate((MMHC(**QUIET), HillClimbSearch(strategy="thorough", **QUIET))):
            distances[k] += cpdag_shd(network, learner.fit(rows).dag_)
    assert distances[0] < 0.7 * distances[1]
