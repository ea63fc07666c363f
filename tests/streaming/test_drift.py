"""Intervals that keep their coverage, and signs of changes: against numpy twins, and on streams that change."""

import numpy as np
import pytest

from helpers.stream_learners import list_state
from oracles.raker import RakerTwin, flag_changes, flag_mistakes, track_intervals
from pgmx.datasets import drifting_stream
from pgmx.streaming import AdaRakerClassifier, AdaRakerRegressor, RakerRegressor, StreamLearner


def test_functions_change_where_they_are_said_to():
    X, y, changes = drifting_stream(700, 200, n_features=2, noise=0.0, random_state=3)
    assert changes.tolist() == [200, 400, 600]
    for part in np.split(np.arange(700), changes):
        powers = [X[part, 0] ** i * X[part, 1] ** j for i in range(7) for j in range(7 - i)]
        features = np.column_stack(powers)
        fit = features @ np.linalg.lstsq(features, y[part], rcond=None)[0]
        assert np.mean((fit - y[part]) ** 2) < 0.05 * np.var(y[part])
    assert abs(y.mean() - 0.5) < 0.1
    assert 0.15 < y.std() < 0.35


@pytest.mark.parametrize("coverage", [0.9, 0.5])
def test_intervals_are_their_twin(coverage):
    X, y, _ = drifting_stream(900, 400)
    learner = RakerRegressor(n_components=10, coverage=coverage)
    ends = learner.predict_interval_partial_fit(X, y)
    errors = y - RakerRegressor(n_components=10, coverage=None).predict_partial_fit(X, y)
    widths = track_intervals(errors, coverage)
    np.testing.assert_allclose((ends[1:, 1] - ends[1:, 0]) / 2.0, widths[1:], rtol=1e-9)
    np.testing.assert_array_equal(ends[0], [-np.inf, np.inf])
    inside = (ends[:, 0] <= y) & (y <= ends[:, 1])
    assert abs(inside.mean() - coverage) < 0.03
    later = learner.predict_interval(X[:5])
    np.testing.assert_allclose(later.mean(axis=1), learner.predict(X[:5]), rtol=1e-12)
    with pytest.raises(ValueError, match="coverage=None"):
        RakerRegressor(coverage=None).fit(X, y).predict_interval(X)


def test_flags_are_their_twin():
    X, y, changes = drifting_stream(900, 500, random_state=2)
    learner = AdaRakerRegressor(n_components=20, variances=1.0).fit(X, y)
    twin = RakerTwin(learner.frequencies_, step=1.0, adaptive=True)
    for row in zip(X, y, strict=True):
        twin.learn(*row)
    sizes = [np.sqrt(losses[6]) for losses in twin.losses[63:]]
    flags = 63 + np.array(flag_changes(sizes))
    np.testing.assert_array_equal(learner.drift_.flags, flags)
    assert learner.drift_.n_flags == len(flags) == len(changes)
    late = {}
    for losses in twin.losses:
        late = {j: loss + 0.99 * (late.get(j, loss) - loss) for j, loss in losses.items()}
    assert learner.drift_.interval == 2 ** min(late, key=late.get)


@pytest.mark.parametrize(("loss", "step"), [("logistic", 64.0), ("hinge", 32.0)])
@pytest.mark.parametrize("n_labels", [2, 3])
def test_flags_of_labels_are_their_twin(loss, step, n_labels):
    X, y, _ = drifting_stream(400, None, noise=0.0)
    labels = np.digitize(y, [0.5] if n_labels == 2 else [0.3, 0.6])
    labels[300:] = (labels[300:] + 1) % n_labels
    learner = AdaRakerClassifier(loss=loss, n_components=20, variances=1.0).fit(X, labels)
    outputs = []
    for k in [1] if n_labels == 2 else range(3):
        twin = RakerTwin(learner.frequencies_, step=step, loss=loss, adaptive=True)
        for row in zip(X, np.where(labels == k, 1.0, -1.0), strict=True):
            twin.learn(*row)
        outputs.append([experts[6] for experts in twin.outputs[63:]])
    guesses = np.array(outputs[0]) > 0 if n_labels == 2 else np.argmax(outputs, axis=0)
    flags = 63 + np.array(flag_mistakes(guesses != labels[63:]))
    assert len(flags)
    np.testing.assert_array_equal(learner.drift_.flags, flags)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_flags_of_labels_without_a_change(loss):
    X, y, _ = drifting_stream(10_000, None, noise=0.3, random_state=1)
    assert AdaRakerClassifier(loss=loss, n_components=20).fit(X, y > 0.5).drift_.n_flags == 0


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.1, 0.3])
def test_changes_are_flagged_and_followed(noise):
    """A flag within 300 rows of each change, none without one; errors near those of the best step size."""
    ratios = []
    for seed in range(4):
        X, y, changes = drifting_stream(12_000, noise=noise, random_state=seed)
        learner = AdaRakerRegressor()
        errors = {"ada": (learner.predict_partial_fit(X, y) - y) ** 2}
        delays = learner.drift_.flags[:, None] - changes
        assert (((delays >= 0) & (delays < 300)).sum(axis=0) >= 1).all()
        assert learner.drift_.n_flags == len(changes)
        X, y, _ = drifting_stream(10_000, None, noise=noise, random_state=100 + seed)
        still = AdaRakerRegressor()
        means = {"ada": np.mean((still.predict_partial_fit(X, y) - y) ** 2)}
        assert still.drift_.n_flags <= 1
        assert still.drift_.interval > 8
        for step in (0.02, 0.05, 0.1, 0.25):
            means[step] = np.mean((RakerRegressor(step=step).predict_partial_fit(X, y) - y) ** 2)
        X, y, _ = drifting_stream(12_000, noise=noise, random_state=seed)
        for step in (0.02, 0.05, 0.1, 0.25):
            errors[step] = (RakerRegressor(step=step).predict_partial_fit(X, y) - y) ** 2
        after = {name: np.mean([part[start : start + 300] for start in changes]) for name, part in errors.items()}
        ratios.append([both.pop("ada") / min(both.values()) for both in (after, means)])
    assert np.max(ratios, axis=0)[0] < 1.15
    assert np.max(ratios, axis=0)[1] < 1.25


def test_flags_remember_the_last_64():
    X, y, changes = drifting_stream(48_000, 400, noise=0.05)
    drift = AdaRakerRegressor(n_components=20, variances=1.0).fit(X, y).drift_
    assert len(changes) >= drift.n_flags > 64
    assert len(drift.flags) == 64
    assert (np.diff(drift.flags) > 0).all()
    assert drift.flags[-1] > changes[-9]
    assert drift.step <= 0.5


def test_changes_of_labels_are_flagged():
    X, y, _ = drifting_stream(4000, None, noise=0.0)
    drift = AdaRakerClassifier(variances=1.0).fit(X, (y > 0.5) ^ (np.arange(4000) >= 2500)).drift_
    assert drift.n_flags >= 1
    assert 2500 <= drift.flags[0] < 2800


def test_flags_survive_a_file(tmp_path):
    X, y, _ = drifting_stream(3000, 500, random_state=2)
    learner = AdaRakerRegressor(n_components=20, variances=1.0).fit(X[:900], y[:900])
    assert learner.drift_.n_flags == 1
    copy = StreamLearner.load(learner.save(tmp_path / "learner.npz"))
    assert list_state(copy) == list_state(learner)
    np.testing.assert_array_equal(copy.drift_.flags, learner.drift_.flags)
    assert list_state(copy.partial_fit(X[900:], y[900:])) == list_state(learner.partial_fit(X[900:], y[900:]))
    assert copy.drift_.n_flags > 1
