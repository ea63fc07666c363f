"""Structural equations with edges that are known to be there, or not to be."""

import numpy as np
import pytest

from pgmx.datasets import switching_series
from pgmx.estimators import TensorSEM

COEF = np.array([[0.0, 0.5, 0.0], [0.0, 0.0, 0.4], [0.3, 0.05, 0.0]])
WEAK, WRONG = (("x1", 0), ("x2", 0)), (("x0", 0), ("x1", 0))


@pytest.fixture(scope="module")
def drawn():
    return switching_series(COEF, 8, 400, random_state=2)


def fit(drawn, **options):
    return TensorSEM(window=400, **options).fit(drawn.series, exogenous_power=drawn.exogenous_power)


def test_edges_are_there_and_coefficients_are_zero_as_stated(drawn):
    plain, learner = fit(drawn), fit(drawn, required_edges=[WEAK], forbidden_edges=[WRONG])
    assert plain.coef_[1, 0] != 0.0 and not plain.graph_.has_edge(*WEAK)
    assert learner.coef_[1, 0] == learner.standard_errors_[1, 0] == 0.0
    assert learner.graph_.edges[WEAK]["weight"] == learner.coef_[2, 1]
    assert set(learner.graph_.instantaneous_edges) == {*plain.graph_.instantaneous_edges, WEAK}
    np.testing.assert_allclose(learner.coef_, COEF, atol=0.06)
    assert learner.objective_ <= plain.objective_


def test_knowledge_that_holds_nothing_back_changes_nothing(drawn):
    np.testing.assert_array_equal(fit(drawn, required_edges=[WEAK]).coef_, fit(drawn).coef_)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"forbidden_edges": [WRONG], "method": "als"}, "forbidden_edges needs method='likelihood', got 'als'"),
        ({"forbidden_edges": [(("x0", 1), ("x1", 0))]}, "('x0', 1)"),
        ({"required_edges": [WRONG], "forbidden_edges": [WRONG]}, "x0"),
    ],
)
def test_knowledge_that_cannot_be_used_is_refused(drawn, options, words):
    with pytest.raises(ValueError) as caught:
        fit(drawn, **options)
    assert words in str(caught.value)
