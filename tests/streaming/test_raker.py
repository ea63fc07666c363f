"""Raker and AdaRaker: every update against its numpy twin, features against the kernels, laws of the weights."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

from oracles.raker import RakerTwin, sketch_polynomial
from pgmx._ext import _raker
from pgmx.streaming import (
    AdaRakerClassifier,
    AdaRakerRegressor,
    GradrakerClassifier,
    GradrakerRegressor,
    RakerClassifier,
    RakerRegressor,
)
from pgmx.streaming.features import draw_frequencies, draw_sketch, transform_sketch


def draw_rows(n_rows, seed=0, n_features=3):
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, n_features))
    return X, np.sin(4.0 * X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=n_rows)


def replay(learner, X, y, frequencies, step, features=None):
    names = ("loss", "weight_step", "penalty")
    options = {name: getattr(learner, name) for name in names if hasattr(learner, name)}
    twin = RakerTwin(
        frequencies,
        step=step,
        adaptive="Ada" in type(learner).__name__,
        restart=learner.restart,
        base=learner.base,
        features=features,
        **options,
    )
    return twin, np.array([twin.learn(*row) for row in zip(X, y, strict=True)])


def halve(t):
    return 0.4 / (1 + t // 50)


@pytest.mark.parametrize("cls", [RakerRegressor, AdaRakerRegressor])
def test_dictionaries_that_mix_kinds_are_their_twin(cls):
    """Sketches by Fourier transforms and back; rows are so long that some steps are shortened."""
    X, y = draw_rows(120, n_features=9)
    X *= 1.5
    kernels = ["polynomial2", "gaussian", "linear", "polynomial3", "laplacian_l1"]
    learner = cls(n_components=4, kernels=kernels, variances=(0.5, 2.0))
    predictions = learner.predict_partial_fit(X, y)
    rng = np.random.RandomState(0)
    pairs = [("gaussian", 0.5), ("gaussian", 2.0), ("laplacian_l1", 0.5), ("laplacian_l1", 2.0)]
    frequencies = draw_frequencies(pairs, 9, 4, True, rng)
    np.testing.assert_array_equal(learner.frequencies_, frequencies)
    buckets, signs = draw_sketch(3, 10, 4, rng)

    def map_row(x):
        waves = list(np.hstack([np.sin(frequencies @ x), np.cos(frequencies @ x)]) / 2)
        second, third = (sketch_polynomial(x, buckets[:q], signs[:q], 8) for q in (2, 3))
        return [second, *waves[:2], x / 3, third, *waves[2:]]

    assert any(z @ z > 1 for x in X for z in map_row(x)[::3])
    _, expected = replay(learner, X, y, frequencies, learner.step, map_row)
    np.testing.assert_allclose(predictions, expected, rtol=1e-8, atol=1e-12)
    assert learner.kernels_[0] == ("polynomial2", 2.0)
    assert learner.kernels_[3] == ("linear", 1.0)


def test_sketches_approach_the_polynomials():
    rng = np.random.RandomState(0)
    X = rng.random_sample((30, 6))
    for degree in (2, 3):
        buckets, signs = draw_sketch(degree, 7, 2000, rng)
        Z = np.array([sketch_polynomial(x, buckets, signs, 4000) for x in X])
        exact = ((1 + X @ X.T) / 7) ** degree
        assert np.abs(Z @ Z.T - exact).max() < 0.04
        maps = np.hstack([np.ones((30, 1)), X]) / np.sqrt(7) @ transform_sketch(buckets, signs, 2000)
        real, imaginary = np.ones((30, 2001)), np.zeros((30, 2001))
        for part in np.split(maps, degree, axis=1):
            more = np.concatenate([np.zeros((30, 1)), part[:, 2001:], np.zeros((30, 1))], axis=1)
            real, imaginary = real * part[:, :2001] - imaginary * more, real * more + imaginary * part[:, :2001]
        np.testing.assert_allclose(real @ real.T + imaginary @ imaginary.T, Z @ Z.T, rtol=1e-9)


def test_linear_kernels_have_all_columns_as_features():
    X, _ = draw_rows(400, n_features=40)
    learner = RakerRegressor(n_components=3, kernels="linear", step=0.9, coverage=None).fit(X, X @ np.arange(40) / 40)
    assert learner.frequencies_.shape == (0, 3, 40)
    assert learner._coefficients.shape == (1, 1, 1, 40)
    theta = np.zeros(40)
    for x, target in zip(X / np.sqrt(40), X @ np.arange(40) / 40, strict=True):
        theta -= 1.8 / max(1, x @ x) * (theta @ x - target) * x
    np.testing.assert_allclose(learner.predict(X), X / np.sqrt(40) @ theta, rtol=1e-9)


@pytest.mark.parametrize("rows", [1, 2, 7, 64, 100])
@pytest.mark.parametrize("base", [2, 3, 10])
def test_interval_learners_start_at_powers_of_the_base(base, rows):
    X, y = draw_rows(rows)
    learner = AdaRakerRegressor(n_components=2, base=base).fit(X, y)
    n_active = sum(base**j <= rows + 1 for j in range(10))
    assert learner.expert_weights_.shape == (1, n_active)
    assert np.log(learner.drift_.interval) / np.log(base) == pytest.approx(
        round(np.log(learner.drift_.interval) / np.log(base))
    )
    assert base**learner._alarm_expert in {2: [64], 3: [81], 10: [100]}[base]
    assert (base ** learner._coefficients.shape[1] > 2**31) and (base ** (learner._coefficients.shape[1] - 1) <= 2**31)


def test_classifiers_take_schedules_of_steps():
    X, y = draw_rows(80)
    labels = y > 0.3
    learner, other = (RakerClassifier(step=step).fit(X, labels) for step in ("inverse_sqrt", lambda t: 4 / np.sqrt(t)))
    np.testing.assert_allclose(learner.decision_function(X), other.decision_function(X), rtol=1e-9)
    constant = RakerClassifier(step="constant").fit(X, labels)
    np.testing.assert_array_equal(constant.decision_function(X), RakerClassifier().fit(X, labels).decision_function(X))
    assert not np.allclose(constant.decision_function(X), learner.decision_function(X))
    single = RakerRegressor(step="inverse_sqrt")
    for t in range(80):
        single.partial_fit(X[t : t + 1], y[t : t + 1])
    whole = RakerRegressor(step="inverse_sqrt").fit(X, y)
    np.testing.assert_array_equal(whole.predict(X), single.predict(X))
    with pytest.raises(TypeError, match="step=.* cannot be saved"):
        other.save("learner.npz")


@pytest.mark.parametrize(
    "learner",
    [
        RakerRegressor(n_components=7, kernels=["gaussian", "laplacian"], variances=(0.3, 2.0)),
        RakerRegressor(n_components=2, step=0.4, weight_step=0.5, penalty=0.1, orthogonal=False),
        AdaRakerRegressor(n_components=9, variances=0.7),
        AdaRakerRegressor(n_components=6, kernels="cauchy", restart=True, step=0.6, penalty=0.05),
        AdaRakerRegressor(n_components=6, kernels="laplacian_l1", base=5),
        RakerRegressor(n_components=5, step="inverse_sqrt", penalty=0.1),
        RakerRegressor(n_components=5, step=halve),
    ],
    ids=["kernels", "penalty", "adaptive", "restart", "base 5", "inverse_sqrt", "function"],
)
def test_regressors_are_their_twin(learner):
    X, y = draw_rows(150)
    predictions = learner.predict_partial_fit(X, y)
    step = (lambda t: 1 / (2.2 * np.sqrt(t))) if learner.step == "inverse_sqrt" else learner.step
    twin, expected = replay(learner, X, y, learner.frequencies_, step)
    np.testing.assert_allclose(predictions, expected, rtol=1e-9, atol=1e-12)
    weights = learner.kernel_weights_[0]
    logs = np.exp(np.array([twin.kernel_logs[j] for j in sorted(twin.kernel_logs)]))
    np.testing.assert_allclose(weights, logs / logs.sum(axis=1, keepdims=True), rtol=1e-9)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-12)


#: Step sizes of classifiers where none is given.
DEFAULT_STEPS = {
    (RakerClassifier, "logistic"): 4.0,
    (RakerClassifier, "hinge"): 2.0,
    (AdaRakerClassifier, "logistic"): 64.0,
    (AdaRakerClassifier, "hinge"): 32.0,
}


@pytest.mark.parametrize("cls", [RakerClassifier, AdaRakerClassifier])
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_classifiers_are_their_twins(cls, loss):
    X, y = draw_rows(120, seed=1)
    labels = np.digitize(y, [0.2, 0.5])
    learner = cls(n_components=5, variances=(0.5, 3.0), loss=loss)
    predictions = learner.predict_partial_fit(X, labels, classes=[0, 1, 2])
    step = DEFAULT_STEPS[cls, loss]
    outputs = [replay(learner, X, np.where(labels == k, 1.0, -1.0), learner.frequencies_, step)[1] for k in range(3)]
    np.testing.assert_array_equal(predictions, np.argmax(outputs, axis=0))
    two = cls(n_components=5, variances=(0.5, 3.0), loss=loss)
    signs = np.where(labels == 2, 1.0, -1.0)
    predictions = two.predict_partial_fit(X, signs, classes=[-1.0, 1.0])
    np.testing.assert_array_equal(predictions, np.where(outputs[2] > 0.0, 1.0, -1.0))
    assert predictions[0] == -1.0
    assert hasattr(two, "predict_proba") == (loss == "logistic")


def test_compiled_levels_and_functions_agree():
    """Sines and cosines of small, large and infinite angles; each learner has one component and one kernel."""
    angles = np.concatenate([np.linspace(-20.0, 20.0, 101), [1e5, -3e5, 7e6, 1e15, -1e300, 0.0, 5e-324]])
    learner = RakerRegressor(n_components=1, variances=1.0, step=0.45).partial_fit([[0.0]], [1.0])
    for angle in angles:
        learner._frequencies[0, 0] = 1.0
        learner._coefficients[0, 0, 0, :2] = 1.0, 0.0
        assert abs(learner.predict([[angle]])[0] - np.sin(angle)) < 3e-16
        learner._coefficients[0, 0, 0, :2] = 0.0, 1.0
        assert abs(learner.predict([[angle]])[0] - np.cos(angle)) < 3e-16
    learner._frequencies[0, 0] = 1e300
    assert learner.predict([[1e300]])[0] == 1.0
    assert _raker.LEVEL in (0, 2, 3)


EXACT = {
    "gaussian": lambda r, s: np.exp(-(r**2) / (2.0 * s**2)),
    "laplacian": lambda r, s: np.exp(-r / s),
    "cauchy": lambda r, s: 1.0 / (1.0 + r**2 / s**2),
}


@pytest.mark.parametrize("kernel", EXACT)
@pytest.mark.parametrize("orthogonal", [True, False])
def test_features_approach_the_kernels(kernel, orthogonal):
    rng = np.random.RandomState(0)
    d, variance = 5, 2.0
    frequencies = draw_frequencies([(kernel, variance)], d, 4_000, orthogonal, rng)[0]
    for length in (0.3, 1.0, 3.0):
        step = rng.standard_normal(d)
        step *= length / np.linalg.norm(step)
        cosines = np.cos(frequencies @ step)
        assert abs(cosines.mean() - EXACT[kernel](length, np.sqrt(variance))) < 0.04
    if orthogonal:
        block = frequencies[:d] / np.linalg.norm(frequencies[:d], axis=1, keepdims=True)
        np.testing.assert_allclose(block @ block.T, np.eye(d), atol=1e-12)
        assert kstest(frequencies[::7, 2], -frequencies[3::7, 2]).pvalue > 1e-3


@given(st.integers(0, 10_000), st.integers(1, 40), st.sampled_from([AdaRakerRegressor, RakerRegressor]))
@settings(max_examples=8, deadline=None)
def test_permuted_columns_and_weights(seed, n_rows, cls):
    X, y = draw_rows(n_rows, seed, n_features=4)
    order = np.random.default_rng(seed).permutation(4)
    learner, other = cls(n_components=3).fit(X[:1], y[:1]), cls(n_components=3).fit(X[:1], y[:1])
    other._frequencies = np.ascontiguousarray(learner._frequencies[order])
    expected, permuted = (
        model.partial_fit(rows[1:] if n_rows > 1 else rows, y[1:] if n_rows > 1 else y).predict(rows)
        for model, rows in ((learner, X), (other, X[:, order]))
    )
    np.testing.assert_allclose(permuted, expected, rtol=1e-6, atol=1e-9)
    if cls is AdaRakerRegressor:
        weights = learner.expert_weights_
        assert weights.shape == (1, int(learner.n_seen_ + 1).bit_length())
        np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-12)


def test_refused_options():
    X, y = draw_rows(5)
    for cls, options, words in [
        (RakerRegressor, {"step": 0.9, "penalty": 0.2}, "step=0.9 diverges.*penalty=0.2: give a step below 0.83"),
        (RakerClassifier, {"step": 8.0}, "step=8.0 diverges with the logistic loss.*below 8$"),
        (RakerClassifier, {"step": 4.0, "penalty": 0.125}, "step=4.0 diverges.*below 4$"),
        (RakerClassifier, {"step": 2.0, "loss": "hinge", "penalty": 0.5}, "step=2.0 diverges.*hinge.*below 2$"),
        (GradrakerClassifier, {"step": 1.0}, "step=1.0 diverges with the square loss.*below 1$"),
        (GradrakerClassifier, {"step": 8.0, "loss": "logistic"}, "step=8.0 diverges with the logistic loss"),
        (GradrakerRegressor, {"step": 1.5}, "step=1.5 diverges with the square loss"),
        (RakerRegressor, {"kernels": "rbf"}, "'rbf'"),
        (RakerRegressor, {"kernels": "polynomial"}, "'polynomial'.*polynomial2, polynomial3"),
        (RakerRegressor, {"step": "sqrt"}, "step.*'constant'|step.*'inverse_sqrt'"),
        (RakerRegressor, {"step": lambda t: 1.0 / t}, "step.1.=1.0 diverges"),
        (RakerRegressor, {"step": lambda t: 0.4 - 0.1 * t}, "step.4. is .* above 0"),
        (RakerRegressor, {"step": lambda t: "x"}, "step.1. is 'x'"),
        (AdaRakerRegressor, {"step": "inverse_sqrt"}, "step"),
        (AdaRakerRegressor, {"base": 1}, "base"),
        (AdaRakerClassifier, {"base": 2.5}, "base"),
        (RakerRegressor, {"kernels": []}, "no kernel"),
        (RakerRegressor, {"variances": (1.0, -2.0)}, "above 0"),
        (RakerRegressor, {"coverage": 1.0}, "coverage"),
        (RakerClassifier, {"loss": "square"}, "loss"),
        (RakerRegressor, {"n_components": True}, "n_components=True .* not a boolean"),
        (AdaRakerRegressor, {"penalty": True}, "penalty=True .* not a boolean"),
        (AdaRakerClassifier, {"penalty": 1e308}, "penalty"),
        (RakerRegressor, {"n_components": 10**30}, "n_components"),
        (RakerRegressor, {"variances": {}}, "variances=.* above 0"),
        (GradrakerRegressor, {"variances": {}}, "variances=.* above 0"),
        (GradrakerRegressor, {"variances": (1.0, -1.0)}, "variances=.* above 0"),
        (GradrakerRegressor, {"kernels": 3}, "kernels"),
        (GradrakerRegressor, {"layers": True}, "layers=True must be a list"),
        (GradrakerClassifier, {"node_features": {}}, "because graph, layers or node_features is set"),
    ]:
        with pytest.raises(ValueError, match=words):
            cls(**options).fit(X, y if "Regressor" in cls.__name__ else y > 0.3)


@pytest.mark.parametrize(
    ("cls", "options"),
    [
        (RakerClassifier, {"step": 7.9}),
        (RakerClassifier, {"step": 100.0, "loss": "hinge"}),
        (GradrakerClassifier, {"step": 7.9, "loss": "logistic"}),
        (GradrakerClassifier, {"step": 100.0, "loss": "hinge"}),
    ],
)
def test_steps_within_the_curvature_of_a_loss_stay_bounded(cls, options):
    """One row whose labels alternate: the slope of the loss is at most 1, so that f keeps within its first step."""
    learner = cls(**options)
    for label in [0, 1] * 30:
        learner.partial_fit([[1.0, 1.0]], [label], classes=[0, 1])
        assert abs(learner.decision_function([[1.0, 1.0]])[0]) <= options["step"]


@pytest.mark.parametrize(("loss", "curvature"), [("logistic", 0.25), ("hinge", 0.5)])
@pytest.mark.parametrize("penalty", [0.0, 0.3, 20.0])
def test_default_steps_shrink_with_the_penalty(loss, curvature, penalty):
    X, y = draw_rows(300)
    full = 1.0 / (curvature + 2.0 * penalty)
    for cls, step in ((RakerClassifier, full), (AdaRakerClassifier, 16.0 * full)):
        one, other = (cls(loss=loss, penalty=penalty, **more).fit(X, y > 0.3) for more in ({}, {"step": step}))
        np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))
        assert np.abs(one.decision_function(X)).max() < 300 * full


@pytest.mark.parametrize(("loss", "step"), [("square", 0.25), ("logistic", 4.0), ("hinge", 2.0)])
def test_default_steps_of_gradraker(loss, step):
    X, y = draw_rows(60)
    one, other = (GradrakerClassifier(loss=loss, **options).fit(X, y > 0.3) for options in ({}, {"step": step}))
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


@pytest.mark.parametrize("cls", [AdaRakerRegressor, RakerRegressor])
def test_targets_near_the_largest_number_leave_numbers(cls):
    X, _ = draw_rows(40)
    learner = cls(n_components=3)
    predictions = learner.predict_partial_fit(X, np.where(np.arange(40) % 3, 1.7e308, -1.7e308))
    assert np.isfinite(predictions).all()
    assert np.isfinite(learner.predict(X)).all()
    assert not np.isnan(learner.predict_interval(X)).any()
    assert np.isfinite(learner.fit(X, X[:, 0]).predict(X)).all()
