"""Errors of coefficients and predictions, recall of parents, and curves of edges."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score, roc_curve

from pgmx.metrics import (
    coefficient_error,
    edge_curve,
    edge_error_rate,
    edge_mse,
    prediction_error,
    structure_recall,
    success_rate,
)
from pgmx.plotting import plot_roc


def draw(seed, shape=(5, 5), share=0.4):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape) * (rng.random(shape) < share)


FORMS = {
    "dense": lambda lags: np.stack([np.zeros_like(lags[0]), *lags]),
    "sparse": lambda lags: tuple(map(csr_array, [np.zeros_like(lags[0]), *lags])),
    "learner": lambda lags: SimpleNamespace(coef_=np.stack([np.zeros_like(lags[0]), *lags])),
    "system": lambda lags: SimpleNamespace(coef=np.stack([np.zeros_like(lags[0]), *lags]), intercept=None),
}
each_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


@each_form
def test_coefficient_error(form):
    estimate, truth = draw(0, (2, 5, 5)), draw(1, (2, 5, 5))
    expected = np.linalg.norm(estimate - truth) / np.linalg.norm(truth)
    assert coefficient_error(form(estimate), FORMS["sparse"](truth)) == pytest.approx(expected, rel=1e-12)
    assert coefficient_error(form(truth), form(truth)) == 0
    # one lag alone against two: the second counts as zeros
    expected = np.linalg.norm(np.stack([estimate[0], np.zeros((5, 5))]) - truth) / np.linalg.norm(truth)
    assert coefficient_error(estimate[0], form(truth)) == pytest.approx(expected, rel=1e-12)
    assert coefficient_error(csr_array(estimate[0]), form(truth)) == pytest.approx(expected, rel=1e-12)


@each_form
def test_prediction_error(form):
    coef, X = draw(2, (2, 5, 5)), draw(3, (5000, 5), 1.0)
    predictions = X[1:-1] @ coef[0].T + X[:-2] @ coef[1].T
    expected = np.linalg.norm(predictions - X[2:]) / np.linalg.norm(X[2:])
    assert prediction_error(form(coef), X) == pytest.approx(expected, rel=1e-12)
    expected = np.linalg.norm(predictions + 0.5 - X[2:]) / np.linalg.norm(X[2:])
    assert prediction_error(form(coef), X, intercept=np.full(5, 0.5)) == pytest.approx(expected, rel=1e-12)


def test_prediction_error_of_pairs_of_rows():
    coef, X = draw(2), draw(3, (50, 5), 1.0)
    assert prediction_error(coef, X, X @ coef.T) < 1e-15
    assert prediction_error(np.zeros((5, 5)), X, X @ coef.T) == 1
    system = SimpleNamespace(coef=coef, intercept=np.ones(5))
    assert prediction_error(system, X, X @ coef.T + 1) < 1e-15


def test_structure_recall():
    truth = np.array([[1.0, 2, 0, 0], [0, 0, 0, 0], [1, 1, 1, 0], [0, 0, 0, 4]])
    estimate = np.array([[3.0, 0, 1, 0], [1, 1, 1, 1], [3, 0.1, -2, 1], [0, 0, 0, 0]])
    assert structure_recall(estimate, truth) == pytest.approx((1 / 2 + 1 + 0) / 3)
    assert structure_recall(estimate, truth, k=1) == pytest.approx((1 + 1 + 0) / 3)
    assert structure_recall(csr_array(estimate), truth, k=2) == pytest.approx((1 / 2 + 1 + 0) / 3)
    # two lags: parents are pairs of lag and source
    lagged = np.stack([np.zeros((4, 4)), truth, truth])
    assert structure_recall(truth, lagged) == pytest.approx(1 / 2)


def test_edge_error_rate():
    truth, estimate = draw(5) != 0, draw(6) != 0
    off = ~np.eye(5, dtype=bool)
    assert edge_error_rate(estimate, truth) == pytest.approx((truth ^ estimate)[off].sum() / 20)
    assert edge_error_rate(truth, csr_array(truth.astype(float))) == 0
    lags = np.stack([np.zeros((5, 5)), truth, estimate])
    assert edge_error_rate(lags, np.stack([np.zeros((5, 5)), truth, truth])) == pytest.approx(
        (truth ^ estimate)[off].sum() / 40
    )


@pytest.mark.parametrize("diagonal", [False, True])
def test_edge_curve_equals_scikit_learns(diagonal):
    rng = np.random.default_rng(7)
    strengths, truth = rng.integers(-3, 4, (2, 9, 9)) / 3, draw(8, (2, 9, 9)) != 0
    counts = np.broadcast_to(np.ones((9, 9), bool) if diagonal else ~np.eye(9, dtype=bool), truth.shape)
    curve = edge_curve(strengths, truth, diagonal=diagonal)
    assert curve.area == pytest.approx(roc_auc_score(truth[counts], np.abs(strengths[counts])), rel=1e-12)
    expected = roc_curve(truth[counts], np.abs(strengths[counts]), drop_intermediate=False)
    for ours, theirs in zip(curve[:3], expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    labels, sizes = truth[counts], np.abs(strengths[counts])
    assert curve.average_precision == pytest.approx(average_precision_score(labels, sizes), rel=1e-12)
    precision, recall, thresholds = precision_recall_curve(labels, sizes)
    np.testing.assert_allclose(curve.precision, precision[::-1], rtol=1e-12)
    np.testing.assert_allclose(curve.true_positive_rate, recall[::-1], rtol=1e-12)
    np.testing.assert_array_equal(curve.thresholds[1:], thresholds[::-1])


def test_edge_mse_and_success():
    truth, estimate = draw(5), draw(6)
    off = ~np.eye(5, dtype=bool)
    assert edge_mse(estimate, truth) == pytest.approx(((truth - estimate)[off] ** 2).sum() / 20)
    assert edge_mse(truth, csr_array(truth)) == 0
    lags, same = np.stack([np.zeros((5, 5)), truth, estimate]), np.stack([np.zeros((5, 5)), truth, truth])
    assert edge_mse(lags, same) == pytest.approx(edge_mse(estimate, truth) / 2)
    assert success_rate([truth, 2 * truth, estimate, truth + np.eye(5)], [truth] * 4) == 0.75


def test_curves_are_drawn():
    rng = np.random.default_rng(3)
    curves = {name: edge_curve(rng.random((9, 9)), rng.random((9, 9)) < 0.4) for name in ("a", "b")}
    ax = plot_roc(curves)
    first, other, chance = ax.get_lines()
    np.testing.assert_array_equal(first.get_xydata()[:, 1], curves["a"].true_positive_rate)
    np.testing.assert_array_equal(other.get_xydata()[:, 0], curves["b"].false_positive_rate)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        f"{name}: {curve.area:.3f}" for name, curve in curves.items()
    ]
    assert ax.get_legend().get_title().get_text() == "area under the curve" and list(chance.get_ydata()) == [0, 1]
    ax = plot_roc(curves["a"], kind="precision_recall")
    line, chance = ax.get_lines()
    np.testing.assert_array_equal(line.get_ydata(), curves["a"].precision)
    assert ax.get_legend().get_texts()[0].get_text() == f"{curves['a'].average_precision:.3f}"
    assert chance.get_ydata()[0] == curves["a"].precision[-1] and ax.get_ylabel() == "precision"
    assert len(plot_roc(curves, kind="precision_recall").get_lines()) == 2  # the shares of edges differ
    with pytest.raises(ValueError, match="kind must be one of roc, precision_recall, got 'pr'"):
        plot_roc(curves, kind="pr")
    with pytest.raises(TypeError, match="expected results of edge_curve, 'a' is ndarray"):
        plot_roc({"a": np.eye(3)})
    with pytest.raises(ValueError, match="there is nothing to draw: give results of edge_curve"):
        plot_roc({})


SQUARE = np.eye(3)


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: coefficient_error(SQUARE, np.eye(4)), "the estimate has 3 series and the truth 4"),
        (lambda: coefficient_error(SQUARE, np.zeros((3, 3))), "all coefficients of true_coef are zero"),
        (lambda: coefficient_error(np.ones(3), SQUARE), r"must have the shape \(n, n\)"),
        (lambda: coefficient_error("x", SQUARE), "the estimate must be numbers"),
        (lambda: coefficient_error(np.ones((2, 3)), SQUARE), "must be square for every lag"),
        (lambda: prediction_error(SQUARE, np.ones((4, 2))), r"X must have the shape \(rows, 3\)"),
        (lambda: prediction_error(SQUARE, np.ones((1, 3))), "more rows than the 1 lags"),
        (lambda: prediction_error(SQUARE, np.zeros((5, 3))), "all rows to predict are zero"),
        (lambda: prediction_error(SQUARE, np.ones((5, 3)), np.ones((4, 3))), "targets need one row per row"),
        (lambda: prediction_error([SQUARE, SQUARE], np.ones((5, 3))), "instantaneous"),
        (lambda: structure_recall(SQUARE, np.zeros((3, 3))), "no node of true_coef has a parent"),
        (lambda: structure_recall(SQUARE, SQUARE, k=0), "k must be at least 1"),
        (lambda: edge_error_rate([[1.0]], [[1.0]]), "two nodes or more"),
        (lambda: edge_mse([[1.0]], [[1.0]]), "edge_mse needs two nodes or more"),
        (lambda: success_rate([], []), "one entry per trial, got 0 and 0"),
        (lambda: success_rate([SQUARE], [SQUARE] * 2), "one entry per trial, got 1 and 2"),
        (lambda: edge_curve(SQUARE, np.eye(4)), "strengths and truth must both be"),
        (lambda: edge_curve(SQUARE, SQUARE), "truth must have both edges and pairs without"),
        (lambda: edge_curve(np.full((3, 3), np.nan), SQUARE, diagonal=True), "must not be NaN"),
    ],
)
def test_errors(make, what):
    with pytest.raises(ValueError, match=what):
        make()
