"""Learners of streams for river: its own checks, where it is installed, and what is refused."""

import numpy as np
import pytest

from helpers.stream_learners import STREAMS, list_state
from pgmx.streaming import CategoricalSubspace, to_river
from pgmx.streaming.least_squares import RecursiveLeastSquares, RecursiveLeastSquaresClassifier

#: One way of each class.
KINDS = {make.cls: make for make in STREAMS}


def test_what_is_refused():
    with pytest.raises(TypeError, match="got int"):
        to_river(3)
    with pytest.raises(TypeError, match="CategoricalSubspace is neither"):
        to_river(CategoricalSubspace())
    with pytest.raises(ValueError, match="classes=None"):
        to_river(RecursiveLeastSquaresClassifier())
    with pytest.raises(ValueError, match="is a regressor"):
        to_river(RecursiveLeastSquares(), classes=[0, 1])


@pytest.mark.slow
@pytest.mark.parametrize("make", KINDS.values(), ids=lambda make: make.name)
def test_checks_of_river(make):
    pytest.importorskip("river")
    from river import checks

    model = to_river(make(), **({"classes": [False, True]} if make.is_classifier else {}))
    for check in checks.yield_checks(model):
        if check.__name__ not in model._unit_test_skips():
            check(model.clone())


def test_a_river_learner_is_the_learner():
    pytest.importorskip("river")
    make = STREAMS[0]
    X, y = make.draw(30)
    learner = make().fit(X[:10], y[:10])
    model, names = to_river(learner), "abcd"
    direct = make().fit(X[:10], y[:10])
    before = list_state(learner)
    for t in range(10, 30):
        row = dict(zip(names, X[t], strict=True))
        model.learn_one(row, y[t])
        direct.partial_fit(X[t : t + 1], y[t : t + 1])
        assert model.predict_one(dict(reversed(row.items()))) == direct.predict(X[t : t + 1])[0]
    assert list_state(learner) == before
    assert model.predict_one({"a": 0.5}) == direct.predict(np.array([[0.5, 0, 0, 0]]))[0]
