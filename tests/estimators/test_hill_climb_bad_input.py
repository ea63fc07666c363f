"""Every refusal is a ValueError or TypeError that names the culprit and the remedy."""

import numpy as np
import pandas as pd
import pytest
from pgmpy.base import DAG, PDAG

from helpers.learning_tables import NAMES, dependent_frame, gaussian_frame, mixed_frame
from pgmx import scores
from pgmx.estimators import HillClimbSearch

DATA = dependent_frame(0, 60)


def refused(data, words, **options):
    with pytest.raises((TypeError, ValueError), match=words):
        HillClimbSearch(**options).fit(data)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (pd.DataFrame(), r"0 feature\(s\)"),
        (DATA[[]], r"0 feature\(s\)"),
        (DATA[:0], r"0 sample\(s\).*minimum of 2"),
        (DATA[:1], r"1 sample\(s\).*minimum of 2"),
        (np.empty((0, 3)), r"0 sample\(s\)"),
        (np.zeros((5, 0)), r"0 feature\(s\)"),
        (np.zeros(5), r"Expected 2D array.*1D"),
        (DATA["a"], r"Expected 2D array.*to_frame"),
        (None, r"NoneType"),
        ({"a": [0, 1]}, r"pandas\.DataFrame"),
        (DATA.set_axis(list("abcda"), axis=1), r"duplicate column name.*'a'.*rename"),
        (DATA.assign(b=[[0], [1]] * 30), r"'b'.*unhashable"),
        (DATA.assign(b=[{"x": 1}, {"x": 2}] * 30), r"'b'.*unhashable"),
        (DATA.assign(b=pd.Timestamp("2026-01-01")), r"'b'.*datetime.*(str|category)"),
        (DATA.assign(b=1j), r"'b'.*complex"),
        (DATA.assign(b=[None, "x"] * 30), r"missing.*'b'.*drop"),
        (DATA.astype({"b": "Int64"}).assign(b=pd.NA), r"missing.*'b'.*drop"),
        (gaussian_frame(0).assign(b=np.inf), r"inf.*'b'"),
        (gaussian_frame(0).assign(b=np.nan), r"NaN.*'b'.*drop"),
        (mixed_frame(0).assign(x=-np.inf), r"inf.*'x'"),
        (np.where(np.eye(4) > 0, np.nan, 1.5), r"NaN"),
        (np.where(np.eye(4) > 0, np.inf, 1.5), r"infinity|inf"),
    ],
)
def test_bad_tables(data, words):
    refused(data, words)


def test_a_path_that_leads_nowhere():
    """What is given to `fit` is data, so a string is a path."""
    with pytest.raises(FileNotFoundError, match=r"no such file: .*alarm\.csv"):
        HillClimbSearch().fit("alarm.csv")
    with pytest.raises(FileNotFoundError, match=r"no such file or folder: bic; .*\.csv.*\.parquet"):
        HillClimbSearch().fit("bic")


def test_a_word_in_the_place_of_the_data_shows_the_keyword():
    with pytest.raises(TypeError, match=r"first argument.*is data, got 'bic'.*HillClimbSearch\(scoring_method='bic'\)"):
        HillClimbSearch("bic").estimate()


def test_floats_under_a_discrete_score_show_two_ways_out():
    for score in ("bic", "k2", "bdeu"):
        refused(gaussian_frame(0), r"'a', 'b', 'c', 'd'.*discretise.*bic-g", scoring_method=score)
    refused(mixed_frame(0), r"'x', 'y'.*discretise.*bic-clg", scoring_method="bic")


def test_whole_floats_are_told_how_to_become_states():
    refused(DATA.astype({"c": float}), r"'c'.*whole numbers.*discrete_columns=\['c'\]", scoring_method="bic")


def test_strings_under_a_gaussian_score_are_named():
    refused(mixed_frame(0), r"'kind', 'size'.*bic-cg", scoring_method="bic-g")


@pytest.mark.parametrize("name", ["bicc", "", "BIC score", "mit"])
def test_unknown_score_names(name):
    refused(DATA, rf"scoring_method='{name}'.*bic.*aic.*k2.*bdeu.*bic-g.*bic-cg", scoring_method=name)


@pytest.mark.parametrize("score", [scores.BIC, 3, ["bic"], lambda child, parents: 0.0])
def test_scores_of_a_wrong_type(score):
    refused(DATA, r"'scoring_method'.*'str'.*BaseStructureScore", scoring_method=score)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"return_type": "cpdag"}, r"'return_type'.*'dag'.*'pdag'.*'cpdag'|'return_type'.*'pdag'.*'dag'.*'cpdag'"),
        ({"missing": "impute"}, r"'missing'.*('error'.*'drop'|'drop'.*'error').*'impute'"),
        ({"tabu_length": -1}, r"'tabu_length'.*-1"),
        ({"tabu_length": 2.5}, r"'tabu_length'.*2\.5"),
        ({"max_indegree": -1}, r"'max_indegree'.*-1"),
        ({"max_indegree": "2"}, r"'max_indegree'.*'2'"),
        ({"epsilon": -1e-4}, r"'epsilon'.*-0\.0001"),
        ({"max_iter": -1}, r"'max_iter'.*-1"),
        ({"max_time": -1.0}, r"'max_time'.*-1\.0"),
        ({"max_time": "1h"}, r"'max_time'.*'1h'"),
        ({"patience": -3}, r"'patience'.*-3"),
        ({"patience": None}, r"'patience'.*None"),
        ({"callback": "print"}, r"'callback'.*'print'"),
        ({"state_names": [["x"]]}, r"'state_names'"),
        ({"n_jobs": "all"}, r"'n_jobs'.*'all'"),
        ({"n_jobs": 0}, r"n_jobs"),
        ({"random_state": "seed"}, r"'random_state'.*'seed'"),
        ({"random_state": -1}, r"'random_state'.*-1|-1"),
        ({"show_progress": "yes"}, r"'show_progress'.*'yes'"),
        ({"start_dag": "a->b"}, r"'start_dag'.*'a->b'"),
    ],
    ids=str,
)
def test_options_out_of_range(options, words):
    refused(DATA, words, **options)


def test_the_class_of_a_graph_is_no_start():
    learned = HillClimbSearch(show_progress=False).fit(DATA)
    refused(DATA, "start_dag has undirected edges: give a DAG.*dag_", start_dag=PDAG([("a", "b")], [("b", "c")]))
    assert HillClimbSearch(start_dag=learned.dag_, show_progress=False).fit(DATA).n_iter_ == 0


def test_unknown_options():
    with pytest.raises(TypeError, match="max_parents"):
        HillClimbSearch(max_parents=2)
    with pytest.raises(ValueError, match="max_parents.*max_indegree"):
        HillClimbSearch().set_params(max_parents=2)


def test_a_refused_fit_leaves_no_half_fitted_learner():
    learner = HillClimbSearch()
    with pytest.raises(ValueError, match="duplicate"):
        learner.fit(DATA.set_axis(list("abcda"), axis=1))
    assert not hasattr(learner, "graph_")
    assert not [name for name in vars(learner) if name.endswith("_")]


@pytest.mark.parametrize(
    "name", ["graph_", "causal_graph_", "dag_", "model_", "adjacency_matrix_", "score_", "history_"]
)
def test_results_before_fit(name):
    with pytest.raises(AttributeError):
        getattr(HillClimbSearch(), name)


def test_unfitted_score():
    with pytest.raises(ValueError, match="not fitted"):
        HillClimbSearch().score(X=DATA)


def test_a_table_too_large_for_a_model_is_refused_with_the_remedy():
    wide = pd.DataFrame(np.random.default_rng(0).integers(0, 200, (400, 5)), columns=list(NAMES))
    star = DAG([(name, "e") for name in "abcd"])
    with pytest.warns(UserWarning, match="implausibly many states"):
        learner = HillClimbSearch(scoring_method="ll", max_iter=0, start_dag=star).fit(wide)
    with pytest.raises(ValueError, match=r"'e'.*4 parents.*max_indegree"):
        _ = learner.model_
