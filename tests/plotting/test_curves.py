from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from pgmx.plotting import plot_history, plot_learning_curve


def run(scores, seconds):
    history = {"score": np.array(scores, dtype=float), "seconds": np.array(seconds, dtype=float)}
    return SimpleNamespace(history_=history)


def lines(ax):
    return [np.array(line.get_xydata()) for line in ax.get_lines()]


def test_a_climb_is_one_line_with_a_dot_at_its_end():
    ax = plot_history(run([-30, -20, -15], [1, 2, 3]))
    curve, dot = lines(ax)
    assert curve.tolist() == [[1, -30], [2, -20], [3, -15]]
    assert dot.tolist() == [[3, -15]]
    assert ax.get_legend() is None
    assert (ax.get_xscale(), ax.get_xlabel(), ax.get_ylabel()) == ("linear", "seconds", "score, nats")


def test_the_best_so_far_is_drawn_over_worse_graphs_passed_on_the_way():
    current, best, _ = lines(plot_history(run([-30, -40, -15], [1, 2, 3])))
    assert current[:, 1].tolist() == [-30, -40, -15]
    assert best[:, 1].tolist() == [-30, -30, -15]


def test_several_learners_share_a_picture_and_seconds_may_be_logarithmic():
    ax = plot_history({"quick": run([-30], [0.01]), "none": run([], []), "slow": run([-25, -12], [1, 9])})
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["quick", "slow"]
    assert ax.get_xscale() == "log"


def test_distances_below_the_best_score():
    ax = plot_history({"a": run([-1000, -20], [1, 2]), "b": run([-16], [1])}, below_best=True)
    first, _, second, _ = lines(ax)
    assert first[:, 1].tolist() == [984, 4]
    assert second[:, 1].tolist() == [2]  # the best itself: half the least distance
    assert ax.get_yscale() == "log"
    assert ax.get_ylabel() == "nats below the best score, -16.0"


def test_a_real_learner_is_drawn():
    from pgmx.datasets import load_network, sample
    from pgmx.estimators import HillClimbSearch

    search = HillClimbSearch(scoring_method="bic").fit(sample(load_network("asia"), 1000))
    curve = lines(plot_history({"greedy": search}, below_best=True))[0]
    assert len(curve) == len(search.history_["score"])


def test_what_has_no_history_is_refused():
    with pytest.raises(TypeError, match="a fitted learner with a history_ is needed, got a dict_keys"):
        plot_history({}.keys())
    with pytest.raises(TypeError, match="'x' is a dict: call fit first"):
        plot_history({"x": {}})
    for nothing in ({}, []):
        with pytest.raises(ValueError, match="no learner has a move"):
            plot_history(nothing)
    with pytest.raises(ValueError, match="no learner has a move"):
        plot_history(run([], []))


@pytest.fixture
def curve():
    rows = [
        (label, n, repeat, factor * (1 + repeat) / n, 0.0, n % 7, 5)
        for label, factor in (("known", 20.0), ("learned", 50.0))
        for n in (10, 100, 1000)
        for repeat in (0, 1)
    ]
    names = ["learner", "n_rows", "repeat", "divergence", "standard_error", "shd", "n_edges"]
    return pd.DataFrame(rows, columns=names)


def test_a_learning_curve_has_a_line_of_means_and_a_band_for_each_learner(curve):
    ax = plot_learning_curve(curve)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["known", "learned"]
    np.testing.assert_allclose(lines(ax)[0], [[10, 3.0], [100, 0.3], [1000, 0.03]])
    assert len(ax.collections) == 2
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert ax.get_ylabel() == "KL divergence from the truth, nats"


def test_infinite_divergences_are_hollow_marks_above_the_frame(curve):
    curve.loc[(curve["learner"] == "learned") & (curve["n_rows"] == 10) & (curve["repeat"] == 1), "divergence"] = np.inf
    ax = plot_learning_curve(curve)
    known, learned, mark = ax.get_lines()
    assert (len(known.get_xdata()), len(learned.get_xdata())) == (3, 2)
    assert mark.get_xdata().tolist() == [10]
    assert mark.get_ydata()[0] > 1
    assert ax.get_xlabel() == "rows (hollow marks: infinite)"


def test_other_measures_and_bad_tables(curve):
    ax = plot_learning_curve(curve, measure="shd")
    assert ax.get_yscale() == "linear"
    with pytest.raises(ValueError, match="measure must be one of divergence, shd, n_edges, got 'bic'"):
        plot_learning_curve(curve, measure="bic")
    with pytest.raises(ValueError, match="the table of the curve has no column 'n_rows'"):
        plot_learning_curve(curve.drop(columns="n_rows"))
    with pytest.raises(ValueError, match="the table of the curve has no rows"):
        plot_learning_curve(curve.head(0))
    with pytest.raises(TypeError, match="got dict"):
        plot_learning_curve({})
