"""Errors of learners of streams, against loops that solve each baseline again before each row."""

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.preprocessing import StandardScaler

from helpers.stream_learners import list_state
from pgmx.metrics import prequential
from pgmx.plotting import plot_intervals, plot_prequential
from pgmx.streaming.least_squares import RecursiveLeastSquares, RecursiveLeastSquaresClassifier

LINEAR = "recursive least squares"


def draw_rows(n_rows=70):
    rng = np.random.default_rng(3)
    X = rng.random((n_rows, 3))
    return X, X @ [1.0, -2.0, 0.5] + 0.3 * rng.normal(size=n_rows) + 4.0


def solve_ridge(X, Y, penalty):
    """Return the weights of least squares with an intercept, from scratch."""
    Z = np.hstack([X, np.ones((len(X), 1))])
    return np.linalg.solve(Z.T @ Z + penalty * np.eye(Z.shape[1]), Z.T @ Y)


def average(losses, window):
    return [np.mean(losses[first : first + window]) for first in range(0, len(losses), window)]


def test_errors_of_numbers():
    X, y = draw_rows()
    curve = prequential(RecursiveLeastSquares(penalty=0.5), X, y, window=30)
    guesses = {"RecursiveLeastSquares": [], "last value": [], "running mean": [], LINEAR: []}
    for t in range(len(y)):
        for name, penalty in (("RecursiveLeastSquares", 0.5), (LINEAR, 0.01)):
            guesses[name].append(np.append(X[t], 1.0) @ solve_ridge(X[:t], y[:t], penalty))
        guesses["last value"].append(y[t - 1] if t else 0.0)
        guesses["running mean"].append(y[:t].mean() if t else 0.0)
    assert list(curve.errors) == list(guesses)
    assert curve.n_rows.tolist() == [30, 60, 70]
    assert (curve.loss, curve.window) == ("squared", 30)
    for name, guess in guesses.items():
        losses = (np.array(guess) - y) ** 2
        np.testing.assert_allclose(curve.errors[name], average(losses, 30), rtol=1e-9)
        assert curve.means[name] == pytest.approx(losses.mean(), rel=1e-9)
    assert curve.to_frame().columns.tolist() == ["n_rows", *guesses]


def test_errors_of_labels():
    X, y = draw_rows()
    labels = np.array(["c", "a", "b"])[np.digitize(y, [3.0, 4.0])]
    curve = prequential(RecursiveLeastSquaresClassifier(), X, labels, window=35)
    classes = ["a", "b", "c"]
    wrong = {"last value": [], "most frequent class": [], LINEAR: []}
    for t in range(len(y)):
        counts = [np.sum(labels[:t] == name) for name in classes]
        numbers = 2.0 * (labels[:t, None] == np.array(classes)) - 1.0
        outputs = np.append(X[t], 1.0) @ solve_ridge(X[:t], numbers, 0.01)
        wrong["last value"].append(labels[t] != (labels[t - 1] if t else "a"))
        wrong["most frequent class"].append(labels[t] != classes[int(np.argmax(counts))])
        wrong[LINEAR].append(labels[t] != classes[int(np.argmax(outputs))])
    for name, losses in wrong.items():
        np.testing.assert_allclose(curve.errors[name], average(losses, 35), rtol=1e-12)
    assert curve.loss == "zero-one"
    np.testing.assert_array_equal(curve.errors["RecursiveLeastSquaresClassifier"], curve.errors[LINEAR])


def test_chunks_do_not_change_a_bit_and_the_learner_is_copied():
    X, y = draw_rows()
    learner = RecursiveLeastSquares().fit(X[:20], y[:20])
    before = list_state(learner)
    whole = prequential(learner, X, y, window=8)
    cuts = [1, 2, 30, 33]
    pieces = prequential(learner, zip(np.split(X, cuts), np.split(y, cuts), strict=True), window=8)
    assert whole.means == pieces.means
    for name, errors in whole.errors.items():
        np.testing.assert_array_equal(errors, pieces.errors[name])
    assert list_state(learner) == before
    assert whole.learner.n_seen_ == 90
    assert whole.means["RecursiveLeastSquares"] < whole.means[LINEAR]  # it knew 20 rows


@pytest.mark.parametrize("learner", [SGDRegressor(random_state=0), SGDClassifier(random_state=0)])
def test_learners_of_scikit_learn_are_called_row_by_row(learner):
    X, y = draw_rows(12)
    labels = {"classes": [0, 1]} if isinstance(learner, SGDClassifier) else {}
    y = (y > 4.0).astype(int) if labels else y
    curve = prequential(learner, X, y, window=4)
    losses = [y[0] != 0 if labels else y[0] ** 2]
    for t in range(1, 12):
        learner.partial_fit(X[t - 1 : t], y[t - 1 : t], **labels)
        guess = learner.predict(X[t : t + 1])[0]
        losses.append(guess != y[t] if labels else (guess - y[t]) ** 2)
    np.testing.assert_allclose(curve.errors[type(learner).__name__], average(losses, 4), rtol=1e-12)


def test_what_cannot_be_measured_is_refused():
    X, y = draw_rows()
    with pytest.raises(ValueError, match="window must be at least 1"):
        prequential(RecursiveLeastSquares(), X, y, window=0)
    with pytest.raises(ValueError, match="classes=None"):
        prequential(RecursiveLeastSquaresClassifier(), iter([(X, y > 4)]))
    with pytest.raises(ValueError, match="is a regressor"):
        prequential(RecursiveLeastSquares(), X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="no chunk"):
        prequential(RecursiveLeastSquares(), iter([]))
    with pytest.raises(TypeError, match="StandardScaler has no predict"):
        prequential(StandardScaler(), np.ones((5, 3)), None)


def test_the_picture_shows_the_curve():
    X, y = draw_rows()
    curve = prequential(RecursiveLeastSquares(), X, y, window=7)
    ax = plot_prequential(curve)
    for line, (name, errors) in zip(ax.get_lines(), curve.errors.items(), strict=True):
        np.testing.assert_array_equal(line.get_ydata(), errors)
        assert line.get_label().startswith(f"{name}: ")
    assert ax.get_yscale() == "log"
    assert curve.passes.tolist() == [curve.means["RecursiveLeastSquares"]]
    with pytest.raises(ValueError, match="RecursiveLeastSquares has no thresholds"):
        plot_prequential(curve, show="thresholds")
    labels = prequential(RecursiveLeastSquaresClassifier(), X, y > 4, window=7)
    assert plot_prequential(labels).get_ylabel() == "share of wrong labels"
    with pytest.raises(TypeError, match="expected the result of prequential"):
        plot_prequential({"errors": 1})


def test_the_picture_of_intervals_marks_what_is_outside():
    y = np.array([0.0, 2.0, 1.0, 5.0])
    ends = [[-np.inf, np.inf], [1.0, 3.0], [1.5, 2.0], [0.0, 4.0]]
    ax = plot_intervals(y, ends, flags=[2])
    lines = {line.get_label(): line.get_xdata() for line in ax.get_lines()}
    assert lines["outside its interval"].tolist() == [2, 3]
    assert lines["change flagged"] == [2.0, 2.0]
    assert "target, 33.3% inside" in lines
    with pytest.raises(ValueError, match="intervals must have the shape"):
        plot_intervals(y, ends[:3])
