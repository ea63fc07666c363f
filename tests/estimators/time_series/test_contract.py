"""What every learner of series keeps: scikit-learn's contract, pgmpy's, and the project's own."""

import copy
import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from helpers.series_learners import (
    SERIES_LEARNERS,
    every_series_learner,
    frame_of_system,
    list_coefficients,
    make_series_learner,
)
from pgmx.estimators import BaseStructureLearner

# the series of these tests have no windows of different power
pytestmark = pytest.mark.filterwarnings("ignore::pgmx.estimators.IdentifiabilityWarning")


CHECKED = [make_series_learner(cls) for cls, entry in SERIES_LEARNERS.items() if entry.takes_any_width]


@parametrize_with_checks(
    CHECKED[:1], expected_failed_checks=lambda estimator: SERIES_LEARNERS[type(estimator)].failures
)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    CHECKED[1:], expected_failed_checks=lambda estimator: SERIES_LEARNERS[type(estimator)].failures
)
def test_scikit_learn_relatives(estimator, check):
    check(estimator)


@every_series_learner
def test_constructor(cls):
    first, *others = inspect.signature(cls).parameters.values()
    assert (first.name, first.default) == ("data", None)
    assert {parameter.kind for parameter in others} == {inspect.Parameter.KEYWORD_ONLY}
    assert set(vars(cls())) == {"data", *(parameter.name for parameter in others)}
    assert issubclass(cls, BaseStructureLearner)


@every_series_learner
def test_both_faces_and_clones_learn_the_same(cls):
    data = frame_of_system()
    learner = make_series_learner(cls, data=data)
    graph = learner.estimate()
    copied = clone(learner)
    assert copied.data is None
    assert copied.fit(data).graph_.edges == graph.edges
    assert set(graph.nodes) == {(name, lag) for name in "abcd" for lag in range(graph.lags + 1)}
    assert learner.variables_ == list("abcd")


@every_series_learner
def test_the_series_are_untouched_and_may_be_read_only(cls):
    data = frame_of_system()
    before = copy.deepcopy(data)
    fitted = make_series_learner(cls).fit(data)
    pd.testing.assert_frame_equal(data, before, check_exact=True)
    rows = data.to_numpy().copy()
    rows.setflags(write=False)
    np.testing.assert_array_equal(list_coefficients(make_series_learner(cls).fit(rows)), list_coefficients(fitted))
    rows = data.to_numpy().copy()
    make_series_learner(cls).fit(rows)
    assert rows.flags.writeable


@every_series_learner
def test_a_fitted_learner_can_be_pickled(cls):
    fitted = make_series_learner(cls).fit(frame_of_system())
    copied = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(list_coefficients(copied), list_coefficients(fitted))
    assert copied.graph_.edges == fitted.graph_.edges


@every_series_learner
def test_weights_are_refused(cls):
    with pytest.raises(ValueError, match=f"{cls.__name__} does not support sample_weight"):
        make_series_learner(cls).fit(frame_of_system(), sample_weight=np.ones(200))


@every_series_learner
def test_results_before_a_fit_are_an_error(cls):
    with pytest.raises(AttributeError, match="not fitted"):
        _ = make_series_learner(cls).graph_
