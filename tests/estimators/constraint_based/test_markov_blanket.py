"""MarkovBlanket: blankets of simulated data and of oracles, knowledge, options, and scikit-learn's contract."""

import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from helpers.learning_tables import dependent_frame, gaussian_frame
from oracles.separation import are_d_separated
from pgmx.ci_tests import ChiSquare
from pgmx.estimators import MarkovBlanket
from pgmx.search.constraint_based.blankets import METHODS

#: a -> c <- b, c -> d, e alone; the blanket of a is b, c
PARENTS = {"a": [], "b": [], "c": ["a", "b"], "d": ["c"], "e": []}
BLANKETS = {"a": ["b", "c"], "b": ["a", "c"], "c": ["a", "b", "d"], "d": ["c"], "e": []}


def linear_frame(n_rows=2000, seed=0):
    rng = np.random.default_rng(seed)
    frame = {}
    for name, parents in PARENTS.items():
        frame[name] = sum((frame[p] for p in parents), rng.normal(size=n_rows))
    return pd.DataFrame(frame)


def oracle(x, y, z, significance_level):
    ids = {name: v for v, name in enumerate(PARENTS)}
    parents = [{ids[p] for p in of} for of in PARENTS.values()]
    return are_d_separated(parents, ids[x], ids[y], {ids[v] for v in z})


@pytest.mark.filterwarnings("ignore:pairs of columns of which one is a function")
@parametrize_with_checks([MarkovBlanket()])
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("method", METHODS)
def test_blankets_of_simulated_rows_and_of_an_oracle(method):
    frame = linear_frame()
    for test in (None, oracle):
        learner = MarkovBlanket(method=method, ci_test=test).fit(frame)
        assert learner.blankets_ == BLANKETS
        assert {frozenset(edge) for edge in learner.graph_.edges()} == {
            frozenset((u, v)) for u, of in BLANKETS.items() for v in of
        }
        assert list(learner.graph_.nodes()) == list(PARENTS) and learner.n_tests_ > 10 and learner.converged_
        for target, blanket in BLANKETS.items():
            assert MarkovBlanket(target=target, method=method, ci_test=test).fit(frame).blanket_ == blanket


@pytest.mark.parametrize("method", METHODS)
def test_discrete_data_and_the_order_of_columns(method):
    frame = (linear_frame() > 0).astype(int)
    learner = MarkovBlanket(target="c", method=method).fit(frame)
    assert learner.blanket_ == ["a", "b", "d"]
    order = ["d", "e", "c", "b", "a"]
    assert MarkovBlanket(target="c", method=method).fit(frame[order]).blanket_ == ["d", "b", "a"]
    by_object = MarkovBlanket(target="c", method=method, ci_test=ChiSquare(frame, calibration="moments")).fit(frame)
    assert by_object.blanket_ == learner.blanket_ and by_object.n_tests_ == learner.n_tests_
    twice = MarkovBlanket(target="c", method=method).fit(pd.concat([frame, frame]))
    assert (
        MarkovBlanket(target="c", method=method).fit(frame, sample_weight=[2] * len(frame)).n_tests_ == twice.n_tests_
    )


def test_knowledge_of_edges():
    frame = linear_frame()
    learner = MarkovBlanket(target="e", required_edges=[("e", "a")]).fit(frame)
    assert learner.blanket_ == ["a"]
    forbidden = [("a", "c"), ("c", "a")]
    assert "a" not in MarkovBlanket(target="c", method="mmpc", forbidden_edges=forbidden).fit(frame).blanket_
    # tiers forbid one direction only
    assert MarkovBlanket(tiers=[list("ab"), list("cde")]).fit(frame).blankets_ == BLANKETS


def test_results_are_those_of_the_contract():
    for frame in (dependent_frame(0), gaussian_frame(0)):
        learner = MarkovBlanket(frame)
        graph = learner.estimate()
        assert isinstance(graph, nx.Graph) and graph is learner.graph_
        again = pickle.loads(pickle.dumps(learner))
        assert again.blankets_ == learner.blankets_ and nx.utils.graphs_equal(again.graph_, graph)
        assert clone(learner).fit(frame).blankets_ == learner.blankets_
        assert learner.adjacency_matrix_.to_numpy().sum() == sum(map(len, learner.blankets_.values())) > 0
        with pytest.raises(AttributeError, match="without target"):
            _ = learner.blanket_


def test_bad_input():
    frame = linear_frame(50)
    with pytest.raises(ValueError, match="target='z' is not a column of the data"):
        MarkovBlanket(target="z").fit(frame)
    with pytest.raises(ValueError, match="method"):
        MarkovBlanket(method="pc").fit(frame)
    with pytest.raises(ValueError, match="unknown ci_test 'nothing'"):
        MarkovBlanket(ci_test="nothing").fit(frame)
    with pytest.raises(ValueError, match="significance_level"):
        MarkovBlanket(significance_level=1.0).fit(frame)
    with pytest.raises(ValueError, match="sample_weight must be"):
        MarkovBlanket().fit(frame, sample_weight=np.full(50, 0.5))


def test_a_limit_of_time_keeps_what_was_found():
    learner = MarkovBlanket(max_time=0.0).fit(linear_frame(100))
    assert learner.stopped_by_ == "max_time" and not learner.converged_
    assert set(learner.blankets_) == set(PARENTS)


def test_a_callback_sees_each_variable_and_ends_the_search():
    seen = []
    learner = MarkovBlanket(callback=seen.append).fit(linear_frame(100))
    assert [one.n_iter for one in seen] == list(range(1, len(PARENTS) + 1)) and learner.converged_
    assert (seen[-1].n_tests, seen[0].n_edges) == (learner.n_tests_, len(learner.blankets_[next(iter(PARENTS))]))
    stopped = MarkovBlanket(callback=lambda progress: progress.n_iter == 2).fit(linear_frame(100))
    assert (stopped.stopped_by_, stopped.converged_, stopped.n_tests_) == ("callback", False, seen[1].n_tests)
