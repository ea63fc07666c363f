"""Regret of learners with random features, against least squares by another solver and replays of the twin."""

import numpy as np
import pytest

from oracles.raker import RakerTwin
from pgmx.metrics import regret
from pgmx.plotting import plot_regret
from pgmx.streaming import AdaRakerRegressor, RakerClassifier, RakerRegressor


def draw_rows(n_rows=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, 2))
    y = np.where(np.arange(n_rows) < n_rows // 2, np.sin(3 * X[:, 0]), X[:, 1] ** 2)
    return X, 0.6 * y + 0.05 * rng.normal(size=n_rows)


def solve_best(features, y):
    """Return the least loss over kernels, with the squared length of its coefficients."""
    answers = []
    for p in range(len(features(np.zeros(2)))):
        Z = np.array([features(x)[p] for x in y[0]])
        theta = np.linalg.lstsq(Z, y[1], rcond=1e-6)[0]
        answers.append((((Z @ theta - y[1]) ** 2).sum(), theta @ theta))
    return min(answers)


def test_regret_and_bound_by_definition():
    X, y = draw_rows()
    step, rate = 0.2, 0.3
    learner = RakerRegressor(n_components=4, variances=(0.2, 1.0), step=step, weight_step=rate)
    curve = regret(learner, X, y, changes=[30], n_points=4)
    assert curve.n_rows.tolist() == [15, 30, 45, 60]
    frequencies = curve.learner.frequencies_
    twin = RakerTwin(frequencies, step=step, weight_step=rate)
    slopes, losses = [], []
    for x, target in zip(X, y, strict=True):
        theta = twin.coefficients.get(0, np.zeros((2, 8)))
        slopes.append(max(2 * abs(a @ z - target) for a, z in zip(theta, twin.wave(x), strict=True)))
        losses.append((twin.learn(x, target) - target) ** 2)
    for i, n in enumerate(curve.n_rows):
        least, length = solve_best(twin.wave, (X[:n], y[:n]))
        total = np.sum(losses[:n])
        assert curve.losses[i] == pytest.approx(total)
        assert curve.static[i] == pytest.approx(total - least)
        expected = np.log(2) / rate + length / (2 * step) + step * max(slopes[:n]) ** 2 * n / 2 + rate * n
        assert curve.bound[i] == pytest.approx(expected, rel=1e-6)
        pieces = [solve_best(twin.wave, (X[a:b], y[a:b]))[0] for a, b in ((0, min(n, 30)), (30, n)) if a < b]
        assert curve.dynamic[i] == pytest.approx(total - sum(pieces))
    assert curve.to_frame().shape == (4, 5)
    assert not hasattr(learner, "n_seen_")


def test_regret_is_below_its_bound_on_50_seeds():
    ratios = []
    for seed in range(50):
        X, y = draw_rows(80, seed)
        learner = RakerRegressor(n_components=5, step=0.1, weight_step=0.1, random_state=seed)
        curve = regret(learner, X, y, n_points=2)
        ratios.append(curve.static / curve.bound)
    assert np.max(ratios) < 1  # NaN where a loss exceeds 1 would fail
    assert np.min(ratios) > 0


def test_features_are_those_of_the_learner():
    X, y = draw_rows()
    learner = RakerRegressor(n_components=3, kernels=("polynomial3", "gaussian", "linear", "polynomial2")).fit(X, y)
    features = learner._map_rows(X)
    outputs = np.einsum("pi,tpi->tp", learner._coefficients[0, 0], features)
    np.testing.assert_allclose(outputs @ learner.kernel_weights_[0, 0], learner.predict(X), rtol=1e-9)


def test_bounds_need_their_assumptions():
    X, y = draw_rows(40)
    for learner, targets in [
        (RakerRegressor(step="inverse_sqrt", weight_step=0.5), y),
        (RakerRegressor(penalty=0.1, weight_step=0.5), y),
        (RakerRegressor(), y),  # weight_step above 1
        (RakerRegressor(kernels="linear", weight_step=0.5), y),
        (RakerRegressor(weight_step=0.5), 5 * y),
        (AdaRakerRegressor(), y),
    ]:
        curve = regret(learner.set_params(n_components=4), X, targets, n_points=1)
        assert np.isnan(curve.bound).all()
        assert curve.static[0] > 0
        np.testing.assert_array_equal(curve.dynamic, curve.static)
    assert len(plot_regret(curve).get_lines()) == 1


def test_what_is_refused():
    X, y = draw_rows(20)
    with pytest.raises(TypeError, match="got RakerClassifier"):
        regret(RakerClassifier(), X, y > 0.5)
    with pytest.raises(ValueError, match="has learned 20 rows"):
        regret(RakerRegressor().fit(X, y), X, y)
    for changes in ([0], [3, 2], [20], [1.5], 3):
        with pytest.raises(ValueError, match="ascending rows from 1 to 19"):
            regret(RakerRegressor(), X, y, changes=changes)
    with pytest.raises(ValueError, match="n_points"):
        regret(RakerRegressor(), X, y, n_points=0)
    with pytest.raises(TypeError, match="expected the result of regret"):
        plot_regret({})


def test_the_picture_has_regrets_and_bound():
    X, y = draw_rows()
    curve = regret(RakerRegressor(n_components=4, weight_step=0.5), X, y, changes=[30], n_points=6)
    lines = plot_regret(curve).get_lines()
    for line, values in zip(lines, (curve.static, curve.dynamic, curve.bound), strict=True):
        np.testing.assert_array_equal(line.get_ydata(), values)
