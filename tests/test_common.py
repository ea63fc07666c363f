"""What every public learner keeps: scikit-learn's contract, pgmpy's, and the project's own."""

import copy
import inspect
import pickle
from typing import NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
import pgmpy.structure_score
import pytest
from pgmpy.base import DAG, PDAG
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer
from sklearn.utils.estimator_checks import parametrize_with_checks

import pgmx.estimators
import pgmx.scores
from estimators.learning_tables import dependent_frame, gaussian_frame, mixed_frame
from pgmx.estimators import BaseStructureLearner, HillClimbSearch


class Learner(NamedTuple):
    """One public learner and what the common tests need to know of it."""

    make: type
    tables: tuple  # makers of frames that it learns from, taking a seed
    expected_failures: dict = {}  # scikit-learn's checks that cannot hold, each with its reason


LEARNERS = [Learner(HillClimbSearch, (dependent_frame, gaussian_frame, mixed_frame))]

# "check_array_api_input" is skipped by scikit-learn itself unless SCIPY_ARRAY_API is set.
EXPECTED_FAILURES = {learner.make: learner.expected_failures for learner in LEARNERS}


@parametrize_with_checks(
    [learner.make() for learner in LEARNERS],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES[type(estimator)],
)
def test_scikit_learn(estimator, check):
    check(estimator)


def test_no_public_learner_is_left_out():
    public = [getattr(pgmx.estimators, name) for name in pgmx.estimators.__all__]
    learners = {cls for cls in public if inspect.isclass(cls) and issubclass(cls, BaseStructureLearner)}
    assert learners - {BaseStructureLearner} == {learner.make for learner in LEARNERS}


every_learner = pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.make.__name__)
every_table = pytest.mark.parametrize(
    ("make", "table"),
    [(learner.make, table) for learner in LEARNERS for table in learner.tables],
    ids=lambda given: given.__name__,
)


def edges_of(learner):
    return sorted(map(repr, learner.graph_.edges()))


# ---- two faces ----


@every_table
def test_both_faces_give_the_same_edges(make, table):
    data = table(0)
    by_fit, by_estimate = make().fit(data), make(data)
    graph = by_estimate.estimate()
    assert graph is by_estimate.graph_
    assert edges_of(by_estimate) == edges_of(by_fit)
    assert isinstance(by_fit, make)  # fit returns the learner


@every_learner
def test_constructor(learner):
    """Data first, all else by keyword with a default; nothing happens but that it is stored."""
    first, *others = inspect.signature(learner.make).parameters.values()
    assert first.name == "data"
    assert first.default is None
    assert {parameter.kind for parameter in others} == {inspect.Parameter.KEYWORD_ONLY}
    assert inspect.Parameter.empty not in {parameter.default for parameter in others}
    assert set(vars(learner.make())) == {"data", *(parameter.name for parameter in others)}
    with pytest.raises(TypeError, match="positional"):
        learner.make(None, "bic")


@every_table
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
    if table is not mixed_frame:  # pgmpy has no network for mixed data
        assert learner.model_.check_model()
    pd.testing.assert_frame_equal(data, before, check_exact=True)
    assert data.attrs == before.attrs
    assert list(data.dtypes) == list(before.dtypes)  # category order and ordered flag are parts of the dtype


@every_learner
def test_arrays_may_be_read_only(learner):
    for table in (dependent_frame, gaussian_frame):
        cells = table(0).to_numpy()
        before = cells.copy()
        cells.setflags(write=False)
        learner.make().fit(cells)
        assert np.array_equal(cells, before)


# ---- the same answer ----


@every_table
def test_same_seed_same_graph(make, table):
    data = table(0)
    for random_state in (0, 5):
        runs = [edges_of(make(random_state=random_state).fit(data)) for _ in range(2)]
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
    assert copied.score_ == learner.score_
    assert copied.variables_ == learner.variables_
    assert copied.get_params() == learner.get_params()
    assert edges_of(copied.fit(data)) == edges_of(learner)


@every_learner
@pytest.mark.parametrize("score", [pgmx.scores.BIC, pgmpy.structure_score.BIC])
def test_clone_with_a_score_instance(learner, score):
    data = dependent_frame(0)
    original = learner.make(scoring_method=score(data))
    assert edges_of(clone(original).fit(data)) == edges_of(original.fit(data))


@every_learner
def test_pickle_before_and_after_the_model_is_made(learner):
    data = dependent_frame(0)
    fitted = learner.make().fit(data)
    lazily = pickle.loads(pickle.dumps(fitted)).model_
    made = fitted.model_
    eagerly = pickle.loads(pickle.dumps(fitted)).model_
    for name in data:
        assert made.get_cpds(name) == lazily.get_cpds(name) == eagerly.get_cpds(name)


@every_learner
def test_pickle_with_bound_data(learner):
    data = dependent_frame(0)
    bound = learner.make(data)
    copied = pickle.loads(pickle.dumps(bound))
    pd.testing.assert_frame_equal(copied.data, data)
    assert set(copied.estimate().edges()) == set(bound.estimate().edges())


@every_table
def test_networkx_takes_the_graph(make, table):
    data = table(0)
    graph = make().fit(data).graph_
    assert isinstance(graph, nx.Graph | nx.DiGraph)
    assert isinstance(graph, DAG | PDAG)
    assert list(graph.nodes()) == list(data)
    assert nx.number_weakly_connected_components(graph) >= 1
    assert nx.to_numpy_array(graph, weight=None).shape == (data.shape[1],) * 2


@every_learner
def test_pgmpy_inference_takes_the_model(learner):
    from pgmpy.inference import VariableElimination  # warns of pgmpy.estimators unless pgmx.estimators came first

    data = dependent_frame(0).assign(alone=[0, 1, 1] * 100)
    engine = VariableElimination(learner.make().fit(data).model_)
    answer = engine.query(["b", "alone"], evidence={"a": 1}, show_progress=False)
    assert answer.values.sum() == pytest.approx(1.0)


# ---- scikit-learn's tools ----


def in_sample_score(fitted, X, y=None):
    return fitted.score_


@pytest.mark.parametrize("scoring", [None, in_sample_score], ids=["score method", "callable"])
@every_learner
def test_grid_search_over_max_indegree(learner, scoring):
    search = GridSearchCV(learner.make(), {"max_indegree": [0, 1, 2]}, cv=2, scoring=scoring, error_score="raise")
    search.fit(gaussian_frame(0))
    assert set(search.best_params_) == {"max_indegree"}
    assert search.best_params_["max_indegree"] > 0
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert list(search.best_estimator_.graph_.nodes()) == list("abcd")


@every_learner
def test_pipeline_after_a_discretiser(learner):
    bins = KBinsDiscretizer(n_bins=3, encode="ordinal", quantile_method="averaged_inverted_cdf")
    fitted = make_pipeline(bins.set_output(transform="pandas"), learner.make()).fit(gaussian_frame(0))
    assert list(fitted[-1].graph_.nodes()) == list("abcd")
    assert fitted[-1].graph_.number_of_edges() > 0


@every_learner
def test_pipeline_to_states(learner):
    """scikit-learn's bins are floats; one cast makes states of them."""
    bins = KBinsDiscretizer(n_bins=3, encode="ordinal", quantile_method="averaged_inverted_cdf")
    fitted = make_pipeline(bins, FunctionTransformer(np.ndarray.astype, kw_args={"dtype": "int8"}), learner.make())
    states = fitted.fit(gaussian_frame(0))[-1].model_.states
    assert states == {f"x{v}": [0, 1, 2] for v in range(4)}


# ---- options ----


@every_learner
def test_unknown_options_are_refused_with_the_list(learner):
    with pytest.raises(TypeError, match="no_such_option"):
        learner.make(no_such_option=1)
    with pytest.raises(ValueError, match=r"no_such_option.*Valid parameters are.*max_indegree"):
        learner.make().set_params(no_such_option=1)
    with pytest.raises(ValueError, match=r"'no such score'.*bic.*k2"):
        learner.make(scoring_method="no such score").fit(dependent_frame(0))


@every_learner
def test_every_option_is_checked_when_fitted_not_before(learner):
    """Each declared option refuses a value of no type at all, and names itself; the constructor takes anything."""
    unchecked = []
    for name in learner.make().get_params():
        odd = learner.make(**{name: object()})
        try:
            odd.fit(dependent_frame(0))
        except (TypeError, ValueError) as error:
            if name not in str(error):
                unchecked.append(name)
        else:
            unchecked.append(name)
    assert not unchecked


@every_learner
def test_declared_constraints_are_those_of_the_constructor(learner):
    assert set(learner.make._parameter_constraints) == set(learner.make().get_params())
