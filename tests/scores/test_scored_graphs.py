"""What `score` of a score accepts: DAGs, graphs of classes, learners; everything else is refused by name."""

import itertools

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from pgmpy.base import DAG

from pgmx import scores
from pgmx.estimators import PC, HillClimbSearch
from pgmx.graphs.equivalence import cpdag
from pgmx.models import to_pdag

RNG = np.random.default_rng(4)
STATES = pd.DataFrame(RNG.integers(0, 3, (200, 4)), columns=list("abcd"))
STATES["b"] = np.where(RNG.random(200) < 0.7, STATES["a"], STATES["b"])
STATES["c"] = np.where(RNG.random(200) < 0.7, STATES["b"], STATES["c"])
NUMBERS = pd.DataFrame(RNG.normal(size=(60, 4)), columns=list("abcd")).cumsum(axis=1)
MIXED = NUMBERS.assign(a=pd.Categorical(STATES["a"][:60]), c=pd.Categorical(STATES["c"][:60]))
CLASSES = [scores.BIC(STATES), scores.BDeu(STATES), scores.BGe(NUMBERS), scores.EBICGauss(NUMBERS)]


def list_dags(names="abcd"):
    pairs = list(itertools.combinations(names, 2))
    for kinds in itertools.product((None, 0, 1), repeat=len(pairs)):
        dag = nx.DiGraph()
        dag.add_nodes_from(names)
        dag.add_edges_from(pair[:: 1 - 2 * kind] for pair, kind in zip(pairs, kinds, strict=True) if kind is not None)
        if nx.is_directed_acyclic_graph(dag):
            yield dag


def make_class(dag):
    names = list(dag)
    return to_pdag(names, *cpdag(len(names), [(names.index(u), names.index(v)) for u, v in dag.edges]))


@pytest.mark.parametrize("score", CLASSES, ids=lambda score: type(score).__name__)
def test_a_class_has_the_score_of_its_dags(score):
    for dag in list(list_dags())[::11]:
        assert score.score(make_class(dag)) == pytest.approx(score.score(dag), rel=1e-10)


def test_no_continuous_variable_becomes_the_parent_of_a_discrete_one():
    score = scores.BICCondLinearGauss(MIXED)
    kept = [dag for dag in list_dags() if not any(u in "bd" and v in "ac" for u, v in dag.edges)]
    for dag in kept[::5]:
        assert score.score(make_class(dag)) == pytest.approx(score.score(dag), rel=1e-10)
    assert np.isfinite(score.score(nx.DiGraph([("a", "b"), ("b", "a")])))


@pytest.mark.parametrize("name", ["bic", "k2"])
def test_learners_are_scored_by_their_dag(name):
    learner = HillClimbSearch(scoring_method=name).fit(STATES)
    score = scores.BIC(STATES) if name == "bic" else scores.K2(STATES)
    assert learner.graph_.undirected_edges
    assert score.score(learner) == pytest.approx(learner.score_, rel=1e-10)
    tests = PC(ci_test="chi_square").fit(STATES)
    assert score.score(tests) == score.score(tests.dag_)


def test_nodes_are_the_scored_variables():
    score = scores.BIC(STATES)
    assert score.score(DAG([("a", "b")])) == score.local_score("a", ()) + score.local_score("b", ("a",))


@pytest.mark.parametrize("name", ["K2", "BDs"])
def test_scores_that_differ_within_a_class_refuse_undirected_edges(name):
    score = getattr(scores, name)(STATES)
    with pytest.raises(ValueError, match=f"'a' and 'b' have an undirected edge, and {name} may give .* dag_"):
        score.score(to_pdag(["a", "b"], [], [(0, 1)]))


def test_own_formulas_refuse_undirected_edges():
    class Half(scores.BIC):
        def _local_score(self, variable, parents):
            return super()._local_score(variable, parents) / 2

    with pytest.raises(ValueError, match="undirected edge, and Half may"):
        Half(STATES).score(to_pdag(["a", "b"], [], [(0, 1)]))


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ("ab bc ca", "cycle 'a' -> 'b' -> 'c' -> 'a': score a DAG"),
        ("aa", "cycle 'a' -> 'a'"),
        ("ab ba bc cb cd dc da ad", "no DAG has exactly the arrows and the colliders"),
        ("ax", "'x' is not a variable of the data; the columns are"),
    ],
)
def test_graphs_without_a_score(edges, message):
    with pytest.raises(ValueError, match=message):
        scores.BIC(STATES).score(nx.DiGraph([tuple(pair) for pair in edges.split()]))


@pytest.mark.parametrize("other", [nx.Graph([("a", "b")]), nx.MultiDiGraph([("a", "b")]), "[a][b|a]", None])
def test_other_objects_are_refused(other):
    with pytest.raises(TypeError, match=f"BIC scores a pgmpy DAG or PDAG.* got {type(other).__name__}"):
        scores.BIC(STATES).score(other)
