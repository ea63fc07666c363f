"""One import line changes: the contract of pgmpy.causal_discovery.HillClimbSearch 1.1.2."""

import inspect

import pandas as pd
import pytest
from pgmpy.base import DAG, PDAG
from pgmpy.causal_discovery import HillClimbSearch as PgmpySearch
from pgmpy.metrics import SHD, CorrelationScore, StructureScore
from sklearn.metrics import accuracy_score

from helpers.learning_tables import NAMES, dependent_frame, edge_set, gaussian_frame
from pgmx.estimators import HillClimbSearch

PARAMETERS = inspect.signature(PgmpySearch).parameters


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameter_of_pgmpy_has_the_same_name_and_default(name):
    ours = inspect.signature(HillClimbSearch).parameters
    assert name in ours
    assert ours[name].default == PARAMETERS[name].default
    assert type(ours[name].default) is type(PARAMETERS[name].default)
    assert ours[name].kind is inspect.Parameter.KEYWORD_ONLY


def test_documented_defaults_of_pgmpy_1_1_2():
    """Pinned, so that a change in pgmpy shows as what it is."""
    assert {name: parameter.default for name, parameter in PARAMETERS.items()} == {
        "scoring_method": None,
        "start_dag": None,
        "tabu_length": 100,
        "max_indegree": None,
        "expert_knowledge": None,
        "return_type": "pdag",
        "epsilon": 1e-4,
        "max_iter": 1_000_000,
        "show_progress": True,
    }


def test_methods_of_pgmpy_take_the_same_keywords():
    for method in ("fit", "score"):
        ours = inspect.signature(getattr(HillClimbSearch, method)).parameters
        for name, parameter in inspect.signature(getattr(PgmpySearch, method)).parameters.items():
            assert ours[name].default == parameter.default


@pytest.mark.parametrize("return_type", ["dag", "pdag", "DAG", "PDAG"])
def test_fitted_attributes_are_those_of_pgmpy(seed, return_type):
    data = dependent_frame(seed)
    options = {"scoring_method": "k2", "tabu_length": 0, "return_type": return_type, "show_progress": False}
    theirs, ours = PgmpySearch(**options).fit(data), HillClimbSearch(**options).fit(data)

    assert {name for name in vars(theirs) if name.endswith("_")} <= set(dir(ours))
    assert ours.variables_ == theirs.variables_ == list(NAMES)
    assert type(ours.causal_graph_) is type(theirs.causal_graph_) is (DAG if return_type.lower() == "dag" else PDAG)
    assert edge_set(ours.causal_graph_) == edge_set(theirs.causal_graph_)
    assert ours.n_features_in_ == theirs.n_features_in_ == 5
    assert list(ours.feature_names_in_) == list(NAMES)
    assert ours.feature_names_in_.dtype == object


def test_pdag_knows_its_directed_and_undirected_edges(seed):
    options = {"scoring_method": "k2", "tabu_length": 0, "show_progress": False}
    data = dependent_frame(seed)
    ours, theirs = (learner(**options).fit(data).causal_graph_ for learner in (HillClimbSearch, PgmpySearch))
    assert ours.directed_edges == theirs.directed_edges
    assert set(map(frozenset, ours.undirected_edges)) == set(map(frozenset, theirs.undirected_edges))


@pytest.mark.parametrize("return_type", ["dag", "pdag"])
def test_adjacency_matrix(seed, return_type):
    options = {"scoring_method": "k2", "tabu_length": 0, "return_type": return_type, "show_progress": False}
    data = dependent_frame(seed)
    ours, theirs = (learner(**options).fit(data).adjacency_matrix_ for learner in (HillClimbSearch, PgmpySearch))
    assert list(ours.index) == list(ours.columns) == list(NAMES)
    pd.testing.assert_frame_equal(ours, theirs.loc[list(NAMES), list(NAMES)])


def test_array_columns_are_named_as_pgmpy_names_them():
    data = dependent_frame(0).to_numpy()
    options = {"scoring_method": "k2", "tabu_length": 0, "return_type": "dag", "show_progress": False}
    ours, theirs = HillClimbSearch(**options).fit(data), PgmpySearch(**options).fit(data)
    assert ours.variables_ == theirs.variables_ == ["x0", "x1", "x2", "x3", "x4"]
    assert list(ours.feature_names_in_) == list(theirs.feature_names_in_)
    assert edge_set(ours.causal_graph_) == edge_set(theirs.causal_graph_)


@pytest.mark.parametrize(
    ("short", "long"), [("bic", "bic-d"), ("aic", "aic-d"), ("ll", "ll-d"), ("k2", "K2"), ("bdeu", "BDeu")]
)
def test_short_and_long_names_of_a_score_are_one(short, long):
    data = dependent_frame(0)
    one, other = (HillClimbSearch(scoring_method=name, max_indegree=2).fit(data) for name in (short, long))
    assert one.score_ == other.score_
    assert one.edges_.tolist() == other.edges_.tolist()


def test_every_score_name_of_pgmpy_is_taken():
    for name in ("k2", "bdeu", "bds", "bic-d", "aic-d"):
        assert HillClimbSearch(scoring_method=name, max_iter=2).fit(dependent_frame(0, 50, 3)).n_iter_ <= 2
    for name in ("ll-g", "aic-g", "bic-g", "ll-cg", "aic-cg", "bic-cg"):
        assert HillClimbSearch(scoring_method=name, max_iter=2).fit(gaussian_frame(0, 50)).n_iter_ <= 2


# ---- score(X=, true_graph=, metric=) ----


def fitted_pair(data, **options):
    """Return pgmpy's and our learner on tie-free settings, so that the graphs are the same."""
    options = {"return_type": "dag", "tabu_length": 0, "show_progress": False, **options}
    pair = PgmpySearch(**options).fit(data), HillClimbSearch(**options).fit(data)
    assert edge_set(pair[0].causal_graph_) == edge_set(pair[1].causal_graph_)
    return pair


def test_score_against_a_true_graph_is_that_of_pgmpy():
    data = dependent_frame(1)
    truth = DAG([("a", "b"), ("a", "c"), ("b", "c"), ("c", "d"), ("d", "e")])
    theirs, ours = fitted_pair(data, scoring_method="k2")
    assert ours.score(true_graph=truth) == theirs.score(true_graph=truth)
    assert ours.score(true_graph=truth, metric="SHD") == theirs.score(true_graph=truth, metric="SHD")
    assert ours.score(true_graph=truth, metric=SHD()) == theirs.score(true_graph=truth, metric=SHD())
    ours, theirs = (learner.score(true_graph=truth, metric="adjacency_confusion_matrix") for learner in (ours, theirs))
    pd.testing.assert_frame_equal(ours.pop("cm"), theirs.pop("cm"))
    assert ours == theirs


def test_score_against_data_is_that_of_pgmpy():
    data = dependent_frame(1)
    theirs, ours = fitted_pair(data, scoring_method="k2")
    metric = StructureScore(scoring_method="bic-d")
    assert ours.score(X=data, metric=metric) == pytest.approx(theirs.score(X=data, metric=metric), rel=1e-10)
    metric = CorrelationScore(score=accuracy_score)
    assert ours.score(X=data, metric=metric) == theirs.score(X=data, metric=metric)


def test_data_metric_measures_the_dag_where_it_takes_no_pdag():
    """Without this no grid search could score a learner with default options."""
    data = dependent_frame(1)
    metric = StructureScore(scoring_method="bic-d")
    learner = HillClimbSearch(scoring_method="bic").fit(data)
    assert learner.score(X=data, metric=metric) == pytest.approx(learner.score_, rel=1e-10)


def test_score_takes_what_fit_takes():
    pl = pytest.importorskip("polars")
    data = dependent_frame(1)
    metric = StructureScore(scoring_method="bic-d")
    learner = HillClimbSearch(return_type="dag").fit(data)
    expected = learner.score(X=data, metric=metric)
    assert learner.score(X=pl.from_pandas(data), metric=metric) == pytest.approx(expected, rel=1e-10)
    of_array = HillClimbSearch(return_type="dag").fit(data.to_numpy())
    assert of_array.score(X=data.to_numpy(), metric=metric) == pytest.approx(expected, rel=1e-10)


def test_score_says_what_it_lacks():
    learner = HillClimbSearch(return_type="dag").fit(dependent_frame(0))
    with pytest.raises(ValueError, match="X=.*true_graph="):
        learner.score()
    with pytest.raises(ValueError, match="'nonsense'"):
        learner.score(X=dependent_frame(0), metric="nonsense")
    with pytest.raises(ValueError, match="'z'"):
        learner.score(X=dependent_frame(0).rename(columns={"a": "z"}))
