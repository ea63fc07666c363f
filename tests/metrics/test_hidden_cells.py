"""Errors of subspaces on hidden values, against a loop over rows through the public methods."""

import numpy as np
import pytest

from helpers.stream_learners import SUBSPACE, list_state
from pgmx.metrics import prequential
from pgmx.plotting import plot_prequential
from pgmx.streaming import CategoricalSubspace

X = SUBSPACE.draw(50, n_features=6, n_classes=4)[0]


def start(**options):
    return CategoricalSubspace(**{"n_components": 2, "lam": 0.8, "levels": range(4), "max_iter": 2, **options})


def replay(learner, rows, n_passes):
    """Return losses of hidden values by pass, the running baselines, and the thresholds after each row."""
    hidden = np.zeros(rows.shape, bool)
    observed = ~np.isnan(rows)
    hidden[observed] = np.random.default_rng(0).random(observed.sum()) < 0.2
    shown = np.where(hidden, np.nan, rows)
    learner.partial_fit(np.full((1, 6), np.nan))
    learner._progress[:] = 1, 0, 0
    passes, baselines, paths, seen = [], [], [], [[] for _ in range(6)]
    for _ in range(n_passes):
        losses = []
        for row, out, truth in zip(shown, hidden, rows, strict=True):
            guess = learner.impute(row[None])[0]
            losses += [
                guess[j] != truth[j] if learner.model == "logit" else abs(guess[j] - truth[j])
                for j in np.flatnonzero(out)
            ]
            for j in np.flatnonzero(out):
                counts = [seen[j].count(level) for level in range(4)]
                mean = np.mean(seen[j]) if seen[j] else 1.5
                last = seen[j][-1] if seen[j] else (0 if learner.model == "logit" else 1.5)
                if learner.model == "logit":
                    baselines.append((last != truth[j], np.argmax(counts) != truth[j]))
                else:
                    baselines.append((abs(last - truth[j]), abs(mean - truth[j])))
            learner.partial_fit(row[None])
            for j in np.flatnonzero(~np.isnan(row)):
                seen[j].append(row[j])
            paths.append(learner.thresholds_)
        passes.append(np.mean(losses))
    return np.array(passes), np.mean(baselines, axis=0), np.array(paths)


@pytest.mark.parametrize("options", [{"learn_thresholds": True}, {"model": "logit"}], ids=["probit", "logit"])
def test_errors_are_those_of_a_loop(options):
    curve = prequential(start(**options), X, window=20)
    passes, baselines, paths = replay(start(**options), X, 2)
    np.testing.assert_allclose(curve.passes, passes)
    np.testing.assert_allclose(list(curve.means.values()), [passes.mean(), *baselines])
    assert curve.n_rows.tolist() == [20, 40, 60, 80, 100]
    np.testing.assert_allclose(curve.thresholds, paths[19::20], rtol=1e-7)
    assert curve.loss == ("zero-one" if "model" in options else "absolute")
    assert curve.learner.n_seen_ == 100
    assert curve.to_frame().shape == (5, 7)


def test_chunks_do_not_change_a_bit_and_learners_continue():
    learner = start(max_iter=1)
    whole, pieces = prequential(learner, X), prequential(learner, iter([X[:7], X[7:8], X[8:]]))
    assert not hasattr(learner, "n_seen_")
    assert list_state(pieces.learner) == list_state(whole.learner)
    assert (pieces.means, pieces.passes) == (whole.means, whole.passes)
    further = prequential(start().fit(X), X)
    assert (len(further.passes), further.learner.n_seen_) == (1, 150)
    assert further.passes[0] < whole.passes[0]


@pytest.mark.parametrize("model", ["tobit", "tobit2"])
def test_censored_values_are_compared_as_recorded(model):
    """Values beyond the bounds of type I, or between those of type II, cannot be told apart."""
    curves = [
        prequential(start(model=model, levels=(0.5, 2.5)), np.where(np.isnan(X), X, rows))
        for rows in (X, np.where(X > 2.5, 9.0, X) if model == "tobit" else np.where(X == 1.0, 2.0, X))
    ]
    assert curves[0].means["CategoricalSubspace"] == curves[1].means["CategoricalSubspace"]
    assert curves[0].means["CategoricalSubspace"] < 1


def test_what_is_refused():
    with pytest.raises(ValueError, match="has no target"):
        prequential(start(), X, X[:, 0])
    with pytest.raises(ValueError, match="has no target"):
        prequential(start(), X, classes=[0, 1])
    with pytest.raises(ValueError, match="show must be one of"):
        plot_prequential(prequential(start(), X), show="x")


def test_pictures_of_passes_and_thresholds():
    curve = prequential(start(), X, window=25)
    assert plot_prequential(curve).get_ylabel() == "mean absolute error"
    (line,) = plot_prequential(curve, show="passes").get_lines()
    np.testing.assert_array_equal(line.get_ydata(), curve.passes)
    lines = plot_prequential(curve, show="thresholds").get_lines()
    np.testing.assert_array_equal([line.get_ydata() for line in lines], curve.thresholds.T)
