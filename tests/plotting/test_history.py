from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure

from pgmx.plotting import plot_history


def run(**history):
    return SimpleNamespace(history_={name: np.array(values, dtype=float) for name, values in history.items()})


def grafted(objective, seconds=(1, 2, 3), **more):
    cpu = np.array(seconds) / 2
    return run(objective=objective, seconds=seconds, cpu_seconds=cpu, n_edges=range(len(objective)), **more)


def lines(ax):
    return [np.array(line.get_xydata()).tolist() for line in ax.get_lines()]


def test_the_objective_of_a_markov_network_is_drawn_as_it_was():
    ax = plot_history(grafted([9, 5, 6]))
    assert lines(ax) == [[[1, 9], [2, 5], [3, 6]], [[3, 6]]]
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("objective, nats per row", "seconds")


def test_several_measures_make_several_panels_with_one_legend():
    runs = {
        "a": grafted([9, 5, 4], recall=[0, 0.5, 1], held_out=[8, np.nan, 6]),
        "b": grafted([9, 6, 5], recall=[0, 0.2, 0.8], held_out=[8, 7, 7.5]),
    }
    panels = plot_history(runs, measures=("objective", "recall", "held_out"), against="cpu_seconds")
    assert len(panels) == 3
    assert [ax.get_xlabel() for ax in panels] == ["CPU seconds"] * 3
    assert lines(panels[2])[0] == [[0.5, 8], [1.5, 6]]  # rounds without a figure are passed over
    figure = panels[0].figure
    assert all(ax.figure is figure for ax in panels)
    assert all(ax.get_legend() is None for ax in panels)
    assert [[text.get_text() for text in legend.get_texts()] for legend in figure.legends] == [["a", "b"]]


def test_one_name_gives_axes_and_a_sequence_a_list():
    assert plot_history(grafted([3, 2, 1]), measures="objective").get_ylabel() == "objective, nats per row"
    (only,) = plot_history({"x": grafted([3, 2, 1])}, measures=["n_edges"])
    assert only.get_ylabel() == "edges activated"


def test_edges_and_tests_may_be_the_horizontal_axis():
    learner = grafted([3, 2, 1], n_tests=[0, 4000, 9000])
    ax = plot_history(learner, against="n_tests")
    assert lines(ax)[0] == [[0, 3], [4000, 2], [9000, 1]]
    assert (ax.get_xscale(), ax.get_xlabel()) == ("linear", "pairs scored or tested")
    assert ax.xaxis.get_major_formatter()(4000, 0) == "4,000"


def test_axes_of_the_caller_are_used():
    axes = Figure().subplots(1, 2)
    runs = {"a": grafted([2, 1, 1], recall=[0, 1, 1]), "b": grafted([2, 1, 1], recall=[0, 0, 1])}
    assert plot_history(runs, axes, measures=("objective", "recall")) == list(axes)
    assert axes[0].get_legend() is None
    assert [text.get_text() for text in axes[1].get_legend().get_texts()] == ["a", "b"]
    with pytest.raises(ValueError, match="3 measures, got 2 axes"):
        plot_history(grafted([1, 1, 1], recall=[1, 1, 1]), axes, measures=("objective", "recall", "n_edges"))


def test_distances_from_the_least_objective():
    runs = {"a": grafted([9, 5, 1.5]), "b": grafted([9, 5, 1])}
    ax, recall = plot_history(
        {name: grafted(one.history_["objective"], recall=[0, 0, 1]) for name, one in runs.items()},
        measures=("objective", "recall"),
        below_best=True,
    )
    assert [point[1] for point in lines(ax)[0]] == [8, 4, 0.5]
    assert lines(ax)[2][-1][1] == 0.25  # the least itself
    assert (ax.get_yscale(), recall.get_yscale()) == ("log", "linear")
    assert ax.get_ylabel() == "nats per row above the least objective, 1.0000"


def test_colours_of_a_learner_are_the_same_in_all_panels():
    runs = {"a": grafted([1, 1, 1], recall=[np.nan] * 3), "b": grafted([1, 1, 1], recall=[0, 0, 1])}
    objective, recall = plot_history(runs, measures=("objective", "recall"))
    assert recall.get_lines()[0].get_color() == objective.get_lines()[2].get_color()


def test_what_was_not_recorded_or_is_unknown_is_refused():
    learner = grafted([1, 1, 1])
    with pytest.raises(ValueError, match=r"the history of 'x' does not hold 'recall': give it true_graph="):
        plot_history({"x": learner}, measures="recall")
    with pytest.raises(ValueError, match=r"does not hold 'held_out': give it held_out="):
        plot_history(learner, measures=["held_out"])
    with pytest.raises(ValueError, match="does not hold 'objective'"):
        plot_history({"markov": learner, "bayesian": run(score=[1], seconds=[1])})
    with pytest.raises(
        ValueError, match="measures must be among score, objective, recall, held_out, n_edges, gradient_norm, got 'f1'"
    ):
        plot_history(learner, measures="f1")
    with pytest.raises(ValueError, match="against must be one of seconds, cpu_seconds"):
        plot_history(learner, against="hours")
    with pytest.raises(ValueError, match="measures is empty"):
        plot_history(learner, measures=())


def test_a_list_is_labelled_by_classes_numbered_where_they_are_equal():
    class Other(SimpleNamespace):
        pass

    first, second = grafted([9, 5, 6]), grafted([9, 6, 5])
    legend = plot_history([first, Other(history_=first.history_), second]).get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["SimpleNamespace 1", "Other", "SimpleNamespace 2"]
    assert plot_history([first]).get_legend() is None
    with pytest.raises(TypeError, match="'SimpleNamespace 2' is a SimpleNamespace: call fit first"):
        plot_history((first, SimpleNamespace()))


@pytest.mark.slow
def test_real_learners_fill_three_panels(tmp_path):
    from pgmx.datasets import preferential_attachment_network, sample_markov_network
    from pgmx.estimators import EdgeGrafting, GroupLassoMarkovNetwork

    network = preferential_attachment_network(10, n_states=3, random_state=1)
    rows = sample_markov_network(network, 1200, random_state=1)
    options = {"true_graph": network, "held_out": sample_markov_network(network, 200, random_state=2)}
    runs = {
        "edge by edge": EdgeGrafting(**options).fit(rows),
        "group lasso": GroupLassoMarkovNetwork(**options).fit(rows),
    }
    panels = plot_history(runs, measures=("objective", "recall", "held_out"))
    ends = [ax.get_lines()[at].get_ydata()[-1] for ax in panels[:1] for at in (0, 2)]
    assert ends[0] == pytest.approx(ends[1], rel=1e-4)
    panels[0].figure.savefig(tmp_path / "curves.png")
