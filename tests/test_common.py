"""What every public learner keeps: scikit-learn's contract, pgmpy's, and the project's own."""

import copy
import inspect
import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pgmpy.structure_score
import pytest
from pgmpy.base import DAG, PDAG
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import pgmx.estimators
import pgmx.scores
from helpers.learners import (
    ELSEWHERE,
    LEARNERS,
    edges_of,
    every_class,
    every_learner,
    every_plain_learner,
    every_plain_table,
    every_table,
)
from helpers.learning_tables import dependent_frame, gaussian_frame, mixed_frame
from pgmx.estimators import BaseStructureLearner
from pgmx.models import PAG

# "check_array_api_input" is skipped by scikit-learn itself unless SCIPY_ARRAY_API is set.
EXPECTED_FAILURES = {learner.cls: learner.expected_failures for learner in LEARNERS}


#: The first configuration of each class, and one class of each family; its relatives share the code that is checked.
CONFIGURATIONS = {learner.cls: learner for learner in LEARNERS[::-1]}
FIRST_OF_FAMILY = set({cls.__module__.rsplit(".", 1)[0]: cls for cls in CONFIGURATIONS}.values())


#: The checks have few rows, in which columns are functions of each other, or many sets of parents are alike.
few_rows = pytest.mark.filterwarnings(
    "ignore:pairs of columns of which one is a function", "ignore:.* has parents from outside its .* candidates"
)


@few_rows
@parametrize_with_checks(
    [make() for cls, make in CONFIGURATIONS.items() if cls in FIRST_OF_FAMILY],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES[type(estimator)],
)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@few_rows
@parametrize_with_checks(
    [make() for cls, make in CONFIGURATIONS.items() if cls not in FIRST_OF_FAMILY],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES[type(estimator)],
)
def test_scikit_learn_relatives(estimator, check):
    check(estimator)


def test_no_public_learner_is_left_out():
    public = [getattr(pgmx.estimators, name) for name in pgmx.estimators.__all__]
    learners = {cls for cls in public if inspect.isclass(cls) and issubclass(cls, BaseStructureLearner)}
    assert learners - {BaseStructureLearner} == {learner.cls for learner in LEARNERS} | set(ELSEWHERE)


# ---- two faces ----


@every_table
def test_both_faces_give_the_same_edges(make, table):
    data = table(0)
    by_fit, by_estimate = make().fit(data), make(data)
    graph = by_estimate.estimate()
    assert graph is by_estimate.graph_
    assert edges_of(by_estimate) == edges_of(by_fit)
    assert isinstance(by_fit, make.cls)  # fit returns the learner


@every_class
def test_constructor(make):
    """Data first, all else by keyword with a default; nothing happens but that it is stored."""
    first, *others = inspect.signature(make.cls).parameters.values()
    assert first.name == "data"
    assert first.default is None
    assert {parameter.kind for parameter in others} == {inspect.Parameter.KEYWORD_ONLY}
    assert inspect.Parameter.empty not in {parameter.default for parameter in others}
    assert set(vars(make.cls())) == {"data", *(parameter.name for parameter in others)}
    with pytest.raises(TypeError, match="positional"):
        make.cls(None, "bic")


@every_plain_table
def test_data_is_no_hyperparameter(make, table):
    data = table(0)
    learner = make(data)
    assert "data" not in learner.get_params()
    assert repr(learner) == repr(make())
    for copied in (clone(learner), clone(learner.set_params(data=data))):
        assert copied.data is None
        assert copied.get_params() == learner.get_params()
    assert edges_of(clone(learner).fit(data)) == edges_of(learner.fit(data))
    assert make().set_params(data=data).data is data


# ---- nothing of the caller's is changed ----


@every_table
@pytest.mark.parametrize("dtype", ["as made", "category", "object", "str"])
def test_the_frame_is_untouched(make, table, dtype):
    data = table(0)
    if dtype != "as made":
        stated = [name for name in data if data[name].dtype.kind != "f"]
        data = data.astype(dict.fromkeys(stated, dtype))
    if dtype == "category":
        for name in stated:
            data[name] = data[name].cat.set_categories([*data[name].cat.categories[::-1], "never"], ordered=True)
    data.attrs["source"] = {"page": 7}
    data.index = pd.Index(range(5, 5 + len(data)), name="row")
    before = copy.deepcopy(data)
    learner = make().fit(data)
    assert list(learner.graph_.nodes()) == list(data)
    if table is not mixed_frame and make.has_model:  # pgmpy has no network for mixed data
        assert learner.model_.check_model()
    pd.testing.assert_frame_equal(data, before, check_exact=True)
    assert data.attrs == before.attrs
    assert list(data.dtypes) == list(before.dtypes)  # category order and ordered flag are parts of the dtype


@every_learner
def test_arrays_may_be_read_only(make):
    for table in make.tables[:2]:
        cells = table(0).to_numpy()
        before = cells.copy()
        cells.setflags(write=False)
        make().fit(cells)
        assert np.array_equal(cells, before)


# ---- the same answer ----


@every_table
def test_same_seed_same_graph(make, table):
    data = table(0)
    for random_state in (0, 5):
        options = {"random_state": random_state} if make.draws else {}
        runs = [edges_of(make(**options).fit(data)) for _ in range(2)]
        assert runs[0] == runs[1]


@every_table
def test_any_number_of_threads_same_graph(make, table):
    data = table(0)
    expected = edges_of(make().fit(data))
    for n_jobs in (1, 2, -1):
        assert edges_of(make(n_jobs=n_jobs).fit(data)) == expected


@every_table
def test_fit_twice_is_fit_once(make, table):
    learner = make().fit(table(1))
    assert edges_of(learner.fit(table(0))) == edges_of(make().fit(table(0)))


# ---- results others take ----


@every_table
def test_pickle_of_a_fitted_learner(make, table):
    data = table(0)
    learner = make().fit(data)
    copied = pickle.loads(pickle.dumps(learner))
    assert edges_of(copied) == edges_of(learner)
    assert getattr(copied, make.figure) == getattr(learner, make.figure)
    assert copied.variables_ == learner.variables_
    assert repr(copied.get_params()) == repr(learner.get_params())
    assert edges_of(copied.fit(data)) == edges_of(learner)


@every_learner
@pytest.mark.parametrize("score", [pgmx.scores.BIC, pgmpy.structure_score.BIC])
def test_clone_with_a_score_instance(make, score):
    data = dependent_frame(0)
    if not make.takes_score_instances:
        pytest.skip("its scores have names only")
    original = make(scoring_method=score(data))
    assert edges_of(clone(original).fit(data)) == edges_of(original.fit(data))


@every_learner
def test_pickle_before_and_after_the_model_is_made(make):
    if not make.has_model:
        pytest.skip("it learns a graph without parameters")
    data = dependent_frame(0)
    fitted = make().fit(data)
    lazily = pickle.loads(pickle.dumps(fitted)).model_
    made = fitted.model_
    eagerly = pickle.loads(pickle.dumps(fitted)).model_
    if make.is_gaussian:
        for model in (lazily, eagerly):
            pd.testing.assert_frame_equal(model.precision, made.precision, check_exact=True)
        return
    for name in data:
        first, *others = (
            model.get_factors(name) if make.is_markov else [model.get_cpds(name)] for model in (made, lazily, eagerly)
        )
        assert all(other == first for other in others)


@every_learner
def test_pickle_with_bound_data(make):
    data = dependent_frame(0)
    bound = make(data)
    copied = pickle.loads(pickle.dumps(bound))
    pd.testing.assert_frame_equal(copied.data, data)
    assert set(copied.estimate().edges()) == set(bound.estimate().edges())


@every_table
def test_networkx_takes_the_graph(make, table):
    data = table(0)
    graph = make().fit(data).graph_
    assert isinstance(graph, nx.Graph | nx.DiGraph)
    assert isinstance(graph, nx.Graph if make.is_markov or make.is_gaussian else DAG | PDAG | PAG)
    assert list(graph.nodes()) == list(data)
    assert nx.is_connected(nx.Graph(graph))
    assert nx.to_numpy_array(graph, weight=None).shape == (data.shape[1],) * 2


@every_plain_learner
def test_pgmpy_inference_takes_the_model(make):
    if not make.has_model:
        pytest.skip("it learns a graph without parameters")
    if make.is_gaussian:
        rows = gaussian_frame(0)
        model = make().fit(rows).model_
        predicted = model.to_linear_gaussian_bn().predict(rows[["a", "b"]])
        expected = model.predict(rows[["a", "b"]])
        np.testing.assert_allclose(predicted[list(expected)], expected, rtol=0, atol=1e-6)  # pgmpy rounds to 8 decimals
        return
    from pgmpy.inference import VariableElimination  # warns of pgmpy.estimators unless pgmx.estimators came first

    data = dependent_frame(0).assign(alone=[0, 1, 1] * 100)
    engine = VariableElimination(make().fit(data).model_)
    answer = engine.query(["b", "alone"], evidence={"a": 1}, show_progress=False)
    total = engine.query(["a"], show_progress=False).get_value(a=1) if make.is_markov else 1.0
    assert answer.values.sum() == pytest.approx(total)  # pgmpy normalises for Bayesian networks alone
