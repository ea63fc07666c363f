"""The StructureEstimator face: data in the constructor, ``estimate()`` for the graph."""

import pickle

import pandas as pd
import pyarrow as pa
import pytest
from pgmpy.base import DAG, PDAG
from sklearn.base import clone

from helpers.learning_tables import NAMES, dependent_frame, edge_set
from pgmx.data import encode
from pgmx.estimators import HillClimbSearch
from pgmx.models.pgmpy_estimators import StructureEstimator  # pgmpy.estimators warns where it is imported
from pgmx.scores import BIC


def test_is_a_structure_estimator():
    learner = HillClimbSearch(dependent_frame(0), scoring_method="bdeu")
    assert isinstance(learner, StructureEstimator)
    assert StructureEstimator.__module__.startswith("pgmpy.estimators")


def test_estimate_returns_the_graph_that_fit_stores():
    data = dependent_frame(0)
    learner = HillClimbSearch(data, scoring_method="bdeu")
    graph = learner.estimate()
    assert isinstance(graph, PDAG)
    assert graph is learner.graph_
    assert edge_set(graph) == edge_set(HillClimbSearch(scoring_method="bdeu").fit(data).graph_)
    assert isinstance(HillClimbSearch(data, return_type="dag").estimate(), DAG)


@pytest.mark.parametrize("kind", ["array", "rows", "Arrow table", "record batch", "coded table", "polars"])
def test_constructor_takes_what_fit_takes(kind):
    data = dependent_frame(0)
    given = {
        "array": lambda: data.to_numpy(),
        "rows": lambda: data.to_numpy().tolist(),
        "Arrow table": lambda: pa.Table.from_pandas(data),
        "record batch": lambda: pa.RecordBatch.from_pandas(data),
        "coded table": lambda: encode(data),
        "polars": lambda: pytest.importorskip("polars").from_pandas(data),
    }[kind]()
    learner = HillClimbSearch(given)
    learner.estimate()
    assert learner.edges_.tolist() == HillClimbSearch().fit(data).edges_.tolist()
    assert learner.variables == learner.variables_


def test_variables():
    data = dependent_frame(0)
    assert HillClimbSearch(data).variables == list(NAMES)
    assert HillClimbSearch(encode(data)).variables == list(NAMES)
    with pytest.raises(AttributeError, match="without data"):
        _ = HillClimbSearch().variables


def plain(counts):
    """Return a table of counts as a dict from (state, configuration) to a number."""
    return {(row, column): counts.loc[row, column] for row in counts.index for column in counts.columns}


@pytest.mark.parametrize("reindex", [True, False])
@pytest.mark.parametrize("parents", [(), ("a",), ("a", "c"), ["e", "b", "d"]])
def test_state_counts_are_those_of_pgmpy(seed, parents, reindex):
    data = dependent_frame(seed, 60)
    variable = "b" if "b" not in parents else "a"
    theirs = StructureEstimator(data).state_counts(variable, parents, reindex=reindex)
    ours = HillClimbSearch(data).state_counts(variable, parents, reindex=reindex)
    assert plain(ours) == plain(theirs)
    assert list(ours.columns) == list(theirs.columns)
    assert list(ours.columns.names) == list(theirs.columns.names)


def test_state_counts_of_columns_whose_names_are_tuples():
    data = pd.DataFrame({"u": [0, 1, 1, 0], "v": [1, 1, 0, 0]})
    expected = HillClimbSearch(data).state_counts("u", ["v"])
    data.columns = pd.Index([("t", 1), ("t", 2)], tupleize_cols=False)
    counts = HillClimbSearch(data).state_counts(("t", 1), [("t", 2)])
    assert counts.to_numpy().tolist() == expected.to_numpy().tolist()
    assert (counts.index.name, list(counts.columns.names)) == (("t", 1), [("t", 2)])
    assert HillClimbSearch(data).state_counts(("t", 2))["count"].tolist() == [2, 2]


def test_state_counts_of_declared_states():
    data = dependent_frame(0, 60, 2)
    states = {"a": [1, 0], "b": [2, 3, 1, 0]}
    theirs = StructureEstimator(data, state_names=states).state_counts("b", ["a"])
    ours = HillClimbSearch(data, state_names=states).state_counts("b", ["a"])
    assert plain(ours) == plain(theirs)
    assert ours.loc[3].tolist() == [0, 0]
    assert ours.sum().sum() == 60


def test_state_counts_refuses_weights_and_no_data():
    with pytest.raises(ValueError, match="weighted=True"):
        HillClimbSearch(dependent_frame(0)).state_counts("a", weighted=True)
    with pytest.raises(ValueError, match="without data"):
        HillClimbSearch().state_counts("a")


@pytest.mark.parametrize("call", ["fit", "estimate"])
def test_option_as_first_argument_shows_the_keyword(call):
    data = dependent_frame(0)
    arguments = (data,) if call == "fit" else ()
    with pytest.raises(TypeError, match=r"first argument.*data.*'bic'.*scoring_method='bic'"):
        getattr(HillClimbSearch("bic"), call)(*arguments)
    with pytest.raises(TypeError, match=r"scoring_method=") as caught:
        getattr(HillClimbSearch(BIC(data)), call)(*arguments)
    assert len(str(caught.value)) < 400  # a score's repr shows its whole frame


def test_estimate_without_data():
    with pytest.raises(ValueError, match=r"HillClimbSearch\(data\)\.estimate\(\).*HillClimbSearch\(\)\.fit\(data\)"):
        HillClimbSearch(scoring_method="bic").estimate()


def test_fit_learns_from_what_it_is_given_not_from_the_constructor():
    bound, other = dependent_frame(0), dependent_frame(1, 200, 3)
    assert HillClimbSearch(bound).fit(other).variables_ == list("abc")


def test_data_is_no_hyperparameter():
    data = dependent_frame(0)
    learner = HillClimbSearch(data, scoring_method="k2")
    assert "data" not in learner.get_params()
    assert "data" not in repr(learner)
    assert str(len(data)) not in repr(learner)
    copy = clone(learner)
    assert copy.data is None
    assert copy.scoring_method == "k2"
    assert copy.set_params(data=data, max_indegree=1).estimate().nodes
    assert copy.data is data
    assert pickle.loads(pickle.dumps(learner)).estimate().nodes


def test_constructor_only_stores():
    data = dependent_frame(0)
    learner = HillClimbSearch(data, scoring_method="no such score", tabu_length="long")
    assert learner.data is data
    assert not [name for name in vars(learner) if name.endswith("_")]


def test_options_of_estimate_belong_in_the_constructor():
    learner = HillClimbSearch(pd.DataFrame({"a": list("xyxy"), "b": list("xyyy")}))
    call = r"HillClimbSearch\(data, scoring_method=\.\.\., max_indegree=\.\.\.\)\.estimate\(\)"
    with pytest.raises(TypeError, match=f"belong in the constructor: {call}"):
        learner.estimate(scoring_method="bic-d", max_indegree=3)
    with pytest.raises(TypeError, match="belong in the constructor"):
        learner.estimate("bic")
