from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure

from pgmx.plotting import plot_path


def path(lams=(0.8, 0.4, 0.2, 0.1), n_edges=(0, 2, 5, 9), criterion=(9.0, 7.0, 6.5, 8.0), selected=2):
    return SimpleNamespace(lams=np.array(lams), n_edges=np.array(n_edges), criterion=criterion, selected=selected)


def learner(selection="ebic", **more):
    return SimpleNamespace(path_=path(), selection=selection, **more)


def lines(ax):
    return [np.array(line.get_xydata()).tolist() for line in ax.get_lines()]


def test_edges_criterion_and_the_chosen_penalty_are_drawn():
    ax = plot_path(learner())
    assert ax.get_ylabel() == "edges"
    edges, chosen = lines(ax)
    assert edges == [[0.8, 0], [0.4, 2], [0.2, 5], [0.1, 9]]
    assert [x for x, _ in chosen] == [0.2, 0.2]
    assert [text.get_text() for text in ax.texts] == ["chosen: λ = 0.2, 5 edges"]
    other = ax.figure.axes[1]
    assert other.get_ylabel() == "EBIC"
    assert lines(other) == [[[0.8, 9], [0.4, 7], [0.2, 6.5], [0.1, 8]]]


def test_penalties_fall_from_left_to_right_on_a_logarithmic_axis():
    ax = plot_path(path())
    left, right = ax.get_xlim()
    assert left > 0.8 > 0.1 > right > 0
    assert ax.get_xscale() == "log"


def test_a_penalty_of_zero_has_a_linear_axis():
    ax = plot_path(path(lams=(0.8, 0.4, 0.2, 0.0)))
    left, right = ax.get_xlim()
    assert (left > 0.8, right < 0, ax.get_xscale()) == (True, True, "linear")


@pytest.mark.parametrize(
    ("selection", "label"),
    [("cv", "held-out loss, nats per row"), ("held_out", "held-out loss, nats per row"), ("other", "criterion")],
)
def test_a_learner_tells_what_the_criterion_is(selection, label):
    assert plot_path(learner(selection)).figure.axes[1].get_ylabel() == label


def test_the_limit_of_stability_is_drawn():
    other = plot_path(learner("stars", stability=0.05)).figure.axes[1]
    assert other.get_ylabel() == "instability of the edges"
    assert [y for _, y in lines(other)[1]] == [0.05, 0.05]
    assert other.get_ylim()[0] == 0
    assert len(lines(plot_path(learner("ebic", stability=0.05)).figure.axes[1])) == 1


def test_a_path_alone_may_have_no_choice():
    ax = plot_path(path(criterion=None, selected=-1))
    assert (len(ax.figure.axes), len(ax.get_lines()), len(ax.texts)) == (1, 1, 0)
    assert plot_path(path()).figure.axes[1].get_ylabel() == "criterion"


def test_a_learner_around_one_that_selects_has_its_path():
    ax = plot_path(SimpleNamespace(estimator_=learner("cv")))
    assert ax.figure.axes[1].get_ylabel() == "held-out loss, nats per row"


def test_what_is_not_known_leaves_gaps():
    ax = plot_path(path(criterion=np.array([3.0, 2.0, np.nan, np.nan]), selected=1))
    assert np.isnan(lines(ax.figure.axes[1])[0][2][1])
    ax = plot_path(path(criterion=np.full(4, np.nan), selected=-1))
    assert len(ax.figure.axes) == 1


def test_a_path_that_was_ended_early_is_drawn_as_far_as_it_goes():
    ax = plot_path(path(n_edges=(0, 2), criterion=np.array([3.0, 2.0]), selected=1))
    assert lines(ax)[0] == [[0.8, 0], [0.4, 2]]


def test_one_penalty_and_graphs_without_edges():
    ax = plot_path(path(lams=(0.5,), n_edges=(1,), criterion=[1.0], selected=0))
    assert [text.get_text() for text in ax.texts] == ["chosen: λ = 0.5, 1 edge"]
    ax = plot_path(path(n_edges=(0, 0, 0, 0)))
    assert ax.get_ylim() == (0, 1)
    ax.figure.canvas.draw()


@pytest.mark.parametrize("at", [0, 1, 3])
def test_the_words_of_the_mark_stay_inside_the_picture(at):
    ax = plot_path(path(selected=at))
    ax.figure.canvas.draw()
    box = ax.texts[0].get_window_extent()
    assert 0 <= box.x0 < box.x1 <= ax.figure.bbox.width


def test_axes_of_the_caller_are_used():
    ax = Figure().add_subplot()
    assert plot_path(path(), ax) is ax


@pytest.mark.parametrize("given", [None, 3, SimpleNamespace(path_=None), SimpleNamespace(lams=[1.0])])
def test_what_has_no_path_is_refused(given):
    with pytest.raises(TypeError, match="a path of penalties or a fitted learner with a path is needed, got a "):
        plot_path(given)


def test_an_empty_path_is_refused():
    with pytest.raises(ValueError, match="the path has no penalties"):
        plot_path(path(lams=(), n_edges=(), criterion=None, selected=-1))
