"""Learners with exact kernels, OMKL and OMKL-B, against numpy twins, and against Raker with many frequencies."""

import numpy as np
import pytest

from helpers.stream_learners import list_state
from oracles.raker import KERNELS, ExactTwin
from pgmx.streaming import OnlineKernelClassifier, OnlineKernelRegressor, RakerRegressor, StreamLearner


def draw_rows(n_rows=150, seed=0, n_features=3):
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, n_features))
    return X, np.sin(4.0 * X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=n_rows)


@pytest.mark.parametrize("budget", [None, 1, 20])
def test_regressors_are_their_twin(budget):
    X, y = draw_rows(80)
    X = 1.4 * X
    learner = OnlineKernelRegressor(kernels=list(KERNELS), variances=(0.3, 2.0), budget=budget, penalty=0.05)
    predictions = learner.predict_partial_fit(X, y)
    twin = ExactTwin(learner.kernels_, step=0.25, penalty=0.05, budget=budget)
    expected = [twin.learn(*row) for row in zip(X, y, strict=True)]
    np.testing.assert_allclose(predictions, expected, rtol=1e-9, atol=1e-12)
    weights = np.exp(twin.logs - twin.logs.max())
    np.testing.assert_allclose(learner.kernel_weights_[0], weights / weights.sum(), rtol=1e-9)
    assert learner.n_supports_ == (budget or 80)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_classifiers_are_their_twins(loss):
    X, y = draw_rows(80, seed=1)
    labels = np.digitize(y, [0.2, 0.5])
    learner = OnlineKernelClassifier(variances=(0.5, 3.0), loss=loss, budget=30)
    predictions = learner.predict_partial_fit(X, labels, classes=[0, 1, 2])
    outputs = []
    for k in range(3):
        twin = ExactTwin(learner.kernels_, step={"logistic": 4.0, "hinge": 2.0}[loss], loss=loss, budget=30)
        outputs.append([twin.learn(x, 1.0 if label == k else -1.0) for x, label in zip(X, labels, strict=True)])
    np.testing.assert_array_equal(predictions, np.argmax(outputs, axis=0))
    assert hasattr(learner, "predict_proba") == (loss == "logistic")


def test_two_classes_have_one_function():
    X, y = draw_rows(40)
    learner = OnlineKernelClassifier(variances=(0.5, 3.0))
    predictions = learner.predict_partial_fit(X, y > 0.3, classes=[False, True])
    twin = ExactTwin(learner.kernels_, step=4.0, loss="logistic", budget=None)
    outputs = [twin.learn(x, 1.0 if label else -1.0) for x, label in zip(X, y > 0.3, strict=True)]
    np.testing.assert_array_equal(predictions, np.array(outputs) > 0)


def test_raker_with_many_frequencies_comes_near():
    X, y = draw_rows()
    exact = OnlineKernelRegressor(weight_step=2.0).predict_partial_fit(X, y)
    distances = [
        np.abs(RakerRegressor(n_components=n, coverage=None).predict_partial_fit(X, y) - exact).max()
        for n in (30, 2000)
    ]
    assert distances[1] < 0.05
    assert distances[1] < 0.5 * distances[0]


def test_a_budget_above_the_rows_is_none(tmp_path):
    X, y = draw_rows(70)
    whole, other = OnlineKernelRegressor().fit(X, y), OnlineKernelRegressor(budget=70).fit(X, y)
    np.testing.assert_array_equal(whole.predict(X), other.predict(X))
    copy = StreamLearner.load(whole.save(tmp_path / "learner.npz"))
    assert copy._supports.shape == (70, 8)
    room = len(whole._supports)
    assert 70 <= room < 140
    assert list_state(copy.partial_fit(X, y)) == list_state(whole.partial_fit(X, y))
    assert len(whole._supports) == 2 * room < 4 * 70


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"budget": 0}, "budget"),
        ({"budget": 2.5}, "budget"),
        ({"step": 1.0}, "diverges"),
        ({"kernels": "rbf"}, "'rbf'"),
        ({"variances": -1.0}, "variances"),
        ({"weight_step": -1.0}, "weight_step"),
    ],
)
def test_refused_options(options, words):
    with pytest.raises(ValueError, match=words):
        OnlineKernelRegressor(**options).fit(*draw_rows(5))
